/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_view.c - parts of one array, each for another process
 *
 * A recording of 8 samples with 3 channels lies in one memory. Two processes get one view of it
 * each, under a name: one the first channel, the other the second, backwards, every other sample.
 * Nothing is copied: a view is the same memory with other numbers beside it. Before they may write
 * at the same time it is worth knowing that the views share no byte.
 *
 *   array_view [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

#define SAMPLES  8
#define CHANNELS 3

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

/* The other process: whatever the layout is, element i is at offset + i * stride. */
static int getter(const char *device_name, const char *name)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_device *device;
	ww_memory *memory;

	check(ww_device_open(device_name, &device));
	check(ww_memory_get(device, NULL, name, NULL, 0, NULL, &memory, &info));
	if (!info.has_array || info.array.ndim != 1)
		return 1;
	printf("getter: %lld numbers, %lld bytes apart:", (long long)info.array.shape[0],
		(long long)info.array.strides[0]);
	for (int64_t i = 0; i < info.array.shape[0]; i++) {
		uint64_t at = info.array.offset + (uint64_t)(i * info.array.strides[0]);
		float value;

		check(ww_memory_read(memory, at, &value, sizeof(value), WW_FOREVER, NULL));
		printf(" %g", (double)value);
	}
	printf("\n");
	ww_memory_unref(memory);
	ww_device_unref(device);
	return 0;
}

/* Puts the memory once more, with the view as what its bytes mean, and has a process look at it. */
static int show(ww_memory *memory, const struct ww_array *view, char **words)
{
	struct ww_put_params put = {.struct_size = sizeof(put), .array = view};
	int status;
	pid_t pid;

	check(ww_memory_put(memory, NULL, words[3], &put, 0, NULL));
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, words, environ) ||
		waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		return 1;
	check(ww_broker_remove(NULL, words[3]));
	return 0;
}

int main(int argc, char **argv)
{
	const int64_t shape[] = {SAMPLES, CHANNELS};
	const struct ww_dtype dtype = {WW_DTYPE_FLOAT, 32, 1};
	struct ww_memory_params params = {.struct_size = sizeof(params),
		.bytes = SAMPLES * CHANNELS * sizeof(float)};
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	struct ww_array whole, first, second;
	float values[SAMPLES][CHANNELS];
	char name[WW_NAME_BYTES];
	char role[] = "--getter";
	ww_device *device;
	ww_memory *memory;
	uint32_t overlap;
	int failed;

	if (argc == 4 && !strcmp(argv[1], role))
		return getter(argv[2], argv[3]);
	for (int i = 0; i < SAMPLES * CHANNELS; i++)
		values[i / CHANNELS][i % CHANNELS] = (float)(10 * (i / CHANNELS) + i % CHANNELS);
	check(ww_device_open(argc > 1 ? argv[1] : NULL, &device));
	check(ww_device_info_get(device, &info));
	check(ww_memory_create(device, &params, &memory));
	check(ww_memory_write(memory, 0, values, sizeof(values), WW_FOREVER, NULL));

	check(ww_array_set(&whole, &dtype, 2, shape, NULL, 0));
	check(ww_array_index(&whole, 1, 0, &first));
	check(ww_array_index(&whole, 1, 1, &second));
	check(ww_array_slice(&second, 0, WW_SLICE_NONE, WW_SLICE_NONE, -2, &second));
	check(ww_array_overlap(&first, &second, &overlap));
	printf("putter: the views share %s\n", overlap == WW_OVERLAP_NONE ? "no byte" : "bytes");
	snprintf(name, sizeof(name), "example/view/%d", (int)getpid());
	failed = show(memory, &first, (char *[]){argv[0], role, info.selector, name, NULL}) ||
		show(memory, &second, (char *[]){argv[0], role, info.selector, name, NULL});
	ww_memory_unref(memory);
	ww_device_unref(device);
	return failed || overlap != WW_OVERLAP_NONE;
}
