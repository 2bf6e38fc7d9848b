! SPDX-License-Identifier: Apache-2.0
program share
  !! One process puts a matrix under a name, another one gets it. Nothing is copied.
  !!
  !!   share DEVICE      such as "cuda:0" or "host"
  use, intrinsic :: iso_c_binding
  use warpway
  implicit none
  integer(c_int64_t), parameter :: patience_ns = 60000000000_c_int64_t
  character(len=200) :: program_name, device_name, role
  type(ww_device) :: device
  type(ww_barrier) :: done
  type(ww_token) :: token

  call get_command_argument(0, program_name)
  call get_command_argument(1, device_name)
  call get_command_argument(2, role)
  call device%open(trim(device_name))
  if (role == 'reader') then
    call get_matrix()
  else
    call put_matrix()
  end if
  call device%close()

contains
  subroutine put_matrix()
    real(c_double), pointer :: matrix(:, :)
    type(ww_memory) :: memory
    type(ww_array) :: array
    integer :: i

    call memory%create(device, 3 * 4 * 8_c_int64_t, ww_memory_host)
    call ww_array_of(array, 'float64', [3_c_int64_t, 4_c_int64_t])
    call ww_view(memory, array, matrix)
    matrix = reshape([(i, i = 1, 12)], [3, 4])
    call ww_end_view(matrix)
    call memory%put('lab/matrix', array)

    call ww_make_barrier(token, 2_c_int32_t, 'lab/done')
    call execute_command_line(trim(program_name) // ' ' // trim(device_name) // ' reader', &
      wait=.false.)
    call done%get('lab/done')
    call done%wait(patience_ns)
    call memory%close()
  end subroutine

  subroutine get_matrix()
    real(c_double), pointer :: matrix(:, :)
    type(ww_memory) :: memory
    type(ww_array) :: array

    call memory%get(device, 'lab/matrix', array, timeout_ns=patience_ns)
    call ww_view(memory, array, matrix, ww_access_read)
    if (any(shape(matrix) /= [3, 4])) error stop 'the shape is another one'
    if (nint(matrix(2, 3)) /= 8) error stop 'the numbers are others'
    print '(a, 3f5.1)', 'column 3:', matrix(:, 3)
    call ww_end_view(matrix)
    call memory%close()
    call done%get('lab/done')
    call done%wait(patience_ns)
  end subroutine
end program
