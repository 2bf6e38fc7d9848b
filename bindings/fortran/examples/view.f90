! SPDX-License-Identifier: Apache-2.0
program view
  !! An array in a memory, as a Fortran pointer; a section of it, shared without a copy; and what a
  !! wrong pointer is told.
  !!
  !!   view DEVICE      such as "cuda:0" or "host"
  use, intrinsic :: iso_c_binding
  use warpway
  implicit none
  real(c_float), pointer :: image(:, :), rows(:, :)
  real(c_double), pointer :: wrong(:, :)
  character(len=200) :: device_name, message
  type(ww_device) :: device
  type(ww_memory) :: memory, same
  type(ww_array) :: array
  integer :: i, j, stat

  call get_command_argument(1, device_name)
  call device%open(trim(device_name))
  call memory%create(device, 6 * 4 * 4_c_int64_t, ww_memory_host)
  call ww_array_of(array, 'float32', [6_c_int64_t, 4_c_int64_t])
  call ww_view(memory, array, image)
  do j = 1, 4
    do i = 1, 6
      image(i, j) = 10 * i + j
    end do
  end do

  ! Every other row, from the last to the first: in place, not a copy.
  call ww_describe(image(6:1:-2, :), array, memory)
  call memory%put('lab/rows', array)
  call same%get(device, 'lab/rows', array)
  call ww_view(same, array, rows, ww_access_read)
  if (any(shape(rows) /= [3, 4])) error stop 'the shape is another one'
  if (nint(rows(1, 2)) /= 62) error stop 'the numbers are others'

  call ww_view(same, array, wrong, ww_access_read, stat, message)
  if (stat /= ww_err_mismatch) error stop 'a wrong pointer was set'
  print '(2a)', 'as it should: ', trim(message)

  call ww_end_view(rows)
  call ww_end_view(image)
  call same%close()
  call memory%close()
  call device%close()
end program
