/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_dir.c - where a user's own broker listens, see runtime_dir.h
 */
#include "base/runtime_dir.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"

static bool is_folder(const char *path)
{
	struct stat entry;

	return stat(path, &entry) == 0 && S_ISDIR(entry.st_mode);
}

ww_status ww_runtime_address(char out_path[WW_RUNTIME_ADDRESS_BYTES])
{
	const char *runtime = ww_environment_find(WW_VARIABLE_RUNTIME_DIR);
	unsigned user = geteuid();
	int length;

	/* A relative path counts as none, as the variable's specification says. */
	if (runtime && runtime[0] == '/') {
		length = snprintf(out_path, WW_RUNTIME_ADDRESS_BYTES, "%s/warpway/broker.sock",
			runtime);
		if (length >= WW_RUNTIME_ADDRESS_BYTES)
			return ww_fail(WW_ERR_INVALID,
				"XDG_RUNTIME_DIR is too long for a socket's path, which has at most %d "
				"bytes: %.100s",
				WW_RUNTIME_ADDRESS_BYTES - 1, runtime);
		return WW_OK;
	}
	snprintf(out_path, WW_RUNTIME_ADDRESS_BYTES, "/run/user/%u", user);
	if (is_folder(out_path))
		snprintf(out_path, WW_RUNTIME_ADDRESS_BYTES, "/run/user/%u/warpway/broker.sock",
			user);
	else
		snprintf(out_path, WW_RUNTIME_ADDRESS_BYTES, "/tmp/warpway-%u/broker.sock", user);
	return WW_OK;
}
