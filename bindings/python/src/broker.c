/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.c - warpway.Broker: the type, and the connection
 *
 * A broker that is opened twice is one object of the library, so such instances are equal.
 */
#include "broker.h"

static void *broker_ref(void *object)
{
	return ww_broker_ref(object);
}

static void *broker_unref(void *object)
{
	return ww_broker_unref(object);
}

const struct handle_class broker_class = {"Broker", broker_ref, broker_unref};

static PyObject *address_of(struct core *core, ww_broker *broker)
{
	const char *address = ww_broker_address(broker);

	if (!address)
		return error_raise_text(core, WW_ERR_FORKED,
			"a child made by fork() has no broker of its parent");
	return PyUnicode_DecodeFSDefault(address);
}

PyObject *broker_object(struct core *core, ww_broker *broker)
{
	PyObject *address = address_of(core, broker);
	struct broker_handle *made;

	if (!address) {
		handle_return(&broker_class, broker);
		return NULL;
	}
	made = (struct broker_handle *)handle_new(core->types[CORE_BROKER], &broker_class, broker);
	if (made)
		made->address = address;
	else
		Py_DECREF(address);
	return (PyObject *)made;
}

/* --- what others make with it --- */

bool borrow_broker(struct core *core, PyObject *where, ww_broker **out_broker)
{
	*out_broker = NULL;
	if (where == Py_None)
		return true;
	*out_broker = convert_handle(core, CORE_BROKER, &broker_class, where);
	return *out_broker;
}

bool broker_call_run(struct core *core, wait_fn fn, struct broker_call *call, PyObject *which,
	PyObject *where, PyObject *cancel)
{
	ww_status status = STATUS_RAISED;

	call->device = convert_device(core, which);
	if (!call->device)
		return false;
	if (borrow_broker(core, where, &call->broker))
		status = wait_run(core, fn, call, 0, cancel);
	if (status != WW_OK)
		error_raise(core, status);
	handle_return(&broker_class, call->broker);
	if (status != WW_OK)
		handle_return(&device_class, call->device);
	return status == WW_OK;
}

/* --- opening and closing --- */

struct open_call {
	struct ww_broker_params params;
	ww_broker *broker;
};

static ww_status run_open(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct open_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	return ww_broker_open(&args->params, &args->broker);
}

/* Seconds > 0, or None, which leaves it 0: the library's default. */
static bool convert_limit(PyObject *value, uint64_t *out_ns)
{
	if (value == Py_None)
		return true;
	if (!convert_timeout(value, out_ns))
		return false;
	if (*out_ns > 0)
		return true;
	PyErr_SetString(PyExc_ValueError, "the timeout of a broker is seconds > 0, or None: 5 s");
	return false;
}

static PyObject *broker_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"address", "start", "timeout", NULL};
	struct open_call call = {.params = WW_INIT(struct ww_broker_params)};
	PyObject *address = Py_None, *limit = Py_None, *path = NULL;
	struct core *core = core_of_type(type);
	int is_startable = 1;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$pO:Broker", names, &address,
		    &is_startable, &limit) ||
		!convert_limit(limit, &call.params.timeout_ns))
		return NULL;
	if (address != Py_None && !PyUnicode_FSConverter(address, &path))
		return NULL;
	call.params.flags = is_startable ? 0 : WW_BROKER_NO_START;
	call.params.address = path ? PyBytes_AsString(path) : NULL;
	status = wait_run(core, run_open, &call, 0, NULL);
	Py_XDECREF(path);
	return status == WW_OK ? broker_object(core, call.broker) : error_raise(core, status);
}

static void broker_dealloc(PyObject *self)
{
	PyObject *address = ((struct broker_handle *)self)->address;

	handle_dealloc(self, &broker_class);
	Py_XDECREF(address);
}

static PyObject *broker_close(PyObject *self, PyObject *unused)
{
	(void)unused;
	handle_close(self, &broker_class);
	Py_RETURN_NONE;
}

static PyObject *broker_reduce(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyErr_Format(PyExc_TypeError,
		"a Broker cannot be pickled: send its address, and have the receiver call Broker(address)");
}

REDUCE_NOTED(broker_reduce)

/* --- what it is --- */

static PyObject *get_address(PyObject *self, void *unused)
{
	(void)unused;
	return Py_NewRef(((struct broker_handle *)self)->address);
}

static PyObject *get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(handle_is_closed(self));
}

static PyObject *broker_repr(PyObject *self)
{
	return PyUnicode_FromFormat("<warpway.Broker %U%s>",
		((struct broker_handle *)self)->address, handle_is_closed(self) ? " closed" : "");
}

static PyObject *broker_compare(PyObject *self, PyObject *other, int op)
{
	void *object = ((struct handle *)self)->object;
	bool same;

	if (Py_TYPE(other) != Py_TYPE(self) || (op != Py_EQ && op != Py_NE))
		Py_RETURN_NOTIMPLEMENTED;
	same = self == other || (object && object == ((struct handle *)other)->object);
	return PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t broker_hash(PyObject *self)
{
	return PyObject_Hash(((struct broker_handle *)self)->address);
}

static PyObject *broker_get_async(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return aio_run(self, "get", arguments, keywords);
}

static PyMethodDef methods[] = {
	{"put", KEYWORDS(broker_put), METH_VARARGS | METH_KEYWORDS,
		"put($self, /, name, obj, *, mode=0o600, life=None, state=None, ttl=None, group=None, "
		"replace=False, timeout=0.0, cancel=None)\n--\n\n"
		"Put an object under a name, by which other processes get it.\n\n"
		"A memory may have several names: each further call gives it one, with its own life, time\n"
		"to live and array. `mode`, `group` and `state` have to be those of the first.\n\n"
		"Parameters\n----------\n"
		"name : str or None\n"
		"    Such as 'model/layer0/w'. None: no name; processes open it by tokens.\n"
		"obj : Memory, Array or Timeline\n"
		"    Of an Array its memory is put, with its shape, strides and type. If the array has a ready\n"
		"    point, the call waits for it first, without a limit on time.\n"
		"mode : int\n    Who may: permission bits, as of a file. 0o600: this user alone.\n"
		"life : 'held', 'owner' or 'kept', optional\n"
		"    When the object ends by itself: with its last user, with this process, or not before its\n"
		"    name is removed or `ttl` is over. None: 'held'; for memory that was wrapped 'owner':\n"
		"    the name ends when the Memory does; for a slice of a Pool 'owner', too: see below.\n"
		"state : 'sealed', 'shared' or 'writing', optional\n"
		"    For reading only; for writing, too; or still being written: then `Memory.publish` makes\n"
		"    it ready, and until then no process can get it. A memory that is sealed becomes\n"
		"    read-only in this process, too, if nothing here can write it: no writable view is out, and\n"
		"    no capsule or address was given away. Streams must have ended to write it. None:\n"
		"    'sealed'; for a slice of a Pool 'shared'.\n"
		"ttl : float, optional\n    Seconds to live, of life 'kept'.\n"
		"group : int, optional\n    A group id; None: this process's own.\n"
		"replace : bool\n    The object that has the name loses it, in one step, as by `remove`.\n"
		"timeout : float or None\n    Seconds to wait for room in the quota.\n\n"
		"Of a Timeline only `mode`, `group` and `replace` can be given.\n\n"
		"A slice of a Pool is put by the process that made the pool. Its bytes are not allocated again\n"
		"while it has a name, also if it was closed here. The name ends when that process ends, or\n"
		"has closed the pool and its slices: keep the Pool. Processes that have got the slice keep it.\n"
		"All named slices of a pool have one mode and group, and a process that may get one of them\n"
		"may read the whole pool, and write it if `mode` lets it.\n\n"
		"Raises\n------\n"
		"AlreadyExists\n"
		"    The name is taken, or the memory or pool has names with another mode, group or state.\n"
		"QuotaExceeded\n    The user's share is used up; the message says how much.\n"
		"WrongState\n    To be sealed, while another process holds it for writing.\n"
		"Timeout\n    There was no room within `timeout` seconds."},
	{"get_async", KEYWORDS(broker_get_async), METH_VARARGS | METH_KEYWORDS,
		"get_async($self, /, name, *, access='read', device=None, timeout=0.0, owner=None, "
		"no_slow_route=False, own_mapping=False)\n--\n\n"
		"A coroutine that does what `get` does, in a thread of its own.\n\n"
		"When it is cancelled, the wait ends."},
	{"get", KEYWORDS(broker_get), METH_VARARGS | METH_KEYWORDS,
		"get($self, /, name, *, access='read', device=None, timeout=0.0, owner=None, "
		"no_slow_route=False, own_mapping=False, cancel=None)\n--\n\n"
		"The object of a name: a Memory, Array, Timeline or Barrier.\n\n"
		"Parameters\n----------\n"
		"name : str\n"
		"access : 'read' or 'write'\n    Of memory.\n"
		"device : Device or what it takes, optional\n"
		"    The device that is to reach the bytes; None: the one that holds them.\n"
		"timeout : float or None\n"
		"    Seconds to wait for the name to appear and its object to be ready; None: no limit.\n"
		"owner : int, optional\n    Only memory that the user of this id has put.\n"
		"no_slow_route : bool\n    Refuse memory that the device reaches only by a slow route.\n"
		"own_mapping : bool\n    Map the memory at an address of its own.\n\n"
		"Of a Barrier this process is no member yet; see `Barrier.join`.\n\n"
		"Raises\n------\n"
		"NotFound\n    There is no such name, and `timeout` is 0.\n"
		"Timeout\n    It was not ready within `timeout` seconds.\n"
		"WrongState\n    It is still being written, and `timeout` is 0.\n"
		"AccessDenied\n    Its mode does not allow it, it is sealed, or another user's.\n"
		"PeerLost\n    While waiting: the process that wrote it ended."},
	{"list", KEYWORDS(broker_list), METH_VARARGS | METH_KEYWORDS,
		"list($self, /, prefix='', *, unnamed=False)\n--\n\n"
		"The objects whose names begin with `prefix`, in order of names, as a list of ObjectInfo.\n\n"
		"Parameters\n----------\n"
		"unnamed : bool\n"
		"    Also those without a name, and removed ones; only without a prefix."},
	{"stat", broker_stat, METH_O,
		"stat($self, name, /)\n--\n\nDescribe the object of a name. Returns ObjectInfo.\n\n"
		"Raises\n------\nNotFound\n    There is no such name."},
	{"remove", broker_remove, METH_O,
		"remove($self, name, /)\n--\n\n"
		"Remove a name. An array or memory goes on without it: a process that has it can still send\n"
		"it, tokens and pickles in flight arrive, and it can be put again. Any other object ends.\n\n"
		"Raises\n------\n"
		"NotFound\n    There is no such name.\n"
		"AccessDenied\n    It is another user's."},
	{"end", KEYWORDS(broker_end), METH_VARARGS | METH_KEYWORDS,
		"end($self, /, name=None, *, object_id=None)\n--\n\n"
		"End an object: its name is free, its tokens and pickles in flight end, and no process can get\n"
		"it any more. Processes that hold it keep what they have mapped.\n\n"
		"Parameters\n----------\n"
		"object_id : str\n"
		"    32 hexadecimal digits in lower case, as Memory.object_id: for an object\n"
		"    without a name; with `name`, only if the object has both. Memory.object_id of a slice of a\n"
		"    Pool is the id of a chunk, ObjectInfo.object_id that of the pool: its end is the end of\n"
		"    all slices in it for other processes, and their names open nothing any more.\n\n"
		"Raises\n------\n"
		"NotFound\n    There is no such object.\n"
		"AccessDenied\n    It is another user's.\n"
		"InvalidArgument\n    It is the name of a slice of a Pool: use `remove`.\n"
		"ValueError\n    `object_id` is not 32 hexadecimal digits."},
	{"who", broker_who, METH_NOARGS,
		"who($self, /)\n--\n\n"
		"The processes that are connected or hold something, as a list of ProcessInfo."},
	{"_held_elsewhere", broker_held_elsewhere, METH_NOARGS,
		"_held_elsewhere($self, /)\n--\n\n"
		"The ids of objects that are held by others than their maker, or by a token, as a set."},
	{"in_flight", broker_in_flight, METH_NOARGS,
		"in_flight($self, /)\n--\n\n"
		"The tokens and pickles that keep an object until they are opened, as a list of InFlight."},
	{"watch", KEYWORDS(broker_watch), METH_VARARGS | METH_KEYWORDS,
		"watch($self, /, prefix='', *, existing=False)\n--\n\n"
		"A Watch of the changes of objects whose names begin with `prefix`.\n\n"
		"Parameters\n----------\n"
		"existing : bool\n    Begin with an event 'put' for each object that is there.\n\n"
		"`what` of a WatchEvent is 'put'; 'ready': the object can be got now, in state 'sealed' or\n"
		"'shared'; 'removed', 'expired' or 'gone': it has lost its name or ended; 'lost': its writer\n"
		"ended before it was ready; 'overflow': events were missed; 'replaced', in the place of\n"
		"'removed' and 'put': it got the name of another object, `former_id`, or of another part of\n"
		"itself, and 'ready' follows."},
	{"info", broker_info, METH_NOARGS,
		"info($self, /)\n--\n\nThe state of the broker. Returns BrokerInfo."},
	{"totals", broker_totals, METH_NOARGS,
		"totals($self, /)\n--\n\n"
		"The sums that the broker keeps, as a dict; the request costs the broker next to nothing.\n\n"
		"'broker' is a dict of sums over all users, 'users' a list of one dict for each user with\n"
		"what it uses and its limits (0: none), 'devices' a list of objects and bytes by user, device\n"
		"and kind (`WW_OBJECT_...`), 'requests' a list of how often something was requested, or\n"
		"refused for a reason. The names are those of <warpway/monitor.h>. Root, and the user that\n"
		"the broker runs as, see all users; another user sees itself.\n\n"
		"Raises\n------\nUnsupported\n    The broker is older."},
	{"close", broker_close, METH_NOARGS,
		"close($self, /)\n--\n\n"
		"Release the broker. May be called twice.\n\n"
		"The connection stays open as long as this process has an object of this broker. When it\n"
		"closes, the objects of life 'owner' that this process has put end."},
	{"__reduce__", broker_reduce_noted, METH_NOARGS, NULL},
	{"__enter__", handle_enter, METH_NOARGS, NULL},
	{"__exit__", broker_close, METH_VARARGS, NULL},
	{NULL},
};

static PyGetSetDef properties[] = {
	{"address", get_address, NULL, "str: the path of its socket.", NULL},
	{"closed", get_closed, NULL, "bool: `close` was called.", NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("Broker(address=None, *, start=True, timeout=None)\n--\n\n"
		    "A connection to a broker: the process that keeps objects under names.\n\n"
		    "Parameters\n----------\n"
		    "address : str or path, optional\n"
		    "    The path of its socket. None: as the environment variable WARPWAY_BROKER says, else the\n"
		    "    machine's, else the user's own.\n"
		    "start : bool\n    Start the user's own broker if none runs.\n"
		    "timeout : float, optional\n"
		    "    Seconds for connecting, and for each answer of a call without a limit of its own; None:\n"
		    "    5 seconds.\n\n"
		    "If the broker is restarted, nothing is lost: the next call connects again.\n\n"
		    "Raises\n------\n"
		    "NoBroker\n    None listens there, none could be started, or it did not answer in time.")},
	{Py_tp_new, broker_new},
	{Py_tp_dealloc, broker_dealloc},
	{Py_tp_repr, broker_repr},
	{Py_tp_richcompare, broker_compare},
	{Py_tp_hash, broker_hash},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, handle_members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Broker",
	.basicsize = sizeof(struct broker_handle),
	.flags = TYPE_FLAGS,
	.slots = slots,
};

PyTypeObject *broker_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
