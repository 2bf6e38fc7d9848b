/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h - warpway.Channel and warpway.Frame inside the extension
 *
 * The object of a Channel is a struct channel_state: the library lets one thread at a time use a
 * ww_channel, and frames end in any thread, also in one that frees an array of NumPy or a tensor.
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

#include "core.h"

#include <pthread.h>

/* No statuses of the library. */
#define CHANNEL_CLOSED    (INT32_MIN + 1) /* by this process */
#define CHANNEL_HAS_VIEWS (INT32_MIN + 2) /* of an earlier frame in the slot */

struct frame_hold;

struct channel_state {
	int refs;                    /* atomic */
	int is_closed;               /* atomic: no call is to wait any more */
	int pid;                     /* of the process that made it */
	ww_device *device;           /* a reference */
	bool has_gpu;                /* the device is one */
	struct ww_channel_info form; /* as it was at the beginning */

	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t is_free;
	bool is_used;             /* a thread uses the channel: it need not have the lock */
	uint32_t wanted;          /* threads that are to use it before those that wait for frames */
	ww_channel *channel;      /* NULL: it is closed */
	struct frame_hold *ended; /* without users */
	struct ww_error lost;     /* of a frame that ended, until it is told; status 0: none */
	uint32_t *held;           /* of a producer: of each slot, how many holds it has */
};

struct frame_hold {
	int refs;                    /* atomic */
	int users;                   /* atomic */
	struct channel_state *state; /* a reference */
	struct ww_frame frame;
	ww_stream *stream; /* a reference: the frame ends when its work so far has run; or NULL */
	bool is_open;      /* the Frame is a user; under the GIL */
	bool is_done;      /* it was published or discarded; by the thread that uses the channel */
	struct frame_hold *next;
};

/* --- channel_state.c: nothing here touches Python objects, or needs the GIL --- */

/* Takes over both, also on failure. NULL: there is no memory. */
struct channel_state *channel_state_new(ww_channel *channel, ww_device *device);
struct channel_state *channel_state_ref(struct channel_state *state);
struct channel_state *channel_state_unref(struct channel_state *state);

/*
 * Ends the waits. A producer leaves the channel; a consumer does so when its last frame has no user
 * any more, since the producer would write into it.
 */
void channel_state_close(struct channel_state *state);

/*
 * The next frame, with the Frame as its user.
 * @stream:  borrowed; may be NULL
 * Return: as ww_channel_acquire() or ww_channel_receive(); CHANNEL_CLOSED; CHANNEL_HAS_VIEWS.
 */
ww_status channel_state_take(struct channel_state *state, ww_stream *stream, uint64_t timeout_ns,
	ww_cancel *cancel, struct frame_hold **out_hold);

/* As ww_channel_info_get(); CHANNEL_CLOSED. */
ww_status channel_state_info(struct channel_state *state, struct ww_channel_info *info);

/* What is done with the channel, by one thread at a time. It touches no Python object. */
typedef ww_status (
	*channel_fn)(ww_channel *channel, void *call, uint64_t timeout_ns, ww_cancel *cancel);

/* Calls @fn, in turns with the calls of other threads. Return: its status; CHANNEL_CLOSED. */
ww_status channel_state_call(struct channel_state *state, channel_fn fn, void *call,
	uint64_t timeout_ns, ww_cancel *cancel);

struct frame_metadata {
	const char *bytes;
	uint32_t count;
};

/*
 * @metadata:  borrowed; what is published with the frame
 * @stream:    NULL: that of the hold
 * Return: as ww_channel_publish(); CHANNEL_CLOSED.
 */
ww_status frame_hold_publish(struct frame_hold *hold, const struct frame_metadata *metadata,
	ww_stream *stream);
ww_status frame_hold_discard(struct frame_hold *hold, const struct frame_metadata *metadata,
	ww_stream *stream);

/* From now on its end is ordered by this stream. */
void frame_hold_order(struct frame_hold *hold, ww_stream *stream);

struct frame_hold *frame_hold_ref(struct frame_hold *hold);
struct frame_hold *frame_hold_unref(struct frame_hold *hold);
void frame_hold_add_user(struct frame_hold *hold);
/* The last one ends the frame. For ww_wrap_params.release, too. */
void frame_hold_drop_user(void *hold);

/* Why a frame that ended was not valid, which is told once. Return: whether there is one. */
bool channel_state_take_lost(struct channel_state *state, struct ww_error *out_record);

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

/* --- channel.c --- */

extern const struct handle_class channel_class;
/* Raises what a status says, those of this file included. Return: NULL. */
PyObject *channel_fail(struct core *core, ww_status status);
PyTypeObject *channel_type_make(PyObject *module);
/* A consumer. @which: a device, or None: the one that holds the bytes */
PyObject *channel_open_token(struct core *core, const struct ww_token *token, PyObject *which);

/* --- channel_members.c: methods about the consumers --- */

PyObject *channel_wait_consumers(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *channel_who(PyObject *self, PyObject *unused);
PyObject *channel_evict(PyObject *self, PyObject *number);
PyObject *channel_next_event(PyObject *self, PyObject *arguments, PyObject *keywords);

#endif
