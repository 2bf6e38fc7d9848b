/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.c - warpway.WorkQueue: frames from several producers, each for one of the consumers
 *
 * WorkQueue(...) makes a queue and opens it, as a producer unless another role is given; get(), a
 * token and a pickle open it (work_queue_open.c). Frames are taken by the calls of a Channel.
 */
#include "work_queue.h"

#include "token.h"

const struct handle_class work_queue_class = {"WorkQueue", channel_ref, channel_unref};

PyObject *work_queue_refuse_role(PyObject *self, const struct channel_state *state, bool acquires)
{
	return error_raise_text(core_of(self), WW_ERR_ACCESS,
		"this WorkQueue was opened with role='%s', which does not %s frames: open it with "
		"role='%s'",
		work_queue_roles[state->queue_form.role], acquires ? "acquire" : "receive",
		acquires ? "producer" : "consumer");
}

/* --- calls --- */

/* What the calls ask for, and get. */
struct queue_call {
	struct channel_state *state;
	state_fn fn;
	struct ww_token_params params;
	uint32_t access;
	struct ww_token token;
	struct ww_work_queue_info info;
};

static ww_status run(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct queue_call *args = call;

	return channel_state_run(args->state, args->fn, args, timeout_ns, cancel);
}

/* Return: whether it was done; false with an exception. */
static bool ask(PyObject *self, struct queue_call *call, PyObject *cancel)
{
	ww_status status;

	call->state = handle_borrow(self, &work_queue_class);
	if (!call->state)
		return false;
	status = wait_run(core_of(self), run, call, 0, cancel);
	if (status == CHANNEL_CLOSED)
		PyErr_SetString(PyExc_ValueError, "this WorkQueue is closed");
	else if (status != WW_OK)
		error_raise(core_of(self), status);
	handle_return(&work_queue_class, call->state);
	return status == WW_OK;
}

static ww_status shut_down(struct channel_state *state, void *call, uint64_t timeout_ns,
	ww_cancel *cancel)
{
	(void)call;
	(void)timeout_ns;
	(void)cancel;
	return ww_work_queue_close(state->queue);
}

static PyObject *queue_shutdown(PyObject *self, PyObject *unused)
{
	struct queue_call call = {.fn = shut_down};

	(void)unused;
	return ask(self, &call, NULL) ? Py_NewRef(Py_None) : NULL;
}

static ww_status export(struct channel_state *state, void *call, uint64_t timeout_ns,
	ww_cancel *cancel)
{
	struct queue_call *args = call;

	(void)timeout_ns;
	return ww_work_queue_export(state->queue, args->access, &args->params, cancel,
		&args->token);
}

static PyObject *queue_token(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"access", "uses", "escrow", "cancel", NULL};
	struct queue_call call = {
		.fn = export,
		.access = WW_ACCESS_READ,
		.params = WW_INIT(struct ww_token_params),
	};
	PyObject *cancel = NULL;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&$O&O&O:token", names,
		    convert_access, &call.access, convert_uses, &call.params.uses, convert_escrow,
		    &call.params.escrow_ns, &cancel))
		return NULL;
	return ask(self, &call, cancel) ? token_object(core_of(self), &call.token) : NULL;
}

static PyObject *queue_reduce(PyObject *self, PyObject *unused)
{
	struct queue_call call = {
		.fn = export,
		.access = WW_ACCESS_READ,
		.params = {.struct_size = sizeof(call.params), .uses = 1},
	};

	(void)unused;
	return ask(self, &call, NULL) ? token_pickle(core_of(self), &call.token) : NULL;
}

REDUCE_NOTED(queue_reduce)

/* --- what it is --- */

static ww_status get_info(struct channel_state *state, void *call, uint64_t timeout_ns,
	ww_cancel *cancel)
{
	struct queue_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	args->info = WW_INIT(struct ww_work_queue_info);
	return ww_work_queue_info_get(state->queue, &args->info);
}

static PyObject *get_number(PyObject *self, void *field)
{
	struct queue_call call = {.fn = get_info};

	return ask(self, &call, NULL) ? info_u64(&call.info, field) : NULL;
}

static PyObject *get_small(PyObject *self, void *field)
{
	struct queue_call call = {.fn = get_info};

	return ask(self, &call, NULL) ? info_u32(&call.info, field) : NULL;
}

static PyObject *get_is_shutdown(PyObject *self, void *unused)
{
	struct queue_call call = {.fn = get_info};

	(void)unused;
	return ask(self, &call, NULL) ? PyBool_FromLong((long)call.info.is_closed) : NULL;
}

static PyObject *get_role(PyObject *self, void *unused)
{
	const struct channel_state *state = channel_open_state(self);

	(void)unused;
	return state ? info_text(work_queue_roles[state->queue_form.role]) : NULL;
}

static PyObject *queue_repr(PyObject *self)
{
	const struct channel_state *state = ((struct handle *)self)->object;

	if (!state)
		return PyUnicode_FromString("<warpway.WorkQueue closed>");
	return PyUnicode_FromFormat("<warpway.WorkQueue %s, %u slots of %llu bytes per producer>",
		work_queue_roles[state->queue_form.role], (unsigned)state->form.slots,
		(unsigned long long)state->form.slot_bytes);
}

static PyMethodDef methods[] = {
	{"get", KEYWORDS(work_queue_get), METH_CLASS | METH_VARARGS | METH_KEYWORDS,
		"get($type, /, name, *, role='consumer', end_after_producers=None, shape=None, dtype=None, "
		"metadata_type=None, device=None, timeout=0.0, broker=None, cancel=None)\n--\n\n"
		"Open a work queue.\n\n"
		"Parameters\n----------\n"
		"name : str or Token\n"
		"role : 'keeper', 'producer', 'consumer' or 'failed'\n    As of WorkQueue.\n"
		"end_after_producers : int, optional\n    As of WorkQueue.\n"
		"shape, dtype : optional\n    What the queue's frames must be; both or none.\n"
		"metadata_type : str, optional\n    What the type of the metadata must be called.\n"
		"device : Device or what it takes, optional\n"
		"    Of a producer: where its slots are. Of a consumer: that reads the frames.\n"
		"timeout : float or None\n    Seconds to wait for the name.\n"
		"broker : Broker, optional\n"
		"cancel : Cancel, optional\n\n"
		"Raises\n------\n"
		"NotFound, Timeout\n    There is no such name.\n"
		"InvalidArgument\n    The frames or the metadata are of another type; the message names both.\n"
		"LimitReached\n    The queue has as many producers or consumers as it may have.\n"
		"WrongState\n    A producer: the queue was shut down.\n"
		"AccessDenied\n    Its mode, or the token, does not allow it."},
	{"acquire", KEYWORDS(channel_acquire), METH_VARARGS | METH_KEYWORDS,
		"acquire($self, /, stream=None, timeout=None, *, shape=None, nbytes=None, cancel=None)\n--\n\n"
		"A slot to write a frame into, as a WorkFrame. A ``with`` block publishes it.\n\n"
		"Its bytes are those of an earlier frame, until they are written. Waits until a frame of\n"
		"this producer is done, if all its slots have frames.\n\n"
		"Parameters\n----------\n"
		"stream : Stream or what it takes, optional\n"
		"    It writes the frame. None: the CPU writes.\n"
		"timeout : float or None\n    Seconds.\n"
		"shape : int or sequence of int, optional\n"
		"    Of a frame that is smaller than the queue's; with as many dimensions.\n"
		"nbytes : int, optional\n    The same for a queue of bytes. None: all of the slot.\n"
		"cancel : Cancel, optional\n\n"
		"Raises\n------\n"
		"EndOfChannel\n    The queue was shut down.\n"
		"Timeout\n    No slot was free; the message says what the frames wait for.\n"
		"WrongState\n    This producer holds all its slots.\n"
		"AccessDenied\n    This is no producer.\n"
		"BufferError\n    Views of an earlier frame of this slot still exist."},
	{"acquire_async", KEYWORDS(channel_acquire_async), METH_VARARGS | METH_KEYWORDS,
		"acquire_async($self, /, stream=None, timeout=None, *, shape=None, nbytes=None)\n--\n\n"
		"A coroutine that does what `acquire` does; with a stream in a thread of its own."},
	{"send", KEYWORDS(channel_send), METH_VARARGS | METH_KEYWORDS,
		"send($self, /, data, metadata=b'', *, timeout=None, cancel=None)\n--\n\n"
		"Publish a copy of an array, or of bytes.\n\n"
		"Parameters\n----------\n"
		"data : Array, bytes-like, or array of NumPy, torch, ...\n"
		"    Of the queue's dtype, and not larger than its shape; in a queue of bytes anything.\n"
		"metadata : bytes-like\n"
		"timeout : float or None\n    Seconds to wait for a slot.\n"
		"cancel : Cancel, optional\n\n"
		"Returns\n-------\n"
		"int\n    The number of the frame."},
	{"receive", KEYWORDS(channel_receive), METH_VARARGS | METH_KEYWORDS,
		"receive($self, /, stream=None, timeout=None, *, cancel=None)\n--\n\n"
		"A frame that no other consumer has, as a WorkFrame. A ``with`` block acknowledges it.\n\n"
		"Parameters\n----------\n"
		"stream : Stream or what it takes, optional\n"
		"    It reads the frame: its further work waits until the frame is complete. None: the frame\n"
		"    is complete when this returns.\n"
		"timeout : float or None\n    Seconds.\n"
		"cancel : Cancel, optional\n\n"
		"Raises\n------\n"
		"EndOfChannel\n"
		"    No frame can come any more: the queue was shut down and no producer holds a slot, or the\n"
		"    producers have left as `end_after_producers` says.\n"
		"PeerLost\n"
		"    Once: a frame that was acknowledged before it was complete never was. Or always: the\n"
		"    others were told that this consumer ended, since its connection to the broker broke.\n"
		"Timeout\n    `timeout` seconds passed first.\n"
		"WrongState\n"
		"    This consumer holds `held_max` frames. A frame is held until it has ended and no view\n"
		"    of it exists.\n"
		"AccessDenied\n    This is no consumer."},
	{"receive_async", KEYWORDS(aio_receive), METH_VARARGS | METH_KEYWORDS,
		"receive_async($self, /, stream=None, timeout=None)\n--\n\n"
		"A coroutine that does what `receive` does; with a stream in a thread of its own.\n\n"
		"When it is cancelled, no frame is lost: the next call gives the one that came meanwhile."},
	{"fileno", channel_fileno, METH_NOARGS,
		"fileno($self, /)\n--\n\n"
		"A descriptor for event loops: readable while `receive`, or `acquire` of a producer, can go\n"
		"on without waiting, and when the WorkQueue was closed. Only poll it.\n\n"
		"It becomes unreadable by a call, so make calls with ``timeout=0`` until one raises Timeout: a\n"
		"consumer may also be woken for a frame that another one gets. The WorkQueue closes it.\n\n"
		"Raises\n------\n"
		"AccessDenied\n    This is a keeper."},
	{"shutdown", queue_shutdown, METH_NOARGS,
		"shutdown($self, /)\n--\n\n"
		"Say that no more work comes, from any producer: no producer gets a slot any more. One that\n"
		"has finished while others go on calls `close` only.\n\n"
		"When no producer holds a slot, and all frames are done or have failed, consumers get the end.\n\n"
		"Raises\n------\n"
		"AccessDenied\n    This is a consumer that did not make the queue."},
	{"token", KEYWORDS(queue_token), METH_VARARGS | METH_KEYWORDS,
		"token($self, /, access='read', *, uses=0, escrow=60.0, cancel=None)\n--\n\n"
		"A token by which any process can open the queue.\n\n"
		"Parameters\n----------\n"
		"access : 'read' or 'write'\n    'read': as a consumer; 'write': as a producer, too.\n"
		"uses : int\n    Imports after which the token's escrow ends; 0: only its time ends it.\n"
		"escrow : float or None\n"
		"    Seconds for which the broker keeps its entry for the token alone; None: not at all.\n"
		"cancel : Cancel, optional\n\n"
		"Returns\n-------\nToken"},
	{"close", channel_close, METH_NOARGS,
		"close($self, /)\n--\n\n"
		"Leave the queue. May be called twice, and while another thread waits.\n\n"
		"The frames of a producer stay, and are given out. Frames that a consumer holds are given\n"
		"back when no view of them exists any more. Waits up to 1 s for a GPU that has yet to use a\n"
		"view which has ended."},
	{"_next", KEYWORDS(channel_next), METH_VARARGS | METH_KEYWORDS,
		"_next($self, /, *, timeout=None, cancel=None)\n--\n\nThe next frame of an iteration."},
	{"_put_back", channel_put_back, METH_O,
		"_put_back($self, frame, /)\n--\n\nHave the next call receive this frame."},
	{"__reduce__", queue_reduce_noted, METH_NOARGS, NULL},
	{"__enter__", handle_enter, METH_NOARGS, NULL},
	{"__exit__", channel_close, METH_VARARGS, NULL},
	{NULL},
};

#define FIELD(name) ((void *)offsetof(struct ww_work_queue_info, name))

static PyGetSetDef properties[] = {
	{"published", get_number, NULL, "int: of a producer: frames that it has published.",
		FIELD(published)},
	{"dropped", get_number, NULL, "int: of a producer: failed frames that it has dropped.",
		FIELD(dropped)},
	{"received", get_number, NULL, "int: of a consumer: frames that it has received.",
		FIELD(received)},
	{"lost", get_number, NULL,
		"int: of a consumer: frames that were never complete, since their producer ended.",
		FIELD(lost)},
	{"available", get_small, NULL,
		"int: frames that wait for a consumer; of a producer: its own. So are `claimed` and\n"
		"`failed`.",
		FIELD(available)},
	{"claimed", get_small, NULL, "int: frames that consumers have.", FIELD(claimed)},
	{"failed", get_small, NULL, "int: frames that have failed, and are kept.", FIELD(failed)},
	{"held", get_small, NULL, "int: slots, or frames, that this member holds.", FIELD(held)},
	{"producers", get_small, NULL,
		"int: of a consumer or keeper: those whose frames it knows, with those that have ended.",
		FIELD(producers)},
	{"consumers", get_small, NULL, "int: how many there are.", FIELD(consumers)},
	{"published_total", get_number, NULL,
		"int: frames that all producers have published since the queue was made. This and the\n"
		"other totals include members that have ended.",
		FIELD(published_total)},
	{"acknowledged_total", get_number, NULL,
		"int: frames that were acknowledged, including failed ones.",
		FIELD(acknowledged_total)},
	{"repeated_total", get_number, NULL,
		"int: how often a consumer received a frame that had been given out before.",
		FIELD(repeated_total)},
	{"failed_total", get_number, NULL, "int: frames that have failed.", FIELD(failed_total)},
	{"dropped_total", get_number, NULL,
		"int: frames that were dropped: failed ones, and those that a producer described wrongly.",
		FIELD(dropped_total)},
	{"lost_total", get_number, NULL,
		"int: frames that were never complete, since their producer ended.",
		FIELD(lost_total)},
	{"uncounted", get_small, NULL,
		"int: of a keeper: producers about which the broker did not answer. Their frames are\n"
		"missing in `available`, `claimed` and `failed`.",
		FIELD(uncounted)},
	{"is_shutdown", get_is_shutdown, NULL, "bool: `shutdown` was called.", NULL},
	{"role", get_role, NULL, "str: 'keeper', 'producer', 'consumer' or 'failed'.", NULL},
	{"slots", channel_get_u32, NULL, "int: of each producer.", CHANNEL_FIELD(queue_form.slots)},
	{"slot_bytes", channel_get_u64, NULL, "int: room for the bytes of a frame.",
		CHANNEL_FIELD(form.slot_bytes)},
	{"producers_max", channel_get_u32, NULL, "int: at one time.",
		CHANNEL_FIELD(queue_form.producers_max)},
	{"consumers_max", channel_get_u32, NULL, "int: at one time.",
		CHANNEL_FIELD(queue_form.consumers_max)},
	{"attempts_max", channel_get_u32, NULL,
		"int: how often a frame is given out before it has failed.",
		CHANNEL_FIELD(queue_form.attempts_max)},
	{"failed_max", channel_get_u32, NULL, "int: failed frames that each producer keeps.",
		CHANNEL_FIELD(queue_form.failed_max)},
	{"held_max", channel_get_u32, NULL, "int: frames that one consumer may hold.",
		CHANNEL_FIELD(queue_form.held_max)},
	{"metadata_bytes", channel_get_u32, NULL, "int: room for the metadata of a frame.",
		CHANNEL_FIELD(queue_form.metadata_bytes)},
	{"metadata_type", channel_get_text, NULL, "str: as the queue was made.",
		CHANNEL_FIELD(form.metadata_type)},
	{"shape", channel_get_shape, NULL, "tuple of int, or None: the largest of a frame.", NULL},
	{"dtype", channel_get_dtype, NULL, "str or None: of every frame.", NULL},
	{"device", channel_get_device, NULL, "Device: the one that uses the frames here.", NULL},
	{"closed", channel_get_closed, NULL, "bool: `close` was called.", NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("WorkQueue(name=None, shape=None, dtype=None, *, slot_bytes=None, role='producer', slots=None, "
		    "producers_max=None, consumers_max=None, attempts_max=None, failed_max=None, held_max=2, "
		    "end_after_producers=None, metadata_bytes=0, metadata_type='', device=None, kind='device', mode=0o600, group=None, "
		    "replace=False, broker=None, cancel=None)\n"
		    "--\n\n"
		    "Frames from several producers, each for exactly one of several consumers, used in place.\n\n"
		    "Parameters\n----------\n"
		    "name : str, optional\n"
		    "    By which others get it; None: by its tokens, or a pickle.\n"
		    "shape, dtype : optional\n"
		    "    Of the largest frame. Both or none; without them frames are bytes.\n"
		    "slot_bytes : int, optional\n    Room for a frame; None: that of `shape`.\n"
		    "role : 'keeper', 'producer', 'consumer' or 'failed'\n"
		    "    What this process does: nothing but keep the queue; acquire and publish frames; receive\n"
		    "    and acknowledge them; the same with frames that have failed.\n"
		    "slots : int, optional\n    Of each producer, at most 1024; None: 16.\n"
		    "producers_max, consumers_max : int, optional\n    At one time, at most 64; None: 8, 16.\n"
		    "attempts_max : int, optional\n"
		    "    How often a frame is given out before it has failed, at most 64; None: 3.\n"
		    "failed_max : int, optional\n"
		    "    Failed frames of each producer that are kept when it needs a slot. None: a quarter of\n"
		    "    `slots`.\n"
		    "held_max : int, optional\n"
		    "    Frames that one consumer may hold; 2, so that the variable of a loop may still have a\n"
		    "    view of the frame before.\n"
		    "end_after_producers : int, optional\n"
		    "    Of a consumer: its loop also ends when so many producers have joined since the queue was\n"
		    "    made, none is left, and all frames are done; 1: when the first ones have left. If another\n"
		    "    producer joins later, a further loop gets its frames. None: it ends by `shutdown` only.\n"
		    "metadata_bytes : int\n    Room for bytes of the program in each frame, at most 4096.\n"
		    "metadata_type : str\n    What the program calls the type of these, such as 'job/1'.\n"
		    "device : Device or what it takes, optional\n    Where this process's frames are.\n"
		    "kind : 'device' or 'host'\n    As of Memory.\n"
		    "mode : int\n    Permission bits: who may read consumes, who may write produces, too. 0o600: this\n    user alone.\n"
		    "group : int, optional\n    A group id; None: this process's own.\n"
		    "replace : bool\n    A queue that has the name loses it to this one.\n"
		    "broker : Broker, optional\n"
		    "cancel : Cancel, optional\n\n"
		    "A consumer is an iterator: ``for frame in queue`` gives each WorkFrame, acknowledges it when\n"
		    "the next one is asked for, and ends as `receive` says, when all work is done;\n"
		    "``async for`` does the same. When a loop ends otherwise, by ``break`` or an exception, its\n"
		    "last frame is not acknowledged: it is rejected when the program forgets it. A frame whose\n"
		    "consumer ends without having acknowledged it is given to another one, with\n"
		    "`WorkFrame.attempts` above 1; after `attempts_max` times it has failed.\n\n"
		    "The frames of a producer outlive it. The queue ends with the last process that has it open.\n"
		    "Several threads may use a WorkQueue: their calls take turns. Several threads or tasks may\n"
		    "each have a loop of their own, which acknowledges its own frames alone.\n\n"
		    "Raises\n------\n"
		    "AlreadyExists\n    The name is taken, and `replace` is false.\n"
		    "InvalidArgument\n    The frames do not fit into the slots, or a number is too large.")},
	{Py_tp_new, work_queue_new},
	{Py_tp_dealloc, channel_dealloc},
	{Py_tp_traverse, channel_traverse},
	{Py_tp_clear, channel_clear},
	{Py_tp_repr, queue_repr},
	{Py_tp_iter, channel_iter},
	{Py_tp_iternext, channel_iternext},
	{Py_am_aiter, channel_iter},
	{Py_am_anext, aio_next_frame},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, handle_members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.WorkQueue",
	.basicsize = sizeof(struct channel_handle),
	.flags = TYPE_FLAGS | Py_TPFLAGS_HAVE_GC,
	.slots = slots,
};

PyTypeObject *work_queue_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
