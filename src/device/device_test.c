/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_test.c - devices by name, on the host device
 */
#include "base/unit_test.h"

#include <string.h>

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

	assert_int_equal(ww_device_open("host", &first), WW_OK);
	assert_int_equal(ww_device_open("host", &second), WW_OK);
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

	assert_int_equal(ww_device_count(WW_BACKEND_HOST, &count), WW_OK);
	assert_int_equal(count, 1);
	assert_fails(ww_device_count(99, &count), WW_ERR_INVALID);
	assert_int_equal(ww_device_open("host", &device), WW_OK);
	assert_int_equal(ww_device_info_get(device, &info), WW_OK);
	assert_int_equal(info.struct_size, sizeof(info));
	assert_int_equal(info.backend, WW_BACKEND_HOST);
	assert_string_equal(info.selector, "host");
	assert_true(info.granularity > 0 && info.bytes_total > 0);
	assert_int_equal(info.mps, WW_MPS_OFF);
	assert_int_equal(ww_device_free_bytes(device, &free_bytes), WW_OK);
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

UNIT_MAIN("device")
