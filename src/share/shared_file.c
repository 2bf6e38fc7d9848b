/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_file.c - files in memory that processes share, see shared_file.h
 */
#include "share/shared_file.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "device/memfd.h"

#define MAGIC_BYTES 8

/* As all of them begin. */
struct header {
	uint8_t magic[MAGIC_BYTES];
	uint32_t version;
	uint32_t header_bytes;
	uint32_t item_bytes;
	uint32_t item_count;
	uint64_t bytes;
	uint8_t id[WW_WIRE_ID_BYTES];
};

#define BEGINS_ALIKE(layout, item, count)                                                       \
	_Static_assert(offsetof(struct layout, header_bytes) ==                                 \
				offsetof(struct header, header_bytes) &&                        \
			offsetof(struct layout, item) == offsetof(struct header, item_bytes) && \
			offsetof(struct layout, count) == offsetof(struct header, item_count),  \
		"the headers begin alike")

BEGINS_ALIKE(ww_layout_pool_table, slot_bytes, slot_count);
BEGINS_ALIKE(ww_layout_pool_marks, mark_bytes, slot_count);
BEGINS_ALIKE(ww_layout_delivery_counts, item_bytes, item_count);
BEGINS_ALIKE(ww_layout_channel_ring, slot_bytes, slot_count);
BEGINS_ALIKE(ww_layout_channel_marks, mark_bytes, mark_count);
BEGINS_ALIKE(ww_layout_work_queue_roster, entry_bytes, entry_count);
BEGINS_ALIKE(ww_layout_work_queue_bell, entry_bytes, entry_count);
BEGINS_ALIKE(ww_layout_work_queue_claims, claim_bytes, slot_count);
BEGINS_ALIKE(ww_layout_service_page, function_bytes, function_max);
BEGINS_ALIKE(ww_layout_service_bell, word_bytes, word_count);
BEGINS_ALIKE(ww_layout_service_key, item_bytes, item_count);
BEGINS_ALIKE(ww_layout_service_requests, slot_bytes, slot_count);
BEGINS_ALIKE(ww_layout_service_replies, slot_bytes, slot_count);
_Static_assert(offsetof(struct ww_layout_pool_table, pool_id) == offsetof(struct header, id) &&
		offsetof(struct ww_layout_channel_ring, channel_id) == offsetof(struct header, id),
	"the headers begin alike");

static ww_status check_header(const struct header *theirs, const struct ww_shared_file *file)
{
	struct header header;

	memcpy(&header, theirs, sizeof(header));
	if (memcmp(header.magic, file->magic, MAGIC_BYTES) != 0)
		return ww_fail(WW_ERR_PROTOCOL, "the descriptor of the %s of a %s is not one",
			file->what, file->owner);
	if (header.version != file->version)
		return ww_fail(WW_ERR_VERSION,
			"the %s of a %s have layout version %" PRIu32
			", this library reads version %" PRIu32
			"; use one version of Warpway in both processes",
			file->what, file->owner, header.version, file->version);
	if (header.header_bytes != file->header_bytes || header.item_bytes != file->item_bytes ||
		header.item_count != file->item_count || header.bytes != file->bytes ||
		memcmp(header.id, file->id, sizeof(header.id)) != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the %s of a %s say what cannot be, or are another's", file->what,
			file->owner);
	return WW_OK;
}

ww_status ww_shared_file_create(const struct ww_shared_file *file, struct ww_mapping **out_mapping)
{
	struct header *header;

	ww_try(ww_shared_page_create(file->bytes, out_mapping));
	header = (*out_mapping)->host_pointer;
	header->version = file->version;
	header->header_bytes = file->header_bytes;
	header->item_bytes = file->item_bytes;
	header->item_count = file->item_count;
	header->bytes = file->bytes;
	memcpy(header->id, file->id, sizeof(header->id));
	memcpy(header->magic, file->magic, MAGIC_BYTES);
	return WW_OK;
}

ww_status ww_shared_file_import(const struct ww_shared_file *file, int fd, uint64_t bytes,
	struct ww_mapping **out_mapping)
{
	WW_AUTO_MAPPING struct ww_mapping *mapping = NULL;

	if (bytes != file->bytes)
		return ww_fail(WW_ERR_PROTOCOL,
			"a %s of %" PRIu32 " slots has no %s of %" PRIu64 " bytes", file->owner,
			file->item_count, file->what, bytes);
	ww_try(ww_memfd_check(fd, bytes));
	ww_try(ww_shared_page_import(fd, bytes, file->access ? file->access : WW_ACCESS_READ,
		&mapping));
	if (!file->is_open)
		ww_try(check_header(mapping->host_pointer, file));
	*out_mapping = ww_steal(mapping);
	return WW_OK;
}
