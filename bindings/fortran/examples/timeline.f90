! SPDX-License-Identifier: Apache-2.0
program timeline
  !! Two processes take turns in one memory: each waits for a value of the other one's timeline.
  !!
  !!   timeline DEVICE      such as "cuda:0" or "host"
  use, intrinsic :: iso_c_binding
  use warpway
  implicit none
  integer(c_int64_t), parameter :: patience_ns = 60000000000_c_int64_t
  integer(c_int64_t), parameter :: rounds = 10
  character(len=200) :: program_name, device_name, role
  integer(c_int64_t) :: number, i
  type(ww_device) :: device
  type(ww_memory) :: memory
  type(ww_timeline) :: mine, theirs
  type(ww_token) :: token
  type(ww_barrier) :: both

  call get_command_argument(0, program_name)
  call get_command_argument(1, device_name)
  call get_command_argument(2, role)
  call device%open(trim(device_name))
  call mine%create()
  if (role == 'second') then
    call memory%get(device, 'lab/number', access=ww_access_write, timeout_ns=patience_ns)
    call mine%put('lab/second')
    call theirs%get('lab/first', timeout_ns=patience_ns)
  else
    call memory%create(device, 8_c_int64_t, ww_memory_host)
    call ww_write(memory, 0_c_int64_t)
    call ww_make_barrier(token, 2_c_int32_t, 'lab/both')
    call memory%put('lab/number', params=ww_put_params(state=ww_state_shared))
    call mine%put('lab/first')
    call execute_command_line(trim(program_name) // ' ' // trim(device_name) // ' second', &
      wait=.false.)
    call theirs%get('lab/second', timeout_ns=patience_ns)
  end if

  do i = 1, rounds
    if (role == 'second') call theirs%wait(i, patience_ns)
    call ww_read(memory, number)
    call ww_write(memory, number + 1)
    call mine%signal(i)
    if (role /= 'second') call theirs%wait(i, patience_ns)
  end do

  ! Each timeline stays until both have played.
  call both%get('lab/both', timeout_ns=patience_ns)
  call both%wait(patience_ns)
  call ww_read(memory, number)
  if (number /= 2 * rounds) error stop 'a turn was lost'
  if (role /= 'second') print '(a, i0)', 'turns: ', number
  call both%close()
  call theirs%close()
  call mine%close()
  call memory%close()
  call device%close()
end program
