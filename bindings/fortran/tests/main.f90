! SPDX-License-Identifier: Apache-2.0
program fortran_tests
  !! Without words: all tests. With words: one of the roles that the tests start.
  use warpway
  use check
  use arrays
  use handles
  implicit none
  type(ww_device) :: device

  select case (argument(1))
  case ('')
    call open_test_device(device)
    call test_handles(device)
    call test_arrays(device)
    call device%close()
    call plan()
    if (claims_failed()) stop 1, quiet=.true.
  case ('die')
    call end_by_error(argument(2))
  case default
    error stop 'unknown role'
  end select
end program
