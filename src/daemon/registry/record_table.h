/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_table.h - a table of records of one size in shared memory, which outlives the process that
 * writes it
 *
 * A table is a memfd: a header (struct ww_layout_table_header), then records. It is mapped once,
 * over as much address space as it may ever need, so records do not move. The first word of a
 * record is its state: 0 is free. The state is stored last when a record is filled, and cleared
 * first when it is freed. So whenever the process is killed, every record is whole or free.
 *
 * One process writes. The next process that maps the file finds the records, and checks them, since
 * the former process may have had a fault.
 */
#ifndef WW_DAEMON_REGISTRY_RECORD_TABLE_H
#define WW_DAEMON_REGISTRY_RECORD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warpway/base.h>

struct table {
	int fd;        /* borrowed */
	uint8_t *base; /* the header */
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
ww_status table_create(uint32_t record_bytes, uint32_t version, const char *name, int *out_fd);

/*
 * Maps a table, new or inherited.
 * Return: WW_OK; WW_ERR_VERSION (records of another layout); WW_ERR_PROTOCOL (not a table);
 *         WW_ERR_NO_MEMORY; WW_ERR_LIMIT; WW_ERR_SYSTEM.
 */
ww_status table_open(struct table *table, int fd, uint32_t record_bytes, uint32_t version,
	uint32_t limit);
void table_close(struct table *table);

/* @index < capacity. */
static inline void *table_record(const struct table *table, uint32_t index)
{
	return table->base + 64 + (size_t)index * table->record_bytes;
}

/* One of the five numbers in the header, which the user of the table defines. */
uint64_t *table_value(const struct table *table, uint32_t which);

/*
 * A free record, all zeros; the file grows where there is none, with its pages really allocated.
 * Return: WW_OK; WW_ERR_LIMIT (the table is full); WW_ERR_NO_MEMORY.
 */
ww_status table_take(struct table *table, uint32_t *out_index);

/* Makes a filled record count: stores its state, after everything else. @state: not 0 */
void table_commit(const struct table *table, uint32_t index, uint32_t state);

/*
 * Clears the state, then the rest, and frees the record. An empty table returns its memory to the
 * system_memory.
 */
void table_give(struct table *table, uint32_t index);

#endif
