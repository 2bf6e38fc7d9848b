/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - which device a verb runs on
 *
 * A device that was named is taken or refused, never replaced. When none was named, each GPU is
 * tried in turn: being described needs a context, so a GPU that cannot be used shows here, and not
 * in the middle of the work.
 */
#include "common/device.h"

#include <stdbool.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "common/say.h"

/* Asks for the free memory as well: a GPU on which no context can be made is of no use. */
static bool describe(ww_device *device, struct ww_device_info *out_info)
{
	uint64_t free_bytes;

	*out_info = (struct ww_device_info){.struct_size = sizeof(*out_info)};
	return ww_device_info_get(device, out_info) == WW_OK &&
		ww_device_free_bytes(device, &free_bytes) == WW_OK;
}

const char *device_mps_name(const struct ww_device_info *info)
{
	static const char *const names[] = {"unknown", "off", "on"};

	return info->mps < sizeof(names) / sizeof(names[0]) ? names[info->mps] : "unknown";
}

const char *device_unfit(const struct ww_device_info *info)
{
	if (!(info->capabilities & WW_CAP_EXPORT))
		return "it cannot share memory by descriptor";
	if (!(info->capabilities & WW_CAP_MANY_PROCESSES))
		return "its compute mode lets no second process in (nvidia-smi -q -d COMPUTE)";
	return NULL;
}

static int open_named(const char *name, ww_device **out_device, struct ww_device_info *out_info)
{
	OWN(device) ww_device *device = NULL;

	if (ww_device_open(name, &device) != WW_OK || !describe(device, out_info))
		return refuse("device '%s': %s", name, ww_error_last()->message);
	if (device_unfit(out_info))
		return refuse("device %s (%s) cannot be used: %s; `--device host` works everywhere",
			out_info->selector, out_info->name, device_unfit(out_info));
	*out_device = device;
	device = NULL;
	return 0;
}

/* Opens GPU @index if it is usable; else says why it is left out. */
static bool try_gpu(uint32_t index, ww_device **out_device, struct ww_device_info *out_info)
{
	OWN(device) ww_device *device = NULL;
	const char *unfit;
	char name[32];

	snprintf(name, sizeof(name), "cuda:%u", index);
	if (ww_device_open(name, &device) != WW_OK || !describe(device, out_info))
		unfit = ww_error_last()->message;
	else
		unfit = device_unfit(out_info);
	if (unfit) {
		say("%s is left out: %s", name, unfit);
		return false;
	}
	*out_device = device;
	device = NULL;
	return true;
}

static bool open_gpu(ww_device **out_device, struct ww_device_info *out_info)
{
	const char *reason = "this machine has none";
	uint32_t count = 0;

	if (ww_device_count(WW_BACKEND_CUDA, &count) != WW_OK)
		reason = ww_error_last()->message;
	for (uint32_t i = 0; i < count; i++) {
		if (try_gpu(i, out_device, out_info))
			return true;
		reason = "all are left out";
	}
	say("No GPU is used: %s. Using the CPU (device host).", reason);
	return false;
}

int device_choose(const char *name, ww_device **out_device, struct ww_device_info *out_info)
{
	*out_device = NULL;
	if (name)
		return open_named(name, out_device, out_info);
	return open_gpu(out_device, out_info) ? 0 : open_named("host", out_device, out_info);
}
