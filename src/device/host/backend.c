/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.c - the machine's CPU as a device
 *
 * Its memory is a sealed memfd (memfd.h), its streams are threads (stream.c), its modules are
 * shared objects (module.c). There is one such
 * device; its UUID is the kernel's boot id, the same for every process until the machine starts
 * anew.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/proc_file.h"
#include "base/system_memory.h"
#include "device/host/host.h"
#include "device/mapping.h"
#include "device/memfd.h"
#include "device/uuid.h"

/* That of today's GPUs, so that a program which forgets to round learns it here. */
#define GRANULARITY (UINT64_C(2) << 20)

#define SECOND_NS UINT64_C(1000000000)

static ww_status host_count(uint32_t *out_count)
{
	*out_count = 1;
	return WW_OK;
}

/*
 * What the kernel says of the machine: read once, since that takes 0.1 ms, and programs ask for it
 * with each array that they hand over.
 */
static struct {
	uint8_t uuid[WW_DEVICE_UUID_BYTES];
	char name[WW_DEVICE_NAME_BYTES];
	char driver[WW_DEVICE_DRIVER_BYTES];
	uint64_t bytes_total; /* atomic; 0: could not be read. A cgroup's limit may change */
	uint64_t read_ns;     /* atomic; when that was read */
} machine;

static pthread_once_t machine_read = PTHREAD_ONCE_INIT;

static void machine_read_once(void)
{
	struct utsname system;
	struct ww_error record;
	char boot_id[64];
	FILE *file;
	char line[256];

	ww_error_save(&record);
	/* Without /proc the UUID stays zero: still the same in every process. */
	if (ww_proc_file_read_line("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id)))
		ww_uuid_parse(boot_id, machine.uuid);
	/* "model name	: AMD EPYC ...": what stands behind the colon. */
	file = fopen("/proc/cpuinfo", "re");
	snprintf(machine.name, sizeof(machine.name), "CPU");
	while (file && fgets(line, sizeof(line), file)) {
		const char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) == 0 && colon) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(machine.name, sizeof(machine.name), "%s",
				colon + 1 + strspn(colon + 1, " \t"));
			break;
		}
	}
	if (file)
		fclose(file);
	if (uname(&system) == 0)
		snprintf(machine.driver, sizeof(machine.driver), "%.15s %.47s", system.sysname,
			system.release);
	ww_error_restore(&record);
}

static ww_status host_open(const char *selector, struct ww_device **out_device)
{
	struct ww_device *device = calloc(1, sizeof(*device));

	(void)selector;
	*out_device = NULL;
	if (!device)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot open host: out of memory");
	ww_ref_init(&device->ref);
	ww_list_init(&device->link);
	device->backend = &ww_host_backend;
	device->granularity = GRANULARITY;
	device->capabilities = WW_CAP_EXPORT | WW_CAP_HOST_MEMORY | WW_CAP_HOST_READ_ONLY |
		WW_CAP_CPU_ACCESS | WW_CAP_MANY_PROCESSES | WW_CAP_STREAM_VALUE | WW_CAP_EVENT |
		WW_CAP_MODULE;
	memcpy(device->selector, "host", sizeof("host"));
	pthread_once(&machine_read, machine_read_once);
	memcpy(device->uuid, machine.uuid, sizeof(device->uuid));
	*out_device = device;
	return WW_OK;
}

static void host_close(struct ww_device *device)
{
	free(device);
}

static ww_status host_info(struct ww_device *device, struct ww_device_info *info)
{
	uint64_t *out_bytes;
	uint64_t now_ns;
	uint64_t free_bytes;

	(void)device;
	info->mps = WW_MPS_OFF;
	memcpy(info->name, machine.name, sizeof(info->name));
	memcpy(info->driver, machine.driver, sizeof(info->driver));
	/* It is read again after a second. */
	out_bytes = &info->bytes_total;
	now_ns = ww_clock_now_ns();
	*out_bytes = __atomic_load_n(&machine.bytes_total, __ATOMIC_ACQUIRE);
	if (*out_bytes && now_ns - __atomic_load_n(&machine.read_ns, __ATOMIC_RELAXED) < SECOND_NS)
		return WW_OK;
	ww_try(ww_system_memory(&free_bytes, out_bytes));
	__atomic_store_n(&machine.read_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&machine.bytes_total, *out_bytes, __ATOMIC_RELEASE);
	return WW_OK;
}

static ww_status host_free_bytes(struct ww_device *device, uint64_t *out_bytes)
{
	uint64_t total_bytes;

	(void)device;
	return ww_system_memory(out_bytes, &total_bytes);
}

/* Takes over @fd on success. */
static ww_status map_file(struct ww_mapping *mapping, int fd, uint32_t kind, uint64_t bytes,
	uint32_t access)
{
	ww_try(ww_memfd_map(fd, bytes, access, &mapping->pointer));
	mapping->host_pointer = mapping->pointer;
	mapping->fd = fd;
	mapping->backing = WW_BACKING_MEMFD;
	mapping->kind = kind;
	mapping->bytes = bytes;
	mapping->access = access;
	mapping->route = WW_ROUTE_HOST;
	return WW_OK;
}

static ww_status host_memory_create(struct ww_mapping *mapping, uint32_t kind, uint64_t bytes)
{
	WW_AUTO_FD int fd = -1;

	ww_try(ww_memfd_create(bytes, &fd));
	ww_try(map_file(mapping, fd, kind, bytes, WW_ACCESS_WRITE));
	ww_fd_steal(&fd);
	return WW_OK;
}

static ww_status host_memory_import(struct ww_mapping *mapping,
	const struct ww_memory_source *source, uint32_t access)
{
	WW_AUTO_FD int fd = -1;

	if (source->backing != WW_BACKING_MEMFD)
		return ww_device_fail_gpu_memory();
	ww_try(ww_fd_duplicate(source->fd, &fd));
	ww_try(ww_memfd_check(fd, source->bytes));
	ww_try(map_file(mapping, fd, source->kind, source->bytes, access));
	ww_fd_steal(&fd);
	return WW_OK;
}

static ww_status host_memory_protect(struct ww_mapping *mapping, uint32_t access)
{
	return ww_memfd_protect(mapping->pointer, mapping->bytes, access);
}

static void host_memory_release(struct ww_mapping *mapping)
{
	ww_memfd_unmap(mapping->pointer, mapping->bytes);
	mapping->fd = ww_fd_close(mapping->fd);
}

const struct ww_backend ww_host_backend = {
	.name = "host",
	.id = WW_BACKEND_HOST,
	.count = host_count,
	.open = host_open,
	.close = host_close,
	.info = host_info,
	.free_bytes = host_free_bytes,
	.memory_create = host_memory_create,
	.memory_import = host_memory_import,
	.memory_release = host_memory_release,
	.memory_protect = host_memory_protect,
	.stream_create = ww_host_stream_create,
	.stream_close = ww_host_stream_close,
	.stream_synchronize = ww_host_stream_synchronize,
	.stream_query = ww_host_stream_query,
	.stream_call = ww_host_stream_call,
	.stream_copy = ww_host_stream_copy,
	.stream_fill = ww_host_stream_fill,
	.stream_wait_values = ww_host_stream_wait_values,
	.stream_write_value = ww_host_stream_write_value,
	.module_load = ww_host_module_load,
	.module_unload = ww_host_module_unload,
	.kernel_open = ww_host_kernel_open,
	.kernel_close = ww_host_kernel_close,
	.kernel_launch = ww_host_kernel_launch,
};
