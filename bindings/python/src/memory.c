/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - warpway.Memory: the type, and how an instance is made and released
 */
#include "memory.h"

#include "token.h"

static void *memory_ref(void *object)
{
	return ww_memory_ref(object);
}

static void *memory_unref(void *object)
{
	return ww_memory_unref(object);
}

const struct handle_class memory_class = {"Memory", memory_ref, memory_unref};

PyObject *memory_object(struct core *core, ww_memory *memory)
{
	PyObject *made = handle_new(core->types[CORE_MEMORY], &memory_class, memory);

	if (made)
		((struct memory_handle *)made)->forks = memory_forks();
	return made;
}

PyObject *memory_object_imported(struct core *core, ww_memory *memory)
{
	PyObject *made = memory_object(core, memory);

	if (made)
		((struct memory_handle *)made)->is_imported = true;
	if (made)
		memory_expose_twin(memory);
	return made;
}

bool memory_set_hold(PyObject *self, ww_object *hold, const struct ww_token *token,
	const struct ww_token_info *info)
{
	struct memory_hold *made = PyMem_Malloc(sizeof(*made));

	if (!made) {
		handle_return(&hold_class, hold);
		PyErr_NoMemory();
		return false;
	}
	made->object = hold;
	made->token = *token;
	made->access = info->access;
	memcpy(made->home_uuid, info->home_uuid, sizeof(made->home_uuid));
	((struct memory_handle *)self)->hold = made;
	return true;
}

PyObject *memory_object_held(struct core *core, ww_object *hold, const struct ww_token *token,
	const struct ww_token_info *info)
{
	PyObject *self = memory_object_imported(core, NULL);

	if (!self)
		handle_return(&hold_class, hold);
	else if (!memory_set_hold(self, hold, token, info))
		Py_CLEAR(self);
	return self;
}

void memory_set_name(PyObject *self, const char *name)
{
	struct memory_handle *handle = (struct memory_handle *)self;
	PyObject *former = handle->name;

	handle->name = PyUnicode_FromString(name);
	if (!handle->name)
		PyErr_Clear(); /* it is only shown */
	Py_XDECREF(former);
}

void memory_drop_hold(PyObject *self)
{
	struct memory_handle *handle = (struct memory_handle *)self;
	struct memory_hold *hold = handle->hold;

	handle->hold = NULL;
	if (!hold)
		return;
	handle_return(&hold_class, hold->object);
	PyMem_Free(hold);
}

bool memory_is_held(PyObject *self)
{
	const struct memory_handle *handle = (struct memory_handle *)self;

	return handle->hold && !handle->base.object && !handle->is_closed;
}

/*
 * Another thread may have mapped it, or closed it, meanwhile. The hold goes on: a later close() may
 * need it.
 */
static void memory_take_mapped(PyObject *self, ww_memory *memory)
{
	if (!memory_is_held(self)) {
		memory_return(memory);
		return;
	}
	((struct handle *)self)->object = memory;
	memory_expose_twin(memory);
}

struct map_call {
	ww_object *hold;
	ww_device *device;
	uint32_t access;
	ww_memory *memory;
};

/* With the access of its token; what was sealed since is mapped for reading. */
static ww_status run_map(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct map_call *args = call;
	struct ww_import_params params = {.struct_size = sizeof(params),
		.access = args->access,
		.flags = WW_IMPORT_KEEP};
	ww_status status = ww_object_map(args->hold, args->device, &params, cancel, &args->memory);

	(void)timeout_ns;
	if (status != WW_ERR_ACCESS || args->access == WW_ACCESS_READ)
		return status;
	params.access = WW_ACCESS_READ;
	return ww_object_map(args->hold, args->device, &params, cancel, &args->memory);
}

/* Maps what is held, for the device that holds the bytes, with the access of its token. */
ww_memory *memory_map_held(PyObject *self)
{
	const struct memory_handle *handle = (struct memory_handle *)self;
	struct core *core = core_of(self);
	struct map_call call = {.access = handle->hold->access};
	uint8_t home_uuid[WW_DEVICE_UUID_BYTES]; /* the hold may end while the device is opened */
	ww_status status;

	memcpy(home_uuid, handle->hold->home_uuid, sizeof(home_uuid));
	call.hold = ww_object_ref(handle->hold->object);
	call.device = token_device(core, home_uuid, Py_None);
	status = call.device ? wait_brief(core, run_map, &call, NULL) : STATUS_RAISED;
	handle_return(&device_class, call.device);
	handle_return(&hold_class, call.hold);
	if (status != WW_OK)
		error_raise(core, status);
	return call.memory;
}

ww_memory *memory_map_to_pickle(PyObject *self)
{
	ww_memory *memory = memory_map_held(self);

	if (memory)
		memory_take_mapped(self, ww_memory_ref(memory));
	return memory;
}

/* Maps it if it is not mapped yet. Return: false with an exception: it cannot be, or is closed. */
static bool memory_make_mapped(PyObject *self)
{
	if (memory_is_held(self)) {
		ww_memory *memory = memory_map_held(self);

		if (!memory)
			return false;
		memory_take_mapped(self, memory);
	}
	return handle_check_open(self, &memory_class);
}

ww_memory *memory_borrow_briefly(PyObject *self)
{
	return memory_make_mapped(self) ? ww_memory_ref(((struct handle *)self)->object) : NULL;
}

ww_memory *memory_borrow(PyObject *self)
{
	memory_unkeep((struct memory_handle *)self);
	return memory_borrow_briefly(self);
}

ww_memory *memory_borrow_to_share(PyObject *self)
{
	if (!((struct memory_handle *)self)->is_frame)
		return memory_borrow(self);
	error_raise_text(core_of(self), WW_ERR_UNSUPPORTED,
		"the memory of a channel's frame cannot be given to other processes, which would not keep "
		"the frame: have them receive it from the Channel, or send a copy");
	return NULL;
}

void memory_set_frame(PyObject *self, const ww_stream *stream)
{
	struct memory_handle *handle = (struct memory_handle *)self;

	handle->is_frame = true;
	handle->is_ordered = stream;
}

void memory_return(ww_memory *memory)
{
	handle_return(&memory_class, memory);
}

/* --- making one --- */

struct create_call {
	ww_device *device;
	struct ww_memory_params params;
	ww_memory *memory;
};

static ww_status run_create(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct create_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	return ww_memory_create(args->device, &args->params, &args->memory);
}

static PyObject *memory_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"nbytes", "device", "kind", NULL};
	struct create_call call = {.params = WW_INIT(struct ww_memory_params)};
	struct core *core = core_of_type(type);
	PyObject *which = Py_None, *made;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&|OO&:Memory", names, convert_bytes,
		    &call.params.bytes, &which, convert_kind, &call.params.kind))
		return NULL;
	call.device = convert_device(core, which);
	if (!call.device)
		return NULL;
	status = wait_direct(run_create, &call);
	handle_return(&device_class, call.device);
	if (status != WW_OK)
		return error_raise(core, status);
	made = memory_object(core, call.memory);
	if (made)
		memory_mark_made(made);
	return made;
}

/* The last unref of the memory may come from any thread, also after Python has ended. */
static void release_kept(void *kept)
{
	struct callback callback;

	if (!kept || !callback_begin(&callback))
		return;
	Py_DECREF((PyObject *)kept);
	callback_end(&callback);
}

static PyObject *memory_wrap(struct core *core, ww_device *device, void *pointer, uint64_t bytes,
	PyObject *kept)
{
	const struct ww_wrap_params params = {
		.struct_size = sizeof(params),
		.release = release_kept,
		.context = kept,
	};
	ww_memory *memory;
	PyObject *made;
	ww_status status;

	Py_XINCREF(kept);
	Py_BEGIN_ALLOW_THREADS
	status = ww_memory_wrap(device, pointer, bytes, &params, &memory);
	Py_END_ALLOW_THREADS
	if (status != WW_OK) {
		Py_XDECREF(kept);
		return error_raise(core, status);
	}
	made = memory_object(core, memory);
	if (made)
		memory_keep(made, kept);
	return made;
}

static PyObject *memory_wrap_pointer(PyObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"pointer", "nbytes", "device", "keep", NULL};
	struct core *core = core_of_type((PyTypeObject *)type);
	PyObject *address, *which = Py_None, *kept = NULL, *made;
	uint64_t bytes = 0;
	ww_device *device;
	void *pointer;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!|O&O$O:wrap", names, &PyLong_Type,
		    &address, convert_bytes, &bytes, &which, &kept))
		return NULL;
	pointer = PyLong_AsVoidPtr(address);
	if (!pointer && PyErr_Occurred())
		return NULL;
	device = convert_device(core, which);
	if (!device)
		return NULL;
	made = memory_wrap(core, device, pointer, bytes, kept);
	handle_return(&device_class, device);
	return made;
}

static PyObject *memory_find(PyObject *type, PyObject *address)
{
	struct core *core = core_of_type((PyTypeObject *)type);
	uint64_t offset;
	ww_memory *memory;
	ww_status status;
	void *pointer;

	if (!PyLong_Check(address))
		return PyErr_Format(PyExc_TypeError, "a pointer is an int, not %R", address);
	pointer = PyLong_AsVoidPtr(address);
	if (!pointer && PyErr_Occurred())
		return NULL;
	memory_unkeep_all(); /* whose memory it finds is not known */
	Py_BEGIN_ALLOW_THREADS
	status = ww_memory_find(pointer, &memory, &offset);
	Py_END_ALLOW_THREADS
	memory_unkeep_all(); /* of those that were made meanwhile */
	if (status != WW_OK)
		return error_raise(core, status);
	memory_expose_twin(memory);
	return Py_BuildValue("(NK)", memory_object(core, memory), (unsigned long long)offset);
}

/* --- releasing --- */

static void memory_dealloc(PyObject *self)
{
	PyObject_GC_UnTrack(self);
	memory_warn_of_put(self);
	memory_end_all(self);
	memory_return(((struct memory_handle *)self)->asked);
	Py_CLEAR(((struct memory_handle *)self)->owner);
	Py_CLEAR(((struct memory_handle *)self)->name);
	handle_dealloc(self, memory_releasing(self));
}

/* A slice is released in the order of the stream; for other memory the stream is waited for. */
static ww_status release_after(struct core *core, ww_memory *memory, ww_stream *stream)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	ww_status status = ww_memory_info_get(memory, &info);

	if (status != WW_OK)
		return status;
	if (!(info.flags & WW_MEMORY_IS_SLICE))
		return wait_timed(core, stream_run_synchronize, stream, WW_FOREVER, NULL);
	Py_BEGIN_ALLOW_THREADS
	status = ww_pool_release(ww_memory_ref(memory), stream);
	if (status != WW_OK)
		ww_memory_unref(memory);
	Py_END_ALLOW_THREADS
	return status;
}

/* The memory may be closed meanwhile, by another thread or by the conversion. */
static ww_status release_by(PyObject *self, PyObject *value)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	ww_memory *memory = memory_borrow(self);
	ww_stream *stream = NULL;
	ww_status status;

	if (!memory)
		return STATUS_RAISED;
	status = ww_memory_info_get(memory, &info);
	if (status == WW_OK)
		stream = convert_stream(core_of(self), info.device, value);
	if (status == WW_OK)
		status = stream ? release_after(core_of(self), memory, stream) : STATUS_RAISED;
	handle_return(&stream_class, stream);
	memory_return(memory);
	return status;
}

PyObject *memory_close(PyObject *self, PyObject *const *values, Py_ssize_t count, PyObject *names)
{
	static const char *const all[] = {"stream", NULL};
	const struct fast_call call = {values, count, names};
	PyObject *value = Py_None, **const out[] = {&value};
	ww_status status = WW_OK;
	bool was_open;

	if (!convert_arguments("close", all, 1, &call, out))
		return NULL;
	if (value != Py_None && !handle_is_closed(self))
		status = release_by(self, value);
	if (status != WW_OK)
		return error_raise(core_of(self), status);
	was_open = !handle_is_closed(self);
	/* With a stream, the caller says what the memory is used by. */
	if (!memory_end(self, value == Py_None ? memory_releasing(self) : &memory_class))
		return NULL;
	if (was_open)
		memory_warn_of_buffers(self);
	Py_RETURN_NONE;
}

static PyObject *memory_exit(PyObject *self, PyObject *unused)
{
	(void)unused;
	return memory_close(self, NULL, 0, NULL);
}

/* --- what it is --- */

/* The GIL is kept, so the handle's own reference is enough. */
bool memory_info(PyObject *self, struct ww_memory_info *info)
{
	ww_status status;

	if (!memory_make_mapped(self))
		return false;
	*info = WW_INIT(struct ww_memory_info);
	status = ww_memory_info_get(((struct handle *)self)->object, info);
	if (status != WW_OK)
		error_raise(core_of(self), status);
	return status == WW_OK;
}

ww_device *memory_device(PyObject *self, struct ww_memory_info *info)
{
	return memory_info(self, info) ? ww_device_ref(info->device) : NULL;
}

ww_stream *memory_stream(PyObject *self, PyObject *value)
{
	struct ww_memory_info info;
	ww_device *device = memory_device(self, &info);
	ww_stream *stream = device ? convert_stream(core_of(self), device, value) : NULL;

	handle_return(&device_class, device);
	return stream;
}

static PyObject *get_number(PyObject *self, void *field)
{
	struct ww_memory_info info;

	return memory_info(self, &info) ? info_u64(&info, field) : NULL;
}

static PyObject *get_host_pointer(PyObject *self, void *field)
{
	((struct memory_handle *)self)->is_exposed = true;
	return get_number(self, field);
}

static PyObject *get_pointer(PyObject *self, void *field)
{
	memory_mark_streamed(self);
	return get_number(self, field);
}

static PyObject *get_flag(PyObject *self, void *bit)
{
	struct ww_memory_info info;

	return memory_info(self, &info) ? PyBool_FromLong((info.flags & (uintptr_t)bit) != 0)
					: NULL;
}

static const char *const kinds[] = {"", "device", "host", "legacy", "cuda_pool"};
static const char *const accesses[] = {"", "read", "write"};
static const char *const routes[] = {"", "local", "peer", "peer_hidden", "host", "host_registered"};

static PyObject *get_kind(PyObject *self, void *unused)
{
	struct ww_memory_info info;

	(void)unused;
	return memory_info(self, &info) ? info_word(info.kind, kinds, 5) : NULL;
}

static PyObject *get_access(PyObject *self, void *unused)
{
	struct ww_memory_info info;

	(void)unused;
	return memory_info(self, &info) ? info_word(info.access, accesses, 3) : NULL;
}

static PyObject *get_route(PyObject *self, void *unused)
{
	struct ww_memory_info info;

	(void)unused;
	return memory_info(self, &info) ? info_word(info.route, routes, 6) : NULL;
}

static PyObject *get_device(PyObject *self, void *unused)
{
	struct ww_memory_info info;
	ww_device *device = memory_device(self, &info);

	(void)unused;
	return device ? device_object(core_of(self), device) : NULL;
}

static PyObject *get_object_id(PyObject *self, void *unused)
{
	struct ww_memory_info info;

	(void)unused;
	return memory_info(self, &info) ? info_id(info.object_id) : NULL;
}

static PyObject *get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(handle_is_closed(self) && !memory_is_held(self));
}

static PyObject *get_is_mapped(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(((struct memory_handle *)self)->is_imported);
}

static PyObject *get_name(PyObject *self, void *unused)
{
	PyObject *name = ((struct memory_handle *)self)->name;

	(void)unused;
	return Py_NewRef(name ? name : Py_None);
}

static PyObject *get_is_lazy(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(memory_is_held(self));
}

static PyObject *get_broker(PyObject *self, void *unused)
{
	ww_memory *memory = memory_borrow_briefly(self);
	ww_broker *broker;

	(void)unused;
	if (!memory)
		return NULL;
	broker = ww_broker_ref(ww_memory_broker(memory));
	memory_return(memory);
	if (!broker)
		Py_RETURN_NONE;
	return broker_object(core_of(self), broker);
}

static PyObject *memory_repr(PyObject *self)
{
	struct ww_device_info shown = WW_INIT(struct ww_device_info);
	PyObject *quoted, *text, *name = ((struct memory_handle *)self)->name;
	struct ww_memory_info info;
	ww_device *device;

	if (memory_is_held(self))
		return PyUnicode_FromString("<warpway.Memory received, not mapped yet>");
	if (handle_is_closed(self))
		return PyUnicode_FromString("<warpway.Memory closed>");
	device = memory_device(self, &info);
	if (!device)
		return NULL;
	if (ww_device_info_get(device, &shown) != WW_OK)
		snprintf(shown.selector, sizeof(shown.selector), "?");
	handle_return(&device_class, device);
	quoted = name ? PyUnicode_FromFormat("%R, ", name) : PyUnicode_FromString("");
	if (!quoted)
		return NULL;
	text = PyUnicode_FromFormat("<warpway.Memory %U%llu bytes, %s, %s, access %s, route %s>",
		quoted, (unsigned long long)info.bytes, shown.selector, kinds[info.kind],
		accesses[info.access], routes[info.route]);
	Py_DECREF(quoted);
	return text;
}

/* Array(self, ...) */
static PyObject *memory_array(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	PyObject *first = PyTuple_Pack(1, self);
	PyObject *all = first ? PySequence_Concat(first, arguments) : NULL;
	PyObject *made = NULL;

	if (all)
		made = PyObject_Call((PyObject *)core_of(self)->types[CORE_ARRAY], all, keywords);
	Py_XDECREF(first);
	Py_XDECREF(all);
	return made;
}

static PyMethodDef methods[] = {
	{"wrap", KEYWORDS(memory_wrap_pointer), METH_CLASS | METH_VARARGS | METH_KEYWORDS,
		"wrap($type, /, pointer, nbytes=0, device=None, *, keep=None)\n--\n\n"
		"A Memory of bytes that were allocated by other means, without a copy.\n\n"
		"Parameters\n----------\n"
		"pointer : int\n"
		"    Anywhere inside an allocation of cudaMalloc(), of a CUDA pool with descriptors, of\n"
		"    cuMemCreate() with an exportable handle, or of this library.\n"
		"nbytes : int\n    Of the span; 0: to the end of the allocation.\n"
		"device : Device or what it takes, optional\n    The device that holds the bytes.\n"
		"keep : object, optional\n"
		"    Is kept alive until the memory is no longer used, here or by a process that has opened\n"
		"    a token or a name of it.\n\n"
		"Raises\n------\n"
		"Unsupported\n    There is no way to share this memory; the message says what to do."},
	{"find", memory_find, METH_CLASS | METH_O,
		"find($type, pointer, /)\n--\n\n"
		"The Memory that contains an address, and the offset of the address in it, in bytes.\n\n"
		"Raises\n------\nNotFound\n    No memory of this process contains the address."},
	{"array", KEYWORDS(memory_array), METH_VARARGS | METH_KEYWORDS,
		"array($self, /, shape, dtype, strides=None, offset=0)\n--\n\n"
		"An Array in this memory; as `Array`."},
	{"write", KEYWORDS(memory_write), METH_VARARGS | METH_KEYWORDS,
		"write($self, /, data, offset=0, *, timeout=None, cancel=None)\n--\n\n"
		"Copy bytes in, and wait until every process and device sees them.\n\n"
		"Parameters\n----------\n"
		"data : bytes-like\n    Contiguous.\n"
		"offset : int\n    Bytes from the start of the memory.\n\n"
		"It waits for no stream's earlier work, so that must not use these bytes any more.\n\n"
		"Raises\n------\n"
		"AccessDenied\n    The memory is mapped for reading only.\n"
		"InvalidArgument\n    The bytes do not fit."},
	{"read", KEYWORDS(memory_read), METH_VARARGS | METH_KEYWORDS,
		"read($self, /, offset=0, nbytes=None, *, timeout=None, cancel=None)\n--\n\n"
		"Copy bytes out: `nbytes` of them, None: all from `offset` on. Returns bytes.\n\n"
		"It waits for no stream's earlier work."},
	{"readinto", KEYWORDS(memory_readinto), METH_VARARGS | METH_KEYWORDS,
		"readinto($self, /, buffer, offset=0, *, timeout=None, cancel=None)\n--\n\n"
		"Copy as many bytes out as a writable, contiguous buffer has room for.\n\n"
		"Parameters\n----------\n"
		"buffer : bytes-like\n    Such as a bytearray or an array of NumPy.\n"
		"offset : int\n    Bytes from the start of the memory.\n\n"
		"It waits for no stream's earlier work."},
	{"token", KEYWORDS(memory_token), METH_VARARGS | METH_KEYWORDS,
		"token($self, /, access=None, *, offset=0, nbytes=None, uses=0, escrow=60.0, broker=None, "
		"cancel=None)\n--\n\n"
		"A token: plain bytes by which any process can open this memory, or a span of it.\n\n"
		"Parameters\n----------\n"
		"access : 'read' or 'write'\n    The most that an importer gets. None: as this Memory; 'read' if it\n"
		"    is sealed in its broker.\n"
		"offset, nbytes : int\n    The span, in bytes; nbytes None: to the end.\n"
		"uses : int\n"
		"    How often it can be opened: until then it is in flight, and keeps the memory as long as\n"
		"    this process lives. 0: any number of times; only `escrow` ends its hold.\n"
		"escrow : float or None\n"
		"    Seconds for which the token alone keeps the memory: after the end of this process, but\n"
		"    with uses=0 from now on; None: not at all.\n"
		"broker : Broker, optional\n\n"
		"Returns\n-------\nToken"},
	{"revoke", memory_revoke, METH_NOARGS,
		"revoke($self, /)\n--\n\n"
		"Make all tokens of this memory invalid that exist now.\n\n"
		"A process that has opened it keeps its mapping."},
	{"publish", KEYWORDS(memory_publish), METH_VARARGS | METH_KEYWORDS,
		"publish($self, /, state='sealed', *, broker=None, cancel=None)\n--\n\n"
		"End writing: the object is ready, and every `Broker.get` that waits for it returns.\n\n"
		"Parameters\n----------\n"
		"state : 'sealed' or 'shared'\n    As for `Broker.put`: for reading only, or for writing, too.\n\n"
		"Raises\n------\n"
		"NotFound\n    It is not in the broker; or it lost its name meanwhile, and is ready without one.\n"
		"WrongState\n    It is ready in the other state, or another process holds it for writing.\n"
		"AccessDenied\n    Another process put it."},
	{"send", KEYWORDS(memory_send), METH_VARARGS | METH_KEYWORDS,
		"send($self, /, socket, access=None, *, timeout=None, cancel=None)\n--\n\n"
		"Send the memory over a connected Unix socket, without a broker.\n\n"
		"Parameters\n----------\n"
		"socket : socket.socket or int\n    AF_UNIX, SOCK_SEQPACKET or SOCK_STREAM.\n"
		"access : 'read' or 'write'\n    The most that the receiver gets. None: as this Memory.\n"
		"timeout : float or None\n    Seconds, until the socket has room.\n"
		"cancel : Cancel, optional"},
	{"receive", KEYWORDS(memory_receive), METH_CLASS | METH_VARARGS | METH_KEYWORDS,
		"receive($type, /, socket, access='read', device=None, *, timeout=None, cancel=None)\n--\n\n"
		"The Memory that the other end of a Unix socket sent with `send`.\n\n"
		"Parameters\n----------\n"
		"socket : socket.socket or int\n"
		"access : 'read' or 'write'\n"
		"device : Device or what it takes, optional\n    The device that is to reach the bytes; None: the default one.\n"
		"timeout : float or None\n    Seconds.\n"
		"cancel : Cancel, optional\n\n"
		"Raises\n------\n"
		"AccessDenied\n    It was sent for reading only.\n"
		"PeerLost\n    The other end is closed."},
	{"close", KEYWORDS(memory_close), METH_FASTCALL | METH_KEYWORDS,
		"close($self, /, stream=None)\n--\n\n"
		"Release the memory. May be called twice.\n\n"
		"Parameters\n----------\n"
		"stream : Stream or what it takes, optional\n"
		"    Work enqueued on it so far may still use the memory: a slice of a pool is free when\n"
		"    that work has run; for other memory the call waits for it. None: if other libraries\n"
		"    were given its address, or `pointer` was read, the memory of a GPU is released when all\n"
		"    work has run that this process has given to the GPU until now.\n\n"
		"If buffers of it are used, its bytes stay, and a ResourceWarning says so, as `Array.close`.\n\n"
		"It cannot be used any more. While this process has a thread of multiprocessing that may\n"
		"pickle it later (of a Queue, an executor or a Pool), it can be pickled, and its bytes stay\n"
		"until this object is freed."},
	{"__dlpack__", KEYWORDS(memory_dlpack), METH_FASTCALL | METH_KEYWORDS,
		"__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
		"A capsule with a DLPack tensor of the bytes; as `Array.__dlpack__`."},
	{"__dlpack_device__", memory_dlpack_device, METH_NOARGS,
		"__dlpack_device__($self, /)\n--\n\n(device type, device id) of DLPack."},
	{"__reduce__", memory_reduce, METH_NOARGS, NULL},
	{"__enter__", handle_enter, METH_NOARGS, NULL},
	{"__exit__", memory_exit, METH_VARARGS, NULL},
	{NULL},
};

#define FIELD(name) ((void *)offsetof(struct ww_memory_info, name))

static PyGetSetDef properties[] = {
	{"nbytes", get_number, NULL, "int: usable bytes: what was asked for, rounded up.",
		FIELD(bytes)},
	{"pointer", get_pointer, NULL, "int: the address for the device.", FIELD(pointer)},
	{"host_pointer", get_host_pointer, NULL, "int: the address for the CPU; 0: it has none.",
		FIELD(host_pointer)},
	{"offset", get_number, NULL,
		"int: bytes from the start of the allocation or chunk that this is a span of.",
		FIELD(offset)},
	{"total_bytes", get_number, NULL, "int: bytes of that allocation or chunk.",
		FIELD(total_bytes)},
	{"kind", get_kind, NULL, "str: 'device', 'host', 'legacy' or 'cuda_pool'.", NULL},
	{"access", get_access, NULL, "str: 'read' or 'write'.", NULL},
	{"route", get_route, NULL,
		"str: by which way this process reaches the bytes: 'local', 'peer', 'peer_hidden', 'host' "
		"or 'host_registered'.",
		NULL},
	{"device", get_device, NULL, "Device: the one that this mapping serves.", NULL},
	{"name", get_name, NULL,
		"str or None: the name by which it was got from a broker, or put into one last.",
		NULL},
	{"object_id", get_object_id, NULL, "str: the same in every process that maps the memory.",
		NULL},
	{"broker", get_broker, NULL, "Broker or None: the one that the memory is in.", NULL},
	{"is_slice", get_flag, NULL, "bool: it is a slice of a pool.",
		(void *)(uintptr_t)WW_MEMORY_IS_SLICE},
	{"is_wrapped", get_flag, NULL, "bool: it was allocated by other means, and wrapped here.",
		(void *)(uintptr_t)WW_MEMORY_IS_WRAPPED},
	{"closed", get_closed, NULL, "bool: `close` was called.", NULL},
	{"is_mapped", get_is_mapped, NULL,
		"bool: it came from elsewhere: by a token, a name, a socket or a pickle.", NULL},
	{"is_lazy", get_is_lazy, NULL, "bool: it came by a pickle, and its first use is to map it.",
		NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("Memory(nbytes, device=None, kind='device')\n--\n\n"
		    "A span of memory that processes share.\n\n"
		    "Parameters\n----------\n"
		    "nbytes : int\n    Rounded up to the granularity: 2 MiB; of kind 'host' 4 KiB.\n"
		    "device : Device or what it takes, optional\n"
		    "kind : 'device' or 'host'\n"
		    "    Memory of the device; or of the CPU, which a GPU reads and writes in place.\n\n"
		    "All bytes are zero. The bytes live as long as any process uses them. On the host device,\n"
		    "and for kind 'host', a Memory is a buffer: memoryview(memory) gives its bytes.\n\n"
		    "Raises\n------\n"
		    "OutOfMemory\n    The device or the machine has not that much.")},
	{Py_tp_new, memory_new},
	{Py_tp_dealloc, memory_dealloc},
	{Py_tp_traverse, memory_traverse},
	{Py_tp_clear, memory_clear},
	{Py_tp_repr, memory_repr},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, handle_members},
	{Py_bf_getbuffer, memory_getbuffer},
	{Py_bf_releasebuffer, buffer_release},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Memory",
	.basicsize = sizeof(struct memory_handle),
	.flags = TYPE_FLAGS | Py_TPFLAGS_HAVE_GC,
	.slots = slots,
};

PyTypeObject *memory_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
