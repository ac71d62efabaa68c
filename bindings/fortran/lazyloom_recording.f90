! Ops as they are recorded: operands and attributes for one call of C.
module lazyloom_recording
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: real32, real64, int32, int64
  use lazyloom_c
  use lazyloom_core
  implicit none
  private

  ! An op that is being recorded: its operands and attributes so far.
  type, public :: recording
    type(loom_operand_t), allocatable :: given(:)
    type(loom_attr_t), allocatable :: attributes(:)
    ! what attributes point to
    integer(c_int64_t), allocatable :: integers(:)
    real(c_double), allocatable :: reals(:)
    character(kind=c_char), allocatable :: texts(:)
    ! where in these each attribute's name and value begin
    integer, allocatable :: names(:), places(:)
    integer :: wrong = 0
  contains
    procedure :: operand
    procedure :: operands
    procedure :: one
    procedure :: several
    procedure :: list
    procedure :: dtype
    procedure, private :: apply
    procedure, private :: attribute_logical
    procedure, private :: attribute_integer
    procedure, private :: attribute_real
    procedure, private :: attribute_text
    procedure, private :: attribute_integers
    procedure, private :: attribute_reals
    generic :: attribute => attribute_logical, attribute_integer, attribute_real, attribute_text, &
        attribute_integers, attribute_reals
  end type

contains

  ! ---- the recording of ops ------------------------------------------------------------------

  subroutine begin(self)
    class(recording), intent(inout) :: self
    if (allocated(self%given)) return
    allocate (self%given(0), self%attributes(0), self%integers(0), self%reals(0), &
        self%texts(0), self%names(0), self%places(0))
  end subroutine

  ! Adds an operand: a tensor, a number, or nothing.
  subroutine operand(self, value)
    class(recording), intent(inout) :: self
    class(*), intent(in), optional :: value
    type(loom_operand_t) :: made
    call begin(self)
    made = loom_operand_t(loom_operand_none, 0, 0, 0, 0, 0)
    if (present(value)) then
      select type (value)
      type is (tensor)
        made%kind = loom_operand_tensor
        made%tensor = value%handle%bits
      type is (real(real32))
        made%kind = loom_operand_real
        made%real = value
      type is (real(real64))
        made%kind = loom_operand_real
        made%real = value
      type is (integer(int32))
        made%kind = loom_operand_integer
        made%integer = value
      type is (integer(int64))
        made%kind = loom_operand_integer
        made%integer = value
      type is (logical)
        made%kind = loom_operand_bool
        made%integer = merge(1, 0, value)
      type is (complex(real32))
        made%kind = loom_operand_complex
        made%real = real(value)
        made%imaginary = aimag(value)
      type is (complex(real64))
        made%kind = loom_operand_complex
        made%real = real(value)
        made%imaginary = aimag(value)
      class default
        self%wrong = size(self%given) + 1
      end select
    end if
    self%given = [self%given, made]
  end subroutine

  subroutine operands(self, tensors)
    class(recording), intent(inout) :: self
    type(tensor), intent(in) :: tensors(:)
    integer :: i
    call begin(self)
    do i = 1, size(tensors)
      call self%operand(tensors(i))
    end do
  end subroutine

  ! Adds an attribute; what it points to is found when all are there, for lists move as they grow.
  subroutine put(self, name, kind, value, place, count)
    class(recording), intent(inout) :: self
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: kind
    integer(c_int64_t), intent(in) :: value
    integer, intent(in) :: place, count
    self%names = [self%names, size(self%texts) + 1]
    self%texts = [character(kind=c_char, len=1) :: self%texts, letters_of(name)]
    self%places = [self%places, place]
    self%attributes = [self%attributes, &
        loom_attr_t(c_null_ptr, kind, int(count, c_size_t), value)]
  end subroutine

  subroutine attribute_logical(self, name, value)
    class(recording), intent(inout) :: self
    character(*), intent(in) :: name
    logical, intent(in) :: value
    call begin(self)
    call put(self, name, loom_attr_bool, merge(1_c_int64_t, 0_c_int64_t, value), 0, 0)
  end subroutine

  subroutine attribute_integer(self, name, value)
    class(recording), intent(inout) :: self
    character(*), intent(in) :: name
    integer, intent(in) :: value
    call begin(self)
    call put(self, name, loom_attr_int, int(value, c_int64_t), 0, 0)
  end subroutine

  subroutine dtype(self, name, value)
    class(recording), intent(inout) :: self
    character(*), intent(in) :: name
    integer, intent(in) :: value
    call begin(self)
    call put(self, name, loom_attr_dtype, int(value, c_int64_t), 0, 0)
  end subroutine

  subroutine attribute_real(self, name, value)
    class(recording), intent(inout) :: self
    character(*), intent(in) :: name
    real(real64), intent(in) :: value
    call begin(self)
    call put(self, name, loom_attr_float, transfer(value, 0_c_int64_t), 0, 0)
  end subroutine

  subroutine attribute_text(self, name, value)
    class(recording), intent(inout) :: self
    character(*), intent(in) :: name, value
    integer :: place
    call begin(self)
    place = size(self%texts) + 1
    self%texts = [character(kind=c_char, len=1) :: self%texts, letters_of(value)]
    call put(self, name, loom_attr_str, 0_c_int64_t, place, 0)
  end subroutine

  subroutine attribute_integers(self, name, values)
    class(recording), intent(inout) :: self
    character(*), intent(in) :: name
    integer, intent(in) :: values(:)
    integer :: place
    call begin(self)
    place = size(self%integers) + 1
    ! one more, so that an empty list has an address
    self%integers = [self%integers, int(values, c_int64_t), 0_c_int64_t]
    call put(self, name, loom_attr_ints, 0_c_int64_t, place, size(values))
  end subroutine

  subroutine attribute_reals(self, name, values)
    class(recording), intent(inout) :: self
    character(*), intent(in) :: name
    real(real64), intent(in) :: values(:)
    integer :: place
    call begin(self)
    place = size(self%reals) + 1
    self%reals = [self%reals, values, 0.0_c_double]
    call put(self, name, loom_attr_floats, 0_c_int64_t, place, size(values))
  end subroutine

  function apply(self, op, capacity) result(found)
    class(recording), intent(inout), target :: self
    character(*), intent(in) :: op
    integer, intent(in) :: capacity
    type(tensor), allocatable :: found(:)
    type(loom_tensor_t), target :: made(capacity)
    character(kind=c_char), allocatable, target :: name(:)
    integer(c_size_t), target :: count
    type(loom_operand_t), allocatable, target :: given(:)
    type(loom_attr_t), allocatable, target :: attributes(:)
    integer(c_int64_t), allocatable, target :: integers(:)
    real(c_double), allocatable, target :: reals(:)
    character(kind=c_char), allocatable, target :: texts(:)
    integer :: i
    call begin(self)
    name = letters_of(op)
    count = 0
    texts = self%texts
    integers = self%integers
    reals = self%reals
    given = self%given
    attributes = self%attributes
    do i = 1, size(attributes)
      attributes(i)%name = c_loc(texts(self%names(i)))
      select case (attributes(i)%kind)
      case (loom_attr_str)
        attributes(i)%value = transfer(c_loc(texts(self%places(i))), 0_c_int64_t)
      case (loom_attr_ints)
        attributes(i)%value = transfer(c_loc(integers(self%places(i))), 0_c_int64_t)
      case (loom_attr_floats)
        attributes(i)%value = transfer(c_loc(reals(self%places(i))), 0_c_int64_t)
      end select
    end do
    if (self%wrong > 0) then
      name = letters_of(op // ": an operand is neither a tensor nor a number")
      call check(c_loom_set_error(loom_error_argument, c_loc(name)))
    else
      call check(c_loom_apply(c_loc(name), address_of_operands(given), &
          size(given, kind=c_size_t), address_of_attributes(attributes), &
          size(attributes, kind=c_size_t), c_loc(made), int(capacity, c_size_t), c_loc(count)))
    end if
    allocate (found(count))
    do i = 1, int(count)
      found(i) = own(made(i))
    end do
  end function

  ! An array of no elements has no address that may be asked for.
  function address_of_operands(list) result(found)
    type(loom_operand_t), intent(in), target :: list(:)
    type(c_ptr) :: found
    found = c_null_ptr
    if (size(list) > 0) found = c_loc(list(1))
  end function

  function address_of_attributes(list) result(found)
    type(loom_attr_t), intent(in), target :: list(:)
    type(c_ptr) :: found
    found = c_null_ptr
    if (size(list) > 0) found = c_loc(list(1))
  end function

  function one(self, op) result(found)
    class(recording), intent(inout) :: self
    character(*), intent(in) :: op
    type(tensor) :: found
    type(tensor), allocatable :: results(:)
    results = self%apply(op, 1)
    if (size(results) > 0) found = results(1)
  end function

  function several(self, op, count) result(found)
    class(recording), intent(inout) :: self
    character(*), intent(in) :: op
    integer, intent(in) :: count
    type(tensor) :: found(count)
    type(tensor), allocatable :: results(:)
    results = self%apply(op, count)
    found(:size(results)) = results
  end function

  ! Of an op whose number of results depends on the call: at most one for each operand, and for
  ! each entry of a list among its attributes, and a few.
  function list(self, op) result(found)
    class(recording), intent(inout) :: self
    character(*), intent(in) :: op
    type(tensor), allocatable :: found(:)
    call begin(self)
    found = self%apply(op, size(self%given) + size(self%integers) + 8)
  end function

end module
