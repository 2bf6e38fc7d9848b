/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core.h - what the files of the Python extension share
 *
 * The extension `warpway._core` has one type for each noun of the library. An instance is a handle:
 * a struct that begins with `struct handle`, with one reference of an object of the library.
 *
 *   - handle.c makes, closes and frees handles. A method borrows the object: handle_borrow() takes
 *     a reference, so that another thread can close the handle while the GIL is released.
 *   - wait.c calls what may block, without the GIL, and ends it when a signal arrives.
 *   - error.c turns a status into an exception.
 *   - convert.c turns arguments into numbers, devices and streams.
 *
 * The module has state of its own (struct core), so that nothing is shared between interpreters.
 * Types cannot be subclassed: so the state can be found from any instance.
 */
#ifndef CORE_H
#define CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <warpway/warpway.h>

/* The types of the module, each in the file of its name. */
enum core_type {
	CORE_DEVICE,
	CORE_STREAM,
	CORE_CANCEL,
	CORE_MEMORY,
	CORE_POOL,
	CORE_ARRAY,
	CORE_EXPORTER,
	CORE_TOKEN,
	CORE_TIMELINE,
	CORE_GRAPH_NODE,
	CORE_EVENT,
	CORE_BARRIER,
	CORE_BROKER,
	CORE_WATCH,
	CORE_CHANNEL,
	CORE_FRAME,
	CORE_WORK_QUEUE,
	CORE_WORK_FRAME,
	CORE_SERVICE,
	CORE_CALL,
	CORE_CLIENT,
	CORE_FUNCTION,
	CORE_TICKET,
	CORE_OBJECT_INFO,
	CORE_PROCESS_INFO,
	CORE_BROKER_INFO,
	CORE_POOL_INFO,
	CORE_POOL_HOLDER,
	CORE_WATCH_EVENT,
	CORE_IN_FLIGHT,
	CORE_CHANNEL_CONSUMER,
	CORE_CHANNEL_EVENT,
	CORE_SERVICE_INFO,
	CORE_FUNCTION_INFO,
	CORE_TYPES
};

#define CORE_ERRORS 32

/* The state of the module. */
struct core {
	PyTypeObject *types[CORE_TYPES];
	PyObject *errors[CORE_ERRORS]; /* exception classes, in the order of the table of error.c */
	PyObject *module;              /* borrowed: the state is the module's */
	PyObject *dtype_text;          /* the type that was converted last, of convert.c; or NULL */
	struct ww_dtype dtype;         /* what it names */
	PyObject *cython;              /* the module of the nouns that are written in Cython */
	PyObject *unpickle; /* the function that pickles name, of token_pickle.c; or NULL */
	PyObject *ready;    /* a dict from streams to the cells of ready_point.pxi; or NULL */
};

/*
 * The state, of any instance or type of the module; core_only is that of the only interpreter that
 * has the module.
 */
extern struct core *core_only;
struct core *core_of(PyObject *self);
struct core *core_of_type(PyTypeObject *type);
/* Of the module; NULL with an exception: it was made, but not executed. */
struct core *core_of_module(PyObject *module);

/* --- error.c --- */

/* What is no status of the library. */
enum {
	STATUS_RAISED = INT32_MIN, /* a wait ended because Python has an exception already */
	STATUS_CLOSED,             /* this process has closed the object */
	FUNCTION_FAILED,           /* WW_ERR_STATE of a function that was called: CallError */
	WAIT_LEFT,                 /* see wait_may_leave() */
	CHANNEL_HAS_VIEWS,         /* of an earlier frame in the slot */
	CHANNEL_HAS_KEPT,          /* a frame was put back, and comes first */
	STATUS_OF_OURS_MAX = CHANNEL_HAS_KEPT
};

/* Makes the exception classes, and adds them to the module. Return: 0; -1 with an exception. */
int errors_add(struct core *core);

/*
 * Raises what the status says, with the error record of this thread; STATUS_RAISED: keeps the
 * exception that is there. Return: NULL, so that a method can return it.
 */
PyObject *error_raise(struct core *core, ww_status status);

/* The same, with the error record of another thread. Return: NULL. */
PyObject *error_raise_record(struct core *core, const struct ww_error *record);

/* The exception of a status; borrowed. */
PyObject *error_class(const struct core *core, ww_status status);

/* Of a call that joins what a name is for. @name: NULL: it was a token's. Return: NULL. */
PyObject *error_raise_join(struct core *core, ww_status status, const char *name);

/* Raises the exception of a status, with a message of this module. Return: NULL. */
PyObject *error_raise_text(struct core *core, ww_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* error_text.c: a message of the library with the names of this package instead of those of C. */
#define ERROR_TEXT_BYTES ((size_t)4 * WW_ERROR_MESSAGE_BYTES)
void error_text(const char *message, char out[ERROR_TEXT_BYTES]);

/*
 * Types cannot be changed either: what their functions rely on is only in __new__. Those that
 * __init__.py gives methods have Py_TPFLAGS_DEFAULT instead.
 */
#define TYPE_FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE)

/* A docstring in a table of slots. */
#define DOC(text) ((void *)(uintptr_t)(text))

/* A method with keywords in a table of methods. */
#define KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

/* --- handle.c --- */

struct handle_class {
	const char *noun; /* "Memory": in messages */
	void *(*ref)(void *object);
	void *(*unref)(void *object);
};

/* Every instance begins so. */
struct handle {
	PyObject_HEAD
	PyObject *weakrefs;
	void *object; /* one reference; NULL: closed */
};

/* An instance of a type, which takes over @object; on failure the object is released. */
PyObject *handle_new(PyTypeObject *type, const struct handle_class *class, void *object);

/* Return: false: it is closed, and the exception is set. */
bool handle_check_open(PyObject *self, const struct handle_class *class);
/* A reference of the object for one call; NULL: it is closed, and the exception is set. */
void *handle_borrow(PyObject *self, const struct handle_class *class);
/* Releases what was borrowed, without the GIL: the release may block. */
void handle_return(const struct handle_class *class, void *object);
/*
 * The same for what was borrowed from @self. While that is open, it has a reference of its own, so
 * this one is not the last: its release does not block, and the GIL is kept.
 */
void handle_give_back(PyObject *self, const struct handle_class *class, void *object);

void handle_close(PyObject *self, const struct handle_class *class);
/* The end of every tp_dealloc: the memory of the instance, and its reference of the type. */
void instance_free(PyObject *self);
/* For tp_dealloc: closes, and frees the instance. */
void handle_dealloc(PyObject *self, const struct handle_class *class);
bool handle_is_closed(PyObject *self);
/* __enter__ of every handle. */
PyObject *handle_enter(PyObject *self, PyObject *unused);
extern PyMemberDef handle_members[]; /* for Py_tp_members: weak references */

/* --- wait.c --- */

/*
 * A call of the library that may block: @call is the caller's struct with its arguments and
 * results. It touches no Python object.
 */
typedef ww_status (*wait_fn)(void *call, uint64_t timeout_ns, ww_cancel *cancel);

/* Runs @fn without the GIL, without time to wait or a ww_cancel: no signal ends it. */
ww_status wait_direct(wait_fn fn, void *call);

/*
 * Runs @fn without the GIL. If this is the main thread, another thread runs it meanwhile: then
 * Python's handlers of signals run within 50 ms, and an exception of one ends the wait.
 * @cancel: an instance of CORE_CANCEL that ends the wait instead; NULL or None: there is none
 * Return: the status of @fn; STATUS_RAISED.
 */
ww_status wait_run(struct core *core, wait_fn fn, void *call, uint64_t timeout_ns,
	PyObject *cancel);

/*
 * The same for a call without a limit on time that seldom has to wait, and then has no effect when
 * it ends with WW_CANCELLED: it is tried without signals first.
 */
ww_status wait_brief(struct core *core, wait_fn fn, void *call, PyObject *cancel);

/*
 * The same for a call without a limit that a ww_cancel may end and that may then be made again:
 * this thread runs it. Only if it lasts for 10 to 20 ms, it ends, and another thread makes it.
 */
ww_status wait_watched(struct core *core, wait_fn fn, void *call, PyObject *cancel);

/*
 * The same for a call that has no effect when it ends with WW_TIMED_OUT: the main thread runs it
 * again and again, for 40 ms at most.
 */
ww_status wait_timed(struct core *core, wait_fn fn, void *call, uint64_t timeout_ns,
	PyObject *cancel);

/*
 * Whether that is so now, and another slice follows. @fn may then return WAIT_LEFT, without an
 * effect, if slices would lose something: wait_run() does the rest.
 */
bool wait_may_leave(void);

/* By @fn, at its beginning: it must not be left to another thread. */
void wait_stay(void);

/* For @fn that polls, less often the longer it lasts: slices would cost more. @status: its own */
static inline ww_status wait_leave(ww_status status)
{
	return status == WW_TIMED_OUT && wait_may_leave() ? WAIT_LEFT : status;
}

/* As wait_timed(), and every thread runs @fn again and again. */
ww_status wait_in_slices(struct core *core, wait_fn fn, void *call, uint64_t timeout_ns,
	PyObject *cancel);

/* module.c: where this thread leaves what it logs, for log_kept(); NULL: it logs itself. */
struct log_line;
extern _Thread_local struct log_line *_Atomic *log_later;
void log_kept(struct log_line *_Atomic *lines); /* with the GIL */

/* With the GIL, after a device was opened. */
void wait_device_opened(void);

/* Of CLOCK_MONOTONIC. */
uint64_t wait_now_ns(void);
/* What is left of a limit. At least 1 if it is not 0, which means to the library not to wait. */
uint64_t wait_left_ns(uint64_t begin_ns, uint64_t timeout_ns);

/* A thread that gets no signals: these are for Python's threads. Return: whether it runs. */
bool thread_start(pthread_t *out_thread, void *(*function)(void *), void *context);
/* Sets a flag of CORE_CANCEL, also for a wait of the main thread. With the GIL. */
void wait_cancel(ww_cancel *flag);

/* --- callback.c: calls of Python from threads of the library or a driver --- */

/*
 * Takes the GIL, and puts the exception aside that this thread may have.
 * Return: false: Python has ended, and nothing may be called
 */
struct callback {
	PyGILState_STATE state;
	PyObject *type, *value, *traceback;
};
bool callback_begin(struct callback *callback);
void callback_end(struct callback *callback);

/*
 * Whether Python has begun to end while a callback runs. That one never returns, so what may wait
 * for it must not be called.
 */
bool callback_is_stuck(void);

/* --- convert.c: each returns false with an exception set --- */

/* What a method with METH_FASTCALL | METH_KEYWORDS is given. */
struct fast_call {
	PyObject *const *values; /* by position, then by name */
	Py_ssize_t positional;
	PyObject *names; /* a tuple, or NULL */
};

/*
 * The arguments of a method with METH_FASTCALL: without the tuple and the dict, which cost more
 * than most calls.
 * @method:     for messages
 * @names:      of all parameters; NULL ends them
 * @positional: so many may be given by position
 * @out:        where the value of each name goes, borrowed; what is not given stays as it is
 */
bool convert_arguments(const char *method, const char *const names[], Py_ssize_t positional,
	const struct fast_call *call, PyObject **const out[]);

/* Seconds, or None: no limit. For PyArg_Parse's "O&", into a uint64_t. */
int convert_timeout(PyObject *value, void *out_ns);
/* "read" or "write". For "O&", into a uint32_t. */
int convert_access(PyObject *value, void *out_access);
/* "device" or "host", into WW_MEMORY_VMM or WW_MEMORY_HOST. For "O&", into a uint32_t. */
int convert_kind(PyObject *value, void *out_kind);
/* Bytes >= 0. For "O&", into a uint64_t; None leaves it unchanged. */
int convert_bytes(PyObject *value, void *out_bytes);

/*
 * A word of a table that NULL ends: its index, plus @first. @what: "access", for the message.
 * Return: -1 with an exception.
 */
int convert_word(PyObject *value, const char *what, const char *const words[], int first);

/* An attribute that may be missing: NULL without an exception then. */
PyObject *optional_attribute(PyObject *value, const char *name);

/*
 * A str as UTF-8, which has no zero inside: a new reference to bytes, and what they contain; NULL
 * with an exception.
 */
PyObject *text_bytes(PyObject *text, char **out_text);

/*
 * The device stays open for ever. With the last one that uses a GPU, the library releases the CUDA
 * context, and to make it again takes more than 100 ms: too long for each array that comes.
 */
void device_keep(ww_device *device);

/* A device of None (the default one), an index, a name, a UUID or a Device; NULL: exception. */
ww_device *convert_device(struct core *core, PyObject *value);

/*
 * A stream, as a reference, of a Stream, an object with __cuda_stream__, a stream of torch
 * (cuda_stream), CuPy (ptr) or Numba (handle), or an int: a CUstream of @device.
 * @device: borrowed; NULL: the GPU of the current device, "cuda:0" where nothing else is known
 */
ww_stream *convert_stream(struct core *core, ww_device *device, PyObject *value);

/* @out_device: of a stream that is named by its CUstream, a reference; else NULL */
ww_stream *convert_stream_device(struct core *core, ww_device *device, PyObject *value,
	ww_device **out_device);

/* The object of a handle of a type, borrowed, or NULL with TypeError or ValueError. */
void *convert_handle(struct core *core, enum core_type type, const struct handle_class *class,
	PyObject *value);

/* dtype.c: "float32", NumPy's or ml_dtypes' dtype or scalar type, torch.float32, ... */
bool convert_dtype(struct core *core, PyObject *value, struct ww_dtype *out_dtype);
/* An int or a sequence of ints, at most WW_ARRAY_DIMS. Return: how many; -1 with an exception. */
int convert_shape(struct core *core, PyObject *value, const char *what,
	int64_t out_numbers[WW_ARRAY_DIMS]);

/* --- the types: each makes its type, or NULL with an exception --- */

PyTypeObject *cancel_type_make(PyObject *module);
PyTypeObject *memory_type_make(PyObject *module);
PyTypeObject *array_type_make(PyObject *module);
PyTypeObject *exporter_type_make(PyObject *module);

extern const struct handle_class device_class;
extern const struct handle_class stream_class;
extern const struct handle_class cancel_class;
extern const struct handle_class memory_class;
extern const struct handle_class pool_class;
extern const struct handle_class timeline_class;
extern const struct handle_class graph_node_class;
extern const struct handle_class event_class;
extern const struct handle_class service_class;
extern const struct handle_class barrier_class;
extern const struct handle_class broker_class;
extern const struct handle_class watch_class; /* of a ww_watch, which has no references */
extern const struct handle_class hold_class;

/* --- makers for other files; each takes over a reference, also on failure --- */

/*
 * stream.pxi: what tells a stream from all others that live: its CUstream, or its address; for
 * default streams, which have the same CUstream on each GPU, also the GPU. A new reference; NULL
 * with an exception.
 * @value:   what @stream was made of
 * @device:  its device; looked at if @value is no Stream
 */
PyObject *stream_key(struct core *core, PyObject *value, ww_stream *stream, ww_device *device);
/*
 * By a wait_fn: CU_STREAM_PER_THREAD means another stream in another thread, so nothing is left to
 * that. @stream: may be NULL
 */
void stream_stay(ww_stream *stream);
/* ww_stream_synchronize(), for wait_timed(). */
ww_status stream_run_synchronize(void *stream, uint64_t timeout_ns, ww_cancel *cancel);

PyObject *memory_object(struct core *core, ww_memory *memory);

/* warpway.pyx and its files; core: core_only */
PyObject *barrier_object(struct core *core, const struct ww_token *token);
PyObject *broker_object(struct core *core, ww_broker *broker);
PyObject *device_object(struct core *core, ww_device *device);
PyObject *timeline_object(struct core *core, ww_timeline *timeline);
PyObject *event_object(struct core *core, ww_event *event);
/* A value of a timeline. For "O&", into a uint64_t. */
int timeline_convert_value(PyObject *value, void *out_value);

/* --- token.pxi --- */

PyObject *token_object(struct core *core, const struct ww_token *token);

/* The token of a Token instance, or NULL with TypeError. */
const struct ww_token *token_of(struct core *core, PyObject *value);

/* --- pool.pxi --- */

/* The pool of a token. @device: as for ww_pool_import(). Return: as wait_run(). */
ww_status pool_import(const struct ww_token *token, ww_device *device, ww_pool **out_pool);
/* Takes over @pool, also on failure. @info: of its token */
PyObject *pool_object(ww_pool *pool, const struct ww_token_info *info);

/* hand_over.c, a function of the module: nanoseconds of one round in C, for warpway.bench */
PyObject *hand_over(PyObject *module, PyObject *arguments);

/* --- array.c --- */

/* An Array in @memory, an instance of CORE_MEMORY, which is borrowed. */
PyObject *array_object(struct core *core, PyObject *memory, const struct ww_array *array);

/* A method that is written in Python: MODULE.NAME(self, ...). @keywords: may be NULL */
PyObject *call_python(const char *module_name, const char *name, PyObject *self,
	PyObject *arguments, PyObject *keywords);

/* --- memory_release.c: functions of the module --- */

PyObject *capture_begin(PyObject *module, PyObject *unused);
PyObject *capture_end(PyObject *module, PyObject *unused);

/* --- late.c: threads of multiprocessing that pickle what the program gave them before --- */

/*
 * Whether this process has one. No exception may be pending.
 * Return: 1 or 0; -1 with an exception, such as KeyboardInterrupt
 */
int late_threads_live(void);
/*
 * The end of every __reduce__: a failure in such a thread is noted, to be told at exit.
 * @pickle: what __reduce__ returns. Return: @pickle
 */
PyObject *late_note(PyObject *self, PyObject *pickle);
/* A function of the module: a process that would end with 0 by exit() ends with 1. */
PyObject *late_fail_at_exit(PyObject *module, PyObject *unused);

/* NAME_noted(): the method NAME() with late_note() at its end. */
#define REDUCE_NOTED(name)                                              \
	static PyObject *name##_noted(PyObject *self, PyObject *unused) \
	{                                                               \
		return late_note(self, name(self, unused));             \
	}

/* --- torch_allocator.c: functions of the module --- */

/* set_torch_pool(index, pool): the pool of torch's allocator for the device with this index. */
PyObject *torch_pool_set(PyObject *module, PyObject *arguments);
/* Why the last allocation failed: a str, or None. */
PyObject *torch_failure(PyObject *module, PyObject *unused);

/* --- aio.c --- */

/* A coroutine that calls a method of @self, by its name, in a thread of its own. */
PyObject *aio_run(PyObject *self, const char *name, PyObject *arguments, PyObject *keywords);
/* __anext__ of a Watch, and of a Channel or WorkQueue. */
PyObject *aio_next(PyObject *watch);
PyObject *aio_next_frame(PyObject *channel);
/* Channel.acquire_async(), Channel.receive_async(), and those of a WorkQueue */
PyObject *aio_acquire(PyObject *channel, PyObject *arguments, PyObject *keywords);
PyObject *aio_receive(PyObject *channel, PyObject *arguments, PyObject *keywords);

/* --- info.c; the types are made by info.pxi --- */

/* The word with this number; '' for a number that has none. */
PyObject *info_word(uint32_t value, const char *const words[], uint32_t count);
PyObject *info_id(const uint8_t id[WW_OBJECT_ID_BYTES]);
PyObject *info_text(const char *text);

/* The number of 4, or 8, bytes at an offset of a struct; the closure of a PyGetSetDef is one. */
PyObject *info_u32(const void *info, const void *offset);
PyObject *info_u64(const void *info, const void *offset);
PyObject *info_dtype(const struct ww_dtype *dtype);
PyObject *info_numbers(const int64_t *numbers, uint32_t count);

#endif
