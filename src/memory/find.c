/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find.c - the memory that an address lies in
 *
 * What this library has mapped is found in the table of mappings (mapping.h), and what the caller
 * wrapped is found among the wrapped allocations (wrap.c). Of a whole and its views the smallest is
 * taken (view.h). A chunk of a pool is never handed out: the result is a slice or a part of one.
 */
#include "base/error.h"
#include "base/process.h"
#include "memory/import_cache.h"
#include "memory/view.h"

/* @whole: a reference, consumed. Return: a reference; NULL: it is a chunk without a slice there. */
static struct ww_memory *narrow_to(struct ww_memory *whole, uint64_t offset)
{
	uint64_t limit = whole->is_chunk ? UINT64_MAX : whole->bytes;
	struct ww_memory *part = ww_memory_find_part(whole, offset, limit);

	if (!part && !whole->is_chunk)
		return whole;
	ww_memory_unref(whole);
	return part;
}

/*
 * @out_offset: of the address in its mapping. Return: a reference; NULL: the library has not mapped
 * this.
 */
static struct ww_memory *find_mapped(const void *pointer, uint64_t *out_offset)
{
	WW_AUTO_MAPPING struct ww_mapping *mapping = NULL;
	struct ww_memory *whole;

	if (ww_mapping_find(pointer, 1, WW_ACCESS_READ, &mapping) < 0 || !mapping)
		return NULL;
	*out_offset = ww_mapping_offset(mapping, pointer);
	whole = ww_cache_find_owner(mapping);
	return whole ? narrow_to(whole, *out_offset) : NULL;
}

ww_status ww_memory_find(const void *pointer, ww_memory **out_memory, uint64_t *out_offset)
{
	struct ww_memory *memory;
	uint64_t offset = 0;

	ww_clear(out_memory, NULL);
	ww_clear(out_offset, 0);
	ww_try(ww_process_enter());
	ww_require(pointer && out_memory, "ww_memory_find: pointer or out_memory is NULL");
	memory = find_mapped(pointer, &offset);
	if (!memory)
		ww_try(ww_memory_find_wrapped(pointer, &memory, &offset));
	if (!memory)
		return ww_fail(WW_ERR_NOT_FOUND,
			"%p lies in no memory that this process has made, imported or wrapped; wrap it "
			"with ww_memory_wrap()",
			pointer);
	*out_memory = memory;
	if (out_offset)
		*out_offset = offset - memory->offset;
	return WW_OK;
}
