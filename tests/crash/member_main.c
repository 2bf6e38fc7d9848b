/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member_main.c - a member of a work queue or of a pool dies at each call it makes, alone and while
 * another one joins; the others go on, and nothing of it is left but one entry of the queue
 *
 * The queue and the director's own producer and consumer live through all of these deaths, and so
 * does the director's pool. The queue has one more entry for each role (two, where another one
 * joins), which the next member must find free. The pool has room for one slice: the next one can
 * be cut only when the one before is free again. Channels and services have this in suites of their
 * own.
 */
#include "crash/member.h"

#include "crash/figures.h"
#include "support/driver.h"

#define FRAMES      3
#define NEVER_DIES  "1000000"
#define SLICE_BYTES (POOL_BYTES / 2 + 1) /* of two there is no room */

/* --- the members that die --- */

static void produce(ww_work_queue *queue)
{
	for (uint64_t value = 1; value <= FRAMES; value++)
		work_send(queue, value);
}

static void consume(ww_work_queue *queue)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_OK(ww_work_queue_receive(queue, NULL, LIMIT_NS, NULL, &frame));
	MUST_OK(ww_work_queue_acknowledge(queue, &frame, NULL));
}

static void join_and_work(ww_device *device, ww_broker *broker, uint32_t role)
{
	ww_work_queue *queue = join_queue(device, broker, role);

	if (role == WW_WORK_QUEUE_PRODUCER)
		produce(queue);
	else
		consume(queue);
	ww_work_queue_unref(queue);
}

static struct ww_token export_slice(ww_memory *slice, ww_broker *broker)
{
	struct ww_token token;

	MUST_OK(ww_memory_export(slice, broker,
		WW_PARAMS(struct ww_export_params, .escrow_ns = WW_ESCROW_NONE), NULL, &token));
	return token;
}

/* All that an owner does: its slices go with it, whoever knows a token. */
static void make_and_leave_pool(ww_device *device, ww_broker *broker)
{
	ww_pool *pool = make_pool(device);
	ww_memory *slice;

	MUST_OK(ww_pool_alloc(pool, SLICE_BYTES, 0, 0, NULL, &slice));
	(void)export_slice(slice, broker);
	ww_memory_unref(slice);
	ww_pool_unref(pool);
}

static void import_slice(ww_device *device, ww_broker *broker, const char *text)
{
	struct ww_token token;
	ww_memory *slice;

	MUST_OK(ww_token_from_text(text, &token));
	MUST_OK(ww_memory_import(device, broker, &token, NULL, NULL, &slice, NULL));
	ww_memory_unref(slice);
}

/* role_member FUNCTION NTH before|after produce|consume|own|import [TOKEN] */
ROLE(role_member)
{
	OWN(device) ww_device *device = subject_open();
	const char *how = arguments[3];
	OWN(broker) ww_broker *broker = open_broker();

	MUST(count == 5 || !!strcmp(how, "import"));
	step_arm(arguments);
	if (!strcmp(how, "produce"))
		join_and_work(device, broker, WW_WORK_QUEUE_PRODUCER);
	else if (!strcmp(how, "consume"))
		join_and_work(device, broker, WW_WORK_QUEUE_CONSUMER);
	else if (!strcmp(how, "own"))
		make_and_leave_pool(device, broker);
	else
		import_slice(device, broker, arguments[4]);
	step_disarm();
}

/* --- the director's side --- */

static struct {
	const char *how;   /* of the next member that dies */
	bool with_another; /* one that lives joins at the same time */
	ww_work_queue *producer;
	ww_work_queue *consumer;
	uint64_t value; /* of the last frame that was sent */
	uint64_t objects_most;
	ww_pool *pool;
} cast;

/* Return: whether the one that was to die did. */
static bool meet_member(const char *function, int nth, bool after, const char *more)
{
	const char *const lives[] = {ANY_CALL, NEVER_DIES, "before", cast.how, more, NULL};
	struct child victim;
	struct child other;
	bool has_died;

	step_start_victim(&victim, "role_member", function, nth, after, cast.how, more);
	if (cast.with_another)
		child_start(&other, "role_member", &(struct child_options){.arguments = lives});
	has_died = step_has_died(&victim);
	MUST(!cast.with_another || !step_has_died(&other));
	return has_died;
}

/* Until every frame was acknowledged, by the director or by another one. */
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

static bool meet_in_queue(const char *function, int nth, bool after)
{
	bool has_died;

	for (int i = 0; i < FRAMES; i++)
		work_send(cast.producer, ++cast.value);
	has_died = meet_member(function, nth, after, NULL);
	take_all();
	work_send(cast.producer, ++cast.value);
	take_all();
	MUST(COMES_TRUE(has_few_objects()));
	return has_died;
}

static bool meet_in_pool(const char *function, int nth, bool after)
{
	char text[WW_TOKEN_TEXT_BYTES];
	struct ww_token token;
	ww_memory *slice;
	bool has_died;

	MUST(COMES_TRUE(ww_pool_alloc(cast.pool, SLICE_BYTES, 0, 0, NULL, &slice) == WW_OK));
	token = export_slice(slice, scene.broker);
	MUST_OK(ww_token_to_text(&token, text));
	has_died = meet_member(function, nth, after, text);
	ww_memory_unref(slice);
	return has_died;
}

static bool meet_owner(const char *function, int nth, bool after)
{
	bool has_died = meet_member(function, nth, after, NULL);

	step_nothing_is_left();
	return has_died;
}

static void kill_at_calls(const char *how, bool with_another, step_meet_fn meet)
{
	int kills;

	cast.how = how;
	cast.with_another = with_another;
	kills = step_kill_at_each(meet, ANY_CALL, false);
	check_note("killed at %d calls", kills);
	MUST(kills > 20);
}

static void begin(void)
{
	if (subject_is_cuda() && !fake_get())
		check_skip("it starts hundreds of processes; the driver for tests shows the same");
	scene_begin();
}

static void kill_in_queue(const char *how, bool with_another)
{
	uint32_t members = with_another ? 3 : 2;

	begin();
	cast.producer = queue_make(WW_PARAMS(struct ww_work_queue_params,
		.role = WW_WORK_QUEUE_PRODUCER, .slot_bytes = 4096, .slots = 8,
		.kind = WW_MEMORY_HOST, .producers_max = members, .consumers_max = members,
		.attempts_max = WW_WORK_QUEUE_ATTEMPTS_MAX));
	cast.consumer = queue_get(WW_WORK_QUEUE_CONSUMER);
	cast.objects_most = scene_info().objects + members - 1;
	kill_at_calls(how, with_another, meet_in_queue);
	ww_work_queue_unref(cast.consumer);
	ww_work_queue_unref(cast.producer);
	step_nothing_is_left();
	scene_end();
}

static void kill_in_pool(bool with_another)
{
	begin();
	cast.pool = make_pool(scene.device);
	kill_at_calls("import", with_another, meet_in_pool);
	ww_pool_unref(cast.pool);
	step_nothing_is_left();
	scene_end();
}

CASE_CALL(member_consumer_killed, 0, kill_in_queue("consume", false))
CASE_CALL(member_producer_killed, 0, kill_in_queue("produce", false))
CASE_CALL(member_consumer_killed_beside_another, 0, kill_in_queue("consume", true))
CASE_CALL(member_producer_killed_beside_another, 0, kill_in_queue("produce", true))
CASE_CALL(member_importer_killed, 0, kill_in_pool(false))
CASE_CALL(member_importer_killed_beside_another, 0, kill_in_pool(true))

CASE(member_owner_killed, 0)
{
	begin();
	kill_at_calls("own", false, meet_owner);
	scene_end();
}

CHECK_MAIN(needs_main, .name = "crash-member", .leaks = true)
