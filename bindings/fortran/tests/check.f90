! SPDX-License-Identifier: Apache-2.0
module check
  !! Claims, told in the Test Anything Protocol, and other processes of this program.
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: output_unit
  use warpway
  implicit none
  private
  public :: claim, claim_status, plan, claims_failed, open_test_device, run, run_quietly, patience_ns
  public :: argument, contains_text

  integer(c_int64_t), parameter :: patience_ns = 600000000000_c_int64_t
    !! Should the other side fail.
  integer :: count = 0, failed = 0

contains
  subroutine claim(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what

    count = count + 1
    if (.not. good) failed = failed + 1
    write (output_unit, '(a, i0, 2a)') trim(merge('ok     ', 'not ok ', good)) // ' ', count, ' - ', what
    flush (output_unit)
  end subroutine

  subroutine claim_status(stat, wanted, what, errmsg, words)
    !! Whether a call gave a status, and its message has certain words.
    integer, intent(in) :: stat
    integer(c_int32_t), intent(in) :: wanted
    character(len=*), intent(in) :: what
    character(len=*), intent(in), optional :: errmsg, words
    logical :: good

    good = stat == wanted
    if (present(words)) good = good .and. index(errmsg, words) > 0
    if (.not. good) then
      print '(4a)', '# ', ww_error_text(stat), ' instead of ', ww_error_text(int(wanted))
      if (present(errmsg)) print '(2a)', '# ', trim(errmsg)
    end if
    call claim(good, what)
  end subroutine

  subroutine plan()
    print '(a, i0)', '1..', count
  end subroutine

  logical function claims_failed()
    claims_failed = failed > 0
  end function

  subroutine open_test_device(device)
    !! That of WW_TEST_DEVICE.
    type(ww_device), intent(inout) :: device
    character(len=64) :: name
    call get_environment_variable('WW_TEST_DEVICE', name)
    call device%open(trim(name))
  end subroutine

  function argument(number) result(text)
    !! A word of the command line.
    integer, intent(in) :: number
    character(len=:), allocatable :: text
    integer :: length

    call get_command_argument(number, length=length)
    allocate (character(len=length) :: text)
    call get_command_argument(number, text)
  end function

  integer function run(first, second)
    !! The exit status of this program in one role, or in two at the same time: that of the first
    !! one that failed.
    character(len=*), intent(in) :: first
    character(len=*), intent(in), optional :: second
    character(len=:), allocatable :: command

    flush (output_unit)
    command = argument(0) // ' ' // first
    if (present(second)) command = command // ' & ' // argument(0) // ' ' // second // &
      '; b=$?; wait $! && exit $b'
    call execute_command_line(command, exitstat=run)
  end function

  integer function run_quietly(role, output)
    !! The exit status of this program in a role; what it prints goes into output.
    character(len=*), intent(in) :: role
    character(len=*), intent(out) :: output
    character(len=200) :: line, folder
    integer :: unit, end

    call get_environment_variable('XDG_RUNTIME_DIR', folder)
    call execute_command_line(argument(0) // ' ' // role // ' >' // trim(folder) // '/output 2>&1', &
      exitstat=run_quietly)
    output = ''
    open (newunit=unit, file=trim(folder) // '/output', action='read')
    do
      read (unit, '(a)', iostat=end) line
      if (end /= 0) exit
      output = trim(output) // ' ' // line
    end do
    close (unit, status='delete')
  end function

  logical function contains_text(text, words)
    character(len=*), intent(in) :: text, words
    contains_text = index(text, words) > 0
    if (.not. contains_text) print '(4a)', '# not "', words, '" in: ', trim(text)
  end function
end module
