! SPDX-License-Identifier: Apache-2.0
module warpway_channel
  !! Frames from one process to many (warpway/channel.h).
  use, intrinsic :: iso_c_binding
  use warpway_constants
  use warpway_handle
  use warpway_broker, only: ww_broker
  use warpway_device, only: ww_device, ww_stream
  use warpway_raw, only: ww_channel_create, ww_channel_get, ww_channel_import, ww_channel_export, &
    ww_channel_acquire, ww_channel_receive, ww_channel_info_get, ww_array_bytes, &
    ww_channel_publish, ww_channel_discard, ww_channel_release, &
    ww_channel_wait_consumers, ww_channel_next_event, ww_channel_evict
  implicit none
  private
  public :: ww_channel

  type, extends(ww_handle) :: ww_channel
    !! The producer, or a consumer, of frames that are written and read in place.
  contains
    procedure :: create => channel_create
    procedure :: get => channel_get
    procedure :: import => channel_import
    procedure :: export => channel_export
    procedure :: acquire => channel_acquire
    procedure :: publish => channel_publish
    procedure :: discard => channel_discard
    procedure :: receive => channel_receive
    procedure :: release => channel_release
    procedure :: wait_consumers => channel_wait_consumers
    procedure :: next_event => channel_next_event
    procedure :: evict => channel_evict
    procedure :: info => channel_info
  end type

contains
  subroutine channel_create(self, device, name, slot_bytes, array, metadata_type, params, &
    broker, stat, errmsg)
    !! A channel of which this process is the producer. slot_bytes: room for a frame. array: type
    !! and largest shape of every frame; absent: frames are bytes. metadata_type: what the metadata
    !! is called. params: all else.
    class(ww_channel), intent(inout) :: self
    type(ww_device), intent(in) :: device
    character(len=*), intent(in), optional :: name
    integer(c_int64_t), intent(in), optional :: slot_bytes
    type(ww_array), intent(in), target, optional :: array
    character(len=*), intent(in), optional :: metadata_type
    type(ww_channel_params), intent(in), optional :: params
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(ww_channel_params) :: all
    character(kind=c_char), allocatable :: c_name(:)
    character(kind=c_char), allocatable :: c_type(:)
    type(c_ptr) :: object, c_broker

    status = ww_ok
    if (present(params)) all = params
    if (present(slot_bytes)) all%slot_bytes = slot_bytes
    if (present(array)) all%array = c_loc(array)
    call c_text(metadata_type, c_type, status)
    if (allocated(c_type) .and. status == ww_ok) then
      if (size(c_type) > size(all%metadata_type)) then
        status = fail(ww_err_invalid, 'metadata_type is longer than 15 characters')
      else
        all%metadata_type(:size(c_type)) = c_type
      end if
    end if
    object = find(device, kind_device, status)
    c_broker = find_optional(broker, kind_broker, status)
    call c_text(name, c_name, status)
    if (status == ww_ok) status = ww_channel_create(object, c_broker, c_name, all, &
      c_null_ptr, object)
    call keep(self, kind_channel, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine channel_get(self, device, name, array, metadata_type, params, broker, timeout_ns, &
    stat, errmsg)
    !! Becomes a consumer of the channel of a name. array, metadata_type: what its frames must be.
    !! timeout_ns: how long to wait for the name; absent: not at all.
    class(ww_channel), intent(inout) :: self
    type(ww_device), intent(in) :: device
    character(len=*), intent(in) :: name
    type(ww_array), intent(in), target, optional :: array
    character(len=*), intent(in), optional :: metadata_type
    type(ww_consumer_params), intent(in), optional :: params
    type(ww_broker), intent(in), optional :: broker
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(ww_consumer_params) :: all
    character(kind=c_char), allocatable, target :: c_type(:)
    character(kind=c_char), allocatable :: c_name(:)
    type(c_ptr) :: object, c_broker
    integer(c_int64_t) :: limit_ns

    status = ww_ok
    if (present(params)) all = params
    if (present(array)) all%array = c_loc(array)
    call c_text(metadata_type, c_type, status)
    if (allocated(c_type)) all%metadata_type = c_loc(c_type)
    object = find(device, kind_device, status)
    c_broker = find_optional(broker, kind_broker, status)
    limit_ns = limit(timeout_ns, 0_c_int64_t, status)
    call c_text(name, c_name, status)
    if (status == ww_ok) status = ww_channel_get(object, c_broker, c_name, all, limit_ns, &
      c_null_ptr, object)
    call keep(self, kind_channel, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine channel_import(self, device, token, array, metadata_type, params, broker, stat, &
    errmsg)
    !! Becomes a consumer of the channel of a token: as get().
    class(ww_channel), intent(inout) :: self
    type(ww_device), intent(in) :: device
    type(ww_token), intent(in) :: token
    type(ww_array), intent(in), target, optional :: array
    character(len=*), intent(in), optional :: metadata_type
    type(ww_consumer_params), intent(in), optional :: params
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(ww_consumer_params) :: all
    character(kind=c_char), allocatable, target :: c_type(:)
    type(c_ptr) :: object, c_broker

    status = ww_ok
    if (present(params)) all = params
    if (present(array)) all%array = c_loc(array)
    call c_text(metadata_type, c_type, status)
    if (allocated(c_type)) all%metadata_type = c_loc(c_type)
    object = find(device, kind_device, status)
    c_broker = find_optional(broker, kind_broker, status)
    if (status == ww_ok) status = ww_channel_import(object, c_broker, token, all, c_null_ptr, &
      object)
    call keep(self, kind_channel, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine channel_export(self, token, params, stat, errmsg)
    !! A token by which other processes can become consumers.
    class(ww_channel), intent(in) :: self
    type(ww_token), intent(inout) :: token
    type(ww_token_params), intent(in), optional :: params
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_channel, status)
    if (status == ww_ok) status = ww_channel_export(object, params, c_null_ptr, token)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine channel_acquire(self, frame, timeout_ns, stream, stat, errmsg)
    !! A slot to write a frame into. Without timeout_ns it waits for ever. stream: what will write;
    !! absent: the CPU. stat: ww_timed_out.
    class(ww_channel), intent(in) :: self
    type(ww_frame), intent(inout) :: frame
    integer(c_int64_t), intent(in), optional :: timeout_ns
    type(ww_stream), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_stream
    integer(c_int64_t) :: limit_ns

    status = ww_ok
    object = find(self, kind_channel, status)
    c_stream = find_optional(stream, kind_stream, status)
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = ww_channel_acquire(object, c_stream, limit_ns, c_null_ptr, &
      frame)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine channel_receive(self, frame, timeout_ns, stream, stat, errmsg)
    !! The next frame. Without timeout_ns it waits for ever. stream: what will read; absent: the
    !! CPU. stat: ww_timed_out, ww_end (the producer has closed the channel), ww_err_peer_lost.
    class(ww_channel), intent(in) :: self
    type(ww_frame), intent(inout) :: frame
    integer(c_int64_t), intent(in), optional :: timeout_ns
    type(ww_stream), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_stream
    integer(c_int64_t) :: limit_ns

    status = ww_ok
    object = find(self, kind_channel, status)
    c_stream = find_optional(stream, kind_stream, status)
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = ww_channel_receive(object, c_stream, limit_ns, c_null_ptr, &
      frame)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine channel_publish(self, frame, bytes, stream, stat, errmsg)
    !! Gives the frame to the consumers. bytes: how many it has; absent: its array of full size, or
    !! the capacity. stream: the frame is complete after its work; absent: it is complete.
    class(ww_channel), intent(in) :: self
    type(ww_frame), intent(inout) :: frame
    integer(c_int64_t), intent(in), optional :: bytes
    type(ww_stream), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_stream
    type(ww_channel_info) :: about

    status = ww_ok
    object = find(self, kind_channel, status)
    c_stream = find_optional(stream, kind_stream, status)
    if (status == ww_ok) status = ww_channel_info_get(object, about)
    if (status == ww_ok .and. frame%bytes == 0) then
      frame%bytes = frame%capacity
      if (about%has_array /= 0) status = ww_array_bytes(about%array, frame%bytes)
    end if
    if (present(bytes)) frame%bytes = bytes
    if (status == ww_ok) status = ww_channel_publish(object, frame, c_stream)
    if (status == ww_ok) call let_go(frame)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine channel_discard(self, frame, stream, stat, errmsg)
    !! Gives the slot back without a frame. stream: after its work; absent: now.
    class(ww_channel), intent(in) :: self
    type(ww_frame), intent(inout) :: frame
    type(ww_stream), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_stream

    status = ww_ok
    object = find(self, kind_channel, status)
    c_stream = find_optional(stream, kind_stream, status)
    if (status == ww_ok) status = ww_channel_discard(object, frame, c_stream)
    if (status == ww_ok) call let_go(frame)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine channel_release(self, frame, stream, stat, errmsg)
    !! Ends the use of a frame that was received; views of it end now. stream: after its work;
    !! absent: now.
    class(ww_channel), intent(in) :: self
    type(ww_frame), intent(inout) :: frame
    type(ww_stream), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object, c_stream

    status = ww_ok
    object = find(self, kind_channel, status)
    c_stream = find_optional(stream, kind_stream, status)
    if (status == ww_ok) status = ww_channel_release(object, frame, c_stream)
    if (status == ww_ok) call let_go(frame)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine let_go(frame)
    !! A frame that is no longer held has no addresses, so that no view of it begins.
    type(ww_frame), intent(inout) :: frame
    frame%pointer = c_null_ptr
    frame%host_pointer = c_null_ptr
    frame%metadata = c_null_ptr
  end subroutine

  subroutine channel_wait_consumers(self, count, timeout_ns, stat, errmsg)
    !! Waits until there are so many consumers; without timeout_ns for ever. stat: ww_timed_out.
    class(ww_channel), intent(in) :: self
    integer(c_int32_t), intent(in) :: count
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object
    integer(c_int64_t) :: limit_ns

    status = ww_ok
    object = find(self, kind_channel, status)
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = ww_channel_wait_consumers(object, count, limit_ns, c_null_ptr)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine channel_next_event(self, event, timeout_ns, stat, errmsg)
    !! The next of what happened to the channel; without timeout_ns it waits for ever. stat:
    !! ww_timed_out.
    class(ww_channel), intent(in) :: self
    type(ww_channel_event), intent(inout) :: event
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object
    integer(c_int64_t) :: limit_ns

    status = ww_ok
    object = find(self, kind_channel, status)
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = ww_channel_next_event(object, limit_ns, c_null_ptr, event)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine channel_evict(self, consumer, stat, errmsg)
    !! Ends the subscription of a consumer, by its number.
    class(ww_channel), intent(in) :: self
    integer(c_int32_t), intent(in) :: consumer
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_channel, status)
    if (status == ww_ok) status = ww_channel_evict(object, consumer)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine channel_info(self, info, stat, errmsg)
    !! What the channel is, and how many frames there were.
    class(ww_channel), intent(in) :: self
    type(ww_channel_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_channel, status)
    if (status == ww_ok) status = ww_channel_info_get(object, info)
    call settle(status, stat, errmsg)
  end subroutine
end module
