/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrap.c - a pointer that cudaMalloc() gave is handed to another process
 *
 * Half a program exists already and allocates by itself. ww_memory_wrap() takes its pointer, one
 * into the middle of the allocation here, and from there on the memory is shared as any other;
 * nothing is copied. When the last user in this process has let go, a function is called, so that
 * the owner knows when to free.
 *
 * Where there is no way to share what exists, as with memory of malloc(), wrapping is refused and
 * says so. Then a copy is made, because this program asks for it. Without a GPU that is all there
 * is to see.
 *
 *   wrap [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

#include "cuda_driver.h"

#define VARIABLE "EXAMPLE_TOKEN"
#define COUNT    1000
#define SKIPPED  4096 /* bytes of the allocation before ours */

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

static int sum_up(const int numbers[COUNT])
{
	int sum = 0;

	for (int i = 0; i < COUNT; i++)
		sum += numbers[i];
	return sum;
}

static int child(const char *device_name, const char *text, int expected)
{
	struct ww_memory_info memory_info = WW_INIT(struct ww_memory_info);
	int numbers[COUNT] = {0};
	struct ww_token token;
	ww_device *device;
	ww_memory *memory;

	check(ww_device_open(device_name, &device));
	check(ww_token_from_text(text, &token));
	check(ww_memory_import(device, NULL, &token, NULL, NULL, &memory, NULL));
	check(ww_memory_info_get(memory, &memory_info));
	check(ww_memory_read(memory, 0, numbers, sizeof(numbers), WW_FOREVER, NULL));
	printf("child:  got %s: %llu bytes from byte %llu on, their sum is %d\n",
		memory_info.kind == WW_MEMORY_LEGACY ? "memory of cudaMalloc()"
						     : "memory of the library",
		(unsigned long long)memory_info.bytes, (unsigned long long)memory_info.offset,
		sum_up(numbers));
	ww_memory_unref(memory);
	ww_device_unref(device);
	return sum_up(numbers) == expected ? 0 : 1;
}

/* Runs this program again and hands it the token in its environment. */
static void hand_over(ww_memory *memory, struct ww_device_info *info, char *program)
{
	struct ww_export_params params = {.struct_size = sizeof(params),
		.bytes = COUNT * sizeof(int)};
	char text[WW_TOKEN_TEXT_BYTES];
	struct ww_token token;
	char role[] = "--child";
	int status;
	pid_t pid;

	check(ww_memory_export(memory, NULL, &params, NULL, &token));
	check(ww_token_to_text(&token, text));
	fflush(stdout);
	if (setenv(VARIABLE, text, 1) ||
		posix_spawn(&pid, "/proc/self/exe", NULL, NULL,
			(char *[]){program, role, info->selector, NULL}, environ) ||
		waitpid(pid, &status, 0) != pid || status != 0)
		exit(1);
}

static void tell(void *context)
{
	printf("parent: %s is not used any more, and can be freed\n", (const char *)context);
}

/* With a GPU: what cudaMalloc() gave, without a copy. */
static void share_pointer(ww_device *device, struct ww_device_info *info, const int *numbers,
	char *program)
{
	struct ww_wrap_params params = {
		.struct_size = sizeof(params),
		.release = tell,
		.context = (void *)"the middle of the allocation",
	};
	struct cuda_driver cuda = cuda_start((int)info->index);
	cuda_pointer allocation;
	ww_memory *memory;
	void *middle;

	cuda_check("cuMemAlloc", cuda.alloc(&allocation, 3 * SKIPPED));
	cuda_check("cuMemcpyHtoD",
		cuda.to_device(allocation + SKIPPED, numbers, COUNT * sizeof(int)));
	middle = (void *)(uintptr_t)(allocation + SKIPPED);
	check(ww_memory_wrap(device, middle, COUNT * sizeof(int), &params, &memory));
	printf("parent: wrapped %zu bytes in the middle of what cudaMalloc() gave\n",
		COUNT * sizeof(int));
	hand_over(memory, info, program);
	ww_memory_unref(memory);
	cuda_check("cuMemFree", cuda.free(allocation));
}

/* Anywhere: what cannot be wrapped is copied. */
static void share_copy(ww_device *device, struct ww_device_info *info, const int *numbers,
	char *program)
{
	struct ww_memory_params params = {.struct_size = sizeof(params),
		.bytes = COUNT * sizeof(int)};
	ww_memory *memory;
	ww_stream *stream;

	if (ww_memory_wrap(device, (void *)numbers, COUNT * sizeof(int), NULL, &memory) == WW_OK)
		exit(1);
	printf("parent: memory of malloc() is refused: %s\n", ww_error_last()->message);
	check(ww_stream_create(device, &stream));
	check(ww_memory_copy_in(stream, numbers, &params, &memory));
	check(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	printf("parent: made a copy that can be shared\n");
	hand_over(memory, info, program);
	ww_memory_unref(memory);
	ww_stream_unref(stream);
}

int main(int argc, char **argv)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	ww_device *device;
	int *numbers;

	if (argc == 3 && !strcmp(argv[1], "--child") && getenv(VARIABLE))
		return child(argv[2], getenv(VARIABLE), COUNT * (COUNT - 1) / 2);
	numbers = malloc(COUNT * sizeof(int));
	if (!numbers)
		return 1;
	for (int i = 0; i < COUNT; i++)
		numbers[i] = i;
	check(ww_device_open(argc > 1 ? argv[1] : NULL, &device));
	check(ww_device_info_get(device, &info));
	if (info.capabilities & WW_CAP_FOREIGN)
		share_pointer(device, &info, numbers, argv[0]);
	else
		printf("parent: %s is no GPU, so there is no cudaMalloc()\n", info.selector);
	share_copy(device, &info, numbers, argv[0]);
	ww_device_unref(device);
	free(numbers);
	return 0;
}
