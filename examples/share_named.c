/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_named.c - two processes, one memory, found by its name
 *
 * The reader asks for "example/PID" before it is there, and waits. The writer takes the name,
 * writes, and seals the memory: from then on it cannot be changed, and the reader has it. A broker
 * keeps the name; the user's own is started if none runs.
 *
 *   share_named [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static int reader(const char *device_name, const char *name)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_device *device;
	ww_memory *memory;
	int number;
	int status;

	check(ww_device_open(device_name, &device));
	status = ww_memory_get(device, NULL, name, NULL, UINT64_C(30000000000), NULL, &memory,
		&info);
	if (status == WW_TIMED_OUT)
		return 1;
	check(status);
	check(ww_memory_read(memory, 0, &number, sizeof(number), WW_FOREVER, NULL));
	printf("reader: %s has %llu bytes and begins with %d\n", name,
		(unsigned long long)info.bytes, number);
	ww_memory_unref(memory); /* lets go of it; the broker is told */
	ww_device_unref(device);
	return number == 42 ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct ww_memory_params params = {.struct_size = sizeof(params), .bytes = 1 << 20};
	struct ww_put_params put = {.struct_size = sizeof(put), .state = WW_STATE_WRITING};
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	ww_device *device;
	ww_memory *memory;
	char name[WW_NAME_BYTES];
	char role[] = "--reader";
	int number = 42;
	int status;
	pid_t pid;

	if (argc == 4 && !strcmp(argv[1], role))
		return reader(argv[2], argv[3]);
	check(ww_device_open(argc > 1 ? argv[1] : NULL, &device));
	check(ww_device_info_get(device, &info));
	snprintf(name, sizeof(name), "example/%d", (int)getpid());
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL,
		    (char *[]){argv[0], role, info.selector, name, NULL}, environ))
		return 1;

	check(ww_memory_create(device, &params, &memory));
	check(ww_memory_put(memory, NULL, name, &put, 0, NULL));
	printf("writer: took the name %s at %s\n", name,
		ww_broker_address(ww_memory_broker(memory)));
	check(ww_memory_write(memory, 0, &number, sizeof(number), WW_FOREVER, NULL));
	check(ww_memory_publish(memory, NULL, WW_STATE_SEALED, NULL));
	printf("writer: wrote %d and sealed it\n", number);
	fflush(stdout);

	if (waitpid(pid, &status, 0) != pid)
		return 1;
	ww_memory_unref(memory); /* the last holder: the object is gone */
	ww_device_unref(device);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
