/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h - warpway.Channel and warpway.Frame inside the extension; and what WorkQueue shares
 *
 * The object of a Channel is a struct channel_state: the library lets one thread at a time use a
 * ww_channel, and frames end in any thread, also in one that frees an array of NumPy or a tensor.
 * That of a WorkQueue is one, too: what is done with a frame of either stands in a table, struct
 * frame_class.
 *
 *   Channel ──> channel_state ──> ww_channel
 *                    ^
 *   Frame ──────> frame_hold <── memory of the frame <── Array, NumPy's arrays, tensors
 *
 * A frame_hold stands for a slot. It has users: the Frame, until it is published, released or
 * discarded, and the memory of the frame, as long as somebody has a view of it. When the last user
 * has gone, a received frame is released, and an acquired one that was not published is discarded.
 * So no view of a consumer ever shows the bytes of another frame.
 *
 * Views of a frame that was published stay, too. The slot is not given to the program again as long
 * as there are any: acquire() raises BufferError instead.
 */
#ifndef CORE_CHANNEL_H
#define CORE_CHANNEL_H

#include "turn.h"

struct frame_hold;
struct channel_state;

/*
 * The calls of a channel, or of a work queue (work_queue_state.c). Each is made by the thread that
 * uses the object, which is open. @stream: may be NULL
 */
struct frame_class {
	const struct handle_class *handle; /* of the object that Python has */
	enum core_type type;               /* of its frames */
	const char *ends;                  /* how a received frame ends: "release it" */
	const char *ended;                 /* "released" */
	ww_status (*acquire)(struct frame_hold *hold, uint64_t timeout_ns, ww_cancel *cancel);
	ww_status (*receive)(struct frame_hold *hold, uint64_t timeout_ns, ww_cancel *cancel);
	ww_status (*publish)(struct frame_hold *hold, ww_stream *stream);
	ww_status (*discard)(struct frame_hold *hold, ww_stream *stream);
	ww_status (*release)(struct frame_hold *hold, ww_stream *stream); /* that was received */
};

struct channel_state {
	const struct frame_class *class;
	int refs;          /* atomic */
	int kept;          /* atomic: how many frames were put back (struct channel_handle) */
	ww_device *device; /* a reference */
	bool is_consumer;  /* it may receive */
	bool reattaches;   /* constant: a consumer that goes on with other producers */
	/*
	 * What it is; of a work queue what both have. Constant, but for a consumer that goes on
	 * with another producer: then under the GIL (channel_state_refresh()).
	 */
	struct ww_channel_info form;
	struct ww_work_queue_info queue_form; /* of a work queue: as it was at the beginning */

	struct turns turns;       /* of the threads that use it: its lock is for all that follows */
	ww_channel *channel;      /* NULL: it is closed, or a work queue */
	ww_work_queue *queue;     /* NULL: it is closed, or a channel */
	struct frame_hold *ended; /* without users */
	struct ww_error lost;     /* of a frame that ended, until it is told; status 0: none */
	uint32_t *held;           /* of a producer: of each slot, how many holds it has */
	struct frame_hold *taken; /* atomic: of a consumer: the first of those that have users */
	struct ww_channel_info latest; /* of one that reattaches: by the thread that uses it */
	int ready_fd;                  /* of fileno(); -1: nobody asked for it */
};

struct frame_hold {
	int refs;                    /* atomic */
	int users;                   /* atomic */
	struct channel_state *state; /* a reference */
	struct ww_frame frame;
	bool has_array; /* with the next: of a consumer that reattaches, of the frame's producer */
	struct ww_array array;
	ww_stream *stream; /* a reference: the frame ends when its work so far has run; or NULL */
	bool is_open;      /* the Frame is a user, and nothing ends it; under the GIL */
	/*
	 * It was published or discarded: by the thread that uses the channel. Of a received one:
	 * the work with it is done. Atomic, under the GIL, when the Frame is no user any more
	 */
	bool is_done;
	struct frame_hold *next;       /* of those without users */
	struct frame_hold *next_taken; /* by the thread that uses the channel */
};

/* --- channel_state.c: nothing here touches Python objects, or needs the GIL --- */

/* Takes over both, also on failure. NULL: there is no memory. */
struct channel_state *channel_state_new(ww_channel *channel, ww_device *device);
/* work_queue_state.c: the same for a work queue. */
struct channel_state *work_queue_state_new(ww_work_queue *queue, ww_device *device);
/*
 * What both do: takes over @device, also on failure. The caller sets the object, and then the form.
 */
struct channel_state *channel_state_alloc(const struct frame_class *class, ww_device *device);
/* The form is set. Return: @state; NULL: there is no memory, and the state is released. */
struct channel_state *channel_state_begin(struct channel_state *state);
struct channel_state *channel_state_ref(struct channel_state *state);
struct channel_state *channel_state_unref(struct channel_state *state);

/*
 * Ends the waits. A producer leaves the channel; a consumer does so when its last frame has no user
 * any more, since the producer would write into it. If that may be a GPU, this waits for up to 1 s.
 */
void channel_state_close(struct channel_state *state);

/*
 * The next frame, with the Frame as its user.
 * @stream:  borrowed; may be NULL
 * Return: as ww_channel_acquire() or ww_channel_receive(); STATUS_CLOSED; CHANNEL_HAS_VIEWS;
 *         CHANNEL_HAS_KEPT.
 */
ww_status channel_state_take(struct channel_state *state, ww_stream *stream, uint64_t timeout_ns,
	ww_cancel *cancel, struct frame_hold **out_hold);

/* Under the GIL: so many frames were put back. Calls that receive get these first. */
void channel_state_set_kept(struct channel_state *state, Py_ssize_t count);

/* As ww_channel_info_get(); STATUS_CLOSED. */
ww_status channel_state_info(struct channel_state *state, struct ww_channel_info *info);

/* What is done with the channel, by one thread at a time. It touches no Python object. */
typedef ww_status (
	*channel_fn)(ww_channel *channel, void *call, uint64_t timeout_ns, ww_cancel *cancel);

/* The same for whatever the object is. */
typedef ww_status (
	*state_fn)(struct channel_state *state, void *call, uint64_t timeout_ns, ww_cancel *cancel);
ww_status channel_state_run(struct channel_state *state, state_fn fn, void *call,
	uint64_t timeout_ns, ww_cancel *cancel);

/* Calls @fn, in turns with the calls of other threads. Return: its status; STATUS_CLOSED. */
ww_status channel_state_call(struct channel_state *state, channel_fn fn, void *call,
	uint64_t timeout_ns, ww_cancel *cancel);

/*
 * A descriptor that is readable while the next frame can be taken without waiting, or the Channel
 * was closed. It is closed with the state. Return: as ww_channel_eventfd(); STATUS_CLOSED.
 */
ww_status channel_state_fileno(struct channel_state *state, int *out_fd);

/*
 * As ww_channel_wait_any(), but a frame that was put back is found first. @states: each once, in
 * the order of their addresses, so that several threads can wait. Return: STATUS_CLOSED, too.
 */
ww_status channel_state_wait_any(struct channel_state *const *states, uint32_t count,
	uint64_t timeout_ns, ww_cancel *cancel, uint32_t *out_index);

/* Under the GIL: the form becomes that of the producer whose frame was received last. */
void channel_state_refresh(struct channel_state *state);

struct frame_metadata {
	const char *bytes;
	uint32_t count;
};

/*
 * Of an acquired frame, of which only one thread is the user. On success that use has ended, too.
 * @metadata:  borrowed; what is published with the frame
 * @stream:    NULL: that of the hold
 * Return: as ww_channel_publish(); STATUS_CLOSED.
 */
ww_status frame_hold_publish(struct frame_hold *hold, const struct frame_metadata *metadata,
	ww_stream *stream);
ww_status frame_hold_discard(struct frame_hold *hold, const struct frame_metadata *metadata,
	ww_stream *stream);

/*
 * Under the GIL: from now on the end of an open frame is ordered by @stream, which is taken over.
 * Return: the former one, or @stream itself, for the caller to release without the GIL; or NULL.
 */
ww_stream *frame_hold_order(struct frame_hold *hold, ww_stream *stream);

struct frame_hold *frame_hold_ref(struct frame_hold *hold);
/* Both without the GIL: the last reference waits for the hold's stream. */
void frame_hold_unref(void *hold);
void frame_hold_add_user(struct frame_hold *hold);
/* The last one ends the frame. For ww_wrap_params.release, too. */
void frame_hold_drop_user(void *hold);

/* Makes a memory of a frame's bytes. Return: as ww_memory_wrap(); STATUS_CLOSED. */
ww_status frame_hold_wrap(struct frame_hold *hold, const struct ww_wrap_params *params,
	ww_memory **out_memory);

/* Why a frame that ended was not valid, which is told once. Return: whether there is one. */
bool channel_state_take_lost(struct channel_state *state, struct ww_error *out_record);

/* Dtype and largest shape of the hold's frame. NULL: it is bytes */
static inline const struct ww_array *frame_hold_array(const struct frame_hold *hold)
{
	if (hold->state->reattaches)
		return hold->has_array ? &hold->array : NULL;
	return hold->state->form.has_array ? &hold->state->form.array : NULL;
}

/* --- frame.c --- */

PyTypeObject *frame_type_make(PyObject *module);
/*
 * A Frame, which takes over the hold, also on failure.
 * @stream:  what the hold's stream was made of; None: it has none
 */
PyObject *frame_object(struct core *core, struct frame_hold *hold, PyObject *stream);
/* The size of an acquired frame; None: as it is. Return: false with an exception. */
bool frame_set_size(PyObject *self, PyObject *shape, PyObject *nbytes);
/* It is its hold's user no more. Nothing is published. */
void frame_close(PyObject *self);
/* Of one that was received: the work with it is done. */
void frame_close_done(PyObject *self);
/* The hold of a Frame or WorkFrame; borrowed. */
struct frame_hold *frame_hold_of(PyObject *self);

/* What a WorkFrame is made of, too. */
int frame_traverse(PyObject *self, visitproc visit, void *arg);
int frame_clear(PyObject *self);
void frame_dealloc(PyObject *self);
int frame_getbuffer(PyObject *self, Py_buffer *view, int flags);
PyObject *frame_repr(PyObject *self);
/* Its end as Frame.release(): @is_done as for frame_close_done(). */
PyObject *frame_end(PyObject *self, PyObject *stream, bool is_done);
extern PyMethodDef frame_methods[];
extern PyGetSetDef *const frame_properties;
extern PyMemberDef frame_members[];
extern const size_t frame_bytes; /* of an instance */

/* --- channel.c --- */

extern const struct handle_class channel_class;
/* Of a Channel, or of a WorkQueue. */
const struct handle_class *channel_class_of(PyObject *self);

struct channel_handle {
	struct handle base; /* object: a struct channel_state */
	PyObject *given;    /* the Frame that next() gave last; or NULL */
	PyObject *kept;     /* Frames that are to be received next, in their order; or NULL */
};

/* What a WorkQueue is made of, too. */
void *channel_ref(void *state);
void *channel_unref(void *state);
int channel_traverse(PyObject *self, visitproc visit, void *arg);
int channel_clear(PyObject *self);
void channel_dealloc(PyObject *self);
PyObject *channel_close(PyObject *self, PyObject *unused);
PyObject *channel_acquire(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *channel_acquire_async(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *channel_send(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *channel_receive(PyObject *self, PyObject *arguments, PyObject *keywords);
/* Getters of what does not change; the closure of the first three is a CHANNEL_FIELD(). */
#define CHANNEL_FIELD(name) ((void *)offsetof(struct channel_state, name))
PyObject *channel_get_text(PyObject *self, void *field);
PyObject *channel_get_u32(PyObject *self, void *field);
PyObject *channel_get_u64(PyObject *self, void *field);
PyObject *channel_get_shape(PyObject *self, void *unused);
PyObject *channel_get_dtype(PyObject *self, void *unused);
PyObject *channel_get_device(PyObject *self, void *unused);
PyObject *channel_get_closed(PyObject *self, void *unused);
/* Whether close() was called. It may still wait for the thread that uses the channel. */
bool channel_is_closed(PyObject *self);

/* What does not change of it; borrowed. NULL with an exception: it is closed. */
const struct channel_state *channel_open_state(PyObject *self);

/* Raises what a status says, those of this file included. Return: NULL. */
PyObject *channel_fail(struct core *core, ww_status status);
PyTypeObject *channel_type_make(PyObject *module);
/* A consumer. @which: a device, or None: the one that holds the bytes */
PyObject *channel_open_token(struct core *core, const struct ww_token *token, PyObject *which);

/* Raises that it cannot acquire, or receive. Return: NULL. */
PyObject *channel_refuse_role(PyObject *self, const struct channel_state *state, bool acquires);
/* @stream: what convert_stream() takes, or None. Return: a Frame; NULL with an exception. */
PyObject *channel_take(PyObject *self, bool acquires, PyObject *stream, uint64_t timeout_ns,
	PyObject *cancel);
/* Ends the frame that next() gave last. @is_done: another one was asked for */
void channel_end_given(PyObject *self, bool is_done);

/* --- channel_iter.c --- */

PyObject *channel_next(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *channel_iternext(PyObject *self);
PyObject *channel_iter(PyObject *self);
/* For a task that was cancelled when it had received the frame. */
PyObject *channel_put_back(PyObject *self, PyObject *frame);
/*
 * The first Frame that was put back. @stream: what receives it now, or None. Return: NULL: there is
 * none, or an exception.
 */
PyObject *channel_receive_kept(PyObject *self, PyObject *stream);

/* --- channel_wait.c --- */

PyObject *channel_fileno(PyObject *self, PyObject *unused);
PyObject *channel_wait_several(PyObject *module, PyObject *arguments, PyObject *keywords);

/* --- channel_members.pxi: methods about the consumers --- */

PyObject *channel_wait_consumers(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *channel_who(PyObject *self, PyObject *unused);
PyObject *channel_evict(PyObject *self, PyObject *number);
PyObject *channel_next_event(PyObject *self, PyObject *arguments, PyObject *keywords);

/* --- channel_open.c: arguments that a WorkQueue has, too; false with an exception --- */

bool convert_count(PyObject *value, const char *what, uint32_t *out_count);
bool describe_frames(struct core *core, PyObject *shape, PyObject *dtype, struct ww_array *array,
	bool *out_given);
bool convert_metadata_type(const char *text, char *out, size_t room);
/*
 * Room for a frame. @array: NULL: frames are bytes
 */
bool convert_slot_bytes(PyObject *value, const struct ww_array *array, uint64_t *out_bytes);

#endif
