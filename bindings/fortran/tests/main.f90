! SPDX-License-Identifier: Apache-2.0
program fortran_tests
  !! Without words: all tests. With words: one of the roles that the tests start.
  use warpway
  use check
  use arrays
  use handles
  use peers
  use frames
  use calls
  implicit none
  type(ww_device) :: device

  select case (argument(1))
  case ('')
    call open_test_device(device)
    call test_handles(device)
    call test_arrays(device)
    call test_peers(device)
    call test_frames(device)
    call test_calls(device)
    call device%close()
    call claim(ww_open_handles() == 0 .and. ww_open_views() == 0, 'nothing is open at the end')
    call plan()
    if (claims_failed()) stop 1, quiet=.true.
  case ('die')
    call end_by_error(argument(2))
  case ('produce')
    call produce()
  case ('consume')
    call consume()
  case ('serve')
    call serve()
  case ('ask')
    call ask()
  case default
    call peer(argument(1))
  end select
end program
