# SPDX-License-Identifier: Apache-2.0
# warpway.Stream: a queue of work on a device
from cpython.exc cimport PyErr_SetObject, PyErr_WriteUnraisable
from cpython.pythread cimport PyThread_get_thread_ident
from cpython.ref cimport Py_DECREF

cdef extern from "Python.h":
    str PyType_GetName(type of) # calls no code of a metaclass

cdef extern from "<pthread.h>" nogil:
    ctypedef unsigned long pthread_t
    int pthread_detach(pthread_t)

cdef extern from "core.h":
    ww_stream *convert_stream_device(core *, ww_device *, object, ww_device **out_device) except NULL
    c_bool thread_start(pthread_t *, void *(*)(void *) noexcept nogil, void *)

# The default stream has two names.
cdef enum:
    CU_STREAM_LEGACY = 1
    CU_STREAM_PER_THREAD = 2


cdef public void stream_stay(ww_stream *stream) noexcept nogil:
    if stream and <uintptr_t>ww_stream_native(stream) == CU_STREAM_PER_THREAD:
        wait_stay()


cdef public ww_status stream_run_synchronize(void *stream, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    stream_stay(<ww_stream *>stream)
    return wait_leave(ww_stream_synchronize(<ww_stream *>stream, timeout_ns, cancel))


cdef public object stream_key(core *unused, object value, ww_stream *stream, ww_device *device):
    native = <uintptr_t>ww_stream_native(stream)
    first = value
    while isinstance(value, Stream) and (<Stream>value).kept is not None:
        value = (<Stream>value).kept
    if isinstance(value, Stream):
        return native or <uintptr_t>stream
    if native > CU_STREAM_PER_THREAD:
        return native
    uuid = (<Stream>first).uuid if isinstance(first, Stream) else uuid_of(device)
    return uuid, PyThread_get_thread_ident() if native == CU_STREAM_PER_THREAD else 0


cdef bytes uuid_of(ww_device *device):
    """None: it is not known."""
    cdef ww_device_info info
    CLEAR(info)
    if not device or ww_device_info_get(device, &info) != WW_OK:
        return None
    return (<const char *>info.uuid)[:WW_DEVICE_UUID_BYTES]


cdef Stream make_stream(ww_stream *stream):
    """A Stream, which takes over the reference."""
    cdef Stream made = Stream.__new__(Stream)
    made.object = stream
    return made


@cython.final
@cython.no_gc_clear
cdef class Stream:
    """Stream(device=None)\n--\n
    A queue of work on a device, made by this library.

    Every parameter called `stream` also takes an object with ``__cuda_stream__``, a stream of
    torch, CuPy or Numba, and the int of a CUstream.
    """
    cdef object __weakref__
    cdef void *object
    cdef object kept # the stream of another library, which must outlive this one; or None
    cdef bytes uuid # of the device, if that is told by a CUstream; or None
    cdef bint is_own # this library made it: closing it waits for its work
    cdef bint is_stopped # a signal has ended a wait for its work

    def __init__(self, device=None):
        cdef ww_stream *stream
        cdef ww_status status
        opened = convert_device(python_core, device)
        with nogil:
            status = ww_stream_create(opened, &stream)
            ww_device_unref(opened)
        check(status)
        close_stream(self)
        self.object, self.is_own, self.kept = stream, True, None
        # A stream that has ended may have had the same address.
        forget_cell(stream_key(python_core, self, stream, NULL))

    # What is kept is released after the stream, with which it ends.
    def __dealloc__(self):
        cdef pthread_t thread
        cdef ww_status status = WW_OK
        if self.is_stopped and self.object:
            with nogil:
                status = ww_stream_query(<ww_stream *>self.object)
        # The release waits for the work without end, and no signal ends that. So if one has ended the wait of a caller, a
        # thread waits. Without memory for a thread, the stream stays for ever.
        if status == WW_NOT_READY:
            if thread_start(&thread, unref_stream_in_thread, self.object):
                pthread_detach(thread)
            self.object = NULL
        close_stream(self)

    @classmethod
    @cython.binding(True)
    def wrap(cls, stream, device=None):
        """A Stream of one that another library made.

        Parameters
        ----------
        stream : object
            Has ``__cuda_stream__``, or is a stream of torch, CuPy or Numba, or the int of a
            CUstream. It is kept as long as the result.
        device : Device or what it takes, optional
            The GPU of the stream.
        """
        cdef ww_device *found = NULL
        cdef Stream made = make_stream(NULL)
        opened = NULL if device is None else convert_device(python_core, device)
        try:
            made.object = convert_stream_device(python_core, opened, stream, &found)
        finally:
            handle_return(&device_class, opened)
        made.kept = stream
        made.uuid = (<Stream>stream).uuid if isinstance(stream, Stream) else uuid_of(found)
        handle_return(&device_class, found)
        return made

    def synchronize(self, timeout=None, *, cancel=None):
        """Wait until all work enqueued so far has run.

        Parameters
        ----------
        timeout : float or None
            Seconds.
        cancel : Cancel, optional

        Raises
        ------
        Timeout
            `timeout` seconds passed first.
        PeerLost
            The stream waited for a process that ended; see `recover`.
        """
        cdef uint64_t timeout_ns
        convert_timeout(timeout, &timeout_ns)
        check(synchronize(self, timeout_ns, <PyObject *>cancel))

    def query(self):
        """Whether all work enqueued so far has run.

        Raises
        ------
        PeerLost
            The stream waited for a process that ended.
        """
        cdef ww_status status
        stream = <ww_stream *>handle_borrow(self, &stream_class)
        with nogil:
            status = ww_stream_query(stream)
        try:
            return is_ready(status)
        finally:
            handle_give_back(self, &stream_class, stream)

    def recover(self):
        """Clear the loss of a stream that raised `PeerLost`, so that it can be used again, and the
        failure of a function that it called.

        Call it after you have discarded what the stream computed after the wait or function that
        failed.
        """
        cdef ww_status status
        stream = <ww_stream *>handle_borrow(self, &stream_class)
        try:
            key = stream_key(python_core, self, stream, NULL)
            with nogil:
                status = ww_stream_recover(stream)
            recover_cell(key)
            check(status)
        finally:
            handle_give_back(self, &stream_class, stream)

    def call(self, function, /):
        """Enqueue a call of a Python function, without arguments.

        It runs on a thread of the library or the driver, and must not use the GPU. An exception
        goes to `sys.unraisablehook`. Then no point that `Array.ready` marks after the function is
        reached: a wait for it raises `PeerLost`, which says what failed. The next function
        after such a point begins anew, as does the work after `recover`.
        """
        cdef StreamCall call
        cdef ww_status status
        if not callable(function):
            raise TypeError(f"{function!r} cannot be called")
        stream = <ww_stream *>handle_borrow(self, &stream_class)
        try:
            call = StreamCall()
            call.function, call.key = function, stream_key(python_core, self, stream, NULL)
            call.ready = ready_timeline_for_call(call.key)
            Py_INCREF(call)
            with nogil:
                status = ww_stream_call(stream, run_stream_call, <void *>call)
            if status != WW_OK:
                Py_DECREF(call)
            check(status)
        finally:
            handle_give_back(self, &stream_class, stream)

    def close(self):
        """Release the stream. If this library made it, wait for its work. May be called twice."""
        # The work is waited for where signals can end the wait; then the release need not wait.
        if self.is_own and self.object:
            synchronize(self, WW_FOREVER, NULL)
        close_stream(self)

    def __cuda_stream__(self):
        """(version, CUstream), as cuda.core's protocol says."""
        return 0, self.native

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    @property
    def native(self):
        """int: the CUstream; 0 on the host device."""
        if not self.object:
            handle_borrow(self, &stream_class) # says that it is closed
        return <uintptr_t>ww_stream_native(<ww_stream *>self.object)

    def __repr__(self):
        if not self.object:
            return "<warpway.Stream closed>"
        native = <uintptr_t>ww_stream_native(<ww_stream *>self.object)
        return f"<warpway.Stream native={f'{native:#x}' if native else 0}>"


cdef void *unref_stream_in_thread(void *stream) noexcept nogil:
    return ww_stream_unref(<ww_stream *>stream)


cdef void close_stream(Stream self) noexcept:
    """What is known of the ready points of an own one was for it alone. When it has ended another thread may have made one
    at the same address."""
    cdef Cell cell = None
    try:
        if self.object and self.is_own and python_core: # NULL: Python ends
            key = stream_key(python_core, self, <ww_stream *>self.object, NULL)
            cell = ready_cells().get(key)
    finally: # also without memory
        handle_close(self, &stream_class)
    if cell is not None:
        forget_cell(key, cell)


cdef ww_status synchronize(Stream self, uint64_t timeout_ns, PyObject *cancel) except? -0x80000000:
    stream = handle_borrow(self, &stream_class)
    try:
        return wait_timed(python_core, stream_run_synchronize, stream, timeout_ns, cancel)
    except:
        self.is_stopped = True
        raise
    finally:
        handle_return(&stream_class, stream)


# --- a Python function between two pieces of work ---

@cython.internal
@cython.final
@cython.no_gc
cdef class StreamCall:
    """A function that a stream is to call."""
    cdef object function
    cdef object key # of the stream
    cdef Timeline ready # of the ready points that come after the function


cdef bytes describe_error(error):
    """'ValueError: no data', in ASCII. Without memory and words it is less."""
    words = None
    try:
        words = str(error)
    except BaseException:
        pass
    try:
        name = PyType_GetName(type(error)) or "an exception"
        return (f"{name}: {words}" if words else name).encode("ascii", "replace")
    except BaseException:
        return b"an exception"


cdef void call_in_stream(StreamCall call) noexcept:
    try:
        call.function()
    except BaseException as error:
        # The points that come after the function are never reached: the stream has not gone on yet.
        fail_points(call.key, call.ready, describe_error(error))
        PyErr_SetObject(type(error), error)
        PyErr_WriteUnraisable(call.function)
    call.function = None
    end_points(<PyObject *>call.ready)
    Py_DECREF(call)


cdef void run_stream_call(void *context) noexcept nogil:
    cdef callback taken
    if not callback_begin(&taken):
        ww_timeline_fail(<ww_timeline *>(<StreamCall>context).ready.object, "Python had ended before a function was called")
        return
    with gil:
        call_in_stream(<StreamCall>context)
    callback_end(&taken)
