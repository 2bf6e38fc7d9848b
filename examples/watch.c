/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - be told when objects come and go
 *
 * One process puts memory, makes it ready, and is killed; another one watches, in a loop that waits
 * for a descriptor as any event loop does, and learns all of it, the death too.
 *
 *   watch [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <poll.h>
#include <signal.h>
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

/* Puts a finished object and one that it never finishes, and waits for its death. */
static int putter(const char *device_name, const char *prefix)
{
	struct ww_memory_params params = {.struct_size = sizeof(params), .bytes = 4096};
	struct ww_put_params put = {.struct_size = sizeof(put), .state = WW_STATE_WRITING};
	char name[WW_NAME_BYTES];
	ww_device *device;
	ww_memory *memories[2];

	check(ww_device_open(device_name, &device));
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s%s", prefix, i ? "unfinished" : "finished");
		check(ww_memory_create(device, &params, &memories[i]));
		check(ww_memory_put(memories[i], NULL, name, &put, 0, NULL));
		if (i == 0)
			check(ww_memory_publish(memories[i], NULL, WW_STATE_SEALED, NULL));
	}
	pause();
	return 1;
}

static const char *what_happened(uint32_t what)
{
	static const char *const texts[] = {"", "was put", "is ready", "was removed", "has expired",
		"is gone with its holder", "is lost: its writer died", "events were missed",
		"has the name of another object now"};

	return what <= WW_WATCH_REPLACED ? texts[what] : "?";
}

int main(int argc, char **argv)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	ww_device *device;
	ww_watch *watch;
	char prefix[64];
	char role[] = "--putter";
	int ended = 0;
	pid_t pid;

	if (argc == 4 && !strcmp(argv[1], role))
		return putter(argv[2], argv[3]);
	check(ww_device_open(argc > 1 ? argv[1] : NULL, &device));
	check(ww_device_info_get(device, &info));
	snprintf(prefix, sizeof(prefix), "example/%d/", (int)getpid());
	check(ww_watch_create(NULL, prefix, 0, &watch));
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL,
		    (char *[]){argv[0], role, info.selector, prefix, NULL}, environ))
		return 1;

	while (ended < 2) {
		struct ww_watch_event event = WW_INIT(struct ww_watch_event);
		struct pollfd entry = {.fd = ww_watch_fd(watch), .events = POLLIN};
		ww_status status;

		if (poll(&entry, 1, 30000) <=
			0) /* together with everything else a program waits for */
			return 1;
		while ((status = ww_watch_next(watch, 0, NULL, &event)) == WW_OK) {
			printf("%s %s\n", event.object.name, what_happened(event.what));
			if (event.what == WW_WATCH_PUT && strstr(event.object.name, "unfinished"))
				kill(pid, SIGKILL);
			ended += event.what == WW_WATCH_GONE || event.what == WW_WATCH_LOST;
		}
		if (status != WW_TIMED_OUT)
			check(status);
	}
	waitpid(pid, NULL, 0);
	ww_watch_free(watch);
	ww_device_unref(device);
	return 0;
}
