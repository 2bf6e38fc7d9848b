/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heat_latency.c - how long a frame takes from its producer to a consumer in C
 *
 *   heat_latency produce NAME BYTES FRAMES_PER_SECOND   until a signal ends it
 *   heat_latency consume NAME FRAMES [unchecked]        the latencies in microseconds, one a line
 *
 * The producer computes nothing: its frames are zeros, and look like those of a heat
 * daemon. bench-latency runs it, beside a consumer in Python.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <warpway/warpway.h>

#include "heat.h"

#define PATIENCE_NS UINT64_C(30000000000)
#define COLUMNS     1024
#define WARM_UP     60 /* frames that do not count */

#define TRY(call)                         \
	do {                              \
		ww_status status_ = call; \
		if (status_ != WW_OK)     \
			return status_;   \
	} while (0)

static void sleep_until(uint64_t then_ns)
{
	struct timespec then = {
		.tv_sec = (time_t)(then_ns / UINT64_C(1000000000)),
		.tv_nsec = (long)(then_ns % UINT64_C(1000000000)),
	};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL);
}

/* --- the producer --- */

static ww_status create(ww_device *device, const char *name, uint32_t rows, ww_channel **out)
{
	const int64_t shape[] = {rows, COLUMNS};
	struct ww_array array;
	struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.policy = WW_CHANNEL_LATEST,
		.slot_bytes = sizeof(float) * rows * COLUMNS,
		.consumers_max = 4,
		.kind = WW_MEMORY_HOST,
		.metadata_bytes = HEAT_METADATA_BYTES,
		.metadata_type = HEAT_METADATA_TYPE,
		.array = &array,
	};

	TRY(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 2, shape, NULL, 0));
	return ww_channel_create(device, NULL, name, &params, NULL, out);
}

static ww_status publish(ww_channel *channel, const struct heat_metadata *metadata, uint64_t bytes)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	TRY(ww_channel_acquire(channel, NULL, PATIENCE_NS, NULL, &frame));
	memcpy(frame.metadata, metadata, sizeof(*metadata));
	frame.metadata_bytes = sizeof(*metadata);
	frame.bytes = bytes;
	return ww_channel_publish(channel, &frame, NULL);
}

static ww_status produce(ww_device *device, const char *name, uint64_t bytes, double rate)
{
	uint32_t rows = (uint32_t)(bytes / (sizeof(float) * COLUMNS));
	uint64_t period_ns = (uint64_t)(1e9 / rate);
	uint64_t next_ns = heat_now_ns();
	struct heat_metadata metadata = {
		.run = 1,
		.rows = rows,
		.columns = COLUMNS,
		.pid = (uint32_t)getpid(),
	};
	ww_channel *channel;
	void *zeros;

	bytes = sizeof(float) * rows * COLUMNS;
	zeros = calloc(1, bytes);
	if (!zeros)
		return WW_ERR_NO_MEMORY;
	metadata.checksum = heat_checksum(zeros, bytes); /* as new slots are */
	free(zeros);
	TRY(create(device, name, rows, &channel));
	for (;;) {
		metadata.step++;
		TRY(publish(channel, &metadata, bytes));
		next_ns += period_ns;
		sleep_until(next_ns);
	}
}

/* --- the consumer --- */

static ww_status consume(ww_device *device, const char *name, uint64_t count, bool checks)
{
	ww_channel *channel;
	uint64_t *latencies = calloc(count, sizeof(*latencies));
	uint64_t torn = 0;

	if (!latencies)
		return WW_ERR_NO_MEMORY;
	TRY(ww_channel_get(device, NULL, name, NULL, PATIENCE_NS, NULL, &channel));
	for (uint64_t i = 0; i < count + WARM_UP; i++) {
		struct ww_frame frame = WW_INIT(struct ww_frame);
		struct heat_metadata metadata;

		TRY(ww_channel_receive(channel, NULL, PATIENCE_NS, NULL, &frame));
		if (i >= WARM_UP)
			latencies[i - WARM_UP] = heat_now_ns() - frame.submitted_ns;
		memcpy(&metadata, frame.metadata, sizeof(metadata));
		torn += checks &&
			heat_checksum(frame.host_pointer, frame.bytes) != metadata.checksum;
		TRY(ww_channel_release(channel, &frame, NULL));
	}
	for (uint64_t i = 0; i < count; i++)
		printf("%.1f\n", (double)latencies[i] / 1e3);
	if (torn)
		fprintf(stderr, "heat_latency: %" PRIu64 " frames were torn\n", torn);
	free(latencies);
	ww_channel_unref(channel);
	return torn ? WW_ERR_PROTOCOL : WW_OK;
}

int main(int argc, char **argv)
{
	ww_device *device = NULL;
	ww_status status;

	if (argc < 4 || (argc == 4 && strcmp(argv[1], "consume") != 0)) {
		fputs("usage: heat_latency produce NAME BYTES RATE | consume NAME FRAMES "
		      "[unchecked]\n",
			stderr);
		return 2;
	}
	status = ww_device_open("host", &device);
	if (status == WW_OK && !strcmp(argv[1], "produce"))
		status = produce(device, argv[2], strtoull(argv[3], NULL, 10),
			strtod(argv[4], NULL));
	else if (status == WW_OK)
		status = consume(device, argv[2], strtoull(argv[3], NULL, 10), argc == 4);
	if (status != WW_OK)
		fprintf(stderr, "heat_latency: %s\n",
			status < 0 ? ww_error_last()->message : ww_status_text(status));
	ww_device_unref(device);
	return status == WW_OK ? 0 : 1;
}
