/* Loops, branches, captures and transforms: functions of R's that C calls. */
#include "bridge.h"

/* Two functions of R's that go through one context. They were made by R so that they give a list of
   tensors, or what was wrong as a list of one condition, and end in no other way but by a jump. */
typedef struct functions {
  SEXP first, second;
  SEXP problem; /* a list of one, which R keeps */
} functions;

static loom_status call(SEXP function, functions *both, const loom_tensor *inputs,
                        size_t input_count, loom_tensor *outputs, size_t output_count) {
  SEXP given = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)input_count)), done, made, called;
  loom_status status = LOOM_OK;
  int jumped = 0;
  size_t i, k;
  for (i = 0; status == LOOM_OK && i < input_count; ++i) {
    /* the inputs stay the library's */
    status = loom_tensor_retain(inputs[i]);
    if (status == LOOM_OK) SET_VECTOR_ELT(given, (R_xlen_t)i, lr_owned(inputs[i]));
  }
  if (status != LOOM_OK) {
    UNPROTECT(1);
    return status;
  }
  called = PROTECT(Rf_lang3(function, given, Rf_ScalarInteger((int)output_count)));
  /* a jump, as an interrupt is, must not cross C */
  done = R_tryEvalSilent(called, R_GlobalEnv, &jumped);
  if (jumped || TYPEOF(done) != VECSXP) {
    UNPROTECT(2);
    return loom_set_error(LOOM_ERROR, "the function was left by a jump or an interrupt, expected "
                          "it to give tensors");
  }
  PROTECT(done);
  if (Rf_xlength(done) == 2) {
    SET_VECTOR_ELT(both->problem, 0, VECTOR_ELT(done, 1));
    UNPROTECT(3);
    return loom_set_error(LOOM_ERROR, CHAR(STRING_ELT(VECTOR_ELT(done, 0), 0)));
  }
  made = VECTOR_ELT(done, 1);
  done = VECTOR_ELT(done, 0);
  for (i = 0; status == LOOM_OK && i < output_count; ++i) {
    bool own = false;
    outputs[i] = lr_handle(VECTOR_ELT(done, (R_xlen_t)i));
    for (k = 0; k < input_count; ++k) own = own || inputs[k].bits == outputs[i].bits;
    /* the library takes one owner of each; of its own inputs it has that already */
    if (!own) status = loom_tensor_retain(outputs[i]);
    if (status != LOOM_OK) outputs[i] = loom_null();
  }
  for (i = 0; i < (size_t)Rf_xlength(made); ++i) lr_forget(VECTOR_ELT(made, (R_xlen_t)i));
  UNPROTECT(3);
  return status;
}

static loom_status call_first(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                              size_t output_count, void *context) {
  functions *both = (functions *)context;
  return call(both->first, both, inputs, input_count, outputs, output_count);
}

static loom_status call_second(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                               size_t output_count, void *context) {
  functions *both = (functions *)context;
  return call(both->second, both, inputs, input_count, outputs, output_count);
}

/* What R gets: the tensors, or the function's own condition, or the failure. */
static SEXP finished(loom_status status, functions *both, const loom_tensor *found, size_t count) {
  SEXP problem = VECTOR_ELT(both->problem, 0);
  if (!Rf_isNull(problem)) return problem;
  return status == LOOM_OK ? lr_owned_list(found, count) : lr_failure(status);
}

#define FUNCTIONS(first, second) \
  functions both = {first, second, PROTECT(Rf_allocVector(VECSXP, 1))}
#define LENGTH_OF(list) (size_t)Rf_xlength(list)

static size_t count_of(SEXP count) { return (size_t)Rf_asInteger(count); }

SEXP lr_scan(SEXP step, SEXP init, SEXP xs, SEXP ys_count, SEXP length, SEXP reverse) {
  FUNCTIONS(step, R_NilValue);
  const size_t count = LENGTH_OF(init) + count_of(ys_count);
  loom_tensor *found = lr_room(count);
  const loom_status status =
      loom_scan(call_first, &both, lr_handles(init), LENGTH_OF(init), lr_handles(xs),
                LENGTH_OF(xs), Rf_isNull(length) ? -1 : (int64_t)Rf_asReal(length),
                count_of(ys_count), Rf_asLogical(reverse) == TRUE, found);
  SEXP result = finished(status, &both, found, count);
  UNPROTECT(1);
  return result;
}

SEXP lr_while(SEXP condition, SEXP body, SEXP init, SEXP max_steps) {
  FUNCTIONS(condition, body);
  const size_t count = LENGTH_OF(init);
  loom_tensor *found = lr_room(count);
  const loom_status status =
      loom_while_loop(call_first, call_second, &both, lr_handles(init), count,
                      Rf_isNull(max_steps) ? -1 : (int64_t)Rf_asReal(max_steps), found);
  SEXP result = finished(status, &both, found, count);
  UNPROTECT(1);
  return result;
}

SEXP lr_cond(SEXP which, SEXP if_true, SEXP if_false, SEXP operands, SEXP count) {
  FUNCTIONS(if_true, if_false);
  loom_tensor *found = lr_room(count_of(count));
  const loom_status status =
      loom_cond(lr_handle(which), call_first, call_second, &both, lr_handles(operands),
                LENGTH_OF(operands), found, count_of(count));
  SEXP result = finished(status, &both, found, count_of(count));
  UNPROTECT(1);
  return result;
}

/* ---- captures ------------------------------------------------------------------------------- */

/* step is called as the other functions are, with no inputs; gives the capture and how many results
   a run has. */
SEXP lr_capture(SEXP inputs, SEXP step) {
  loom_capture made = {0};
  SEXP done, list, found;
  int jumped = 0;
  loom_status status = loom_capture_begin(lr_handles(inputs), LENGTH_OF(inputs));
  if (status != LOOM_OK) return lr_failure(status);
  done = R_tryEvalSilent(PROTECT(Rf_lang1(step)), R_GlobalEnv, &jumped);
  if (jumped || TYPEOF(done) != VECSXP || Rf_xlength(done) == 2) {
    SEXP problem = jumped || TYPEOF(done) != VECSXP ? R_NilValue : VECTOR_ELT(done, 1);
    /* a capture that cannot be cancelled has ended */
    status = loom_capture_cancel();
    UNPROTECT(1);
    if (!Rf_isNull(problem)) return problem;
    return lr_fail(LOOM_ERROR, "loom_capture: the step was left by a jump or an interrupt, "
                   "expected it to give tensors");
  }
  PROTECT(done);
  list = VECTOR_ELT(done, 0);
  status = loom_capture_end(lr_handles(list), LENGTH_OF(list), &made);
  found = R_NilValue;
  if (status == LOOM_OK) {
    found = PROTECT(Rf_allocVector(VECSXP, 2));
    SET_VECTOR_ELT(found, 0, lr_owned_bits(made.bits, LR_CAPTURE));
    SET_VECTOR_ELT(found, 1, Rf_ScalarInteger((int)Rf_xlength(list)));
    UNPROTECT(1);
  }
  UNPROTECT(2);
  return status == LOOM_OK ? found : lr_failure(status);
}

SEXP lr_capture_run(SEXP capture, SEXP inputs, SEXP count) {
  const loom_capture handle = {lr_bits(capture, LR_CAPTURE)};
  loom_tensor *found = lr_room(count_of(count));
  const loom_status status = loom_capture_run(handle, lr_handles(inputs), LENGTH_OF(inputs), found,
                                              count_of(count));
  return status == LOOM_OK ? lr_owned_list(found, count_of(count)) : lr_failure(status);
}

/* ---- transforms ----------------------------------------------------------------------------- */

/* A list of two: the results and the map. */
SEXP lr_linear(SEXP function, SEXP inputs, SEXP count, SEXP forward) {
  FUNCTIONS(function, R_NilValue);
  loom_tensor *found = lr_room(count_of(count));
  loom_linear_map map = {0};
  const loom_status status =
      (Rf_asLogical(forward) == TRUE ? loom_linearize : loom_vjp)(
          call_first, &both, lr_handles(inputs), LENGTH_OF(inputs), found, count_of(count), &map);
  SEXP results = PROTECT(finished(status, &both, found, count_of(count))), pair = results;
  if (status == LOOM_OK) {
    pair = PROTECT(Rf_allocVector(VECSXP, 2));
    SET_VECTOR_ELT(pair, 0, results);
    SET_VECTOR_ELT(pair, 1, lr_owned_bits(map.bits, LR_MAP));
    UNPROTECT(1);
  }
  UNPROTECT(2);
  return pair;
}

SEXP lr_linear_apply(SEXP map, SEXP given, SEXP count) {
  const loom_linear_map handle = {lr_bits(map, LR_MAP)};
  loom_tensor *found = lr_room(count_of(count));
  const loom_status status = loom_linear_map_apply(handle, lr_handles(given), LENGTH_OF(given),
                                                   found, count_of(count));
  return status == LOOM_OK ? lr_owned_list(found, count_of(count)) : lr_failure(status);
}

/* The results, then their derivatives. */
SEXP lr_jvp(SEXP function, SEXP inputs, SEXP tangents, SEXP count) {
  FUNCTIONS(function, R_NilValue);
  const size_t n = count_of(count);
  loom_tensor *found = lr_room(2 * n);
  const loom_status status = loom_jvp(call_first, &both, lr_handles(inputs), lr_handles(tangents),
                                      LENGTH_OF(inputs), found, found + n, n);
  SEXP result = finished(status, &both, found, 2 * n);
  UNPROTECT(1);
  return result;
}

/* Positions count from 1 in R. */
static size_t *positions_of(SEXP positions) {
  size_t *found = (size_t *)R_alloc((size_t)Rf_xlength(positions) + 1, sizeof *found);
  R_xlen_t i;
  /* what is below 1 is beyond all inputs */
  for (i = 0; i < Rf_xlength(positions); ++i)
    found[i] = REAL(positions)[i] >= 1 ? (size_t)REAL(positions)[i] - 1 : (size_t)-1;
  return found;
}

/* The results, then the gradients. */
SEXP lr_value_and_grad(SEXP function, SEXP inputs, SEXP positions, SEXP count) {
  FUNCTIONS(function, R_NilValue);
  const size_t n = count_of(count), all = n + LENGTH_OF(positions);
  loom_tensor *found = lr_room(all);
  const loom_status status = loom_value_and_grad(
      call_first, &both, lr_handles(inputs), LENGTH_OF(inputs), positions_of(positions),
      LENGTH_OF(positions), found, n, found + n);
  SEXP result = finished(status, &both, found, all);
  UNPROTECT(1);
  return result;
}

/* direction: that of C, or 3 for second derivatives. */
SEXP lr_jacobian(SEXP function, SEXP inputs, SEXP positions, SEXP count, SEXP direction) {
  FUNCTIONS(function, R_NilValue);
  const size_t some = LENGTH_OF(positions), n = count_of(count);
  const bool second = Rf_asInteger(direction) == 3;
  const size_t all = n * some * (second ? some : 1);
  loom_tensor *found = lr_room(all);
  const loom_status status =
      second ? loom_hessian(call_first, &both, lr_handles(inputs), LENGTH_OF(inputs),
                            positions_of(positions), some, n, found)
             : loom_jacobian(call_first, &both, lr_handles(inputs), LENGTH_OF(inputs),
                             positions_of(positions), some, n,
                             (loom_direction)Rf_asInteger(direction), false, found);
  SEXP result = finished(status, &both, found, all);
  UNPROTECT(1);
  return result;
}

/* Axes as C has them; NA is none. */
static int64_t *axes_of(SEXP axes) {
  int64_t *found = (int64_t *)R_alloc((size_t)Rf_xlength(axes) + 1, sizeof *found);
  R_xlen_t i;
  for (i = 0; i < Rf_xlength(axes); ++i)
    found[i] = ISNAN(REAL(axes)[i]) ? LOOM_UNMAPPED : (int64_t)REAL(axes)[i];
  return found;
}

SEXP lr_vmap(SEXP function, SEXP inputs, SEXP in_axes, SEXP out_axes, SEXP size, SEXP count) {
  FUNCTIONS(function, R_NilValue);
  loom_tensor *found = lr_room(count_of(count));
  const loom_status status =
      loom_vmap(call_first, &both, lr_handles(inputs), LENGTH_OF(inputs), axes_of(in_axes),
                Rf_isNull(size) ? -1 : (int64_t)Rf_asReal(size), axes_of(out_axes), found,
                count_of(count));
  SEXP result = finished(status, &both, found, count_of(count));
  UNPROTECT(1);
  return result;
}
