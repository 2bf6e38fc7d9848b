/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle.c - arrays behind legacy handles of programs without this library, see warpway/array.h
 *
 * A handle is 64 bytes that name an allocation; shape, strides and type come beside it, by whatever way the two programs
 * have. Nothing of this can be trusted to fit. What can be refused without the driver is refused first; then the allocation is
 * opened, which tells its size, and the array must lie inside.
 */
#include <warpway/array.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "memory/object.h"

WW_DEFINE_CLEANUP(ww_memory, ww_memory_unref)

ww_status ww_array_open_handle(ww_device *device, const uint8_t handle[WW_HANDLE_BYTES],
	uint64_t offset, const struct ww_dtype *dtype, uint32_t ndim, const int64_t *shape,
	const int64_t *strides, uint32_t access, ww_memory **out_memory, struct ww_array *out_array)
{
	WW_CLEANUP(ww_memory_unref_p) ww_memory *memory = NULL;
	struct ww_array array;

	ww_clear(out_memory, NULL);
	ww_require(device, "ww_array_open_handle: device is NULL");
	ww_require(handle, "ww_array_open_handle: handle is NULL");
	ww_require(dtype, "ww_array_open_handle: dtype is NULL");
	ww_require(shape || ndim == 0, "ww_array_open_handle: shape is NULL");
	ww_require(out_memory && out_array, "ww_array_open_handle: a result is NULL");
	ww_try(ww_array_set_strided(&array, dtype, offset, ndim, shape, strides));
	ww_try(ww_memory_open_handle(device, handle, access, &memory));
	ww_try(ww_array_check(&array, memory->bytes));
	*out_memory = ww_steal(memory);
	*out_array = array;
	return WW_OK;
}
