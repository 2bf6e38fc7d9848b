/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar.c - values of scalars and their texts, see scalar.h and warpway/signature.h
 *
 * The C library reads and writes decimals of float and double correctly rounded. A half and a
 * bfloat16 are read as double and rounded by hand. The fewest digits of a value are found by
 * trying: one digit, two digits, ..., until the text is read as the same value again.
 *
 * The C library follows the locale, and the text must not: so both happen in the locale "C", which
 * is a constant of the C library.
 */
#include "call/scalar.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

#define DIGITS_MAX 17 /* that tell any two doubles apart */

/* Numbers from 10^-4 to below 10^16 are written without an exponent, as Python does. */
#define EXPONENT_LEAST (-4)
#define EXPONENT_MOST  16

static const struct {
	const char *name;
	struct ww_dtype dtype;
	bool is_scalar;
} short_names[] = {
	{"bool", {WW_DTYPE_BOOL, 8, 1}, true},
	{"i8", {WW_DTYPE_INT, 8, 1}, true},
	{"i16", {WW_DTYPE_INT, 16, 1}, true},
	{"i32", {WW_DTYPE_INT, 32, 1}, true},
	{"i64", {WW_DTYPE_INT, 64, 1}, true},
	{"u8", {WW_DTYPE_UINT, 8, 1}, true},
	{"u16", {WW_DTYPE_UINT, 16, 1}, true},
	{"u32", {WW_DTYPE_UINT, 32, 1}, true},
	{"u64", {WW_DTYPE_UINT, 64, 1}, true},
	{"f16", {WW_DTYPE_FLOAT, 16, 1}, true},
	{"bf16", {WW_DTYPE_BFLOAT, 16, 1}, true},
	{"f32", {WW_DTYPE_FLOAT, 32, 1}, true},
	{"f64", {WW_DTYPE_FLOAT, 64, 1}, true},
	{"c64", {WW_DTYPE_COMPLEX, 64, 1}, false},
	{"c128", {WW_DTYPE_COMPLEX, 128, 1}, false},
};

#define SHORT_NAMES (sizeof(short_names) / sizeof(short_names[0]))

/* Of the types of 16 bits; the exponent's least value stands for zero and subnormal numbers. */
struct form {
	int mantissa_bits;
	int exponent_least;
	int exponent_most;
};

static const struct form half = {10, -14, 15};
static const struct form bfloat = {7, -126, 127};

bool ww_dtype_find(const char *name, struct ww_dtype *out_dtype)
{
	struct ww_error record;

	for (size_t i = 0; i < SHORT_NAMES; i++) {
		if (!strcmp(name, short_names[i].name)) {
			*out_dtype = short_names[i].dtype;
			return true;
		}
	}
	ww_error_save(&record);
	if (ww_dtype_parse(name, out_dtype) == WW_OK)
		return true;
	ww_error_restore(&record);
	return false;
}

static size_t find_short(struct ww_dtype dtype)
{
	size_t i = 0;

	while (i < SHORT_NAMES && !ww_dtype_is_same(dtype, short_names[i].dtype))
		i++;
	return i;
}

void ww_dtype_short_name(struct ww_dtype dtype, char out_text[WW_DTYPE_NAME_BYTES])
{
	size_t i = find_short(dtype);

	if (i < SHORT_NAMES)
		snprintf(out_text, WW_DTYPE_NAME_BYTES, "%s", short_names[i].name);
	else
		(void)ww_dtype_name(&dtype, out_text);
}

bool ww_scalar_is_type(struct ww_dtype dtype)
{
	size_t i = find_short(dtype);

	return i < SHORT_NAMES && short_names[i].is_scalar;
}

bool ww_scalar_is_integer(struct ww_dtype dtype)
{
	return ww_scalar_is_type(dtype) &&
		(dtype.code == WW_DTYPE_INT || dtype.code == WW_DTYPE_UINT);
}

static uint64_t mask(struct ww_dtype dtype)
{
	return UINT64_MAX >> (64 - dtype.bits);
}

bool ww_scalar_is_valid(struct ww_dtype dtype, uint64_t scalar)
{
	return scalar <= (dtype.code == WW_DTYPE_BOOL ? 1 : mask(dtype));
}

/* --- integers --- */

static int64_t sign_extend(struct ww_dtype dtype, uint64_t scalar)
{
	uint64_t sign = UINT64_C(1) << (dtype.bits - 1);

	return (int64_t)(((scalar & mask(dtype)) ^ sign) - sign);
}

bool ww_scalar_to_count(struct ww_dtype dtype, uint64_t scalar, int64_t *out_count)
{
	*out_count = dtype.code == WW_DTYPE_INT ? sign_extend(dtype, scalar)
						: (int64_t)(scalar & mask(dtype));
	return *out_count >= 0;
}

bool ww_scalar_from_count(struct ww_dtype dtype, int64_t count, uint64_t *out_scalar)
{
	*out_scalar = (uint64_t)count;
	return (uint64_t)count <= mask(dtype) >> (dtype.code == WW_DTYPE_INT);
}

/* Return: false: no digits only, or more than 64 bits. */
static bool read_magnitude(const char *at, uint64_t *out_value)
{
	uint64_t value = 0;

	if (!*at)
		return false;
	for (; *at; at++) {
		if (*at < '0' || *at > '9' || __builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return false;
	}
	*out_value = value;
	return true;
}

/* --- floating point --- */

/* Moves behind digits. Return: false: there are none. */
static bool skip_digits(const char **at)
{
	size_t digits = strspn(*at, "0123456789");

	*at += digits;
	return digits > 0;
}

/* Whether a text is a decimal as the grammar has it: strtod() takes more. */
static bool is_decimal(const char *at)
{
	at += *at == '-';
	if (!skip_digits(&at))
		return false;
	if (*at == '.' && (at++, !skip_digits(&at)))
		return false;
	if (*at == 'e' || *at == 'E') {
		at++;
		at += *at == '-' || *at == '+';
		if (!skip_digits(&at))
			return false;
	}
	return !*at;
}

/* Above the mantissa: the pattern of infinity. */
static uint64_t infinity_of(const struct form *form)
{
	return (uint64_t)(form->exponent_most - form->exponent_least + 2) << form->mantissa_bits;
}

/*
 * The pattern of a number, to the nearest, and of two nearest the even one. A carry out of the
 * mantissa makes the exponent larger by one, as it must; infinity comes after the largest number.
 */
static uint64_t round_to(const struct form *form, double magnitude)
{
	int exponent;
	double scaled;
	uint64_t whole;

	(void)frexp(magnitude, &exponent);
	exponent--;
	if (exponent > form->exponent_most)
		return infinity_of(form);
	if (exponent < form->exponent_least || magnitude <= 0)
		exponent = form->exponent_least;
	scaled = ldexp(magnitude, form->mantissa_bits - exponent);
	whole = (uint64_t)scaled;
	scaled -= (double)whole;
	if (scaled > 0.5 || (scaled >= 0.5 && (whole & 1)))
		whole++;
	return ((uint64_t)(exponent - form->exponent_least) << form->mantissa_bits) + whole;
}

static const struct form *form_of(struct ww_dtype dtype)
{
	return dtype.code == WW_DTYPE_BFLOAT ? &bfloat : &half;
}

static uint64_t to_bits(struct ww_dtype dtype, double value)
{
	float single = (float)value;
	uint32_t word;
	uint64_t bits;

	if (dtype.bits == 16) {
		const struct form *form = form_of(dtype);

		if (isnan(value))
			bits = infinity_of(form) | UINT64_C(1) << (form->mantissa_bits - 1);
		else
			bits = isinf(value) ? infinity_of(form) : round_to(form, fabs(value));
		return bits | (uint64_t)(signbit(value) != 0) << 15;
	}
	memcpy(&word, &single, sizeof(word));
	memcpy(&bits, &value, sizeof(bits));
	return dtype.bits == 32 ? word : bits;
}

static double from_bits(struct ww_dtype dtype, uint64_t bits)
{
	uint32_t word = (uint32_t)bits;
	float single;
	double value;

	if (dtype.bits == 16) {
		const struct form *form = form_of(dtype);
		uint64_t magnitude = bits & 0x7fff;
		uint64_t hidden = UINT64_C(1) << form->mantissa_bits;
		uint64_t mantissa = magnitude & (hidden - 1);
		int exponent = (int)(magnitude >> form->mantissa_bits);

		if (magnitude >= infinity_of(form))
			return mantissa ? NAN : (bits & 0x8000 ? -INFINITY : INFINITY);
		if (exponent > 0)
			mantissa |= hidden;
		else
			exponent = 1;
		value = ldexp((double)mantissa,
			exponent - 1 + form->exponent_least - form->mantissa_bits);
		return bits & 0x8000 ? -value : value;
	}
	memcpy(&single, &word, sizeof(single));
	memcpy(&value, &bits, sizeof(value));
	return dtype.bits == 32 ? (double)single : value;
}

/* The locale "C" is a constant of the C library: nothing is made, and nothing is to be freed. */
static locale_t c_locale(void)
{
	return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static bool read_floating(struct ww_dtype dtype, const char *text, uint64_t *out_scalar)
{
	bool is_negative = *text == '-';

	if (!strcmp(text, "nan")) {
		*out_scalar = to_bits(dtype, (double)NAN);
		return true;
	}
	if (!strcmp(text + is_negative, "inf")) {
		*out_scalar = to_bits(dtype, is_negative ? -INFINITY : INFINITY);
		return true;
	}
	if (!is_decimal(text))
		return false;
	/* A float is read as a float: by way of a double it would be rounded twice. */
	*out_scalar = to_bits(dtype,
		dtype.bits == 32 ? (double)strtof_l(text, NULL, c_locale())
				 : strtod_l(text, NULL, c_locale()));
	return !isinf(from_bits(dtype, *out_scalar));
}

/* The value with this many digits. Return: whether the text is read as the same value. */
static bool try_digits(struct ww_dtype dtype, uint64_t scalar, int digits,
	char out_text[WW_SCALAR_TEXT_BYTES])
{
	uint64_t back;

	snprintf(out_text, WW_SCALAR_TEXT_BYTES, "%.*e", digits - 1, from_bits(dtype, scalar));
	return read_floating(dtype, out_text, &back) && back == scalar;
}

static void write_floating(struct ww_dtype dtype, uint64_t scalar,
	char out_text[WW_SCALAR_TEXT_BYTES])
{
	locale_t before = uselocale(c_locale());
	int digits = 1;
	double value;
	const char *at;
	long exponent;
	int decimals;

	if (isnan(from_bits(dtype, scalar)))
		scalar = to_bits(dtype, (double)NAN);
	while (digits <= DIGITS_MAX && !try_digits(dtype, scalar, digits, out_text))
		digits++;
	value = from_bits(dtype, scalar);
	at = strchr(out_text, 'e');
	exponent = at ? strtol(at + 1, NULL, 10) : EXPONENT_MOST;
	decimals = digits - 1 - (int)exponent;
	if (exponent >= EXPONENT_LEAST && exponent < EXPONENT_MOST)
		snprintf(out_text, WW_SCALAR_TEXT_BYTES, "%.*f", decimals > 1 ? decimals : 1,
			value);
	uselocale(before);
	ww_assert(digits <= DIGITS_MAX);
}

/* --- any type --- */

static ww_status check_type(struct ww_dtype dtype, const char *call)
{
	char name[WW_DTYPE_NAME_BYTES];

	if (ww_scalar_is_type(dtype))
		return WW_OK;
	ww_try(ww_dtype_name(&dtype, name));
	return ww_fail(WW_ERR_INVALID,
		"%s: no scalar has the type %s; scalars are bool, i8 to i64, u8 to u64, f16, bf16, "
		"f32 and f64",
		call, name);
}

static bool read_value(struct ww_dtype dtype, const char *text, uint64_t *out_scalar)
{
	if (dtype.code == WW_DTYPE_BOOL) {
		*out_scalar = !strcmp(text, "true");
		return *out_scalar || !strcmp(text, "false");
	}
	if (ww_scalar_is_integer(dtype)) {
		bool is_negative = *text == '-';
		uint64_t most = mask(dtype) >> (dtype.code == WW_DTYPE_INT);
		uint64_t value;

		if (!read_magnitude(text + is_negative, &value))
			return false;
		if (is_negative)
			most = dtype.code == WW_DTYPE_INT ? most + 1 : 0;
		*out_scalar = (is_negative ? 0 - value : value) & mask(dtype);
		return value <= most;
	}
	return read_floating(dtype, text, out_scalar);
}

ww_status ww_scalar_parse(const struct ww_dtype *dtype, const char *text, uint64_t *out_scalar)
{
	char name[WW_DTYPE_NAME_BYTES];
	uint64_t scalar;

	ww_require(dtype, "ww_scalar_parse: dtype is NULL");
	ww_require(text, "ww_scalar_parse: text is NULL");
	ww_require(out_scalar, "ww_scalar_parse: out_scalar is NULL");
	ww_try(check_type(*dtype, "ww_scalar_parse"));
	if (!read_value(*dtype, text, &scalar)) {
		ww_dtype_short_name(*dtype, name);
		return ww_fail(WW_ERR_INVALID, "'%.40s' is no value of the type %s%s",
			ww_utf8_is_plain(text) ? text : "?", name,
			dtype->code == WW_DTYPE_BOOL ? "; values are true and false" : "");
	}
	*out_scalar = scalar;
	return WW_OK;
}

ww_status ww_scalar_text(const struct ww_dtype *dtype, uint64_t scalar,
	char out_text[WW_SCALAR_TEXT_BYTES])
{
	ww_clear(out_text, '\0');
	ww_require(dtype, "ww_scalar_text: dtype is NULL");
	ww_require(out_text, "ww_scalar_text: out_text is NULL");
	ww_try(check_type(*dtype, "ww_scalar_text"));
	if (dtype->code == WW_DTYPE_BOOL)
		snprintf(out_text, WW_SCALAR_TEXT_BYTES, "%s", scalar & 1 ? "true" : "false");
	else if (dtype->code == WW_DTYPE_INT)
		snprintf(out_text, WW_SCALAR_TEXT_BYTES, "%" PRId64, sign_extend(*dtype, scalar));
	else if (dtype->code == WW_DTYPE_UINT)
		snprintf(out_text, WW_SCALAR_TEXT_BYTES, "%" PRIu64, scalar & mask(*dtype));
	else
		write_floating(*dtype, scalar & mask(*dtype), out_text);
	return WW_OK;
}
