/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle.c - arrays behind legacy handles of programs without this library, see warpway/array.h
 *
 * A handle is 64 bytes that name an allocation. Shape, strides and type come separately, in a way
 * that the two programs agree on, so they may not fit the allocation. The array is checked first,
 * because that needs no driver. Then the allocation is opened, its size becomes known, and the
 * array must lie inside.
 */
#include <warpway/array.h>

#include "array/layout.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "memory/memory.h"

WW_DEFINE_CLEANUP(ww_memory, ww_memory_unref)

ww_status ww_array_handle_open(ww_device *device, const struct ww_memory_handle *handle,
	const struct ww_array *array, const struct ww_import_params *params, ww_memory **out_memory)
{
	WW_CLEANUP(ww_memory_unref_p) ww_memory *memory = NULL;

	ww_clear(out_memory, NULL);
	ww_require(device, "ww_array_handle_open: device is NULL");
	ww_require(handle, "ww_array_handle_open: handle is NULL");
	ww_require(array, "ww_array_handle_open: array is NULL");
	ww_require(out_memory, "ww_array_handle_open: out_memory is NULL");
	ww_try(ww_array_check_span(array));
	ww_try(ww_memory_handle_open(device, handle, params, &memory));
	ww_try(ww_array_check(array, memory->bytes));
	*out_memory = ww_steal(memory);
	return WW_OK;
}
