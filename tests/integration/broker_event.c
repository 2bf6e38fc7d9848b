/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_event.c - events between real processes: by token, by CUDA's handle, between containers
 *
 * A partner is an agent (support/agent.h) with an event, a stream, and a timeline of its own that
 * holds the stream back:
 *
 *   make                 an event
 *   export, import       token through the socket
 *   handle, open         CUDA's handle through the socket
 *   block, go            the stream stands still; goes on
 *   record, wait         the event by the stream; the stream for the event
 *   query, sync [wait_ms=N]  the event; without a limit for ever
 *   idle                 whether the stream is
 *   drop                 lets go of the event
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "integration/broker.h"
#include "support/driver.h"
#include "support/namespace.h"

#define INSIDE    "/broker"
#define NS_PER_MS UINT64_C(1000000)

/* --- the partner --- */

static struct {
	ww_timeline *timeline;
	uint64_t value;
	ww_event *event;
} own;

COMMAND_CALL(event, make, ww_event_create(agent_device(), NULL, &own.event))

COMMAND(event, export)
{
	struct ww_token token;
	ww_status status = ww_event_export(own.event, NULL, NULL, NULL, &token);

	if (status == WW_OK)
		agent_say(&token);
	return status;
}

COMMAND(event, import)
{
	struct ww_token token = agent_heard();

	return ww_event_import(agent_device(), NULL, &token, NULL, &own.event);
}

COMMAND(event, handle)
{
	struct ww_event_handle handle;
	ww_status status = ww_event_handle_get(own.event, &handle);

	if (status == WW_OK)
		MUST_EQUAL(sizeof(handle), write(CHILD_SOCKET, &handle, sizeof(handle)));
	return status;
}

COMMAND(event, open)
{
	struct ww_event_handle handle;

	MUST_EQUAL(sizeof(handle), read(CHILD_SOCKET, &handle, sizeof(handle)));
	return ww_event_handle_open(agent_device(), &handle, &own.event);
}

COMMAND(event, block)
{
	if (!own.timeline)
		MUST_OK(ww_timeline_create(NULL, &own.timeline));
	return ww_timeline_stream_wait(own.timeline, agent_stream(), own.value + 1,
		WW_WAIT_UNSUBMITTED, 0, NULL);
}

COMMAND_CALL(event, go, ww_timeline_signal(own.timeline, ++own.value))
COMMAND_CALL(event, record, ww_event_record(own.event, agent_stream()))
COMMAND_CALL(event, wait, ww_event_stream_wait(own.event, agent_stream()))
COMMAND_CALL(event, query, ww_event_query(own.event))
COMMAND_CALL(event, sync,
	ww_event_synchronize(own.event,
		agent_find_option("wait_ms") ? agent_time_option("wait_ms") : WW_FOREVER, NULL))
COMMAND_CALL(event, idle, ww_stream_query(agent_stream()))
COMMAND_DO(event, drop, own.event = ww_event_unref(own.event))

static void let_go(void)
{
	ww_event_unref(own.event);
	ww_timeline_unref(own.timeline);
}

AGENTS(event, let_go)

/*
 * event_inside [FOLDER]: as process 1; with a folder nothing of the file system but that, as
 * in a container.
 */
ROLE(event_inside)
{
	const struct namespace_plan plan = {
		.outside = count > 0 ? arguments[0] : NULL,
		.inside = INSIDE,
	};
	const char *failure;

	(void)dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	failure = namespace_enter(&plan);
	role_tell("%s", failure ? failure : "inside");
	if (failure)
		return;
	MUST_EQUAL(1, getpid());
	if (plan.outside)
		setenv("WARPWAY_BROKER", INSIDE "/broker.sock", 1);
	agent_serve("event", let_go);
}

/* --- the case's side --- */

static void start_inside(struct child *partner, const char *folder)
{
	const char *const arguments[] = {folder, NULL};
	char word[CHILD_WORD_BYTES];

	child_start(partner, "event_inside", &(struct child_options){.arguments = arguments});
	child_hear_any(partner, word);
	if (strcmp(word, "inside")) {
		child_wait(partner);
		scene_end();
		check_skip("no container can be made here: %s", word);
	}
}

static void give_token(struct child *partner, const struct ww_token *token, ww_status expected)
{
	agent_send_token(partner, token);
	agent_must(partner, expected, "import");
}

static ww_event *import(const struct ww_token *token)
{
	ww_event *event;

	MUST_OK(ww_event_import(scene.device, scene.broker, token, NULL, &event));
	return event;
}

/*
 * The partner's recording is awaited here, on the CPU and by a stream, and not before it is there.
 */
static void must_pass(struct child *maker, ww_event *event)
{
	OWN(stream) ww_stream *stream = stream_make(scene.device);

	MUST_STATUS(WW_OK, ww_event_query(event));
	agent_does(maker, "block", "record");
	MUST_STATUS(WW_NOT_READY, ww_event_query(event));
	MUST_STATUS(WW_TIMED_OUT, ww_event_synchronize(event, 0, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_event_synchronize(event, 2 * NS_PER_MS, NULL));
	MUST_OK(ww_event_stream_wait(event, stream));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
	agent_must(maker, WW_OK, "go");
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_OK(ww_event_synchronize(event, WW_FOREVER, NULL));
	MUST_STATUS(WW_OK, ww_event_query(event));
}

SCENE_CASE(event_by_token, NEEDS_EVENT)
{
	struct child maker;
	struct ww_token token;
	ww_event *event;

	agent_begin(&maker, "event", "make");
	token = agent_export(&maker, "%s", "");
	event = import(&token);
	must_pass(&maker, event);
	must_pass(&maker, event);
	ww_event_unref(event);
	event = import(&token);
	must_pass(&maker, event);
	ww_event_unref(event);
	agent_end(&maker);
	scene_has_objects(0);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "",
		ww_event_import(scene.device, scene.broker, &token, NULL, &event));
}

SCENE_CASE(event_by_handle, NEEDS_EVENT | NEEDS_CUDA)
{
	struct ww_event_handle handle;
	ENDED_BY(agent_end) struct child maker;
	ENDED_BY(agent_end) struct child opener;
	OWN(event) ww_event *event;

	child_start(&maker, "event", NULL);
	child_start(&opener, "event", NULL);
	agent_does(&maker, "make", "handle");
	MUST_EQUAL(sizeof(handle), read(maker.socket, &handle, sizeof(handle)));
	MUST_EQUAL(sizeof(handle), write(opener.socket, &handle, sizeof(handle)));
	agent_must(&opener, WW_OK, "open");
	agent_must(&opener, WW_ERR_ACCESS, "handle");
	agent_must(&opener, WW_ERR_ACCESS, "export");
	MUST_OK(ww_event_handle_open(scene.device, &handle, &event));
	must_pass(&maker, event);
	/* Each of them may record it. */
	agent_does(&opener, "block", "record");
	agent_must(&maker, WW_OK, "wait");
	agent_must(&maker, WW_NOT_READY, "idle");
	MUST_STATUS(WW_NOT_READY, ww_event_query(event));
	agent_must(&opener, WW_OK, "go");
	agent_must(&maker, WW_OK, "sync");
	MUST_OK(ww_event_synchronize(event, WW_FOREVER, NULL));
}

/* Who imported a timeline cannot signal it, and so it is with events of the host device. */
SCENE_CASE(event_of_another_refuses, NEEDS_EVENT)
{
	struct ww_event_handle handle;
	struct ww_token token;
	ENDED_BY(agent_end) struct child maker;
	OWN(stream) ww_stream *stream;
	OWN(event) ww_event *event;

	agent_begin(&maker, "event", "make");
	token = agent_export(&maker, "%s", "");
	event = import(&token);
	stream = stream_make(scene.device);
	if (!subject_is_cuda())
		MUST_REFUSE(WW_ERR_ACCESS, "cannot record", ww_event_record(event, stream));
	else
		MUST_REFUSE(WW_ERR_ACCESS, "handle", ww_event_handle_get(event, &handle));
	MUST_REFUSE(WW_ERR_ACCESS, "cannot export",
		ww_event_export(event, scene.broker, NULL, NULL, &token));
	MUST_STATUS(WW_OK, ww_event_query(event));
}

/* What is pending then is reached all the same, for those who have the event. */
SCENE_CASE(event_maker_lets_go, NEEDS_EVENT)
{
	struct ww_token token;
	ww_event *event;
	ENDED_BY(agent_end) struct child maker;

	agent_begin(&maker, "event", "make");
	token = agent_export(&maker, "%s", "");
	event = import(&token);
	agent_does(&maker, "block", "record", "drop");
	MUST_STATUS(WW_TIMED_OUT, ww_event_synchronize(event, NS_PER_MS, NULL));
	agent_must(&maker, WW_OK, "go");
	MUST_OK(ww_event_synchronize(event, WW_FOREVER, NULL));
	agent_does(&maker, "make", "drop");
	ww_event_unref(event);
	scene_has_objects(0);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "",
		ww_event_import(scene.device, scene.broker, &token, NULL, &event));
}

/*
 * On a GPU nobody can be told, so there a limit on time is all that helps; but at least nobody new
 * comes to that event by a token.
 */
SCENE_CASE(event_maker_killed, NEEDS_EVENT)
{
	struct child maker;
	struct ww_token token;
	OWN(stream) ww_stream *stream;
	ww_event *event;

	agent_begin(&maker, "event", "make");
	token = agent_export(&maker, "%s", "");
	event = import(&token);
	stream = stream_make(scene.device);
	agent_does(&maker, "block", "record");
	child_kill(&maker);
	scene_has_holders(1);
	if (subject_is_cuda()) {
		MUST_STATUS(WW_TIMED_OUT, ww_event_synchronize(event, 20 * NS_PER_MS, NULL));
		MUST_STATUS(WW_NOT_READY, ww_event_query(event));
	} else {
		MUST_REFUSE(WW_ERR_PEER_LOST, "ended",
			ww_event_synchronize(event, WW_FOREVER, NULL));
		MUST_REFUSE(WW_ERR_PEER_LOST, "ended", ww_event_query(event));
		MUST_REFUSE(WW_ERR_PEER_LOST, "ended", ww_event_stream_wait(event, stream));
	}
	ww_event_unref(event);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "",
		ww_event_import(scene.device, scene.broker, &token, NULL, &event));
}

/* A stream of ours waits when the recorder dies: it is let go, and says why. */
CASE(event_maker_killed_while_stream_waits, NEEDS_EVENT)
{
	struct child maker;
	struct ww_token token;
	ww_stream *stream;
	ww_event *event;
	ww_event *ours;

	scene_begin();
	if (subject_is_cuda()) {
		scene_end();
		check_skip("on a GPU that stream waits for ever");
	}
	agent_begin(&maker, "event", "make");
	token = agent_export(&maker, "%s", "");
	event = import(&token);
	MUST_OK(ww_event_create(scene.device, NULL, &ours));
	stream = stream_make(scene.device);
	agent_does(&maker, "block", "record");
	MUST_OK(ww_event_stream_wait(event, stream));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
	child_kill(&maker);
	MUST_REFUSE(WW_ERR_PEER_LOST, "ended", ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_REFUSE(WW_ERR_PEER_LOST, "ended", ww_event_record(ours, stream));
	MUST_REFUSE(WW_ERR_PEER_LOST, "ended", ww_event_stream_wait(ours, stream));
	MUST_STATUS(WW_OK, ww_event_query(ours));
	ww_stream_unref(stream);
	ww_event_unref(ours);
	ww_event_unref(event);
	scene_end();
}

/* What was reached before its maker died stays so. */
SCENE_CASE(event_maker_killed_afterwards, NEEDS_EVENT)
{
	struct child maker;
	struct ww_token token;
	OWN(event) ww_event *event;

	agent_begin(&maker, "event", "make");
	token = agent_export(&maker, "%s", "");
	event = import(&token);
	must_pass(&maker, event);
	child_kill(&maker);
	scene_has_holders(1);
	MUST_STATUS(WW_OK, ww_event_query(event));
	MUST_OK(ww_event_synchronize(event, WW_FOREVER, NULL));
}

/* --- containers --- */

/* A container has a /dev/shm of its own, if any: there CUDA's events end, and others do not. */
SCENE_CASE(event_into_container, NEEDS_EVENT | NEEDS_ROOT)
{
	bool is_cuda = subject_is_cuda();
	struct ww_token token;
	ENDED_BY(agent_end) struct child container;
	ENDED_BY(agent_end) struct child maker;

	MUST_CALL(chmod(scene.daemon.folder, 0755));
	start_inside(&container, scene.daemon.folder);
	agent_begin(&maker, "event", "make");
	token = agent_export(&maker, "%s", "");
	give_token(&container, &token, is_cuda ? WW_ERR_SYSTEM : WW_OK);
	if (!is_cuda) {
		agent_does(&maker, "block", "record");
		agent_must(&container, WW_TIMED_OUT, "sync wait_ms=1");
		agent_must(&container, WW_OK, "wait");
		agent_must(&maker, WW_OK, "go");
		agent_must(&container, WW_OK, "sync");
	}
	agent_must(&container, WW_OK, "drop");
	agent_must(&container, is_cuda ? WW_ERR_SYSTEM : WW_OK, "make");
}

/* Both are process 1: CUDA would take the event for the importer's own. */
SCENE_CASE(event_between_equal_pids, NEEDS_EVENT | NEEDS_ROOT)
{
	bool is_cuda = subject_is_cuda();
	struct child partners[2];
	struct ww_event_handle handle;
	struct ww_token token;

	if (is_cuda && !fake_get())
		check_skip("CUDA does not start in a PID namespace without a /proc of its own");
	start_inside(&partners[0], NULL);
	start_inside(&partners[1], NULL);
	agent_must(&partners[0], WW_OK, "make");
	token = agent_export(&partners[0], "%s", "");
	give_token(&partners[1], &token, is_cuda ? WW_ERR_UNSUPPORTED : WW_OK);
	if (is_cuda) {
		agent_must(&partners[0], WW_OK, "handle");
		MUST_EQUAL(sizeof(handle), read(partners[0].socket, &handle, sizeof(handle)));
		MUST_EQUAL(sizeof(handle), write(partners[1].socket, &handle, sizeof(handle)));
		agent_must(&partners[1], WW_ERR_UNSUPPORTED, "open");
	} else {
		agent_must(&partners[0], WW_OK, "record");
		agent_must(&partners[1], WW_OK, "sync");
	}
}
