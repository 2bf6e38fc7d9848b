/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.c - an array with its type and shape
 *
 * One process puts a matrix of 3 x 4 floats. Another one gets it and finds out from the broker what
 * the bytes mean: type, shape, and how far apart neighbours are. That is all a library of arrays
 * needs to use the memory in place.
 *
 *   array [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

#define ROWS    3
#define COLUMNS 4

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

/* Element [row, column], wherever it lies. */
static float element(ww_memory *memory, const struct ww_array *array, int row, int column)
{
	int64_t at = row * array->strides[0] + column * array->strides[1];
	float value;

	check(ww_memory_read(memory, array->offset + (uint64_t)at, &value, sizeof(value),
		WW_FOREVER, NULL));
	return value;
}

static int getter(const char *device_name, const char *name)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_device *device;
	ww_memory *memory;

	check(ww_device_open(device_name, &device));
	check(ww_memory_get(device, NULL, name, NULL, 0, NULL, &memory, &info));
	if (!info.has_array || info.array.dtype.code != WW_DTYPE_FLOAT ||
		info.array.dtype.bits != 32 || info.array.ndim != 2)
		return 1;
	printf("getter: %s is a float32 array of shape %lld x %lld\n", name,
		(long long)info.array.shape[0], (long long)info.array.shape[1]);
	for (int row = 0; row < info.array.shape[0]; row++) {
		for (int column = 0; column < info.array.shape[1]; column++)
			printf("%5g", (double)element(memory, &info.array, row, column));
		printf("\n");
	}
	ww_memory_unref(memory);
	ww_device_unref(device);
	return 0;
}

int main(int argc, char **argv)
{
	static const float values[ROWS][COLUMNS] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
	const int64_t shape[] = {ROWS, COLUMNS};
	struct ww_array array = WW_INIT(struct ww_array);
	struct ww_memory_params params = {.struct_size = sizeof(params), .bytes = sizeof(values)};
	struct ww_put_params put = {.struct_size = sizeof(put), .mode = 0640, .array = &array};
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	ww_device *device;
	ww_memory *memory;
	char name[WW_NAME_BYTES];
	char role[] = "--getter";
	int status;
	pid_t pid;

	if (argc == 4 && !strcmp(argv[1], role))
		return getter(argv[2], argv[3]);
	check(ww_device_open(argc > 1 ? argv[1] : NULL, &device));
	check(ww_device_info_get(device, &info));
	check(ww_memory_create(device, &params, &memory));
	check(ww_memory_write(memory, 0, values, sizeof(values), WW_FOREVER, NULL));
	check(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 2, shape, NULL, 0));
	snprintf(name, sizeof(name), "example/matrix/%d", (int)getpid());
	check(ww_memory_put(memory, NULL, name, &put, 0, NULL));
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL,
		    (char *[]){argv[0], role, info.selector, name, NULL}, environ) ||
		waitpid(pid, &status, 0) != pid)
		return 1;
	ww_memory_unref(memory);
	ww_device_unref(device);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
