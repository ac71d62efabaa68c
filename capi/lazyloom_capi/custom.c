/* Derivatives of the caller's own: the exported function, as those of shims.c. */

/* What a derivative that is not taken yet needs of the caller's. */
typedef struct custom_functions {
  given_function forward, vjp, jvp;
  void *context;
  void (*done)(void *context);
} custom_functions;

/* Called once for each, by the object of Python's that stands for it or where there is none. */
static void custom_done(void *given) {
  custom_functions *functions = (custom_functions *)given;
  if (functions->done != NULL) functions->done(functions->context);
  free(functions);
}

static given_function of_custom(loom_function function, void *context) {
  given_function given;
  given.function = function;
  given.context = context;
  given.to = "loom_apply_custom";
  return given;
}

loom_status loom_apply_custom(const loom_custom_op *custom, const loom_tensor *inputs,
                              size_t input_count, loom_tensor *outputs, size_t output_count) {
  loom_custom_op all;
  custom_functions *functions;
  loom_status status = LOOM_OK;
  if (output_count > LONGEST) status = too_long(__func__, "output_count", output_count);
  else none(outputs, output_count);
  NEED(custom);
  if (custom->size < offsetof(loom_custom_op, done) + sizeof custom->done || custom->size > 1024)
    return fail_at(LOOM_ERROR_ARGUMENT,
                   "loom_apply_custom: custom->size is no size of a loom_custom_op, expected "
                   "sizeof(loom_custom_op)",
                   "custom");
  memset(&all, 0, sizeof all);
  memcpy(&all, custom, custom->size < sizeof all ? custom->size : sizeof all);
  if (status == LOOM_OK && !ready()) status = not_ready();
  if (status == LOOM_OK && all.forward == NULL) status = null_pointer(__func__, "custom->forward");
  if (status == LOOM_OK && input_count > LONGEST)
    status = too_long(__func__, "input_count", input_count);
  if (status == LOOM_OK && inputs == NULL && input_count)
    status = null_pointer(__func__, "inputs");
  if (status == LOOM_OK && outputs == NULL && output_count)
    status = null_pointer(__func__, "outputs");
  functions = status == LOOM_OK ? (custom_functions *)malloc(sizeof *functions) : NULL;
  if (functions == NULL) {
    if (all.done != NULL) all.done(all.context);
    return status != LOOM_OK ? status
                             : fail(LOOM_ERROR_OUT_OF_MEMORY, "there is no memory for the op");
  }
  functions->forward = of_custom(all.forward, all.context);
  functions->vjp = of_custom(all.vjp, all.context);
  functions->jvp = of_custom(all.jvp, all.context);
  functions->context = all.context;
  functions->done = all.done;
  return CALL(loomp_custom(call_given, &functions->forward,
                           all.vjp != NULL ? &functions->vjp : NULL,
                           all.jvp != NULL ? &functions->jvp : NULL, let_go, custom_done,
                           functions, all.name != NULL ? all.name : "custom",
                           (const uint64_t *)inputs, input_count, (uint64_t *)outputs,
                           output_count, WHERE));
}
