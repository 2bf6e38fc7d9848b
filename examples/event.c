/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - an event of CUDA's between two processes
 *
 * The parent's stream fills memory, and an event is recorded behind that; the child's stream waits
 * for the event before it copies. The event's token and the memory go over a socket, and a byte
 * says that the event was recorded: a wait means the last recording before it, so somebody has to
 * say.
 *
 * Between programs that use this library a timeline is simpler and many times faster, see
 * timeline.c. An event is for programs that know nothing of it: ww_event_handle_get() gives the 64
 * bytes that cudaIpcOpenEventHandle() takes.
 *
 *   event [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

#define BYTES   (4 << 20)
#define LINK_FD 3 /* the child's end of the socket */

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

static void check_io(ssize_t count, size_t wanted)
{
	if (count != (ssize_t)wanted) {
		fprintf(stderr, "the other process is gone\n");
		exit(1);
	}
}

static int child(const char *device_name)
{
	static unsigned char copy[BYTES];
	struct ww_token token;
	ww_device *device;
	ww_stream *stream;
	ww_memory *memory;
	ww_event *event;
	char recorded;

	check(ww_device_open(device_name, &device));
	check(ww_stream_create(device, &stream));
	check_io(recv(LINK_FD, &token, sizeof(token), 0), sizeof(token));
	check(ww_event_import(device, NULL, &token, NULL, &event));
	check(ww_memory_receive(device, LINK_FD, NULL, WW_FOREVER, NULL, &memory));

	check_io(recv(LINK_FD, &recorded, 1, 0), 1);
	check(ww_event_stream_wait(event, stream));
	check(ww_stream_copy(stream, copy, ww_memory_pointer(memory), BYTES));
	check(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	printf("child: found %d ... %d\n", copy[0], copy[BYTES - 1]);

	ww_event_unref(event);
	ww_memory_unref(memory);
	ww_stream_unref(stream);
	ww_device_unref(device);
	return copy[0] == 7 && copy[BYTES - 1] == 7 ? 0 : 1;
}

/* Starts this program again with one end of a socket pair. Return: the other end. */
static int start_child(char *program, char *device_name, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	char role[] = "--child";
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ||
		posix_spawn_file_actions_init(&actions) ||
		posix_spawn_file_actions_adddup2(&actions, ends[1], LINK_FD) ||
		posix_spawn(pid, "/proc/self/exe", &actions, NULL,
			(char *[]){program, role, device_name, NULL}, environ))
		exit(1);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	return ends[0];
}

int main(int argc, char **argv)
{
	struct ww_memory_params params = {.struct_size = sizeof(params), .bytes = BYTES};
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	struct ww_token token;
	ww_device *device;
	ww_stream *stream;
	ww_memory *memory;
	ww_event *event;
	int status;
	int link;
	pid_t pid;

	if (argc == 3 && !strcmp(argv[1], "--child"))
		return child(argv[2]);
	check(ww_device_open(argc > 1 ? argv[1] : NULL, &device));
	check(ww_device_info_get(device, &info));
	check(ww_stream_create(device, &stream));
	check(ww_memory_create(device, &params, &memory));
	check(ww_event_create(device, NULL, &event));
	check(ww_event_export(event, NULL, NULL, NULL, &token));
	link = start_child(argv[0], info.selector, &pid);
	check_io(send(link, &token, sizeof(token), MSG_NOSIGNAL), sizeof(token));
	check(ww_memory_send(memory, WW_ACCESS_READ, link, WW_FOREVER, NULL));

	check(ww_stream_fill(stream, ww_memory_pointer(memory), 7, 1, BYTES));
	check(ww_event_record(event, stream));
	check_io(send(link, "r", 1, MSG_NOSIGNAL), 1);
	printf("parent: recorded an event behind a fill\n");

	/* An event has to live until nobody waits for it any more. */
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	close(link);
	ww_event_unref(event);
	ww_memory_unref(memory);
	ww_stream_unref(stream);
	ww_device_unref(device);
	return status ? 1 : 0;
}
