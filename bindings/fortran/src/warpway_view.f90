! SPDX-License-Identifier: Apache-2.0
! Made by bindings/fortran/make-modules from the public headers. Do not edit.

module warpway_view
  !! Fortran arrays and memories: pointers, copies, descriptions.
  use, intrinsic :: iso_c_binding
  use warpway_constants
  use warpway_handle
  use warpway_memory, only: ww_memory
  use warpway_channel, only: ww_channel
  implicit none
  private
  public :: ww_view, ww_end_view, ww_write, ww_read, ww_describe

  interface ww_view
    !! Has a pointer show an array, without a copy: ww_view(memory, array, pointer), or
    !! ww_view(channel, frame, pointer). The pointer has the type and the rank of the array, the
    !! shape as ww_shape() gives it (the first index is the one that runs fastest) and lower bounds
    !! of 1. It is disassociated if the call fails. access: ww_access_write, or ww_access_read of a
    !! program that will not write; memory that is mapped for reading has no other views.
    !! A view of a memory keeps it mapped, also after close(), until ww_end_view(). That of a frame
    !! is valid until the frame is published or released: do not use the pointer afterwards. For a
    !! frame that is smaller than the channel's array the producer sets frame%ndim and frame%shape
    !! before, in the order of C.
    module procedure :: view_integer8
    module procedure :: view_integer16
    module procedure :: view_integer32
    module procedure :: view_integer64
    module procedure :: view_real32
    module procedure :: view_real64
    module procedure :: view_complex32
    module procedure :: view_complex64
    module procedure :: view_logical8
    module procedure :: frame_integer8
    module procedure :: frame_integer16
    module procedure :: frame_integer32
    module procedure :: frame_integer64
    module procedure :: frame_real32
    module procedure :: frame_real64
    module procedure :: frame_complex32
    module procedure :: frame_complex64
    module procedure :: frame_logical8
  end interface

  interface ww_end_view
    !! Ends a view of a memory: ww_end_view(pointer). The pointer is disassociated. One that is not
    !! the first element of a view is refused.
    module procedure :: end_integer8
    module procedure :: end_integer16
    module procedure :: end_integer32
    module procedure :: end_integer64
    module procedure :: end_real32
    module procedure :: end_real64
    module procedure :: end_complex32
    module procedure :: end_complex64
    module procedure :: end_logical8
  end interface

  interface ww_write
    !! Copies a number, a text or an array into a memory: ww_write(memory, values). It is there,
    !! offset bytes behind the start, in Fortran's order of elements and without gaps. Works for
    !! every memory, also of a GPU. timeout_ns: how long to wait until the copy can begin; absent:
    !! for ever.
    module procedure :: write_integer8
    module procedure :: write_integer16
    module procedure :: write_integer32
    module procedure :: write_integer64
    module procedure :: write_real32
    module procedure :: write_real64
    module procedure :: write_complex32
    module procedure :: write_complex64
    module procedure :: write_logical8
    module procedure :: write_text
  end interface

  interface ww_read
    !! Copies as many bytes as a variable has out of a memory: ww_read(memory, values), as
    !! ww_write().
    module procedure :: read_integer8
    module procedure :: read_integer16
    module procedure :: read_integer32
    module procedure :: read_integer64
    module procedure :: read_real32
    module procedure :: read_real64
    module procedure :: read_complex32
    module procedure :: read_complex64
    module procedure :: read_logical8
    module procedure :: read_text
  end interface

  interface ww_describe
    !! Describes a Fortran array: ww_describe(values, array). With memory: its place in that,
    !! strides included, as for a(1:n:2, :) of a view a. Without: one of the same type and shape at
    !! the start of a memory.
    module procedure :: describe_integer8
    module procedure :: describe_integer16
    module procedure :: describe_integer32
    module procedure :: describe_integer64
    module procedure :: describe_real32
    module procedure :: describe_real64
    module procedure :: describe_complex32
    module procedure :: describe_complex64
    module procedure :: describe_logical8
  end interface

  interface
    function c_write_text(memory, offset, text, bytes, timeout_ns) &
      bind(c, name='ww_fortran_write_text') result(status)
      import :: c_int32_t, c_int64_t, c_char
      integer(c_int64_t), value :: memory, offset, bytes, timeout_ns
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int32_t) :: status
    end function
    function c_read_text(memory, offset, text, bytes, timeout_ns) &
      bind(c, name='ww_fortran_read_text') result(status)
      import :: c_int32_t, c_int64_t, c_char
      integer(c_int64_t), value :: memory, offset, bytes, timeout_ns
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_int32_t) :: status
    end function
  end interface

  interface
    function c_view_integer8(memory, array, access, pointer) bind(c, name='ww_fortran_view') &
      result(status)
      import
      integer(c_int64_t), value :: memory
      type(ww_array), intent(in) :: array
      integer(c_int32_t), value :: access
      integer(c_int8_t), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_frame_integer8(channel, frame, access, pointer) &
      bind(c, name='ww_fortran_view_frame') result(status)
      import
      integer(c_int64_t), value :: channel
      type(ww_frame), intent(in) :: frame
      integer(c_int32_t), value :: access
      integer(c_int8_t), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_end_integer8(pointer) bind(c, name='ww_fortran_view_end') result(status)
      import
      integer(c_int8_t), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_write_integer8(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_write') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      integer(c_int8_t), intent(in) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_read_integer8(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_read') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      integer(c_int8_t), intent(inout) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_describe_integer8(values, memory, array) bind(c, name='ww_fortran_describe') &
      result(status)
      import
      integer(c_int8_t), intent(in) :: values(..)
      integer(c_int64_t), value :: memory
      type(ww_array), intent(inout) :: array
      integer(c_int32_t) :: status
    end function
  end interface

  interface
    function c_view_integer16(memory, array, access, pointer) bind(c, name='ww_fortran_view') &
      result(status)
      import
      integer(c_int64_t), value :: memory
      type(ww_array), intent(in) :: array
      integer(c_int32_t), value :: access
      integer(c_int16_t), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_frame_integer16(channel, frame, access, pointer) &
      bind(c, name='ww_fortran_view_frame') result(status)
      import
      integer(c_int64_t), value :: channel
      type(ww_frame), intent(in) :: frame
      integer(c_int32_t), value :: access
      integer(c_int16_t), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_end_integer16(pointer) bind(c, name='ww_fortran_view_end') result(status)
      import
      integer(c_int16_t), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_write_integer16(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_write') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      integer(c_int16_t), intent(in) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_read_integer16(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_read') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      integer(c_int16_t), intent(inout) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_describe_integer16(values, memory, array) bind(c, name='ww_fortran_describe') &
      result(status)
      import
      integer(c_int16_t), intent(in) :: values(..)
      integer(c_int64_t), value :: memory
      type(ww_array), intent(inout) :: array
      integer(c_int32_t) :: status
    end function
  end interface

  interface
    function c_view_integer32(memory, array, access, pointer) bind(c, name='ww_fortran_view') &
      result(status)
      import
      integer(c_int64_t), value :: memory
      type(ww_array), intent(in) :: array
      integer(c_int32_t), value :: access
      integer(c_int32_t), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_frame_integer32(channel, frame, access, pointer) &
      bind(c, name='ww_fortran_view_frame') result(status)
      import
      integer(c_int64_t), value :: channel
      type(ww_frame), intent(in) :: frame
      integer(c_int32_t), value :: access
      integer(c_int32_t), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_end_integer32(pointer) bind(c, name='ww_fortran_view_end') result(status)
      import
      integer(c_int32_t), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_write_integer32(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_write') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      integer(c_int32_t), intent(in) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_read_integer32(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_read') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      integer(c_int32_t), intent(inout) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_describe_integer32(values, memory, array) bind(c, name='ww_fortran_describe') &
      result(status)
      import
      integer(c_int32_t), intent(in) :: values(..)
      integer(c_int64_t), value :: memory
      type(ww_array), intent(inout) :: array
      integer(c_int32_t) :: status
    end function
  end interface

  interface
    function c_view_integer64(memory, array, access, pointer) bind(c, name='ww_fortran_view') &
      result(status)
      import
      integer(c_int64_t), value :: memory
      type(ww_array), intent(in) :: array
      integer(c_int32_t), value :: access
      integer(c_int64_t), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_frame_integer64(channel, frame, access, pointer) &
      bind(c, name='ww_fortran_view_frame') result(status)
      import
      integer(c_int64_t), value :: channel
      type(ww_frame), intent(in) :: frame
      integer(c_int32_t), value :: access
      integer(c_int64_t), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_end_integer64(pointer) bind(c, name='ww_fortran_view_end') result(status)
      import
      integer(c_int64_t), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_write_integer64(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_write') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      integer(c_int64_t), intent(in) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_read_integer64(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_read') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      integer(c_int64_t), intent(inout) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_describe_integer64(values, memory, array) bind(c, name='ww_fortran_describe') &
      result(status)
      import
      integer(c_int64_t), intent(in) :: values(..)
      integer(c_int64_t), value :: memory
      type(ww_array), intent(inout) :: array
      integer(c_int32_t) :: status
    end function
  end interface

  interface
    function c_view_real32(memory, array, access, pointer) bind(c, name='ww_fortran_view') &
      result(status)
      import
      integer(c_int64_t), value :: memory
      type(ww_array), intent(in) :: array
      integer(c_int32_t), value :: access
      real(c_float), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_frame_real32(channel, frame, access, pointer) &
      bind(c, name='ww_fortran_view_frame') result(status)
      import
      integer(c_int64_t), value :: channel
      type(ww_frame), intent(in) :: frame
      integer(c_int32_t), value :: access
      real(c_float), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_end_real32(pointer) bind(c, name='ww_fortran_view_end') result(status)
      import
      real(c_float), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_write_real32(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_write') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      real(c_float), intent(in) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_read_real32(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_read') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      real(c_float), intent(inout) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_describe_real32(values, memory, array) bind(c, name='ww_fortran_describe') &
      result(status)
      import
      real(c_float), intent(in) :: values(..)
      integer(c_int64_t), value :: memory
      type(ww_array), intent(inout) :: array
      integer(c_int32_t) :: status
    end function
  end interface

  interface
    function c_view_real64(memory, array, access, pointer) bind(c, name='ww_fortran_view') &
      result(status)
      import
      integer(c_int64_t), value :: memory
      type(ww_array), intent(in) :: array
      integer(c_int32_t), value :: access
      real(c_double), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_frame_real64(channel, frame, access, pointer) &
      bind(c, name='ww_fortran_view_frame') result(status)
      import
      integer(c_int64_t), value :: channel
      type(ww_frame), intent(in) :: frame
      integer(c_int32_t), value :: access
      real(c_double), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_end_real64(pointer) bind(c, name='ww_fortran_view_end') result(status)
      import
      real(c_double), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_write_real64(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_write') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      real(c_double), intent(in) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_read_real64(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_read') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      real(c_double), intent(inout) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_describe_real64(values, memory, array) bind(c, name='ww_fortran_describe') &
      result(status)
      import
      real(c_double), intent(in) :: values(..)
      integer(c_int64_t), value :: memory
      type(ww_array), intent(inout) :: array
      integer(c_int32_t) :: status
    end function
  end interface

  interface
    function c_view_complex32(memory, array, access, pointer) bind(c, name='ww_fortran_view') &
      result(status)
      import
      integer(c_int64_t), value :: memory
      type(ww_array), intent(in) :: array
      integer(c_int32_t), value :: access
      complex(c_float), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_frame_complex32(channel, frame, access, pointer) &
      bind(c, name='ww_fortran_view_frame') result(status)
      import
      integer(c_int64_t), value :: channel
      type(ww_frame), intent(in) :: frame
      integer(c_int32_t), value :: access
      complex(c_float), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_end_complex32(pointer) bind(c, name='ww_fortran_view_end') result(status)
      import
      complex(c_float), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_write_complex32(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_write') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      complex(c_float), intent(in) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_read_complex32(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_read') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      complex(c_float), intent(inout) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_describe_complex32(values, memory, array) bind(c, name='ww_fortran_describe') &
      result(status)
      import
      complex(c_float), intent(in) :: values(..)
      integer(c_int64_t), value :: memory
      type(ww_array), intent(inout) :: array
      integer(c_int32_t) :: status
    end function
  end interface

  interface
    function c_view_complex64(memory, array, access, pointer) bind(c, name='ww_fortran_view') &
      result(status)
      import
      integer(c_int64_t), value :: memory
      type(ww_array), intent(in) :: array
      integer(c_int32_t), value :: access
      complex(c_double), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_frame_complex64(channel, frame, access, pointer) &
      bind(c, name='ww_fortran_view_frame') result(status)
      import
      integer(c_int64_t), value :: channel
      type(ww_frame), intent(in) :: frame
      integer(c_int32_t), value :: access
      complex(c_double), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_end_complex64(pointer) bind(c, name='ww_fortran_view_end') result(status)
      import
      complex(c_double), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_write_complex64(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_write') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      complex(c_double), intent(in) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_read_complex64(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_read') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      complex(c_double), intent(inout) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_describe_complex64(values, memory, array) bind(c, name='ww_fortran_describe') &
      result(status)
      import
      complex(c_double), intent(in) :: values(..)
      integer(c_int64_t), value :: memory
      type(ww_array), intent(inout) :: array
      integer(c_int32_t) :: status
    end function
  end interface

  interface
    function c_view_logical8(memory, array, access, pointer) bind(c, name='ww_fortran_view') &
      result(status)
      import
      integer(c_int64_t), value :: memory
      type(ww_array), intent(in) :: array
      integer(c_int32_t), value :: access
      logical(c_bool), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_frame_logical8(channel, frame, access, pointer) &
      bind(c, name='ww_fortran_view_frame') result(status)
      import
      integer(c_int64_t), value :: channel
      type(ww_frame), intent(in) :: frame
      integer(c_int32_t), value :: access
      logical(c_bool), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_end_logical8(pointer) bind(c, name='ww_fortran_view_end') result(status)
      import
      logical(c_bool), pointer, intent(inout) :: pointer(..)
      integer(c_int32_t) :: status
    end function
    function c_write_logical8(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_write') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      logical(c_bool), intent(in) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_read_logical8(memory, offset, values, timeout_ns) &
      bind(c, name='ww_fortran_read') result(status)
      import
      integer(c_int64_t), value :: memory, offset, timeout_ns
      logical(c_bool), intent(inout) :: values(..)
      integer(c_int32_t) :: status
    end function
    function c_describe_logical8(values, memory, array) bind(c, name='ww_fortran_describe') &
      result(status)
      import
      logical(c_bool), intent(in) :: values(..)
      integer(c_int64_t), value :: memory
      type(ww_array), intent(inout) :: array
      integer(c_int32_t) :: status
    end function
  end interface

contains
  subroutine view_integer8(memory, array, pointer, access, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    type(ww_array), intent(in) :: array
    integer(c_int8_t), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_view_integer8(number_of(memory), array, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine frame_integer8(channel, frame, pointer, access, stat, errmsg)
    type(ww_channel), intent(in) :: channel
    type(ww_frame), intent(in) :: frame
    integer(c_int8_t), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_frame_integer8(number_of(channel), frame, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine end_integer8(pointer, stat, errmsg)
    integer(c_int8_t), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_end_integer8(pointer), stat, errmsg)
  end subroutine

  subroutine write_integer8(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    integer(c_int8_t), intent(in) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_write_integer8(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine read_integer8(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    integer(c_int8_t), intent(inout) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_read_integer8(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine describe_integer8(values, array, memory, stat, errmsg)
    integer(c_int8_t), intent(in) :: values(..)
    type(ww_array), intent(inout) :: array
    type(ww_memory), intent(in), optional :: memory
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: number
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    number = 0
    object = find_optional(memory, kind_memory, status)
    if (c_associated(object)) number = number_of(memory)
    if (status == ww_ok) status = c_describe_integer8(values, number, array)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine view_integer16(memory, array, pointer, access, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    type(ww_array), intent(in) :: array
    integer(c_int16_t), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_view_integer16(number_of(memory), array, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine frame_integer16(channel, frame, pointer, access, stat, errmsg)
    type(ww_channel), intent(in) :: channel
    type(ww_frame), intent(in) :: frame
    integer(c_int16_t), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_frame_integer16(number_of(channel), frame, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine end_integer16(pointer, stat, errmsg)
    integer(c_int16_t), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_end_integer16(pointer), stat, errmsg)
  end subroutine

  subroutine write_integer16(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    integer(c_int16_t), intent(in) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_write_integer16(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine read_integer16(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    integer(c_int16_t), intent(inout) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_read_integer16(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine describe_integer16(values, array, memory, stat, errmsg)
    integer(c_int16_t), intent(in) :: values(..)
    type(ww_array), intent(inout) :: array
    type(ww_memory), intent(in), optional :: memory
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: number
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    number = 0
    object = find_optional(memory, kind_memory, status)
    if (c_associated(object)) number = number_of(memory)
    if (status == ww_ok) status = c_describe_integer16(values, number, array)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine view_integer32(memory, array, pointer, access, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    type(ww_array), intent(in) :: array
    integer(c_int32_t), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_view_integer32(number_of(memory), array, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine frame_integer32(channel, frame, pointer, access, stat, errmsg)
    type(ww_channel), intent(in) :: channel
    type(ww_frame), intent(in) :: frame
    integer(c_int32_t), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_frame_integer32(number_of(channel), frame, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine end_integer32(pointer, stat, errmsg)
    integer(c_int32_t), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_end_integer32(pointer), stat, errmsg)
  end subroutine

  subroutine write_integer32(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    integer(c_int32_t), intent(in) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_write_integer32(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine read_integer32(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    integer(c_int32_t), intent(inout) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_read_integer32(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine describe_integer32(values, array, memory, stat, errmsg)
    integer(c_int32_t), intent(in) :: values(..)
    type(ww_array), intent(inout) :: array
    type(ww_memory), intent(in), optional :: memory
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: number
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    number = 0
    object = find_optional(memory, kind_memory, status)
    if (c_associated(object)) number = number_of(memory)
    if (status == ww_ok) status = c_describe_integer32(values, number, array)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine view_integer64(memory, array, pointer, access, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    type(ww_array), intent(in) :: array
    integer(c_int64_t), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_view_integer64(number_of(memory), array, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine frame_integer64(channel, frame, pointer, access, stat, errmsg)
    type(ww_channel), intent(in) :: channel
    type(ww_frame), intent(in) :: frame
    integer(c_int64_t), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_frame_integer64(number_of(channel), frame, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine end_integer64(pointer, stat, errmsg)
    integer(c_int64_t), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_end_integer64(pointer), stat, errmsg)
  end subroutine

  subroutine write_integer64(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    integer(c_int64_t), intent(in) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_write_integer64(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine read_integer64(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    integer(c_int64_t), intent(inout) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_read_integer64(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine describe_integer64(values, array, memory, stat, errmsg)
    integer(c_int64_t), intent(in) :: values(..)
    type(ww_array), intent(inout) :: array
    type(ww_memory), intent(in), optional :: memory
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: number
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    number = 0
    object = find_optional(memory, kind_memory, status)
    if (c_associated(object)) number = number_of(memory)
    if (status == ww_ok) status = c_describe_integer64(values, number, array)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine view_real32(memory, array, pointer, access, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    type(ww_array), intent(in) :: array
    real(c_float), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_view_real32(number_of(memory), array, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine frame_real32(channel, frame, pointer, access, stat, errmsg)
    type(ww_channel), intent(in) :: channel
    type(ww_frame), intent(in) :: frame
    real(c_float), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_frame_real32(number_of(channel), frame, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine end_real32(pointer, stat, errmsg)
    real(c_float), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_end_real32(pointer), stat, errmsg)
  end subroutine

  subroutine write_real32(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    real(c_float), intent(in) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_write_real32(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine read_real32(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    real(c_float), intent(inout) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_read_real32(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine describe_real32(values, array, memory, stat, errmsg)
    real(c_float), intent(in) :: values(..)
    type(ww_array), intent(inout) :: array
    type(ww_memory), intent(in), optional :: memory
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: number
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    number = 0
    object = find_optional(memory, kind_memory, status)
    if (c_associated(object)) number = number_of(memory)
    if (status == ww_ok) status = c_describe_real32(values, number, array)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine view_real64(memory, array, pointer, access, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    type(ww_array), intent(in) :: array
    real(c_double), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_view_real64(number_of(memory), array, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine frame_real64(channel, frame, pointer, access, stat, errmsg)
    type(ww_channel), intent(in) :: channel
    type(ww_frame), intent(in) :: frame
    real(c_double), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_frame_real64(number_of(channel), frame, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine end_real64(pointer, stat, errmsg)
    real(c_double), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_end_real64(pointer), stat, errmsg)
  end subroutine

  subroutine write_real64(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    real(c_double), intent(in) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_write_real64(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine read_real64(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    real(c_double), intent(inout) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_read_real64(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine describe_real64(values, array, memory, stat, errmsg)
    real(c_double), intent(in) :: values(..)
    type(ww_array), intent(inout) :: array
    type(ww_memory), intent(in), optional :: memory
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: number
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    number = 0
    object = find_optional(memory, kind_memory, status)
    if (c_associated(object)) number = number_of(memory)
    if (status == ww_ok) status = c_describe_real64(values, number, array)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine view_complex32(memory, array, pointer, access, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    type(ww_array), intent(in) :: array
    complex(c_float), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_view_complex32(number_of(memory), array, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine frame_complex32(channel, frame, pointer, access, stat, errmsg)
    type(ww_channel), intent(in) :: channel
    type(ww_frame), intent(in) :: frame
    complex(c_float), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_frame_complex32(number_of(channel), frame, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine end_complex32(pointer, stat, errmsg)
    complex(c_float), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_end_complex32(pointer), stat, errmsg)
  end subroutine

  subroutine write_complex32(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    complex(c_float), intent(in) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_write_complex32(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine read_complex32(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    complex(c_float), intent(inout) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_read_complex32(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine describe_complex32(values, array, memory, stat, errmsg)
    complex(c_float), intent(in) :: values(..)
    type(ww_array), intent(inout) :: array
    type(ww_memory), intent(in), optional :: memory
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: number
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    number = 0
    object = find_optional(memory, kind_memory, status)
    if (c_associated(object)) number = number_of(memory)
    if (status == ww_ok) status = c_describe_complex32(values, number, array)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine view_complex64(memory, array, pointer, access, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    type(ww_array), intent(in) :: array
    complex(c_double), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_view_complex64(number_of(memory), array, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine frame_complex64(channel, frame, pointer, access, stat, errmsg)
    type(ww_channel), intent(in) :: channel
    type(ww_frame), intent(in) :: frame
    complex(c_double), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_frame_complex64(number_of(channel), frame, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine end_complex64(pointer, stat, errmsg)
    complex(c_double), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_end_complex64(pointer), stat, errmsg)
  end subroutine

  subroutine write_complex64(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    complex(c_double), intent(in) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_write_complex64(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine read_complex64(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    complex(c_double), intent(inout) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_read_complex64(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine describe_complex64(values, array, memory, stat, errmsg)
    complex(c_double), intent(in) :: values(..)
    type(ww_array), intent(inout) :: array
    type(ww_memory), intent(in), optional :: memory
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: number
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    number = 0
    object = find_optional(memory, kind_memory, status)
    if (c_associated(object)) number = number_of(memory)
    if (status == ww_ok) status = c_describe_complex64(values, number, array)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine view_logical8(memory, array, pointer, access, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    type(ww_array), intent(in) :: array
    logical(c_bool), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_view_logical8(number_of(memory), array, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine frame_logical8(channel, frame, pointer, access, stat, errmsg)
    type(ww_channel), intent(in) :: channel
    type(ww_frame), intent(in) :: frame
    logical(c_bool), pointer, intent(inout) :: pointer(..)
    integer(c_int32_t), intent(in), optional :: access
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_frame_logical8(number_of(channel), frame, access_of(access), pointer), stat, errmsg)
  end subroutine

  subroutine end_logical8(pointer, stat, errmsg)
    logical(c_bool), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_end_logical8(pointer), stat, errmsg)
  end subroutine

  subroutine write_logical8(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    logical(c_bool), intent(in) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_write_logical8(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine read_logical8(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    logical(c_bool), intent(inout) :: values(..)
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_read_logical8(number_of(memory), start_of(offset), values, &
      limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine describe_logical8(values, array, memory, stat, errmsg)
    logical(c_bool), intent(in) :: values(..)
    type(ww_array), intent(inout) :: array
    type(ww_memory), intent(in), optional :: memory
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: number
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    number = 0
    object = find_optional(memory, kind_memory, status)
    if (c_associated(object)) number = number_of(memory)
    if (status == ww_ok) status = c_describe_logical8(values, number, array)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine write_text(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    character(len=*), intent(in) :: values
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_write_text(number_of(memory), start_of(offset), values, &
      len(values, c_int64_t), limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine read_text(memory, values, offset, timeout_ns, stat, errmsg)
    type(ww_memory), intent(in) :: memory
    character(len=*), intent(inout) :: values
    integer(c_int64_t), intent(in), optional :: offset, timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = c_read_text(number_of(memory), start_of(offset), values, &
      len(values, c_int64_t), limit_ns)
    call settle(status, stat, errmsg)
  end subroutine

  integer(c_int32_t) function access_of(access)
    integer(c_int32_t), intent(in), optional :: access
    access_of = ww_access_write
    if (present(access)) access_of = access
  end function

  integer(c_int64_t) function start_of(offset)
    integer(c_int64_t), intent(in), optional :: offset
    start_of = 0
    if (present(offset)) start_of = offset
  end function
end module
