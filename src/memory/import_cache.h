/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_cache.h - the memories this process has mapped, so that each is mapped once
 *
 * Two imports are the same if they have the same object id, generation, device and access. An
 * attacker may have written the id, so the kernel must also confirm that the descriptor which was
 * received and the mapped memory are the same file. If the kernel cannot tell, the memory is mapped
 * again: that is correct, and costs addresses only.
 *
 * The cache holds no references: the last unref removes a memory from it. There is one exception:
 * the last reference of a memory that was imported with WW_IMPORT_KEEP is kept here for a moment,
 * and is the next import's.
 */
#ifndef WW_MEMORY_IMPORT_CACHE_H
#define WW_MEMORY_IMPORT_CACHE_H

#include "memory/memory.h"

/*
 * A foreign memory (of kind WW_MEMORY_LEGACY or WW_MEMORY_CUDA_POOL) is mapped once for each
 * device, for any access, so its access may be another one than @access.
 * @out_memory:  a reference to the memory that this import would map again; NULL: there is none
 * Return: WW_OK; as ww_mapping_compare().
 */
ww_status ww_cache_find(struct ww_device *device, const struct ww_description *description,
	uint32_t access, int fd, struct ww_memory **out_memory);

/*
 * Inserts a memory, unless another thread has inserted the same one before.
 * @fd:          of the memory; -1: it is new, so no thread can have imported it
 * @out_memory:  @memory, without a further reference, or a reference to the other one
 * Return: WW_OK; WW_ERR_NO_MEMORY; as ww_mapping_compare().
 */
ww_status ww_cache_insert(struct ww_memory *memory, int fd, struct ww_memory **out_memory);

/*
 * Takes over the caller's reference of a memory that is_kept, if it is the last one and there is
 * room. Return: whether it did.
 */
bool ww_cache_keep(struct ww_memory *memory);

/* For how long; another value is for tests, before anything is kept. */
extern _Atomic uint64_t ww_cache_keep_ns;

/* Releases all that is kept. Under no lock. Return: whether there was any. */
bool ww_cache_drop_kept(void);

void ww_cache_remove(struct ww_memory *memory);

/* Return: a reference to the memory that has this mapping; NULL: there is none. */
struct ww_memory *ww_cache_find_owner(struct ww_mapping *mapping);

/*
 * Finds a memory by its id only. The caller must make sure by other means that it is the object.
 * @skip:  how many memories that match are left out
 * Return: a reference; NULL: there are no more.
 */
struct ww_memory *ww_cache_find_id(struct ww_device *device, const uint8_t id[WW_OBJECT_ID_BYTES],
	uint32_t access, size_t skip);

#endif
