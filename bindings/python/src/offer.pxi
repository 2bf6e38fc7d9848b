# SPDX-License-Identifier: Apache-2.0
# Running a Python function for a call; and warpway.Call, which the function sees.
#
# The thread that serves does not have the GIL when the library calls run_offer(). The arguments are imported, and the
# results given, without it: both may ask the broker.

@cython.internal
@cython.final
cdef class Offer:
    """A function that a service offers."""
    cdef object function
    cdef object name
    cdef CallForm *form
    cdef ww_device *device # where results are copied to
    cdef bint wants_call
    cdef bint is_batch # it runs several calls at once

    def __dealloc__(self):
        call_form_unref(self.form)
        handle_return(&device_class, self.device)


cdef Offer make_offer(Service service, name, const char *signature, function, bint is_batch):
    from inspect import Parameter, isasyncgenfunction, iscoroutinefunction, signature as signature_of
    if not callable(function):
        raise TypeError(f"{function!r} cannot be called")
    if iscoroutinefunction(function) or isasyncgenfunction(function):
        raise TypeError(f"{function!r} is a coroutine function: a service calls functions, in the thread that serves")
    cdef Offer made = Offer()
    made.function, made.name, made.is_batch = function, name, is_batch
    try:
        parameter = signature_of(function).parameters.get("call")
        made.wants_call = parameter is not None and parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD,
                                                                       Parameter.KEYWORD_ONLY)
    except (TypeError, ValueError):
        pass # one of C cannot be asked
    made.form = read_form(signature)
    made.device = ww_device_ref(service.device_)
    if is_batch and not made.wants_call and made.form.parameter_count == 0:
        raise ValueError(f"'{name}' cannot know how many calls it runs: it has no parameters; give it 'call'")
    return made


# --- failures ---

cdef ww_status tell_failure(ww_call *const *calls, uint32_t count, error) except? 0:
    """CallError stands for WW_ERR_STATE, which functions in other languages fail with, too."""
    cdef ww_status status = WW_ERR_STATE
    cdef uint32_t i
    is_own = isinstance(error, <object>error_class(python_core, WW_ERR_SYSTEM))
    if is_own and isinstance(error.status, int) and STATUS_OF_OURS_MAX < error.status < 0:
        status = error.status
    try:
        message = str(error)[:WW_ERROR_MESSAGE_BYTES] # a huge one takes long
    except Exception:
        message = ""
    if status == WW_ERR_STATE and not isinstance(error, <object>error_class(python_core, FUNCTION_FAILED)):
        name = type(error).__qualname__
        message = f"{name}: {message}" if message else name
    # The client takes no control characters, such as ends of lines. It is cut between characters.
    if not message.isprintable():
        message = "".join([" " if one < " " or "\x7f" <= one < "\xa0" else one for one in message])
    plain = message.encode(errors="replace")[:WW_ERROR_MESSAGE_BYTES - 1].decode(errors="ignore").encode()
    for i in range(count):
        ww_call_fail(calls[i], status, <const char *>plain)
    return status


cdef void end_serving(error) noexcept:
    """An exception like KeyboardInterrupt leaves the function, and serve()."""
    serving = <Serving *>serving_now
    if serving and not serving.error:
        Py_INCREF(error)
        serving.error = <PyObject *>error


cdef void report(error) noexcept:
    """To sys.unraisablehook."""
    raise error


cdef ww_status fail(Offer offer, ww_call *const *calls, uint32_t count, error, bint is_raised) noexcept:
    """`is_raised`: by the function; else it returned it, for one of its calls."""
    cdef ww_status status = WW_ERR_STATE
    cdef uint32_t i
    for i in range(count): # this stays if it cannot be told
        ww_call_fail(calls[i], status, "the function raised an exception that cannot be told")
    try:
        status = tell_failure(calls, count, error)
        if is_raised and not isinstance(error, Exception):
            end_serving(error)
        elif not isinstance(error, <object>error_class(python_core, WW_ERR_SYSTEM)):
            from logging import getLogger
            getLogger("warpway").error("the function '%s' of a service raised an exception", offer.name, exc_info=error)
    except Exception as other: # such as that of a filter of logging
        report(other)
    except BaseException as other: # Ctrl-C, while a text was made or logged
        end_serving(other)
    return status


# --- results ---

cdef tuple results_of(Offer offer, returned):
    """As many as the signature has."""
    count = offer.form.result_count
    if count == 1:
        return (returned,)
    if count == 0 and returned is None:
        return ()
    if count == 0 or not is_list(returned):
        raise TypeError(f"'{offer.name}' returned {type(returned)!r}, but its signature is "
                        f"'{<object>offer.form.text}'")
    results = tuple(returned)
    if len(results) != count:
        raise TypeError(f"'{offer.name}' returned {len(results)} results, but its signature is "
                        f"'{<object>offer.form.text}'")
    return results


cdef bint is_list(returned) noexcept:
    return PySequence_Check(returned) and not isinstance(returned, (str, bytes))


cdef bint is_ours(result) noexcept:
    return result is None or is_a(result, CORE_ARRAY) or is_a(result, CORE_MEMORY) or is_a(result, CORE_TOKEN)


cdef ww_status fail_by_record(ww_call *call, ww_status status) noexcept nogil:
    """The library has refused something with a status, or not."""
    if status == WW_OK:
        return status
    if status > WW_OK: # serving is cancelled, and with it what the library waits for
        return ww_call_fail(call, WW_ERR_UNAVAILABLE,
                            "the server was interrupted while it read or answered the call")
    record = ww_error_last()
    return ww_call_fail(call, status, <const char *>record.message if record.status == status else NULL)


cdef ww_status give_results(Offer offer, ww_call *call, returned) except? -1:
    cdef ww_status status = WW_OK
    cdef CallValues values
    cdef uint32_t at
    cdef const CallItem *item
    results = results_of(offer, returned)
    if not results:
        return WW_OK
    values.count, values.held = 0, NULL
    try:
        for at in range(offer.form.result_count):
            result = results[at]
            item = &offer.form.items[offer.form.parameter_count + at]
            if item.kind == WW_ARGUMENT_ARRAY and not is_ours(result):
                from warpway._arrays import share
                result = share(result, copy=True, device=device_object(python_core, ww_device_ref(offer.device)))
            add_value(&values, item, result, "result", NULL)
        with nogil:
            for at in range(values.count):
                if status == WW_OK:
                    status = ww_call_result(call, at, &values.values[at])
            status = fail_by_record(call, status)
    finally:
        end_values(&values)
    return status


cdef ww_status give_all(Offer offer, ww_call *const *calls, uint32_t count, returned) except? -1:
    """Each call succeeds or fails by itself, if there is something for each."""
    cdef uint32_t at
    if returned is None and offer.form.result_count == 0:
        return WW_OK
    if not is_list(returned):
        raise TypeError(f"'{offer.name}' returned {type(returned)!r}; it runs several calls at once, and returns a "
                        "list")
    results = tuple(returned)
    if len(results) != count:
        raise TypeError(f"'{offer.name}' returned {len(results)} results for {count} calls")
    for at in range(count):
        if isinstance(results[at], BaseException):
            fail(offer, &calls[at], 1, results[at], False)
            continue
        try:
            give_results(offer, calls[at], results[at])
        except BaseException as error:
            fail(offer, &calls[at], 1, error, True)
    return WW_OK


# --- running ---

cdef object call_function(Offer offer, ww_call *const *calls, uint32_t count, const ww_value *values):
    """Returns what the function does. `values`: the arguments of the first call, then of the next one."""
    cdef uint32_t parameters = offer.form.parameter_count, i, at
    if offer.is_batch:
        arguments = tuple([tuple([call_value_object(&values[at * parameters + i]) for at in range(count)])
                           for i in range(parameters)])
    else:
        arguments = tuple([call_value_object(&values[i]) for i in range(parameters)])
    if not offer.wants_call:
        return offer.function(*arguments)
    handles = tuple([make_call(calls[at]) for at in range(count)])
    try:
        return offer.function(*arguments, call=handles if offer.is_batch else handles[0])
    finally:
        for handle in handles: # the function may have kept it
            end_call(handle)


cdef ww_status run_with_gil(Offer offer, ww_call *const *calls, uint32_t count, const ww_value *values) noexcept:
    try:
        returned = call_function(offer, calls, count, values)
        return give_all(offer, calls, count, returned) if offer.is_batch else give_results(offer, calls[0], returned)
    except BaseException as error:
        return fail(offer, calls, count, error, True)


cdef ww_status run_calls(void *context, ww_call *const *calls, uint32_t count,
                         const ww_value *values) noexcept nogil:
    cdef callback taken
    cdef ww_status status
    if not callback_begin(&taken):
        return ww_call_fail(calls[0], WW_ERR_UNAVAILABLE, "the server's interpreter ends")
    with gil:
        status = run_with_gil(<Offer>context, calls, count, values)
    callback_end(&taken)
    return status


cdef ww_status read_call(void *context, ww_call *call, ww_value *values) noexcept nogil:
    cdef ww_status status = WW_OK
    cdef uint32_t i
    for i in range((<Offer>context).form.parameter_count):
        if status == WW_OK:
            status = ww_call_argument(call, i, &values[i])
    return fail_by_record(call, status)


cdef bint is_closed_here() noexcept nogil:
    return serving_now and serving_is_closed(<Serving *>serving_now)


cdef ww_status run_offer(void *context, ww_call *call) noexcept nogil:
    """A ww_service_fn."""
    cdef ww_value values[WW_CALL_ARGS_MAX]
    cdef ww_status status
    if is_closed_here():
        return ww_call_fail(call, WW_ERR_UNAVAILABLE, "the server has closed the service")
    status = read_call(context, call, values)
    return run_calls(context, &call, 1, values) if status == WW_OK else status


cdef ww_status run_offer_batch(void *context, ww_call *const *calls, uint32_t count) noexcept nogil:
    """A ww_service_batch_fn. Calls whose arguments cannot be read fail alone."""
    cdef ww_call *readable[WW_SERVICE_BATCH_MAX]
    cdef uint32_t parameter_count = (<Offer>context).form.parameter_count, readable_count = 0, i
    cdef ww_status status = WW_OK
    if is_closed_here():
        return ww_call_fail(calls[0], WW_ERR_UNAVAILABLE, "the server has closed the service")
    values = <ww_value *>calloc(count * parameter_count + 1, sizeof(ww_value))
    if not values:
        return ww_call_fail(calls[0], WW_ERR_NO_MEMORY, "the server is out of memory")
    for i in range(count):
        if read_call(context, calls[i], values + readable_count * parameter_count) == WW_OK:
            readable[readable_count] = calls[i]
            readable_count += 1
    if readable_count:
        status = run_calls(context, readable, readable_count, values)
    free(values)
    return status


# --- Call ---

cdef Call make_call(ww_call *call):
    cdef Call made = Call.__new__(Call)
    CLEAR(made.info)
    check(ww_call_info_get(call, &made.info))
    made.call = call
    return made


cdef int end_call(Call call) except -1:
    call.call = NULL
    call.stream_ = None
    return 0


cdef ww_call *running(Call self) except NULL:
    if not self.call:
        raise ValueError("this Call has ended: its function has returned")
    return self.call


@cython.final
cdef class Call:
    """A call, for the function that runs: its parameter ``call``.

    When the function has returned, the Call has no stream, and cannot be asked whether it is
    cancelled.
    """
    # The library lets one thread at a time use a ww_call. So every use here is under the GIL; the thread that serves
    # uses it without the GIL only before the Call is made, and after it has ended.
    cdef object __weakref__
    cdef ww_call *call
    cdef object stream_
    cdef ww_call_info info

    def __init__(self):
        raise TypeError("a function of a Service gets its Call as the argument 'call'")

    def is_cancelled(self):
        """Whether the result of the call is not needed any more.

        The client has cancelled it, or has ended, or the call's deadline has passed. Then the
        function may `fail`. A client that still waits gets what the function returns or raises.
        """
        return ww_call_is_cancelled(running(self)) != 0

    def fail(self, str message not None, error=None):
        """End the call with an error: raises ``error(message)``, as the function itself may do.

        Parameters
        ----------
        message : str
            What was tried, why it failed, what to do; at most 239 bytes reach the client.
        error : class, optional
            One below `Error`; the client gets the same. None, Timeout, Cancelled, EndOfChannel and
            WrongState arrive as `CallError`.
        """
        if error is None:
            error = <object>error_class(python_core, FUNCTION_FAILED)
        if not (isinstance(error, type) and issubclass(error, <object>error_class(python_core, WW_ERR_SYSTEM))):
            raise TypeError(f"error is a class below warpway.Error, not {error!r}")
        raise error(message)

    @property
    def stream(self):
        """Stream: for work on the device. The call is complete when this work is. Work that is enqueued
        elsewhere must be complete when the function returns."""
        cdef ww_stream *stream
        call = running(self)
        if self.stream_ is None:
            check(ww_call_stream(call, &stream))
            self.stream_ = make_stream(ww_stream_ref(stream))
        return self.stream_

    @property
    def uid(self):
        """int: the client's user, as the broker knows it."""
        return self.info.uid

    @property
    def gid(self):
        """int: the group by which the client has opened the service."""
        return self.info.gid

    @property
    def pid(self):
        """int: of the client, as the broker sees it; 0: it does not."""
        return self.info.pid

    @property
    def client(self):
        """int: number of the client; a later one may have it again."""
        return self.info.client

    @property
    def lane(self):
        """int: the lane of the client."""
        return self.info.lane

    @property
    def number(self):
        """int: of the call: 1, 2, 3, ... of this client."""
        return self.info.number

    @property
    def deadline(self):
        """float or None: as `time.monotonic` counts."""
        return None if self.info.deadline_ns == WW_FOREVER else self.info.deadline_ns / 1e9

    @property
    def function(self):
        """str: the function's name."""
        return text(self.info.function)

    @property
    def program(self):
        """str: the client's program, as it calls itself."""
        return text(self.info.program)

    def __repr__(self):
        return (f"<warpway.Call {self.info.number} of {text(self.info.function)}, by process {self.info.pid} of user "
                f"{self.info.uid}>")
