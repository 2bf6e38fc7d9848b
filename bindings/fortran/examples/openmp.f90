! SPDX-License-Identifier: Apache-2.0
program openmp
  !! A target region of OpenMP works on shared memory of the GPU, at the address that it has there.
  !!
  !!   openmp DEVICE      such as "cuda:0"; with "host" the region runs on the CPU
  use, intrinsic :: iso_c_binding
  use warpway
  implicit none
  integer, parameter :: n = 1000
  character(len=200) :: device_name
  real(c_double) :: back(n)
  type(ww_device) :: device
  type(ww_memory) :: memory
  type(c_ptr) :: address
  integer :: i

  call get_command_argument(1, device_name)
  call device%open(trim(device_name))
  call memory%create(device, 8_c_int64_t * n)
  call ww_write(memory, [(real(i, c_double), i = 1, n)])
  address = memory%pointer()
  call double_all(address)
  call ww_read(memory, back)
  if (any(nint(back) /= [(2 * i, i = 1, n)])) error stop 'the numbers are others'
  print '(a)', 'all numbers were doubled'
  call memory%close()
  call device%close()

contains
  subroutine double_all(address)
    type(c_ptr), intent(in) :: address
    real(c_double), pointer :: x(:)
    integer :: i
    !$omp target private(x, i) is_device_ptr(address)
    call c_f_pointer(address, x, [n])
    !$omp parallel do
    do i = 1, n
      x(i) = 2 * x(i)
    end do
    !$omp end target
  end subroutine
end program
