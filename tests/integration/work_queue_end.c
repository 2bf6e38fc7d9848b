/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_end.c - what becomes of the frames of a work queue when its processes are killed, or
 * the broker is
 */
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include "integration/work_queue.h"
#include "queue/queue.h"

static struct child producer; /* made queue "q" */
static struct child consumers[2];
static struct child *const consumer = &consumers[0];

/* The producer, and so many of the consumers. */
static void start_all(int count, const char *options)
{
	agent_begin(&producer, "work_queue", "create q role=2 %s", options);
	for (int i = 0; i < count; i++) {
		agent_begin(&consumers[i], "work_queue", "join q 3");
	}
}

/*
 * Members write the bell and the claims, and producers the roster: what one of them makes of the
 * headers keeps no other away.
 */
SCENE_CASE(work_queue_headers_keep_nobody_away, NEEDS_VALUES)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_work_queue *hostile;

	start_all(0, "");
	agent_must(&producer, WW_OK, "send 2");
	hostile = queue_get(WW_WORK_QUEUE_PRODUCER);
	memset(hostile->roster.header, 0xff, offsetof(struct ww_layout_work_queue_roster, count));
	ww_work_queue_unref(hostile);
	hostile = queue_get(WW_WORK_QUEUE_CONSUMER);
	MUST_OK(ww_work_queue_receive(hostile, NULL, 0, NULL, &frame));
	memset(hostile->bell.header, 0, offsetof(struct ww_layout_work_queue_bell, asleep));
	memset(ww_queue_ring_of(hostile->rings.next)->claims.header, 0xff,
		offsetof(struct ww_layout_work_queue_claims, wakes));
	MUST_OK(ww_work_queue_reject(hostile, &frame));
	agent_begin(consumer, "work_queue", "join q 3");
	agent_does(consumer, "hold 1 2", "done", "hold 2 1", "done");
	agent_begin(&consumers[1], "work_queue", "join q 2");
	agent_must(&consumers[1], WW_OK, "send 1");
	agent_does(consumer, "hold 1 1", "done");
	ww_work_queue_unref(hostile);
}

/* --- consumers --- */

/* The other consumer sleeps meanwhile. What comes again is before what is new. */
SCENE_CASE(work_queue_killed_consumer_gives_back, NEEDS_VALUES)
{
	start_all(2, "");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumers[0], WW_OK, "hold 1 1");
	agent_must(&consumers[1], WW_TIMED_OUT, "no_more wait_ms=0");
	agent_tell(&consumers[1], "hold 1 2");
	child_kill(&consumers[0]);
	agent_answers(&consumers[1], WW_OK);
	agent_must(&producer, WW_OK, "send 1");
	agent_does(&consumers[1], "done", "hold 2 1", "done");
}

/* The other consumer sleeps in poll(), and has not met the one that is killed. */
SCENE_CASE(work_queue_killed_consumer_wakes_poll, NEEDS_VALUES)
{
	start_all(2, "");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(&consumers[0], WW_OK, "hold 1 1");
	agent_tell(&consumers[1], "poll");
	child_kill(&consumers[0]);
	agent_answers(&consumers[1], WW_OK);
	agent_must(&consumers[1], WW_OK, "numbers 1 0");
}

/* The totals of a consumer that was killed stay; the frame that it had is counted as a repeat. */
SCENE_CASE(work_queue_totals_outlive_killed_consumer, NEEDS_VALUES)
{
	struct ww_work_queue_info info = WW_INIT(struct ww_work_queue_info);
	OWN(work_queue) ww_work_queue *keeper;

	start_all(2, "");
	MUST_OK(ww_work_queue_get(scene.device, scene.broker, "q", MEMBER(WW_WORK_QUEUE_KEEPER), 0,
		NULL, &keeper));
	agent_must(&producer, WW_OK, "send 3");
	agent_does(&consumers[0], "hold 1 1", "done", "hold 2 1");
	child_kill(&consumers[0]);
	agent_does(&consumers[1], "hold_any", "done", "hold_any", "done");
	MUST_OK(ww_work_queue_info_get(keeper, &info));
	MUST_EQUAL(3, info.published_total);
	MUST_EQUAL(3, info.acknowledged_total);
	MUST_EQUAL(1, info.repeated_total);
	MUST_EQUAL(0, info.failed_total + info.dropped_total + info.lost_total);
	MUST_EQUAL(0, info.available + info.claimed + info.failed);
}

/* Also when nobody else was there, and the one that comes takes over its entry. */
SCENE_CASE(work_queue_entry_of_killed_consumer_is_taken, NEEDS_VALUES)
{
	start_all(1, "consumers=1");
	agent_must(&producer, WW_OK, "send 2");
	agent_must(&consumers[0], WW_OK, "hold 1 1");
	queue_start(&consumers[1]);
	agent_must(&consumers[1], WW_ERR_LIMIT, "join q 3");
	child_kill(&consumers[0]);
	agent_must(&consumers[1], WW_OK, "join q 3 until_free"); /* the kernel reports the end */
	agent_does(&consumers[1], "hold 1 2", "done", "hold 2 1", "done");
}

/* A frame that ends whoever works on it does not end all. */
SCENE_CASE(work_queue_frame_that_kills_fails, NEEDS_VALUES)
{
	struct child failed;

	start_all(0, "attempts=2 slots=1");
	agent_must(&producer, WW_OK, "send 1");
	for (int i = 1; i <= 2; i++) {
		agent_begin(consumer, "work_queue", "join q 3");
		agent_must(consumer, WW_OK, "hold 1 %d", i);
		child_kill(consumer);
	}
	agent_begin(&failed, "work_queue", "join q 4");
	agent_must(&failed, WW_OK, "hold 1 3");
	agent_must(&producer, WW_TIMED_OUT, "acquire wait_ms=0");
	agent_must(&failed, WW_OK, "done");
	agent_must(&producer, WW_OK, "send 1");
}

/* A producer that waits for a slot gives back what a killed consumer had, and gets the slot. */
SCENE_CASE(work_queue_producer_drops_what_failed, NEEDS_VALUES)
{
	start_all(1, "attempts=1 slots=1");
	agent_must(&producer, WW_OK, "send 1");
	agent_must(consumer, WW_OK, "hold 1 1");
	agent_tell(&producer, "send 1");
	child_kill(consumer);
	agent_answers(&producer, WW_OK);
}

/* It was acknowledged by a stream whose work was not complete. */
SCENE_CASE(work_queue_unfinished_work_comes_again, NEEDS_VALUES)
{
	start_all(2, "");
	agent_must(&producer, WW_OK, "send 2");
	agent_does(&consumers[0], "hold 1 1", "stream_done");
	agent_does(&consumers[1], "hold 2 1", "done");
	child_kill(&consumers[0]);
	agent_does(&consumers[1], "hold 1 2", "done");
}

/* It left before its stream had done the work, and then that was complete. */
SCENE_CASE(work_queue_work_ends_after_leaving, NEEDS_VALUES)
{
	start_all(1, "slots=1");
	agent_must(&producer, WW_OK, "send 1");
	agent_does(consumer, "hold 1 1", "stream_done", "leave");
	agent_must(&producer, WW_TIMED_OUT, "acquire wait_ms=20");
	agent_must(consumer, WW_OK, "go");
	agent_must(&producer, WW_OK, "send 1");
	agent_does(consumer, "join q 3", "hold 2 1", "done");
}

/* --- producers --- */

/* A keeper holds the queue. A consumer that comes later gets what was complete. */
SCENE_CASE(work_queue_frames_of_killed_producer_stay, NEEDS_VALUES)
{
	struct child keeper;

	agent_begin(&keeper, "work_queue", "create q");
	agent_begin(&producer, "work_queue", "join q 2");
	agent_does(&producer, "send 2", "stream_send");
	child_kill(&producer);
	scene_has_holders(2);
	agent_begin(consumer, "work_queue", "join q 3");
	agent_must(consumer, WW_OK, "take 2");
	agent_must(consumer, WW_TIMED_OUT, "no_more wait_ms=0");
	agent_must(consumer, WW_OK, "numbers 2 1");
	agent_must(&keeper, WW_OK, "shut");
	agent_must(consumer, WW_END, "no_more wait_ms=forever");
}

/* A consumer sleeps in poll(): the end of the last producer of a closed queue is the end. */
SCENE_CASE(work_queue_killed_producer_wakes_poll, NEEDS_VALUES)
{
	start_all(1, "");
	agent_does(&producer, "stream_send", "shut");
	agent_tell(consumer, "poll");
	child_kill(&producer);
	agent_answers(consumer, WW_END);
	agent_must(consumer, WW_OK, "numbers 0 1");
}

/* So does that of a producer with slots, for who asked to be told; nobody closed the queue. */
SCENE_CASE(work_queue_killed_producer_is_no_longer_waited_for, NEEDS_VALUES)
{
	struct child keeper;

	agent_begin(&keeper, "work_queue", "create q");
	agent_begin(consumer, "work_queue", "join q 3 end_after=1");
	agent_begin(&producer, "work_queue", "join q 2");
	agent_does(&producer, "send 1", "acquire");
	agent_must(consumer, WW_OK, "take 1");
	agent_tell(consumer, "no_more wait_ms=forever");
	child_kill(&producer);
	agent_answers(consumer, WW_END);
}

static void totals_must_be(uint64_t published, uint64_t acknowledged, uint64_t lost)
{
	struct ww_work_queue_info info = WW_INIT(struct ww_work_queue_info);
	OWN(work_queue) ww_work_queue *keeper;

	MUST_OK(ww_work_queue_get(scene.device, scene.broker, "q", MEMBER(WW_WORK_QUEUE_KEEPER), 0,
		NULL, &keeper));
	MUST_OK(ww_work_queue_info_get(keeper, &info));
	MUST_EQUAL(published, info.published_total);
	MUST_EQUAL(acknowledged, info.acknowledged_total);
	MUST_EQUAL(lost, info.lost_total);
}

/* A consumer's stream waits for a frame that never is complete: it is told, and goes on. */
SCENE_CASE(work_queue_unfinished_frame_is_lost, NEEDS_VALUES)
{
	start_all(2, "");
	agent_does(&producer, "stream_send", "send 1");
	agent_must(&consumers[0], WW_OK, "stream_hold");
	child_kill(&producer);
	scene_has_holders(3);
	agent_refuses(&consumers[0], WW_ERR_PEER_LOST, "never complete", "done");
	agent_does(&consumers[1], "hold 2 1", "done");
	agent_must(&consumers[0], WW_TIMED_OUT, "no_more wait_ms=0");
	totals_must_be(2, 1, 1);
}

/* The same, when it was acknowledged before the producer ended. */
SCENE_CASE(work_queue_acknowledged_frame_is_lost, NEEDS_VALUES)
{
	start_all(1, "");
	agent_must(&producer, WW_OK, "stream_send");
	agent_does(consumer, "stream_hold", "done");
	child_kill(&producer);
	scene_has_holders(2);
	agent_refuses(consumer, WW_ERR_PEER_LOST, "never complete", "no_more wait_ms=forever");
	agent_must(consumer, WW_TIMED_OUT, "no_more wait_ms=0");
}

/* A queue that was closed ends only when that is known. */
SCENE_CASE(work_queue_end_comes_after_what_may_be_lost, NEEDS_VALUES)
{
	start_all(1, "");
	agent_does(&producer, "stream_send", "shut");
	agent_does(consumer, "stream_hold", "done");
	agent_must(consumer, WW_TIMED_OUT, "no_more wait_ms=0");
	agent_tell(consumer, "no_more wait_ms=forever");
	child_kill(&producer);
	agent_answers(consumer, WW_ERR_PEER_LOST);
	agent_must(consumer, WW_END, "no_more wait_ms=forever");
}

/* --- broker --- */

SCENE_CASE(work_queue_broker_restart_is_not_seen, NEEDS_VALUES)
{
	struct child late;

	start_all(2, "");
	agent_must(&producer, WW_OK, "send 3");
	agent_must(&consumers[0], WW_OK, "hold 1 1");
	agent_must(&consumers[1], WW_OK, "take 1");
	scene_restart_broker();
	agent_must(&producer, WW_OK, "send 2");
	agent_must(&consumers[1], WW_OK, "take 3");
	agent_begin(&late, "work_queue", "join q 3");
	child_kill(&consumers[0]);
	agent_does(&late, "hold 1 2", "done");
}

/* The totals are in the queue's own files; what each producer has is known to the broker alone. */
CASE(work_queue_keeper_counts_without_broker, NEEDS_VALUES)
{
	struct ww_work_queue_info info = WW_INIT(struct ww_work_queue_info);
	ww_work_queue *producers[2];
	OWN(work_queue) ww_work_queue *keeper;

	scene_begin();
	MUST_OK(ww_work_queue_create(scene.device, scene.broker, "q",
		WW_PARAMS(struct ww_work_queue_params, .slot_bytes = SLOT_BYTES), NULL, &keeper));
	for (int i = 0; i < 2; i++) {
		MUST_OK(ww_work_queue_get(scene.device, scene.broker, "q",
			MEMBER(WW_WORK_QUEUE_PRODUCER), 0, NULL, &producers[i]));
		work_send(producers[i], 1);
	}
	MUST_OK(ww_work_queue_info_get(keeper, &info));
	MUST_EQUAL(0, info.uncounted);
	MUST_EQUAL(2, info.producers);
	MUST_EQUAL(2, info.available);
	scene_kill();
	MUST_OK(ww_work_queue_info_get(keeper, &info));
	MUST_EQUAL(2, info.uncounted);
	MUST_EQUAL(0, info.producers);
	MUST_EQUAL(0, info.available);
	MUST_EQUAL(2, info.published_total);
	for (int i = 0; i < 2; i++)
		ww_work_queue_unref(producers[i]);
}

/* --- rights --- */

/* Who may read consumes, and cannot produce; who may not read does neither. */
SCENE_CASE(work_queue_mode_decides, NEEDS_VALUES | NEEDS_ROOT)
{
	struct child agents[3];
	static const char *const users[] = {"61001 61001", "61002 61100", "61003 61003"};

	for (int i = 0; i < 3; i++) {
		queue_start(&agents[i]);
		if (i == 0)
			agent_must(&agents[i], WW_OK, "user %s 61100", users[i]);
		else
			agent_must(&agents[i], WW_OK, "user %s", users[i]);
	}
	agent_must(&agents[0], WW_OK, "create q role=2 mode=0644");
	for (int i = 1; i < 3; i++)
		agent_must(&agents[i], WW_ERR_ACCESS, "join q 2");
	agent_must(&agents[1], WW_OK, "join q 3");
	agent_must(&agents[0], WW_OK, "send 2");
	agent_must(&agents[1], WW_OK, "hold 1 1");
	agent_must(&agents[1], WW_ERR_ACCESS, "shut");
	agent_must(&agents[2], WW_OK, "join q 3");
	child_kill(&agents[1]);
	agent_does(&agents[2], "hold 1 2", "done", "hold 2 1");
}

/* --- members that are killed at random, while frames go on --- */

#define CONSUMERS 3
#define KILLS     40
#define FRAMES    4000

/* Receives for ever; ends with status 1 if a frame is torn, or a new one is out of order. */
ROLE(role_work_queue_consumer)
{
	ww_work_queue *queue;
	uint64_t next = 1;
	uint64_t value;

	MUST_OK(ww_work_queue_get(subject_open(), NULL, "q", MEMBER(WW_WORK_QUEUE_CONSUMER),
		WW_FOREVER, NULL, &queue));
	role_tell("joined");
	for (;;) {
		struct ww_frame frame = WW_INIT(struct ww_frame);

		MUST_OK(ww_work_queue_receive(queue, NULL, WW_FOREVER, NULL, &frame));
		MUST(frame_read(&frame, &value));
		MUST_EQUAL(frame.number, value);
		MUST(frame.attempts > 1 || frame.number >= next); /* new ones come in order */
		if (frame.attempts == 1)
			next = frame.number + 1;
		MUST_OK(ww_work_queue_acknowledge(queue, &frame, NULL));
	}
}

static void consumer_start(struct child *victim)
{
	child_start(victim, "role_work_queue_consumer", NULL);
	child_hear(victim, "joined");
}

static void consumer_replace(struct child *victim)
{
	int status;

	kill(victim->pid, SIGKILL);
	status = child_wait(victim);
	MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	consumer_start(victim);
}

/* No frame stays behind, and none fails, since few of so many attempts are ended. */
SCENE_CASE(work_queue_consumers_killed, NEEDS_VALUES)
{
	struct child victims[CONSUMERS];
	struct ww_work_queue_info info = WW_INIT(struct ww_work_queue_info);
	OWN(work_queue) ww_work_queue *queue;
	uint64_t value = 0;

	MUST_OK(ww_work_queue_create(scene.device, scene.broker, "q",
		WW_PARAMS(struct ww_work_queue_params, .role = WW_WORK_QUEUE_PRODUCER,
			.slot_bytes = SLOT_BYTES, .slots = 4, .attempts_max = 64,
			.consumers_max = CONSUMERS + 1),
		NULL, &queue));
	for (int i = 0; i < CONSUMERS; i++)
		consumer_start(&victims[i]);
	for (int i = 0; i < KILLS; i++) {
		while (value < (uint64_t)(i + 1) * FRAMES / KILLS)
			work_send(queue, ++value);
		consumer_replace(&victims[i % CONSUMERS]);
	}
	/* All slots can be had only when all frames are done. */
	for (int i = 0; i < 4; i++) {
		struct ww_frame frame = WW_INIT(struct ww_frame);

		MUST_OK(ww_work_queue_acquire(queue, NULL, WW_FOREVER, NULL, &frame));
	}
	MUST_OK(ww_work_queue_info_get(queue, &info));
	MUST_EQUAL(FRAMES, info.published);
	MUST_EQUAL(0, info.failed + info.dropped + info.claimed + info.available);
	MUST_EQUAL(FRAMES, info.published_total);
	/* A consumer counts before it acknowledges, so that each kill can add one. */
	MUST(info.acknowledged_total >= FRAMES && info.acknowledged_total <= FRAMES + KILLS);
	for (int i = 0; i < CONSUMERS; i++)
		child_kill(&victims[i]);
}

/* Publishes frames for ever. */
ROLE(role_work_queue_producer)
{
	ww_work_queue *queue;

	MUST_OK(ww_work_queue_get(subject_open(), NULL, "q", MEMBER(WW_WORK_QUEUE_PRODUCER),
		WW_FOREVER, NULL, &queue));
	for (uint64_t value = 1;; value++) {
		work_send(queue, value);
		if (value == 1)
			role_tell("sends");
	}
}

#define PRODUCER_KILLS 20
#define PRODUCERS      2

/* What one consumer gets of each is in order and without a gap, until that producer's end. */
static void take_some(ww_work_queue *queue, uint64_t last[], int count)
{
	for (int i = 0; i < count; i++) {
		struct ww_frame frame = WW_INIT(struct ww_frame);
		uint64_t value;

		MUST_OK(ww_work_queue_receive(queue, NULL, WW_FOREVER, NULL, &frame));
		MUST(frame_read(&frame, &value));
		MUST_EQUAL(frame.number, value);
		MUST(frame.producer < PRODUCERS + PRODUCER_KILLS + 1);
		MUST_EQUAL(last[frame.producer] + 1, frame.number);
		last[frame.producer] = frame.number;
		MUST_OK(ww_work_queue_acknowledge(queue, &frame, NULL));
	}
}

SCENE_CASE(work_queue_producers_killed, NEEDS_VALUES)
{
	uint64_t last[PRODUCERS + PRODUCER_KILLS + 1] = {0};
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct child producers[PRODUCERS];
	OWN(work_queue) ww_work_queue *queue;
	OWN(work_queue) ww_work_queue *keeper;

	MUST_OK(ww_work_queue_create(scene.device, scene.broker, "q",
		WW_PARAMS(struct ww_work_queue_params, .slot_bytes = SLOT_BYTES, .slots = 4), NULL,
		&keeper));
	MUST_OK(ww_work_queue_get(scene.device, scene.broker, "q", MEMBER(WW_WORK_QUEUE_CONSUMER),
		0, NULL, &queue));
	for (int i = 0; i < PRODUCERS; i++) {
		child_start(&producers[i], "role_work_queue_producer", NULL);
		child_hear(&producers[i], "sends");
	}
	for (int i = 0; i < PRODUCER_KILLS; i++) {
		struct child *victim = &producers[i % PRODUCERS];

		take_some(queue, last, 50);
		kill(victim->pid, SIGKILL);
		(void)child_wait(victim);
		child_start(victim, "role_work_queue_producer", NULL);
		take_some(queue, last, 50);
		child_hear(victim, "sends");
	}
	for (int i = 0; i < PRODUCERS; i++)
		child_kill(&producers[i]);
	MUST_OK(ww_work_queue_close(keeper));
	while (ww_work_queue_receive(queue, NULL, WW_FOREVER, NULL, &frame) == WW_OK) {
		MUST_EQUAL(last[frame.producer] + 1, frame.number);
		last[frame.producer] = frame.number;
		MUST_OK(ww_work_queue_acknowledge(queue, &frame, NULL));
	}
	MUST_STATUS(WW_END, ww_work_queue_receive(queue, NULL, WW_FOREVER, NULL, &frame));
}
