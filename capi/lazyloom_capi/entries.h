int loomp_start(const char *paths, const char *built, int opened);
int loomp_shutdown(void);
int loomp_enter(void);
int loomp_set_option(int option, int64_t value);
int loomp_get_option(int option, int64_t *value);
int loomp_from_host(void *data, size_t nbytes, int dtype, const int64_t *shape, size_t ndim,
                    int share, void (*done)(void *), void *context, uint64_t *result,
                    uintptr_t file, int line);
int loomp_read(uint64_t tensor, void *buffer, size_t nbytes, uintptr_t file, int line);
int loomp_map(uint64_t tensor, uint64_t *result, void **data, size_t *nbytes, uintptr_t file,
              int line);
int loomp_info(uint64_t tensor, int what, int64_t *value);
int loomp_shape(uint64_t tensor, int64_t *shape, size_t capacity, size_t *ndim);
int loomp_boundary(uint64_t tensor, uintptr_t file, int line);
int loomp_assign(uint64_t target, uint64_t value, uintptr_t file, int line);
int loomp_detach(uint64_t tensor, uint64_t *result, uintptr_t file, int line);
int loomp_require_grad(uint64_t tensor, int required, uintptr_t file, int line);
int loomp_set_grad_enabled(int enabled, int *previous);
int loomp_grad(const uint64_t *outputs, size_t output_count, const uint64_t *inputs,
               size_t input_count, const uint64_t *cotangents, int create_graph,
               uint64_t *gradients, uintptr_t file, int line);
int loomp_backward(const uint64_t *outputs, size_t output_count, const uint64_t *cotangents,
                   uintptr_t file, int line);
int loomp_gradient(uint64_t tensor, uint64_t *result);
int loomp_clear_gradient(uint64_t tensor);
int loomp_scan(int (*call)(void *, const uint64_t *, size_t, uint64_t *, size_t), void *step,
               void (*let_go)(const uint64_t *, size_t), const uint64_t *init,
               size_t carry_count, const uint64_t *xs, size_t xs_count, int64_t length,
               size_t ys_count, int reverse, uint64_t *results, uintptr_t file, int line);
int loomp_while_loop(int (*call)(void *, const uint64_t *, size_t, uint64_t *, size_t),
                     void *condition, void *body, void (*let_go)(const uint64_t *, size_t),
                     const uint64_t *init, size_t carry_count, int64_t max_steps,
                     uint64_t *results, uintptr_t file, int line);
int loomp_cond(int (*call)(void *, const uint64_t *, size_t, uint64_t *, size_t), uint64_t which,
               void *if_true, void *if_false, void (*let_go)(const uint64_t *, size_t),
               const uint64_t *operands, size_t operand_count, uint64_t *results,
               size_t result_count, uintptr_t file, int line);
int loomp_capture_begin(const uint64_t *inputs, size_t count, uintptr_t file, int line);
int loomp_capture_end(const uint64_t *results, size_t count, uint64_t *capture, uintptr_t file,
                      int line);
int loomp_capture_cancel(void);
int loomp_capture_run(uint64_t capture, const uint64_t *inputs, size_t input_count,
                      uint64_t *results, size_t result_count, uintptr_t file, int line);
int loomp_assign_all(const uint64_t *targets, const uint64_t *values, size_t count,
                     uintptr_t file, int line);
int loomp_sync(const uint64_t *tensors, size_t count, int wait, uintptr_t file, int line);
int loomp_mark_dynamic(uint64_t tensor, int64_t axis, int64_t minimum, int64_t maximum,
                       uintptr_t file, int line);
int loomp_mark_static(uint64_t tensor, const int64_t *axes, size_t axis_count, uintptr_t file,
                      int line);
int loomp_codegen_use(char **names, size_t count);
int loomp_program_of(const uint64_t *tensors, size_t count, uint64_t *result, uintptr_t file,
                     int line);
int loomp_to_device(uint64_t tensor, const char *device, uint64_t *result, uintptr_t file,
                    int line);
int loomp_shard(uint64_t tensor, const char *mesh, const char *devices, const char *spec,
                uint64_t *result, uintptr_t file, int line);
int loomp_join(const char *address, int64_t world_size, int64_t rank, double timeout);
int loomp_rank(int64_t *rank, int64_t *world_size);
int loomp_leave(void);
int loomp_last_program(uint64_t *result);
int loomp_program_ops(uint64_t program, size_t *count);
int loomp_text(int what, uint64_t handle, const char *name, char *buffer, size_t capacity,
               size_t *needed);
int loomp_stat(const char *name, int64_t *value);
int loomp_op_count(size_t *count);
int loomp_op_name(size_t index, char **name);
int loomp_linear(int (*call)(void *, const uint64_t *, size_t, uint64_t *, size_t),
                 void *function, void (*let_go)(const uint64_t *, size_t), int reverse,
                 const uint64_t *inputs, size_t input_count, uint64_t *outputs,
                 size_t output_count, uint64_t *map, uintptr_t file, int line);
int loomp_linear_apply(uint64_t map, const uint64_t *given, size_t given_count, uint64_t *results,
                       size_t result_count, uintptr_t file, int line);
int loomp_jvp(int (*call)(void *, const uint64_t *, size_t, uint64_t *, size_t), void *function,
              void (*let_go)(const uint64_t *, size_t), const uint64_t *inputs,
              const uint64_t *tangents, size_t input_count, uint64_t *outputs,
              uint64_t *output_tangents, size_t output_count, uintptr_t file, int line);
int loomp_value_and_grad(int (*call)(void *, const uint64_t *, size_t, uint64_t *, size_t),
                         void *function, void (*let_go)(const uint64_t *, size_t),
                         const uint64_t *inputs, size_t input_count, const size_t *positions,
                         size_t position_count, uint64_t *outputs, size_t output_count,
                         uint64_t *gradients, uintptr_t file, int line);
int loomp_jacobian(int (*call)(void *, const uint64_t *, size_t, uint64_t *, size_t),
                   void *function, void (*let_go)(const uint64_t *, size_t), int second,
                   const uint64_t *inputs, size_t input_count, const size_t *positions,
                   size_t position_count, size_t output_count, int direction, int holomorphic,
                   uint64_t *results, uintptr_t file, int line);
int loomp_vmap(int (*call)(void *, const uint64_t *, size_t, uint64_t *, size_t), void *function,
               void (*let_go)(const uint64_t *, size_t), const uint64_t *inputs,
               size_t input_count, const int64_t *in_axes, int64_t axis_size,
               const int64_t *out_axes, uint64_t *results, size_t result_count, uintptr_t file,
               int line);
int loomp_custom(int (*call)(void *, const uint64_t *, size_t, uint64_t *, size_t),
                 void *forward, void *vjp, void *jvp, void (*let_go)(const uint64_t *, size_t),
                 void (*done)(void *), void *context, const char *name, const uint64_t *inputs,
                 size_t input_count, uint64_t *outputs, size_t output_count, uintptr_t file,
                 int line);
int loomp_from_dlpack(char *data, uint64_t offset, int dtype, const int64_t *shape,
                      const int64_t *strides, size_t ndim, int copy, void (*deleter)(void *),
                      void *managed, uint64_t *result, uintptr_t file, int line);
int loomp_to_dlpack(uint64_t tensor, int copy, void **data, uint64_t *result, uintptr_t file,
                    int line);
int loomp_read_all(const uint64_t *tensors, void **buffers, const size_t *nbytes, size_t count,
                   uintptr_t file, int line);
int loomp_is_ready(uint64_t tensor, int64_t *ready);
int loomp_wait(const uint64_t *tensors, size_t count, double timeout, uintptr_t file, int line);
int loomp_on_ready(uint64_t tensor, void *call, uintptr_t file, int line);
int loomp_random_key(uint64_t seed, uint64_t *result);
int loomp_option(const char *name, int set, double value, double *previous);
int loomp_programs_of(const uint64_t *tensors, size_t count, uint64_t *results, size_t capacity,
                      size_t *result_count, uintptr_t file, int line);
int loomp_stats_reset(void);
int loomp_profile_begin(const char *path, int sources);
int loomp_profile_end(void);
int loomp_finish_compiling(double timeout, int *finished);
int loomp_codegen_measure(uint64_t program);
int loomp_codegen_mode(int segmented, int on);
int loomp_quantize(int (*call)(void *, const uint64_t *, size_t, uint64_t *, size_t),
                   void *function, void (*let_go)(const uint64_t *, size_t),
                   void (*done)(void *), void *context, const uint64_t *batches,
                   size_t batch_count, size_t input_count, size_t output_count,
                   double percentile, const int64_t *skip, size_t skip_count, uint64_t *result,
                   uintptr_t file, int line);
int loomp_quantized_run(uint64_t quantized, const uint64_t *inputs, size_t input_count,
                        uint64_t *results, size_t result_count, uintptr_t file, int line);
int loomp_export(const char *path, const uint64_t *inputs, char **input_names,
                 size_t input_count, const uint64_t *results, size_t result_count,
                 const uint64_t *parameters, char **parameter_names, size_t parameter_count,
                 int vjp_order, int engines, uintptr_t file, int line);
int loomp_load_program(const char *path, int engines, uint64_t *result);
int loomp_exported_run(uint64_t program, const uint64_t *inputs, size_t input_count,
                       uint64_t *results, size_t result_count, uintptr_t file, int line);
int loomp_exported_seed(uint64_t program, uint64_t seed);
int loomp_save_repro(const char *path, const uint64_t *values, size_t value_count, int random_data,
                     uintptr_t file, int line);
int loomp_barrier(double timeout);
int loomp_local_part(uint64_t tensor, uint64_t *result, uintptr_t file, int line);
int loomp_from_local_part(uint64_t tensor, const char *mesh, const char *devices,
                          const char *spec, uint64_t *result, uintptr_t file, int line);
int loomp_cache_save(const char *path, double timeout, size_t *entries);
int loomp_cache_load(const char *path, size_t *usable, size_t *refused);
int loomp_memory(size_t *tensors, size_t *bytes, size_t *pending);
