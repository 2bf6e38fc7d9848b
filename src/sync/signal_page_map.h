/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_page_map.h - signal pages as this process has them
 *
 * A page is mapped once by the CPU, and once more for each GPU whose streams use it, when they
 * first do. Own pages are handed out cell by cell to new timelines, and no cell twice: a former
 * waiter could take the new timeline for the old one. A page that is imported again, or in its
 * owner's process, is found by its memfd.
 *
 * The driver gives a page back only when no stream of the process waits or has work, and such a
 * wait may be for something that this very thread is about to signal. So the mappings that GPUs
 * have of a page are retired when the page ends (device/mapping.h), and a later call gives them
 * back.
 */
#ifndef WW_SYNC_SIGNAL_PAGE_MAP_H
#define WW_SYNC_SIGNAL_PAGE_MAP_H

#include "base/attachment.h"
#include "device/shared_page.h"
#include "wire/signal_page.h"

/*
 * The process that created a page, as messages and info structs name it. The page itself is written
 * by that process, and so is believed only of a process of the own user.
 */
struct ww_page_creator {
	uint32_t uid;
	uint32_t pid;     /* 0: not known */
	char program[32]; /* fit to be printed; empty: not known */
};

struct ww_signal_map {
	struct ww_ref ref;
	struct ww_list link;    /* in the list of pages, under its lock */
	struct ww_mapping *cpu; /* a reference; the rest up to lock is constant */
	struct ww_layout_signal_page *header;
	uint8_t id[WW_WIRE_ID_BYTES];
	bool is_own;
	bool is_alone; /* for one timeline only */

	pthread_mutex_t lock; /* of the following; held while mapping for a device */
	struct ww_shared_page_mappings mapped; /* by GPUs */
	_Atomic uint32_t cells_used;           /* of an own page; read without the lock, too */
	struct ww_list timelines;              /* the signaller's, which can be found */

	struct ww_attachments attachments; /* its holds in brokers */
	struct ww_page_creator creator;    /* constant */
};

/*
 * A cell that no timeline ever had, in an own page.
 * @out_offset:  of the cell
 * Return: WW_OK; WW_ERR_NO_MEMORY; WW_ERR_LIMIT; WW_ERR_SYSTEM.
 */
ww_status ww_signal_map_take_cell(bool is_alone, struct ww_signal_map **out_page,
	uint64_t *out_offset);

/*
 * The page of a descriptor from an untrusted process.
 * @fd:       borrowed
 * @creator:  that process, as far as the broker says it
 * Return: WW_OK; WW_ERR_PROTOCOL, WW_ERR_VERSION, WW_ERR_MISMATCH (no such page);
 *         WW_ERR_DESCRIPTOR; WW_ERR_NO_MEMORY; WW_ERR_LIMIT; WW_ERR_SYSTEM.
 */
ww_status ww_signal_map_import(int fd, uint64_t bytes, const uint8_t id[WW_WIRE_ID_BYTES],
	const struct ww_page_creator *creator, struct ww_signal_map **out_page);

struct ww_signal_map *ww_signal_map_ref(struct ww_signal_map *page);
struct ww_signal_map *ww_signal_map_unref(
	struct ww_signal_map *page); /* takes NULL, returns NULL */

WW_DEFINE_CLEANUP(struct ww_signal_map, ww_signal_map_unref)
#define WW_AUTO_SIGNAL_MAP WW_CLEANUP(ww_signal_map_unref_p)

/* As the CPU sees it. Return: NULL: there is no cell at that offset. */
struct ww_layout_signal_cell *ww_signal_map_cell(struct ww_signal_map *page, uint64_t offset);

/*
 * As a device sees it; made known to it the first time.
 * @out_mapping:  borrowed from the page
 * Return: WW_OK; as ww_timeline_prepare().
 */
ww_status ww_signal_map_map(struct ww_signal_map *page, struct ww_device *device,
	struct ww_mapping **out_mapping);

/*
 * The same, as the device's streams want it.
 * @offset:  of a cell, which there is
 */
ww_status ww_signal_map_stream_value(struct ww_signal_map *page, struct ww_device *device,
	uint64_t offset, uint64_t value, struct ww_stream_value *out_word);

#endif
