! SPDX-License-Identifier: Apache-2.0
module warpway_handle
  !! What all objects have in common: a number, an end, and how a failure is told.
  use, intrinsic :: iso_c_binding
  use warpway_constants
  implicit none
  private
  public :: ww_handle, ww_text, ww_error_text, ww_open_handles
  public :: find, find_optional, keep, settle, limit, c_text, fail, number_of

  type :: ww_handle
    !! An object of the library. It is closed by close(), when another object takes its place, and
    !! when the variable is finalized. `a = b` makes a second use of the object: it ends with the
    !! last one. Copies that Fortran makes bit by bit are one use: when one of them is closed, all
    !! of them are. These are allocate(a, source=b), and assignments of arrays and of types that
    !! have an object as a component.
    private
    integer(c_int64_t) :: number = 0
  contains
    procedure :: close => handle_close
    procedure :: is_open => handle_is_open
    procedure :: c_pointer => handle_c_pointer
    final :: handle_finalize
  end type

  interface assignment(=)
    !! Not bound to the type: gfortran 12 would call it for each element of list = [a, b], also
    !! where list is not allocated.
    module procedure :: handle_assign
  end interface
  public :: assignment(=)

  ! Of an entry of the table in handle.c.
  enum, bind(c)
    enumerator :: kind_device = 1, kind_stream, kind_memory, kind_pool, kind_broker, kind_timeline
    enumerator :: kind_event, kind_barrier, kind_channel, kind_service, kind_client, kind_ticket
  end enum
  public :: kind_device, kind_stream, kind_memory, kind_pool, kind_broker, kind_timeline
  public :: kind_event, kind_barrier, kind_channel, kind_service, kind_client, kind_ticket

  interface
    function fortran_keep(object, kind) bind(c, name='ww_fortran_keep') result(number)
      import :: c_int64_t, c_int32_t, c_ptr
      type(c_ptr), value :: object
      integer(c_int32_t), value :: kind
      integer(c_int64_t) :: number
    end function
    function fortran_copy(number) bind(c, name='ww_fortran_copy') result(copy)
      import :: c_int64_t
      integer(c_int64_t), value :: number
      integer(c_int64_t) :: copy
    end function
    subroutine fortran_close(number) bind(c, name='ww_fortran_close')
      import :: c_int64_t
      integer(c_int64_t), value :: number
    end subroutine
    function fortran_find(number, kind) bind(c, name='ww_fortran_find') result(object)
      import :: c_int64_t, c_int32_t, c_ptr
      integer(c_int64_t), value :: number
      integer(c_int32_t), value :: kind
      type(c_ptr) :: object
    end function
    function fortran_is_open(number) bind(c, name='ww_fortran_is_open') result(is_open)
      import :: c_int64_t, c_int32_t
      integer(c_int64_t), value :: number
      integer(c_int32_t) :: is_open
    end function
    function fortran_count() bind(c, name='ww_fortran_count') result(count)
      import :: c_int64_t
      integer(c_int64_t) :: count
    end function
    function fortran_message(status, text, capacity) bind(c, name='ww_fortran_message') &
      result(length)
      import :: c_int64_t, c_int32_t, c_char
      integer(c_int32_t), value :: status
      character(kind=c_char), intent(out) :: text(*)
      integer(c_int64_t), value :: capacity
      integer(c_int64_t) :: length
    end function
    function fortran_fail(status, text, length) bind(c, name='ww_fortran_fail_text') &
      result(answer)
      import :: c_int64_t, c_int32_t, c_char
      integer(c_int32_t), value :: status
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int64_t), value :: length
      integer(c_int32_t) :: answer
    end function
    function status_name(status) bind(c, name='ww_status_name') result(text)
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: status
      type(c_ptr) :: text
    end function
  end interface

contains
  subroutine handle_assign(to, from)
    !! One more use of the object of from, which is of the same type.
    class(ww_handle), intent(inout) :: to
    class(ww_handle), intent(in) :: from
    integer(c_int64_t) :: copy

    if (.not. same_type_as(to, from)) error stop 'warpway: objects of two types are assigned'
    copy = fortran_copy(from%number)
    call fortran_close(to%number)
    to%number = copy
  end subroutine

  impure elemental subroutine handle_finalize(self)
    type(ww_handle), intent(inout) :: self
    call fortran_close(self%number)
    self%number = 0
  end subroutine

  subroutine handle_close(self)
    !! Ends this use of the object. An object that is closed, or was never opened, stays so.
    class(ww_handle), intent(inout) :: self
    call fortran_close(self%number)
    self%number = 0
  end subroutine

  logical function handle_is_open(self)
    !! Whether calls with this object are possible.
    class(ww_handle), intent(in) :: self
    handle_is_open = fortran_is_open(self%number) /= 0
  end function

  type(c_ptr) function handle_c_pointer(self)
    !! The object for the functions of warpway_raw: borrowed, valid until it is closed; c_null_ptr
    !! if it is closed.
    class(ww_handle), intent(in) :: self
    handle_c_pointer = c_null_ptr
    if (self%is_open()) handle_c_pointer = fortran_find(self%number, 0_c_int32_t)
  end function

  integer(c_int64_t) function ww_open_handles()
    !! How many objects are open in this process: to look for those that are never closed.
    ww_open_handles = fortran_count()
  end function

  function ww_text(chars) result(text)
    !! A text of a struct of the C interface, which ends with c_null_char, as Fortran's.
    character(kind=c_char), intent(in) :: chars(:)
    character(len=:), allocatable :: text
    integer :: length, i

    length = 0
    do while (length < size(chars))
      if (chars(length + 1) == c_null_char) exit
      length = length + 1
    end do
    allocate (character(len=length) :: text)
    do i = 1, length
      text(i:i) = chars(i)
    end do
  end function

  function ww_error_text(status) result(text)
    !! The name of a status, such as "WW_ERR_ACCESS".
    integer, intent(in) :: status
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: chars(:)

    call c_f_pointer(status_name(int(status, c_int32_t)), chars, [40])
    text = ww_text(chars)
  end function

  ! --- for the other modules ---

  function number_of(self) result(number)
    !! For the functions in C.
    class(ww_handle), intent(in) :: self
    integer(c_int64_t) :: number
    number = self%number
  end function

  function find(self, kind, status) result(object)
    !! The object, borrowed. If it is closed, status becomes an error; after an error nothing is done.
    class(ww_handle), intent(in) :: self
    integer, intent(in) :: kind
    integer(c_int32_t), intent(inout) :: status
    type(c_ptr) :: object

    object = c_null_ptr
    if (status /= ww_ok) return
    object = fortran_find(self%number, int(kind, c_int32_t))
    if (.not. c_associated(object)) status = ww_err_invalid
  end function

  function find_optional(self, kind, status) result(object)
    !! As find(); c_null_ptr if self is absent.
    class(ww_handle), intent(in), optional :: self
    integer, intent(in) :: kind
    integer(c_int32_t), intent(inout) :: status
    type(c_ptr) :: object

    object = c_null_ptr
    if (present(self)) object = find(self, kind, status)
  end function

  subroutine keep(self, kind, object, status)
    !! If status is ww_ok, self becomes the object, a reference that the caller has, and what it was
    !! before is closed. Else self stays as it is.
    class(ww_handle), intent(inout) :: self
    integer, intent(in) :: kind
    type(c_ptr), intent(in) :: object
    integer(c_int32_t), intent(inout) :: status
    integer(c_int64_t) :: number

    if (status /= ww_ok) return
    number = fortran_keep(object, int(kind, c_int32_t))
    if (number == 0) then
      status = ww_err_no_memory
      return
    end if
    call fortran_close(self%number)
    self%number = number
  end subroutine

  function fail(status, message) result(answer)
    !! Sets the message of an error that this binding has found. The result is status.
    integer(c_int32_t), intent(in) :: status
    character(len=*), intent(in) :: message
    integer(c_int32_t) :: answer
    answer = fortran_fail(status, message, len(message, c_int64_t))
  end function

  subroutine settle(status, stat, errmsg)
    !! Ends a call: stat gets the status, and errmsg the message if it is not ww_ok. Without stat,
    !! everything but ww_ok ends the program.
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char) :: chars(ww_error_message_bytes)
    character(len=:), allocatable :: text
    integer(c_int64_t) :: length

    if (present(stat)) stat = status
    if (status == ww_ok) return
    length = fortran_message(status, chars, size(chars, kind=c_int64_t))
    text = ww_text(chars(:length))
    if (present(errmsg)) errmsg = text
    if (.not. present(stat)) error stop 'warpway: ' // ww_error_text(status) // ': ' // text
  end subroutine

  function limit(timeout_ns, default_ns, status) result(limit_ns)
    !! The limit on time of a call: ww_forever is the only negative one.
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer(c_int64_t), intent(in) :: default_ns
    integer(c_int32_t), intent(inout) :: status
    integer(c_int64_t) :: limit_ns
    character(len=24) :: digits

    limit_ns = default_ns
    if (present(timeout_ns)) limit_ns = timeout_ns
    if (status /= ww_ok .or. limit_ns >= 0 .or. limit_ns == ww_forever) return
    write (digits, '(i0)') limit_ns
    status = fail(ww_err_invalid, 'timeout_ns is negative: ' // trim(digits) // &
      '; the constant for no limit is ww_forever')
  end function

  subroutine c_text(text, chars, status)
    !! A text with the zero that C wants; not allocated if text is absent.
    character(len=*), intent(in), optional :: text
    character(kind=c_char), allocatable, intent(out) :: chars(:)
    integer(c_int32_t), intent(inout) :: status
    integer :: i

    if (.not. present(text)) return
    if (index(text, c_null_char) > 0) then
      if (status == ww_ok) status = fail(ww_err_invalid, 'a text has a zero character in it')
    end if
    allocate (chars(len(text) + 1))
    do i = 1, len(text)
      chars(i) = text(i:i)
    end do
    chars(len(text) + 1) = c_null_char
  end subroutine
end module
