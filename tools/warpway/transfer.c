/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.c - bytes between a file and a memory, wherever it lives
 */
#include "warpway/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/file_io.h"
#include "common/cleanup.h"
#include "common/say.h"

/*
 * CPU memory that the device reaches is copied without a stop on the way; any other serves as well.
 */
static int make_pieces(struct pump *pump, ww_device *device)
{
	struct ww_memory_params params = {
		.struct_size = sizeof(params),
		.kind = WW_MEMORY_HOST,
		.bytes = 2 * PUMP_PIECE_BYTES,
	};

	if (ww_memory_create(device, &params, &pump->pinned) == WW_OK)
		pump->pieces = ww_memory_host_pointer(pump->pinned);
	else
		pump->pieces = malloc(params.bytes);
	return pump->pieces ? 0 : complain("out of memory");
}

int pump_open(struct pump *pump, ww_memory *memory, struct progress *progress)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);

	*pump = (struct pump){
		.memory = memory,
		.device = ww_memory_pointer(memory),
		.direct = ww_memory_host_pointer(memory),
		.progress = progress,
	};
	if (pump->direct)
		return 0;
	if (ww_memory_info_get(memory, &info) != WW_OK ||
		ww_stream_create(info.device, &pump->stream) != WW_OK)
		return complain_record("cannot make a stream for the copy");
	return make_pieces(pump, info.device);
}

void pump_close(struct pump *pump)
{
	if (pump->stream)
		ww_stream_synchronize(pump->stream, WW_FOREVER, NULL);
	pump->stream = ww_stream_unref(pump->stream);
	if (!pump->pinned)
		free(pump->pieces);
	pump->pinned = ww_memory_unref(pump->pinned);
	pump->pieces = NULL;
}

static size_t piece_of(uint64_t left)
{
	return left < PUMP_PIECE_BYTES ? (size_t)left : (size_t)PUMP_PIECE_BYTES;
}

static int read_piece(struct pump *pump, int fd, const char *name, void *bytes, size_t count)
{
	ssize_t got = flow_read(fd, bytes, count);
	int error = errno;

	if (got == (ssize_t)count)
		return 0;
	progress_end(pump->progress);
	if (got < 0)
		return complain("cannot read %s: %s", name, strerror(error));
	return complain("%s ends before all its bytes are read", name);
}

static int write_piece(struct pump *pump, int fd, const char *name, const void *bytes, size_t count)
{
	int error;

	if (!flow_write(fd, bytes, count))
		return 0;
	error = errno;
	progress_end(pump->progress);
	return complain("cannot write %s: %s", name, strerror(error));
}

/* Of memory that the CPU reaches nothing is copied. */
static int enqueue(struct pump *pump, void *to, const void *from, size_t count)
{
	if (pump->direct || ww_stream_copy(pump->stream, to, from, count) == WW_OK)
		return 0;
	progress_end(pump->progress);
	return complain_record("cannot copy %zu bytes", count);
}

static int finish(struct pump *pump)
{
	if (pump->direct || ww_stream_synchronize(pump->stream, WW_FOREVER, NULL) == WW_OK)
		return 0;
	progress_end(pump->progress);
	return complain_record("cannot finish a copy");
}

/* CPU memory for the bytes at @at: the memory itself, or the piece whose turn it is. */
static uint8_t *piece_at(const struct pump *pump, uint64_t at, uint64_t turn)
{
	return pump->direct ? pump->direct + at : pump->pieces + turn % 2 * PUMP_PIECE_BYTES;
}

/*
 * While the GPU takes one piece the other is filled; a copy is awaited before the next one begins.
 */
int pump_fill(struct pump *pump, int fd, const char *name, uint64_t offset, uint64_t bytes)
{
	size_t count;

	for (uint64_t done = 0, turn = 0; done < bytes; done += count, turn++) {
		uint8_t *piece = piece_at(pump, offset + done, turn);

		count = piece_of(bytes - done);
		if (flow_interrupted() || read_piece(pump, fd, name, piece, count) ||
			finish(pump) || enqueue(pump, pump->device + offset + done, piece, count))
			return -1;
		progress_advance(pump->progress, count);
	}
	return finish(pump);
}

/* The piece after the one that is written is on its way already. */
int pump_drain(struct pump *pump, int fd, const char *name, uint64_t offset, uint64_t bytes)
{
	size_t count = piece_of(bytes);

	if (enqueue(pump, pump->pieces, pump->device + offset, count))
		return -1;
	for (uint64_t done = 0, turn = 0; done < bytes; turn++) {
		uint64_t next_at = offset + done + count;
		size_t next = piece_of(bytes - done - count);

		if (flow_interrupted() || finish(pump) ||
			enqueue(pump, piece_at(pump, next_at, turn + 1), pump->device + next_at,
				next) ||
			write_piece(pump, fd, name, piece_at(pump, offset + done, turn), count))
			return -1;
		progress_advance(pump->progress, count);
		done += count;
		count = next;
	}
	return 0;
}
