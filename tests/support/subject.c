/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subject.c - opens the device under test and moves bytes through it
 */
#include "support/subject.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/check.h"
#include "support/driver.h"

#ifndef F_DUPFD_QUERY /* Linux 6.10 */
#define F_DUPFD_QUERY 1027
#endif

const char *subject_name(void)
{
	const char *name = getenv("WW_TEST_DEVICE");

	return name ? name : "host";
}

bool subject_is_cuda(void)
{
	return !strncmp(subject_name(), "cuda", 4);
}

bool subject_is_countable(void)
{
	return !subject_is_cuda() || fake_get();
}

ww_device *subject_open(void)
{
	ww_device *device;

	MUST_OK(ww_device_open(subject_name(), &device));
	return device;
}

ww_device *gpu_open(uint32_t index)
{
	ww_device *gpu;
	char name[16];

	snprintf(name, sizeof(name), "cuda:%u", index);
	MUST_OK(ww_device_open(name, &gpu));
	return gpu;
}

uint32_t gpu_count(void)
{
	uint32_t count;

	return ww_device_count(WW_BACKEND_CUDA, &count) == WW_OK ? count : 0;
}

ww_device *subject_open_other(void)
{
	const char *chosen = getenv("WW_TEST_OTHER");
	OWN(device) ww_device *subject = subject_open();
	ww_device *other = NULL;
	uint32_t count = gpu_count();

	if (chosen) {
		MUST_OK(ww_device_open(chosen, &other));
		if (other == subject || device_info(other).backend != WW_BACKEND_CUDA)
			FAIL("WW_TEST_OTHER=%s is no other GPU than %s", chosen, subject_name());
	}
	for (uint32_t i = 0; i < count && !other; i++) {
		other = gpu_open(i);
		if (other == subject)
			other = ww_device_unref(other);
	}
	return other;
}

void subject_see_only(ww_device *device, char out_setting[SUBJECT_SETTING_BYTES])
{
	struct ww_device_info info = device_info(device);
	char uuid[2 * WW_DEVICE_UUID_BYTES + 1];

	for (size_t i = 0; i < WW_DEVICE_UUID_BYTES; i++)
		snprintf(uuid + 2 * i, 3, "%02x", info.uuid[i]);
	snprintf(out_setting, SUBJECT_SETTING_BYTES,
		"CUDA_VISIBLE_DEVICES=GPU-%.8s-%.4s-%.4s-%.4s-%.12s", uuid, uuid + 8, uuid + 12,
		uuid + 16, uuid + 20);
}

static bool can_access(ww_device *device, ww_device *peer)
{
	const struct driver *driver = driver_get();
	ww_CUdevice ordinals[2];
	int can = 0;

	MUST(driver);
	MUST_EQUAL(0, driver->cuDeviceGet(&ordinals[0], (int)device_info(device).index));
	MUST_EQUAL(0, driver->cuDeviceGet(&ordinals[1], (int)device_info(peer).index));
	MUST_EQUAL(0, driver->cuDeviceCanAccessPeer(&can, ordinals[0], ordinals[1]));
	return can;
}

bool devices_are_peers(ww_device *a, ww_device *b)
{
	return can_access(a, b) && can_access(b, a);
}

struct ww_device_info device_info(ww_device *device)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);

	MUST_OK(ww_device_info_get(device, &info));
	return info;
}

uint64_t device_free_bytes(ww_device *device)
{
	uint64_t bytes;

	MUST_OK(ww_device_free_bytes(device, &bytes));
	return bytes;
}

struct ww_memory_info memory_info(ww_memory *memory)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);

	MUST_OK(ww_memory_info_get(memory, &info));
	return info;
}

ww_memory *memory_make(ww_device *device, uint32_t kind, uint64_t bytes)
{
	ww_memory *memory;

	MUST_OK(ww_memory_create(device,
		WW_PARAMS(struct ww_memory_params, .kind = kind, .bytes = bytes), &memory));
	return memory;
}

ww_stream *stream_make(ww_device *device)
{
	ww_stream *stream;

	MUST_OK(ww_stream_create(device, &stream));
	return stream;
}

ww_memory *memory_reimport(ww_memory *memory, ww_device *device, uint32_t access)
{
	struct ww_memory_description description;
	ww_memory *imported;
	OWN(fd) int fd;

	MUST_OK(ww_memory_export_fd(memory, access, &fd, &description));
	MUST_OK(ww_memory_import_fd(device, fd, &description,
		WW_PARAMS(struct ww_import_params, .access = access), &imported));
	return imported;
}

bool kernel_compares_descriptors(void)
{
	OWN(fd) int fd = dup(STDERR_FILENO);
	pid_t self = getpid();
	bool tells = fcntl(fd, F_DUPFD_QUERY, STDERR_FILENO) == 1 ||
		syscall(SYS_kcmp, self, self, KCMP_FILE, fd, STDERR_FILENO) == 0;

	return tells;
}

void memory_must_be_same(ww_memory *expected, ww_memory *got)
{
	struct ww_memory_info a = memory_info(expected);
	struct ww_memory_info b = memory_info(got);
	bool is_gpu = a.route == WW_ROUTE_LOCAL || a.route == WW_ROUTE_PEER;

	if (expected != got && (!is_gpu || kernel_compares_descriptors()))
		FAIL("the same memory is another object");
	MUST_MATCH(a.object_id, b.object_id, sizeof(a.object_id));
	MUST_EQUAL(a.access, b.access);
	MUST(a.device == b.device);
}

void memory_put(ww_memory *memory, uint64_t offset, const void *from, uint64_t bytes)
{
	MUST_OK(ww_memory_write(memory, offset, from, bytes, WW_FOREVER, NULL));
}

void memory_get(ww_memory *memory, uint64_t offset, void *to, uint64_t bytes)
{
	MUST_OK(ww_memory_read(memory, offset, to, bytes, WW_FOREVER, NULL));
}

void pattern_make(uint8_t *out, uint64_t bytes, uint32_t seed)
{
	for (uint64_t i = 0; i < bytes; i++)
		out[i] = (uint8_t)((((uint32_t)i + seed) * UINT32_C(2654435761)) >> 19);
}

void pattern_write(ww_memory *memory, uint32_t seed)
{
	uint64_t bytes = memory_info(memory).bytes;
	OWN(heap) uint8_t *buffer = malloc(bytes);

	MUST(buffer);
	pattern_make(buffer, bytes, seed);
	memory_put(memory, 0, buffer, bytes);
}

void pattern_verify(ww_memory *memory, uint32_t seed)
{
	uint64_t bytes = memory_info(memory).bytes;
	OWN(heap) uint8_t *expected = malloc(bytes);
	OWN(heap) uint8_t *got = malloc(bytes);

	MUST(expected && got);
	pattern_make(expected, bytes, seed);
	memory_get(memory, 0, got, bytes);
	MUST_MATCH(expected, got, bytes);
}

void memory_must_be(ww_memory *memory, uint8_t value)
{
	uint64_t bytes = memory_info(memory).bytes;
	OWN(heap) uint8_t *expected = malloc(bytes);
	OWN(heap) uint8_t *got = malloc(bytes);

	MUST(expected && got);
	memset(expected, value, bytes);
	memory_get(memory, 0, got, bytes);
	MUST_MATCH(expected, got, bytes);
}
