/* Keys, options by name, more observation, quantisation: the exported functions, as those of
   shims.c. */

loom_status loom_random_key(uint64_t seed, loom_tensor *result) {
  NEED(result);
  result->bits = 0;
  READY();
  return CALL(loomp_random_key(seed, &result->bits));
}

loom_status loom_option_set(const char *name, double value, double *previous) {
  double ignored;
  READY();
  NEED(name);
  return CALL(loomp_option(name, true, value, previous != NULL ? previous : &ignored));
}

loom_status loom_option_get(const char *name, double *value) {
  READY();
  NEED(name);
  NEED(value);
  return CALL(loomp_option(name, false, 0, value));
}

loom_status loom_options_json(char *buffer, size_t capacity, size_t *needed) {
  return text(__func__, LOOMP_OPTIONS, 0, NULL, buffer, capacity, needed);
}

loom_status loom_programs_of(const loom_tensor *tensors, size_t count, loom_program *results,
                             size_t capacity, size_t *result_count) {
  size_t ignored;
  if (capacity > LONGEST) return too_long(__func__, "capacity", capacity);
  if (results != NULL && capacity != 0) memset(results, 0, capacity * sizeof *results);
  READY();
  NEED_LIST(tensors, count);
  NEED_IF(results, capacity);
  return CALL(loomp_programs_of((const uint64_t *)tensors, count, (uint64_t *)results, capacity,
                                result_count != NULL ? result_count : &ignored, WHERE));
}

loom_status loom_evaluations_json(size_t count, char *buffer, size_t capacity, size_t *needed) {
  return text(__func__, LOOMP_EVALUATIONS, count, NULL, buffer, capacity, needed);
}

loom_status loom_profile_begin(const char *path, bool sources) {
  READY();
  return CALL(loomp_profile_begin(path, sources));
}

loom_status loom_profile_end(void) {
  READY();
  return CALL(loomp_profile_end());
}

loom_status loom_profile_json(char *buffer, size_t capacity, size_t *needed) {
  return text(__func__, LOOMP_PROFILE, 0, NULL, buffer, capacity, needed);
}

/* Bytes of the process in memory. */
static size_t resident_bytes(void) {
  unsigned long long all, resident = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (file == NULL) return 0;
  if (fscanf(file, "%llu %llu", &all, &resident) != 2) resident = 0;
  fclose(file);
  return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

loom_status loom_memory(loom_memory_figures *figures) {
  loom_memory_figures all;
  struct rusage used;
  loom_status status;
  READY();
  NEED(figures);
  if (figures->size < sizeof all.size || figures->size > 1024)
    return fail_at(LOOM_ERROR_ARGUMENT,
                   "loom_memory: figures->size is no size of a loom_memory_figures, expected "
                   "sizeof(loom_memory_figures)",
                   "figures");
  memset(&all, 0, sizeof all);
  all.size = figures->size;
  status = CALL(loomp_memory(&all.tensors, &all.tensor_bytes, &all.pending));
  if (status != LOOM_OK) return status;
  all.resident = resident_bytes();
  if (getrusage(RUSAGE_SELF, &used) == 0) all.peak = (size_t)used.ru_maxrss << 10;
  if (figures->size > sizeof all)
    memset((char *)figures + sizeof all, 0, figures->size - sizeof all);
  memcpy(figures, &all, figures->size < sizeof all ? figures->size : sizeof all);
  return LOOM_OK;
}

loom_status loom_stats_reset(void) {
  READY();
  return CALL(loomp_stats_reset());
}

loom_status loom_finish_compiling(double timeout, bool *finished) {
  int found = 0;
  loom_status status;
  READY();
  status = CALL(loomp_finish_compiling(timeout, &found));
  if (status == LOOM_OK && finished != NULL) *finished = found != 0;
  return status;
}

loom_status loom_platform(char *buffer, size_t capacity, size_t *needed) {
  return text(__func__, LOOMP_PLATFORM, 0, NULL, buffer, capacity, needed);
}

loom_status loom_cache_dir(char *buffer, size_t capacity, size_t *needed) {
  return text(__func__, LOOMP_CACHE_DIR, 0, NULL, buffer, capacity, needed);
}

loom_status loom_cache_save(const char *path, double timeout, size_t *entries) {
  size_t ignored;
  READY();
  NEED(path);
  return CALL(loomp_cache_save(path, timeout, entries != NULL ? entries : &ignored));
}

loom_status loom_cache_load(const char *path, size_t *usable, size_t *refused) {
  size_t ignored[2];
  READY();
  NEED(path);
  return CALL(loomp_cache_load(path, usable != NULL ? usable : &ignored[0],
                               refused != NULL ? refused : &ignored[1]));
}

loom_status loom_cache_report_json(char *buffer, size_t capacity, size_t *needed) {
  return text(__func__, LOOMP_CACHE_REPORT, 0, NULL, buffer, capacity, needed);
}

loom_status loom_cache_list_json(const char *path, char *buffer, size_t capacity,
                                 size_t *needed) {
  READY();
  NEED(path);
  return text(__func__, LOOMP_CACHE_LIST, 0, path, buffer, capacity, needed);
}

loom_status loom_program_collectives(loom_program program, char *buffer, size_t capacity,
                                     size_t *needed) {
  return text(__func__, LOOMP_COLLECTIVES, program.bits, NULL, buffer, capacity, needed);
}

loom_status loom_tensor_picture(loom_tensor tensor, bool svg, char *buffer, size_t capacity,
                                size_t *needed) {
  return text(__func__, svg ? LOOMP_PICTURE_SVG : LOOMP_PICTURE, tensor.bits, NULL, buffer,
              capacity, needed);
}

loom_status loom_program_picture(loom_program program, char *buffer, size_t capacity,
                                 size_t *needed) {
  return text(__func__, LOOMP_PROGRAM_PICTURE, program.bits, NULL, buffer, capacity, needed);
}

loom_status loom_codegen_measure(loom_program program) {
  READY();
  return CALL_ABOUT(program, loomp_codegen_measure(program.bits));
}

loom_status loom_codegen_verify(bool on) {
  READY();
  return CALL(loomp_codegen_mode(false, on));
}

loom_status loom_codegen_segmented(bool on) {
  READY();
  return CALL(loomp_codegen_mode(true, on));
}

loom_status loom_codegen_load(const char *library, char *buffer, size_t capacity,
                              size_t *needed) {
  READY();
  NEED(library);
  return text(__func__, LOOMP_CODEGEN_LOAD, 0, library, buffer, capacity, needed);
}

loom_status loom_codegen_failures(char *buffer, size_t capacity, size_t *needed) {
  return text(__func__, LOOMP_CODEGEN_FAILURES, 0, NULL, buffer, capacity, needed);
}

/* ---- quantisation ------------------------------------------------------------------- */

static loom_status quantize_wrong(const char *name, loom_function function,
                                  const loom_tensor *batches, size_t batch_count,
                                  size_t input_count, size_t output_count,
                                  const loom_quantize_options *options) {
  size_t total = batch_count;
  loom_status status;
  if (!ready()) return not_ready();
  if (function == NULL) return null_pointer(name, "function");
  if (batch_count > LONGEST) return too_long(name, "batch_count", batch_count);
  if (input_count > LONGEST) return too_long(name, "input_count", input_count);
  if (output_count > LONGEST) return too_long(name, "output_count", output_count);
  status = times(name, "batches", &total, input_count);
  if (status != LOOM_OK) return status;
  if (batches == NULL && total) return null_pointer(name, "batches");
  if (options == NULL) return LOOM_OK;
  if (options->size < sizeof *options || options->size > 1024)
    return fail_at(LOOM_ERROR_ARGUMENT,
                   "loom_quantize_function: options->size is no size of a "
                   "loom_quantize_options, expected sizeof(loom_quantize_options)",
                   "options");
  if (options->skip_count > LONGEST)
    return too_long(name, "options->skip_count", options->skip_count);
  if (options->skip == NULL && options->skip_count) return null_pointer(name, "options->skip");
  return LOOM_OK;
}

loom_status loom_quantize_function(loom_function function, void *context,
                                   void (*done)(void *context), const loom_tensor *batches,
                                   size_t batch_count, size_t input_count, size_t output_count,
                                   const loom_quantize_options *options,
                                   loom_quantized *result) {
  loom_quantize_options given;
  custom_functions *kept = NULL;
  loom_status status = LOOM_OK;
  if (result == NULL) status = null_pointer(__func__, "result");
  else result->bits = 0;
  if (status == LOOM_OK)
    status = quantize_wrong(__func__, function, batches, batch_count, input_count, output_count,
                            options);
  if (status == LOOM_OK) {
    kept = (custom_functions *)calloc(1, sizeof *kept);
    if (kept == NULL)
      status = fail(LOOM_ERROR_OUT_OF_MEMORY, "there is no memory for the function");
  }
  if (status != LOOM_OK) {
    if (done != NULL) done(context);
    return status;
  }
  memset(&given, 0, sizeof given);
  if (options != NULL) memcpy(&given, options, sizeof given);
  kept->forward = of_custom(function, context);
  kept->forward.to = "loom_quantize_function";
  kept->context = context;
  kept->done = done;
  return CALL(loomp_quantize(call_given, &kept->forward, let_go, custom_done, kept,
                             (const uint64_t *)batches, batch_count, input_count, output_count,
                             given.percentile, given.skip, given.skip_count, &result->bits,
                             WHERE));
}

loom_status loom_quantized_run(loom_quantized quantized, const loom_tensor *inputs,
                               size_t input_count, loom_tensor *results, size_t result_count) {
  if (result_count > LONGEST) return too_long(__func__, "result_count", result_count);
  none(results, result_count);
  READY();
  NEED_LIST(inputs, input_count);
  NEED_IF(results, result_count);
  return CALL(loomp_quantized_run(quantized.bits, (const uint64_t *)inputs, input_count,
                                  (uint64_t *)results, result_count, WHERE));
}

loom_status loom_quantized_json(loom_quantized quantized, char *buffer, size_t capacity,
                                size_t *needed) {
  return text(__func__, LOOMP_QUANTIZED_VALUES, quantized.bits, NULL, buffer, capacity, needed);
}

loom_status loom_quantized_release(loom_quantized quantized) {
  OWNED();
  return release_named(LOOMP_QUANTIZED, quantized.bits, __func__, "quantized");
}
