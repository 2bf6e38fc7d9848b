/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_test.c - what a configuration may say, and what is refused with its line
 */
#include "base/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/config.h"

#define SOMEBODY 4242
#define SECOND   UINT64_C(1000000000)

/* A file with this text, as a path. */
static ww_status read_text(const char *text, struct config **out_config)
{
	int fd = memfd_create("config", MFD_CLOEXEC);
	ww_status status;
	char path[64];

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	status = config_read(path, out_config);
	close(fd);
	return status;
}

static struct config *config_must_read(const char *text)
{
	struct config *config = NULL;
	ww_status status = read_text(text, &config);

	if (status != WW_OK)
		fail_msg("refused: %s", ww_error_last()->message);
	return config;
}

/* Refused, with this in the message. */
static void config_must_fail(const char *text, const char *word)
{
	struct config *config;

	assert_fails(read_text(text, &config), WW_ERR_INVALID);
	assert_null(config);
	if (!strstr(ww_error_last()->message, word))
		fail_msg("no \"%s\" in: %s", word, ww_error_last()->message);
}

UNIT_TEST(without_a_file)
{
	struct config *config = NULL;
	struct limits limits;

	assert_ok(config_read(NULL, &config));
	config_limits(config, SOMEBODY, &limits);
	assert_int_equal(limits.bytes, 0);
	assert_true(limits.host_bytes > 0);
	assert_int_equal(limits.objects, 65536);
	assert_in_range(limits.fds, 1, 131072);
	assert_int_equal(limits.holds, 262144);
	assert_int_equal(limits.connections, 4096);
	assert_int_equal(limits.waits, 4096);
	assert_int_equal(config_idle_ns(config), 10 * SECOND);
	assert_int_equal(config_escrow_max_ns(config), 3600 * SECOND);
	assert_null(config_free(config));
	assert_null(config_free(NULL));
	assert_fails(config_read("/nowhere/at all", &config), WW_ERR_NOT_FOUND);
	assert_null(config);
}

UNIT_TEST(limits_of_all_and_of_one)
{
	struct config *config = config_must_read("# a comment\n"
						 "[limits]\n"
						 "bytes = 64G   ; another\n"
						 "objects = 100\n"
						 "waits = 10\n"
						 "\n"
						 "[limits.4242]\n"
						 "bytes = 1T\n"
						 "objects = 0\n"
						 "fds = 1\n"
						 "[limits.root]\n"
						 "connections=2K\n"
						 "[limits.4242]\n"
						 "holds: 3M\n");
	struct limits limits;

	config_limits(config, 1, &limits);
	assert_int_equal(limits.bytes, UINT64_C(64) << 30);
	assert_int_equal(limits.objects, 100);
	assert_int_equal(limits.waits, 10);
	assert_int_equal(limits.connections, 4096);
	config_limits(config, SOMEBODY, &limits);
	assert_int_equal(limits.bytes, UINT64_C(1) << 40);
	assert_int_equal(limits.objects, 65536); /* 0 does not undo the default */
	assert_int_equal(limits.fds, 1);
	assert_int_equal(limits.waits, 10);
	assert_int_equal(limits.holds, 3 << 20);
	config_limits(config, 0, &limits);
	assert_int_equal(limits.connections, 2048);
	config_free(config);
}

UNIT_TEST(config_times)
{
	struct config *config = config_must_read("[broker]\nidle_s = 0\nescrow_max_s = 60\n");

	assert_int_equal(config_idle_ns(config), 0);
	assert_int_equal(config_escrow_max_ns(config), 60 * SECOND);
	config_free(config);
}

static bool user_may_take(const struct config *config, const char *name, uid_t uid)
{
	const gid_t gids[] = {70, 71};

	return config_may_take(config, name, uid, gids, uid == 7 ? 2 : 0);
}

UNIT_TEST(config_homes)
{
	struct config *config = NULL;

	assert_ok(config_read(NULL, &config));
	assert_true(user_may_take(config, "anything", 5));
	assert_true(user_may_take(config, "~5/x", 5));
	assert_true(user_may_take(config, "~5", 5));
	assert_false(user_may_take(config, "~5/x", 6));
	assert_false(user_may_take(config, "~5/x", 55));
	assert_false(user_may_take(config, "~05/x", 5));
	assert_false(user_may_take(config, "~55/x", 5));
	assert_false(user_may_take(config, "~/x", 5));
	assert_false(user_may_take(config, "~root/x", 5));
	assert_true(user_may_take(config, "a/~6/x", 5));
	assert_true(user_may_take(config, "~5/x", 0));
	config_free(config);
}

UNIT_TEST(reserved_names)
{
	struct config *config = config_must_read("[names]\n"
						 "model = group 71\n"
						 "model = user 9\n"
						 "model/private/ = user 8\n"
						 "system = user root\n");

	assert_true(user_may_take(config, "model/a", 7));
	assert_true(user_may_take(config, "model/a", 9));
	assert_false(user_may_take(config, "model/a", 8));
	assert_false(user_may_take(config, "model", 8));
	assert_true(user_may_take(config, "models", 8));
	assert_true(user_may_take(config, "model/private/x", 8));
	assert_false(user_may_take(config, "model/private/x", 7));
	assert_true(user_may_take(config, "model/privateer", 7));
	assert_false(user_may_take(config, "system/x", 7));
	assert_true(user_may_take(config, "system/x", 0));
	config_free(config);
}

UNIT_TEST(faults_name_their_line)
{
	char line[400];

	config_must_fail("[limits]\nbytes = 1\n\nbytes = many\n", ":4: \"many\" is no number");
	config_must_fail("[limits]\nbytes = 1X\n", ":2: \"1X\" is no number");
	config_must_fail("[limits]\nbytes = 1KB\n", ":2:");
	config_must_fail("[limits]\nbytes = -1\n", ":2:");
	config_must_fail("[limits]\nbytes = 99999999999999999999\n", ":2:");
	config_must_fail("[limits]\nbytes = 9999999999T\n", ":2:");
	config_must_fail("[limits]\nbytes =\n", ":2:");
	config_must_fail("[limits]\nbites = 1\n", "there are bytes, host_bytes");
	config_must_fail("[limit]\nbytes = 1\n", "there are [limits], [limits.USER], [names]");
	config_must_fail("bytes = 1\n", ":1: there is no section []");
	config_must_fail("[limits.nobody here]\nbytes = 1\n",
		":2: there is no user \"nobody here\"");
	config_must_fail("[limits]\nbytes\n", ":2: neither");
	config_must_fail("[limits\nbytes = 1\n", ":1: neither");
	config_must_fail("[limits]\nrubbish\nbytes = many\n", ":2: neither");
	config_must_fail("[limits]\nbytes = 1\n  2\n", ":3: neither");
	config_must_fail("[broker]\nidle_s = 1K\n", ":2:");
	config_must_fail("[broker]\nidle = 1\n", "there are idle_s and escrow_max_s");
	config_must_fail("[names]\na = somebody\n", "neither \"user NAME\" nor");
	config_must_fail("[names]\na = user nobody here\n", ":2: there is no user");
	config_must_fail("[names]\na = group nobody here\n", ":2: there is no group");
	config_must_fail("[names]\na//b = user 5\n", ":2:");
	config_must_fail("[names]\n~5 = user 6\n", ":2: names that begin with ~");
	config_must_fail("[names]\n/ = user 6\n", ":2:");
	memset(line, 'a', sizeof(line));
	memcpy(line, "[names]\n", 8);
	strcpy(line + 380, " = user 5\n");
	config_must_fail(line, ":2: a line has at most");
}

UNIT_MAIN("config")
