/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature.c - parses signatures, see signature.h and the grammar in warpway/signature.h
 *
 * One function for each rule of the grammar. A cursor stands before the next word; a word is taken
 * by the rule that needs it. The first thing that is wrong is recorded with the column of the word
 * that was found and what was expected there, and ends the parsing.
 *
 * What concerns several parameters is checked behind the last one: a scalar can have the name of a
 * dimension that comes after it.
 */
#include "call/signature.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "call/scalar.h"

#define VALUE_BYTES 64 /* of a default as it is written, with an ending zero */

struct cursor {
	const char *text;
	const char *at;
	struct ww_signature *signature;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Moves before the next word. */
static const char *next(struct cursor *cursor)
{
	while (is_space(*cursor->at))
		cursor->at++;
	return cursor->at;
}

static ww_status expected(const struct cursor *cursor, const char *at, const char *what)
{
	char found[64];
	size_t length = 0;

	/* The message says what stands there: a word, a character, or what it is. */
	while (is_letter(at[length]) || is_digit(at[length]))
		length++;
	if (!*at)
		snprintf(found, sizeof(found), "the end");
	else if (length > 0)
		snprintf(found, sizeof(found), "'%.*s'", length > 40 ? 40 : (int)length, at);
	else if (*at > ' ' && *at < 0x7f)
		snprintf(found, sizeof(found), "'%c'", *at);
	else
		snprintf(found, sizeof(found), "a byte of value %u", (uint8_t)*at);
	return ww_fail(WW_ERR_INVALID, "a signature has %s at column %zu, where %s is expected",
		found, (size_t)(at - cursor->text) + 1, what);
}

/* --- words --- */

/* Takes a mark such as "," or "->". Return: whether it was there. */
static bool take(struct cursor *cursor, const char *mark)
{
	size_t length = strlen(mark);

	if (strncmp(next(cursor), mark, length) != 0)
		return false;
	cursor->at += length;
	return true;
}

/* How long the word of letters and digits is before which the cursor stands; 0: there is none. */
static size_t word_length(struct cursor *cursor)
{
	const char *at = next(cursor);
	size_t length = 0;

	if (!is_letter(*at))
		return 0;
	while (is_letter(at[length]) || is_digit(at[length]))
		length++;
	return length;
}

/* Takes one certain word. Return: whether it was there. */
static bool take_word(struct cursor *cursor, const char *word)
{
	size_t length = word_length(cursor);

	if (length != strlen(word) || strncmp(cursor->at, word, length) != 0)
		return false;
	cursor->at += length;
	return true;
}

/* Takes any word that fits in @room bytes with a zero behind it. */
static ww_status take_any(struct cursor *cursor, const char *what, char *out_word, size_t room)
{
	size_t length = word_length(cursor);

	if (length == 0)
		return expected(cursor, cursor->at, what);
	if (length >= room)
		return ww_fail(WW_ERR_LIMIT,
			"a signature has a word of %zu letters at column %zu, where %s is expected; "
			"%zu are the most",
			length, (size_t)(cursor->at - cursor->text) + 1, what, room - 1);
	memcpy(out_word, cursor->at, length);
	out_word[length] = '\0';
	cursor->at += length;
	return WW_OK;
}

static ww_status take_number(struct cursor *cursor, const char *what, int64_t most,
	int64_t *out_value)
{
	const char *at = next(cursor);
	int64_t value = 0;

	if (!is_digit(*at))
		return expected(cursor, at, what);
	for (; is_digit(*cursor->at); cursor->at++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, *cursor->at - '0', &value) || value > most)
			return expected(cursor, at, what);
	}
	*out_value = value;
	return WW_OK;
}

/* --- types --- */

static ww_status parse_dim(struct cursor *cursor, struct ww_signature_dim *dim)
{
	static const char
		*const what = "the length of a dimension (a number, a name or '*'), '...' or ']'";
	char name[WW_SIGNATURE_NAME_BYTES] = "";

	if (take(cursor, "*")) {
		dim->kind = WW_DIM_ANY;
		return WW_OK;
	}
	if (is_letter(*next(cursor))) {
		struct ww_signature *signature;
		uint32_t i = 0;

		dim->kind = WW_DIM_NAME;
		ww_try(take_any(cursor, what, name, sizeof(name)));
		/* A dimension's name is added if it is new. */
		signature = cursor->signature;
		while (i < signature->dim_count && strcmp(signature->dim_names[i], name) != 0)
			i++;
		if (i == WW_SIGNATURE_DIMS_MAX)
			return ww_fail(WW_ERR_LIMIT,
				"a signature has more than %d names of dimensions: '%s' is one more",
				WW_SIGNATURE_DIMS_MAX, name);
		if (i == signature->dim_count)
			memcpy(signature->dim_names[signature->dim_count++], name,
				WW_SIGNATURE_NAME_BYTES);
		dim->name = i;
		return WW_OK;
	}
	dim->kind = WW_DIM_COUNT;
	return take_number(cursor, what, INT64_MAX, &dim->count);
}

/* Behind "bytes". */
static ww_status parse_bytes(struct cursor *cursor, struct ww_parameter *parameter)
{
	static const char *const what = "the most bytes, a number from 1 to 4096,";
	const char *at;
	int64_t most = WW_CALL_BYTES_MAX;

	_Static_assert(WW_CALL_BYTES_MAX == 4096, "as the message says");
	parameter->kind = WW_ARGUMENT_BYTES;
	if (take(cursor, "[")) {
		at = next(cursor);
		ww_try(take_number(cursor, what, WW_CALL_BYTES_MAX, &most));
		if (most == 0)
			return expected(cursor, at, what);
		if (!take(cursor, "]"))
			return expected(cursor, cursor->at, "']'");
	}
	parameter->bytes_max = (uint32_t)most;
	return WW_OK;
}

static ww_status parse_element(struct cursor *cursor, struct ww_parameter *parameter)
{
	const char *at = next(cursor);
	char name[WW_DTYPE_NAME_BYTES];

	ww_try(take_any(cursor, "a type", name, sizeof(name)));
	if (!strcmp(name, "any"))
		parameter->flags |= WW_PARAMETER_ANY_TYPE;
	else if (!ww_dtype_find(name, &parameter->dtype))
		return expected(cursor, at,
			"a type (bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, bytes, timeline "
			"or a dtype)");
	return WW_OK;
}

static ww_status parse_type(struct cursor *cursor, struct ww_parameter *parameter)
{
	if (take_word(cursor, "bytes"))
		return parse_bytes(cursor, parameter);
	if (take_word(cursor, "timeline")) {
		parameter->kind = WW_ARGUMENT_TIMELINE;
		return WW_OK;
	}
	ww_try(parse_element(cursor, parameter));
	if (take(cursor, "[")) {
		parameter->kind = WW_ARGUMENT_ARRAY;
		if (take(cursor, "...")) {
			parameter->flags |= WW_PARAMETER_ANY_RANK;
			return take(cursor, "]") ? WW_OK : expected(cursor, cursor->at, "']'");
		}
		if (take(cursor, "]"))
			return WW_OK;
		do {
			if (parameter->ndim == WW_ARRAY_DIMS)
				return ww_fail(WW_ERR_LIMIT,
					"a signature has an array with more than %d dimensions at column %zu",
					WW_ARRAY_DIMS, (size_t)(next(cursor) - cursor->text) + 1);
			ww_try(parse_dim(cursor, &parameter->dims[parameter->ndim++]));
		} while (take(cursor, ","));
		return take(cursor, "]") ? WW_OK : expected(cursor, cursor->at, "',' or ']'");
	}
	if (!ww_scalar_is_type(parameter->dtype))
		return expected(cursor, cursor->at,
			"'[', since no scalar has this type ('[]' is an array of one element),");
	parameter->kind = WW_ARGUMENT_SCALAR;
	return WW_OK;
}

/* --- parameters and results --- */

static ww_status parse_access(struct cursor *cursor, struct ww_parameter *parameter)
{
	static const struct {
		const char *word;
		uint32_t access;
		uint32_t flags;
	} words[] = {
		{"read", WW_ACCESS_READ, 0},
		{"write", WW_ACCESS_WRITE, WW_PARAMETER_WRITE_ONLY},
		{"readwrite", WW_ACCESS_WRITE, 0},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (take_word(cursor, words[i].word)) {
			parameter->access = words[i].access;
			parameter->flags |= words[i].flags;
			return WW_OK;
		}
	}
	return expected(cursor, cursor->at, "read, write or readwrite");
}

/* How long a default value is. A sign stands before it and before its exponent only: "1->". */
static size_t value_length(const char *at)
{
	size_t length = 0;

	while (is_letter(at[length]) || is_digit(at[length]) || at[length] == '.' ||
		((at[length] == '-' || at[length] == '+') &&
			(length == 0 || at[length - 1] == 'e' || at[length - 1] == 'E')))
		length++;
	return length;
}

/* Behind "=". */
static ww_status parse_default(struct cursor *cursor, struct ww_parameter *parameter)
{
	parameter->flags |= WW_PARAMETER_OPTIONAL;
	if (parameter->kind == WW_ARGUMENT_SCALAR) {
		const char *at = next(cursor);
		char type[WW_DTYPE_NAME_BYTES];
		char value[VALUE_BYTES];
		char what[128];
		size_t length = value_length(at);

		snprintf(value, sizeof(value), "%.*s", length < sizeof(value) ? (int)length : 0,
			at);
		if (ww_scalar_parse(&parameter->dtype, value, &parameter->scalar) != WW_OK) {
			ww_dtype_short_name(parameter->dtype, type);
			snprintf(what, sizeof(what), "a value of type %s of at most %d characters",
				type, VALUE_BYTES - 1);
			return expected(cursor, at, what);
		}
		cursor->at += length;
		parameter->flags |= WW_PARAMETER_DEFAULT;
		return WW_OK;
	}
	return take_word(cursor, "none") ? WW_OK : expected(cursor, cursor->at, "none");
}

/* A name that no other one before it in the list has. */
static ww_status parse_name(struct cursor *cursor, const struct ww_parameter *list,
	struct ww_parameter *parameter)
{
	const char *at = next(cursor);

	ww_try(take_any(cursor, "a name", parameter->name, sizeof(parameter->name)));
	for (; list < parameter; list++) {
		if (!strcmp(list->name, parameter->name))
			return expected(cursor, at, "a name that no other one has");
	}
	return WW_OK;
}

static ww_status parse_strided(struct cursor *cursor, struct ww_parameter *parameter)
{
	if (parameter->kind == WW_ARGUMENT_ARRAY && take_word(cursor, "strided"))
		parameter->flags |= WW_PARAMETER_STRIDED;
	return WW_OK;
}

static ww_status parse_parameter(struct cursor *cursor, const struct ww_parameter *list,
	struct ww_parameter *parameter)
{
	ww_try(parse_type(cursor, parameter));
	ww_try(parse_name(cursor, list, parameter));
	if (parameter->kind == WW_ARGUMENT_ARRAY)
		ww_try(parse_access(cursor, parameter));
	ww_try(parse_strided(cursor, parameter));
	return take(cursor, "=") ? parse_default(cursor, parameter) : WW_OK;
}

static ww_status parse_result(struct cursor *cursor, const struct ww_parameter *list,
	struct ww_parameter *result)
{
	const char *at = next(cursor);

	ww_try(parse_type(cursor, result));
	if (result->kind == WW_ARGUMENT_TIMELINE)
		return expected(cursor, at, "a type that results can have (no timeline)");
	ww_try(parse_name(cursor, list, result));
	return parse_strided(cursor, result);
}

typedef ww_status parse_item(struct cursor *cursor, const struct ww_parameter *list,
	struct ww_parameter *item);

static ww_status parse_list(struct cursor *cursor, parse_item *parse, struct ww_parameter *list,
	uint32_t *count)
{
	do {
		if (*count == WW_CALL_ARGS_MAX)
			return ww_fail(WW_ERR_LIMIT,
				"a signature has more than %d parameters or results at column %zu",
				WW_CALL_ARGS_MAX, (size_t)(next(cursor) - cursor->text) + 1);
		memset(&list[*count], 0, sizeof(list[*count]));
		ww_try(parse(cursor, list, &list[*count]));
		++*count;
	} while (take(cursor, ","));
	return WW_OK;
}

/* --- what concerns several of them --- */

/* Marks the scalars that are dimensions; nothing else may have the name of one. */
static ww_status mark_dimension(const struct ww_signature *signature, struct ww_parameter *item)
{
	uint32_t i = 0;

	while (i < signature->dim_count && strcmp(signature->dim_names[i], item->name) != 0)
		i++;
	if (i == signature->dim_count)
		return WW_OK;
	if (item->kind != WW_ARGUMENT_SCALAR || !ww_scalar_is_integer(item->dtype))
		return ww_fail(WW_ERR_INVALID,
			"a signature has '%s' as a dimension and as a parameter or result that is no integer; "
			"rename one of them",
			item->name);
	if (item->flags & WW_PARAMETER_DEFAULT)
		return ww_fail(WW_ERR_INVALID,
			"a signature has a default value for '%s', which is a dimension; leave the default "
			"out: the arrays give the value",
			item->name);
	item->flags |= WW_PARAMETER_DIMENSION;
	item->dim_name = i;
	return WW_OK;
}

static bool has_dim(const struct ww_parameter *parameter, uint32_t name)
{
	for (uint32_t i = 0; i < parameter->ndim; i++) {
		if (parameter->dims[i].kind == WW_DIM_NAME && parameter->dims[i].name == name)
			return true;
	}
	return false;
}

/* A dimension that arrays among the arguments have need not be given. */
static void mark_optional(struct ww_signature *signature, struct ww_parameter *dimension)
{
	for (uint32_t i = 0; i < signature->parameter_count; i++) {
		if (has_dim(&signature->parameters[i], dimension->dim_name))
			dimension->flags |= WW_PARAMETER_OPTIONAL;
	}
}

/* Arguments that are all as large as they may be must fit into what is sent. */
static ww_status check_bytes(const char *what, const struct ww_parameter *list, uint32_t count)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += ww_call_arg_bytes_max(list[i].kind, list[i].bytes_max);
	if (bytes > WW_CALL_RECORD_MAX)
		return ww_fail(WW_ERR_LIMIT,
			"a signature has %s of up to %zu bytes as they are sent, and %d are the most; give "
			"bytes a limit, as bytes[100], or use a memory",
			what, bytes, WW_CALL_RECORD_MAX);
	return WW_OK;
}

ww_status ww_signature_parse(const char *text, struct ww_signature *out_signature)
{
	struct cursor cursor = {text, text, out_signature};
	struct ww_signature *signature;
	bool is_empty;

	out_signature->parameter_count = 0;
	out_signature->result_count = 0;
	out_signature->dim_count = 0;
	signature = cursor.signature;
	is_empty = !*next(&cursor) || *cursor.at == '-';
	if (!is_empty)
		ww_try(parse_list(&cursor, parse_parameter, signature->parameters,
			&signature->parameter_count));
	if (take(&cursor, "->"))
		ww_try(parse_list(&cursor, parse_result, signature->results,
			&signature->result_count));
	if (*next(&cursor))
		ww_try(expected(&cursor, cursor.at,
			signature->result_count ? "',' or the end" : "',', '->' or the end"));
	for (uint32_t i = 0; i < out_signature->parameter_count; i++) {
		struct ww_parameter *parameter = &out_signature->parameters[i];

		ww_try(mark_dimension(out_signature, parameter));
		if (parameter->flags & WW_PARAMETER_DIMENSION)
			mark_optional(out_signature, parameter);
	}
	for (uint32_t i = 0; i < out_signature->result_count; i++)
		ww_try(mark_dimension(out_signature, &out_signature->results[i]));
	ww_try(check_bytes("arguments", out_signature->parameters, out_signature->parameter_count));
	ww_try(check_bytes("results", out_signature->results, out_signature->result_count));
	return ww_signature_set_text(out_signature);
}
