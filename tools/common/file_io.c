/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_io.c - reading and writing files to the last byte
 */
#include "common/file_io.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"

#define PIECE_BYTES ((size_t)1 << 20)

ssize_t flow_read(int fd, void *bytes, size_t count)
{
	size_t done = 0;

	while (done < count) {
		ssize_t got = read(fd, (char *)bytes + done, count - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int flow_write(int fd, const void *bytes, size_t count)
{
	size_t done = 0;

	while (done < count) {
		ssize_t put = write(fd, (const char *)bytes + done, count - done);

		if (put < 0 && errno != EINTR)
			return -1;
		if (put > 0)
			done += (size_t)put;
	}
	return 0;
}

int flow_copy(int from, int to, bool *out_reading, void (*advance)(void *context, size_t bytes),
	void *context)
{
	OWN(heap) char *piece = malloc(PIECE_BYTES);

	*out_reading = true;
	if (!piece)
		return -1;
	for (;;) {
		ssize_t got = flow_read(from, piece, PIECE_BYTES);

		if (got <= 0)
			return (int)got;
		if (flow_write(to, piece, (size_t)got)) {
			*out_reading = false;
			return -1;
		}
		advance(context, (size_t)got);
	}
}

bool flow_interrupted(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t pending;

	if (sigpending(&pending))
		return false;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (sigismember(&pending, signals[i]) == 1)
			return true;
	}
	return false;
}
