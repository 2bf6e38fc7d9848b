/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_page.c - memory in which processes and their GPUs leave words, see shared_page.h
 */
#include "device/shared_page.h"

#include "base/error.h"

WW_DEFINE_CLEANUP(ww_device, ww_device_unref)
#define WW_AUTO_DEVICE WW_CLEANUP(ww_device_unref_p)

static struct ww_memory_source page_source(int fd, uint64_t bytes)
{
	return (struct ww_memory_source){
		.fd = fd,
		.backing = WW_BACKING_MEMFD,
		.kind = WW_MEMORY_HOST,
		.bytes = bytes,
	};
}

ww_status ww_shared_page_create(uint64_t bytes, struct ww_mapping **out_cpu)
{
	WW_AUTO_DEVICE ww_device *host = NULL;

	ww_try(ww_device_open("host", &host));
	return ww_mapping_create(host, WW_MEMORY_HOST, bytes, out_cpu);
}

ww_status ww_shared_page_import(int fd, uint64_t bytes, uint32_t access,
	struct ww_mapping **out_cpu)
{
	const struct ww_memory_source source = page_source(fd, bytes);
	WW_AUTO_DEVICE ww_device *host = NULL;

	ww_try(ww_device_open("host", &host));
	return ww_mapping_import(host, &source, access, out_cpu);
}

struct ww_mapping *ww_shared_page_find(const struct ww_shared_page_mappings *mappings,
	const struct ww_device *device)
{
	for (size_t i = 0; i < WW_SHARED_PAGE_DEVICES && mappings->of[i]; i++) {
		struct ww_mapping *mapping = mappings->of[i];

		if (mapping->device == device)
			return mapping;
	}
	return NULL;
}

ww_status ww_shared_page_map(struct ww_shared_page_mappings *mappings, const struct ww_mapping *cpu,
	struct ww_device *device, uint32_t access, const char *use, struct ww_mapping **out_mapping)
{
	const struct ww_memory_source source = page_source(cpu->fd, cpu->bytes);
	size_t i = 0;

	*out_mapping = ww_shared_page_find(mappings, device);
	if (*out_mapping)
		return WW_OK;
	while (i < WW_SHARED_PAGE_DEVICES && mappings->of[i])
		i++;
	if (i == WW_SHARED_PAGE_DEVICES)
		return ww_fail(WW_ERR_LIMIT, "%s %d devices already", use, WW_SHARED_PAGE_DEVICES);
	ww_try(ww_mapping_import_page(device, &source, access, out_mapping));
	mappings->of[i] = *out_mapping;
	return WW_OK;
}
