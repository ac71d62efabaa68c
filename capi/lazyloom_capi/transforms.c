/* Transforms of functions: the exported functions, as those of shims.c. */

/* How many inputs a call differentiates by: positions, or all. */
static size_t positions_of(const size_t *positions, size_t position_count, size_t input_count) {
  return positions != NULL ? position_count : input_count;
}

/* The number of results of a list for each of a list. */
static loom_status times(const char *function, const char *parameter, size_t *count, size_t by) {
  if (*count != 0 && by > LONGEST / *count) {
    char text[200];
    snprintf(text, sizeof text, "%s: there are %zu times %zu %s, expected at most %zu", function,
             *count, by, parameter, LONGEST);
    return fail_at(LOOM_ERROR_ARGUMENT, text, parameter);
  }
  *count *= by;
  return LOOM_OK;
}

static void none(loom_tensor *results, size_t count) {
  if (results != NULL && count != 0) memset(results, 0, count * sizeof *results);
}

/* loom_vjp() and loom_linearize(), which differ in the direction of the map. */
static loom_status linear(const char *name, bool reverse, loom_function function, void *context,
                          const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                          size_t output_count, loom_linear_map *map, const char *parameter) {
  given_function f = {function, context, name};
  if (output_count > LONGEST) return too_long(name, "output_count", output_count);
  none(outputs, output_count);
  if (map == NULL) return null_pointer(name, parameter);
  map->bits = 0;
  READY();
  if (function == NULL) return null_pointer(name, "function");
  if (input_count > LONGEST) return too_long(name, "input_count", input_count);
  if (inputs == NULL && input_count) return null_pointer(name, "inputs");
  if (outputs == NULL && output_count) return null_pointer(name, "outputs");
  return CALL(loomp_linear(call_given, &f, let_go, reverse, (const uint64_t *)inputs, input_count,
                           (uint64_t *)outputs, output_count, &map->bits, WHERE));
}

loom_status loom_vjp(loom_function function, void *context, const loom_tensor *inputs,
                     size_t input_count, loom_tensor *outputs, size_t output_count,
                     loom_linear_map *pullback) {
  return linear(__func__, true, function, context, inputs, input_count, outputs, output_count,
                pullback, "pullback");
}

loom_status loom_linearize(loom_function function, void *context, const loom_tensor *inputs,
                           size_t input_count, loom_tensor *outputs, size_t output_count,
                           loom_linear_map *pushforward) {
  return linear(__func__, false, function, context, inputs, input_count, outputs, output_count,
                pushforward, "pushforward");
}

loom_status loom_linear_map_apply(loom_linear_map map, const loom_tensor *given,
                                  size_t given_count, loom_tensor *results, size_t result_count) {
  if (result_count > LONGEST) return too_long(__func__, "result_count", result_count);
  none(results, result_count);
  READY();
  NEED_LIST(given, given_count);
  NEED_IF(results, result_count);
  return CALL(loomp_linear_apply(map.bits, (const uint64_t *)given, given_count,
                                 (uint64_t *)results, result_count, WHERE));
}

loom_status loom_linear_map_release(loom_linear_map map) {
  OWNED();
  return release_named(LOOMP_LINEAR_MAP, map.bits, __func__, "map");
}

loom_status loom_jvp(loom_function function, void *context, const loom_tensor *inputs,
                     const loom_tensor *tangents, size_t input_count, loom_tensor *outputs,
                     loom_tensor *output_tangents, size_t output_count) {
  given_function f = {function, context, __func__};
  if (output_count > LONGEST) return too_long(__func__, "output_count", output_count);
  none(outputs, output_count);
  none(output_tangents, output_count);
  READY();
  NEED(function);
  NEED_LIST(inputs, input_count);
  NEED_IF(tangents, input_count);
  NEED_IF(outputs, output_count);
  NEED_IF(output_tangents, output_count);
  return CALL(loomp_jvp(call_given, &f, let_go, (const uint64_t *)inputs,
                        (const uint64_t *)tangents, input_count, (uint64_t *)outputs,
                        (uint64_t *)output_tangents, output_count, WHERE));
}

loom_status loom_value_and_grad(loom_function function, void *context, const loom_tensor *inputs,
                                size_t input_count, const size_t *positions,
                                size_t position_count, loom_tensor *outputs, size_t output_count,
                                loom_tensor *gradients) {
  given_function f = {function, context, __func__};
  const size_t count = positions_of(positions, position_count, input_count);
  if (output_count > LONGEST) return too_long(__func__, "output_count", output_count);
  none(outputs, output_count);
  if (position_count > LONGEST) return too_long(__func__, "position_count", position_count);
  if (input_count > LONGEST) return too_long(__func__, "input_count", input_count);
  none(gradients, count);
  READY();
  NEED(function);
  NEED_IF(inputs, input_count);
  if (positions == NULL && position_count != 0 && position_count != input_count)
    return null_pointer(__func__, "positions");
  NEED_IF(outputs, output_count);
  NEED_IF(gradients, count);
  return CALL(loomp_value_and_grad(call_given, &f, let_go, (const uint64_t *)inputs, input_count,
                                   positions, position_count, (uint64_t *)outputs, output_count,
                                   (uint64_t *)gradients, WHERE));
}

/* loom_jacobian() and loom_hessian(). */
static loom_status matrices(const char *name, bool second, loom_function function, void *context,
                            const loom_tensor *inputs, size_t input_count,
                            const size_t *positions, size_t position_count, size_t output_count,
                            int direction, bool holomorphic, loom_tensor *results) {
  given_function f = {function, context, name};
  const size_t chosen = positions_of(positions, position_count, input_count);
  size_t count = output_count;
  loom_status status;
  if (output_count > LONGEST) return too_long(name, "output_count", output_count);
  if (position_count > LONGEST) return too_long(name, "position_count", position_count);
  if (input_count > LONGEST) return too_long(name, "input_count", input_count);
  status = times(name, "results", &count, chosen);
  if (status == LOOM_OK && second) status = times(name, "results", &count, chosen);
  if (status != LOOM_OK) return status;
  none(results, count);
  READY();
  if (function == NULL) return null_pointer(name, "function");
  if (inputs == NULL && input_count) return null_pointer(name, "inputs");
  if (positions == NULL && position_count != 0 && position_count != input_count)
    return null_pointer(name, "positions");
  if (results == NULL && count) return null_pointer(name, "results");
  return CALL(loomp_jacobian(call_given, &f, let_go, second, (const uint64_t *)inputs, input_count,
                             positions, position_count, output_count, direction, holomorphic,
                             (uint64_t *)results, WHERE));
}

loom_status loom_jacobian(loom_function function, void *context, const loom_tensor *inputs,
                          size_t input_count, const size_t *positions, size_t position_count,
                          size_t output_count, loom_direction direction, bool holomorphic,
                          loom_tensor *results) {
  return matrices(__func__, false, function, context, inputs, input_count, positions,
                  position_count, output_count, (int)direction, holomorphic, results);
}

loom_status loom_hessian(loom_function function, void *context, const loom_tensor *inputs,
                         size_t input_count, const size_t *positions, size_t position_count,
                         size_t output_count, loom_tensor *results) {
  return matrices(__func__, true, function, context, inputs, input_count, positions,
                  position_count, output_count, 0, false, results);
}

loom_status loom_vmap(loom_function function, void *context, const loom_tensor *inputs,
                      size_t input_count, const int64_t *in_axes, int64_t axis_size,
                      const int64_t *out_axes, loom_tensor *results, size_t result_count) {
  given_function f = {function, context, __func__};
  if (result_count > LONGEST) return too_long(__func__, "result_count", result_count);
  none(results, result_count);
  READY();
  NEED(function);
  NEED_LIST(inputs, input_count);
  NEED_IF(results, result_count);
  return CALL(loomp_vmap(call_given, &f, let_go, (const uint64_t *)inputs, input_count, in_axes,
                         axis_size, out_axes, (uint64_t *)results, result_count, WHERE));
}
