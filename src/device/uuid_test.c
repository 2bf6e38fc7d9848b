/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uuid_test.c - device UUIDs as text
 */
#include "base/unit_test.h"

#include "device/uuid.h"

static const uint8_t sample[WW_DEVICE_UUID_BYTES] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
	0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10};

UNIT_TEST(forms_that_are_read)
{
	static const char *const texts[] = {
		"01234567-89ab-cdef-fedc-ba9876543210",
		"01234567-89AB-CDEF-FEDC-BA9876543210",
		"0123456789abcdeffedcba9876543210",
	};

	for (size_t i = 0; i < 3; i++) {
		uint8_t uuid[WW_DEVICE_UUID_BYTES] = {0};

		assert_true(ww_uuid_parse(texts[i], uuid));
		assert_memory_equal(uuid, sample, sizeof(uuid));
	}
}

UNIT_TEST(forms_that_are_refused)
{
	static const char *const texts[] = {
		"",
		"-",
		"0",
		"01234567",
		"01234567-89ab-cdef-fedc-ba987654321",
		"01234567-89ab-cdef-fedc-ba98765432100",
		"01234567-89ab-cdef-fedc-ba987654321g",
		"0123456789ab-cdef-fedc-ba9876543210",
		"01234567-89ab-cdef-fedcba9876543210",
		"0123456789abcdeffedcba987654321",
		" 0123456789abcdeffedcba9876543210",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint8_t uuid[WW_DEVICE_UUID_BYTES] = {7};

		assert_false(ww_uuid_parse(texts[i], uuid));
		assert_int_equal(uuid[0], 7);
	}
}

UNIT_MAIN("uuid")
