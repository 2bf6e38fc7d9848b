/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - channels and work queues: frames that tell which they are
 *
 * A frame's value is the number of its channel, drawn anew for each, and the frame's own number. A
 * consumer claims of each frame that it is whole, that it is the one that its number says, and that
 * it stays so while it is held.
 */
#include "soak/soak.h"
#include "support/channel.h"
#include "support/work_queue.h"

#define CHANNELS  2
#define CONSUMERS 3
#define HELD      3
#define NAMES     4

static struct producer {
	ww_channel *channel;
	uint64_t id; /* the upper half of its frames' values */
	uint64_t published;
} producers[CHANNELS];

static struct consumer {
	ww_channel *channel;
	bool is_evil;
	uint64_t id; /* of the producer of the last frame */
	uint64_t last;
	uint32_t generation;
	struct ww_frame held[HELD];
	uint64_t values[HELD]; /* 0: none is held */
} consumers[CONSUMERS];

static struct {
	ww_work_queue *queue;
	uint32_t role;
	bool is_evil;
	uint64_t id;
	uint64_t published;
	struct ww_frame held;
	uint64_t value; /* 0: none is held */
} members[CHANNELS];

static void leave(struct consumer *consumer)
{
	ww_channel_unref(consumer->channel);
	*consumer = (struct consumer){NULL};
}

static void leave_queue(uint32_t at)
{
	ww_work_queue_unref(members[at].queue);
	members[at].queue = NULL;
	members[at].value = 0;
}

static void let_go(void)
{
	for (uint32_t i = 0; i < CONSUMERS; i++)
		leave(&consumers[i]);
	for (uint32_t i = 0; i < CHANNELS; i++) {
		producers[i].channel = ww_channel_unref(producers[i].channel);
		leave_queue(i);
	}
}

__attribute__((constructor)) static void register_let_go(void)
{
	soak_at_end(let_go);
}

static uint64_t draw_id(void)
{
	return (draw_number() | UINT64_C(1) << 32) & UINT64_C(0xffffffff00000000);
}

/* --- producers --- */

OP(channel_make, 5)
{
	struct producer *producer = &producers[draw_below(CHANNELS)];
	const struct ww_channel_params *params = WW_PARAMS(struct ww_channel_params,
		.policy = 1 + draw_below(3), .slot_bytes = FRAME_WORDS * 8,
		.consumers_max = 1 + draw_below(4), .held_max = 1 + draw_below(HELD),
		.kind = draw_one_in(2) ? WW_MEMORY_HOST : WW_MEMORY_VMM, .mode = 0644,
		.flags = draw_one_in(2) ? WW_PUT_REPLACE : 0);
	char name[NAME_BYTES];

	draw_name_to_make(name, "c", NAMES);
	producer->channel = ww_channel_unref(producer->channel);
	producer->id = draw_id();
	producer->published = 0;
	DO(MAKE_STATUSES,
		ww_channel_create(soak.device, soak.broker, name, params, NULL,
			&producer->channel));
}

OP(channel_export, 3)
{
	const struct ww_token_params params = draw_token_params();
	struct producer *producer = &producers[draw_below(CHANNELS)];
	struct ww_token token;

	if (producer->channel &&
		DO(ALLOW(WW_ERR_QUOTA) | ALLOW(WW_ERR_NOT_FOUND),
			ww_channel_export(producer->channel, &params, NULL, &token)) == WW_OK)
		soak_offer(TOKEN_CHANNEL, &token, producer->id);
}

OP(channel_send, 24)
{
	struct producer *producer = &producers[draw_below(CHANNELS)];
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_status status = WW_OK;

	for (uint32_t i = 1 + draw_below(8); producer->channel && i > 0 && status == WW_OK; i--) {
		ww_stream *stream = draw_stream();

		/* Not found: another process has replaced the channel. */
		status = DO(ALLOW(WW_TIMED_OUT) | ALLOW(WW_ERR_EVICTED) | ALLOW(WW_ERR_STATE) |
				ALLOW(WW_ERR_NOT_FOUND),
			ww_channel_acquire(producer->channel, NULL, draw_wait_ns(5), NULL, &frame));
		if (status != WW_OK)
			return;
		frame_write(&frame, producer->id | (producer->published + 1));
		if (draw_one_in(16)) {
			DO(0, ww_channel_discard(producer->channel, &frame, NULL));
			continue;
		}
		status = DO(ALLOW(WW_ERR_PEER_LOST) | ALLOW(WW_ERR_NOT_FOUND),
			ww_channel_publish(producer->channel, &frame, stream));
		if (status != WW_OK)
			DO(0, ww_channel_discard(producer->channel, &frame, NULL));
		else
			MUST_EQUAL(++producer->published, frame.number);
	}
}

OP(channel_evict, 0)
{
	struct producer *producer = &producers[draw_below(CHANNELS)];

	if (producer->channel)
		DO(ALLOW(WW_ERR_NOT_FOUND), ww_channel_evict(producer->channel, draw_below(4)));
}

OP(channel_close, 1)
{
	struct producer *producer = &producers[draw_below(CHANNELS)];

	producer->channel = ww_channel_unref(producer->channel);
}

OP(channel_look, 3)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);
	struct ww_channel_event event = WW_INIT(struct ww_channel_event);
	struct ww_channel_consumer_info consumer = WW_INIT(struct ww_channel_consumer_info);
	ww_channel *channel = draw_one_in(2) ? producers[draw_below(CHANNELS)].channel
					     : consumers[draw_below(CONSUMERS)].channel;

	if (!channel)
		return;
	DO(0, ww_channel_info_get(channel, &info));
	DO(ALLOW(WW_END), ww_channel_consumer_info_get(channel, 0, &consumer));
	while (DO(ALLOW(WW_TIMED_OUT), ww_channel_next_event(channel, 0, NULL, &event)) == WW_OK)
		;
}

/* --- consumers --- */

#define JOIN_STATUSES                                                          \
	(ALLOW(WW_TIMED_OUT) | ALLOW(WW_ERR_NOT_FOUND) | ALLOW(WW_ERR_LIMIT) | \
		ALLOW(WW_ERR_PEER_LOST) | ALLOW(WW_ERR_QUOTA) | ALLOW(WW_ERR_ACCESS))

OP(channel_join, 8)
{
	struct consumer *consumer = &consumers[draw_below(CONSUMERS)];
	const struct ww_consumer_params *params = WW_PARAMS(struct ww_consumer_params,
		.flags = draw_one_in(3) ? WW_CONSUMER_REATTACH : 0,
		.history = draw_one_in(2) ? WW_CHANNEL_OLDEST : 0);
	char name[NAME_BYTES];

	leave(consumer);
	draw_name_to_get(name, "c", NAMES);
	consumer->is_evil = name_is_evil(name);
	DO(JOIN_STATUSES | (consumer->is_evil ? ALLOW_ALL : 0),
		ww_channel_get(soak.device, soak.broker, name, params, draw_wait_ns(10), NULL,
			&consumer->channel));
}

OP(channel_import, 4)
{
	struct consumer *consumer = &consumers[draw_below(CONSUMERS)];
	struct soak_offer offer;

	if (!soak_take(TOKEN_CHANNEL, &offer))
		return;
	leave(consumer);
	DO(JOIN_STATUSES,
		ww_channel_import(soak.device, soak.broker, &offer.token, NULL, NULL,
			&consumer->channel));
	consumer->id = offer.value;
}

/* A forger's frame lies in its slot, whatever it says. */
static void touch(const struct ww_frame *frame)
{
	uint8_t bytes[FRAME_WORDS * 8];
	ww_memory *memory;
	uint64_t offset;

	MUST(frame->bytes <= frame->capacity);
	MUST_OK(ww_memory_find(frame->pointer, &memory, &offset));
	if (frame->bytes > 0)
		memory_get(memory, offset, bytes,
			frame->bytes < sizeof(bytes) ? frame->bytes : sizeof(bytes));
	ww_memory_unref(memory);
}

static uint64_t verify(const struct ww_frame *frame)
{
	uint64_t value = 0;

	HOLDS(frame_read(frame, &value));
	return value;
}

static void look_at(struct consumer *consumer, const struct ww_frame *frame, uint64_t value)
{
	uint64_t id = value >> 32 << 32;

	if (frame->generation != consumer->generation) {
		consumer->id = consumer->generation ? 0 : consumer->id;
		consumer->last = 0;
		consumer->generation = frame->generation;
	}
	HOLDS((uint32_t)value == frame->number);
	HOLDS(frame->number > consumer->last);
	HOLDS(consumer->id == 0 || consumer->id == id);
	consumer->id = id;
	consumer->last = frame->number;
}

static void release(struct consumer *consumer, uint32_t at, ww_stream *stream)
{
	struct ww_frame *frame = &consumer->held[at];

	if (!consumer->is_evil && !soak.is_forger) {
		uint64_t value = verify(frame);

		if (value != consumer->values[at])
			FAIL("frame %llu has the value %#llx while it is held, not %#llx",
				(unsigned long long)frame->number, (unsigned long long)value,
				(unsigned long long)consumer->values[at]);
	}
	if (DO(ALLOW(WW_ERR_PEER_LOST) | (consumer->is_evil ? ALLOW_ALL : 0),
		    ww_channel_release(consumer->channel, frame, stream)) != WW_OK &&
		stream)
		(void)ww_channel_release(consumer->channel, frame, NULL);
	consumer->values[at] = 0;
}

OP(channel_receive, 30)
{
	struct consumer *consumer = &consumers[draw_below(CONSUMERS)];
	uint64_t allowed = ALLOW(WW_TIMED_OUT) | ALLOW(WW_END) | ALLOW(WW_ERR_PEER_LOST) |
		ALLOW(WW_ERR_EVICTED) | ALLOW(WW_ERR_STATE) | JOIN_STATUSES;
	ww_status status = WW_OK;

	for (uint32_t i = 1 + draw_below(8); consumer->channel && i > 0 && status == WW_OK; i--) {
		struct ww_frame frame = WW_INIT(struct ww_frame);
		uint32_t at = draw_below(HELD);

		if (consumer->values[at])
			release(consumer, at, draw_stream());
		status = DO(consumer->is_evil ? ALLOW_ALL : allowed,
			ww_channel_receive(consumer->channel, NULL, draw_wait_ns(5), NULL, &frame));
		if (status != WW_OK)
			break;
		consumer->held[at] = frame;
		consumer->values[at] = 1;
		if (consumer->is_evil || soak.is_forger) {
			touch(&frame);
		} else {
			consumer->values[at] = verify(&frame);
			look_at(consumer, &frame, consumer->values[at]);
		}
		if (!draw_one_in(3))
			release(consumer, at, draw_stream());
	}
	if (status == WW_END || status == WW_ERR_EVICTED || draw_one_in(40))
		leave(consumer);
}

/* --- work queues --- */

OP(queue_open, 6)
{
	static const uint32_t roles[] = {WW_WORK_QUEUE_KEEPER, WW_WORK_QUEUE_PRODUCER,
		WW_WORK_QUEUE_PRODUCER, WW_WORK_QUEUE_CONSUMER, WW_WORK_QUEUE_CONSUMER,
		WW_WORK_QUEUE_FAILED};
	uint32_t at = draw_below(CHANNELS);
	const struct ww_work_queue_params params = {
		.struct_size = sizeof(params),
		.role = roles[draw_below(CHECK_COUNT(roles))],
		.slot_bytes = FRAME_WORDS * 8,
		.slots = 2 + draw_below(8),
		.failed_max = 1,
		.kind = draw_one_in(2) ? WW_MEMORY_HOST : WW_MEMORY_VMM,
	};
	char name[NAME_BYTES];

	/* Members of a queue trust each other, so forgers have queues of their own. */
	draw_name_to_make(name, "w", 3);
	leave_queue(at);
	members[at].role = params.role;
	members[at].id = draw_id();
	members[at].published = 0;
	if (draw_one_in(2))
		DO(MAKE_STATUSES,
			ww_work_queue_create(soak.device, soak.broker, name, &params, NULL,
				&members[at].queue));
	else
		DO(ALLOW(WW_TIMED_OUT) | ALLOW(WW_ERR_NOT_FOUND) | ALLOW(WW_ERR_LIMIT) |
				ALLOW(WW_ERR_STATE) | ALLOW(WW_ERR_QUOTA) | ALLOW(WW_ERR_PEER_LOST),
			ww_work_queue_get(soak.device, soak.broker, name,
				WW_PARAMS(struct ww_work_member_params, .role = params.role),
				draw_wait_ns(5), NULL, &members[at].queue));
}

OP(queue_send, 12)
{
	uint32_t at = draw_below(CHANNELS);
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_stream *stream = draw_stream();

	if (!members[at].queue || members[at].role != WW_WORK_QUEUE_PRODUCER ||
		DO(ALLOW(WW_TIMED_OUT) | ALLOW(WW_END),
			ww_work_queue_acquire(members[at].queue, NULL, draw_wait_ns(5), NULL,
				&frame)) != WW_OK)
		return;
	frame_write(&frame, members[at].id | (members[at].published + 1));
	if (DO(ALLOW(WW_ERR_PEER_LOST), ww_work_queue_publish(members[at].queue, &frame, stream)) !=
		WW_OK)
		DO(0, ww_work_queue_discard(members[at].queue, &frame, NULL));
	else
		MUST_EQUAL(++members[at].published, frame.number);
}

static uint64_t verify_work(const struct ww_frame *frame)
{
	uint64_t value = 0;

	HOLDS(frame_read(frame, &value));
	HOLDS((uint32_t)value == frame->number);
	return value;
}

OP(queue_receive, 14)
{
	uint32_t at = draw_below(CHANNELS);

	if (!members[at].queue || members[at].value ||
		(members[at].role != WW_WORK_QUEUE_CONSUMER &&
			members[at].role != WW_WORK_QUEUE_FAILED))
		return;
	members[at].held = WW_INIT(struct ww_frame);
	if (DO(ALLOW(WW_TIMED_OUT) | ALLOW(WW_END) | ALLOW(WW_ERR_PEER_LOST),
		    ww_work_queue_receive(members[at].queue, NULL, draw_wait_ns(5), NULL,
			    &members[at].held)) == WW_OK)
		members[at].value = soak.is_forger ? 1 : verify_work(&members[at].held);
}

OP(queue_done, 14)
{
	uint32_t at = draw_below(CHANNELS);
	ww_stream *stream = draw_stream();
	ww_status status;

	if (!members[at].queue || !members[at].value)
		return;
	if (!soak.is_forger)
		HOLDS(verify_work(&members[at].held) == members[at].value);
	members[at].value = 0;
	if (draw_one_in(4)) {
		DO(0, ww_work_queue_reject(members[at].queue, &members[at].held));
		return;
	}
	status = DO(ALLOW(WW_ERR_PEER_LOST),
		ww_work_queue_acknowledge(members[at].queue, &members[at].held, stream));
	if (status != WW_OK && stream)
		(void)ww_work_queue_acknowledge(members[at].queue, &members[at].held, NULL);
}

OP(queue_leave, 2)
{
	uint32_t at = draw_below(CHANNELS);

	if (members[at].queue && draw_one_in(4))
		DO(ALLOW(WW_ERR_ACCESS), ww_work_queue_close(members[at].queue));
	leave_queue(at);
}
