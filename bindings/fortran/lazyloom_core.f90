! Errors, scopes and handles.
module lazyloom_core
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use lazyloom_c
  implicit none
  private

  ! An array whose contents may be pending. The scope that it was made in owns it; a variable of
  ! this type is a name for it, and a copy another one.
  type, public :: tensor
    type(loom_tensor_t) :: handle
  contains
    procedure :: is_null
  end type

  ! An error: its texts are "" where there is nothing to say.
  type, public :: loom_failure
    integer :: status = 0
    character(:), allocatable :: message, op, site, argument
    integer :: index = -1
  end type

  public :: loom_stop_on_error, loom_last_error, loom_at, loom_start, loom_stop
  public :: loom_scope_begin, loom_scope_end, loom_keep, loom_release
  public :: check, own, handles_of, letters_of, text_of, failed, status_so_far

  ! scopes within each other: the tensors of all, and how many there were when each began
  type(loom_tensor_t), allocatable :: owned(:)
  integer :: count_owned = 0
  integer, allocatable :: begins(:)
  logical :: stops = .true.
  type(loom_failure) :: last

contains

  ! ---- errors --------------------------------------------------------------------------------

  ! Whether an error stops the program, as it does at first. If not, functions give null tensors,
  ! and loom_last_error() says what was wrong.
  subroutine loom_stop_on_error(stop_then)
    logical, intent(in) :: stop_then
    stops = stop_then
  end subroutine

  ! The first failure since it was asked for last, which is then forgotten; its status is loom_ok if
  ! there was none.
  function loom_last_error() result(found)
    type(loom_failure) :: found
    found = last
    if (.not. allocated(found%message)) found%message = ""
    last = loom_failure()
  end function

  function text_of(text) result(found)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: found
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    found = ""
    if (.not. c_associated(text)) return
    call c_f_pointer(text, letters, [huge(0)])
    i = 0
    do while (letters(i + 1) /= c_null_char)
      i = i + 1
    end do
    found = repeat(" ", i)
    found = transfer(letters(:i), found)
  end function

  ! Keeps what this thread's last failure was, or stops with it, unless status is loom_ok.
  subroutine check(status)
    integer(c_int), intent(in) :: status
    type(loom_error_details_t), target :: details
    type(loom_failure) :: failure
    integer(c_int) :: described
    if (status == loom_ok) return
    details%size = c_sizeof(details)
    described = c_loom_error_describe(c_null_ptr, c_loc(details))
    failure%status = status
    if (described == loom_ok) then
      failure%message = text_of(details%message)
      failure%op = text_of(details%op)
      failure%site = text_of(details%site)
      failure%argument = text_of(details%argument)
      failure%index = int(details%index)
    else
      failure%message = text_of(c_loom_error_message())
    end if
    ! the first one says what was wrong: those after it are of what it gave
    if (last%status == loom_ok) last = failure
    if (.not. stops) return
    if (len(failure%site) > 0) failure%message = failure%site // ": " // failure%message
    write (error_unit, "(a)") failure%message
    error stop 1
  end subroutine

  ! Says which line the calls that follow stand for: call loom_at(__FILE__, __LINE__), where the
  ! preprocessor runs.
  subroutine loom_at(file, line)
    character(*), intent(in) :: file
    integer, intent(in) :: line
    character(kind=c_char), allocatable, target :: name(:)
    name = letters_of(file)
    call c_loom_copy_source_location(c_loc(name), int(line, c_int))
  end subroutine

  function letters_of(text) result(found)
    character(*), intent(in) :: text
    character(kind=c_char), allocatable :: found(:)
    integer :: i
    found = [(text(i:i), i=1, len(text)), c_null_char]
  end function

  ! ---- start, end, scopes --------------------------------------------------------------------

  subroutine loom_start()
    if (.not. allocated(owned)) allocate (owned(64), begins(0))
    call check(c_loom_initialize())
  end subroutine

  subroutine loom_stop()
    count_owned = 0
    if (allocated(begins)) deallocate (begins)
    allocate (begins(0))
    call check(c_loom_shutdown())
  end subroutine

  subroutine loom_scope_begin()
    if (.not. allocated(begins)) allocate (owned(64), begins(0))
    begins = [begins, count_owned]
  end subroutine

  ! Releases what was made since the last loom_scope_begin(), but for what was kept.
  subroutine loom_scope_end()
    integer :: i
    integer(c_int) :: status
    if (.not. allocated(begins)) return
    if (size(begins) == 0) return
    do i = begins(size(begins)) + 1, count_owned
      status = c_loom_tensor_release(owned(i))
    end do
    count_owned = begins(size(begins))
    begins = begins(:size(begins) - 1)
  end subroutine

  function own(handle) result(found)
    type(loom_tensor_t), intent(in) :: handle
    type(tensor) :: found
    found%handle = handle
    if (handle%bits == 0) return
    if (count_owned == size(owned)) owned = [owned, owned]
    count_owned = count_owned + 1
    owned(count_owned) = handle
  end function

  ! Lets a tensor live as long as the scope around the innermost one.
  subroutine loom_keep(t)
    type(tensor), intent(in) :: t
    type(loom_tensor_t) :: first
    integer :: i, place
    if (size(begins) == 0) return
    place = begins(size(begins)) + 1
    do i = place, count_owned
      if (owned(i)%bits == t%handle%bits) then
        first = owned(place)
        owned(place) = owned(i)
        owned(i) = first
        begins(size(begins)) = place
        return
      end if
    end do
  end subroutine

  ! Gives up a tensor before its scope ends.
  subroutine loom_release(t)
    type(tensor), intent(inout) :: t
    integer :: i
    do i = count_owned, 1, -1
      if (owned(i)%bits == t%handle%bits) then
        ! the null handle is released as nothing
        owned(i)%bits = 0
        exit
      end if
    end do
    call check(c_loom_tensor_release(t%handle))
    t%handle%bits = 0
    if (count_owned > 0) then
      if (owned(count_owned)%bits == 0 .and. last_begin() < count_owned) &
          count_owned = count_owned - 1
    end if
  end subroutine

  integer function last_begin()
    last_begin = 0
    if (size(begins) > 0) last_begin = begins(size(begins))
  end function

  logical function is_null(self)
    class(tensor), intent(in) :: self
    is_null = self%handle%bits == 0
  end function

  function handles_of(tensors) result(found)
    type(tensor), intent(in) :: tensors(:)
    type(loom_tensor_t), allocatable :: found(:)
    integer :: i
    ! one more, so that there is a first
    allocate (found(size(tensors) + 1))
    do i = 1, size(tensors)
      found(i) = tensors(i)%handle
    end do
  end function

  ! The status and the message of a failure that waits to be looked at.
  integer(c_int) function status_so_far(message)
    character(:), allocatable, intent(out) :: message
    status_so_far = int(last%status, c_int)
    message = ""
    if (allocated(last%message)) message = last%message
  end function

  ! Whether a failure waits to be looked at.
  logical function failed()
    failed = last%status /= loom_ok
  end function

end module
