/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_file.h - files in memory that processes share: what they begin with
 *
 * The table and the marks of a pool, the ring and the marks of a channel, the roster, the bell and
 * the claims of a work queue: each begins with magic, layout version, sizes, and the id of the
 * object that it belongs to, at the same places. Items follow. One process writes a file, others
 * map it for reading; some files of work queues have several writers.
 */
#ifndef WW_SHARE_SHARED_FILE_H
#define WW_SHARE_SHARED_FILE_H

#include <stdbool.h>

#include "device/shared_page.h"
#include "wire/protocol.h"

#define WW_SHARED_FILE_UNIT 4096 /* bytes; the size of each is a multiple of it */

/* What the header of a file says. */
struct ww_shared_file {
	const char *owner; /* "pool", for error messages */
	const char *what;  /* "table" */
	const char *magic; /* 8 characters */
	uint32_t version;
	uint32_t header_bytes;
	uint32_t item_bytes;
	uint32_t item_count;
	uint64_t bytes;    /* of the whole */
	const uint8_t *id; /* WW_WIRE_ID_BYTES, borrowed */
	uint32_t access;   /* WW_ACCESS_...: how it is imported; 0: for reading */
	/* processes that do not trust each other write it: an importer trusts no header */
	bool is_open;
};

static inline uint64_t ww_shared_file_round_up(uint64_t bytes)
{
	return (bytes + WW_SHARED_FILE_UNIT - 1) / WW_SHARED_FILE_UNIT * WW_SHARED_FILE_UNIT;
}

/* A new one, zeroed behind its header. Return: WW_OK; as ww_shared_page_create(). */
ww_status ww_shared_file_create(const struct ww_shared_file *file, struct ww_mapping **out_mapping);

/*
 * The file of another process, which must be like this.
 * @fd:     borrowed; from an untrusted process
 * @bytes:  that it is said to have
 * Return: WW_OK; WW_ERR_PROTOCOL, WW_ERR_VERSION (it is none such); WW_ERR_DESCRIPTOR,
 *         WW_ERR_MISMATCH (no memory of that size); as ww_shared_page_import().
 */
ww_status ww_shared_file_import(const struct ww_shared_file *file, int fd, uint64_t bytes,
	struct ww_mapping **out_mapping);

#endif
