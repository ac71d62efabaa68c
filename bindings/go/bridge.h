/* Calls whose failure is taken along: a goroutine may go on on another thread than the one that a
   call failed on, and the C ABI keeps errors and source lines for each thread. */
#define LOOM_NO_SOURCE_LOCATIONS
#include <stdlib.h>

#include "lazyloom.h"

/* The failure of the call whose status this is, which the caller frees; NULL for none. */
static inline loom_error *taken(loom_status status) {
  return status == LOOM_OK ? NULL : loom_error_take();
}

static inline loom_error *go_apply(const char *file, int line, const char *op,
                                   const loom_operand *operands, size_t operand_count,
                                   const loom_attr *attributes, size_t attribute_count,
                                   loom_tensor *results, size_t capacity, size_t *count) {
  loom_copy_source_location(file, line);
  return taken(loom_apply(op, operands, operand_count, attributes, attribute_count, results,
                          capacity, count));
}

static inline void go_attr_text(loom_attr *attr, const char *text) {
  *attr = loom_attr_str(attr->name, text);
}

static inline void go_attr_ints(loom_attr *attr, const int64_t *values, size_t count) {
  *attr = loom_attr_ints(attr->name, values, count);
}

static inline void go_attr_reals(loom_attr *attr, const double *values, size_t count) {
  *attr = loom_attr_floats(attr->name, values, count);
}

/* An attribute of one number: which one of them, is said by its kind. */
static inline void go_attr_number(loom_attr *attr, loom_attr_kind kind, int64_t integer,
                                  double real) {
  attr->kind = kind;
  if (kind == LOOM_ATTR_BOOL) attr->value.boolean = integer != 0;
  if (kind == LOOM_ATTR_INT) attr->value.integer = integer;
  if (kind == LOOM_ATTR_FLOAT) attr->value.real = real;
  if (kind == LOOM_ATTR_DTYPE) attr->value.dtype = (loom_dtype)integer;
}

static inline loom_error *go_initialize(void) { return taken(loom_initialize()); }

static inline loom_error *go_from_host(const char *file, int line, const void *data,
                                       size_t nbytes, loom_dtype dtype, const int64_t *shape,
                                       size_t ndim, loom_tensor *result) {
  loom_copy_source_location(file, line);
  return taken(loom_tensor_from_host(data, nbytes, dtype, shape, ndim, result));
}

static inline loom_error *go_read(const char *file, int line, loom_tensor tensor, void *buffer,
                                  size_t nbytes) {
  loom_copy_source_location(file, line);
  return taken(loom_tensor_read(tensor, buffer, nbytes));
}

static inline loom_error *go_about(loom_tensor tensor, loom_dtype *dtype, size_t *nbytes,
                                   int64_t *shape, size_t capacity, size_t *ndim) {
  loom_status status = loom_tensor_dtype(tensor, dtype);
  if (status == LOOM_OK) status = loom_tensor_nbytes(tensor, nbytes);
  if (status == LOOM_OK) status = loom_tensor_shape(tensor, shape, capacity, ndim);
  return taken(status);
}

static inline loom_error *go_require_grad(loom_tensor tensor, bool required) {
  return taken(loom_tensor_require_grad(tensor, required));
}

static inline loom_error *go_requires_grad(loom_tensor tensor, bool *required) {
  return taken(loom_tensor_requires_grad(tensor, required));
}

static inline loom_error *go_assign(const char *file, int line, loom_tensor target,
                                    loom_tensor value) {
  loom_copy_source_location(file, line);
  return taken(loom_tensor_assign(target, value));
}

static inline loom_error *go_detach(loom_tensor tensor, loom_tensor *result) {
  return taken(loom_tensor_detach(tensor, result));
}

static inline loom_error *go_backward(const char *file, int line, loom_tensor output,
                                      const loom_tensor *cotangent) {
  loom_copy_source_location(file, line);
  return taken(loom_backward(&output, 1, cotangent));
}

static inline loom_error *go_gradient(loom_tensor tensor, loom_tensor *result) {
  return taken(loom_tensor_gradient(tensor, result));
}

static inline loom_error *go_clear_gradient(loom_tensor tensor) {
  return taken(loom_tensor_clear_gradient(tensor));
}

static inline loom_error *go_grad(const char *file, int line, const loom_tensor *outputs,
                                  size_t output_count, const loom_tensor *inputs,
                                  size_t input_count, const loom_tensor *cotangents,
                                  bool create_graph, loom_tensor *gradients) {
  loom_copy_source_location(file, line);
  return taken(loom_grad(outputs, output_count, inputs, input_count, cotangents, create_graph,
                         gradients));
}

static inline loom_error *go_set_grad_enabled(bool enabled, bool *previous) {
  return taken(loom_set_grad_enabled(enabled, previous));
}

static inline loom_error *go_sync(const loom_tensor *tensors, size_t count, bool wait) {
  return taken(loom_sync(tensors, count, wait));
}

static inline loom_error *go_stat(const char *name, int64_t *value) {
  return taken(loom_stat(name, value));
}

static inline loom_error *go_live_handles(size_t *count) { return taken(loom_live_handles(count)); }

static inline loom_error *go_capture_begin(const loom_tensor *inputs, size_t count) {
  return taken(loom_capture_begin(inputs, count));
}

static inline loom_error *go_capture_end(const loom_tensor *results, size_t count,
                                         loom_capture *capture) {
  return taken(loom_capture_end(results, count, capture));
}

static inline loom_error *go_capture_cancel(void) { return taken(loom_capture_cancel()); }

static inline loom_error *go_capture_run(const char *file, int line, loom_capture capture,
                                         const loom_tensor *inputs, size_t input_count,
                                         loom_tensor *results, size_t result_count) {
  loom_copy_source_location(file, line);
  return taken(loom_capture_run(capture, inputs, input_count, results, result_count));
}

loom_status goFunction(uintptr_t functions, int which, loom_tensor *inputs, size_t input_count,
                       loom_tensor *outputs, size_t output_count);

/* A handle of Go's goes as a context, a pointer that is not followed: in Go it is a number again,
   because a pointer of Go's has to be one. */
static loom_status go_first(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                            size_t output_count, void *context) {
  return goFunction((uintptr_t)context, 0, (loom_tensor *)inputs, input_count, outputs,
                    output_count);
}

static loom_status go_second(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                             size_t output_count, void *context) {
  return goFunction((uintptr_t)context, 1, (loom_tensor *)inputs, input_count, outputs,
                    output_count);
}

static inline loom_error *go_while_loop(const char *file, int line, uintptr_t functions,
                                        const loom_tensor *init, size_t carry_count,
                                        int64_t max_steps, loom_tensor *results) {
  loom_copy_source_location(file, line);
  return taken(loom_while_loop(go_first, go_second, (void *)functions, init, carry_count,
                               max_steps, results));
}

static inline loom_error *go_cond(const char *file, int line, loom_tensor which,
                                  uintptr_t functions, const loom_tensor *operands,
                                  size_t operand_count, loom_tensor *results,
                                  size_t result_count) {
  loom_copy_source_location(file, line);
  return taken(loom_cond(which, go_first, go_second, (void *)functions, operands, operand_count,
                         results, result_count));
}

static inline loom_error *go_scan(const char *file, int line, uintptr_t function,
                                  const loom_tensor *init, size_t carry_count,
                                  const loom_tensor *xs, size_t xs_count, int64_t length,
                                  size_t ys_count, bool reverse, loom_tensor *results) {
  loom_copy_source_location(file, line);
  return taken(loom_scan(go_first, (void *)function, init, carry_count, xs, xs_count, length,
                         ys_count, reverse, results));
}

/* ---- transforms: inputs are count tensors, and results as the C functions give them --------- */

static inline loom_error *go_vjp(const char *file, int line, uintptr_t function,
                                 const loom_tensor *inputs, size_t count, loom_tensor *outputs,
                                 size_t output_count, bool forward, loom_linear_map *map) {
  loom_copy_source_location(file, line);
  return taken((forward ? loom_linearize : loom_vjp)(go_first, (void *)function, inputs, count,
                                                     outputs, output_count, map));
}

static inline loom_error *go_linear_map_apply(const char *file, int line, loom_linear_map map,
                                              const loom_tensor *given, size_t given_count,
                                              loom_tensor *results, size_t result_count) {
  loom_copy_source_location(file, line);
  return taken(loom_linear_map_apply(map, given, given_count, results, result_count));
}

static inline loom_error *go_jvp(const char *file, int line, uintptr_t function,
                                 const loom_tensor *inputs, const loom_tensor *tangents,
                                 size_t count, loom_tensor *results, size_t output_count) {
  loom_copy_source_location(file, line);
  return taken(loom_jvp(go_first, (void *)function, inputs, tangents, count, results,
                        results + output_count, output_count));
}

static inline loom_error *go_value_and_grad(const char *file, int line, uintptr_t function,
                                            const loom_tensor *inputs, size_t count,
                                            const size_t *positions, size_t position_count,
                                            loom_tensor *results, size_t output_count) {
  loom_copy_source_location(file, line);
  return taken(loom_value_and_grad(go_first, (void *)function, inputs, count, positions,
                                   position_count, results, output_count,
                                   results + output_count));
}

static inline loom_error *go_jacobian(const char *file, int line, uintptr_t function,
                                      const loom_tensor *inputs, size_t count,
                                      const size_t *positions, size_t position_count,
                                      size_t output_count, bool second, loom_tensor *results) {
  loom_copy_source_location(file, line);
  if (second)
    return taken(loom_hessian(go_first, (void *)function, inputs, count, positions,
                              position_count, output_count, results));
  return taken(loom_jacobian(go_first, (void *)function, inputs, count, positions,
                             position_count, output_count, LOOM_DIRECTION_ANY, false, results));
}

static inline loom_error *go_vmap(const char *file, int line, uintptr_t function,
                                  const loom_tensor *inputs, size_t count, const int64_t *in_axes,
                                  int64_t axis_size, const int64_t *out_axes,
                                  loom_tensor *results, size_t result_count) {
  loom_copy_source_location(file, line);
  return taken(loom_vmap(go_first, (void *)function, inputs, count, in_axes, axis_size, out_axes,
                         results, result_count));
}

/* ---- waits, options, reports ---------------------------------------------------------------- */

static inline loom_error *go_wait(const char *file, int line, const loom_tensor *tensors,
                                  size_t count, double timeout) {
  loom_copy_source_location(file, line);
  return taken(loom_wait(tensors, count, timeout));
}

static inline loom_error *go_is_ready(loom_tensor tensor, bool *found) {
  return taken(loom_tensor_is_ready(tensor, found));
}

static inline loom_error *go_option_set(const char *name, double value, double *previous) {
  return taken(loom_option_set(name, value, previous));
}

static inline loom_error *go_option_get(const char *name, double *value) {
  return taken(loom_option_get(name, value));
}

static inline loom_error *go_profile_begin(const char *path, bool sources) {
  return taken(loom_profile_begin(path, sources));
}

static inline loom_error *go_profile_end(void) { return taken(loom_profile_end()); }

static inline loom_error *go_stats_reset(void) { return taken(loom_stats_reset()); }

static inline loom_error *go_memory(loom_memory_figures *figures) {
  figures->size = sizeof *figures;
  return taken(loom_memory(figures));
}

static inline loom_error *go_random_key(uint64_t seed, loom_tensor *result) {
  return taken(loom_random_key(seed, result));
}

/* The texts that the library gives, by number: options, counters, records, the last record, the
   kind of device, the folder of the cache. */
static inline loom_error *go_text(int which, size_t argument, char *buffer, size_t capacity,
                                  size_t *needed) {
  switch (which) {
    case 0: return taken(loom_options_json(buffer, capacity, needed));
    case 1: return taken(loom_stats_json(buffer, capacity, needed));
    case 2: return taken(loom_evaluations_json(argument, buffer, capacity, needed));
    case 3: return taken(loom_last_evaluation(buffer, capacity, needed));
    case 4: return taken(loom_platform(buffer, capacity, needed));
    case 5: return taken(loom_cache_dir(buffer, capacity, needed));
    default: return taken(loom_profile_json(buffer, capacity, needed));
  }
}
