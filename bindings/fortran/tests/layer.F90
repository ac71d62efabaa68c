! What the layer adds to the C ABI: scopes, operators, optional arguments, errors.
! Functions of a module, because one within a program that is given away makes the stack executable.
module layer_functions
  use lazyloom
  implicit none

contains

  ! the second of what it gives is its own input
  function running(inputs) result(found)
    type(tensor), intent(in) :: inputs(:)
    type(tensor), allocatable :: found(:)
    found = [inputs(1) + inputs(2), inputs(1)]
  end function

  function increased(inputs) result(found)
    type(tensor), intent(in) :: inputs(:)
    type(tensor), allocatable :: found(:)
    found = [inputs(1) + 1]
  end function

  function doubled(inputs) result(found)
    type(tensor), intent(in) :: inputs(:)
    type(tensor), allocatable :: found(:)
    found = [inputs(1) * 2]
  end function

  function small(inputs) result(found)
    type(tensor), intent(in) :: inputs(:)
    type(tensor), allocatable :: found(:)
    found = [loom_less(inputs(1), 100)]
  end function

  function squared(inputs) result(found)
    type(tensor), intent(in) :: inputs(:)
    type(tensor), allocatable :: found(:)
    found = [loom_sum(inputs(1) * inputs(1))]
  end function

  function wrong(inputs) result(found)
    type(tensor), intent(in) :: inputs(:)
    type(tensor), allocatable :: found(:)
    found = [inputs(1) + loom_new([1.0, 2.0]) + loom_new([1.0, 2.0, 3.0])]
  end function

end module

program layer
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  use lazyloom
  use layer_functions
  implicit none
  real(real32), allocatable :: list(:), matrix(:, :)
  logical, allocatable :: truths(:)
  integer(int64), allocatable :: order(:)
  type(tensor) :: x, y, z, both(2)
  type(tensor), allocatable :: parts(:)
  type(loom_failure) :: failure
  real(real64) :: wide
  real(real32) :: value
  character(300) :: site

  call loom_start()
  call loom_scope_begin()
  x = loom_new([1.0, 2.0, 3.0])
  call loom_read(2 * x - 1.0, list)
  call expect(all(list == [1, 3, 5]), __LINE__)
  call loom_read(-x / x, list)
  call expect(all(list == [-1, -1, -1]), __LINE__)
  call loom_read(loom_greater_equal(x, 2), truths)
  call expect(all(truths .eqv. [.false., .true., .true.]), __LINE__)
  z = loom_sum(x, dtype=loom_float64, keepdims=.true.)
  call loom_read(z, wide)
  call expect(wide == 6 .and. all(loom_shape(z) == [1]) .and. loom_dtype_of(z) == loom_float64, &
      __LINE__)
  call expect(size(loom_shape(loom_sum(x, axes=[0]))) == 0, __LINE__)
  parts = loom_split(loom_concatenate([x, x]), [2, 4])
  call loom_read(parts(2), list)
  call expect(size(parts) == 2 .and. all(list == [3, 1, 2, 3]), __LINE__)
  both = loom_sort_with_indices(-x)
  call loom_read(both(2), order)
  call expect(all(order == [2, 1, 0]), __LINE__)
  call loom_read(loom_clip(x, max=2), list)
  call expect(all(list == [1, 2, 2]), __LINE__)
  call loom_read(loom_einsum([x, x], "i,i->"), value)
  call expect(value == 14, __LINE__)
  ! a matrix keeps its indices
  y = loom_new(reshape([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3]))
  call expect(all(loom_shape(y) == [2, 3]), __LINE__)
  call loom_read(y, matrix)
  call expect(all(matrix == reshape([1, 2, 3, 4, 5, 6], [2, 3])), __LINE__)
  call loom_read(loom_sum(y, axes=[1]), list)
  call expect(all(list == [9, 12]), __LINE__)

  call loom_stop_on_error(.false.)
  y = loom_new([1.0, 2.0])
  call loom_at(__FILE__, __LINE__)
  z = x + y
  write (site, "(a, a, i0)") __FILE__, ":", __LINE__ - 2
  failure = loom_last_error()
  call expect(failure%status == loom_error_shape .and. failure%op == "add", __LINE__)

  call expect(z%is_null() .and. failure%site == trim(site), __LINE__)
  z = loom_argmax(x, axis=7)
  failure = loom_last_error()
  call expect(failure%status == loom_error_argument .and. failure%argument == "axis", __LINE__)
  call loom_read(x, wide)
  failure = loom_last_error()
  call expect(failure%status == loom_error_dtype, __LINE__)
  call loom_read(x, value)
  failure = loom_last_error()
  call expect(failure%status == loom_error_shape, __LINE__)
  z = x + "1"
  failure = loom_last_error()
  call expect(failure%status == loom_error_argument, __LINE__)
  failure = loom_last_error()
  call expect(failure%status == loom_ok, __LINE__)
  call loom_stop_on_error(.true.)

  call loom_require_grad(x)
  call loom_backward(loom_sum(x * x))
  call loom_read(loom_gradient(x), list)
  call expect(all(list == [2, 4, 6]), __LINE__)
  call loom_clear_gradient(x)
  z = loom_gradient(x)
  call expect(z%is_null(), __LINE__)
  call loom_grad_enabled(.false.)
  call expect(.not. loom_requires_grad(x * 2), __LINE__)
  call loom_assign(x, x + 1)
  call loom_grad_enabled(.true.)
  call loom_read(loom_detach(x), list)
  call expect(all(list == [2, 3, 4]), __LINE__)

  call loom_scope_begin()
  y = loom_new(7.0)
  call expect(size(loom_shape(y)) == 0, __LINE__)
  z = y + 1
  call loom_keep(z)
  call loom_scope_end()
  call loom_read(z, value)
  call expect(value == 8, __LINE__)
  call loom_release(z)
  call programs()
  call loom_scope_end()
  call expect(loom_live_handles() == 0, __LINE__)
  call loom_stop()
  print "(a)", "works"

contains

  subroutine programs()
    type(tensor) :: x, one, zero, total
    type(tensor), allocatable :: found(:), slopes(:)
    type(loom_linear_map) :: map
    type(loom_capture) :: step
    complex(real32), allocatable :: z(:)
    logical :: truth
    x = loom_new([1.0, 2.0, 3.0])
    one = loom_new([1.0, 0.0, 0.0])
    zero = loom_new(0.0)
    found = loom_scan(running, [zero], [x], ys_count=1, reverse=.true.)
    call loom_read(found(1), value)
    call loom_read(found(2), list)
    call expect(value == 6 .and. all(list == [5, 3, 0]), __LINE__)
    found = loom_scan(increased, [zero], length=4)
    call loom_read(found(1), value)
    call expect(value == 4, __LINE__)
    found = loom_while_loop(small, doubled, [loom_new(3.0)])
    call loom_read(found(1), value)
    call expect(value == 192, __LINE__)
    found = loom_cond(loom_new(.true.), doubled, increased, [x])
    call loom_read(found(1), list)
    call expect(all(list == [2, 4, 6]), __LINE__)

    call loom_stop_on_error(.false.)
    found = loom_scan(wrong, [zero], [x])
    failure = loom_last_error()
    call expect(failure%status == loom_error_shape .and. failure%op == "add", __LINE__)
    found = loom_cond(loom_new(.true.), doubled, increased, [x], count=2)
    failure = loom_last_error()
    call expect(failure%status == loom_error_argument, __LINE__)
    call expect(index(failure%message, "the function gave 1 tensors, expected 2") > 0, __LINE__)
    ! the first failure is the one that is told
    x = x + loom_new([1.0, 2.0])
    x = x * 2
    failure = loom_last_error()
    call expect(failure%op == "add", __LINE__)
    call loom_stop_on_error(.true.)

    x = loom_new([1.0, 2.0, 3.0])
    call loom_vjp(squared, [x], found, map)
    slopes = loom_apply(map, [loom_new(2.0)])
    call loom_read(slopes(1), list)
    call expect(all(list == [4, 8, 12]), __LINE__)
    call loom_linear_map_release(map)
    call loom_linearize(squared, [x], found, map)
    slopes = loom_apply(map, [one])
    call loom_read(slopes(1), value)
    call expect(value == 2, __LINE__)
    call loom_linear_map_release(map)
    call loom_jvp(squared, [x], [one], found, slopes)
    call loom_read(slopes(1), value)
    call expect(value == 2, __LINE__)
    call loom_value_and_grad(squared, [x, one], found, slopes, positions=[1])
    call loom_read(found(1), value)
    call loom_read(slopes(1), list)
    call expect(value == 14 .and. size(slopes) == 1 .and. all(list == [2, 4, 6]), __LINE__)
    found = loom_jacobian(squared, [x])
    call loom_read(found(1), list)
    call expect(all(list == [2, 4, 6]), __LINE__)
    found = loom_hessian(squared, [x])
    call loom_read(found(1), matrix)
    call expect(sum(matrix) == 6, __LINE__)
    found = loom_vmap(squared, [loom_new(reshape([1.0, 2.0, 3.0, 4.0], [2, 2]))], [1_int64])
    call loom_read(found(1), list)
    call expect(all(list == [5, 25]), __LINE__)
    call loom_require_grad(x)
    found = loom_grad([x * x], [x], [one])
    call loom_read(found(1), list)
    call expect(all(list == [2, 0, 0]), __LINE__)

    total = loom_new(1.0)
    one = loom_new(2.0)
    call loom_capture_begin([total, one])
    call loom_assign(total, total + one)
    step = loom_capture_end([total * 10])
    call loom_read(total, value)
    found = loom_capture_run(step, [total, loom_new(5.0)])
    call expect(value == 3, __LINE__)
    call loom_read(found(1), value)
    call expect(value == 80, __LINE__)
    call loom_capture_release(step)

    call loom_read(loom_new([(0.0, 1.0), (2.0, 0.0)]) * (0.0, 1.0), z)
    call expect(all(z == [(-1.0, 0.0), (0.0, 2.0)]), __LINE__)
    call loom_read(loom_new(.true.), truth)
    call expect(truth, __LINE__)
    call loom_set_option("reads", 2.0_real64)
    call expect(loom_option("reads") == 2, __LINE__)
    call loom_set_option("reads", 0.0_real64)
    x = zero + 1
    call expect(loom_wait([x], 60.0_real64) .and. loom_is_ready(x), __LINE__)
    call expect(index(loom_evaluations_json(1), "[{") == 1, __LINE__)
    call expect(loom_profile_json() == "{}", __LINE__)
    call loom_profile_begin()
    call loom_profile_end()
    call expect(index(loom_profile_json(), '"findings"') > 0, __LINE__)
    call expect(index(loom_options_json(), "{") == 1, __LINE__)
    call expect(len(loom_last_evaluation()) > 0, __LINE__)
  end subroutine

  subroutine expect(holds, line)
    logical, intent(in) :: holds
    integer, intent(in) :: line
    if (holds) return
    print "(a, i0, a)", "layer.F90:", line, ": the condition does not hold"
    error stop 1
  end subroutine

end program
