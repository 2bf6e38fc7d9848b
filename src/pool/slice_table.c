/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_table.c - what the processes of a pool share, see slice_table.h
 */
#include "pool/slice_table.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "share/shared_file.h"

_Static_assert(sizeof(struct ww_layout_pool_table) == WW_LAYOUT_POOL_TABLE_BYTES, "no padding");

uint64_t ww_slice_table_bytes(uint32_t slot_count)
{
	return ww_shared_file_round_up(sizeof(struct ww_layout_pool_table) +
		(uint64_t)slot_count * sizeof(struct ww_layout_pool_slot));
}

uint64_t ww_marks_bytes(uint32_t slot_count)
{
	return ww_shared_file_round_up(sizeof(struct ww_layout_pool_marks) +
		(uint64_t)slot_count * sizeof(struct ww_layout_pool_mark));
}

static struct ww_shared_file table_file(uint32_t slot_count, const uint8_t *pool_id)
{
	return (struct ww_shared_file){
		.owner = "pool",
		.what = "table",
		.magic = "WWPOOLTB",
		.version = WW_LAYOUT_POOL_TABLE_VERSION,
		.header_bytes = sizeof(struct ww_layout_pool_table),
		.item_bytes = sizeof(struct ww_layout_pool_slot),
		.item_count = slot_count,
		.bytes = ww_slice_table_bytes(slot_count),
		.id = pool_id,
	};
}

static struct ww_shared_file marks_file(uint32_t slot_count, const uint8_t *pool_id)
{
	return (struct ww_shared_file){
		.owner = "pool",
		.what = "marks",
		.magic = "WWPOOLMK",
		.version = WW_LAYOUT_POOL_MARKS_VERSION,
		.header_bytes = sizeof(struct ww_layout_pool_marks),
		.item_bytes = sizeof(struct ww_layout_pool_mark),
		.item_count = slot_count,
		.bytes = ww_marks_bytes(slot_count),
		.id = pool_id,
	};
}

/* --- the table --- */

static void table_set(struct ww_slice_table *table, struct ww_mapping *mapping, uint32_t slot_count)
{
	table->mapping = mapping;
	table->header = mapping->host_pointer;
	table->slots = (void *)(table->header + 1);
	table->slot_count = slot_count;
}

/* Return: 0: not known. */
static uint64_t find_clock(void)
{
	struct stat space;

	return stat("/proc/self/ns/time", &space) == 0 ? space.st_ino : 0;
}

bool ww_slice_table_has_our_clock(const struct ww_slice_table *table)
{
	uint64_t theirs = __atomic_load_n(&table->header->clock, __ATOMIC_RELAXED);

	return theirs != 0 && theirs == find_clock();
}

ww_status ww_slice_table_create(struct ww_slice_table *table,
	const uint8_t pool_id[WW_WIRE_ID_BYTES], uint32_t slot_count)
{
	const struct ww_shared_file file = table_file(slot_count, pool_id);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_create(&file, &mapping));
	table_set(table, mapping, slot_count);
	table->header->clock = find_clock();
	return WW_OK;
}

ww_status ww_slice_table_import(struct ww_slice_table *table, int fd, uint64_t bytes,
	const uint8_t pool_id[WW_WIRE_ID_BYTES], uint32_t slot_count)
{
	const struct ww_shared_file file = table_file(slot_count, pool_id);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_import(&file, fd, bytes, &mapping));
	table_set(table, mapping, slot_count);
	return WW_OK;
}

void ww_slice_table_fini(struct ww_slice_table *table)
{
	table->mapping = ww_mapping_unref(table->mapping);
}

void ww_slice_table_open_slot(struct ww_slice_table *table, uint64_t number, uint32_t chunk,
	uint64_t offset, uint64_t bytes)
{
	struct ww_layout_pool_slot *slot = &table->slots[ww_slice_slot(number)];

	__atomic_store_n(&slot->chunk, chunk, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->offset, offset, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->bytes, bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->escrow, WW_ESCROW_OWNER_HAS, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->slice, number, __ATOMIC_RELEASE);
}

void ww_slice_table_close_slot(struct ww_slice_table *table, uint32_t slot)
{
	__atomic_store_n(&table->slots[slot].slice, 0, __ATOMIC_SEQ_CST);
}

void ww_slice_table_reopen_slot(struct ww_slice_table *table, uint64_t number)
{
	__atomic_store_n(&table->slots[ww_slice_slot(number)].slice, number, __ATOMIC_RELEASE);
}

/* --- escrows --- */

/*
 * The end takes all bits but those of the count: rounded up, by so much later may an escrow end for
 * others.
 */
#define TICK_NS (WW_ESCROW_UNCOUNTED + 1)

uint64_t ww_escrow(uint64_t expected, uint64_t until_ns)
{
	uint64_t end_ns = (until_ns / TICK_NS + 1) * TICK_NS; /* 0: past the clock's end */

	if (end_ns > 0 && ww_clock_now_ns() >= end_ns) /* since the caller looked */
		return WW_ESCROW_OVER;
	if (expected > WW_ESCROW_UNCOUNTED)
		expected = WW_ESCROW_UNCOUNTED;
	return end_ns | expected;
}

bool ww_escrow_is_open(uint64_t escrow, uint64_t taken, uint64_t now_ns)
{
	uint64_t expected = escrow & WW_ESCROW_UNCOUNTED;
	uint64_t end_ns = escrow - expected;

	if (escrow == WW_ESCROW_OWNER_HAS)
		return true;
	if (expected == 0 || (expected < WW_ESCROW_UNCOUNTED && taken >= expected))
		return false;
	return end_ns == 0 || now_ns < end_ns;
}

void ww_slice_table_set_escrow(struct ww_slice_table *table, uint32_t slot, uint64_t escrow)
{
	__atomic_store_n(&table->slots[slot].escrow, escrow, __ATOMIC_RELEASE);
}

/* --- marks --- */

void ww_marks_free(struct ww_marks *marks)
{
	if (!marks)
		return;
	for (size_t i = 0; i < WW_SHARED_PAGE_DEVICES; i++)
		ww_mapping_unref(marks->mapped.of[i]);
	ww_mapping_unref(marks->cpu);
	pthread_mutex_destroy(&marks->lock);
	free(marks);
}

/* Takes over @mapping on success. */
static ww_status marks_new(struct ww_mapping *mapping, uint32_t slot_count,
	struct ww_marks **out_marks)
{
	struct ww_marks *marks = calloc(1, sizeof(*marks));

	if (!marks)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep the marks of a pool: out of memory");
	pthread_mutex_init(&marks->lock, NULL);
	marks->cpu = mapping;
	marks->header = mapping->host_pointer;
	marks->at = (void *)(marks->header + 1);
	marks->slot_count = slot_count;
	*out_marks = marks;
	return WW_OK;
}

ww_status ww_marks_create(const uint8_t pool_id[WW_WIRE_ID_BYTES], uint32_t slot_count,
	struct ww_marks **out_marks)
{
	const struct ww_shared_file file = marks_file(slot_count, pool_id);
	WW_AUTO_MAPPING struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_create(&file, &mapping));
	ww_try(marks_new(mapping, slot_count, out_marks));
	(void)ww_steal(mapping);
	return WW_OK;
}

ww_status ww_marks_import(int fd, uint64_t bytes, const uint8_t pool_id[WW_WIRE_ID_BYTES],
	uint32_t slot_count, struct ww_marks **out_marks)
{
	const struct ww_shared_file file = marks_file(slot_count, pool_id);
	WW_AUTO_MAPPING struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_import(&file, fd, bytes, &mapping));
	ww_try(marks_new(mapping, slot_count, out_marks));
	(void)ww_steal(mapping);
	return WW_OK;
}

void ww_marks_set(struct ww_marks *marks, uint64_t number)
{
	__atomic_store_n(&marks->at[ww_slice_slot(number)].slice, number, __ATOMIC_SEQ_CST);
}

void ww_marks_clear(struct ww_marks *marks, uint32_t slot)
{
	__atomic_store_n(&marks->at[slot].slice, 0, __ATOMIC_RELEASE);
}

void ww_marks_count(struct ww_marks *marks, uint64_t number)
{
	uint64_t count = ww_marks_taken(marks, number);

	if (count < WW_POOL_SLICES_MAX - 1)
		count++;
	__atomic_store_n(&marks->at[ww_slice_slot(number)].taken,
		ww_slice_generation(number) << WW_SLOT_BITS | count, __ATOMIC_RELEASE);
}

/* --- by streams --- */

ww_status ww_marks_stream_clear(struct ww_marks *marks, struct ww_stream *stream, uint32_t slot)
{
	struct ww_device *device = stream->device;
	struct ww_stream_value word = {
		.offset = (uint64_t)((const char *)&marks->at[slot].slice -
			(const char *)marks->header),
		.wakes_offset = offsetof(struct ww_layout_pool_marks, wakes),
		.by_gpu_offset = offsetof(struct ww_layout_pool_marks, by_gpu),
	};
	ww_status status = WW_OK;

	if (!(device->capabilities & WW_CAP_STREAM_VALUE))
		return ww_fail(WW_ERR_UNSUPPORTED,
			"the streams of %s cannot release slices: its driver has no 64-bit stream memory "
			"operations; synchronize, then ww_memory_unref()",
			device->selector);
	word.mapping = marks->cpu;
	if (device != marks->cpu->device) {
		pthread_mutex_lock(&marks->lock);
		status = ww_shared_page_map(&marks->mapped, marks->cpu, device, WW_ACCESS_WRITE,
			"the slices of a pool are released on", &word.mapping);
		pthread_mutex_unlock(&marks->lock);
	}
	ww_try(status);
	return device->backend->stream_write_value(stream, &word);
}

/* Return: false: all cells are set. */
static bool take_cell(struct ww_marks *marks, struct ww_marks_cell *out_cell)
{
	for (uint32_t i = 0; i < marks->slot_count; i++) {
		uint32_t index = (marks->next_cell + i) % marks->slot_count;

		if (__atomic_load_n(&marks->at[index].slice, __ATOMIC_ACQUIRE) != 0)
			continue;
		marks->next_cell = index + 1;
		*out_cell = (struct ww_marks_cell){index, ++marks->cells_taken};
		__atomic_store_n(&marks->at[index].slice, out_cell->value, __ATOMIC_RELAXED);
		return true;
	}
	return false;
}

ww_status ww_marks_fence(struct ww_marks *marks, struct ww_stream *stream,
	struct ww_marks_cell *out_cell)
{
	ww_status status;

	if (!take_cell(marks, out_cell))
		return ww_fail(WW_ERR_LIMIT,
			"streams have yet to release %" PRIu32
			" slices, the most in a pool; synchronize them",
			marks->slot_count);
	status = ww_marks_stream_clear(marks, stream, out_cell->index);
	if (status < 0)
		ww_marks_clear(marks, out_cell->index);
	return status;
}
