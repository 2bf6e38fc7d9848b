/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.h - the memories this process has mapped, so that each is mapped once
 *
 * Keyed by what makes two imports the same: object id and generation, device, access. An id is only what a
 * stranger wrote, so a hit needs the kernel's word too: the descriptor that came must name the
 * very memory that is mapped. Where the kernel does not say, the memory is mapped again, which
 * costs addresses and is right.
 *
 * The cache holds no references: the last unref takes a memory out.
 */
#ifndef WW_MEMORY_CACHE_H
#define WW_MEMORY_CACHE_H

#include "memory/object.h"

/* Return: a reference to the memory that this import would map again; NULL when there is none. */
struct ww_memory *ww_cache_find(struct ww_device *device, const struct ww_description *description,
	uint32_t access, int fd);

/*
 * Enters a memory, unless another thread was faster with the same one.
 * @fd:      names the memory; -1: it is new, nobody can have imported it
 * @out_memory: @memory, which stays the caller's only reference, or a reference to the other one
 * Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status ww_cache_insert(struct ww_memory *memory, int fd, struct ww_memory **out_memory);

void ww_cache_remove(struct ww_memory *memory);

#endif
