! SPDX-License-Identifier: Apache-2.0
module frames
  !! Channels between two processes.
  use, intrinsic :: iso_c_binding
  use warpway
  use check
  implicit none
  private
  public :: test_frames, produce, consume

  integer(c_int64_t), parameter :: count = 200

contains
  subroutine test_frames(device)
    type(ww_device), intent(in) :: device
    type(ww_channel) :: producer, consumer, none
    type(ww_channel_params) :: params
    type(ww_channel_info) :: about
    type(ww_channel_event) :: event
    type(ww_frame) :: frame, got
    type(ww_array) :: array, other
    type(ww_token) :: token
    integer(c_int32_t), pointer :: numbers(:, :)
    integer(c_int8_t), pointer :: bytes(:)
    real(c_float), pointer :: reals(:, :)
    character(len=200) :: text
    integer :: stat

    call claim(run('produce', 'consume') == 0, 'frames go from one process to another')
    call ww_array_of(array, 'int32', [3_c_int64_t, 5_c_int64_t])
    params%kind = ww_memory_host
    call producer%create(device, 'fortran/frames', 4096_c_int64_t, array, 'pose/1', params)
    call producer%create(device, 'fortran/frames', 4096_c_int64_t, array, stat=stat)
    call claim_status(stat, ww_err_exists, 'a channel of a name that is taken')
    call none%create(device, 'fortran/small', 16_c_int64_t, array, params=params, stat=stat)
    call claim_status(stat, ww_err_mismatch, 'an array that does not fit into a slot')
    call none%create(device, 'fortran/long', 16_c_int64_t, metadata_type=repeat('x', 16), stat=stat)
    call claim_status(stat, ww_err_invalid, 'a name of metadata that is too long')
    call ww_array_of(other, 'float32', [3_c_int64_t, 5_c_int64_t])
    call consumer%get(device, 'fortran/frames', other, stat=stat, errmsg=text)
    call claim_status(stat, ww_err_mismatch, 'frames of another type', text, 'float32')
    call consumer%get(device, 'fortran/frames', array, 'pose/1')
    call consumer%receive(got, 0_c_int64_t, stat=stat)
    call claim_status(stat, ww_timed_out, 'no frame yet')
    call producer%receive(got, 0_c_int64_t, stat=stat)
    call claim_status(stat, ww_err_access, 'the producer receives none')

    call producer%acquire(frame)
    call ww_view(producer, frame, reals, stat=stat, errmsg=text)
    call claim_status(stat, ww_err_mismatch, 'a view of another type', text, &
      'int32, the pointer real(c_float)')
    call ww_view(producer, frame, bytes, stat=stat)
    call claim_status(stat, ww_err_mismatch, 'a view of bytes')
    call ww_view(producer, frame, numbers)
    call claim(all(shape(numbers) == [3, 5]), 'the shape of a frame')
    numbers = 12
    call producer%publish(frame, 8192_c_int64_t, stat=stat)
    call claim_status(stat, ww_err_invalid, 'a frame that is too large')
    frame%bytes = 0
    call producer%publish(frame)
    call ww_view(producer, frame, numbers, stat=stat, errmsg=text)
    call claim_status(stat, ww_err_invalid, 'a view of a frame that was published', text, 'held')
    call producer%publish(frame, stat=stat)
    call claim_status(stat, ww_err_invalid, 'a frame is published twice')
    call consumer%receive(got, patience_ns)
    call ww_view(consumer, got, numbers, stat=stat)
    call claim_status(stat, ww_err_access, 'a consumer does not write')
    call ww_view(consumer, got, numbers, ww_access_read)
    call claim(all(numbers == 12) .and. got%bytes == 60, 'a frame is received')
    call consumer%release(got)
    call ww_view(consumer, got, numbers, ww_access_read, stat=stat)
    call claim_status(stat, ww_err_invalid, 'a view of a frame that was released')
    call consumer%release(got, stat=stat)
    call claim_status(stat, ww_err_invalid, 'a frame is released twice')
    call producer%acquire(frame)
    frame%ndim = 2
    frame%shape(1:2) = [2, 3]
    call ww_view(producer, frame, numbers)
    call claim(all(shape(numbers) == [3, 2]), 'the shape that a producer sets')
    frame%shape(1:2) = 1000
    call ww_view(producer, frame, numbers, stat=stat)
    call claim_status(stat, ww_err_mismatch, 'a shape that does not fit into a frame')
    call producer%discard(frame)
    call producer%info(about)
    call claim(about%published == 1 .and. ww_text(about%metadata_type) == 'pose/1', 'what a channel is')
    call producer%wait_consumers(1_c_int32_t, patience_ns)
    call producer%next_event(event, patience_ns)
    call claim(event%kind == ww_channel_consumer_joined, 'what happened to it')
    call producer%evict(event%consumer)
    call consumer%receive(got, patience_ns, stat=stat)
    call claim_status(stat, ww_err_evicted, 'a consumer that was evicted')
    call consumer%close()
    call producer%export(token)
    call consumer%import(device, token)
    call producer%close()
    call consumer%receive(got, patience_ns, stat=stat)
    call claim_status(stat, ww_end, 'the end of a channel')
  end subroutine

  subroutine produce()
    type(ww_device) :: device
    type(ww_channel) :: channel
    type(ww_channel_params) :: params
    type(ww_frame) :: frame
    type(ww_array) :: array
    integer(c_int64_t), pointer :: numbers(:)
    integer(c_int64_t) :: i

    call open_test_device(device)
    call ww_array_of(array, 'int64', [1000_c_int64_t])
    params%kind = ww_memory_host
    call channel%create(device, 'fortran/camera', 8000_c_int64_t, array, params=params)
    call channel%wait_consumers(1_c_int32_t, patience_ns)
    do i = 1, count
      call channel%acquire(frame, patience_ns)
      call ww_view(channel, frame, numbers)
      numbers = i
      call channel%publish(frame)
    end do
    call channel%close()
    call device%close()
  end subroutine

  subroutine consume()
    type(ww_device) :: device
    type(ww_channel) :: channel
    type(ww_frame) :: frame
    integer(c_int64_t), pointer :: numbers(:)
    integer(c_int64_t) :: received
    integer :: stat

    call open_test_device(device)
    call channel%get(device, 'fortran/camera', timeout_ns=patience_ns)
    received = 0
    do
      call channel%receive(frame, patience_ns, stat=stat)
      if (stat == ww_end) exit
      if (stat /= ww_ok) error stop 'no frame'
      received = received + 1
      call ww_view(channel, frame, numbers, ww_access_read)
      if (size(numbers) /= 1000 .or. any(numbers /= received)) error stop 'another frame'
      call channel%release(frame)
    end do
    if (received /= count) error stop 'frames are missing'
    call channel%close()
    call device%close()
  end subroutine
end module
