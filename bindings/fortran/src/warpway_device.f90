! SPDX-License-Identifier: Apache-2.0
module warpway_device
  !! Devices, and streams of work on them (warpway/device.h).
  use, intrinsic :: iso_c_binding
  use warpway_constants
  use warpway_handle
  use warpway_raw, only: ww_device_open, ww_device_count, ww_device_info_get, &
    ww_device_free_bytes, ww_stream_create, ww_stream_wrap, ww_stream_native, &
    ww_stream_synchronize, ww_stream_query, ww_stream_recover, ww_stream_copy, ww_stream_fill
  implicit none
  private
  public :: ww_device, ww_stream, ww_count_devices

  type, extends(ww_handle) :: ww_device
    !! A GPU, or the machine's CPU.
  contains
    procedure :: open => device_open
    procedure :: info => device_info
    procedure :: free_bytes => device_free_bytes
  end type

  type, extends(ww_handle) :: ww_stream
    !! Work that a device does in order. Addresses are those of a memory's pointer().
  contains
    procedure :: create => stream_create
    procedure :: wrap => stream_wrap
    procedure :: native => stream_native
    procedure :: synchronize => stream_synchronize
    procedure :: query => stream_query
    procedure :: recover => stream_recover
    procedure :: copy => stream_copy
    procedure :: fill => stream_fill
  end type

contains
  subroutine device_open(self, name, stat, errmsg)
    !! Opens a device: name is "cuda:0" or "host"; absent: a GPU that can be used, else the CPU.
    class(ww_device), intent(inout) :: self
    character(len=*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable :: c_name(:)
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    call c_text(name, c_name, status)
    if (status == ww_ok) status = ww_device_open(c_name, object)
    call keep(self, kind_device, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine device_info(self, info, stat, errmsg)
    !! What the device is and can do. Texts in it are for ww_text().
    class(ww_device), intent(in) :: self
    type(ww_device_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_device, status)
    if (status == ww_ok) status = ww_device_info_get(object, info)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine device_free_bytes(self, bytes, stat, errmsg)
    !! How much memory of the device is free.
    class(ww_device), intent(in) :: self
    integer(c_int64_t), intent(out) :: bytes
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    bytes = 0
    object = find(self, kind_device, status)
    if (status == ww_ok) status = ww_device_free_bytes(object, bytes)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine ww_count_devices(backend, count, stat, errmsg)
    !! How many devices there are of a backend, ww_backend_cuda or ww_backend_host.
    integer(c_int32_t), intent(in) :: backend
    integer(c_int32_t), intent(out) :: count
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status

    count = 0
    status = ww_device_count(backend, count)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine stream_create(self, device, stat, errmsg)
    !! A new stream of a device.
    class(ww_stream), intent(inout) :: self
    type(ww_device), intent(in) :: device
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(device, kind_device, status)
    if (status == ww_ok) status = ww_stream_create(object, object)
    call keep(self, kind_stream, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine stream_wrap(self, device, native, stat, errmsg)
    !! A stream that the program has: a CUstream, which must outlive this object.
    class(ww_stream), intent(inout) :: self
    type(ww_device), intent(in) :: device
    type(c_ptr), intent(in) :: native
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(device, kind_device, status)
    if (status == ww_ok) status = ww_stream_wrap(object, native, object)
    call keep(self, kind_stream, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  type(c_ptr) function stream_native(self)
    !! The CUstream; c_null_ptr on the host device, and of a stream that is closed.
    class(ww_stream), intent(in) :: self
    stream_native = c_null_ptr
    if (self%is_open()) stream_native = ww_stream_native(self%c_pointer())
  end function

  subroutine stream_synchronize(self, timeout_ns, stat, errmsg)
    !! Waits until the work so far has run; without timeout_ns for ever. stat: ww_timed_out.
    class(ww_stream), intent(in) :: self
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    integer(c_int64_t) :: limit_ns
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_stream, status)
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = ww_stream_synchronize(object, limit_ns, c_null_ptr)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine stream_query(self, stat, errmsg)
    !! Whether the work so far has run. stat: ww_ok, ww_not_ready.
    class(ww_stream), intent(in) :: self
    integer, intent(out) :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_stream, status)
    if (status == ww_ok) status = ww_stream_query(object)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine stream_recover(self, stat, errmsg)
    !! Has a stream that lost a process take calls again: warpway/device.h.
    class(ww_stream), intent(in) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_stream, status)
    if (status == ww_ok) status = ww_stream_recover(object)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine stream_copy(self, destination, source, bytes, stat, errmsg)
    !! Has the stream copy bytes; both must be valid until it has.
    class(ww_stream), intent(in) :: self
    type(c_ptr), intent(in) :: destination, source
    integer(c_int64_t), intent(in) :: bytes
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_stream, status)
    if (status == ww_ok) status = ww_stream_copy(object, destination, source, bytes)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine stream_fill(self, destination, value, value_bytes, count, stat, errmsg)
    !! Has the stream store count copies of a value of 1, 2 or 4 bytes.
    class(ww_stream), intent(in) :: self
    type(c_ptr), intent(in) :: destination
    integer(c_int32_t), intent(in) :: value
    integer(c_int32_t), intent(in) :: value_bytes
    integer(c_int64_t), intent(in) :: count
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_stream, status)
    if (status == ww_ok) status = ww_stream_fill(object, destination, value, value_bytes, count)
    call settle(status, stat, errmsg)
  end subroutine
end module
