/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_table.h - what the processes of a pool share: the owner's table of slices, and the marks of
 * each process
 *
 * Both are memory files with one writer each, mapped read-only by all others. One slot of the table
 * is one slice; one mark of a process is what that process uses of the slot. This is the protocol
 * (protocol/pool_marks.pml models it):
 *
 *   to take a slice:         store its number in my mark; look whether the slot has that number; if
 *                            not, clear the mark
 *   to hand a slot out anew: clear the slot's number; check whether processes have joined, and note
 *                            them; look at all marks; when none of a living process has the number,
 *                            store another one; else the same
 *
 * The first two steps of each are in one order with the other's (seq_cst), so that at least one
 * side sees the other. The number of a slice is never used again, so a process that comes late
 * finds that it is not there.
 *
 * A slice has one slot, or two: when deliveries of it and other tokens are made, these have numbers
 * of their own, because a process counts its imports for each number. The owner hands the bytes out
 * anew when it has closed both slots and then found that no process has any of the two numbers.
 *
 * To revoke tokens, the owner gives the slice another slot and closes the old ones. A process that
 * marks the old number uses the same bytes, so these are free when no process marks any of the
 * slice's numbers. An old slot is handed out anew by the same steps.
 *
 * What these pages say comes from untrusted processes: each field is loaded once, and checked
 * before it is used.
 */
#ifndef WW_POOL_SLICE_TABLE_H
#define WW_POOL_SLICE_TABLE_H

#include <warpway/pool.h>

#include "device/shared_page.h"
#include "wire/protocol.h"

#define WW_SLOT_BITS 20 /* of a slice's number: the index of its slot; above it the generation */

static inline uint32_t ww_slice_slot(uint64_t number)
{
	return (uint32_t)number & (WW_POOL_SLICES_MAX - 1);
}

static inline uint64_t ww_slice_generation(uint64_t number)
{
	return number >> WW_SLOT_BITS;
}

struct ww_slice_table {
	struct ww_mapping *mapping; /* a reference */
	struct ww_layout_pool_table *header;
	struct ww_layout_pool_slot *slots;
	uint32_t slot_count;
};

uint64_t ww_slice_table_bytes(uint32_t slot_count);
uint64_t ww_marks_bytes(uint32_t slot_count);

/* Return: WW_OK; WW_ERR_NO_MEMORY; WW_ERR_LIMIT; WW_ERR_SYSTEM. */
ww_status ww_slice_table_create(struct ww_slice_table *table,
	const uint8_t pool_id[WW_WIRE_ID_BYTES], uint32_t slot_count);

/*
 * @fd:  borrowed; from an untrusted process, as is all else
 * Return: as create; WW_ERR_DESCRIPTOR, WW_ERR_MISMATCH, WW_ERR_PROTOCOL, WW_ERR_VERSION (it is no
 * such table).
 */
ww_status ww_slice_table_import(struct ww_slice_table *table, int fd, uint64_t bytes,
	const uint8_t pool_id[WW_WIRE_ID_BYTES], uint32_t slot_count);
void ww_slice_table_fini(struct ww_slice_table *table); /* of a zeroed one too */

/* Whether times of the owner's are times here. */
bool ww_slice_table_has_our_clock(const struct ww_slice_table *table);

/* The owner's steps. A slot that is opened has WW_ESCROW_OWNER_HAS. */
void ww_slice_table_open_slot(struct ww_slice_table *table, uint64_t number, uint32_t chunk,
	uint64_t offset, uint64_t bytes);
void ww_slice_table_close_slot(struct ww_slice_table *table, uint32_t slot);
void ww_slice_table_reopen_slot(struct ww_slice_table *table,
	uint64_t number); /* nothing was changed since */

/*
 * What a slot says of the tokens that the owner made: they are good while it has the slice, and
 * then as long as its escrow. A token that a process made which had imported the slice is good as
 * long as the slot has the number.
 */
#define WW_ESCROW_OWNER_HAS UINT64_C(0)
#define WW_ESCROW_OVER      UINT64_C(0x100)
#define WW_ESCROW_UNCOUNTED UINT64_C(0xff)

/*
 * @expected:  imports, by all tokens together; > 0
 * @until_ns:  CLOCK_MONOTONIC; WW_NEVER
 */
uint64_t ww_escrow(uint64_t expected, uint64_t until_ns);

/*
 * Whether a token of the owner opens the slice, as far as the importer can tell.
 * @taken:   how often it was imported there
 * @now_ns:  0: times mean nothing there
 */
bool ww_escrow_is_open(uint64_t escrow, uint64_t taken, uint64_t now_ns);

void ww_slice_table_set_escrow(struct ww_slice_table *table, uint32_t slot, uint64_t escrow);

/* A process's marks; of this one, or of another. */
struct ww_marks {
	struct ww_mapping *cpu; /* a reference, as the following; constant */
	struct ww_layout_pool_marks *header;
	struct ww_layout_pool_mark *at;
	uint32_t slot_count;
	pthread_mutex_t lock; /* of the following; held while they are made known to a GPU */
	struct ww_shared_page_mappings mapped; /* by GPUs */
	uint32_t next_cell;                    /* where to look for a free one */
	uint64_t cells_taken;                  /* ever */
};

/* One of marks that no other process sees, set for a stream to clear. */
struct ww_marks_cell {
	uint32_t index;
	uint64_t value; /* no other one was ever set to it */
};

/* As for the table. */
ww_status ww_marks_create(const uint8_t pool_id[WW_WIRE_ID_BYTES], uint32_t slot_count,
	struct ww_marks **out_marks);
ww_status ww_marks_import(int fd, uint64_t bytes, const uint8_t pool_id[WW_WIRE_ID_BYTES],
	uint32_t slot_count, struct ww_marks **out_marks);

/* Takes NULL. */
void ww_marks_free(struct ww_marks *marks);

WW_DEFINE_CLEANUP(struct ww_marks, ww_marks_free)
#define WW_AUTO_MARKS WW_CLEANUP(ww_marks_free_p)

static inline bool ww_marks_has(const struct ww_marks *marks, uint64_t number)
{
	return __atomic_load_n(&marks->at[ww_slice_slot(number)].slice, __ATOMIC_SEQ_CST) == number;
}

/* How often the slice was imported there. */
static inline uint64_t ww_marks_taken(const struct ww_marks *marks, uint64_t number)
{
	uint64_t taken = __atomic_load_n(&marks->at[ww_slice_slot(number)].taken, __ATOMIC_ACQUIRE);

	return ww_slice_generation(taken) == ww_slice_generation(number) ? ww_slice_slot(taken) : 0;
}

/* The steps of the side that writes them. */
void ww_marks_set(struct ww_marks *marks, uint64_t number);
void ww_marks_clear(struct ww_marks *marks, uint32_t slot);
void ww_marks_count(struct ww_marks *marks, uint64_t number); /* one import more */

/*
 * Has a stream clear a mark that is set, after the work before it.
 * Return: WW_OK; WW_ERR_UNSUPPORTED (a device without WW_CAP_STREAM_VALUE); WW_ERR_LIMIT;
 *         WW_ERR_NO_MEMORY; WW_ERR_DEVICE.
 */
ww_status ww_marks_stream_clear(struct ww_marks *marks, struct ww_stream *stream, uint32_t slot);

/*
 * Sets a cell, and has a stream clear it after the work before it. The marks serve nothing else.
 * Under a lock of the caller's.
 * Return: WW_OK; WW_ERR_LIMIT (all cells are set); as ww_marks_stream_clear().
 */
ww_status ww_marks_fence(struct ww_marks *marks, struct ww_stream *stream,
	struct ww_marks_cell *out_cell);

/* Whether the stream has come so far. */
static inline bool ww_marks_is_passed(const struct ww_marks *marks,
	const struct ww_marks_cell *cell)
{
	return __atomic_load_n(&marks->at[cell->index].slice, __ATOMIC_ACQUIRE) != cell->value;
}

#endif
