/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_step.c - the signaller dies at each step of the page's protocol, and at each call it makes
 *
 * The steps are functions of wire/signal_page.h and ww_await_wake(): the linker has each go through
 * one of ours first, where the Nth one can be the last. So death comes between a signal's enqueuing
 * and its submission, between a store and its wake, in the middle of closing. Whichever it is: who
 * waits for more than came is told.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/await.h"
#include "crash/step.h"
#include "crash/sync.h"
#include "wire/signal_page.h"

#define CELLS    2
#define LIMIT_NS ((uint64_t)child_limit_ms() * 1000000)

typedef struct ww_layout_signal_cell cell_type;

STEP_VOID(ww_signal_cell_open, (cell_type * cell, uint64_t value), (cell, value))
STEP_VOID(ww_signal_cell_complete, (cell_type * cell, uint64_t value), (cell, value))
STEP_VOID(ww_signal_cell_submit, (cell_type * cell, uint64_t value, bool wakes),
	(cell, value, wakes))
STEP_VOID(ww_signal_cell_mark_gpu, (cell_type * cell), (cell))
STEP(bool, ww_signal_cell_close, (cell_type * cell), (cell))
STEP(bool, ww_signal_cell_finish, (cell_type * cell), (cell))
STEP_VOID(ww_await_wake, (uint32_t * wakes), (wakes))

static const char *const steps[] = {"ww_signal_cell_open", "ww_signal_cell_complete",
	"ww_signal_cell_submit", "ww_signal_cell_mark_gpu", "ww_signal_cell_close",
	"ww_signal_cell_finish", "ww_await_wake"};

/* --- the victim --- */

static void signal_all(ww_timeline *timelines[CELLS], ww_stream *streams[CELLS])
{
	for (uint64_t value = 1; value <= 3; value++) {
		MUST_OK(ww_timeline_signal(timelines[0], value));
		MUST_OK(ww_timeline_stream_signal(timelines[1], streams[value % CELLS], value));
	}
	MUST_OK(ww_timeline_stream_signal(timelines[0], streams[0], 4));
	MUST_OK(ww_stream_synchronize(streams[0], WW_FOREVER, NULL));
	MUST_OK(ww_stream_synchronize(streams[1], WW_FOREVER, NULL));
	MUST_OK(ww_timeline_signal(timelines[1], 4));
}

static void put(ww_timeline *timelines[CELLS], ww_broker *broker)
{
	static const char *const names[CELLS] = {"first", "second"};

	for (int i = 0; i < CELLS; i++) {
		MUST_OK(ww_timeline_create(NULL, &timelines[i]));
		MUST_OK(ww_timeline_put(timelines[i], broker, names[i], NULL, NULL));
	}
}

static void put_and_signal(ww_broker *broker, char **arguments)
{
	ww_timeline *timelines[CELLS];
	OWN(device) ww_device *device = subject_open();
	ww_stream *streams[CELLS];

	for (int i = 0; i < CELLS; i++)
		streams[i] = stream_make(device);
	put(timelines, broker);
	role_tell("put");
	role_hear("go");
	step_arm(arguments);
	signal_all(timelines, streams);
	for (int i = 0; i < CELLS; i++)
		ww_timeline_unref(timelines[i]);
	step_disarm();
	for (int i = 0; i < CELLS; i++)
		ww_stream_unref(streams[i]);
}

static void put_only(ww_broker *broker, char **arguments)
{
	ww_timeline *timelines[CELLS];

	step_arm(arguments);
	put(timelines, broker);
	for (int i = 0; i < CELLS; i++)
		ww_timeline_unref(timelines[i]);
	step_disarm();
}

static void join_and_leave(ww_broker *broker, char **arguments)
{
	ww_barrier *barrier;

	step_arm(arguments);
	MUST_OK(ww_barrier_get(broker, "x", 0, WW_FOREVER, NULL, &barrier));
	ww_barrier_unref(barrier);
	step_disarm();
}

/*
 * role_stepper FUNCTION NTH before|after put|signal|join: makes two timelines, may signal, closes;
 * or joins a barrier, and leaves; dies when it is told to
 */
ROLE(role_stepper)
{
	OWN(broker) ww_broker *broker;

	MUST(count == 4);
	program_invocation_short_name = (char *)SYNC_PROGRAM;
	MUST_OK(broker_open_patient(NULL, &broker));
	if (!strcmp(arguments[3], "put"))
		put_only(broker, arguments);
	else if (!strcmp(arguments[3], "join"))
		join_and_leave(broker, arguments);
	else
		put_and_signal(broker, arguments);
}

/* --- the case's side --- */

struct meeting {
	struct child victim;
	ww_stream *stream;
	ww_timeline *timelines[CELLS];
};

static void wait_by_stream(struct meeting *meeting)
{
	static const char *const names[CELLS] = {"first", "second"};

	meeting->stream = stream_make(scene.device);
	for (int i = 0; i < CELLS; i++) {
		MUST_OK(ww_timeline_get(scene.broker, names[i], 0, NULL, &meeting->timelines[i]));
		MUST_OK(ww_timeline_stream_wait(meeting->timelines[i], meeting->stream, SYNC_NEVER,
			WW_WAIT_UNSUBMITTED, 0, NULL));
	}
}

/* Ended or closed, nothing more comes; and no more has come than was signalled. */
static void must_be_told(struct meeting *meeting)
{
	for (int i = 0; i < CELLS; i++) {
		struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);

		MUST_REFUSE(WW_ERR_PEER_LOST, SYNC_PROGRAM,
			ww_timeline_wait(meeting->timelines[i], SYNC_NEVER, LIMIT_NS, NULL));
		MUST_OK(ww_timeline_info_get(meeting->timelines[i], &info));
		MUST(info.state != WW_TIMELINE_LIVE && info.completed <= 4);
		MUST_REFUSE(WW_ERR_PEER_LOST, SYNC_PROGRAM,
			ww_timeline_wait(meeting->timelines[i], 5, LIMIT_NS, NULL));
	}
	MUST_REFUSE(WW_ERR_PEER_LOST, SYNC_PROGRAM,
		ww_stream_synchronize(meeting->stream, WW_FOREVER, NULL));
	for (int i = 0; i < CELLS; i++)
		ww_timeline_unref(meeting->timelines[i]);
	ww_stream_unref(meeting->stream);
}

static bool meet_signalling(const char *function, int nth, bool after)
{
	struct meeting meeting;
	bool has_met_death;

	step_start_victim(&meeting.victim, "role_stepper", function, nth, after, "signal", NULL);
	child_hear(&meeting.victim, "put");
	wait_by_stream(&meeting);
	child_tell(&meeting.victim, "go");
	must_be_told(&meeting);
	has_met_death = step_has_died(&meeting.victim);
	scene_has_objects(0);
	return has_met_death;
}

static bool meet_putting(const char *function, int nth, bool after)
{
	struct child victim;
	bool has_met_death;

	step_start_victim(&victim, "role_stepper", function, nth, after, "put", NULL);
	has_met_death = step_has_died(&victim);
	step_nothing_is_left();
	return has_met_death;
}

/* A member of this process; and the last status that it was told. */
static void *join_and_wait(void *status)
{
	ww_status *told = status;
	OWN(barrier) ww_barrier *barrier;

	*told = ww_barrier_get(scene.broker, "x", 1, WW_FOREVER, NULL, &barrier);
	if (*told == WW_OK)
		*told = ww_barrier_wait(barrier, WW_FOREVER, NULL);
	return NULL;
}

static int broken_count;

/*
 * A member that dies before it takes the rank is replaced, then the barrier is passed; else the
 * other member is told.
 */
static bool meet_joining(const char *function, int nth, bool after)
{
	struct ww_token_info made = WW_INIT(struct ww_token_info);
	struct ww_token token;
	struct child victim;
	ww_barrier *barrier;
	bool has_met_death;
	pthread_t thread;
	ww_status other;
	ww_status ours;

	MUST_OK(ww_barrier_create(scene.broker, "x",
		WW_PARAMS(struct ww_barrier_params, .count = 2), NULL, &token));
	MUST_OK(ww_token_info_get(&token, &made));
	MUST(!pthread_create(&thread, NULL, join_and_wait, &other));
	scene_has_objects(2);
	step_start_victim(&victim, "role_stepper", function, nth, after, "join", NULL);
	has_met_death = step_has_died(&victim);
	scene_has_holders(1);
	ours = ww_barrier_get(scene.broker, "x", 0, 0, NULL, &barrier);
	if (ours == WW_OK)
		MUST_OK(ww_barrier_wait(barrier, WW_FOREVER, NULL));
	else /* the barrier may be gone, if that is how the other one left it */
		MUST(ours == WW_ERR_PEER_LOST || ours == WW_ERR_NOT_FOUND);
	pthread_join(thread, NULL);
	MUST_EQUAL(ours == WW_OK ? WW_OK : WW_ERR_PEER_LOST, other);
	ww_barrier_unref(barrier);
	broken_count += other != WW_OK;
	(void)ww_broker_end(scene.broker, NULL, made.object_id);
	scene_has_objects(0);
	return has_met_death;
}

CASE(killed_at_each_step, 0)
{
	int count = 0;

	scene_begin();
	count += step_kill_at_all(meet_putting, steps, CHECK_COUNT(steps));
	count += step_kill_at_all(meet_signalling, steps, CHECK_COUNT(steps));
	scene_end();
	MUST(count > 40);
	check_note("killed at %d steps", count);
}

CASE(killed_at_each_call, 0)
{
	int putting;
	int signalling;

	scene_begin();
	putting = step_kill_at_each(meet_putting, ANY_CALL, false);
	signalling = step_kill_at_each(meet_signalling, ANY_CALL, false);
	scene_end();
	check_note("killed at %d calls putting and %d signalling", putting, signalling);
	MUST(putting > 20 && signalling > 5);
}

CASE(killed_at_each_call_joining, 0)
{
	int joining;

	scene_begin();
	broken_count = 0;
	joining = step_kill_at_each(meet_joining, ANY_CALL, false);
	scene_end();
	check_note("killed at %d calls joining and leaving; %d barriers were broken", joining,
		broken_count);
	MUST(joining > 20 && broken_count > 2 && broken_count < joining);
}
