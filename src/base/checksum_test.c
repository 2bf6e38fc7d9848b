/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checksum_test.c - CRC-32C against published values
 */
#include "base/unit.h"

#include <string.h>

#include "base/checksum.h"

/* RFC 3720, section B.4: 32 bytes of each pattern. */
static void published_values(void **state)
{
	uint8_t bytes[32];

	(void)state;
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(ww_checksum(0, bytes, sizeof(bytes)), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(ww_checksum(0, bytes, sizeof(bytes)), 0x62a8ab43);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	assert_int_equal(ww_checksum(0, bytes, sizeof(bytes)), 0x46dd794e);
}

static void parts_make_the_whole(void **state)
{
	const char *text = "123456789";

	(void)state;
	assert_int_equal(ww_checksum(0, text, 9), 0xe3069283);
	for (size_t cut = 0; cut <= 9; cut++)
		assert_int_equal(ww_checksum(ww_checksum(0, text, cut), text + cut, 9 - cut),
			0xe3069283);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_values),
		cmocka_unit_test(parts_make_the_whole),
	};

	return cmocka_run_group_tests_name("checksum", tests, NULL, NULL);
}
