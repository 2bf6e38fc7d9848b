/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_page.h - memory in which processes and their GPUs leave words for each other
 *
 * A signal page or the marks of a pool: a memfd that one process writes. The CPU maps it when it is
 * made or imported, and a GPU is told of it when a stream of that GPU first uses it. The layer
 * above keeps these mappings, and releases them.
 */
#ifndef WW_DEVICE_SHARED_PAGE_H
#define WW_DEVICE_SHARED_PAGE_H

#include "device/mapping.h"

#define WW_SHARED_PAGE_DEVICES 32

/* As GPUs see a page: references, set once, in order. */
struct ww_shared_page_mappings {
	struct ww_mapping *_Atomic of[WW_SHARED_PAGE_DEVICES];
};

/*
 * As the CPU sees it.
 * @fd:      borrowed; looked at already with ww_memfd_check()
 * @access:  WW_ACCESS_...
 * Return: WW_OK; as ww_memory_create() and ww_memory_import_fd().
 */
ww_status ww_shared_page_create(uint64_t bytes, struct ww_mapping **out_cpu);
ww_status ww_shared_page_import(int fd, uint64_t bytes, uint32_t access,
	struct ww_mapping **out_cpu);

/* Takes no lock. Return: borrowed; NULL: the device does not know the page yet. */
struct ww_mapping *ww_shared_page_find(const struct ww_shared_page_mappings *mappings,
	const struct ww_device *device);

/*
 * Tells a device of the page, unless it knows it. Under a lock of the layer above.
 * @use:          for the record, "a timeline is used by": by so many devices already
 * @out_mapping:  borrowed
 * Return: WW_OK; WW_ERR_LIMIT (WW_SHARED_PAGE_DEVICES know it); as ww_memory_import_fd().
 */
ww_status ww_shared_page_map(struct ww_shared_page_mappings *mappings, const struct ww_mapping *cpu,
	struct ww_device *device, uint32_t access, const char *use,
	struct ww_mapping **out_mapping);

#endif
