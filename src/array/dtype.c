/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtype.c - types of elements and their names, see dtype.h and warpway/array.h
 *
 * One table gives the name of each code and the numbers of bits that it may have. Most types have
 * several sizes, and their names are a word and the number of bits: "float" and 32. Other types
 * have one size, and digits in their names mean other things: "float8_e4m3fn". So a name is
 * compared with the rows of the table, and is not split before.
 *
 * An element must fill whole bytes, because an address counts bytes. A type of less than a byte
 * needs as many lanes as fill whole bytes.
 */
#include "array/dtype.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* The numbers of bits that a type may have, and how its name is made. */
enum rule {
	POWERS, /* powers of two from least to most, part of the name */
	BYTES,  /* multiples of 8 from least to most, part of the name */
	ONE     /* only least; the name does not end with it */
};

static const struct type {
	const char *name;
	enum rule rule;
	uint8_t least;
	uint8_t most;
} types[] = {
	[WW_DTYPE_INT] = {"int", POWERS, 1, 128},
	[WW_DTYPE_UINT] = {"uint", POWERS, 1, 128},
	[WW_DTYPE_FLOAT] = {"float", POWERS, 8, 128},
	[WW_DTYPE_OPAQUE] = {"opaque", BYTES, 8, 248},
	[WW_DTYPE_BFLOAT] = {"bfloat", POWERS, 8, 128},
	[WW_DTYPE_COMPLEX] = {"complex", POWERS, 16, 128},
	[WW_DTYPE_BOOL] = {"bool", ONE, 8, 8},
	[WW_DTYPE_FLOAT8_E3M4] = {"float8_e3m4", ONE, 8, 8},
	[WW_DTYPE_FLOAT8_E4M3] = {"float8_e4m3", ONE, 8, 8},
	[WW_DTYPE_FLOAT8_E4M3B11FNUZ] = {"float8_e4m3b11fnuz", ONE, 8, 8},
	[WW_DTYPE_FLOAT8_E4M3FN] = {"float8_e4m3fn", ONE, 8, 8},
	[WW_DTYPE_FLOAT8_E4M3FNUZ] = {"float8_e4m3fnuz", ONE, 8, 8},
	[WW_DTYPE_FLOAT8_E5M2] = {"float8_e5m2", ONE, 8, 8},
	[WW_DTYPE_FLOAT8_E5M2FNUZ] = {"float8_e5m2fnuz", ONE, 8, 8},
	[WW_DTYPE_FLOAT8_E8M0FNU] = {"float8_e8m0fnu", ONE, 8, 8},
	[WW_DTYPE_FLOAT6_E2M3FN] = {"float6_e2m3fn", ONE, 6, 6},
	[WW_DTYPE_FLOAT6_E3M2FN] = {"float6_e3m2fn", ONE, 6, 6},
	[WW_DTYPE_FLOAT4_E2M1FN] = {"float4_e2m1fn", ONE, 4, 4},
};

#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

_Static_assert(TYPE_COUNT == WW_DTYPE_FLOAT4_E2M1FN + 1, "a type without a row");

static bool has_bits(const struct type *type, uint32_t bits)
{
	if (bits < type->least || bits > type->most)
		return false;
	return type->rule == BYTES ? bits % 8 == 0 : type->rule == ONE || !(bits & (bits - 1));
}

ww_status ww_dtype_check(struct ww_dtype dtype)
{
	uint32_t code = dtype.code;
	uint32_t bits = dtype.bits;
	uint32_t lanes = dtype.lanes;

	if (code >= TYPE_COUNT)
		return ww_fail(WW_ERR_INVALID,
			"an array has no known type of element: code %" PRIu32, code);
	if (!code && !bits && !lanes)
		return ww_fail(WW_ERR_INVALID,
			"an array is not filled in: the type of its elements is all zeros");
	if (!has_bits(&types[code], bits))
		return ww_fail(WW_ERR_INVALID,
			"an array's elements of type %s (code %" PRIu32 ") cannot have %" PRIu32
			" bits",
			types[code].name, code, bits);
	if (lanes == 0)
		return ww_fail(WW_ERR_INVALID, "an array's elements have no lanes; usual is 1");
	if (bits * lanes % 8 != 0)
		return ww_fail(WW_ERR_INVALID,
			"an array's element of type %s has %" PRIu32 " bits in %" PRIu32
			" lanes, which fill no whole bytes; make the lanes a multiple of %d",
			types[code].name, bits, lanes,
			bits % 2           ? 8
				: bits % 4 ? 4
					   : 2);
	return WW_OK;
}

/* Reads a number from 1 to @most without leading zeros, and moves @at behind it. */
static bool read_number(const char **at, uint32_t most, uint32_t *out_value)
{
	uint32_t value = 0;

	if (**at == '0')
		return false;
	for (; **at >= '0' && **at <= '9'; (*at)++) {
		value = 10 * value + (uint32_t)(**at - '0');
		if (value > most)
			return false;
	}
	*out_value = value;
	return value > 0;
}

/* Reads what follows the bits: an empty string, "x4", or "_x4". */
static bool read_lanes(const char *at, uint32_t *out_lanes)
{
	*out_lanes = 1;
	if (!*at)
		return true;
	if (*at == '_')
		at++;
	if (*at++ != 'x')
		return false;
	return read_number(&at, UINT16_MAX, out_lanes) && !*at;
}

static bool read_as(const struct type *type, const char *text, uint32_t *out_bits,
	uint32_t *out_lanes)
{
	size_t length = strlen(type->name);
	const char *at = text + length;

	if (strncmp(text, type->name, length) != 0)
		return false;
	*out_bits = type->least;
	if (type->rule != ONE && !read_number(&at, UINT8_MAX, out_bits))
		return false;
	return has_bits(type, *out_bits) && read_lanes(at, out_lanes);
}

ww_status ww_dtype_parse(const char *text, struct ww_dtype *out_dtype)
{
	struct ww_dtype found;
	uint32_t bits;
	uint32_t lanes;

	ww_require(text, "ww_dtype_parse: text is NULL");
	ww_require(out_dtype, "ww_dtype_parse: out_dtype is NULL");
	for (uint32_t code = 0; code < TYPE_COUNT; code++) {
		if (!read_as(&types[code], text, &bits, &lanes))
			continue;
		found = (struct ww_dtype){(uint8_t)code, (uint8_t)bits, (uint16_t)lanes};
		ww_try(ww_dtype_check(found));
		*out_dtype = found;
		return WW_OK;
	}
	return ww_fail(WW_ERR_INVALID,
		"no type of elements is called '%.40s'; names are as float32, uint8, bfloat16, "
		"float8_e4m3fn",
		text);
}

ww_status ww_dtype_name(const struct ww_dtype *dtype, char out_text[WW_DTYPE_NAME_BYTES])
{
	const struct type *type;
	char bits[4] = "";
	char lanes[8] = "";

	ww_clear(out_text, '\0');
	ww_require(dtype, "ww_dtype_name: dtype is NULL");
	ww_require(out_text, "ww_dtype_name: out_text is NULL");
	ww_try(ww_dtype_check(*dtype));
	type = &types[dtype->code];
	if (type->rule != ONE)
		snprintf(bits, sizeof(bits), "%u", dtype->bits);
	if (dtype->lanes != 1)
		snprintf(lanes, sizeof(lanes), "x%u", dtype->lanes);
	snprintf(out_text, WW_DTYPE_NAME_BYTES, "%s%s%s", type->name, bits, lanes);
	return WW_OK;
}
