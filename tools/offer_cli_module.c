/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offer_cli_module.c - for offer_cli_test.py: kernels of the host device, and C functions
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <warpway/module.h>
#include <warpway/service.h>

void scale(const struct ww_host_launch *launch, void *const *arguments);
void geometry(const struct ww_host_launch *launch, void *const *arguments);
void crash(const struct ww_host_launch *launch, void *const *arguments);
void hold(const struct ww_host_launch *launch, void *const *arguments);
extern const uint32_t scale_argument_bytes[];

const uint32_t scale_argument_bytes[] = {1, 8, 8, 8, 0};

/* A module that takes long to load, if the environment says so: until a signal ends the process. */
static void __attribute__((constructor)) load(void)
{
	if (!getenv("OFFER_SLOW_LOAD"))
		return;
	(void)!write(STDERR_FILENO, "loading\n", 8);
	pause();
}

void scale(const struct ww_host_launch *launch, void *const *arguments)
{
	uint8_t factor = *(const uint8_t *)arguments[0];
	const uint8_t *x = *(const uint8_t *const *)arguments[1];
	uint8_t *y = *(uint8_t **)arguments[2];
	uint64_t count = *(const uint64_t *)arguments[3];

	(void)launch;
	for (uint64_t i = 0; i < count; i++)
		y[i] = (uint8_t)(factor * x[i]);
}

/* Writes its grid, its block and its shared bytes. */
void geometry(const struct ww_host_launch *launch, void *const *arguments)
{
	uint32_t *out = *(uint32_t **)arguments[0];

	for (int i = 0; i < 3; i++) {
		out[i] = launch->grid[i];
		out[3 + i] = launch->block[i];
	}
	out[6] = launch->shared_bytes;
}

void crash(const struct ww_host_launch *launch, void *const *arguments)
{
	(void)launch;
	(void)arguments;
	raise(SIGKILL);
}

/* Writes 1, and 2 when the file is there that the environment names. */
void hold(const struct ww_host_launch *launch, void *const *arguments)
{
	volatile uint8_t *x = *(volatile uint8_t **)arguments[0];
	const char *path = getenv("OFFER_HOLD_FILE");

	(void)launch;
	x[0] = 1;
	while (path && access(path, F_OK))
		sched_yield();
	x[0] = 2;
}

/* --- C functions --- */

ww_status total(void *context, ww_call *call);
ww_status make(void *context, ww_call *call);

ww_status total(void *context, ww_call *call)
{
	struct ww_value sum = {.kind = WW_ARGUMENT_SCALAR, .dtype = {WW_DTYPE_UINT, 64, 1}};
	uint8_t bytes[100];
	struct ww_value x;
	uint64_t count;
	ww_status status = ww_call_argument(call, 0, &x);

	(void)context;
	if (status != WW_OK)
		return status;
	count = (uint64_t)x.array->shape[0];
	if (count > sizeof(bytes))
		return WW_ERR_LIMIT;
	status = ww_memory_read(x.memory, x.array->offset, bytes, count, WW_FOREVER, NULL);
	for (uint64_t i = 0; i < count; i++)
		sum.scalar += bytes[i];
	return status == WW_OK ? ww_call_result(call, 0, &sum) : status;
}

/* Returns a memory of the service's device. */
ww_status make(void *context, ww_call *call)
{
	const struct ww_dtype u8 = {WW_DTYPE_UINT, 8, 1};
	struct ww_array array = WW_INIT(struct ww_array);
	struct ww_value result = {.kind = WW_ARGUMENT_ARRAY, .array = &array};
	struct ww_value count;
	ww_status status = ww_call_argument(call, 0, &count);

	if (status == WW_OK)
		status = ww_array_set(&array, &u8, 1, (const int64_t[]){(int64_t)count.scalar},
			NULL, 0);
	if (status == WW_OK)
		status = ww_memory_create(context,
			WW_PARAMS(struct ww_memory_params, .bytes = count.scalar), &result.memory);
	if (status != WW_OK)
		return status;
	status = ww_memory_write(result.memory, 0, "warpway", 7, WW_FOREVER, NULL);
	if (status == WW_OK)
		status = ww_call_result(call, 0, &result);
	ww_memory_unref(result.memory);
	return status;
}
