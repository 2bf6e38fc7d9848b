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

static void an_older_program(void **state)
{
	struct first theirs = {sizeof(theirs), 7};
	struct second ours = {1, 2, 3};

	(void)state;
	assert_int_equal(ww_params_read(&ours, sizeof(ours), &theirs, sizeof(theirs), "x"), WW_OK);
	assert_int_equal(ours.a, 7);
	assert_int_equal(ours.b, 0);
}

static void a_newer_program(void **state)
{
	struct third theirs = {sizeof(theirs), 7, 8, 0};
	struct second ours;

	(void)state;
	assert_int_equal(ww_params_read(&ours, sizeof(ours), &theirs, sizeof(struct first), "x"),
		WW_OK);
	assert_int_equal(ours.b, 8);
	theirs.c = 1;
	assert_fails(ww_params_read(&ours, sizeof(ours), &theirs, sizeof(struct first), "x"),
		WW_ERR_INVALID);
}

static void size_not_set(void **state)
{
	struct second theirs = {0, 7, 8};
	struct second ours;

	(void)state;
	assert_fails(ww_params_read(&ours, sizeof(ours), &theirs, sizeof(struct first), "x"),
		WW_ERR_INVALID);
	assert_fails(ww_params_write(&theirs, &ours, sizeof(ours), sizeof(struct first), "x"),
		WW_ERR_INVALID);
}

static void infos_of_all_ages(void **state)
{
	struct second ours = {0, 7, 8};
	struct {
		struct first info;
		uint64_t behind;
	} older = {{sizeof(struct first), 0}, 99};
	struct third newer = {sizeof(newer), 1, 2, 3};

	(void)state;
	assert_int_equal(ww_params_write(&older.info, &ours, sizeof(ours), sizeof(struct first),
				 "x"),
		WW_OK);
	assert_int_equal(older.info.struct_size, sizeof(struct first));
	assert_int_equal(older.info.a, 7);
	assert_int_equal(older.behind, 99);
	assert_int_equal(ww_params_write(&newer, &ours, sizeof(ours), sizeof(struct first), "x"),
		WW_OK);
	assert_int_equal(newer.struct_size, sizeof(newer));
	assert_int_equal(newer.b, 8);
	assert_int_equal(newer.c, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_older_program),
		cmocka_unit_test(a_newer_program),
		cmocka_unit_test(size_not_set),
		cmocka_unit_test(infos_of_all_ages),
	};

	return cmocka_run_group_tests_name("params", tests, NULL, NULL);
}
