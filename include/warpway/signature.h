/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/signature.h - what a function of a service takes and returns, as one line of text
 *
 *   f32 a, f32[n] x read, f32[n] y readwrite -> f64 sum
 *
 * A server offers each function with a signature, and every call is checked against it: types,
 * shapes, access. Clients read the same text to convert values and to show what a function needs.
 *
 *   signature = [ parameters ] [ "->" results ]
 *   parameters = parameter { "," parameter }
 *   parameter = scalar name [ "=" value ]
 *             | bytes name [ "=" "none" ]
 *             | array name access [ "strided" ] [ "=" "none" ]
 *             | "timeline" name [ "=" "none" ]
 *   results   = result { "," result }
 *   result    = ( scalar | bytes ) name | array name [ "strided" ]
 *   scalar    = "bool" | "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64"
 *             | "f16" | "bf16" | "f32" | "f64"
 *   bytes     = "bytes" [ "[" number "]" ]
 *   array     = ( scalar | "c64" | "c128" | dtype | "any" ) "[" [ "..." | dim { "," dim } ] "]"
 *   dim       = number | name | "*"
 *   access    = "read" | "write" | "readwrite"
 *   value     = "true" | "false" | [ "-" ] number [ fraction ] [ exponent ] | [ "-" ] "inf" | "nan"
 *   name      = ( letter | "_" ) { letter | digit | "_" }
 *
 * A dtype is a name that ww_dtype_parse() reads, such as float32 (short form: f32), float8_e4m3fn
 * or float32x4. Spaces, tabs and line feeds are allowed between words.
 *
 * Arrays:
 *   - "[n]": all dimensions of the same name have the same length, in all arguments and results of
 *     a call.
 *   - "[*]": a dimension of any length. "[]": one element. "[...]": any number of dimensions.
 *   - "any": elements of any type. A memory without a description is an array u8[its bytes].
 *   - The elements lie in C order without gaps, so that a kernel needs only the address. With
 *     "strided" they may lie anywhere in their memory, as struct ww_array says.
 *   - "read": the argument's token must grant reading; "write" and "readwrite": writing.
 *
 * If a scalar of integer type has the name of a dimension, its value is the length of that
 * dimension. It may be left out if an array with the dimension is given. If both are given, they
 * must agree. No other parameter or result has the name of a dimension.
 *
 * Optional arguments have a default value or "= none". If an argument is none, the function gets
 * NULL.
 *
 * Each signature has one canonical text, which the calls of this header return: short names of
 * types, one space between words, and for each value the fewest digits that identify it in its
 * type. Two functions have the same signature if and only if the canonical texts are the same.
 *
 * warpway-signature(7) explains the rules, with examples.
 *
 * Threads: every function may be called from any thread. No function keeps its arguments.
 */
#ifndef WARPWAY_SIGNATURE_H
#define WARPWAY_SIGNATURE_H

#include <warpway/array.h>
#include <warpway/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most arguments, and results: above the 26 of the widest routines of LAPACK. */
#define WW_CALL_ARGS_MAX 32
/* The most bytes of an argument or result of type bytes: a page. Larger ones go in a memory. */
#define WW_CALL_BYTES_MAX 4096
/*
 * The most bytes of all arguments, or all results, of a call in encoded form. 32 arrays need 25
 * KiB.
 */
#define WW_CALL_RECORD_MAX 32768

#define WW_SIGNATURE_TEXT_BYTES 1024 /* of a canonical text with its ending zero */
#define WW_SIGNATURE_NAME_BYTES 32   /* of the name of a parameter or dimension, with its zero */
#define WW_SCALAR_TEXT_BYTES    32   /* of the text of a scalar with its zero */

/* What an argument is. */
enum {
	WW_ARGUMENT_NONE = 0, /* left out */
	WW_ARGUMENT_SCALAR = 1,
	WW_ARGUMENT_BYTES = 2,
	WW_ARGUMENT_ARRAY = 3,
	WW_ARGUMENT_TIMELINE = 4
};

/**
 * struct ww_signature_info - a signature as a whole
 * @struct_size:      sizeof(struct ww_signature_info)
 * @parameter_count:  parameters, 0 to WW_CALL_ARGS_MAX
 * @result_count:     results, 0 to WW_CALL_ARGS_MAX
 * @reserved:         0
 * @hash:             of the canonical text: FNV-1a, 64 bits
 * @text:             the canonical text
 */
struct ww_signature_info {
	uint32_t struct_size;
	uint32_t parameter_count;
	uint32_t result_count;
	uint32_t reserved;
	uint64_t hash;
	char text[WW_SIGNATURE_TEXT_BYTES];
};

/* ww_parameter_info.flags */
#define WW_PARAMETER_OPTIONAL UINT32_C(0x1)  /* it has a default, or may be none */
#define WW_PARAMETER_DEFAULT  UINT32_C(0x2)  /* @scalar is its default */
#define WW_PARAMETER_STRIDED  UINT32_C(0x4)  /* its elements may lie anywhere */
#define WW_PARAMETER_ANY_TYPE UINT32_C(0x8)  /* its elements may have any type */
#define WW_PARAMETER_ANY_RANK UINT32_C(0x10) /* it may have any number of dimensions */
/* a scalar that is a dimension: if it is left out, its value is taken from the arrays */
#define WW_PARAMETER_DIMENSION UINT32_C(0x20)
/* "write": the function does not read the earlier content of the array */
#define WW_PARAMETER_WRITE_ONLY UINT32_C(0x40)

/**
 * struct ww_parameter_info - a parameter or a result
 * @struct_size:  sizeof(struct ww_parameter_info)
 * @kind:         WW_ARGUMENT_SCALAR, _BYTES, _ARRAY or _TIMELINE
 * @dtype:        of a scalar, or of an array's elements; zeros for other kinds, and for elements of
 *                any type
 * @access:       of an array: WW_ACCESS_READ or WW_ACCESS_WRITE, what the call needs; else 0
 * @flags:        WW_PARAMETER_... bits
 * @bytes_max:    for bytes: the largest number of bytes
 * @ndim:         dimensions of an array
 * @reserved:     0
 * @scalar:       with WW_PARAMETER_DEFAULT: the default, as ww_scalar_parse() fills it
 * @shape:        length of each dimension; -1: decided by the call
 * @name:         its name
 * @type:         its type in canonical form, without the name: "f32[n, 4]"
 */
struct ww_parameter_info {
	uint32_t struct_size;
	uint32_t kind;
	struct ww_dtype dtype;
	uint32_t access;
	uint32_t flags;
	uint32_t bytes_max;
	uint32_t ndim;
	uint32_t reserved;
	uint64_t scalar;
	int64_t shape[WW_ARRAY_DIMS];
	char name[WW_SIGNATURE_NAME_BYTES];
	char type[WW_SIGNATURE_TEXT_BYTES];
};

/**
 * ww_signature_info_get() - check a signature, and write it in its canonical form
 * @text:  borrowed; the signature
 * @info:  the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_ERR_INVALID (not a signature: the record names the column and what was expected
 *         there; or struct_size is not set); WW_ERR_LIMIT (too many parameters, results,
 *         dimensions, names or bytes); WW_ERR_NO_MEMORY.
 */
WW_API ww_status ww_signature_info_get(const char *text, struct ww_signature_info *info);

/**
 * ww_signature_parameter_get() - one parameter of a signature
 * @text:   borrowed; the signature
 * @index:  from 0 on
 * @info:   the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_END (there are no more); as ww_signature_info_get().
 */
WW_API ww_status ww_signature_parameter_get(const char *text, uint32_t index,
	struct ww_parameter_info *info);

/**
 * ww_signature_result_get() - one result of a signature
 * @text:   borrowed; the signature
 * @index:  from 0 on
 * @info:   the caller's, with struct_size set; filled on success
 *
 * Return: as ww_signature_parameter_get().
 */
WW_API ww_status ww_signature_result_get(const char *text, uint32_t index,
	struct ww_parameter_info *info);

/**
 * ww_scalar_parse() - the value of a scalar from text
 * @dtype:       borrowed; a type that a scalar can have
 * @text:        borrowed; "true" and "false" for bool, a decimal number for the others, also "inf",
 *               "-inf" and "nan" for floating point
 * @out_scalar:  filled on success: the bits of the value, zeros above them
 *
 * Floating point is rounded to the nearest value of the type; for types of 16 bits, it is rounded
 * to an f64 first. The locale has no influence.
 *
 * Return: WW_OK; WW_ERR_INVALID (no scalar has this type; the text is not a value, or does not
 *         fit).
 */
WW_API ww_status ww_scalar_parse(const struct ww_dtype *dtype, const char *text,
	uint64_t *out_scalar);

/**
 * ww_scalar_text() - the value of a scalar as text
 * @dtype:     borrowed; a type that a scalar can have
 * @scalar:    the bits of the value; higher bits are ignored
 * @out_text:  filled with the fewest digits from which ww_scalar_parse() makes the same value,
 *             ended by a zero byte; empty on failure. All nan are one value
 *
 * Return: WW_OK; WW_ERR_INVALID (no scalar has this type).
 */
WW_API ww_status ww_scalar_text(const struct ww_dtype *dtype, uint64_t scalar,
	char out_text[WW_SCALAR_TEXT_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
