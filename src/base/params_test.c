/* SPDX-License-Identifier: Apache-2.0 */
/*
 * params_test.c - structs of older and newer programs
 */
#include "base/unit_test.h"

#include <string.h>

#include "base/params.h"

struct first {
	uint32_t struct_size;
	uint32_t a;
};

struct second {
	uint32_t struct_size;
	uint32_t a;
	uint64_t b;
};

struct third {
	uint32_t struct_size;
	uint32_t a;
	uint64_t b;
	uint64_t c;
};

UNIT_TEST(an_older_program)
{
	struct first theirs = {sizeof(theirs), 7};
	struct second ours = {1, 2, 3};

	assert_ok(ww_params_read(&ours, sizeof(ours), &theirs, sizeof(theirs), "x"));
	assert_int_equal(ours.a, 7);
	assert_int_equal(ours.b, 0);
}

UNIT_TEST(a_newer_program)
{
	struct third theirs = {sizeof(theirs), 7, 8, 0};
	struct second ours;

	assert_ok(ww_params_read(&ours, sizeof(ours), &theirs, sizeof(struct first), "x"));
	assert_int_equal(ours.b, 8);
	theirs.c = 1;
	assert_fails(ww_params_read(&ours, sizeof(ours), &theirs, sizeof(struct first), "x"),
		WW_ERR_INVALID);
}

UNIT_TEST(size_not_set)
{
	struct second theirs = {0, 7, 8};
	struct second ours;

	assert_fails(ww_params_read(&ours, sizeof(ours), &theirs, sizeof(struct first), "x"),
		WW_ERR_INVALID);
	assert_fails(ww_params_write(&theirs, &ours, sizeof(ours), sizeof(struct first), "x"),
		WW_ERR_INVALID);
}

UNIT_TEST(infos_of_all_ages)
{
	struct second ours = {0, 7, 8};
	struct {
		struct first info;
		uint64_t behind;
	} older = {{sizeof(struct first), 0}, 99};
	struct third newer = {sizeof(newer), 1, 2, 3};

	assert_ok(ww_params_write(&older.info, &ours, sizeof(ours), sizeof(struct first), "x"));
	assert_int_equal(older.info.struct_size, sizeof(struct first));
	assert_int_equal(older.info.a, 7);
	assert_int_equal(older.behind, 99);
	assert_ok(ww_params_write(&newer, &ours, sizeof(ours), sizeof(struct first), "x"));
	assert_int_equal(newer.struct_size, sizeof(newer));
	assert_int_equal(newer.b, 8);
	assert_int_equal(newer.c, 0);
}

UNIT_MAIN("params")
