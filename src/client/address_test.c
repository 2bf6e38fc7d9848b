/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_test.c - which broker is meant, and whose folder the user's own is in
 */
#include "base/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/address.h"

static char folder[64];
static char below[96];
static char own[128];

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/warpway-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(below, sizeof(below), "%s/warpway", folder);
	snprintf(own, sizeof(own), "%s/broker.sock", below);
	setenv("XDG_RUNTIME_DIR", folder, 1);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	rmdir(below);
	return rmdir(folder);
}

static void given(void **state)
{
	struct ww_address address;

	(void)state;
	setenv("WARPWAY_BROKER", "/some/where", 1);
	assert_int_equal(ww_address_find("/else/where", &address), WW_OK);
	assert_string_equal(address.path, "/else/where");
	assert_false(address.is_own);
	assert_int_equal(ww_address_find(NULL, &address), WW_OK);
	assert_string_equal(address.path, "/some/where");
	assert_false(address.is_own);
	/* The user's own stays the user's own when it is named. */
	assert_int_equal(ww_address_find(own, &address), WW_OK);
	assert_true(address.is_own);
	setenv("WARPWAY_BROKER", own, 1);
	assert_int_equal(ww_address_find(NULL, &address), WW_OK);
	assert_true(address.is_own);
	unsetenv("WARPWAY_BROKER");
}

static void refused(void **state)
{
	struct ww_address address;
	char path[160];

	(void)state;
	assert_fails(ww_address_find("broker.sock", &address), WW_ERR_INVALID);
	assert_fails(ww_address_find("", &address), WW_ERR_INVALID);
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[108] = '\0';
	assert_fails(ww_address_find(path, &address), WW_ERR_INVALID);
	path[107] = '\0';
	assert_int_equal(ww_address_find(path, &address), WW_OK);
}

static void owned(void **state)
{
	struct ww_address address;

	(void)state;
	assert_int_equal(ww_address_own(&address), WW_OK);
	assert_string_equal(address.path, own);
	assert_true(address.is_own);
	assert_int_equal(ww_address_check_own(&address, false), WW_OK); /* there is none */
	assert_int_equal(access(below, F_OK), -1);
	assert_int_equal(ww_address_check_own(&address, true), WW_OK);
	assert_int_equal(access(below, F_OK), 0);
	assert_int_equal(chmod(below, 0770), 0);
	assert_fails(ww_address_check_own(&address, true), WW_ERR_ACCESS);
	rmdir(below);
	assert_int_equal(symlink(folder, below), 0);
	assert_fails(ww_address_check_own(&address, true), WW_ERR_ACCESS);
	unlink(below);
	assert_int_equal(mkdir(below, 0700), 0);
	if (geteuid() == 0) { /* only then can it be given to somebody else */
		assert_int_equal(chown(below, 12345, 12345), 0);
		assert_fails(ww_address_check_own(&address, true), WW_ERR_ACCESS);
		/* Nor does root make one in a folder of another user's. */
		rmdir(below);
		assert_int_equal(chown(folder, 12345, 12345), 0);
		assert_fails(ww_address_check_own(&address, true), WW_ERR_ACCESS);
		assert_int_equal(access(below, F_OK), -1);
		assert_int_equal(chown(folder, 0, 0), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given),
		cmocka_unit_test(refused),
		cmocka_unit_test(owned),
	};

	return cmocka_run_group_tests_name("address", tests, make_folder, remove_folder);
}
