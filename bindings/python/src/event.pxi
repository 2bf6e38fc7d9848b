# SPDX-License-Identifier: Apache-2.0
# warpway.Event: CUDA's events between processes

cdef struct EventOpen:
    ww_device *device
    ww_event_params params
    ww_event_handle handle
    ww_event *event


cdef ww_status run_event_create(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <EventOpen *>call
    return ww_event_create(args.device, &args.params, &args.event)


cdef ww_status run_event_handle_open(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <EventOpen *>call
    return ww_event_handle_open(args.device, &args.handle, &args.event)


cdef ww_status run_event_synchronize(void *event, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    return wait_leave(ww_event_synchronize(<ww_event *>event, timeout_ns, cancel))


cdef ww_status run_event_export(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <Export *>call
    return ww_event_export(<ww_event *>args.object, args.broker, &args.params, cancel, &args.token)


cdef ww_event *open_event(device, EventOpen *call, wait_fn run) except NULL:
    call.device = convert_device(python_core, device)
    try:
        check(wait_direct(run, call))
    finally:
        handle_return(&device_class, call.device)
    return call.event


cdef public object event_object(core *unused, ww_event *event):
    """An Event, which takes over the reference."""
    cdef Event self = Event.__new__(Event)
    self.object = event
    return self


@cython.final
cdef class Event:
    """Event(device=None, *, blocking_sync=False)\n--\n
    An event that programs without this library can open; elsewhere use a `Timeline`.

    Parameters
    ----------
    device : Device or what it takes, optional
    blocking_sync : bool
        A CPU that waits sleeps instead of spinning.

    It stands for the work that was enqueued on a stream when the event was last recorded. If
    the process that recorded it ends, a wait on a GPU never ends.
    """
    cdef object __weakref__
    cdef void *object

    def __init__(self, device=None, *, bint blocking_sync=False):
        cdef EventOpen call
        CLEAR(call.params)
        call.params.flags = WW_EVENT_BLOCKING_SYNC if blocking_sync else 0
        event = open_event(device, &call, run_event_create)
        handle_close(self, &event_class)
        self.object = event

    def __dealloc__(self):
        handle_close(self, &event_class)

    @classmethod
    @cython.binding(True)
    def open_handle(cls, handle, device=None):
        """The event of another CUDA program.

        Parameters
        ----------
        handle : bytes-like or ints
            Its cudaIpcEventHandle_t, of 64 bytes. Another process made it.
        device : Device or what it takes, optional
            A GPU.
        """
        cdef EventOpen call
        data = PyBytes_FromObject(handle)
        if len(data) != WW_EVENT_HANDLE_BYTES:
            raise ValueError(f"the handle of an event has {WW_EVENT_HANDLE_BYTES} bytes, not {len(data)}")
        memcpy(call.handle.bytes, <const char *>data, WW_EVENT_HANDLE_BYTES)
        return event_object(python_core, open_event(device, &call, run_event_handle_open))

    def record(self, stream, /):
        """Let the event stand for the work enqueued on a stream so far.

        Parameters
        ----------
        stream : Stream or what it takes
            Of the event's device.
        """
        event_with_stream(self, stream, ww_event_record)

    def wait(self, stream, /):
        """Have a stream's further work wait for what was recorded last.

        If the event was never recorded, the stream does not wait. If the process that recorded it
        ends first, a stream of a GPU waits for ever: a Timeline has no such limit.

        Parameters
        ----------
        stream : Stream or what it takes
            Of the event's device.
        """
        event_with_stream(self, stream, ww_event_stream_wait)

    def synchronize(self, timeout=None, *, cancel=None):
        """Wait on the CPU for what was recorded last.

        Parameters
        ----------
        timeout : float or None
            Seconds.
        cancel : Cancel, optional

        Raises
        ------
        Timeout
            `timeout` seconds passed first.
        PeerLost
            The process that recorded it ended; on the host device only.
        """
        cdef uint64_t timeout_ns
        convert_timeout(timeout, &timeout_ns)
        event = handle_borrow(self, &event_class)
        try:
            check(wait_timed(python_core, run_event_synchronize, event, timeout_ns, <PyObject *>cancel))
        finally:
            handle_return(&event_class, event)

    def synchronize_async(self, timeout=None, **keywords):
        """A coroutine that does what `synchronize` does, in a thread of its own.

        When it is cancelled, the wait ends.
        """
        return aio().run(self.synchronize, timeout, **keywords)

    def query(self):
        """Whether the work that was recorded last has run."""
        cdef ww_status status
        event = <ww_event *>handle_borrow(self, &event_class)
        try:
            with nogil:
                status = ww_event_query(event)
            return is_ready(status)
        finally:
            handle_return(&event_class, event)

    def token(self, *, uses=0, escrow=60.0, broker=None, cancel=None):
        """A token: plain bytes by which any process can open this object.

        Parameters
        ----------
        uses : int
            Imports after which the token's escrow ends; 0: only its time ends it.
        escrow : float or None
            Seconds for which the broker keeps its entry for the token alone; None: not at all.
        broker : Broker, optional

        Returns
        -------
        Token
        """
        return make_token(self, &event_class, run_event_export, uses, escrow, broker, cancel)

    def close(self):
        """Release the event. Work that waits for it still waits. May be called twice."""
        handle_close(self, &event_class)

    # Which device is to open it only the receiver knows.
    def __reduce__(self):
        error = TypeError("an Event cannot be pickled: send event.token().to_bytes(), and have the receiver call "
                          "Token(data).open(device=...); or use a Timeline")
        note_late("Event", error)
        raise error

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        handle_close(self, &event_class)

    @property
    def handle(self):
        """bytes: the cudaIpcEventHandle_t by which any CUDA program can open the event. The host device has none."""
        cdef ww_event_handle handle
        cdef ww_status status
        event = <ww_event *>handle_borrow(self, &event_class)
        try:
            with nogil:
                status = ww_event_handle_get(event, &handle)
            check(status)
        finally:
            handle_return(&event_class, event)
        return (<char *>handle.bytes)[:WW_EVENT_HANDLE_BYTES]

    @property
    def closed(self):
        """bool: `close` was called."""
        return self.object == NULL

    def __repr__(self):
        if not self.object:
            return "<warpway.Event closed>"
        return f"<warpway.Event at {id(self):#x}>"


cdef int event_with_stream(Event self, value, ww_status (*fn)(ww_event *, ww_stream *) noexcept nogil) except -1:
    cdef ww_event *event = NULL
    cdef ww_status status
    stream = convert_stream(python_core, NULL, value)
    try:
        event = <ww_event *>handle_borrow(self, &event_class)
        with nogil:
            status = fn(event, stream)
        return check(status)
    finally:
        handle_return(&event_class, event)
        handle_return(&stream_class, stream)
