/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_step.c - either side of a channel dies at each step of the ring's protocol, and at each
 * call it makes
 *
 * The steps are functions of channel/ring.h and what lies around them: the linker has each go
 * through one of ours first, where the Nth one can be the last. A producer that dies leaves its
 * consumers every frame that it published, in order, and then its end; a consumer that dies keeps
 * nobody from going on. Nothing is left in the broker.
 *
 * Before the producer closes a slot for the first time, another consumer joins and begins with the
 * frame in it: so the slot is opened again, too.
 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "channel/channel.h"
#include "channel/consumers.h"
#include "channel/ring.h"
#include "crash/channel.h"
#include "crash/step.h"
#include "share/put_request.h"
#include "support/channel.h"

#define FRAMES     UINT64_C(8)
#define SLOTS      2
#define SLOT_BYTES 4096
#define LIMIT_NS   ((uint64_t)child_limit_ms() * 1000000)

/* --- the linker's side --- */

static void (*before_close)(void); /* called once */

static bool dies_in_publish; /* when the frame is in its slot, and not published yet */

DECLARE(ww_ring_publish);
void __wrap_ww_ring_publish(struct ww_ring *ring, uint32_t slot, uint64_t frame, uint64_t now_ns)
{
	if (dies_in_publish) {
		__atomic_store_n(&ww_ring_slot(ring, slot)->frame, frame, __ATOMIC_RELEASE);
		raise(SIGKILL);
	}
	step("ww_ring_publish", false);
	__real_ww_ring_publish(ring, slot, frame, now_ns);
	step("ww_ring_publish", true);
}

STEP_VOID(ww_ring_reopen_slot, (struct ww_ring * ring, uint32_t slot, uint64_t frame),
	(ring, slot, frame))
STEP_VOID(ww_ring_close, (struct ww_ring * ring), (ring))
STEP_VOID(ww_ring_wake, (struct ww_ring * ring), (ring))
STEP(ww_status, ww_consumers_meet, (struct ww_channel * channel), (channel))
STEP_VOID(ww_consumers_wake, (const struct ww_consumers *consumers, struct ww_ring *ring),
	(consumers, ring))
STEP(uint64_t, ww_channel_marks_begin,
	(struct ww_channel_marks * marks, const struct ww_ring *ring, uint64_t frame),
	(marks, ring, frame))
STEP(bool, ww_channel_marks_take,
	(struct ww_channel_marks * marks, const struct ww_ring *ring, uint32_t mark, uint32_t slot,
		uint64_t frame),
	(marks, ring, mark, slot, frame))
STEP_VOID(ww_channel_marks_set_next, (struct ww_channel_marks * marks, uint64_t frame),
	(marks, frame))
STEP_VOID(ww_channel_marks_end, (struct ww_channel_marks * marks), (marks))
STEP_VOID(ww_channel_marks_release,
	(struct ww_channel_marks * marks, uint32_t mark, uint32_t slot, uint64_t value),
	(marks, mark, slot, value))
STEP_VOID(ww_channel_marks_wake, (struct ww_channel_marks * marks, const struct ww_ring *ring),
	(marks, ring))

DECLARE(ww_ring_close_slot);
void __wrap_ww_ring_close_slot(struct ww_ring *ring, uint32_t slot)
{
	void (*call)(void) = before_close;

	before_close = NULL;
	if (call)
		call();
	step("ww_ring_close_slot", false);
	__real_ww_ring_close_slot(ring, slot);
	step("ww_ring_close_slot", true);
}

/* Between the channel's object and that of its slots. */
static void (*before_slots)(void);
static int puts_left;

DECLARE(ww_put_request_put);
ww_status __wrap_ww_put_request_put(struct ww_put_request *offer,
	struct ww_attachments *attachments, struct ww_broker *broker, uint64_t timeout_ns)
{
	if (before_slots && puts_left-- == 0)
		before_slots();
	return __real_ww_put_request_put(offer, attachments, broker, timeout_ns);
}

static const char *const producers_steps[] = {"ww_ring_publish", "ww_ring_close_slot",
	"ww_ring_reopen_slot", "ww_ring_close", "ww_ring_wake", "ww_consumers_meet",
	"ww_consumers_wake"};

static const char *const consumers_steps[] = {"ww_channel_marks_begin", "ww_channel_marks_take",
	"ww_channel_marks_set_next", "ww_channel_marks_end", "ww_channel_marks_release",
	"ww_channel_marks_wake"};

/* --- both sides --- */

static ww_channel *make(ww_device *device, ww_broker *broker, uint32_t policy)
{
	ww_channel *channel;

	MUST_OK(ww_channel_create(device, broker, "c",
		WW_PARAMS(struct ww_channel_params, .policy = policy, .slot_bytes = SLOT_BYTES,
			.slots = policy == WW_CHANNEL_BLOCK ? SLOTS : 0),
		NULL, &channel));
	return channel;
}

static ww_status join(ww_device *device, ww_broker *broker, ww_channel **out_channel)
{
	return ww_channel_get(device, broker, "c",
		WW_PARAMS(struct ww_consumer_params, .history = WW_CHANNEL_OLDEST), 0, NULL,
		out_channel);
}

/* The next frame, of which all bytes are right. Return: how ww_channel_receive() did. */
static ww_status take(ww_channel *channel, ww_stream *stream, uint64_t *out_number)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_status status = ww_channel_receive(channel, stream, LIMIT_NS, NULL, &frame);
	uint64_t value;

	if (status != WW_OK)
		return status;
	if (stream)
		MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST(frame_read(&frame, &value));
	MUST_EQUAL(frame.number, value);
	*out_number = value;
	return ww_channel_release(channel, &frame, stream);
}

/* --- the victim --- */

static void let_another_join(void)
{
	role_tell("closing");
	role_hear("joined");
}

static void send_by_stream(ww_channel *channel, ww_stream *stream, uint64_t value)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_OK(ww_channel_acquire(channel, stream, WW_FOREVER, NULL, &frame));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	frame_write(&frame, value);
	MUST_OK(ww_channel_publish(channel, &frame, stream));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
}

static ww_stream *stream_if_values(ww_device *device)
{
	return device_info(device).capabilities & WW_CAP_STREAM_VALUE ? stream_make(device) : NULL;
}

/* Frames by the CPU and by a stream, where it can. */
static void produce(ww_device *device, ww_broker *broker, char **arguments)
{
	OWN(stream) ww_stream *stream = stream_if_values(device);
	ww_channel *channel = make(device, broker, WW_CHANNEL_BLOCK);

	role_tell("made");
	role_hear("go");
	before_close = let_another_join;
	step_arm(arguments);
	for (uint64_t value = 1; value <= FRAMES; value++) {
		if (stream && value % 3 == 0)
			send_by_stream(channel, stream, value);
		else
			frame_send(channel, value);
	}
	ww_channel_unref(channel);
	step_disarm();
}

static void consume(ww_device *device, ww_broker *broker, char **arguments)
{
	OWN(stream) ww_stream *stream = stream_if_values(device);
	ww_channel *channel;
	uint64_t number = 0;

	step_arm(arguments);
	MUST_OK(join(device, broker, &channel));
	role_tell("joined");
	while (number < FRAMES)
		MUST_OK(take(channel, number % 3 ? NULL : stream, &number));
	ww_channel_unref(channel);
	step_disarm();
}

static void create_only(ww_device *device, ww_broker *broker, char **arguments)
{
	step_arm(arguments);
	ww_channel_unref(make(device, broker, WW_CHANNEL_BLOCK));
	step_disarm();
}

static void say_half(void)
{
	role_tell("half");
	role_hear("go");
}

/* role_channel_half: stops after it has put the channel, and before it puts the slots */
ROLE(role_channel_half)
{
	OWN(device) ww_device *device = subject_open();
	ww_channel *channel;
	OWN(broker) ww_broker *broker;

	MUST_OK(broker_open_patient(NULL, &broker));
	before_slots = say_half;
	puts_left = 1;
	channel = make(device, broker, WW_CHANNEL_BLOCK);
	role_tell("made");
	role_hear("end");
	ww_channel_unref(channel);
}

/* Until the consumer has taken the frame before, and sleeps again. */
static void wait_until_asleep(const ww_channel *channel, uint64_t next)
{
	const struct ww_list *list = &channel->consumers.group.members;
	const struct ww_consumer_view *view;

	MUST(list->next != list);
	view = ww_consumer_view_of(list->next);
	while (__atomic_load_n(&view->marks.header->next, __ATOMIC_SEQ_CST) != next ||
		!ww_channel_marks_are_asleep(&view->marks))
		sched_yield();
}

/* role_channel_half_published: dies within the publish of its last frame; a consumer sleeps */
ROLE(role_channel_half_published)
{
	ww_device *device = subject_open();
	ww_channel *channel;
	ww_broker *broker;

	MUST_OK(broker_open_patient(NULL, &broker));
	channel = make(device, broker, WW_CHANNEL_BLOCK);
	role_tell("made");
	role_hear("go");
	for (uint64_t value = 1; value < FRAMES; value++)
		frame_send(channel, value);
	wait_until_asleep(channel, FRAMES);
	dies_in_publish = true;
	frame_send(channel, FRAMES);
}

/* role_channel_stepper FUNCTION NTH before|after create|produce|consume */
ROLE(role_channel_stepper)
{
	ww_device *device = subject_open();
	OWN(broker) ww_broker *broker;

	MUST_EQUAL(4, count);
	MUST_OK(broker_open_patient(NULL, &broker));
	if (!strcmp(arguments[3], "create"))
		create_only(device, broker, arguments);
	else if (!strcmp(arguments[3], "produce"))
		produce(device, broker, arguments);
	else
		consume(device, broker, arguments);
	ww_device_unref(device);
}

/* --- the case's side --- */

/* Waits for the victim's word; false: it died before. */
static bool hears(struct child *victim, const char *word)
{
	struct pollfd waiting = {.fd = victim->control, .events = POLLIN};
	char heard[CHILD_WORD_BYTES] = "";

	MUST_EQUAL(1, poll(&waiting, 1, child_limit_ms()));
	if (recv(victim->control, heard, sizeof(heard) - 1, 0) <= 0)
		return false;
	MUST(!strcmp(heard, word));
	return true;
}

/* It may be dead meanwhile. */
static void tell(struct child *victim, const char *word)
{
	(void)send(victim->control, word, strlen(word) + 1, MSG_NOSIGNAL);
}

static bool meet_creating(const char *function, int nth, bool after)
{
	struct child victim;
	bool has_met_death;

	step_start_victim(&victim, "role_channel_stepper", function, nth, after, "create", NULL);
	has_met_death = step_has_died(&victim);
	step_nothing_is_left();
	return has_met_death;
}

struct follower {
	ww_channel *channel; /* NULL: it has not joined */
	uint64_t last;
	ww_status status; /* not WW_OK: the channel has ended */
};

/* The next frame, without a gap; it may begin with the second one. */
static void follow(struct follower *follower)
{
	uint64_t number;

	if (!follower->channel || follower->status != WW_OK)
		return;
	follower->status = take(follower->channel, NULL, &number);
	if (follower->status == WW_OK && follower->last == 0 && number == 2)
		follower->last = 1;
	if (follower->status == WW_OK)
		MUST_EQUAL(++follower->last, number);
	else
		MUST(follower->status == WW_END || follower->status == WW_ERR_PEER_LOST);
}

static int opened_again; /* slots, as far as the other consumer could begin with frame 1 */

/*
 * One consumer is there from the first frame on. When it has released that one, the producer takes
 * the slot back, and the other one comes. If the producer dies before it opens the slot again, the
 * other one begins with the second frame.
 */
static bool meet_producing(const char *function, int nth, bool after)
{
	struct follower followers[2] = {{.status = WW_OK}, {.status = WW_OK}};
	ww_status late = WW_OK;
	struct child victim;
	bool has_met_death;

	step_start_victim(&victim, "role_channel_stepper", function, nth, after, "produce", NULL);
	child_hear(&victim, "made");
	MUST_OK(join(scene.device, scene.broker, &followers[0].channel));
	child_tell(&victim, "go");
	follow(&followers[0]);
	MUST(followers[0].status != WW_OK || followers[0].last == 1);
	if (followers[0].status == WW_OK && hears(&victim, "closing")) {
		late = join(scene.device, scene.broker, &followers[1].channel);
		tell(&victim, "joined");
		opened_again += late == WW_OK;
	}
	do {
		follow(&followers[1]);
		follow(&followers[0]);
	} while (followers[0].status == WW_OK);
	if (followers[1].channel) {
		while (followers[1].status == WW_OK)
			follow(&followers[1]);
		MUST_EQUAL(followers[0].last, followers[1].last);
	}
	MUST(followers[0].status != WW_END || followers[0].last == FRAMES);
	ww_channel_unref(followers[1].channel);
	ww_channel_unref(followers[0].channel);
	has_met_death = step_has_died(&victim);
	MUST(late == WW_OK || (has_met_death && late == WW_ERR_NOT_FOUND));
	step_nothing_is_left();
	return has_met_death;
}

/* The consumer is told of the end after the frame before, and gets no frame afterwards. */
CASE(channel_producer_killed_within_publish, 0)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);
	struct child victim;
	ww_channel *channel;
	uint64_t number;

	scene_begin();
	child_start(&victim, "role_channel_half_published", NULL);
	child_hear(&victim, "made");
	MUST_OK(join(scene.device, scene.broker, &channel));
	child_tell(&victim, "go");
	for (uint64_t value = 1; value < FRAMES; value++)
		MUST_OK(take(channel, NULL, &number));
	for (int i = 0; i < 3; i++)
		MUST_STATUS(WW_ERR_PEER_LOST, take(channel, NULL, &number));
	MUST(step_has_died(&victim));
	MUST_OK(ww_channel_info_get(channel, &info));
	MUST_EQUAL(FRAMES - 1, info.published);
	MUST_EQUAL(FRAMES - 1, info.received);
	MUST_EQUAL(0, info.dropped);
	ww_channel_unref(channel);
	step_nothing_is_left();
	scene_end();
}

static uint32_t policy; /* of the next */

static void send_and_follow(ww_channel *channel, struct follower *follower, uint64_t value)
{
	frame_send(channel, value);
	follow(follower);
}

/* The producer and another consumer are here, and go on whatever happens. */
static bool meet_consuming(const char *function, int nth, bool after)
{
	ww_channel *channel = make(scene.device, scene.broker, policy);
	struct follower follower = {.status = WW_OK};
	struct child victim;
	bool has_met_death;
	uint64_t value = 1;

	MUST_OK(join(scene.device, scene.broker, &follower.channel));
	send_and_follow(channel, &follower, value++);
	send_and_follow(channel, &follower, value++);
	step_start_victim(&victim, "role_channel_stepper", function, nth, after, "consume", NULL);
	(void)hears(&victim, "joined");
	while (value <= 2 * FRAMES)
		send_and_follow(channel, &follower, value++);
	has_met_death = step_has_died(&victim);
	while (value <= 3 * FRAMES)
		send_and_follow(channel, &follower, value++);
	MUST_EQUAL(3 * FRAMES, follower.last);
	ww_channel_unref(follower.channel);
	ww_channel_unref(channel);
	step_nothing_is_left();
	return has_met_death;
}

CASE(channel_producer_killed_at_each_step, 0)
{
	int count;

	scene_begin();
	opened_again = 0;
	count = step_kill_at_all(meet_producing, producers_steps, CHECK_COUNT(producers_steps));
	scene_end();
	MUST(count > 40 && opened_again > 10);
	check_note("killed at %d steps; %d times a consumer came while a slot was taken back",
		count, opened_again);
}

static void kill_consumers(uint32_t by_policy)
{
	policy = by_policy;
	step_case(meet_consuming, consumers_steps, CHECK_COUNT(consumers_steps), 10);
}

CASE_CALL(channel_consumer_killed_at_each_step_block, 0, kill_consumers(WW_CHANNEL_BLOCK))
CASE_CALL(channel_consumer_killed_at_each_step_drop, 0, kill_consumers(WW_CHANNEL_DROP_OLDEST))
CASE_CALL(channel_consumer_killed_at_each_step_latest, 0, kill_consumers(WW_CHANNEL_LATEST))

static void kill_at_calls(step_meet_fn meet, int least)
{
	policy = WW_CHANNEL_BLOCK;
	step_case_calls(meet, least);
}

CASE_CALL(channel_killed_at_each_call_creating, 0, kill_at_calls(meet_creating, 20))
CASE_CALL(channel_killed_at_each_call_producing, 0, kill_at_calls(meet_producing, 5))
CASE_CALL(channel_killed_at_each_call_consuming, 0, kill_at_calls(meet_consuming, 20))

/* A consumer whose time is over has no channel; one that comes later has all of it. */
CASE(channel_joined_before_it_has_slots, 0)
{
	struct child producer;
	ww_channel *channel;

	scene_begin();
	child_start(&producer, "role_channel_half", NULL);
	child_hear(&producer, "half");
	MUST_STATUS(WW_TIMED_OUT,
		ww_channel_get(scene.device, scene.broker, "c", NULL, 1000000, NULL, &channel));
	MUST(!channel);
	child_tell(&producer, "go");
	child_hear(&producer, "made");
	MUST_OK(ww_channel_get(scene.device, scene.broker, "c", NULL, 0, NULL, &channel));
	ww_channel_unref(channel);
	child_tell(&producer, "end");
	child_finish(&producer);
	step_nothing_is_left();
	scene_end();
}

/* Longer than a case may take: a wait for so long is a hang. */
static ww_broker *open_with_long_limit(void)
{
	const struct ww_broker_params *params = WW_PARAMS(struct ww_broker_params,
		.timeout_ns = UINT64_C(3600) * 1000000000);
	ww_broker *broker;

	MUST_OK(ww_broker_open(params, &broker));
	return broker;
}

static uint32_t generation_of(ww_channel *channel)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);

	MUST_OK(ww_channel_info_get(channel, &info));
	return info.generation;
}

/* A consumer that goes on with the next producer waits for its slots no longer than it was told. */
CASE(channel_reattached_before_it_has_slots, 0)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_channel *first;
	ww_channel *channel;
	struct child producer;
	ww_broker *broker;

	scene_begin();
	broker = open_with_long_limit();
	first = make(scene.device, scene.broker, WW_CHANNEL_BLOCK);
	MUST_OK(ww_channel_get(scene.device, broker, "c",
		WW_PARAMS(struct ww_consumer_params, .flags = WW_CONSUMER_REATTACH), 0, NULL,
		&channel));
	ww_channel_unref(first);
	child_start(&producer, "role_channel_half", NULL);
	child_hear(&producer, "half");
	MUST_STATUS(WW_END, ww_channel_receive(channel, NULL, 0, NULL, &frame));
	MUST_STATUS(WW_TIMED_OUT, ww_channel_receive(channel, NULL, 0, NULL, &frame));
	MUST_STATUS(WW_TIMED_OUT, ww_channel_receive(channel, NULL, 1000000, NULL, &frame));
	MUST_EQUAL(1, generation_of(channel));
	child_tell(&producer, "go");
	child_hear(&producer, "made");
	while (generation_of(channel) == 1)
		MUST_STATUS(WW_TIMED_OUT, ww_channel_receive(channel, NULL, 1000000, NULL, &frame));
	MUST_EQUAL(2, generation_of(channel));
	ww_channel_unref(channel);
	child_tell(&producer, "end");
	child_finish(&producer);
	ww_broker_unref(broker);
	step_nothing_is_left();
	scene_end();
}
