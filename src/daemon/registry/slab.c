/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slab.c - items beside the records of a table, see slab.h
 */
#include "daemon/registry/slab.h"

#include <stdlib.h>

#include "base/error.h"

static ww_status slab_fail_memory(void)
{
	return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
}

/* Makes room in the list of chunks for one more; the list doubles. */
static ww_status slab_widen(struct slab *slab)
{
	uint8_t **chunks;

	if (slab->chunk_count & (slab->chunk_count - 1))
		return WW_OK;
	chunks = realloc(slab->chunks,
		(slab->chunk_count ? (size_t)slab->chunk_count * 2 : 1) * sizeof(*chunks));
	if (!chunks)
		return slab_fail_memory();
	slab->chunks = chunks;
	return WW_OK;
}

ww_status slab_reserve(struct slab *slab, uint32_t index)
{
	while (index / SLAB_CHUNK >= slab->chunk_count) {
		ww_try(slab_widen(slab));
		slab->chunks[slab->chunk_count] = calloc(SLAB_CHUNK, slab->item_bytes);
		if (!slab->chunks[slab->chunk_count])
			return slab_fail_memory();
		slab->chunk_count++;
	}
	return WW_OK;
}

void slab_clear(struct slab *slab)
{
	for (uint32_t i = 0; i < slab->chunk_count; i++)
		free(slab->chunks[i]);
	free(slab->chunks);
	slab->chunks = NULL;
	slab->chunk_count = 0;
}
