/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment_test.c - each variable by its name; empty is not set; only "1" is on; what is handed
 * on
 */
#include "base/unit_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"

UNIT_TEST(each_has_its_name)
{
	static const char *const names[] = {"WARPWAY_DEBUG", "WARPWAY_BROKER", "WARPWAY_NO_START",
		"WARPWAYD", "XDG_RUNTIME_DIR", "NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		enum ww_variable variable = (enum ww_variable)i;

		assert_int_equal(unsetenv(names[i]), 0);
		assert_null(ww_environment_find(variable));
		assert_int_equal(setenv(names[i], names[i], 1), 0);
		assert_string_equal(ww_environment_find(variable), names[i]);
		assert_int_equal(setenv(names[i], "", 1), 0);
		assert_null(ww_environment_find(variable));
	}
}

UNIT_TEST(only_one_is_on)
{
	static const char *const others[] = {"", "0", "11", "yes", " 1", "1 "};

	unsetenv("WARPWAY_NO_START");
	assert_false(ww_environment_is_on(WW_VARIABLE_NO_START));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		setenv("WARPWAY_NO_START", others[i], 1);
		assert_false(ww_environment_is_on(WW_VARIABLE_NO_START));
	}
	setenv("WARPWAY_NO_START", "1", 1);
	assert_true(ww_environment_is_on(WW_VARIABLE_NO_START));
}

static bool is_in(char **entries, const char *entry)
{
	while (*entries && strcmp(*entries, entry) != 0)
		entries++;
	return *entries != NULL;
}

/* All but what systemd says to this process alone. */
UNIT_TEST(handed_on)
{
	size_t before = 0;
	size_t after = 0;
	char **entries;

	setenv("NOTIFY_SOCKET", "/run/notify", 1);
	setenv("LISTEN_PID", "1", 1);
	setenv("LISTEN_FDS", "1", 1);
	setenv("NOTIFY_SOCKET_2", "mine", 1);
	setenv("WARPWAY_DEBUG", "0", 1);
	entries = ww_environment_to_hand_on();
	assert_non_null(entries);
	assert_true(is_in(entries, "NOTIFY_SOCKET_2=mine"));
	assert_true(is_in(entries, "WARPWAY_DEBUG=0"));
	assert_false(is_in(entries, "NOTIFY_SOCKET=/run/notify"));
	while (environ[before])
		before++;
	while (entries[after])
		after++;
	assert_int_equal(after, before - 3);
	free(entries);
}

UNIT_MAIN("environment")
