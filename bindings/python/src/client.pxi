# SPDX-License-Identifier: Apache-2.0
# warpway.Client: calls to the functions of a service

cdef extern from "client.h":
    # See client.h for what each does.
    const handle_class client_class
    struct client_state:
        uint64_t timeout_ns
        char *name
        bint is_named
        uint32_t gid
        ww_broker *broker
    struct ticket_state:
        client_state *client
        ww_ticket_info info
        ww_error record
    ctypedef ww_status (*client_fn)(ww_client *, void *, uint64_t, ww_cancel *) noexcept nogil
    client_state *client_state_new(ww_client *, const char *name, uint64_t timeout_ns)
    void *client_state_ref(void *) nogil
    void client_state_close(client_state *) nogil
    ww_status client_state_call(client_state *, client_fn, void *, uint64_t timeout_ns, ww_cancel *) nogil
    ww_status client_state_next(client_state *, uint64_t timeout_ns, ww_cancel *, client_state **) nogil
    ww_status client_state_info(client_state *, ww_service_info *) nogil
    bint client_state_is_over(client_state *) nogil
    ticket_state *ticket_state_new(client_state *, ww_ticket *) nogil
    void ticket_state_free(ticket_state *) nogil
    void ticket_state_cancel(ticket_state *) nogil
    ww_status ticket_state_wait(ticket_state *, uint64_t timeout_ns, ww_cancel *) nogil
    ww_status ticket_state_fileno(ticket_state *, int *out_fd) nogil
    ww_status ticket_state_info(ticket_state *, ww_ticket_info *) nogil
    ww_status ticket_state_stream_wait(ticket_state *, ww_stream *, uint64_t flags, uint64_t timeout_ns, ww_cancel *,
                                       c_bool *out_is_late) nogil
    ww_status ticket_state_result(ticket_state *, uint32_t index, ww_value *) nogil


# What is done with the ww_client, by one thread at a time: see client.h.
cdef struct ClientUse:
    client_state *state
    client_fn use
    void *call


cdef ww_status run_client_use(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <ClientUse *>call
    return client_state_call(args.state, args.use, args.call, timeout_ns, cancel)


cdef ww_status use_client(client_state *state, client_fn use, void *call, uint64_t timeout_ns, cancel) except? -1:
    cdef ClientUse args
    args.state, args.use, args.call = state, use, call
    return wait_timed(python_core, run_client_use, &args, timeout_ns, <PyObject *>cancel)


cdef object client_fail(ww_status status):
    """Raises what a status says, STATUS_CLOSED included."""
    if status == STATUS_CLOSED:
        raise ValueError("this Client is closed")
    error_raise(python_core, status)


cdef int check_client(ww_status status) except -1:
    if status != WW_OK:
        client_fail(status)
    return 0


# --- opening ---

cdef struct OpenClient:
    ww_broker *broker # NULL: the default one
    const char *name # NULL: there is a token
    const ww_token *token
    ww_client_params params
    ww_client *client


cdef ww_status run_open_client(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <OpenClient *>call
    if args.token:
        return ww_client_import(args.broker, args.token, &args.params, cancel, &args.client)
    return ww_client_open(args.broker, args.name, &args.params, timeout_ns, cancel, &args.client)


cdef client_state *open_client(OpenClient *call, uint64_t timeout_ns, cancel) except NULL:
    status = wait_run(python_core, run_open_client, call, timeout_ns, <PyObject *>cancel)
    if status == WW_TIMED_OUT and call.name:
        error_raise_text(python_core, status, "no service '%s' came within the time limit", call.name)
    check(status)
    state = client_state_new(call.client, call.name, timeout_ns)
    if not state:
        raise MemoryError
    state.gid = call.params.gid
    state.broker = ww_broker_ref(call.broker) if call.broker else NULL
    return state


cdef public object client_open_token(core *unused, const ww_token *token):
    """A Client of what a token names."""
    cdef Client made = Client.__new__(Client)
    cdef OpenClient call
    memset(&call, 0, sizeof(call))
    CLEAR(call.params)
    call.token = token
    made.object, made.functions_ = open_client(&call, 0, None), {}
    return made


# --- what is done with it ---

cdef struct FunctionQuery:
    uint32_t index
    ww_function_info info


cdef ww_status use_function_info(ww_client *client, void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <FunctionQuery *>call
    CLEAR(args.info)
    return ww_client_function_info_get(client, args.index, &args.info)


cdef ww_status use_wait_ready(ww_client *client, void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    return ww_client_wait_ready(client, timeout_ns, cancel)


cdef struct LaneTimeline:
    uint32_t lane
    ww_timeline *timeline


cdef ww_status use_lane_timeline(ww_client *client, void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    """The server has a second to answer; each try asks anew."""
    args = <LaneTimeline *>call
    return ww_client_lane_timeline(client, args.lane, 1000000000 if timeout_ns else 0, cancel, &args.timeline)


cdef uint32_t lane_of(lane) except? 0:
    """The library refuses numbers that are too large."""
    cdef uint64_t number = 0
    convert_bytes(lane, &number)
    return min(number, <uint64_t>0xffffffff)


@cython.final
cdef class Client:
    """Client(name, *, timeout=0.0, observe=False, group=None, broker=None, cancel=None)\n--\n
    Calls functions of a service: a process that runs them on arrays that stay where they are.

    Parameters
    ----------
    name : str or Token
    timeout : float or None
        Seconds to wait for the name; and for each function while the service is starting.
    observe : bool
        Only look at its functions and state; nothing can be called.
    group : int, optional
        By which functions may be limited; None: this process's own.
    broker : Broker, optional
    cancel : Cancel, optional

    Each function of the service is an attribute, a `Function`: ``client.saxpy(2.0, x, y)``. One
    whose name is no attribute, or one of a Client's own, is called by `call`. The process needs no
    device: memories go as tokens. Several threads may use a Client.

    Raises
    ------
    NotFound, Timeout
        There is no such name.
    AccessDenied
        Its mode does not allow calls.
    Unsupported
        The object is no service.
    """
    cdef object __weakref__
    cdef void *object # a client_state
    cdef dict functions_ # by their names

    def __init__(self, name, *, timeout=0.0, bint observe=False, group=None, broker=None, cancel=None):
        cdef uint64_t timeout_ns
        cdef OpenClient call
        memset(&call, 0, sizeof(call))
        CLEAR(call.params)
        convert_timeout(timeout, &timeout_ns)
        convert_group(group, &call.params.gid)
        call.params.flags = WW_CLIENT_OBSERVE if observe else 0
        if isinstance(name, str):
            name_bytes = text_of(name, &call.name)
        else:
            call.token = token_of(python_core, name)
        try:
            borrow_broker(python_core, broker, &call.broker)
            state = open_client(&call, timeout_ns, cancel)
        finally:
            handle_return(&broker_class, call.broker)
        handle_close(self, &client_class)
        self.object, self.functions_ = state, {}

    def __dealloc__(self):
        handle_close(self, &client_class)

    def __getattr__(self, name):
        if not (<str>name).startswith("_"):
            try:
                return find_function(self, name)
            except Exception as error:
                if not isinstance(error, <object>error_class(python_core, WW_ERR_NOT_FOUND)):
                    raise
                raise AttributeError(str(error)) from None
        raise AttributeError(f"'warpway.Client' object has no attribute '{name}'")

    def __dir__(self):
        names = set(object.__dir__(self))
        try:
            names.update([info.name for info in self.functions() if info.name.isidentifier()])
        except (<object>error_class(python_core, WW_ERR_SYSTEM), ValueError):
            pass # closed, or the server is lost
        return sorted(names)

    def call(self, name, /, *arguments, **keywords):
        """Call a function by its name, wait, and return what it returns.

        Parameters
        ----------
        name : str
        *arguments, **keywords
            As of a `Function`: its arguments and options, such as ``timeout=``.
        """
        return apply_function(find_function(self, name), arguments, keywords, False)

    def submit(self, name, /, *arguments, **keywords):
        """Call a function without waiting for it: a Ticket.

        Parameters
        ----------
        name : str
        *arguments, **keywords
            As of `Function.submit`.
        """
        return apply_function(find_function(self, name), arguments, keywords, True)

    def function(self, name, signature=None, *, timeout=..., cancel=None):
        """A function of the service, as a Function.

        Parameters
        ----------
        name : str
        signature : str, optional
            What the caller takes it for.
        timeout : float or None
            Seconds to wait until it is offered, while the service is starting. Left out: that of the
            Client.
        cancel : Cancel, optional

        Raises
        ------
        NotFound
            The service has no such function.
        InvalidArgument
            Its signature is another one: the message has both.
        """
        return find_function(self, name, signature, timeout, cancel)

    def functions(self):
        """What the service offers, as a list of FunctionInfo."""
        cdef FunctionQuery call
        cdef ww_status status
        made = []
        state = <client_state *>handle_borrow(self, &client_class)
        try:
            while True:
                call.index = len(made)
                with nogil:
                    status = client_state_call(state, use_function_info, &call, 0, NULL)
                if status == WW_END:
                    return made
                check_client(status)
                made.append(function_info(&call.info))
        finally:
            handle_return(&client_class, state)

    def info(self):
        """The state of the service, as a ServiceInfo."""
        cdef ww_service_info info
        cdef ww_status status
        state = <client_state *>handle_borrow(self, &client_class)
        try:
            with nogil:
                status = client_state_info(state, &info)
            check_client(status)
        finally:
            handle_return(&client_class, state)
        return service_info(&info)

    def wait_ready(self, timeout=None, *, cancel=None):
        """Wait until the server has offered all functions.

        Raises
        ------
        Timeout
            `timeout` seconds passed first.
        Unavailable
            The service drains, or was closed.
        PeerLost
            The server has ended.
        """
        cdef uint64_t timeout_ns
        convert_timeout(timeout, &timeout_ns)
        state = <client_state *>handle_borrow(self, &client_class)
        try:
            check_client(use_client(state, use_wait_ready, NULL, timeout_ns, cancel))
        finally:
            handle_return(&client_class, state)

    def lane_timeline(self, lane=0, timeout=None, *, cancel=None):
        """The Timeline of a lane, by which a stream waits for calls.

        It reaches `Ticket.value` when the call is complete, however that ended:
        ``timeline.wait(ticket.value, stream=stream)``. Keep it: each use of this asks the server.

        Parameters
        ----------
        lane : int
            0 to 63.
        timeout : float or None
            Seconds to wait for the server.
        cancel : Cancel, optional
        """
        cdef uint64_t timeout_ns
        cdef LaneTimeline call
        cdef ClientUse args
        call.lane = lane_of(lane)
        convert_timeout(timeout, &timeout_ns)
        state = <client_state *>handle_borrow(self, &client_class)
        try:
            args.state, args.use, args.call = state, use_lane_timeline, &call
            check_client(wait_run(python_core, run_client_use, &args, timeout_ns, <PyObject *>cancel))
        finally:
            handle_return(&client_class, state)
        return timeline_object(python_core, call.timeline)

    def close(self):
        """Leave the service. Calls that were not started are dropped; waits raise ValueError."""
        if not self.object or callback_is_stuck():
            return
        state = <client_state *>handle_borrow(self, &client_class)
        with nogil:
            client_state_close(state)
        handle_close(self, &client_class)
        handle_return(&client_class, state)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    @property
    def closed(self):
        """bool: this process has closed it."""
        return self.object == NULL

    def __repr__(self):
        if not self.object:
            return "<warpway.Client closed>"
        return f"<warpway.Client of {text((<client_state *>self.object).name)}>"


cdef Function find_function(Client self, name, signature=None, timeout=..., cancel=None):
    """Of the same name; without a signature one that was found before will do."""
    cdef uint64_t timeout_ns
    if not isinstance(name, str):
        raise TypeError("the first argument is the function's name, a str")
    if self.object and signature is None:
        found = self.functions_.get(name)
        if found is not None:
            return found
    state = <client_state *>handle_borrow(self, &client_class)
    try:
        timeout_ns = state.timeout_ns
        if timeout is not ...:
            convert_timeout(timeout, &timeout_ns)
        found = self.functions_[name] = make_function(state, name, signature, timeout_ns, cancel)
    finally:
        handle_return(&client_class, state)
    return found
