/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.c - random bytes for names and secrets, see random.h
 *
 * The kernel gives up to 256 bytes whole and without interruption once its pool is seeded
 * (getrandom(2)); before that, early in a boot, a signal may interrupt the wait.
 */
#include "base/random.h"

#include <errno.h>
#include <sys/random.h>

#include "base/error.h"

ww_status ww_random_bytes(void *out, size_t bytes)
{
	ssize_t got;

	do {
		got = getrandom(out, bytes, 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0 || (size_t)got != bytes)
		return ww_fail_errno(got < 0 ? errno : EIO, NULL, "cannot draw %zu random bytes",
			bytes);
	return WW_OK;
}
