# SPDX-License-Identifier: Apache-2.0
# warpway.Watch: the changes in a broker
#
# One thread at a time uses a ww_watch. close() may come from any thread meanwhile: it sets a flag, by which the library
# ends the wait, and the thread that used the watch frees it. A wait that has a flag of its caller cannot have this one,
# too: it polls the descriptor and looks at the flags every WAIT_MS.

cdef extern from "<poll.h>" nogil:
    struct pollfd:
        int fd
        short events
    int poll(pollfd *, unsigned long, int)
    const short POLLIN

cdef enum:
    WAIT_MS = 40

WATCH_EVENTS = ("", "put", "ready", "removed", "expired", "gone", "lost", "overflow", "replaced")

cdef struct WatchNext:
    ww_watch *watch # borrowed
    ww_cancel *stop # set when the Watch is closed
    ww_watch_event event


cdef uint64_t poll_watch(const WatchNext *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    """Until there is something to read, a flag is set or the time is over. Returns the time that is left."""
    cdef pollfd entry
    cdef uint64_t begin_ns = wait_now_ns(), left_ns = timeout_ns, spent_ns
    entry.fd = ww_watch_fd(call.watch)
    entry.events = POLLIN
    while left_ns and entry.fd >= 0 and not ww_cancel_is_set(call.stop) and not ww_cancel_is_set(cancel):
        if poll(&entry, 1, WAIT_MS if left_ns // 1000000 >= WAIT_MS else <int>(left_ns // 1000000) + 1) > 0:
            break
        spent_ns = wait_now_ns() - begin_ns
        if timeout_ns != WW_FOREVER:
            left_ns = timeout_ns - spent_ns if spent_ns < timeout_ns else 0
    return left_ns


cdef ww_status run_watch_next(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <WatchNext *>call
    CLEAR(args.event)
    if not cancel:
        return ww_watch_next(args.watch, timeout_ns, args.stop, &args.event)
    timeout_ns = poll_watch(args, timeout_ns, cancel)
    return WW_END if ww_cancel_is_set(args.stop) else ww_watch_next(args.watch, timeout_ns, cancel, &args.event)


cdef make_watch(Broker broker, const char *prefix, uint64_t flags):
    cdef Watch self = Watch.__new__(Watch)
    cdef ww_status status = ww_cancel_create(&self.stop)
    check(status)
    borrowed = <ww_broker *>handle_borrow(broker, &broker_class)
    try:
        with nogil:
            status = ww_watch_create(borrowed, prefix, flags, &self.watch)
        check(status)
    finally:
        handle_return(&broker_class, borrowed)
    return self


@cython.final
cdef class Watch:
    """The changes in a broker, in order, made by `Broker.watch`.

    An iterator: ``for event in watch`` waits for each WatchEvent, until the watch is closed.
    One thread at a time uses it. The event 'overflow' says that some were missed, because they
    were not read in time or the broker was restarted: then look again, with `Broker.list`.
    """
    cdef object __weakref__
    cdef ww_watch *watch # NULL: closed
    cdef ww_cancel *stop
    cdef bint is_used # by a thread
    cdef list kept # WatchEvents that `next` gives first; or None

    def __init__(self, *unused, **keywords):
        raise TypeError("cannot create 'warpway.Watch' instances")

    def __dealloc__(self):
        handle_return(&watch_class, self.watch)
        handle_return(&cancel_class, self.stop)

    def next(self, timeout=None, *, cancel=None):
        """The next change, as a WatchEvent.

        Raises
        ------
        Timeout
            `timeout` seconds passed first.
        WrongState
            Another thread uses this Watch.
        NoBroker
            The broker ended, and was not restarted in time.
        """
        cdef uint64_t timeout_ns
        convert_timeout(timeout, &timeout_ns)
        event = next_event(self, timeout_ns, <PyObject *>cancel)
        if event is None:
            raise ValueError("this Watch is closed")
        return event

    def fileno(self):
        """A descriptor that is readable when there is an event: for select and event loops.

        It may change: ask again after each `next` that raised Timeout or gave 'overflow'.
        """
        iter(self) # says that it is closed
        if self.is_used:
            refuse(WW_ERR_STATE, "another thread uses this Watch")
        fd = ww_watch_fd(self.watch)
        if fd < 0:
            refuse(WW_ERR_FORKED, "a child made by fork() has no Watch of its parent")
        return fd

    def close(self):
        """End the watch. May be called twice, and while another thread waits.

        An iteration that waits ends; `next` raises ValueError.
        """
        ww_cancel_set(self.stop)
        self.kept = None
        free_watch(self)

    # For a task that was cancelled when it had the event.
    def _put_back(self, event, /):
        """Have a later call give this event first."""
        if not self.closed:
            self.kept = [*(self.kept or ()), event]

    def __reduce__(self):
        error = TypeError("a Watch cannot be pickled: have the receiver call Broker.watch()")
        note_late("Watch", error)
        raise error

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __iter__(self):
        if self.closed:
            raise ValueError("this Watch is closed")
        return self

    def __next__(self):
        event = next_event(self, WW_FOREVER, NULL)
        if event is None:
            raise StopIteration
        return event

    def __aiter__(self):
        return iter(self)

    def __anext__(self):
        return aio().next_event(self)

    @property
    def closed(self):
        """bool: `close` was called."""
        return not self.watch or ww_cancel_is_set(self.stop) != 0

    def __repr__(self):
        return "<warpway.Watch closed>" if self.closed else "<warpway.Watch>"


cdef int free_watch(Watch self) except -1:
    """Unless a thread uses it, which frees it afterwards."""
    watch = self.watch
    if not self.is_used:
        self.watch = NULL
        handle_return(&watch_class, watch)
    return 0


cdef next_event(Watch self, uint64_t timeout_ns, PyObject *cancel):
    """None: it is closed."""
    cdef WatchNext call
    if self.kept:
        return self.kept.pop(0)
    if self.closed:
        return None
    if self.is_used:
        refuse(WW_ERR_STATE, "another thread uses this Watch; make one for each")
    call.watch = self.watch
    call.stop = self.stop
    self.is_used = True
    try:
        status = wait_run(python_core, run_watch_next, &call, timeout_ns, cancel)
    finally:
        self.is_used = False
        if self.closed:
            free_watch(self)
    if status == WW_END or (status == WW_CANCELLED and self.closed):
        return None
    check(status)
    return WatchEvent((word(call.event.what, WATCH_EVENTS),
                       None if call.event.what == WW_WATCH_OVERFLOW else object_info(&call.event.object),
                       hex_of(call.event.former_id) if call.event.what == WW_WATCH_REPLACED else None))
