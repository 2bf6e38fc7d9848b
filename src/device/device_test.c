/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_test.c - what is no name of a device, free bytes, and a driver that is missing
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

UNIT_TEST(free_bytes)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	uint64_t free_bytes;
	ww_device *device;

	assert_ok(ww_device_open("host", &device));
	assert_ok(ww_device_info_get(device, &info));
	assert_ok(ww_device_free_bytes(device, &free_bytes));
	assert_true(free_bytes > 0 && free_bytes <= info.bytes_total);
	assert_fails(ww_device_free_bytes(device, NULL), WW_ERR_INVALID);
	assert_fails(ww_device_free_bytes(NULL, &free_bytes), WW_ERR_INVALID);
	assert_int_equal(free_bytes, 0);
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
