! SPDX-License-Identifier: Apache-2.0
module arrays
  !! Views and descriptions of arrays, and what is refused.
  use, intrinsic :: iso_c_binding
  use warpway
  use check
  use views, only: view_all
  implicit none
  private
  public :: test_arrays

contains
  subroutine test_arrays(device)
    type(ww_device), intent(in) :: device
    type(ww_memory) :: memory
    integer(c_int64_t) :: views

    views = ww_open_views()
    call memory%create(device, 65536_c_int64_t, ww_memory_host)
    call view_all(memory)
    call test_types(memory)
    call test_refused(memory)
    call test_layouts(memory)
    call test_ends(memory)
    call test_copies(memory)
    call test_gpu(device)
    call memory%close()
    call claim(ww_open_views() == views, 'all views have ended')
  end subroutine

  subroutine test_types(memory)
    !! Types that Fortran does not have: an error that names both, and the bits as integers.
    type(ww_memory), intent(in) :: memory
    character(len=16), parameter :: names(*) = [character(len=16) :: 'uint8', 'uint16', 'uint32', &
      'uint64', 'float16', 'bfloat16', 'float8_e4m3fn', 'float8_e5m2', 'opaque16']
    integer(c_int8_t), pointer :: p8(:)
    integer(c_int16_t), pointer :: p16(:)
    integer(c_int32_t), pointer :: p32(:)
    integer(c_int64_t), pointer :: p64(:)
    real(c_float), pointer :: pr(:)
    integer(c_int8_t), parameter :: bytes(8) = [integer(c_int8_t) :: -1, 2, 3, -4, 5, 6, 7, 8]
    character(len=200) :: text
    type(ww_array) :: array
    integer :: i, stat, bits
    logical :: good

    call ww_write(memory, bytes)
    do i = 1, size(names)
      call ww_array_of(array, names(i), [1_c_int64_t])
      bits = iand(int(array%dtype%bits), 255)
      call ww_view(memory, array, pr, stat=stat, errmsg=text)
      call claim_status(stat, ww_err_mismatch, trim(names(i)) // ' is not float32', text, &
        trim(names(i)) // ', the pointer real(c_float)')
      call claim(.not. associated(pr), 'the pointer of a view that failed is disassociated')
      select case (bits)
      case (8)
        call ww_view(memory, array, p8, stat=stat, errmsg=text)
        call claim_status(stat, ww_err_mismatch, 'nor int8', text, 'ww_bits()')
        call ww_view(memory, ww_bits(array), p8)
        good = p8(1) == -1
        call ww_end_view(p8)
      case (16)
        call ww_view(memory, array, p16, stat=stat)
        call claim_status(stat, ww_err_mismatch, 'nor int16')
        call ww_view(memory, ww_bits(array), p16)
        good = p16(1) == 767
        call ww_end_view(p16)
      case (32)
        call ww_view(memory, array, p32, stat=stat)
        call claim_status(stat, ww_err_mismatch, 'nor int32')
        call ww_view(memory, ww_bits(array), p32)
        good = p32(1) == transfer(bytes(:4), 0_c_int32_t)
        call ww_end_view(p32)
      case default
        call ww_view(memory, array, p64, stat=stat)
        call claim_status(stat, ww_err_mismatch, 'nor int64')
        call ww_view(memory, ww_bits(array), p64)
        good = p64(1) == transfer(bytes, 0_c_int64_t)
        call ww_end_view(p64)
      end select
      call claim(good, 'the bits of ' // trim(names(i)) // ' as an integer')
    end do
    call ww_array_of(array, 'float32x4', [2_c_int64_t])
    call ww_view(memory, ww_bits(array), p64, stat=stat)
    call claim_status(stat, ww_err_mismatch, 'an element of 16 bytes has no integer')
  end subroutine

  subroutine test_refused(memory)
    type(ww_memory), intent(in) :: memory
    real(c_float), pointer :: one(:), two(:, :)
    real(c_double), pointer :: wide(:)
    character(len=200) :: text
    type(ww_array) :: array
    type(ww_memory) :: never
    integer :: stat

    call ww_array_of(array, 'float32', [2_c_int64_t, 3_c_int64_t])
    call ww_view(memory, array, one, stat=stat, errmsg=text)
    call claim_status(stat, ww_err_mismatch, 'a pointer of another rank', text, &
      'has 2 dimensions, the pointer of real(c_float) 1')
    call ww_view(memory, array, wide, stat=stat, errmsg=text)
    call claim_status(stat, ww_err_mismatch, 'a pointer of another kind', text, &
      'float32, the pointer real(c_double)')
    call ww_array_of(array, 'float32', [2_c_int64_t, 8192_c_int64_t])
    call ww_view(memory, array, two, stat=stat)
    call ww_end_view(two)
    call ww_array_of(array, 'float32', [2_c_int64_t, 8193_c_int64_t])
    call ww_view(memory, array, two, stat=stat)
    call claim_status(stat, ww_err_mismatch, 'an array that is larger than the memory')
    call ww_array_of(array, 'float32', [2_c_int64_t, 2_c_int64_t], -4_c_int64_t, stat=stat)
    if (stat == ww_ok) call ww_view(memory, array, two, stat=stat)
    call claim(stat < 0, 'an array before the memory')
    call ww_array_of(array, 'float32', [-1_c_int64_t], stat=stat)
    call claim_status(stat, ww_err_invalid, 'a negative length')
    call ww_array_of(array, 'float33', [1_c_int64_t], stat=stat)
    call claim_status(stat, ww_err_invalid, 'no such type')
    call ww_array_of(array, 'float32', spread(1_c_int64_t, 1, 17), stat=stat)
    call claim_status(stat, ww_err_invalid, '17 dimensions')
    call ww_array_of(array, 'float32', spread(1_c_int64_t, 1, 16))
    call ww_view(memory, array, two, stat=stat)
    call claim_status(stat, ww_err_mismatch, '16 dimensions: one more than Fortran has')
    array = ww_array()
    call ww_view(memory, array, one, stat=stat)
    call claim(stat < 0, 'an array that was never set')
    array%ndim = 99
    call ww_view(memory, array, one, stat=stat)
    call claim(stat < 0, 'an array of 99 dimensions')
    call claim(size(ww_shape(array)) == 16, '... has a shape of 16')
    call ww_array_of(array, 'float32', [1_c_int64_t])
    call ww_view(never, array, one, stat=stat, errmsg=text)
    call claim_status(stat, ww_err_invalid, 'a memory that was never opened', text, 'never opened')
    call ww_view(memory, array, one, access=7_c_int32_t, stat=stat)
    call claim_status(stat, ww_err_invalid, 'an access that is none')
  end subroutine

  subroutine test_layouts(memory)
    !! Strides that Fortran does not have, alignment, no elements, repeated ones.
    type(ww_memory), intent(in) :: memory
    real(c_float), pointer :: one(:)
    integer(c_int32_t), pointer :: two(:, :)
    character(len=200) :: text
    type(ww_array) :: array
    integer :: stat

    call ww_array_of(array, 'float32', [2_c_int64_t], 2_c_int64_t)
    call ww_view(memory, array, one, stat=stat, errmsg=text)
    call claim_status(stat, ww_err_unsupported, 'a start that is not aligned', text, 'offset 2')
    call ww_array_of(array, 'float32', [2_c_int64_t])
    array%strides(1) = 6
    call ww_view(memory, array, one, stat=stat, errmsg=text)
    call claim_status(stat, ww_err_unsupported, 'a stride between elements', text, '6 bytes')
    array%strides(1) = 0
    call ww_write(memory, 1.5_c_float)
    call ww_view(memory, array, one)
    call claim(all(one == [1.5, 1.5]), 'a stride of 0 repeats')
    call ww_end_view(one)
    call ww_array_of(array, 'int32', [0_c_int64_t, 5_c_int64_t])
    call ww_view(memory, array, two)
    call claim(all(shape(two) == [0, 5]), 'an array without elements')
    call ww_end_view(two)
    call claim(all(ww_shape(array) == [0, 5]), 'a shape in the order of Fortran')
    call claim(array%shape(1) == 5, 'which is the other way round in C')
    call claim(ww_type_name(array) == 'int32', 'the name of a type')
  end subroutine

  subroutine test_ends(memory)
    type(ww_memory), intent(in) :: memory
    integer(c_int32_t), pointer :: whole(:), part(:)
    integer(c_int32_t), target :: other(3)
    type(ww_memory) :: another
    type(ww_array) :: array
    character(len=200) :: message
    integer :: stat

    call ww_array_of(array, 'int32', [10_c_int64_t])
    another = memory
    call ww_view(another, array, whole)
    part => whole(2:)
    call ww_end_view(part, stat=stat)
    call claim_status(stat, ww_err_invalid, 'the end of what is a section')
    part => other
    call ww_end_view(part, stat=stat)
    call claim_status(stat, ww_err_invalid, 'the end of what is no view')
    nullify (part)
    call ww_end_view(part, stat=stat, errmsg=message)
    call claim_status(stat, ww_err_invalid, 'the end of a view that failed', message, 'shows no view')
    part => whole
    call another%close()
    whole(10) = 7
    call claim(whole(10) == 7, 'a view keeps the memory that was closed')
    call ww_end_view(whole)
    call ww_end_view(part, stat=stat)
    call claim_status(stat, ww_err_invalid, 'a second end')
    nullify (part)
    call ww_end_view(part, stat=stat)
    call claim_status(stat, ww_err_invalid, 'the end of no pointer')
  end subroutine

  subroutine test_copies(memory)
    !! read() and write() with arrays that have gaps, and descriptions of what is elsewhere.
    type(ww_memory), intent(in) :: memory
    integer(c_int32_t) :: matrix(4, 3), back(4, 3), i
    integer(c_int64_t) :: bytes
    character(len=200) :: text
    character(len=5) :: word
    type(ww_memory) :: never
    type(ww_array) :: array
    integer :: stat

    matrix = reshape([(i, i = 1, 12)], [4, 3])
    call ww_write(memory, matrix(4:1:-2, :), 8_c_int64_t)
    back = 0
    call ww_read(memory, back(4:1:-2, :), 8_c_int64_t)
    call claim(all(back(4:2:-2, :) == matrix(4:2:-2, :)) .and. all(back(1:3:2, :) == 0), &
      'a section is written and read')
    call ww_write(memory, 'hello')
    call ww_read(memory, word)
    call claim(word == 'hello', 'text is written and read')
    call ww_read(memory, back, 65536_c_int64_t - 47, stat=stat)
    call claim_status(stat, ww_err_invalid, 'a read that leaves the memory')
    call ww_write(memory, back, -1_c_int64_t, stat=stat)
    call claim(stat < 0, 'a write before the memory')
    call ww_write(memory, back, timeout_ns=-5_c_int64_t, stat=stat, errmsg=text)
    call claim_status(stat, ww_err_invalid, 'a negative limit on time', text, 'ww_forever')
    call ww_read(never, back, stat=stat)
    call claim_status(stat, ww_err_invalid, 'a read of no memory')
    call size_unknown(memory, back)
    call ww_describe(matrix, array)
    call ww_bytes_of(array, bytes)
    call claim(bytes == 48 .and. all(ww_shape(array) == [4, 3]), 'an array like another one')
    call ww_describe(matrix, array, memory, stat=stat)
    call claim_status(stat, ww_err_mismatch, 'an array that is not in the memory')
    call ww_describe(matrix, array, never, stat=stat)
    call claim_status(stat, ww_err_invalid, 'an array in no memory')
  end subroutine

  subroutine size_unknown(memory, values)
    type(ww_memory), intent(in) :: memory
    integer(c_int32_t), intent(inout) :: values(*)
    integer :: stat
    call ww_read(memory, values(1:2), stat=stat)
    call claim_status(stat, ww_ok, 'a section of an array of assumed size')
  end subroutine

  subroutine test_gpu(device)
    !! Memory that the CPU does not reach has no views, and is read all the same.
    type(ww_device), intent(in) :: device
    type(ww_device_info) :: info
    type(ww_memory) :: memory
    type(ww_array) :: array
    real(c_float), pointer :: pointer(:)
    real(c_float) :: back(4)
    character(len=200) :: text
    integer :: stat

    call device%info(info)
    call memory%create(device, 4096_c_int64_t)
    call ww_write(memory, [1.0, 2.0, 3.0, 4.0])
    call ww_read(memory, back)
    call claim(all(back == [1.0, 2.0, 3.0, 4.0]), 'memory of the device is written and read')
    call ww_array_of(array, 'float32', [4_c_int64_t])
    call ww_view(memory, array, pointer, stat=stat, errmsg=text)
    if (c_associated(memory%host_pointer())) then
      call claim_status(stat, ww_ok, 'a view of memory of the device that the CPU reaches')
      call ww_end_view(pointer)
    else
      call claim_status(stat, ww_err_unsupported, 'no view of what the CPU does not reach', text, &
        'cannot reach')
    end if
    call claim(c_associated(memory%pointer()), 'its address on the device')
    call claim(info%granularity > 0 .and. len(ww_text(info%name)) > 0, 'what the device is')
  end subroutine
end module
