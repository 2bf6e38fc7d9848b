/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy.c - the header of NumPy's .npy files
 *
 * A reader walks once over the text, and every step says by its result whether what it wants is
 * there. The first thing that is not what it should be gives the reason.
 */
#include "warpway/npy.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <warpway/base.h>

#define MAGIC       "\x93NUMPY"
#define MAGIC_BYTES 6
#define ALIGNMENT   64
#define DESCR_BYTES 16

struct reader {
	const char *at;
	const char *end;
	char *reason;
};

/* What the text says. */
struct literal {
	char descr[DESCR_BYTES];
	bool has_descr;
	bool fortran;
	bool has_order;
	int64_t shape[WW_ARRAY_DIMS];
	uint32_t ndim;
	bool has_shape;
};

__attribute__((format(printf, 2, 3))) static bool fail(char *reason, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, NPY_REASON_BYTES, format, arguments);
	va_end(arguments);
	return false;
}

static uint32_t little_endian(const uint8_t *bytes, size_t count)
{
	uint32_t value = 0;

	while (count > 0)
		value = value << 8 | bytes[--count];
	return value;
}

bool npy_header_bytes(const void *prefix, size_t bytes, size_t *out_bytes, char *out_reason)
{
	const uint8_t *at = prefix;
	size_t length_bytes;
	size_t total;

	if (bytes < MAGIC_BYTES || memcmp(at, MAGIC, MAGIC_BYTES) != 0)
		return fail(out_reason, "it does not begin as a .npy file does");
	if (bytes < NPY_PREFIX_BYTES)
		return fail(out_reason, "it ends inside the header");
	if (at[6] < 1 || at[6] > 3 || at[7] != 0)
		return fail(out_reason,
			"it has version %u.%u of the format; known are 1.0, 2.0 and 3.0", at[6],
			at[7]);
	length_bytes = at[6] == 1 ? 2 : 4;
	total = little_endian(at + 8, length_bytes);
	if (total > NPY_HEADER_MAX - 8 - length_bytes)
		return fail(out_reason,
			"its header has %zu bytes; one of an array of numbers is short", total);
	*out_bytes = 8 + length_bytes + total;
	if (*out_bytes < NPY_PREFIX_BYTES)
		return fail(out_reason, "its header is empty");
	return true;
}

static bool unexpected(const struct reader *reader, const char *wanted)
{
	int length = reader->end - reader->at > 16 ? 16 : (int)(reader->end - reader->at);
	char found[24];

	for (int i = 0; i < length; i++)
		found[i] = reader->at[i] >= ' ' && reader->at[i] < 0x7f ? reader->at[i] : '?';
	found[length] = 0;
	return fail(reader->reason, "its header has '%s' where %s should be", found, wanted);
}

static void skip_spaces(struct reader *reader)
{
	while (reader->at < reader->end && *reader->at == ' ')
		reader->at++;
}

static bool next_is(struct reader *reader, char sign)
{
	skip_spaces(reader);
	return reader->at < reader->end && *reader->at == sign;
}

static bool skip_sign(struct reader *reader, char sign)
{
	if (!next_is(reader, sign))
		return false;
	reader->at++;
	return true;
}

static bool take_sign(struct reader *reader, char sign)
{
	const char wanted[] = {'\'', sign, '\'', 0};

	return skip_sign(reader, sign) || unexpected(reader, wanted);
}

static bool is_plain(char sign)
{
	return sign >= ' ' && sign < 0x7f && sign != '\\';
}

/* A word of plain letters in quotes of either kind. */
static bool take_string(struct reader *reader, char *out_text, size_t room, const char *wanted)
{
	const char *start;
	char quote;
	size_t length = 0;

	if (!next_is(reader, '\'') && !next_is(reader, '"'))
		return unexpected(reader, wanted);
	quote = *reader->at;
	start = reader->at + 1;
	while (start + length < reader->end && start[length] != quote && is_plain(start[length]))
		length++;
	if (start + length == reader->end || start[length] != quote || length >= room)
		return unexpected(reader, wanted);
	memcpy(out_text, start, length);
	out_text[length] = 0;
	reader->at = start + length + 1;
	return true;
}

static bool skip_word(struct reader *reader, const char *word)
{
	size_t length = strlen(word);

	skip_spaces(reader);
	if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
		return false;
	reader->at += length;
	return true;
}

static bool take_order(struct reader *reader, bool *out_fortran)
{
	*out_fortran = skip_word(reader, "True");
	return *out_fortran || skip_word(reader, "False") || unexpected(reader, "True or False");
}

static bool take_number(struct reader *reader, int64_t *out_value)
{
	int64_t value = 0;
	const char *start;

	skip_spaces(reader);
	start = reader->at;
	for (; reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9'; reader->at++) {
		if (__builtin_mul_overflow(value, INT64_C(10), &value) ||
			__builtin_add_overflow(value, (int64_t)(*reader->at - '0'), &value))
			return fail(reader->reason, "its shape has a number of more than 63 bits");
	}
	if (reader->at == start)
		return unexpected(reader, "a number of the shape");
	if (reader->at < reader->end && *reader->at == 'L') /* Python 2 wrote so */
		reader->at++;
	*out_value = value;
	return true;
}

/* "()", "(3,)", "(3, 4)": a tuple of one number has a comma. */
static bool take_shape(struct reader *reader, struct literal *literal)
{
	bool comma = true;

	if (!take_sign(reader, '('))
		return false;
	while (!next_is(reader, ')')) {
		if (!comma)
			return unexpected(reader, "','");
		if (literal->ndim == WW_ARRAY_DIMS)
			return fail(reader->reason, "it has more than %d dimensions",
				WW_ARRAY_DIMS);
		if (!take_number(reader, &literal->shape[literal->ndim++]))
			return false;
		comma = skip_sign(reader, ',');
	}
	if (literal->ndim == 1 && !comma)
		return unexpected(reader, "','");
	return take_sign(reader, ')');
}

static bool take_descr(struct reader *reader, char out_descr[DESCR_BYTES])
{
	if (next_is(reader, '['))
		return fail(reader->reason,
			"its elements are records of several fields; save each field as an array of its own");
	return take_string(reader, out_descr, DESCR_BYTES, "a type such as '<f4'");
}

static bool once(const struct reader *reader, bool *seen, const char *key)
{
	if (*seen)
		return fail(reader->reason, "its header says '%s' twice", key);
	*seen = true;
	return true;
}

static bool take_entry(struct reader *reader, struct literal *literal)
{
	char key[16];

	if (!take_string(reader, key, sizeof(key), "a key") || !take_sign(reader, ':'))
		return false;
	if (!strcmp(key, "descr"))
		return once(reader, &literal->has_descr, key) && take_descr(reader, literal->descr);
	if (!strcmp(key, "fortran_order"))
		return once(reader, &literal->has_order, key) &&
			take_order(reader, &literal->fortran);
	if (!strcmp(key, "shape"))
		return once(reader, &literal->has_shape, key) && take_shape(reader, literal);
	return fail(reader->reason, "its header has an unknown key");
}

static bool take_literal(struct reader *reader, struct literal *literal)
{
	bool comma = true;

	if (!take_sign(reader, '{'))
		return false;
	while (!next_is(reader, '}')) {
		if (!comma)
			return unexpected(reader, "','");
		if (!take_entry(reader, literal))
			return false;
		comma = skip_sign(reader, ',');
	}
	reader->at++;
	skip_spaces(reader);
	if (reader->end - reader->at != 1 || *reader->at != '\n')
		return unexpected(reader, "the header's end");
	if (!literal->has_descr || !literal->has_order || !literal->has_shape)
		return fail(reader->reason,
			"its header does not say all of descr, fortran_order and shape");
	return true;
}

/* Types that are no numbers we share, and what to do with them. */
static bool refuse_type(char kind, uint32_t bytes, const char *descr, char *reason)
{
	if (kind == 'f' && bytes == 1)
		return fail(reason,
			"its elements are floats of 8 bits ('%s'), and the file does not say of which "
			"kind; save a.view('uint8')",
			descr);
	switch (kind) {
	case 'O':
		return fail(reason,
			"its elements are pickled Python objects, which only that program can "
			"read; save an array of numbers");
	case 'S':
	case 'a':
	case 'U':
		return fail(reason, "its elements are text ('%s'); only numbers are shared", descr);
	case 'M':
	case 'm':
		return fail(reason,
			"its elements are dates or times ('%s'); convert them with "
			"a.view('int64')",
			descr);
	case 'f':
	case 'c':
		if (bytes == (kind == 'f' ? 16 : 32))
			return fail(reason,
				"its elements are long doubles ('%s'), which differ from "
				"machine to machine; convert them with a.astype('%s')",
				descr, kind == 'f' ? "float64" : "complex128");
		break;
	default:
		break;
	}
	return fail(reason, "its type '%s' is not known", descr);
}

/* Which of our types a letter is, and the sizes in bytes that it has, as bits 1 << bytes. */
static const struct type {
	char letter;
	uint8_t code;
	uint32_t sizes;
} types[] = {
	{'b', WW_DTYPE_BOOL, 1u << 1}, {'i', WW_DTYPE_INT, 1u << 1 | 1u << 2 | 1u << 4 | 1u << 8},
	{'u', WW_DTYPE_UINT, 1u << 1 | 1u << 2 | 1u << 4 | 1u << 8},
	{'f', WW_DTYPE_FLOAT, 1u << 2 | 1u << 4 | 1u << 8},
	{'c', WW_DTYPE_COMPLEX, 1u << 8 | 1u << 16},
	{'V', WW_DTYPE_OPAQUE, ~1u}, /* up to 31 bytes: what 8 bits can count */
};

#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

static const struct type *find_type(char letter, uint32_t bytes)
{
	for (size_t i = 0; i < TYPE_COUNT; i++) {
		if (types[i].letter == letter && bytes < 32 && types[i].sizes >> bytes & 1)
			return &types[i];
	}
	return NULL;
}

/* Whether a type is one whose bytes are in the machine's order, or in none. */
static bool check_order(const char *descr, const struct type *type, uint32_t bytes, char *reason)
{
	if (descr[0] == '<' || bytes == 1 || type->code == WW_DTYPE_OPAQUE)
		return true;
	if (descr[0] == '|')
		return fail(reason, "its type '%s' does not say in which order the bytes are",
			descr);
	return fail(reason,
		"its elements are big-endian ('%s'); convert them with "
		"a.astype(a.dtype.newbyteorder('<'))",
		descr);
}

/* "<f4": byte order, letter, bytes. Returns NULL for what is no type of ours. */
static const struct type *parse_descr(const char *descr, uint32_t *out_bytes, char *reason)
{
	const struct type *type = NULL;
	uint32_t bytes = 0;
	const char *at;

	if (strlen(descr) < 2 || !strchr("<>|", descr[0])) {
		fail(reason, "its type is not of the form '<f4'");
		return NULL;
	}
	for (at = descr + 2; *at >= '0' && *at <= '9' && bytes < 1000000; at++)
		bytes = 10 * bytes + (uint32_t)(*at - '0');
	if (!*at)
		type = find_type(descr[1], bytes);
	if (!type)
		refuse_type(descr[1], bytes, descr, reason);
	else if (!check_order(descr, type, bytes, reason))
		type = NULL;
	*out_bytes = bytes;
	return type;
}

/* Their product was found to fit, whatever the order. */
static void turn_to_fortran(struct ww_array *array, uint32_t item_bytes)
{
	int64_t stride = item_bytes;

	for (uint32_t i = 0; i < array->ndim; i++) {
		array->strides[i] = stride;
		stride *= array->shape[i] ? array->shape[i] : 1;
	}
}

bool npy_read(const void *header, size_t bytes, struct ww_array *out_array, char *out_reason)
{
	const char *text = header;
	size_t start = text[6] == 1 ? 10 : 12;
	struct reader reader = {text + start, text + bytes, out_reason};
	struct literal literal = {0};
	const struct type *type;
	uint32_t item_bytes;

	if (!take_literal(&reader, &literal))
		return false;
	type = parse_descr(literal.descr, &item_bytes, out_reason);
	if (!type)
		return false;
	*out_array = (struct ww_array){.struct_size = sizeof(*out_array)};
	if (ww_array_set(out_array, WW_DTYPE(type->code, 8 * item_bytes), literal.ndim,
		    literal.shape, NULL, 0) != WW_OK)
		return fail(out_reason, "%s", ww_error_last()->message);
	if (literal.fortran)
		turn_to_fortran(out_array, item_bytes);
	return true;
}

/*
 * Lanes of less than a byte have no place of their own in a file: they stay together, as one
 * element.
 */
static bool has_lanes(const struct ww_array *array)
{
	return array->dtype.lanes != 1 && array->dtype.bits % 8 == 0;
}

bool npy_is_fortran(const struct ww_array *array)
{
	return !has_lanes(array) && ww_array_is_fortran(array) && !ww_array_is_contiguous(array);
}

/*
 * What has no letter is written as bytes, as NumPy itself does with the types that others add to
 * it.
 */
static void describe_bytes(const struct ww_array *array, char out_descr[DESCR_BYTES],
	char *out_note)
{
	const struct ww_dtype dtype = {array->dtype.code, array->dtype.bits,
		has_lanes(array) ? 1 : array->dtype.lanes};
	char name[WW_DTYPE_NAME_BYTES];

	snprintf(out_descr, DESCR_BYTES, "|V%u", (unsigned int)dtype.bits * dtype.lanes / 8);
	if (ww_dtype_name(&dtype, name) != WW_OK)
		memcpy(name, "unknown", sizeof("unknown"));
	snprintf(out_note, NPY_REASON_BYTES,
		"NumPy has no type %s of its own: the elements are bytes there, of type '%s', for "
		"a.view() to make something of",
		name, out_descr);
}

static void describe(const struct ww_array *array, char out_descr[DESCR_BYTES], char *out_note)
{
	uint32_t bytes = array->dtype.bits / 8;

	out_note[0] = 0;
	for (size_t i = 0; i < TYPE_COUNT; i++) {
		if (types[i].code != array->dtype.code || array->dtype.bits % 8 != 0 ||
			!(types[i].sizes >> bytes & 1))
			continue;
		snprintf(out_descr, DESCR_BYTES, "%c%c%u",
			bytes == 1 || types[i].code == WW_DTYPE_OPAQUE ? '|' : '<', types[i].letter,
			bytes);
		return;
	}
	describe_bytes(array, out_descr, out_note);
}

/* Appends "3, 4" and the comma that a tuple of one number needs. */
static size_t print_shape(const struct ww_array *array, char *out_text, size_t room)
{
	size_t used = 0;
	uint32_t count = array->ndim;

	out_text[0] = 0;
	for (uint32_t i = 0; i < array->ndim; i++)
		used += (size_t)snprintf(out_text + used, room - used, "%s%lld", i ? ", " : "",
			(long long)array->shape[i]);
	if (has_lanes(array)) {
		used += (size_t)snprintf(out_text + used, room - used, "%s%u", count ? ", " : "",
			array->dtype.lanes);
		count++;
	}
	if (count == 1)
		used += (size_t)snprintf(out_text + used, room - used, ",");
	return used;
}

size_t npy_write(const struct ww_array *array, char *out_header, char *out_note)
{
	char shape[(WW_ARRAY_DIMS + 1) * 22 + 2];
	char descr[DESCR_BYTES];
	size_t used;
	size_t total;

	describe(array, descr, out_note);
	print_shape(array, shape, sizeof(shape));
	memcpy(out_header, MAGIC "\x01", 8); /* the zero behind it is the minor version */
	used = 10;
	used += (size_t)snprintf(out_header + used, NPY_WRITE_BYTES - used,
		"{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }", descr,
		npy_is_fortran(array) ? "True" : "False", shape);
	total = (used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	memset(out_header + used, ' ', total - used);
	out_header[total - 1] = '\n';
	out_header[8] = (char)(total - 10);
	out_header[9] = (char)((total - 10) >> 8);
	return total;
}
