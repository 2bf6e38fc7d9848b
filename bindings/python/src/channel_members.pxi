# SPDX-License-Identifier: Apache-2.0
# Methods of a Channel about its consumers, and what has happened to it; channel.c has their docstrings

cdef extern from "channel.h":
    ctypedef ww_status (*channel_fn)(ww_channel *, void *, uint64_t, ww_cancel *) noexcept nogil
    const handle_class channel_class
    ww_status channel_state_call(channel_state *, channel_fn, void *, uint64_t, ww_cancel *) nogil
    object channel_fail(core *, ww_status)

CHANNEL_EVENTS = ("", "joined", "left", "ended", "evicted", "waited", "late", "closed", "lost", "reattached")

cdef struct MembersCall:
    channel_state *state # borrowed
    channel_fn fn
    uint32_t number # of a consumer, or how many
    ww_channel_consumer_info infos[WW_CHANNEL_CONSUMERS_MAX]
    uint32_t info_count
    ww_channel_event event


cdef ww_status run_members_call(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <MembersCall *>call
    return channel_state_call(args.state, args.fn, args, timeout_ns, cancel)


cdef ww_status call_wait_consumers(ww_channel *channel, void *call, uint64_t timeout_ns,
                                   ww_cancel *cancel) noexcept nogil:
    return ww_channel_wait_consumers(channel, (<MembersCall *>call).number, timeout_ns, cancel)


cdef ww_status call_who(ww_channel *channel, void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    cdef ww_status status = WW_OK
    args = <MembersCall *>call
    args.info_count = 0
    while status == WW_OK and args.info_count < WW_CHANNEL_CONSUMERS_MAX:
        CLEAR(args.infos[args.info_count])
        status = ww_channel_consumer_info_get(channel, args.info_count, &args.infos[args.info_count])
        if status == WW_OK:
            args.info_count += 1
    return WW_OK if status == WW_END else status


cdef ww_status call_evict(ww_channel *channel, void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    return ww_channel_evict(channel, (<MembersCall *>call).number)


cdef ww_status call_next_event(ww_channel *channel, void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <MembersCall *>call
    CLEAR(args.event)
    return ww_channel_next_event(channel, timeout_ns, cancel, &args.event)


cdef int ask_members(self, channel_fn fn, MembersCall *call, uint64_t timeout_ns, cancel) except -1:
    call.fn = fn
    call.state = <channel_state *>handle_borrow(self, &channel_class)
    try:
        status = wait_run(python_core, run_members_call, call, timeout_ns, <PyObject *>cancel)
        if status != WW_OK:
            channel_fail(python_core, status)
    finally:
        handle_return(&channel_class, call.state)
    return 0


cdef uint32_t consumer_number(value) except? -1:
    """The library refuses numbers that are too large."""
    if value is None:
        raise TypeError("this argument is an int, not None")
    return lane_of(value)


@cython.internal
@cython.final
@cython.no_gc
cdef class ChannelMembers:
    """The methods with keywords: a class, so that messages about arguments do not count the Channel."""
    cdef object channel

    def wait_consumers(self, count=1, timeout=None, *, cancel=None):
        cdef uint64_t timeout_ns
        cdef MembersCall call
        call.number = consumer_number(count)
        convert_timeout(timeout, &timeout_ns)
        ask_members(self.channel, call_wait_consumers, &call, timeout_ns, cancel)

    def next_event(self, timeout=None, *, cancel=None):
        cdef uint64_t timeout_ns
        cdef MembersCall call
        convert_timeout(timeout, &timeout_ns)
        ask_members(self.channel, call_next_event, &call, timeout_ns, cancel)
        event = &call.event
        return ChannelEvent((word(event.kind, CHANNEL_EVENTS),
                             None if event.consumer == WW_CHANNEL_NOBODY else event.consumer, event.pid, event.uid,
                             text(event.program), event.frame, event.time_ns, event.waited_ns / 1e9, event.dropped,
                             event.generation))


cdef ChannelMembers members_of(channel):
    cdef ChannelMembers members = ChannelMembers()
    members.channel = channel
    return members


# --- for channel.c: see channel.h ---

cdef public object channel_wait_consumers(object self, object arguments, PyObject *keywords):
    return members_of(self).wait_consumers(*arguments, **(<dict>keywords if keywords else {}))


cdef public object channel_next_event(object self, object arguments, PyObject *keywords):
    return members_of(self).next_event(*arguments, **(<dict>keywords if keywords else {}))


cdef public object channel_who(object self, PyObject *unused):
    cdef MembersCall call
    ask_members(self, call_who, &call, 0, None)
    made = []
    for i in range(call.info_count):
        one = &call.infos[i]
        made.append(ChannelConsumer((one.number, one.pid, one.uid, text(one.program), one.held, one.next, one.dropped,
                                     one.waited_ns / 1e9, one.is_asleep != 0, one.is_evicted != 0,
                                     one.is_waited_for != 0)))
    return made


cdef public object channel_evict(object self, object number):
    cdef MembersCall call
    call.number = consumer_number(number)
    ask_members(self, call_evict, &call, 0, None)
