! SPDX-License-Identifier: Apache-2.0
module handles
  !! How long objects live: close, copies of every kind, finalizers, and errors with and without stat.
  use, intrinsic :: iso_c_binding
  use warpway
  use check
  implicit none
  private
  public :: test_handles, end_by_error

  type :: holder
    integer :: number = 0
    type(ww_memory) :: memory
  end type

contains
  subroutine test_handles(device)
    type(ww_device), intent(in) :: device
    integer(c_int64_t) :: before

    before = ww_open_handles()
    call test_close(device)
    call test_assignment(device)
    call test_bitwise(device)
    call test_finalizers(device)
    call test_closed()
    call test_errors(device)
    call claim(ww_open_handles() == before, 'nothing is left open')
    call test_stops()
  end subroutine

  subroutine test_close(device)
    type(ww_device), intent(in) :: device
    type(ww_memory) :: memory
    type(ww_memory_info) :: info
    character(len=100) :: text
    integer :: stat

    call claim(.not. memory%is_open(), 'a new variable is closed')
    call memory%close()
    call memory%create(device, 4096_c_int64_t, ww_memory_host)
    call claim(memory%is_open(), 'what was created is open')
    call memory%info(info)
    call claim(info%bytes >= 4096 .and. info%kind == ww_memory_host, 'what it is')
    call memory%create(device, 8192_c_int64_t, ww_memory_host)
    call memory%create(device, 0_c_int64_t, stat=stat)
    call claim(stat < 0 .and. memory%is_open(), 'a failure changes nothing')
    call memory%create(device, -1_c_int64_t, stat=stat)
    call claim_status(stat, ww_err_invalid, 'a negative size')
    call memory%close()
    call memory%close()
    call claim(.not. memory%is_open(), 'close can be called twice')
    call memory%info(info, stat=stat, errmsg=text)
    call claim_status(stat, ww_err_invalid, 'a call after close', text, 'the memory is closed')
    call claim(.not. c_associated(memory%pointer()), 'no address after close')
    call claim(.not. c_associated(memory%c_pointer()), 'no object after close')
  end subroutine

  subroutine test_assignment(device)
    type(ww_device), intent(in) :: device
    type(ww_memory) :: first, second
    type(holder) :: one, other
    integer(c_int64_t) :: before
    integer(c_int32_t) :: back
    integer :: stat

    before = ww_open_handles()
    call first%create(device, 4096_c_int64_t, ww_memory_host)
    second = first
    call claim(c_associated(first%pointer(), second%pointer()), 'an assignment is the same memory')
    call first%close()
    call ww_write(second, 41_c_int32_t)
    call ww_read(second, back)
    call claim(back == 41, 'which lives as long as one of the two')
    second = second
    call claim(second%is_open(), 'an assignment to itself')
    one%memory = second
    other = one
    call one%memory%close()
    call second%close()
    call ww_read(other%memory, back, stat=stat)
    call claim(stat == ww_ok .or. stat == ww_err_invalid, 'a component that was assigned')
    call other%memory%close()
    second = first
    call claim(.not. second%is_open(), 'a closed one is assigned')
    call claim(ww_open_handles() == before, 'every use has ended')
  end subroutine

  subroutine test_bitwise(device)
    !! Copies that the language makes without the assignment of the type.
    type(ww_device), intent(in) :: device
    type(ww_memory) :: memory
    type(ww_memory), allocatable :: list(:), copy, moved
    integer(c_int32_t) :: back
    integer :: stat, i

    call memory%create(device, 4096_c_int64_t, ww_memory_host)
    allocate (copy, source=memory)
    call copy%close()
    deallocate (copy)
    call ww_write(memory, 1_c_int32_t, stat=stat)
    call claim(stat == ww_ok .or. stat == ww_err_invalid, 'a copy by allocate(source=) was closed')
    call memory%create(device, 4096_c_int64_t, ww_memory_host)
    list = [memory, memory]
    call list(1)%close()
    call ww_read(list(2), back, stat=stat)
    call claim(stat == ww_ok .or. stat == ww_err_invalid, 'copies by an array constructor')
    deallocate (list)
    allocate (list(3))
    do i = 1, 3
      call list(i)%create(device, 4096_c_int64_t, ww_memory_host)
    end do
    call ww_write(list(2), 5_c_int32_t)
    call ww_read(list(2), back)
    call claim(back == 5, 'an array of memories')
    deallocate (list)
    allocate (moved)
    call moved%create(device, 4096_c_int64_t, ww_memory_host)
    call move_alloc(moved, copy)
    call ww_write(copy, 6_c_int32_t)
    call ww_read(copy, back)
    call claim(back == 6, 'one that was moved')
    call by_value(copy, device)
    call claim(.not. copy%is_open(), 'intent(out) ends the use')
    call memory%close()
  end subroutine

  subroutine by_value(memory, device)
    type(ww_memory), intent(out) :: memory
    type(ww_device), intent(in) :: device
    call claim(device%is_open() .and. .not. memory%is_open(), 'an argument of intent(out)')
  end subroutine

  subroutine test_finalizers(device)
    type(ww_device), intent(in) :: device
    type(ww_stream), allocatable :: stream
    integer(c_int64_t) :: before
    integer :: i

    before = ww_open_handles()
    do i = 1, 200
      call leave_open(device)
    end do
    call claim(ww_open_handles() == before, 'a variable that goes out of scope is closed')
    allocate (stream)
    call stream%create(device)
    deallocate (stream)
    block
      type(ww_memory) :: inside
      call inside%create(device, 4096_c_int64_t, ww_memory_host)
    end block
    call claim(ww_open_handles() == before, '... or is deallocated')
  end subroutine

  subroutine leave_open(device)
    type(ww_device), intent(in) :: device
    type(holder) :: in_type
    type(ww_memory) :: memory, several(2)
    call memory%create(device, 4096_c_int64_t, ww_memory_host)
    call several(2)%create(device, 4096_c_int64_t, ww_memory_host)
    call in_type%memory%create(device, 4096_c_int64_t, ww_memory_host)
  end subroutine

  subroutine test_closed()
    !! A call with each type that was never opened.
    type(ww_device) :: device
    type(ww_stream) :: stream
    type(ww_memory) :: memory
    type(ww_pool) :: pool
    type(ww_broker) :: broker
    type(ww_timeline) :: timeline
    type(ww_event) :: event
    type(ww_barrier) :: barrier
    type(ww_channel) :: channel
    type(ww_service) :: service
    type(ww_client) :: client
    type(ww_ticket) :: ticket
    type(ww_call) :: call_
    type(ww_frame) :: frame
    type(ww_value) :: value
    type(ww_broker_info) :: info
    character(len=100) :: text
    integer :: s(20)
    integer(c_int8_t), pointer :: bytes(:)

    call device%free_bytes(frame%bytes, stat=s(1))
    call stream%create(device, stat=s(2))
    call stream%synchronize(stat=s(3))
    call memory%put('fortran/never', stat=s(4))
    call pool%alloc(memory, 1_c_int64_t, stat=s(5))
    call broker%info(info, stat=s(6), errmsg=text)
    call claim(contains_text(text, 'the broker is closed'), 'a message names the type')
    call timeline%wait(1_c_int64_t, stat=s(7))
    call event%record(stream, stat=s(8))
    call barrier%wait(stat=s(9))
    call channel%receive(frame, stat=s(10))
    call channel%publish(frame, stat=s(11))
    call service%serve(stat=s(12))
    call client%call('f', [ww_arg(memory)], ticket, stat=s(13))
    call ticket%wait(stat=s(14))
    call ticket%cancel()
    call call_%argument(1, value, stat=s(15))
    call ww_view(channel, frame, bytes, stat=s(16))
    call ww_release_slice(memory, stream, stat=s(17))
    call memory%put('fortran/never', broker=broker, stat=s(18))
    call stream%query(s(19))
    call memory%wrap(device, c_null_ptr, 1_c_int64_t, stat=s(20))
    call claim(all(s == ww_err_invalid), 'each type that was never opened is refused')
    call claim(.not. c_associated(stream%native()), 'no native stream')
  end subroutine

  subroutine test_errors(device)
    type(ww_device), intent(in) :: device
    type(ww_device) :: other
    type(ww_memory) :: memory
    character(len=100) :: text
    character(len=10) :: short
    integer :: stat

    text = 'as before'
    call other%open('nonsense', stat=stat, errmsg=text)
    call claim(stat < 0 .and. index(text, 'nonsense') > 0, 'stat and errmsg')
    text = 'as before'
    call other%open('host', stat=stat, errmsg=text)
    call claim(stat == ww_ok .and. text == 'as before', 'errmsg stays without an error')
    call other%open('nonsense', stat=stat, errmsg=short)
    call claim(stat < 0 .and. len_trim(short) > 0, 'a short errmsg is cut')
    call claim(ww_error_text(int(ww_err_access)) == 'WW_ERR_ACCESS', 'the name of a status')
    call claim(ww_error_text(12345) == 'WW_UNKNOWN', '... that is none')
    call memory%create(device, 4096_c_int64_t, ww_memory_host)
    call memory%put('with' // c_null_char // 'zero', stat=stat, errmsg=text)
    call claim_status(stat, ww_err_invalid, 'a name with a zero in it', text, 'zero character')
    call memory%get(device, 'fortran/nothing', timeout_ns=-2_c_int64_t, stat=stat)
    call claim_status(stat, ww_err_invalid, 'a negative limit on time')
    call memory%get(device, 'fortran/nothing', stat=stat)
    call claim_status(stat, ww_err_not_found, 'a name that nobody has')
    call claim(memory%is_open(), 'a get that failed changes nothing')
    call other%close()
  end subroutine

  subroutine test_stops()
    !! Without stat an error ends the program, with the message.
    character(len=2000) :: output
    integer :: status

    status = run_quietly('die device', output)
    call claim(status /= 0, 'an error without stat ends the program')
    call claim(contains_text(output, 'warpway: WW_ERR_'), '... with its status')
    call claim(contains_text(output, 'nonsense'), '... and its message')
    status = run_quietly('die closed', output)
    call claim(status /= 0 .and. contains_text(output, 'the memory is closed'), 'so does one of ours')
    status = run_quietly('die late', output)
    call claim(status /= 0 .and. contains_text(output, 'WW_TIMED_OUT'), 'so does the end of the time')
    status = run_quietly('nonsense', output)
    call claim(status /= 0, 'a process of these tests that fails is noticed')
    status = run_quietly('die types', output)
    call claim(status /= 0 .and. contains_text(output, 'two types'), 'objects of two types')
  end subroutine

  subroutine end_by_error(how)
    character(len=*), intent(in) :: how
    type(ww_device) :: device
    type(ww_memory) :: memory
    type(ww_timeline) :: timeline
    class(ww_handle), allocatable :: any
    character(len=100) :: text

    select case (how)
    case ('device')
      call device%open('nonsense')
    case ('closed')
      call memory%put('fortran/never', errmsg=text)
    case ('late')
      call timeline%create()
      call timeline%wait(1_c_int64_t, 0_c_int64_t)
    case ('types')
      allocate (ww_stream :: any)
      call assign_any(any, memory)
    end select
  end subroutine

  subroutine assign_any(to, from)
    class(ww_handle), intent(inout) :: to
    class(ww_handle), intent(in) :: from
    to = from
  end subroutine
end module
