! SPDX-License-Identifier: Apache-2.0
module warpway_value
  !! Arguments and results of calls: ww_arg() makes one of a Fortran value, ww_get() reads one.
  use, intrinsic :: iso_c_binding
  use warpway_constants
  use warpway_handle
  use warpway_memory, only: ww_memory, ww_type_name
  use warpway_sync, only: ww_timeline
  use warpway_raw, only: ww_memory_ref
  implicit none
  private
  public :: ww_argument, ww_arg, ww_get
  public :: value_of

  type :: ww_argument
    !! An argument or a result on its way into a call. It keeps no memory or timeline open.
    !! (Nothing in it is allocatable: gfortran 12 does not release that of [ww_arg('text')].)
    private
    type(ww_value) :: value
    character(kind=c_char) :: bytes(ww_call_bytes_max)
    type(ww_array) :: array
    type(ww_token) :: token
    logical :: has_array = .false., has_token = .false.
  end type

  interface ww_arg
    !! ww_arg(x) is a scalar of the type of x; ww_arg(x, unsigned=.true.) of an integer is unsigned
    !! with the same bits. ww_arg('text') is bytes, ww_arg(memory, array) an array, ww_arg(timeline)
    !! a timeline, and ww_arg() an argument that is left out. ww_arg(value, array) passes an array
    !! on that is the result of another call, without mapping it; array: how it is to be seen,
    !! absent: as that call said.
    module procedure :: arg_none, arg_int8, arg_int16, arg_int32, arg_int64, arg_real32
    module procedure :: arg_real64, arg_logical, arg_text, arg_memory, arg_timeline, arg_value
  end interface

  interface ww_get
    !! ww_get(value, x) reads a scalar into a variable of its type. An integer variable takes every
    !! integer, signed or unsigned, that it can hold. ww_get(value, text) reads bytes,
    !! ww_get(value, memory, array) an array.
    module procedure :: get_int8, get_int16, get_int32, get_int64, get_real32, get_real64
    module procedure :: get_logical, get_text, get_memory
  end interface

contains
  function arg_none() result(argument)
    type(ww_argument) :: argument
    argument%value%kind = ww_argument_none
  end function

  function scalar(code, bits, value) result(argument)
    integer(c_int32_t), intent(in) :: code
    integer, intent(in) :: bits
    integer(c_int64_t), intent(in) :: value
    type(ww_argument) :: argument

    argument%value%kind = ww_argument_scalar
    argument%value%dtype%code = int(code, c_int8_t)
    argument%value%dtype%bits = int(bits, c_int8_t)
    argument%value%dtype%lanes = 1
    argument%value%scalar = value
    if (bits < 64) argument%value%scalar = iand(value, shiftl(1_c_int64_t, bits) - 1)
  end function

  integer(c_int32_t) function integer_code(unsigned)
    logical, intent(in), optional :: unsigned
    integer_code = ww_dtype_int
    if (present(unsigned)) integer_code = merge(ww_dtype_uint, ww_dtype_int, unsigned)
  end function

  function arg_int8(x, unsigned) result(argument)
    integer(c_int8_t), intent(in) :: x
    logical, intent(in), optional :: unsigned
    type(ww_argument) :: argument
    argument = scalar(integer_code(unsigned), 8, int(x, c_int64_t))
  end function

  function arg_int16(x, unsigned) result(argument)
    integer(c_int16_t), intent(in) :: x
    logical, intent(in), optional :: unsigned
    type(ww_argument) :: argument
    argument = scalar(integer_code(unsigned), 16, int(x, c_int64_t))
  end function

  function arg_int32(x, unsigned) result(argument)
    integer(c_int32_t), intent(in) :: x
    logical, intent(in), optional :: unsigned
    type(ww_argument) :: argument
    argument = scalar(integer_code(unsigned), 32, int(x, c_int64_t))
  end function

  function arg_int64(x, unsigned) result(argument)
    integer(c_int64_t), intent(in) :: x
    logical, intent(in), optional :: unsigned
    type(ww_argument) :: argument
    argument = scalar(integer_code(unsigned), 64, x)
  end function

  function arg_real32(x) result(argument)
    real(c_float), intent(in) :: x
    type(ww_argument) :: argument
    argument = scalar(ww_dtype_float, 32, int(transfer(x, 0_c_int32_t), c_int64_t))
  end function

  function arg_real64(x) result(argument)
    real(c_double), intent(in) :: x
    type(ww_argument) :: argument
    argument = scalar(ww_dtype_float, 64, transfer(x, 0_c_int64_t))
  end function

  function arg_logical(x) result(argument)
    logical, intent(in) :: x
    type(ww_argument) :: argument
    argument = scalar(ww_dtype_bool, 8, merge(1_c_int64_t, 0_c_int64_t, x))
  end function

  function arg_text(text) result(argument)
    character(len=*), intent(in) :: text
    type(ww_argument) :: argument
    integer :: i
    argument%value%kind = ww_argument_bytes
    argument%value%bytes = len(text)
    do i = 1, min(len(text), ww_call_bytes_max)
      argument%bytes(i) = text(i:i)
    end do
  end function

  function arg_memory(memory, array) result(argument)
    type(ww_memory), intent(in) :: memory
    type(ww_array), intent(in), optional :: array
    type(ww_argument) :: argument
    argument%value%kind = ww_argument_array
    argument%value%memory = memory%c_pointer()
    argument%has_array = present(array)
    if (present(array)) argument%array = array
  end function

  function arg_timeline(timeline) result(argument)
    type(ww_timeline), intent(in) :: timeline
    type(ww_argument) :: argument
    argument%value%kind = ww_argument_timeline
    argument%value%timeline = timeline%c_pointer()
  end function

  function arg_value(value, array) result(argument)
    type(ww_value), intent(in) :: value
    type(ww_array), intent(in), optional :: array
    type(ww_argument) :: argument
    type(ww_array), pointer :: found
    type(ww_token), pointer :: token

    argument%value%kind = ww_argument_array
    argument%has_token = value%kind == ww_argument_array .and. c_associated(value%token)
    if (argument%has_token) then
      call c_f_pointer(value%token, token)
      argument%token = token
    end if
    argument%has_array = present(array) .or. c_associated(value%array)
    if (present(array)) then
      argument%array = array
    else if (argument%has_array) then
      call c_f_pointer(value%array, found)
      argument%array = found
    end if
  end function

  function value_of(argument, status) result(value)
    !! As C has it; valid as long as the argument. For the other modules.
    type(ww_argument), intent(in), target :: argument
    integer(c_int32_t), intent(inout) :: status
    type(ww_value) :: value

    value = argument%value
    if (value%bytes > 0) value%data = c_loc(argument%bytes)
    if (argument%has_array) value%array = c_loc(argument%array)
    if (argument%has_token) value%token = c_loc(argument%token)
    if (status /= ww_ok) return
    if (value%bytes > ww_call_bytes_max) &
      status = fail(ww_err_limit, 'a text in a call has at most 4096 characters')
    if (value%kind == ww_argument_array .and. .not. c_associated(value%memory) .and. &
      .not. argument%has_token) &
      status = fail(ww_err_invalid, 'the memory of an argument is closed, or was never opened')
    if (value%kind == ww_argument_timeline .and. .not. c_associated(value%timeline)) &
      status = fail(ww_err_invalid, 'the timeline of an argument is closed, or was never opened')
  end function

  ! --- reading ---

  function value_name(value) result(name)
    type(ww_value), intent(in) :: value
    character(len=:), allocatable :: name
    type(ww_array) :: array

    select case (value%kind)
    case (ww_argument_none)
      name = 'nothing'
    case (ww_argument_scalar)
      array%dtype = value%dtype
      name = 'a scalar of ' // ww_type_name(array)
    case (ww_argument_bytes)
      name = 'bytes'
    case (ww_argument_array)
      name = 'an array'
    case default
      name = 'a timeline'
    end select
  end function

  integer(c_int32_t) function mismatch(value, wanted)
    type(ww_value), intent(in) :: value
    character(len=*), intent(in) :: wanted
    mismatch = fail(ww_err_mismatch, 'the value is ' // value_name(value) // ', the variable ' // &
      'takes ' // wanted)
  end function

  logical function is_scalar(value, code, bits)
    type(ww_value), intent(in) :: value
    integer(c_int32_t), intent(in) :: code
    integer, intent(in) :: bits
    is_scalar = value%kind == ww_argument_scalar .and. value%dtype%code == code .and. &
      value%dtype%bits == bits
  end function

  subroutine get_integer(value, bits, x, status)
    !! An integer of any size and sign that fits into so many bits.
    type(ww_value), intent(in) :: value
    integer, intent(in) :: bits
    integer(c_int64_t), intent(out) :: x
    integer(c_int32_t), intent(out) :: status
    integer(c_int64_t) :: highest
    logical :: signed
    character(len=24) :: name

    x = 0
    status = ww_ok
    signed = value%dtype%code == ww_dtype_int
    write (name, '(a, i0)') 'an integer of int', bits
    if (value%kind /= ww_argument_scalar .or. .not. (signed .or. &
      value%dtype%code == ww_dtype_uint)) then
      status = mismatch(value, trim(name))
      return
    end if
    x = value%scalar
    if (signed .and. value%dtype%bits < 64) x = shifta(shiftl(x, 64 - value%dtype%bits), &
      64 - value%dtype%bits)
    highest = ibits(not(0_c_int64_t), 0, bits - 1)
    if (x > highest .or. x < -highest - 1 .or. (.not. signed .and. x < 0)) &
      status = fail(ww_err_overflow, value_name(value) // ' is too large for ' // trim(name))
  end subroutine

  subroutine get_int8(value, x, stat, errmsg)
    type(ww_value), intent(in) :: value
    integer(c_int8_t), intent(inout) :: x
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: wide
    integer(c_int32_t) :: status
    call get_integer(value, 8, wide, status)
    if (status == ww_ok) x = int(wide, c_int8_t)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine get_int16(value, x, stat, errmsg)
    type(ww_value), intent(in) :: value
    integer(c_int16_t), intent(inout) :: x
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: wide
    integer(c_int32_t) :: status
    call get_integer(value, 16, wide, status)
    if (status == ww_ok) x = int(wide, c_int16_t)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine get_int32(value, x, stat, errmsg)
    type(ww_value), intent(in) :: value
    integer(c_int32_t), intent(inout) :: x
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: wide
    integer(c_int32_t) :: status
    call get_integer(value, 32, wide, status)
    if (status == ww_ok) x = int(wide, c_int32_t)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine get_int64(value, x, stat, errmsg)
    type(ww_value), intent(in) :: value
    integer(c_int64_t), intent(inout) :: x
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: wide
    integer(c_int32_t) :: status
    call get_integer(value, 64, wide, status)
    if (status == ww_ok) x = wide
    call settle(status, stat, errmsg)
  end subroutine

  subroutine get_real32(value, x, stat, errmsg)
    type(ww_value), intent(in) :: value
    real(c_float), intent(inout) :: x
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status, bits

    status = ww_ok
    if (.not. is_scalar(value, ww_dtype_float, 32)) status = mismatch(value, 'a scalar of float32')
    if (status == ww_ok) then
      bits = 0
      call mvbits(int(iand(value%scalar, 65535_c_int64_t), c_int32_t), 0, 16, bits, 0)
      call mvbits(int(ibits(value%scalar, 16, 16), c_int32_t), 0, 16, bits, 16)
      x = transfer(bits, x)
    end if
    call settle(status, stat, errmsg)
  end subroutine

  subroutine get_real64(value, x, stat, errmsg)
    type(ww_value), intent(in) :: value
    real(c_double), intent(inout) :: x
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status

    status = ww_ok
    if (.not. is_scalar(value, ww_dtype_float, 64)) status = mismatch(value, 'a scalar of float64')
    if (status == ww_ok) x = transfer(value%scalar, x)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine get_logical(value, x, stat, errmsg)
    type(ww_value), intent(in) :: value
    logical, intent(inout) :: x
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status

    status = ww_ok
    if (.not. is_scalar(value, ww_dtype_bool, 8)) status = mismatch(value, 'a scalar of bool')
    if (status == ww_ok) x = value%scalar /= 0
    call settle(status, stat, errmsg)
  end subroutine

  subroutine get_text(value, text, stat, errmsg)
    type(ww_value), intent(in) :: value
    character(len=:), allocatable, intent(inout) :: text
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), pointer :: chars(:)
    integer(c_int32_t) :: status
    integer(c_int64_t) :: i

    status = ww_ok
    if (value%kind /= ww_argument_bytes) status = mismatch(value, 'bytes')
    if (status == ww_ok) then
      text = repeat(' ', int(value%bytes))
      if (value%bytes > 0) call c_f_pointer(value%data, chars, [value%bytes])
      do i = 1, value%bytes
        text(i:i) = chars(i)
      end do
    end if
    call settle(status, stat, errmsg)
  end subroutine

  subroutine get_memory(value, memory, array, stat, errmsg)
    !! The memory is one more use of it, to be closed.
    type(ww_value), intent(in) :: value
    type(ww_memory), intent(inout) :: memory
    type(ww_array), intent(inout) :: array
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(ww_array), pointer :: found
    integer(c_int32_t) :: status

    status = ww_ok
    if (value%kind /= ww_argument_array) then
      status = mismatch(value, 'an array')
    else if (.not. c_associated(value%memory) .or. .not. c_associated(value%array)) then
      status = fail(ww_err_state, 'the value names an array by a token: import that')
    else
      call keep(memory, kind_memory, ww_memory_ref(value%memory), status)
    end if
    if (status == ww_ok) then
      call c_f_pointer(value%array, found)
      array = found
    end if
    call settle(status, stat, errmsg)
  end subroutine
end module
