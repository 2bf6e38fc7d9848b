/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline-eventfd.c - a loop that waits for a timeline beside everything else it waits for
 *
 * A child works on its stream, and its timeline says how far that has come. The parent has a loop
 * around poll(), as any event loop is inside, and waits for two things at once: what the child
 * says, and what its stream has done. A stream of the host device turns a timeline into a
 * descriptor, also when a GPU signals.
 *
 *   timeline-eventfd [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

#define STEPS 3
#define BYTES (8 << 20)

#define PATIENCE_NS UINT64_C(60000000000) /* should the other side fail */

extern char **environ;

/* A call that fails (status < 0) leaves a sentence that says why. */
static void check(ww_status status)
{
	if (status != WW_OK) {
		fprintf(stderr, "%s: %s\n", ww_status_name(status),
			status < 0 ? ww_error_last()->message : ww_status_text(status));
		exit(1);
	}
}

/* Three pieces of work; the stream signals 1, 2 and 3 as it has done them. */
static int worker(const char *device_name, const char *name)
{
	struct ww_memory_params params = {.struct_size = sizeof(params), .bytes = BYTES};
	ww_timeline *timeline;
	ww_device *device;
	ww_stream *stream;
	ww_memory *memory;
	char letter;

	check(ww_device_open(device_name, &device));
	check(ww_stream_create(device, &stream));
	check(ww_memory_create(device, &params, &memory));
	check(ww_timeline_create(NULL, &timeline));
	check(ww_timeline_put(timeline, NULL, name, NULL, NULL));
	for (uint64_t step = 1; step <= STEPS; step++) {
		check(ww_stream_fill(stream, ww_memory_pointer(memory), (uint32_t)step, 1, BYTES));
		check(ww_timeline_stream_signal(timeline, stream, step));
		printf("worker: step %d is enqueued\n", (int)step);
		fflush(stdout);
	}
	/* The name ends with this process: until the parent hangs up. */
	while (read(STDIN_FILENO, &letter, 1) > 0)
		;
	ww_timeline_unref(timeline);
	ww_memory_unref(memory);
	ww_stream_unref(stream);
	ww_device_unref(device);
	return 0;
}

/* Starts the worker. Return: the other end of its standard input and output. */
static int start(char *program, char *device_name, char *name, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	char role[] = "--worker";
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ||
		posix_spawn_file_actions_init(&actions) ||
		posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO) ||
		posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) ||
		posix_spawn(pid, "/proc/self/exe", &actions, NULL,
			(char *[]){program, role, device_name, name, NULL}, environ))
		exit(1);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	return ends[0];
}

/* The loop. @waiter: a stream of the host device */
static void run_loop(ww_timeline *timeline, ww_stream *waiter, int talk)
{
	struct pollfd entries[2] = {{.events = POLLIN}, {.fd = talk, .events = POLLIN}};
	uint64_t step = 1;
	char text[256];

	check(ww_timeline_eventfd(timeline, waiter, step, &entries[0].fd));
	while (step <= STEPS && poll(entries, 2, -1) > 0) {
		if (entries[1].revents) {
			ssize_t count = read(talk, text, sizeof(text));

			printf("%.*s", count > 0 ? (int)count : 0, text);
			entries[1].fd = count > 0 ? talk : -1;
		}
		if (!entries[0].revents)
			continue;
		/* Reached, or never will be: then this says who died. */
		check(ww_timeline_query(timeline, step));
		printf("loop:   step %d is done\n", (int)step);
		close(entries[0].fd);
		if (++step <= STEPS)
			check(ww_timeline_eventfd(timeline, waiter, step, &entries[0].fd));
	}
}

int main(int argc, char **argv)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	ww_timeline *timeline;
	ww_device *device;
	ww_device *host;
	ww_stream *waiter;
	char name[64];
	int status;
	int talk;
	pid_t pid;

	if (argc == 4 && !strcmp(argv[1], "--worker"))
		return worker(argv[2], argv[3]);
	check(ww_device_open(argc > 1 ? argv[1] : NULL, &device));
	check(ww_device_info_get(device, &info));
	check(ww_device_open("host", &host));
	check(ww_stream_create(host, &waiter));
	snprintf(name, sizeof(name), "example/%d/progress", (int)getpid());
	talk = start(argv[0], info.selector, name, &pid);

	check(ww_timeline_get(NULL, name, PATIENCE_NS, NULL, &timeline));
	run_loop(timeline, waiter, talk);
	close(talk);
	waitpid(pid, &status, 0);
	ww_timeline_unref(timeline);
	ww_stream_unref(waiter);
	ww_device_unref(host);
	ww_device_unref(device);
	return status ? 1 : 0;
}
