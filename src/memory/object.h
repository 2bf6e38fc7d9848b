/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.h - a memory as the library sees it
 *
 * A memory is a mapping with a name that is the same in every process: its object id. Everything in it is
 * constant from the moment it can be found by others, so reading needs no lock. What layers above hang on
 * it (attachments) has a lock of its own.
 */
#ifndef WW_MEMORY_OBJECT_H
#define WW_MEMORY_OBJECT_H

#include "base/attachment.h"
#include "base/map.h"
#include "device/mapping.h"
#include "memory/description.h"

struct ww_memory {
	struct ww_ref ref;
	struct ww_map_node node;           /* in the cache, under its lock */
	struct ww_mapping *mapping;        /* a reference */
	struct ww_description description; /* its access is the most that was granted */
	struct ww_attachments attachments;
};

/* Return: WW_OK; WW_ERR_INVALID (not one of WW_ACCESS_...). */
ww_status ww_memory_check_access(uint32_t access);

#endif
