/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.c - the path of a broker's socket, see address.h
 *
 * Nothing is cached: the environment may change between two calls, and a call costs at most two
 * system calls.
 */
#include "client/address.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/proc_file.h"
#include "base/runtime_dir.h"

#define MACHINE_PATH "/run/warpway/broker.sock"
#define FOLDER_MODE  0700

/* The kernel's number for every user of another user namespace that has no number in this one. */
#define OVERFLOW_USER 65534

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

/* The path of the user's own address is the user's own also when the caller names it. */
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
	if (access(MACHINE_PATH, F_OK) < 0)
		return ww_address_own(out_address);
	out_address->is_machine = true;
	return set_path(out_address, MACHINE_PATH);
}

static ww_status check_folder(const char *folder, const struct stat *entry, uid_t owner)
{
	if (entry->st_uid != owner)
		return ww_fail(WW_ERR_ACCESS,
			"%.110s, where a broker is to listen, belongs to user %u, not %u; remove it, or set "
			"WARPWAY_BROKER to the broker you mean",
			folder, (unsigned)entry->st_uid, (unsigned)owner);
	if (entry->st_mode & (S_IWGRP | S_IWOTH))
		return ww_fail(WW_ERR_ACCESS,
			"others may write in %.110s, where a broker is to listen; chmod go-w it, or set "
			"WARPWAY_BROKER to the broker you mean",
			folder);
	return WW_OK;
}

/* @out_folder: the part of @path before its last slash; empty for the root folder */
static void folder_of(const char *path, char out_folder[WW_ADDRESS_BYTES])
{
	const char *slash = strrchr(path, '/');

	snprintf(out_folder, WW_ADDRESS_BYTES, "%.*s", slash ? (int)(slash - path) : 0, path);
}

static ww_status fail_open(int error, const char *folder)
{
	/* No broker listens in a folder that does not exist, and the folder may be made. */
	if (error == ENOENT)
		return WW_END;
	if (error == ENOTDIR || error == ELOOP)
		return ww_fail(WW_ERR_ACCESS,
			"%.110s, where a broker is to listen, is no folder; remove it", folder);
	return ww_fail_errno(error, NULL, "cannot open %.110s, where a broker is to listen",
		folder);
}

ww_status ww_address_open_folder(const struct ww_address *address, int *out_folder)
{
	char folder[WW_ADDRESS_BYTES];
	WW_AUTO_FD int fd = -1;
	struct stat entry;

	*out_folder = -1;
	if (!address->is_own && !address->is_machine)
		return WW_OK;
	if (address->is_own) {
		char line[64];
		char *rest = line;

		/*
		 * Check that files which seem to be this user's are its own. If this user's number
		 * is OVERFLOW_USER, that is so in the first user namespace only, where every user
		 * has a number.
		 */
		if (geteuid() == OVERFLOW_USER) {
			/* The line: first user inside, first user outside, how many. */
			if (!ww_proc_file_read_line("/proc/self/uid_map", line, sizeof(line)) ||
				strtoul(rest, &rest, 10) != 0 || strtoul(rest, &rest, 10) != 0 ||
				strtoul(rest, &rest, 10) != UINT32_MAX)
				return ww_fail(WW_ERR_ACCESS,
					"user %d of this user namespace cannot be told from users outside, so any of them may listen "
					"at its own address; set WARPWAY_BROKER to the broker you mean",
					OVERFLOW_USER);
		}
	}
	folder_of(address->path, folder);
	fd = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail_open(errno, folder);
	ww_try(ww_fd_adopt(&fd));
	if (fstat(fd, &entry) < 0)
		return ww_fail_errno(errno, NULL, "cannot look at %.110s", folder);
	ww_try(check_folder(folder, &entry, address->is_own ? geteuid() : 0));
	*out_folder = ww_fd_steal(&fd);
	return WW_OK;
}

struct sockaddr_un ww_address_socket(const struct ww_address *address, int folder)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	if (folder < 0)
		memcpy(name.sun_path, address->path, strlen(address->path)); /* see set_path() */
	else /* a thread may have a descriptor table of its own */
		snprintf(name.sun_path, sizeof(name.sun_path), "/proc/thread-self/fd/%d/%.60s",
			folder, strrchr(address->path, '/') + 1);
	return name;
}

ww_status ww_address_check_peer(const struct ww_address *address, uint32_t uid)
{
	if (!address->is_own || uid == geteuid())
		return WW_OK;
	return ww_fail(WW_ERR_ACCESS,
		"user %" PRIu32
		" listens at %s, the address of user %u's own broker; end that process, or set "
		"WARPWAY_BROKER to the broker you mean",
		uid, address->path, (unsigned)geteuid());
}

void ww_address_advise(const struct ww_address *address, char out_advice[WW_ADVICE_BYTES])
{
	const char *variable = ww_environment_find(WW_VARIABLE_BROKER);

	if (address->is_own) {
		snprintf(out_advice, WW_ADVICE_BYTES,
			ww_environment_is_on(WW_VARIABLE_NO_START)
				? "unset WARPWAY_NO_START, or run warpway serve --foreground"
				: "start one with warpway serve");
	} else if (address->is_machine) {
		struct ww_address own = {.is_own = false};
		struct ww_error record;

		/*
		 * A socket exists at the machine's address, and no broker listens. Because it
		 * exists, a user must name the user's own address.
		 */
		ww_error_save(&record);
		if (ww_address_own(&own) == WW_OK)
			snprintf(out_advice, WW_ADVICE_BYTES,
				"root starts it, or removes that socket; until then WARPWAY_BROKER=%s stands for "
				"your own",
				own.path);
		else
			snprintf(out_advice, WW_ADVICE_BYTES,
				"root starts it, or removes that socket");
		ww_error_restore(&record);
	} else {
		snprintf(out_advice, WW_ADVICE_BYTES,
			"%s, or serve there: warpway serve --foreground --socket PATH",
			variable && strcmp(variable, address->path) == 0 ? "unset WARPWAY_BROKER"
									 : "name another");
	}
}

/* Does not check the folder: ww_address_open_folder() does, before a process connects. */
ww_status ww_address_make_folder(const struct ww_address *address)
{
	char folder[WW_ADDRESS_BYTES];

	folder_of(address->path, folder);
	if (access(folder, F_OK) < 0) {
		char parent[WW_ADDRESS_BYTES];
		struct stat entry;

		/*
		 * After su, root may still have another user's XDG_RUNTIME_DIR. If root made a
		 * folder there, that user could not use it any more.
		 */
		folder_of(folder, parent);
		if (geteuid() == 0 && stat(parent[0] ? parent : "/", &entry) >= 0 &&
			entry.st_uid != 0 && !(entry.st_mode & S_IWOTH))
			return ww_fail(WW_ERR_ACCESS,
				"root's broker is not to listen in %.100s, which belongs to user %u; unset XDG_RUNTIME_DIR, "
				"or set it to a folder of root",
				parent, (unsigned)entry.st_uid);
	}
	if (mkdir(folder, FOLDER_MODE) < 0 && errno != EEXIST)
		return ww_fail_errno_as(WW_ERR_NO_BROKER, errno,
			"set XDG_RUNTIME_DIR to a folder of this user",
			"cannot make %s for this user's broker", folder);
	return WW_OK;
}
