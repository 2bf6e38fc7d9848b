/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_order.c - work in order on a stream, while the program goes on
 *
 * Enqueues a fill, a copy back and a call of a function. All three return at once; the function is
 * called when the work before it has run, and then finds the bytes in place.
 *
 *   stream_order [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <warpway/warpway.h>

#define BYTES (1 << 20)

static void check(ww_status status)
{
	if (status != WW_OK) {
		fprintf(stderr, "%s: %s\n", ww_status_name(status),
			status < 0 ? ww_error_last()->message : ww_status_text(status));
		exit(1);
	}
}

struct result {
	unsigned char bytes[BYTES];
	int is_complete;
};

/* Runs on a thread of the library or of the driver, so it calls neither. */
static void look(void *context)
{
	struct result *result = context;

	result->is_complete = result->bytes[0] == 0x42 &&
		!memcmp(result->bytes, result->bytes + 1, BYTES - 1);
}

int main(int argc, char **argv)
{
	struct ww_memory_params params = {.struct_size = sizeof(params), .bytes = BYTES};
	static struct result result;
	ww_device *device;
	ww_stream *stream;
	ww_memory *memory;

	check(ww_device_open(argc > 1 ? argv[1] : NULL, &device));
	check(ww_stream_create(device, &stream));
	check(ww_memory_create(device, &params, &memory));

	check(ww_stream_fill(stream, ww_memory_pointer(memory), 0x42, 1, BYTES));
	check(ww_stream_copy(stream, result.bytes, ww_memory_pointer(memory), BYTES));
	check(ww_stream_call(stream, look, &result));
	printf("enqueued; the device is %s\n",
		ww_stream_query(stream) == WW_NOT_READY ? "still at it" : "done already");

	check(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	printf("the function saw %s\n", result.is_complete ? "all bytes in place" : "a mess");

	ww_memory_unref(memory);
	ww_stream_unref(stream);
	ww_device_unref(device);
	return result.is_complete ? 0 : 1;
}
