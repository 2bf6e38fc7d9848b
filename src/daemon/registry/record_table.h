/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_table.h - a table of records of one size in shared memory, which outlives the process that
 * writes it, and the items beside the records
 *
 * A table is a memfd: a header (struct ww_layout_table_header), then records. It is mapped once,
 * over as much address space as it may ever need, so records do not move. The first word of a
 * record is its state: 0 is free. The state is stored last when a record is filled, and cleared
 * first when it is freed. So whenever the process is killed, every record is whole or free.
 *
 * One process writes. The next process that maps the file finds the records, and checks them, since
 * the former process may have had a fault.
 *
 * A record outlives the process and holds no pointers. The pointers are in its item, which has the
 * same index and ends with the process. Items are allocated in chunks, so they do not move.
 */
#ifndef WW_DAEMON_REGISTRY_RECORD_TABLE_H
#define WW_DAEMON_REGISTRY_RECORD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warpway/base.h>

#define TABLE_CHUNK 64 /* items that are allocated together */

/* What the tables of one kind have in common. */
struct table_layout {
	const char *name;
	uint32_t record_bytes;
	uint32_t version; /* of the records */
	uint32_t limit;   /* records there may ever be, for which address space is reserved */
	uint32_t item_bytes;
};

struct table {
	int fd;          /* borrowed */
	uint8_t *base;   /* the header */
	uint8_t **items; /* chunks; behind the last one: NULL */
	uint32_t item_bytes;
	uint32_t record_bytes;
	uint32_t limit;    /* records there may ever be */
	uint32_t capacity; /* records the file has room for now */
	uint32_t used;     /* records whose state is not 0, or that are taken */
	uint32_t
		/* records from here on are free, and were not taken since the table was opened */
		fresh;
	uint32_t
		/* 1 + the index of the record freed last, which names the one before; 0: none */
		free;
};

/*
 * Makes a memfd for a table: empty, sealed against nothing, its header written. Return: as
 * memfd_create(2).
 */
ww_status table_create(const struct table_layout *layout, int *out_fd);

/*
 * Maps a table, new or inherited. The items of inherited records are all zeros.
 * Return: WW_OK; WW_ERR_VERSION (records of another layout); WW_ERR_PROTOCOL (not a table);
 *         WW_ERR_NO_MEMORY; WW_ERR_LIMIT; WW_ERR_SYSTEM.
 */
ww_status table_open(struct table *table, int fd, const struct table_layout *layout);
void table_close(struct table *table);

/* @index < capacity. */
static inline void *table_record(const struct table *table, uint32_t index)
{
	return table->base + 64 + (size_t)index * table->record_bytes;
}

/* @index: of a record that is taken, or was since the items were freed. */
static inline void *table_item(const struct table *table, uint32_t index)
{
	return table->items[index / TABLE_CHUNK] + index % TABLE_CHUNK * (size_t)table->item_bytes;
}

/*
 * The item of the next record whose state is not 0, from *at on; *at becomes the index behind it.
 * The body of a loop over a table may end any record. Return: NULL when there is none before @end.
 */
void *table_next_before(const struct table *table, uint32_t *at, uint32_t end);

static inline void *table_next(const struct table *table, uint32_t *at)
{
	return table_next_before(table, at, UINT32_MAX);
}

/* One of the five numbers in the header, which the user of the table defines. */
uint64_t *table_value(const struct table *table, uint32_t which);

/*
 * A free record, and its item, all zeros. If there is none, the file grows, with its pages really
 * allocated.
 * Return: WW_OK; WW_ERR_LIMIT (the table is full); WW_ERR_NO_MEMORY.
 */
ww_status table_take(struct table *table, uint32_t *out_index);

/* Makes a filled record count: stores its state, after everything else. @state: not 0 */
void table_commit(const struct table *table, uint32_t index, uint32_t state);

/*
 * Clears the state, then the rest, and frees the record. An empty table returns the memory
 * of its records to the system.
 */
void table_give(struct table *table, uint32_t index);

/*
 * Frees the items of an empty table; called when no pointer to an item is in use. Return: whether
 * there were any.
 */
bool table_free_items(struct table *table);

#endif
