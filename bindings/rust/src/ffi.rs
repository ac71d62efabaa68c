//! The C ABI as lazyloom.h declares it.
//! Written by bindings/generate.py from lazyloom_api.json; do not edit.
#![allow(non_camel_case_types, missing_docs)]

use std::os::raw::{c_char, c_int, c_void};

pub const LOOM_ABI_MAJOR: u32 = 1;
pub const LOOM_ABI_MINOR: u32 = 9;

pub type loom_status = c_int;
pub const LOOM_OK: loom_status = 0;
pub const LOOM_ERROR: loom_status = 1;
pub const LOOM_ERROR_ARGUMENT: loom_status = 2;
pub const LOOM_ERROR_SHAPE: loom_status = 3;
pub const LOOM_ERROR_DTYPE: loom_status = 4;
pub const LOOM_ERROR_UNKNOWN_OP: loom_status = 5;
pub const LOOM_ERROR_EXECUTION: loom_status = 6;
pub const LOOM_ERROR_DONATED: loom_status = 7;
pub const LOOM_ERROR_GRADIENT: loom_status = 8;
pub const LOOM_ERROR_ALIAS: loom_status = 9;
pub const LOOM_ERROR_HANDLE: loom_status = 10;
pub const LOOM_ERROR_FORK: loom_status = 11;
pub const LOOM_ERROR_READ_FORBIDDEN: loom_status = 12;
pub const LOOM_ERROR_INDEX_RANGE: loom_status = 13;
pub const LOOM_ERROR_OUT_OF_MEMORY: loom_status = 14;
pub const LOOM_ERROR_NOT_INITIALIZED: loom_status = 100;
pub const LOOM_ERROR_START: loom_status = 101;
pub const LOOM_ERROR_INTERNAL: loom_status = 102;
pub const LOOM_ERROR_STACK: loom_status = 103;
pub const LOOM_ERROR_TIMEOUT: loom_status = 104;

pub type loom_dtype = c_int;
pub const LOOM_DTYPE_NONE: loom_dtype = 0;
pub const LOOM_BOOL: loom_dtype = 1;
pub const LOOM_INT8: loom_dtype = 2;
pub const LOOM_INT16: loom_dtype = 3;
pub const LOOM_INT32: loom_dtype = 4;
pub const LOOM_INT64: loom_dtype = 5;
pub const LOOM_UINT8: loom_dtype = 6;
pub const LOOM_UINT16: loom_dtype = 7;
pub const LOOM_UINT32: loom_dtype = 8;
pub const LOOM_UINT64: loom_dtype = 9;
pub const LOOM_FLOAT16: loom_dtype = 10;
pub const LOOM_BFLOAT16: loom_dtype = 11;
pub const LOOM_FLOAT32: loom_dtype = 12;
pub const LOOM_FLOAT64: loom_dtype = 13;
pub const LOOM_COMPLEX64: loom_dtype = 14;
pub const LOOM_COMPLEX128: loom_dtype = 15;

pub type loom_option = c_int;
pub const LOOM_OPTION_DONATE: loom_option = 1;
pub const LOOM_OPTION_FORBID_READS: loom_option = 2;
pub const LOOM_OPTION_REPRODUCIBLE: loom_option = 3;

pub type loom_log_level = c_int;
pub const LOOM_LOG_INFO: loom_log_level = 1;
pub const LOOM_LOG_WARNING: loom_log_level = 2;
pub const LOOM_LOG_ERROR: loom_log_level = 3;

pub type loom_operand_kind = c_int;
pub const LOOM_OPERAND_NONE: loom_operand_kind = 0;
pub const LOOM_OPERAND_TENSOR: loom_operand_kind = 1;
pub const LOOM_OPERAND_BOOL: loom_operand_kind = 2;
pub const LOOM_OPERAND_INTEGER: loom_operand_kind = 3;
pub const LOOM_OPERAND_REAL: loom_operand_kind = 4;
pub const LOOM_OPERAND_COMPLEX: loom_operand_kind = 5;

pub type loom_attr_kind = c_int;
pub const LOOM_ATTR_NONE: loom_attr_kind = 0;
pub const LOOM_ATTR_BOOL: loom_attr_kind = 1;
pub const LOOM_ATTR_INT: loom_attr_kind = 2;
pub const LOOM_ATTR_FLOAT: loom_attr_kind = 3;
pub const LOOM_ATTR_STR: loom_attr_kind = 4;
pub const LOOM_ATTR_DTYPE: loom_attr_kind = 5;
pub const LOOM_ATTR_INTS: loom_attr_kind = 6;
pub const LOOM_ATTR_FLOATS: loom_attr_kind = 7;

pub type loom_direction = c_int;
pub const LOOM_DIRECTION_ANY: loom_direction = 0;
pub const LOOM_DIRECTION_FORWARD: loom_direction = 1;
pub const LOOM_DIRECTION_REVERSE: loom_direction = 2;

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct loom_tensor {
    pub bits: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct loom_buffer {
    pub bits: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct loom_program {
    pub bits: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct loom_capture {
    pub bits: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct loom_linear_map {
    pub bits: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct loom_quantized {
    pub bits: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct loom_exported {
    pub bits: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct loom_operand {
    pub kind: loom_operand_kind,
    pub dtype: loom_dtype,
    pub tensor: u64,
    pub integer: i64,
    pub real: f64,
    pub imaginary: f64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union loom_attr_value {
    pub boolean: bool,
    pub integer: i64,
    pub real: f64,
    pub text: *const c_char,
    pub dtype: loom_dtype,
    pub integers: *const i64,
    pub reals: *const f64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct loom_attr {
    pub name: *const c_char,
    pub kind: loom_attr_kind,
    pub count: usize,
    pub value: loom_attr_value,
}

#[repr(C)]
pub struct loom_error {
    _private: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct loom_error_details {
    pub size: usize,
    pub status: loom_status,
    pub message: *const c_char,
    pub op: *const c_char,
    pub site: *const c_char,
    pub argument: *const c_char,
    pub index: i64,
    pub expected: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct loom_custom_op {
    pub size: usize,
    pub forward: loom_function,
    pub vjp: loom_function,
    pub jvp: loom_function,
    pub context: *mut c_void,
    pub done: Option<unsafe extern "C" fn(*mut c_void)>,
    pub name: *const c_char,
}

#[repr(C)]
pub struct DLManagedTensorVersioned {
    _private: [u8; 0],
}

#[repr(C)]
pub struct DLManagedTensor {
    _private: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct loom_memory_figures {
    pub size: usize,
    pub tensors: usize,
    pub tensor_bytes: usize,
    pub pending: usize,
    pub resident: usize,
    pub peak: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct loom_quantize_options {
    pub size: usize,
    pub percentile: f64,
    pub skip: *const i64,
    pub skip_count: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct loom_export_options {
    pub size: usize,
    pub vjp_order: c_int,
    pub engines: bool,
}

pub type loom_log_function = Option<unsafe extern "C" fn(loom_log_level, *const c_char, *mut c_void)>;

pub type loom_function = Option<unsafe extern "C" fn(*const loom_tensor, usize, *mut loom_tensor, usize, *mut c_void) -> loom_status>;

pub type loom_ready_function = Option<unsafe extern "C" fn(loom_status, *mut c_void)>;

extern "C" {
    pub fn loom_abi_version() -> u32;
    pub fn loom_version() -> *const c_char;
    pub fn loom_initialize() -> loom_status;
    pub fn loom_shutdown() -> loom_status;
    pub fn loom_is_initialized() -> bool;
    pub fn loom_set_option(option: loom_option, value: i64) -> loom_status;
    pub fn loom_get_option(option: loom_option, value: *mut i64) -> loom_status;
    pub fn loom_set_log(log: loom_log_function, context: *mut c_void, least: loom_log_level) -> loom_status;
    pub fn loom_error_status() -> loom_status;
    pub fn loom_error_message() -> *const c_char;
    pub fn loom_error_op() -> *const c_char;
    pub fn loom_error_site() -> *const c_char;
    pub fn loom_set_error(status: loom_status, message: *const c_char) -> loom_status;
    pub fn loom_error_clear();
    pub fn loom_error_take() -> *mut loom_error;
    pub fn loom_error_describe(error: *const loom_error, details: *mut loom_error_details) -> loom_status;
    pub fn loom_error_restore(error: *const loom_error) -> loom_status;
    pub fn loom_error_free(error: *mut loom_error);
    pub fn loom_status_name(status: loom_status) -> *const c_char;
    pub fn loom_set_source_location(file: *const c_char, line: c_int);
    pub fn loom_copy_source_location(file: *const c_char, line: c_int);
    pub fn loom_dtype_size(dtype: loom_dtype) -> usize;
    pub fn loom_dtype_name(dtype: loom_dtype) -> *const c_char;
    pub fn loom_tensor_from_host(data: *const c_void, nbytes: usize, dtype: loom_dtype, shape: *const i64, ndim: usize, result: *mut loom_tensor) -> loom_status;
    pub fn loom_tensor_share_host(data: *const c_void, nbytes: usize, dtype: loom_dtype, shape: *const i64, ndim: usize, done: Option<unsafe extern "C" fn(*mut c_void)>, context: *mut c_void, result: *mut loom_tensor) -> loom_status;
    pub fn loom_tensor_read(tensor: loom_tensor, buffer: *mut c_void, nbytes: usize) -> loom_status;
    pub fn loom_tensor_map(tensor: loom_tensor, result: *mut loom_buffer, data: *mut *const c_void, nbytes: *mut usize) -> loom_status;
    pub fn loom_buffer_release(buffer: loom_buffer) -> loom_status;
    pub fn loom_tensor_retain(tensor: loom_tensor) -> loom_status;
    pub fn loom_tensor_release(tensor: loom_tensor) -> loom_status;
    pub fn loom_tensors_release(tensors: *mut loom_tensor, count: usize) -> loom_status;
    pub fn loom_tensor_dtype(tensor: loom_tensor, dtype: *mut loom_dtype) -> loom_status;
    pub fn loom_tensor_ndim(tensor: loom_tensor, ndim: *mut usize) -> loom_status;
    pub fn loom_tensor_shape(tensor: loom_tensor, shape: *mut i64, capacity: usize, ndim: *mut usize) -> loom_status;
    pub fn loom_tensor_nbytes(tensor: loom_tensor, nbytes: *mut usize) -> loom_status;
    pub fn loom_tensor_is_pending(tensor: loom_tensor, pending: *mut bool) -> loom_status;
    pub fn loom_tensor_requires_grad(tensor: loom_tensor, required: *mut bool) -> loom_status;
    pub fn loom_live_handles(count: *mut usize) -> loom_status;
    pub fn loom_apply(op: *const c_char, operands: *const loom_operand, operand_count: usize, attributes: *const loom_attr, attribute_count: usize, results: *mut loom_tensor, capacity: usize, result_count: *mut usize) -> loom_status;
    pub fn loom_source(op: *const c_char, operands: *const loom_operand, operand_count: usize, attributes: *const loom_attr, attribute_count: usize, results: *mut loom_tensor, capacity: usize, result_count: *mut usize) -> loom_status;
    pub fn loom_boundary(tensor: loom_tensor) -> loom_status;
    pub fn loom_tensor_assign(target: loom_tensor, value: loom_tensor) -> loom_status;
    pub fn loom_tensors_assign(targets: *const loom_tensor, values: *const loom_tensor, count: usize) -> loom_status;
    pub fn loom_tensor_detach(tensor: loom_tensor, result: *mut loom_tensor) -> loom_status;
    pub fn loom_tensor_require_grad(tensor: loom_tensor, required: bool) -> loom_status;
    pub fn loom_set_grad_enabled(enabled: bool, previous: *mut bool) -> loom_status;
    pub fn loom_grad(outputs: *const loom_tensor, output_count: usize, inputs: *const loom_tensor, input_count: usize, cotangents: *const loom_tensor, create_graph: bool, gradients: *mut loom_tensor) -> loom_status;
    pub fn loom_backward(outputs: *const loom_tensor, output_count: usize, cotangents: *const loom_tensor) -> loom_status;
    pub fn loom_tensor_gradient(tensor: loom_tensor, result: *mut loom_tensor) -> loom_status;
    pub fn loom_tensor_clear_gradient(tensor: loom_tensor) -> loom_status;
    pub fn loom_scan(step: loom_function, context: *mut c_void, init: *const loom_tensor, carry_count: usize, xs: *const loom_tensor, xs_count: usize, length: i64, ys_count: usize, reverse: bool, results: *mut loom_tensor) -> loom_status;
    pub fn loom_while_loop(condition: loom_function, body: loom_function, context: *mut c_void, init: *const loom_tensor, carry_count: usize, max_steps: i64, results: *mut loom_tensor) -> loom_status;
    pub fn loom_cond(which: loom_tensor, if_true: loom_function, if_false: loom_function, context: *mut c_void, operands: *const loom_tensor, operand_count: usize, results: *mut loom_tensor, result_count: usize) -> loom_status;
    pub fn loom_capture_begin(inputs: *const loom_tensor, count: usize) -> loom_status;
    pub fn loom_capture_end(results: *const loom_tensor, count: usize, capture: *mut loom_capture) -> loom_status;
    pub fn loom_capture_cancel() -> loom_status;
    pub fn loom_capture_run(capture: loom_capture, inputs: *const loom_tensor, input_count: usize, results: *mut loom_tensor, result_count: usize) -> loom_status;
    pub fn loom_capture_release(capture: loom_capture) -> loom_status;
    pub fn loom_sync(tensors: *const loom_tensor, count: usize, wait: bool) -> loom_status;
    pub fn loom_mark_dynamic(tensor: loom_tensor, axis: i64, minimum: i64, maximum: i64) -> loom_status;
    pub fn loom_mark_static(tensor: loom_tensor, axes: *const i64, axis_count: usize) -> loom_status;
    pub fn loom_codegen_use(names: *const *const c_char, count: usize) -> loom_status;
    pub fn loom_codegen_in_use(buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_codegen_available(buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_program_of(tensors: *const loom_tensor, count: usize, result: *mut loom_program) -> loom_status;
    pub fn loom_last_program(result: *mut loom_program) -> loom_status;
    pub fn loom_program_key(program: loom_program, buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_program_text(program: loom_program, buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_program_op_count(program: loom_program, count: *mut usize) -> loom_status;
    pub fn loom_program_explain(program: loom_program, buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_program_release(program: loom_program) -> loom_status;
    pub fn loom_stat(name: *const c_char, value: *mut i64) -> loom_status;
    pub fn loom_stats_json(buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_last_evaluation(buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_op_count(count: *mut usize) -> loom_status;
    pub fn loom_op_name(index: usize, name: *mut *const c_char) -> loom_status;
    pub fn loom_op_describe(op: *const c_char, buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_devices(buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_tensor_to_device(tensor: loom_tensor, device: *const c_char, result: *mut loom_tensor) -> loom_status;
    pub fn loom_tensor_shard(tensor: loom_tensor, mesh: *const c_char, devices: *const c_char, spec: *const c_char, result: *mut loom_tensor) -> loom_status;
    pub fn loom_tensor_placement(tensor: loom_tensor, buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_distributed_initialize(address: *const c_char, world_size: i64, rank: i64, timeout: f64) -> loom_status;
    pub fn loom_distributed_rank(rank: *mut i64, world_size: *mut i64) -> loom_status;
    pub fn loom_distributed_finalize() -> loom_status;
    pub fn loom_vjp(function: loom_function, context: *mut c_void, inputs: *const loom_tensor, input_count: usize, outputs: *mut loom_tensor, output_count: usize, pullback: *mut loom_linear_map) -> loom_status;
    pub fn loom_linearize(function: loom_function, context: *mut c_void, inputs: *const loom_tensor, input_count: usize, outputs: *mut loom_tensor, output_count: usize, pushforward: *mut loom_linear_map) -> loom_status;
    pub fn loom_linear_map_apply(map: loom_linear_map, given: *const loom_tensor, given_count: usize, results: *mut loom_tensor, result_count: usize) -> loom_status;
    pub fn loom_linear_map_release(map: loom_linear_map) -> loom_status;
    pub fn loom_jvp(function: loom_function, context: *mut c_void, inputs: *const loom_tensor, tangents: *const loom_tensor, input_count: usize, outputs: *mut loom_tensor, output_tangents: *mut loom_tensor, output_count: usize) -> loom_status;
    pub fn loom_value_and_grad(function: loom_function, context: *mut c_void, inputs: *const loom_tensor, input_count: usize, positions: *const usize, position_count: usize, outputs: *mut loom_tensor, output_count: usize, gradients: *mut loom_tensor) -> loom_status;
    pub fn loom_jacobian(function: loom_function, context: *mut c_void, inputs: *const loom_tensor, input_count: usize, positions: *const usize, position_count: usize, output_count: usize, direction: loom_direction, holomorphic: bool, results: *mut loom_tensor) -> loom_status;
    pub fn loom_hessian(function: loom_function, context: *mut c_void, inputs: *const loom_tensor, input_count: usize, positions: *const usize, position_count: usize, output_count: usize, results: *mut loom_tensor) -> loom_status;
    pub fn loom_vmap(function: loom_function, context: *mut c_void, inputs: *const loom_tensor, input_count: usize, in_axes: *const i64, axis_size: i64, out_axes: *const i64, results: *mut loom_tensor, result_count: usize) -> loom_status;
    pub fn loom_apply_custom(custom: *const loom_custom_op, inputs: *const loom_tensor, input_count: usize, outputs: *mut loom_tensor, output_count: usize) -> loom_status;
    pub fn loom_tensor_from_dlpack(managed: *mut DLManagedTensorVersioned, copy: bool, result: *mut loom_tensor) -> loom_status;
    pub fn loom_tensor_from_dlpack_unversioned(managed: *mut DLManagedTensor, copy: bool, result: *mut loom_tensor) -> loom_status;
    pub fn loom_tensor_to_dlpack(tensor: loom_tensor, copy: bool, result: *mut *mut DLManagedTensorVersioned) -> loom_status;
    pub fn loom_tensor_to_dlpack_unversioned(tensor: loom_tensor, result: *mut *mut DLManagedTensor) -> loom_status;
    pub fn loom_tensors_read(tensors: *const loom_tensor, buffers: *const *mut c_void, nbytes: *const usize, count: usize) -> loom_status;
    pub fn loom_tensor_is_ready(tensor: loom_tensor, result: *mut bool) -> loom_status;
    pub fn loom_wait(tensors: *const loom_tensor, count: usize, timeout: f64) -> loom_status;
    pub fn loom_tensor_on_ready(tensor: loom_tensor, function: loom_ready_function, context: *mut c_void) -> loom_status;
    pub fn loom_random_key(seed: u64, result: *mut loom_tensor) -> loom_status;
    pub fn loom_option_set(name: *const c_char, value: f64, previous: *mut f64) -> loom_status;
    pub fn loom_option_get(name: *const c_char, value: *mut f64) -> loom_status;
    pub fn loom_options_json(buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_programs_of(tensors: *const loom_tensor, count: usize, results: *mut loom_program, capacity: usize, result_count: *mut usize) -> loom_status;
    pub fn loom_evaluations_json(count: usize, buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_profile_begin(path: *const c_char, sources: bool) -> loom_status;
    pub fn loom_profile_end() -> loom_status;
    pub fn loom_profile_json(buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_memory(figures: *mut loom_memory_figures) -> loom_status;
    pub fn loom_stats_reset() -> loom_status;
    pub fn loom_finish_compiling(timeout: f64, finished: *mut bool) -> loom_status;
    pub fn loom_platform(buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_cache_dir(buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_cache_save(path: *const c_char, timeout: f64, entries: *mut usize) -> loom_status;
    pub fn loom_cache_load(path: *const c_char, usable: *mut usize, refused: *mut usize) -> loom_status;
    pub fn loom_cache_report_json(buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_cache_list_json(path: *const c_char, buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_program_collectives(program: loom_program, buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_tensor_picture(tensor: loom_tensor, svg: bool, buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_program_picture(program: loom_program, buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_codegen_measure(program: loom_program) -> loom_status;
    pub fn loom_codegen_verify(on: bool) -> loom_status;
    pub fn loom_codegen_segmented(on: bool) -> loom_status;
    pub fn loom_codegen_load(library: *const c_char, buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_codegen_failures(buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_quantize_function(function: loom_function, context: *mut c_void, done: Option<unsafe extern "C" fn(*mut c_void)>, batches: *const loom_tensor, batch_count: usize, input_count: usize, output_count: usize, options: *const loom_quantize_options, result: *mut loom_quantized) -> loom_status;
    pub fn loom_quantized_run(quantized: loom_quantized, inputs: *const loom_tensor, input_count: usize, results: *mut loom_tensor, result_count: usize) -> loom_status;
    pub fn loom_quantized_json(quantized: loom_quantized, buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_quantized_release(quantized: loom_quantized) -> loom_status;
    pub fn loom_export(path: *const c_char, inputs: *const loom_tensor, input_names: *const *const c_char, input_count: usize, results: *const loom_tensor, result_count: usize, parameters: *const loom_tensor, parameter_names: *const *const c_char, parameter_count: usize) -> loom_status;
    pub fn loom_export_with(path: *const c_char, inputs: *const loom_tensor, input_names: *const *const c_char, input_count: usize, results: *const loom_tensor, result_count: usize, parameters: *const loom_tensor, parameter_names: *const *const c_char, parameter_count: usize, options: *const loom_export_options) -> loom_status;
    pub fn loom_load_program(path: *const c_char, program: *mut loom_exported) -> loom_status;
    pub fn loom_load_program_with_engines(path: *const c_char, program: *mut loom_exported) -> loom_status;
    pub fn loom_exported_run(program: loom_exported, inputs: *const loom_tensor, input_count: usize, results: *mut loom_tensor, result_count: usize) -> loom_status;
    pub fn loom_exported_seed(program: loom_exported, seed: u64) -> loom_status;
    pub fn loom_exported_json(program: loom_exported, buffer: *mut c_char, capacity: usize, needed: *mut usize) -> loom_status;
    pub fn loom_exported_release(program: loom_exported) -> loom_status;
    pub fn loom_save_repro(path: *const c_char, values: *const loom_tensor, value_count: usize, random_data: bool) -> loom_status;
    pub fn loom_distributed_barrier(timeout: f64) -> loom_status;
    pub fn loom_tensor_local_part(tensor: loom_tensor, result: *mut loom_tensor) -> loom_status;
    pub fn loom_tensor_from_local_part(tensor: loom_tensor, mesh: *const c_char, devices: *const c_char, spec: *const c_char, result: *mut loom_tensor) -> loom_status;
}
