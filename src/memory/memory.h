/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - a memory as the library sees it
 *
 * A memory is a mapping with a name that is the same in every process: its object id. Everything in
 * it is constant from the moment it can be found by others, so reading needs no lock. The
 * attachments that higher layers add have a lock of their own.
 *
 * A VIEW (view.h) is a memory that is a part of another one, its whole: a slice of a pool, a span
 * that was imported or wrapped. A view has a count of its own and holds one reference of its whole.
 * Its class says what else it has and what ends with it. Only wholes are cached and described, are
 * put into brokers and have attachments: a function that needs one of these asks for the whole
 * first. The whole of a wrapped allocation is handed to no caller: each caller gets a view, even of
 * all of it.
 */
#ifndef WW_MEMORY_MEMORY_H
#define WW_MEMORY_MEMORY_H

#include <pthread.h>

#include "base/attachment.h"
#include "base/list.h"
#include "base/map.h"
#include "device/mapping.h"
#include "memory/description.h"

struct ww_broker;
struct ww_export_params;
struct ww_put_params;
struct ww_memory;
struct ww_token;

/*
 * A kind of view, and its operations. The layer that makes the views defines the class, so the
 * public calls need not know what kinds there are: each calls the operation of the view's class. If
 * a class lacks an operation below `release`, the call works on the view's whole.
 *
 * In every operation the view is borrowed, and the arguments are checked; @broker is NULL if the
 * caller named none. No lock is held.
 */
struct ww_view_class {
	uint64_t flags;  /* WW_MEMORY_IS_... */
	bool is_private; /* no import gets such a view */

	/* The last reference is gone: frees the view, and gives back its reference of the whole. */
	void (*release)(struct ww_memory *view);

	/* As ww_memory_broker(). */
	struct ww_broker *(*broker)(struct ww_memory *view);

	/* As ww_memory_put(), with params that are filled in and right. NULL: the whole is put */
	ww_status (*put)(struct ww_memory *view, struct ww_broker *broker, const char *name,
		const struct ww_put_params *params, uint64_t timeout_ns);

	/* As ww_memory_export(). @params: its bytes are never 0 */
	ww_status (*export)(struct ww_memory *view, struct ww_broker *broker,
		const struct ww_export_params *params, struct ww_token *out_token);

	/* As ww_memory_revoke(). */
	ww_status (*revoke)(struct ww_memory *view, const struct ww_broker *broker);

	/* As ww_pool_release(): the reference is consumed on success. NULL: it is no slice. */
	ww_status (*stream_release)(struct ww_memory *view, struct ww_stream *stream);
};

struct ww_memory {
	struct ww_ref ref;
	struct ww_mapping *mapping; /* a reference; a view's is its whole's, and borrowed */
	uint64_t offset;            /* bytes from the start of the mapping; 0 but in a view */
	uint64_t bytes;
	uint32_t access;         /* WW_ACCESS_... that it was made with: see ww_memory_access() */
	struct ww_memory *whole; /* of a view: a reference; else NULL */
	const struct ww_view_class *class; /* of a view; else NULL */
	struct ww_list link;               /* of a view: in its whole's views */
	struct ww_attachments attachments; /* of a view: its names, if its whole was wrapped */
	/* Such a part has ended, but a broker may have a name of it; of a whole: of any part. */
	_Atomic(bool) is_lent;

	/* Not in a view. */
	struct ww_map_node node;           /* in the cache, under its lock */
	struct ww_description description; /* its access is the most that was granted */
	_Atomic(bool) is_chunk;            /* of a pool: only slices of it are handed out */
	_Atomic(bool) is_kept;             /* for a moment after its last use (import_cache.h) */
	bool is_own_mapping;               /* by WW_IMPORT_OWN_MAPPING: no import finds it */

	pthread_mutex_t views_lock; /* of the next; the last lock taken, see view.h */
	struct ww_list views;       /* by their links, oldest first, without references */
};

/*
 * What is cached, described and put into brokers: the memory itself, or what it is a view of.
 * Borrowed.
 */
static inline struct ww_memory *ww_memory_whole(struct ww_memory *memory)
{
	return memory->whole ? memory->whole : memory;
}

/*
 * WW_ACCESS_... that it has now: a view may have less than its mapping, and a mapping that was made
 * read-only less than the memory was made with.
 */
static inline uint32_t ww_memory_access(const struct ww_memory *memory)
{
	uint32_t access = memory->mapping->access;

	return memory->access < access ? memory->access : access;
}

/*
 * Whether this process may use the memory. A child made by fork() may use what its parent had,
 * unless it is a slice of a pool, which the parent may free, or memory of a GPU.
 */
bool ww_memory_is_usable(const struct ww_memory *memory);

/* The same, as a status. Return: WW_OK; WW_ERR_FORKED. */
ww_status ww_memory_check(const struct ww_memory *memory);

/* As ww_memory_unref(), but reclaims nothing (device/deferred_release.h): for calls under locks. */
struct ww_memory *ww_memory_drop(struct ww_memory *memory);

/* ww_memory_create() without a reclaim, which needs to be under no lock. */
ww_status ww_memory_make(ww_device *device, const struct ww_memory_params *params,
	ww_memory **out_memory);

/* retire.c: releases what was retired and is over. Under no lock. Leaves the error record alone. */
void ww_memory_reclaim(void);

/* Whether other code owns the memory, since it was wrapped: an object of it ends with its owner. */
static inline bool ww_memory_is_borrowed(const struct ww_memory *whole)
{
	return whole->mapping->is_wrapped || ww_backing_is_foreign(whole->mapping->backing);
}

/* Return: WW_OK; WW_ERR_INVALID (not one of WW_ACCESS_...). */
ww_status ww_memory_check_access(uint32_t access);

/* Every flag of ww_import_params. */
#define WW_IMPORT_FLAGS (WW_IMPORT_NO_SLOW_ROUTE | WW_IMPORT_OWN_MAPPING | WW_IMPORT_KEEP)

/* What an import asks for, checked. */
struct ww_import_options {
	uint32_t access; /* WW_ACCESS_... */
	uint64_t flags;  /* WW_IMPORT_... */
};

/*
 * @access:  0: for reading
 * @flags:   WW_IMPORT_..., others are left out
 * Return: WW_OK; WW_ERR_INVALID.
 */
ww_status ww_import_options_init(struct ww_import_options *options, uint32_t access,
	uint64_t flags);

/* The same, of what the caller gave. @params: may be NULL */
ww_status ww_import_options_read(const struct ww_import_params *params,
	struct ww_import_options *out_options);

/*
 * Return: WW_OK; WW_ERR_UNSUPPORTED (WW_IMPORT_NO_SLOW_ROUTE, and @mapping is reached by a slow
 * one).
 */
ww_status ww_memory_check_route(const struct ww_mapping *mapping,
	const struct ww_import_options *options);

/*
 * Records that memory like @what has no second mapping. Return: WW_OK, without
 * WW_IMPORT_OWN_MAPPING; WW_ERR_UNSUPPORTED.
 */
ww_status ww_import_options_refuse_own_mapping(const struct ww_import_options *options,
	const char *what);

/*
 * Enters a mapping that no memory has, as one; or finds the memory that another thread has entered
 * meanwhile for the same object. Takes over @mapping on success.
 * @description:  of all of it
 * @fd:           of it; -1: no other thread can have entered it
 * Return: WW_OK; WW_ERR_NO_MEMORY; as ww_mapping_compare().
 */
ww_status ww_memory_enter(struct ww_mapping *mapping, const struct ww_description *description,
	int fd, bool is_own_mapping, struct ww_memory **out_memory);

/*
 * Gives a new mapping its name, and enters it. Takes over @mapping on success.
 * Return: WW_OK; WW_ERR_NO_MEMORY; WW_ERR_SYSTEM.
 */
ww_status ww_memory_name(struct ww_mapping *mapping, struct ww_memory **out_memory);

/*
 * The whole that a description and its descriptors name, mapped here or mapped already.
 * @fds:  borrowed; the memory's first, then those that its backing has besides
 * Return: as ww_memory_import_fd().
 */
ww_status ww_memory_import_whole(struct ww_device *device, const int *fds, size_t fd_count,
	const struct ww_description *description, const struct ww_import_options *options,
	struct ww_memory **out_memory);

/*
 * Whether what is mapped already serves an import: what is foreign is mapped with one access, and
 * may be gone though it is mapped.
 * Return: WW_OK; WW_ERR_STATE; WW_ERR_NOT_FOUND, WW_ERR_PEER_LOST; WW_ERR_UNSUPPORTED.
 */
ww_status ww_memory_check_found(struct ww_memory *memory, const struct ww_import_options *options);

/*
 * What describes a memory, or the part of its whole that a view is.
 * Return: WW_OK; WW_ERR_UNSUPPORTED (a slice of a pool).
 */
ww_status ww_memory_describe(const struct ww_memory *memory, struct ww_description *out);

/*
 * The smallest wrapped memory around an address that others allocated, and still have.
 * @out_memory:  a reference; NULL: there is none
 * @out_offset:  of the address in the allocation
 * Return: WW_OK; WW_ERR_DEVICE and others: the driver does not say whether the allocation is there.
 */
ww_status ww_memory_find_wrapped(const void *pointer, struct ww_memory **out_memory,
	uint64_t *out_offset);

#endif
