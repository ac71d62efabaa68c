/* To wait, and not to wait: the exported functions, as those of shims.c. */

loom_status loom_tensors_read(const loom_tensor *tensors, void *const *buffers,
                              const size_t *nbytes, size_t count) {
  size_t i;
  READY();
  NEED_LIST(tensors, count);
  NEED_IF(buffers, count);
  NEED_IF(nbytes, count);
  for (i = 0; i < count; ++i) {
    if (buffers[i] == NULL && nbytes[i] != 0) return null_entry(__func__, "buffers", i);
  }
  return CALL(loomp_read_all((const uint64_t *)tensors, (void **)(uintptr_t)buffers, nbytes,
                             count, WHERE));
}

loom_status loom_tensor_is_ready(loom_tensor tensor, bool *result) {
  int64_t value = 0;
  loom_status status;
  READY();
  NEED(result);
  status = CALL_ABOUT(tensor, loomp_is_ready(tensor.bits, &value));
  if (status == LOOM_OK) *result = value != 0;
  return status;
}

loom_status loom_wait(const loom_tensor *tensors, size_t count, double timeout) {
  READY();
  NEED_LIST(tensors, count);
  return CALL(loomp_wait((const uint64_t *)tensors, count, timeout, (uintptr_t)source_file,
                         source_line));
}

/* A function that hears that a tensor is ready. */
typedef struct ready_call {
  loom_ready_function function;
  void *context;
} ready_call;

/* Called by the entries, once for each, on the thread that is for it, without the interpreter's
   lock; a status that is an error was recorded on that thread. */
static void loomp_call_ready(void *given, int status) {
  const ready_call call = *(ready_call *)given;
  char *const outer = function_called;
  free(given);
  calls_back = true;
  if (status == LOOM_OK) loom_error_clear();
  function_called = (char *)__builtin_frame_address(0);
  call.function((loom_status)status, call.context);
  function_called = outer;
  source_file = NULL;
}

loom_status loom_tensor_on_ready(loom_tensor tensor, loom_ready_function function,
                                 void *context) {
  ready_call *call;
  loom_status status;
  READY();
  NEED(function);
  call = (ready_call *)malloc(sizeof *call);
  if (call == NULL) return fail(LOOM_ERROR_OUT_OF_MEMORY, "there is no memory for the call");
  call->function = function;
  call->context = context;
  status = CALL_ABOUT(tensor, loomp_on_ready(tensor.bits, call, WHERE));
  if (status != LOOM_OK) free(call);
  return status;
}
