/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_parent_child.c - two processes, one memory
 *
 * The parent makes memory on a device, writes a number into it and hands it to a child over a
 * socket. The child maps the same bytes, doubles the number and exits; the parent reads the answer.
 * Nothing is copied on the way.
 *
 *   share_parent_child [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

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

static int child(const char *device_name, int socket)
{
	ww_device *device;
	ww_memory *memory;
	int number;

	check(ww_device_open(device_name, &device));
	check(ww_memory_receive(device, socket,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), WW_FOREVER, NULL,
		&memory));
	check(ww_memory_read(memory, 0, &number, sizeof(number), WW_FOREVER, NULL));
	printf("child:  I see %d, and write twice as much\n", number);
	number *= 2;
	check(ww_memory_write(memory, 0, &number, sizeof(number), WW_FOREVER, NULL));
	ww_memory_unref(memory);
	ww_device_unref(device);
	return 0;
}

int main(int argc, char **argv)
{
	struct ww_memory_params params = {.struct_size = sizeof(params), .bytes = 1 << 20};
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	ww_device *device;
	ww_memory *memory;
	int number = 21;
	int sockets[2];
	char socket_number[16];
	char role[] = "--child";
	pid_t pid;

	if (argc == 4 && !strcmp(argv[1], "--child"))
		return child(argv[2], atoi(argv[3]));
	check(ww_device_open(argc > 1 ? argv[1] : NULL, &device));
	check(ww_device_info_get(device, &info));
	check(ww_memory_create(device, &params, &memory));
	check(ww_memory_write(memory, 0, &number, sizeof(number), WW_FOREVER, NULL));
	printf("parent: I write %d into memory of %s (%s)\n", number, info.selector, info.name);
	fflush(stdout);

	/*
	 * A child must be a process of its own: neither GPUs nor this library survive fork() alone.
	 */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets))
		return 1;
	snprintf(socket_number, sizeof(socket_number), "%d", sockets[1]);
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL,
		    (char *[]){argv[0], role, info.selector, socket_number, NULL}, environ))
		return 1;
	close(sockets[1]);
	check(ww_memory_send(memory, WW_ACCESS_WRITE, sockets[0], WW_FOREVER, NULL));
	waitpid(pid, NULL, 0);

	check(ww_memory_read(memory, 0, &number, sizeof(number), WW_FOREVER, NULL));
	printf("parent: now I see %d\n", number);
	close(sockets[0]);
	ww_memory_unref(memory);
	ww_device_unref(device);
	return number == 42 ? 0 : 1;
}
