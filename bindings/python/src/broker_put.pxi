# SPDX-License-Identifier: Apache-2.0
# Broker.put()

cdef extern from "array.h":
    struct array_instance:
        PyObject *memory
        ww_array array
    bint array_check_plain(object, const char *error) except 0
    ww_status array_wait_ready(object, ww_stream *, uint64_t, PyObject *cancel) except? -0x80000000

cdef extern from "memory.h":
    ww_memory *memory_borrow_to_share(object) except NULL
    ww_status memory_seal(object, uint32_t *state, wait_fn, void *, uint64_t, PyObject *cancel) except? -0x80000000
    void memory_mark_lent(object)
    void memory_mark_put(object)
    void memory_return(ww_memory *)
    void memory_set_name(object, const char *)

cdef struct Put:
    ww_broker *broker # borrowed, as are the next ones
    const char *name
    ww_memory *memory
    ww_timeline *timeline
    ww_put_params params
    uint64_t timeout_ns


cdef ww_status run_put_memory(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <Put *>call
    return ww_memory_put(args.memory, args.broker, args.name, &args.params, timeout_ns, cancel)


cdef ww_status run_put_timeline(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    cdef ww_name_params params
    args = <Put *>call
    CLEAR(params)
    params.mode = args.params.mode
    params.gid = args.params.gid
    params.flags = args.params.flags
    return ww_timeline_put(args.timeline, args.broker, args.name, &params, cancel)


cdef public int convert_mode(object value, void *out_mode) except 0:
    """Permission bits, for "O&", into a uint32_t. Mode 0 means another one to the library."""
    cdef int64_t mode = index(value)
    if not 0 < mode <= 0o777:
        raise ValueError(f"a mode is permission bits such as 0o640, not {value!r}")
    (<uint32_t *>out_mode)[0] = mode
    return 1


cdef public int convert_group(object value, void *out_gid) except 0:
    """The id of a group, or None, which changes nothing. Group 0 means the caller's own to the library."""
    cdef int64_t gid
    if value is not None:
        gid = index(value)
        if not 0 <= gid < UINT32_MAX or (gid == 0 and os.getegid() != 0):
            raise ValueError(f"a group is the id of one of this process's groups, not {value!r}")
        (<uint32_t *>out_gid)[0] = gid
    return 1


cdef bint is_held_only(const Put *call) noexcept:
    """Whether the name lasts only as long as somebody holds the memory."""
    cdef ww_memory_info info
    CLEAR(info)
    if call.params.life:
        return call.params.life == WW_LIFE_HELD
    return ww_memory_info_get(call.memory, &info) == WW_OK and not info.flags & WW_MEMORY_IS_SLICE


cdef int put_memory(Put *call, memory, cancel) except -1:
    call.memory = memory_borrow_to_share(memory)
    try:
        check(memory_seal(memory, &call.params.state, run_put_memory, call, call.timeout_ns, <PyObject *>cancel))
        if call.name and is_held_only(call):
            memory_mark_put(memory)
    finally:
        memory_return(call.memory)
    memory_mark_lent(memory)
    if call.name:
        memory_set_name(memory, call.name)
    return 0


cdef int put_timeline(Put *call, timeline, cancel) except -1:
    if not call.name:
        refuse(WW_ERR_INVALID, "a Timeline is put under a name; without one, processes open it by its token()")
    if call.params.life or call.params.state or call.params.ttl_ns or call.timeout_ns:
        refuse(WW_ERR_INVALID, "a Timeline is put with mode, group and replace only: it ends with its process")
    call.timeline = <ww_timeline *>handle_borrow(timeline, &timeline_class)
    try:
        return check(wait_run(python_core, run_put_timeline, call, 0, <PyObject *>cancel))
    finally:
        handle_return(&timeline_class, call.timeline)


cdef int put_object(Put *call, value, cancel) except -1:
    if is_a(value, CORE_MEMORY):
        return put_memory(call, value, cancel)
    if is_a(value, CORE_ARRAY):
        array_check_plain(value, "Unsupported")
        check(array_wait_ready(value, NULL, WW_FOREVER, <PyObject *>cancel))
        array = <array_instance *><PyObject *>value
        call.params.array = &array.array
        return put_memory(call, <object>array.memory, cancel)
    if isinstance(value, Timeline):
        return put_timeline(call, value, cancel)
    raise TypeError(f"what is put into a broker is a Memory, Array or Timeline, not {value!r}; a Barrier gets its name "
                    "when it is made")
