/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - frames from one process to another, by streams, without a copy, and what happens when
 * the producer is killed
 *
 * The producer's stream fills frames, and the consumer's stream reads them in place. Neither CPU
 * waits for its stream: acquire and receive enqueue a wait, publish and release a signal. With
 * policy block the producer waits until every consumer has released a slot, so the consumer gets
 * every frame from the first one that it received. At the end it kills the producer, gets the
 * frames that were complete, and is told.
 *
 *   channel [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

#define FRAMES 100
#define COUNT  4096 /* elements of a frame */
#define BYTES  (COUNT * sizeof(uint32_t))

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

/* What the user says of a frame; the channel carries it beside the bytes. */
struct stamp {
	uint32_t camera;
	uint32_t exposure_us;
};

/* Publishes until it is killed. */
static void produce(ww_device *device, const char *name)
{
	struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.slot_bytes = BYTES,
		.metadata_bytes = sizeof(struct stamp),
		.metadata_type = "stamp/1",
	};
	ww_stream *stream;
	ww_channel *channel;

	check(ww_stream_create(device, &stream));
	check(ww_channel_create(device, NULL, name, &params, NULL, &channel));
	for (uint32_t i = 1;; i++) {
		const struct stamp stamp = {.camera = 7, .exposure_us = 100 * i};
		struct ww_frame frame = WW_INIT(struct ww_frame);

		/* Work of the stream that follows may write the slot. */
		check(ww_channel_acquire(channel, stream, PATIENCE_NS, NULL, &frame));
		check(ww_stream_fill(stream, frame.pointer, i, sizeof(i), COUNT));
		memcpy(frame.metadata, &stamp, sizeof(stamp));
		frame.bytes = BYTES;
		/* The frame is complete when the stream has done the work before. */
		check(ww_channel_publish(channel, &frame, stream));
	}
}

/* The last element of each frame, as the consumer's stream has found it. */
static uint32_t copies[FRAMES];

static void use_frame(ww_channel *channel, ww_stream *stream, const struct ww_frame *frame,
	uint32_t *copy)
{
	const uint32_t *elements = frame->pointer;
	struct stamp stamp;

	memcpy(&stamp, frame->metadata, sizeof(stamp));
	if (frame->bytes != BYTES || stamp.exposure_us != 100 * (uint32_t)frame->number)
		exit(1);
	/* The stream copies when the frame is complete. A kernel of yours would stand here. */
	check(ww_stream_copy(stream, copy, &elements[COUNT - 1], sizeof(*copy)));
	/* The producer gets the slot back when the copy is done. */
	check(ww_channel_release(channel, frame, stream));
}

/* Return: the number of the first frame. */
static uint64_t consume(ww_channel *channel, ww_stream *stream)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	uint64_t first = 0;

	for (uint64_t i = 0; i < FRAMES; i++) {
		check(ww_channel_receive(channel, stream, PATIENCE_NS, NULL, &frame));
		if (i == 0)
			first = frame.number;
		if (frame.number != first + i)
			exit(1);
		use_frame(channel, stream, &frame, &copies[i]);
	}
	check(ww_stream_synchronize(stream, PATIENCE_NS, NULL));
	return first;
}

/* What was complete still comes, then the reason of the end. */
static int consume_rest(ww_channel *channel)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_status status;

	while ((status = ww_channel_receive(channel, NULL, PATIENCE_NS, NULL, &frame)) == WW_OK)
		check(ww_channel_release(channel, &frame, NULL));
	printf("%s\n", ww_error_last()->message);
	return status == WW_ERR_PEER_LOST ? 0 : 1;
}

static int run_consumer(ww_device *device, const char *name, pid_t producer)
{
	struct ww_consumer_params params = {
		.struct_size = sizeof(params),
		.metadata_type = "stamp/1", /* a channel of another type is refused */
	};
	ww_stream *stream;
	ww_channel *channel;
	uint64_t first;
	int status;

	check(ww_stream_create(device, &stream));
	check(ww_channel_get(device, NULL, name, &params, PATIENCE_NS, NULL, &channel));
	first = consume(channel, stream);
	printf("%d frames, from number %" PRIu64 " on\n", FRAMES, first);
	kill(producer, SIGKILL);
	waitpid(producer, NULL, 0);
	status = consume_rest(channel);
	for (uint64_t i = 0; i < FRAMES; i++)
		status |= copies[i] != (uint32_t)(first + i);
	ww_channel_unref(channel);
	ww_stream_unref(stream);
	return status;
}

int main(int argc, char **argv)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	char role[] = "--producer";
	ww_device *device;
	char name[32];
	int status;
	pid_t pid;

	check(ww_device_open(argc == 4 ? argv[2] : argc > 1 ? argv[1] : NULL, &device));
	if (argc == 4)
		produce(device, argv[3]);
	snprintf(name, sizeof(name), "example/%d", (int)getpid());
	check(ww_device_info_get(device, &info));
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL,
		    (char *[]){argv[0], role, info.selector, name, NULL}, environ))
		return 1;
	status = run_consumer(device, name, pid);
	ww_device_unref(device);
	return status;
}
