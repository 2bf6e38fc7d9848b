/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature_text.c - the canonical text of a signature, see signature.h
 *
 * The hash is FNV-1a with 64 bits (draft-eastlake-fnv). It finds out early that a client was
 * built for another signature. This is not for safety: the server checks each argument.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "call/scalar.h"
#include "call/signature.h"

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME  UINT64_C(0x100000001b3)

struct text {
	char *start;
	size_t room;
	size_t used; /* without the ending zero; more than there is room for: it was cut */
};

static void add(struct text *text, const char *format, ...) WW_PRINTF(2, 3);

static void add(struct text *text, const char *format, ...)
{
	size_t used = text->used < text->room ? text->used : text->room;
	va_list arguments;

	va_start(arguments, format);
	text->used += (size_t)vsnprintf(text->start + used, text->room - used, format, arguments);
	va_end(arguments);
}

static void add_element(struct text *text, const struct ww_parameter *parameter)
{
	char name[WW_DTYPE_NAME_BYTES] = "any";

	if (!(parameter->flags & WW_PARAMETER_ANY_TYPE))
		ww_dtype_short_name(parameter->dtype, name);
	add(text, "%s", name);
}

static void add_type(struct text *text, const struct ww_signature *signature,
	const struct ww_parameter *parameter)
{
	switch (parameter->kind) {
	case WW_ARGUMENT_BYTES:
		add(text, "bytes");
		if (parameter->bytes_max < WW_CALL_BYTES_MAX)
			add(text, "[%" PRIu32 "]", parameter->bytes_max);
		break;
	case WW_ARGUMENT_TIMELINE:
		add(text, "timeline");
		break;
	case WW_ARGUMENT_ARRAY:
		add_element(text, parameter);
		add(text, "[");
		if (parameter->flags & WW_PARAMETER_ANY_RANK)
			add(text, "...");
		for (uint32_t i = 0; i < parameter->ndim; i++) {
			const struct ww_signature_dim *dim;

			add(text, "%s", i ? ", " : "");
			dim = &parameter->dims[i];
			if (dim->kind == WW_DIM_COUNT)
				add(text, "%" PRId64, dim->count);
			else
				add(text, "%s",
					dim->kind == WW_DIM_ANY ? "*"
								: signature->dim_names[dim->name]);
		}
		add(text, "]");
		break;
	default:
		add_element(text, parameter);
	}
}

static const char *access_word(const struct ww_parameter *parameter)
{
	if (parameter->access == 0)
		return "";
	if (parameter->access == WW_ACCESS_READ)
		return " read";
	return parameter->flags & WW_PARAMETER_WRITE_ONLY ? " write" : " readwrite";
}

static void add_list(struct text *text, const struct ww_signature *signature,
	const struct ww_parameter *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct ww_parameter *parameter;
		char value[WW_SCALAR_TEXT_BYTES];

		add(text, "%s", i ? ", " : "");
		add_type(text, signature, &list[i]);
		add(text, " %s%s%s", list[i].name, access_word(&list[i]),
			list[i].flags & WW_PARAMETER_STRIDED ? " strided" : "");
		parameter = &list[i];
		if (parameter->flags & WW_PARAMETER_DEFAULT) {
			(void)ww_scalar_text(&parameter->dtype, parameter->scalar, value);
			add(text, " = %s", value);
		} else if (parameter->flags & WW_PARAMETER_OPTIONAL &&
			!(parameter->flags & WW_PARAMETER_DIMENSION)) {
			add(text, " = none");
		}
	}
}

static uint64_t hash_of(const char *text)
{
	uint64_t hash = FNV_OFFSET;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * FNV_PRIME;
	return hash;
}

void ww_parameter_type_text(const struct ww_signature *signature,
	const struct ww_parameter *parameter, char *out_text, size_t room)
{
	struct text text = {out_text, room, 0};

	add_type(&text, signature, parameter);
}

ww_status ww_signature_set_text(struct ww_signature *signature)
{
	struct text text = {signature->text, sizeof(signature->text), 0};

	signature->text[0] = '\0';
	add_list(&text, signature, signature->parameters, signature->parameter_count);
	if (signature->result_count > 0) {
		add(&text, "%s", signature->parameter_count ? " -> " : "-> ");
		add_list(&text, signature, signature->results, signature->result_count);
	}
	if (text.used >= text.room)
		return ww_fail(WW_ERR_LIMIT,
			"a signature has %zu characters in its canonical form, and %zu are the most; "
			"shorten names",
			text.used, text.room - 1);
	signature->hash = hash_of(signature->text);
	return WW_OK;
}
