/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.c - which broker is meant, see address.h
 *
 * Nothing is remembered: the environment may have changed since the last call, and asking costs two system
 * calls at most.
 */
#include "client/address.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/runtime.h"

#define MACHINE_PATH "/run/warpway/broker.sock"
#define FOLDER_MODE  0700

static const size_t path_bytes = sizeof(((struct sockaddr_un *)NULL)->sun_path);

static ww_status set_path(struct ww_address *address, const char *path)
{
	size_t length = strlen(path);

	if (path[0] != '/')
		return ww_fail(WW_ERR_INVALID,
			"\"%.100s\" is no address of a broker: it is not an absolute path", path);
	if (length >= path_bytes)
		return ww_fail(WW_ERR_INVALID,
			"an address of %zu bytes, \"%.80s...\", is too long: a socket's path has at most %zu",
			length, path, path_bytes - 1);
	memcpy(address->path, path, length + 1);
	return WW_OK;
}

ww_status ww_address_own(struct ww_address *out_address)
{
	char path[WW_RUNTIME_ADDRESS_BYTES];

	ww_try(ww_runtime_address(path));
	out_address->is_own = true;
	return set_path(out_address, path);
}

/* The user's own stays the user's own when it is named. */
static ww_status set_given(struct ww_address *address, const char *path)
{
	struct ww_error record;
	struct ww_address own;

	ww_try(set_path(address, path));
	ww_error_save(&record);
	address->is_own = ww_address_own(&own) == WW_OK && strcmp(own.path, path) == 0;
	ww_error_restore(&record);
	return WW_OK;
}

ww_status ww_address_find(const char *given, struct ww_address *out_address)
{
	const char *variable = ww_environment_find(WW_VARIABLE_BROKER);

	*out_address = (struct ww_address){0};
	if (given)
		return set_given(out_address, given);
	if (variable)
		return set_given(out_address, variable);
	if (access(MACHINE_PATH, F_OK) == 0)
		return set_path(out_address, MACHINE_PATH);
	return ww_address_own(out_address);
}

static ww_status check_folder(const char *folder)
{
	struct stat entry;

	if (lstat(folder, &entry) < 0)
		return errno == ENOENT ? WW_OK
				       : ww_fail_errno(errno, NULL, "cannot look at %s", folder);
	if (!S_ISDIR(entry.st_mode))
		return ww_fail(WW_ERR_ACCESS,
			"%s, where this user's broker is to listen, is no folder; remove it",
			folder);
	if (entry.st_uid != geteuid())
		return ww_fail(WW_ERR_ACCESS,
			"%s, where the broker of user %u is to listen, belongs to user %u; remove it, or set "
			"WARPWAY_BROKER to the broker you mean",
			folder, (unsigned)geteuid(), (unsigned)entry.st_uid);
	if (entry.st_mode & (S_IWGRP | S_IWOTH))
		return ww_fail(WW_ERR_ACCESS,
			"others may write in %s, where this user's broker is to listen; chmod 700 it",
			folder);
	return WW_OK;
}

/* @path: cut at its last slash */
static void cut(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
}

/* What root makes in another user's folder, of which su leaves the name behind, would be that user's no more. */
static ww_status check_parent(const char *folder)
{
	char parent[WW_ADDRESS_BYTES];
	struct stat entry;

	snprintf(parent, sizeof(parent), "%s", folder);
	cut(parent);
	if (geteuid() != 0 || stat(parent[0] ? parent : "/", &entry) < 0 || entry.st_uid == 0 ||
		(entry.st_mode & S_IWOTH))
		return WW_OK;
	return ww_fail(WW_ERR_ACCESS,
		"root's broker is not to listen in %.100s, which belongs to user %u; unset XDG_RUNTIME_DIR, "
		"or set it to a folder of root",
		parent, (unsigned)entry.st_uid);
}

static ww_status make_folder(const char *folder)
{
	if (access(folder, F_OK) < 0)
		ww_try(check_parent(folder));
	if (mkdir(folder, FOLDER_MODE) < 0 && errno != EEXIST)
		return ww_fail_errno_as(WW_ERR_NO_BROKER, errno,
			"set XDG_RUNTIME_DIR to a folder of this user",
			"cannot make %s for this user's broker", folder);
	return WW_OK;
}

ww_status ww_address_check_own(const struct ww_address *address, bool may_make)
{
	char folder[WW_ADDRESS_BYTES];

	snprintf(folder, sizeof(folder), "%s", address->path);
	cut(folder);
	if (may_make)
		ww_try(make_folder(folder));
	return check_folder(folder);
}
