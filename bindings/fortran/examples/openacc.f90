! SPDX-License-Identifier: Apache-2.0
program openacc
  !! A parallel loop of OpenACC works on shared memory of the GPU, at the address that it has there.
  !!
  !!   openacc DEVICE      such as "cuda:0"; with "host" the loop runs on the CPU
  use, intrinsic :: iso_c_binding
  use warpway
  implicit none
  integer, parameter :: n = 1000
  character(len=200) :: device_name
  real(c_double), pointer :: x(:)
  real(c_double) :: back(n)
  type(ww_device) :: device
  type(ww_memory) :: memory
  integer :: i

  call get_command_argument(1, device_name)
  call device%open(trim(device_name))
  call memory%create(device, 8_c_int64_t * n)
  call ww_write(memory, [(real(i, c_double), i = 1, n)])
  ! An address of the GPU: only the GPU reads and writes there.
  call c_f_pointer(memory%pointer(), x, [n])
  call double_all(x)
  call ww_read(memory, back)
  if (any(nint(back) /= [(2 * i, i = 1, n)])) error stop 'the numbers are others'
  print '(a)', 'all numbers were doubled'
  call memory%close()
  call device%close()

contains
  subroutine double_all(x)
    real(c_double), intent(inout) :: x(n)
    integer :: i
    !$acc parallel loop deviceptr(x)
    do i = 1, n
      x(i) = 2 * x(i)
    end do
  end subroutine
end program
