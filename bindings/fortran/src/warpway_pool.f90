! SPDX-License-Identifier: Apache-2.0
module warpway_pool
  !! Many memories out of one (warpway/pool.h).
  use, intrinsic :: iso_c_binding
  use warpway_constants
  use warpway_handle
  use warpway_broker, only: ww_broker
  use warpway_device, only: ww_device, ww_stream
  use warpway_memory, only: ww_memory
  use warpway_raw, only: ww_pool_create, ww_pool_alloc, ww_memory_ref, ww_pool_release, ww_memory_unref, &
    ww_pool_export, ww_pool_import, ww_pool_trim, ww_pool_info_get
  implicit none
  private
  public :: ww_pool, ww_release_slice

  type, extends(ww_handle) :: ww_pool
    !! Memory that is allocated once and given out in slices.
  contains
    procedure :: create => pool_create
    procedure :: alloc => pool_alloc
    procedure :: export => pool_export
    procedure :: import => pool_import
    procedure :: trim => pool_trim
    procedure :: info => pool_info
  end type

contains
  subroutine pool_create(self, device, params, stat, errmsg)
    !! A pool of memory of a device, which grows up to params%bytes_max.
    class(ww_pool), intent(inout) :: self
    type(ww_device), intent(in) :: device
    type(ww_pool_params), intent(in), optional :: params
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(device, kind_device, status)
    if (status == ww_ok) status = ww_pool_create(object, params, object)
    call keep(self, kind_pool, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine pool_alloc(self, slice, bytes, alignment, timeout_ns, stat, errmsg)
    !! A slice of so many bytes. alignment: of its start, in bytes; absent: that of the pool.
    !! timeout_ns: how long to wait for room; absent: not at all.
    class(ww_pool), intent(in) :: self
    type(ww_memory), intent(inout) :: slice
    integer(c_int64_t), intent(in) :: bytes
    integer(c_int64_t), intent(in), optional :: alignment
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object
    integer(c_int64_t) :: limit_ns
    integer(c_int64_t) :: multiple

    status = ww_ok
    object = find(self, kind_pool, status)
    limit_ns = limit(timeout_ns, 0_c_int64_t, status)
    multiple = 0
    if (present(alignment)) multiple = alignment
    if (status == ww_ok .and. bytes < 0) status = fail(ww_err_invalid, 'bytes is negative')
    if (status == ww_ok) status = ww_pool_alloc(object, bytes, multiple, limit_ns, &
      c_null_ptr, object)
    call keep(slice, kind_memory, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine ww_release_slice(slice, stream, stat, errmsg)
    !! Gives a slice back when the work of a stream so far has run. The slice is closed; other uses
    !! of it, and views, keep it.
    type(ww_memory), intent(inout) :: slice
    type(ww_stream), intent(in) :: stream
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_stream

    status = ww_ok
    object = find(slice, kind_memory, status)
    c_stream = find(stream, kind_stream, status)
    ! The call takes a reference, and that of the table ends with close().
    if (status == ww_ok) object = ww_memory_ref(object)
    if (status == ww_ok) status = ww_pool_release(object, c_stream)
    if (status == ww_ok) then
      call slice%close()
    else if (c_associated(object) .and. c_associated(c_stream)) then
      object = ww_memory_unref(object)
    end if
    call settle(status, stat, errmsg)
  end subroutine

  subroutine pool_export(self, token, params, broker, stat, errmsg)
    !! A token by which other processes can import the pool.
    class(ww_pool), intent(in) :: self
    type(ww_token), intent(inout) :: token
    type(ww_export_params), intent(in), optional :: params
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_broker

    status = ww_ok
    object = find(self, kind_pool, status)
    c_broker = find_optional(broker, kind_broker, status)
    if (status == ww_ok) status = ww_pool_export(object, c_broker, params, c_null_ptr, token)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine pool_import(self, device, token, broker, stat, errmsg)
    !! The pool of a token: tokens of its slices are imported faster while it is open.
    class(ww_pool), intent(inout) :: self
    type(ww_device), intent(in) :: device
    type(ww_token), intent(in) :: token
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_broker

    status = ww_ok
    object = find(device, kind_device, status)
    c_broker = find_optional(broker, kind_broker, status)
    if (status == ww_ok) status = ww_pool_import(object, c_broker, token, c_null_ptr, object)
    call keep(self, kind_pool, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine pool_trim(self, keep_bytes, bytes, stat, errmsg)
    !! Gives memory that no slice uses back to the device, but for keep_bytes. bytes: how much.
    class(ww_pool), intent(in) :: self
    integer(c_int64_t), intent(in) :: keep_bytes
    integer(c_int64_t), intent(out), optional :: bytes
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object
    integer(c_int64_t) :: given

    status = ww_ok
    given = 0
    object = find(self, kind_pool, status)
    if (status == ww_ok) status = ww_pool_trim(object, keep_bytes, given)
    if (present(bytes)) bytes = given
    call settle(status, stat, errmsg)
  end subroutine

  subroutine pool_info(self, info, stat, errmsg)
    !! How much of the pool is used, free and waiting for streams.
    class(ww_pool), intent(in) :: self
    type(ww_pool_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_pool, status)
    if (status == ww_ok) status = ww_pool_info_get(object, info)
    call settle(status, stat, errmsg)
  end subroutine
end module
