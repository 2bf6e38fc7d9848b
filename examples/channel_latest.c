/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_latest.c - the newest value of a sensor, for whoever reads it at any time
 *
 * The sensor's process publishes its state with policy latest, as often as it likes, and never
 * waits for a reader. A reader that comes at any time gets the newest state, and never one that is
 * half written; one that it holds stays as it is until the reader releases it.
 *
 *   channel_latest [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

#define WORDS 512 /* of a state, all equal, so that the reader can check them */
#define BYTES (WORDS * sizeof(uint32_t))
#define READS 200

#define PATIENCE_S  60 /* should the other side fail */
#define PATIENCE_NS (PATIENCE_S * UINT64_C(1000000000))

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

/* Publishes until it is killed. A slot is always free: consumers and slots are counted so. */
static void sense(ww_device *device, const char *name)
{
	struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.policy = WW_CHANNEL_LATEST,
		.slot_bytes = BYTES,
		.consumers_max = 2,
	};
	ww_stream *stream;
	ww_channel *channel;

	alarm(PATIENCE_S);
	check(ww_stream_create(device, &stream));
	check(ww_channel_create(device, NULL, name, &params, NULL, &channel));
	for (uint32_t state = 1;; state++) {
		struct ww_frame frame = WW_INIT(struct ww_frame);

		check(ww_channel_acquire(channel, stream, PATIENCE_NS, NULL, &frame));
		check(ww_stream_fill(stream, frame.pointer, state, sizeof(state), WORDS));
		check(ww_channel_publish(channel, &frame, stream));
	}
}

/* The newest state, copied; its number is that of the frame. */
static uint64_t read_state(ww_channel *channel, ww_stream *stream, uint32_t *copy)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	check(ww_channel_receive(channel, stream, PATIENCE_NS, NULL, &frame));
	check(ww_stream_copy(stream, copy, frame.pointer, BYTES));
	check(ww_stream_synchronize(stream, PATIENCE_NS, NULL));
	check(ww_channel_release(channel, &frame, NULL));
	return frame.number;
}

static bool is_whole(const uint32_t *copy, uint64_t number)
{
	for (int i = 0; i < WORDS; i++) {
		if (copy[i] != (uint32_t)number)
			return false;
	}
	return true;
}

static int read_states(ww_channel *channel, ww_stream *stream)
{
	uint32_t copy[WORDS];
	uint64_t first = 0;
	uint64_t last = 0;

	for (int i = 0; i < READS; i++) {
		uint64_t number = read_state(channel, stream, copy);

		/* A reader sees no state twice: receive waits until there is a newer one. */
		if (number <= last || !is_whole(copy, number))
			return 1;
		last = number;
		if (i == 0)
			first = number;
	}
	printf("read %d states, from %" PRIu64 " to %" PRIu64 ", each whole\n", READS, first, last);
	return 0;
}

/* After the end of the sensor's process its last complete state still comes, then the end. */
static int read_the_end(ww_channel *channel)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_status status = WW_OK;

	while ((status = ww_channel_receive(channel, NULL, PATIENCE_NS, NULL, &frame)) == WW_OK)
		check(ww_channel_release(channel, &frame, NULL));
	printf("%s\n", ww_error_last()->message);
	return status == WW_ERR_PEER_LOST ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	char role[] = "--sensor";
	ww_device *device;
	ww_stream *stream;
	ww_channel *channel;
	char name[32];
	int status;
	pid_t pid;

	check(ww_device_open(argc == 4 ? argv[2] : argc > 1 ? argv[1] : NULL, &device));
	if (argc == 4)
		sense(device, argv[3]);
	snprintf(name, sizeof(name), "example/%d", (int)getpid());
	check(ww_device_info_get(device, &info));
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL,
		    (char *[]){argv[0], role, info.selector, name, NULL}, environ))
		return 1;
	check(ww_stream_create(device, &stream));
	check(ww_channel_get(device, NULL, name, NULL, PATIENCE_NS, NULL, &channel));
	status = read_states(channel, stream);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	status |= read_the_end(channel);
	ww_channel_unref(channel);
	ww_stream_unref(stream);
	ww_device_unref(device);
	return status;
}
