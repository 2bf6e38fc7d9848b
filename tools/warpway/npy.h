/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy.h - the header of NumPy's .npy files
 *
 *   "\x93NUMPY", version (2 bytes), length of the text (2 bytes; 4 from version 2 on),
 *   little-endian, the text: "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", spaces,
 *   a new line, the elements, without gaps
 *
 * The text is a Python literal and is read as nothing more than these three keys with values of
 * that form; nothing is evaluated. Read are versions 1.0, 2.0 and 3.0 with the numeric types,
 * little-endian; written is 1.0. A file is an untrusted process's: every number is checked before
 * it is used.
 */
#ifndef TOOLS_WARPWAY_NPY_H
#define TOOLS_WARPWAY_NPY_H

#include <warpway/array.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NPY_PREFIX_BYTES 12    /* enough to tell how long the header is */
#define NPY_HEADER_MAX   65536 /* the longest header that is read */
#define NPY_REASON_BYTES 200
#define NPY_WRITE_BYTES  1024 /* room for any header that is written */

/**
 * npy_header_bytes() - how many bytes there are before the elements
 * @prefix:      borrowed; the first NPY_PREFIX_BYTES of a file, or all of a shorter one
 * @out_reason:  of NPY_REASON_BYTES; on failure why not
 *
 * Return: whether it is a header that can be read; at most NPY_HEADER_MAX bytes then.
 */
bool npy_header_bytes(const void *prefix, size_t bytes, size_t *out_bytes, char *out_reason);

/**
 * npy_read() - what a header says
 * @header:     borrowed; @bytes of them, as npy_header_bytes() said
 * @out_array:  filled on success; its offset is 0, its strides those of C or Fortran order
 */
bool npy_read(const void *header, size_t bytes, struct ww_array *out_array, char *out_reason);

/* Whether the elements lie in Fortran order without gaps, and not in C order as well. */
bool npy_is_fortran(const struct ww_array *array);

/**
 * npy_write() - make a header
 * @array:       borrowed; one that ww_array_check() accepts. Its elements will follow in Fortran
 *               order if npy_is_fortran(), else in C order; lanes of whole bytes become one more
 *               dimension
 * @out_header:  of NPY_WRITE_BYTES
 * @out_note:    of NPY_REASON_BYTES; what a reader must be told because the file cannot say it: of
 *               a type that NumPy does not have (bfloat16, float8_e4m3fn, ...) the elements are
 *               written as bytes without a meaning. Else empty
 *
 * Return: bytes of the header.
 */
size_t npy_write(const struct ww_array *array, char *out_header, char *out_note);

#endif
