# SPDX-License-Identifier: Apache-2.0
# Signatures, and the arguments and results of calls as Python objects
#
# A ww_value has pointers only. What they point to is in CallValues beside it, with a reference, until end_values().

cdef extern from "memory.h":
    bint memory_is_held(object)
    bint memory_export_held(object, ww_token *) except 0

cdef extern from "token.h":
    object token_hold(core *, const ww_token *, const ww_token_info *)


# --- signatures ---

cdef struct CallItem: # a parameter or a result
    uint32_t kind # WW_ARGUMENT_...
    ww_dtype dtype
    uint32_t access
    uint32_t flags # WW_PARAMETER_...
    uint32_t bytes_max
    uint64_t scalar # the default
    PyObject *name # a str, interned
    PyObject *type # a str: "f32[n]"


cdef struct CallForm:
    int refs # under the GIL
    uint32_t parameter_count
    uint32_t result_count
    PyObject *text # a str: canonical
    CallItem *items # the parameters, then the results


cdef CallForm *read_form(const char *signature) except NULL:
    cdef ww_signature_info info
    cdef ww_parameter_info parameter
    cdef CallItem *item
    CLEAR(info)
    check(ww_signature_info_get(signature, &info))
    count = info.parameter_count + info.result_count
    form = <CallForm *>calloc(1, sizeof(CallForm) + count * sizeof(CallItem))
    if not form:
        raise MemoryError
    form.items = <CallItem *>(form + 1)
    form.refs, form.parameter_count, form.result_count = 1, info.parameter_count, info.result_count
    try:
        form.text = new_reference(text(info.text))
        for i in range(count):
            CLEAR(parameter)
            if i < info.parameter_count:
                check(ww_signature_parameter_get(signature, i, &parameter))
            else:
                check(ww_signature_result_get(signature, i - info.parameter_count, &parameter))
            item = &form.items[i]
            item.kind, item.dtype, item.access = parameter.kind, parameter.dtype, parameter.access
            item.flags, item.bytes_max, item.scalar = parameter.flags, parameter.bytes_max, parameter.scalar
            item.name = new_reference(sys.intern(text(parameter.name)))
            item.type = new_reference(text(parameter.type))
    except BaseException:
        call_form_unref(form)
        raise
    return form


cdef PyObject *new_reference(value) except NULL:
    Py_INCREF(value)
    return <PyObject *>value


cdef CallForm *call_form_ref(CallForm *form) noexcept:
    form.refs += 1
    return form


cdef CallForm *call_form_unref(CallForm *form) noexcept:
    if form:
        form.refs -= 1
    if not form or form.refs > 0:
        return NULL
    for i in range(form.parameter_count + form.result_count):
        Py_XDECREF(form.items[i].name)
        Py_XDECREF(form.items[i].type)
    Py_XDECREF(form.text)
    free(form)
    return NULL


# --- scalars ---

cdef int fail_type(const CallItem *item, value, str what) except -1:
    raise TypeError(f"{what} '{<object>item.name}' is {<object>item.type}, not {type(value)!r}")


cdef int fail_range(const CallItem *item, value, str what) except -1:
    raise ValueError(f"{what} '{<object>item.name}' is {<object>item.type}, which cannot be {value!r}")


cdef uint64_t int_bits(const CallItem *item, value, str what) except? 0:
    cdef uint64_t most = ~<uint64_t>0 >> (64 - item.dtype.bits) # all bits of the type
    cdef uint64_t bits = 0
    if not PyIndex_Check(value) or PySequence_Check(value):
        fail_type(item, value, what)
    number = PyNumber_Index(value)
    try:
        if item.dtype.code == WW_DTYPE_INT:
            bits = <uint64_t>PyLong_AsLongLong(number)
            if bits + (most // 2 + 1) > most and item.dtype.bits < 64:
                fail_range(item, value, what)
        else:
            bits = PyLong_AsUnsignedLongLong(number)
            if bits > (most if item.dtype.code == WW_DTYPE_UINT else 1):
                fail_range(item, value, what)
    except OverflowError:
        fail_range(item, value, what)
    return bits & most


cdef uint64_t float_bits(const CallItem *item, value, str what) except? 0:
    cdef double number = 0
    cdef float single
    cdef uint64_t bits = 0
    try:
        number = PyFloat_AsDouble(value)
    except OverflowError:
        fail_range(item, value, what)
    except TypeError:
        fail_type(item, value, what)
    single = <float>number
    if item.dtype.bits == 64:
        memcpy(&bits, &number, sizeof(number))
    elif item.dtype.bits == 32 and (isfinite(single) or not isfinite(number)):
        memcpy(&bits, &single, sizeof(single))
    elif item.dtype.bits == 32:
        fail_range(item, value, what)
    else: # of 16 bits: the library rounds
        digits = repr(number).encode()
        if ww_scalar_parse(&item.dtype, digits, &bits) != WW_OK:
            fail_range(item, value, what)
    return bits


cdef scalar_object(const ww_value *value):
    cdef int unused_bits = 64 - value.dtype.bits
    cdef uint32_t high
    cdef double number
    cdef float single
    if value.dtype.code == WW_DTYPE_BOOL:
        return (value.scalar & 1) != 0
    if value.dtype.code == WW_DTYPE_UINT:
        return value.scalar << unused_bits >> unused_bits
    if value.dtype.code == WW_DTYPE_INT:
        return <int64_t>(value.scalar << unused_bits) >> unused_bits
    if value.dtype.bits == 64:
        memcpy(&number, &value.scalar, sizeof(number))
        return number
    if value.dtype.bits == 16 and value.dtype.code != WW_DTYPE_BFLOAT:
        from struct import unpack
        return unpack("e", (value.scalar & 0xffff).to_bytes(2, sys.byteorder))[0]
    high = <uint32_t>(value.scalar << 16 if value.dtype.bits == 16 else value.scalar)
    memcpy(&single, &high, sizeof(single))
    return <double>single


# --- values ---

cdef struct KeptValue:
    PyObject *object # what the value was made of; or NULL
    PyObject *bytes # of an argument of bytes, of a token; or NULL
    ww_memory *memory # a reference, or NULL
    ww_timeline *timeline # the same


cdef struct CallValues:
    uint32_t count
    PyObject *held # a list of Memories whose holds the tokens need; or NULL
    ww_value values[WW_CALL_ARGS_MAX]
    KeptValue kept[WW_CALL_ARGS_MAX]


cdef int fill_bytes(ww_value *made, KeptValue *kept, const CallItem *item, value, str what) except -1:
    cdef Py_buffer view
    try:
        PyObject_GetBuffer(value, &view, PyBUF_SIMPLE)
    except TypeError:
        fail_type(item, value, what)
    try:
        if view.len > <Py_ssize_t>item.bytes_max:
            raise (<object>error_class(python_core, WW_ERR_LIMIT))(
                f"{what} '{<object>item.name}' has {view.len} bytes, and there may be {item.bytes_max}: larger ones go "
                "in a Memory or Array")
        made.bytes = view.len
        copy = (<const char *>view.buf)[:view.len]
    finally:
        PyBuffer_Release(&view)
    kept.bytes = new_reference(copy)
    made.data = <const char *>copy
    return 0


cdef int fill_memory(CallValues *values, ww_value *made, KeptValue *kept, memory) except -1:
    cdef ww_token token
    if not memory_is_held(memory):
        made.memory = kept.memory = memory_borrow_to_share(memory)
        memory_mark_lent(memory)
        return 0
    # A token of what is not mapped here. Its hold must last until the server has its own.
    memory_export_held(memory, &token)
    copy = (<const char *>token.bytes)[:sizeof(token.bytes)]
    kept.bytes = new_reference(copy)
    made.token = <const ww_token *><const char *>copy
    if not values.held:
        values.held = new_reference([])
    (<list>values.held).append(memory)
    return 0


cdef int fill_array(CallValues *values, ww_value *made, KeptValue *kept, const CallItem *item, value, str what,
                    PyObject *cancel) except -1:
    if is_a(value, CORE_TOKEN):
        made.token = token_of(python_core, value)
        return 0
    if is_a(value, CORE_MEMORY):
        return fill_memory(values, made, kept, value)
    if not is_a(value, CORE_ARRAY):
        raise TypeError(f"{what} '{<object>item.name}' is {<object>item.type}: a warpway.Array, Memory or Token, not "
                        f"{type(value)!r}; warpway.share(x) makes an Array of one of another library, with copy=True "
                        "also of one of NumPy")
    array_check_plain(value, "Unsupported")
    check(array_wait_ready(value, NULL, WW_FOREVER, cancel))
    array = <array_instance *><PyObject *>value
    made.array = &array.array
    return fill_memory(values, made, kept, <object>array.memory)


cdef int fill_timeline(ww_value *made, KeptValue *kept, const CallItem *item, value, str what) except -1:
    if is_a(value, CORE_TOKEN):
        made.token = token_of(python_core, value)
        return 0
    if not isinstance(value, Timeline):
        raise TypeError(f"{what} '{<object>item.name}' is a warpway.Timeline or Token, not {type(value)!r}")
    made.timeline = kept.timeline = <ww_timeline *>handle_borrow(value, &timeline_class)
    return 0


cdef int add_value(CallValues *values, const CallItem *item, value, str what, PyObject *cancel) except -1:
    """`what`: "argument" or "result", for messages. `cancel` ends the wait until an array is ready; may be NULL."""
    made, kept = &values.values[values.count], &values.kept[values.count]
    memset(made, 0, sizeof(made[0]))
    memset(kept, 0, sizeof(kept[0]))
    values.count += 1
    if value is None: # left out: the default, or nothing
        if item.flags & WW_PARAMETER_DEFAULT:
            made.kind, made.dtype, made.scalar = WW_ARGUMENT_SCALAR, item.dtype, item.scalar
        elif not item.flags & (WW_PARAMETER_OPTIONAL | WW_PARAMETER_DIMENSION):
            raise TypeError(f"{what} '{<object>item.name}' is {<object>item.type}, and cannot be None")
        return 0
    kept.object = new_reference(value)
    made.kind = item.kind
    if item.kind == WW_ARGUMENT_SCALAR:
        made.dtype = item.dtype
        if item.dtype.code in (WW_DTYPE_BOOL, WW_DTYPE_INT, WW_DTYPE_UINT):
            made.scalar = int_bits(item, value, what)
        else:
            made.scalar = float_bits(item, value, what)
    elif item.kind == WW_ARGUMENT_BYTES:
        fill_bytes(made, kept, item, value, what)
    elif item.kind == WW_ARGUMENT_ARRAY:
        fill_array(values, made, kept, item, value, what, cancel)
    else:
        fill_timeline(made, kept, item, value, what)
    return 0


cdef void end_values(CallValues *values) noexcept:
    cdef KeptValue *kept
    for i in range(values.count):
        kept = &values.kept[i]
        memory_return(kept.memory)
        handle_return(&timeline_class, kept.timeline)
        Py_XDECREF(kept.bytes)
        Py_XDECREF(kept.object)
    Py_XDECREF(values.held)


# --- Python objects of values ---

cdef array_of(const ww_value *value):
    """A memory becomes an Array that has a reference of it; a token one that is mapped by its first use."""
    cdef ww_token token
    cdef ww_token_info info
    cdef const ww_array *array = value.array
    if value.memory:
        memory = memory_object_imported(python_core, ww_memory_ref(value.memory))
    else:
        token = value.token[0]
        token_info(python_core, &token, &info)
        memory = token_hold(python_core, &token, &info)
        if not array and info.has_array:
            array = &info.array
    return array_object(python_core, memory, array) if array else memory


cdef object call_value_object(const ww_value *value):
    if value.kind == WW_ARGUMENT_SCALAR:
        return scalar_object(value)
    if value.kind == WW_ARGUMENT_BYTES:
        return (<const char *>value.data)[:value.bytes]
    if value.kind == WW_ARGUMENT_ARRAY:
        return array_of(value)
    if value.kind == WW_ARGUMENT_TIMELINE:
        return timeline_object(python_core, ww_timeline_ref(value.timeline))
