# SPDX-License-Identifier: Apache-2.0
# Running a Python function for a call
#
# The thread that serves does not have the GIL when the library calls offer_run(). The arguments are imported, and the
# results given, without it: both may ask the broker.

cdef extern from "service.h":
    struct call_item:
        uint32_t kind
    struct call_form:
        uint32_t parameter_count, result_count
        PyObject *text
    struct call_values:
        uint32_t count
        PyObject *held
        ww_value *values
    struct offer:
        pass
    struct serving:
        ww_cancel *cancel
        PyObject *type
        PyObject *error
        PyObject *traceback
    struct callback:
        pass
    call_form *call_form_read(core *, const char *signature) except NULL
    call_form *call_form_unref(call_form *)
    const call_item *call_form_results(const call_form *)
    void CALL_VALUES_INIT(call_values *)
    bint call_values_add(core *, call_values *, const call_item *, object, const char *what, PyObject *cancel) except 0
    void call_values_fini(call_values *)
    object call_value_object(core *, const ww_value *)
    object call_object(core *, ww_call *)
    void call_end(object)
    serving *serving_now()
    bint serving_is_over() nogil
    bint callback_begin(callback *) nogil
    void callback_end(callback *) nogil
    bint wait_is_watched()


@cython.final
@cython.internal
cdef class Offer:
    """A function that is offered. The Service keeps it as long as the library may call it."""
    cdef object function
    cdef str name
    cdef call_form *form
    cdef ww_device *device # a reference: where results are copied to
    cdef bint wants_call
    cdef bint is_batch # it runs several calls at once

    def __dealloc__(self):
        call_form_unref(self.form)
        handle_return(&device_class, self.device)


cdef public object offer_new(core *unused, const char *signature, object name, object function, ww_device *device,
                             bint wants_call, bint is_batch, offer **out_offer):
    """An Offer, which `out_offer` is, too."""
    cdef Offer self = Offer.__new__(Offer)
    self.function = function
    self.name = name
    self.device = ww_device_ref(device)
    self.wants_call = wants_call
    self.is_batch = is_batch
    self.form = call_form_read(python_core, signature)
    if is_batch and not wants_call and self.form.parameter_count == 0:
        raise ValueError(f"'{name}' cannot know how many calls it runs: it has no parameters; give it 'call'")
    out_offer[0] = <offer *><PyObject *>self
    return self


# --- failures ---

cdef str str_of(error):
    try:
        return str(error)
    except BaseException:
        return ""


cdef ww_status status_of(error) noexcept:
    """Of a warpway.Error."""
    try:
        status = error.status
    except BaseException:
        status = None
    return status if isinstance(status, int) and -0x7ffffffe < status < 0 else WW_ERR_STATE


cdef ww_status tell_failure(ww_call *call, ww_status status, str message) noexcept:
    """Cut between characters."""
    data = message.encode("utf-8", "replace")[:WW_ERROR_MESSAGE_BYTES - 1].decode("utf-8", "ignore").encode()
    return ww_call_fail(call, status, <const char *>data if data else NULL)


cdef void log_failure(Offer self, error) noexcept:
    from warpway import _calls
    _calls.log_failure(self.name, error)


cdef void stop_serving(error) noexcept:
    """KeyboardInterrupt and the like leave the function, and serve()."""
    serving = serving_now()
    if not serving or serving.type:
        return
    kind, traceback = type(error), error.__traceback__
    Py_INCREF(kind)
    Py_INCREF(error)
    serving.type = <PyObject *>kind
    serving.error = <PyObject *>error
    if traceback is not None:
        Py_INCREF(traceback)
        serving.traceback = <PyObject *>traceback
    if serving.cancel and wait_is_watched():
        ww_cancel_set(serving.cancel)


cdef ww_status fail_calls(Offer self, ww_call *const *calls, uint32_t count, error, bint is_raised) noexcept:
    """The calls end so. `is_raised`: by the function, which an exception like KeyboardInterrupt leaves, and serve()."""
    cdef bint is_own = isinstance(error, <object>error_class(python_core, WW_ERR_SYSTEM))
    cdef ww_status status = WW_OK
    message = str_of(error) if is_own else f"{type(error).__qualname__}: {str_of(error)}"
    for i in range(count):
        status = tell_failure(calls[i], status_of(error) if is_own else WW_ERR_STATE, message)
    if is_raised and not isinstance(error, Exception):
        stop_serving(error)
    elif not is_own:
        log_failure(self, error)
    return status


cdef ww_status fail_by_record(ww_call *call, ww_status status) noexcept nogil:
    """The library has refused something with a status, or not."""
    if status == WW_OK:
        return status
    if status > WW_OK: # serving is cancelled, and with it what the library waits for
        return ww_call_fail(call, WW_ERR_UNAVAILABLE, "the server was interrupted while it read or answered the call")
    record = ww_error_last()
    if record.status == status:
        return ww_call_fail(call, status, record.message)
    return ww_call_fail(call, status, NULL)


# --- results ---

cdef bint is_row(value):
    """Whether it is a sequence of several things."""
    return PySequence_Check(value) and not isinstance(value, (str, bytes))


cdef tuple results_of(Offer self, returned):
    """As many as the signature has."""
    cdef uint32_t count = self.form.result_count
    signature = <object>self.form.text
    if count == 1:
        return (returned,)
    if count == 0 and returned is None:
        return ()
    if count == 0 or not is_row(returned):
        raise TypeError(f"'{self.name}' returned {type(returned)!r}, but its signature is '{signature}'")
    results = tuple(returned)
    if len(results) != count:
        raise TypeError(f"'{self.name}' returned {len(results)} results, but its signature is '{signature}'")
    return results


cdef result_of(Offer self, value, uint32_t kind):
    """What is given: of an array of another library, an Array with a copy."""
    if (kind != WW_ARGUMENT_ARRAY or value is None or is_a(value, CORE_ARRAY) or is_a(value, CORE_MEMORY)
            or is_a(value, CORE_TOKEN)):
        return value
    from warpway import _calls
    return _calls.copy_result(value, device_object(python_core, ww_device_ref(self.device)))


cdef ww_status give_results(Offer self, ww_call *call, returned) noexcept:
    cdef call_values values
    cdef ww_status status = WW_OK
    cdef uint32_t i
    CALL_VALUES_INIT(&values)
    try:
        results = results_of(self, returned)
        for i in range(self.form.result_count):
            item = &call_form_results(self.form)[i]
            call_values_add(python_core, &values, item, result_of(self, results[i], item.kind), "result", NULL)
        with nogil:
            for i in range(values.count):
                status = ww_call_result(call, i, &values.values[i])
                if status != WW_OK:
                    break
            status = fail_by_record(call, status)
    except BaseException as error:
        status = fail_calls(self, &call, 1, error, True)
    finally:
        call_values_fini(&values)
    return status


cdef int give_all(Offer self, ww_call *const *calls, uint32_t count, returned) except -1:
    """Each call succeeds or fails by itself, if there is something for each."""
    if returned is None and self.form.result_count == 0:
        return 0
    if not is_row(returned):
        raise TypeError(f"'{self.name}' returned {type(returned)!r}; it runs several calls at once, and returns a list")
    results = tuple(returned)
    if len(results) != count:
        raise TypeError(f"'{self.name}' returned {len(results)} results for {count} calls")
    for i in range(count):
        if isinstance(results[i], BaseException):
            fail_calls(self, &calls[i], 1, results[i], False)
        else:
            give_results(self, calls[i], results[i])
    return 0


# --- running ---

cdef apply_function(Offer self, ww_call *const *calls, uint32_t count, const ww_value *values):
    """`values`: the arguments of the first call, then of the next one."""
    cdef uint32_t parameters = self.form.parameter_count, i, j
    handles = []
    if self.is_batch:
        arguments = [tuple([call_value_object(python_core, &values[j * parameters + i]) for j in range(count)])
                     for i in range(parameters)]
    else:
        arguments = [call_value_object(python_core, &values[i]) for i in range(parameters)]
    if not self.wants_call:
        return self.function(*arguments)
    try:
        for i in range(count):
            handles.append(call_object(python_core, calls[i]))
        return self.function(*arguments, call=tuple(handles) if self.is_batch else handles[0])
    finally:
        for handle in handles: # the function may have kept them
            call_end(handle)


cdef ww_status run_function(Offer self, ww_call *const *calls, uint32_t count, const ww_value *values) noexcept:
    try:
        returned = apply_function(self, calls, count, values)
        if not self.is_batch:
            return give_results(self, calls[0], returned)
        give_all(self, calls, count, returned)
        return WW_OK
    except BaseException as error:
        return fail_calls(self, calls, count, error, True)


# --- what the library calls ---

cdef ww_status run_with_gil(void *context, ww_call *const *calls, uint32_t count, const ww_value *values) noexcept nogil:
    cdef callback entered
    cdef ww_status status
    if not callback_begin(&entered):
        return ww_call_fail(calls[0], WW_ERR_UNAVAILABLE, "the server's interpreter ends")
    with gil:
        status = run_function(<Offer>context, calls, count, values)
    callback_end(&entered)
    return status


cdef ww_status read_arguments(ww_call *call, uint32_t count, ww_value *values) noexcept nogil:
    cdef ww_status status = WW_OK
    for i in range(count):
        status = ww_call_argument(call, i, &values[i])
        if status != WW_OK:
            break
    return fail_by_record(call, status)


cdef public ww_status offer_run(void *context, ww_call *call) noexcept nogil:
    cdef ww_value values[WW_CALL_ARGS_MAX]
    cdef ww_status status
    if serving_is_over():
        return ww_call_fail(call, WW_ERR_UNAVAILABLE, "the server has closed the service")
    status = read_arguments(call, (<Offer>context).form.parameter_count, values)
    return run_with_gil(context, &call, 1, values) if status == WW_OK else status


cdef public ww_status offer_run_batch(void *context, ww_call *const *calls, uint32_t count) noexcept nogil:
    """Those whose arguments cannot be read fail alone."""
    cdef ww_call *readable[WW_SERVICE_BATCH_MAX]
    cdef uint32_t parameters = (<Offer>context).form.parameter_count, taken = 0
    cdef ww_status status
    if serving_is_over():
        return ww_call_fail(calls[0], WW_ERR_UNAVAILABLE, "the server has closed the service")
    values = <ww_value *>calloc(<size_t>count * parameters + 1, sizeof(ww_value))
    if not values:
        return ww_call_fail(calls[0], WW_ERR_NO_MEMORY, "the server is out of memory")
    for i in range(count):
        if read_arguments(calls[i], parameters, &values[taken * parameters]) == WW_OK:
            readable[taken] = calls[i]
            taken += 1
    status = run_with_gil(context, readable, taken, values) if taken else WW_OK
    free(values)
    return status
