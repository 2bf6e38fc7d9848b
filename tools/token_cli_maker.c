/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_cli_maker.c - for token_cli_test.py: a token of a part of a memory, in which an array lies,
 * and objects that the command line cannot make: further names, and slices of a pool with names
 *
 *   token_cli_maker DEVICE
 *
 * Prints the token, gives the memory two names, and two slices a name each, and stays until
 * standard input ends. The part begins at byte 5000 and the array in it at byte 8: every other byte
 * of "h-e-l-l-o", where all other bytes of the memory are zero.
 */
#include <stdio.h>
#include <stdlib.h>

#include <warpway/warpway.h>

#define PART_BEGIN  5000
#define ARRAY_BEGIN 8

static void check(ww_status status)
{
	if (status != WW_OK) {
		fprintf(stderr, "%s: %s\n", ww_status_name(status), ww_error_last()->message);
		exit(1);
	}
}

static ww_memory *make(const char *device_name)
{
	static const char text[] = "h-e-l-l-o";
	struct ww_memory_params params = {.struct_size = sizeof(params), .bytes = 2 << 20};
	ww_device *device;
	ww_memory *memory;

	check(ww_device_open(device_name, &device));
	check(ww_memory_create(device, &params, &memory));
	check(ww_memory_write(memory, PART_BEGIN + ARRAY_BEGIN, text, sizeof(text) - 1, WW_FOREVER,
		NULL));
	ww_device_unref(device);
	return memory;
}

static void name_slice(ww_pool *pool, const char *name)
{
	ww_memory *slice;

	check(ww_pool_alloc(pool, 4096, 0, 0, NULL, &slice));
	check(ww_memory_put(slice, NULL, name, NULL, 0, NULL));
	ww_memory_unref(slice);
}

static ww_pool *make_pool(const char *device_name)
{
	struct ww_pool_params params = {.struct_size = sizeof(params), .chunk_bytes = 2 << 20};
	ww_device *device;
	ww_pool *pool;

	check(ww_device_open(device_name, &device));
	check(ww_pool_create(device, &params, &pool));
	name_slice(pool, "slice/one");
	name_slice(pool, "slice/two");
	ww_device_unref(device);
	return pool;
}

int main(int argc, char *argv[])
{
	const char *device_name = argc > 1 ? argv[1] : "host";
	const struct ww_dtype uint8 = {WW_DTYPE_UINT, 8, 1};
	struct ww_array array = WW_INIT(struct ww_array);
	struct ww_export_params params = {.struct_size = sizeof(params),
		.offset = PART_BEGIN,
		.bytes = 64,
		.array = &array};
	char text[WW_TOKEN_TEXT_BYTES];
	struct ww_token token;
	ww_memory *memory = make(device_name);
	ww_pool *pool;

	check(ww_array_set(&array, &uint8, 1, (const int64_t[]){5}, (const int64_t[]){2},
		ARRAY_BEGIN));
	check(ww_memory_export(memory, NULL, &params, NULL, &token));
	check(ww_memory_put(memory, NULL, "maker/one", NULL, 0, NULL));
	check(ww_memory_put(memory, NULL, "maker/two", NULL, 0, NULL));
	pool = make_pool(device_name);
	check(ww_token_to_text(&token, text));
	puts(text);
	fflush(stdout);
	while (getchar() != EOF)
		;
	ww_pool_unref(pool);
	ww_memory_unref(memory);
	return 0;
}
