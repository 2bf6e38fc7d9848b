/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.c - see buffer.h
 *
 * The staging memory has the addresses of the buffer's span, moved: what lies at user + x stands in
 * staged + x. So displacements, extents and absolute addresses mean the same to the MPI, and a
 * derived type is sent as it is. Absolute addresses may span far more than there is memory; then
 * only the pages with data exist (staging.h).
 */
#include "mpi/buffer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/cuda.h"
#include "mpi/error.h"

/* A span is read in one piece while it has at most so many bytes for each byte of data. */
#define GAPS_MOST  4
#define SMALL_SPAN 4096

MPI_Count ww_mpi_number(struct ww_mpi_numbers numbers, MPI_Count i)
{
	if (numbers.width == sizeof(int))
		return ((const int *)numbers.at)[i];
	return ((const int64_t *)numbers.at)[i];
}

MPI_Count ww_mpi_sum(struct ww_mpi_numbers numbers, MPI_Count count)
{
	MPI_Count sum = 0;

	for (MPI_Count i = 0; i < count; i++)
		sum += ww_mpi_number(numbers, i);
	return sum;
}

void ww_mpi_buffer_init(struct ww_mpi_buffer *buffer, const void *user, int flags)
{
	memset(buffer, 0, sizeof(*buffer));
	buffer->user = (char *)user;
	buffer->staged = buffer->user;
	buffer->flags = flags;
}

static struct ww_mpi_piece *pieces_of(struct ww_mpi_buffer *buffer)
{
	return buffer->many ? buffer->many : &buffer->one;
}

/* --- shapes --- */

/* Whether one of the bytes at both ends of an element, or at the address itself, is on a device. */
static bool is_device_at_an_end(const char *user, MPI_Datatype type)
{
	MPI_Aint first = 0;
	MPI_Aint bytes = 1;

	PMPI_Type_get_true_extent(type, &first, &bytes);
	return (user != MPI_BOTTOM && ww_mpi_cuda_owns(user)) || ww_mpi_cuda_owns(user + first) ||
		ww_mpi_cuda_owns(user + first + bytes - 1);
}

/* Return: where the next piece goes, or NULL after noting why there is none. */
static struct ww_mpi_layout *begin_piece(struct ww_mpi_buffer *buffer, MPI_Count count,
	MPI_Datatype type)
{
	struct ww_mpi_layout *layout;

	if (count <= 0 || type == MPI_DATATYPE_NULL || buffer->status)
		return NULL;
	layout = ww_mpi_layout_get(type);
	buffer->is_opaque = buffer->is_opaque || !layout;
	/* Such a type is no problem of host memory. */
	if (!layout && is_device_at_an_end(buffer->user, type))
		buffer->status = WW_MPI_TYPE;
	return layout;
}

static bool is_empty(const struct ww_mpi_piece *piece)
{
	return piece->count == 0 || piece->layout->size == 0;
}

static void widen(struct ww_mpi_buffer *buffer, const struct ww_mpi_piece *piece)
{
	const struct ww_mpi_layout *layout = piece->layout;
	MPI_Count reach = (piece->count - 1) * layout->extent;
	MPI_Count low = piece->offset + layout->true_lb + (reach < 0 ? reach : 0);
	MPI_Count high = piece->offset + layout->true_lb + layout->true_extent +
		(reach > 0 ? reach : 0);

	if (is_empty(piece))
		return;
	if (buffer->bytes == 0) {
		buffer->low = low;
		buffer->high = high;
	}
	buffer->low = low < buffer->low ? low : buffer->low;
	buffer->high = high > buffer->high ? high : buffer->high;
	buffer->bytes += piece->count * layout->size;
	buffer->is_incomplete = buffer->is_incomplete || layout->is_incomplete;
}

/* Takes the reference to the layout; NULL is a piece without data. */
static void add_piece(struct ww_mpi_buffer *buffer, MPI_Count offset, MPI_Count count,
	struct ww_mpi_layout *layout)
{
	struct ww_mpi_piece *piece = &pieces_of(buffer)[buffer->piece_count];

	*piece = (struct ww_mpi_piece){offset, layout ? count : 0, layout};
	buffer->piece_count++;
	if (layout)
		widen(buffer, piece);
}

static bool reserve_pieces(struct ww_mpi_buffer *buffer, MPI_Count n)
{
	if (n <= 1)
		return n == 1;
	buffer->many = calloc((size_t)n, sizeof(*buffer->many));
	if (buffer->many)
		return true;
	buffer->status = WW_MPI_TYPE;
	return false;
}

void ww_mpi_shape_plain(struct ww_mpi_buffer *buffer, MPI_Count count, MPI_Datatype type)
{
	add_piece(buffer, 0, count, begin_piece(buffer, count, type));
}

void ww_mpi_shape_parts(struct ww_mpi_buffer *buffer, MPI_Count parts, MPI_Count count,
	MPI_Datatype type)
{
	if (!reserve_pieces(buffer, parts))
		return;
	for (MPI_Count i = 0; i < parts; i++) {
		struct ww_mpi_layout *layout = begin_piece(buffer, count, type);

		add_piece(buffer, layout ? i * count * layout->extent : 0, count, layout);
	}
}

void ww_mpi_shape_v(struct ww_mpi_buffer *buffer, MPI_Count n, struct ww_mpi_numbers counts,
	struct ww_mpi_numbers displs, MPI_Datatype type)
{
	if (!reserve_pieces(buffer, n))
		return;
	for (MPI_Count i = 0; i < n; i++) {
		MPI_Count count = ww_mpi_number(counts, i);
		struct ww_mpi_layout *layout = begin_piece(buffer, count, type);

		add_piece(buffer, layout ? ww_mpi_number(displs, i) * layout->extent : 0, count,
			layout);
	}
}

void ww_mpi_shape_w(struct ww_mpi_buffer *buffer, MPI_Count n, struct ww_mpi_numbers counts,
	struct ww_mpi_numbers displs, const MPI_Datatype types[])
{
	if (!reserve_pieces(buffer, n))
		return;
	for (MPI_Count i = 0; i < n; i++) {
		MPI_Count count = ww_mpi_number(counts, i);
		struct ww_mpi_layout *layout = count > 0 ? begin_piece(buffer, count, types[i])
							 : NULL;

		add_piece(buffer, layout ? ww_mpi_number(displs, i) : 0, count, layout);
	}
}

void ww_mpi_shape_bytes(struct ww_mpi_buffer *buffer, MPI_Count from, MPI_Count to)
{
	add_piece(buffer, from, to - from, begin_piece(buffer, to - from, MPI_BYTE));
}

/* --- copies --- */

/* Where the data of a buffer goes: to or from the staging memory, or a message without gaps. */
enum way {
	WAY_READ,  /* the buffer -> staging memory */
	WAY_WRITE, /* staging memory -> the buffer */
	WAY_PACK,  /* the buffer -> a message */
	WAY_PUT,   /* a message -> the buffer */
	WAY_PEEK,  /* staging memory -> a message, both of the host */
};

struct direction {
	enum way way;
	MPI_Count left;
	char *message;                              /* of the last three */
	const struct ww_mpi_memory *message_memory; /* what it is; NULL: host memory */
	struct ww_mpi_copies copies;
	MPI_Count moved;
};

static void move(struct ww_mpi_buffer *buffer, struct direction *direction, MPI_Count at,
	MPI_Count bytes)
{
	char *user = buffer->user + at;
	char *other = direction->message ? direction->message + direction->moved
					 : buffer->staged + at;
	struct ww_mpi_memory memory;

	direction->moved += bytes;
	if (direction->way == WAY_PEEK) {
		memcpy(other, buffer->staged + at, (size_t)bytes);
		return;
	}
	/* A buffer of which no call has asked so far is host memory. */
	memory = buffer->memory;
	if (memory.is_device && !buffer->is_one)
		ww_mpi_cuda_find(user, &memory);
	if (!memory.is_device && direction->message_memory)
		memory = *direction->message_memory;
	if (direction->way == WAY_READ || direction->way == WAY_PACK)
		ww_mpi_copies_add(&direction->copies, other, user, (size_t)bytes, &memory);
	else
		ww_mpi_copies_add(&direction->copies, user, other, (size_t)bytes, &memory);
}

static void move_element(struct ww_mpi_buffer *buffer, struct direction *direction, MPI_Count at,
	const struct ww_mpi_layout *layout)
{
	for (size_t i = 0; i < layout->run_count && direction->left > 0; i++) {
		MPI_Count bytes = layout->runs[i].bytes;

		bytes = bytes < direction->left ? bytes : direction->left;
		direction->left -= bytes;
		move(buffer, direction, at + layout->runs[i].offset, bytes);
	}
}

static void move_piece(struct ww_mpi_buffer *buffer, struct direction *direction,
	const struct ww_mpi_piece *piece)
{
	const struct ww_mpi_layout *layout = piece->layout;
	MPI_Count bytes;

	if (!layout || is_empty(piece))
		return;
	bytes = piece->count * layout->size;
	/* Elements of one run without gaps are one copy. */
	if (layout->run_count == 1 && layout->extent == layout->size && !layout->is_incomplete) {
		bytes = bytes < direction->left ? bytes : direction->left;
		direction->left -= bytes;
		if (bytes)
			move(buffer, direction, piece->offset + layout->runs[0].offset, bytes);
		return;
	}
	for (MPI_Count i = 0; i < piece->count && direction->left > 0; i++)
		move_element(buffer, direction, piece->offset + i * layout->extent, layout);
}

static int end_move(struct direction *direction)
{
	int error = ww_mpi_copies_end(&direction->copies);

	if (direction->way == WAY_READ)
		ww_mpi_volume_add(0, (unsigned long long)direction->moved, 0);
	else if (direction->way == WAY_WRITE)
		ww_mpi_volume_add(0, 0, (unsigned long long)direction->moved);
	return error;
}

static void move_pieces(struct ww_mpi_buffer *buffer, struct direction *direction)
{
	for (size_t i = 0; i < buffer->piece_count; i++)
		move_piece(buffer, direction, &pieces_of(buffer)[i]);
}

static int move_all(struct ww_mpi_buffer *buffer, struct direction *direction)
{
	move_pieces(buffer, direction);
	return end_move(direction);
}

/* Whether reading the gaps as well costs less than leaving them out. */
static bool is_read_whole(const struct ww_mpi_buffer *buffer)
{
	MPI_Count span = buffer->high - buffer->low;

	return buffer->is_one && (span <= SMALL_SPAN || span / GAPS_MOST <= buffer->bytes);
}

int ww_mpi_buffer_read(struct ww_mpi_buffer *buffer)
{
	struct direction direction = {.way = WAY_READ, .left = WW_MPI_ALL};

	if (!buffer->block)
		return 0;
	if (!is_read_whole(buffer))
		return move_all(buffer, &direction);
	move(buffer, &direction, buffer->low, buffer->high - buffer->low);
	return end_move(&direction);
}

static int move_one(struct ww_mpi_buffer *buffer, enum way way, size_t piece)
{
	struct direction direction = {.way = way, .left = WW_MPI_ALL};

	if (!buffer->block || piece >= buffer->piece_count)
		return 0;
	move_piece(buffer, &direction, &pieces_of(buffer)[piece]);
	return end_move(&direction);
}

int ww_mpi_buffer_read_piece(struct ww_mpi_buffer *buffer, size_t piece)
{
	return move_one(buffer, WAY_READ, piece);
}

int ww_mpi_buffer_write_piece(struct ww_mpi_buffer *buffer, size_t piece)
{
	return move_one(buffer, WAY_WRITE, piece);
}

int ww_mpi_buffer_write(struct ww_mpi_buffer *buffer, MPI_Count most)
{
	struct direction direction = {.way = WAY_WRITE, .left = most};

	if (!(buffer->flags & WW_MPI_OUT))
		return 0;
	if (buffer->is_packed) {
		most = most < buffer->bytes ? most : buffer->bytes;
		ww_mpi_volume_add(0, 0, buffer->block ? (unsigned long long)most : 0);
		return ww_mpi_buffer_put(buffer, buffer->staged, most, NULL);
	}
	if (buffer->is_incomplete && most > 0)
		direction.left = WW_MPI_ALL;
	return buffer->block ? move_all(buffer, &direction) : 0;
}

void ww_mpi_buffer_pack_begin(struct ww_mpi_buffer *buffer, void *message,
	const struct ww_mpi_memory *memory, struct ww_mpi_copies *out_copies)
{
	struct direction direction = {.way = WAY_PACK, .left = WW_MPI_ALL};

	direction.message = message;
	direction.message_memory = memory;
	move_pieces(buffer, &direction);
	ww_mpi_copies_begin(&direction.copies);
	*out_copies = direction.copies;
}

int ww_mpi_buffer_pack(struct ww_mpi_buffer *buffer, void *message,
	const struct ww_mpi_memory *memory)
{
	struct ww_mpi_copies copies;

	ww_mpi_buffer_pack_begin(buffer, message, memory, &copies);
	return ww_mpi_copies_end(&copies);
}

int ww_mpi_buffer_put(struct ww_mpi_buffer *buffer, const void *message, MPI_Count bytes,
	const struct ww_mpi_memory *memory)
{
	struct direction direction = {.way = WAY_PUT, .left = bytes};

	direction.message = (char *)message;
	direction.message_memory = memory;
	return move_all(buffer, &direction);
}

void ww_mpi_buffer_peek(struct ww_mpi_buffer *buffer, void *message, MPI_Count bytes)
{
	struct direction direction = {.way = WAY_PEEK, .left = bytes};

	if (buffer->is_packed) {
		memcpy(message, buffer->staged, (size_t)bytes);
		return;
	}
	direction.message = message;
	move_all(buffer, &direction);
}

/* --- staging --- */

static bool find_at(struct ww_mpi_buffer *buffer, const char *at)
{
	ww_mpi_cuda_find(at, &buffer->memory);
	return buffer->memory.is_device;
}

/* Of absolute addresses each run may lie elsewhere. */
static bool find_in_runs(struct ww_mpi_buffer *buffer, const struct ww_mpi_piece *piece)
{
	for (size_t i = 0; i < piece->layout->run_count; i++) {
		if (find_at(buffer, buffer->user + piece->offset + piece->layout->runs[i].offset))
			return true;
	}
	return false;
}

static bool find_device(struct ww_mpi_buffer *buffer)
{
	for (size_t i = 0; i < buffer->piece_count; i++) {
		const struct ww_mpi_piece *piece = &pieces_of(buffer)[i];
		const char *at;

		if (!piece->layout || is_empty(piece))
			continue;
		at = buffer->user + piece->offset + piece->layout->runs[0].offset;
		if (buffer->user == MPI_BOTTOM ? find_in_runs(buffer, piece) : find_at(buffer, at))
			return true;
	}
	return false;
}

bool ww_mpi_buffer_find(struct ww_mpi_buffer *buffer)
{
	if (!buffer->flags || buffer->status || buffer->bytes == 0)
		return false;
	if (!buffer->memory.is_device) {
		uintptr_t low;
		uintptr_t high;

		if (!find_device(buffer))
			return false;
		low = (uintptr_t)buffer->user + (uintptr_t)buffer->low;
		high = (uintptr_t)buffer->user + (uintptr_t)buffer->high;
		buffer->is_one = low >= buffer->memory.start && high <= buffer->memory.end;
	}
	return true;
}

bool ww_mpi_buffer_has_gaps(const struct ww_mpi_buffer *buffer)
{
	const struct ww_mpi_layout *layout = buffer->one.layout;

	return buffer->bytes > 0 && layout &&
		(layout->run_count != 1 ||
			(layout->extent != layout->size && buffer->one.count > 1));
}

int ww_mpi_buffer_stage_packed(struct ww_mpi_buffer *buffer)
{
	size_t bytes = (size_t)buffer->bytes;

	if (ww_mpi_buffer_find(buffer)) {
		buffer->block = ww_mpi_block_take(bytes, bytes, &buffer->memory);
		buffer->staged = buffer->block ? buffer->block->at : NULL;
		ww_mpi_volume_add(1, 0, 0);
	} else {
		buffer->packed = malloc(bytes);
		buffer->staged = buffer->packed;
	}
	buffer->is_packed = buffer->staged != NULL;
	if (!buffer->is_packed) {
		buffer->staged = buffer->user;
		return WW_MPI_FULL;
	}
	return buffer->flags & WW_MPI_IN ? ww_mpi_buffer_pack(buffer, buffer->staged, NULL) : 0;
}

int ww_mpi_buffer_stage(struct ww_mpi_buffer *buffer)
{
	size_t inset;

	if (buffer->control || buffer->is_packed || !ww_mpi_buffer_find(buffer))
		return buffer->status;
	/* The MPI finds data as aligned as the caller's. */
	inset = ((uintptr_t)buffer->user + (uintptr_t)buffer->low) % 64;
	buffer->block = ww_mpi_block_take((size_t)(buffer->high - buffer->low) + inset,
		(size_t)buffer->bytes, &buffer->memory);
	if (!buffer->block)
		return WW_MPI_FULL;
	buffer->staged = buffer->block->at + inset - buffer->low;
	/* Which bytes a shorter message has is not known: those that it has not are written too. */
	if (buffer->is_incomplete)
		buffer->flags |= WW_MPI_IN;
	ww_mpi_volume_add(1, 0, 0);
	return buffer->flags & WW_MPI_IN ? ww_mpi_buffer_read(buffer) : 0;
}

void ww_mpi_buffer_fini(struct ww_mpi_buffer *buffer)
{
	for (size_t i = 0; i < buffer->piece_count; i++)
		ww_mpi_layout_unref(pieces_of(buffer)[i].layout);
	free(buffer->many);
	ww_mpi_block_give(buffer->block);
	free(buffer->packed);
	free(buffer->control);
	free(buffer->copy);
	ww_mpi_buffer_init(buffer, NULL, 0);
}

int ww_mpi_buffer_error(const struct ww_mpi_buffer *buffer, const char *name, int error)
{
	char text[160];
	size_t used, most, bound;

	if (error == WW_MPI_TYPE)
		return ww_mpi_error(WW_MPI_REASON_TYPE,
			"warpway: %s: cannot stage the device memory at %p: its datatype has an element "
			"of more than 2 GiB with gaps, or spans more addresses than are free: send it in "
			"parts; or the call has no communicator, in a program that uses sessions alone",
			name, (void *)buffer->user);
	if (error == WW_MPI_FULL) {
		ww_mpi_staging_state(&used, &most, &bound);
		return ww_mpi_error(WW_MPI_REASON_FULL,
			"warpway: %s: cannot stage %lld bytes of device memory: the system has not so much "
			"host memory left; %zu bytes are in use for staging: complete requests first, or "
			"send it in parts",
			name, (long long)(buffer->high - buffer->low), used);
	}
	if (error == WW_MPI_UNWATCHED)
		return ww_mpi_error(WW_MPI_REASON_TYPE,
			"warpway: %s: cannot receive at %p beside the direct route: the datatype has "
			"gaps or several blocks, and an element or the whole has more than 2 GiB; use "
			"WARPWAY_MPI_ROUTE=staged",
			name, (void *)buffer->user);
	ww_mpi_cuda_describe(error, text, sizeof(text));
	return ww_mpi_error(WW_MPI_REASON_COPY,
		"warpway: %s: cannot copy the device memory at %p: %s", name, (void *)buffer->user,
		text);
}
