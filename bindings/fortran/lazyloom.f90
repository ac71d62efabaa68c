! Lazyloom for Fortran 2018: operations are recorded as they are called and compiled, as one
! program, when a value is needed.
!
!   use lazyloom
!   type(tensor) :: x, y
!   real :: value
!   call loom_start()
!   x = loom_new([1.0, 2.0, 3.0])
!   y = loom_sum((x + 1) * 2)          ! recorded, not computed
!   call loom_read(y, value)           ! compiled and run
!   call loom_stop()
!
! Every op is a function, loom_ and its name; attributes with a default are optional arguments.
! Operands are tensors or numbers. Axes count from 0. What fails stops the program with a message,
! or, after loom_stop_on_error(.false.), gives null tensors and is told by loom_last_error().
module lazyloom
  use, intrinsic :: iso_fortran_env, only: int32, real32, real64
  use lazyloom_c, only: &
      loom_ok, loom_error_argument, loom_error_shape, loom_error_dtype, loom_error_execution, &
      loom_error_handle, loom_bool, loom_int8, loom_int16, loom_int32, loom_int64, loom_uint8, &
      loom_uint16, loom_uint32, loom_uint64, loom_float16, loom_bfloat16, loom_float32, &
      loom_float64, loom_complex64, loom_complex128
  use lazyloom_core, only: &
      tensor, loom_failure, loom_stop_on_error, loom_last_error, loom_at, loom_start, loom_stop, &
      loom_scope_begin, loom_scope_end, loom_keep, loom_release
  use lazyloom_tensors
  use lazyloom_programs
  use lazyloom_ops
  implicit none

  ! Of a number and a tensor; of a tensor, the other operand may be anything.
  interface operator(+)
    module procedure plus, int32_plus, real32_plus, real64_plus
  end interface
  interface operator(-)
    module procedure minus, int32_minus, real32_minus, real64_minus, minus_one
  end interface
  interface operator(*)
    module procedure times, int32_times, real32_times, real64_times
  end interface
  interface operator(/)
    module procedure over, int32_over, real32_over, real64_over
  end interface

  private :: plus, int32_plus, real32_plus, real64_plus
  private :: minus, int32_minus, real32_minus, real64_minus, minus_one
  private :: times, int32_times, real32_times, real64_times
  private :: over, int32_over, real32_over, real64_over
  private :: int32, real32, real64

contains

  function plus(x, y) result(found)
    type(tensor), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    found = loom_add(x, y)
  end function

  function int32_plus(x, y) result(found)
    integer(int32), intent(in) :: x
    type(tensor), intent(in) :: y
    type(tensor) :: found
    found = loom_add(x, y)
  end function

  function real32_plus(x, y) result(found)
    real(real32), intent(in) :: x
    type(tensor), intent(in) :: y
    type(tensor) :: found
    found = loom_add(x, y)
  end function

  function real64_plus(x, y) result(found)
    real(real64), intent(in) :: x
    type(tensor), intent(in) :: y
    type(tensor) :: found
    found = loom_add(x, y)
  end function

  function minus(x, y) result(found)
    type(tensor), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    found = loom_subtract(x, y)
  end function

  function int32_minus(x, y) result(found)
    integer(int32), intent(in) :: x
    type(tensor), intent(in) :: y
    type(tensor) :: found
    found = loom_subtract(x, y)
  end function

  function real32_minus(x, y) result(found)
    real(real32), intent(in) :: x
    type(tensor), intent(in) :: y
    type(tensor) :: found
    found = loom_subtract(x, y)
  end function

  function real64_minus(x, y) result(found)
    real(real64), intent(in) :: x
    type(tensor), intent(in) :: y
    type(tensor) :: found
    found = loom_subtract(x, y)
  end function

  function times(x, y) result(found)
    type(tensor), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    found = loom_multiply(x, y)
  end function

  function int32_times(x, y) result(found)
    integer(int32), intent(in) :: x
    type(tensor), intent(in) :: y
    type(tensor) :: found
    found = loom_multiply(x, y)
  end function

  function real32_times(x, y) result(found)
    real(real32), intent(in) :: x
    type(tensor), intent(in) :: y
    type(tensor) :: found
    found = loom_multiply(x, y)
  end function

  function real64_times(x, y) result(found)
    real(real64), intent(in) :: x
    type(tensor), intent(in) :: y
    type(tensor) :: found
    found = loom_multiply(x, y)
  end function

  function over(x, y) result(found)
    type(tensor), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    found = loom_divide(x, y)
  end function

  function int32_over(x, y) result(found)
    integer(int32), intent(in) :: x
    type(tensor), intent(in) :: y
    type(tensor) :: found
    found = loom_divide(x, y)
  end function

  function real32_over(x, y) result(found)
    real(real32), intent(in) :: x
    type(tensor), intent(in) :: y
    type(tensor) :: found
    found = loom_divide(x, y)
  end function

  function real64_over(x, y) result(found)
    real(real64), intent(in) :: x
    type(tensor), intent(in) :: y
    type(tensor) :: found
    found = loom_divide(x, y)
  end function

  function minus_one(x) result(found)
    type(tensor), intent(in) :: x
    type(tensor) :: found
    found = loom_negative(x)
  end function

end module
