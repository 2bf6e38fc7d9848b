/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_test.c - devices by name, on the host device
 */
#include "base/unit_test.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

#include <warpway/device.h>

UNIT_TEST(names)
{
	static const char *const wrong[] = {"", "Host", "host:", "host:0", "cuda",
		"cuda:", "cuda:x", "cuda:-1", "cuda:0x1", "cuda: 0", "cuda:12345678901",
		"cuda:GPU-", "cuda:GPU-0", "gpu:0", ":",
		"cuda:GPU-01234567-89ab-cdef-fedc-ba987654321g"};
	ww_device *device;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_fails(ww_device_open(wrong[i], &device), WW_ERR_INVALID);
		assert_null(device);
	}
}

UNIT_TEST(one_object_for_one_device)
{
	ww_device *first;
	ww_device *second;

	assert_ok(ww_device_open("host", &first));
	assert_ok(ww_device_open("host", &second));
	assert_ptr_equal(first, second);
	assert_null(ww_device_unref(first));
	assert_ptr_equal(ww_device_ref(second), second);
	ww_device_unref(second);
	ww_device_unref(second);
	assert_null(ww_device_unref(NULL));
}

UNIT_TEST(infos)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	uint64_t free_bytes;
	ww_device *device;
	uint32_t count;

	assert_ok(ww_device_count(WW_BACKEND_HOST, &count));
	assert_int_equal(count, 1);
	assert_fails(ww_device_count(99, &count), WW_ERR_INVALID);
	assert_ok(ww_device_open("host", &device));
	assert_ok(ww_device_info_get(device, &info));
	assert_int_equal(info.struct_size, sizeof(info));
	assert_int_equal(info.backend, WW_BACKEND_HOST);
	assert_string_equal(info.selector, "host");
	assert_true(info.granularity > 0 && info.bytes_total > 0);
	assert_int_equal(info.mps, WW_MPS_OFF);
	assert_ok(ww_device_free_bytes(device, &free_bytes));
	assert_true(free_bytes > 0 && free_bytes <= info.bytes_total);
	assert_fails(ww_device_free_bytes(device, NULL), WW_ERR_INVALID);
	assert_fails(ww_device_free_bytes(NULL, &free_bytes), WW_ERR_INVALID);
	assert_int_equal(free_bytes, 0);
	assert_true(info.capabilities & WW_CAP_EXPORT);
	assert_true(strlen(info.name) > 0 && strlen(info.driver) > 0);
	info.struct_size = 0;
	assert_fails(ww_device_info_get(device, &info), WW_ERR_INVALID);
	ww_device_unref(device);
}

/* Whether a GPU is refused since its driver cannot be loaded, for the reason of an errno. */
static bool driver_fails(int error)
{
	ww_device *device;

	return ww_device_open("cuda:0", &device) == WW_ERR_NO_DEVICE &&
		strstr(ww_error_last()->message, "no NVIDIA driver: libcuda.so.1: ") &&
		strstr(ww_error_last()->message, strerror(error));
}

/* But a driver that could not be loaded for another reason is loaded later. */
UNIT_TEST(missing_driver_is_looked_for_once)
{
	struct rlimit files, none;
	bool fails_without_files;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = files;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	fails_without_files = driver_fails(EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_true(fails_without_files);
	if (!driver_fails(ENOENT))
		UNIT_SKIP("the machine has a driver");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	fails_without_files = driver_fails(ENOENT);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_true(fails_without_files);
}

UNIT_MAIN("device")
