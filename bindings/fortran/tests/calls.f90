! SPDX-License-Identifier: Apache-2.0
module calls
  !! A service in one process, and its client in another one.
  use, intrinsic :: iso_c_binding
  use warpway
  use check
  implicit none
  private
  public :: test_calls, serve, ask

  type, extends(ww_function_context) :: counter
    integer(c_int64_t) :: calls = 0
    type(ww_device) :: device
  end type

contains
  subroutine test_calls(device)
    type(ww_device), intent(in) :: device

    call test_values()
    call test_refused(device)
    call claim(run('serve', 'ask') == 0, 'calls of a service in another process')
  end subroutine

  subroutine test_values()
    !! What ww_get() refuses.
    type(ww_value) :: value
    integer(c_int8_t) :: small
    integer(c_int64_t) :: large
    real(c_float) :: single
    logical :: truth
    character(len=:), allocatable :: text
    character(len=200) :: message
    integer :: stat

    value%kind = ww_argument_scalar
    value%dtype = ww_dtype(int(ww_dtype_uint, c_int8_t), 64_c_int8_t, 1_c_int16_t)
    value%scalar = -1
    call ww_get(value, large, stat, message)
    call claim_status(stat, ww_err_overflow, 'a uint64 that is too large', message, 'uint64')
    value%scalar = 128
    call ww_get(value, small, stat)
    call claim_status(stat, ww_err_overflow, 'a number that is too large for int8')
    value%scalar = 127
    call ww_get(value, small, stat)
    call claim(stat == ww_ok .and. small == 127, 'a number that fits')
    value%dtype = ww_dtype(int(ww_dtype_int, c_int8_t), 32_c_int8_t, 1_c_int16_t)
    value%scalar = 4294967295_c_int64_t
    call ww_get(value, small)
    call claim(small == -1, 'a negative number of 32 bits')
    call ww_get(value, single, stat, message)
    call claim_status(stat, ww_err_mismatch, 'an integer is no real', message, &
      'a scalar of int32, the variable takes a scalar of float32')
    call ww_get(value, truth, stat)
    call claim_status(stat, ww_err_mismatch, 'nor a logical')
    call ww_get(value, text, stat)
    call claim_status(stat, ww_err_mismatch, 'nor text')
    value%kind = ww_argument_array
    call ww_get(value, large, stat)
    call claim_status(stat, ww_err_mismatch, 'an array is no number')
  end subroutine

  subroutine test_refused(device)
    type(ww_device), intent(in) :: device
    type(ww_service) :: service
    type(ww_client) :: client
    type(ww_call) :: outside
    character(len=200) :: text
    integer :: stat

    call service%create(device, 'fortran/refused')
    call service%offer('f', 'nonsense', double_it, stat=stat)
    call claim_status(stat, ww_err_invalid, 'a signature that is none')
    call service%serve(0_c_int64_t, stat=stat)
    call claim(stat /= ww_ok, 'a service that was not started')
    call service%close()
    call client%open('fortran/refused', stat=stat)
    call claim_status(stat, ww_err_not_found, 'a service that has ended')
    call outside%result(1, ww_arg(1_c_int32_t), stat, text)
    call claim_status(stat, ww_err_invalid, 'a result outside a function', text, 'was given')
    call claim(outside%is_cancelled(), 'nobody waits for a call that is none')
    call outside%fail(ww_err_state, 'none')
  end subroutine

  ! --- the server ---

  subroutine double_it(call)
    !! i32 x, f64 y, bool z, bytes t -> i32, f64, bool, bytes
    type(ww_call), intent(inout) :: call
    type(ww_value) :: value
    integer(c_int32_t) :: x
    real(c_double) :: y
    logical :: z
    character(len=:), allocatable :: t

    call call%argument(1, value)
    call ww_get(value, x)
    call call%argument(2, value)
    call ww_get(value, y)
    call call%argument(3, value)
    call ww_get(value, z)
    call call%argument(4, value)
    call ww_get(value, t)
    call call%result(1, ww_arg(2 * x))
    call call%result(2, ww_arg(2 * y))
    call call%result(3, ww_arg(.not. z))
    call call%result(4, ww_arg(t // t))
  end subroutine

  subroutine add_up(call)
    !! f64[n] x read -> f64 sum: reads the array in place
    type(ww_call), intent(inout) :: call
    real(c_double), pointer :: x(:)
    type(ww_memory) :: memory
    type(ww_array) :: array
    type(ww_value) :: value
    character(len=200) :: text
    integer :: stat

    call call%argument(1, value)
    if (call%has_failed()) return
    call ww_get(value, memory, array)
    call ww_view(memory, array, x, ww_access_read, stat, text)
    if (stat /= ww_ok) then
      call call%fail(stat, text)
      return
    end if
    call call%result(1, ww_arg(sum(x)))
    call ww_end_view(x)
    call memory%close()
    select type (state => call%context)
    type is (counter)
      state%calls = state%calls + 1
    end select
  end subroutine

  subroutine make(call)
    !! u64 n -> f64[n] x: a new array for the client
    type(ww_call), intent(inout) :: call
    integer(c_int64_t) :: n
    real(c_double), pointer :: x(:)
    type(ww_memory) :: memory
    type(ww_array) :: array
    type(ww_value) :: value
    integer :: stat
    character(len=200) :: text

    call call%argument(1, value)
    call ww_get(value, n)
    select type (state => call%context)
    type is (counter)
      call memory%create(state%device, 8 * n, ww_memory_host, stat, text)
    end select
    if (stat /= ww_ok) then
      call call%fail(int(stat, c_int32_t), text)
      return
    end if
    call ww_array_of(array, 'float64', [n])
    call ww_view(memory, array, x)
    x = 1.5d0
    call ww_end_view(x)
    call call%result(1, ww_arg(memory, array))
    call memory%close()
  end subroutine

  subroutine refuse(call)
    type(ww_call), intent(inout) :: call
    call call%fail(ww_err_access, 'not today')
  end subroutine

  subroutine wrong(call)
    !! -> i32: an argument that is not there, and a result of another type
    type(ww_call), intent(inout) :: call
    type(ww_value) :: value
    integer :: stat

    call call%argument(9, value, stat)
    if (stat /= ww_err_invalid) error stop 'there is an argument 9'
    call call%result(1, ww_arg(1.5d0))
  end subroutine

  subroutine stop_serving(call)
    type(ww_call), intent(inout) :: call
    type(ww_call_info) :: about
    type(ww_stream) :: stream

    call call%info(about)
    if (ww_text(about%function) /= 'stop') error stop 'another function'
    call call%stream(stream)
    call stream%synchronize()
    if (call%is_cancelled()) error stop 'it was cancelled'
    select type (state => call%context)
    type is (counter)
      call call%result(1, ww_arg(state%calls))
      state%calls = -1
    end select
  end subroutine

  subroutine serve()
    type(ww_device) :: device
    type(ww_service) :: service
    type(ww_service_info) :: about
    type(counter), target :: state
    integer :: stat

    call open_test_device(device)
    state%device = device
    call service%create(device, 'fortran/compute')
    call service%offer('double', 'i32 x, f64 y, bool z, bytes t -> i32 a, f64 b, bool c, bytes d', &
      double_it)
    call service%offer('sum', 'f64[n] x read -> f64 sum', add_up, state)
    call service%offer('make', 'u64 n -> f64[n] x', make, state)
    call service%offer('refuse', '', refuse)
    call service%offer('wrong', '-> i32 a', wrong)
    call service%offer('stop', '-> i64 calls', stop_serving, state)
    call service%start()
    do while (state%calls >= 0)
      call service%serve(20000000_c_int64_t, stat)
      if (stat /= ww_timed_out .and. stat /= ww_ok) error stop 'serve'
    end do
    call service%drain()
    call service%serve(stat=stat)
    call service%info(about)
    if (about%functions /= 6) error stop 'other functions'
    call service%close()
    call state%device%close()
    call device%close()
  end subroutine

  ! --- the client ---

  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (.not. good) error stop what
  end subroutine

  subroutine ask()
    type(ww_client) :: client
    type(ww_service_info) :: about
    type(ww_ticket) :: ticket
    type(ww_value) :: value
    integer(c_int32_t) :: a
    integer(c_int64_t) :: count
    real(c_double) :: b
    logical :: c
    character(len=:), allocatable :: d

    call client%open('fortran/compute', timeout_ns=patience_ns)
    call client%wait_ready(patience_ns)
    call client%info(about)
    call expect(about%state == ww_service_ready, 'it is not ready')
    call client%call('double', [ww_arg(21_c_int32_t), ww_arg(1.25d0), ww_arg(.true.), &
      ww_arg('ab ')], ticket, timeout_ns=patience_ns)
    call ticket%result(1, value)
    call ww_get(value, a)
    call ticket%result(2, value)
    call ww_get(value, b)
    call ticket%result(3, value)
    call ww_get(value, c)
    call ticket%result(4, value)
    call ww_get(value, d)
    call expect(a == 42 .and. b == 2.5d0 .and. .not. c .and. d == 'ab ab ', 'other results')
    call ask_arrays(client)
    call ask_wrong(client)
    call client%call('stop', [ww_argument ::], ticket, timeout_ns=patience_ns)
    call ticket%result(1, value)
    call ww_get(value, count)
    call expect(count == 4 .or. count == 5, 'another number of calls')
    call ticket%close()
    call client%close()
  end subroutine

  subroutine ask_arrays(client)
    type(ww_client), intent(in) :: client
    type(ww_device) :: device
    type(ww_memory) :: memory
    type(ww_array) :: array, part
    type(ww_ticket) :: ticket, second
    type(ww_ticket_info) :: about
    type(ww_value) :: value, sum_value
    real(c_double), pointer :: x(:)
    real(c_double) :: total
    integer :: i

    call open_test_device(device)
    call memory%create(device, 8000_c_int64_t, ww_memory_host)
    call ww_array_of(array, 'float64', [1000_c_int64_t])
    call ww_write(memory, [(real(i, c_double), i = 1, 1000)])
    call client%call('sum', [ww_arg(memory, array)], ticket, timeout_ns=patience_ns)
    call ticket%result(1, value)
    call ww_get(value, total)
    call expect(total == 500500, 'another sum')
    call client%call('make', [ww_arg(100_c_int64_t, unsigned=.true.)], ticket, timeout_ns=patience_ns)
    call ticket%import(1, device, memory, array)
    call ww_view(memory, array, x, ww_access_read)
    call expect(size(x) == 100 .and. all(x == 1.5d0), 'another array')
    call ww_end_view(x)
    call ticket%result(1, value)
    call client%call('sum', [ww_arg(value)], second, timeout_ns=patience_ns)
    call second%result(1, sum_value)
    call ww_get(sum_value, total)
    call expect(total == 150, 'another sum of the result that was passed on')
    call ww_array_of(part, 'float64', [10_c_int64_t])
    call client%call('sum', [ww_arg(value, part)], second, timeout_ns=patience_ns)
    call second%result(1, sum_value)
    call ww_get(sum_value, total)
    call expect(total == 15, 'another sum of a part of the result')
    call client%call('sum', [ww_arg(sum_value)], second, timeout_ns=patience_ns, stat=i)
    call expect(i == ww_err_invalid, 'a scalar that is passed on as an array')
    call second%close()
    call client%submit('sum', [ww_arg(memory, array)], ticket)
    call ticket%wait(patience_ns)
    call ticket%info(about)
    call expect(about%has_ended == 1 .and. about%status == ww_ok, 'it has not ended')
    call ticket%result(1, value)
    call ww_get(value, total)
    call expect(total == 150, 'another sum of the result')
    call memory%create(device, 8000_c_int64_t)
    call ww_array_of(array, 'float64', [10_c_int64_t])
    call client%call('sum', [ww_arg(memory, array)], ticket, timeout_ns=patience_ns, stat=i)
    call expect(i == merge(ww_ok, ww_err_unsupported, c_associated(memory%host_pointer())), &
      'memory that the CPU of the server does not reach')
    call memory%close()
    call device%close()
  end subroutine

  subroutine ask_wrong(client)
    type(ww_client), intent(in) :: client
    type(ww_ticket) :: ticket
    type(ww_memory) :: never
    type(ww_value) :: value
    character(len=200) :: text
    integer :: stat

    call client%call('refuse', [ww_argument ::], ticket, timeout_ns=patience_ns, stat=stat, errmsg=text)
    call expect(stat == ww_err_access .and. index(text, 'not today') > 0, 'the reason is lost')
    call client%call('wrong', [ww_argument ::], ticket, timeout_ns=patience_ns, stat=stat, errmsg=text)
    call expect(stat == ww_err_mismatch, 'a result of another type')
    call client%call('nothing', [ww_argument ::], ticket, timeout_ns=patience_ns, stat=stat)
    call expect(stat == ww_err_not_found, 'a function that is not offered')
    call client%call('sum', [ww_arg(1_c_int32_t)], ticket, timeout_ns=patience_ns, stat=stat)
    call expect(stat == ww_err_mismatch, 'an argument of another type')
    call client%call('sum', [ww_arg(never)], ticket, timeout_ns=patience_ns, stat=stat, errmsg=text)
    call expect(stat == ww_err_invalid .and. index(text, 'closed') > 0, 'a memory that is closed')
    call client%call('double', [ww_arg(repeat('x', 4097))], ticket, timeout_ns=patience_ns, stat=stat)
    call expect(stat == ww_err_limit, 'a text that is too long')
    call client%call('sum', [(ww_arg(), stat = 1, 33)], ticket, timeout_ns=patience_ns, stat=stat)
    call expect(stat == ww_err_limit, '33 arguments')
    call client%call('double', [ww_arg(1_c_int32_t), ww_arg(1d0), ww_arg(.true.), ww_arg('')], ticket)
    call ticket%result(5, value, stat)
    call expect(stat == ww_err_invalid, 'a result that is not there')
    call ticket%result(0, value, stat)
    call expect(stat < 0, 'a result 0')
    call ticket%close()
  end subroutine
end module
