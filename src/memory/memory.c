/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - memory: make it, take it in, hand it out
 *
 * A ww_memory is found through the cache from the moment it is whole, so that importing what this
 * process has mapped already, or has made, gives the same object.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/params.h"
#include "base/process.h"
#include "base/random.h"
#include "memory/import_cache.h"
#include "memory/view.h"

#define PARAMS_V1_BYTES sizeof(struct ww_memory_params)
#define INFO_V1_BYTES   offsetof(struct ww_memory_info, offset)

static void memory_delete(struct ww_memory *memory)
{
	pthread_mutex_destroy(&memory->views_lock);
	free(memory);
}

/* Takes over @mapping on success. */
static struct ww_memory *memory_new(struct ww_mapping *mapping)
{
	struct ww_memory *memory = calloc(1, sizeof(*memory));

	if (!memory) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot keep a memory: out of memory");
		return NULL;
	}
	ww_ref_init(&memory->ref);
	pthread_mutex_init(&memory->views_lock, NULL);
	ww_list_init(&memory->views);
	memory->mapping = mapping;
	memory->bytes = mapping->bytes;
	memory->access = mapping->access;
	return memory;
}

/*
 * No other code has the memory any more, so no lock is needed. The mapping ends first: when an
 * attachment tells that the memory has ended, no process can import it any more.
 */
static void memory_free(struct ww_memory *memory)
{
	memory->mapping = ww_mapping_unref(memory->mapping);
	ww_attachments_fini(&memory->attachments);
	memory_delete(memory);
}

static ww_status check_params(const struct ww_device *device, const struct ww_memory_params *params,
	uint64_t *out_bytes)
{
	uint64_t unit = params->kind == WW_MEMORY_HOST ? (uint64_t)sysconf(_SC_PAGESIZE)
						       : device->granularity;
	uint64_t bytes;

	if (params->kind != WW_MEMORY_VMM && params->kind != WW_MEMORY_HOST)
		return ww_fail(WW_ERR_INVALID,
			"there is no kind of memory %" PRIu32
			"; use WW_MEMORY_VMM or WW_MEMORY_HOST",
			params->kind);
	if (params->flags)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a new memory",
			params->flags);
	if (params->bytes == 0)
		return ww_fail(WW_ERR_INVALID, "cannot make a memory of 0 bytes");
	if (__builtin_add_overflow(params->bytes, unit - 1, &bytes))
		return ww_fail(WW_ERR_OVERFLOW,
			"cannot make a memory of %" PRIu64
			" bytes: rounded up to a multiple of %" PRIu64
			" it is more than 64 bits hold",
			params->bytes, unit);
	*out_bytes = bytes / unit * unit;
	return WW_OK;
}

ww_status ww_memory_name(struct ww_mapping *mapping, struct ww_memory **out_memory)
{
	struct ww_memory *memory = memory_new(mapping);
	struct ww_description *description;
	ww_status status;

	if (!memory)
		return WW_ERR_NO_MEMORY;
	description = &memory->description;
	description->backing = mapping->backing;
	description->kind = mapping->kind;
	description->access = mapping->access;
	description->bytes = mapping->bytes;
	description->generation = 1;
	memcpy(description->home_uuid, mapping->home_uuid, sizeof(description->home_uuid));
	status = ww_random_bytes(description->object_id, sizeof(description->object_id));
	if (status == WW_OK)
		status = ww_cache_insert(memory, -1, out_memory);
	if (status < 0) {
		*out_memory = NULL;
		memory_delete(memory);
	}
	return status;
}

ww_status ww_memory_make(ww_device *device, const struct ww_memory_params *params,
	ww_memory **out_memory)
{
	WW_AUTO_MAPPING struct ww_mapping *mapping = NULL;
	struct ww_memory_params ours;
	uint64_t bytes = 0;

	ww_clear(out_memory, NULL);
	ww_require(device && params && out_memory,
		"ww_memory_create: device, params or out_memory is NULL");
	ww_try(ww_params_read(&ours, sizeof(ours), params, PARAMS_V1_BYTES, "ww_memory_params"));
	if (ours.kind == 0)
		ours.kind = WW_MEMORY_VMM;
	ww_try(check_params(device, &ours, &bytes));
	ww_try(ww_mapping_create(device, ours.kind, bytes, &mapping));
	ww_try(ww_memory_name(mapping, out_memory));
	(void)ww_steal(mapping);
	return WW_OK;
}

ww_status ww_memory_create(ww_device *device, const struct ww_memory_params *params,
	ww_memory **out_memory)
{
	ww_clear(out_memory, NULL);
	ww_try(ww_process_enter());
	ww_memory_reclaim();
	return ww_memory_make(device, params, out_memory);
}

ww_memory *ww_memory_ref(ww_memory *memory)
{
	if (memory)
		ww_ref_get(&memory->ref);
	return memory;
}

/* Return: whether what is retired is to be reclaimed. */
static bool memory_drop(struct ww_memory *memory)
{
	const struct ww_view_class *class;
	bool does_reclaim;

	if (!memory)
		return false;
	class = memory->class; /* before: a slice may be used anew as soon as its count is 0 */
	if (!ww_ref_put(&memory->ref))
		return false;
	if (class) {
		class->release(memory);
		return false;
	}
	does_reclaim = memory->mapping->end_waits && !memory->is_chunk;
	ww_cache_remove(memory);
	memory_free(memory);
	return does_reclaim;
}

ww_memory *ww_memory_drop(ww_memory *memory)
{
	(void)memory_drop(memory);
	return NULL;
}

ww_memory *ww_memory_unref(ww_memory *memory)
{
	if (memory_drop(memory))
		ww_deferred_reclaim();
	return NULL;
}

bool ww_memory_is_usable(const struct ww_memory *memory)
{
	if (!ww_ref_is_inherited(&memory->ref))
		return true;
	if (memory->mapping->device->backend->id != WW_BACKEND_HOST)
		return false;
	return !memory->is_chunk && !(memory->class && memory->class->flags & WW_MEMORY_IS_SLICE);
}

ww_status ww_memory_check(const struct ww_memory *memory)
{
	if (ww_memory_is_usable(memory))
		return WW_OK;
	return ww_fail(WW_ERR_FORKED,
		"a child made by fork() cannot use its parent's slice of a pool, which the parent may free at "
		"any time: have its token passed to this process (in Python, by a Queue or as array.token())");
}

void *ww_memory_pointer(ww_memory *memory)
{
	if (!memory || !ww_memory_is_usable(memory))
		return NULL;
	return (char *)memory->mapping->pointer + memory->offset;
}

void *ww_memory_host_pointer(ww_memory *memory)
{
	if (!memory || !ww_memory_is_usable(memory) || !memory->mapping->host_pointer)
		return NULL;
	return (char *)memory->mapping->host_pointer + memory->offset;
}

ww_status ww_memory_info_get(ww_memory *memory, struct ww_memory_info *info)
{
	struct ww_memory_info ours = {0};
	const struct ww_mapping *mapping;
	const struct ww_memory *whole;

	ww_try(ww_process_enter());
	ww_require(memory && info, "ww_memory_info_get: memory or info is NULL");
	ww_try(ww_memory_check(memory));
	whole = ww_memory_whole(memory);
	mapping = memory->mapping;
	ours.kind = mapping->kind;
	ours.access = memory->access;
	ours.route = mapping->route;
	ours.bytes = memory->bytes;
	ours.pointer = ww_memory_pointer(memory);
	ours.host_pointer = ww_memory_host_pointer(memory);
	ours.device = mapping->device;
	memcpy(ours.home_uuid, whole->description.home_uuid, sizeof(ours.home_uuid));
	memcpy(ours.object_id, whole->description.object_id, sizeof(ours.object_id));
	ours.offset = memory->offset;
	ours.total_bytes = mapping->bytes;
	ours.flags = memory->class ? memory->class->flags : 0;
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_memory_info");
}

ww_status ww_memory_check_access(uint32_t access)
{
	if (access != WW_ACCESS_READ && access != WW_ACCESS_WRITE)
		return ww_fail(WW_ERR_INVALID,
			"there is no access %" PRIu32 "; use WW_ACCESS_READ or WW_ACCESS_WRITE",
			access);
	return WW_OK;
}

ww_status ww_import_options_init(struct ww_import_options *options, uint32_t access, uint64_t flags)
{
	options->access = access ? access : WW_ACCESS_READ;
	options->flags = flags & WW_IMPORT_FLAGS;
	return ww_memory_check_access(options->access);
}

ww_status ww_import_options_read(const struct ww_import_params *params,
	struct ww_import_options *out_options)
{
	struct ww_import_params ours = {.access = 0};

	if (params)
		ww_try(ww_params_read(&ours, sizeof(ours), params, sizeof(ours),
			"ww_import_params"));
	if (ours.flags & ~WW_IMPORT_FLAGS)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for an import",
			ours.flags);
	return ww_import_options_init(out_options, ours.access, ours.flags);
}

ww_status ww_import_options_refuse_own_mapping(const struct ww_import_options *options,
	const char *what)
{
	if (!(options->flags & WW_IMPORT_OWN_MAPPING))
		return WW_OK;
	return ww_fail(WW_ERR_UNSUPPORTED,
		"%s is mapped once for each process and device; import it without WW_IMPORT_OWN_MAPPING",
		what);
}

ww_status ww_memory_check_route(const struct ww_mapping *mapping,
	const struct ww_import_options *options)
{
	if (!(options->flags & WW_IMPORT_NO_SLOW_ROUTE) ||
		(mapping->route != WW_ROUTE_HOST_REGISTERED &&
			mapping->route != WW_ROUTE_PEER_HIDDEN))
		return WW_OK;
	return ww_fail(WW_ERR_UNSUPPORTED,
		"%s reaches this memory only by a slow route (%s), which WW_IMPORT_NO_SLOW_ROUTE refuses; "
		"copy it, or ask without",
		mapping->device->selector,
		mapping->route == WW_ROUTE_PEER_HIDDEN ? "of a GPU that CUDA_VISIBLE_DEVICES hides"
						       : "host memory, in place");
}

ww_status ww_memory_describe(const struct ww_memory *memory, struct ww_description *out)
{
	if (memory->class && memory->class->flags & WW_MEMORY_IS_SLICE)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"a slice of a pool is handed over by its token (ww_memory_export()); copy it into a "
			"memory of its own to give it a name or a descriptor");
	*out = memory->whole ? memory->whole->description : memory->description;
	if (memory->bytes < out->bytes) {
		out->span_offset = memory->offset;
		out->span_bytes = memory->bytes;
	}
	return WW_OK;
}

ww_status ww_memory_export_fd(ww_memory *memory, uint32_t access, int *out_fd,
	struct ww_memory_description *out_description)
{
	struct ww_description description;

	ww_clear(out_fd, -1);
	ww_try(ww_process_enter());
	ww_require(memory && out_fd && out_description,
		"ww_memory_export_fd: memory, out_fd or out_description is NULL");
	ww_try(ww_memory_check(memory));
	ww_try(ww_memory_check_access(access));
	ww_try(ww_memory_describe(memory, &description));
	if (access > memory->access)
		return ww_fail(WW_ERR_ACCESS,
			"cannot export for writing what is mapped read-only here; export it for reading");
	if (description.backing == WW_BACKING_CUDA_POOL)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"memory of a CUDA pool needs two descriptors; pass it on by a token "
			"(ww_memory_export()) or a name (ww_memory_put())");
	ww_try(ww_mapping_export(memory->mapping, access, out_fd));
	description.access = access;
	ww_description_encode(&description, out_description);
	return WW_OK;
}

/* Maps what no memory of this process is yet. */
static ww_status import_new(struct ww_device *device, const int *fds, size_t fd_count,
	const struct ww_description *description, const struct ww_import_options *options,
	struct ww_memory **out_memory)
{
	const struct ww_memory_source source = {
		.fd = fds[0],
		.pool_fd = fd_count > 1 ? fds[1] : -1,
		.backing = description->backing,
		.kind = description->kind,
		.bytes = description->bytes,
		.home_uuid = description->home_uuid,
	};
	WW_AUTO_MAPPING struct ww_mapping *mapping = NULL;
	struct ww_memory *memory;
	ww_status status;

	ww_try(ww_mapping_import(device, &source, options->access, &mapping));
	ww_try(ww_memory_check_route(mapping, options));
	memory = memory_new(mapping);
	if (!memory)
		return WW_ERR_NO_MEMORY;
	(void)ww_steal(mapping);
	memory->description = *description;
	memory->description.span_offset = 0;
	memory->description.span_bytes = 0;
	memory->is_own_mapping = options->flags & WW_IMPORT_OWN_MAPPING;
	status = ww_cache_insert(memory, memory->is_own_mapping ? -1 : fds[0], out_memory);
	if (status < 0)
		*out_memory = NULL;
	if (*out_memory != memory)
		memory_free(memory);
	return status;
}

ww_status ww_memory_check_found(struct ww_memory *memory, const struct ww_import_options *options)
{
	if (options->access > memory->mapping->access)
		return ww_fail(WW_ERR_STATE,
			"cannot import for writing what this process has for reading, for CUDA maps such "
			"memory once; release it first, or import it for writing in the first place");
	ww_try(ww_mapping_check(memory->mapping));
	return ww_memory_check_route(memory->mapping, options);
}

ww_status ww_memory_import_whole(struct ww_device *device, const int *fds, size_t fd_count,
	const struct ww_description *description, const struct ww_import_options *options,
	struct ww_memory **out_memory)
{
	struct ww_memory *memory = NULL;
	ww_status status;

	if (options->access > description->access)
		return ww_fail(WW_ERR_ACCESS,
			"cannot import for writing: this memory was exported for reading");
	if (ww_backing_is_foreign(description->backing))
		ww_try(ww_import_options_refuse_own_mapping(options,
			"memory of cuMemAlloc() or of a CUDA pool"));
	if (description->backing == WW_BACKING_CUDA_LEGACY)
		ww_deferred_reclaim();
	if (!(options->flags & WW_IMPORT_OWN_MAPPING))
		ww_try(ww_cache_find(device, description, options->access, fds[0], &memory));
	if (!memory)
		ww_try(import_new(device, fds, fd_count, description, options, &memory));
	status = ww_memory_check_found(memory, options);
	if (status < 0)
		ww_memory_drop(memory);
	else
		*out_memory = memory;
	return status;
}

ww_status ww_memory_import_fd(ww_device *device, int fd, const struct ww_memory_description *bytes,
	const struct ww_import_params *params, ww_memory **out_memory)
{
	struct ww_import_options options;
	struct ww_description description;
	struct ww_memory *memory = NULL;

	ww_clear(out_memory, NULL);
	ww_try(ww_process_enter());
	ww_require(device && bytes && out_memory,
		"ww_memory_import_fd: device, description or out_memory is NULL");
	ww_try(ww_import_options_read(params, &options));
	ww_try(ww_description_decode(bytes, &description));
	ww_try(ww_memory_import_whole(device, &fd, 1, &description, &options, &memory));
	ww_try(ww_memory_span(&memory, description.span_offset, description.span_bytes,
		options.access));
	*out_memory = memory;
	return WW_OK;
}
