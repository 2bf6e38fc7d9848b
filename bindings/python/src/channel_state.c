/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_state.c - a ww_channel, or ww_work_queue, that several threads may use, and the frames it
 * has given
 *
 * A thread that uses the object does not have the lock, so that frames can end meanwhile: these
 * are put into a list, and the thread gives them back when it has done its call. A wait for a frame
 * lasts WAIT_NS at most; then what came meanwhile is done, and the wait goes on. Threads that wait
 * take turns (turn.h), each for SHARED_NS at most.
 *
 * Tensors of a GPU's frame that was received without a stream have ended, and their memory is
 * released when the GPU has done its work (ww_memory_retire()): the frame is held until then. The
 * library looks only in calls, so this does, too, where it finds no frame or slot.
 */
#include "channel.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS   UINT64_C(40000000)
#define SHARED_NS UINT64_C(2000000)    /* while other threads wait for their turn */
#define DRAIN_NS  UINT64_C(1000000000) /* for a stream that has failed */
#define RETIRE_NS UINT64_C(1000000000) /* for a GPU that may still use frames */
#define NAP_NS    1000000

/* --- using it --- */

static bool is_inherited(const struct channel_state *state)
{
	return turns_are_inherited(&state->turns);
}

/* By the thread that uses it. */
static bool has_object(const struct channel_state *state)
{
	return state->channel || state->queue;
}

static bool is_closed(const struct channel_state *state)
{
	return turns_are_closed(&state->turns);
}

/* For a call that does not wait. */
static void state_enter(struct channel_state *state)
{
	turns_enter(&state->turns);
}

static void hold_give_back(struct frame_hold *hold);

/* Under the lock, which is released meanwhile. */
static void state_give_back_ended(struct channel_state *state)
{
	struct frame_hold *hold;

	while ((hold = state->ended)) {
		state->ended = hold->next;
		pthread_mutex_unlock(&state->turns.lock);
		hold_give_back(hold);
		pthread_mutex_lock(&state->turns.lock);
	}
}

static bool has_kept(const struct channel_state *state)
{
	return __atomic_load_n(&state->kept, __ATOMIC_ACQUIRE) > 0;
}

/*
 * Under the lock, when the Channel was closed, or a frame put back: whoever polls looks again, and
 * finds that. The library empties the descriptor only in calls, so this follows each of them.
 */
static void tell_event_loops(struct channel_state *state)
{
	if (state->ready_fd >= 0)
		(void)eventfd_write(state->ready_fd, 1);
}

/* By the thread that uses it. A consumer of which there are frames is still one. */
static bool can_leave_channel(const struct channel_state *state)
{
	return is_closed(state) && !state->taken;
}

/* Under the lock, which is released meanwhile. */
static void state_drop_object(struct channel_state *state)
{
	ww_channel *channel = state->channel;
	ww_work_queue *queue = state->queue;

	state->channel = NULL;
	state->queue = NULL;
	pthread_mutex_unlock(&state->turns.lock);
	ww_channel_unref(channel);
	ww_work_queue_unref(queue);
	pthread_mutex_lock(&state->turns.lock);
}

/* A thread in channel_state_close() waits until this one has left the channel. */
static void state_leave(struct channel_state *state)
{
	if (is_inherited(state))
		return;
	pthread_mutex_lock(&state->turns.lock);
	state_give_back_ended(state);
	while (has_object(state) && can_leave_channel(state)) {
		state_drop_object(state);
		state_give_back_ended(state);
	}
	if (is_closed(state) || has_kept(state))
		tell_event_loops(state);
	turns_leave(&state->turns);
	pthread_mutex_unlock(&state->turns.lock);
}

/* --- the calls of a channel --- */

static ww_status acquire(struct frame_hold *hold, uint64_t timeout_ns, ww_cancel *cancel)
{
	return ww_channel_acquire(hold->state->channel, hold->stream, timeout_ns, cancel,
		&hold->frame);
}

/* Of a consumer that may have another producer now: what its frames are. */
static ww_status note_form(struct frame_hold *hold)
{
	struct channel_state *state = hold->state;
	ww_status status = WW_OK;

	if (state->latest.generation != hold->frame.generation) {
		struct ww_channel_info info = WW_INIT(struct ww_channel_info);

		status = ww_channel_info_get(state->channel, &info);
		pthread_mutex_lock(&state->turns.lock);
		if (status == WW_OK)
			state->latest = info;
		pthread_mutex_unlock(&state->turns.lock);
	}
	hold->has_array = state->latest.has_array;
	hold->array = state->latest.array;
	return status;
}

static ww_status receive(struct frame_hold *hold, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct channel_state *state = hold->state;
	ww_status status = ww_channel_receive(state->channel, hold->stream, timeout_ns, cancel,
		&hold->frame);

	return status == WW_OK && state->reattaches ? note_form(hold) : status;
}

static ww_status publish(struct frame_hold *hold, ww_stream *stream)
{
	return ww_channel_publish(hold->state->channel, &hold->frame, stream);
}

static ww_status discard(struct frame_hold *hold, ww_stream *stream)
{
	return ww_channel_discard(hold->state->channel, &hold->frame, stream);
}

static ww_status release(struct frame_hold *hold, ww_stream *stream)
{
	return ww_channel_release(hold->state->channel, &hold->frame, stream);
}

static const struct frame_class channel_frames = {
	.handle = &channel_class,
	.type = CORE_FRAME,
	.ends = "release it",
	.ended = "released",
	.acquire = acquire,
	.receive = receive,
	.publish = publish,
	.discard = discard,
	.release = release,
};

/* --- making and freeing --- */

static void state_free(struct channel_state *state)
{
	ww_channel_unref(state->channel);
	ww_work_queue_unref(state->queue);
	ww_device_unref(state->device);
	turns_fini(&state->turns);
	if (state->ready_fd >= 0)
		close(state->ready_fd);
	free(state->held);
	free(state);
}

struct channel_state *channel_state_alloc(const struct frame_class *class, ww_device *device)
{
	struct channel_state *state = calloc(1, sizeof(*state));

	if (!state) {
		ww_device_unref(device);
		return NULL;
	}
	state->class = class;
	state->refs = 1;
	state->ready_fd = -1;
	state->device = device;
	turns_init(&state->turns);
	return state;
}

struct channel_state *channel_state_begin(struct channel_state *state)
{
	state->held = calloc(state->form.slots, sizeof(*state->held));
	return state->held ? state : channel_state_unref(state);
}

struct channel_state *channel_state_new(ww_channel *channel, ww_device *device)
{
	struct channel_state *state = channel_state_alloc(&channel_frames, device);

	if (!state) {
		ww_channel_unref(channel);
		return NULL;
	}
	state->channel = channel;
	state->form = WW_INIT(struct ww_channel_info);
	if (ww_channel_info_get(channel, &state->form) != WW_OK)
		return channel_state_unref(state);
	state->is_consumer = !state->form.is_producer && !state->form.is_observer;
	state->latest = state->form;
	return channel_state_begin(state);
}

struct channel_state *channel_state_ref(struct channel_state *state)
{
	__atomic_add_fetch(&state->refs, 1, __ATOMIC_RELAXED);
	return state;
}

struct channel_state *channel_state_unref(struct channel_state *state)
{
	if (state && __atomic_sub_fetch(&state->refs, 1, __ATOMIC_ACQ_REL) == 0)
		state_free(state);
	return NULL;
}

/* Return: whether a GPU may still have used frames. */
static bool look_for_retired(uint64_t spent_ns)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};

	if (ww_memory_retired() == 0 || spent_ns > RETIRE_NS)
		return false;
	nanosleep(&nap, NULL);
	ww_memory_retire(NULL);
	return true;
}

static void wake_event_loops(struct channel_state *state)
{
	if (is_inherited(state))
		return;
	pthread_mutex_lock(&state->turns.lock);
	tell_event_loops(state);
	pthread_mutex_unlock(&state->turns.lock);
}

/* A GPU may be the last user of frames, and nothing need call the library later. */
static void await_retired(const struct channel_state *state)
{
	uint64_t begin_ns = wait_now_ns();

	while (__atomic_load_n(&state->taken, __ATOMIC_ACQUIRE) &&
		look_for_retired(wait_now_ns() - begin_ns))
		;
}

void channel_state_close(struct channel_state *state)
{
	turns_close(&state->turns);
	wake_event_loops(state);
	state_enter(state);
	state_leave(state);
	await_retired(state);
}

void channel_state_set_kept(struct channel_state *state, Py_ssize_t count)
{
	__atomic_store_n(&state->kept, (int)count, __ATOMIC_RELEASE);
	if (count > 0)
		wake_event_loops(state);
}

bool channel_state_take_lost(struct channel_state *state, struct ww_error *out_record)
{
	if (is_inherited(state))
		return false;
	pthread_mutex_lock(&state->turns.lock);
	*out_record = state->lost;
	state->lost.status = WW_OK;
	pthread_mutex_unlock(&state->turns.lock);
	return out_record->status != WW_OK;
}

/* --- frames --- */

/* One without references, or that was not filled. */
static void hold_free(struct frame_hold *hold)
{
	ww_stream_unref(hold->stream);
	channel_state_unref(hold->state);
	free(hold);
}

struct frame_hold *frame_hold_ref(struct frame_hold *hold)
{
	__atomic_add_fetch(&hold->refs, 1, __ATOMIC_RELAXED);
	return hold;
}

void frame_hold_unref(void *released)
{
	struct frame_hold *hold = released;

	if (__atomic_sub_fetch(&hold->refs, 1, __ATOMIC_ACQ_REL) == 0)
		hold_free(hold);
}

void frame_hold_add_user(struct frame_hold *hold)
{
	frame_hold_ref(hold);
	__atomic_add_fetch(&hold->users, 1, __ATOMIC_RELAXED);
}

ww_status frame_hold_wrap(struct frame_hold *hold, const struct ww_wrap_params *params,
	ww_memory **out_memory)
{
	struct channel_state *state = hold->state;
	ww_status status = STATUS_CLOSED;

	state_enter(state);
	if (has_object(state))
		status = ww_memory_wrap(state->device, hold->frame.pointer, hold->frame.capacity,
			params, out_memory);
	state_leave(state);
	return status;
}

static void note_lost(struct channel_state *state)
{
	pthread_mutex_lock(&state->turns.lock);
	state->lost = *ww_error_last();
	pthread_mutex_unlock(&state->turns.lock);
}

/* If the stream fails, it is waited for, and the frame released without it. */
static void hold_release(struct frame_hold *hold)
{
	struct channel_state *state = hold->state;
	ww_status status = state->class->release(hold, hold->stream);

	if (status == WW_OK)
		return;
	note_lost(state);
	if (hold->stream && ww_stream_synchronize(hold->stream, DRAIN_NS, NULL) != WW_TIMED_OUT)
		state->class->release(hold, NULL);
}

/* By the thread that uses the channel. */
static void hold_untake(struct frame_hold *hold)
{
	struct frame_hold **at = &hold->state->taken;

	while (*at != hold)
		at = &(*at)->next_taken;
	__atomic_store_n(at, hold->next_taken, __ATOMIC_RELEASE);
}

/* By the thread that uses the channel. */
static void hold_give_back(struct frame_hold *hold)
{
	struct channel_state *state = hold->state;

	if (has_object(state) && !state->form.is_producer)
		hold_release(hold);
	else if (has_object(state) && !hold->is_done)
		state->class->discard(hold, hold->stream);
	if (state->form.is_producer)
		state->held[hold->frame.slot]--;
	else
		hold_untake(hold);
	frame_hold_unref(hold);
}

/* If another thread uses the channel, that one gives the frame back. */
void frame_hold_drop_user(void *dropped)
{
	struct frame_hold *hold = dropped;
	struct channel_state *state = hold->state;
	bool has_entered;

	if (__atomic_sub_fetch(&hold->users, 1, __ATOMIC_ACQ_REL) > 0 || is_inherited(state)) {
		frame_hold_unref(hold);
		return;
	}
	channel_state_ref(state);
	pthread_mutex_lock(&state->turns.lock);
	hold->next = state->ended;
	state->ended = hold;
	has_entered = turns_try_enter(&state->turns);
	pthread_mutex_unlock(&state->turns.lock);
	if (has_entered)
		state_leave(state);
	channel_state_unref(state);
}

ww_stream *frame_hold_order(struct frame_hold *hold, ww_stream *stream)
{
	ww_stream *former = hold->stream;

	if (!stream || !hold->is_open)
		return stream;
	hold->stream = stream;
	return former;
}

/* By the thread that uses the channel. */
static ww_status hold_publish(struct frame_hold *hold, const struct frame_metadata *metadata,
	ww_stream *stream)
{
	if (metadata->count > 0 && !is_inherited(hold->state))
		memcpy(hold->frame.metadata, metadata->bytes, metadata->count);
	hold->frame.metadata_bytes = metadata->count;
	return hold->state->class->publish(hold, stream);
}

/* The Frame of one that has ended is its user no more, before another thread acquires the slot. */
static void hold_end(struct frame_hold *hold, ww_status status)
{
	if (status == WW_OK) {
		hold->is_done = true;
		frame_hold_drop_user(hold);
	}
	state_leave(hold->state);
}

ww_status frame_hold_publish(struct frame_hold *hold, const struct frame_metadata *metadata,
	ww_stream *stream)
{
	struct channel_state *state = hold->state;
	ww_status status = STATUS_CLOSED;

	state_enter(state);
	if (has_object(state))
		status = hold_publish(hold, metadata, stream ? stream : hold->stream);
	hold_end(hold, status);
	return status;
}

/* If the channel was closed, that has discarded it. */
ww_status frame_hold_discard(struct frame_hold *hold, const struct frame_metadata *metadata,
	ww_stream *stream)
{
	struct channel_state *state = hold->state;
	ww_status status = WW_OK;

	(void)metadata;
	state_enter(state);
	if (has_object(state))
		status = state->class->discard(hold, stream ? stream : hold->stream);
	hold_end(hold, status);
	return status;
}

/* --- calls that may wait --- */

/* 0: the call does not wait */
static uint64_t end_of(uint64_t timeout_ns)
{
	uint64_t begin_ns = timeout_ns > 0 ? wait_now_ns() : 0;

	return timeout_ns < WW_FOREVER - begin_ns ? begin_ns + timeout_ns : WW_FOREVER;
}

/* How long the library may wait now. @status: of turns_enter_to_wait() */
static uint64_t slice_ns(ww_status status, uint64_t end_ns, bool is_awaited)
{
	uint64_t most_ns = is_awaited ? SHARED_NS : WAIT_NS;
	uint64_t now_ns = status == WW_TIMED_OUT ? end_ns : wait_now_ns();

	if (now_ns >= end_ns)
		return 0;
	return end_ns - now_ns < most_ns ? end_ns - now_ns : most_ns;
}

static ww_status try_run(struct channel_state *state, state_fn fn, void *call, uint64_t end_ns,
	ww_cancel *cancel)
{
	struct turns *turns = &state->turns;
	struct turn turn;
	ww_status status = turns_enter_to_wait(&turns, 1, &turn, end_ns, cancel);

	if (status != WW_OK && status != WW_TIMED_OUT)
		return status;
	if (has_object(state) && !is_closed(state))
		status = fn(state, call, slice_ns(status, end_ns, turn.is_awaited), cancel);
	else
		status = STATUS_CLOSED;
	state_leave(state);
	turns_end(&turns, 1, &turn);
	return status;
}

ww_status channel_state_run(struct channel_state *state, state_fn fn, void *call,
	uint64_t timeout_ns, ww_cancel *cancel)
{
	uint64_t end_ns = end_of(timeout_ns);
	ww_status status;

	do {
		status = try_run(state, fn, call, end_ns, cancel);
		if (status == WW_TIMED_OUT)
			ww_memory_retire(NULL);
	} while (status == WW_TIMED_OUT && wait_now_ns() < end_ns);
	return status;
}

struct channel_call {
	channel_fn fn;
	void *call;
};

static ww_status call_channel(struct channel_state *state, void *call, uint64_t timeout_ns,
	ww_cancel *cancel)
{
	const struct channel_call *args = call;

	return args->fn(state->channel, args->call, timeout_ns, cancel);
}

ww_status channel_state_call(struct channel_state *state, channel_fn fn, void *call,
	uint64_t timeout_ns, ww_cancel *cancel)
{
	struct channel_call args = {fn, call};

	return channel_state_run(state, call_channel, &args, timeout_ns, cancel);
}

static ww_status get_info(ww_channel *channel, void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	(void)timeout_ns;
	(void)cancel;
	return ww_channel_info_get(channel, call);
}

ww_status channel_state_info(struct channel_state *state, struct ww_channel_info *info)
{
	*info = WW_INIT(struct ww_channel_info);
	return channel_state_call(state, get_info, info, 0, NULL);
}

/* --- waits for several things --- */

/* By the thread that uses the channel. */
static ww_status open_fileno(struct channel_state *state, void *call, uint64_t timeout_ns,
	ww_cancel *cancel)
{
	int fd;

	(void)timeout_ns;
	(void)cancel;
	if (state->ready_fd < 0) {
		ww_status status = state->queue ? ww_work_queue_eventfd(state->queue, &fd)
						: ww_channel_eventfd(state->channel, &fd);

		if (status != WW_OK)
			return status;
		pthread_mutex_lock(&state->turns.lock);
		state->ready_fd = fd;
		pthread_mutex_unlock(&state->turns.lock);
	}
	*(int *)call = state->ready_fd;
	return WW_OK;
}

ww_status channel_state_fileno(struct channel_state *state, int *out_fd)
{
	return channel_state_run(state, open_fileno, out_fd, 0, NULL);
}

/* By the thread that uses them all. Return: whether a frame was put back in one of them. */
static bool find_kept(struct channel_state *const *states, uint32_t count, uint32_t *out_index)
{
	for (uint32_t i = 0; i < count; i++) {
		if (has_kept(states[i])) {
			*out_index = i;
			return true;
		}
	}
	return false;
}

static bool are_open(struct channel_state *const *states, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!has_object(states[i]) || is_closed(states[i]))
			return false;
	}
	return true;
}

static ww_status try_wait_any(struct channel_state *const *states, uint32_t count, uint64_t end_ns,
	ww_cancel *cancel, uint32_t *out_index)
{
	ww_channel *channels[WW_CHANNEL_WAIT_MAX] = {NULL};
	struct turns *turns[WW_CHANNEL_WAIT_MAX] = {NULL};
	struct turn mine[WW_CHANNEL_WAIT_MAX];
	bool is_awaited = false;
	ww_status status;

	for (uint32_t i = 0; i < count; i++)
		turns[i] = &states[i]->turns;
	status = turns_enter_to_wait(turns, count, mine, end_ns, cancel);
	if (status != WW_OK && status != WW_TIMED_OUT)
		return status;
	for (uint32_t i = 0; i < count; i++) {
		channels[i] = states[i]->channel;
		is_awaited |= mine[i].is_awaited;
	}
	if (!are_open(states, count))
		status = STATUS_CLOSED;
	else if (find_kept(states, count, out_index))
		status = WW_OK;
	else
		status = ww_channel_wait_any(channels, count, slice_ns(status, end_ns, is_awaited),
			cancel, out_index);
	for (uint32_t i = 0; i < count; i++)
		state_leave(states[i]);
	turns_end(turns, count, mine);
	return status;
}

ww_status channel_state_wait_any(struct channel_state *const *states, uint32_t count,
	uint64_t timeout_ns, ww_cancel *cancel, uint32_t *out_index)
{
	uint64_t end_ns = end_of(timeout_ns);
	ww_status status;

	do {
		status = try_wait_any(states, count, end_ns, cancel, out_index);
		if (status == WW_TIMED_OUT)
			ww_memory_retire(NULL);
	} while (status == WW_TIMED_OUT && wait_now_ns() < end_ns);
	return status;
}

void channel_state_refresh(struct channel_state *state)
{
	if (!state->reattaches || is_inherited(state))
		return;
	pthread_mutex_lock(&state->turns.lock);
	state->form = state->latest;
	pthread_mutex_unlock(&state->turns.lock);
}

/* --- frames that are taken --- */

static struct frame_hold *hold_new(struct channel_state *state, ww_stream *stream)
{
	struct frame_hold *hold = calloc(1, sizeof(*hold));

	if (!hold)
		return NULL;
	hold->refs = 2; /* the Frame's, and that of its use */
	hold->users = 1;
	hold->is_open = true;
	hold->state = channel_state_ref(state);
	hold->stream = ww_stream_ref(stream);
	hold->frame = WW_INIT(struct ww_frame);
	return hold;
}

/* By the thread that uses the channel, which has just acquired it. */
static ww_status hold_note_slot(struct frame_hold *hold)
{
	struct channel_state *state = hold->state;
	uint32_t *held = &state->held[hold->frame.slot];

	if (*held > 0) { /* other threads may have ended views meanwhile */
		pthread_mutex_lock(&state->turns.lock);
		state_give_back_ended(state);
		pthread_mutex_unlock(&state->turns.lock);
	}
	if (*held == 0) {
		*held = 1;
		return WW_OK;
	}
	state->class->discard(hold, hold->stream);
	return CHANNEL_HAS_VIEWS;
}

/* By the thread that uses the channel. */
static ww_status hold_fill(struct channel_state *state, void *call, uint64_t timeout_ns,
	ww_cancel *cancel)
{
	struct frame_hold *hold = call;
	ww_status status;

	if (state->form.is_producer) {
		status = state->class->acquire(hold, timeout_ns, cancel);
		return status == WW_OK ? hold_note_slot(hold) : status;
	}
	if (has_kept(state))
		return CHANNEL_HAS_KEPT;
	status = state->class->receive(hold, timeout_ns, cancel);
	if (status != WW_OK)
		return status;
	hold->next_taken = state->taken;
	__atomic_store_n(&state->taken, hold, __ATOMIC_RELEASE);
	return WW_OK;
}

static ww_status hold_wait(struct frame_hold *hold, uint64_t timeout_ns, ww_cancel *cancel)
{
	uint64_t begin_ns = wait_now_ns(), spent_ns;
	bool is_retiring;
	ww_status status;

	do {
		status = channel_state_run(hold->state, hold_fill, hold,
			wait_left_ns(begin_ns, timeout_ns), cancel);
		spent_ns = wait_now_ns() - begin_ns;
		is_retiring = status == WW_ERR_STATE && look_for_retired(spent_ns);
		if (is_retiring && cancel && ww_cancel_is_set(cancel))
			return WW_CANCELLED;
	} while (is_retiring && spent_ns < timeout_ns);
	return is_retiring && wait_may_leave() ? WAIT_LEFT : status;
}

ww_status channel_state_take(struct channel_state *state, ww_stream *stream, uint64_t timeout_ns,
	ww_cancel *cancel, struct frame_hold **out_hold)
{
	struct frame_hold *hold = hold_new(state, stream);
	ww_status status;

	*out_hold = NULL;
	if (!hold)
		return WW_ERR_NO_MEMORY;
	status = hold_wait(hold, timeout_ns, cancel);
	if (status == WW_OK)
		*out_hold = hold;
	else
		hold_free(hold);
	return status;
}
