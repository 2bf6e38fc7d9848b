# SPDX-License-Identifier: Apache-2.0
# warpway.Timeline: a number that only grows, for which processes and streams wait

TIMELINE_STATES = ("", "live", "closed", "lost")

cdef struct TimelineUse:
    ww_timeline *timeline # both borrowed
    ww_stream *stream # NULL: none
    uint64_t value
    uint64_t flags


cdef ww_status run_timeline_wait(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <TimelineUse *>call
    if not args.stream:
        return ww_timeline_wait(args.timeline, args.value, timeout_ns, cancel)
    return ww_timeline_stream_wait(args.timeline, args.stream, args.value, args.flags, timeout_ns, cancel)


cdef ww_status run_timeline_export(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <Export *>call
    return ww_timeline_export(<ww_timeline *>args.object, args.broker, &args.params, cancel, &args.token)


cdef void unref_stream(void *stream) noexcept nogil:
    ww_stream_unref(<ww_stream *>stream)


cdef ww_status eventfd_alone(ww_timeline *timeline, uint64_t value, int *out_fd) noexcept nogil:
    """By a stream of the host device for this descriptor. Its reference belongs to its own last piece of work: an
    unref anywhere else would wait until the value is reached."""
    cdef ww_device *device
    cdef ww_stream *stream
    cdef ww_status status = ww_device_open("host", &device)
    if status != WW_OK:
        return status
    status = ww_stream_create(device, &stream)
    ww_device_unref(device)
    if status != WW_OK:
        return status
    status = ww_timeline_eventfd(timeline, stream, value, out_fd)
    # If memory for that work is missing, the stream stays for ever. A failed eventfd may have enqueued the wait, too.
    ww_stream_call(stream, unref_stream, stream)
    return status


cdef public int timeline_convert_value(object value, void *out_value) except 0:
    """For PyArg_Parse's "O&", into a uint64_t. Values above WW_TIMELINE_MAX are refused by the library."""
    number = index(value)
    if not 0 <= number < 2**64:
        raise ValueError(f"a value of a timeline is 0 to 2**62, not {value!r}")
    (<uint64_t *>out_value)[0] = number
    return 1


cdef public object timeline_object(core *unused, ww_timeline *timeline):
    """A Timeline, which takes over the reference."""
    cdef Timeline self = Timeline.__new__(Timeline)
    self.object = timeline
    return self


@cython.final
cdef class Timeline:
    """Timeline(value=0, *, alone=False)\n--\n
    A number that only grows, for which processes and their GPUs wait.

    Parameters
    ----------
    value : int
        That it has reached from the start.
    alone : bool
        It shares its page with no other timeline: a process that may see this one can see the
        values of no others.

    The process that creates a Timeline signals it. Every process that got it, by pickle, token
    or name, can wait for its values: on the CPU, on a stream, or in an event loop. If the
    signaller ends, every wait for a value that it had not reached raises `PeerLost`.
    """
    cdef object __weakref__
    cdef void *object

    def __init__(self, value=0, *, bint alone=False):
        cdef ww_timeline *timeline
        cdef ww_timeline_params params
        cdef ww_status status
        CLEAR(params)
        timeline_convert_value(value, &params.value)
        params.flags = WW_TIMELINE_ALONE if alone else 0
        with nogil:
            status = ww_timeline_create(&params, &timeline)
        check(status)
        handle_close(self, &timeline_class)
        self.object = timeline

    def __dealloc__(self):
        handle_close(self, &timeline_class)

    def signal(self, value, stream=None):
        """Raise the value: now, or when the work of a stream so far has run.

        Parameters
        ----------
        value : int
            Above every value signalled before, at most 2**62.
        stream : Stream or what it takes, optional
            None: the CPU raises it, now.

        Raises
        ------
        AccessDenied
            Another process is the signaller.
        WrongState
            A stream has yet to signal a lower value: let it signal this one, too.
        PeerLost
            The stream waited for a process that ended: what it computed since is not valid.
        """
        cdef TimelineUse call
        cdef ww_status status
        timeline_convert_value(value, &call.value)
        use_timeline(self, stream, &call)
        try:
            with nogil:
                if call.stream:
                    status = ww_timeline_stream_signal(call.timeline, call.stream, call.value)
                else:
                    status = ww_timeline_signal(call.timeline, call.value)
            check(status)
        finally:
            end_use(&call)

    def fail(self, str why, /):
        """Say that the values which are not reached yet will never be valid.

        Every wait for them raises `PeerLost`, though streams still signal them. A stream that waits
        for a value which was never signalled goes on when the timeline is closed. The timeline
        cannot be signalled any more.

        Parameters
        ----------
        why : str
            For the messages of those who wait: the first 47 characters.
        """
        cdef bytes text = why.encode("ascii", "replace")
        cdef ww_timeline *timeline = <ww_timeline *>handle_borrow(self, &timeline_class)
        status = ww_timeline_fail(timeline, text)
        handle_return(&timeline_class, timeline)
        check(status)

    def wait(self, value, timeout=None, *, stream=None, bint unsubmitted=False, bint other_user=False, cancel=None):
        """Wait until a value is reached; or have a stream wait for it.

        Parameters
        ----------
        value : int
        timeout : float or None
            Seconds. With `stream` the CPU waits that long until the value is submitted, that is,
            until the signaller has enqueued its signal.
        stream : Stream or what it takes, optional
            Its further work waits for the value. The call returns as soon as the value is
            submitted.
        unsubmitted : bool
            With `stream`: enqueue its wait at once. Streams of a GPU that wait for what nobody has
            submitted can block each other for ever: see warpway/timeline.h.
        other_user : bool
            With `stream`, of a lane of another user's service: let the stream wait. Without it the
            CPU waits until the value is reached, so that user cannot stop the stream.
        cancel : Cancel, optional
            Ends the wait of the CPU.

        A wait that began before `close` goes on.

        Raises
        ------
        Timeout
            `timeout` seconds passed first.
        PeerLost
            The signaller ended, or closed or failed the timeline, below the value; or `stream` is
            lost.
        """
        cdef TimelineUse call
        cdef uint64_t timeout_ns
        cdef ww_status status = WW_NOT_READY
        timeline_convert_value(value, &call.value)
        convert_timeout(timeout, &timeout_ns)
        if (unsubmitted or other_user) and stream is None:
            raise ValueError(f"{'unsubmitted' if unsubmitted else 'other_user'}=True is for the wait of a stream: "
                             "give stream=, too")
        call.flags = (WW_WAIT_UNSUBMITTED if unsubmitted else 0) | (WW_WAIT_OTHER_USER if other_user else 0)
        use_timeline(self, stream, &call)
        try:
            if not call.stream:
                status = ww_timeline_query(call.timeline, call.value)
            if status == WW_NOT_READY:
                status = wait_timed(python_core, run_timeline_wait, &call, timeout_ns, <PyObject *>cancel)
            check(status)
        finally:
            end_use(&call)

    def wait_async(self, value, timeout=None, **keywords):
        """A coroutine that does what `wait` does, in a thread of its own.

        When it is cancelled, the wait ends.
        """
        return aio().run(self.wait, value, timeout, **keywords)

    def query(self, value, /):
        """Whether a value is reached.

        Raises
        ------
        PeerLost
            It never will be: the signaller ended, or closed the timeline, below it.
        """
        cdef uint64_t number
        timeline_convert_value(value, &number)
        if not self.object:
            handle_borrow(self, &timeline_class)  # says that it is closed
        return is_ready(ww_timeline_query(<ww_timeline *>self.object, number))  # reads shared memory, with the GIL

    def prepare(self, device, /):
        """Map the timeline on a device now, instead of at the first use by a stream of it."""
        cdef ww_timeline *timeline = NULL
        cdef ww_status status
        opened = convert_device(python_core, device)
        try:
            timeline = <ww_timeline *>handle_borrow(self, &timeline_class)
            with nogil:
                status = ww_timeline_prepare(timeline, opened)
            check(status)
        finally:
            handle_return(&timeline_class, timeline)
            handle_return(&device_class, opened)

    def eventfd(self, value, stream=None):
        """A descriptor that becomes readable when a wait for a value is over.

        Parameters
        ----------
        value : int
        stream : Stream or what it takes, optional
            It waits, and is busy until then; one of the host device is best. None: a thread of
            the library waits, which ends when the value is reached, or can no more be reached.

        Returns
        -------
        int
            The descriptor of an eventfd, to be closed by the caller, at any time. Once it is
            readable, `query` says how the wait ended.
        """
        cdef TimelineUse call
        cdef ww_status status
        cdef int fd = -1
        timeline_convert_value(value, &call.value)
        use_timeline(self, stream, &call)
        try:
            with nogil:
                if call.stream:
                    status = ww_timeline_eventfd(call.timeline, call.stream, call.value, &fd)
                else:
                    status = eventfd_alone(call.timeline, call.value, &fd)
            check(status)
        finally:
            end_use(&call)
        return fd

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
        return make_token(self, &timeline_class, run_timeline_export, uses, escrow, broker, cancel)

    def __reduce__(self):
        try:
            return reduce_timeline(self)
        except Exception as error:
            note_late("Timeline", error)
            raise

    def close(self):
        """Release the timeline. May be called twice.

        When the signaller releases it for the last time, values that were signalled will still be
        reached, and waits for higher ones raise `PeerLost`. A wait of another thread keeps the
        timeline until it ends.
        """
        handle_close(self, &timeline_class)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        handle_close(self, &timeline_class)

    @property
    def completed(self):
        """int: the highest value reached. Of a lost timeline: what was reached then."""
        return timeline_info(self).completed

    @property
    def submitted(self):
        """int: the highest value whose signal is enqueued or done."""
        return timeline_info(self).submitted

    @property
    def state(self):
        """str: 'live'; 'closed': the signaller has released it; 'lost': the signaller has ended,
        or it called `fail`."""
        return word(timeline_info(self).state, TIMELINE_STATES)

    @property
    def is_own(self):
        """bool: this process is the signaller."""
        return timeline_info(self).is_own != 0

    @property
    def pid(self):
        """int: of the signaller."""
        return timeline_info(self).pid

    @property
    def uid(self):
        """int: of the signaller, as it says."""
        return timeline_info(self).uid

    @property
    def program(self):
        """str: the signaller's name."""
        return text(timeline_info(self).program)

    @property
    def closed(self):
        """bool: `close` was called."""
        return self.object == NULL

    def __repr__(self):
        cdef ww_timeline_info info
        if not self.object:
            return "<warpway.Timeline closed>"
        info = timeline_info(self)
        who = "this process" if info.is_own else text(info.program)
        return (f"<warpway.Timeline {word(info.state, TIMELINE_STATES)}, completed {info.completed}, submitted "
                f"{info.submitted}, of {who}>")


cdef int use_timeline(Timeline self, stream, TimelineUse *call) except -1:
    """Borrows both. The conversion may run Python code, which may close the timeline."""
    call.stream = NULL if stream is None else convert_stream(python_core, NULL, stream)
    call.timeline = NULL
    try:
        call.timeline = <ww_timeline *>handle_borrow(self, &timeline_class)
    finally:
        if not call.timeline:
            handle_return(&stream_class, call.stream)
    return 0


cdef void end_use(const TimelineUse *call) noexcept:
    handle_return(&stream_class, call.stream)
    handle_return(&timeline_class, call.timeline)


cdef ww_timeline_info timeline_info(Timeline self) except *:
    cdef ww_timeline_info info
    CLEAR(info)
    timeline = <ww_timeline *>handle_borrow(self, &timeline_class)
    try:
        check(ww_timeline_info_get(timeline, &info))
    finally:
        handle_return(&timeline_class, timeline)
    return info


cdef object reduce_timeline(Timeline self):
    cdef Export call
    if not self.object:
        raise ValueError("this Timeline is closed, so it cannot be pickled. multiprocessing.Queue pickles in "
                         "a thread, after put() has returned: keep it open until the other process has it")
    call.broker = NULL
    CLEAR(call.params)
    call.params.uses = 1
    call.object = handle_borrow(self, &timeline_class)
    try:
        check(wait_run(python_core, run_timeline_export, &call, 0, NULL))
    finally:
        handle_return(&timeline_class, call.object)
    return token_pickle(python_core, &call.token)
