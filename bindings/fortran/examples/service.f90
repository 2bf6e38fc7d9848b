! SPDX-License-Identifier: Apache-2.0
module functions
  !! What the server offers.
  use, intrinsic :: iso_c_binding
  use warpway
  implicit none

  type, extends(ww_function_context) :: server_state
    logical :: goes_on = .true.
  end type

contains
  subroutine scale(call)
    !! f64[n] x readwrite, f64 by -> f64 sum: changes the client's array in place
    type(ww_call), intent(inout) :: call
    real(c_double), pointer :: x(:)
    real(c_double) :: by
    type(ww_memory) :: memory
    type(ww_array) :: array
    type(ww_value) :: values(2)
    character(len=200) :: message
    integer :: stat

    call call%argument(1, values(1))
    call call%argument(2, values(2))
    if (call%has_failed()) return
    call ww_get(values(1), memory, array)
    call ww_get(values(2), by)
    if (by <= 0) then
      call call%fail(ww_err_invalid, 'the factor must be positive')
      return
    end if
    call ww_view(memory, array, x, stat=stat, errmsg=message)
    if (stat /= ww_ok) then
      call call%fail(stat, message)
      return
    end if
    x = x * by
    call call%result(1, ww_arg(sum(x)))
    call ww_end_view(x)
    call memory%close()
  end subroutine

  subroutine stop_server(call)
    type(ww_call), intent(inout) :: call
    select type (state => call%context)
    type is (server_state)
      state%goes_on = .false.
    end select
  end subroutine
end module

program service
  !! A server in Fortran, and a client that calls its functions.
  !!
  !!   service DEVICE      such as "cuda:0" or "host"
  use, intrinsic :: iso_c_binding
  use warpway
  use functions
  implicit none
  integer(c_int64_t), parameter :: patience_ns = 60000000000_c_int64_t
  character(len=200) :: program_name, device_name, role
  type(ww_device) :: device

  call get_command_argument(0, program_name)
  call get_command_argument(1, device_name)
  call get_command_argument(2, role)
  call device%open(trim(device_name))
  if (role == 'server') then
    call serve()
  else
    call execute_command_line(trim(program_name) // ' ' // trim(device_name) // ' server', &
      wait=.false.)
    call ask()
  end if
  call device%close()

contains
  subroutine serve()
    type(server_state), target :: state
    type(ww_service) :: compute
    integer :: stat

    call compute%create(device, 'lab/compute')
    call compute%offer('scale', 'f64[n] x readwrite, f64 by -> f64 sum', scale)
    call compute%offer('stop', '', stop_server, state)
    call compute%start()
    do while (state%goes_on)
      call compute%serve(100000000_c_int64_t, stat)
      if (stat /= ww_ok .and. stat /= ww_timed_out) error stop 'the service has failed'
    end do
    call compute%close()
  end subroutine

  subroutine ask()
    real(c_double), pointer :: x(:)
    real(c_double) :: total
    character(len=200) :: message
    type(ww_client) :: compute
    type(ww_ticket) :: ticket
    type(ww_memory) :: memory
    type(ww_array) :: array
    type(ww_value) :: value
    integer :: i, stat

    call memory%create(device, 8 * 100_c_int64_t, ww_memory_host)
    call ww_array_of(array, 'float64', [100_c_int64_t])
    call ww_view(memory, array, x)
    x = [(i, i = 1, 100)]
    call compute%open('lab/compute', timeout_ns=patience_ns)
    call compute%wait_ready(patience_ns)
    call compute%call('scale', [ww_arg(memory, array), ww_arg(2d0)], ticket, timeout_ns=patience_ns)
    call ticket%result(1, value)
    call ww_get(value, total)
    if (nint(total) /= 10100 .or. nint(x(100)) /= 200) error stop 'the numbers are others'
    print '(a, f8.1)', 'sum: ', total

    call compute%call('scale', [ww_arg(memory, array), ww_arg(-1d0)], ticket, stat=stat, &
      errmsg=message, timeout_ns=patience_ns)
    if (stat /= ww_err_invalid) error stop 'it was not refused'
    print '(2a)', 'as it should: ', trim(message)
    call compute%call('stop', [ww_argument ::], ticket, timeout_ns=patience_ns)
    call ticket%close()
    call compute%close()
    call ww_end_view(x)
    call memory%close()
  end subroutine
end program
