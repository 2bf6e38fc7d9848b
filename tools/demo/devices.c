/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices.c - the devices that take part in the ring
 *
 * On a GPU the ring goes over all GPUs that can share memory and reach each other. That is found
 * out by trying: a little memory of one is mapped for the other, both ways.
 */
#include "demo/demo.h"

#include <stdio.h>
#include <string.h>

#include "common/device.h"

/* Can @reader map memory of @home? The reason why not is in the error record. */
static bool reaches(ww_device *reader, ww_device *home)
{
	OWN(memory) ww_memory *memory = NULL;
	OWN(memory) ww_memory *mapped = NULL;
	OWN(fd) int fd = -1;
	const struct ww_memory_params params = {.struct_size = sizeof(params), .bytes = 1};
	struct ww_memory_description description;

	return ww_memory_create(home, &params, &memory) == WW_OK &&
		ww_memory_export_fd(memory, WW_ACCESS_READ, &fd, &description) == WW_OK &&
		ww_memory_import_fd(reader, fd, &description, NULL, &mapped) == WW_OK;
}

static bool reach_each_other(const struct demo *demo, ww_device *candidate)
{
	for (size_t i = 0; i < demo->device_count; i++) {
		OWN(device) ww_device *chosen = NULL;

		if (ww_device_open(demo->devices[i].selector, &chosen) != WW_OK)
			return false;
		if (!reaches(candidate, chosen) || !reaches(chosen, candidate))
			return false;
	}
	return true;
}

static void try_device(struct demo *demo, const char *selector)
{
	OWN(device) ww_device *candidate = NULL;
	struct ww_device_info info = WW_INIT(struct ww_device_info);

	if (ww_device_open(selector, &candidate) != WW_OK ||
		ww_device_info_get(candidate, &info) != WW_OK) {
		say("%s is left out of the ring: %s", selector, ww_error_last()->message);
	} else if (device_unfit(&info)) {
		say("%s is left out of the ring: %s", selector, device_unfit(&info));
	} else if (!reach_each_other(demo, candidate)) {
		say("%s is left out of the ring: %s", selector, ww_error_last()->message);
	} else {
		demo->devices[demo->device_count++] = info;
	}
}

void demo_devices_find(struct demo *demo)
{
	uint32_t count;

	demo->devices[0] = demo->info;
	demo->device_count = 1;
	if (ww_device_count(demo->info.backend, &count) != WW_OK)
		return;
	for (uint32_t i = 0; i < count; i++) {
		char selector[32];

		if (demo->device_count >= demo->processes || demo->device_count == DEMO_DEVICES_MAX)
			return;
		snprintf(selector, sizeof(selector), "cuda:%u", i);
		if (demo->info.backend == WW_BACKEND_CUDA && i != demo->info.index)
			try_device(demo, selector);
	}
}
