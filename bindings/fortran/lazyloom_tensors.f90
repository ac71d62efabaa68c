! Tensors: from and to host memory, gradients, writes, counters.
module lazyloom_tensors
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: real32, real64, int8, int32, int64
  use lazyloom_c
  use lazyloom_core
  implicit none
  private

  ! A tensor with a copy of an array. Arrays of two dimensions keep their indices: they are
  ! transposed, because a tensor is stored by rows. A list of values by rows takes a shape.
  interface loom_new
    module procedure new_real32, new_real64, new_int32, new_int64
    module procedure new_real32_scalar, new_real64_scalar, new_int32_scalar
    module procedure new_real32_matrix, new_real64_matrix
    module procedure new_logical, new_logical_scalar, new_int64_scalar
    module procedure new_complex32, new_complex64, new_complex32_scalar, new_complex64_scalar
  end interface

  ! The contents, computed if they are pending: a scalar, a list by rows, or a matrix. The type has
  ! to be that of the elements.
  interface loom_read
    module procedure read_real32, read_real64, read_int32, read_int64, read_logical
    module procedure read_real32_scalar, read_real64_scalar, read_int64_scalar
    module procedure read_real32_matrix, read_real64_matrix
    module procedure read_int32_scalar, read_logical_scalar
    module procedure read_complex32, read_complex64, read_complex32_scalar, read_complex64_scalar
  end interface

  ! that of a scalar, which cannot be told from none where an argument is optional
  integer, parameter :: no_shape(0) = [integer ::]

  public :: loom_new, loom_read, loom_shape, loom_dtype_of, loom_require_grad, loom_assign
  public :: loom_requires_grad, loom_detach, loom_backward, loom_gradient, loom_clear_gradient
  public :: loom_grad_enabled, loom_stat, loom_live_handles

contains

  ! ---- from host memory ----------------------------------------------------------------------

  function from_memory(data, nbytes, dtype, shape) result(found)
    type(c_ptr), intent(in) :: data
    integer(c_size_t), intent(in) :: nbytes
    integer(c_int), intent(in) :: dtype
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    integer(c_int64_t), target :: extents(size(shape) + 1)
    type(loom_tensor_t), target :: made
    extents(:size(shape)) = shape
    call check(c_loom_tensor_from_host(data, nbytes, dtype, c_loc(extents), &
        size(shape, kind=c_size_t), c_loc(made)))
    found = own(made)
  end function

  function extents_of(count, shape) result(found)
    integer, intent(in) :: count
    integer, intent(in), optional :: shape(:)
    integer, allocatable :: found(:)
    if (present(shape)) then
      found = shape
    else
      found = [count]
    end if
  end function

  function new_real32(values, shape) result(found)
    real(real32), intent(in) :: values(:)
    integer, intent(in), optional :: shape(:)
    type(tensor) :: found
    real(real32), target :: copy(size(values))
    copy = values
    found = from_memory(c_loc(copy), 4 * size(copy, kind=c_size_t), loom_float32, &
        extents_of(size(values), shape))
  end function

  function new_real64(values, shape) result(found)
    real(real64), intent(in) :: values(:)
    integer, intent(in), optional :: shape(:)
    type(tensor) :: found
    real(real64), target :: copy(size(values))
    copy = values
    found = from_memory(c_loc(copy), 8 * size(copy, kind=c_size_t), loom_float64, &
        extents_of(size(values), shape))
  end function

  function new_int32(values, shape) result(found)
    integer(int32), intent(in) :: values(:)
    integer, intent(in), optional :: shape(:)
    type(tensor) :: found
    integer(int32), target :: copy(size(values))
    copy = values
    found = from_memory(c_loc(copy), 4 * size(copy, kind=c_size_t), loom_int32, &
        extents_of(size(values), shape))
  end function

  function new_int64(values, shape) result(found)
    integer(int64), intent(in) :: values(:)
    integer, intent(in), optional :: shape(:)
    type(tensor) :: found
    integer(int64), target :: copy(size(values))
    copy = values
    found = from_memory(c_loc(copy), 8 * size(copy, kind=c_size_t), loom_int64, &
        extents_of(size(values), shape))
  end function

  function new_real32_scalar(value) result(found)
    real(real32), intent(in) :: value
    type(tensor) :: found
    real(real32), target :: copy
    copy = value
    found = from_memory(c_loc(copy), 4_c_size_t, loom_float32, no_shape)
  end function

  function new_real64_scalar(value) result(found)
    real(real64), intent(in) :: value
    type(tensor) :: found
    real(real64), target :: copy
    copy = value
    found = from_memory(c_loc(copy), 8_c_size_t, loom_float64, no_shape)
  end function

  function new_int32_scalar(value) result(found)
    integer(int32), intent(in) :: value
    type(tensor) :: found
    integer(int32), target :: copy
    copy = value
    found = from_memory(c_loc(copy), 4_c_size_t, loom_int32, no_shape)
  end function

  function new_int64_scalar(value) result(found)
    integer(int64), intent(in) :: value
    type(tensor) :: found
    integer(int64), target :: copy
    copy = value
    found = from_memory(c_loc(copy), 8_c_size_t, loom_int64, no_shape)
  end function

  function new_logical(values, shape) result(found)
    logical, intent(in) :: values(:)
    integer, intent(in), optional :: shape(:)
    type(tensor) :: found
    integer(int8), target :: copy(size(values))
    copy = merge(1_int8, 0_int8, values)
    found = from_memory(c_loc(copy), size(copy, kind=c_size_t), loom_bool, &
        extents_of(size(values), shape))
  end function

  function new_logical_scalar(value) result(found)
    logical, intent(in) :: value
    type(tensor) :: found
    integer(int8), target :: copy
    copy = merge(1_int8, 0_int8, value)
    found = from_memory(c_loc(copy), 1_c_size_t, loom_bool, no_shape)
  end function

  function new_complex32(values, shape) result(found)
    complex(real32), intent(in) :: values(:)
    integer, intent(in), optional :: shape(:)
    type(tensor) :: found
    complex(real32), target :: copy(size(values))
    copy = values
    found = from_memory(c_loc(copy), 8 * size(copy, kind=c_size_t), loom_complex64, &
        extents_of(size(values), shape))
  end function

  function new_complex64(values, shape) result(found)
    complex(real64), intent(in) :: values(:)
    integer, intent(in), optional :: shape(:)
    type(tensor) :: found
    complex(real64), target :: copy(size(values))
    copy = values
    found = from_memory(c_loc(copy), 16 * size(copy, kind=c_size_t), loom_complex128, &
        extents_of(size(values), shape))
  end function

  function new_complex32_scalar(value) result(found)
    complex(real32), intent(in) :: value
    type(tensor) :: found
    complex(real32), target :: copy
    copy = value
    found = from_memory(c_loc(copy), 8_c_size_t, loom_complex64, no_shape)
  end function

  function new_complex64_scalar(value) result(found)
    complex(real64), intent(in) :: value
    type(tensor) :: found
    complex(real64), target :: copy
    copy = value
    found = from_memory(c_loc(copy), 16_c_size_t, loom_complex128, no_shape)
  end function

  function new_real32_matrix(values) result(found)
    real(real32), intent(in) :: values(:, :)
    type(tensor) :: found
    found = new_real32(reshape(transpose(values), [size(values)]), shape(values))
  end function

  function new_real64_matrix(values) result(found)
    real(real64), intent(in) :: values(:, :)
    type(tensor) :: found
    found = new_real64(reshape(transpose(values), [size(values)]), shape(values))
  end function

  ! ---- to host memory ------------------------------------------------------------------------

  function loom_shape(t) result(found)
    type(tensor), intent(in) :: t
    integer, allocatable :: found(:)
    integer(c_int64_t), target :: extents(32)
    integer(c_size_t), target :: ndim
    ndim = 0
    call check(c_loom_tensor_shape(t%handle, c_loc(extents), 32_c_size_t, c_loc(ndim)))
    found = int(extents(:ndim))
  end function

  integer function loom_dtype_of(t)
    type(tensor), intent(in) :: t
    integer(c_int), target :: found
    found = 0
    call check(c_loom_tensor_dtype(t%handle, c_loc(found)))
    loom_dtype_of = found
  end function

  ! The number of elements of a tensor that is to be read as another dtype's; -1 after an error.
  integer function readable(t, dtype)
    type(tensor), intent(in) :: t
    integer(c_int), intent(in) :: dtype
    character(kind=c_char), allocatable, target :: message(:)
    integer :: own_dtype
    own_dtype = loom_dtype_of(t)
    readable = -1
    if (own_dtype == 0) return
    readable = product(loom_shape(t))
    if (own_dtype == dtype) return
    message = letters_of("loom_read: the tensor's dtype is " // &
        text_of(c_loom_dtype_name(int(own_dtype, c_int))) // &
        ", expected elements of that type, given " // text_of(c_loom_dtype_name(dtype)) // &
        "; loom_cast() gives another dtype")
    call check(c_loom_set_error(loom_error_dtype, c_loc(message)))
    readable = -1
  end function

  subroutine read_real32(t, values)
    type(tensor), intent(in) :: t
    real(real32), intent(out), allocatable, target :: values(:)
    integer :: n
    n = readable(t, loom_float32)
    allocate (values(max(n, 0)))
    if (n >= 0) call check(c_loom_tensor_read(t%handle, c_loc(values), 4 * int(n, c_size_t)))
  end subroutine

  subroutine read_real64(t, values)
    type(tensor), intent(in) :: t
    real(real64), intent(out), allocatable, target :: values(:)
    integer :: n
    n = readable(t, loom_float64)
    allocate (values(max(n, 0)))
    if (n >= 0) call check(c_loom_tensor_read(t%handle, c_loc(values), 8 * int(n, c_size_t)))
  end subroutine

  subroutine read_int32(t, values)
    type(tensor), intent(in) :: t
    integer(int32), intent(out), allocatable, target :: values(:)
    integer :: n
    n = readable(t, loom_int32)
    allocate (values(max(n, 0)))
    if (n >= 0) call check(c_loom_tensor_read(t%handle, c_loc(values), 4 * int(n, c_size_t)))
  end subroutine

  subroutine read_int64(t, values)
    type(tensor), intent(in) :: t
    integer(int64), intent(out), allocatable, target :: values(:)
    integer :: n
    n = readable(t, loom_int64)
    allocate (values(max(n, 0)))
    if (n >= 0) call check(c_loom_tensor_read(t%handle, c_loc(values), 8 * int(n, c_size_t)))
  end subroutine

  subroutine read_logical(t, values)
    type(tensor), intent(in) :: t
    logical, intent(out), allocatable :: values(:)
    integer(int8), allocatable, target :: bytes(:)
    integer :: n
    n = readable(t, loom_bool)
    allocate (bytes(max(n, 0)))
    if (n >= 0) call check(c_loom_tensor_read(t%handle, c_loc(bytes), int(n, c_size_t)))
    values = bytes /= 0
  end subroutine

  subroutine read_real32_scalar(t, value)
    type(tensor), intent(in) :: t
    real(real32), intent(out) :: value
    real(real32), allocatable :: values(:)
    call read_real32(t, values)
    value = 0
    if (one_of(size(values))) value = values(1)
  end subroutine

  subroutine read_real64_scalar(t, value)
    type(tensor), intent(in) :: t
    real(real64), intent(out) :: value
    real(real64), allocatable :: values(:)
    call read_real64(t, values)
    value = 0
    if (one_of(size(values))) value = values(1)
  end subroutine

  subroutine read_int64_scalar(t, value)
    type(tensor), intent(in) :: t
    integer(int64), intent(out) :: value
    integer(int64), allocatable :: values(:)
    call read_int64(t, values)
    value = 0
    if (one_of(size(values))) value = values(1)
  end subroutine

  subroutine read_int32_scalar(t, value)
    type(tensor), intent(in) :: t
    integer(int32), intent(out) :: value
    integer(int32), allocatable :: values(:)
    call read_int32(t, values)
    value = 0
    if (one_of(size(values))) value = values(1)
  end subroutine

  subroutine read_logical_scalar(t, value)
    type(tensor), intent(in) :: t
    logical, intent(out) :: value
    logical, allocatable :: values(:)
    call read_logical(t, values)
    value = .false.
    if (one_of(size(values))) value = values(1)
  end subroutine

  subroutine read_complex32(t, values)
    type(tensor), intent(in) :: t
    complex(real32), intent(out), allocatable, target :: values(:)
    integer :: n
    n = readable(t, loom_complex64)
    allocate (values(max(n, 0)))
    if (n >= 0) call check(c_loom_tensor_read(t%handle, c_loc(values), 8 * int(n, c_size_t)))
  end subroutine

  subroutine read_complex64(t, values)
    type(tensor), intent(in) :: t
    complex(real64), intent(out), allocatable, target :: values(:)
    integer :: n
    n = readable(t, loom_complex128)
    allocate (values(max(n, 0)))
    if (n >= 0) call check(c_loom_tensor_read(t%handle, c_loc(values), 16 * int(n, c_size_t)))
  end subroutine

  subroutine read_complex32_scalar(t, value)
    type(tensor), intent(in) :: t
    complex(real32), intent(out) :: value
    complex(real32), allocatable :: values(:)
    call read_complex32(t, values)
    value = 0
    if (one_of(size(values))) value = values(1)
  end subroutine

  subroutine read_complex64_scalar(t, value)
    type(tensor), intent(in) :: t
    complex(real64), intent(out) :: value
    complex(real64), allocatable :: values(:)
    call read_complex64(t, values)
    value = 0
    if (one_of(size(values))) value = values(1)
  end subroutine

  subroutine read_real32_matrix(t, values)
    type(tensor), intent(in) :: t
    real(real32), intent(out), allocatable :: values(:, :)
    real(real32), allocatable :: list(:)
    integer, allocatable :: extents(:)
    call read_real32(t, list)
    extents = loom_shape(t)
    if (matrix(extents, size(list))) then
      values = transpose(reshape(list, [extents(2), extents(1)]))
    else
      allocate (values(0, 0))
    end if
  end subroutine

  subroutine read_real64_matrix(t, values)
    type(tensor), intent(in) :: t
    real(real64), intent(out), allocatable :: values(:, :)
    real(real64), allocatable :: list(:)
    integer, allocatable :: extents(:)
    call read_real64(t, list)
    extents = loom_shape(t)
    if (matrix(extents, size(list))) then
      values = transpose(reshape(list, [extents(2), extents(1)]))
    else
      allocate (values(0, 0))
    end if
  end subroutine

  subroutine shape_error(message)
    character(*), intent(in) :: message
    character(kind=c_char), allocatable, target :: letters(:)
    letters = letters_of(message)
    call check(c_loom_set_error(loom_error_shape, c_loc(letters)))
  end subroutine

  logical function one_of(count)
    integer, intent(in) :: count
    character(20) :: number
    one_of = count == 1
    if (one_of .or. failed()) return
    write (number, "(i0)") count
    call shape_error("loom_read: the tensor has " // trim(number) // " elements, expected one")
  end function

  logical function matrix(extents, count)
    integer, intent(in) :: extents(:), count
    character(20) :: number
    matrix = size(extents) == 2 .and. product(extents) == count
    if (matrix .or. failed()) return
    write (number, "(i0)") size(extents)
    call shape_error("loom_read: the tensor has " // trim(number) // " dimensions, expected two")
  end function

  ! ---- gradients and writes ------------------------------------------------------------------

  subroutine loom_require_grad(t)
    type(tensor), intent(in) :: t
    call check(c_loom_tensor_require_grad(t%handle, .true._c_bool))
  end subroutine

  logical function loom_requires_grad(t)
    type(tensor), intent(in) :: t
    logical(c_bool), target :: found
    found = .false.
    call check(c_loom_tensor_requires_grad(t%handle, c_loc(found)))
    loom_requires_grad = found
  end function

  ! Writes value's contents into target, in place: every name of it sees them.
  subroutine loom_assign(target_, value)
    type(tensor), intent(in) :: target_, value
    call check(c_loom_tensor_assign(target_%handle, value%handle))
  end subroutine

  function loom_detach(t) result(found)
    type(tensor), intent(in) :: t
    type(tensor) :: found
    type(loom_tensor_t), target :: made
    call check(c_loom_tensor_detach(t%handle, c_loc(made)))
    found = own(made)
  end function

  ! Adds its gradients to what the leaves have collected.
  subroutine loom_backward(t)
    type(tensor), intent(in) :: t
    type(loom_tensor_t), target :: handle
    handle = t%handle
    call check(c_loom_backward(c_loc(handle), 1_c_size_t, c_null_ptr))
  end subroutine

  ! What loom_backward() collected for a leaf; null if nothing was.
  function loom_gradient(t) result(found)
    type(tensor), intent(in) :: t
    type(tensor) :: found
    type(loom_tensor_t), target :: made
    call check(c_loom_tensor_gradient(t%handle, c_loc(made)))
    found = own(made)
  end function

  subroutine loom_clear_gradient(t)
    type(tensor), intent(in) :: t
    call check(c_loom_tensor_clear_gradient(t%handle))
  end subroutine

  ! Switches the recording of gradients on this thread.
  subroutine loom_grad_enabled(enabled)
    logical, intent(in) :: enabled
    call check(c_loom_set_grad_enabled(logical(enabled, c_bool), c_null_ptr))
  end subroutine

  ! ---- observation ---------------------------------------------------------------------------

  ! A counter of the process, such as "programs_compiled".
  integer(int64) function loom_stat(name)
    character(*), intent(in) :: name
    character(kind=c_char), allocatable, target :: letters(:)
    integer(c_int64_t), target :: value
    letters = letters_of(name)
    value = 0
    call check(c_loom_stat(c_loc(letters), c_loc(value)))
    loom_stat = value
  end function

  ! The number of handles that are alive, for tests of leaks.
  integer function loom_live_handles()
    integer(c_size_t), target :: count
    count = 0
    call check(c_loom_live_handles(c_loc(count)))
    loom_live_handles = int(count)
  end function

end module
