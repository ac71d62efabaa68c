! The digits classifier of examples/digits.c in Fortran:
!
!   ./digits [DATA_FOLDER [REPORT.json [EPOCHS]]]
!
! Everything that the classifiers share (random numbers, order, steps) is described in digits.c.
program digits
  use, intrinsic :: iso_fortran_env, only: int8, int64, real32, real64
  use lazyloom
  implicit none

  integer, parameter :: pixels = 64, batch = 32
  integer, parameter :: sizes(4) = [pixels, 64, 32, 10]
  real(real64), parameter :: bounds(3) = &
      [0.30618621784789724d0, 0.30618621784789724d0, 0.4330127018922193d0]
  integer(int64) :: state = 2024

  type(tensor) :: parameters(6), momenta(6) ! w1, b1, w2, b2, w3, b3
  type(tensor) :: images, labels, test_images, loss
  integer(int64), allocatable :: order(:), expected(:), unused(:)
  real(real64), allocatable :: losses(:)
  real(real64) :: accuracy, mean
  real(real32) :: value
  integer(int64) :: kept
  integer :: epochs, epoch, i, j, first
  character(1000) :: folder, report, number

  folder = "examples/data/digits"
  if (command_argument_count() > 0) call get_command_argument(1, folder)
  call get_command_argument(2, report)
  epochs = 20
  if (command_argument_count() > 2) then
    call get_command_argument(3, number)
    read (number, *) epochs
  end if

  call loom_start()
  call initialise()
  call read_digits("train", images, labels, unused)
  call read_digits("test", test_images, loss, expected)
  order = [(int(i, int64), i=0, size(unused) - 1)]
  allocate (losses(0))
  accuracy = 0
  do epoch = 1, epochs
    do i = size(order) - 1, 1, -1
      j = int(modulo_unsigned(next_random(), int(i + 1, int64)))
      kept = order(i + 1)
      order(i + 1) = order(j + 1)
      order(j + 1) = kept
    end do
    mean = 0
    do i = 0, size(order) / batch - 1
      first = i * batch
      call loom_scope_begin()
      call step(order(first + 1:first + batch))
      ! what the step made is released before the read, or it would be computed as well
      call loom_keep(loss)
      call loom_scope_end()
      call loom_read(loss, value)
      call loom_release(loss)
      losses = [losses, real(value, real64)]
      mean = mean + value / (size(order) / batch)
    end do
    call measure()
    print "(a, i3, a, f9.6, a, f7.4)", "fortran: epoch", epoch, "  loss ", mean, &
        "  test accuracy ", accuracy
  end do
  if (report /= "") call write_report()
  call loom_stop()

contains

  ! Fortran's integers have a sign: sums wrap, and shifts fill with zeros.
  function next_random() result(z)
    integer(int64) :: z
    state = state + int(z'9E3779B97F4A7C15', int64)
    z = state
    z = ieor(z, shiftr(z, 30)) * int(z'BF58476D1CE4E5B9', int64)
    z = ieor(z, shiftr(z, 27)) * int(z'94D049BB133111EB', int64)
    z = ieor(z, shiftr(z, 31))
  end function

  ! The remainder of z as a number without a sign.
  function modulo_unsigned(z, n) result(found)
    integer(int64), intent(in) :: z, n
    integer(int64) :: found
    found = mod(2 * mod(shiftr(z, 1), n) + iand(z, 1_int64), n)
  end function

  subroutine read_digits(part, pictures, names, numbers)
    character(*), intent(in) :: part
    type(tensor), intent(out) :: pictures, names
    integer(int64), intent(out), allocatable :: numbers(:)
    integer(int8), allocatable :: bytes(:)
    call read_bytes(trim(folder) // "/" // part // "-labels.idx1-ubyte", 8, bytes)
    numbers = int(bytes, int64)
    names = loom_new(numbers)
    call read_bytes(trim(folder) // "/" // part // "-images.idx3-ubyte", 16, bytes)
    pictures = loom_new(real(bytes, real32) / 16, [size(numbers), pixels])
  end subroutine

  subroutine read_bytes(path, header, bytes)
    character(*), intent(in) :: path
    integer, intent(in) :: header
    integer(int8), intent(out), allocatable :: bytes(:)
    integer :: unit, length
    open (newunit=unit, file=path, access="stream", form="unformatted", status="old", &
        action="read")
    inquire (unit=unit, size=length)
    allocate (bytes(length - header))
    read (unit, pos=header + 1) bytes
    close (unit)
  end subroutine

  subroutine initialise()
    real(real32), allocatable :: weights(:)
    integer :: layer, inputs, outputs, k
    do layer = 1, 3
      inputs = sizes(layer)
      outputs = sizes(layer + 1)
      allocate (weights(inputs * outputs))
      do k = 1, size(weights)
        weights(k) = real((2 * (shiftr(next_random(), 40) / 16777216d0) - 1) * bounds(layer), &
            real32)
      end do
      parameters(2 * layer - 1) = loom_new(weights, [inputs, outputs])
      weights = 0
      parameters(2 * layer) = loom_new(weights(:outputs))
      momenta(2 * layer - 1) = loom_new(weights, [inputs, outputs])
      momenta(2 * layer) = loom_new(weights(:outputs))
      deallocate (weights)
    end do
    do k = 1, 6
      call loom_require_grad(parameters(k))
    end do
  end subroutine

  function logits(x) result(h)
    type(tensor), intent(in) :: x
    type(tensor) :: h
    integer :: layer
    h = x
    do layer = 1, 3
      h = loom_matmul(h, parameters(2 * layer - 1)) + parameters(2 * layer)
      if (layer < 3) h = loom_relu(h)
    end do
  end function

  ! Records a step; sets loss, which is that before it.
  subroutine step(indices)
    integer(int64), intent(in) :: indices(:)
    type(tensor) :: chosen, x, y, gradients(6)
    integer :: k
    chosen = loom_new(indices)
    x = loom_take(images, chosen)
    y = loom_take(labels, chosen)
    loss = loom_cross_entropy(logits(x), y)
    call loom_backward(loss)
    do k = 1, 6
      gradients(k) = loom_gradient(parameters(k))
      call loom_clear_gradient(parameters(k))
    end do
    call loom_grad_enabled(.false.)
    do k = 1, 6
      call loom_assign(momenta(k), momenta(k) * 0.9d0 + gradients(k))
      call loom_assign(parameters(k), parameters(k) - momenta(k) * 0.05d0)
    end do
    call loom_grad_enabled(.true.)
  end subroutine

  subroutine measure()
    type(tensor) :: guesses
    integer(int64), allocatable :: guessed(:)
    call loom_scope_begin()
    call loom_grad_enabled(.false.)
    guesses = loom_argmax(logits(test_images), axis=1)
    call loom_grad_enabled(.true.)
    call loom_keep(guesses)
    call loom_scope_end()
    call loom_read(guesses, guessed)
    call loom_release(guesses)
    accuracy = real(count(guessed == expected), real64) / size(expected)
  end subroutine

  subroutine write_report()
    integer :: unit, k
    open (newunit=unit, file=trim(report), status="replace", action="write")
    write (unit, "(a, i0, a, es24.16e3, a, es24.16e3, a)") &
        '{"frontend": "fortran", "programs_compiled": ', loom_stat("programs_compiled"), &
        ', "final_loss": ', losses(size(losses)), ', "test_accuracy": ', accuracy, ', "losses": ['
    write (unit, "(es24.16e3, :, ',')") (losses(k), k=1, size(losses))
    write (unit, "(a)") "]}"
    close (unit)
  end subroutine

end program
