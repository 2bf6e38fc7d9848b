/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/array.h - how an array lies in a memory
 *
 * A struct ww_array says what the bytes of a memory mean: the type of an element, the shape, and
 * for each dimension the distance in bytes between neighbours. The struct owns nothing and has no
 * pointers. So it can be sent to other processes with a memory (put and get, tokens), and any array
 * library can use it.
 *
 *   element [i, j, ...] is at  start of the memory + offset + i * strides[0] + j * strides[1] + ...
 *
 * Strides are bytes, as in NumPy and the CUDA array interface; DLPack counts elements. They may be
 * negative or zero as long as every element lies inside the memory.
 *
 * A view is another ww_array over the same bytes: a slice, a transpose, another shape. The
 * functions that make views only compute numbers: they do not read, move or copy bytes of the
 * memory, and use no device. Each of them takes an array and fills @out_view, which may be the same
 * struct. On failure, @out_view does not change. If an array is inside a memory, each view of it
 * is, too. If a view would need a copy, the call fails.
 *
 * Every argument may come from an untrusted process, so each product and each sum is checked.
 *
 * Threads: every function may be called from any thread.
 */
#ifndef WARPWAY_ARRAY_H
#define WARPWAY_ARRAY_H

#include <warpway/base.h>
#include <warpway/device.h>
#include <warpway/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WW_ARRAY_DIMS 16

/* struct ww_array.dtype.code: what an element is, numbered as in DLPack's DLDataTypeCode. */
enum {
	WW_DTYPE_INT = 0,
	WW_DTYPE_UINT = 1,
	WW_DTYPE_FLOAT = 2,
	WW_DTYPE_OPAQUE = 3, /* bits whose meaning the library does not know */
	WW_DTYPE_BFLOAT = 4,
	WW_DTYPE_COMPLEX = 5, /* bits counts both parts */
	WW_DTYPE_BOOL = 6,    /* of 8 bits */
	WW_DTYPE_FLOAT8_E3M4 = 7,
	WW_DTYPE_FLOAT8_E4M3 = 8,
	WW_DTYPE_FLOAT8_E4M3B11FNUZ = 9,
	WW_DTYPE_FLOAT8_E4M3FN = 10,
	WW_DTYPE_FLOAT8_E4M3FNUZ = 11,
	WW_DTYPE_FLOAT8_E5M2 = 12,
	WW_DTYPE_FLOAT8_E5M2FNUZ = 13,
	WW_DTYPE_FLOAT8_E8M0FNU = 14,
	WW_DTYPE_FLOAT6_E2M3FN = 15, /* of 6 bits: 4, 8, 12, ... lanes */
	WW_DTYPE_FLOAT6_E3M2FN = 16,
	WW_DTYPE_FLOAT4_E2M1FN = 17 /* of 4 bits: 2, 4, 6, ... lanes */
};

/**
 * struct ww_dtype - the type of an element
 * @code:   WW_DTYPE_...
 * @bits:   of one lane
 * @lanes:  lanes of one element; 1, except for vector types and for types of less than a byte
 *
 * An element fills whole bytes: @bits times @lanes is a multiple of 8. So a float4 has elements of
 * two lanes, and an array of 100 float4 has 50 elements. The struct has the layout of DLPack's
 * DLDataType.
 */
struct ww_dtype {
	uint8_t code;
	uint8_t bits;
	uint16_t lanes;
};

/*
 * The address of a dtype of one lane, for ww_array_set() and the like: WW_DTYPE(WW_DTYPE_FLOAT,
 * 32). For C.
 */
#define WW_DTYPE(code, bits) (&(const struct ww_dtype){(code), (bits), 1})

#define WW_DTYPE_NAME_BYTES 40

/**
 * struct ww_array - an array inside a memory
 * @struct_size:  sizeof(struct ww_array)
 * @dtype:        of its elements
 * @ndim:         dimensions, 0 (one element) to WW_ARRAY_DIMS
 * @reserved:     0
 * @offset:       bytes from the start of the memory to element [0, 0, ...]
 * @shape:        elements in each of the first @ndim dimensions, >= 0; zeros after them
 * @strides:      bytes between neighbours in each of them; zeros after them
 */
struct ww_array {
	uint32_t struct_size;
	struct ww_dtype dtype;
	uint32_t ndim;
	uint32_t reserved;
	uint64_t offset;
	int64_t shape[WW_ARRAY_DIMS];
	int64_t strides[WW_ARRAY_DIMS];
};

/**
 * ww_dtype_parse() - the type of an element by its name
 * @text:       borrowed; "float32", "uint8", "bool", "complex64", "bfloat16", "float8_e4m3fn",
 *              "opaque16" (the number counts bits), ...: the names of NumPy, ml_dtypes and PyTorch.
 *              "x4" or "_x4" at the end means 4 lanes
 * @out_dtype:  filled on success
 *
 * Return: WW_OK; WW_ERR_INVALID (no type has this name, or an element of it would not fill whole
 * bytes).
 */
WW_API ww_status ww_dtype_parse(const char *text, struct ww_dtype *out_dtype);

/**
 * ww_dtype_name() - the name of a type of elements
 * @dtype:     borrowed
 * @out_text:  filled with the name that ww_dtype_parse() reads, ended by a zero byte; empty on
 *             failure
 *
 * Return: WW_OK; WW_ERR_INVALID (not a valid type; the record says why).
 */
WW_API ww_status ww_dtype_name(const struct ww_dtype *dtype, char out_text[WW_DTYPE_NAME_BYTES]);

/**
 * ww_array_set() - describe an array
 * @array:    the caller's, filled on success; no field need be set before
 * @dtype:    borrowed; WW_DTYPE(WW_DTYPE_FLOAT, 32), or as ww_dtype_parse() filled it
 * @ndim:     0 to WW_ARRAY_DIMS
 * @shape:    borrowed; @ndim numbers >= 0; may be NULL when @ndim is 0
 * @strides:  borrowed; @ndim numbers, bytes between neighbours, may be 0 or negative; NULL: C order
 *            without gaps
 * @offset:   bytes from the start of the memory to element [0, 0, ...]
 *
 * Return: WW_OK; WW_ERR_INVALID (no such dtype, too many dimensions, a negative one);
 *         WW_ERR_OVERFLOW (sizes or strides are too large for the computation). ww_array_check()
 *         tells whether the array lies inside a memory.
 */
WW_API ww_status ww_array_set(struct ww_array *array, const struct ww_dtype *dtype, uint32_t ndim,
	const int64_t *shape, const int64_t *strides, uint64_t offset);

/**
 * ww_array_check() - whether every element of an array lies inside a memory
 * @array:  borrowed; may come from an untrusted process
 * @bytes:  of the memory
 *
 * Return: WW_OK; WW_ERR_INVALID (not a valid array; the record says why); WW_ERR_OVERFLOW (its
 *         shape or strides are too large for the computation); WW_ERR_MISMATCH (it reaches outside
 *         the memory).
 */
WW_API ww_status ww_array_check(const struct ww_array *array, uint64_t bytes);

/**
 * ww_array_bytes() - how many bytes the elements have, without gaps
 * @array:      borrowed
 * @out_bytes:  elements times bytes of one element
 *
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_OVERFLOW.
 */
WW_API ww_status ww_array_bytes(const struct ww_array *array, uint64_t *out_bytes);

/**
 * ww_array_span() - which bytes of the memory an array reaches
 * @array:      borrowed
 * @out_first:  bytes from the start of the memory to the lowest byte of any element
 * @out_end:    ... to the byte behind the highest; both are the offset when there are no elements
 *
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_OVERFLOW; WW_ERR_MISMATCH (it reaches before the start of
 *         its memory).
 */
WW_API ww_status ww_array_span(const struct ww_array *array, uint64_t *out_first,
	uint64_t *out_end);

/**
 * ww_array_is_contiguous() - whether the elements lie in C order without gaps
 * @array:  borrowed
 *
 * An array without elements, or with one element, is contiguous.
 *
 * Return: 1 if it is contiguous; 0 if it is not, or if @array is not a valid array.
 */
WW_API int32_t ww_array_is_contiguous(const struct ww_array *array);

/**
 * ww_array_is_fortran() - whether the elements lie in Fortran order without gaps
 * @array:  borrowed
 *
 * Fortran order: the first index runs fastest. If a contiguous array has one dimension, one element
 * or no element, it is contiguous in both orders.
 *
 * Return: 1 if it is contiguous; 0 if it is not, or if @array is not a valid array.
 */
WW_API int32_t ww_array_is_fortran(const struct ww_array *array);

/* Results of ww_array_overlap() and ww_array_self_overlap(). */
enum {
	WW_OVERLAP_NONE = 0, /* they share no byte */
	WW_OVERLAP_SOME = 1, /* they share at least one byte */
	WW_OVERLAP_MAY = 2   /* not decided; treat it as WW_OVERLAP_SOME */
};

/**
 * ww_array_overlap() - whether two arrays in one memory share a byte
 * @array:        borrowed
 * @other:        borrowed; its offset counts from the start of the same memory
 * @out_overlap:  WW_OVERLAP_...
 *
 * Three cheap rules decide, and every other case is WW_OVERLAP_MAY:
 *   - If the spans of the arrays do not overlap, or one array has no elements, they share no byte.
 *   - If the elements of the two arrays do not overlap modulo the common divisor of all strides,
 *     the arrays share no byte. An example is the even and the odd columns of a matrix.
 *   - An array without gaps shares a byte with every array that begins or ends inside it.
 *
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_MISMATCH (one reaches before the start of the memory);
 *         WW_ERR_OVERFLOW.
 */
WW_API ww_status ww_array_overlap(const struct ww_array *array, const struct ww_array *other,
	uint32_t *out_overlap);

/**
 * ww_array_self_overlap() - whether two elements of one array share a byte
 * @array:        borrowed
 * @out_overlap:  WW_OVERLAP_...; code that writes all elements in parallel needs WW_OVERLAP_NONE
 *
 * If a stride is shorter than an element, as in broadcasts, two elements share a byte. If the
 * strides are sorted from the smallest on, and each of them is at least as large as the span of the
 * dimensions before it, no two elements share a byte. This is true for every view by slices,
 * indices, permutations and reshapes of an array without gaps. Every other case is WW_OVERLAP_MAY.
 *
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_MISMATCH; WW_ERR_OVERFLOW, as ww_array_overlap().
 */
WW_API ww_status ww_array_self_overlap(const struct ww_array *array, uint32_t *out_overlap);

/* For ww_array_slice(): a number that is left out, as in Python's [::2]. */
#define WW_SLICE_NONE INT64_MIN

/**
 * ww_array_slice() - the view array[start:stop:step] in one dimension
 * @array:     borrowed
 * @dim:       which dimension, from 0 on
 * @start:     first index; negative ones count from the end; or WW_SLICE_NONE
 * @stop:      the first index that is not taken; negative ones count from the end; or WW_SLICE_NONE
 * @step:      not 0; negative ones go backwards; WW_SLICE_NONE: 1
 * @out_view:  filled on success; may be @array
 *
 * The rules are exactly those of Python: indices outside the dimension are left out, a slice
 * without indices makes a dimension of 0 elements, and (WW_SLICE_NONE, WW_SLICE_NONE, -1) reverses
 * the dimension.
 *
 * Return: WW_OK; WW_ERR_INVALID (no such dimension, a step of 0); as ww_array_span().
 */
WW_API ww_status ww_array_slice(const struct ww_array *array, uint32_t dim, int64_t start,
	int64_t stop, int64_t step, struct ww_array *out_view);

/**
 * ww_array_index() - the view at one index of a dimension, without that dimension
 * @array:     borrowed
 * @dim:       which dimension, from 0 on
 * @index:     negative ones count from the end
 * @out_view:  filled on success, with one dimension less; may be @array
 *
 * Return: WW_OK; WW_ERR_INVALID (no such dimension or index); as ww_array_span().
 */
WW_API ww_status ww_array_index(const struct ww_array *array, uint32_t dim, int64_t index,
	struct ww_array *out_view);

/**
 * ww_array_permute() - the view with its dimensions in another order
 * @array:     borrowed
 * @order:     borrowed; for each dimension of the view, the number of the dimension of @array, each
 *             once; NULL: the reverse order, which transposes
 * @out_view:  filled on success; may be @array
 *
 * Return: WW_OK; WW_ERR_INVALID (@order is not an order of the dimensions); as ww_array_span().
 */
WW_API ww_status ww_array_permute(const struct ww_array *array, const uint32_t *order,
	struct ww_array *out_view);

/**
 * ww_array_broadcast() - the view in which an array is repeated until it has a shape
 * @array:     borrowed
 * @ndim:      at least that of @array, at most WW_ARRAY_DIMS
 * @shape:     borrowed; its last dimensions equal those of @array, unless @array has 1 there; the
 *             dimensions before are new
 * @out_view:  filled on success; repeated dimensions have stride 0; may be @array
 *
 * Return: WW_OK; WW_ERR_INVALID (the shapes do not match); WW_ERR_OVERFLOW (more than 2^63 - 1
 *         bytes, including repeated ones); as ww_array_span().
 */
WW_API ww_status ww_array_broadcast(const struct ww_array *array, uint32_t ndim,
	const int64_t *shape, struct ww_array *out_view);

/**
 * ww_array_reshape() - the view of the same elements, in C order, in another shape
 * @array:     borrowed
 * @ndim:      0 to WW_ARRAY_DIMS
 * @shape:     borrowed; one number may be -1: it is computed from the number of elements
 * @out_view:  filled on success; may be @array
 *
 * Return: WW_OK; WW_ERR_INVALID (another number of elements; two of -1); WW_ERR_OVERFLOW;
 *         WW_ERR_UNSUPPORTED (no strides describe the elements in this shape: copy them in C order
 *         first); as ww_array_span().
 */
WW_API ww_status ww_array_reshape(const struct ww_array *array, uint32_t ndim, const int64_t *shape,
	struct ww_array *out_view);

/**
 * ww_array_reinterpret() - the view of the same bytes as elements of another type
 * @array:     borrowed
 * @dtype:     borrowed
 * @out_view:  filled on success; may be @array
 *
 * If the new elements have another size, the last dimension gets more or fewer elements: it must
 * have no gaps, and its bytes must be a multiple of the new size. The bytes are not converted. The
 * call does not check the alignment, but the device that reads may need it.
 *
 * Return: WW_OK; WW_ERR_INVALID (no such dtype; the last dimension's bytes are not a multiple of
 *         its size; another size and no dimension); WW_ERR_UNSUPPORTED (the last
 *         dimension has gaps: copy in C order first); as ww_array_span().
 */
WW_API ww_status ww_array_reinterpret(const struct ww_array *array, const struct ww_dtype *dtype,
	struct ww_array *out_view);

/**
 * ww_array_handle_open() - map an array that a program shares by a legacy handle
 * @device:      borrowed; the device that shall reach it
 * @handle:      borrowed; a CUipcMemHandle, as from cudaIpcGetMemHandle()
 * @array:       borrowed; how the array lies in the allocation: its offset counts from the start of
 *               the allocation, whatever pointer in it was given to cudaIpcGetMemHandle()
 * @params:      borrowed; NULL: for reading. As for ww_memory_handle_open()
 * @out_memory:  the caller's; NULL on failure: the whole allocation, in which @array lies
 *
 * If a byte of the array lies outside the allocation, the call fails. So a wrong shape from the
 * other program cannot give access to other allocations. The call cannot check the type.
 *
 * Return: WW_OK; WW_ERR_MISMATCH (it reaches outside the allocation); WW_ERR_INVALID,
 *         WW_ERR_OVERFLOW (as ww_array_set()); as ww_memory_handle_open().
 */
WW_API ww_status ww_array_handle_open(ww_device *device, const struct ww_memory_handle *handle,
	const struct ww_array *array, const struct ww_import_params *params,
	ww_memory **out_memory);

#ifdef __cplusplus
}
#endif

#endif
