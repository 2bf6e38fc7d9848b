! SPDX-License-Identifier: Apache-2.0
module warpway_sync
  !! Timelines, events and barriers between processes (warpway/timeline.h, event.h, barrier.h).
  use, intrinsic :: iso_c_binding
  use warpway_constants
  use warpway_handle
  use warpway_broker, only: ww_broker
  use warpway_device, only: ww_device, ww_stream
  use warpway_raw, only: ww_timeline_create, ww_timeline_signal, ww_timeline_stream_signal, ww_timeline_fail, ww_timeline_wait, &
    ww_timeline_stream_wait, ww_timeline_query, ww_timeline_put, ww_timeline_get, &
    ww_timeline_export, ww_timeline_import, ww_timeline_info_get, ww_event_create, &
    ww_event_record, ww_event_stream_wait, ww_event_synchronize, ww_event_query, &
    ww_event_export, ww_event_import, ww_barrier_create, ww_barrier_get, &
    ww_barrier_import, ww_barrier_wait, ww_barrier_info_get
  implicit none
  private
  public :: ww_timeline, ww_event, ww_barrier, ww_make_barrier

  type, extends(ww_handle) :: ww_timeline
    !! A number that only grows, by which processes and streams wait for each other.
  contains
    procedure :: create => timeline_create
    procedure :: signal => timeline_signal
    procedure :: stream_signal => timeline_stream_signal
    procedure :: fail => timeline_fail
    procedure :: wait => timeline_wait
    procedure :: stream_wait => timeline_stream_wait
    procedure :: query => timeline_query
    procedure :: put => timeline_put
    procedure :: get => timeline_get
    procedure :: export => timeline_export
    procedure :: import => timeline_import
    procedure :: info => timeline_info
  end type

  type, extends(ww_handle) :: ww_event
    !! CUDA's own event, shared with programs that do not have this library.
  contains
    procedure :: create => event_create
    procedure :: record => event_record
    procedure :: stream_wait => event_stream_wait
    procedure :: synchronize => event_synchronize
    procedure :: query => query_event
    procedure :: export => event_export
    procedure :: import => event_import
  end type

  type, extends(ww_handle) :: ww_barrier
    !! A meeting of several processes: nobody goes on until all are there.
  contains
    procedure :: get => barrier_get
    procedure :: import => barrier_import
    procedure :: wait => barrier_wait
    procedure :: info => barrier_info
  end type

contains
  subroutine timeline_create(self, params, stat, errmsg)
    !! A timeline whose signaller is this process, with the value 0 or that of params.
    class(ww_timeline), intent(inout) :: self
    type(ww_timeline_params), intent(in), optional :: params
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    if (status == ww_ok) status = ww_timeline_create(params, object)
    call keep(self, kind_timeline, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine timeline_signal(self, value, stat, errmsg)
    !! Raises the value, which other processes see with all that was written before.
    class(ww_timeline), intent(in) :: self
    integer(c_int64_t), intent(in) :: value
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_timeline, status)
    if (status == ww_ok) status = ww_timeline_signal(object, value)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine timeline_stream_signal(self, stream, value, stat, errmsg)
    !! Has a stream raise the value after the work before.
    class(ww_timeline), intent(in) :: self
    type(ww_stream), intent(in) :: stream
    integer(c_int64_t), intent(in) :: value
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_stream

    status = ww_ok
    object = find(self, kind_timeline, status)
    c_stream = find(stream, kind_stream, status)
    if (status == ww_ok) status = ww_timeline_stream_signal(object, c_stream, value)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine timeline_fail(self, why, stat, errmsg)
    !! Says that the values which are not reached yet will never be valid, and why.
    class(ww_timeline), intent(in) :: self
    character(len=*), intent(in) :: why
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable :: chars(:)
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_timeline, status)
    call c_text(why, chars, status)
    if (status == ww_ok) status = ww_timeline_fail(object, chars)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine timeline_wait(self, value, timeout_ns, stat, errmsg)
    !! Waits until the value is reached; without timeout_ns for ever. stat: ww_timed_out,
    !! ww_err_peer_lost.
    class(ww_timeline), intent(in) :: self
    integer(c_int64_t), intent(in) :: value
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object
    integer(c_int64_t) :: limit_ns

    status = ww_ok
    object = find(self, kind_timeline, status)
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = ww_timeline_wait(object, value, limit_ns, c_null_ptr)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine timeline_stream_wait(self, stream, value, flags, timeout_ns, stat, errmsg)
    !! Has the further work of a stream wait until the value is reached. timeout_ns: how long the
    !! CPU waits until the value is submitted; absent: for ever. flags: ww_wait_...
    class(ww_timeline), intent(in) :: self
    type(ww_stream), intent(in) :: stream
    integer(c_int64_t), intent(in) :: value
    integer(c_int64_t), intent(in), optional :: flags
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_stream
    integer(c_int64_t) :: limit_ns
    integer(c_int64_t) :: bits

    status = ww_ok
    object = find(self, kind_timeline, status)
    c_stream = find(stream, kind_stream, status)
    limit_ns = limit(timeout_ns, ww_forever, status)
    bits = 0
    if (present(flags)) bits = flags
    if (status == ww_ok) status = ww_timeline_stream_wait(object, c_stream, value, bits, &
      limit_ns, c_null_ptr)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine timeline_query(self, value, stat, errmsg)
    !! Whether the value is reached. stat: ww_ok, ww_not_ready, ww_err_peer_lost.
    class(ww_timeline), intent(in) :: self
    integer(c_int64_t), intent(in) :: value
    integer, intent(out) :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_timeline, status)
    if (status == ww_ok) status = ww_timeline_query(object, value)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine timeline_put(self, name, params, broker, stat, errmsg)
    !! Gives the timeline a name in a broker. params: who may get it; absent: this user.
    class(ww_timeline), intent(in) :: self
    character(len=*), intent(in) :: name
    type(ww_name_params), intent(in), optional :: params
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    character(kind=c_char), allocatable :: c_name(:)
    type(c_ptr) :: object, c_broker

    status = ww_ok
    object = find(self, kind_timeline, status)
    c_broker = find_optional(broker, kind_broker, status)
    call c_text(name, c_name, status)
    if (status == ww_ok) status = ww_timeline_put(object, c_broker, c_name, params, c_null_ptr)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine timeline_get(self, name, broker, timeout_ns, stat, errmsg)
    !! The timeline of a name. timeout_ns: how long to wait for the name; absent: not at all.
    class(ww_timeline), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(ww_broker), intent(in), optional :: broker
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    character(kind=c_char), allocatable :: c_name(:)
    type(c_ptr) :: object, c_broker
    integer(c_int64_t) :: limit_ns

    status = ww_ok
    c_broker = find_optional(broker, kind_broker, status)
    limit_ns = limit(timeout_ns, 0_c_int64_t, status)
    call c_text(name, c_name, status)
    if (status == ww_ok) status = ww_timeline_get(c_broker, c_name, limit_ns, c_null_ptr, object)
    call keep(self, kind_timeline, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine timeline_export(self, token, params, broker, stat, errmsg)
    !! A token by which other processes can import the timeline.
    class(ww_timeline), intent(in) :: self
    type(ww_token), intent(inout) :: token
    type(ww_token_params), intent(in), optional :: params
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_broker

    status = ww_ok
    object = find(self, kind_timeline, status)
    c_broker = find_optional(broker, kind_broker, status)
    if (status == ww_ok) status = ww_timeline_export(object, c_broker, params, c_null_ptr, token)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine timeline_import(self, token, broker, stat, errmsg)
    !! The timeline of a token.
    class(ww_timeline), intent(inout) :: self
    type(ww_token), intent(in) :: token
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_broker

    status = ww_ok
    c_broker = find_optional(broker, kind_broker, status)
    if (status == ww_ok) status = ww_timeline_import(c_broker, token, c_null_ptr, object)
    call keep(self, kind_timeline, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine timeline_info(self, info, stat, errmsg)
    !! Its state and values, and which process is the signaller.
    class(ww_timeline), intent(in) :: self
    type(ww_timeline_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_timeline, status)
    if (status == ww_ok) status = ww_timeline_info_get(object, info)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine event_create(self, device, params, stat, errmsg)
    !! An event of a device, not recorded yet.
    class(ww_event), intent(inout) :: self
    type(ww_device), intent(in) :: device
    type(ww_event_params), intent(in), optional :: params
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(device, kind_device, status)
    if (status == ww_ok) status = ww_event_create(object, params, object)
    call keep(self, kind_event, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine event_record(self, stream, stat, errmsg)
    !! Records the event: it is complete when the work of the stream so far has run.
    class(ww_event), intent(in) :: self
    type(ww_stream), intent(in) :: stream
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_stream

    status = ww_ok
    object = find(self, kind_event, status)
    c_stream = find(stream, kind_stream, status)
    if (status == ww_ok) status = ww_event_record(object, c_stream)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine event_stream_wait(self, stream, stat, errmsg)
    !! Has the further work of a stream wait for what was recorded last.
    class(ww_event), intent(in) :: self
    type(ww_stream), intent(in) :: stream
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_stream

    status = ww_ok
    object = find(self, kind_event, status)
    c_stream = find(stream, kind_stream, status)
    if (status == ww_ok) status = ww_event_stream_wait(object, c_stream)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine event_synchronize(self, timeout_ns, stat, errmsg)
    !! Waits until what was recorded last is complete; without timeout_ns for ever. stat:
    !! ww_timed_out.
    class(ww_event), intent(in) :: self
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object
    integer(c_int64_t) :: limit_ns

    status = ww_ok
    object = find(self, kind_event, status)
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = ww_event_synchronize(object, limit_ns, c_null_ptr)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine query_event(self, stat, errmsg)
    !! Whether it is complete. stat: ww_ok, ww_not_ready.
    class(ww_event), intent(in) :: self
    integer, intent(out) :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_event, status)
    if (status == ww_ok) status = ww_event_query(object)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine event_export(self, token, params, broker, stat, errmsg)
    !! A token by which other processes can import the event.
    class(ww_event), intent(in) :: self
    type(ww_token), intent(inout) :: token
    type(ww_token_params), intent(in), optional :: params
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_broker

    status = ww_ok
    object = find(self, kind_event, status)
    c_broker = find_optional(broker, kind_broker, status)
    if (status == ww_ok) status = ww_event_export(object, c_broker, params, c_null_ptr, token)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine event_import(self, device, token, broker, stat, errmsg)
    !! The event of a token.
    class(ww_event), intent(inout) :: self
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
    if (status == ww_ok) status = ww_event_import(object, c_broker, token, c_null_ptr, object)
    call keep(self, kind_event, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine ww_make_barrier(token, count, name, params, broker, stat, errmsg)
    !! Makes a barrier of count members in a broker, of which this process is none yet: get() or
    !! import() joins it. Without a name it is found by its token only. params: who may join; its
    !! count is not looked at.
    type(ww_token), intent(inout) :: token
    integer(c_int32_t), intent(in) :: count
    character(len=*), intent(in), optional :: name
    type(ww_barrier_params), intent(in), optional :: params
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(ww_barrier_params) :: all
    character(kind=c_char), allocatable :: c_name(:)
    type(c_ptr) :: c_broker

    status = ww_ok
    if (present(params)) all = params
    all%count = count
    c_broker = find_optional(broker, kind_broker, status)
    call c_text(name, c_name, status)
    if (status == ww_ok) status = ww_barrier_create(c_broker, c_name, all, c_null_ptr, token)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine barrier_get(self, name, rank, broker, timeout_ns, stat, errmsg)
    !! Joins the barrier of a name. rank: from 0 on; absent: any that is free. timeout_ns: how long
    !! to wait until the name and the rank are there; absent: for ever.
    class(ww_barrier), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in), optional :: rank
    type(ww_broker), intent(in), optional :: broker
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    character(kind=c_char), allocatable :: c_name(:)
    type(c_ptr) :: object, c_broker
    integer(c_int64_t) :: limit_ns

    status = ww_ok
    c_broker = find_optional(broker, kind_broker, status)
    limit_ns = limit(timeout_ns, ww_forever, status)
    call c_text(name, c_name, status)
    if (status == ww_ok) status = ww_barrier_get(c_broker, c_name, rank_of(rank), limit_ns, &
      c_null_ptr, object)
    call keep(self, kind_barrier, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine barrier_import(self, token, rank, broker, timeout_ns, stat, errmsg)
    !! Joins the barrier of a token: as get().
    class(ww_barrier), intent(inout) :: self
    type(ww_token), intent(in) :: token
    integer(c_int32_t), intent(in), optional :: rank
    type(ww_broker), intent(in), optional :: broker
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_broker
    integer(c_int64_t) :: limit_ns

    status = ww_ok
    c_broker = find_optional(broker, kind_broker, status)
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = ww_barrier_import(c_broker, token, rank_of(rank), limit_ns, &
      c_null_ptr, object)
    call keep(self, kind_barrier, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  integer(c_int32_t) function rank_of(rank)
    integer(c_int32_t), intent(in), optional :: rank
    rank_of = ww_barrier_any_rank
    if (present(rank)) rank_of = rank
  end function

  subroutine barrier_wait(self, timeout_ns, stat, errmsg)
    !! Waits until all members are here; without timeout_ns for ever. stat: ww_timed_out (this
    !! member has arrived, and the next call goes on waiting), ww_err_peer_lost.
    class(ww_barrier), intent(in) :: self
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object
    integer(c_int64_t) :: limit_ns

    status = ww_ok
    object = find(self, kind_barrier, status)
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = ww_barrier_wait(object, limit_ns, c_null_ptr)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine barrier_info(self, info, stat, errmsg)
    !! The round, the rank of this member and how many have arrived.
    class(ww_barrier), intent(in) :: self
    type(ww_barrier_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_barrier, status)
    if (status == ww_ok) status = ww_barrier_info_get(object, info)
    call settle(status, stat, errmsg)
  end subroutine
end module
