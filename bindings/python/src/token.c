/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.c - warpway.Token; token_pickle.c has pickles
 */
#include "token.h"

#include "array.h"
#include "barrier.h"
#include "channel.h"
#include "client.h"
#include "memory.h"
#include "ready_point.h"
#include "received.h"
#include "work_queue.h"

static void *hold_ref(void *object)
{
	return ww_object_ref(object);
}

static void *hold_unref(void *object)
{
	return ww_object_unref(object);
}

const struct handle_class hold_class = {"hold of an object", hold_ref, hold_unref};

struct token_instance {
	PyObject_HEAD
	PyObject *weakrefs;
	struct ww_token token;
	struct sent sent;
	struct ready_point ready; /* of the array that it names, in the process that made it */
};

PyObject *token_object(struct core *core, const struct ww_token *token)
{
	struct token_instance *made = (struct token_instance *)
		PyType_GenericAlloc(core->types[CORE_TOKEN], 0);

	if (made)
		made->token = *token;
	return (PyObject *)made;
}

PyObject *token_object_sent(struct core *core, const struct ww_token *token,
	const struct sent *sent)
{
	PyObject *made = token_object(core, token);

	if (made)
		((struct token_instance *)made)->sent = *sent;
	return made;
}

void token_set_ready(PyObject *self, const struct ready_point *point)
{
	struct token_instance *instance = (struct token_instance *)self;

	instance->ready = *point;
	Py_XINCREF(point->timeline);
}

void token_deliver(struct ww_export_params *params)
{
	if (params->uses > 0 && params->escrow_ns != WW_ESCROW_NONE)
		params->flags = WW_EXPORT_DELIVERY;
}

const struct ww_token *token_of(struct core *core, PyObject *value)
{
	if (Py_TYPE(value) == core->types[CORE_TOKEN])
		return &((struct token_instance *)value)->token;
	PyErr_Format(PyExc_TypeError, "this argument is a warpway.Token, not %R", value);
	return NULL;
}

bool token_info(struct core *core, const struct ww_token *token, struct ww_token_info *info)
{
	ww_status status;

	*info = WW_INIT(struct ww_token_info);
	status = ww_token_info_get(token, info);
	if (status != WW_OK)
		error_raise(core, status);
	return status == WW_OK;
}

int convert_escrow(PyObject *value, void *out_ns)
{
	uint64_t *ns = out_ns;

	if (value == Py_None) {
		*ns = WW_ESCROW_NONE;
		return 1;
	}
	if (!convert_timeout(value, ns))
		return 0;
	if (*ns == 0)
		*ns = 1; /* 0 means the default to the library */
	return 1;
}

int convert_uses(PyObject *value, void *out_uses)
{
	long long uses = PyLong_AsLongLong(value);

	if (uses == -1 && PyErr_Occurred())
		return 0;
	if (uses < 0 || uses > UINT32_MAX) {
		PyErr_Format(PyExc_ValueError, "uses is 0 to 2**32 - 1, not %R", value);
		return 0;
	}
	*(uint32_t *)out_uses = (uint32_t)uses;
	return 1;
}

/* --- opening what it names --- */

bool read_name_or_token(struct core *core, PyObject *value, const char **out_name,
	const struct ww_token **out_token, PyObject **out_text)
{
	char *name;

	*out_text = NULL;
	if (!PyUnicode_Check(value)) {
		*out_token = token_of(core, value);
		return *out_token;
	}
	*out_text = text_bytes(value, &name);
	*out_name = name;
	return *out_text;
}

/* NULL without an exception. Opening a GPU may load its driver. */
static ww_device *open_quietly(const char *name)
{
	ww_device *device;

	Py_BEGIN_ALLOW_THREADS(void)
	ww_device_open(name, &device);
	Py_END_ALLOW_THREADS
	if (device)
		device_keep(device);
	return device;
}

static void name_gpu(struct home_name *home)
{
	int length = snprintf(home->name, sizeof(home->name), "cuda:GPU-");

	for (int i = 0; i < WW_DEVICE_UUID_BYTES; i++)
		length += snprintf(home->name + length, sizeof(home->name) - (size_t)length,
			"%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", home->uuid[i]);
}

/* The name for ww_device_open(). Return: false: the host device cannot be opened. */
static bool home_name_find(struct home_name *home, const uint8_t uuid[WW_DEVICE_UUID_BYTES])
{
	struct ww_device_info host = WW_INIT(struct ww_device_info);
	ww_device *device = open_quietly("host");
	ww_status status;

	if (!device)
		return false;
	status = ww_device_info_get(device, &host);
	handle_return(&device_class, device);
	memcpy(home->uuid, uuid, sizeof(home->uuid));
	if (status == WW_OK && !memcmp(host.uuid, uuid, sizeof(host.uuid)))
		snprintf(home->name, sizeof(home->name), "host");
	else
		name_gpu(home);
	return true;
}

/*
 * The device that holds the bytes; one that this process does not see: the default device. What is
 * received one after the other is usually on the same one, so its name is kept.
 */
static ww_device *home_device(struct core *core, const uint8_t uuid[WW_DEVICE_UUID_BYTES])
{
	struct home_name home = core->home;
	ww_device *device;

	if ((!home.name[0] || memcmp(home.uuid, uuid, sizeof(home.uuid)) != 0) &&
		!home_name_find(&home, uuid))
		return convert_device(core, Py_None);
	core->home = home;
	device = open_quietly(home.name);
	return device ? device : convert_device(core, Py_None);
}

ww_device *token_device(struct core *core, const uint8_t home_uuid[WW_DEVICE_UUID_BYTES],
	PyObject *which)
{
	return which && which != Py_None ? convert_device(core, which)
					 : home_device(core, home_uuid);
}

struct import_call {
	ww_device *device;
	const struct ww_token *token;
	struct ww_import_params params;
	bool may_read; /* instead, if the memory was sealed: no access was asked for */
	ww_memory *memory;
};

static ww_status run_import(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct import_call *args = call;
	ww_status status = ww_memory_import(args->device, NULL, args->token, &args->params, cancel,
		&args->memory, NULL);

	(void)timeout_ns;
	if (status != WW_ERR_ACCESS || !args->may_read || args->params.access == WW_ACCESS_READ)
		return status;
	args->params.access = WW_ACCESS_READ;
	return ww_memory_import(args->device, NULL, args->token, &args->params, cancel,
		&args->memory, NULL);
}

ww_memory *token_map(struct core *core, const struct ww_token *token, PyObject *which,
	uint32_t access)
{
	struct import_call call = {.token = token, .params = WW_INIT(struct ww_import_params)};
	struct ww_token_info info;
	ww_status status;

	if (!token_info(core, token, &info))
		return NULL;
	call.params.access = access ? access : info.access;
	call.may_read = !access;
	call.device = token_device(core, info.home_uuid, which);
	if (!call.device)
		return NULL;
	status = wait_brief(core, run_import, &call, NULL);
	handle_return(&device_class, call.device);
	if (status == WW_OK)
		return call.memory;
	error_raise(core, status);
	return NULL;
}

static bool is_home_used(const struct core *core, const struct ww_token_info *info)
{
	return core->home.name[0] &&
		!memcmp(core->home.uuid, info->home_uuid, sizeof(core->home.uuid));
}

ww_device *token_used_device(const struct core *core, const struct ww_token_info *info)
{
	return is_home_used(core, info) ? open_quietly(core->home.name) : NULL;
}

ww_memory *token_map_at_once(const struct core *core, const struct ww_token *token,
	const struct ww_token_info *info)
{
	struct import_call call = {.token = token, .params = WW_INIT(struct ww_import_params)};
	ww_status status;

	if (!(info->flags & WW_TOKEN_SLICE) || !is_home_used(core, info))
		return NULL;
	call.params.access = info->access;
	Py_BEGIN_ALLOW_THREADS
	status = ww_device_open(core->home.name, &call.device);
	if (status == WW_OK)
		status = run_import(&call, 0, ww_cancel_nowait());
	ww_device_unref(call.device);
	Py_END_ALLOW_THREADS
	return status == WW_OK ? call.memory : NULL;
}

struct sync_import_call {
	const struct ww_token *token;
	ww_device *device;
	ww_timeline *timeline;
	ww_event *event;
};

static ww_status run_import_timeline(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct sync_import_call *args = call;

	(void)timeout_ns;
	return ww_timeline_import(NULL, args->token, cancel, &args->timeline);
}

static ww_status run_import_event(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct sync_import_call *args = call;

	(void)timeout_ns;
	return ww_event_import(args->device, NULL, args->token, cancel, &args->event);
}

ww_status token_timeline(struct core *core, const struct ww_token *token,
	ww_timeline **out_timeline)
{
	struct sync_import_call call = {.token = token};
	ww_status status = wait_brief(core, run_import_timeline, &call, NULL);

	*out_timeline = call.timeline;
	return status;
}

PyObject *token_open_timeline(struct core *core, const struct ww_token *token)
{
	ww_timeline *timeline;
	ww_status status = token_timeline(core, token, &timeline);

	return status == WW_OK ? timeline_object(core, timeline) : error_raise(core, status);
}

static PyObject *open_event(struct core *core, const struct ww_token *token, PyObject *which)
{
	struct sync_import_call call = {.token = token};
	ww_status status;

	call.device = convert_device(core, which);
	if (!call.device)
		return NULL;
	status = wait_run(core, run_import_event, &call, 0, NULL);
	handle_return(&device_class, call.device);
	return status == WW_OK ? event_object(core, call.event) : error_raise(core, status);
}

/* Its chunks are mapped now. */
static PyObject *open_pool(struct core *core, const struct ww_token *token,
	const struct ww_token_info *info, PyObject *which)
{
	ww_device *device = token_device(core, info->home_uuid, which);
	ww_pool *pool;
	ww_status status;

	if (!device)
		return NULL;
	status = pool_import(token, device, &pool);
	handle_return(&device_class, device);
	return status == WW_OK ? pool_object(pool, info) : error_raise(core, status);
}

PyObject *token_fail_kind(struct core *core)
{
	return error_raise_text(core, WW_ERR_UNSUPPORTED,
		"a token of this kind of object cannot be opened from Python");
}

static PyObject *open_memory(struct core *core, const struct token_instance *instance,
	const struct ww_token_info *info, PyObject *which, uint32_t access)
{
	PyObject *memory, *array;
	ww_memory *mapped;

	/* In a child made by fork() nobody can wait for the bytes: the token keeps its use. */
	if (ready_point_query(&instance->ready) == WW_ERR_FORKED)
		return error_raise(core, WW_ERR_FORKED);
	mapped = token_map(core, &instance->token, which, access);
	memory = mapped ? memory_object_imported(core, mapped) : NULL;
	if (!memory || !info->has_array)
		return memory;
	array = array_object(core, memory, &info->array);
	Py_DECREF(memory);
	if (array && instance->ready.timeline)
		array_set_ready(array, Py_NewRef(instance->ready.timeline), instance->ready.value);
	return array;
}

static PyObject *token_open(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"access", "device", NULL};
	const struct ww_token *token = &((struct token_instance *)self)->token;
	PyObject *which = Py_None, *limit = Py_None;
	struct core *core = core_of(self);
	struct ww_token_info info;
	uint32_t access = 0;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO:open", names, &limit, &which) ||
		(limit != Py_None && !convert_access(limit, &access)) ||
		!token_info(core, token, &info))
		return NULL;
	switch (info.flags & WW_TOKEN_SLICE ? WW_OBJECT_MEMORY : info.kind) {
	case WW_OBJECT_MEMORY:
		return open_memory(core, (struct token_instance *)self, &info, which, access);
	case WW_OBJECT_TIMELINE:
		return token_open_timeline(core, token);
	case WW_OBJECT_EVENT:
		return open_event(core, token, which);
	case WW_OBJECT_BARRIER:
		return barrier_object(core, token);
	case WW_OBJECT_POOL:
		return open_pool(core, token, &info, which);
	case WW_OBJECT_CHANNEL:
		return channel_open_token(core, token, which);
	case WW_OBJECT_WORK_QUEUE:
		return work_queue_open_token(core, token, which);
	case WW_OBJECT_SERVICE:
		return client_open_token(core, token);
	default:
		return token_fail_kind(core);
	}
}

/* --- the type --- */

static PyObject *token_from(PyTypeObject *type, PyObject *value)
{
	struct core *core = core_of_type(type);
	struct ww_token_info info;
	struct ww_token token;
	Py_buffer buffer;

	if (PyUnicode_Check(value)) {
		PyObject *text = PyUnicode_AsUTF8String(value);
		ww_status status;

		if (!text)
			return NULL;
		status = ww_token_from_text(PyBytes_AsString(text), &token);
		if (status == WW_OK &&
			PyBytes_Size(text) != (Py_ssize_t)strlen(PyBytes_AsString(text)))
			status = WW_ERR_PROTOCOL; /* more after a zero */
		Py_DECREF(text);
		return status == WW_OK ? token_object(core, &token) : error_raise(core, status);
	}
	if (PyObject_GetBuffer(value, &buffer, PyBUF_SIMPLE) < 0)
		return NULL;
	memset(&token, 0, sizeof(token));
	if (buffer.len <= (Py_ssize_t)sizeof(token.bytes))
		memcpy(token.bytes, buffer.buf, (size_t)buffer.len);
	PyBuffer_Release(&buffer);
	return token_info(core, &token, &info) ? token_object(core, &token) : NULL;
}

static PyObject *token_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"data", NULL};
	PyObject *data;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:Token", names, &data))
		return NULL;
	return token_from(type, data);
}

static void token_dealloc(PyObject *self)
{
	struct token_instance *instance = (struct token_instance *)self;

	if (instance->weakrefs)
		PyObject_ClearWeakRefs(self);
	Py_XDECREF(instance->ready.timeline);
	instance_free(self);
}

static PyObject *token_from_bytes(PyObject *type, PyObject *data)
{
	return token_from((PyTypeObject *)type, data);
}

static PyObject *token_bytes(PyObject *self)
{
	return PyBytes_FromStringAndSize((char *)((struct token_instance *)self)->token.bytes,
		WW_TOKEN_BYTES);
}

/* The bytes of a token have no room for a ready point: what they name is ready. */
static ww_status wait_ready(PyObject *self)
{
	const struct token_instance *instance = (struct token_instance *)self;

	return ready_point_wait(core_of(self), &instance->ready, NULL, WW_FOREVER, NULL);
}

static PyObject *token_to_bytes(PyObject *self, PyObject *unused)
{
	ww_status status = wait_ready(self);

	(void)unused;
	return status == WW_OK ? token_bytes(self) : error_raise(core_of(self), status);
}

static PyObject *get_text(PyObject *self, void *unused)
{
	char text[WW_TOKEN_TEXT_BYTES];
	ww_status status = wait_ready(self);

	(void)unused;
	if (status == WW_OK)
		status = ww_token_to_text(&((struct token_instance *)self)->token, text);
	return status == WW_OK ? PyUnicode_FromString(text) : error_raise(core_of(self), status);
}

static PyObject *token_reduce(PyObject *self, PyObject *unused)
{
	const struct token_instance *instance = (struct token_instance *)self;

	(void)unused;
	return token_pickle_ready(core_of(self), &instance->token, &instance->ready,
		&instance->sent);
}

REDUCE_NOTED(token_reduce)

static PyObject *token_compare(PyObject *self, PyObject *other, int op)
{
	bool same;

	if (Py_TYPE(other) != Py_TYPE(self) || (op != Py_EQ && op != Py_NE))
		Py_RETURN_NOTIMPLEMENTED;
	same = !memcmp(&((struct token_instance *)self)->token,
		&((struct token_instance *)other)->token, sizeof(struct ww_token));
	return PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t token_hash(PyObject *self)
{
	PyObject *bytes = token_bytes(self);
	Py_hash_t hash = bytes ? PyObject_Hash(bytes) : -1;

	Py_XDECREF(bytes);
	return hash;
}

static const char *const token_kinds[] = {"", "memory", "timeline", "event", "barrier", "channel",
	"service", "pool", "work-queue"};

static bool own_info(PyObject *self, struct ww_token_info *info)
{
	return token_info(core_of(self), &((struct token_instance *)self)->token, info);
}

static uint32_t named_kind(const struct ww_token_info *info)
{
	return info->flags & WW_TOKEN_SLICE ? WW_OBJECT_MEMORY : info->kind;
}

/* "shape=(3, 4) dtype=float32, ", or nothing. */
static PyObject *array_text(const struct ww_token_info *info)
{
	PyObject *shape, *dtype, *text = NULL;

	if (!info->has_array)
		return PyUnicode_FromString("");
	shape = info_numbers(info->array.shape, info->array.ndim);
	dtype = info_dtype(&info->array.dtype);
	if (shape && dtype)
		text = PyUnicode_FromFormat("shape=%S dtype=%S, ", shape, dtype);
	Py_XDECREF(shape);
	Py_XDECREF(dtype);
	return text;
}

/* Does not show the secret. */
static PyObject *token_repr(PyObject *self)
{
	struct ww_token_info info;
	PyObject *array, *text;

	array = own_info(self, &info) ? array_text(&info) : NULL;
	if (!array)
		return NULL;
	text = PyUnicode_FromFormat("<warpway.Token %s, %U%s, %llu bytes, broker %s>",
		named_kind(&info) < 9 ? token_kinds[named_kind(&info)] : "?", array,
		info.access == WW_ACCESS_WRITE ? "write" : "read", (unsigned long long)info.bytes,
		info.address);
	Py_DECREF(array);
	return text;
}

static PyObject *get_kind(PyObject *self, void *unused)
{
	struct ww_token_info info;

	(void)unused;
	return own_info(self, &info) ? info_word(named_kind(&info), token_kinds, 9) : NULL;
}

static PyObject *get_access(PyObject *self, void *unused)
{
	static const char *const words[] = {"", "read", "write"};
	struct ww_token_info info;

	(void)unused;
	return own_info(self, &info) ? info_word(info.access, words, 3) : NULL;
}

static PyObject *get_bytes(PyObject *self, void *unused)
{
	struct ww_token_info info;

	(void)unused;
	return own_info(self, &info) ? PyLong_FromUnsignedLongLong(info.bytes) : NULL;
}

static PyObject *get_shape(PyObject *self, void *unused)
{
	struct ww_token_info info;

	(void)unused;
	if (!own_info(self, &info))
		return NULL;
	return info.has_array ? info_numbers(info.array.shape, info.array.ndim)
			      : Py_NewRef(Py_None);
}

static PyObject *get_dtype(PyObject *self, void *unused)
{
	struct ww_token_info info;

	(void)unused;
	if (!own_info(self, &info))
		return NULL;
	return info.has_array ? info_dtype(&info.array.dtype) : Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
	{"open", KEYWORDS(token_open), METH_VARARGS | METH_KEYWORDS,
		"open($self, /, access=None, device=None)\n--\n\n"
		"What the token names: a Memory, Array, Timeline, Event, Barrier, Pool, a Channel or WorkQueue\n"
		"of which this process is a consumer then, or a Client of a service.\n\n"
		"Parameters\n----------\n"
		"access : 'read' or 'write'\n"
		"    Of memory; None: what the token grants, and 'read' once the memory is sealed.\n"
		"device : Device or what it takes, optional\n"
		"    The device that is to reach the bytes; None: the one that holds them.\n\n"
		"Raises\n------\n"
		"NotFound\n    The object has ended.\n"
		"AccessDenied\n    For writing, of a token for reading or of sealed memory; or it was revoked."},
	{"to_bytes", token_to_bytes, METH_NOARGS,
		"to_bytes($self, /)\n--\n\n"
		"The token as 512 bytes, to be sent by any means. Keep them as secret as a password.\n\n"
		"They say nothing of a ready point: if the array has one, the call waits for it.\n\n"
		"Between processes that do not trust each other send these bytes, and no pickle: reading a\n"
		"pickle runs code of its sender."},
	{"from_bytes", token_from_bytes, METH_CLASS | METH_O,
		"from_bytes($type, data, /)\n--\n\n"
		"The token of bytes that may come from anywhere; or of its text.\n\n"
		"Raises\n------\nProtocolError\n    These bytes are no token, or damaged."},
	{"__reduce__", token_reduce_noted, METH_NOARGS, NULL},
	{NULL},
};

static PyGetSetDef properties[] = {
	{"text", get_text, NULL,
		"str: the token in characters that are safe in a command line, a file or JSON; as secret as "
		"`to_bytes`.",
		NULL},
	{"kind", get_kind, NULL,
		"str: 'memory', 'timeline', 'event', 'barrier', 'pool', 'channel' or 'work-queue'.",
		NULL},
	{"access", get_access, NULL, "str: 'read' or 'write', the most that it grants.", NULL},
	{"nbytes", get_bytes, NULL, "int: bytes of the span.", NULL},
	{"shape", get_shape, NULL, "tuple of int, or None: of the array in it.", NULL},
	{"dtype", get_dtype, NULL, "str or None: of the array in it.", NULL},
	{NULL},
};

static PyMemberDef members[] = {
	{"__weaklistoffset__", T_PYSSIZET, offsetof(struct token_instance, weakrefs), READONLY,
		NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("Token(data)\n--\n\n"
		    "Plain bytes that name an object to any process, and contain a secret.\n\n"
		    "Parameters\n----------\n"
		    "data : bytes-like or str\n    What `to_bytes` or `text` gave.\n\n"
		    "A process that has the token has the access that it was made for. A pickled Token arrives\n"
		    "as the object that it names.")},
	{Py_tp_new, token_new},
	{Py_tp_dealloc, token_dealloc},
	{Py_tp_repr, token_repr},
	{Py_tp_richcompare, token_compare},
	{Py_tp_hash, token_hash},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Token",
	.basicsize = sizeof(struct token_instance),
	.flags = TYPE_FLAGS,
	.slots = slots,
};

PyTypeObject *token_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
