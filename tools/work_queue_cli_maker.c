/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_cli_maker.c - for channel_cli_test.py: a work queue with frames in every state
 *
 *   work_queue_cli_maker DEVICE NAME
 *
 * Of 5 frames that are given out at most twice, the first is acknowledged, the second fails, the
 * third is claimed and the others wait. Prints "ready", and stays until standard input ends.
 */
#include <stdio.h>
#include <stdlib.h>

#include <warpway/warpway.h>

#define FRAMES 5

static void check(ww_status status)
{
	if (status != WW_OK) {
		fprintf(stderr, "%s: %s\n", ww_status_name(status), ww_error_last()->message);
		exit(1);
	}
}

static void publish_all(ww_work_queue *producer)
{
	for (int i = 0; i < FRAMES; i++) {
		struct ww_frame frame = WW_INIT(struct ww_frame);

		check(ww_work_queue_acquire(producer, NULL, WW_FOREVER, NULL, &frame));
		check(ww_work_queue_publish(producer, &frame, NULL));
	}
}

static struct ww_frame receive(ww_work_queue *consumer)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	check(ww_work_queue_receive(consumer, NULL, WW_FOREVER, NULL, &frame));
	return frame;
}

static void use_some(ww_work_queue *consumer)
{
	struct ww_frame frame = receive(consumer);

	check(ww_work_queue_acknowledge(consumer, &frame, NULL));
	for (int i = 0; i < 2; i++) {
		frame = receive(consumer);
		check(ww_work_queue_reject(consumer, &frame));
	}
	(void)receive(consumer);
}

int main(int argc, char *argv[])
{
	ww_work_queue *producer;
	ww_work_queue *consumer;
	ww_device *device;

	if (argc != 3)
		return 2;
	check(ww_device_open(argv[1], &device));
	check(ww_work_queue_create(device, NULL, argv[2],
		WW_PARAMS(struct ww_work_queue_params, .role = WW_WORK_QUEUE_PRODUCER,
			.slot_bytes = 4096, .slots = 8, .attempts_max = 2),
		NULL, &producer));
	check(ww_work_queue_get(device, NULL, argv[2],
		WW_PARAMS(struct ww_work_member_params, .role = WW_WORK_QUEUE_CONSUMER), 0, NULL,
		&consumer));
	publish_all(producer);
	use_some(consumer);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	ww_work_queue_unref(consumer);
	ww_work_queue_unref(producer);
	ww_device_unref(device);
	return 0;
}
