/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_cache.h - the memories this process has mapped, so that each is mapped once
 *
 * Keyed by what makes two imports the same: object id and generation, device, access. An id is only
 * what an attacker wrote, so a hit needs the kernel's word too: the descriptor that came must name
 * the very memory that is mapped. Where the kernel does not say, the memory is mapped again, which
 * costs addresses and is right.
 *
 * The cache holds no references: the last unref takes a memory out.
 */
#ifndef WW_MEMORY_IMPORT_CACHE_H
#define WW_MEMORY_IMPORT_CACHE_H

#include "memory/memory.h"

/*
 * What is foreign is mapped once for each device, whatever access was asked for, so its access may
 * be another one.
 * @out_memory:  a reference to the memory that this import would map again; NULL when there is none
 * Return: WW_OK; as ww_mapping_compare().
 */
ww_status ww_cache_find(struct ww_device *device, const struct ww_description *description,
	uint32_t access, int fd, struct ww_memory **out_memory);

/*
 * Enters a memory, unless another thread was faster with the same one.
 * @fd:      names the memory; -1: it is new, nobody can have imported it
 * @out_memory: @memory, which stays the caller's only reference, or a reference to the other one
 * Return: WW_OK; WW_ERR_NO_MEMORY; as ww_mapping_compare().
 */
ww_status ww_cache_insert(struct ww_memory *memory, int fd, struct ww_memory **out_memory);

void ww_cache_remove(struct ww_memory *memory);

/* Return: a reference to the memory whose mapping this is; NULL: it is of none. */
struct ww_memory *ww_cache_find_owner(struct ww_mapping *mapping);

/*
 * Whether by its id alone; the caller must know better than the id that it is the object it wants.
 * @skip:  of those that fit, how many to pass over
 * Return: a reference; NULL when there are no more.
 */
struct ww_memory *ww_cache_find_id(struct ww_device *device, const uint8_t id[WW_OBJECT_ID_BYTES],
	uint32_t access, size_t skip);

#endif
