/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - which device a verb runs on
 */
#ifndef TOOLS_COMMON_DEVICE_H
#define TOOLS_COMMON_DEVICE_H

#include <warpway/warpway.h>

/**
 * device_choose() - open the device that was named, or the best one
 * @name:        as given with --device; NULL: the first GPU that proves usable, else host. What is
 *               left out is said, with the reason
 * @out_device:  the caller's; it can share memory by descriptor
 * @out_info:    filled on success
 *
 * Return: 0; EXIT_CANNOT after saying why.
 */
int device_choose(const char *name, ww_device **out_device, struct ww_device_info *out_info);

/* Why processes cannot share memory of a device; NULL: they can. */
const char *device_unfit(const struct ww_device_info *info);

/* "on", "off" or "unknown". */
const char *device_mps_name(const struct ww_device_info *info);

#endif
