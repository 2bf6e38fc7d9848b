# SPDX-License-Identifier: Apache-2.0
# warpway.Ticket: a call that was made, and what comes of it

cdef uint64_t TICKET_FIRST_NS = 100000 # of the wait without signals: often the reply comes sooner


cdef struct TicketWait:
    ticket_state *state
    ww_stream *stream # borrowed
    uint64_t flags
    c_bool is_late


cdef ww_status run_ticket_wait(void *state, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    return wait_leave(ticket_state_wait(<ticket_state *>state, timeout_ns, cancel))


cdef ww_status run_ticket_stream_wait(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <TicketWait *>call
    status = ticket_state_stream_wait(args.state, args.stream, args.flags, timeout_ns, cancel, &args.is_late)
    return WW_OK if args.is_late else status # no slice after this one changes that


cdef object ticket_object(ticket_state *state, CallForm *form, PyObject *held):
    cdef Ticket self = Ticket.__new__(Ticket)
    self.state = state
    self.form = call_form_ref(form)
    self.held = <object>held if held else None
    return self


cdef object ticket_wait(object ticket, uint64_t timeout_ns, PyObject *cancel, c_bool is_call):
    cdef Ticket self = ticket
    cdef ticket_state *state = ticket_state_of(self)
    cdef ww_status status = STATUS_RAISED
    try:
        status = wait_first(state, timeout_ns)
        if status == WW_TIMED_OUT and timeout_ns > TICKET_FIRST_NS:
            status = wait_timed(python_core, run_ticket_wait, state,
                                timeout_ns if timeout_ns == WW_FOREVER else timeout_ns - TICKET_FIRST_NS, cancel)
    finally:
        if status != WW_OK and is_call:
            with nogil:
                ticket_state_cancel(state)
    if status == WW_OK:
        return take_results(self) if state.record.status == WW_OK else fail_call(state)
    if status == WW_TIMED_OUT:
        refuse(status, f"call {state.info.number} has not ended within the time limit"
                       f"{', and was cancelled' if is_call else '; it goes on'}{say_if_starting(state.client)}")
    return client_fail(status)


@cython.final
@cython.no_gc
cdef class Ticket:
    """A call that was made by `Client.submit` or `Function.submit`.

    ``await ticket`` waits for its result; if the awaiting task is cancelled, the call is, too.
    A Ticket that is deleted does not end its call.
    """
    cdef object __weakref__
    cdef ticket_state *state
    cdef CallForm *form
    cdef list held # Memories that the call needs; or None
    cdef tuple results # None: not asked for yet

    def __init__(self):
        raise TypeError("cannot create 'warpway.Ticket' instances")

    def __dealloc__(self):
        if not callback_is_stuck():
            with nogil:
                ticket_state_free(self.state)
        call_form_unref(self.form)

    def result(self, timeout=None, *, cancel=None):
        """Wait until the call has ended, and return what the function returned.

        Parameters
        ----------
        timeout : float or None
            Seconds. When they have passed, the call goes on.
        cancel : Cancel, optional
            It ends the wait; the call goes on.

        Returns
        -------
        object
            None, the only result, or a tuple of the results; the same objects each time.
            An Array is mapped by its first use.

        Raises
        ------
        Error
            The exception of the function's status, with its sentence.
        Timeout
            `timeout`, or the call's deadline, passed first.
        Cancelled
            The call was cancelled before the function was started.
        PeerLost
            The server has ended. The exception's attribute `has_started` says whether the
            function may have run.
        DependencyFailed
            A call that it depends on has failed: `failed_call` is its number. 0: the value that
            the call starts after never comes.
        """
        cdef uint64_t timeout_ns
        convert_timeout(timeout, &timeout_ns)
        return ticket_wait(self, timeout_ns, <PyObject *>cancel, False)

    def stream_wait(self, stream, timeout=None, *, bint unsubmitted=False, bint other_user=False, cancel=None):
        """Have a stream's further work wait until the call is complete, however it ends.

        Nobody needs to wait for the reply. `Client.lane_timeline` of the lane must have been called
        before the calls.

        If the server is another user's, the CPU waits for the reply instead, until the call's
        deadline at most, and the stream does not wait at all: so that user cannot stop it.

        Parameters
        ----------
        stream : Stream or what it takes
        timeout : float or None
            Seconds; how long the CPU waits until the server has enqueued the call's work.
        unsubmitted : bool
            As of `Timeline.wait`: do not wait for that.
        other_user : bool
            Let the stream wait, too, if the server is another user's.
        cancel : Cancel, optional
            It ends the wait of the CPU; the call goes on.

        Raises
        ------
        Timeout
            `timeout`, or the deadline of a call to another user's server, passed first.
        WrongState
            `Client.lane_timeline` was not called.
        PeerLost
            The server has ended; or `stream` is lost.
        """
        cdef TicketWait call
        cdef uint64_t timeout_ns
        convert_timeout(timeout, &timeout_ns)
        call.state = ticket_state_of(self)
        call.flags = (WW_WAIT_UNSUBMITTED if unsubmitted else 0) | (WW_WAIT_OTHER_USER if other_user else 0)
        call.is_late = False
        call.stream = convert_stream(python_core, NULL, stream)
        try:
            status = wait_timed(python_core, run_ticket_stream_wait, &call, timeout_ns, <PyObject *>cancel)
            if status == WW_TIMED_OUT or call.is_late:
                number = call.state.info.number
                refuse(WW_TIMED_OUT, f"the deadline of call {number} has passed, and the server has not answered, or calls before "
                               "it in its lane go on; the stream does not wait for it" if call.is_late else
                               f"call {number} has not come so far within the time limit; the stream does not wait for it")
            if status != WW_OK:
                client_fail(status)
        finally:
            handle_return(&stream_class, call.stream)

    def fileno(self):
        """A descriptor for event loops: readable when the call has ended. Only poll it.

        ``result(0)`` does not wait then. The descriptor is readable, too, when the Client was closed;
        it is closed with the Ticket. asyncio needs none: it awaits the Ticket.
        """
        cdef ticket_state *state = ticket_state_of(self)
        cdef ww_status status
        cdef int fd
        with nogil:
            status = ticket_state_fileno(state, &fd)
        return fd if status == WW_OK else client_fail(status)

    def cancel(self):
        """Cancel the call.

        A function that was not started is not run. One that runs can see it: `Call.is_cancelled`.
        """
        cdef ticket_state *state = ticket_state_of(self)
        with nogil:
            ticket_state_cancel(state)

    def __await__(self):
        return aio().ticket_result(self).__await__()

    @property
    def done(self):
        """bool: the call has ended."""
        status = wait_first(ticket_state_of(self), 0)
        return status == WW_OK if status in (WW_OK, WW_TIMED_OUT) else client_fail(status)

    @property
    def started(self):
        """bool: the function was started, and may have run."""
        cdef ticket_state *state = ticket_state_of(self)
        cdef ww_ticket_info info
        cdef ww_status status
        with nogil:
            status = ticket_state_info(state, &info)
        check(status)
        return info.has_started != 0

    @property
    def number(self):
        """int: of the call: 1, 2, 3, ... of its Client."""
        return ticket_state_of(self).info.number

    @property
    def lane(self):
        """int: its lane."""
        return ticket_state_of(self).info.lane

    @property
    def value(self):
        """int: of the lane's timeline, `Client.lane_timeline`: the call is complete when it is reached."""
        return ticket_state_of(self).info.value

    def __repr__(self):
        state = ticket_state_of(self)
        return f"<warpway.Ticket of call {state.info.number} to {text(state.client.name)}>"


cdef inline ticket_state *ticket_state_of(Ticket self) except NULL:
    if not self.state:
        raise ValueError("this Ticket is of no call") # __new__() of the program made it
    return self.state


cdef ww_status wait_first(ticket_state *state, uint64_t timeout_ns) noexcept:
    cdef ww_status status
    with nogil:
        status = ticket_state_wait(state, min(timeout_ns, TICKET_FIRST_NS), NULL)
    return status


cdef object take_results(Ticket self):
    """None, the only result, or a tuple; the same objects each time."""
    cdef ww_value value
    cdef ww_status status
    cdef uint32_t i
    if self.results is None:
        made = []
        for i in range(self.form.result_count):
            with nogil:
                status = ticket_state_result(self.state, i, &value)
            check(status)
            made.append(call_value_object(&value))
        if self.results is None: # no other thread was faster
            self.results = tuple(made)
        self.held = None
    return None if not self.results else self.results[0] if len(self.results) == 1 else self.results


cdef object fail_call(const ticket_state *state):
    """Raises why the call failed, and what became of it."""
    try:
        if state.record.status == WW_CANCELLED:
            refuse(WW_CANCELLED, f"call {state.info.number} was cancelled before the function was started")
        error_raise_record(python_core, &state.record)
    except Exception as error:
        error.has_started = state.info.has_started != 0
        error.failed_call = state.info.failed_call
        raise


cdef str say_if_starting(client_state *client):
    cdef ww_service_info info
    cdef ww_status status
    with nogil:
        status = client_state_info(client, &info)
    if status != WW_OK or info.state != WW_SERVICE_STARTING:
        return ""
    return ". The service is still starting: its server has not called start()"
