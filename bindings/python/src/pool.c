/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - warpway.Pool: many small memories at the cost of a token
 */
#include "core.h"

#include "token.h"

struct pool_handle {
	struct handle base;
	PyObject *device; /* an instance of CORE_DEVICE; NULL: not asked for yet */
	bool is_imported;
	uint8_t home_uuid[WW_DEVICE_UUID_BYTES]; /* of an imported one */
};

static void *pool_ref(void *object)
{
	return ww_pool_ref(object);
}

static void *pool_unref(void *object)
{
	return ww_pool_unref(object);
}

const struct handle_class pool_class = {"Pool", pool_ref, pool_unref};

/* --- making one --- */

/* None leaves it 0: the library's default. 0 is not said to mean that. */
static bool convert_limit(PyObject *value, const char *what, uint64_t most, uint64_t *out_number)
{
	if (value == Py_None)
		return true;
	if (!convert_bytes(value, out_number))
		return false;
	if (*out_number > 0 && *out_number <= most)
		return true;
	PyErr_Format(PyExc_ValueError, "%s is 1 to %llu, or None, not %R", what,
		(unsigned long long)most, value);
	return false;
}

/* Takes over @device, a reference. */
static PyObject *pool_object(PyTypeObject *type, ww_pool *pool, ww_device *device)
{
	PyObject *shown = device_object(core_of_type(type), device);
	struct pool_handle *made;

	if (!shown) {
		handle_return(&pool_class, pool);
		return NULL;
	}
	made = (struct pool_handle *)handle_new(type, &pool_class, pool);
	if (made)
		made->device = shown;
	else
		Py_DECREF(shown);
	return (PyObject *)made;
}

static PyObject *pool_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"device", "bytes_max", "chunk_bytes", "slices_max", "kind", NULL};
	PyObject *which = Py_None, *bytes = Py_None, *chunk = Py_None, *slices = Py_None;
	struct ww_pool_params params = WW_INIT(struct ww_pool_params);
	struct core *core = core_of_type(type);
	uint64_t slices_max = 0;
	ww_device *device;
	ww_pool *pool;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$OOOO&:Pool", names, &which,
		    &bytes, &chunk, &slices, convert_kind, &params.kind) ||
		!convert_limit(bytes, "bytes_max", UINT64_MAX, &params.bytes_max) ||
		!convert_limit(chunk, "chunk_bytes", UINT64_MAX, &params.chunk_bytes) ||
		!convert_limit(slices, "slices_max", WW_POOL_SLICES_MAX, &slices_max))
		return NULL;
	params.slices_max = (uint32_t)slices_max;
	device = convert_device(core, which);
	if (!device)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = ww_pool_create(device, &params, &pool);
	Py_END_ALLOW_THREADS
	if (status == WW_OK)
		return pool_object(type, pool, device);
	handle_return(&device_class, device);
	return error_raise(core, status);
}

static void pool_dealloc(PyObject *self)
{
	PyObject *device = ((struct pool_handle *)self)->device;

	handle_dealloc(self, &pool_class);
	Py_XDECREF(device);
}

static PyObject *pool_close(PyObject *self, PyObject *unused)
{
	(void)unused;
	handle_close(self, &pool_class);
	Py_RETURN_NONE;
}

/* --- to other processes --- */

struct export_call {
	ww_pool *pool;
	struct ww_export_params params;
	struct ww_token token;
};

static ww_status run_export(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct export_call *args = call;

	(void)timeout_ns;
	return ww_pool_export(args->pool, NULL, &args->params, cancel, &args->token);
}

/* Without an access: for writing, unless the pool came for reading. False with an exception. */
static bool pool_export(PyObject *self, struct export_call *call)
{
	struct core *core = core_of(self);
	bool is_chosen = call->params.access;
	ww_status status;

	if (!is_chosen)
		call->params.access = WW_ACCESS_WRITE;
	call->pool = handle_borrow(self, &pool_class);
	if (!call->pool)
		return false;
	status = wait_brief(core, run_export, call, NULL);
	if (status == WW_ERR_ACCESS && !is_chosen) {
		call->params.access = WW_ACCESS_READ;
		status = wait_brief(core, run_export, call, NULL);
	}
	handle_give_back(self, &pool_class, call->pool);
	if (status != WW_OK)
		error_raise(core, status);
	return status == WW_OK;
}

static PyObject *pool_token(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"access", "uses", "escrow", NULL};
	struct export_call call = {.params = WW_INIT(struct ww_export_params)};
	PyObject *access = Py_None;

	call.params.uses = 1;
	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$O&O&:token", names, &access,
		    convert_uses, &call.params.uses, convert_escrow, &call.params.escrow_ns) ||
		(access != Py_None && !convert_access(access, &call.params.access)))
		return NULL;
	token_deliver(&call.params);
	return pool_export(self, &call) ? token_object(core_of(self), &call.token) : NULL;
}

static PyObject *pool_reduce(PyObject *self, PyObject *unused)
{
	struct export_call call = {.params = WW_INIT(struct ww_export_params)};

	(void)unused;
	if (handle_is_closed(self))
		return PyErr_Format(PyExc_ValueError,
			"this Pool is closed, so it cannot be pickled. multiprocessing.Queue pickles in a "
			"thread, after put() has returned: keep it open until the other process has it");
	call.params.uses = 1;
	call.params.flags = WW_EXPORT_DELIVERY;
	return pool_export(self, &call) ? token_pickle(core_of(self), &call.token) : NULL;
}

REDUCE_NOTED(pool_reduce)

struct import_call {
	ww_device *device;
	const struct ww_token *token;
	ww_pool *pool;
};

static ww_status run_import(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct import_call *args = call;

	(void)timeout_ns;
	return ww_pool_import(args->device, NULL, args->token, cancel, &args->pool);
}

/* The pool is this process's own if its token came home. Takes over @pool. */
static PyObject *imported_object(struct core *core, ww_pool *pool, const struct ww_token_info *info)
{
	struct ww_pool_info described = WW_INIT(struct ww_pool_info);
	struct pool_handle *made;
	ww_status status;

	Py_BEGIN_ALLOW_THREADS
	status = ww_pool_info_get(pool, &described);
	Py_END_ALLOW_THREADS
	made = (struct pool_handle *)handle_new(core->types[CORE_POOL], &pool_class, pool);
	if (!made)
		return NULL;
	made->is_imported = status == WW_OK && described.is_imported;
	memcpy(made->home_uuid, info->home_uuid, sizeof(made->home_uuid));
	return (PyObject *)made;
}

ww_status pool_import(struct core *core, const struct ww_token *token, ww_device *device,
	const struct ww_token_info *info, PyObject **out_pool)
{
	struct import_call call = {.device = device, .token = token};
	ww_status status = wait_brief(core, run_import, &call, NULL);

	*out_pool = NULL;
	if (status != WW_OK)
		return status;
	*out_pool = imported_object(core, call.pool, info);
	return *out_pool ? WW_OK : STATUS_RAISED;
}

/* --- slices --- */

struct alloc_call {
	ww_pool *pool;
	uint64_t bytes;
	uint64_t alignment;
	ww_memory *memory;
};

static ww_status run_alloc(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct alloc_call *args = call;

	return ww_pool_alloc(args->pool, args->bytes, args->alignment, timeout_ns, cancel,
		&args->memory);
}

/*
 * Usually there is room. So the first try is without signals and flags, and has no time to wait: 1
 * ns, if there is any at all, since the library waits less for a broker then.
 * Return: as wait_run().
 */
static ww_status alloc(struct core *core, struct alloc_call *call, uint64_t timeout_ns,
	PyObject *cancel)
{
	ww_status status;

	Py_BEGIN_ALLOW_THREADS
	status = run_alloc(call, timeout_ns > 0, NULL);
	Py_END_ALLOW_THREADS
	if (status != WW_TIMED_OUT || timeout_ns <= 1)
		return status;
	return wait_run(core, run_alloc, call, timeout_ns, cancel);
}

/* Return: a Memory. */
static PyObject *alloc_memory(PyObject *self, struct alloc_call *call, uint64_t timeout_ns,
	PyObject *cancel)
{
	struct core *core = core_of(self);
	ww_status status;

	call->pool = handle_borrow(self, &pool_class);
	if (!call->pool)
		return NULL;
	status = alloc(core, call, timeout_ns, cancel);
	handle_give_back(self, &pool_class, call->pool);
	return status == WW_OK ? memory_object(core, call->memory) : error_raise(core, status);
}

static PyObject *pool_alloc(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"nbytes", "alignment", "timeout", "cancel", NULL};
	struct alloc_call call = {.alignment = 0};
	PyObject *cancel = NULL;
	uint64_t timeout_ns = 0;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&|O&O&$O:alloc", names,
		    convert_bytes, &call.bytes, convert_bytes, &call.alignment, convert_timeout,
		    &timeout_ns, &cancel))
		return NULL;
	return alloc_memory(self, &call, timeout_ns, cancel);
}

static bool describe_array(struct core *core, PyObject *shape, PyObject *dtype,
	struct ww_array *array, uint64_t *out_bytes)
{
	int64_t lengths[WW_ARRAY_DIMS];
	struct ww_dtype element;
	ww_status status;
	int count;

	if (!convert_dtype(core, dtype, &element))
		return false;
	count = convert_shape(core, shape, "shape", lengths);
	if (count < 0)
		return false;
	status = ww_array_set(array, &element, (uint32_t)count, lengths, NULL, 0);
	if (status == WW_OK)
		status = ww_array_bytes(array, out_bytes);
	if (status != WW_OK)
		error_raise(core, status);
	return status == WW_OK;
}

static PyObject *pool_empty(PyObject *self, PyObject *const *values, Py_ssize_t count,
	PyObject *names)
{
	static const char *const all[] = {"shape", "dtype", "timeout", "cancel", NULL};
	const struct fast_call given = {values, count, names};
	PyObject *shape = NULL, *dtype = NULL, *timeout = NULL, *cancel = NULL, *memory, *array;
	PyObject **const out[] = {&shape, &dtype, &timeout, &cancel};
	struct alloc_call call = {.alignment = 0};
	struct core *core = core_of(self);
	struct ww_array description;
	uint64_t timeout_ns = 0;

	if (!convert_arguments("empty", all, 2, &given, out))
		return NULL;
	if (!shape || !dtype)
		return PyErr_Format(PyExc_TypeError, "empty() needs a shape and a dtype");
	if ((timeout && !convert_timeout(timeout, &timeout_ns)) ||
		!describe_array(core, shape, dtype, &description, &call.bytes))
		return NULL;
	if (call.bytes == 0)
		call.bytes = 1; /* of an array without elements: a slice has bytes */
	memory = alloc_memory(self, &call, timeout_ns, cancel);
	if (!memory)
		return NULL;
	array = array_object(core, memory, &description);
	Py_DECREF(memory);
	return array;
}

/* --- what it is --- */

static PyObject *pool_trim(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"keep_bytes", NULL};
	uint64_t keep_bytes = 0, freed_bytes = 0;
	ww_pool *pool;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&:trim", names, convert_bytes,
		    &keep_bytes))
		return NULL;
	pool = handle_borrow(self, &pool_class);
	if (!pool)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = ww_pool_trim(pool, keep_bytes, &freed_bytes);
	ww_pool_unref(pool);
	Py_END_ALLOW_THREADS
	if (status != WW_OK)
		return error_raise(core_of(self), status);
	return PyLong_FromUnsignedLongLong(freed_bytes);
}

static bool info_get(PyObject *self, struct ww_pool_info *info)
{
	ww_pool *pool = handle_borrow(self, &pool_class);
	ww_status status;

	if (!pool)
		return false;
	*info = WW_INIT(struct ww_pool_info);
	Py_BEGIN_ALLOW_THREADS
	status = ww_pool_info_get(pool, info);
	ww_pool_unref(pool);
	Py_END_ALLOW_THREADS
	if (status != WW_OK)
		error_raise(core_of(self), status);
	return status == WW_OK;
}

static PyObject *pool_info(PyObject *self, PyObject *unused)
{
	struct ww_pool_info info;

	(void)unused;
	if (!info_get(self, &info))
		return NULL;
	if (info.is_imported)
		return error_raise_text(core_of(self), WW_ERR_ACCESS,
			"this pool is another process's: only the process that made it knows its state");
	PyObject *const values[] = {
		info.bytes_max == UINT64_MAX ? Py_NewRef(Py_None)
					     : PyLong_FromUnsignedLongLong(info.bytes_max),
		PyLong_FromUnsignedLongLong(info.chunk_bytes),
		PyLong_FromUnsignedLongLong(info.bytes_reserved),
		PyLong_FromUnsignedLongLong(info.bytes_used),
		PyLong_FromUnsignedLongLong(info.bytes_waiting),
		PyLong_FromUnsignedLongLong(info.bytes_free),
		PyLong_FromUnsignedLongLong(info.bytes_largest),
		PyLong_FromUnsignedLongLong(info.bytes_peak),
		PyLong_FromUnsignedLongLong(info.allocations),
		PyLong_FromUnsignedLong(info.chunk_count),
		PyLong_FromUnsignedLong(info.slice_count),
		PyLong_FromUnsignedLong(info.waiting_count),
		PyLong_FromUnsignedLong(info.slices_max),
		PyLong_FromUnsignedLong(info.holder_count),
		INFO_END,
	};

	return info_object(core_of(self), CORE_POOL_INFO, values);
}

static PyObject *holder_object(struct core *core, const struct ww_pool_holder_info *info)
{
	PyObject *const values[] = {
		PyLong_FromUnsignedLong(info->pid),
		PyLong_FromUnsignedLong(info->uid),
		info_text(info->program),
		PyLong_FromUnsignedLong(info->slice_count),
		PyLong_FromUnsignedLongLong(info->slice_bytes),
		PyBool_FromLong(info->is_lost != 0),
		INFO_END,
	};

	return info_object(core, CORE_POOL_HOLDER, values);
}

/* Return: as ww_pool_holder_get(). */
static ww_status holder_get(ww_pool *pool, uint32_t index, struct ww_pool_holder_info *info)
{
	ww_status status;

	*info = WW_INIT(struct ww_pool_holder_info);
	Py_BEGIN_ALLOW_THREADS
	status = ww_pool_holder_get(pool, index, info);
	Py_END_ALLOW_THREADS
	return status;
}

static PyObject *pool_holders(PyObject *self, PyObject *unused)
{
	ww_pool *pool = handle_borrow(self, &pool_class);
	struct core *core = core_of(self);
	struct ww_pool_holder_info info;
	PyObject *list;
	ww_status status = WW_OK;

	(void)unused;
	if (!pool)
		return NULL;
	list = PyList_New(0);
	for (uint32_t i = 0; list && (status = holder_get(pool, i, &info)) == WW_OK; i++) {
		PyObject *holder = holder_object(core, &info);

		if (!holder || PyList_Append(list, holder) < 0)
			Py_CLEAR(list);
		Py_XDECREF(holder);
	}
	handle_return(&pool_class, pool);
	if (list && status != WW_END) {
		Py_DECREF(list);
		return error_raise(core, status);
	}
	return list;
}

/* That of an imported pool is opened by the first one who asks: a GPU may be only passed on. */
static PyObject *get_device(PyObject *self, void *unused)
{
	struct pool_handle *handle = (struct pool_handle *)self;
	struct core *core = core_of(self);
	PyObject *shown = NULL;
	ww_device *device;

	(void)unused;
	if (!handle->device) {
		device = token_device(core, handle->home_uuid, Py_None);
		shown = device ? device_object(core, device) : NULL;
		if (!shown)
			return NULL;
	}
	if (handle->device)
		Py_XDECREF(shown); /* another thread was faster */
	else
		handle->device = shown;
	return Py_NewRef(handle->device);
}

static PyObject *get_is_mapped(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(((struct pool_handle *)self)->is_imported);
}

static PyObject *get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(handle_is_closed(self));
}

/* Asks nobody: pool_info() may wait for the broker. */
static PyObject *pool_repr(PyObject *self)
{
	const struct pool_handle *handle = (struct pool_handle *)self;
	const char *closed = handle_is_closed(self) ? " closed" : "";

	if (handle->is_imported)
		return PyUnicode_FromFormat("<warpway.Pool of another process%s>", closed);
	return handle->device
		? PyUnicode_FromFormat("<warpway.Pool of %R%s>", handle->device, closed)
		: PyUnicode_FromFormat("<warpway.Pool%s>", closed);
}

static PyMethodDef methods[] = {
	{"alloc", KEYWORDS(pool_alloc), METH_VARARGS | METH_KEYWORDS,
		"alloc($self, /, nbytes, alignment=0, timeout=0.0, *, cancel=None)\n--\n\n"
		"A slice of the pool, as a Memory. Its bytes are not cleared.\n\n"
		"Parameters\n----------\n"
		"nbytes : int\n    At least 1; rounded up to 256.\n"
		"alignment : int\n    Bytes, a power of two; 0: 256.\n"
		"timeout : float or None\n"
		"    Seconds to wait until slices are free; 0: only use what is free now.\n\n"
		"Raises\n------\n"
		"LimitReached\n"
		"    The pool is full; the message says who holds most. Also with a timeout, if waiting\n"
		"    cannot free anything.\n"
		"Timeout\n    There was no room within `timeout` seconds.\n"
		"OutOfMemory\n    The device or the machine has no more for a new chunk."},
	{"empty", KEYWORDS(pool_empty), METH_FASTCALL | METH_KEYWORDS,
		"empty($self, /, shape, dtype, *, timeout=0.0, cancel=None)\n--\n\n"
		"An Array in a slice of its own. Its elements are not set.\n\n"
		"Parameters\n----------\n"
		"shape : int or sequence of int\n"
		"dtype : str or a dtype of NumPy, ml_dtypes or torch\n"
		"timeout : float or None\n    Seconds to wait until slices are free; 0: only use what is free now.\n"
		"cancel : Cancel, optional\n\n"
		"Raises\n------\nLimitReached, Timeout, OutOfMemory\n    As `alloc`."},
	{"trim", KEYWORDS(pool_trim), METH_VARARGS | METH_KEYWORDS,
		"trim($self, /, keep_bytes=0)\n--\n\n"
		"Free chunks that contain no slice, but keep that many bytes of the pool.\n\n"
		"Returns how many bytes were freed."},
	{"info", pool_info, METH_NOARGS,
		"info($self, /)\n--\n\n"
		"The state of the pool, after slices that no process uses any more were freed. Returns\n"
		"PoolInfo."},
	{"holders", pool_holders, METH_NOARGS,
		"holders($self, /)\n--\n\n"
		"The other processes that use slices of this pool, as a list of PoolHolder."},
	{"token", KEYWORDS(pool_token), METH_VARARGS | METH_KEYWORDS,
		"token($self, /, access=None, *, uses=1, escrow=60.0)\n--\n\n"
		"A Token by which other processes get to know the pool, as by a pickle.\n\n"
		"Parameters\n----------\n"
		"access : 'read' or 'write'\n"
		"    Of the slices that are expected; None: 'write', or as the pool came.\n"
		"uses : int\n    How often it may be opened; 0: any number.\n"
		"escrow : float or None\n"
		"    Seconds that the broker keeps it; with `uses` after the end of this process."},
	{"close", pool_close, METH_NOARGS,
		"close($self, /)\n--\n\n"
		"Release the pool. May be called twice. The pool ends with its last slice."},
	{"__reduce__", pool_reduce_noted, METH_NOARGS, NULL},
	{"__enter__", handle_enter, METH_NOARGS, NULL},
	{"__exit__", pool_close, METH_VARARGS, NULL},
	{NULL},
};

static PyGetSetDef properties[] = {
	{"device", get_device, NULL, "Device: where its memory is.", NULL},
	{"is_mapped", get_is_mapped, NULL,
		"bool: it is a pool of another process. This one opens its slices, and cannot allocate.",
		NULL},
	{"closed", get_closed, NULL, "bool: `close` was called.", NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("Pool(device=None, *, bytes_max=None, chunk_bytes=None, slices_max=None, kind='device')\n"
		    "--\n\n"
		    "Device memory in large chunks, of which slices are allocated.\n\n"
		    "Parameters\n----------\n"
		    "device : Device or what it takes, optional\n"
		    "bytes_max : int, optional\n    Limit for all chunks together; None: the device's.\n"
		    "chunk_bytes : int, optional\n    None: 64 MiB, or `bytes_max` if that is less.\n"
		    "slices_max : int, optional\n    Most slices at one time; None: 65536.\n"
		    "kind : 'device' or 'host'\n    As of Memory.\n\n"
		    "A slice is a Memory like any other, but to allocate it, to hand it to another process and\n"
		    "to release it costs a few stores into shared memory. Its bytes are allocated again when\n"
		    "this process has released it, it has no name (`Broker.put`), no token of it is in flight,\n"
		    "and no process uses it. No memory is taken before the first slice is allocated.\n\n"
		    "A pickled Pool arrives as one that `is_mapped`: a process that has it opens slices as they\n"
		    "come, without asking the broker for each chunk that it has mapped. Only the process that\n"
		    "made the pool allocates; in others `alloc`, `empty`, `trim`, `info` and `holders` raise\n"
		    "AccessDenied.")},
	{Py_tp_new, pool_new},
	{Py_tp_dealloc, pool_dealloc},
	{Py_tp_repr, pool_repr},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, handle_members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Pool",
	.basicsize = sizeof(struct pool_handle),
	.flags = TYPE_FLAGS,
	.slots = slots,
};

PyTypeObject *pool_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
