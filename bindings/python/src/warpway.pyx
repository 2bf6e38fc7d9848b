# SPDX-License-Identifier: Apache-2.0
"""warpway.pyx - the part of the extension that is written in Cython, one file for each noun

An instance is a handle, laid out as `struct handle` (core.h): the files in C use it as one. A method borrows the
object: so another thread can close the handle while the GIL is released. Whatever may reach a driver runs without the
GIL: the driver may wait for a function that a stream calls, and that needs the GIL.
"""
cimport cython
import os
import sys
from operator import index

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals
from cpython.float cimport PyFloat_AsDouble
from cpython.long cimport PyLong_AsLongLong, PyLong_AsUnsignedLongLong, PyLong_AsVoidPtr
from cpython.number cimport PyIndex_Check, PyNumber_Index
from cpython.bytes cimport PyBytes_FromObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.sequence cimport PySequence_Check
from libc.math cimport isfinite
from libc.stdint cimport UINT32_MAX, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from core cimport *
from libwarpway cimport *

cdef extern from *:
    """
    /* A struct of the library, zeroed, that says its size. */
    #define CLEAR(params) (memset(&(params), 0, sizeof(params)), (void)((params).struct_size = sizeof(params)))
    """
    void CLEAR(...) nogil


cdef inline int check(ww_status status) except -1:
    """Raises the exception of a status; for functions that say no more than whether they did it."""
    if status != WW_OK:
        error_raise(python_core, status)
    return 0


cdef inline bint is_ready(ww_status status) except -1:
    """The same for one that says whether something has happened."""
    if status < 0:
        error_raise(python_core, status)
    return status == WW_OK


cdef int refuse(ww_status status, str message) except -1:
    """Raises the exception of a status, with a message of this package."""
    data = message.encode("utf-8", "replace")
    error_raise_text(python_core, status, "%s", <const char *>data)
    return 0


cdef inline bint is_a(value, int type_number):
    """Whether it is an instance of a type CORE_..."""
    return type(value) is <object>python_core.types[type_number]


cdef inline aio():
    """The module that the methods which return coroutines use. It, and asyncio, are imported by the first of them."""
    import warpway.aio
    return warpway.aio


cdef int note_late(str noun, error) except -1:
    """A failure of __reduce__ in a thread of multiprocessing is told at exit: see late.c."""
    if "multiprocessing.queues" in sys.modules:
        from warpway import _late
        _late.note(noun, error)
    return 0


cdef inline str word(uint32_t value, tuple words):
    """The word with this number; '' for a number that has none."""
    return words[value] if value < <size_t>len(words) else ""


cdef inline str text(const char *bytes):
    return bytes.decode("utf-8", "replace")


cdef uint32_t index_of(value, str what, tuple words) except? -1:
    """The index of a word; `what` names the argument."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a str such as '{words[0]}', not {value!r}")
    if value not in words:
        quoted = [f"'{known}'" for known in words]
        raise ValueError(f"{what} is {', '.join(quoted[:-1])} or {quoted[-1]}, not {value!r}")
    return words.index(value)


cdef int describe_array(shape, dtype, ww_array *array) except -1:
    cdef int64_t lengths[WW_ARRAY_DIMS]
    cdef ww_dtype element
    convert_dtype(python_core, dtype, &element)
    count = convert_shape(python_core, shape, "shape", lengths)
    return check(ww_array_set(array, &element, count, lengths, NULL, 0))


include "info.pxi"
include "in_flight.pxi"
include "device.pxi"
include "sync.pxi"
include "event.pxi"
include "graph.pxi"
include "pool.pxi"
include "timeline.pxi"
include "barrier.pxi"
include "ready_point.pxi"
include "stream.pxi"
include "token.pxi"
include "work_queue.pxi"
include "broker.pxi"
include "broker_put.pxi"
include "broker_get.pxi"
include "watch.pxi"
include "call_value.pxi"
include "service.pxi"
include "offer.pxi"
include "client.pxi"
include "channel_members.pxi"
include "function.pxi"
include "ticket.pxi"
