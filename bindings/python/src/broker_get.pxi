# SPDX-License-Identifier: Apache-2.0
# Broker.get()
#
# Which device is to reach the bytes, where the caller names none: the one that holds them. Where there is no GPU that is
# the host device. Otherwise the broker is asked first which one it is. If the name is not there yet, the host device
# waits for it: so no GPU gets a context for nothing.

cdef extern from "memory.h":
    object memory_object_imported(core *, ww_memory *)

cdef struct Get:
    ww_broker *broker # borrowed
    const char *name
    ww_get_params params
    ww_device *device # owned
    ww_object_info info # its kind is what is got
    ww_memory *memory
    ww_timeline *timeline


cdef ww_status leave_get(ww_status status) noexcept nogil:
    """For wait_timed(): most names are there, so the first slice asks from the main thread. Another one would ask anew.
    A request inside of the call may be too late for a slice, but not for the call."""
    return WAIT_LEFT if status == WW_ERR_NO_BROKER and wait_may_leave() else wait_leave(status)


cdef ww_status run_get(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <Get *>call
    if args.info.kind == WW_OBJECT_TIMELINE:
        return leave_get(ww_timeline_get(args.broker, args.name, timeout_ns, cancel, &args.timeline))
    if args.info.kind != WW_OBJECT_MEMORY:
        return WW_OK # it is got when this process joins
    return leave_get(ww_memory_get(args.device, args.broker, args.name, &args.params, timeout_ns, cancel, &args.memory,
                                   &args.info))


cdef ww_status run_await(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    """Waits for a name, of any kind: what it is can be asked afterwards."""
    args = <Get *>call
    cdef ww_status status = ww_memory_get(args.device, args.broker, args.name, NULL, timeout_ns, cancel, &args.memory,
                                          NULL)
    args.memory = ww_memory_unref(args.memory)
    return WW_OK if status == WW_ERR_UNSUPPORTED else leave_get(status)


cdef ww_status look(Get *call) noexcept:
    cdef ww_status status
    with nogil:
        status = ww_broker_stat(call.broker, call.name, &call.info)
    return status


cdef ww_status look_in_time(Get *call, uint64_t timeout_ns, PyObject *cancel) except? -0x80000000:
    """Looks, and waits for the name, by the host device."""
    cdef uint64_t begin_ns = wait_now_ns()
    while True:
        status = look(call)
        if status != WW_ERR_NOT_FOUND or timeout_ns == 0:
            return status
        if not call.device:
            call.device = convert_device(python_core, "host")
        status = wait_timed(python_core, run_await, call, wait_left_ns(begin_ns, timeout_ns), cancel)
        if status != WW_OK:
            return status


cdef public ww_status broker_await(core *unused, ww_broker *broker, const char *name, uint64_t timeout_ns,
                                   PyObject *cancel, ww_object_info *out_info) except? -0x80000000:
    cdef Get call
    memset(&call, 0, sizeof(call))
    CLEAR(call.info)
    call.broker = broker
    call.name = name
    try:
        return look_in_time(&call, timeout_ns, cancel)
    finally:
        handle_return(&device_class, call.device)
        out_info[0] = call.info


cdef int sees_gpu = -1


cdef public int broker_sees_gpu() noexcept:
    """Asked once: each time would look for the driver anew where there is none. Loading the driver is no part of waiting,
    so it is done before the time begins."""
    global sees_gpu
    cdef ww_status status
    cdef uint32_t count = 0
    if sees_gpu < 0:
        with nogil:
            status = ww_device_count(WW_BACKEND_CUDA, &count)
        if status == WW_OK or status == WW_ERR_NO_DEVICE:
            sees_gpu = count > 0
    return sees_gpu > 0


cdef ww_status get_object(Get *call, device, uint64_t timeout_ns, cancel) except? -0x80000000:
    cdef bint is_at_home = device is None and broker_sees_gpu()
    cdef uint64_t begin_ns = wait_now_ns()
    cdef ww_device *home
    if is_at_home:
        status = look_in_time(call, timeout_ns, <PyObject *>cancel)
        if status != WW_OK:
            return status
        if call.info.kind == WW_OBJECT_MEMORY or call.info.kind == WW_OBJECT_CHANNEL:
            home = token_device(python_core, call.info.home_uuid, None)
            handle_return(&device_class, call.device)
            call.device = home
    else:
        call.device = convert_device(python_core, "host" if device is None else device)
        call.info.kind = WW_OBJECT_MEMORY
        status = wait_timed(python_core, run_get, call, timeout_ns, <PyObject *>cancel)
        if status != WW_ERR_UNSUPPORTED:
            return status
        # If it is no memory: what else. If another thread of this process puts it, it may be gone for a moment, since
        # the hold that was given up just now was the only one.
        looked = look_in_time(call, wait_left_ns(begin_ns, timeout_ns), <PyObject *>cancel)
        if looked != WW_OK or call.info.kind == WW_OBJECT_MEMORY:
            return status if looked == WW_OK else looked
    if call.info.kind not in (WW_OBJECT_MEMORY, WW_OBJECT_CHANNEL, WW_OBJECT_TIMELINE, WW_OBJECT_BARRIER,
                              WW_OBJECT_WORK_QUEUE):
        refuse(WW_ERR_UNSUPPORTED, f"'{text(call.name)}' is of a kind that cannot be got by its name from Python")
    if call.info.kind != WW_OBJECT_MEMORY and call.params.flags & WW_GET_FROM_OWNER:
        refuse(WW_ERR_UNSUPPORTED, f"'{text(call.name)}' is no memory, and only memory can be got with owner")
    return wait_timed(python_core, run_get, call, wait_left_ns(begin_ns, timeout_ns), <PyObject *>cancel)


cdef object_of_call(Broker self, name, Get *call):
    if call.info.kind == WW_OBJECT_TIMELINE:
        return timeline_object(python_core, call.timeline)
    if call.info.kind == WW_OBJECT_BARRIER:
        return Barrier.get(name, broker=self)
    if call.info.kind == WW_OBJECT_WORK_QUEUE:
        return (<object>python_core.types[CORE_WORK_QUEUE]).get(name, broker=self)
    if call.info.kind == WW_OBJECT_CHANNEL:
        device = device_object(python_core, ww_device_ref(call.device))
        return (<object>python_core.types[CORE_CHANNEL]).get(name, broker=self, device=device)
    memory = memory_object_imported(python_core, call.memory)
    memory_set_name(memory, call.name)
    return array_object(python_core, memory, &call.info.array) if call.info.has_array else memory
