/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_export.c - a memory goes to another process by a descriptor, and comes from one
 *
 * What this process has mapped already, or has made, is found in the cache: importing it gives the
 * same object.
 */
#include <inttypes.h>

#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "memory/import_cache.h"
#include "memory/view.h"

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
			"a slice of a pool has no descriptor of its own, and is never being written: hand it "
			"over by a token (ww_memory_export()) or a name (ww_memory_put()), or copy it");
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
	if (access > ww_memory_access(memory))
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

/* Not what others may free, nor what may block the thread that ends it. */
static bool can_keep(const struct ww_mapping *mapping)
{
	return !ww_backing_is_foreign(mapping->backing) && !mapping->end_waits;
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
	struct ww_description whole = *description;
	bool is_own = options->flags & WW_IMPORT_OWN_MAPPING;

	whole.span_offset = 0;
	whole.span_bytes = 0;
	ww_try(ww_mapping_import(device, &source, options->access, &mapping));
	ww_try(ww_memory_check_route(mapping, options));
	ww_try(ww_memory_enter(mapping, &whole, is_own ? -1 : fds[0], is_own, out_memory));
	(void)ww_steal(mapping); /* its place may be taken by another thread's, and it freed */
	if (options->flags & WW_IMPORT_KEEP && !is_own && can_keep((*out_memory)->mapping))
		(*out_memory)->is_kept = true;
	return WW_OK;
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
