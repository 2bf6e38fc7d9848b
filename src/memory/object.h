/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.h - a memory as the library sees it
 *
 * A memory is a mapping with a name that is the same in every process: its object id. Everything in it is
 * constant from the moment it can be found by others, so reading needs no lock. What layers above hang on
 * it (attachments) has a lock of its own, in memory.c.
 */
#ifndef WW_MEMORY_OBJECT_H
#define WW_MEMORY_OBJECT_H

#include "base/map.h"
#include "device/mapping.h"
#include "memory/description.h"

/*
 * Something that lasts exactly as long as a memory does in this process. Its owner embeds it in a struct
 * of its own.
 */
struct ww_attachment {
	struct ww_attachment *next;
	const void *owner; /* a memory has at most one of each owner */
	/* Called once, when the memory's last reference is gone and nobody finds it any more; frees it. */
	void (*detach)(struct ww_attachment *attachment);
};

struct ww_memory {
	struct ww_ref ref;
	struct ww_map_node node;           /* in the cache, under its lock */
	struct ww_mapping *mapping;        /* a reference */
	struct ww_description description; /* its access is the most that was granted */
	struct ww_attachment *attachments; /* under their lock */
};

/*
 * @attachment: the memory's from now on, if true is returned
 * Return: false when one of the same owner is there already.
 */
bool ww_memory_attach(struct ww_memory *memory, struct ww_attachment *attachment);

/* Return: valid as long as the caller holds the memory; NULL when there is none. */
struct ww_attachment *ww_memory_find_attachment(struct ww_memory *memory, const void *owner);

/* Return: WW_OK; WW_ERR_INVALID (not one of WW_ACCESS_...). */
ww_status ww_memory_check_access(uint32_t access);

#endif
