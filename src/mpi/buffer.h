/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.h - one buffer of an MPI call: its shape, and the host memory that stands in for it
 *
 *   ww_mpi_buffer_init(&buffer, address, flags);
 *   ww_mpi_shape_...(&buffer, ...);            which bytes the call uses
 *   code = ww_mpi_buffer_stage(&buffer);       takes host memory; reads the device memory
 *   ... the MPI works with buffer.staged ...
 *   code = ww_mpi_buffer_write(&buffer, most); writes the device memory
 *   ww_mpi_buffer_fini(&buffer);
 *
 * A buffer is staged only if some of its bytes are device memory; else .staged is the caller's own
 * address. What is not written is left alone, gaps between the bytes of a datatype too: other
 * receives and kernels may be writing there.
 */
#ifndef WW_MPI_BUFFER_H
#define WW_MPI_BUFFER_H

#include "mpi/layout.h"
#include "mpi/staging.h"

enum {
	WW_MPI_IN = 1,  /* the call reads the buffer */
	WW_MPI_OUT = 2, /* it writes all of it, or as much as a status says */
	WW_MPI_INOUT = WW_MPI_IN | WW_MPI_OUT,
};

/* Some elements of one type. */
struct ww_mpi_piece {
	MPI_Count offset; /* bytes, from the buffer's address */
	MPI_Count count;
	struct ww_mpi_layout *layout; /* a reference */
};

struct ww_mpi_buffer {
	char *user;   /* what the caller gave */
	char *staged; /* what the MPI gets */
	int flags;
	int status; /* 0, or what went wrong while the shape was made */
	size_t piece_count;
	struct ww_mpi_piece one;
	struct ww_mpi_piece *many; /* NULL: `one` is all */
	MPI_Count low;             /* the data's span, from user on */
	MPI_Count high;
	MPI_Count bytes;    /* of data */
	bool is_opaque;     /* there is more, of a type that cannot be looked at */
	bool is_incomplete; /* of a layout that is so: only the MPI can pack the data */
	bool is_one;        /* the span lies in one allocation, whose memory this is: */
	struct ww_mpi_memory memory;
	struct ww_mpi_block *block; /* NULL: not staged */
	bool is_packed;             /* .staged has the data without gaps: of the block, or of: */
	void *packed;               /* memory of the heap; NULL: none */
	void *control;              /* direct.h; sent in its place; NULL: none is */
	void *copy; /* of the heap: what an exchange sends, while it receives; NULL: none */
};

/* Counts and displacements of an argument: int, or MPI_Count and MPI_Aint. */
struct ww_mpi_numbers {
	const void *at;
	size_t width;
};

#define WW_MPI_NUMBERS_OF(array) ((struct ww_mpi_numbers){(array), sizeof(*(array))})

MPI_Count ww_mpi_number(struct ww_mpi_numbers numbers, MPI_Count i);
MPI_Count ww_mpi_sum(struct ww_mpi_numbers numbers, MPI_Count count);

/* What ww_mpi_buffer.status and the calls below may be, beside the driver's errors (> 0). */
enum {
	WW_MPI_FULL = -1,      /* the system has no memory for it */
	WW_MPI_TYPE = -2,      /* a datatype that cannot be looked at, or no memory */
	WW_MPI_UNWATCHED = -3, /* a receive that cannot be watched: direct.h */
};

/* @flags: 0: the call does not use it. */
void ww_mpi_buffer_init(struct ww_mpi_buffer *buffer, const void *user, int flags);

/* One of these, unless the flags are 0. A shape that the MPI will refuse is taken as empty. */
void ww_mpi_shape_plain(struct ww_mpi_buffer *buffer, MPI_Count count, MPI_Datatype type);
/* @parts elements of @count * type each, which are ready one by one */
void ww_mpi_shape_parts(struct ww_mpi_buffer *buffer, MPI_Count parts, MPI_Count count,
	MPI_Datatype type);
/* @displs.at NULL: side by side; in extents of the type */
void ww_mpi_shape_v(struct ww_mpi_buffer *buffer, MPI_Count n, struct ww_mpi_numbers counts,
	struct ww_mpi_numbers displs, MPI_Datatype type);
/* in bytes */
void ww_mpi_shape_w(struct ww_mpi_buffer *buffer, MPI_Count n, struct ww_mpi_numbers counts,
	struct ww_mpi_numbers displs, const MPI_Datatype types[]);
void ww_mpi_shape_bytes(struct ww_mpi_buffer *buffer, MPI_Count from, MPI_Count to);

/* Whether some of its bytes are device memory; then .memory says which. */
bool ww_mpi_buffer_find(struct ww_mpi_buffer *buffer);

/* Return: 0; WW_MPI_FULL, WW_MPI_TYPE or the driver's error. */
int ww_mpi_buffer_stage(struct ww_mpi_buffer *buffer);

/*
 * A message of any length is received without gaps, and written to the buffer later: MPICH takes
 * one that ends within an element of a type with gaps for too long. Return: as above
 */
bool ww_mpi_buffer_has_gaps(const struct ww_mpi_buffer *buffer);
int ww_mpi_buffer_stage_packed(struct ww_mpi_buffer *buffer);

/* Reads or writes one piece, or all; the first @most bytes of data only. */
int ww_mpi_buffer_read(struct ww_mpi_buffer *buffer);
int ww_mpi_buffer_read_piece(struct ww_mpi_buffer *buffer, size_t piece);
int ww_mpi_buffer_write_piece(struct ww_mpi_buffer *buffer, size_t piece);
int ww_mpi_buffer_write(struct ww_mpi_buffer *buffer, MPI_Count most);

#define WW_MPI_ALL INT64_MAX

/*
 * Copies the data to a message without gaps, or the first bytes of a message to the buffer. A
 * buffer that .is_incomplete cannot be packed.
 * @memory: what the message is; NULL: host memory. Return: 0 or the driver's error
 */
int ww_mpi_buffer_pack(struct ww_mpi_buffer *buffer, void *message,
	const struct ww_mpi_memory *memory);
/* The first part of it: the copies begin. The caller ends them by ww_mpi_copies_end(). */
void ww_mpi_buffer_pack_begin(struct ww_mpi_buffer *buffer, void *message,
	const struct ww_mpi_memory *memory, struct ww_mpi_copies *out_copies);
int ww_mpi_buffer_put(struct ww_mpi_buffer *buffer, const void *message, MPI_Count bytes,
	const struct ww_mpi_memory *memory);
/* Copies the first bytes that the MPI wrote: from the staging memory, or from a host buffer. */
void ww_mpi_buffer_peek(struct ww_mpi_buffer *buffer, void *message, MPI_Count bytes);

void ww_mpi_buffer_fini(struct ww_mpi_buffer *buffer);

/* Makes the text and the code of an error of these calls. @name: the MPI call. Return: the code. */
int ww_mpi_buffer_error(const struct ww_mpi_buffer *buffer, const char *name, int error);

#endif
