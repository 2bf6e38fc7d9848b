/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create.c - a new memory of this process
 */
#include <inttypes.h>
#include <unistd.h>

#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "memory/import_cache.h"

#define PARAMS_V1_BYTES sizeof(struct ww_memory_params)

static ww_status check_params(const struct ww_device *device, const struct ww_memory_params *params,
	uint64_t *out_bytes)
{
	uint64_t unit = params->kind == WW_MEMORY_HOST ? (uint64_t)sysconf(_SC_PAGESIZE)
						       : device->granularity;
	uint64_t bytes;

	if (params->kind != WW_MEMORY_VMM && params->kind != WW_MEMORY_HOST)
		return ww_fail(WW_ERR_INVALID,
			"there is no kind of memory %" PRIu32
			"; use WW_MEMORY_VMM or WW_MEMORY_HOST",
			params->kind);
	if (params->flags)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a new memory",
			params->flags);
	if (params->bytes == 0)
		return ww_fail(WW_ERR_INVALID, "cannot make a memory of 0 bytes");
	if (__builtin_add_overflow(params->bytes, unit - 1, &bytes))
		return ww_fail(WW_ERR_OVERFLOW,
			"cannot make a memory of %" PRIu64
			" bytes: rounded up to a multiple of %" PRIu64
			" it is more than 64 bits hold",
			params->bytes, unit);
	*out_bytes = bytes / unit * unit;
	return WW_OK;
}

ww_status ww_memory_make(ww_device *device, const struct ww_memory_params *params,
	ww_memory **out_memory)
{
	WW_AUTO_MAPPING struct ww_mapping *mapping = NULL;
	struct ww_memory_params ours;
	uint64_t bytes = 0;

	ww_clear(out_memory, NULL);
	ww_require(device && params && out_memory,
		"ww_memory_create: device, params or out_memory is NULL");
	ww_try(ww_params_read(&ours, sizeof(ours), params, PARAMS_V1_BYTES, "ww_memory_params"));
	if (ours.kind == 0)
		ours.kind = WW_MEMORY_VMM;
	ww_try(check_params(device, &ours, &bytes));
	ww_try(ww_mapping_create(device, ours.kind, bytes, &mapping));
	ww_try(ww_memory_name(mapping, out_memory));
	(void)ww_steal(mapping);
	return WW_OK;
}

ww_status ww_memory_create(ww_device *device, const struct ww_memory_params *params,
	ww_memory **out_memory)
{
	ww_status status;

	ww_clear(out_memory, NULL);
	ww_try(ww_process_enter());
	ww_memory_reclaim();
	ww_deferred_reclaim_no_wait();
	status = ww_memory_make(device, params, out_memory);
	if ((status == WW_ERR_DEVICE_MEMORY || status == WW_ERR_NO_MEMORY) && ww_cache_drop_kept())
		status = ww_memory_make(device, params, out_memory);
	return status;
}
