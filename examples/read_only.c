/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_only.c - memory that is handed out for reading
 *
 * Exports memory with WW_ACCESS_READ and maps it a second time, as another process would. A write
 * through that mapping is refused before it reaches the device, with a sentence that says why; the
 * bytes stay as they were.
 *
 *   read_only [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <warpway/warpway.h>

static void check(ww_status status)
{
	if (status != WW_OK) {
		fprintf(stderr, "%s: %s\n", ww_status_name(status),
			status < 0 ? ww_error_last()->message : ww_status_text(status));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct ww_memory_params params = {.struct_size = sizeof(params), .bytes = 1 << 20};
	struct ww_memory_description description;
	ww_device *device;
	ww_stream *stream;
	ww_memory *memory;
	ww_memory *reader;
	uint32_t seen = 0;
	ww_status status;
	int fd;

	check(ww_device_open(argc > 1 ? argv[1] : NULL, &device));
	check(ww_stream_create(device, &stream));
	check(ww_memory_create(device, &params, &memory));
	check(ww_stream_fill(stream, ww_memory_pointer(memory), 7, 4, params.bytes / 4));

	/* The descriptor and its description are what would travel to the other process. */
	check(ww_memory_export_fd(memory, WW_ACCESS_READ, &fd, &description));
	check(ww_memory_import_fd(device, fd, &description, NULL, &reader));
	close(fd);

	status = ww_stream_fill(stream, ww_memory_pointer(reader), 0, 4, 1);
	printf("a write gives %s: %s\n", ww_status_name(status), ww_error_last()->message);

	check(ww_stream_copy(stream, &seen, ww_memory_pointer(reader), sizeof(seen)));
	check(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	printf("the memory still holds %u\n", seen);

	ww_memory_unref(reader);
	ww_memory_unref(memory);
	ww_stream_unref(stream);
	ww_device_unref(device);
	return status == WW_ERR_ACCESS && seen == 7 ? 0 : 1;
}
