/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_named.c - two processes, one memory, found by its name
 *
 * The reader asks for "example/PID" before it is there, and waits. The writer takes the name, writes, and seals the
 * memory: from then on it cannot be changed, and the reader has it. A broker keeps the name; the user's own is started
 * if none runs.
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

/* Every failing call leaves a sentence behind that says why. */
static void check(ww_status status)
{
	if (status != WW_OK) {
		fprintf(stderr, "%s: %s\n", ww_status_name(status), ww_error_last()->message);
		exit(1);
	}
}

/* Copies one number, to the device or from it, and waits until it is there. */
static void copy_number(ww_device *device, void *to, const void *from)
{
	ww_stream *stream;

	check(ww_stream_create(device, &stream));
	check(ww_stream_copy(stream, to, from, sizeof(int)));
	check(ww_stream_synchronize(stream));
	ww_stream_unref(stream);
}

static int reader(const char *device_name, const char *name)
{
	struct ww_get_params wait = {.size = sizeof(wait), .timeout_ns = UINT64_C(30000000000)};
	struct ww_object_info info = {.size = sizeof(info)};
	ww_device *device;
	ww_broker *broker;
	ww_memory *memory;
	int number;
	int status;

	check(ww_device_open(device_name, &device));
	check(ww_broker_open(NULL, &broker));
	status = ww_memory_get(device, broker, name, &wait, &memory, &info);
	if (status == WW_TIMED_OUT)
		return 1;
	check(status);
	copy_number(device, &number, ww_memory_pointer(memory));
	printf("reader: %s has %llu bytes and begins with %d\n", name,
		(unsigned long long)info.bytes, number);
	ww_memory_unref(memory); /* lets go of it; the broker is told */
	ww_broker_unref(broker);
	ww_device_unref(device);
	return number == 42 ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct ww_memory_params params = {.size = sizeof(params), .bytes = 1 << 20};
	struct ww_put_params put = {.size = sizeof(put), .state = WW_STATE_WRITING};
	struct ww_device_info info = {.size = sizeof(info)};
	ww_device *device;
	ww_broker *broker;
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

	check(ww_broker_open(NULL, &broker));
	check(ww_memory_create(device, &params, &memory));
	check(ww_memory_put(memory, broker, name, &put));
	printf("writer: took the name %s at %s\n", name, ww_broker_address(broker));
	copy_number(device, ww_memory_pointer(memory), &number);
	check(ww_memory_seal(memory, broker, WW_STATE_SEALED));
	printf("writer: wrote %d and sealed it\n", number);
	fflush(stdout);

	if (waitpid(pid, &status, 0) != pid)
		return 1;
	ww_memory_unref(memory); /* the last holder: the object is gone */
	ww_broker_unref(broker);
	ww_device_unref(device);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
