/* SPDX-License-Identifier: Apache-2.0 */
/*
 * release_time.c - a signaller is killed, see release_time.h
 *
 * Three things happen in any order, so each is noted where it happens: this thread waits on the
 * CPU, another one for the end of the socket, and the stream calls a function when it goes on.
 */
#include "common/release_time.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "common/say.h"

struct scene {
	int socket;
	uint64_t report_ns;
	_Atomic uint64_t stream_ns;
};

static void *await_report(void *context)
{
	struct scene *scene = context;
	struct pollfd entry = {.fd = scene->socket, .events = POLLRDHUP};

	link_poll(&entry, 1, WW_FOREVER);
	scene->report_ns = link_now_ns();
	return NULL;
}

static void note_stream(void *context)
{
	struct scene *scene = context;

	scene->stream_ns = link_now_ns();
}

static int expect_lost(ww_status status, const char *who)
{
	if (status == WW_ERR_PEER_LOST)
		return 0;
	return complain("the signaller was killed, and the wait of %s ended with %s", who,
		ww_status_name(status));
}

static uint64_t since(uint64_t later, uint64_t earlier)
{
	return later > earlier ? later - earlier : 0;
}

int release_run(ww_timeline *timeline, uint64_t value, ww_stream *stream,
	const struct child *victim, uint64_t timeout_ns, struct release *out_release)
{
	struct scene scene = {.socket = victim->socket};
	pthread_t thread;
	uint64_t start;
	uint64_t cpu_ns;
	ww_status status;
	int error;

	if (ww_timeline_stream_wait(timeline, stream, value, WW_WAIT_UNSUBMITTED, 0, NULL) != WW_OK)
		return complain_record("a stream cannot wait");
	if (ww_stream_call(stream, note_stream, &scene) != WW_OK)
		return complain_record("a stream cannot call a function");
	error = pthread_create(&thread, NULL, await_report, &scene);
	start = link_now_ns();
	kill(victim->pid, SIGKILL);
	status = ww_timeline_wait(timeline, value, timeout_ns, NULL);
	cpu_ns = link_now_ns();
	if (!error)
		pthread_join(thread, NULL);
	/* Also when all is lost already: the stream must not find this function's frame gone. */
	if (expect_lost(ww_stream_synchronize(stream, WW_FOREVER, NULL), "a stream"))
		return -1;
	if (error)
		return complain("cannot start a thread: %s", strerror(error));
	out_release->report_ns = since(scene.report_ns, start);
	out_release->cpu_ns = since(cpu_ns, start);
	out_release->stream_ns = since(scene.stream_ns, start);
	return expect_lost(status, "the CPU");
}

uint64_t release_delay_ns(const struct release *release)
{
	uint64_t last = release->cpu_ns > release->stream_ns ? release->cpu_ns : release->stream_ns;

	return since(last, release->report_ns);
}

int release_expose(void)
{
	if (fcntl(LINK_FD, F_DUPFD_CLOEXEC, LINK_FD + 1) < 0)
		return complain("fcntl: %s", strerror(errno));
	return 0;
}
