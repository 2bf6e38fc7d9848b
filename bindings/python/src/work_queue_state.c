/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_state.c - the calls of a ww_work_queue, as channel_state.c makes them
 */
#include "work_queue.h"

#include <stddef.h>

#define DRAIN_NS UINT64_C(1000000000) /* for a stream that uses a frame which is given back */

const struct handle_class work_queue_class = {"WorkQueue", channel_ref, channel_unref};

/* --- frames --- */

static ww_status acquire(struct frame_hold *hold, uint64_t timeout_ns, ww_cancel *cancel)
{
	return ww_work_queue_acquire(hold->state->queue, hold->stream, timeout_ns, cancel,
		&hold->frame);
}

/*
 * Consumers get the end when all frames are done, also those of which there are views. Return:
 * WW_TIMED_OUT; WW_ERR_PEER_LOST and WW_ERR_STATE of such a frame, once.
 */
static ww_status finish_frames(const struct channel_state *state)
{
	for (struct frame_hold *hold = state->taken; hold; hold = hold->next_taken) {
		ww_status status = __atomic_load_n(&hold->is_done, __ATOMIC_ACQUIRE)
			? ww_work_queue_finish(state->queue, &hold->frame, hold->stream)
			: WW_OK;

		if (status == WW_ERR_PEER_LOST || status == WW_ERR_STATE)
			return status;
	}
	return WW_TIMED_OUT;
}

static ww_status receive(struct frame_hold *hold, uint64_t timeout_ns, ww_cancel *cancel)
{
	ww_status status = ww_work_queue_receive(hold->state->queue, hold->stream, timeout_ns,
		cancel, &hold->frame);

	return status == WW_TIMED_OUT ? finish_frames(hold->state) : status;
}

static ww_status publish(struct frame_hold *hold, ww_stream *stream)
{
	return ww_work_queue_publish(hold->state->queue, &hold->frame, stream);
}

static ww_status discard(struct frame_hold *hold, ww_stream *stream)
{
	return ww_work_queue_discard(hold->state->queue, &hold->frame, stream);
}

/* To be given back, it must not be in use by a stream any more. */
static ww_status release(struct frame_hold *hold, ww_stream *stream)
{
	if (hold->is_done)
		return ww_work_queue_acknowledge(hold->state->queue, &hold->frame, stream);
	if (stream)
		(void)ww_stream_synchronize(stream, DRAIN_NS, NULL);
	return ww_work_queue_reject(hold->state->queue, &hold->frame);
}

static const struct frame_class work_frames = {
	.handle = &work_queue_class,
	.type = CORE_WORK_FRAME,
	.ends = "acknowledge or reject it",
	.ended = "acknowledged or rejected",
	.acquire = acquire,
	.receive = receive,
	.publish = publish,
	.discard = discard,
	.release = release,
};

/* --- making --- */

/* What frames and their users ask of either kind of object. */
static void set_form(struct channel_state *state)
{
	const struct ww_work_queue_info *info = &state->queue_form;
	struct ww_channel_info *form = &state->form;

	*form = WW_INIT(struct ww_channel_info);
	form->is_producer = info->role == WW_WORK_QUEUE_PRODUCER;
	form->slots = info->slots;
	form->slot_bytes = info->slot_bytes;
	form->held_max = info->held_max;
	form->metadata_bytes = info->metadata_bytes;
	form->has_array = info->has_array;
	form->array = info->array;
	memcpy(form->metadata_type, info->metadata_type, sizeof(form->metadata_type));
	state->is_consumer = info->role == WW_WORK_QUEUE_CONSUMER ||
		info->role == WW_WORK_QUEUE_FAILED;
}

struct channel_state *work_queue_state_new(ww_work_queue *queue, ww_device *device)
{
	struct channel_state *state = channel_state_alloc(&work_frames, device);

	if (!state) {
		ww_work_queue_unref(queue);
		return NULL;
	}
	state->queue = queue;
	/* Without the totals nothing is asked of the broker. */
	state->queue_form.struct_size = offsetof(struct ww_work_queue_info, published_total);
	if (ww_work_queue_info_get(queue, &state->queue_form) != WW_OK)
		return channel_state_unref(state);
	set_form(state);
	return channel_state_begin(state);
}
