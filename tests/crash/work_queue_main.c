/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_main.c - a member of a work queue dies at each call it makes, alone and while another
 * one joins; the others go on, and the queue keeps nothing of it but one entry
 *
 * The queue and the director's own producer and consumer live through all of these deaths. There
 * is one more entry for each role (two, where another one joins), which the next member must find
 * free.
 */
#include <string.h>

#include "crash/figures.h"
#include "crash/step.h"
#include "support/broker_case.h"
#include "support/check.h"
#include "support/driver.h"
#include "support/needs.h"
#include "support/subject.h"
#include "support/work_queue.h"

#define FRAMES      3
#define LIMIT_NS    ((uint64_t)child_limit_ms() * 1000000)
#define NEVER_DIES  "1000000"
#define OWN_OBJECTS 4 /* the queue, its roster, the director's producer and consumer */

/* --- the members that die --- */

/* role_work_queue_member FUNCTION NTH before|after produce|consume */
ROLE(role_work_queue_member)
{
	OWN(device) ww_device *device = subject_open();
	bool produces = !strcmp(arguments[3], "produce");
	struct ww_work_member_params params = WW_INIT(struct ww_work_member_params);
	struct ww_frame frame = WW_INIT(struct ww_frame);
	OWN(broker) ww_broker *broker;
	ww_work_queue *queue;

	MUST_EQUAL(4, count);
	MUST_OK(broker_open_patient(NULL, &broker));
	params.role = produces ? WW_WORK_QUEUE_PRODUCER : WW_WORK_QUEUE_CONSUMER;
	step_arm(arguments);
	MUST_OK(ww_work_queue_get(device, broker, "q", &params, LIMIT_NS, NULL, &queue));
	for (uint64_t i = 1; produces && i <= FRAMES; i++)
		work_send(queue, i);
	if (!produces) {
		MUST_OK(ww_work_queue_receive(queue, NULL, LIMIT_NS, NULL, &frame));
		MUST_OK(ww_work_queue_acknowledge(queue, &frame, NULL));
	}
	ww_work_queue_unref(queue);
	step_disarm();
}

/* --- the director's side --- */

static struct {
	ww_work_queue *producer;
	ww_work_queue *consumer;
	const char *how;   /* of the next member that dies */
	bool with_another; /* one that lives joins at the same time */
	uint64_t value;    /* the last that was sent */
	uint64_t objects_most;
} cast;

static void begin(const char *how, bool with_another)
{
	uint32_t members = with_another ? 3 : 2;

	scene_begin();
	cast.how = how;
	cast.with_another = with_another;
	cast.value = 0;
	cast.objects_most = OWN_OBJECTS + members - 1;
	cast.producer = queue_make(WW_PARAMS(struct ww_work_queue_params,
		.role = WW_WORK_QUEUE_PRODUCER, .slot_bytes = 4096, .slots = 8,
		.kind = WW_MEMORY_HOST, .producers_max = members, .consumers_max = members,
		.attempts_max = WW_WORK_QUEUE_ATTEMPTS_MAX));
	cast.consumer = queue_get(WW_WORK_QUEUE_CONSUMER);
}

static void end(void)
{
	ww_work_queue_unref(cast.consumer);
	ww_work_queue_unref(cast.producer);
	step_nothing_is_left();
	scene_end();
}

/* Takes frames until that of a value has been acknowledged: by the director, or by another one. */
static void take_all(void)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	while (queue_info(cast.consumer).available + queue_info(cast.consumer).claimed > 0) {
		ww_status status = ww_work_queue_receive(cast.consumer, NULL, 1000000, NULL,
			&frame);
		uint64_t value;

		if (status == WW_TIMED_OUT)
			continue;
		MUST_OK(status);
		MUST(frame_read(&frame, &value));
		MUST_OK(ww_work_queue_acknowledge(cast.consumer, &frame, NULL));
	}
}

/* The consumer lets go of producers that are over when it finds no frame. */
static bool has_few_objects(void)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_STATUS(WW_TIMED_OUT, ww_work_queue_receive(cast.consumer, NULL, 0, NULL, &frame));
	return scene_info().objects <= cast.objects_most;
}

static bool meet(const char *function, int nth, bool after)
{
	const char *const lives[] = {ANY_CALL, NEVER_DIES, "before", cast.how, NULL};
	struct child victim;
	struct child other;
	bool has_died;

	for (int i = 0; i < FRAMES; i++)
		work_send(cast.producer, ++cast.value);
	step_start_victim(&victim, "role_work_queue_member", function, nth, after, cast.how, NULL);
	if (cast.with_another)
		child_start(&other, "role_work_queue_member",
			&(struct child_options){.arguments = lives});
	has_died = step_has_died(&victim);
	if (cast.with_another)
		MUST(!step_has_died(&other));
	take_all();
	work_send(cast.producer, ++cast.value);
	take_all();
	MUST(COMES_TRUE(has_few_objects()));
	return has_died;
}

static void kill_members(const char *how, bool with_another)
{
	int kills;

	if (subject_is_cuda() && !fake_get())
		check_skip("it starts hundreds of processes; the driver for tests shows the same");
	begin(how, with_another);
	kills = step_kill_at_each(meet, ANY_CALL, false);
	end();
	check_note("killed at %d calls", kills);
	MUST(kills > 40);
}

CASE_CALL(work_queue_consumer_killed_at_each_call, 0, kill_members("consume", false))
CASE_CALL(work_queue_producer_killed_at_each_call, 0, kill_members("produce", false))
CASE_CALL(work_queue_consumer_killed_beside_another, 0, kill_members("consume", true))
CASE_CALL(work_queue_producer_killed_beside_another, 0, kill_members("produce", true))

CHECK_MAIN(needs_main, .name = "crash-work_queue", .leaks = true)
