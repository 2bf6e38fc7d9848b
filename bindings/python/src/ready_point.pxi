# SPDX-License-Identifier: Apache-2.0
# The point at which bytes are ready, see ready_point.h

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject *)

cdef extern from "ready_point.h":
    struct ready_point:
        PyObject *timeline
        uint64_t value

# So many timelines that failed are kept: the processes that arrays were sent to import a timeline when they receive the
# array, and are to find out what failed.
cdef enum:
    FAILED_KEPT = 1000


@cython.internal
@cython.final
@cython.no_gc
cdef class Cell:
    """What a stream has for its points."""
    cdef Timeline timeline
    cdef bint has_point # one was recorded since a function was enqueued


cdef struct ReadyUse:
    ww_timeline *timeline # borrowed
    ww_stream *stream # NULL: none
    uint64_t value
    ww_token token


cdef ww_status run_ready_wait(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <ReadyUse *>call
    if not args.stream:
        return ww_timeline_wait(args.timeline, args.value, timeout_ns, cancel)
    return ww_timeline_stream_wait(args.timeline, args.stream, args.value, 0, timeout_ns, cancel)


cdef ww_status run_ready_export(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <ReadyUse *>call
    return ww_timeline_export(args.timeline, NULL, NULL, cancel, &args.token)


cdef bint timeline_is_failed(ww_timeline *timeline) noexcept nogil:
    """Whether this process failed it. The broker may also have given it up."""
    cdef ww_timeline_info info
    CLEAR(info)
    return ww_timeline_info_get(timeline, &info) == WW_OK and info.state == WW_TIMELINE_LOST and not info.lost_ns


cdef ww_status signal_next(ww_timeline *timeline, ww_stream *stream, uint64_t *out_value) noexcept nogil:
    """Has the stream raise the timeline to the next value, which one that failed never reaches.

    Without the GIL: a driver whose queue is full waits for the work before, which may be a Python function. Without a
    lock, which a child made by fork() could find taken: if another thread signals the same value first, the call is
    refused.
    """
    cdef ww_timeline_info info
    CLEAR(info)
    status = ww_timeline_info_get(timeline, &info)
    while status == WW_OK:
        out_value[0] = info.submitted + 1
        status = ww_timeline_stream_signal(timeline, stream, out_value[0])
        if (status != WW_ERR_INVALID or ww_timeline_info_get(timeline, &info) != WW_OK
                or info.submitted < out_value[0]):
            break
        status = WW_OK
    return WW_OK if status == WW_ERR_PEER_LOST and timeline_is_failed(timeline) else status


# --- cells ---

cdef dict ready_cells():
    """From stream_key() to the cell of each stream. By keys that are none, it has lists of what must not end yet: failed
    cells (None), and timelines that a thread of a stream must not release, as that may call the driver (...)."""
    if not python_core.ready:
        cells = {None: [], ...: []}
        Py_INCREF(cells)
        python_core.ready = <PyObject *>cells
    return <dict>python_core.ready


cdef int forget_cell(key, Cell which=None) except -1:
    """The stream gets a new timeline for its next point. Nothing is done unless `which` is what it has, or None."""
    cells = ready_cells()
    cdef Cell cell = cells.get(key)
    if cell is None or (which is not None and which is not cell):
        return 0
    del cells[key]
    if timeline_is_failed(<ww_timeline *>cell.timeline.object):
        kept = cells[None]
        kept.append(cell)
        del kept[:-FAILED_KEPT]
    return 0


cdef Cell cell_of(key, bint is_for_call):
    """is_for_call: a function is to be enqueued, which begins anew if a failure was marked by a point."""
    cells = ready_cells()
    cdef list ended = <list>cells[...]
    if ended:
        ended.clear()
    cdef Cell cell = cells.get(key)
    if cell is not None and is_for_call and cell.has_point and timeline_is_failed(<ww_timeline *>cell.timeline.object):
        forget_cell(key, cell)
        cell = None
    if cell is None:
        cell = Cell()
        cell.timeline = Timeline()
        cell = cells.setdefault(key, cell) # another thread may have made one meanwhile
    return cell


cdef Timeline ready_timeline_for_call(key):
    """The timeline that a function is to fail which the stream is about to be given."""
    cell = cell_of(key, True)
    cell.has_point = False
    return cell.timeline


cdef int recover_cell(key) except -1:
    """Functions that are still to run may fail a timeline that lives."""
    cdef Cell cell = ready_cells().get(key)
    if cell is not None and timeline_info(cell.timeline).state != WW_TIMELINE_LIVE:
        forget_cell(key, cell)
    return 0


# --- in the thread of a stream, which must not call the driver ---

cdef void fail_points(key, Timeline timeline, bytes why) noexcept:
    """A function failed which was given this timeline. The stream may have got another one meanwhile, whose points come
    after the function, too. The GIL is kept: so a reference that is taken here is not the last one."""
    cdef Cell cell = (<dict>python_core.ready).get(key) if python_core and python_core.ready else None
    ww_timeline_fail(<ww_timeline *>timeline.object, why)
    if cell is not None:
        ww_timeline_fail(<ww_timeline *>cell.timeline.object, why)


cdef int end_points(PyObject *timeline) except -1:
    """The function that was given it has ended. If nothing else has the timeline, it stays until a stream is used next."""
    if Py_REFCNT(timeline) == 1 and python_core and python_core.ready:
        (<list>(<dict>python_core.ready)[...]).append(<object>timeline)
    return 0


# --- for the files in C ---

cdef public ww_status ready_point_record(core *unused, object key, ww_stream *stream,
                                         ready_point *out_point) except? -0x80000000:
    cdef ww_status status
    out_point.timeline = NULL
    cell = cell_of(key, False)
    timeline = <ww_timeline *>handle_borrow(cell.timeline, &timeline_class)
    with nogil:
        status = signal_next(timeline, stream, &out_point.value)
    handle_give_back(cell.timeline, &timeline_class, timeline)
    if status == WW_OK:
        cell.has_point = True
        out_point.timeline = <PyObject *>cell.timeline
        Py_INCREF(cell.timeline)
    return status


cdef public ww_status ready_point_wait(core *unused, const ready_point *point, ww_stream *stream, uint64_t timeout_ns,
                                       PyObject *cancel) except? -0x80000000:
    cdef ReadyUse call
    if not point.timeline:
        return WW_OK
    call.stream, call.value = stream, point.value
    call.timeline = <ww_timeline *>handle_borrow(<object>point.timeline, &timeline_class)
    try:
        return wait_timed(python_core, run_ready_wait, &call, timeout_ns, cancel)
    finally:
        handle_return(&timeline_class, call.timeline)


cdef public ww_status ready_point_query(const ready_point *point) noexcept:
    if not point.timeline:
        return WW_OK
    return ww_timeline_query(<ww_timeline *>(<Timeline><object>point.timeline).object, point.value)


cdef public ww_status ready_point_export(core *unused, const ready_point *point, ww_token *out_token) except? -0x80000000:
    cdef ReadyUse call
    call.timeline = <ww_timeline *>handle_borrow(<object>point.timeline, &timeline_class)
    try:
        status = wait_brief(python_core, run_ready_export, &call, NULL)
    finally:
        handle_return(&timeline_class, call.timeline)
    out_token[0] = call.token
    return status
