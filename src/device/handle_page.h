/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle_page.h - the page that stands for memory without a descriptor of its own
 *
 * Memory of cuMemAlloc() and of stream-ordered pools is named by 64 bytes, which carry no lifetime
 * and no right. So they travel in a page, a small sealed memfd, whose descriptor goes wherever a
 * memory's would: its inode is the identity of the memory, and who holds it may open it. The owner
 * alone can write: it says there that the memory is withdrawn, and holds a lock on it that the
 * kernel takes away when it dies, in whatever container it is.
 *
 *   owner:     create ──> (descriptor for reading, to others) ──> close: withdrawn
 *   importer:  open ──> check, check, ... ──> close
 */
#ifndef WW_DEVICE_HANDLE_PAGE_H
#define WW_DEVICE_HANDLE_PAGE_H

#include <stdbool.h>
#include <sys/types.h>

#include "device/backend.h"

#define WW_HANDLE_PAGE_BYTES 4096
#define WW_FOREIGN_ID_BYTES  16

/* The layout foreign_memory of protocol/broker.xml, which says what is in it. */
struct ww_foreign_record {
	uint8_t magic[8];
	uint32_t version;
	uint32_t backing;
	uint32_t pid;
	uint32_t withdrawn;
	uint32_t is_locked;
	uint32_t reserved;
	uint64_t bytes;
	uint64_t base;
	uint8_t process_id[WW_FOREIGN_ID_BYTES];
	uint8_t pool_id[WW_FOREIGN_ID_BYTES];
	uint64_t buffer_id;
	uint8_t reserved_1[40];
	uint8_t handle[WW_FOREIGN_HANDLE_BYTES];
};

/* What an owner says of its memory, or an importer has read and checked: a copy. */
struct ww_foreign_fields {
	enum ww_backing backing;
	uint32_t pid;
	uint64_t bytes; /* of the allocation, > 0 */
	uint64_t base;
	uint64_t buffer_id; /* 0: not known */
	uint8_t process_id[WW_FOREIGN_ID_BYTES];
	uint8_t pool_id[WW_FOREIGN_ID_BYTES];
	uint8_t handle[WW_FOREIGN_HANDLE_BYTES];
};

/* What tells one allocation from another that has the same handle. */
struct ww_foreign_identity {
	dev_t device; /* of the page's file, as is the next */
	ino_t inode;
	uint64_t buffer_id;
	uint64_t bytes;
	uint8_t process_id[WW_FOREIGN_ID_BYTES];
	uint8_t handle[WW_FOREIGN_HANDLE_BYTES];
};

/* All zero: none. */
struct ww_handle_page {
	struct ww_foreign_record *record; /* mapped: by the owner for writing, else for reading */
	int fd;                           /* of the page; its owner's keeps the lock */
	bool is_own;
	bool is_locked; /* as the owner said */
};

/*
 * Makes a page, the owner's.
 * @fields:  pid and process_id are filled in
 * Return: WW_OK; as ww_memfd_create().
 */
ww_status ww_handle_page_create(struct ww_handle_page *page, struct ww_foreign_fields *fields);

/*
 * Opens a page that came from an untrusted process.
 * @fd:          borrowed
 * @out_fields:  checked as far as they can be without the driver
 * Return: WW_OK; WW_ERR_PROTOCOL (it holds something else); WW_ERR_VERSION; as ww_memfd_check(),
 * ww_memfd_map().
 */
ww_status ww_handle_page_open(struct ww_handle_page *page, int fd,
	struct ww_foreign_fields *out_fields);

/*
 * Whether the memory can still be imported. Return: WW_OK; WW_ERR_NOT_FOUND (withdrawn);
 * WW_ERR_PEER_LOST.
 */
ww_status ww_handle_page_check(const struct ww_handle_page *page);

/* @fd: of the page, which @fields are of. Return: WW_OK; WW_ERR_SYSTEM. */
ww_status ww_foreign_identify(int fd, const struct ww_foreign_fields *fields,
	struct ww_foreign_identity *out_identity);

/*
 * Whether two pages stand for one allocation: they are one page, or the allocation was wrapped
 * again. A page that lies about that gets its importer what the handle in it opens, as any page
 * does.
 */
bool ww_foreign_is_same(const struct ww_foreign_identity *a, const struct ww_foreign_identity *b);

/* Whether the driver cannot tell them apart. */
bool ww_foreign_has_same_handle(const struct ww_foreign_identity *a,
	const struct ww_foreign_identity *b);

/* Notes in the owner's page that no process can import the memory any more. Takes one that is all
 * zero. */
void ww_handle_page_withdraw(struct ww_handle_page *page);

/* The owner's is withdrawn. Takes one that is all zero. */
void ww_handle_page_close(struct ww_handle_page *page);

/* Whether a page's process_id is that of this process. */
bool ww_foreign_is_this_process(const uint8_t process_id[WW_FOREIGN_ID_BYTES]);

#endif
