/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.h - a memory as the library sees it
 *
 * A memory is a mapping with a name that is the same in every process: its object id. Everything in it is
 * constant from the moment it can be found by others, so reading needs no lock. What layers above hang on
 * it (attachments) has a lock of its own.
 *
 * A VIEW is a memory that is a part of another one, its whole: a slice of a pool, a span of memory that was wrapped. It has
 * a count of its own and holds one reference of its whole; what it is made in, and what else ends with it, is its class's
 * business. Wholes alone are cached, described, put into brokers and hold attachments: whoever needs these asks for the
 * whole first.
 */
#ifndef WW_MEMORY_OBJECT_H
#define WW_MEMORY_OBJECT_H

#include "base/attachment.h"
#include "base/map.h"
#include "device/mapping.h"
#include "memory/description.h"

struct ww_memory;

/* A kind of view. */
struct ww_view_class {
	uint64_t flags; /* WW_MEMORY_IS_... */
	/* The last reference is gone: gives back the reference of the whole, and the view itself. */
	void (*release)(struct ww_memory *view);
};

struct ww_memory {
	struct ww_ref ref;
	struct ww_mapping *mapping; /* a reference; a view's is its whole's, and borrowed */
	uint64_t offset;            /* bytes from the start of the mapping; 0 but in a view */
	uint64_t bytes;
	uint32_t access;         /* WW_ACCESS_...: of a view it may be less than its mapping's */
	struct ww_memory *whole; /* of a view: a reference; else NULL */
	const struct ww_view_class *class; /* of a view; else NULL */

	/* Not in a view. */
	struct ww_map_node node;           /* in the cache, under its lock */
	struct ww_description description; /* its access is the most that was granted */
	_Atomic bool is_chunk;             /* of a pool: handed out in slices only */
	struct ww_attachments attachments;
};

/*
 * A view of @bytes bytes from @offset on, with one reference.
 * @whole:  a reference, taken over; not a view
 */
void ww_memory_view_init(struct ww_memory *view, struct ww_memory *whole, uint64_t offset,
	uint64_t bytes, uint32_t access, const struct ww_view_class *class);

/* What is cached, described and put into brokers: the memory itself, or what it is a view of. Borrowed. */
static inline struct ww_memory *ww_memory_whole(struct ww_memory *memory)
{
	return memory->whole ? memory->whole : memory;
}

/* Return: WW_OK; WW_ERR_INVALID (not one of WW_ACCESS_...). */
ww_status ww_memory_check_access(uint32_t access);

/* The same, where WW_STRICT may be or'ed to it. @out_access: without it; may be NULL */
ww_status ww_memory_read_access(uint32_t access, uint32_t *out_access);

/*
 * @access:  with WW_STRICT: whether @mapping is reached by a fast route; else nothing is asked
 * Return: WW_OK; WW_ERR_UNSUPPORTED.
 */
ww_status ww_memory_check_route(const struct ww_mapping *mapping, uint32_t access);

/*
 * Gives a new mapping its name, and enters it. Takes over @mapping on success.
 * Return: WW_OK; WW_ERR_NO_MEMORY; WW_ERR_SYSTEM.
 */
ww_status ww_memory_name(struct ww_mapping *mapping, struct ww_memory **out_memory);

/*
 * The whole that a description and its descriptors name, mapped here or mapped already.
 * @fds:     borrowed; the memory's first, then those that its backing has besides
 * @access:  checked; with WW_STRICT perhaps
 * Return: as ww_memory_import_fd().
 */
ww_status ww_memory_import_whole(struct ww_device *device, const int *fds, size_t fd_count,
	const struct ww_description *description, uint32_t access, struct ww_memory **out_memory);

/*
 * Whether what is mapped already serves an import: what is foreign is mapped with one access, and may be gone though it is
 * mapped.
 * @access:  with WW_STRICT perhaps
 * Return: WW_OK; WW_ERR_STATE; WW_ERR_NOT_FOUND, WW_ERR_PEER_LOST; WW_ERR_UNSUPPORTED.
 */
ww_status ww_memory_check_found(struct ww_memory *memory, uint32_t access);

/*
 * What describes a memory, or the part of its whole that a view is.
 * Return: WW_OK; WW_ERR_UNSUPPORTED (a slice of a pool).
 */
ww_status ww_memory_describe(const struct ww_memory *memory, struct ww_description *out);

/*
 * A view of a part of a memory.
 * @whole:   a reference, taken over on success
 * @access:  without WW_STRICT; not more than that of @whole
 * Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status ww_memory_span(struct ww_memory *whole, uint64_t offset, uint64_t bytes, uint32_t access,
	struct ww_memory **out_memory);

/*
 * What was imported for reading and is mapped for writing becomes a view of all of it that is for reading.
 * @memory:  a reference to a whole, replaced; on failure it is given back, and NULL
 * @access:  as asked for, with WW_STRICT perhaps
 * Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status ww_memory_narrow(struct ww_memory **memory, uint32_t access);

#endif
