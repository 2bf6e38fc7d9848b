! SPDX-License-Identifier: Apache-2.0
program channel
  !! Frames from one process to another one, written and read in place.
  !!
  !!   channel DEVICE      such as "cuda:0" or "host"
  use, intrinsic :: iso_c_binding
  use warpway
  implicit none
  integer(c_int64_t), parameter :: patience_ns = 60000000000_c_int64_t
  integer, parameter :: count = 20
  character(len=200) :: program_name, device_name, role
  type(ww_device) :: device

  call get_command_argument(0, program_name)
  call get_command_argument(1, device_name)
  call get_command_argument(2, role)
  call device%open(trim(device_name))
  if (role == 'consumer') then
    call consume()
  else
    call produce()
  end if
  call device%close()

contains
  subroutine produce()
    real(c_float), pointer :: field(:, :)
    type(ww_channel_params) :: params
    type(ww_channel) :: camera
    type(ww_frame) :: frame
    type(ww_array) :: array
    integer :: i, stat

    call ww_array_of(array, 'float32', [64_c_int64_t, 48_c_int64_t])
    params%kind = ww_memory_host
    call camera%create(device, 'lab/camera', 64 * 48 * 4_c_int64_t, array, params=params)
    call execute_command_line(trim(program_name) // ' ' // trim(device_name) // ' consumer', &
      wait=.false.)
    call camera%wait_consumers(1_c_int32_t, patience_ns)
    do i = 1, count
      call camera%acquire(frame, patience_ns)
      call ww_view(camera, frame, field)
      field = i
      call camera%publish(frame)
    end do

    ! The consumer leaves when it has received all frames.
    call wait_for_end(camera, stat)
    call camera%close()
    if (stat /= ww_ok) error stop 'the consumer has not received all frames'
  end subroutine

  subroutine wait_for_end(camera, stat)
    !! Until the consumer has left, by itself.
    type(ww_channel), intent(in) :: camera
    integer, intent(out) :: stat
    type(ww_channel_event) :: event

    do
      call camera%next_event(event, patience_ns, stat)
      if (stat /= ww_ok .or. event%kind == ww_channel_consumer_left) return
      if (event%kind == ww_channel_consumer_ended) stat = ww_err_peer_lost
      if (stat /= ww_ok) return
    end do
  end subroutine

  subroutine consume()
    real(c_float), pointer :: field(:, :)
    type(ww_channel) :: camera
    type(ww_frame) :: frame
    integer :: i

    call camera%get(device, 'lab/camera', timeout_ns=patience_ns)
    do i = 1, count
      call camera%receive(frame, patience_ns)
      call ww_view(camera, frame, field, ww_access_read)
      if (any(nint(field) /= i)) error stop 'another frame'
      call camera%release(frame)      ! the pointer is not used any more
    end do
    print '(a, i0)', 'frames: ', count
    call camera%close()
  end subroutine
end program
