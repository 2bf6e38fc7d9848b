! SPDX-License-Identifier: Apache-2.0
module peers
  !! Two processes of this program: memory by name and token, timelines, events, barriers, pools.
  use, intrinsic :: iso_c_binding
  use warpway
  use check
  implicit none
  private
  public :: test_peers, peer

contains
  subroutine test_peers(device)
    type(ww_device), intent(in) :: device

    call test_alone(device)
    call test_pool(device)
    call test_event(device)
    call claim(run('memory-put', 'memory-get') == 0, 'memory is handed over by name')
    call claim(run('timeline-signal', 'timeline-wait') == 0, 'a process waits for another one')
    call claim(run('timeline-end', 'timeline-lost') == 0, 'a process learns of the end of another')
    call claim(run('barrier 0', 'barrier 1') == 0, 'two processes meet')
  end subroutine

  subroutine peer(role)
    character(len=*), intent(in) :: role
    type(ww_device) :: device

    call open_test_device(device)
    select case (role)
    case ('memory-put')
      call memory_put(device)
    case ('memory-get')
      call memory_get(device)
    case ('timeline-signal')
      call timeline_signal()
    case ('timeline-wait')
      call timeline_wait()
    case ('timeline-end')
      call timeline_end()
    case ('timeline-lost')
      call timeline_lost()
    case ('barrier')
      call barrier(argument(2))
    case ('token')
      call token(device, argument(2))
    case ('event')
      call event(device, argument(2))
    case default
      error stop 'unknown role'
    end select
    call device%close()
  end subroutine

  subroutine meet(name)
    !! Waits until both processes are here: whoever comes first makes the barrier.
    character(len=*), intent(in) :: name
    type(ww_barrier) :: both
    type(ww_token) :: made
    integer :: stat

    call ww_make_barrier(made, 2_c_int32_t, name, stat=stat)
    if (stat /= ww_ok .and. stat /= ww_err_exists) error stop 'no barrier'
    call both%get(name, timeout_ns=patience_ns)
    call both%wait(patience_ns)
    call both%close()
  end subroutine

  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (.not. good) error stop what
  end subroutine

  ! --- one process ---

  subroutine test_alone(device)
    !! What a process can see of timelines, barriers, streams and the broker without another one.
    type(ww_device), intent(in) :: device
    type(ww_timeline) :: timeline, same
    type(ww_timeline_info) :: about
    type(ww_broker_info) :: state
    type(ww_object_info) :: object
    type(ww_token_info) :: named
    type(ww_broker) :: broker
    type(ww_stream) :: stream
    type(ww_memory) :: memory
    type(ww_token) :: made, again
    type(ww_array) :: array
    character(len=:), allocatable :: text
    character(len=200) :: message
    integer(c_int32_t) :: numbers(4)
    integer :: stat

    call timeline%create()
    call timeline%query(1_c_int64_t, stat)
    call claim_status(stat, ww_not_ready, 'a value that is not reached')
    call timeline%wait(1_c_int64_t, 0_c_int64_t, stat)
    call claim_status(stat, ww_timed_out, 'the end of the time is an outcome')
    call timeline%wait(1_c_int64_t, -3_c_int64_t, stat, message)
    call claim_status(stat, ww_err_invalid, 'a negative limit', message, 'timeout_ns is negative: -3')
    call timeline%signal(1_c_int64_t)
    call timeline%wait(1_c_int64_t)
    call timeline%signal(1_c_int64_t, stat)
    call claim_status(stat, ww_err_invalid, 'a value that does not grow')
    call stream%create(device)
    call timeline%stream_signal(stream, 2_c_int64_t)
    call timeline%stream_wait(stream, 2_c_int64_t)
    call stream%synchronize(patience_ns)
    call timeline%info(about)
    call claim(about%completed == 2 .and. about%is_own == 1, 'what a timeline is')
    call broker%open()
    call broker%info(state)
    call claim(state%pid > 0 .and. len(ww_text(state%version)) > 0, 'what the broker is')
    call timeline%put('fortran/alone', broker=broker)
    call same%get('fortran/alone', broker)
    call same%query(2_c_int64_t, stat)
    call claim_status(stat, ww_ok, 'a timeline by its name')
    call timeline%export(made)
    call ww_token_write(made, text)
    call ww_token_read(text // '  ', again)
    call claim(all(made%bytes == again%bytes), 'a token as text')
    call ww_describe_token(again, named)
    call claim(named%kind == ww_object_timeline, 'what a token names')
    call same%import(again)
    call ww_token_read('nonsense', again, stat)
    call claim(stat < 0, 'text that is no token')

    call memory%create(device, 4096_c_int64_t, ww_memory_host)
    call stream%fill(memory%pointer(), 7_c_int32_t, 4_c_int32_t, 4_c_int64_t)
    call stream%synchronize(patience_ns)
    call ww_read(memory, numbers)
    call claim(all(numbers == 7), 'a stream fills a memory')
    call stream%query(stat)
    call claim_status(stat, ww_ok, 'a stream without work')
    call ww_describe(numbers, array)
    call memory%put('fortran/kept', array, ww_put_params(life=ww_life_kept), broker)
    call memory%put('fortran/kept', stat=stat)
    call claim_status(stat, ww_err_exists, 'a name that is taken')
    call memory%close()
    call broker%find('fortran/kept', object)
    call claim(object%has_array == 1 .and. object%life == ww_life_kept, 'what the broker has')
    call memory%export(made, stat=stat)
    call claim_status(stat, ww_err_invalid, 'an export of what is closed')
    call memory%get(device, 'fortran/kept', array)
    call claim(all(ww_shape(array) == [4]), 'the array that was put with it')
    call broker%remove('fortran/kept')
    call broker%find('fortran/kept', object, stat)
    call claim_status(stat, ww_err_not_found, 'a name that was removed')
    call broker%end_object('fortran/kept', stat)
    call claim_status(stat, ww_err_not_found, 'the end of an object that has no name')
    call memory%create(device, 4096_c_int64_t, ww_memory_host)
    call memory%put('fortran/bytes', broker=broker)
    call same%get('fortran/bytes', broker, stat=stat)
    call claim(stat < 0, 'memory is no timeline')
    call memory%get(device, 'fortran/bytes', array, stat=stat, errmsg=message)
    call claim_status(stat, ww_err_mismatch, 'memory that was put without an array', message, &
      'without an array')
    call memory%export(made, ww_access_read)
    call ww_token_write(made, text)
    call claim(run('token ' // text) == 0, 'memory is handed over by a token')
    call memory%revoke()
    call memory%close()
    call broker%close()
  end subroutine

  subroutine token(device, text)
    !! Imports the memory of a token, for reading and, in vain, for writing.
    type(ww_device), intent(in) :: device
    character(len=*), intent(in) :: text
    integer(c_int8_t), pointer :: bytes(:)
    type(ww_memory) :: memory
    type(ww_token) :: given
    type(ww_array) :: array
    integer :: stat

    call ww_token_read(text, given)
    call memory%import(device, given, access=ww_access_write, stat=stat)
    call expect(stat == ww_err_access, 'a token for reading imports for writing')
    call memory%import(device, given)
    call ww_array_of(array, 'int8', [4096_c_int64_t])
    call ww_view(memory, array, bytes, stat=stat)
    call expect(stat == ww_err_access, 'a view for writing of what is for reading')
    call ww_view(memory, array, bytes, ww_access_read)
    call expect(size(bytes) == 4096 .and. all(bytes == 0), 'other bytes')
    call ww_end_view(bytes)
    call ww_write(memory, 1_c_int8_t, stat=stat)
    call expect(stat == ww_err_access, 'a write into what is for reading')
    call memory%close()
  end subroutine

  subroutine test_pool(device)
    type(ww_device), intent(in) :: device
    type(ww_pool) :: pool
    type(ww_pool_info) :: about
    type(ww_memory) :: slice, second
    type(ww_stream) :: stream
    type(ww_token) :: made
    character(len=:), allocatable :: text
    integer(c_int64_t) :: given
    integer :: stat

    call pool%create(device, ww_pool_params(kind=ww_memory_host, bytes_max=8388608))
    call pool%alloc(slice, 4096_c_int64_t)
    call pool%alloc(second, 16777216_c_int64_t, stat=stat)
    call claim(stat < 0 .and. .not. second%is_open(), 'a slice larger than the pool')
    call pool%alloc(second, -1_c_int64_t, stat=stat)
    call claim_status(stat, ww_err_invalid, 'a slice of a negative size')
    call pool%info(about)
    call claim(about%slice_count == 1 .and. about%bytes_used >= 4096, 'what a pool is')
    call slice%export(made)
    call ww_token_write(made, text)
    call claim(run('token ' // text) == 0, 'a slice is handed over by a token')
    call stream%create(device)
    second = slice
    call ww_release_slice(slice, stream)
    call claim(.not. slice%is_open() .and. second%is_open(), 'a slice is released in one of its uses')
    call ww_release_slice(second, stream)
    call ww_release_slice(second, stream, stat=stat)
    call claim_status(stat, ww_err_invalid, 'a slice is released twice')
    call second%create(device, 4096_c_int64_t, ww_memory_host)
    call ww_release_slice(second, stream, stat=stat)
    call claim(stat < 0 .and. second%is_open(), 'what is no slice is not released')
    call stream%synchronize(patience_ns)
    call pool%trim(0_c_int64_t, given)
    call pool%info(about)
    call claim(about%slice_count == 0, 'all slices were given back')
    call pool%export(made)
    call pool%close()
  end subroutine

  subroutine test_event(device)
    type(ww_device), intent(in) :: device
    type(ww_event) :: one
    type(ww_stream) :: stream
    type(ww_token) :: made
    character(len=:), allocatable :: text
    character(len=200) :: message
    integer :: stat

    call one%create(device, stat=stat, errmsg=message)
    if (stat == ww_err_unsupported) then
      call claim(len_trim(message) > 0, 'events # SKIP the device has none')
      return
    end if
    call stream%create(device)
    call one%record(stream)
    call one%stream_wait(stream)
    call one%synchronize(patience_ns)
    call one%query(stat)
    call claim_status(stat, ww_ok, 'an event is complete')
    call one%export(made)
    call ww_token_write(made, text)
    call claim(run('event ' // text) == 0, 'another process waits for an event')
    call one%close()
  end subroutine

  subroutine event(device, text)
    type(ww_device), intent(in) :: device
    character(len=*), intent(in) :: text
    type(ww_token) :: given
    type(ww_event) :: one

    call ww_token_read(text, given)
    call one%import(device, given)
    call one%synchronize(patience_ns)
    call one%close()
  end subroutine

  ! --- two processes ---

  subroutine memory_put(device)
    type(ww_device), intent(in) :: device
    real(c_double), pointer :: field(:, :)
    type(ww_memory) :: memory
    type(ww_array) :: array
    integer :: i, j

    call memory%create(device, 65536_c_int64_t, ww_memory_host)
    call ww_array_of(array, 'float64', [10_c_int64_t, 20_c_int64_t])
    call memory%put('fortran/handed', array, ww_put_params(state=ww_state_writing))
    call ww_view(memory, array, field)
    do j = 1, 20
      do i = 1, 10
        field(i, j) = 100 * i + j
      end do
    end do
    call ww_end_view(field)
    call memory%publish(ww_state_sealed)
    call meet('fortran/handed-over')
    call memory%close()
  end subroutine

  subroutine memory_get(device)
    type(ww_device), intent(in) :: device
    real(c_double), pointer :: field(:, :)
    type(ww_memory) :: memory
    type(ww_object_info) :: about
    type(ww_array) :: array
    integer :: i, j, stat

    call memory%get(device, 'fortran/handed', array, about, timeout_ns=patience_ns)
    call expect(about%state == ww_state_sealed, 'it is not sealed')
    call expect(all(ww_shape(array) == [10, 20]), 'another shape')
    call ww_view(memory, array, field, stat=stat)
    call expect(stat == ww_err_access, 'a view for writing')
    call ww_view(memory, array, field, ww_access_read)
    call expect(all(field == reshape([((100 * i + j, i = 1, 10), j = 1, 20)], [10, 20])), 'other numbers')
    call ww_end_view(field)
    call memory%close()
    call meet('fortran/handed-over')
  end subroutine

  subroutine timeline_signal()
    type(ww_timeline) :: mine, theirs
    integer(c_int64_t) :: i

    call mine%create()
    call mine%put('fortran/ping')
    call theirs%get('fortran/pong', timeout_ns=patience_ns)
    do i = 1, 100
      call mine%signal(i)
      call theirs%wait(i, patience_ns)
    end do
    call meet('fortran/played')
  end subroutine

  subroutine timeline_wait()
    type(ww_timeline) :: mine, theirs
    integer(c_int64_t) :: i

    call mine%create()
    call mine%put('fortran/pong')
    call theirs%get('fortran/ping', timeout_ns=patience_ns)
    do i = 1, 100
      call theirs%wait(i, patience_ns)
      call mine%signal(i)
    end do
    call meet('fortran/played')
  end subroutine

  subroutine timeline_end()
    !! Ends after the other process has the timeline.
    type(ww_timeline) :: mine
    call mine%create()
    call mine%put('fortran/end')
    call mine%signal(1_c_int64_t)
    call meet('fortran/got')
    stop
  end subroutine

  subroutine timeline_lost()
    type(ww_timeline) :: theirs
    character(len=200) :: message
    integer :: stat

    call theirs%get('fortran/end', timeout_ns=patience_ns)
    call meet('fortran/got')
    call theirs%wait(2_c_int64_t, patience_ns, stat, message)
    call expect(stat == ww_err_peer_lost .and. len_trim(message) > 0, 'the end was not told')
    call theirs%wait(1_c_int64_t, patience_ns)
    call theirs%close()
  end subroutine

  subroutine barrier(rank)
    character(len=*), intent(in) :: rank
    type(ww_barrier) :: both
    type(ww_barrier_info) :: about
    type(ww_token) :: made
    integer(c_int32_t) :: number
    integer :: i

    read (rank, *) number
    if (number == 0) call ww_make_barrier(made, 2_c_int32_t, 'fortran/barrier')
    call both%get('fortran/barrier', number, timeout_ns=patience_ns)
    do i = 1, 20
      call both%wait(patience_ns)
    end do
    call both%info(about)
    call expect(about%rank == number .and. about%round >= 20, 'another round')
    call both%wait(patience_ns)
    call both%close()
  end subroutine
end module
