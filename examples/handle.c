/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle.c - an array of a program that knows CUDA and nothing of this library
 *
 * The child plays that program: it calls the driver alone, as PyTorch, CuPy or anything else may do
 * below, and writes the 64 bytes of cudaIpcGetMemHandle() to a pipe. What they do not say, the two
 * have to agree on: where in the allocation the array begins, its type and its shape. The other way
 * round, ww_memory_handle_get() gives such a handle for memory that was wrapped. Handles are a
 * matter of GPUs; without one there is nothing to see.
 *
 *   handle [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

#include "cuda_driver.h"

#define ROWS    3
#define COLUMNS 4
#define OFFSET  1024 /* bytes, of the array in its allocation */

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

/* The program without this library. Its memory lives until its standard input ends. */
static int plain_program(const char *index)
{
	struct cuda_driver cuda = cuda_start(atoi(index));
	float numbers[ROWS * COLUMNS];
	cuda_pointer pointer;
	cuda_handle handle;
	char end;

	for (int i = 0; i < ROWS * COLUMNS; i++)
		numbers[i] = (float)i;
	cuda_check("cuMemAlloc", cuda.alloc(&pointer, OFFSET + sizeof(numbers)));
	cuda_check("cuMemcpyHtoD", cuda.to_device(pointer + OFFSET, numbers, sizeof(numbers)));
	cuda_check("cuIpcGetMemHandle", cuda.handle_get(&handle, pointer));
	if (write(STDOUT_FILENO, &handle, sizeof(handle)) != sizeof(handle))
		return 1;
	if (read(STDIN_FILENO, &end, 1) != 0)
		return 1;
	cuda_check("cuMemFree", cuda.free(pointer));
	return 0;
}

static pid_t start_plain_program(char *program, uint32_t index, int *out_life, int *out_handle)
{
	posix_spawn_file_actions_t actions;
	char role[] = "--plain";
	char number[16];
	int life[2];
	int handle[2];
	pid_t pid;

	snprintf(number, sizeof(number), "%u", index);
	if (pipe(life) || pipe(handle) || posix_spawn_file_actions_init(&actions))
		exit(1);
	posix_spawn_file_actions_adddup2(&actions, life[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, handle[1], STDOUT_FILENO);
	for (int i = 0; i < 2; i++) {
		posix_spawn_file_actions_addclose(&actions, life[i]);
		posix_spawn_file_actions_addclose(&actions, handle[i]);
	}
	if (posix_spawn(&pid, "/proc/self/exe", &actions, NULL,
		    (char *[]){program, role, number, NULL}, environ))
		exit(1);
	posix_spawn_file_actions_destroy(&actions);
	close(life[0]);
	close(handle[1]);
	*out_life = life[1];
	*out_handle = handle[0];
	return pid;
}

/* Prints the array, and returns the sum of its elements. */
static float show(ww_memory *memory, const struct ww_array *array)
{
	float numbers[ROWS][COLUMNS];
	float sum = 0;

	check(ww_memory_read(memory, array->offset, numbers, sizeof(numbers), WW_FOREVER, NULL));
	for (int row = 0; row < ROWS; row++) {
		for (int column = 0; column < COLUMNS; column++) {
			printf("%5.0f", (double)numbers[row][column]);
			sum += numbers[row][column];
		}
		printf("\n");
	}
	return sum;
}

int main(int argc, char **argv)
{
	const int64_t shape[] = {ROWS, COLUMNS};
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	struct ww_memory_handle handle;
	struct ww_array array = WW_INIT(struct ww_array);
	struct ww_dtype dtype;
	ww_device *device;
	ww_memory *memory;
	float sum;
	int status;
	int life;
	int from;
	pid_t pid;

	if (argc == 3 && !strcmp(argv[1], "--plain"))
		return plain_program(argv[2]);
	check(ww_device_open(argc > 1 ? argv[1] : NULL, &device));
	check(ww_device_info_get(device, &info));
	if (!(info.capabilities & WW_CAP_FOREIGN)) {
		printf("%s is no GPU, so nobody has a handle for us\n", info.selector);
		ww_device_unref(device);
		return 0;
	}
	check(ww_dtype_parse("float32", &dtype));
	pid = start_plain_program(argv[0], info.index, &life, &from);
	if (read(from, &handle, sizeof(handle)) != sizeof(handle))
		return 1;
	check(ww_array_set(&array, &dtype, 2, shape, NULL, OFFSET));
	check(ww_array_handle_open(device, &handle, &array, NULL, &memory));
	printf("an array of process %d, which has no Warpway:\n", (int)pid);
	sum = show(memory, &array);
	ww_memory_unref(memory);
	close(life);
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	close(from);
	ww_device_unref(device);
	return status == 0 && sum == (float)(ROWS * COLUMNS * (ROWS * COLUMNS - 1) / 2) ? 0 : 1;
}
