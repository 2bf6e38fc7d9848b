/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran.h - what the Fortran modules need from C: objects by number, messages, arrays
 *
 * A Fortran variable may be copied bit by bit, by allocate(source=) or a structure constructor, and
 * each copy is finalized. So a variable has no pointer, but the number of an entry in a table. A
 * number is used once: after it was closed, every copy of it is closed, and a call with it fails.
 *
 * Threads: any. A thread that closes an object must know that no other thread is in a call on it.
 */
#ifndef WARPWAY_FORTRAN_H
#define WARPWAY_FORTRAN_H

#include <ISO_Fortran_binding.h>
#include <warpway/warpway.h>

/* What an entry of the table is, in the order of handle.c's table of kinds. */
enum {
	KIND_DEVICE = 1,
	KIND_STREAM,
	KIND_MEMORY,
	KIND_POOL,
	KIND_BROKER,
	KIND_TIMELINE,
	KIND_EVENT,
	KIND_BARRIER,
	KIND_CHANNEL,
	KIND_SERVICE,
	KIND_CLIENT,
	KIND_TICKET
};

/* Sets the message of this thread, for ww_fortran_message(). Returns status. */
ww_status ww_fortran_fail(ww_status status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ... with a text of Fortran. */
ww_status ww_fortran_fail_text(ww_status status, const char *text, int64_t length);

/* The message of a status that a call of this thread has just returned; returns its length. */
int64_t ww_fortran_message(ww_status status, char *text, int64_t capacity);

/*
 * A new number for an object of which the caller has a reference, which the table takes also on
 * failure. 0: out of memory.
 */
int64_t ww_fortran_keep(void *object, int32_t kind);

/* Another number for the same object; 0: there is no such number, or out of memory. */
int64_t ww_fortran_copy(int64_t number);

/* Ends a number; the object is released with the last one of it. Any value is allowed. */
void ww_fortran_close(int64_t number);

/* The object, borrowed, or NULL with the message set. kind 0: any. */
void *ww_fortran_find(int64_t number, int32_t kind);

/* Whether there is such a number; how many there are; how many views. */
int32_t ww_fortran_is_open(int64_t number);
int64_t ww_fortran_count(void);
int64_t ww_fortran_views(void);

/* A view of an object's bytes at base begins, and keeps the object; or ends. */
ww_status ww_fortran_view_begin(int64_t number, void *base);
ww_status ww_fortran_view_end(CFI_cdesc_t *pointer);

/*
 * Has a Fortran pointer show an array in a memory; it is disassociated on failure. access: what the
 * program will do with it.
 */
ww_status ww_fortran_view(int64_t memory, const struct ww_array *array, uint32_t access,
	CFI_cdesc_t *pointer);

/* ... a frame of a channel, which the frame does not keep. */
ww_status ww_fortran_view_frame(int64_t channel, const struct ww_frame *frame, uint32_t access,
	CFI_cdesc_t *pointer);

/* Describes a Fortran array: where it lies in a memory; with memory 0 one like it, at the start. */
ww_status ww_fortran_describe(const CFI_cdesc_t *values, int64_t memory, struct ww_array *array);

/* Copies a Fortran array into a memory, or out of it. */
ww_status ww_fortran_write(int64_t memory, uint64_t offset, const CFI_cdesc_t *values,
	uint64_t timeout_ns);
ww_status ww_fortran_read(int64_t memory, uint64_t offset, const CFI_cdesc_t *values,
	uint64_t timeout_ns);

/* ... a text. */
ww_status ww_fortran_write_text(int64_t memory, uint64_t offset, const char *text, uint64_t bytes,
	uint64_t timeout_ns);
ww_status ww_fortran_read_text(int64_t memory, uint64_t offset, char *text, uint64_t bytes,
	uint64_t timeout_ns);

#endif
