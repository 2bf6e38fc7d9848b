/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.h - what the backends share of modules and their kernels
 */
#ifndef WW_DEVICE_MODULE_H
#define WW_DEVICE_MODULE_H

#include <warpway/module.h>

#include "device/backend.h"

/* Each backend's own struct begins with this one. */
struct ww_module {
	struct ww_ref ref;
	struct ww_device *device; /* a reference */
};

/* Each backend's own struct begins with this one. */
struct ww_kernel {
	struct ww_ref ref;
	struct ww_module *module; /* a reference */
	char name[64];            /* cut off where it is longer: for messages */
	struct ww_kernel_info info;
	uint32_t argument_bytes[WW_KERNEL_ARGUMENTS_MAX]; /* of info.argument_count arguments */
};

/* One launch, which has been checked against the kernel's info. */
struct ww_launch {
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t shared_bytes;
	uint32_t argument_count;
	const struct ww_kernel_argument *arguments; /* borrowed */
};

/* init takes a reference; fini gives it back. */
void ww_module_init(struct ww_module *module, struct ww_device *device);
void ww_module_fini(struct ww_module *module);
void ww_kernel_init(struct ww_kernel *kernel, struct ww_module *module, const char *name);
void ww_kernel_fini(struct ww_kernel *kernel);

#endif
