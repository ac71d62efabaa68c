-- Written by bindings/generate.py from lazyloom_api.json; do not edit.
local M = {}

-- lazyloom.h, for ffi.cdef
M.declarations = [[
typedef enum loom_status { LOOM_OK = 0, LOOM_ERROR = 1, LOOM_ERROR_ARGUMENT = 2, LOOM_ERROR_SHAPE = 3, LOOM_ERROR_DTYPE = 4, LOOM_ERROR_UNKNOWN_OP = 5, LOOM_ERROR_EXECUTION = 6, LOOM_ERROR_DONATED = 7, LOOM_ERROR_GRADIENT = 8, LOOM_ERROR_ALIAS = 9, LOOM_ERROR_HANDLE = 10, LOOM_ERROR_FORK = 11, LOOM_ERROR_READ_FORBIDDEN = 12, LOOM_ERROR_INDEX_RANGE = 13, LOOM_ERROR_OUT_OF_MEMORY = 14, LOOM_ERROR_NOT_INITIALIZED = 100, LOOM_ERROR_START = 101, LOOM_ERROR_INTERNAL = 102, LOOM_ERROR_STACK = 103, LOOM_ERROR_TIMEOUT = 104 } loom_status;
typedef enum loom_dtype { LOOM_DTYPE_NONE = 0, LOOM_BOOL = 1, LOOM_INT8 = 2, LOOM_INT16 = 3, LOOM_INT32 = 4, LOOM_INT64 = 5, LOOM_UINT8 = 6, LOOM_UINT16 = 7, LOOM_UINT32 = 8, LOOM_UINT64 = 9, LOOM_FLOAT16 = 10, LOOM_BFLOAT16 = 11, LOOM_FLOAT32 = 12, LOOM_FLOAT64 = 13, LOOM_COMPLEX64 = 14, LOOM_COMPLEX128 = 15 } loom_dtype;
typedef enum loom_option { LOOM_OPTION_DONATE = 1, LOOM_OPTION_FORBID_READS = 2, LOOM_OPTION_REPRODUCIBLE = 3 } loom_option;
typedef enum loom_log_level { LOOM_LOG_INFO = 1, LOOM_LOG_WARNING = 2, LOOM_LOG_ERROR = 3 } loom_log_level;
typedef enum loom_operand_kind { LOOM_OPERAND_NONE = 0, LOOM_OPERAND_TENSOR = 1, LOOM_OPERAND_BOOL = 2, LOOM_OPERAND_INTEGER = 3, LOOM_OPERAND_REAL = 4, LOOM_OPERAND_COMPLEX = 5 } loom_operand_kind;
typedef enum loom_attr_kind { LOOM_ATTR_NONE = 0, LOOM_ATTR_BOOL = 1, LOOM_ATTR_INT = 2, LOOM_ATTR_FLOAT = 3, LOOM_ATTR_STR = 4, LOOM_ATTR_DTYPE = 5, LOOM_ATTR_INTS = 6, LOOM_ATTR_FLOATS = 7 } loom_attr_kind;
typedef enum loom_direction { LOOM_DIRECTION_ANY = 0, LOOM_DIRECTION_FORWARD = 1, LOOM_DIRECTION_REVERSE = 2 } loom_direction;
typedef struct loom_tensor { uint64_t bits; } loom_tensor;
typedef struct loom_buffer { uint64_t bits; } loom_buffer;
typedef struct loom_program { uint64_t bits; } loom_program;
typedef struct loom_capture { uint64_t bits; } loom_capture;
typedef struct loom_linear_map { uint64_t bits; } loom_linear_map;
typedef struct loom_quantized { uint64_t bits; } loom_quantized;
typedef struct loom_exported { uint64_t bits; } loom_exported;
typedef struct loom_operand loom_operand;
typedef struct loom_attr loom_attr;
typedef struct loom_error loom_error;
typedef struct loom_error_details loom_error_details;
typedef struct loom_custom_op loom_custom_op;
typedef struct DLManagedTensorVersioned DLManagedTensorVersioned;
typedef struct DLManagedTensor DLManagedTensor;
typedef struct loom_memory_figures loom_memory_figures;
typedef struct loom_quantize_options loom_quantize_options;
typedef struct loom_export_options loom_export_options;
typedef void (*loom_log_function)(loom_log_level level, const char *message, void *context);
typedef loom_status (*loom_function)(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs, size_t output_count, void *context);
typedef void (*loom_ready_function)(loom_status status, void *context);
struct loom_operand { loom_operand_kind kind; loom_dtype dtype; uint64_t tensor; int64_t integer; double real; double imaginary; };
struct loom_attr { const char *name; loom_attr_kind kind; size_t count; union { bool boolean; int64_t integer; double real; const char *text; loom_dtype dtype; const int64_t *integers; const double *reals; } value; };
struct loom_error_details { size_t size; loom_status status; const char *message; const char *op; const char *site; const char *argument; int64_t index; const char *expected; };
struct loom_custom_op { size_t size; loom_function forward; loom_function vjp; loom_function jvp; void *context; void (*done)(void *context); const char *name; };
struct loom_memory_figures { size_t size; size_t tensors; size_t tensor_bytes; size_t pending; size_t resident; size_t peak; };
struct loom_quantize_options { size_t size; double percentile; const int64_t *skip; size_t skip_count; };
struct loom_export_options { size_t size; int vjp_order; bool engines; };
uint32_t loom_abi_version(void);
const char *loom_version(void);
loom_status loom_initialize(void);
loom_status loom_shutdown(void);
bool loom_is_initialized(void);
loom_status loom_set_option(loom_option option, int64_t value);
loom_status loom_get_option(loom_option option, int64_t *value);
loom_status loom_set_log(loom_log_function log, void *context, loom_log_level least);
loom_status loom_error_status(void);
const char *loom_error_message(void);
const char *loom_error_op(void);
const char *loom_error_site(void);
loom_status loom_set_error(loom_status status, const char *message);
void loom_error_clear(void);
loom_error *loom_error_take(void);
loom_status loom_error_describe(const loom_error *error, loom_error_details *details);
loom_status loom_error_restore(const loom_error *error);
void loom_error_free(loom_error *error);
const char *loom_status_name(loom_status status);
void loom_set_source_location(const char *file, int line);
void loom_copy_source_location(const char *file, int line);
size_t loom_dtype_size(loom_dtype dtype);
const char *loom_dtype_name(loom_dtype dtype);
loom_status loom_tensor_from_host(const void *data, size_t nbytes, loom_dtype dtype, const int64_t *shape, size_t ndim, loom_tensor *result);
loom_status loom_tensor_share_host(const void *data, size_t nbytes, loom_dtype dtype, const int64_t *shape, size_t ndim, void (*done)(void *context), void *context, loom_tensor *result);
loom_status loom_tensor_read(loom_tensor tensor, void *buffer, size_t nbytes);
loom_status loom_tensor_map(loom_tensor tensor, loom_buffer *result, const void **data, size_t *nbytes);
loom_status loom_buffer_release(loom_buffer buffer);
loom_status loom_tensor_retain(loom_tensor tensor);
loom_status loom_tensor_release(loom_tensor tensor);
loom_status loom_tensors_release(loom_tensor *tensors, size_t count);
loom_status loom_tensor_dtype(loom_tensor tensor, loom_dtype *dtype);
loom_status loom_tensor_ndim(loom_tensor tensor, size_t *ndim);
loom_status loom_tensor_shape(loom_tensor tensor, int64_t *shape, size_t capacity, size_t *ndim);
loom_status loom_tensor_nbytes(loom_tensor tensor, size_t *nbytes);
loom_status loom_tensor_is_pending(loom_tensor tensor, bool *pending);
loom_status loom_tensor_requires_grad(loom_tensor tensor, bool *required);
loom_status loom_live_handles(size_t *count);
loom_status loom_apply(const char *op, const loom_operand *operands, size_t operand_count, const loom_attr *attributes, size_t attribute_count, loom_tensor *results, size_t capacity, size_t *result_count);
loom_status loom_source(const char *op, const loom_operand *operands, size_t operand_count, const loom_attr *attributes, size_t attribute_count, loom_tensor *results, size_t capacity, size_t *result_count);
loom_status loom_boundary(loom_tensor tensor);
loom_status loom_tensor_assign(loom_tensor target, loom_tensor value);
loom_status loom_tensors_assign(const loom_tensor *targets, const loom_tensor *values, size_t count);
loom_status loom_tensor_detach(loom_tensor tensor, loom_tensor *result);
loom_status loom_tensor_require_grad(loom_tensor tensor, bool required);
loom_status loom_set_grad_enabled(bool enabled, bool *previous);
loom_status loom_grad(const loom_tensor *outputs, size_t output_count, const loom_tensor *inputs, size_t input_count, const loom_tensor *cotangents, bool create_graph, loom_tensor *gradients);
loom_status loom_backward(const loom_tensor *outputs, size_t output_count, const loom_tensor *cotangents);
loom_status loom_tensor_gradient(loom_tensor tensor, loom_tensor *result);
loom_status loom_tensor_clear_gradient(loom_tensor tensor);
loom_status loom_scan(loom_function step, void *context, const loom_tensor *init, size_t carry_count, const loom_tensor *xs, size_t xs_count, int64_t length, size_t ys_count, bool reverse, loom_tensor *results);
loom_status loom_while_loop(loom_function condition, loom_function body, void *context, const loom_tensor *init, size_t carry_count, int64_t max_steps, loom_tensor *results);
loom_status loom_cond(loom_tensor which, loom_function if_true, loom_function if_false, void *context, const loom_tensor *operands, size_t operand_count, loom_tensor *results, size_t result_count);
loom_status loom_capture_begin(const loom_tensor *inputs, size_t count);
loom_status loom_capture_end(const loom_tensor *results, size_t count, loom_capture *capture);
loom_status loom_capture_cancel(void);
loom_status loom_capture_run(loom_capture capture, const loom_tensor *inputs, size_t input_count, loom_tensor *results, size_t result_count);
loom_status loom_capture_release(loom_capture capture);
loom_status loom_sync(const loom_tensor *tensors, size_t count, bool wait);
loom_status loom_mark_dynamic(loom_tensor tensor, int64_t axis, int64_t minimum, int64_t maximum);
loom_status loom_mark_static(loom_tensor tensor, const int64_t *axes, size_t axis_count);
loom_status loom_codegen_use(const char *const *names, size_t count);
loom_status loom_codegen_in_use(char *buffer, size_t capacity, size_t *needed);
loom_status loom_codegen_available(char *buffer, size_t capacity, size_t *needed);
loom_status loom_program_of(const loom_tensor *tensors, size_t count, loom_program *result);
loom_status loom_last_program(loom_program *result);
loom_status loom_program_key(loom_program program, char *buffer, size_t capacity, size_t *needed);
loom_status loom_program_text(loom_program program, char *buffer, size_t capacity, size_t *needed);
loom_status loom_program_op_count(loom_program program, size_t *count);
loom_status loom_program_explain(loom_program program, char *buffer, size_t capacity, size_t *needed);
loom_status loom_program_release(loom_program program);
loom_status loom_stat(const char *name, int64_t *value);
loom_status loom_stats_json(char *buffer, size_t capacity, size_t *needed);
loom_status loom_last_evaluation(char *buffer, size_t capacity, size_t *needed);
loom_status loom_op_count(size_t *count);
loom_status loom_op_name(size_t index, const char **name);
loom_status loom_op_describe(const char *op, char *buffer, size_t capacity, size_t *needed);
loom_status loom_devices(char *buffer, size_t capacity, size_t *needed);
loom_status loom_tensor_to_device(loom_tensor tensor, const char *device, loom_tensor *result);
loom_status loom_tensor_shard(loom_tensor tensor, const char *mesh, const char *devices, const char *spec, loom_tensor *result);
loom_status loom_tensor_placement(loom_tensor tensor, char *buffer, size_t capacity, size_t *needed);
loom_status loom_distributed_initialize(const char *address, int64_t world_size, int64_t rank, double timeout);
loom_status loom_distributed_rank(int64_t *rank, int64_t *world_size);
loom_status loom_distributed_finalize(void);
loom_status loom_vjp(loom_function function, void *context, const loom_tensor *inputs, size_t input_count, loom_tensor *outputs, size_t output_count, loom_linear_map *pullback);
loom_status loom_linearize(loom_function function, void *context, const loom_tensor *inputs, size_t input_count, loom_tensor *outputs, size_t output_count, loom_linear_map *pushforward);
loom_status loom_linear_map_apply(loom_linear_map map, const loom_tensor *given, size_t given_count, loom_tensor *results, size_t result_count);
loom_status loom_linear_map_release(loom_linear_map map);
loom_status loom_jvp(loom_function function, void *context, const loom_tensor *inputs, const loom_tensor *tangents, size_t input_count, loom_tensor *outputs, loom_tensor *output_tangents, size_t output_count);
loom_status loom_value_and_grad(loom_function function, void *context, const loom_tensor *inputs, size_t input_count, const size_t *positions, size_t position_count, loom_tensor *outputs, size_t output_count, loom_tensor *gradients);
loom_status loom_jacobian(loom_function function, void *context, const loom_tensor *inputs, size_t input_count, const size_t *positions, size_t position_count, size_t output_count, loom_direction direction, bool holomorphic, loom_tensor *results);
loom_status loom_hessian(loom_function function, void *context, const loom_tensor *inputs, size_t input_count, const size_t *positions, size_t position_count, size_t output_count, loom_tensor *results);
loom_status loom_vmap(loom_function function, void *context, const loom_tensor *inputs, size_t input_count, const int64_t *in_axes, int64_t axis_size, const int64_t *out_axes, loom_tensor *results, size_t result_count);
loom_status loom_apply_custom(const loom_custom_op *custom, const loom_tensor *inputs, size_t input_count, loom_tensor *outputs, size_t output_count);
loom_status loom_tensor_from_dlpack(DLManagedTensorVersioned *managed, bool copy, loom_tensor *result);
loom_status loom_tensor_from_dlpack_unversioned(DLManagedTensor *managed, bool copy, loom_tensor *result);
loom_status loom_tensor_to_dlpack(loom_tensor tensor, bool copy, DLManagedTensorVersioned **result);
loom_status loom_tensor_to_dlpack_unversioned(loom_tensor tensor, DLManagedTensor **result);
loom_status loom_tensors_read(const loom_tensor *tensors, void *const *buffers, const size_t *nbytes, size_t count);
loom_status loom_tensor_is_ready(loom_tensor tensor, bool *result);
loom_status loom_wait(const loom_tensor *tensors, size_t count, double timeout);
loom_status loom_tensor_on_ready(loom_tensor tensor, loom_ready_function function, void *context);
loom_status loom_random_key(uint64_t seed, loom_tensor *result);
loom_status loom_option_set(const char *name, double value, double *previous);
loom_status loom_option_get(const char *name, double *value);
loom_status loom_options_json(char *buffer, size_t capacity, size_t *needed);
loom_status loom_programs_of(const loom_tensor *tensors, size_t count, loom_program *results, size_t capacity, size_t *result_count);
loom_status loom_evaluations_json(size_t count, char *buffer, size_t capacity, size_t *needed);
loom_status loom_profile_begin(const char *path, bool sources);
loom_status loom_profile_end(void);
loom_status loom_profile_json(char *buffer, size_t capacity, size_t *needed);
loom_status loom_memory(loom_memory_figures *figures);
loom_status loom_stats_reset(void);
loom_status loom_finish_compiling(double timeout, bool *finished);
loom_status loom_platform(char *buffer, size_t capacity, size_t *needed);
loom_status loom_cache_dir(char *buffer, size_t capacity, size_t *needed);
loom_status loom_cache_save(const char *path, double timeout, size_t *entries);
loom_status loom_cache_load(const char *path, size_t *usable, size_t *refused);
loom_status loom_cache_report_json(char *buffer, size_t capacity, size_t *needed);
loom_status loom_cache_list_json(const char *path, char *buffer, size_t capacity, size_t *needed);
loom_status loom_program_collectives(loom_program program, char *buffer, size_t capacity, size_t *needed);
loom_status loom_tensor_picture(loom_tensor tensor, bool svg, char *buffer, size_t capacity, size_t *needed);
loom_status loom_program_picture(loom_program program, char *buffer, size_t capacity, size_t *needed);
loom_status loom_codegen_measure(loom_program program);
loom_status loom_codegen_verify(bool on);
loom_status loom_codegen_segmented(bool on);
loom_status loom_codegen_load(const char *library, char *buffer, size_t capacity, size_t *needed);
loom_status loom_codegen_failures(char *buffer, size_t capacity, size_t *needed);
loom_status loom_quantize_function(loom_function function, void *context, void (*done)(void *context), const loom_tensor *batches, size_t batch_count, size_t input_count, size_t output_count, const loom_quantize_options *options, loom_quantized *result);
loom_status loom_quantized_run(loom_quantized quantized, const loom_tensor *inputs, size_t input_count, loom_tensor *results, size_t result_count);
loom_status loom_quantized_json(loom_quantized quantized, char *buffer, size_t capacity, size_t *needed);
loom_status loom_quantized_release(loom_quantized quantized);
loom_status loom_export(const char *path, const loom_tensor *inputs, const char *const *input_names, size_t input_count, const loom_tensor *results, size_t result_count, const loom_tensor *parameters, const char *const *parameter_names, size_t parameter_count);
loom_status loom_export_with(const char *path, const loom_tensor *inputs, const char *const *input_names, size_t input_count, const loom_tensor *results, size_t result_count, const loom_tensor *parameters, const char *const *parameter_names, size_t parameter_count, const loom_export_options *options);
loom_status loom_load_program(const char *path, loom_exported *program);
loom_status loom_load_program_with_engines(const char *path, loom_exported *program);
loom_status loom_exported_run(loom_exported program, const loom_tensor *inputs, size_t input_count, loom_tensor *results, size_t result_count);
loom_status loom_exported_seed(loom_exported program, uint64_t seed);
loom_status loom_exported_json(loom_exported program, char *buffer, size_t capacity, size_t *needed);
loom_status loom_exported_release(loom_exported program);
loom_status loom_save_repro(const char *path, const loom_tensor *values, size_t value_count, bool random_data);
loom_status loom_distributed_barrier(double timeout);
loom_status loom_tensor_local_part(loom_tensor tensor, loom_tensor *result);
loom_status loom_tensor_from_local_part(loom_tensor tensor, const char *mesh, const char *devices, const char *spec, loom_tensor *result);
]]

-- Ops: operands in order, the list of further ones, the kinds of attributes, the
-- number of results, 0 where it depends on the call.
M.ops = {
  -- |x|; complex operands give their modulus, of the real dtype.
  abs = {operands = {"x"}, attributes = {}, results = 1},
  -- Inverse cosine, in radians; NaN outside [-1, 1] for real x.
  acos = {operands = {"x"}, attributes = {}, results = 1},
  -- Inverse hyperbolic cosine; NaN below 1 for real x.
  acosh = {operands = {"x"}, attributes = {}, results = 1},
  -- The mean of parts of the last axes, output of them in each, as even as possible.
  adaptive_avg_pool = {operands = {"x"}, attributes = {output = "ints"}, results = 1},
  -- The largest element of parts of the last axes; parts as for adaptive_avg_pool.
  adaptive_max_pool = {operands = {"x"}, attributes = {output = "ints"}, results = 1},
  -- x + y. For bool, logical or, as in NumPy.
  add = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x + value * y / z; value is 1 if absent.
  addcdiv = {operands = {"x", "y", "z", "value"}, attributes = {}, results = 1},
  -- x + value * y * z; value is 1 if absent.
  addcmul = {operands = {"x", "y", "z", "value"}, attributes = {}, results = 1},
  -- The Airy function that vanishes at infinity.
  airy_ai = {operands = {"x"}, attributes = {}, results = 1},
  -- Whether no element is 0 (NaN counts as not 0); true of none.
  all = {operands = {"x"}, attributes = {axes = "ints", keepdims = "bool"}, results = 1},
  -- The operands of all processes of a group, one after the other along axis.
  all_gather = {
    operands = {"x"},
    attributes = {axis = "int", group = "ints", world = "int", axes = "str"},
    results = 1,
  },
  -- The reduction of the operands of all processes of a group, in each of them.
  all_reduce = {
    operands = {"x"},
    attributes = {reduction = "str", group = "ints", world = "int", axes = "str"},
    results = 1,
  },
  -- Parts of the operands of a group: each process sends one along split_axis to each.
  all_to_all = {
    operands = {"x"},
    attributes = {split_axis = "int", concat_axis = "int", group = "ints", world = "int", axes = "str"},
    results = 1,
  },
  -- The argument of x in radians; 0 or pi for real x, whose gradient is 0. So is that at 0.
  angle = {operands = {"x"}, attributes = {}, results = 1},
  -- Whether an element is not 0 (NaN counts as not 0); false of none.
  any = {operands = {"x"}, attributes = {axes = "ints", keepdims = "bool"}, results = 1},
  -- The vector x with f(x[p], u) written to each position p in turn; f(x[p]) without an update.
  apply_at = {
    operands = {"x", "positions", "update"},
    attributes = {["function"] = "str", dtype = "dtype"},
    results = 1,
  },
  -- start, start + step, ...: length elements start + i * step.
  arange = {operands = {"start", "step"}, attributes = {length = "int"}, results = 1},
  -- The index (int64) of the first largest element, a NaN counting as larger than all.
  argmax = {operands = {"x"}, attributes = {axis = "int", keepdims = "bool"}, results = 1},
  -- The index (int64) of the first smallest element, a NaN counting as smaller than all.
  argmin = {operands = {"x"}, attributes = {axis = "int", keepdims = "bool"}, results = 1},
  -- The positions (int64) that put x in order along an axis. Raises ArgumentError.
  argsort = {
    operands = {"x"},
    attributes = {axis = "int", descending = "bool", stable = "bool"},
    results = 1,
  },
  -- Inverse sine, in radians; NaN outside [-1, 1] for real x.
  asin = {operands = {"x"}, attributes = {}, results = 1},
  -- Inverse hyperbolic sine.
  asinh = {operands = {"x"}, attributes = {}, results = 1},
  -- Inverse tangent, in radians.
  atan = {operands = {"x"}, attributes = {}, results = 1},
  -- The angle of the point (x, y), in radians. The gradient at (0, 0) is 0.
  atan2 = {operands = {"y", "x"}, attributes = {}, results = 1},
  -- Inverse hyperbolic tangent; NaN outside [-1, 1] for real x.
  atanh = {operands = {"x"}, attributes = {}, results = 1},
  -- The mean of each place of a window that moves over the last axes.
  avg_pool = {
    operands = {"x"},
    attributes = {window = "ints", strides = "ints", padding_low = "ints", padding_high = "ints", dilation = "ints", count_include_pad = "bool"},
    results = 1,
  },
  -- The first results operands, and not before the others are there as well.
  await_all = {operands = {}, list = "operands", attributes = {results = "int"}, results = 0},
  -- The position of a device along axes of a mesh, an int32; inside shard_map.
  axis_index = {
    operands = {},
    attributes = {group = "ints", world = "int", axes = "str"},
    results = 1,
  },
  -- The operands themselves; what is computed from them is not merged with the same computation
  -- elsewhere, nor begun before all of them are there.
  barrier = {operands = {}, list = "operands", attributes = {}, results = 0},
  -- (x - mean) / sqrt(variance + eps) * weight + bias, a number of each per channel.
  batch_norm_infer = {
    operands = {"x", "mean", "variance", "weight", "bias"},
    attributes = {eps = "float"},
    results = 1,
  },
  -- Each channel (axis 1) over all samples and positions gets mean 0 and variance 1.
  batch_norm_train = {
    operands = {"x", "weight", "bias"},
    attributes = {eps = "float"},
    results = 3,
  },
  -- The modified Bessel function of the first kind of order 0.
  bessel_i0 = {operands = {"x"}, attributes = {}, results = 1},
  -- exp(-|x|) times the modified Bessel function of the first kind of order 0.
  bessel_i0e = {operands = {"x"}, attributes = {}, results = 1},
  -- The modified Bessel function of the first kind of order 1.
  bessel_i1 = {operands = {"x"}, attributes = {}, results = 1},
  -- exp(-|x|) times the modified Bessel function of the first kind of order 1.
  bessel_i1e = {operands = {"x"}, attributes = {}, results = 1},
  -- The Bessel function of the first kind of order 0; 0 at the infinities.
  bessel_j0 = {operands = {"x"}, attributes = {}, results = 1},
  -- The Bessel function of the first kind of order 1; 0 at the infinities.
  bessel_j1 = {operands = {"x"}, attributes = {}, results = 1},
  -- exp(x) times the modified Bessel function of the second kind of order 0; inf at 0, NaN below.
  bessel_k0e = {operands = {"x"}, attributes = {}, results = 1},
  -- exp(x) times the modified Bessel function of the second kind of order 1; inf at 0, NaN below.
  bessel_k1e = {operands = {"x"}, attributes = {}, results = 1},
  -- The Bessel function of the second kind of order 0; -inf at 0, NaN below.
  bessel_y0 = {operands = {"x"}, attributes = {}, results = 1},
  -- The Bessel function of the second kind of order 1; -inf at 0, NaN below.
  bessel_y1 = {operands = {"x"}, attributes = {}, results = 1},
  -- The regularised incomplete beta function, for positive a and b and x in [0, 1].
  betainc = {operands = {"a", "b", "x"}, attributes = {}, results = 1},
  -- -(t * log(x) + (1 - t) * log(1 - x)) * w for probabilities x, logarithms at least -100.
  binary_cross_entropy = {
    operands = {"x", "target", "weight"},
    attributes = {reduction = "str"},
    results = 1,
  },
  -- -(p * t * log(sigmoid(x)) + (1 - t) * log(1 - sigmoid(x))) * w, without overflow.
  binary_cross_entropy_with_logits = {
    operands = {"logits", "targets", "weight", "positive_weight"},
    attributes = {reduction = "str"},
    results = 1,
  },
  -- How often each of 0 .. length - 1 occurs in x (1-d), or the sum of its weights.
  bincount = {operands = {"x", "weights"}, attributes = {length = "int"}, results = 1},
  -- The bytes of x read as dtype.
  bitcast = {operands = {"x"}, attributes = {dtype = "dtype"}, results = 1},
  -- x & y.
  bitwise_and = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- All bits of x inverted; logical not for bool.
  bitwise_not = {operands = {"x"}, attributes = {}, results = 1},
  -- x | y.
  bitwise_or = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x ^ y.
  bitwise_xor = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x repeated to shape by NumPy's broadcasting rules. Raises ShapeError.
  broadcast_to = {operands = {"x"}, attributes = {shape = "ints"}, results = 1},
  -- The results of the function main of a StableHLO module, which is given as text.
  call_module = {operands = {}, list = "operands", attributes = {module = "str"}, results = 0},
  -- x converted to dtype.
  cast = {operands = {"x"}, attributes = {dtype = "dtype"}, results = 1},
  -- The real cube root, of the sign of x.
  cbrt = {operands = {"x"}, attributes = {}, results = 1},
  -- The smallest integer not below x.
  ceil = {operands = {"x"}, attributes = {}, results = 1},
  -- x for x > 0, alpha * (exp(x / alpha) - 1) elsewhere.
  celu = {operands = {"x"}, attributes = {alpha = "float"}, results = 1},
  -- The Chebyshev polynomial of degree n (rounded towards zero) of the first (kind "t"), second
  -- ("u"), third ("v") or fourth ("w") kind; 0 for a negative degree.
  chebyshev_polynomial = {operands = {"x", "n"}, attributes = {kind = "str"}, results = 1},
  -- x itself, and flag, which is looked at before anything that depends on x is read.
  checked = {
    operands = {"x", "flag"},
    attributes = {kind = "str", of = "str", info = "ints"},
    results = 2,
  },
  -- The lower triangular L with L @ L.conj().T == x, or its upper counterpart.
  cholesky = {operands = {"x"}, attributes = {upper = "bool"}, results = 1},
  -- The order of the first leading minor that is not positive, 0 where there is none; int32.
  cholesky_failure = {operands = {"x"}, attributes = {upper = "bool"}, results = 1},
  -- x limited to [min, max], NaN where any is; max where min > max.
  clip = {operands = {"x", "min", "max"}, attributes = {}, results = 1},
  -- The operand of the process at position source of a group, in each of its processes.
  collective_broadcast = {
    operands = {"x"},
    attributes = {source = "int", group = "ints", world = "int", axes = "str"},
    results = 1,
  },
  -- The operand of the process that sends to this one; zeros in one that receives from none.
  collective_permute = {
    operands = {"x"},
    attributes = {sources = "ints", targets = "ints", group = "ints", world = "int", axes = "str"},
    results = 1,
  },
  -- real + i imag, complex64 of float32 or complex128 of float64 operands.
  complex = {operands = {"real", "imag"}, attributes = {}, results = 1},
  -- The operands joined along an existing axis; their other sizes are equal.
  concatenate = {operands = {}, list = "xs", attributes = {axis = "int"}, results = 1},
  -- The complex conjugate; x itself if it is real.
  conj = {operands = {"x"}, attributes = {}, results = 1},
  -- x (N, C, spatial...) convolved with weight (O, C / groups, spatial...).
  conv = {
    operands = {"x", "weight"},
    attributes = {strides = "ints", padding_low = "ints", padding_high = "ints", dilation = "ints", input_dilation = "ints", groups = "int"},
    results = 1,
  },
  -- The derivative of conv with respect to its input, as an op: weight (C, O / groups, ...).
  conv_transpose = {
    operands = {"x", "weight"},
    attributes = {strides = "ints", padding_low = "ints", padding_high = "ints", output_padding = "ints", dilation = "ints", groups = "int"},
    results = 1,
  },
  -- x as a value of its own, for frontends that tell row-major copies from what they copy.
  copy = {operands = {"x"}, attributes = {}, results = 1},
  -- The magnitude of x with the sign of y, zeros included. The gradient is 0 where x is.
  copysign = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- Cosine of x in radians.
  cos = {operands = {"x"}, attributes = {}, results = 1},
  -- Hyperbolic cosine.
  cosh = {operands = {"x"}, attributes = {}, results = 1},
  -- The number of elements that are not 0, as int64.
  count_nonzero = {
    operands = {"x"},
    attributes = {axes = "ints", keepdims = "bool"},
    results = 1,
  },
  -- The cross product of vectors of 3 elements along an axis; the other axes broadcast.
  cross = {operands = {"x", "y"}, attributes = {axis = "int"}, results = 1},
  -- -log_softmax(logits)[label], per element of labels.
  cross_entropy = {
    operands = {"logits", "labels", "weight"},
    attributes = {axis = "int", label_smoothing = "float", ignore_index = "int", reduction = "str"},
    results = 1,
  },
  -- -log of the probability of all alignments of a target with an input, for each of N.
  ctc_loss = {
    operands = {"log_probabilities", "targets", "input_lengths", "target_lengths"},
    attributes = {blank = "int"},
    results = 1,
  },
  -- The largest element up to each one; NaN from the first NaN on.
  cummax = {operands = {"x"}, attributes = {axis = "int", reverse = "bool"}, results = 1},
  -- The smallest element up to each one; NaN from the first NaN on.
  cummin = {operands = {"x"}, attributes = {axis = "int", reverse = "bool"}, results = 1},
  -- The products of the elements up to each one; integers wrap.
  cumprod = {operands = {"x"}, attributes = {axis = "int", reverse = "bool"}, results = 1},
  -- The sums of the elements up to each one; integers wrap.
  cumsum = {operands = {"x"}, attributes = {axis = "int", reverse = "bool"}, results = 1},
  -- The first results operands; the others are what these were computed from.
  custom = {operands = {}, list = "operands", attributes = {results = "int"}, results = 0},
  -- (x - zero_point) * scale, in the dtype of scale; x is int8, uint8 or int32.
  dequantize = {
    operands = {"x", "scale", "zero_point"},
    attributes = {axis = "int"},
    results = 1,
  },
  -- The determinant of square matrices. Raises ShapeError, DTypeError.
  det = {operands = {"x"}, attributes = {}, results = 1},
  -- Square planes, zero but for the diagonal, which is the last axis of x.
  diag_embed = {
    operands = {"x"},
    attributes = {offset = "int", axis1 = "int", axis2 = "int"},
    results = 1,
  },
  -- The diagonals of the planes of two axes: those axes go, the diagonal comes last.
  diagonal = {
    operands = {"x"},
    attributes = {offset = "int", axis1 = "int", axis2 = "int"},
    results = 1,
  },
  -- x with the elements that diagonal of the same attributes takes replaced.
  diagonal_update = {
    operands = {"x", "update"},
    attributes = {offset = "int", axis1 = "int", axis2 = "int"},
    results = 1,
  },
  -- The derivative of lgamma; infinite at 0, with the sign of -x.
  digamma = {operands = {"x"}, attributes = {}, results = 1},
  -- x / y, of floating-point or complex operands; by IEEE 754 for a zero y.
  divide = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- The sum of products over pairs of axes; pairs of batch axes stay, and come first.
  dot_general = {
    operands = {"x", "y"},
    attributes = {lhs_contract = "ints", rhs_contract = "ints", lhs_batch = "ints", rhs_batch = "ints", accumulate = "dtype"},
    results = 1,
  },
  -- x with each element zero with probability rate, and divided by 1 - rate else.
  dropout = {operands = {"x", "key"}, attributes = {rate = "float"}, results = 1},
  -- A block of attribute sizes that begins at the 0-d operands starts.
  dynamic_slice = {operands = {"x"}, list = "starts", attributes = {sizes = "ints"}, results = 1},
  -- x with the block that begins at the 0-d operands starts replaced by update.
  dynamic_update_slice = {
    operands = {"x", "update"},
    list = "starts",
    attributes = {},
    results = 1,
  },
  -- Eigenvalues of square matrices, and eigenvectors as columns; both complex.
  eig = {operands = {"x"}, attributes = {}, results = 2},
  -- Ascending eigenvalues of Hermitian matrices, and eigenvectors as columns.
  eigh = {operands = {"x"}, attributes = {upper = "bool"}, results = 2},
  -- Eigenvalues of square matrices, complex; see eig.
  eigvals = {operands = {"x"}, attributes = {}, results = 1},
  -- Ascending eigenvalues of Hermitian matrices; see eigh.
  eigvalsh = {operands = {"x"}, attributes = {upper = "bool"}, results = 1},
  -- Einstein's sum: letters name axes, letters that the result lacks are summed over.
  einsum = {operands = {}, list = "xs", attributes = {equation = "str"}, results = 1},
  -- x for x > 0, alpha * (exp(x) - 1) elsewhere.
  elu = {operands = {"x"}, attributes = {alpha = "float"}, results = 1},
  -- The rows of weight (rows, features) at indices, of any shape.
  embedding = {
    operands = {"weight", "indices"},
    attributes = {padding_index = "int"},
    results = 1,
  },
  -- -x log(x), 0 at 0 and -inf below.
  entr = {operands = {"x"}, attributes = {}, results = 1},
  -- x == y.
  equal = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- The error function.
  erf = {operands = {"x"}, attributes = {}, results = 1},
  -- 1 - erf(x), accurate for large x.
  erfc = {operands = {"x"}, attributes = {}, results = 1},
  -- exp(x * x) erfc(x), without underflow for large x.
  erfcx = {operands = {"x"}, attributes = {}, results = 1},
  -- The inverse of erf; infinite at -1 and 1.
  erfinv = {operands = {"x"}, attributes = {}, results = 1},
  -- e ** x.
  exp = {operands = {"x"}, attributes = {}, results = 1},
  -- 2 ** x; exact where x is an integer and the result is normal.
  exp2 = {operands = {"x"}, attributes = {}, results = 1},
  -- x with axes of size 1 put in, at these positions of the result.
  expand_dims = {operands = {"x"}, attributes = {axes = "ints"}, results = 1},
  -- e ** x - 1, accurate near 0.
  expm1 = {operands = {"x"}, attributes = {}, results = 1},
  -- An n by m (n by n for None) matrix with ones on diagonal k and zeros elsewhere.
  eye = {
    operands = {},
    attributes = {n = "int", m = "int", k = "int", dtype = "dtype"},
    results = 1,
  },
  -- What x becomes by quantisation to the integers low to high and back.
  fake_quantize = {
    operands = {"x", "scale", "zero_point"},
    attributes = {axis = "int", low = "int", high = "int"},
    results = 1,
  },
  -- The discrete Fourier transform along the axes, or the inverse one.
  fft = {
    operands = {"x"},
    attributes = {axes = "ints", inverse = "bool", norm = "str"},
    results = 1,
  },
  -- One of the labels that is neither in 0 .. size - 1 nor ignore_index, int64; or 0.
  first_invalid_label = {
    operands = {"labels"},
    attributes = {size = "int", ignore_index = "int"},
    results = 1,
  },
  -- One of the indices that is not in -size .. size - 1, int64; 0 where all are.
  first_out_of_range = {
    operands = {"indices"},
    attributes = {size = "int", negative = "bool"},
    results = 1,
  },
  -- The first size positions (int64), in row-major order, where x is not zero.
  flat_nonzero = {operands = {"x"}, attributes = {size = "int"}, results = 1},
  -- x with the order along these axes (all of them if None) reversed.
  flip = {operands = {"x"}, attributes = {axes = "ints"}, results = 1},
  -- Which floating-point exceptions a function met: 1 divide by zero, 2 overflow, 4 underflow, 8
  -- invalid, added up, uint8.
  float_status = {
    operands = {"result"},
    list = "operands",
    attributes = {["function"] = "str"},
    results = 1,
  },
  -- The largest integer not above x.
  floor = {operands = {"x"}, attributes = {}, results = 1},
  -- x // y, rounded down.
  floor_divide = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- The larger of x and y; the other one where one of them is NaN. At ties x has the gradient.
  fmax = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- The smaller of x and y; the other one where one of them is NaN. At ties x has the gradient.
  fmin = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- The remainder of x / y with the sign of x. Integers give 0 where y is 0.
  fmod = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- f(f(x0, x1), x2) ... along an axis, from the first element to the last.
  fold = {operands = {"x"}, attributes = {["function"] = "str", axis = "int"}, results = 1},
  -- A tensor of that shape, every element the 0-d value, of its dtype.
  full = {operands = {"value"}, attributes = {shape = "ints"}, results = 1},
  -- The regularised lower incomplete gamma function, for a and x from 0 on.
  gammainc = {operands = {"a", "x"}, attributes = {}, results = 1},
  -- 1 - gammainc(a, x), accurate where it is small.
  gammaincc = {operands = {"a", "x"}, attributes = {}, results = 1},
  -- The greatest common divisor of |x| and |y|; gcd(0, 0) is 0.
  gcd = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x times the normal distribution function of x; approximate "none" or "tanh".
  gelu = {operands = {"x"}, attributes = {approximate = "str"}, results = 1},
  -- x > y.
  greater = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x >= y.
  greater_equal = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x (N, C, H, W) or (N, C, D, H, W) at the places of grid (N, ..., 2 or 3).
  grid_sample = {
    operands = {"x", "grid"},
    attributes = {mode = "str", padding = "str", align_corners = "bool"},
    results = 1,
  },
  -- Channels (axis 1) in groups; each group of each sample gets mean 0 and variance 1.
  group_norm = {
    operands = {"x", "weight", "bias"},
    attributes = {groups = "int", eps = "float"},
    results = 1,
  },
  -- A gated recurrent unit for each step in turn: h' = n + z * (h - n).
  gru = {
    operands = {"x", "h", "w_input", "w_hidden", "b_input", "b_hidden", "lengths"},
    attributes = {reverse = "bool"},
    results = 2,
  },
  -- x, but 0 where |x| <= lambd. The gradient at NaN is 0.
  hardshrink = {operands = {"x"}, attributes = {lambd = "float"}, results = 1},
  -- relu6(x + 3) / 6.
  hardsigmoid = {operands = {"x"}, attributes = {}, results = 1},
  -- x * relu6(x + 3) / 6. The gradient is 0 up to -3, and 1 from 3 on and at NaN.
  hardswish = {operands = {"x"}, attributes = {}, results = 1},
  -- x limited to [min, max]. The gradient at the limits is 0.
  hardtanh = {operands = {"x"}, attributes = {min = "float", max = "float"}, results = 1},
  -- 0 for negative x, 1 for positive x, y where x is 0, NaN for NaN.
  heaviside = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- The first n columns of a product of reflections I - tau_i v_i v_i^H.
  householder_product = {operands = {"a", "taus"}, attributes = {}, results = 1},
  -- d**2 / 2 where d = abs(x - target) is below delta, else delta * (d - delta / 2).
  huber_loss = {
    operands = {"x", "target"},
    attributes = {delta = "float", reduction = "str"},
    results = 1,
  },
  -- sqrt(x*x + y*y) without overflow, infinite if x or y is. The gradient at (0, 0) is 0, and
  -- where the result is infinite.
  hypot = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x itself, as a value of its own. The gradient passes through.
  identity = {operands = {"x"}, attributes = {}, results = 1},
  -- The imaginary part, of the real dtype; 0 if x is real.
  imag = {operands = {"x"}, attributes = {}, results = 1},
  -- The elements of x at broadcast indices, one operand for each of axes.
  index = {operands = {"x"}, list = "indices", attributes = {axes = "ints"}, results = 1},
  -- x with the elements that index of the same indices takes changed.
  index_update = {
    operands = {"x", "value"},
    list = "indices",
    attributes = {axes = "ints", mode = "str"},
    results = 1,
  },
  -- x ** exponent for an integer known beforehand, by repeated multiplication.
  integer_power = {operands = {"x"}, attributes = {exponent = "int"}, results = 1},
  -- The inverse of square matrices; solve is faster and more exact where it serves.
  inv = {operands = {"x"}, attributes = {}, results = 1},
  -- A tensor whose elements are their own index along axis.
  iota = {
    operands = {},
    attributes = {shape = "ints", axis = "int", dtype = "dtype"},
    results = 1,
  },
  -- The inverse of rfft: real numbers, length along the last of the axes.
  irfft = {
    operands = {"x"},
    attributes = {axes = "ints", length = "int", norm = "str"},
    results = 1,
  },
  -- Whether elimination finds a pivot that is exactly 0, for each square matrix.
  is_singular = {operands = {"x"}, attributes = {}, results = 1},
  -- Whether x, with all its parts, is neither infinite nor NaN.
  isfinite = {operands = {"x"}, attributes = {}, results = 1},
  -- Whether x, or a part of it, is infinite.
  isinf = {operands = {"x"}, attributes = {}, results = 1},
  -- Whether x, or a part of it, is NaN.
  isnan = {operands = {"x"}, attributes = {}, results = 1},
  -- target * (log(target) - x), where x holds log-probabilities; 0 where target is 0.
  kl_div = {
    operands = {"x", "target"},
    attributes = {log_target = "bool", reduction = "str"},
    results = 1,
  },
  -- Kronecker's product: each element of x times the whole of y, side by side.
  kron = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- abs(x - target); the derivative is 0 where both are equal.
  l1_loss = {operands = {"x", "target"}, attributes = {reduction = "str"}, results = 1},
  -- (x - mean) / sqrt(var + eps) * weight + bias over the last normalized_ndim axes.
  layer_norm = {
    operands = {"x", "weight", "bias"},
    attributes = {normalized_ndim = "int", eps = "float"},
    results = 1,
  },
  -- Minus the product of the gradient and the inverse Hessian that L-BFGS estimates.
  lbfgs_direction = {
    operands = {"scale", "gradient"},
    list = "history",
    attributes = {},
    results = 1,
  },
  -- The least common multiple of |x| and |y|; 0 if either is 0.
  lcm = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x * 2**exponent, exact unless the result overflows or underflows.
  ldexp = {operands = {"x", "exponent"}, attributes = {}, results = 1},
  -- x for x > 0, negative_slope * x elsewhere.
  leaky_relu = {operands = {"x"}, attributes = {negative_slope = "float"}, results = 1},
  -- x + weight * (y - x), computed from the nearer end so that weight 1 gives y.
  lerp = {operands = {"x", "y", "weight"}, attributes = {}, results = 1},
  -- x < y.
  less = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x <= y.
  less_equal = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- The logarithm of the absolute value of the gamma function.
  lgamma = {operands = {"x"}, attributes = {}, results = 1},
  -- num evenly spaced numbers from start to stop, which endpoint includes.
  linspace = {
    operands = {"start", "stop"},
    attributes = {num = "int", endpoint = "bool"},
    results = 1,
  },
  -- Natural logarithm; -inf at 0, NaN for negative real x.
  log = {operands = {"x"}, attributes = {}, results = 1},
  -- Logarithm to base 10.
  log10 = {operands = {"x"}, attributes = {}, results = 1},
  -- log(1 + x), accurate near 0.
  log1p = {operands = {"x"}, attributes = {}, results = 1},
  -- Logarithm to base 2.
  log2 = {operands = {"x"}, attributes = {}, results = 1},
  -- The logarithm of the normal distribution function, accurate where that is tiny.
  log_ndtr = {operands = {"x"}, attributes = {}, results = 1},
  -- log(sigmoid(x)) without underflow.
  log_sigmoid = {operands = {"x"}, attributes = {}, results = 1},
  -- x minus the logarithm of the sum of exp(x) along an axis, without overflow.
  log_softmax = {operands = {"x"}, attributes = {axis = "int"}, results = 1},
  -- log(exp(x) + exp(y)) without overflow.
  logaddexp = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- log2(2**x + 2**y) without overflow.
  logaddexp2 = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- log(cumsum(exp(x))) without overflow, with the principal logarithm.
  logcumsumexp = {operands = {"x"}, attributes = {axis = "int", reverse = "bool"}, results = 1},
  -- Whether x and y are both not zero.
  logical_and = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- Whether x is zero.
  logical_not = {operands = {"x"}, attributes = {}, results = 1},
  -- Whether x or y is not zero.
  logical_or = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- Whether exactly one of x and y is not zero.
  logical_xor = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- log(x / (1 - x)), infinite at 0 and 1, where the gradient is too; NaN outside of [0, 1].
  logit = {operands = {"x"}, attributes = {}, results = 1},
  -- log(sum(exp(x))) without overflow, with the principal logarithm; -inf of no element.
  logsumexp = {operands = {"x"}, attributes = {axes = "ints", keepdims = "bool"}, results = 1},
  -- Long short-term memory for each step in turn: c' = f * c + i * g, h' = o * tanh(c').
  lstm = {
    operands = {"x", "h", "c", "w_input", "w_hidden", "b_input", "b_hidden", "w_project", "lengths"},
    attributes = {reverse = "bool"},
    results = 3,
  },
  -- The factors of P @ x = L @ U in one matrix, and the exchanges of rows.
  lu_factor = {operands = {"x"}, attributes = {}, results = 2},
  -- x where mask is false, value where it is true; both broadcast to x.
  masked_fill = {operands = {"x", "mask", "value"}, attributes = {}, results = 1},
  -- The matrix product (..., m, k) @ (..., k, n) -> (..., m, n).
  matmul = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- The exponential of square matrices. Raises ShapeError, DTypeError.
  matrix_exp = {operands = {"x"}, attributes = {}, results = 1},
  -- Square matrices multiplied by themselves; the inverse for a negative exponent.
  matrix_power = {operands = {"x"}, attributes = {exponent = "int"}, results = 1},
  -- The largest element; NaN if there is one. Elements that tie, or are NaN, share the gradient.
  max = {operands = {"x"}, attributes = {axes = "ints", keepdims = "bool"}, results = 1},
  -- The largest element in each place of a window that moves over the last axes.
  max_pool = {
    operands = {"x"},
    attributes = {window = "ints", strides = "ints", padding_low = "ints", padding_high = "ints", dilation = "ints"},
    results = 1,
  },
  -- Where max_pool finds its results: positions (int64) in the axes moved over, flat.
  max_pool_indices = {
    operands = {"x"},
    attributes = {window = "ints", strides = "ints", padding_low = "ints", padding_high = "ints", dilation = "ints"},
    results = 1,
  },
  -- The larger of x and y; NaN if either is. At ties each gets half of the gradient, with a NaN
  -- each gets all of it.
  maximum = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- The arithmetic mean; NaN of no element.
  mean = {operands = {"x"}, attributes = {axes = "ints", keepdims = "bool"}, results = 1},
  -- The smallest element; NaN if there is one. Elements that tie, or are NaN, share the gradient.
  min = {operands = {"x"}, attributes = {axes = "ints", keepdims = "bool"}, results = 1},
  -- The smaller of x and y; NaN if either is. At ties each gets half of the gradient, with a NaN
  -- each gets all of it.
  minimum = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x * tanh(log(1 + exp(x))).
  mish = {operands = {"x"}, attributes = {}, results = 1},
  -- x with axis source[i] at position destination[i], the others in order.
  moveaxis = {
    operands = {"x"},
    attributes = {source = "ints", destination = "ints"},
    results = 1,
  },
  -- (x - target) ** 2. Raises ShapeError, ArgumentError.
  mse_loss = {operands = {"x", "target"}, attributes = {reduction = "str"}, results = 1},
  -- x * y. For bool, logical and, as in NumPy.
  multiply = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x with NaN and infinities replaced; infinities by the largest numbers for None.
  nan_to_num = {
    operands = {"x"},
    attributes = {nan = "float", posinf = "float", neginf = "float"},
    results = 1,
  },
  -- The inverse of the normal distribution function; infinite at 0 and 1, NaN outside.
  ndtri = {operands = {"x"}, attributes = {}, results = 1},
  -- -x; unsigned integers wrap.
  negative = {operands = {"x"}, attributes = {}, results = 1},
  -- The next number after x in the direction of y.
  nextafter = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- -log_probabilities[label], per element of labels; else as cross_entropy.
  nll_loss = {
    operands = {"log_probabilities", "labels", "weight"},
    attributes = {axis = "int", ignore_index = "int", reduction = "str"},
    results = 1,
  },
  -- The vector norm sum(|x|**order)**(1/order).
  norm = {
    operands = {"x"},
    attributes = {axes = "ints", order = "float", keepdims = "bool"},
    results = 1,
  },
  -- x != y.
  not_equal = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- A new last axis of size depth: one at the index, zero elsewhere.
  one_hot = {operands = {"indices"}, attributes = {depth = "int", dtype = "dtype"}, results = 1},
  -- The polynomial of degree n (rounded towards zero) of Hermite (kind "hermite_h", or
  -- "hermite_he" of the probabilists), Laguerre ("laguerre_l") or Legendre ("legendre_p"); 0 for a
  -- negative degree.
  orthogonal_polynomial = {operands = {"x", "n"}, attributes = {kind = "str"}, results = 1},
  -- All products of an element of x and one of y: the axes of x, then those of y.
  outer = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x with value (0-d) before, after and between its elements, counts per axis.
  pad = {
    operands = {"x", "value"},
    attributes = {low = "ints", high = "ints", interior = "ints"},
    results = 1,
  },
  -- The elements that a window sees in each of its places, as it moves over the last axes.
  patches = {
    operands = {"x"},
    attributes = {window = "ints", strides = "ints", padding_low = "ints", padding_high = "ints", dilation = "ints"},
    results = 1,
  },
  -- The transpose of patches: each element of an array of last axes sizes is the sum of what x
  -- holds for it in the windows that see it.
  patches_sum = {
    operands = {"x"},
    attributes = {sizes = "ints", window = "ints", strides = "ints", padding_low = "ints", padding_high = "ints", dilation = "ints"},
    results = 1,
  },
  -- The Moore-Penrose inverse (..., n, m) of matrices (..., m, n).
  pinv = {operands = {"x"}, attributes = {rtol = "float"}, results = 1},
  -- The Moore-Penrose inverse (..., n, m) of matrices (..., m, n).
  pinv_within = {
    operands = {"x", "atol", "rtol"},
    attributes = {hermitian = "bool"},
    results = 1,
  },
  -- Where each of size rows comes from after the exchanges of lu_factor; int32.
  pivots_to_permutation = {operands = {"pivots"}, attributes = {size = "int"}, results = 1},
  -- x on the devices, and divided over them, that the text of a placement names.
  place = {operands = {"x"}, attributes = {placement = "str"}, results = 1},
  -- Derivative number order of digamma; infinite at 0 and, of order 1 and more, at the negative
  -- integers.
  polygamma = {operands = {"x"}, attributes = {order = "int"}, results = 1},
  -- The number of one bits of x in two's complement, of the dtype of x.
  population_count = {operands = {"x"}, attributes = {}, results = 1},
  -- +x, which is x.
  positive = {operands = {"x"}, attributes = {}, results = 1},
  -- x ** y.
  power = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x for x > 0, slope * x elsewhere; the slope is an operand and gets a gradient.
  prelu = {operands = {"x", "slope"}, attributes = {}, results = 1},
  -- The product of the elements, cast to dtype first if that is given; 1 of none.
  prod = {
    operands = {"x"},
    attributes = {axes = "ints", dtype = "dtype", keepdims = "bool"},
    results = 1,
  },
  -- x (..., m, n) as a product of q with orthonormal columns and upper triangular r.
  qr = {operands = {"x"}, attributes = {mode = "str"}, results = 2},
  -- The factors of qr as LAPACK keeps them, the first transposed.
  qr_raw = {operands = {"x"}, attributes = {}, results = 2},
  -- x / scale, rounded, plus zero_point, as dtype, int8 or uint8.
  quantize = {
    operands = {"x", "scale", "zero_point"},
    attributes = {axis = "int", dtype = "dtype"},
    results = 1,
  },
  -- True with probability p.
  random_bernoulli = {operands = {"key", "p"}, attributes = {shape = "ints"}, results = 1},
  -- Beta numbers of parameters a and b.
  random_beta = {operands = {"key", "a", "b"}, attributes = {shape = "ints"}, results = 1},
  -- Numbers (int64) of successes of probability p in n trials, n rounded down.
  random_binomial = {operands = {"key", "n", "p"}, attributes = {shape = "ints"}, results = 1},
  -- Unsigned integers, every bit of which is random.
  random_bits = {operands = {"key"}, attributes = {shape = "ints", dtype = "dtype"}, results = 1},
  -- Indices (int64) into the last axis of logits, of probability softmax(logits).
  random_categorical = {operands = {"key", "logits"}, attributes = {shape = "ints"}, results = 1},
  -- Cauchy numbers of location 0 and scale 1.
  random_cauchy = {
    operands = {"key"},
    attributes = {shape = "ints", dtype = "dtype"},
    results = 1,
  },
  -- Exponential numbers of mean 1.
  random_exponential = {
    operands = {"key"},
    attributes = {shape = "ints", dtype = "dtype"},
    results = 1,
  },
  -- A key made of a key and a 0-d integer (its low 32 bits), such as a step's number.
  random_fold_in = {operands = {"key", "data"}, attributes = {}, results = 1},
  -- Gamma numbers of shape parameter a and scale 1. There is no second derivative.
  random_gamma = {operands = {"key", "a"}, attributes = {shape = "ints"}, results = 1},
  -- The number (int64) of trials up to the first success of probability p, 1 or more.
  random_geometric = {operands = {"key", "p"}, attributes = {shape = "ints"}, results = 1},
  -- Gumbel numbers of location 0 and scale 1.
  random_gumbel = {
    operands = {"key"},
    attributes = {shape = "ints", dtype = "dtype"},
    results = 1,
  },
  -- Numbers (int64) of good ones among drawn of good + bad, without replacement.
  random_hypergeometric = {
    operands = {"key", "good", "bad", "drawn"},
    attributes = {shape = "ints"},
    results = 1,
  },
  -- Integers from low to high - 1, to high with endpoint; low where there are none.
  random_integers = {
    operands = {"key", "low", "high"},
    attributes = {shape = "ints", endpoint = "bool"},
    results = 1,
  },
  -- Laplace numbers of location 0 and scale 1.
  random_laplace = {
    operands = {"key"},
    attributes = {shape = "ints", dtype = "dtype"},
    results = 1,
  },
  -- Logistic numbers of location 0 and scale 1.
  random_logistic = {
    operands = {"key"},
    attributes = {shape = "ints", dtype = "dtype"},
    results = 1,
  },
  -- How often (int64) each class was met in n draws; a class each along the last axis of p.
  random_multinomial = {operands = {"key", "n", "p"}, attributes = {shape = "ints"}, results = 1},
  -- How many (int64) of each color are among drawn without replacement.
  random_multivariate_hypergeometric = {
    operands = {"key", "drawn", "colors"},
    attributes = {shape = "ints"},
    results = 1,
  },
  -- Normal numbers; mean is 0 and std 1 if absent. Complex parts have variance 1/2 each.
  random_normal = {
    operands = {"key", "mean", "std"},
    attributes = {shape = "ints", dtype = "dtype"},
    results = 1,
  },
  -- The integers from 0 to n - 1 (int64) in random order.
  random_permutation = {operands = {"key"}, attributes = {n = "int"}, results = 1},
  -- Poisson numbers (int64) of mean rate; -1 where that is negative or NaN.
  random_poisson = {operands = {"key", "rate"}, attributes = {shape = "ints"}, results = 1},
  -- num keys (uint32[num, 2]) whose numbers are independent of each other's.
  random_split = {operands = {"key"}, attributes = {num = "int"}, results = 1},
  -- Numbers of the standard normal distribution limited to [low, high].
  random_truncated_normal = {
    operands = {"key", "low", "high"},
    attributes = {shape = "ints"},
    results = 1,
  },
  -- Numbers between low and high; high itself only by rounding.
  random_uniform = {
    operands = {"key", "low", "high"},
    attributes = {shape = "ints"},
    results = 1,
  },
  -- Angles from -pi to pi, von Mises of mean 0; NaN where kappa is negative or NaN.
  random_von_mises = {operands = {"key", "kappa"}, attributes = {shape = "ints"}, results = 1},
  -- Zipf numbers (int64), of probability proportional to k**-a, limited to 2**63 - 1.
  random_zipf = {operands = {"key", "a"}, attributes = {shape = "ints"}, results = 1},
  -- The real part, of the real dtype; x itself if it is real.
  real = {operands = {"x"}, attributes = {}, results = 1},
  -- 1 / x.
  reciprocal = {operands = {"x"}, attributes = {}, results = 1},
  -- This process's part, along axis, of the reduction of the operands of a group.
  reduce_scatter = {
    operands = {"x"},
    attributes = {reduction = "str", axis = "int", group = "ints", world = "int", axes = "str"},
    results = 1,
  },
  -- max(x, 0), NaN for NaN. The gradient at 0 is 0.
  relu = {operands = {"x"}, attributes = {}, results = 1},
  -- x limited to [0, 6]. The gradient at the limits is 0.
  relu6 = {operands = {"x"}, attributes = {}, results = 1},
  -- x % y with the sign of y, as Python's.
  remainder = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x with every element taken repeats times in a row, along an axis.
  ["repeat"] = {operands = {"x"}, attributes = {repeats = "int", axis = "int"}, results = 1},
  -- The elements of x, in row-major order, in another shape.
  reshape = {operands = {"x"}, attributes = {shape = "ints"}, results = 1},
  -- The Fourier transform of real numbers: the half of it that tells the other.
  rfft = {operands = {"x"}, attributes = {axes = "ints", norm = "str"}, results = 1},
  -- x / sqrt(mean(x**2) + eps) * weight over the last normalized_ndim axes.
  rms_norm = {
    operands = {"x", "weight"},
    attributes = {normalized_ndim = "int", eps = "float"},
    results = 1,
  },
  -- h' = f(x @ w_input.T + b_input + h @ w_hidden.T + b_hidden) for each step in turn.
  rnn = {
    operands = {"x", "h", "w_input", "w_hidden", "b_input", "b_hidden", "lengths"},
    attributes = {activation = "str", reverse = "bool"},
    results = 2,
  },
  -- x shifted around along axes: element i moves to (i + shift) % size.
  roll = {operands = {"x"}, attributes = {shifts = "ints", axes = "ints"}, results = 1},
  -- x rounded to decimals decimal places, halves to the even neighbour.
  round = {operands = {"x"}, attributes = {decimals = "int"}, results = 1},
  -- 1 / sqrt(x).
  rsqrt = {operands = {"x"}, attributes = {}, results = 1},
  -- All the results of fold on its way along an axis, the first element included.
  running_fold = {
    operands = {"x"},
    attributes = {["function"] = "str", axis = "int"},
    results = 1,
  },
  -- Means and variances kept over batches: (1 - momentum) * old + momentum * new, of each.
  running_moments = {
    operands = {"mean", "variance", "new_mean", "new_variance", "momentum"},
    attributes = {num = "int"},
    results = 2,
  },
  -- softmax(q @ k.T * scale + mask) @ v for q (..., L, E), k (..., S, E), v (..., S, V).
  scaled_dot_product_attention = {
    operands = {"q", "k", "v", "mask"},
    attributes = {causal = "bool", scale = "float"},
    results = 1,
  },
  -- x[i, indices[i, j, k], k] = updates[i, j, k] for axis 1, and so on, in a copy.
  scatter_along_axis = {
    operands = {"x", "indices", "updates"},
    attributes = {axis = "int", mode = "str"},
    results = 1,
  },
  -- Where each of values would go into sorted, which ascends along its last axis, int64.
  searchsorted = {operands = {"sorted", "values"}, attributes = {side = "str"}, results = 1},
  -- fold of segments along an axis: from each of starts to the next one.
  segment_fold = {
    operands = {"x", "starts"},
    attributes = {["function"] = "str", axis = "int"},
    results = 1,
  },
  -- The first half of the tensors if the condition holds, otherwise the second half.
  select_all = {operands = {"condition"}, list = "tensors", attributes = {}, results = 0},
  -- 1.0507... * elu(x, 1.6733...).
  selu = {operands = {"x"}, attributes = {}, results = 1},
  -- x << y; 0 where y is negative or not below the number of bits.
  shift_left = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x >> y, keeping the sign; 0 or -1 where y is negative or not below the number of bits.
  shift_right = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- 1 / (1 + exp(-x)).
  sigmoid = {operands = {"x"}, attributes = {}, results = 1},
  -- -1, 0 or 1; x / |x| for complex operands, NaN for NaN; 0 for -0.0.
  sign = {operands = {"x"}, attributes = {}, results = 1},
  -- Whether x is negative; for floating-point x its sign bit, of -0.0 and NaN too.
  signbit = {operands = {"x"}, attributes = {}, results = 1},
  -- x * sigmoid(x).
  silu = {operands = {"x"}, attributes = {}, results = 1},
  -- Sine of x in radians.
  sin = {operands = {"x"}, attributes = {}, results = 1},
  -- sin(pi x) / (pi x), 1 at 0.
  sinc = {operands = {"x"}, attributes = {}, results = 1},
  -- Hyperbolic sine.
  sinh = {operands = {"x"}, attributes = {}, results = 1},
  -- The elements at range(start, stop, stride) along each axis.
  slice = {
    operands = {"x"},
    attributes = {starts = "ints", stops = "ints", strides = "ints"},
    results = 1,
  },
  -- x with the elements that slice of the same attributes takes replaced.
  slice_update = {
    operands = {"x", "update"},
    attributes = {starts = "ints", stops = "ints", strides = "ints"},
    results = 1,
  },
  -- Sign (or phase) of the determinant, and the logarithm of its absolute value.
  slogdet = {operands = {"x"}, attributes = {}, results = 2},
  -- -sum(targets * log_softmax(logits)) along axis, the classes.
  soft_cross_entropy = {
    operands = {"logits", "targets"},
    attributes = {axis = "int", label_smoothing = "float", reduction = "str"},
    results = 1,
  },
  -- exp(x) divided by its sum along an axis; the largest element is taken off first.
  softmax = {operands = {"x"}, attributes = {axis = "int"}, results = 1},
  -- log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold.
  softplus = {operands = {"x"}, attributes = {beta = "float", threshold = "float"}, results = 1},
  -- x moved towards 0 by lambd, 0 within lambd of it; NaN, of gradient 0, for NaN.
  softshrink = {operands = {"x"}, attributes = {lambd = "float"}, results = 1},
  -- x / (1 + |x|).
  softsign = {operands = {"x"}, attributes = {}, results = 1},
  -- The x with a @ x == b, for square a (..., n, n) and b (..., n, k).
  solve = {operands = {"a", "b"}, attributes = {}, results = 1},
  -- The elements of x in order along an axis. Raises ArgumentError.
  sort = {
    operands = {"x"},
    attributes = {axis = "int", descending = "bool", stable = "bool"},
    results = 1,
  },
  -- What sort and argsort give, by one sort. Raises ArgumentError.
  sort_with_indices = {
    operands = {"x"},
    attributes = {axis = "int", descending = "bool", stable = "bool"},
    results = 2,
  },
  -- sin(x) / x, the spherical Bessel function of order 0; 1 at 0, and 0 at the infinities.
  spherical_bessel_j0 = {operands = {"x"}, attributes = {}, results = 1},
  -- x cut along an axis into parts of these sizes: one result for each.
  split = {operands = {"x"}, attributes = {sizes = "ints", axis = "int"}, results = 0},
  -- Square root; NaN for negative real x. The gradient at 0 is infinite.
  sqrt = {operands = {"x"}, attributes = {}, results = 1},
  -- x * x.
  square = {operands = {"x"}, attributes = {}, results = 1},
  -- x without these axes of size 1; without any such axis if axes is None.
  squeeze = {operands = {"x"}, attributes = {axes = "ints"}, results = 1},
  -- The operands, all of one shape, joined along a new axis at position axis.
  stack = {operands = {}, list = "xs", attributes = {axis = "int"}, results = 1},
  -- The square root of var. The gradient is 0 where the variance is 0, as PyTorch's.
  std = {
    operands = {"x"},
    attributes = {axes = "ints", correction = "float", keepdims = "bool"},
    results = 1,
  },
  -- Adadelta; the state is the means of squared gradients and of squared moves.
  step_adadelta = {
    operands = {"step", "lr", "rho", "eps", "weight_decay"},
    list = "tensors",
    attributes = {decays = "bool", maximize = "bool"},
    results = 0,
  },
  -- Adafactor; with factored the variances are those of rows and those of columns.
  step_adafactor = {
    operands = {"step", "lr", "beta2_decay", "eps1", "eps2", "d", "weight_decay"},
    list = "tensors",
    attributes = {factored = "bool", decays = "bool", maximize = "bool"},
    results = 0,
  },
  -- Adagrad; the state is the sums of squared gradients. Raises ShapeError, ArgumentError.
  step_adagrad = {
    operands = {"step", "lr", "eps", "weight_decay", "lr_decay"},
    list = "tensors",
    attributes = {decays = "bool", maximize = "bool"},
    results = 0,
  },
  -- Adam and AdamW; the state is the means of gradients and of their squares.
  step_adam = {
    operands = {"step", "lr", "beta1", "beta2", "eps", "weight_decay"},
    list = "tensors",
    attributes = {amsgrad = "bool", decays = "bool", decoupled = "bool", maximize = "bool"},
    results = 0,
  },
  -- AdaMax; the state is the means of gradients and the decaying largest moduli.
  step_adamax = {
    operands = {"step", "lr", "beta1", "beta2", "eps", "weight_decay"},
    list = "tensors",
    attributes = {decays = "bool", maximize = "bool"},
    results = 0,
  },
  -- Averaged SGD: a step of rate eta, whose results mu moves the averages to.
  step_asgd = {
    operands = {"step", "eta", "mu", "lr", "lambd", "alpha", "t0", "weight_decay"},
    list = "tensors",
    attributes = {decays = "bool", maximize = "bool"},
    results = 0,
  },
  -- Momentum whose matrix is brought near an orthogonal one by a few Newton-Schulz steps.
  step_muon = {
    operands = {"lr", "weight_decay", "momentum", "eps"},
    list = "tensors",
    attributes = {coefficients = "floats", steps = "int", nesterov = "bool", adjust = "str"},
    results = 0,
  },
  -- NAdam; product is that of the momenta beta1 * (1 - 0.96**(t * momentum_decay) / 2).
  step_nadam = {
    operands = {"step", "product", "lr", "beta1", "beta2", "eps", "weight_decay", "momentum_decay"},
    list = "tensors",
    attributes = {decays = "bool", decoupled = "bool", maximize = "bool"},
    results = 0,
  },
  -- RAdam: without the squares as long as their means are of too few steps.
  step_radam = {
    operands = {"step", "lr", "beta1", "beta2", "eps", "weight_decay"},
    list = "tensors",
    attributes = {decays = "bool", decoupled = "bool", maximize = "bool"},
    results = 0,
  },
  -- RMSprop; with momentous a momentum, with centered the mean gradient is state, too.
  step_rmsprop = {
    operands = {"step", "lr", "alpha", "eps", "weight_decay", "momentum"},
    list = "tensors",
    attributes = {momentous = "bool", centered = "bool", decays = "bool", maximize = "bool"},
    results = 0,
  },
  -- Resilient propagation: step sizes that grow while a gradient keeps its sign.
  step_rprop = {
    operands = {"step", "shrink", "grow", "least", "most"},
    list = "tensors",
    attributes = {maximize = "bool"},
    results = 0,
  },
  -- Stochastic gradient descent; with momentous the momenta are part of the tensors.
  step_sgd = {
    operands = {"lr", "weight_decay", "momentum", "share"},
    list = "tensors",
    attributes = {momentous = "bool", nesterov = "bool", decays = "bool", maximize = "bool", detached = "bool"},
    results = 0,
  },
  -- The data of y with the gradient of x: the cotangent passes to x unchanged.
  straight_through = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x - y.
  subtract = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- The sum of the elements, cast to dtype first if that is given; 0 of none.
  sum = {
    operands = {"x"},
    attributes = {axes = "ints", dtype = "dtype", keepdims = "bool"},
    results = 1,
  },
  -- x (..., m, n) as u @ diag(s) @ vh; s is real, not negative and descending.
  svd = {operands = {"x"}, attributes = {}, results = 3},
  -- As svd, but with square u (..., m, m) and vh (..., n, n).
  svd_full = {operands = {"x"}, attributes = {}, results = 3},
  -- The singular values of matrices, descending. Raises ShapeError, DTypeError.
  svdvals = {operands = {"x"}, attributes = {}, results = 1},
  -- x with two axes exchanged. Raises ArgumentError for an axis out of range.
  swapaxes = {operands = {"x"}, attributes = {axis1 = "int", axis2 = "int"}, results = 1},
  -- The slices of x at indices along an axis; the indices' axes take its place.
  take = {operands = {"x", "indices"}, attributes = {axis = "int"}, results = 1},
  -- result[i, j, k] = x[i, indices[i, j, k], k] for axis 1, and so on.
  take_along_axis = {operands = {"x", "indices"}, attributes = {axis = "int"}, results = 1},
  -- Tangent of x in radians.
  tan = {operands = {"x"}, attributes = {}, results = 1},
  -- Hyperbolic tangent.
  tanh = {operands = {"x"}, attributes = {}, results = 1},
  -- x - tanh(x).
  tanhshrink = {operands = {"x"}, attributes = {}, results = 1},
  -- x, but value where x <= threshold.
  threshold = {
    operands = {"x"},
    attributes = {threshold = "float", value = "float"},
    results = 1,
  },
  -- x laid side by side, repeats[i] times along axis i.
  tile = {operands = {"x"}, attributes = {repeats = "ints"}, results = 1},
  -- The k largest elements along an axis, in descending order, and their positions.
  top_k = {
    operands = {"x"},
    attributes = {k = "int", axis = "int", largest = "bool"},
    results = 2,
  },
  -- x with its axes permuted: axis i of the result is axis axes[i] of x.
  transpose = {operands = {"x"}, attributes = {axes = "ints"}, results = 1},
  -- The x with op(a) @ x == b, or x @ op(a) == b, for triangular a (..., n, n).
  triangular_solve = {
    operands = {"a", "b"},
    attributes = {left_side = "bool", lower = "bool", transpose = "bool", conjugate = "bool", unit_diagonal = "bool"},
    results = 1,
  },
  -- The lower triangles of matrices (..., m, n): zero above the k-th diagonal.
  tril = {operands = {"x"}, attributes = {k = "int"}, results = 1},
  -- The upper triangles of matrices (..., m, n): zero below the k-th diagonal.
  triu = {operands = {"x"}, attributes = {k = "int"}, results = 1},
  -- x rounded towards zero.
  trunc = {operands = {"x"}, attributes = {}, results = 1},
  -- The tensors times factor, and before them 1 if any has an infinity or NaN, else 0.
  unscale = {operands = {"factor"}, list = "tensors", attributes = {}, results = 0},
  -- The mean squared distance from the mean, by the two-pass formula.
  var = {
    operands = {"x"},
    attributes = {axes = "ints", correction = "float", keepdims = "bool"},
    results = 1,
  },
  -- The sum of conj(x) * y along an axis, a negative one; the other axes broadcast.
  vecdot = {operands = {"x", "y"}, attributes = {axis = "int"}, results = 1},
  -- x where condition, y elsewhere. Each gets the gradient only where it was taken.
  where = {operands = {"condition", "x", "y"}, attributes = {}, results = 1},
  -- x * log1p(y), and 0 where x is 0 and y is not NaN. There the gradient stays finite.
  xlog1py = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- x * log(y), and 0 where x is 0 and y is not NaN. There the gradient stays finite.
  xlogy = {operands = {"x", "y"}, attributes = {}, results = 1},
  -- The Hurwitz zeta function, the sum of (k + q)**-x over k from 0; inf for x = 1.
  zeta = {operands = {"x", "q"}, attributes = {}, results = 1},
}

return M
