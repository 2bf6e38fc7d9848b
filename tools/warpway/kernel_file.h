/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_file.h - which kernels and C functions `warpway offer` offers, and how it launches kernels
 *
 * A text file with a line for each of them. Empty lines, and what follows '#', are skipped.
 *
 *   NAME: SIGNATURE; grid EXTENT[, EXTENT[, EXTENT]]; block N[, N[, N]] [; shared BYTES]
 *   NAME: SIGNATURE; function
 *
 * Either may end with "; idempotent": to call it again does no harm.
 *
 *   saxpy: f32 a, f32[n] x read, f32[n] y readwrite, i32 n; grid n / 256; block 256
 *   mean: f32[n] x read -> f64 mean; function
 *
 * An EXTENT is a number, or the name of a dimension or of an integer parameter, or such a name
 * divided by a number, rounded up. The kernel's arguments are the parameters in their order:
 * scalars by value, arrays as addresses. So a kernel that needs a length has a parameter for it.
 */
#ifndef TOOLS_WARPWAY_KERNEL_FILE_H
#define TOOLS_WARPWAY_KERNEL_FILE_H

#include <warpway/warpway.h>

#include <stdbool.h>

#define KERNEL_AXES       3
#define KERNEL_LINE_BYTES 2048

/* A number of blocks: of a value, or @count if there is none. */
struct kernel_extent {
	bool has_parameter;
	uint32_t parameter; /* its index in the signature */
	uint32_t dimension; /* of an array: which one */
	uint64_t divisor;
	uint64_t count;
};

struct kernel_line {
	char name[WW_FUNCTION_NAME_BYTES];
	char signature[WW_SIGNATURE_TEXT_BYTES];
	bool is_function; /* of C, a ww_service_fn, which is not launched */
	bool is_idempotent;
	uint32_t parameter_count;
	struct kernel_extent grid[KERNEL_AXES];
	uint32_t block[KERNEL_AXES];
	uint32_t shared_bytes;
};

#define KERNEL_REASON_BYTES 400

/**
 * kernel_line_read() - read one line
 * @text:        changed while it is read
 * @out_kernel:  its name is empty: there is none in this line
 * @out_reason:  filled on failure
 * Return: whether it could be read.
 */
bool kernel_line_read(char *text, struct kernel_line *out_kernel,
	char out_reason[KERNEL_REASON_BYTES]);

/* The number of blocks in a call; 0: it is no number that a launch could have. */
uint32_t kernel_extent_value(const struct kernel_extent *extent, const struct ww_value *values);

#endif
