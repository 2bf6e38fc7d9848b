/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - warpway.Channel: frames from one process to many
 *
 * Channel(...) makes a channel, of which this process is the producer. get(), a token and a pickle
 * make a consumer. channel_open.c does both; this file has what a Channel is, and the calls that
 * take frames, which a WorkQueue (work_queue.c) has, too.
 */
#include "channel.h"

#include "channel_open.h"
#include "token.h"
#include "work_queue.h"

void *channel_ref(void *state)
{
	return channel_state_ref(state);
}

void *channel_unref(void *state)
{
	return channel_state_unref(state);
}

const struct handle_class channel_class = {"Channel", channel_ref, channel_unref};

static struct channel_handle *handle_of(PyObject *self)
{
	return (struct channel_handle *)self;
}

/* At the end of Python an open one can outlive what its type knows. */
const struct handle_class *channel_class_of(PyObject *self)
{
	const struct channel_state *state = handle_of(self)->base.object;
	const struct core *core;

	if (state)
		return state->class->handle;
	core = core_of(self);
	if (!core)
		PyErr_Clear();
	return core && Py_TYPE(self) == core->types[CORE_WORK_QUEUE] ? &work_queue_class
								     : &channel_class;
}

PyObject *channel_fail(struct core *core, ww_status status)
{
	if (status == STATUS_CLOSED)
		return PyErr_Format(PyExc_ValueError, "this Channel is closed");
	if (status == CHANNEL_HAS_VIEWS)
		return PyErr_Format(PyExc_BufferError,
			"cannot acquire a slot: views of an earlier frame in it still exist, such as arrays "
			"of NumPy; delete them, or keep copies instead");
	return error_raise(core, status);
}

/* So that no thread that waits is in the way. */
const struct channel_state *channel_open_state(PyObject *self)
{
	return handle_check_open(self, channel_class_of(self)) ? handle_of(self)->base.object
							       : NULL;
}

/* --- its life --- */

void channel_end_given(PyObject *self, bool is_done)
{
	PyObject *given = handle_of(self)->given;

	handle_of(self)->given = NULL;
	if (given && is_done)
		frame_close_done(given);
	else if (given)
		frame_close(given);
	Py_XDECREF(given);
}

/* The count first: when frames end, other code may put some back. */
static void drop_kept(PyObject *self)
{
	if (handle_of(self)->base.object)
		channel_state_set_kept(handle_of(self)->base.object, 0);
	Py_CLEAR(handle_of(self)->kept);
}

static void end_frames(PyObject *self)
{
	channel_end_given(self, false);
	drop_kept(self);
}

static void channel_shut(PyObject *self)
{
	struct channel_state *state = handle_of(self)->base.object;

	if (state)
		channel_state_ref(state); /* while frames end, other code may close it */
	end_frames(self);
	if (!state || callback_is_stuck())
		return;
	Py_BEGIN_ALLOW_THREADS
	channel_state_close(state);
	Py_END_ALLOW_THREADS
	handle_close(self, channel_class_of(self));
	end_frames(self); /* another thread may have received some, or put them back, meanwhile */
	handle_return(channel_class_of(self), state);
}

PyObject *channel_close(PyObject *self, PyObject *unused)
{
	(void)unused;
	channel_shut(self);
	Py_RETURN_NONE;
}

int channel_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(handle_of(self)->given);
	Py_VISIT(handle_of(self)->kept);
	return 0;
}

int channel_clear(PyObject *self)
{
	Py_CLEAR(handle_of(self)->given);
	drop_kept(self);
	return 0;
}

void channel_dealloc(PyObject *self)
{
	PyObject_GC_UnTrack(self);
	channel_shut(self);
	handle_dealloc(self, channel_class_of(self));
}

/* --- frames --- */

struct take_call {
	struct channel_state *state;
	ww_stream *stream;
	struct frame_hold *hold;
};

static ww_status run_take(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct take_call *args = call;

	stream_stay(args->stream);
	return channel_state_take(args->state, args->stream, timeout_ns, cancel, &args->hold);
}

/* Often there is a frame, or a slot: so the first try is without signals and flags. */
static ww_status take_in_time(struct core *core, struct take_call *call, uint64_t begin_ns,
	uint64_t timeout_ns, PyObject *cancel)
{
	ww_status status;

	Py_BEGIN_ALLOW_THREADS
	status = run_take(call, 0, NULL);
	Py_END_ALLOW_THREADS
	if ((status != WW_TIMED_OUT && status != WW_ERR_STATE) || timeout_ns == 0)
		return status;
	return wait_timed(core, run_take, call, wait_left_ns(begin_ns, timeout_ns), cancel);
}

/* What an acquire() waited for, which the library has recorded. */
static PyObject *fail_take(struct core *core, const struct take_call *call, ww_status status)
{
	const struct ww_error *record = ww_error_last();

	if (status == WW_TIMED_OUT && call->state->form.is_producer &&
		record->status == WW_TIMED_OUT)
		return error_raise_record(core, record);
	if (status == WW_END && call->state->form.is_producer)
		return error_raise_text(core, status,
			"no slot comes any more: the work queue was shut down");
	if (status == WW_TIMED_OUT)
		return error_raise_text(core, status, "no %s has come within the time limit",
			call->state->form.is_producer ? "free slot" : "frame");
	if (status == STATUS_CLOSED)
		return PyErr_Format(PyExc_ValueError, "this %s is closed",
			call->state->class->handle->noun);
	return channel_fail(core, status);
}

PyObject *channel_refuse_role(PyObject *self, const struct channel_state *state, bool acquires)
{
	if (state->class->type == CORE_WORK_FRAME)
		return work_queue_refuse_role(self, state, acquires);
	return error_raise_text(core_of(self), WW_ERR_ACCESS, "%s",
		acquires ? "this Channel is no producer: only the process that made the "
			   "channel acquires frames"
			: state->form.is_observer
			? "this Channel is an observer, which receives no frames: Channel.get() without "
			  "observe=True makes a consumer"
			: "this Channel is a producer, which acquires frames: Channel.get() makes a consumer, "
			  "which receives them");
}

/* Return: false with an exception. */
static bool can_take(PyObject *self, struct channel_state *state, bool acquires)
{
	struct ww_error record;

	if (acquires ? !state->form.is_producer : !state->is_consumer)
		return channel_refuse_role(self, state, acquires);
	if (!channel_state_take_lost(state, &record))
		return true;
	error_raise_record(core_of(self), &record);
	return false;
}

/* A frame that was put back comes first; if another thread has got it, the wait goes on. */
PyObject *channel_take(PyObject *self, bool acquires, PyObject *stream, uint64_t timeout_ns,
	PyObject *cancel)
{
	const struct handle_class *class = channel_class_of(self);
	struct take_call call = {.state = handle_borrow(self, class)};
	struct core *core = core_of(self);
	uint64_t begin_ns = wait_now_ns();
	PyObject *frame = NULL;
	ww_status status = STATUS_RAISED;

	if (!call.state)
		return NULL;
	if (can_take(self, call.state, acquires) &&
		(stream == Py_None ||
			(call.stream = convert_stream(core, call.state->device, stream))))
		status = take_in_time(core, &call, begin_ns, timeout_ns, cancel);
	while (status == CHANNEL_HAS_KEPT && !(frame = channel_receive_kept(self, stream)) &&
		!PyErr_Occurred())
		status = take_in_time(core, &call, begin_ns, timeout_ns, cancel);
	if (status == WW_OK) {
		channel_state_refresh(call.state);
		frame = frame_object(core, call.hold, stream);
	} else if (status != CHANNEL_HAS_KEPT) {
		fail_take(core, &call, status);
	}
	handle_return(&stream_class, call.stream);
	handle_return(class, call.state);
	return frame;
}

PyObject *channel_acquire(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"stream", "timeout", "shape", "nbytes", "cancel", NULL};
	PyObject *stream = Py_None, *shape = Py_None, *nbytes = Py_None, *cancel = NULL, *frame;
	uint64_t timeout_ns = WW_FOREVER;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO&$OOO:acquire", names, &stream,
		    convert_timeout, &timeout_ns, &shape, &nbytes, &cancel))
		return NULL;
	frame = channel_take(self, true, stream, timeout_ns, cancel);
	if (frame && !frame_set_size(frame, shape, nbytes))
		Py_CLEAR(frame);
	return frame;
}

PyObject *channel_receive(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"stream", "timeout", "cancel", NULL};
	PyObject *stream = Py_None, *cancel = NULL;
	uint64_t timeout_ns = WW_FOREVER;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO&$O:receive", names, &stream,
		    convert_timeout, &timeout_ns, &cancel))
		return NULL;
	return channel_take(self, false, stream, timeout_ns, cancel);
}

PyObject *channel_acquire_async(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return aio_acquire(self, arguments, keywords);
}

PyObject *channel_send(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return call_python("warpway._channels", "send", self, arguments, keywords);
}

/* --- other processes --- */

struct export_call {
	struct channel_state *state;
	struct ww_token_params params;
	struct ww_token token;
};

static ww_status export_by(ww_channel *channel, void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct export_call *args = call;

	(void)timeout_ns;
	return ww_channel_export(channel, &args->params, cancel, &args->token);
}

static ww_status run_export(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct export_call *args = call;

	return channel_state_call(args->state, export_by, args, timeout_ns, cancel);
}

/* Return: false with an exception. */
static bool export_channel(PyObject *self, struct export_call *call, PyObject *cancel)
{
	ww_status status;

	call->state = handle_borrow(self, &channel_class);
	if (!call->state)
		return false;
	status = wait_run(core_of(self), run_export, call, 0, cancel);
	if (status != WW_OK)
		channel_fail(core_of(self), status);
	handle_return(&channel_class, call->state);
	return status == WW_OK;
}

static PyObject *channel_token(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"uses", "escrow", "cancel", NULL};
	struct export_call call = {.params = WW_INIT(struct ww_token_params)};
	PyObject *cancel = NULL;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$O&O&O:token", names, convert_uses,
		    &call.params.uses, convert_escrow, &call.params.escrow_ns, &cancel))
		return NULL;
	return export_channel(self, &call, cancel) ? token_object(core_of(self), &call.token)
						   : NULL;
}

static PyObject *channel_reduce(PyObject *self, PyObject *unused)
{
	struct export_call call = {.params = {.struct_size = sizeof(call.params), .uses = 1}};

	(void)unused;
	return export_channel(self, &call, NULL) ? token_pickle(core_of(self), &call.token) : NULL;
}

REDUCE_NOTED(channel_reduce)

/* --- what it is --- */

static const char *const policies[] = {"", "block", "drop-oldest", "latest"};

/* Return: false with an exception. */
static bool channel_info(PyObject *self, struct ww_channel_info *info)
{
	struct channel_state *state = handle_borrow(self, &channel_class);
	ww_status status;

	if (!state)
		return false;
	Py_BEGIN_ALLOW_THREADS
	status = channel_state_info(state, info);
	Py_END_ALLOW_THREADS
	if (status != WW_OK)
		channel_fail(core_of(self), status);
	handle_return(&channel_class, state);
	return status == WW_OK;
}

static PyObject *get_number(PyObject *self, void *field)
{
	struct ww_channel_info info;

	return channel_info(self, &info) ? info_u64(&info, field) : NULL;
}

static PyObject *get_small(PyObject *self, void *field)
{
	struct ww_channel_info info;

	return channel_info(self, &info) ? info_u32(&info, field) : NULL;
}

static PyObject *get_policy(PyObject *self, void *unused)
{
	const struct channel_state *state = channel_open_state(self);

	(void)unused;
	return state ? info_word(state->form.policy, policies, 4) : NULL;
}

PyObject *channel_get_text(PyObject *self, void *field)
{
	const struct channel_state *state = channel_open_state(self);

	return state ? info_text((const char *)state + (size_t)field) : NULL;
}

PyObject *channel_get_u32(PyObject *self, void *field)
{
	const struct channel_state *state = channel_open_state(self);

	return state ? info_u32(state, field) : NULL;
}

PyObject *channel_get_u64(PyObject *self, void *field)
{
	const struct channel_state *state = channel_open_state(self);

	return state ? info_u64(state, field) : NULL;
}

static PyObject *get_is_observer(PyObject *self, void *unused)
{
	const struct channel_state *state = channel_open_state(self);

	(void)unused;
	return state ? PyBool_FromLong((long)state->form.is_observer) : NULL;
}

static PyObject *get_is_producer(PyObject *self, void *unused)
{
	const struct channel_state *state = channel_open_state(self);

	(void)unused;
	return state ? PyBool_FromLong((long)state->form.is_producer) : NULL;
}

PyObject *channel_get_shape(PyObject *self, void *unused)
{
	const struct channel_state *state = channel_open_state(self);

	(void)unused;
	if (!state)
		return NULL;
	return state->form.has_array ? info_numbers(state->form.array.shape, state->form.array.ndim)
				     : Py_NewRef(Py_None);
}

PyObject *channel_get_dtype(PyObject *self, void *unused)
{
	const struct channel_state *state = channel_open_state(self);

	(void)unused;
	if (!state)
		return NULL;
	return state->form.has_array ? info_dtype(&state->form.array.dtype) : Py_NewRef(Py_None);
}

PyObject *channel_get_device(PyObject *self, void *unused)
{
	const struct channel_state *state = channel_open_state(self);

	(void)unused;
	return state ? device_object(core_of(self), ww_device_ref(state->device)) : NULL;
}

bool channel_is_closed(PyObject *self)
{
	const struct channel_state *state = handle_of(self)->base.object;

	return !state || turns_are_closed(&state->turns);
}

PyObject *channel_get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(channel_is_closed(self));
}

static const char *role_of(const struct channel_state *state)
{
	if (state->form.is_observer)
		return "observer";
	return state->form.is_producer ? "producer" : "consumer";
}

static PyObject *channel_repr(PyObject *self)
{
	const struct channel_state *state = handle_of(self)->base.object;

	if (!state)
		return PyUnicode_FromString("<warpway.Channel closed>");
	return PyUnicode_FromFormat("<warpway.Channel %s, %s, %u slots of %llu bytes, of %s>",
		role_of(state), state->form.policy < 4 ? policies[state->form.policy] : "?",
		(unsigned)state->form.slots, (unsigned long long)state->form.slot_bytes,
		state->form.is_producer ? "this process" : state->form.program);
}

static PyMethodDef methods[] = {
	{"get", KEYWORDS(channel_get), METH_CLASS | METH_VARARGS | METH_KEYWORDS,
		"get($type, /, name, *, history=0, shape=None, dtype=None, metadata_type=None, "
		"device=None, timeout=0.0, deadline=None, reattach=False, observe=False, "
		"trust_users=False, broker=None, cancel=None)\n--\n\n"
		"Become a consumer of a channel.\n\n"
		"Parameters\n----------\n"
		"name : str or Token\n"
		"history : int or 'all'\n"
		"    How many frames that were published before come first, as far as they are still there:\n"
		"    0: only new ones. With the policy 'latest' always the newest one comes first.\n"
		"shape, dtype : optional\n    What the channel's frames must be; both or none.\n"
		"metadata_type : str, optional\n    What the producer must have called the type of the metadata.\n"
		"device : Device or what it takes, optional\n"
		"    That reads the frames; None: the one that holds the slots.\n"
		"timeout : float or None\n    Seconds to wait for the name.\n"
		"deadline : float, optional\n"
		"    The longest time between frames, in seconds; the producer must have promised that.\n"
		"reattach : bool\n"
		"    When the producer has ended, go on with the next one that makes a channel of the name:\n"
		"    `receive` waits for it, and `Frame.generation` tells them apart. If a producer closes\n"
		"    its channel, EndOfChannel is raised once. Not with a token.\n"
		"observe : bool\n"
		"    Become an observer: it sees the channel and its events, without being a consumer.\n"
		"trust_users : bool\n    Streams wait for producers of other users that set this, too.\n"
		"broker : Broker, optional\n"
		"cancel : Cancel, optional\n\n"
		"Raises\n------\n"
		"NotFound, Timeout\n    There is no such name.\n"
		"InvalidArgument\n    The frames or the metadata are of another type; the message names both.\n"
		"LimitReached\n    The channel has `consumers_max` consumers.\n"
		"AccessDenied\n    Its mode does not allow it."},
	{"acquire", KEYWORDS(channel_acquire), METH_VARARGS | METH_KEYWORDS,
		"acquire($self, /, stream=None, timeout=None, *, shape=None, nbytes=None, cancel=None)\n--\n\n"
		"A slot to write a frame into, as a Frame. A ``with`` block publishes it.\n\n"
		"Its bytes are those of an earlier frame, until they are written.\n\n"
		"Parameters\n----------\n"
		"stream : Stream or what it takes, optional\n"
		"    It writes the frame: its further work waits until the slot is free. None: the CPU writes.\n"
		"timeout : float or None\n    Seconds.\n"
		"shape : int or sequence of int, optional\n"
		"    Of a frame that is smaller than the channel's; with as many dimensions.\n"
		"nbytes : int, optional\n    The same for a channel of bytes. None: all of the slot.\n"
		"cancel : Cancel, optional\n\n"
		"Raises\n------\n"
		"Timeout\n    No slot was free; the message names the consumer that was waited for.\n"
		"WrongState\n    This producer holds as many frames as it may.\n"
		"Evicted\n    Evicted consumers have not released the slots that are left.\n"
		"AccessDenied\n    This is a consumer.\n"
		"BufferError\n    Views of an earlier frame of this slot still exist."},
	{"acquire_async", KEYWORDS(channel_acquire_async), METH_VARARGS | METH_KEYWORDS,
		"acquire_async($self, /, stream=None, timeout=None, *, shape=None, nbytes=None)\n--\n\n"
		"A coroutine that does what `acquire` does; with a stream in a thread of its own."},
	{"send", KEYWORDS(channel_send), METH_VARARGS | METH_KEYWORDS,
		"send($self, /, data, metadata=b'', *, timeout=None, cancel=None)\n--\n\n"
		"Publish a copy of an array, or of bytes.\n\n"
		"Parameters\n----------\n"
		"data : Array, bytes-like, or array of NumPy, torch, ...\n"
		"    Of the channel's dtype, and not larger than its shape; in a channel of bytes anything.\n"
		"metadata : bytes-like\n"
		"timeout : float or None\n    Seconds to wait for a slot.\n"
		"cancel : Cancel, optional\n\n"
		"Returns\n-------\n"
		"int\n    The number of the frame."},
	{"receive", KEYWORDS(channel_receive), METH_VARARGS | METH_KEYWORDS,
		"receive($self, /, stream=None, timeout=None, *, cancel=None)\n--\n\n"
		"The next frame, as a Frame. A ``with`` block releases it.\n\n"
		"Parameters\n----------\n"
		"stream : Stream or what it takes, optional\n"
		"    It reads the frame: its further work waits until the frame is complete. None: the frame\n"
		"    is complete when this returns.\n"
		"timeout : float or None\n    Seconds.\n"
		"cancel : Cancel, optional\n\n"
		"Raises\n------\n"
		"EndOfChannel\n    The producer has closed the channel, and all frames were received.\n"
		"PeerLost\n"
		"    The producer has ended, and all frames that were complete were received; or, once, a\n"
		"    frame that was released before it was complete never was.\n"
		"Timeout\n    `timeout` seconds passed first.\n"
		"Evicted\n    The producer has evicted this consumer.\n"
		"WrongState\n"
		"    This consumer holds `held_max` frames. A frame is held until it was released and no view\n"
		"    of it exists.\n"
		"AccessDenied\n    This is the producer."},
	{"receive_async", KEYWORDS(aio_receive), METH_VARARGS | METH_KEYWORDS,
		"receive_async($self, /, stream=None, timeout=None)\n--\n\n"
		"A coroutine that does what `receive` does; with a stream in a thread of its own.\n\n"
		"When it is cancelled, no frame is lost: the next call gives the one that came meanwhile."},
	{"wait_consumers", KEYWORDS(channel_wait_consumers), METH_VARARGS | METH_KEYWORDS,
		"wait_consumers($self, /, count=1, timeout=None, *, cancel=None)\n--\n\n"
		"Wait until this producer has so many consumers.\n\n"
		"Parameters\n----------\n"
		"count : int\n    At most `consumers_max`.\n"
		"timeout : float or None\n    Seconds.\n"
		"cancel : Cancel, optional\n\n"
		"Raises\n------\n"
		"Timeout\n    `timeout` seconds passed first.\n"
		"AccessDenied\n    This is a consumer."},
	{"who", channel_who, METH_NOARGS,
		"who($self, /)\n--\n\nThe consumers, as a list of ChannelConsumer."},
	{"evict", channel_evict, METH_O,
		"evict($self, number, /)\n--\n\n"
		"End the subscription of a consumer: its next call raises `Evicted`.\n\n"
		"The slots that it holds are not used until it releases them, or ends.\n"
		"An observer of the producer's user, or of root, asks the producer for it.\n\n"
		"Parameters\n----------\n"
		"number : int\n    As `who` and events tell it.\n\n"
		"Raises\n------\n"
		"NotFound\n    There is no such consumer, or not any more."},
	{"next_event", KEYWORDS(channel_next_event), METH_VARARGS | METH_KEYWORDS,
		"next_event($self, /, timeout=None, *, cancel=None)\n--\n\n"
		"The next thing that has happened to the channel, as a ChannelEvent.\n\n"
		"Either side is told of the other one. Nothing looks in between: events are noticed by the\n"
		"calls on this Channel, and by this one while it waits. A frame that is late does not end\n"
		"`receive`: call it with a time limit, and then ``next_event(0)``.\n\n"
		"Raises\n------\n"
		"Timeout\n    `timeout` seconds passed first."},
	{"fileno", channel_fileno, METH_NOARGS,
		"fileno($self, /)\n--\n\n"
		"A descriptor for event loops: readable while `receive`, or `acquire` of a producer, can go\n"
		"on without waiting, and when the Channel was closed. Only poll it.\n\n"
		"It becomes unreadable by a call, so make calls with ``timeout=0`` until one raises Timeout.\n"
		"Events do not make it readable. The Channel closes it.\n\n"
		"Raises\n------\n"
		"AccessDenied\n    This is an observer."},
	{"token", KEYWORDS(channel_token), METH_VARARGS | METH_KEYWORDS,
		"token($self, /, *, uses=0, escrow=60.0, cancel=None)\n--\n\n"
		"A token by which any process can become a consumer.\n\n"
		"Parameters\n----------\n"
		"uses : int\n    Imports after which the token's escrow ends; 0: only its time ends it.\n"
		"escrow : float or None\n"
		"    Seconds for which the broker keeps its entry for the token alone; None: not at all.\n"
		"cancel : Cancel, optional\n\n"
		"Returns\n-------\nToken"},
	{"close", channel_close, METH_NOARGS,
		"close($self, /)\n--\n\n"
		"Leave the channel. May be called twice, and while another thread waits.\n\n"
		"Consumers of a producer receive what was published, and then the end. A consumer leaves\n"
		"when no view of its frames exists any more, and waits up to 1 s for a GPU that has yet to\n"
		"use one which has ended."},
	{"_next", KEYWORDS(channel_next), METH_VARARGS | METH_KEYWORDS,
		"_next($self, /, *, timeout=None, cancel=None)\n--\n\nThe next frame of an iteration."},
	{"_put_back", channel_put_back, METH_O,
		"_put_back($self, frame, /)\n--\n\nHave the next call receive this frame."},
	{"__reduce__", channel_reduce_noted, METH_NOARGS, NULL},
	{"__enter__", handle_enter, METH_NOARGS, NULL},
	{"__exit__", channel_close, METH_VARARGS, NULL},
	{NULL},
};

#define FIELD(name) ((void *)offsetof(struct ww_channel_info, name))

static PyGetSetDef properties[] = {
	{"published", get_number, NULL, "int: the number of the last frame published; 0: none.",
		FIELD(published)},
	{"received", get_number, NULL, "int: frames that this consumer has received.",
		FIELD(received)},
	{"dropped", get_number, NULL,
		"int: frames that were gone before this consumer received them. With the policy 'latest' those\n"
		"that a newer one replaced are not counted: `Frame.number` tells them.",
		FIELD(dropped)},
	{"held", get_small, NULL, "int: frames that this side holds.", FIELD(held)},
	{"consumers", get_small, NULL, "int: how many the producer knows; of a consumer: 0.",
		FIELD(consumers)},
	{"generation", get_small, NULL,
		"int: which producer it is attached to, as of a Frame; of a producer: 1.",
		FIELD(generation)},
	{"is_observer", get_is_observer, NULL, "bool: this is an observer.", NULL},
	{"is_producer", get_is_producer, NULL, "bool: this is the producer.", NULL},
	{"policy", get_policy, NULL, "str: 'block', 'drop-oldest' or 'latest'.", NULL},
	{"slots", channel_get_u32, NULL, "int: how many.", CHANNEL_FIELD(form.slots)},
	{"slot_bytes", channel_get_u64, NULL, "int: room for the bytes of a frame.",
		CHANNEL_FIELD(form.slot_bytes)},
	{"consumers_max", channel_get_u32, NULL, "int: at one time.",
		CHANNEL_FIELD(form.consumers_max)},
	{"held_max", channel_get_u32, NULL, "int: frames that one consumer may hold.",
		CHANNEL_FIELD(form.held_max)},
	{"metadata_bytes", channel_get_u32, NULL, "int: room for the metadata of a frame.",
		CHANNEL_FIELD(form.metadata_bytes)},
	{"metadata_type", channel_get_text, NULL, "str: as the producer named it.",
		CHANNEL_FIELD(form.metadata_type)},
	{"shape", channel_get_shape, NULL, "tuple of int, or None: the largest of a frame.", NULL},
	{"dtype", channel_get_dtype, NULL, "str or None: of every frame.", NULL},
	{"device", channel_get_device, NULL, "Device: the one that uses the frames here.", NULL},
	{"pid", channel_get_u32, NULL, "int: of the producer, as it sees itself.",
		CHANNEL_FIELD(form.pid)},
	{"program", channel_get_text, NULL, "str: the producer's name.",
		CHANNEL_FIELD(form.program)},
	{"closed", channel_get_closed, NULL, "bool: `close` was called.", NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("Channel(name=None, shape=None, dtype=None, *, slot_bytes=None, slots=None, policy='block', "
		    "consumers_max=None, held_max=None, ahead_max=None, metadata_bytes=0, metadata_type='', "
		    "device=None, kind='device', mode=0o600, group=None, replace=False, evict_after=None, "
		    "deadline=None, consumers_per_uid_max=None, trust_users=False, broker=None, "
		    "cancel=None)\n"
		    "--\n\n"
		    "Frames from one process, the producer, to many consumers, written and read in place.\n\n"
		    "Parameters\n----------\n"
		    "name : str, optional\n"
		    "    By which consumers get it; None: by its token, or a pickle.\n"
		    "shape, dtype : optional\n"
		    "    Of the largest frame. Both or none; without them frames are bytes.\n"
		    "slot_bytes : int, optional\n    Room for a frame; None: that of `shape`.\n"
		    "slots : int, optional\n"
		    "    None: 4, or as many as the policy needs, which is ``consumers_max * held_max +\n"
		    "    ahead_max + 1`` with one that drops frames.\n"
		    "policy : 'block', 'drop-oldest' or 'latest'\n"
		    "    When all slots have frames: wait until every consumer has released one; take back the\n"
		    "    oldest one that no consumer holds; the same, and consumers receive the newest frame.\n"
		    "consumers_max : int, optional\n    At one time, at most 32; None: 4.\n"
		    "held_max : int, optional\n"
		    "    Frames that one consumer may hold. None: 2 where there are as many slots, so that the variable of a loop may still\n"
		    "    have a view of the frame before.\n"
		    "ahead_max : int, optional\n"
		    "    With a policy that drops: frames that the producer may hold, or have published before\n"
		    "    its stream has written them. None: 2.\n"
		    "metadata_bytes : int\n    Room for bytes of the program in each frame, at most 4096.\n"
		    "metadata_type : str\n    What the program calls the type of these, such as 'pose/1'.\n"
		    "device : Device or what it takes, optional\n    Where the slots are.\n"
		    "kind : 'device' or 'host'\n    As of Memory.\n"
		    "mode : int\n    Who may be a consumer: permission bits, as of a file. 0o600: this user alone.\n"
		    "group : int, optional\n    A group id; None: this process's own.\n"
		    "replace : bool\n"
		    "    A channel that has the name ends, in one step: for a producer that may be started anew.\n"
		    "evict_after : float, optional\n"
		    "    Seconds: a consumer for which an acquire has found no slot for so long is evicted.\n"
		    "deadline : float, optional\n"
		    "    The longest time between frames, in seconds, that the producer promises; when none\n"
		    "    comes, the event 'late' tells it, and consumers that have a deadline.\n"
		    "consumers_per_uid_max : int, optional\n    Of one user; None: `consumers_max`.\n"
		    "trust_users : bool\n"
		    "    Streams wait for consumers of other users that set this, too, though a process that\n"
		    "    never completes its work keeps them waiting until it ends.\n"
		    "broker : Broker, optional\n"
		    "cancel : Cancel, optional\n\n"
		    "A consumer is made by `Channel.get`, a token or a pickle. It is an iterator: ``for frame in\n"
		    "channel`` gives each Frame until the producer closes the channel, and releases it when the\n"
		    "next one is asked for; ``async for`` does the same. If the producer ends otherwise, the\n"
		    "consumers receive what was complete, and then `PeerLost` is raised, which names it. If a\n"
		    "consumer ends, its frames are released.\n\n"
		    "Several threads or tasks may use a Channel: their calls take turns, each frame goes to one\n"
		    "of them, and each loop releases its own frames alone. `close` ends the loops. The frames of\n"
		    "all count together: `held_max` is to be the number of threads that hold frames, twice that\n"
		    "if views last until the next frame is asked for. ``next(channel)`` releases the frame that\n"
		    "it gave last, also if it gave it to another thread.\n\n"
		    "Raises\n------\n"
		    "AlreadyExists\n    The name is taken, and `replace` is false.\n"
		    "InvalidArgument\n    The policy needs more slots, or the frames do not fit into them.")},
	{Py_tp_new, channel_new},
	{Py_tp_dealloc, channel_dealloc},
	{Py_tp_traverse, channel_traverse},
	{Py_tp_clear, channel_clear},
	{Py_tp_repr, channel_repr},
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
	.name = "warpway.Channel",
	.basicsize = sizeof(struct channel_handle),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
	.slots = slots,
};

PyTypeObject *channel_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
