/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_file.c - which kernels and C functions `warpway offer` offers, see kernel_file.h
 */
#include "warpway/kernel_file.h"

#include <stdio.h>
#include <string.h>

#include "common/number.h"

#define PARTS_MAX 4 /* of a launch, and one that is too many */

static const char white[] = " \t\r\n";

/* The text without white space around it; changes it. */
static char *trim(char *text)
{
	size_t length;

	text += strspn(text, white);
	length = strlen(text);
	while (length > 0 && strchr(white, text[length - 1]))
		text[--length] = '\0';
	return text;
}

/* Cuts the text at a letter. Return: what is behind it; NULL: the letter is not there. */
static char *cut(char *text, char letter)
{
	char *at = strchr(text, letter);

	if (at)
		*at++ = '\0';
	return at;
}

/* The value behind a word; NULL: the text does not begin with the word. */
static char *behind(char *text, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(text, word, length) != 0 || !text[length] || !strchr(white, text[length]))
		return NULL;
	return trim(text + length);
}

/* --- extents --- */

/* Which dimension of "f32[n, 4]" has a name. Return: false: none. */
static bool find_dimension(const char *type, const char *name, uint32_t *out_dimension)
{
	char copy[WW_SIGNATURE_TEXT_BYTES];
	uint32_t dimension = 0;
	char *at;

	snprintf(copy, sizeof(copy), "%s", type);
	at = cut(copy, '[');
	if (!at || !cut(at, ']'))
		return false;
	for (char *next; at; at = next, dimension++) {
		next = cut(at, ',');
		if (!strcmp(trim(at), name)) {
			*out_dimension = dimension;
			return true;
		}
	}
	return false;
}

static bool is_integer(const struct ww_parameter_info *parameter)
{
	return parameter->kind == WW_ARGUMENT_SCALAR &&
		(parameter->dtype.code == WW_DTYPE_INT || parameter->dtype.code == WW_DTYPE_UINT);
}

/* The parameter that a name means: a scalar, else an array with a dimension of this name. */
static bool find_value(const struct kernel_line *kernel, const char *name,
	struct kernel_extent *extent)
{
	for (uint32_t i = 0; i < kernel->parameter_count; i++) {
		struct ww_parameter_info parameter = WW_INIT(struct ww_parameter_info);
		bool is_named;

		if (ww_signature_parameter_get(kernel->signature, i, &parameter) != WW_OK)
			return false;
		is_named = is_integer(&parameter) && !strcmp(parameter.name, name);
		if (!is_named &&
			!(parameter.kind == WW_ARGUMENT_ARRAY &&
				find_dimension(parameter.type, name, &extent->dimension)))
			continue;
		extent->has_parameter = true;
		extent->parameter = i;
		if (is_named || !(parameter.flags & WW_PARAMETER_OPTIONAL))
			return true;
	}
	return extent->has_parameter;
}

static bool read_extent(const struct kernel_line *kernel, char *text, struct kernel_extent *extent)
{
	char *divisor = cut(text, '/');

	extent->divisor = 1;
	if (divisor && !number_parse(trim(divisor), 1, UINT32_MAX, &extent->divisor))
		return false;
	text = trim(text);
	if (!divisor && number_parse(text, 1, INT32_MAX, &extent->count))
		return true;
	return find_value(kernel, text, extent);
}

uint32_t kernel_extent_value(const struct kernel_extent *extent, const struct ww_value *values)
{
	const struct ww_value *value = &values[extent->parameter];
	uint64_t count = extent->count;

	if (extent->has_parameter && value->kind == WW_ARGUMENT_NONE)
		return 0;
	if (extent->has_parameter)
		count = value->kind == WW_ARGUMENT_ARRAY
			? (uint64_t)value->array->shape[extent->dimension]
			: value->scalar;
	count = count / extent->divisor + (count % extent->divisor != 0);
	return count <= INT32_MAX ? (uint32_t)count : 0;
}

/* --- a line --- */

#define REFUSE(...) (snprintf(out_reason, KERNEL_REASON_BYTES, __VA_ARGS__), false)

static bool read_grid(struct kernel_line *kernel, char *text, char out_reason[KERNEL_REASON_BYTES])
{
	uint32_t axis = 0;

	for (uint32_t i = 0; i < KERNEL_AXES; i++)
		kernel->grid[i] = (struct kernel_extent){.divisor = 1, .count = 1};
	for (char *next; text; text = next, axis++) {
		next = cut(text, ',');
		if (axis == KERNEL_AXES || !read_extent(kernel, text, &kernel->grid[axis]))
			return REFUSE("'grid ... %s': a number, a dimension or a dimension "
				      "divided by a number is needed, for 1 to 3 axes",
				trim(text));
	}
	return true;
}

static bool read_block(struct kernel_line *kernel, char *text, char out_reason[KERNEL_REASON_BYTES])
{
	uint32_t axis = 0;

	for (uint32_t i = 0; i < KERNEL_AXES; i++)
		kernel->block[i] = 1;
	for (char *next; text; text = next, axis++) {
		uint64_t threads;

		next = cut(text, ',');
		if (axis == KERNEL_AXES || !number_parse(trim(text), 1, 1024, &threads))
			return REFUSE("'block ... %s': 1 to 3 numbers from 1 to 1024 are needed",
				trim(text));
		kernel->block[axis] = (uint32_t)threads;
	}
	return true;
}

/* One of "grid ...", "block ..." and "shared ...". */
static bool read_launch(struct kernel_line *kernel, char *text, uint32_t *seen,
	char out_reason[KERNEL_REASON_BYTES])
{
	char *grid = behind(text, "grid");
	char *block = behind(text, "block");
	char *shared = behind(text, "shared");
	uint32_t bit = grid ? 1 : block ? 2 : shared ? 4 : 0;
	uint64_t bytes;

	if (!bit || *seen & bit)
		return REFUSE("'%s': grid, block or shared is needed, each once, or idempotent",
			text);
	*seen |= bit;
	if (grid)
		return read_grid(kernel, grid, out_reason);
	if (block)
		return read_block(kernel, block, out_reason);
	if (!number_parse(shared, 0, UINT32_MAX, &bytes))
		return REFUSE("'shared %s': a number of bytes is needed", shared);
	kernel->shared_bytes = (uint32_t)bytes;
	return true;
}

/* What a kernel can get: scalars and arrays. It returns nothing. */
static bool check_kernel_signature(const struct ww_signature_info *info,
	char out_reason[KERNEL_REASON_BYTES])
{
	struct ww_parameter_info parameter = WW_INIT(struct ww_parameter_info);

	if (info->result_count)
		return REFUSE("a kernel has no results; let it write into an array");
	for (uint32_t i = 0; i < info->parameter_count; i++) {
		if (ww_signature_parameter_get(info->text, i, &parameter) == WW_OK &&
			parameter.kind != WW_ARGUMENT_SCALAR && parameter.kind != WW_ARGUMENT_ARRAY)
			return REFUSE("'%s': a kernel takes scalars and arrays only",
				parameter.name);
	}
	return true;
}

static bool read_signature(struct kernel_line *kernel, const char *text,
	char out_reason[KERNEL_REASON_BYTES])
{
	struct ww_signature_info info = WW_INIT(struct ww_signature_info);

	if (ww_signature_info_get(text, &info) != WW_OK)
		return REFUSE("%s", ww_error_last()->message);
	if (!kernel->is_function && !check_kernel_signature(&info, out_reason))
		return false;
	memcpy(kernel->signature, info.text, sizeof(kernel->signature));
	kernel->parameter_count = info.parameter_count;
	return true;
}

/* The words "function" and "idempotent". Return: the parts that are neither. */
static uint32_t read_words(struct kernel_line *kernel, char *text, char *out_parts[PARTS_MAX])
{
	uint32_t count = 0;

	for (char *next; text; text = next) {
		next = cut(text, ';');
		text = trim(text);
		if (!strcmp(text, "function"))
			kernel->is_function = true;
		else if (!strcmp(text, "idempotent"))
			kernel->is_idempotent = true;
		else if (count < PARTS_MAX)
			out_parts[count++] = text;
	}
	return count;
}

static bool read_parts(struct kernel_line *kernel, char *const parts[], uint32_t count,
	char out_reason[KERNEL_REASON_BYTES])
{
	uint32_t seen = 0;

	if (kernel->is_function && count)
		return REFUSE("'%s': a C function has no grid, block or shared", parts[0]);
	for (uint32_t i = 0; i < count; i++) {
		if (!read_launch(kernel, parts[i], &seen, out_reason))
			return false;
	}
	if (!kernel->is_function && (seen & 3) != 3)
		return REFUSE("grid and block are needed");
	return true;
}

bool kernel_line_read(char *text, struct kernel_line *out_kernel,
	char out_reason[KERNEL_REASON_BYTES])
{
	char *parts[PARTS_MAX];
	char *signature;
	char *launch;
	uint32_t count;

	memset(out_kernel, 0, sizeof(*out_kernel));
	(void)cut(text, '#');
	text = trim(text);
	if (!*text)
		return true;
	signature = cut(text, ':');
	launch = signature ? cut(signature, ';') : NULL;
	if (!launch)
		return REFUSE("a line such as `NAME: SIGNATURE; grid n / 256; block 256` or "
			      "`NAME: SIGNATURE; function` is needed");
	text = trim(text);
	if (!*text || strlen(text) >= sizeof(out_kernel->name))
		return REFUSE("a kernel or a function needs a name of 1 to %zu letters",
			sizeof(out_kernel->name) - 1);
	count = read_words(out_kernel, launch, parts);
	if (!read_signature(out_kernel, trim(signature), out_reason) ||
		!read_parts(out_kernel, parts, count, out_reason))
		return false;
	memcpy(out_kernel->name, text, strlen(text) + 1);
	return true;
}
