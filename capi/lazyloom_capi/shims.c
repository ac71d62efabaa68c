/* The exported functions of liblazyloom.so.

   Each checks that calls can be made at all, calls a private entry (loomp_*, written in
   Python, lazyloom_capi/entries.py and what it imports) and turns its answer into a
   status: 1 is success, a negative number the error that was recorded, and 0 what cffi
   returns when a callback died. What a program does all the time, to record an op and to
   release a handle, is in recording.c and handles.c and goes by neither cffi nor Python
   code. */

/* ---- dtypes -------------------------------------------------------------------- */

static size_t dtype_row(loom_dtype dtype) {
  return (size_t)dtype < sizeof dtypes / sizeof dtypes[0] ? (size_t)dtype : 0;
}

size_t loom_dtype_size(loom_dtype dtype) { return dtypes[dtype_row(dtype)].size; }

const char *loom_dtype_name(loom_dtype dtype) { return dtypes[dtype_row(dtype)].name; }

/* ---- tensors ------------------------------------------------------------------- */

loom_status loom_tensor_from_host(const void *data, size_t nbytes, loom_dtype dtype,
                                  const int64_t *shape, size_t ndim, loom_tensor *result) {
  loom_status status;
  NEED(result);
  result->bits = 0;
  READY();
  NEED_IF(data, nbytes);
  NEED_LIST(shape, ndim);
  if (from_host_directly(data, nbytes, dtype, shape, ndim, &result->bits, &status)) return status;
  return CALL(loomp_from_host((void *)data, nbytes, (int)dtype, shape, ndim, false, NULL, NULL,
                                &result->bits, WHERE));
}

loom_status loom_tensor_share_host(const void *data, size_t nbytes, loom_dtype dtype,
                                   const int64_t *shape, size_t ndim,
                                   void (*done)(void *context), void *context,
                                   loom_tensor *result) {
  loom_status status = LOOM_OK;
  if (result == NULL) status = null_pointer(__func__, "result");
  else result->bits = 0;
  if (status == LOOM_OK && !ready()) status = not_ready();
  if (status == LOOM_OK && data == NULL && nbytes) status = null_pointer(__func__, "data");
  if (status == LOOM_OK && ndim > LONGEST) status = too_long(__func__, "ndim", ndim);
  if (status == LOOM_OK && shape == NULL && ndim) status = null_pointer(__func__, "shape");
  if (status != LOOM_OK) {
    if (done != NULL) done(context);
    return status;
  }
  return CALL(loomp_from_host((void *)data, nbytes, (int)dtype, shape, ndim, true, done, context,
                                &result->bits, WHERE));
}

loom_status loom_tensor_read(loom_tensor tensor, void *buffer, size_t nbytes) {
  loom_status status;
  READY();
  NEED_IF(buffer, nbytes);
  if (read_directly(tensor.bits, buffer, nbytes, &status)) return status;
  return CALL_ABOUT(tensor, loomp_read(tensor.bits, buffer, nbytes, WHERE));
}

loom_status loom_tensor_map(loom_tensor tensor, loom_buffer *result, const void **data,
                            size_t *nbytes) {
  NEED(result);
  result->bits = 0;
  READY();
  NEED(data);
  NEED(nbytes);
  return CALL_ABOUT(tensor, loomp_map(tensor.bits, &result->bits, (void **)data, nbytes, WHERE));
}

loom_status loom_buffer_release(loom_buffer buffer) {
  OWNED();
  return release_named(LOOMP_BUFFER, buffer.bits, __func__, "buffer");
}

loom_status loom_tensor_retain(loom_tensor tensor) {
  OWNED();
  return about_handle(retain(LOOMP_TENSOR, tensor.bits), __func__, "tensor");
}

loom_status loom_tensor_release(loom_tensor tensor) {
  OWNED();
  return release_named(LOOMP_TENSOR, tensor.bits, __func__, "tensor");
}

loom_status loom_tensors_release(loom_tensor *tensors, size_t count) {
  loom_status status = LOOM_OK, one;
  bool at_once = false;
  size_t i;
  OWNED();
  NEED_LIST(tensors, count);
  for (i = 0; i < count; ++i) {
    const uint64_t bits = tensors[i].bits;
    tensors[i].bits = 0;
    one = bits ? give_up(LOOMP_TENSOR, bits, &at_once) : LOOM_OK;
    if (one != LOOM_OK) status = about_entry(one, __func__, "tensors", i);
  }
  one = at_once ? let_go_now() : LOOM_OK;
  return one != LOOM_OK ? one : status;
}

static loom_status describe(const char *function, loom_tensor tensor, int what, int64_t *value) {
  return about_handle(CALL(loomp_info(tensor.bits, what, value)), function, "tensor");
}

loom_status loom_tensor_dtype(loom_tensor tensor, loom_dtype *dtype) {
  int64_t value = 0;
  loom_status status;
  READY();
  NEED(dtype);
  status = describe(__func__, tensor, LOOMP_DTYPE, &value);
  if (status == LOOM_OK) *dtype = (loom_dtype)value;
  return status;
}

loom_status loom_tensor_ndim(loom_tensor tensor, size_t *ndim) {
  int64_t value = 0;
  loom_status status;
  READY();
  NEED(ndim);
  status = describe(__func__, tensor, LOOMP_NDIM, &value);
  if (status == LOOM_OK) *ndim = (size_t)value;
  return status;
}

loom_status loom_tensor_shape(loom_tensor tensor, int64_t *shape, size_t capacity, size_t *ndim) {
  size_t ignored;
  READY();
  NEED_IF(shape, capacity);
  return CALL_ABOUT(tensor, loomp_shape(tensor.bits, shape, capacity,
                                        ndim != NULL ? ndim : &ignored));
}

loom_status loom_tensor_nbytes(loom_tensor tensor, size_t *nbytes) {
  int64_t value = 0;
  loom_status status;
  READY();
  NEED(nbytes);
  status = describe(__func__, tensor, LOOMP_NBYTES, &value);
  if (status == LOOM_OK) *nbytes = (size_t)value;
  return status;
}

loom_status loom_tensor_is_pending(loom_tensor tensor, bool *pending) {
  int64_t value = 0;
  loom_status status;
  READY();
  NEED(pending);
  status = describe(__func__, tensor, LOOMP_PENDING, &value);
  if (status == LOOM_OK) *pending = value != 0;
  return status;
}

loom_status loom_tensor_requires_grad(loom_tensor tensor, bool *required) {
  int64_t value = 0;
  loom_status status;
  READY();
  NEED(required);
  status = describe(__func__, tensor, LOOMP_REQUIRES_GRAD, &value);
  if (status == LOOM_OK) *required = value != 0;
  return status;
}

loom_status loom_live_handles(size_t *count) {
  READY();
  NEED(count);
  *count = (size_t)__atomic_load_n(&live, __ATOMIC_RELAXED);
  return LOOM_OK;
}

/* ---- recording ----------------------------------------------------------------- */

static loom_status apply(bool source, const char *function, const char *op,
                          const loom_operand *operands, size_t operand_count,
                          const loom_attr *attributes, size_t attribute_count,
                          loom_tensor *results, size_t capacity, size_t *result_count) {
  size_t count = 0;
  loom_status status;
  if (capacity > LONGEST) return too_long(function, "capacity", capacity);
  if (results != NULL && capacity != 0) memset(results, 0, capacity * sizeof *results);
  READY();
  if (op == NULL) return null_pointer(function, "op");
  if (operand_count > LONGEST) return too_long(function, "operand_count", operand_count);
  if (attribute_count > LONGEST) return too_long(function, "attribute_count", attribute_count);
  if (operands == NULL && operand_count) return null_pointer(function, "operands");
  if (attributes == NULL && attribute_count) return null_pointer(function, "attributes");
  if (results == NULL) return null_pointer(function, "results");
  status = record(source, op, operands, operand_count, attributes, attribute_count, results,
                  capacity, &count);
  if (result_count != NULL) *result_count = count;
  return status;
}

loom_status loom_apply(const char *op, const loom_operand *operands, size_t operand_count,
                       const loom_attr *attributes, size_t attribute_count, loom_tensor *results,
                       size_t capacity, size_t *result_count) {
  return apply(false, __func__, op, operands, operand_count, attributes, attribute_count, results,
                capacity, result_count);
}

loom_status loom_source(const char *op, const loom_operand *operands, size_t operand_count,
                        const loom_attr *attributes, size_t attribute_count, loom_tensor *results,
                        size_t capacity, size_t *result_count) {
  return apply(true, __func__, op, operands, operand_count, attributes, attribute_count, results,
                capacity, result_count);
}

loom_status loom_boundary(loom_tensor tensor) {
  READY();
  return CALL_ABOUT(tensor, loomp_boundary(tensor.bits, WHERE));
}

loom_status loom_tensor_assign(loom_tensor target, loom_tensor value) {
  loom_status status;
  READY();
  if (assign_directly(&target.bits, &value.bits, 1, &status)) return status;
  return CALL(loomp_assign(target.bits, value.bits, WHERE));
}

loom_status loom_tensors_assign(const loom_tensor *targets, const loom_tensor *values,
                                size_t count) {
  loom_status status;
  READY();
  NEED_LIST(targets, count);
  NEED_LIST(values, count);
  if (assign_directly((const uint64_t *)targets, (const uint64_t *)values, count, &status))
    return status;
  return CALL(loomp_assign_all((const uint64_t *)targets, (const uint64_t *)values, count, WHERE));
}

loom_status loom_tensor_detach(loom_tensor tensor, loom_tensor *result) {
  loom_status status;
  NEED(result);
  result->bits = 0;
  READY();
  if (detach_directly(tensor.bits, &result->bits, &status)) return status;
  return CALL_ABOUT(tensor, loomp_detach(tensor.bits, &result->bits, WHERE));
}

/* ---- gradients ----------------------------------------------------------------- */

loom_status loom_tensor_require_grad(loom_tensor tensor, bool required) {
  READY();
  return CALL_ABOUT(tensor, loomp_require_grad(tensor.bits, required, WHERE));
}

loom_status loom_set_grad_enabled(bool enabled, bool *previous) {
  int before = 0;
  bool were = false;
  loom_status status;
  READY();
  if (!set_grad_enabled_directly(enabled, &were, &status)) {
    status = CALL(loomp_set_grad_enabled(enabled, &before));
    were = before != 0;
  }
  if (status == LOOM_OK && previous != NULL) *previous = were;
  return status;
}

loom_status loom_grad(const loom_tensor *outputs, size_t output_count, const loom_tensor *inputs,
                      size_t input_count, const loom_tensor *cotangents, bool create_graph,
                      loom_tensor *gradients) {
  loom_status status;
  NEED_LIST(inputs, input_count);
  if (gradients != NULL) memset(gradients, 0, input_count * sizeof *gradients);
  READY();
  NEED_LIST(outputs, output_count);
  NEED_IF(gradients, input_count);
  if (grad_directly((const uint64_t *)outputs, output_count, (const uint64_t *)inputs,
                    input_count, (const uint64_t *)cotangents, create_graph,
                    (uint64_t *)gradients, &status))
    return status;
  return CALL(loomp_grad((const uint64_t *)outputs, output_count,
                           (const uint64_t *)inputs, input_count,
                           (const uint64_t *)cotangents, create_graph,
                           (uint64_t *)gradients, WHERE));
}

loom_status loom_backward(const loom_tensor *outputs, size_t output_count,
                          const loom_tensor *cotangents) {
  READY();
  NEED_LIST(outputs, output_count);
  return CALL(loomp_backward((const uint64_t *)outputs, output_count,
                               (const uint64_t *)cotangents, WHERE));
}

loom_status loom_tensor_gradient(loom_tensor tensor, loom_tensor *result) {
  NEED(result);
  result->bits = 0;
  READY();
  return CALL_ABOUT(tensor, loomp_gradient(tensor.bits, &result->bits));
}

loom_status loom_tensor_clear_gradient(loom_tensor tensor) {
  READY();
  return CALL_ABOUT(tensor, loomp_clear_gradient(tensor.bits));
}

/* ---- loops and branches --------------------------------------------------------- */

/* A function of the caller's, and who it was given to. */
typedef struct given_function {
  loom_function function;
  void *context;
  const char *to;
} given_function;

/* Calls one for an entry; the answer is its status, whose error is recorded. */
static int call_given(void *given, const uint64_t *inputs, size_t input_count, uint64_t *outputs,
                      size_t output_count) {
  const given_function *f = (const given_function *)given;
  const char *file = source_file;
  const int line = source_line;
  const uint32_t before = errors_made;
  char *const outer = function_called;
  loom_status status;
  function_called = (char *)__builtin_frame_address(0);
  status = f->function((const loom_tensor *)inputs, input_count, (loom_tensor *)outputs,
                       output_count, f->context);
  function_called = outer;
  loom_set_source_location(file, line);
  if (status != LOOM_OK && (errors_made == before || loom_error_status() != status)) {
    char message[200];
    snprintf(message, sizeof message,
             "%s: a function that was given to it returned the status %d (%s), and no call that "
             "failed with it; expected LOOM_OK, the status of such a call, or loom_set_error()",
             f->to, (int)status, loom_status_name(status));
    return (int)fail(LOOM_ERROR_ARGUMENT, message);
  }
  return (int)status;
}

/* Releases handles that are not stale already. */
static void let_go(const uint64_t *tensors, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) {
    if (live_slot(LOOMP_TENSOR, tensors[i]) != NULL) (void)release(LOOMP_TENSOR, tensors[i]);
  }
}

loom_status loom_scan(loom_function step, void *context, const loom_tensor *init,
                      size_t carry_count, const loom_tensor *xs, size_t xs_count, int64_t length,
                      size_t ys_count, bool reverse, loom_tensor *results) {
  given_function f = {step, context, "loom_scan"};
  NEED_LIST(init, carry_count);
  if (ys_count > LONGEST) return too_long(__func__, "ys_count", ys_count);
  if (results != NULL) memset(results, 0, (carry_count + ys_count) * sizeof *results);
  READY();
  NEED(step);
  NEED_LIST(xs, xs_count);
  NEED_IF(results, carry_count + ys_count);
  return CALL(loomp_scan(call_given, &f, let_go, (const uint64_t *)init, carry_count,
                           (const uint64_t *)xs, xs_count, length, ys_count, reverse,
                           (uint64_t *)results, WHERE));
}

loom_status loom_while_loop(loom_function condition, loom_function body, void *context,
                            const loom_tensor *init, size_t carry_count, int64_t max_steps,
                            loom_tensor *results) {
  given_function c = {condition, context, "loom_while_loop"};
  given_function b = {body, context, "loom_while_loop"};
  NEED_LIST(init, carry_count);
  if (results != NULL) memset(results, 0, carry_count * sizeof *results);
  READY();
  NEED(condition);
  NEED(body);
  NEED_IF(results, carry_count);
  return CALL(loomp_while_loop(call_given, &c, &b, let_go, (const uint64_t *)init, carry_count,
                                 max_steps, (uint64_t *)results, WHERE));
}

loom_status loom_cond(loom_tensor which, loom_function if_true, loom_function if_false,
                      void *context, const loom_tensor *operands, size_t operand_count,
                      loom_tensor *results, size_t result_count) {
  given_function t = {if_true, context, "loom_cond"};
  given_function f = {if_false, context, "loom_cond"};
  if (result_count > LONGEST) return too_long(__func__, "result_count", result_count);
  if (results != NULL) memset(results, 0, result_count * sizeof *results);
  READY();
  NEED(if_true);
  NEED(if_false);
  NEED_LIST(operands, operand_count);
  NEED_IF(results, result_count);
  return CALL(loomp_cond(call_given, which.bits, &t, &f, let_go, (const uint64_t *)operands,
                           operand_count, (uint64_t *)results, result_count, WHERE));
}

/* ---- code generators -------------------------------------------------------------- */

loom_status loom_codegen_use(const char *const *names, size_t count) {
  size_t i;
  READY();
  NEED_LIST(names, count);
  for (i = 0; i < count; ++i) {
    if (names[i] == NULL) return null_entry(__func__, "names", i);
  }
  return CALL(loomp_codegen_use((char **)(uintptr_t)names, count));
}

static loom_status text(const char *function, int what, uint64_t handle, const char *name,
                        char *buffer, size_t capacity, size_t *needed) {
  size_t ignored;
  READY();
  if (capacity != 0 && buffer == NULL) return null_pointer(function, "buffer");
  return about_handle(CALL(loomp_text(what, handle, name, buffer, capacity,
                                      needed != NULL ? needed : &ignored)), function,
                      what == LOOMP_QUANTIZED_VALUES ? "quantized" : what == LOOMP_PLACEMENT ||
                      what == LOOMP_PICTURE || what == LOOMP_PICTURE_SVG ? "tensor" : "program");
}

loom_status loom_codegen_in_use(char *buffer, size_t capacity, size_t *needed) {
  return text(__func__, LOOMP_CODEGEN_IN_USE, 0, NULL, buffer, capacity, needed);
}

loom_status loom_codegen_available(char *buffer, size_t capacity, size_t *needed) {
  return text(__func__, LOOMP_CODEGEN_AVAILABLE, 0, NULL, buffer, capacity, needed);
}

/* ---- evaluation and observation ------------------------------------------------ */

loom_status loom_sync(const loom_tensor *tensors, size_t count, bool wait) {
  READY();
  NEED_LIST(tensors, count);
  return CALL(loomp_sync((uint64_t *)tensors, count, wait, WHERE));
}

loom_status loom_mark_dynamic(loom_tensor tensor, int64_t axis, int64_t minimum,
                              int64_t maximum) {
  READY();
  return CALL_ABOUT(tensor, loomp_mark_dynamic(tensor.bits, axis, minimum, maximum, WHERE));
}

loom_status loom_mark_static(loom_tensor tensor, const int64_t *axes, size_t axis_count) {
  READY();
  NEED_LIST(axes, axis_count);
  return CALL_ABOUT(tensor, loomp_mark_static(tensor.bits, axes, axis_count, WHERE));
}

loom_status loom_program_of(const loom_tensor *tensors, size_t count, loom_program *result) {
  NEED(result);
  result->bits = 0;
  READY();
  NEED_LIST(tensors, count);
  return CALL(loomp_program_of((uint64_t *)tensors, count, &result->bits, WHERE));
}

loom_status loom_last_program(loom_program *result) {
  NEED(result);
  result->bits = 0;
  READY();
  return CALL(loomp_last_program(&result->bits));
}

loom_status loom_program_key(loom_program program, char *buffer, size_t capacity,
                             size_t *needed) {
  return text(__func__, LOOMP_PROGRAM_KEY, program.bits, NULL, buffer, capacity, needed);
}

loom_status loom_program_text(loom_program program, char *buffer, size_t capacity,
                              size_t *needed) {
  return text(__func__, LOOMP_PROGRAM_TEXT, program.bits, NULL, buffer, capacity, needed);
}

loom_status loom_program_explain(loom_program program, char *buffer, size_t capacity,
                                 size_t *needed) {
  size_t whole = 0;
  char told[200];
  loom_status status = text(__func__, LOOMP_PROGRAM_EXPLAIN, program.bits, NULL, buffer, capacity,
                            &whole);
  if (status != LOOM_OK) return status;
  if (needed != NULL) {
    *needed = whole;
  } else if (capacity != 0 && whole > capacity) {
    snprintf(told, sizeof told,
             "%s: the buffer has %zu bytes, expected %zu for the whole text; pass needed to learn "
             "that before", __func__, capacity, whole);
    return fail_at(LOOM_ERROR_ARGUMENT, told, "capacity");
  }
  return LOOM_OK;
}

loom_status loom_program_op_count(loom_program program, size_t *count) {
  READY();
  NEED(count);
  return CALL_ABOUT(program, loomp_program_ops(program.bits, count));
}

loom_status loom_program_release(loom_program program) {
  OWNED();
  return release_named(LOOMP_PROGRAM, program.bits, __func__, "program");
}

loom_status loom_stat(const char *name, int64_t *value) {
  READY();
  NEED(name);
  NEED(value);
  return CALL(loomp_stat(name, value));
}

loom_status loom_stats_json(char *buffer, size_t capacity, size_t *needed) {
  return text(__func__, LOOMP_STATS, 0, NULL, buffer, capacity, needed);
}

loom_status loom_last_evaluation(char *buffer, size_t capacity, size_t *needed) {
  return text(__func__, LOOMP_LAST_EVALUATION, 0, NULL, buffer, capacity, needed);
}

loom_status loom_op_count(size_t *count) {
  READY();
  NEED(count);
  return CALL(loomp_op_count(count));
}

loom_status loom_op_name(size_t index, const char **name) {
  READY();
  NEED(name);
  return CALL(loomp_op_name(index, (char **)name));
}

loom_status loom_op_describe(const char *op, char *buffer, size_t capacity, size_t *needed) {
  READY();
  NEED(op);
  return text(__func__, LOOMP_DESCRIBE, 0, op, buffer, capacity, needed);
}
