/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h - a module for the device under test
 *
 * The kernels of tests/kernels/kernels.c: as a shared object on host, as PTX on GPUs.
 * WW_TEST_KERNELS names the shared object.
 */
#ifndef WW_TESTS_SUPPORT_KERNELS_H
#define WW_TESTS_SUPPORT_KERNELS_H

#include <warpway/warpway.h>

/* The shared object; the case is skipped where the variable is not set. */
const char *kernels_path(void);

/* The PTX, which names the shared object for the fake driver; until the next call. */
const char *kernels_ptx(void);

/* The module of either kind that the device takes. */
ww_status kernels_try_load(ww_device *device, ww_module **out_module);
ww_module *kernels_load(ww_device *device);

ww_kernel *kernel_find(ww_module *module, const char *name);
struct ww_kernel_info kernel_info(ww_kernel *kernel);

/* An argument: the value of a variable. */
#define ARGUMENT(variable)                                      \
	(struct ww_kernel_argument)                             \
	{                                                       \
		.value = &(variable), .bytes = sizeof(variable) \
	}

/* A grid of one dimension. */
ww_status launch(ww_kernel *kernel, ww_stream *stream, uint32_t blocks, uint32_t threads,
	const struct ww_kernel_argument *arguments, uint32_t count);

#endif
