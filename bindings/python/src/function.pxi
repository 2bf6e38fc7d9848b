# SPDX-License-Identifier: Apache-2.0
# warpway.Function: a function of a service, as its clients call it
#
# The keywords of a call are the parameters of the signature. Those that are no parameters are options of the call.

# --- finding one ---

cdef struct FindFunction:
    const char *name
    const char *signature # NULL: any
    FunctionQuery found


cdef ww_status use_find(ww_client *client, void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <FindFunction *>call
    status = ww_client_find(client, args.name, args.signature, timeout_ns, cancel, &args.found.index)
    return status if status != WW_OK else use_function_info(client, &args.found, 0, NULL)


cdef Function make_function(client_state *state, name, signature, uint64_t timeout_ns, cancel):
    """`timeout_ns`: how long to wait until it is offered."""
    cdef Function made = Function.__new__(Function)
    cdef FindFunction call
    name_bytes, signature_bytes = text_of(name, &call.name), text_of(signature, &call.signature)
    status = use_client(state, use_find, &call, timeout_ns, cancel)
    if status == WW_TIMED_OUT:
        error_raise_text(python_core, status,
                         "the service is starting, and has not offered '%s' within the time limit", call.name)
    check_client(status)
    made.form = read_form(call.found.info.signature)
    made.state = <client_state *>client_state_ref(state)
    made.name_ = name
    made.index = call.found.index
    made.flags = call.found.info.flags
    return made


# --- options of a call ---

cdef struct Options:
    uint64_t timeout_ns
    PyObject *cancel # borrowed; or NULL
    ww_submit_params params
    uint64_t depends[WW_SUBMIT_DEPENDS_MAX] # of several calls
    ww_timeline *after # a reference, or NULL
    bint is_repeated # if the server ends


cdef int read_number(value, uint64_t *out_number) except -1:
    """The number of a call, or its Ticket."""
    convert_bytes(value if value is None or hasattr(value, "__index__") else value.number, out_number)
    return 0


cdef int read_depends_on(value, Options *options) except -1:
    """One call, or a tuple of calls."""
    if not isinstance(value, tuple):
        return read_number(value, &options.params.depends_on)
    if len(value) > WW_SUBMIT_DEPENDS_MAX:
        raise ValueError(f"a call cannot depend on {len(value)} others: {WW_SUBMIT_DEPENDS_MAX} are the most")
    for i, each in enumerate(value):
        read_number(each, &options.depends[<int>i])
    options.params.depends_more = options.depends
    options.params.depends_more_count = len(value)
    return 0


cdef int read_after(value, Options *options) except -1:
    """A timeline, or its token, and a value. What a tuple has stays as long as it."""
    if value is None:
        return 0
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(f"after is a tuple (timeline, value), not {value!r}")
    if isinstance(value[0], Timeline):
        options.after = options.params.after = <ww_timeline *>handle_borrow(value[0], &timeline_class)
    elif is_a(value[0], CORE_TOKEN):
        options.params.after_token = token_of(python_core, value[0])
    else:
        raise TypeError(f"the first of after is a warpway.Timeline or Token, not {type(value[0])!r}")
    convert_bytes(value[1], &options.params.after_value)
    return 0


cdef int read_option(Function self, Options *options, bint has_ticket, key, value) except -1:
    if key == "timeout":
        convert_timeout(value, &options.timeout_ns)
    elif key == "deadline":
        if value is not None:
            convert_timeout(value, &options.params.deadline_ns)
            options.params.deadline_ns = max(options.params.deadline_ns, <uint64_t>1) # 0 is none to the library
    elif key == "lane":
        options.params.lane = lane_of(value)
    elif key == "depends_on":
        read_depends_on(value, options)
    elif key == "chain":
        options.params.flags |= WW_SUBMIT_CHAIN if value else 0
    elif key == "after":
        read_after(value, options)
    elif key == "cancel": # a call that need not wait does not look at it
        if value is not None and not is_a(value, CORE_CANCEL):
            raise TypeError(f"this argument is a Cancel, not {value!r}")
        options.cancel = <PyObject *>value
    elif key == "repeat":
        options.is_repeated = value
        if options.is_repeated and has_ticket:
            raise TypeError("a call that has a Ticket is not repeated: call the function, instead of submit()")
    else:
        raise TypeError(f"'{self.name_}' has no parameter '{key}': its signature is '{<object>self.form.text}'")
    return 0


# --- a call ---

cdef int read_arguments(Function self, tuple arguments, dict keywords, CallValues *values, Options *options,
                        bint has_ticket) except -1:
    cdef PyObject *objects[WW_CALL_ARGS_MAX] # borrowed; NULL: left out
    cdef uint32_t count = self.form.parameter_count, given = <uint32_t>len(arguments), i
    cdef const CallItem *items = self.form.items
    if given > count:
        raise TypeError(f"'{self.name_}' takes at most {count} arguments, not {given}: its signature is "
                        f"'{<object>self.form.text}'")
    for i in range(count):
        objects[i] = <PyObject *>arguments[i] if i < given else NULL
    for key, value in keywords.items():
        i = 0
        while i < count and <object>items[i].name != key:
            i += 1
        if i == count:
            read_option(self, options, has_ticket, key, value)
        elif objects[i]:
            raise TypeError(f"'{self.name_}' got two values for its parameter '{key}'")
        else:
            objects[i] = <PyObject *>value
    for i in range(count):
        if not objects[i] and not items[i].flags & (WW_PARAMETER_OPTIONAL | WW_PARAMETER_DIMENSION):
            raise TypeError(f"'{self.name_}' needs its parameter '{<object>items[i].name}': its signature is "
                            f"'{<object>self.form.text}'")
        add_value(values, &items[i], <object>objects[i] if objects[i] else None, "argument", options.cancel)
    return 0


cdef struct Submit:
    client_state *state
    uint32_t function
    const CallValues *values
    const ww_submit_params *params
    ticket_state *ticket


cdef ww_status use_submit(ww_client *client, void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    cdef ww_ticket *ticket
    args = <Submit *>call
    status = ww_client_submit(client, args.function, args.values.values, args.values.count, args.params, timeout_ns,
                              cancel, &ticket)
    if status != WW_OK:
        return status
    args.ticket = ticket_state_new(args.state, ticket)
    return WW_OK if args.ticket else WW_ERR_NO_MEMORY


cdef object submit_values(Function self, const CallValues *values, const Options *options):
    """A Ticket. Usually there is room: so the first try is without signals."""
    cdef Submit call
    cdef ww_status status
    call.state, call.function, call.values, call.params = self.state, self.index, values, &options.params
    with nogil:
        status = client_state_call(call.state, use_submit, &call, 0, NULL)
    if status == WW_TIMED_OUT and options.timeout_ns > 0:
        status = use_client(call.state, use_submit, &call, options.timeout_ns,
                            <object>options.cancel if options.cancel else None)
    if status == WW_TIMED_OUT:
        error_raise_text(python_core, status, "there was no room for the call within the time limit: earlier ones of "
                         "this Client have not ended")
    check_client(status)
    return ticket_object(call.ticket, self.form, values.held)


cdef object call_once(Function self, const CallValues *values, const Options *options):
    return ticket_wait(submit_values(self, values, options), options.timeout_ns, options.cancel, True)


cdef object apply_function(Function self, tuple arguments, dict keywords, bint has_ticket):
    cdef CallValues values
    cdef Options options
    if not self.form:
        raise TypeError("this Function is of no Client")
    memset(&options, 0, sizeof(options))
    CLEAR(options.params)
    options.timeout_ns = WW_FOREVER
    values.count, values.held = 0, NULL
    try:
        read_arguments(self, arguments, keywords, &values, &options, has_ticket)
        if has_ticket:
            return submit_values(self, &values, &options)
        if options.is_repeated:
            return call_repeatedly(self, &values, &options)
        return call_once(self, &values, &options)
    finally:
        end_values(&values)
        handle_return(&timeline_class, options.after)


# --- calls that are made again when their server has ended ---

cdef struct NextServer:
    client_state *state
    client_state *next # a reference
    ww_service_info lost
    ww_service_info found


cdef ww_status run_next_server(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <NextServer *>call
    status = client_state_info(args.state, &args.lost)
    if status == WW_OK:
        status = client_state_next(args.state, timeout_ns, cancel, &args.next)
    return status if status != WW_OK else client_state_info(args.next, &args.found)


cdef int fail_next(client_state *state, ww_status status) except -1:
    if status == WW_TIMED_OUT:
        error_raise_text(python_core, status, "the server of '%s' has ended, and no other one has come within the time "
                         "limit", state.name)
    client_fail(status)


cdef bint has_lost_server(error, client_state *state) except -1:
    """Whether an exception is that the server has ended. A function may raise PeerLost."""
    cdef bint is_over
    if not isinstance(error, <object>error_class(python_core, WW_ERR_PEER_LOST)):
        return False
    with nogil:
        is_over = client_state_is_over(state)
    return is_over


cdef Function find_next(Function self, client_state *state, client_state **out_next, const Options *options):
    """The same function of the next server."""
    cdef NextServer call
    cdef uint64_t wait_ns = options.timeout_ns
    cancel = <object>options.cancel if options.cancel else None
    if options.params.deadline_ns > 0:
        wait_ns = min(wait_ns, options.params.deadline_ns)
    call.state, call.next = state, NULL
    status = wait_run(python_core, run_next_server, &call, wait_ns, options.cancel)
    out_next[0] = call.next
    if status != WW_OK:
        fail_next(state, status)
    # Anyone may have taken the name since, and a call has tokens.
    if call.found.uid != call.lost.uid:
        error_raise_text(python_core, WW_ERR_ACCESS, "the call is not repeated: the server of '%s' has ended, and the "
                         "next one is of user %u, not %u; open the service anew if that is right", state.name,
                         call.found.uid, call.lost.uid)
    found = make_function(call.next, self.name_, <object>self.form.text, options.timeout_ns, cancel)
    if not found.flags & WW_FUNCTION_IDEMPOTENT:
        raise (<object>error_class(python_core, WW_ERR_MISMATCH))(
            f"the call is not repeated: the next server does not offer '{self.name_}' as idempotent")
    return found


cdef uint64_t end_of(uint64_t limit_ns) noexcept:
    now_ns = wait_now_ns()
    return now_ns + limit_ns if limit_ns < WW_FOREVER - now_ns else WW_FOREVER


cdef object call_repeatedly(Function self, const CallValues *values, Options *options):
    cdef uint64_t now_ns, end_ns = end_of(options.timeout_ns), start_ns = WW_FOREVER
    cdef client_state *next = NULL
    if options.params.deadline_ns > 0:
        start_ns = end_of(options.params.deadline_ns)
    try:
        return call_once(self, values, options)
    except Exception as error:
        if not (self.state.is_named and self.flags & WW_FUNCTION_IDEMPOTENT and options.params.depends_on == 0
                and options.params.depends_more_count == 0 and options.params.flags == 0
                and has_lost_server(error, self.state)):
            raise
    while True:
        now_ns = wait_now_ns()
        if now_ns >= end_ns or now_ns >= start_ns:
            fail_next(self.state, WW_TIMED_OUT)
        if end_ns != WW_FOREVER:
            options.timeout_ns = end_ns - now_ns
        if start_ns != WW_FOREVER:
            options.params.deadline_ns = start_ns - now_ns
        try:
            return call_once(find_next(self, self.state, &next, options), values, options)
        except Exception as error:
            if not next or not has_lost_server(error, next):
                raise
        finally:
            handle_return(&client_class, next)
            next = NULL


@cython.final
cdef class Function:
    """A function of a service; an attribute of a Client.

    It is called with arguments by position and by the names of its signature. Numbers, bool and
    bytes are copied. An array is an Array, Memory or Token: it stays where it is. None stands for
    an argument that is left out. These keywords are options, unless the signature has a parameter
    of the name:

    - ``timeout``: seconds to wait, for room and for the end. When they have passed, the call is
      cancelled and `Timeout` raised. None: no limit.
    - ``deadline``: seconds from now: the function is not started later. If all threads of the
      server are busy, the answer comes later: only `timeout` limits the wait.
    - ``lane``: 0 to 63: calls of one lane run in their order.
    - ``depends_on``: a Ticket, or its number, or a tuple of up to six of these: if one of these
      calls fails, this one is not run.
    - ``chain``: True: the call depends on the one before it in its lane.
    - ``after``: (timeline, value), a Timeline or a Token of one, and a number: the call waits in
      its lane until the timeline has completed the value. If the value never comes, since
      the signaller has ended or has closed the timeline, it ends with `DependencyFailed`. The
      Client keeps a Timeline that is given until then. If this process is the signaller, to
      close it does not end the wait: cancel the call, or set a deadline.
    - ``cancel``: a Cancel, which ends the wait and cancels the call.
    - ``repeat``: True: if the server ends before it has answered, wait within `timeout` and
      `deadline` for the next server of the name, and call its function. The first may have run,
      so both must be offered with ``idempotent=True``; the Client was opened by name, the next
      server is of the same user, and the call depends on no other one. Otherwise `PeerLost` is
      raised, or the reason why the next server does not get the call. Not for `submit`.
    """
    cdef object __weakref__
    cdef client_state *state # a reference
    cdef CallForm *form # NULL: it was made by __new__() of object
    cdef object name_ # a str
    cdef uint32_t index
    cdef uint32_t flags # WW_FUNCTION_...

    def __init__(self):
        raise TypeError("a Function is an attribute of a Client")

    def __dealloc__(self):
        handle_return(&client_class, self.state)
        call_form_unref(self.form)

    def __call__(self, *arguments, **keywords):
        return apply_function(self, arguments, keywords, False)

    def submit(self, *arguments, **keywords):
        """Call the function without waiting for it: a Ticket.

        It takes what a call takes. `timeout` is for room: a Client has a limit on calls that have
        not ended.
        """
        return apply_function(self, arguments, keywords, True)

    @property
    def name(self):
        """str: its name."""
        return self.name_

    @property
    def signature(self):
        """str: its signature, in canonical form."""
        return <object>self.form.text if self.form else None

    @property
    def parameters(self):
        """tuple of (name, type, access, is_optional): what it takes. The access of an array is 'read'
        or 'write'."""
        return describe_items(self.form.items, self.form.parameter_count) if self.form else ()

    @property
    def results(self):
        """tuple of (name, type, access, is_optional): what it returns."""
        if not self.form:
            return ()
        return describe_items(&self.form.items[self.form.parameter_count], self.form.result_count)

    def __repr__(self):
        return f"<warpway.Function {self.name}({self.signature})>"


cdef tuple describe_items(const CallItem *items, uint32_t count):
    return tuple([(<object>items[i].name, <object>items[i].type, word(items[i].access, ("", "read", "write")),
                   items[i].flags & (WW_PARAMETER_OPTIONAL | WW_PARAMETER_DIMENSION) != 0) for i in range(count)])
