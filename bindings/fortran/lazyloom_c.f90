! The C ABI by iso_c_binding.
! Written by bindings/generate.py from lazyloom_api.json; do not edit.
module lazyloom_c
  use, intrinsic :: iso_c_binding
  implicit none

  integer(c_int), parameter :: loom_ok = 0
  integer(c_int), parameter :: loom_error = 1
  integer(c_int), parameter :: loom_error_argument = 2
  integer(c_int), parameter :: loom_error_shape = 3
  integer(c_int), parameter :: loom_error_dtype = 4
  integer(c_int), parameter :: loom_error_unknown_op = 5
  integer(c_int), parameter :: loom_error_execution = 6
  integer(c_int), parameter :: loom_error_donated = 7
  integer(c_int), parameter :: loom_error_gradient = 8
  integer(c_int), parameter :: loom_error_alias = 9
  integer(c_int), parameter :: loom_error_handle = 10
  integer(c_int), parameter :: loom_error_fork = 11
  integer(c_int), parameter :: loom_error_read_forbidden = 12
  integer(c_int), parameter :: loom_error_index_range = 13
  integer(c_int), parameter :: loom_error_out_of_memory = 14
  integer(c_int), parameter :: loom_error_not_initialized = 100
  integer(c_int), parameter :: loom_error_start = 101
  integer(c_int), parameter :: loom_error_internal = 102
  integer(c_int), parameter :: loom_error_stack = 103
  integer(c_int), parameter :: loom_error_timeout = 104
  integer(c_int), parameter :: loom_dtype_none = 0
  integer(c_int), parameter :: loom_bool = 1
  integer(c_int), parameter :: loom_int8 = 2
  integer(c_int), parameter :: loom_int16 = 3
  integer(c_int), parameter :: loom_int32 = 4
  integer(c_int), parameter :: loom_int64 = 5
  integer(c_int), parameter :: loom_uint8 = 6
  integer(c_int), parameter :: loom_uint16 = 7
  integer(c_int), parameter :: loom_uint32 = 8
  integer(c_int), parameter :: loom_uint64 = 9
  integer(c_int), parameter :: loom_float16 = 10
  integer(c_int), parameter :: loom_bfloat16 = 11
  integer(c_int), parameter :: loom_float32 = 12
  integer(c_int), parameter :: loom_float64 = 13
  integer(c_int), parameter :: loom_complex64 = 14
  integer(c_int), parameter :: loom_complex128 = 15
  integer(c_int), parameter :: loom_option_donate = 1
  integer(c_int), parameter :: loom_option_forbid_reads = 2
  integer(c_int), parameter :: loom_option_reproducible = 3
  integer(c_int), parameter :: loom_log_info = 1
  integer(c_int), parameter :: loom_log_warning = 2
  integer(c_int), parameter :: loom_log_error = 3
  integer(c_int), parameter :: loom_operand_none = 0
  integer(c_int), parameter :: loom_operand_tensor = 1
  integer(c_int), parameter :: loom_operand_bool = 2
  integer(c_int), parameter :: loom_operand_integer = 3
  integer(c_int), parameter :: loom_operand_real = 4
  integer(c_int), parameter :: loom_operand_complex = 5
  integer(c_int), parameter :: loom_attr_none = 0
  integer(c_int), parameter :: loom_attr_bool = 1
  integer(c_int), parameter :: loom_attr_int = 2
  integer(c_int), parameter :: loom_attr_float = 3
  integer(c_int), parameter :: loom_attr_str = 4
  integer(c_int), parameter :: loom_attr_dtype = 5
  integer(c_int), parameter :: loom_attr_ints = 6
  integer(c_int), parameter :: loom_attr_floats = 7
  integer(c_int), parameter :: loom_direction_any = 0
  integer(c_int), parameter :: loom_direction_forward = 1
  integer(c_int), parameter :: loom_direction_reverse = 2

  type, bind(c) :: loom_tensor_t
    integer(c_int64_t) :: bits = 0
  end type
  type, bind(c) :: loom_buffer_t
    integer(c_int64_t) :: bits = 0
  end type
  type, bind(c) :: loom_program_t
    integer(c_int64_t) :: bits = 0
  end type
  type, bind(c) :: loom_capture_t
    integer(c_int64_t) :: bits = 0
  end type
  type, bind(c) :: loom_linear_map_t
    integer(c_int64_t) :: bits = 0
  end type
  type, bind(c) :: loom_quantized_t
    integer(c_int64_t) :: bits = 0
  end type
  type, bind(c) :: loom_exported_t
    integer(c_int64_t) :: bits = 0
  end type
  type, bind(c) :: loom_operand_t
    integer(c_int) :: kind
    integer(c_int) :: dtype
    integer(c_int64_t) :: tensor
    integer(c_int64_t) :: integer
    real(c_double) :: real
    real(c_double) :: imaginary
  end type
  type, bind(c) :: loom_attr_t
    type(c_ptr) :: name
    integer(c_int) :: kind
    integer(c_size_t) :: count
    integer(c_int64_t) :: value
  end type
  type, bind(c) :: loom_error_details_t
    integer(c_size_t) :: size
    integer(c_int) :: status
    type(c_ptr) :: message
    type(c_ptr) :: op
    type(c_ptr) :: site
    type(c_ptr) :: argument
    integer(c_int64_t) :: index
    type(c_ptr) :: expected
  end type
  type, bind(c) :: loom_custom_op_t
    integer(c_size_t) :: size
    type(c_funptr) :: forward
    type(c_funptr) :: vjp
    type(c_funptr) :: jvp
    type(c_ptr) :: context
    type(c_funptr) :: done
    type(c_ptr) :: name
  end type
  type, bind(c) :: loom_memory_figures_t
    integer(c_size_t) :: size
    integer(c_size_t) :: tensors
    integer(c_size_t) :: tensor_bytes
    integer(c_size_t) :: pending
    integer(c_size_t) :: resident
    integer(c_size_t) :: peak
  end type
  type, bind(c) :: loom_quantize_options_t
    integer(c_size_t) :: size
    real(c_double) :: percentile
    type(c_ptr) :: skip
    integer(c_size_t) :: skip_count
  end type
  type, bind(c) :: loom_export_options_t
    integer(c_size_t) :: size
    integer(c_int) :: vjp_order
    logical(c_bool) :: engines
  end type

  interface
    function c_loom_abi_version() bind(c, name="loom_abi_version") result(found)
      import
      integer(c_int32_t) :: found
    end function
    function c_loom_version() bind(c, name="loom_version") result(found)
      import
      type(c_ptr) :: found
    end function
    function c_loom_initialize() bind(c, name="loom_initialize") result(found)
      import
      integer(c_int) :: found
    end function
    function c_loom_shutdown() bind(c, name="loom_shutdown") result(found)
      import
      integer(c_int) :: found
    end function
    function c_loom_is_initialized() bind(c, name="loom_is_initialized") result(found)
      import
      logical(c_bool) :: found
    end function
    function c_loom_set_option(option, value) bind(c, name="loom_set_option") result(found)
      import
      integer(c_int), value :: option
      integer(c_int64_t), value :: value
      integer(c_int) :: found
    end function
    function c_loom_get_option(option, value) bind(c, name="loom_get_option") result(found)
      import
      integer(c_int), value :: option
      type(c_ptr), value :: value
      integer(c_int) :: found
    end function
    function c_loom_set_log(log, context, least) bind(c, name="loom_set_log") result(found)
      import
      type(c_funptr), value :: log
      type(c_ptr), value :: context
      integer(c_int), value :: least
      integer(c_int) :: found
    end function
    function c_loom_error_status() bind(c, name="loom_error_status") result(found)
      import
      integer(c_int) :: found
    end function
    function c_loom_error_message() bind(c, name="loom_error_message") result(found)
      import
      type(c_ptr) :: found
    end function
    function c_loom_error_op() bind(c, name="loom_error_op") result(found)
      import
      type(c_ptr) :: found
    end function
    function c_loom_error_site() bind(c, name="loom_error_site") result(found)
      import
      type(c_ptr) :: found
    end function
    function c_loom_set_error(status, message) bind(c, name="loom_set_error") result(found)
      import
      integer(c_int), value :: status
      type(c_ptr), value :: message
      integer(c_int) :: found
    end function
    subroutine c_loom_error_clear() bind(c, name="loom_error_clear")
      import
    end subroutine
    function c_loom_error_take() bind(c, name="loom_error_take") result(found)
      import
      type(c_ptr) :: found
    end function
    function c_loom_error_describe(error, details) &
        bind(c, name="loom_error_describe") result(found)
      import
      type(c_ptr), value :: error
      type(c_ptr), value :: details
      integer(c_int) :: found
    end function
    function c_loom_error_restore(error) bind(c, name="loom_error_restore") result(found)
      import
      type(c_ptr), value :: error
      integer(c_int) :: found
    end function
    subroutine c_loom_error_free(error) bind(c, name="loom_error_free")
      import
      type(c_ptr), value :: error
    end subroutine
    function c_loom_status_name(status) bind(c, name="loom_status_name") result(found)
      import
      integer(c_int), value :: status
      type(c_ptr) :: found
    end function
    subroutine c_loom_set_source_location(file, line) bind(c, name="loom_set_source_location")
      import
      type(c_ptr), value :: file
      integer(c_int), value :: line
    end subroutine
    subroutine c_loom_copy_source_location(file, line) &
        bind(c, name="loom_copy_source_location")
      import
      type(c_ptr), value :: file
      integer(c_int), value :: line
    end subroutine
    function c_loom_dtype_size(dtype) bind(c, name="loom_dtype_size") result(found)
      import
      integer(c_int), value :: dtype
      integer(c_size_t) :: found
    end function
    function c_loom_dtype_name(dtype) bind(c, name="loom_dtype_name") result(found)
      import
      integer(c_int), value :: dtype
      type(c_ptr) :: found
    end function
    function c_loom_tensor_from_host(data, nbytes, dtype, shape, ndim, result) &
        bind(c, name="loom_tensor_from_host") result(found)
      import
      type(c_ptr), value :: data
      integer(c_size_t), value :: nbytes
      integer(c_int), value :: dtype
      type(c_ptr), value :: shape
      integer(c_size_t), value :: ndim
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_tensor_share_host(data, nbytes, dtype, shape, ndim, done, context, &
        result) bind(c, name="loom_tensor_share_host") result(found)
      import
      type(c_ptr), value :: data
      integer(c_size_t), value :: nbytes
      integer(c_int), value :: dtype
      type(c_ptr), value :: shape
      integer(c_size_t), value :: ndim
      type(c_funptr), value :: done
      type(c_ptr), value :: context
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_tensor_read(tensor, buffer, nbytes) &
        bind(c, name="loom_tensor_read") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: nbytes
      integer(c_int) :: found
    end function
    function c_loom_tensor_map(tensor, result, data, nbytes) &
        bind(c, name="loom_tensor_map") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: result
      type(c_ptr), value :: data
      type(c_ptr), value :: nbytes
      integer(c_int) :: found
    end function
    function c_loom_buffer_release(buffer) bind(c, name="loom_buffer_release") result(found)
      import
      type(loom_buffer_t), value :: buffer
      integer(c_int) :: found
    end function
    function c_loom_tensor_retain(tensor) bind(c, name="loom_tensor_retain") result(found)
      import
      type(loom_tensor_t), value :: tensor
      integer(c_int) :: found
    end function
    function c_loom_tensor_release(tensor) bind(c, name="loom_tensor_release") result(found)
      import
      type(loom_tensor_t), value :: tensor
      integer(c_int) :: found
    end function
    function c_loom_tensors_release(tensors, count) &
        bind(c, name="loom_tensors_release") result(found)
      import
      type(c_ptr), value :: tensors
      integer(c_size_t), value :: count
      integer(c_int) :: found
    end function
    function c_loom_tensor_dtype(tensor, dtype) bind(c, name="loom_tensor_dtype") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: dtype
      integer(c_int) :: found
    end function
    function c_loom_tensor_ndim(tensor, ndim) bind(c, name="loom_tensor_ndim") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: ndim
      integer(c_int) :: found
    end function
    function c_loom_tensor_shape(tensor, shape, capacity, ndim) &
        bind(c, name="loom_tensor_shape") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: shape
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: ndim
      integer(c_int) :: found
    end function
    function c_loom_tensor_nbytes(tensor, nbytes) &
        bind(c, name="loom_tensor_nbytes") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: nbytes
      integer(c_int) :: found
    end function
    function c_loom_tensor_is_pending(tensor, pending) &
        bind(c, name="loom_tensor_is_pending") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: pending
      integer(c_int) :: found
    end function
    function c_loom_tensor_requires_grad(tensor, required) &
        bind(c, name="loom_tensor_requires_grad") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: required
      integer(c_int) :: found
    end function
    function c_loom_live_handles(count) bind(c, name="loom_live_handles") result(found)
      import
      type(c_ptr), value :: count
      integer(c_int) :: found
    end function
    function c_loom_apply(op, operands, operand_count, attributes, attribute_count, &
        results, capacity, result_count) bind(c, name="loom_apply") result(found)
      import
      type(c_ptr), value :: op
      type(c_ptr), value :: operands
      integer(c_size_t), value :: operand_count
      type(c_ptr), value :: attributes
      integer(c_size_t), value :: attribute_count
      type(c_ptr), value :: results
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: result_count
      integer(c_int) :: found
    end function
    function c_loom_source(op, operands, operand_count, attributes, attribute_count, &
        results, capacity, result_count) bind(c, name="loom_source") result(found)
      import
      type(c_ptr), value :: op
      type(c_ptr), value :: operands
      integer(c_size_t), value :: operand_count
      type(c_ptr), value :: attributes
      integer(c_size_t), value :: attribute_count
      type(c_ptr), value :: results
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: result_count
      integer(c_int) :: found
    end function
    function c_loom_boundary(tensor) bind(c, name="loom_boundary") result(found)
      import
      type(loom_tensor_t), value :: tensor
      integer(c_int) :: found
    end function
    function c_loom_tensor_assign(target, value) &
        bind(c, name="loom_tensor_assign") result(found)
      import
      type(loom_tensor_t), value :: target
      type(loom_tensor_t), value :: value
      integer(c_int) :: found
    end function
    function c_loom_tensors_assign(targets, values, count) &
        bind(c, name="loom_tensors_assign") result(found)
      import
      type(c_ptr), value :: targets
      type(c_ptr), value :: values
      integer(c_size_t), value :: count
      integer(c_int) :: found
    end function
    function c_loom_tensor_detach(tensor, result) &
        bind(c, name="loom_tensor_detach") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_tensor_require_grad(tensor, required) &
        bind(c, name="loom_tensor_require_grad") result(found)
      import
      type(loom_tensor_t), value :: tensor
      logical(c_bool), value :: required
      integer(c_int) :: found
    end function
    function c_loom_set_grad_enabled(enabled, previous) &
        bind(c, name="loom_set_grad_enabled") result(found)
      import
      logical(c_bool), value :: enabled
      type(c_ptr), value :: previous
      integer(c_int) :: found
    end function
    function c_loom_grad(outputs, output_count, inputs, input_count, cotangents, &
        create_graph, gradients) bind(c, name="loom_grad") result(found)
      import
      type(c_ptr), value :: outputs
      integer(c_size_t), value :: output_count
      type(c_ptr), value :: inputs
      integer(c_size_t), value :: input_count
      type(c_ptr), value :: cotangents
      logical(c_bool), value :: create_graph
      type(c_ptr), value :: gradients
      integer(c_int) :: found
    end function
    function c_loom_backward(outputs, output_count, cotangents) &
        bind(c, name="loom_backward") result(found)
      import
      type(c_ptr), value :: outputs
      integer(c_size_t), value :: output_count
      type(c_ptr), value :: cotangents
      integer(c_int) :: found
    end function
    function c_loom_tensor_gradient(tensor, result) &
        bind(c, name="loom_tensor_gradient") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_tensor_clear_gradient(tensor) &
        bind(c, name="loom_tensor_clear_gradient") result(found)
      import
      type(loom_tensor_t), value :: tensor
      integer(c_int) :: found
    end function
    function c_loom_scan(step, context, init, carry_count, xs, xs_count, length, ys_count, &
        reverse, results) bind(c, name="loom_scan") result(found)
      import
      type(c_funptr), value :: step
      type(c_ptr), value :: context
      type(c_ptr), value :: init
      integer(c_size_t), value :: carry_count
      type(c_ptr), value :: xs
      integer(c_size_t), value :: xs_count
      integer(c_int64_t), value :: length
      integer(c_size_t), value :: ys_count
      logical(c_bool), value :: reverse
      type(c_ptr), value :: results
      integer(c_int) :: found
    end function
    function c_loom_while_loop(condition, body, context, init, carry_count, max_steps, &
        results) bind(c, name="loom_while_loop") result(found)
      import
      type(c_funptr), value :: condition
      type(c_funptr), value :: body
      type(c_ptr), value :: context
      type(c_ptr), value :: init
      integer(c_size_t), value :: carry_count
      integer(c_int64_t), value :: max_steps
      type(c_ptr), value :: results
      integer(c_int) :: found
    end function
    function c_loom_cond(which, if_true, if_false, context, operands, operand_count, &
        results, result_count) bind(c, name="loom_cond") result(found)
      import
      type(loom_tensor_t), value :: which
      type(c_funptr), value :: if_true
      type(c_funptr), value :: if_false
      type(c_ptr), value :: context
      type(c_ptr), value :: operands
      integer(c_size_t), value :: operand_count
      type(c_ptr), value :: results
      integer(c_size_t), value :: result_count
      integer(c_int) :: found
    end function
    function c_loom_capture_begin(inputs, count) &
        bind(c, name="loom_capture_begin") result(found)
      import
      type(c_ptr), value :: inputs
      integer(c_size_t), value :: count
      integer(c_int) :: found
    end function
    function c_loom_capture_end(results, count, capture) &
        bind(c, name="loom_capture_end") result(found)
      import
      type(c_ptr), value :: results
      integer(c_size_t), value :: count
      type(c_ptr), value :: capture
      integer(c_int) :: found
    end function
    function c_loom_capture_cancel() bind(c, name="loom_capture_cancel") result(found)
      import
      integer(c_int) :: found
    end function
    function c_loom_capture_run(capture, inputs, input_count, results, result_count) &
        bind(c, name="loom_capture_run") result(found)
      import
      type(loom_capture_t), value :: capture
      type(c_ptr), value :: inputs
      integer(c_size_t), value :: input_count
      type(c_ptr), value :: results
      integer(c_size_t), value :: result_count
      integer(c_int) :: found
    end function
    function c_loom_capture_release(capture) bind(c, name="loom_capture_release") result(found)
      import
      type(loom_capture_t), value :: capture
      integer(c_int) :: found
    end function
    function c_loom_sync(tensors, count, wait) bind(c, name="loom_sync") result(found)
      import
      type(c_ptr), value :: tensors
      integer(c_size_t), value :: count
      logical(c_bool), value :: wait
      integer(c_int) :: found
    end function
    function c_loom_mark_dynamic(tensor, axis, minimum, maximum) &
        bind(c, name="loom_mark_dynamic") result(found)
      import
      type(loom_tensor_t), value :: tensor
      integer(c_int64_t), value :: axis
      integer(c_int64_t), value :: minimum
      integer(c_int64_t), value :: maximum
      integer(c_int) :: found
    end function
    function c_loom_mark_static(tensor, axes, axis_count) &
        bind(c, name="loom_mark_static") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: axes
      integer(c_size_t), value :: axis_count
      integer(c_int) :: found
    end function
    function c_loom_codegen_use(names, count) bind(c, name="loom_codegen_use") result(found)
      import
      type(c_ptr), value :: names
      integer(c_size_t), value :: count
      integer(c_int) :: found
    end function
    function c_loom_codegen_in_use(buffer, capacity, needed) &
        bind(c, name="loom_codegen_in_use") result(found)
      import
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_codegen_available(buffer, capacity, needed) &
        bind(c, name="loom_codegen_available") result(found)
      import
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_program_of(tensors, count, result) &
        bind(c, name="loom_program_of") result(found)
      import
      type(c_ptr), value :: tensors
      integer(c_size_t), value :: count
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_last_program(result) bind(c, name="loom_last_program") result(found)
      import
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_program_key(program, buffer, capacity, needed) &
        bind(c, name="loom_program_key") result(found)
      import
      type(loom_program_t), value :: program
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_program_text(program, buffer, capacity, needed) &
        bind(c, name="loom_program_text") result(found)
      import
      type(loom_program_t), value :: program
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_program_op_count(program, count) &
        bind(c, name="loom_program_op_count") result(found)
      import
      type(loom_program_t), value :: program
      type(c_ptr), value :: count
      integer(c_int) :: found
    end function
    function c_loom_program_explain(program, buffer, capacity, needed) &
        bind(c, name="loom_program_explain") result(found)
      import
      type(loom_program_t), value :: program
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_program_release(program) bind(c, name="loom_program_release") result(found)
      import
      type(loom_program_t), value :: program
      integer(c_int) :: found
    end function
    function c_loom_stat(name, value) bind(c, name="loom_stat") result(found)
      import
      type(c_ptr), value :: name
      type(c_ptr), value :: value
      integer(c_int) :: found
    end function
    function c_loom_stats_json(buffer, capacity, needed) &
        bind(c, name="loom_stats_json") result(found)
      import
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_last_evaluation(buffer, capacity, needed) &
        bind(c, name="loom_last_evaluation") result(found)
      import
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_op_count(count) bind(c, name="loom_op_count") result(found)
      import
      type(c_ptr), value :: count
      integer(c_int) :: found
    end function
    function c_loom_op_name(index, name) bind(c, name="loom_op_name") result(found)
      import
      integer(c_size_t), value :: index
      type(c_ptr), value :: name
      integer(c_int) :: found
    end function
    function c_loom_op_describe(op, buffer, capacity, needed) &
        bind(c, name="loom_op_describe") result(found)
      import
      type(c_ptr), value :: op
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_devices(buffer, capacity, needed) &
        bind(c, name="loom_devices") result(found)
      import
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_tensor_to_device(tensor, device, result) &
        bind(c, name="loom_tensor_to_device") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: device
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_tensor_shard(tensor, mesh, devices, spec, result) &
        bind(c, name="loom_tensor_shard") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: mesh
      type(c_ptr), value :: devices
      type(c_ptr), value :: spec
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_tensor_placement(tensor, buffer, capacity, needed) &
        bind(c, name="loom_tensor_placement") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_distributed_initialize(address, world_size, rank, timeout) &
        bind(c, name="loom_distributed_initialize") result(found)
      import
      type(c_ptr), value :: address
      integer(c_int64_t), value :: world_size
      integer(c_int64_t), value :: rank
      real(c_double), value :: timeout
      integer(c_int) :: found
    end function
    function c_loom_distributed_rank(rank, world_size) &
        bind(c, name="loom_distributed_rank") result(found)
      import
      type(c_ptr), value :: rank
      type(c_ptr), value :: world_size
      integer(c_int) :: found
    end function
    function c_loom_distributed_finalize() &
        bind(c, name="loom_distributed_finalize") result(found)
      import
      integer(c_int) :: found
    end function
    function c_loom_vjp(function, context, inputs, input_count, outputs, output_count, &
        pullback) bind(c, name="loom_vjp") result(found)
      import
      type(c_funptr), value :: function
      type(c_ptr), value :: context
      type(c_ptr), value :: inputs
      integer(c_size_t), value :: input_count
      type(c_ptr), value :: outputs
      integer(c_size_t), value :: output_count
      type(c_ptr), value :: pullback
      integer(c_int) :: found
    end function
    function c_loom_linearize(function, context, inputs, input_count, outputs, &
        output_count, pushforward) bind(c, name="loom_linearize") result(found)
      import
      type(c_funptr), value :: function
      type(c_ptr), value :: context
      type(c_ptr), value :: inputs
      integer(c_size_t), value :: input_count
      type(c_ptr), value :: outputs
      integer(c_size_t), value :: output_count
      type(c_ptr), value :: pushforward
      integer(c_int) :: found
    end function
    function c_loom_linear_map_apply(map, given, given_count, results, result_count) &
        bind(c, name="loom_linear_map_apply") result(found)
      import
      type(loom_linear_map_t), value :: map
      type(c_ptr), value :: given
      integer(c_size_t), value :: given_count
      type(c_ptr), value :: results
      integer(c_size_t), value :: result_count
      integer(c_int) :: found
    end function
    function c_loom_linear_map_release(map) &
        bind(c, name="loom_linear_map_release") result(found)
      import
      type(loom_linear_map_t), value :: map
      integer(c_int) :: found
    end function
    function c_loom_jvp(function, context, inputs, tangents, input_count, outputs, &
        output_tangents, output_count) bind(c, name="loom_jvp") result(found)
      import
      type(c_funptr), value :: function
      type(c_ptr), value :: context
      type(c_ptr), value :: inputs
      type(c_ptr), value :: tangents
      integer(c_size_t), value :: input_count
      type(c_ptr), value :: outputs
      type(c_ptr), value :: output_tangents
      integer(c_size_t), value :: output_count
      integer(c_int) :: found
    end function
    function c_loom_value_and_grad(function, context, inputs, input_count, positions, &
        position_count, outputs, output_count, gradients) &
        bind(c, name="loom_value_and_grad") result(found)
      import
      type(c_funptr), value :: function
      type(c_ptr), value :: context
      type(c_ptr), value :: inputs
      integer(c_size_t), value :: input_count
      type(c_ptr), value :: positions
      integer(c_size_t), value :: position_count
      type(c_ptr), value :: outputs
      integer(c_size_t), value :: output_count
      type(c_ptr), value :: gradients
      integer(c_int) :: found
    end function
    function c_loom_jacobian(function, context, inputs, input_count, positions, &
        position_count, output_count, direction, holomorphic, results) &
        bind(c, name="loom_jacobian") result(found)
      import
      type(c_funptr), value :: function
      type(c_ptr), value :: context
      type(c_ptr), value :: inputs
      integer(c_size_t), value :: input_count
      type(c_ptr), value :: positions
      integer(c_size_t), value :: position_count
      integer(c_size_t), value :: output_count
      integer(c_int), value :: direction
      logical(c_bool), value :: holomorphic
      type(c_ptr), value :: results
      integer(c_int) :: found
    end function
    function c_loom_hessian(function, context, inputs, input_count, positions, &
        position_count, output_count, results) bind(c, name="loom_hessian") result(found)
      import
      type(c_funptr), value :: function
      type(c_ptr), value :: context
      type(c_ptr), value :: inputs
      integer(c_size_t), value :: input_count
      type(c_ptr), value :: positions
      integer(c_size_t), value :: position_count
      integer(c_size_t), value :: output_count
      type(c_ptr), value :: results
      integer(c_int) :: found
    end function
    function c_loom_vmap(function, context, inputs, input_count, in_axes, axis_size, &
        out_axes, results, result_count) bind(c, name="loom_vmap") result(found)
      import
      type(c_funptr), value :: function
      type(c_ptr), value :: context
      type(c_ptr), value :: inputs
      integer(c_size_t), value :: input_count
      type(c_ptr), value :: in_axes
      integer(c_int64_t), value :: axis_size
      type(c_ptr), value :: out_axes
      type(c_ptr), value :: results
      integer(c_size_t), value :: result_count
      integer(c_int) :: found
    end function
    function c_loom_apply_custom(custom, inputs, input_count, outputs, output_count) &
        bind(c, name="loom_apply_custom") result(found)
      import
      type(c_ptr), value :: custom
      type(c_ptr), value :: inputs
      integer(c_size_t), value :: input_count
      type(c_ptr), value :: outputs
      integer(c_size_t), value :: output_count
      integer(c_int) :: found
    end function
    function c_loom_tensor_from_dlpack(managed, copy, result) &
        bind(c, name="loom_tensor_from_dlpack") result(found)
      import
      type(c_ptr), value :: managed
      logical(c_bool), value :: copy
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_tensor_from_dlpack_unversioned(managed, copy, result) &
        bind(c, name="loom_tensor_from_dlpack_unversioned") result(found)
      import
      type(c_ptr), value :: managed
      logical(c_bool), value :: copy
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_tensor_to_dlpack(tensor, copy, result) &
        bind(c, name="loom_tensor_to_dlpack") result(found)
      import
      type(loom_tensor_t), value :: tensor
      logical(c_bool), value :: copy
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_tensor_to_dlpack_unversioned(tensor, result) &
        bind(c, name="loom_tensor_to_dlpack_unversioned") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_tensors_read(tensors, buffers, nbytes, count) &
        bind(c, name="loom_tensors_read") result(found)
      import
      type(c_ptr), value :: tensors
      type(c_ptr), value :: buffers
      type(c_ptr), value :: nbytes
      integer(c_size_t), value :: count
      integer(c_int) :: found
    end function
    function c_loom_tensor_is_ready(tensor, result) &
        bind(c, name="loom_tensor_is_ready") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_wait(tensors, count, timeout) bind(c, name="loom_wait") result(found)
      import
      type(c_ptr), value :: tensors
      integer(c_size_t), value :: count
      real(c_double), value :: timeout
      integer(c_int) :: found
    end function
    function c_loom_tensor_on_ready(tensor, function, context) &
        bind(c, name="loom_tensor_on_ready") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_funptr), value :: function
      type(c_ptr), value :: context
      integer(c_int) :: found
    end function
    function c_loom_random_key(seed, result) bind(c, name="loom_random_key") result(found)
      import
      integer(c_int64_t), value :: seed
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_option_set(name, value, previous) &
        bind(c, name="loom_option_set") result(found)
      import
      type(c_ptr), value :: name
      real(c_double), value :: value
      type(c_ptr), value :: previous
      integer(c_int) :: found
    end function
    function c_loom_option_get(name, value) bind(c, name="loom_option_get") result(found)
      import
      type(c_ptr), value :: name
      type(c_ptr), value :: value
      integer(c_int) :: found
    end function
    function c_loom_options_json(buffer, capacity, needed) &
        bind(c, name="loom_options_json") result(found)
      import
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_programs_of(tensors, count, results, capacity, result_count) &
        bind(c, name="loom_programs_of") result(found)
      import
      type(c_ptr), value :: tensors
      integer(c_size_t), value :: count
      type(c_ptr), value :: results
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: result_count
      integer(c_int) :: found
    end function
    function c_loom_evaluations_json(count, buffer, capacity, needed) &
        bind(c, name="loom_evaluations_json") result(found)
      import
      integer(c_size_t), value :: count
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_profile_begin(path, sources) &
        bind(c, name="loom_profile_begin") result(found)
      import
      type(c_ptr), value :: path
      logical(c_bool), value :: sources
      integer(c_int) :: found
    end function
    function c_loom_profile_end() bind(c, name="loom_profile_end") result(found)
      import
      integer(c_int) :: found
    end function
    function c_loom_profile_json(buffer, capacity, needed) &
        bind(c, name="loom_profile_json") result(found)
      import
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_memory(figures) bind(c, name="loom_memory") result(found)
      import
      type(c_ptr), value :: figures
      integer(c_int) :: found
    end function
    function c_loom_stats_reset() bind(c, name="loom_stats_reset") result(found)
      import
      integer(c_int) :: found
    end function
    function c_loom_finish_compiling(timeout, finished) &
        bind(c, name="loom_finish_compiling") result(found)
      import
      real(c_double), value :: timeout
      type(c_ptr), value :: finished
      integer(c_int) :: found
    end function
    function c_loom_platform(buffer, capacity, needed) &
        bind(c, name="loom_platform") result(found)
      import
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_cache_dir(buffer, capacity, needed) &
        bind(c, name="loom_cache_dir") result(found)
      import
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_cache_save(path, timeout, entries) &
        bind(c, name="loom_cache_save") result(found)
      import
      type(c_ptr), value :: path
      real(c_double), value :: timeout
      type(c_ptr), value :: entries
      integer(c_int) :: found
    end function
    function c_loom_cache_load(path, usable, refused) &
        bind(c, name="loom_cache_load") result(found)
      import
      type(c_ptr), value :: path
      type(c_ptr), value :: usable
      type(c_ptr), value :: refused
      integer(c_int) :: found
    end function
    function c_loom_cache_report_json(buffer, capacity, needed) &
        bind(c, name="loom_cache_report_json") result(found)
      import
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_cache_list_json(path, buffer, capacity, needed) &
        bind(c, name="loom_cache_list_json") result(found)
      import
      type(c_ptr), value :: path
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_program_collectives(program, buffer, capacity, needed) &
        bind(c, name="loom_program_collectives") result(found)
      import
      type(loom_program_t), value :: program
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_tensor_picture(tensor, svg, buffer, capacity, needed) &
        bind(c, name="loom_tensor_picture") result(found)
      import
      type(loom_tensor_t), value :: tensor
      logical(c_bool), value :: svg
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_program_picture(program, buffer, capacity, needed) &
        bind(c, name="loom_program_picture") result(found)
      import
      type(loom_program_t), value :: program
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_codegen_measure(program) bind(c, name="loom_codegen_measure") result(found)
      import
      type(loom_program_t), value :: program
      integer(c_int) :: found
    end function
    function c_loom_codegen_verify(on) bind(c, name="loom_codegen_verify") result(found)
      import
      logical(c_bool), value :: on
      integer(c_int) :: found
    end function
    function c_loom_codegen_segmented(on) bind(c, name="loom_codegen_segmented") result(found)
      import
      logical(c_bool), value :: on
      integer(c_int) :: found
    end function
    function c_loom_codegen_load(library, buffer, capacity, needed) &
        bind(c, name="loom_codegen_load") result(found)
      import
      type(c_ptr), value :: library
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_codegen_failures(buffer, capacity, needed) &
        bind(c, name="loom_codegen_failures") result(found)
      import
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_quantize_function(function, context, done, batches, batch_count, &
        input_count, output_count, options, result) &
        bind(c, name="loom_quantize_function") result(found)
      import
      type(c_funptr), value :: function
      type(c_ptr), value :: context
      type(c_funptr), value :: done
      type(c_ptr), value :: batches
      integer(c_size_t), value :: batch_count
      integer(c_size_t), value :: input_count
      integer(c_size_t), value :: output_count
      type(c_ptr), value :: options
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_quantized_run(quantized, inputs, input_count, results, result_count) &
        bind(c, name="loom_quantized_run") result(found)
      import
      type(loom_quantized_t), value :: quantized
      type(c_ptr), value :: inputs
      integer(c_size_t), value :: input_count
      type(c_ptr), value :: results
      integer(c_size_t), value :: result_count
      integer(c_int) :: found
    end function
    function c_loom_quantized_json(quantized, buffer, capacity, needed) &
        bind(c, name="loom_quantized_json") result(found)
      import
      type(loom_quantized_t), value :: quantized
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_quantized_release(quantized) &
        bind(c, name="loom_quantized_release") result(found)
      import
      type(loom_quantized_t), value :: quantized
      integer(c_int) :: found
    end function
    function c_loom_export(path, inputs, input_names, input_count, results, result_count, &
        parameters, parameter_names, parameter_count) bind(c, name="loom_export") result(found)
      import
      type(c_ptr), value :: path
      type(c_ptr), value :: inputs
      type(c_ptr), value :: input_names
      integer(c_size_t), value :: input_count
      type(c_ptr), value :: results
      integer(c_size_t), value :: result_count
      type(c_ptr), value :: parameters
      type(c_ptr), value :: parameter_names
      integer(c_size_t), value :: parameter_count
      integer(c_int) :: found
    end function
    function c_loom_export_with(path, inputs, input_names, input_count, results, &
        result_count, parameters, parameter_names, parameter_count, options) &
        bind(c, name="loom_export_with") result(found)
      import
      type(c_ptr), value :: path
      type(c_ptr), value :: inputs
      type(c_ptr), value :: input_names
      integer(c_size_t), value :: input_count
      type(c_ptr), value :: results
      integer(c_size_t), value :: result_count
      type(c_ptr), value :: parameters
      type(c_ptr), value :: parameter_names
      integer(c_size_t), value :: parameter_count
      type(c_ptr), value :: options
      integer(c_int) :: found
    end function
    function c_loom_load_program(path, program) bind(c, name="loom_load_program") result(found)
      import
      type(c_ptr), value :: path
      type(c_ptr), value :: program
      integer(c_int) :: found
    end function
    function c_loom_load_program_with_engines(path, program) &
        bind(c, name="loom_load_program_with_engines") result(found)
      import
      type(c_ptr), value :: path
      type(c_ptr), value :: program
      integer(c_int) :: found
    end function
    function c_loom_exported_run(program, inputs, input_count, results, result_count) &
        bind(c, name="loom_exported_run") result(found)
      import
      type(loom_exported_t), value :: program
      type(c_ptr), value :: inputs
      integer(c_size_t), value :: input_count
      type(c_ptr), value :: results
      integer(c_size_t), value :: result_count
      integer(c_int) :: found
    end function
    function c_loom_exported_seed(program, seed) &
        bind(c, name="loom_exported_seed") result(found)
      import
      type(loom_exported_t), value :: program
      integer(c_int64_t), value :: seed
      integer(c_int) :: found
    end function
    function c_loom_exported_json(program, buffer, capacity, needed) &
        bind(c, name="loom_exported_json") result(found)
      import
      type(loom_exported_t), value :: program
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: needed
      integer(c_int) :: found
    end function
    function c_loom_exported_release(program) &
        bind(c, name="loom_exported_release") result(found)
      import
      type(loom_exported_t), value :: program
      integer(c_int) :: found
    end function
    function c_loom_save_repro(path, values, value_count, random_data) &
        bind(c, name="loom_save_repro") result(found)
      import
      type(c_ptr), value :: path
      type(c_ptr), value :: values
      integer(c_size_t), value :: value_count
      logical(c_bool), value :: random_data
      integer(c_int) :: found
    end function
    function c_loom_distributed_barrier(timeout) &
        bind(c, name="loom_distributed_barrier") result(found)
      import
      real(c_double), value :: timeout
      integer(c_int) :: found
    end function
    function c_loom_tensor_local_part(tensor, result) &
        bind(c, name="loom_tensor_local_part") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
    function c_loom_tensor_from_local_part(tensor, mesh, devices, spec, result) &
        bind(c, name="loom_tensor_from_local_part") result(found)
      import
      type(loom_tensor_t), value :: tensor
      type(c_ptr), value :: mesh
      type(c_ptr), value :: devices
      type(c_ptr), value :: spec
      type(c_ptr), value :: result
      integer(c_int) :: found
    end function
  end interface
end module
