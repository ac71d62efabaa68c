/* Capture: the exported functions, as those of shims.c. */

loom_status loom_capture_begin(const loom_tensor *inputs, size_t count) {
  READY();
  NEED_LIST(inputs, count);
  return CALL(loomp_capture_begin((const uint64_t *)inputs, count, WHERE));
}

loom_status loom_capture_end(const loom_tensor *results, size_t count, loom_capture *capture) {
  NEED(capture);
  capture->bits = 0;
  READY();
  NEED_LIST(results, count);
  return CALL(loomp_capture_end((const uint64_t *)results, count, &capture->bits, WHERE));
}

loom_status loom_capture_cancel(void) {
  READY();
  return CALL(loomp_capture_cancel());
}

loom_status loom_capture_run(loom_capture capture, const loom_tensor *inputs, size_t input_count,
                             loom_tensor *results, size_t result_count) {
  loom_status status;
  if (result_count > LONGEST) return too_long(__func__, "result_count", result_count);
  if (results != NULL) memset(results, 0, result_count * sizeof *results);
  READY();
  NEED_LIST(inputs, input_count);
  NEED_IF(results, result_count);
  if (run_directly(capture.bits, (const uint64_t *)inputs, input_count, (uint64_t *)results,
                   result_count, &status))
    return status;
  return CALL(loomp_capture_run(capture.bits, (const uint64_t *)inputs, input_count,
                                (uint64_t *)results, result_count, WHERE));
}

loom_status loom_capture_release(loom_capture capture) {
  OWNED();
  return release_named(LOOMP_CAPTURE, capture.bits, __func__, "capture");
}
