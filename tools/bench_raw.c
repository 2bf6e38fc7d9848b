/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_raw.c - chooses the raw calls of a device
 */
#include "bench_raw.h"

#include "voice.h"

int raw_open(const struct ww_device_info *info, struct raw **out_raw)
{
	if (info->backend == WW_BACKEND_CUDA)
		return raw_open_cuda(info, out_raw);
	if (info->backend == WW_BACKEND_HOST)
		return raw_open_host(out_raw);
	return complain("no raw calls are known for device %s", info->selector);
}

void raw_close(struct raw *raw)
{
	if (raw)
		raw->ops->close(raw);
}
