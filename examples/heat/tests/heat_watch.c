/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heat_watch.c - a consumer of a heat daemon's frames that checks each of them
 *
 *   heat_watch CHANNEL FRAMES [FILE]
 *
 * Receives so many frames, or, if FRAMES is 0, frames until SIGTERM, also those of the next
 * daemons. Of each frame it checks the checksum, the shape, and that the step of the same
 * simulation is not lower than that of the frame before. It prints "first" when the first frame
 * has come, "end" when a daemon has closed the channel, and at the end the counts as one line of
 * JSON. With FILE it writes the bytes of the last frame there. Exit code 1: a frame was wrong, or
 * there was an error.
 */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include <warpway/warpway.h>

#include "../heat.h"

#define PATIENCE_NS UINT64_C(600000000000)
#define RETRY_MS    10

struct watch {
	struct heat_metadata last;
	uint64_t frames;
	uint64_t torn;      /* the checksum is another one */
	uint64_t wrong;     /* shape, or size */
	uint64_t backwards; /* steps that are lower than the one before, of the same run */
	uint64_t daemons;   /* by their pids */
	uint64_t runs;
	uint64_t ends;
	uint64_t misses; /* a daemon ended while this process joined its channel */
	uint64_t first_step;
	uint8_t *bytes; /* of the last frame */
};

static ww_cancel *stop;

static void take_signal(int number)
{
	(void)number;
	ww_cancel_set(stop);
}

static int complain(ww_status status)
{
	fprintf(stderr, "heat_watch: %s: %s\n", ww_status_name(status),
		status < 0 ? ww_error_last()->message : ww_status_text(status));
	return 1;
}

/* A daemon ended while this process joined its channel. */
static bool is_missed(ww_status status)
{
	return status == WW_ERR_NOT_FOUND || status == WW_ERR_PEER_LOST;
}

static void check_order(struct watch *watch, const struct heat_metadata *now)
{
	if (watch->frames == 0)
		watch->first_step = now->step;
	if (watch->frames == 0 || now->run != watch->last.run)
		watch->runs++;
	else if (now->step < watch->last.step)
		watch->backwards++;
	if (watch->frames == 0 || now->pid != watch->last.pid)
		watch->daemons++;
}

static void check_frame(struct watch *watch, const struct ww_frame *frame, bool keeps)
{
	struct heat_metadata now;

	if (frame->metadata_bytes != sizeof(now)) {
		watch->wrong++;
		return;
	}
	memcpy(&now, frame->metadata, sizeof(now));
	if (frame->ndim != 2 || frame->shape[0] != now.rows || frame->shape[1] != now.columns ||
		frame->bytes != sizeof(float) * now.rows * now.columns)
		watch->wrong++;
	if (crc32_z(0, frame->host_pointer, frame->bytes) != now.checksum)
		watch->torn++;
	check_order(watch, &now);
	watch->last = now;
	if (keeps) {
		watch->bytes = realloc(watch->bytes, frame->bytes);
		memcpy(watch->bytes, frame->host_pointer, frame->bytes);
	}
	if (watch->frames++ == 0) {
		puts("first");
		fflush(stdout);
	}
}

static void print_counts(const struct watch *watch)
{
	const struct heat_metadata *last = &watch->last;

	printf("{\"frames\": %" PRIu64 ", \"torn\": %" PRIu64 ", \"wrong\": %" PRIu64
	       ", \"backwards\": %" PRIu64 ", \"daemons\": %" PRIu64 ", \"runs\": %" PRIu64
	       ", \"ends\": %" PRIu64 ", \"misses\": %" PRIu64 ", \"first_step\": %" PRIu64 ", ",
		watch->frames, watch->torn, watch->wrong, watch->backwards, watch->daemons,
		watch->runs, watch->ends, watch->misses, watch->first_step);
	printf("\"run\": %" PRIu64 ", \"step\": %" PRIu64
	       ", \"time\": %.17g, \"diffusivity\": %.17g"
	       ", \"steps_per_second\": %.17g, \"minimum\": %.9g, \"maximum\": %.9g, \"mean\": %.17g, ",
		last->run, last->step, last->time, last->diffusivity, last->steps_per_second,
		last->minimum, last->maximum, last->mean);
	printf("\"rows\": %u, \"columns\": %u, \"flags\": %u, \"restarts\": %u, \"pid\": %u"
	       ", \"source_x\": %.17g, \"source_y\": %.17g, "
	       "\"steps_per_second_max\": %.17g}\n",
		last->rows, last->columns, last->flags, last->restarts, last->pid, last->source_x,
		last->source_y, last->steps_per_second_max);
}

static int receive_all(ww_channel *channel, uint64_t count, bool keeps, struct watch *watch)
{
	while (count == 0 || watch->frames < count) {
		struct ww_frame frame = WW_INIT(struct ww_frame);
		ww_status status = ww_channel_receive(channel, NULL, PATIENCE_NS, stop, &frame);

		if (status == WW_CANCELLED)
			break;
		if (status == WW_END) {
			watch->ends++;
			puts("end");
			fflush(stdout);
			continue;
		}
		if (is_missed(status)) {
			watch->misses++;
			poll(NULL, 0, RETRY_MS);
			continue;
		}
		if (status != WW_OK)
			return complain(status);
		check_frame(watch, &frame, keeps);
		status = ww_channel_release(channel, &frame, NULL);
		if (status != WW_OK)
			return complain(status);
	}
	return watch->torn || watch->wrong || watch->backwards ? 1 : 0;
}

static int write_last(const char *path, const struct watch *watch)
{
	FILE *file = fopen(path, "wbe");
	size_t bytes = sizeof(float) * watch->last.rows * watch->last.columns;
	bool is_written = file && fwrite(watch->bytes, 1, bytes, file) == bytes;

	if (!file || fclose(file) != 0 || !is_written) {
		perror(path);
		return 1;
	}
	return 0;
}

static ww_status join(ww_device *device, const char *name, struct watch *watch,
	ww_channel **out_channel)
{
	struct ww_consumer_params params = {
		.struct_size = sizeof(params),
		.flags = WW_CONSUMER_REATTACH,
		.metadata_type = HEAT_METADATA_TYPE,
	};
	ww_status status;

	while (is_missed(status = ww_channel_get(device, NULL, name, &params, PATIENCE_NS, stop,
				 out_channel))) {
		watch->misses++;
		poll(NULL, 0, RETRY_MS);
	}
	return status;
}

int main(int argc, char **argv)
{
	struct watch watch = {0};
	ww_device *device = NULL;
	ww_channel *channel = NULL;
	ww_status status;
	int code;

	if (argc < 3 || argc > 4) {
		fputs("Usage: heat_watch CHANNEL FRAMES [FILE]\n", stderr);
		return 2;
	}
	status = ww_cancel_create(&stop);
	signal(SIGTERM, take_signal);
	if (status == WW_OK)
		status = ww_device_open("host", &device);
	if (status == WW_OK)
		status = join(device, argv[1], &watch, &channel);
	code = status == WW_OK
		? receive_all(channel, strtoull(argv[2], NULL, 10), argc == 4, &watch)
		: status == WW_CANCELLED ? 0
					 : complain(status);
	print_counts(&watch);
	if (argc == 4 && watch.bytes && write_last(argv[3], &watch) != 0)
		code = 1;
	free(watch.bytes);
	ww_channel_unref(channel);
	ww_device_unref(device);
	signal(SIGTERM, SIG_IGN); /* the handler uses the flag */
	ww_cancel_unref(stop);
	return code;
}
