/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.c - what calls tell about objects, processes, brokers and pools, as named tuples
 */
#include "core.h"

static PyStructSequence_Field object_fields[] = {
	{"name", "str: '' if it has none"},
	{"kind",
		"str: 'memory', 'timeline', 'event', 'barrier', 'channel', 'service', 'pool' or 'work-queue'"},
	{"state", "str: 'writing', 'sealed', 'shared' or 'removed'"},
	{"life", "str: 'held', 'owner' or 'kept'; '' if it was not asked for"},
	{"bytes", "int: all bytes that it occupies"},
	{"mode", "int: permission bits"},
	{"uid", "int: the user who owns it"},
	{"gid", "int: its group"},
	{"access", "str: 'read', 'write' or '': what this process may have"},
	{"pid", "int: of the process that put it first, as the broker sees it"},
	{"holders", "int: processes that hold it"},
	{"in_flight", "int: tokens in flight"},
	{"is_own", "bool: this process put it"},
	{"age", "float: seconds since it was put"},
	{"time_left", "float or None: seconds until it expires"},
	{"object_id", "str: 32 hexadecimal digits, the same in every process"},
	{"shape", "tuple of int, or None: of its array"},
	{"dtype", "str or None: of its array"},
	{"is_slice", "bool: a slice of a pool, which then is what `object_id` and `holders` say"},
	{NULL},
};

static PyStructSequence_Field process_fields[] = {
	{"pid", "int: as the broker sees it; 0: it does not"},
	{"uid", "int: its user"},
	{"gid", "int: its group"},
	{"program", "str: as it calls itself"},
	{"attached", "bool: connected now"},
	{"held", "int: objects it holds"},
	{"held_bytes", "int: bytes of these"},
	{"put", "int: objects that it put"},
	{"put_bytes", "int: bytes of these"},
	{"age", "float: seconds since it first connected"},
	{"objects", "tuple of str: ids of the objects it holds"},
	{NULL},
};

static PyStructSequence_Field broker_fields[] = {
	{"address", "str: path of its socket"},
	{"version", "str: of the program"},
	{"pid", "int: of the broker process"},
	{"supervisor_pid", "int: of the process that restarts it"},
	{"uid", "int: the user it runs as"},
	{"restarts", "int: since the supervisor began"},
	{"objects", "int: of all users"},
	{"holders", "int: processes that are connected or hold something"},
	{"holds", "int: pairs of a process and an object, tokens in flight included"},
	{"bytes", "int: of all objects"},
	{"descriptors", "int: held for objects"},
	{"memory_bytes", "int: resident memory of the broker process"},
	{"age", "float: seconds since the supervisor began"},
	{"waits", "int: calls of all processes that wait for a name, or for room"},
	{NULL},
};

static PyStructSequence_Field pool_fields[] = {
	{"bytes_max", "int or None: the limit"},
	{"chunk_bytes", "int: of a usual chunk"},
	{"bytes_reserved", "int: of all chunks"},
	{"bytes_used", "int: of slices that this process has, alignment included"},
	{"bytes_waiting", "int: of released slices that a stream, a token or a process still uses"},
	{"bytes_free", "int: reserved and free"},
	{"bytes_largest", "int: of the largest slice that fits without a new chunk"},
	{"bytes_peak", "int: most that was ever used and waiting together"},
	{"allocations", "int: that ever succeeded"},
	{"chunk_count", "int"},
	{"slice_count", "int: slices that this process has"},
	{"waiting_count", "int: slices that wait"},
	{"slices_max", "int: the limit"},
	{"holder_count", "int: other processes that use slices"},
	{NULL},
};

static PyStructSequence_Field holder_fields[] = {
	{"pid", "int: as the broker says, in its pid namespace"},
	{"uid", "int: its user, as the broker says"},
	{"program", "str: as it calls itself"},
	{"slice_count", "int: slices that it uses"},
	{"slice_bytes", "int: bytes of these"},
	{"is_lost", "bool: it has ended, or lost its broker"},
	{NULL},
};

static PyStructSequence_Field event_fields[] = {
	{"what",
		"str: 'put', 'ready', 'removed', 'expired', 'gone', 'lost', 'overflow' or "
		"'replaced'"},
	{"object", "ObjectInfo or None: as it was then; None for 'overflow'"},
	{"former_id", "str or None: for 'replaced', the id of the object that had the name"},
	{NULL},
};

static PyStructSequence_Field flight_fields[] = {
	{"object_id", "str: of the object that the token names"},
	{"bytes", "int: all bytes that the object occupies"},
	{"access", "str: 'read' or 'write': what the token grants"},
	{"age", "float: seconds since the token was made"},
	{"time_left",
		"float or None: seconds for which it keeps the object; None: its sender lives"},
	{"uses", "int: how often it can be received yet; 0: any number of times"},
	{"number", "int: of the delivery in its broker, or of the slice; 0: it counts nothing"},
	{"is_slice", "bool: of a pool of this process; object_id is the pool's then"},
	{"is_own", "bool: this process sent it"},
	{"broker_id", "str: of the broker; '' in what Broker.in_flight() lists"},
	{NULL},
};

static PyStructSequence_Field consumer_fields[] = {
	{"number", "int: for `Channel.evict`; a later consumer may have it again"},
	{"pid", "int: of its process, as the broker sees it"},
	{"uid", "int: its user"},
	{"program", "str: as it calls itself"},
	{"held", "int: frames that it uses, or whose release is not complete"},
	{"next", "int: number of the frame that it receives next; 0: it is joining"},
	{"dropped", "int: frames that were gone before it received them, as `Channel.dropped`"},
	{"waited", "float: seconds that the producer has waited for it by now"},
	{"is_asleep", "bool: it sleeps until a frame comes"},
	{"is_evicted", "bool: it was evicted, and has not left yet"},
	{"is_waited_for", "bool: the producer waits for it to release a frame"},
	{NULL},
};

static PyStructSequence_Field channel_event_fields[] = {
	{"what",
		"str: of a consumer 'joined', 'left', 'ended', 'evicted' or 'waited' (the producer waits for "
		"it); of the producer 'late' (a deadline passed without a frame), 'closed' or 'lost'; "
		"'reattached' (this side goes on with another producer)"},
	{"number", "int or None: of the consumer; None: the event is of the producer"},
	{"pid", "int: of its process"},
	{"uid", "int: its user"},
	{"program", "str: as it calls itself"},
	{"frame", "int: number of the last frame published then; 0: none"},
	{"time_ns", "int: when this side noticed it, as `time.monotonic_ns` counts"},
	{"waited", "float: seconds, of 'waited', 'evicted' and 'late'"},
	{"missed", "int: events before this one that were not asked for in time"},
	{"generation", "int: which producer it is of, as of a Frame"},
	{NULL},
};

static PyStructSequence_Field service_fields[] = {
	{"state",
		"str: 'starting', 'ready', 'draining', 'stopped' (the server has closed it) or 'lost' (the "
		"server's process has ended)"},
	{"functions", "int: how many are offered"},
	{"clients", "int: that the server knows"},
	{"clients_max", "int: at one time"},
	{"calls_max", "int: of one client, that have not ended"},
	{"arguments_bytes", "int: room for arguments of one client's calls"},
	{"results_bytes", "int: the same for results"},
	{"pid", "int: of the server, as it sees itself"},
	{"uid", "int: of the server"},
	{"calls", "int: that the server has taken"},
	{"age", "float: seconds since the service was made"},
	{"version", "str: as the server's program calls it"},
	{"program", "str: the server's name"},
	{NULL},
};

static PyStructSequence_Field function_fields[] = {
	{"name", "str"},
	{"signature", "str: in canonical form"},
	{"calls", "int: that ended, however"},
	{"failed", "int: of these, by an error"},
	{"not_started", "int: of these, that ended before the function ran"},
	{"run_time", "float: seconds of all runs together"},
	{"is_idempotent", "bool: to repeat a call does no harm"},
	{"enqueues", "bool: it touches arrays only by work on its stream"},
	{"latency",
		"tuple of int: runs by their length: from 2**i to 1.5 * 2**i ns in entry 2 * i, up to "
		"2**(i + 1) in entry 2 * i + 1"},
	{"batches", "int: how often it was called for several calls at once"},
	{"batch", "int: most calls that it runs at once; 0: it runs each alone"},
	{NULL},
};

struct info_type {
	enum core_type type;
	PyStructSequence_Desc description;
};

static const struct info_type types[] = {
	{CORE_OBJECT_INFO, {"warpway.ObjectInfo", "An object in a broker.", object_fields, 19}},
	{CORE_PROCESS_INFO,
		{"warpway.ProcessInfo",
			"A process that is connected to a broker, or holds something.",
			process_fields, 11}},
	{CORE_BROKER_INFO, {"warpway.BrokerInfo", "The state of a broker.", broker_fields, 14}},
	{CORE_POOL_INFO, {"warpway.PoolInfo", "The state of a pool.", pool_fields, 14}},
	{CORE_POOL_HOLDER,
		{"warpway.PoolHolder", "A process that has imported slices of a pool.",
			holder_fields, 6}},
	{CORE_WATCH_EVENT, {"warpway.WatchEvent", "A change in a broker.", event_fields, 2}},
	{CORE_IN_FLIGHT,
		{"warpway.InFlight", "A token or pickle that keeps an object until it is opened.",
			flight_fields, 10}},
	{CORE_CHANNEL_CONSUMER,
		{"warpway.ChannelConsumer", "A consumer of a channel, as it shows itself.",
			consumer_fields, 11}},
	{CORE_CHANNEL_EVENT,
		{"warpway.ChannelEvent", "What has happened to a channel.", channel_event_fields,
			10}},
	{CORE_SERVICE_INFO, {"warpway.ServiceInfo", "The state of a service.", service_fields, 13}},
	{CORE_FUNCTION_INFO,
		{"warpway.FunctionInfo", "A function of a service, and what became of its calls.",
			function_fields, 11}},
};

int info_types_make(struct core *core)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		PyStructSequence_Desc description = types[i].description;
		PyTypeObject *type = PyStructSequence_NewType(&description);

		core->types[types[i].type] = type;
		if (!type ||
			PyModule_AddObjectRef(core->module, strchr(description.name, '.') + 1,
				(PyObject *)type) < 0)
			return -1;
	}
	return 0;
}

PyObject *info_object(struct core *core, enum core_type type, PyObject *const values[])
{
	PyObject *info = PyStructSequence_New(core->types[type]);
	bool complete = info;
	Py_ssize_t i;

	for (i = 0; values[i] != INFO_END; i++) {
		if (!values[i])
			complete = false;
		if (info)
			PyStructSequence_SetItem(info, i, values[i]);
		else
			Py_XDECREF(values[i]);
	}
	if (!complete)
		Py_CLEAR(info);
	return info;
}

PyObject *info_word(uint32_t value, const char *const words[], uint32_t count)
{
	return PyUnicode_FromString(value < count ? words[value] : "");
}

PyObject *info_seconds(uint64_t ns)
{
	return PyFloat_FromDouble((double)ns / 1e9);
}

PyObject *info_id(const uint8_t id[WW_OBJECT_ID_BYTES])
{
	char text[2 * WW_OBJECT_ID_BYTES + 1];

	for (size_t i = 0; i < WW_OBJECT_ID_BYTES; i++)
		snprintf(text + i * 2, 3, "%02x", id[i]);
	return PyUnicode_FromString(text);
}

static int hex_digit(char character)
{
	const char *digits = "0123456789abcdef";
	const char *found = character ? strchr(digits, character) : NULL;

	return found ? (int)(found - digits) : -1;
}

bool id_read(PyObject *text, uint8_t id[WW_OBJECT_ID_BYTES])
{
	PyObject *bytes = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8String(text) : NULL;
	const char *digits = bytes ? PyBytes_AsString(bytes) : "";
	bool is_id = bytes && PyBytes_Size(bytes) == 2 * (Py_ssize_t)WW_OBJECT_ID_BYTES;

	for (size_t i = 0; is_id && i < WW_OBJECT_ID_BYTES; i++) {
		int high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);

		is_id = high >= 0 && low >= 0;
		id[i] = is_id ? (uint8_t)(high * 16 + low) : 0;
	}
	Py_XDECREF(bytes);
	if (!is_id && !PyErr_Occurred())
		PyErr_Format(PyExc_ValueError,
			"an object id is a str of 32 hexadecimal digits in lower case, as Memory.object_id, not %R",
			text ? text : Py_None);
	return is_id;
}

/* Names come from other processes: the broker has checked that they are UTF-8. */
PyObject *info_text(const char *text)
{
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *info_u32(const void *info, const void *offset)
{
	uint32_t number;

	memcpy(&number, (const char *)info + (size_t)offset, sizeof(number));
	return PyLong_FromUnsignedLong(number);
}

PyObject *info_u64(const void *info, const void *offset)
{
	uint64_t number;

	memcpy(&number, (const char *)info + (size_t)offset, sizeof(number));
	return PyLong_FromUnsignedLongLong(number);
}

PyObject *info_dtype(const struct ww_dtype *dtype)
{
	char name[WW_DTYPE_NAME_BYTES];

	if (ww_dtype_name(dtype, name) != WW_OK)
		snprintf(name, sizeof(name), "unknown");
	return PyUnicode_FromString(name);
}

PyObject *info_numbers(const int64_t *numbers, uint32_t count)
{
	PyObject *tuple = PyTuple_New(count);

	for (uint32_t i = 0; tuple && i < count; i++) {
		PyObject *number = PyLong_FromLongLong(numbers[i]);

		if (!number)
			Py_CLEAR(tuple);
		else
			PyTuple_SetItem(tuple, i, number);
	}
	return tuple;
}

PyObject *object_info_object(struct core *core, const struct ww_object_info *info)
{
	static const char *const kinds[] = {"", "memory", "timeline", "event", "barrier", "channel",
		"service", "pool", "work-queue"};
	static const char *const states[] = {"", "writing", "sealed", "shared", "removed"};
	static const char *const lives[] = {"", "held", "owner", "kept"};
	static const char *const accesses[] = {"", "read", "write"};
	PyObject *const values[] = {
		info_text(info->name),
		info_word(info->kind, kinds, 9),
		info_word(info->state, states, 5),
		info_word(info->life, lives, 4),
		PyLong_FromUnsignedLongLong(info->bytes),
		PyLong_FromUnsignedLong(info->mode),
		PyLong_FromUnsignedLong(info->uid),
		PyLong_FromUnsignedLong(info->gid),
		info_word(info->access, accesses, 3),
		PyLong_FromUnsignedLong(info->pid),
		PyLong_FromUnsignedLong(info->holders),
		PyLong_FromUnsignedLong(info->escrows),
		PyBool_FromLong(info->is_own),
		info_seconds(info->age_ns),
		info->left_ns == WW_FOREVER ? Py_NewRef(Py_None) : info_seconds(info->left_ns),
		info_id(info->object_id),
		info->has_array ? info_numbers(info->array.shape, info->array.ndim)
				: Py_NewRef(Py_None),
		info->has_array ? info_dtype(&info->array.dtype) : Py_NewRef(Py_None),
		PyBool_FromLong(info->is_slice),
		INFO_END,
	};

	return info_object(core, CORE_OBJECT_INFO, values);
}
