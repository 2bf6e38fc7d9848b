/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.c - the objects inside another one, see inside.h
 */
#include "share/inside.h"

#include "base/error.h"

uint32_t ww_inside_count(const struct ww_signal_map *page)
{
	return __atomic_load_n(&page->header->members, __ATOMIC_SEQ_CST);
}

static bool is_nobody(ww_status status)
{
	return status == WW_ERR_NOT_FOUND || status == WW_ERR_UNSUPPORTED ||
		status == WW_ERR_ACCESS || status == WW_ERR_STATE;
}

ww_status ww_inside_look(ww_snapshot *snapshot, ww_inside_fn look, void *context)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	for (size_t i = 0; ww_snapshot_object(snapshot, i, &info) == WW_OK; i++) {
		ww_status status = look(context, &info);

		if (!is_nobody(status))
			ww_try(status);
	}
	return WW_OK;
}
