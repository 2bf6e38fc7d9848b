/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.c - the kernels of the tests, in C: a module of the host device
 *
 * The same kernels as tests/support/kernels.c has in PTX. The fake driver calls these where a GPU
 * would run the PTX.
 */
#include <stdint.h>

#include <warpway/module.h>

#define EXPORT __attribute__((visibility("default")))

/* Declared and defined in one go: nobody includes a header of it. */
#define KERNEL(name)                                                                   \
	EXPORT void name(const struct ww_host_launch *launch, void *const *arguments); \
	EXPORT void name(const struct ww_host_launch *launch, void *const *arguments)

/* x[i] = first + i for i < count */
EXPORT const uint32_t fill_numbers_argument_bytes[] = {8, 4, 4, 0};

KERNEL(fill_numbers)
{
	uint32_t *x = *(uint32_t **)arguments[0];
	uint32_t first = *(uint32_t *)arguments[1];
	uint32_t count = *(uint32_t *)arguments[2];

	(void)launch;
	for (uint32_t i = 0; i < count; i++)
		x[i] = first + i;
}

/* y[i] += a * x[i] for i < count, by as many threads as the launch has */
EXPORT const uint32_t saxpy_argument_bytes[] = {4, 8, 8, 8, 0};

KERNEL(saxpy)
{
	float a = *(float *)arguments[0];
	const float *x = *(const float **)arguments[1];
	float *y = *(float **)arguments[2];
	uint64_t count = *(uint64_t *)arguments[3];
	uint64_t threads = (uint64_t)launch->grid[0] * launch->block[0];

	for (uint64_t i = 0; i < count && i < threads; i++)
		y[i] += a * x[i];
}

/* The six numbers of the launch, in the order of struct ww_launch_params. */
EXPORT const uint32_t store_shape_argument_bytes[] = {8, 0};

KERNEL(store_shape)
{
	uint32_t *out = *(uint32_t **)arguments[0];

	for (int i = 0; i < 3; i++) {
		out[i] = launch->grid[i];
		out[3 + i] = launch->block[i];
	}
}

/* No arguments, and nothing done. */
EXPORT const uint32_t nothing_argument_bytes[] = {0};

KERNEL(nothing)
{
	(void)launch;
	(void)arguments;
}

/* 7 */
EXPORT const uint32_t store_seven_argument_bytes[] = {8, 0};

KERNEL(store_seven)
{
	(void)launch;
	**(uint32_t **)arguments[0] = 7;
}

/* Does not say how many arguments it has: the first is an address. */
KERNEL(count_arguments)
{
	**(uint32_t **)arguments[0] = launch->argument_count;
}

/* A name that is no kernel. */
EXPORT uint32_t no_kernel = 7;
