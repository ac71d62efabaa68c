/* Start and end, handles, tensors, gradients and ops. */
#include "bridge.h"

#include <R_ext/Rdynload.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

SEXP lr_failure(loom_status status) {
  const char *names[] = {"status", "message", "op", "site", "argument", "index", ""};
  loom_error_details details = {sizeof details, status, "", "", "", "", -1, ""};
  SEXP found = PROTECT(Rf_mkNamed(VECSXP, names));
  if (loom_error_describe(NULL, &details) != LOOM_OK) details.message = loom_error_message();
  SET_VECTOR_ELT(found, 0, Rf_mkString(loom_status_name(status)));
  SET_VECTOR_ELT(found, 1, Rf_mkString(details.message));
  SET_VECTOR_ELT(found, 2, Rf_mkString(details.op));
  SET_VECTOR_ELT(found, 3, Rf_mkString(details.site));
  SET_VECTOR_ELT(found, 4, Rf_mkString(details.argument));
  SET_VECTOR_ELT(found, 5, Rf_ScalarInteger((int)details.index));
  Rf_setAttrib(found, R_ClassSymbol, Rf_mkString("loom_failure"));
  UNPROTECT(1);
  return found;
}

SEXP lr_done(loom_status status) {
  return status == LOOM_OK ? R_NilValue : lr_failure(status);
}

SEXP lr_fail(loom_status status, const char *format, ...) {
  char text[400];
  va_list rest;
  va_start(rest, format);
  (void)vsnprintf(text, sizeof text, format, rest);
  va_end(rest);
  return lr_failure(loom_set_error(status, text));
}

/* ---- handles -------------------------------------------------------------------------------- */

/* An external pointer of another package, or kind, has another tag. */
static SEXP tag_of(lr_kind kind) {
  static const char *const names[] = {"loom_tensor", "loom_capture", "loom_linear_map"};
  return Rf_install(names[kind]);
}

uint64_t lr_bits(SEXP pointer, lr_kind kind) {
  if (TYPEOF(pointer) != EXTPTRSXP || R_ExternalPtrTag(pointer) != tag_of(kind)) return 0;
  return (uint64_t)(uintptr_t)R_ExternalPtrAddr(pointer);
}

void lr_forget(SEXP pointer) {
  const loom_tensor tensor = {lr_bits(pointer, LR_TENSOR)};
  const loom_capture capture = {lr_bits(pointer, LR_CAPTURE)};
  const loom_linear_map map = {lr_bits(pointer, LR_MAP)};
  if (tensor.bits) (void)loom_tensor_release(tensor);
  if (capture.bits) (void)loom_capture_release(capture);
  if (map.bits) (void)loom_linear_map_release(map);
  R_ClearExternalPtr(pointer);
}

SEXP lr_owned_bits(uint64_t bits, lr_kind kind) {
  SEXP pointer;
  if (bits == 0) return R_NilValue;
  pointer = PROTECT(R_MakeExternalPtr((void *)(uintptr_t)bits, tag_of(kind), R_NilValue));
  R_RegisterCFinalizerEx(pointer, lr_forget, TRUE);
  if (kind == LR_TENSOR) Rf_setAttrib(pointer, R_ClassSymbol, Rf_mkString("loom_tensor"));
  UNPROTECT(1);
  return pointer;
}

loom_tensor lr_handle(SEXP pointer) {
  const loom_tensor found = {lr_bits(pointer, LR_TENSOR)};
  return found;
}

SEXP lr_owned(loom_tensor tensor) { return lr_owned_bits(tensor.bits, LR_TENSOR); }

loom_tensor *lr_room(size_t count) {
  loom_tensor *found = (loom_tensor *)R_alloc(count + 1, sizeof *found);
  memset(found, 0, (count + 1) * sizeof *found);
  return found;
}

loom_tensor *lr_handles(SEXP list) {
  const size_t count = (size_t)Rf_xlength(list);
  loom_tensor *found = lr_room(count);
  size_t i;
  for (i = 0; i < count; ++i) found[i] = lr_handle(VECTOR_ELT(list, (R_xlen_t)i));
  return found;
}

SEXP lr_owned_list(const loom_tensor *tensors, size_t count) {
  SEXP list = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)count));
  size_t i;
  for (i = 0; i < count; ++i) SET_VECTOR_ELT(list, (R_xlen_t)i, lr_owned(tensors[i]));
  UNPROTECT(1);
  return list;
}

static SEXP lr_release(SEXP pointer) {
  if (TYPEOF(pointer) != EXTPTRSXP || (R_ExternalPtrTag(pointer) != tag_of(LR_TENSOR) &&
                                       R_ExternalPtrTag(pointer) != tag_of(LR_CAPTURE) &&
                                       R_ExternalPtrTag(pointer) != tag_of(LR_MAP)))
    return lr_fail(LOOM_ERROR_HANDLE, "loom_release: the value is no tensor");
  lr_forget(pointer);
  return R_NilValue;
}

static SEXP lr_start(void) { return lr_done(loom_initialize()); }
static SEXP lr_stop(void) { return lr_done(loom_shutdown()); }

static SEXP lr_line(SEXP file, SEXP line) {
  loom_copy_source_location(Rf_isNull(file) ? NULL : CHAR(STRING_ELT(file, 0)),
                            Rf_asInteger(line));
  return R_NilValue;
}

/* ---- tensors -------------------------------------------------------------------------------- */

static SEXP lr_dtype(SEXP pointer) {
  loom_dtype dtype;
  loom_status status = loom_tensor_dtype(lr_handle(pointer), &dtype);
  return status == LOOM_OK ? Rf_mkString(loom_dtype_name(dtype)) : lr_failure(status);
}

static SEXP lr_shape(SEXP pointer) {
  int64_t extents[64];
  size_t ndim, i;
  loom_status status = loom_tensor_shape(lr_handle(pointer), extents, 64, &ndim);
  SEXP found;
  if (status != LOOM_OK) return lr_failure(status);
  found = PROTECT(Rf_allocVector(INTSXP, (R_xlen_t)ndim));
  for (i = 0; i < ndim && i < 64; ++i) INTEGER(found)[i] = (int)extents[i];
  UNPROTECT(1);
  return found;
}

static SEXP lr_require_grad(SEXP pointer, SEXP required) {
  return lr_done(loom_tensor_require_grad(lr_handle(pointer), Rf_asLogical(required) == TRUE));
}

static SEXP lr_requires_grad(SEXP pointer) {
  bool found;
  loom_status status = loom_tensor_requires_grad(lr_handle(pointer), &found);
  return status == LOOM_OK ? Rf_ScalarLogical(found) : lr_failure(status);
}

static SEXP lr_assign(SEXP target, SEXP value) {
  return lr_done(loom_tensor_assign(lr_handle(target), lr_handle(value)));
}

static SEXP lr_detach(SEXP pointer) {
  loom_tensor found;
  loom_status status = loom_tensor_detach(lr_handle(pointer), &found);
  return status == LOOM_OK ? lr_owned(found) : lr_failure(status);
}

static SEXP lr_backward(SEXP pointer, SEXP cotangent) {
  const loom_tensor output = lr_handle(pointer), by = lr_handle(cotangent);
  return lr_done(loom_backward(&output, 1, Rf_isNull(cotangent) ? NULL : &by));
}

static SEXP lr_grad(SEXP outputs, SEXP inputs, SEXP cotangents, SEXP create_graph) {
  const size_t count = (size_t)Rf_xlength(inputs);
  loom_tensor *found = lr_room(count);
  loom_status status;
  if (!Rf_isNull(cotangents) && Rf_xlength(cotangents) != Rf_xlength(outputs))
    return lr_fail(LOOM_ERROR_ARGUMENT, "loom_grad: %d cotangents, expected %d, one for each "
                   "output",
                   (int)Rf_xlength(cotangents), (int)Rf_xlength(outputs));
  status = loom_grad(lr_handles(outputs), (size_t)Rf_xlength(outputs), lr_handles(inputs), count,
                     Rf_isNull(cotangents) ? NULL : lr_handles(cotangents),
                     Rf_asLogical(create_graph) == TRUE, found);
  return status == LOOM_OK ? lr_owned_list(found, count) : lr_failure(status);
}

static SEXP lr_sync(SEXP tensors, SEXP wait) {
  return lr_done(loom_sync(lr_handles(tensors), (size_t)Rf_xlength(tensors),
                           Rf_asLogical(wait) == TRUE));
}

static SEXP lr_gradient(SEXP pointer) {
  loom_tensor found;
  loom_status status = loom_tensor_gradient(lr_handle(pointer), &found);
  return status == LOOM_OK ? lr_owned(found) : lr_failure(status);
}

static SEXP lr_clear_gradient(SEXP pointer) {
  return lr_done(loom_tensor_clear_gradient(lr_handle(pointer)));
}

static SEXP lr_grad_enabled(SEXP enabled) {
  bool before;
  loom_status status = loom_set_grad_enabled(Rf_asLogical(enabled) == TRUE, &before);
  return status == LOOM_OK ? Rf_ScalarLogical(before) : lr_failure(status);
}

/* ---- ops ------------------------------------------------------------------------------------ */

/* R's numbers are mostly of type double: beside tensors of integers, whole ones are integers. */
static bool beside_integers(SEXP given) {
  R_xlen_t i;
  for (i = 0; i < Rf_xlength(given); ++i) {
    loom_dtype dtype = LOOM_DTYPE_NONE;
    if (TYPEOF(VECTOR_ELT(given, i)) == EXTPTRSXP &&
        loom_tensor_dtype(lr_handle(VECTOR_ELT(given, i)), &dtype) == LOOM_OK &&
        dtype >= LOOM_INT8 && dtype <= LOOM_UINT64)
      return true;
  }
  return false;
}

static bool operand_of(SEXP value, bool integers, loom_operand *operand) {
  *operand = loom_t(loom_null());
  if (Rf_isNull(value)) return true;
  if (TYPEOF(value) == EXTPTRSXP) {
    *operand = loom_t(lr_handle(value));
    /* a tensor that was released is no operand that is left out */
    operand->kind = LOOM_OPERAND_TENSOR;
    return true;
  }
  if (Rf_xlength(value) != 1) return false;
  switch (TYPEOF(value)) {
    case LGLSXP:
      *operand = loom_scalar_bool(LOGICAL(value)[0] == TRUE);
      return LOGICAL(value)[0] != NA_LOGICAL;
    case INTSXP:
      *operand = loom_scalar_int(INTEGER(value)[0], LOOM_DTYPE_NONE);
      return INTEGER(value)[0] != NA_INTEGER && !Rf_inherits(value, "factor");
    case REALSXP: {
      const double x = REAL(value)[0];
      *operand = integers && x == floor(x) && fabs(x) < 9007199254740992.0
                     ? loom_scalar_int((int64_t)x, LOOM_DTYPE_NONE)
                     : loom_scalar_real(x, LOOM_DTYPE_NONE);
      return true;
    }
    case CPLXSXP:
      *operand = loom_scalar_complex(COMPLEX(value)[0].r, COMPLEX(value)[0].i, LOOM_DTYPE_NONE);
      return true;
    default: return false;
  }
}

static loom_attr attribute_of(const char *name, const char *kind, SEXP value) {
  const size_t count = (size_t)Rf_xlength(value);
  size_t i;
  if (Rf_isNull(value)) return loom_attr_none(name);
  if (strcmp(kind, "bool") == 0) return loom_attr_bool(name, Rf_asLogical(value) == TRUE);
  if (strcmp(kind, "int") == 0) return loom_attr_int(name, (int64_t)Rf_asReal(value));
  if (strcmp(kind, "float") == 0) return loom_attr_float(name, Rf_asReal(value));
  if (strcmp(kind, "str") == 0) return loom_attr_str(name, CHAR(Rf_asChar(value)));
  /* R gave a dtype its number */
  if (strcmp(kind, "dtype") == 0) return loom_attr_dtype(name, (loom_dtype)Rf_asInteger(value));
  if (strcmp(kind, "ints") == 0) {
    int64_t *list = (int64_t *)R_alloc(count + 1, sizeof *list);
    for (i = 0; i < count; ++i) list[i] = (int64_t)REAL(value)[i];
    return loom_attr_ints(name, list, count);
  }
  return loom_attr_floats(name, REAL(value), count);
}

static SEXP lr_apply(SEXP op, SEXP given, SEXP names, SEXP kinds, SEXP values, SEXP results) {
  const size_t operand_count = (size_t)Rf_xlength(given);
  const size_t attribute_count = (size_t)Rf_xlength(values);
  loom_operand *operands = (loom_operand *)R_alloc(operand_count + 1, sizeof *operands);
  loom_attr *attributes = (loom_attr *)R_alloc(attribute_count + 1, sizeof *attributes);
  const char *name = CHAR(STRING_ELT(op, 0));
  size_t i, capacity = operand_count + 8, count = 0;
  loom_tensor *found;
  loom_status status;
  SEXP list;
  const bool integers = beside_integers(given);
  for (i = 0; i < operand_count; ++i) {
    if (!operand_of(VECTOR_ELT(given, (R_xlen_t)i), integers, &operands[i])) {
      char text[200];
      snprintf(text, sizeof text, "%s: operand %u is no tensor, no number (which is not NA) and "
               "not NULL; loom_tensor() makes a tensor of a vector", name, (unsigned)i);
      return lr_done(loom_set_error(LOOM_ERROR_ARGUMENT, text));
    }
  }
  for (i = 0; i < attribute_count; ++i) {
    attributes[i] = attribute_of(CHAR(STRING_ELT(names, (R_xlen_t)i)),
                                 CHAR(STRING_ELT(kinds, (R_xlen_t)i)),
                                 VECTOR_ELT(values, (R_xlen_t)i));
    /* where their number depends on the call: one for each operand and entry of a list, a few */
    if (attributes[i].kind == LOOM_ATTR_INTS) capacity += attributes[i].count;
  }
  if (Rf_asInteger(results) > 0) capacity = (size_t)Rf_asInteger(results);
  found = (loom_tensor *)R_alloc(capacity, sizeof *found);
  status = loom_apply(name, operands, operand_count, attributes, attribute_count, found, capacity,
                      &count);
  if (status != LOOM_OK) return lr_failure(status);
  list = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)count));
  for (i = 0; i < count; ++i) SET_VECTOR_ELT(list, (R_xlen_t)i, lr_owned(found[i]));
  UNPROTECT(1);
  return list;
}

#define ENTRY(name, count) {#name, (DL_FUNC)&name, count}
static const R_CallMethodDef entries[] = {
    ENTRY(lr_start, 0), ENTRY(lr_stop, 0), ENTRY(lr_line, 2), ENTRY(lr_release, 1),
    ENTRY(lr_tensor, 3), ENTRY(lr_dtype, 1), ENTRY(lr_shape, 1), ENTRY(lr_read, 1),
    ENTRY(lr_require_grad, 2), ENTRY(lr_requires_grad, 1), ENTRY(lr_assign, 2),
    ENTRY(lr_detach, 1), ENTRY(lr_backward, 2), ENTRY(lr_grad, 4), ENTRY(lr_gradient, 1),
    ENTRY(lr_clear_gradient, 1), ENTRY(lr_grad_enabled, 1), ENTRY(lr_sync, 2),
    ENTRY(lr_apply, 6), ENTRY(lr_scan, 6), ENTRY(lr_while, 4), ENTRY(lr_cond, 5),
    ENTRY(lr_capture, 2), ENTRY(lr_capture_run, 3), ENTRY(lr_linear, 4),
    ENTRY(lr_linear_apply, 3), ENTRY(lr_jvp, 4), ENTRY(lr_value_and_grad, 4),
    ENTRY(lr_jacobian, 5), ENTRY(lr_vmap, 6), ENTRY(lr_stat, 1), ENTRY(lr_live_handles, 0),
    ENTRY(lr_text, 2), ENTRY(lr_option, 2), ENTRY(lr_memory, 0), ENTRY(lr_stats_reset, 0),
    ENTRY(lr_profile_begin, 2), ENTRY(lr_profile_end, 0),
    ENTRY(lr_program_text, 1), ENTRY(lr_wait, 2), ENTRY(lr_is_ready, 1),
    ENTRY(lr_random_key, 2), ENTRY(lr_save, 4), ENTRY(lr_load, 1), {NULL, NULL, 0}};

void R_init_lazyloom(DllInfo *info) {
  R_registerRoutines(info, NULL, entries, NULL, NULL);
  R_useDynamicSymbols(info, FALSE);
}
