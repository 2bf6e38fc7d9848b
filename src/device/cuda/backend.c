/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.c - NVIDIA GPUs: which there are, what they can do, and the backend's table
 *
 * Opening a device asks the driver for attributes only: it makes no context and costs about 3 MiB
 * of GPU memory.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/condition.h"
#include "base/proc_file.h"
#include "device/cuda/cuda.h"
#include "device/uuid.h"

static ww_status device_count(const struct ww_cuda_driver *driver, int *out_count)
{
	ww_CUresult result = driver->cuDeviceGetCount(out_count);

	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(driver, result, NULL, "cannot count the GPUs");
	return WW_OK;
}

static ww_status cuda_count(uint32_t *out_count)
{
	const struct ww_cuda_driver *driver;
	int count;

	ww_try(ww_cuda_driver_get(&driver));
	ww_try(device_count(driver, &count));
	*out_count = (uint32_t)count;
	return WW_OK;
}

/* @out_value: 0 where the driver does not know the attribute. */
static ww_status find_attribute(const struct cuda_device *device, ww_CUdevice_attribute which,
	int *out_value)
{
	ww_CUresult result = device->driver->cuDeviceGetAttribute(out_value, which,
		device->ordinal);

	if (result == WW_CUDA_SUCCESS)
		return WW_OK;
	*out_value = 0;
	if (result == WW_CUDA_ERROR_INVALID_VALUE)
		return WW_OK;
	return ww_cuda_fail(device->driver, result, NULL, "cannot find out what %s can do",
		device->base.selector);
}

struct attribute_capability {
	ww_CUdevice_attribute attribute;
	uint64_t capability;
};

static const struct attribute_capability optional[] = {
	{WW_CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, WW_CAP_EXPORT},
	{WW_CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, WW_CAP_HOST_MEMORY},
	{WW_CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, WW_CAP_HOST_READ_ONLY},
	{WW_CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, WW_CAP_STREAM_VALUE},
	{WW_CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, WW_CAP_EVENT | WW_CAP_EVENT_IMPORTED},
};

static ww_status describe(struct cuda_device *device, int index)
{
	ww_CUuuid uuid;
	ww_CUresult result = device->driver->cuDeviceGet(&device->ordinal, index);
	int value;

	snprintf(device->base.selector, sizeof(device->base.selector), "cuda:%d", index);
	if (result == WW_CUDA_SUCCESS)
		result = device->driver->cuDeviceGetUuid(&uuid, device->ordinal);
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL, "cannot open %s",
			device->base.selector);
	device->base.index = (uint32_t)index;
	memcpy(device->base.uuid, uuid.bytes, sizeof(device->base.uuid));
	ww_try(find_attribute(device, WW_CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
		&value));
	if (!value)
		return ww_fail(WW_ERR_NO_DEVICE,
			"cannot use %s: it has no virtual memory management (cuMemCreate)",
			device->base.selector);
	device->base.capabilities = WW_CAP_STREAM_WRAP | WW_CAP_MODULE;
	if (device->driver->has_foreign)
		device->base.capabilities |= WW_CAP_FOREIGN;
	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
		ww_try(find_attribute(device, optional[i].attribute, &value));
		if (value)
			device->base.capabilities |= optional[i].capability;
	}
	if (device->driver->has_graph && device->base.capabilities & WW_CAP_STREAM_VALUE)
		device->base.capabilities |= WW_CAP_GRAPH;
	ww_try(find_attribute(device, WW_CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, &value));
	if (value == WW_CU_COMPUTEMODE_DEFAULT)
		device->base.capabilities |= WW_CAP_MANY_PROCESSES;
	return ww_cuda_vmm_granularity(device, &device->base.granularity);
}

static void cuda_close(struct ww_device *base)
{
	struct cuda_device *device = ww_cuda_device(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = ww_cuda_relax(device->driver);

	ww_cuda_copy_fini(device);
	ww_cuda_context_fini(device);
	pthread_cond_destroy(&device->has_copied);
	pthread_mutex_destroy(&device->lock);
	free(device);
}

static ww_status open_index(const struct ww_cuda_driver *driver, int index,
	struct ww_device **out_device)
{
	struct cuda_device *device = calloc(1, sizeof(*device));
	ww_status status;

	if (!device)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot open cuda:%d: out of memory", index);
	ww_ref_init(&device->base.ref);
	ww_list_init(&device->base.link);
	pthread_mutex_init(&device->lock, NULL);
	ww_condition_init(&device->has_copied);
	device->base.backend = &ww_cuda_backend;
	device->driver = driver;
	status = describe(device, index);
	if (status < 0) {
		cuda_close(&device->base);
		return status;
	}
	*out_device = &device->base;
	return WW_OK;
}

int ww_cuda_find_uuid(const struct ww_cuda_driver *driver, const uint8_t uuid[WW_DEVICE_UUID_BYTES],
	ww_CUdevice *out_ordinal)
{
	int count = 0;

	driver->cuDeviceGetCount(&count);
	for (int i = 0; i < count; i++) {
		ww_CUuuid found;

		if (driver->cuDeviceGet(out_ordinal, i) == WW_CUDA_SUCCESS &&
			driver->cuDeviceGetUuid(&found, *out_ordinal) == WW_CUDA_SUCCESS &&
			memcmp(found.bytes, uuid, sizeof(found.bytes)) == 0)
			return i;
	}
	return -1;
}

/* The first GPU that processes can share memory on. */
static ww_status open_best(const struct ww_cuda_driver *driver, int count,
	struct ww_device **out_device)
{
	const uint64_t needed = WW_CAP_EXPORT | WW_CAP_MANY_PROCESSES;

	for (int i = 0; i < count; i++) {
		struct ww_device *device = NULL;

		(void)open_index(driver, i, &device);
		if (!device)
			continue;
		if ((device->capabilities & needed) == needed) {
			*out_device = device;
			return WW_OK;
		}
		cuda_close(device);
	}
	return ww_fail(WW_ERR_NO_DEVICE,
		"none of the %d GPUs can share memory by descriptor and is open to several processes "
		"(nvidia-smi -q -d COMPUTE shows the compute mode)",
		count);
}

static ww_status cuda_open(const char *selector, struct ww_device **out_device)
{
	const struct ww_cuda_driver *driver;
	uint8_t uuid[WW_DEVICE_UUID_BYTES];
	bool is_index = false;
	int index = 0;
	int count;

	*out_device = NULL;
	if (selector) {
		bool has_prefix = strncmp(selector, "GPU-", 4) == 0;
		size_t length = strspn(selector, "0123456789");

		/* An index has digits alone, no more than nine. */
		if (length == 0 || length > 9 || selector[length] != '\0') {
			is_index = false;
		} else {
			index = (int)strtol(selector, NULL, 10);
			is_index = true;
		}
		if (!is_index && !ww_uuid_parse(selector + (has_prefix ? 4 : 0), uuid))
			return ww_fail(WW_ERR_INVALID,
				"\"cuda:%.64s\" names no GPU; use \"cuda:0\" or \"cuda:GPU-...\" with a UUID "
				"of nvidia-smi -L",
				selector);
	}
	ww_try(ww_cuda_driver_get(&driver));
	ww_try(device_count(driver, &count));
	if (!selector)
		return open_best(driver, count, out_device);
	if (!is_index) {
		ww_CUdevice ordinal;

		index = ww_cuda_find_uuid(driver, uuid, &ordinal);
		if (index >= 0)
			return open_index(driver, index, out_device);
		return ww_fail(WW_ERR_NO_DEVICE,
			"there is no GPU \"%.48s\" among the %d that this process sees; nvidia-smi -L lists all, "
			"CUDA_VISIBLE_DEVICES may hide it",
			selector, count);
	}
	if (index >= count)
		return ww_fail(WW_ERR_NO_DEVICE,
			"there is no cuda:%d: this process sees %d GPU%s; CUDA_VISIBLE_DEVICES may hide more",
			index, count, count == 1 ? "" : "s");
	return open_index(driver, index, out_device);
}

/*
 * "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64 580.95.05 ...": the first word of
 * digits.
 */
static bool read_module_version(char *out, size_t bytes)
{
	char line[256];
	char *rest = NULL;
	char *word;

	if (!ww_proc_file_read_line("/proc/driver/nvidia/version", line, sizeof(line)))
		return false;
	word = strtok_r(line, " ", &rest);
	while (word && !(isdigit((unsigned char)word[0]) && strchr(word, '.')))
		word = strtok_r(NULL, " ", &rest);
	if (word)
		snprintf(out, bytes, "%s", word);
	return word != NULL;
}

static ww_status cuda_info(struct ww_device *base, struct ww_device_info *info)
{
	struct cuda_device *device = ww_cuda_device(base);
	size_t total_bytes = 0;
	ww_CUresult result = device->driver->cuDeviceTotalMem(&total_bytes, device->ordinal);
	char module[24];
	int version = 0;
	int is_on;

	if (result == WW_CUDA_SUCCESS)
		result = device->driver->cuDeviceGetName(info->name, sizeof(info->name),
			device->ordinal);
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL, "cannot describe %s",
			base->selector);
	/* A driver older than the attribute answers that the value is invalid. */
	result = device->driver->cuDeviceGetAttribute(&is_on, WW_CU_DEVICE_ATTRIBUTE_MPS_ENABLED,
		device->ordinal);
	if (result != WW_CUDA_SUCCESS)
		info->mps = WW_MPS_UNKNOWN;
	else
		info->mps = is_on ? WW_MPS_ON : WW_MPS_OFF;
	info->bytes_total = total_bytes;
	device->driver->cuDriverGetVersion(&version);
	if (read_module_version(module, sizeof(module)))
		snprintf(info->driver, sizeof(info->driver), "CUDA %d.%d, driver %s",
			version / 1000, version % 1000 / 10, module);
	else
		snprintf(info->driver, sizeof(info->driver), "CUDA %d.%d", version / 1000,
			version % 1000 / 10);
	return WW_OK;
}

static ww_status cuda_free_bytes(struct ww_device *base, uint64_t *out_bytes)
{
	struct cuda_device *device = ww_cuda_device(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	size_t free_bytes = 0;
	size_t total_bytes;
	ww_CUresult result;

	ww_try(ww_cuda_enter(device, &scope));
	result = device->driver->cuMemGetInfo(&free_bytes, &total_bytes);
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot ask %s for its free memory", base->selector);
	*out_bytes = free_bytes;
	return WW_OK;
}

/* Whether the driver answers this to every call from now on. */
static bool is_fault(ww_CUresult result)
{
	switch (result) {
	case WW_CUDA_ERROR_ECC_UNCORRECTABLE:
	case WW_CUDA_ERROR_NVLINK_UNCORRECTABLE:
	case WW_CUDA_ERROR_CONTAINED:
	case WW_CUDA_ERROR_ILLEGAL_ADDRESS:
	case WW_CUDA_ERROR_LAUNCH_TIMEOUT:
	case WW_CUDA_ERROR_CONTEXT_IS_DESTROYED:
	case WW_CUDA_ERROR_ASSERT:
	case WW_CUDA_ERROR_HARDWARE_STACK_ERROR:
	case WW_CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case WW_CUDA_ERROR_MISALIGNED_ADDRESS:
	case WW_CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case WW_CUDA_ERROR_INVALID_PC:
	case WW_CUDA_ERROR_LAUNCH_FAILED:
	case WW_CUDA_ERROR_TENSOR_MEMORY_LEAK:
		return true;
	default:
		return false;
	}
}

/*
 * Asks for the free memory, since a query of any stream would end a capture that another thread has
 * begun (CU_STREAM_CAPTURE_MODE_GLOBAL, the usual mode). Seen on an H200, driver 580: after a fault
 * this call fails, too, and a capture goes on.
 */
static ww_status cuda_check_fault(struct ww_device *base)
{
	struct cuda_device *device = ww_cuda_device(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	size_t free_bytes;
	size_t total_bytes;
	ww_CUresult result;

	if (ww_cuda_enter(device, &scope) != WW_OK)
		return WW_OK;
	result = device->driver->cuMemGetInfo(&free_bytes, &total_bytes);
	if (!is_fault(result))
		return WW_OK;
	return ww_cuda_fail(device->driver, result, NULL, "cannot use %s any more", base->selector);
}

static struct ww_cuda_scope relax(const struct ww_mapping *mapping)
{
	return ww_cuda_relax(ww_cuda_device(mapping->device)->driver);
}

static ww_status cuda_memory_create(struct ww_mapping *mapping, uint32_t kind, uint64_t bytes)
{
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = relax(mapping);

	return kind == WW_MEMORY_HOST ? ww_cuda_host_create(mapping, bytes)
				      : ww_cuda_vmm_create(mapping, bytes);
}

static ww_status cuda_memory_import(struct ww_mapping *mapping,
	const struct ww_memory_source *source, uint32_t access)
{
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = relax(mapping);

	if (source->backing == WW_BACKING_MEMFD)
		return ww_cuda_host_import(mapping, source, access);
	if (source->backing == WW_BACKING_CUDA_VMM)
		return ww_cuda_vmm_import(mapping, source, access);
	return ww_cuda_foreign_import(mapping, source, access);
}

static ww_status cuda_memory_export(struct ww_mapping *mapping, int *out_fd)
{
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = relax(mapping);

	if (ww_backing_is_foreign(mapping->backing))
		return ww_cuda_foreign_export(mapping, out_fd);
	return ww_cuda_vmm_export(mapping, out_fd);
}

/* A GPU would still write pages that are registered, and the driver maps legacy handles itself. */
static ww_status cuda_memory_protect(struct ww_mapping *mapping, uint32_t access)
{
	if (mapping->backing == WW_BACKING_CUDA_VMM)
		return ww_cuda_vmm_protect(mapping, access);
	return ww_fail(WW_ERR_UNSUPPORTED,
		"%s cannot make this memory read-only where it is mapped: it can do so only with memory of "
		"kind WW_MEMORY_VMM",
		mapping->device->selector);
}

static void cuda_memory_release(struct ww_mapping *mapping)
{
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = relax(mapping);

	if (mapping->is_wrapped)
		ww_cuda_foreign_release(mapping);
	else if (mapping->foreign)
		ww_cuda_foreign_close(mapping);
	else if (mapping->backing == WW_BACKING_MEMFD)
		ww_cuda_host_release(mapping);
	else
		ww_cuda_vmm_release(mapping);
}

const struct ww_backend ww_cuda_backend = {
	.name = "cuda",
	.id = WW_BACKEND_CUDA,
	.count = cuda_count,
	.open = cuda_open,
	.close = cuda_close,
	.info = cuda_info,
	.free_bytes = cuda_free_bytes,
	.check_fault = cuda_check_fault,
	.memory_create = cuda_memory_create,
	.memory_import = cuda_memory_import,
	.memory_release = cuda_memory_release,
	.memory_protect = cuda_memory_protect,
	.memory_retire = ww_cuda_foreign_retire,
	.memory_export = cuda_memory_export,
	.foreign_find = ww_cuda_foreign_find,
	.foreign_wrap = ww_cuda_foreign_wrap,
	.foreign_check = ww_cuda_foreign_check,
	.foreign_withdraw = ww_cuda_foreign_withdraw,
	.foreign_open = ww_cuda_foreign_open,
	.foreign_handle = ww_cuda_foreign_handle,
	.foreign_pool = ww_cuda_foreign_pool,
	.stream_create = ww_cuda_stream_create,
	.stream_close = ww_cuda_stream_close,
	.stream_synchronize = ww_cuda_stream_synchronize,
	.stream_query = ww_cuda_stream_query,
	.stream_call = ww_cuda_stream_call,
	.stream_check_capture = ww_cuda_stream_check_capture,
	.stream_copy = ww_cuda_stream_copy,
	.stream_fill = ww_cuda_stream_fill,
	.stream_wait_values = ww_cuda_stream_wait_values,
	.stream_write_value = ww_cuda_stream_write_value,
	.graph_add = ww_cuda_graph_add,
	.graph_launch = ww_cuda_graph_launch,
	.event_create = ww_cuda_event_create,
	.event_open = ww_cuda_event_open,
	.event_close = ww_cuda_event_close,
	.event_handle = ww_cuda_event_handle,
	.event_record = ww_cuda_event_record,
	.event_stream_wait = ww_cuda_event_stream_wait,
	.event_query = ww_cuda_event_query,
	.event_synchronize = ww_cuda_event_synchronize,
	.fence_create = ww_cuda_fence_create,
	.fence_is_passed = ww_cuda_fence_is_passed,
	.fence_free = ww_cuda_fence_free,
	.copy = ww_cuda_copy,
	.module_load = ww_cuda_module_load,
	.module_unload = ww_cuda_module_unload,
	.kernel_open = ww_cuda_kernel_open,
	.kernel_close = ww_cuda_kernel_close,
	.kernel_launch = ww_cuda_kernel_launch,
	.stream_wrap = ww_cuda_stream_wrap,
	.stream_native = ww_cuda_stream_native,
};
