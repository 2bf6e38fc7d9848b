# SPDX-License-Identifier: Apache-2.0
# What the C files of the extension have for warpway.pyx: see core.h.
from libwarpway cimport *
from cpython.object cimport PyObject

cdef extern from "token.h":
    # See core.h for what each does. A function that returns an object raises if it fails.
    ctypedef bint c_bool "bool"
    struct core:
        PyObject **types
        PyObject *ready
    struct handle_class:
        pass
    struct callback:
        pass
    ctypedef ww_status (*wait_fn)(void *, uint64_t, ww_cancel *) noexcept nogil
    enum:
        CORE_ARRAY, CORE_BROKER, CORE_CANCEL, CORE_CHANNEL, CORE_GRAPH_NODE, CORE_MEMORY, CORE_TIMELINE
        CORE_TOKEN, CORE_WORK_QUEUE
    const ww_status FUNCTION_FAILED, STATUS_CLOSED, STATUS_OF_OURS_MAX, STATUS_RAISED, WAIT_LEFT
    const handle_class barrier_class, broker_class, cancel_class, device_class, event_class, graph_node_class, pool_class
    const handle_class service_class, stream_class, timeline_class, watch_class

    core *python_core "core_only"
    object error_raise(core *, ww_status)
    object error_raise_text(core *, ww_status, const char *format, ...)
    object error_raise_record(core *, const ww_error *)
    object error_raise_join(core *, ww_status, const char *name)
    PyObject *error_class(const core *, ww_status) # borrowed
    bint callback_begin(callback *) nogil
    void callback_end(callback *) nogil
    bint callback_is_stuck()
    void *handle_borrow(object, const handle_class *) except NULL
    void handle_return(const handle_class *, void *)
    void handle_give_back(object, const handle_class *, void *)
    void handle_close(object, const handle_class *)
    ww_status wait_direct(wait_fn, void *)
    ww_status wait_run(core *, wait_fn, void *, uint64_t, PyObject *cancel) except? -0x80000000 # STATUS_RAISED
    ww_status wait_timed(core *, wait_fn, void *, uint64_t, PyObject *cancel) except? -0x80000000
    ww_status wait_in_slices(core *, wait_fn, void *, uint64_t, PyObject *cancel) except? -0x80000000
    ww_status wait_leave(ww_status) nogil
    bint wait_may_leave() nogil
    void wait_stay() nogil
    ww_device *convert_device(core *, object) except NULL
    ww_stream *convert_stream(core *, ww_device *, object) except NULL
    void *convert_handle(core *, int type, const handle_class *, object) except NULL
    uint64_t wait_now_ns() nogil
    uint64_t wait_left_ns(uint64_t begin_ns, uint64_t timeout_ns)
    ww_status wait_brief(core *, wait_fn, void *, PyObject *cancel) except? -0x80000000
    int convert_access(object, void *) except 0
    int convert_bytes(object, void *) except 0
    int convert_kind(object, void *) except 0
    int convert_timeout(object, void *) except 0
    bint convert_dtype(core *, object, ww_dtype *) except 0
    int convert_shape(core *, object, const char *what, int64_t *out_numbers) except -1
    object memory_object(core *, ww_memory *)
    object text_bytes(object, char **out_text)
    object info_dtype(const ww_dtype *)
    object info_numbers(const int64_t *, uint32_t count)
    object array_object(core *, object memory, const ww_array *)
    void device_keep(ww_device *)
    object token_pickle(core *, const ww_token *)
    object aio_run(object, const char *name, object arguments, object keywords)
