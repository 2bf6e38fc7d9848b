/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_device.c - the GPUs: which there are, which are visible, what they say of themselves
 *
 * GPU n of the machine has the same UUID in every process. CUDA_VISIBLE_DEVICES picks and orders
 * the ones this process sees. What they answer is what an H200 with driver 580 answers, except for
 * what the fake cannot do: DMA-buf, and VMM memory on a host node.
 *
 * Memory is charged to the process that makes it: each process has the GPUs' memory for itself.
 */
#include "fake.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define UUID_TEXT 41 /* "GPU-", 32 digits, 4 hyphens, the end */

static struct fake_device devices[FAKECUDA_DEVICES_MAX];
static int device_count;

static ww_CUuuid device_uuid(unsigned int number)
{
	ww_CUuuid uuid = {{(char)0xfa, 0x4e, (char)0xcd, (char)0xa0, 0, 0, 0x40, 0, (char)0x80}};
	uuid.bytes[15] = (char)number;
	return uuid;
}

static void uuid_print(const ww_CUuuid *uuid, char out_text[UUID_TEXT])
{
	const char *digits = "0123456789abcdef";
	char *at = out_text;

	memcpy(at, "GPU-", 4);
	at += 4;
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*at++ = '-';
		*at++ = digits[(unsigned char)uuid->bytes[i] >> 4];
		*at++ = digits[uuid->bytes[i] & 15];
	}
	*at = '\0';
}

static bool is_taken(unsigned int number)
{
	for (int i = 0; i < device_count; i++)
		if (devices[i].number == number)
			return true;
	return false;
}

/* A UUID may be cut short as long as it means one GPU only. */
static int number_of_uuid(const char *token)
{
	int found = -1;

	for (unsigned int n = 0; n < fake_config()->devices; n++) {
		ww_CUuuid uuid = device_uuid(n);
		char text[UUID_TEXT];
		uuid_print(&uuid, text);
		if (strncasecmp(token, text, strlen(token)) != 0)
			continue;
		if (found >= 0)
			return -1;
		found = (int)n;
	}
	return found;
}

/* The GPU that one item of CUDA_VISIBLE_DEVICES means, or -1. */
static int number_of_token(const char *token)
{
	if (!strncasecmp(token, "GPU-", 4))
		return number_of_uuid(token);

	char *end;
	errno = 0;
	long number = strtol(token, &end, 10);
	if (errno || end == token || *end || number < 0 || number >= (long)fake_config()->devices)
		return -1;
	return (int)number;
}

static void device_add(unsigned int number)
{
	struct fake_device *device = &devices[device_count++];
	device->uuid = device_uuid(number);
	device->number = number;
}

static void add_visible(const char *list)
{
	while (*list) {
		char token[UUID_TEXT];
		size_t bytes = strcspn(list, ",");
		const char *next = list + bytes + (list[bytes] == ',');
		while (bytes && isspace((unsigned char)*list)) {
			list++;
			bytes--;
		}
		while (bytes && isspace((unsigned char)list[bytes - 1]))
			bytes--;
		if (bytes >= sizeof(token))
			return;
		memcpy(token, list, bytes);
		token[bytes] = '\0';
		int number = number_of_token(token);
		if (number < 0 || is_taken((unsigned int)number))
			return;
		device_add((unsigned int)number);
		list = next;
	}
}

ww_CUresult fake_device_open_all(void)
{
	const struct fake_config *config = fake_config();

	device_count = 0;
	if (config->visible)
		add_visible(config->visible);
	else
		for (unsigned int n = 0; n < config->devices; n++)
			device_add(n);
	return device_count ? WW_CUDA_SUCCESS : WW_CUDA_ERROR_NO_DEVICE;
}

int fake_device_count(void)
{
	return device_count;
}

struct fake_device *fake_device_get(ww_CUdevice device)
{
	return device >= 0 && device < device_count ? &devices[device] : NULL;
}

int fake_device_find(const ww_CUuuid *uuid)
{
	for (int i = 0; i < device_count; i++)
		if (!memcmp(&devices[i].uuid, uuid, sizeof(*uuid)))
			return i;
	return FAKE_DEVICE_HIDDEN;
}

bool fake_device_reaches(int device, const ww_CUuuid *home)
{
	unsigned int number = (unsigned char)home->bytes[15];

	return !(fake_config()->no_peer[devices[device].number] >> number & 1);
}

bool fake_device_charge(int device, uint64_t bytes)
{
	if (bytes > fake_config()->bytes - devices[device].used)
		return false;
	devices[device].used += bytes;
	return true;
}

void fake_device_discharge(int device, uint64_t bytes)
{
	devices[device].used -= bytes;
}

FAKE_API cuDeviceGet(ww_CUdevice *out_device, int ordinal)
{
	FAKE_ENTER(cuDeviceGet);
	if (!out_device)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!fake_device_get(ordinal))
		return WW_CUDA_ERROR_INVALID_DEVICE;
	*out_device = ordinal;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuDeviceGetCount(int *out_count)
{
	FAKE_ENTER(cuDeviceGetCount);
	if (!out_count)
		return WW_CUDA_ERROR_INVALID_VALUE;
	*out_count = device_count;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuDeviceGetName(char *out_name, int bytes, ww_CUdevice device)
{
	FAKE_ENTER(cuDeviceGetName);
	if (!out_name || bytes <= 0)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!fake_device_get(device))
		return WW_CUDA_ERROR_INVALID_DEVICE;
	snprintf(out_name, (size_t)bytes, "Fake CUDA Device%s",
		fake_config()->mig ? " MIG 1g.10gb" : "");
	return WW_CUDA_SUCCESS;
}

FAKE_API cuDeviceGetUuid_v2(ww_CUuuid *out_uuid, ww_CUdevice device)
{
	FAKE_ENTER(cuDeviceGetUuid);
	if (!out_uuid)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!fake_device_get(device))
		return WW_CUDA_ERROR_INVALID_DEVICE;
	*out_uuid = fake_device_get(device)->uuid;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuDeviceTotalMem_v2(size_t *out_bytes, ww_CUdevice device)
{
	FAKE_ENTER(cuDeviceTotalMem);
	if (!out_bytes)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!fake_device_get(device))
		return WW_CUDA_ERROR_INVALID_DEVICE;
	*out_bytes = fake_config()->bytes;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuDeviceGetPCIBusId(char *out_id, int bytes, ww_CUdevice device)
{
	FAKE_ENTER(cuDeviceGetPCIBusId);
	if (!out_id || bytes <= 0)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!fake_device_get(device))
		return WW_CUDA_ERROR_INVALID_DEVICE;
	snprintf(out_id, (size_t)bytes, "0000:%02X:00.0", fake_device_get(device)->number + 1);
	return WW_CUDA_SUCCESS;
}

FAKE_API cuDeviceCanAccessPeer(int *out_can, ww_CUdevice device, ww_CUdevice peer)
{
	FAKE_ENTER(cuDeviceCanAccessPeer);
	if (!out_can)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!fake_device_get(device) || !fake_device_get(peer))
		return WW_CUDA_ERROR_INVALID_DEVICE;
	*out_can = device != peer && fake_device_reaches(device, &fake_device_get(peer)->uuid);
	return WW_CUDA_SUCCESS;
}

static const struct {
	ww_CUdevice_attribute attribute;
	int value;
} attributes[] = {
	{WW_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
	{WW_CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
	{WW_CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
	{WW_CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
	{WW_CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
	{WW_CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
	{WW_CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
	{WW_CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
	{WW_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
	{WW_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
	{WW_CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
	{WW_CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
	{WW_CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
	{WW_CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
	{WW_CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
	{WW_CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1, 0},
	{WW_CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1, 0},
	{WW_CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 0},
	{WW_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10},
	{WW_CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0},
	{WW_CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
	{WW_CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
	{WW_CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0},
	{WW_CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 1},
	{WW_CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1},
	{WW_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
	{WW_CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 1},
	{WW_CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
	{WW_CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0},
	{WW_CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 1},
	{WW_CU_DEVICE_ATTRIBUTE_NUMA_CONFIG, 0},
	{WW_CU_DEVICE_ATTRIBUTE_NUMA_ID, -1},
	{WW_CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0},
	{WW_CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0},
	{WW_CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0},
};

FAKE_API cuDeviceGetAttribute(int *out_value, ww_CUdevice_attribute attribute, ww_CUdevice device)
{
	FAKE_ENTER(cuDeviceGetAttribute);
	if (!out_value)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!fake_device_get(device))
		return WW_CUDA_ERROR_INVALID_DEVICE;
	if (fake_lacks_attribute(attribute)) {
		*out_value = 0;
		return WW_CUDA_SUCCESS;
	}

	switch (attribute) {
	case WW_CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*out_value = (int)fake_device_get(device)->number + 1;
		return WW_CUDA_SUCCESS;
	case WW_CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
		*out_value = fake_config()->compute_mode;
		return WW_CUDA_SUCCESS;
	case WW_CU_DEVICE_ATTRIBUTE_MPS_ENABLED:
		if (fake_config()->mps == FAKE_MPS_UNKNOWN)
			return WW_CUDA_ERROR_INVALID_VALUE;
		*out_value = fake_config()->mps == FAKE_MPS_ON;
		return WW_CUDA_SUCCESS;
	case WW_CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
		*out_value = !fake_config()->no_fd;
		return WW_CUDA_SUCCESS;
	case WW_CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
	case WW_CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
		*out_value = !fake_config()->no_sync;
		return WW_CUDA_SUCCESS;
	case WW_CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
		*out_value = fake_config()->no_fd ? 0 : WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
		return WW_CUDA_SUCCESS;
	default:
		break;
	}
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (attributes[i].attribute == attribute) {
			*out_value = attributes[i].value;
			return WW_CUDA_SUCCESS;
		}
	}
	return WW_CUDA_ERROR_INVALID_VALUE;
}
