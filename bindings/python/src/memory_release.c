/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_release.c - how a Memory is released: after streams, by the garbage collector, and when
 * other processes use it
 */
#include "memory.h"

#include <pthread.h>

/* One that other libraries' streams may use. */
static void *memory_retire(void *object)
{
	return ww_memory_retire(object);
}

static void *memory_ref(void *object)
{
	return ww_memory_ref(object);
}

static const struct handle_class streamed_class = {"Memory", memory_ref, memory_retire};

static PyObject *done(PyObject *module, ww_status status)
{
	if (status != WW_OK)
		return error_raise(core_of_module(module), status);
	return Py_NewRef(Py_None);
}

PyObject *capture_begin(PyObject *module, PyObject *unused)
{
	ww_status status;

	(void)unused;
	/* Another thread may have the lock for as long as it asks the driver. */
	Py_BEGIN_ALLOW_THREADS
	status = ww_capture_begin();
	Py_END_ALLOW_THREADS
	return done(module, status);
}

PyObject *capture_end(PyObject *module, PyObject *unused)
{
	(void)unused;
	return done(module, ww_capture_end());
}

void memory_mark_streamed(PyObject *self)
{
	struct memory_handle *handle = (struct memory_handle *)self;

	handle->is_streamed = !handle->is_ordered;
	handle->is_exposed = true;
	memory_unkeep(handle);
}

const struct handle_class *memory_releasing(PyObject *self)
{
	return ((struct memory_handle *)self)->is_streamed ? &streamed_class : &memory_class;
}

/* --- names that end with it --- */

/* The interpreter releases the arguments of a call in the line of the call. */
static const void *current_line(int *out_line)
{
	PyFrameObject *frame = PyEval_GetFrame();

	*out_line = frame ? PyFrame_GetLineNumber(frame) : 0;
	return frame;
}

void memory_mark_put(PyObject *self)
{
	struct memory_handle *handle = (struct memory_handle *)self;

	handle->put_frame = current_line(&handle->put_line);
}

/* Whether it was an argument of put(), and nobody else in this process has the memory. */
static bool was_put_now(const struct memory_handle *handle)
{
	int line;

	return handle->put_frame && handle->base.object && handle->at_made && !handle->is_exposed &&
		Py_IsInitialized() && current_line(&line) == handle->put_frame &&
		line == handle->put_line;
}

void memory_warn_of_put(PyObject *self)
{
	const struct memory_handle *handle = (struct memory_handle *)self;
	PyObject *type, *value, *traceback;

	if (!was_put_now(handle))
		return;
	PyErr_Fetch(&type, &value, &traceback);
	if (PyErr_WarnFormat(PyExc_ResourceWarning, 1,
		    "%R has left the broker again, since nothing in this process has the memory any more; "
		    "keep its Array or Memory in a variable, or put it with life='kept'",
		    handle->name ? handle->name : Py_None) < 0)
		PyErr_WriteUnraisable(NULL);
	PyErr_Restore(type, value, traceback);
}

/* --- bytes that stay --- */

void memory_warn_of_buffers(PyObject *self)
{
	const struct memory_handle *handle = (struct memory_handle *)self;
	uint32_t views = handle->exporters + (handle->asked ? 1 : 0) - handle->askers;

	if (handle->exporters == 0 && !handle->asked)
		return;
	if (PyErr_WarnFormat(PyExc_ResourceWarning, 1,
		    "the memory was closed, but its bytes stay as long as they are used: by %u views "
		    "(memoryviews, arrays of NumPy), and by %u Arrays or Memories that "
		    "numpy.ndarray(buffer=...) was given and may keep",
		    (unsigned)views, (unsigned)handle->askers) < 0)
		PyErr_WriteUnraisable(self);
}

/* --- what the garbage collector sees ---
 *
 * A cycle by way of wrap(..., keep=x) can be collected as long as the handle alone has the memory:
 * then nobody else needs x when the handle is closed. All under the GIL.
 */

static struct memory_handle *keepers;

void memory_keep(PyObject *self, PyObject *kept)
{
	struct memory_handle *handle = (struct memory_handle *)self;

	if (!kept)
		return;
	handle->kept = kept;
	handle->next = keepers;
	handle->at = &keepers;
	if (keepers)
		keepers->at = &handle->next;
	keepers = handle;
}

void memory_unkeep(struct memory_handle *handle)
{
	if (!handle->kept)
		return;
	handle->kept = NULL;
	*handle->at = handle->next;
	if (handle->next)
		handle->next->at = handle->at;
}

void memory_unkeep_all(void)
{
	while (keepers)
		memory_unkeep(keepers);
}

int memory_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(((struct memory_handle *)self)->kept);
	Py_VISIT(((struct memory_handle *)self)->owner);
	return 0;
}

/* --- memory that other processes use ---
 *
 * The module is imported when a token is made: when a Memory ends, it is too late to do so.
 */

void memory_mark_lent(PyObject *self)
{
	struct memory_handle *handle = (struct memory_handle *)self;
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	ww_memory *memory = handle->base.object ? handle->base.object : handle->late;
	PyObject *module;

	if (handle->is_lent || !memory || ww_memory_info_get(memory, &info) != WW_OK ||
		!(info.flags & WW_MEMORY_IS_WRAPPED))
		return;
	handle->is_lent = true;
	module = PyImport_ImportModule("warpway._lent");
	if (!module)
		PyErr_Clear();
	Py_XDECREF(module);
}

/* Passes a reference of its own to warpway._lent. At the end of Python that may not work. */
static void memory_linger(PyObject *self)
{
	struct core *core = core_of(self);
	PyObject *type, *value, *traceback, *module = NULL, *copy = NULL, *done = NULL;

	if (!core)
		PyErr_Clear();
	if (!core || !core->types[CORE_MEMORY] || !Py_IsInitialized())
		return;
	PyErr_Fetch(&type, &value, &traceback);
	copy = memory_object(core, ww_memory_ref(((struct handle *)self)->object));
	if (copy) {
		((struct memory_handle *)copy)->is_streamed = ((struct memory_handle *)self)
								      ->is_streamed;
		module = PyImport_ImportModule("warpway._lent");
	}
	if (module)
		done = PyObject_CallMethod(module, "keep", "O", copy);
	Py_XDECREF(done);
	Py_XDECREF(module);
	Py_XDECREF(copy);
	PyErr_Restore(type, value, traceback);
}

void memory_release(PyObject *self, const struct handle_class *class)
{
	struct memory_handle *handle = (struct memory_handle *)self;

	memory_unkeep(handle);
	memory_unmark_made(handle);
	if (handle->is_lent && handle->base.object)
		memory_linger(self);
	handle_close(self, class);
	if (!handle->asked) /* else until it is freed */
		Py_CLEAR(handle->owner);
}

bool memory_is_unused(PyObject *self)
{
	const struct memory_handle *handle = (struct memory_handle *)self;

	return Py_REFCNT(self) == (Py_ssize_t)handle->ended + handle->exporters + 1;
}

void memory_leave(PyObject *self, bool has_ended)
{
	struct memory_handle *handle = (struct memory_handle *)self;
	PyObject *type, *value, *traceback;

	if (self && has_ended) {
		handle->ended--;
	} else if (self && handle->ended > 0 && memory_is_unused(self)) {
		PyErr_Fetch(&type, &value, &traceback);
		if (!memory_end(self, memory_releasing(self)))
			PyErr_WriteUnraisable(NULL);
		PyErr_Restore(type, value, traceback);
	}
	Py_XDECREF(self);
}

void memory_own(PyObject *self, PyObject *owner)
{
	((struct memory_handle *)self)->owner = Py_NewRef(owner);
}

int memory_clear(PyObject *self)
{
	memory_end_all(self);
	return 0;
}

/* --- the end of the use, and of the hold --- */

static uint32_t forks;

static void count_fork(void)
{
	forks++;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, count_fork);
}

uint32_t memory_forks(void)
{
	return forks;
}

static bool has_own_mapping(const struct memory_handle *handle)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);

	return ww_memory_info_get(handle->base.object, &info) == WW_OK &&
		!(info.flags & (WW_MEMORY_IS_SLICE | WW_MEMORY_IS_WRAPPED));
}

/* Return: false with an exception of a signal's handler */
static bool memory_hold_for_late(PyObject *self)
{
	const struct memory_handle *handle = (struct memory_handle *)self;

	/* In the broker, a child made by fork() would become the owner of its parent's memory. */
	return !handle->base.object || handle->hold || handle->forks != forks ||
		!has_own_mapping(handle) || memory_try_hold(self);
}

/* Another thread may have closed it meanwhile. */
static void memory_end_use(PyObject *self, const struct handle_class *class)
{
	struct memory_handle *handle = (struct memory_handle *)self;

	handle->is_closed = true;
	if (!handle->base.object)
		return;
	if (handle->hold) {
		memory_release(self, class);
		return;
	}
	memory_unmark_made(handle);
	handle->is_streamed = class == &streamed_class;
	handle->late = handle->base.object;
	handle->base.object = NULL;
}

void memory_end_all(PyObject *self)
{
	struct memory_handle *handle = (struct memory_handle *)self;

	memory_drop_hold(self);
	if (handle->late)
		handle->base.object = handle->late;
	handle->late = NULL;
	memory_release(self, memory_releasing(self));
}

bool memory_end(PyObject *self, const struct handle_class *class)
{
	struct memory_handle *handle = (struct memory_handle *)self;
	int live = handle->is_frame ? 0 : late_threads_live();
	bool is_quiet = live >= 0 && (!live || memory_hold_for_late(self));
	PyObject *type, *value, *traceback;

	PyErr_Fetch(&type, &value, &traceback);
	if (live) { /* or it is not known: then the bytes stay */
		memory_end_use(self, class);
	} else {
		memory_drop_hold(self);
		if (handle->late)
			memory_end_all(self);
		else
			memory_release(self, class);
	}
	PyErr_Restore(type, value, traceback);
	return is_quiet;
}
