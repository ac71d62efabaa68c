/* Exported programs: the exported functions, as those of shims.c. */

static loom_status need_names(const char *name, const char *const *names, size_t count,
                              const char *called) {
  size_t i;
  for (i = 0; i < count; ++i)
    if (names[i] == NULL) return null_pointer(name, called);
  return LOOM_OK;
}

static loom_status export_given(const char *name, const char *path, const loom_tensor *inputs,
                                const char *const *input_names, size_t input_count,
                                const loom_tensor *results, size_t result_count,
                                const loom_tensor *parameters,
                                const char *const *parameter_names, size_t parameter_count,
                                const loom_export_options *options) {
  loom_export_options given;
  loom_status status = LOOM_OK;
  memset(&given, 0, sizeof given);
  if (options != NULL) {
    if (options->size < sizeof *options || options->size > 1024)
      return fail_at(LOOM_ERROR_ARGUMENT,
                     "loom_export_with: options->size is no size of a loom_export_options, "
                     "expected sizeof(loom_export_options)",
                     "options");
    memcpy(&given, options, sizeof given);
  }
  if (input_names != NULL)
    status = need_names(name, input_names, input_count, "an entry of input_names");
  if (status == LOOM_OK)
    status = need_names(name, parameter_names, parameter_count, "an entry of parameter_names");
  if (status != LOOM_OK) return status;
  return CALL(loomp_export(path, (const uint64_t *)inputs, (char **)(uintptr_t)input_names,
                           input_count, (const uint64_t *)results, result_count,
                           (const uint64_t *)parameters, (char **)(uintptr_t)parameter_names,
                           parameter_count, given.vjp_order, given.engines, WHERE));
}

loom_status loom_export(const char *path, const loom_tensor *inputs,
                        const char *const *input_names, size_t input_count,
                        const loom_tensor *results, size_t result_count,
                        const loom_tensor *parameters, const char *const *parameter_names,
                        size_t parameter_count) {
  READY();
  NEED(path);
  NEED_LIST(inputs, input_count);
  NEED_LIST(results, result_count);
  NEED_LIST(parameters, parameter_count);
  NEED_IF(parameter_names, parameter_count);
  return export_given(__func__, path, inputs, input_names, input_count, results, result_count,
                      parameters, parameter_names, parameter_count, NULL);
}

loom_status loom_export_with(const char *path, const loom_tensor *inputs,
                             const char *const *input_names, size_t input_count,
                             const loom_tensor *results, size_t result_count,
                             const loom_tensor *parameters, const char *const *parameter_names,
                             size_t parameter_count, const loom_export_options *options) {
  READY();
  NEED(path);
  NEED_LIST(inputs, input_count);
  NEED_LIST(results, result_count);
  NEED_LIST(parameters, parameter_count);
  NEED_IF(parameter_names, parameter_count);
  return export_given(__func__, path, inputs, input_names, input_count, results, result_count,
                      parameters, parameter_names, parameter_count, options);
}

loom_status loom_load_program(const char *path, loom_exported *program) {
  NEED(program);
  program->bits = 0;
  READY();
  NEED(path);
  return CALL(loomp_load_program(path, 0, &program->bits));
}

loom_status loom_load_program_with_engines(const char *path, loom_exported *program) {
  NEED(program);
  program->bits = 0;
  READY();
  NEED(path);
  return CALL(loomp_load_program(path, 1, &program->bits));
}

loom_status loom_exported_run(loom_exported program, const loom_tensor *inputs,
                              size_t input_count, loom_tensor *results, size_t result_count) {
  if (result_count > LONGEST) return too_long(__func__, "result_count", result_count);
  none(results, result_count);
  READY();
  NEED_LIST(inputs, input_count);
  NEED_IF(results, result_count);
  return CALL(loomp_exported_run(program.bits, (const uint64_t *)inputs, input_count,
                                 (uint64_t *)results, result_count, WHERE));
}

loom_status loom_exported_seed(loom_exported program, uint64_t seed) {
  READY();
  return CALL(loomp_exported_seed(program.bits, seed));
}

loom_status loom_exported_json(loom_exported program, char *buffer, size_t capacity,
                               size_t *needed) {
  return text(__func__, LOOMP_EXPORTED_SIGNATURE, program.bits, NULL, buffer, capacity, needed);
}

loom_status loom_exported_release(loom_exported program) {
  OWNED();
  return program.bits ? release(LOOMP_EXPORTED, program.bits) : LOOM_OK;
}

loom_status loom_save_repro(const char *path, const loom_tensor *values, size_t value_count,
                            bool random_data) {
  READY();
  NEED(path);
  NEED_LIST(values, value_count);
  return CALL(loomp_save_repro(path, (const uint64_t *)values, value_count, random_data, WHERE));
}
