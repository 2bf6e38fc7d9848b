/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_wait.c - streams of a client that wait for calls to the server of another user
 *
 * The case is the client. The server is stopped while it has a call, as one that never completes.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "integration/service.h"

#define OTHER_USER 61001
#define SHORT_NS   UINT64_C(20000000)

static struct {
	struct child server;
	ww_client *client;
	ww_timeline *timeline; /* of lane 0 */
	ww_stream *stream;
	ww_memory *memory;
} waiting;

static void waiting_begin(void)
{
	scene_begin();
	agent_begin(&waiting.server, "service", "user %d %d", OTHER_USER, OTHER_USER);
	agent_must(&waiting.server, WW_OK, "create s mode=0666");
	MUST_OK(ww_client_open(scene.broker, "s", NULL, 0, NULL, &waiting.client));
	MUST_OK(ww_client_lane_timeline(waiting.client, 0, WW_FOREVER, NULL, &waiting.timeline));
	waiting.stream = stream_make(scene.device);
	waiting.memory = scene_make(MIB, 1);
}

static void waiting_end(void)
{
	ww_memory_unref(waiting.memory);
	ww_stream_unref(waiting.stream);
	ww_timeline_unref(waiting.timeline);
	ww_client_unref(waiting.client);
	scene_end();
}

#define WAITING_CASE(case_name) \
	CASE_BETWEEN(case_name, NEEDS_VALUES | NEEDS_ROOT, waiting_begin(), waiting_end())

/* All its threads stand still when this returns. */
static void server_stop(void)
{
	siginfo_t stopped;

	MUST_CALL(kill(waiting.server.pid, SIGSTOP));
	MUST_CALL(waitid(P_PID, (id_t)waiting.server.pid, &stopped, WSTOPPED));
}

static ww_ticket *submit(uint64_t deadline_ns)
{
	ww_ticket *ticket;
	uint32_t nop;

	MUST_OK(ww_client_find(waiting.client, "nop", NULL, 0, NULL, &nop));
	MUST_OK(ww_client_submit(waiting.client, nop, NULL, 0,
		WW_PARAMS(struct ww_submit_params, .deadline_ns = deadline_ns), WW_FOREVER, NULL,
		&ticket));
	return ticket;
}

static uint64_t value_of(ww_ticket *ticket)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);

	MUST_OK(ww_ticket_info_get(ticket, &info));
	return info.value;
}

/* Nothing is in its way. */
static void must_be_free(uint8_t byte)
{
	uint8_t got;

	MUST_OK(ww_stream_fill(waiting.stream, ww_memory_pointer(waiting.memory), byte, 1, MIB));
	MUST_OK(ww_stream_synchronize(waiting.stream, WW_FOREVER, NULL));
	memory_get(waiting.memory, MIB - 1, &got, 1);
	MUST_EQUAL(byte, got);
}

WAITING_CASE(service_of_another_user_leaves_streams_free)
{
	ww_ticket *tickets[2];

	server_stop();
	tickets[0] = submit(0);
	tickets[1] = submit(SHORT_NS);
	MUST_STATUS(WW_NOT_READY, ww_ticket_stream_wait(tickets[0], waiting.stream, 0, 0, NULL));
	MUST_STATUS(WW_NOT_READY,
		ww_ticket_stream_wait(tickets[0], waiting.stream, WW_WAIT_UNSUBMITTED, SHORT_NS,
			NULL));
	must_be_free(11);
	/* The call's own deadline ends the wait. */
	MUST_STATUS(WW_TIMED_OUT,
		ww_ticket_stream_wait(tickets[1], waiting.stream, WW_WAIT_UNSUBMITTED, WW_FOREVER,
			NULL));
	MUST(strstr(ww_error_last()->message, "deadline of call 3"));
	must_be_free(12);
	/* The timeline by itself is as careful. */
	MUST_STATUS(WW_TIMED_OUT,
		ww_timeline_stream_wait(waiting.timeline, waiting.stream, value_of(tickets[0]),
			WW_WAIT_UNSUBMITTED, SHORT_NS, NULL));
	must_be_free(13);
	MUST_CALL(kill(waiting.server.pid, SIGCONT));
	MUST_OK(ww_ticket_stream_wait(tickets[0], waiting.stream, 0, WW_FOREVER, NULL));
	MUST_OK(ww_timeline_stream_wait(waiting.timeline, waiting.stream, value_of(tickets[1]), 0,
		WW_FOREVER, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_ticket_wait(tickets[1], WW_FOREVER, NULL));
	MUST_OK(ww_ticket_stream_wait(tickets[1], waiting.stream, 0, 0, NULL));
	must_be_free(14);
	for (int i = 0; i < 2; i++)
		ww_ticket_unref(tickets[i]);
}

/* The client has asked for it. */
WAITING_CASE(service_of_another_user_may_hold_a_stream)
{
	const uint64_t flags = WW_WAIT_OTHER_USER | WW_WAIT_UNSUBMITTED;
	OWN(ticket) ww_ticket *ticket;

	server_stop();
	ticket = submit(0);
	MUST_OK(ww_ticket_stream_wait(ticket, waiting.stream, flags, 0, NULL));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(waiting.stream));
	MUST_CALL(kill(waiting.server.pid, SIGCONT));
	must_be_free(15);
}

/* A wait of the CPU learns of the server's end, too. */
WAITING_CASE(service_of_another_user_that_ends_is_noticed)
{
	ww_ticket *ticket;

	server_stop();
	ticket = submit(0);
	child_kill(&waiting.server);
	MUST_STATUS(WW_ERR_PEER_LOST,
		ww_ticket_stream_wait(ticket, waiting.stream, 0, WW_FOREVER, NULL));
	must_be_free(16);
	ww_ticket_unref(ticket);
}

/* On the GPU's queue of that stream others may be stuck behind it. */
WAITING_CASE(service_of_another_user_and_descriptors)
{
	OWN(device) ww_device *host = NULL;
	OWN(stream) ww_stream *stream;
	int fd = -1;

	if (subject_is_cuda())
		MUST_REFUSE(WW_ERR_ACCESS, "another user",
			ww_timeline_eventfd(waiting.timeline, waiting.stream, 1, &fd));
	MUST_OK(ww_device_open("host", &host));
	stream = stream_make(host);
	MUST_OK(ww_timeline_eventfd(waiting.timeline, stream, 1, &fd));
	MUST_CALL(close(fd));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
}
