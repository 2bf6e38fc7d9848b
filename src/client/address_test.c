/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_test.c - which broker is meant, and whose folder the user's own is in
 */
#include "base/unit_test.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
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

UNIT_TEST(given)
{
	struct ww_address address;

	setenv("WARPWAY_BROKER", "/some/where", 1);
	assert_ok(ww_address_find("/else/where", &address));
	assert_string_equal(address.path, "/else/where");
	assert_false(address.is_own);
	assert_ok(ww_address_find(NULL, &address));
	assert_string_equal(address.path, "/some/where");
	assert_false(address.is_own);
	/* The user's own stays the user's own when it is named. */
	assert_ok(ww_address_find(own, &address));
	assert_true(address.is_own);
	setenv("WARPWAY_BROKER", own, 1);
	assert_ok(ww_address_find(NULL, &address));
	assert_true(address.is_own);
	unsetenv("WARPWAY_BROKER");
}

UNIT_TEST(refused)
{
	struct ww_address address;
	char path[160];

	assert_fails(ww_address_find("broker.sock", &address), WW_ERR_INVALID);
	assert_fails(ww_address_find("", &address), WW_ERR_INVALID);
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[108] = '\0';
	assert_fails(ww_address_find(path, &address), WW_ERR_INVALID);
	path[107] = '\0';
	assert_ok(ww_address_find(path, &address));
}

static ww_status look_at(const struct ww_address *address)
{
	int fd;
	ww_status status = ww_address_open_folder(address, &fd);

	assert_int_equal(fd >= 0, status == WW_OK && (address->is_own || address->is_machine));
	ww_fd_close(fd);
	return status;
}

UNIT_TEST(owned)
{
	struct ww_address address;

	assert_ok(ww_address_find(own, &address));
	assert_true(address.is_own);
	assert_int_equal(look_at(&address), WW_END); /* there is none */
	assert_int_equal(access(below, F_OK), -1);
	assert_ok(ww_address_make_folder(&address));
	assert_ok(look_at(&address));
	assert_int_equal(chmod(below, 0770), 0);
	assert_fails(look_at(&address), WW_ERR_ACCESS);
	rmdir(below);
	assert_int_equal(symlink(folder, below), 0);
	assert_fails(look_at(&address), WW_ERR_ACCESS);
	unlink(below);
	assert_ok(ww_address_check_peer(&address, geteuid()));
	assert_fails(ww_address_check_peer(&address, geteuid() + 1), WW_ERR_ACCESS);
	assert_fails(ww_address_check_peer(&address, UINT32_MAX), WW_ERR_ACCESS);
}

UNIT_TEST(owned_by_others)
{
	struct ww_address address;

	if (geteuid() != 0)
		UNIT_SKIP("only root can give it to another user");
	assert_ok(ww_address_find(own, &address));
	assert_int_equal(mkdir(below, 0700), 0);
	assert_int_equal(chown(below, 12345, 12345), 0);
	assert_fails(look_at(&address), WW_ERR_ACCESS);
	/* Nor does root make one in a folder of another user's. */
	rmdir(below);
	assert_int_equal(chown(folder, 12345, 12345), 0);
	assert_fails(ww_address_make_folder(&address), WW_ERR_ACCESS);
	assert_int_equal(access(below, F_OK), -1);
	assert_int_equal(chown(folder, 0, 0), 0);
}

/* The caller named the address, so every process may listen there. */
UNIT_TEST(named)
{
	struct ww_address address;

	assert_int_equal(mkdir(below, 0777), 0);
	assert_int_equal(chmod(below, 0777), 0);
	unsetenv("XDG_RUNTIME_DIR");
	assert_ok(ww_address_find(own, &address));
	setenv("XDG_RUNTIME_DIR", folder, 1);
	assert_false(address.is_own || address.is_machine);
	assert_ok(look_at(&address));
	assert_ok(ww_address_check_peer(&address, UINT32_MAX));
	assert_ok(ww_address_find("/run/warpway/broker.sock", &address));
	assert_false(address.is_machine);
	rmdir(below);
}

/*
 * In a child: the folder of the machine's broker is a private one. Return: the exit status; 77: it
 * cannot be had.
 */
static int look_at_machine(uid_t owner, mode_t mode)
{
	struct ww_address address;
	int fd;

	unsetenv("WARPWAY_BROKER");
	if (geteuid() != 0 || unshare(CLONE_NEWNS) ||
		mount("", "/", NULL, MS_REC | MS_PRIVATE, "") ||
		mount("none", "/run", "tmpfs", 0, "size=64k"))
		return 77;
	if (mkdir("/run/warpway", 0755) || mknod("/run/warpway/broker.sock", S_IFSOCK | 0666, 0) ||
		chown("/run/warpway", owner, 0) || chmod("/run/warpway", mode))
		return 1;
	if (ww_address_find(NULL, &address) != WW_OK || !address.is_machine)
		return 2;
	if (ww_address_check_peer(&address, 12345) != WW_OK)
		return 3; /* the daemon is not root */
	return ww_address_open_folder(&address, &fd) == WW_OK ? 0 : 4;
}

UNIT_TEST(the_machines)
{
	static const struct {
		uid_t owner;
		mode_t mode;
		int expected;
	} cases[] = {{0, 0755, 0}, {12345, 0755, 4}, {0, 0775, 4}, {0, 0757, 4}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t child = fork();
		int status;

		if (child == 0)
			_exit(look_at_machine(cases[i].owner, cases[i].mode));
		assert_int_equal(waitpid(child, &status, 0), child);
		if (WEXITSTATUS(status) == 77)
			UNIT_SKIP("no mount namespace here");
		assert_int_equal(WEXITSTATUS(status), cases[i].expected);
	}
}

/* Where every user has the same number, any user may own a folder that seems to be this user's. */
static int look_without_a_number(void)
{
	struct ww_address address;
	int fd;

	if (geteuid() != 0 || chmod(below, 0755) || chown(below, 54321, 54321) || setgid(12345) ||
		setuid(12345) || unshare(CLONE_NEWUSER))
		return 77;
	if (ww_address_find(own, &address) != WW_OK || !address.is_own)
		return 1;
	return ww_address_open_folder(&address, &fd) == WW_ERR_ACCESS ? 0 : 2;
}

UNIT_TEST(without_a_number)
{
	pid_t child;
	int status;

	assert_int_equal(mkdir(below, 0700), 0);
	assert_int_equal(chmod(folder, 0755), 0);
	child = fork();
	if (child == 0)
		_exit(look_without_a_number());
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WEXITSTATUS(status) == 77)
		UNIT_SKIP("no user namespace here");
	assert_int_equal(WEXITSTATUS(status), 0);
}

UNIT_MAIN_WITH("address", make_folder, remove_folder)
