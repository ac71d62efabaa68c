/* The C ABI for R: values of R become operands and attributes, and tensors external pointers. A
   call that fails gives a list of the class loom_failure, of which R makes a condition. */
#define LOOM_NO_SOURCE_LOCATIONS
#include <R.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>
#include <stdlib.h>
#include <string.h>

#include "lazyloom.h"

static SEXP failure(loom_status status) {
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

static SEXP done(loom_status status) { return status == LOOM_OK ? R_NilValue : failure(status); }

/* ---- tensors: an external pointer holds the 64 bits of a handle, and is not followed ---------- */

static loom_tensor handle_of(SEXP pointer) {
  loom_tensor found = {0};
  if (TYPEOF(pointer) == EXTPTRSXP) found.bits = (uint64_t)(uintptr_t)R_ExternalPtrAddr(pointer);
  return found;
}

static void forget(SEXP pointer) {
  (void)loom_tensor_release(handle_of(pointer));
  R_ClearExternalPtr(pointer);
}

static SEXP owned(loom_tensor tensor) {
  SEXP pointer;
  if (tensor.bits == 0) return R_NilValue;
  pointer = PROTECT(R_MakeExternalPtr((void *)(uintptr_t)tensor.bits, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(pointer, forget, TRUE);
  Rf_setAttrib(pointer, R_ClassSymbol, Rf_mkString("loom_tensor"));
  UNPROTECT(1);
  return pointer;
}

static SEXP lr_release(SEXP pointer) {
  forget(pointer);
  return R_NilValue;
}

static SEXP lr_start(void) { return done(loom_initialize()); }
static SEXP lr_stop(void) { return done(loom_shutdown()); }

static SEXP lr_line(SEXP file, SEXP line) {
  loom_copy_source_location(Rf_isNull(file) ? NULL : CHAR(STRING_ELT(file, 0)),
                            Rf_asInteger(line));
  return R_NilValue;
}

/* Elements of R's numbers for a dtype; R_alloc() gives memory that R frees after the call. */
static SEXP lr_tensor(SEXP values, SEXP dtype, SEXP shape) {
  const loom_dtype kind = (loom_dtype)Rf_asInteger(dtype);
  const size_t count = (size_t)Rf_xlength(values), each = loom_dtype_size(kind);
  const size_t ndim = (size_t)Rf_xlength(shape);
  int64_t *extents = (int64_t *)R_alloc(ndim + 1, sizeof *extents);
  char *data = R_alloc(count + 1, 16);
  loom_tensor tensor;
  loom_status status;
  size_t i;
  for (i = 0; i < ndim; ++i) extents[i] = (int64_t)REAL(shape)[i];
  for (i = 0; i < count; ++i) {
    const Rcomplex z = TYPEOF(values) == CPLXSXP ? COMPLEX(values)[i]
                                                 : (Rcomplex){.r = REAL(values)[i], .i = 0};
    switch (kind) {
      case LOOM_BOOL: ((uint8_t *)data)[i] = z.r != 0; break;
      case LOOM_INT8: ((int8_t *)data)[i] = (int8_t)z.r; break;
      case LOOM_INT16: ((int16_t *)data)[i] = (int16_t)z.r; break;
      case LOOM_INT32: ((int32_t *)data)[i] = (int32_t)z.r; break;
      case LOOM_INT64: ((int64_t *)data)[i] = (int64_t)z.r; break;
      case LOOM_UINT8: ((uint8_t *)data)[i] = (uint8_t)z.r; break;
      case LOOM_UINT16: ((uint16_t *)data)[i] = (uint16_t)z.r; break;
      case LOOM_UINT32: ((uint32_t *)data)[i] = (uint32_t)z.r; break;
      case LOOM_UINT64: ((uint64_t *)data)[i] = (uint64_t)z.r; break;
      case LOOM_FLOAT32: ((float *)data)[i] = (float)z.r; break;
      case LOOM_FLOAT64: ((double *)data)[i] = z.r; break;
      case LOOM_COMPLEX64:
        ((float *)data)[2 * i] = (float)z.r;
        ((float *)data)[2 * i + 1] = (float)z.i;
        break;
      case LOOM_COMPLEX128: ((Rcomplex *)data)[i] = z; break;
      default:
        return done(loom_set_error(LOOM_ERROR_DTYPE, "loom_tensor: R has no numbers of that "
                                   "dtype; make one of another and use loom_cast()"));
    }
  }
  status = loom_tensor_from_host(data, count * each, kind, extents, ndim, &tensor);
  return status == LOOM_OK ? owned(tensor) : failure(status);
}

static SEXP lr_dtype(SEXP pointer) {
  loom_dtype dtype;
  loom_status status = loom_tensor_dtype(handle_of(pointer), &dtype);
  return status == LOOM_OK ? Rf_mkString(loom_dtype_name(dtype)) : failure(status);
}

static SEXP lr_shape(SEXP pointer) {
  int64_t extents[64];
  size_t ndim, i;
  loom_status status = loom_tensor_shape(handle_of(pointer), extents, 64, &ndim);
  SEXP found;
  if (status != LOOM_OK) return failure(status);
  found = PROTECT(Rf_allocVector(INTSXP, (R_xlen_t)ndim));
  for (i = 0; i < ndim && i < 64; ++i) INTEGER(found)[i] = (int)extents[i];
  UNPROTECT(1);
  return found;
}

/* The elements, row by row, as R's numbers. */
static SEXP lr_read(SEXP pointer) {
  const loom_tensor tensor = handle_of(pointer);
  loom_dtype kind = LOOM_DTYPE_NONE;
  size_t nbytes = 0, count, i;
  char *data;
  SEXP found;
  loom_status status = loom_tensor_dtype(tensor, &kind);
  if (status == LOOM_OK) status = loom_tensor_nbytes(tensor, &nbytes);
  if (status != LOOM_OK) return failure(status);
  data = R_alloc(nbytes + 16, 1);
  status = loom_tensor_read(tensor, data, nbytes);
  if (status != LOOM_OK) return failure(status);
  count = nbytes / loom_dtype_size(kind);
  found = PROTECT(Rf_allocVector(
      kind == LOOM_BOOL ? LGLSXP
      : kind == LOOM_COMPLEX64 || kind == LOOM_COMPLEX128 ? CPLXSXP : REALSXP,
      (R_xlen_t)count));
  for (i = 0; i < count; ++i) {
    double x = 0;
    switch (kind) {
      case LOOM_BOOL: LOGICAL(found)[i] = ((uint8_t *)data)[i]; continue;
      case LOOM_INT8: x = ((int8_t *)data)[i]; break;
      case LOOM_INT16: x = ((int16_t *)data)[i]; break;
      case LOOM_INT32: x = ((int32_t *)data)[i]; break;
      case LOOM_INT64: x = (double)((int64_t *)data)[i]; break;
      case LOOM_UINT8: x = ((uint8_t *)data)[i]; break;
      case LOOM_UINT16: x = ((uint16_t *)data)[i]; break;
      case LOOM_UINT32: x = ((uint32_t *)data)[i]; break;
      case LOOM_UINT64: x = (double)((uint64_t *)data)[i]; break;
      case LOOM_FLOAT32: x = ((float *)data)[i]; break;
      case LOOM_FLOAT64: x = ((double *)data)[i]; break;
      case LOOM_COMPLEX64:
        COMPLEX(found)[i].r = ((float *)data)[2 * i];
        COMPLEX(found)[i].i = ((float *)data)[2 * i + 1];
        continue;
      case LOOM_COMPLEX128: COMPLEX(found)[i] = ((Rcomplex *)data)[i]; continue;
      default:
        UNPROTECT(1);
        return done(loom_set_error(LOOM_ERROR_DTYPE, "as.array: R has no numbers of that dtype; "
                                   "loom_cast() gives another"));
    }
    REAL(found)[i] = x;
  }
  UNPROTECT(1);
  return found;
}

static SEXP lr_require_grad(SEXP pointer, SEXP required) {
  return done(loom_tensor_require_grad(handle_of(pointer), Rf_asLogical(required) == TRUE));
}

static SEXP lr_requires_grad(SEXP pointer) {
  bool found;
  loom_status status = loom_tensor_requires_grad(handle_of(pointer), &found);
  return status == LOOM_OK ? Rf_ScalarLogical(found) : failure(status);
}

static SEXP lr_assign(SEXP target, SEXP value) {
  return done(loom_tensor_assign(handle_of(target), handle_of(value)));
}

static SEXP lr_detach(SEXP pointer) {
  loom_tensor found;
  loom_status status = loom_tensor_detach(handle_of(pointer), &found);
  return status == LOOM_OK ? owned(found) : failure(status);
}

static SEXP lr_backward(SEXP pointer) {
  const loom_tensor output = handle_of(pointer);
  return done(loom_backward(&output, 1, NULL));
}

static SEXP lr_gradient(SEXP pointer) {
  loom_tensor found;
  loom_status status = loom_tensor_gradient(handle_of(pointer), &found);
  return status == LOOM_OK ? owned(found) : failure(status);
}

static SEXP lr_clear_gradient(SEXP pointer) {
  return done(loom_tensor_clear_gradient(handle_of(pointer)));
}

static SEXP lr_grad_enabled(SEXP enabled) {
  bool before;
  loom_status status = loom_set_grad_enabled(Rf_asLogical(enabled) == TRUE, &before);
  return status == LOOM_OK ? Rf_ScalarLogical(before) : failure(status);
}

static SEXP lr_stat(SEXP name) {
  int64_t value;
  loom_status status = loom_stat(CHAR(STRING_ELT(name, 0)), &value);
  return status == LOOM_OK ? Rf_ScalarReal((double)value) : failure(status);
}

static SEXP lr_live_handles(void) {
  size_t count;
  loom_status status = loom_live_handles(&count);
  return status == LOOM_OK ? Rf_ScalarReal((double)count) : failure(status);
}

/* ---- ops ------------------------------------------------------------------------------------ */

static bool operand_of(SEXP value, loom_operand *operand) {
  *operand = loom_t(loom_null());
  if (Rf_isNull(value)) return true;
  if (TYPEOF(value) == EXTPTRSXP) {
    *operand = loom_t(handle_of(value));
    /* a tensor that was released is no operand that is left out */
    operand->kind = LOOM_OPERAND_TENSOR;
    return true;
  }
  if (Rf_xlength(value) != 1) return false;
  switch (TYPEOF(value)) {
    case LGLSXP: *operand = loom_scalar_bool(LOGICAL(value)[0] == TRUE); return true;
    case INTSXP: *operand = loom_scalar_int(INTEGER(value)[0], LOOM_DTYPE_NONE); return true;
    case REALSXP: *operand = loom_scalar_real(REAL(value)[0], LOOM_DTYPE_NONE); return true;
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
  for (i = 0; i < operand_count; ++i) {
    if (!operand_of(VECTOR_ELT(given, (R_xlen_t)i), &operands[i])) {
      char text[200];
      snprintf(text, sizeof text, "%s: operand %u is no tensor, no number and not NULL; "
               "loom_tensor() makes a tensor of a vector", name, (unsigned)i);
      return failure(loom_set_error(LOOM_ERROR_ARGUMENT, text));
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
  if (status != LOOM_OK) return failure(status);
  list = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)count));
  for (i = 0; i < count; ++i) SET_VECTOR_ELT(list, (R_xlen_t)i, owned(found[i]));
  UNPROTECT(1);
  return list;
}

#define ENTRY(name, count) {#name, (DL_FUNC)&name, count}
static const R_CallMethodDef entries[] = {
    ENTRY(lr_start, 0), ENTRY(lr_stop, 0), ENTRY(lr_line, 2), ENTRY(lr_release, 1),
    ENTRY(lr_tensor, 3), ENTRY(lr_dtype, 1), ENTRY(lr_shape, 1), ENTRY(lr_read, 1),
    ENTRY(lr_require_grad, 2), ENTRY(lr_requires_grad, 1), ENTRY(lr_assign, 2),
    ENTRY(lr_detach, 1), ENTRY(lr_backward, 1), ENTRY(lr_gradient, 1),
    ENTRY(lr_clear_gradient, 1), ENTRY(lr_grad_enabled, 1), ENTRY(lr_stat, 1),
    ENTRY(lr_live_handles, 0), ENTRY(lr_apply, 6), {NULL, NULL, 0}};

void R_init_lazyloom(DllInfo *info) {
  R_registerRoutines(info, NULL, entries, NULL, NULL);
  R_useDynamicSymbols(info, FALSE);
}
