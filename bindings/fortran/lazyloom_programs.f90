! Loops, branches, captured steps, transforms, waits and options.
module lazyloom_programs
  use, intrinsic :: iso_c_binding
  use lazyloom_c
  use lazyloom_core
  implicit none
  private

  abstract interface
    ! A function of tensors for a loop, a branch or a transform: it gives as many as are asked for.
    function loom_body(inputs) result(found)
      import :: tensor
      type(tensor), intent(in) :: inputs(:)
      type(tensor), allocatable :: found(:)
    end function
  end interface

  ! A step that was recorded once.
  type, public :: loom_capture
    private
    type(loom_capture_t) :: handle
    integer :: count = 0
  end type

  ! The derivative of a function at its inputs.
  type, public :: loom_linear_map
    private
    type(loom_linear_map_t) :: handle
    integer :: gives = 0
  end type

  ! The functions of one call, which go as its context.
  type :: functions
    procedure(loom_body), pointer, nopass :: first => null(), second => null()
  end type

  public :: loom_body, loom_scan, loom_while_loop, loom_cond
  public :: loom_capture_begin, loom_capture_end, loom_capture_cancel, loom_capture_run
  public :: loom_capture_release
  public :: loom_grad, loom_value_and_grad, loom_vjp, loom_linearize, loom_jvp, loom_apply
  public :: loom_linear_map_release, loom_jacobian, loom_hessian, loom_vmap, loom_unmapped
  public :: loom_sync, loom_wait, loom_is_ready
  public :: loom_option, loom_set_option, loom_options_json, loom_stats_json, loom_evaluations_json
  public :: loom_last_evaluation, loom_random_key
  public :: loom_profile_begin, loom_profile_end, loom_profile_json

  ! The axis of a tensor that has none of those of loom_vmap().
  integer(c_int64_t), parameter :: loom_unmapped = -huge(0_c_int64_t) - 1

contains

  ! ---- functions that C calls ----------------------------------------------------------------

  integer(c_int) function call_first(inputs, input_count, outputs, output_count, context) bind(c)
    type(loom_tensor_t), intent(in) :: inputs(*)
    integer(c_size_t), value :: input_count, output_count
    type(loom_tensor_t), intent(inout) :: outputs(*)
    type(c_ptr), value :: context
    type(functions), pointer :: both
    call c_f_pointer(context, both)
    call_first = called(both%first, inputs, int(input_count), outputs, int(output_count))
  end function

  integer(c_int) function call_second(inputs, input_count, outputs, output_count, context) bind(c)
    type(loom_tensor_t), intent(in) :: inputs(*)
    integer(c_size_t), value :: input_count, output_count
    type(loom_tensor_t), intent(inout) :: outputs(*)
    type(c_ptr), value :: context
    type(functions), pointer :: both
    call c_f_pointer(context, both)
    call_second = called(both%second, inputs, int(input_count), outputs, int(output_count))
  end function

  ! Calls a function in a scope of its own; what it gives outlives that.
  integer(c_int) function called(f, inputs, input_count, outputs, output_count) result(status)
    procedure(loom_body) :: f
    integer, intent(in) :: input_count, output_count
    type(loom_tensor_t), intent(in) :: inputs(input_count)
    type(loom_tensor_t), intent(inout) :: outputs(output_count)
    type(tensor) :: given(input_count)
    type(tensor), allocatable :: found(:)
    character(:), allocatable :: message
    character(kind=c_char), allocatable, target :: letters(:)
    character(80) :: text
    integer :: i
    status = loom_ok
    call loom_scope_begin()
    do i = 1, input_count
      ! the inputs stay the library's
      if (status == loom_ok) status = c_loom_tensor_retain(inputs(i))
      if (status == loom_ok) given(i) = own(inputs(i))
    end do
    if (status == loom_ok) then
      found = f(given)
      status = status_so_far(message)
      if (status /= loom_ok) then
        letters = letters_of(message)
        status = c_loom_set_error(status, c_loc(letters))
      else if (size(found) /= output_count) then
        write (text, "(a, i0, a, i0)") "the function gave ", size(found), " tensors, expected ", &
            output_count
        letters = letters_of(trim(text))
        status = c_loom_set_error(loom_error_argument, c_loc(letters))
      end if
    end if
    if (status == loom_ok) then
      do i = 1, output_count
        outputs(i) = found(i)%handle
        ! the library takes one owner of each; of its own inputs it has that already
        if (any(inputs%bits == outputs(i)%bits) .or. outputs(i)%bits == 0) cycle
        if (status == loom_ok) status = c_loom_tensor_retain(outputs(i))
      end do
    end if
    call loom_scope_end()
  end function

  function room(count) result(found)
    integer, intent(in) :: count
    type(loom_tensor_t), allocatable :: found(:)
    ! one more, so that there is a first
    allocate (found(count + 1))
  end function

  function owned_list(handles, first, count) result(found)
    type(loom_tensor_t), intent(in) :: handles(:)
    integer, intent(in) :: first, count
    type(tensor), allocatable :: found(:)
    integer :: i
    allocate (found(count))
    do i = 1, count
      found(i) = own(handles(first + i))
    end do
  end function

  ! ---- loops and branches --------------------------------------------------------------------

  ! The last carry, then what the steps gave, stacked. step: takes the carry, then one element of
  ! each of xs; gives the next carry, then ys_count tensors. length: the number of steps, where
  ! there are no xs. reverse: begins with the last element.
  function loom_scan(step, init, xs, ys_count, length, reverse) result(found)
    procedure(loom_body) :: step
    type(tensor), intent(in) :: init(:)
    type(tensor), intent(in), optional :: xs(:)
    integer, intent(in), optional :: ys_count, length
    logical, intent(in), optional :: reverse
    type(tensor), allocatable :: found(:)
    type(functions), target :: both
    type(loom_tensor_t), allocatable, target :: carry(:), over(:), made(:)
    integer(c_int64_t) :: steps
    integer :: ys, elements
    logical(c_bool) :: backwards
    ys = 0
    if (present(ys_count)) ys = ys_count
    steps = -1
    if (present(length)) steps = length
    backwards = .false.
    if (present(reverse)) backwards = reverse
    elements = 0
    over = room(0)
    if (present(xs)) then
      elements = size(xs)
      over = handles_of(xs)
    end if
    both%first => step
    carry = handles_of(init)
    made = room(size(init) + ys)
    call check(c_loom_scan(c_funloc(call_first), c_loc(both), c_loc(carry), &
        size(init, kind=c_size_t), c_loc(over), int(elements, c_size_t), steps, &
        int(ys, c_size_t), backwards, c_loc(made)))
    found = owned_list(made, 0, size(init) + ys)
  end function

  ! The last carry of a loop of body, which takes and gives the carry, while condition gives one
  ! bool that is true. max_steps: stops after so many.
  function loom_while_loop(condition, body, init, max_steps) result(found)
    procedure(loom_body) :: condition, body
    type(tensor), intent(in) :: init(:)
    integer, intent(in), optional :: max_steps
    type(tensor), allocatable :: found(:)
    type(functions), target :: both
    type(loom_tensor_t), allocatable, target :: carry(:), made(:)
    integer(c_int64_t) :: most
    most = -1
    if (present(max_steps)) most = max_steps
    both%first => condition
    both%second => body
    carry = handles_of(init)
    made = room(size(init))
    call check(c_loom_while_loop(c_funloc(call_first), c_funloc(call_second), c_loc(both), &
        c_loc(carry), size(init, kind=c_size_t), most, c_loc(made)))
    found = owned_list(made, 0, size(init))
  end function

  ! What one of two functions of the operands gives, count tensors each.
  function loom_cond(which, if_true, if_false, operands, count) result(found)
    type(tensor), intent(in) :: which
    procedure(loom_body) :: if_true, if_false
    type(tensor), intent(in) :: operands(:)
    integer, intent(in), optional :: count
    type(tensor), allocatable :: found(:)
    type(functions), target :: both
    type(loom_tensor_t), allocatable, target :: given(:), made(:)
    integer :: n
    n = 1
    if (present(count)) n = count
    both%first => if_true
    both%second => if_false
    given = handles_of(operands)
    made = room(n)
    call check(c_loom_cond(which%handle, c_funloc(call_first), c_funloc(call_second), &
        c_loc(both), c_loc(given), size(operands, kind=c_size_t), c_loc(made), int(n, c_size_t)))
    found = owned_list(made, 0, n)
  end function

  ! ---- captured steps ------------------------------------------------------------------------

  ! Begins a step that is recorded once: see loom_capture_begin() in lazyloom.h. What is recorded
  ! until loom_capture_end() is done by each loom_capture_run() over other inputs.
  subroutine loom_capture_begin(inputs)
    type(tensor), intent(in) :: inputs(:)
    type(loom_tensor_t), allocatable, target :: given(:)
    given = handles_of(inputs)
    call check(c_loom_capture_begin(c_loc(given), size(inputs, kind=c_size_t)))
  end subroutine

  ! Ends it; results: what each run gives.
  function loom_capture_end(results) result(found)
    type(tensor), intent(in) :: results(:)
    type(loom_capture) :: found
    type(loom_tensor_t), allocatable, target :: ends(:)
    type(loom_capture_t), target :: made
    ends = handles_of(results)
    call check(c_loom_capture_end(c_loc(ends), size(results, kind=c_size_t), c_loc(made)))
    found = loom_capture(made, size(results))
  end function

  ! Ends it, and keeps nothing of it.
  subroutine loom_capture_cancel()
    call check(c_loom_capture_cancel())
  end subroutine

  ! Runs it over what the inputs hold.
  function loom_capture_run(step, inputs) result(found)
    type(loom_capture), intent(in) :: step
    type(tensor), intent(in) :: inputs(:)
    type(tensor), allocatable :: found(:)
    type(loom_tensor_t), allocatable, target :: given(:), made(:)
    given = handles_of(inputs)
    made = room(step%count)
    call check(c_loom_capture_run(step%handle, c_loc(given), size(inputs, kind=c_size_t), &
        c_loc(made), int(step%count, c_size_t)))
    found = owned_list(made, 0, step%count)
  end function

  subroutine loom_capture_release(step)
    type(loom_capture), intent(inout) :: step
    call check(c_loom_capture_release(step%handle))
    step%handle%bits = 0
  end subroutine

  ! ---- gradients and transforms --------------------------------------------------------------

  ! The gradients of outputs with respect to inputs. cotangents: one for each output, needed where
  ! an output has dimensions.
  function loom_grad(outputs, inputs, cotangents) result(found)
    type(tensor), intent(in) :: outputs(:), inputs(:)
    type(tensor), intent(in), optional :: cotangents(:)
    type(tensor), allocatable :: found(:)
    type(loom_tensor_t), allocatable, target :: from(:), to(:), by(:), made(:)
    type(c_ptr) :: given
    from = handles_of(outputs)
    to = handles_of(inputs)
    made = room(size(inputs))
    given = c_null_ptr
    if (present(cotangents)) then
      by = room(size(outputs))
      by(:size(cotangents)) = cotangents%handle
      given = c_loc(by)
    end if
    call check(c_loom_grad(c_loc(from), size(outputs, kind=c_size_t), c_loc(to), &
        size(inputs, kind=c_size_t), given, .false._c_bool, c_loc(made)))
    found = owned_list(made, 0, size(inputs))
  end function

  ! All inputs, or those at positions, which count from 1, as C counts them.
  function positions_of(count, positions) result(found)
    integer, intent(in) :: count
    integer, intent(in), optional :: positions(:)
    integer(c_size_t), allocatable :: found(:)
    integer :: i
    if (present(positions)) then
      found = [int(positions, c_size_t) - 1, 0_c_size_t]
    else
      found = [(int(i, c_size_t), i=0, count)]
    end if
  end function

  ! The count results of f, the first without dimensions, and the gradients of that by the inputs,
  ! or by those at positions.
  subroutine loom_value_and_grad(f, inputs, values, gradients, positions, count)
    procedure(loom_body) :: f
    type(tensor), intent(in) :: inputs(:)
    type(tensor), intent(out), allocatable :: values(:), gradients(:)
    integer, intent(in), optional :: positions(:), count
    type(functions), target :: both
    type(loom_tensor_t), allocatable, target :: given(:), made(:), slopes(:)
    integer(c_size_t), allocatable, target :: at(:)
    integer :: n
    n = 1
    if (present(count)) n = count
    both%first => f
    given = handles_of(inputs)
    at = positions_of(size(inputs), positions)
    made = room(n)
    slopes = room(size(at) - 1)
    call check(c_loom_value_and_grad(c_funloc(call_first), c_loc(both), c_loc(given), &
        size(inputs, kind=c_size_t), c_loc(at), size(at, kind=c_size_t) - 1, c_loc(made), &
        int(n, c_size_t), c_loc(slopes)))
    values = owned_list(made, 0, n)
    gradients = owned_list(slopes, 0, size(at) - 1)
  end subroutine

  ! The count results of f and the map that pulls cotangents back through it.
  subroutine loom_vjp(f, inputs, values, pullback, count)
    procedure(loom_body) :: f
    type(tensor), intent(in) :: inputs(:)
    type(tensor), intent(out), allocatable :: values(:)
    type(loom_linear_map), intent(out) :: pullback
    integer, intent(in), optional :: count
    type(functions), target :: both
    type(loom_tensor_t), allocatable, target :: given(:), made(:)
    type(loom_linear_map_t), target :: map
    integer :: n
    n = 1
    if (present(count)) n = count
    both%first => f
    given = handles_of(inputs)
    made = room(n)
    call check(c_loom_vjp(c_funloc(call_first), c_loc(both), c_loc(given), &
        size(inputs, kind=c_size_t), c_loc(made), int(n, c_size_t), c_loc(map)))
    values = owned_list(made, 0, n)
    pullback = loom_linear_map(map, size(inputs))
  end subroutine

  ! The count results of f and the map that pushes tangents forward through it.
  subroutine loom_linearize(f, inputs, values, pushforward, count)
    procedure(loom_body) :: f
    type(tensor), intent(in) :: inputs(:)
    type(tensor), intent(out), allocatable :: values(:)
    type(loom_linear_map), intent(out) :: pushforward
    integer, intent(in), optional :: count
    type(functions), target :: both
    type(loom_tensor_t), allocatable, target :: given(:), made(:)
    type(loom_linear_map_t), target :: map
    integer :: n
    n = 1
    if (present(count)) n = count
    both%first => f
    given = handles_of(inputs)
    made = room(n)
    call check(c_loom_linearize(c_funloc(call_first), c_loc(both), c_loc(given), &
        size(inputs, kind=c_size_t), c_loc(made), int(n, c_size_t), c_loc(map)))
    values = owned_list(made, 0, n)
    pushforward = loom_linear_map(map, n)
  end subroutine

  ! A linear map of tensors: cotangents for a pullback, tangents for a pushforward; a null tensor is
  ! zero.
  function loom_apply(map, given) result(found)
    type(loom_linear_map), intent(in) :: map
    type(tensor), intent(in) :: given(:)
    type(tensor), allocatable :: found(:)
    type(loom_tensor_t), allocatable, target :: from(:), made(:)
    from = handles_of(given)
    made = room(map%gives)
    call check(c_loom_linear_map_apply(map%handle, c_loc(from), size(given, kind=c_size_t), &
        c_loc(made), int(map%gives, c_size_t)))
    found = owned_list(made, 0, map%gives)
  end function

  subroutine loom_linear_map_release(map)
    type(loom_linear_map), intent(inout) :: map
    call check(c_loom_linear_map_release(map%handle))
    map%handle%bits = 0
  end subroutine

  ! The count results of f and their derivatives along tangents, of which a null one is zero.
  subroutine loom_jvp(f, inputs, tangents, values, derivatives, count)
    procedure(loom_body) :: f
    type(tensor), intent(in) :: inputs(:), tangents(:)
    type(tensor), intent(out), allocatable :: values(:), derivatives(:)
    integer, intent(in), optional :: count
    type(functions), target :: both
    type(loom_tensor_t), allocatable, target :: given(:), along(:), made(:), moved(:)
    integer :: n
    n = 1
    if (present(count)) n = count
    both%first => f
    given = handles_of(inputs)
    ! those that are not given are zero
    along = room(size(inputs))
    along(:min(size(tangents), size(inputs))) = tangents(:min(size(tangents), size(inputs)))%handle
    made = room(n)
    moved = room(n)
    call check(c_loom_jvp(c_funloc(call_first), c_loc(both), c_loc(given), c_loc(along), &
        size(inputs, kind=c_size_t), c_loc(made), c_loc(moved), int(n, c_size_t)))
    values = owned_list(made, 0, n)
    derivatives = owned_list(moved, 0, n)
  end subroutine

  ! The derivatives of each element of the results by each of the inputs, those of the first result
  ! first.
  function loom_jacobian(f, inputs, positions, count) result(found)
    procedure(loom_body) :: f
    type(tensor), intent(in) :: inputs(:)
    integer, intent(in), optional :: positions(:), count
    type(tensor), allocatable :: found(:)
    type(functions), target :: both
    type(loom_tensor_t), allocatable, target :: given(:), made(:)
    integer(c_size_t), allocatable, target :: at(:)
    integer :: n
    n = 1
    if (present(count)) n = count
    both%first => f
    given = handles_of(inputs)
    at = positions_of(size(inputs), positions)
    made = room(n * (size(at) - 1))
    call check(c_loom_jacobian(c_funloc(call_first), c_loc(both), c_loc(given), &
        size(inputs, kind=c_size_t), c_loc(at), size(at, kind=c_size_t) - 1, int(n, c_size_t), &
        loom_direction_any, .false._c_bool, c_loc(made)))
    found = owned_list(made, 0, n * (size(at) - 1))
  end function

  ! The second derivatives, the last position varying first.
  function loom_hessian(f, inputs, positions, count) result(found)
    procedure(loom_body) :: f
    type(tensor), intent(in) :: inputs(:)
    integer, intent(in), optional :: positions(:), count
    type(tensor), allocatable :: found(:)
    type(functions), target :: both
    type(loom_tensor_t), allocatable, target :: given(:), made(:)
    integer(c_size_t), allocatable, target :: at(:)
    integer :: n
    n = 1
    if (present(count)) n = count
    both%first => f
    given = handles_of(inputs)
    at = positions_of(size(inputs), positions)
    made = room(n * (size(at) - 1)**2)
    call check(c_loom_hessian(c_funloc(call_first), c_loc(both), c_loc(given), &
        size(inputs, kind=c_size_t), c_loc(at), size(at, kind=c_size_t) - 1, int(n, c_size_t), &
        c_loc(made)))
    found = owned_list(made, 0, n * (size(at) - 1)**2)
  end function

  ! What f does for one element of an axis, for all of them: its count results, which have it first.
  ! in_axes: the axis of each input, from 0, loom_unmapped for none; the first one if not given.
  function loom_vmap(f, inputs, in_axes, count) result(found)
    procedure(loom_body) :: f
    type(tensor), intent(in) :: inputs(:)
    integer(c_int64_t), intent(in), optional :: in_axes(:)
    integer, intent(in), optional :: count
    type(tensor), allocatable :: found(:)
    type(functions), target :: both
    type(loom_tensor_t), allocatable, target :: given(:), made(:)
    integer(c_int64_t), target :: axes(size(inputs) + 1)
    integer :: n
    n = 1
    if (present(count)) n = count
    both%first => f
    given = handles_of(inputs)
    axes = 0
    if (present(in_axes)) axes(:min(size(in_axes), size(inputs))) = &
        in_axes(:min(size(in_axes), size(inputs)))
    made = room(n)
    call check(c_loom_vmap(c_funloc(call_first), c_loc(both), c_loc(given), &
        size(inputs, kind=c_size_t), c_loc(axes), -1_c_int64_t, c_null_ptr, c_loc(made), &
        int(n, c_size_t)))
    found = owned_list(made, 0, n)
  end function

  ! ---- waits, options, records ---------------------------------------------------------------

  ! Schedules tensors; with wait, until they have been computed.
  subroutine loom_sync(tensors, wait)
    type(tensor), intent(in) :: tensors(:)
    logical, intent(in), optional :: wait
    type(loom_tensor_t), allocatable, target :: given(:)
    logical(c_bool) :: until
    until = .false.
    if (present(wait)) until = wait
    given = handles_of(tensors)
    call check(c_loom_sync(c_loc(given), size(tensors, kind=c_size_t), until))
  end subroutine

  ! Waits until tensors have been computed, but no longer than seconds; whether they have.
  logical function loom_wait(tensors, seconds)
    type(tensor), intent(in) :: tensors(:)
    real(c_double), intent(in) :: seconds
    type(loom_tensor_t), allocatable, target :: given(:)
    integer(c_int) :: status
    given = handles_of(tensors)
    status = c_loom_wait(c_loc(given), size(tensors, kind=c_size_t), seconds)
    loom_wait = status == loom_ok
    if (status /= loom_error_timeout) call check(status)
  end function

  ! Whether a read would not wait.
  logical function loom_is_ready(t)
    type(tensor), intent(in) :: t
    logical(c_bool), target :: found
    found = .false.
    call check(c_loom_tensor_is_ready(t%handle, c_loc(found)))
    loom_is_ready = found
  end function

  ! The value of an option by its name; 0 and 1 are false and true.
  real(c_double) function loom_option(name)
    character(*), intent(in) :: name
    character(kind=c_char), allocatable, target :: letters(:)
    real(c_double), target :: found
    letters = letters_of(name)
    found = 0
    call check(c_loom_option_get(c_loc(letters), c_loc(found)))
    loom_option = found
  end function

  subroutine loom_set_option(name, value)
    character(*), intent(in) :: name
    real(c_double), intent(in) :: value
    character(kind=c_char), allocatable, target :: letters(:)
    letters = letters_of(name)
    call check(c_loom_option_set(c_loc(letters), value, c_null_ptr))
  end subroutine

  ! The texts of the library's, by number.
  function said(which, count) result(found)
    integer, intent(in) :: which, count
    character(:), allocatable :: found
    character(kind=c_char), allocatable, target :: letters(:)
    integer(c_size_t), target :: needed
    integer :: pass
    needed = 0
    allocate (letters(1))
    letters = c_null_char
    do pass = 1, 2
      if (pass == 2) then
        deallocate (letters)
        allocate (letters(needed + 1))
        letters = c_null_char
      end if
      select case (which)
      case (0)
        call check(c_loom_options_json(c_loc(letters), size(letters, kind=c_size_t), c_loc(needed)))
      case (1)
        call check(c_loom_stats_json(c_loc(letters), size(letters, kind=c_size_t), c_loc(needed)))
      case (2)
        call check(c_loom_evaluations_json(int(count, c_size_t), c_loc(letters), &
            size(letters, kind=c_size_t), c_loc(needed)))
      case (4)
        call check(c_loom_profile_json(c_loc(letters), size(letters, kind=c_size_t), c_loc(needed)))
      case default
        call check(c_loom_last_evaluation(c_loc(letters), size(letters, kind=c_size_t), &
            c_loc(needed)))
      end select
    end do
    found = text_of(c_loc(letters))
  end function

  ! All options as an object of JSON.
  function loom_options_json() result(found)
    character(:), allocatable :: found
    found = said(0, 0)
  end function

  ! All counters as an object of JSON.
  function loom_stats_json() result(found)
    character(:), allocatable :: found
    found = said(1, 0)
  end function

  ! The records of the newest evaluations as a list of JSON, oldest first: count at most, 0 for all.
  function loom_evaluations_json(count) result(found)
    integer, intent(in) :: count
    character(:), allocatable :: found
    found = said(2, count)
  end function

  ! The record of the last evaluation, for people; "" if there was none.
  function loom_last_evaluation() result(found)
    character(:), allocatable :: found
    found = said(3, 0)
  end function

  ! Begins a profile of the process, until loom_profile_end(). path: a file for the report, written
  ! at the end, in the form that its name ends in (.html, .json, .trace.json, text). sources: whether
  ! it may have lines of the program's source; .true. if it is absent.
  subroutine loom_profile_begin(path, sources)
    character(*), intent(in), optional :: path
    logical, intent(in), optional :: sources
    character(kind=c_char), allocatable, target :: letters(:)
    type(c_ptr) :: file
    logical(c_bool) :: with
    with = .true.
    if (present(sources)) with = sources
    file = c_null_ptr
    if (present(path)) then
      letters = letters_of(path)
      file = c_loc(letters)
    end if
    call check(c_loom_profile_begin(file, with))
  end subroutine

  ! Ends it.
  subroutine loom_profile_end()
    call check(c_loom_profile_end())
  end subroutine

  ! The report of the profile that ended last as an object of JSON; "{}" before the first.
  function loom_profile_json() result(found)
    character(:), allocatable :: found
    found = said(4, 0)
  end function

  ! The key of a seed, as random ops take one.
  function loom_random_key(seed) result(found)
    integer(c_int64_t), intent(in) :: seed
    type(tensor) :: found
    type(loom_tensor_t), target :: made
    call check(c_loom_random_key(seed, c_loc(made)))
    found = own(made)
  end function

end module
