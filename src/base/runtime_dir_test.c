/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_dir_test.c - where a user's own broker listens
 */
#include "base/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/runtime_dir.h"

UNIT_TEST(as_the_session_says)
{
	char path[WW_RUNTIME_ADDRESS_BYTES];

	setenv("XDG_RUNTIME_DIR", "/somewhere", 1);
	assert_ok(ww_runtime_address(path));
	assert_string_equal(path, "/somewhere/warpway/broker.sock");
}

UNIT_TEST(without_a_session)
{
	const char *const useless[] = {NULL, "", "relative/path"};
	char path[WW_RUNTIME_ADDRESS_BYTES];
	char user[16];

	snprintf(user, sizeof(user), "%u", (unsigned)geteuid());
	for (size_t i = 0; i < 3; i++) {
		if (useless[i])
			setenv("XDG_RUNTIME_DIR", useless[i], 1);
		else
			unsetenv("XDG_RUNTIME_DIR");
		assert_ok(ww_runtime_address(path));
		assert_int_equal(path[0], '/');
		assert_non_null(strstr(path, user));
		assert_non_null(strstr(path, "/broker.sock"));
	}
}

UNIT_TEST(too_long)
{
	char folder[200];
	char path[WW_RUNTIME_ADDRESS_BYTES];

	memset(folder, 'a', sizeof(folder));
	folder[0] = '/';
	folder[WW_RUNTIME_ADDRESS_BYTES - sizeof("/warpway/broker.sock")] = '\0';
	setenv("XDG_RUNTIME_DIR", folder, 1);
	assert_ok(ww_runtime_address(path));
	assert_int_equal(strlen(path), WW_RUNTIME_ADDRESS_BYTES - 1);
	folder[strlen(folder)] = 'a';
	folder[150] = '\0';
	setenv("XDG_RUNTIME_DIR", folder, 1);
	assert_fails(ww_runtime_address(path), WW_ERR_INVALID);
}

UNIT_MAIN("runtime")
