/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number.c - numbers on the command line, and numbers for people
 */
#include "common/number.h"

#include <stdio.h>
#include <string.h>

static const char *const unit_names[] = {"B", "KiB", "MiB", "GiB", "TiB"};

#define UNIT_COUNT (sizeof(unit_names) / sizeof(unit_names[0]))

#define NS_PER_S         UINT64_C(1000000000)
#define SECONDS_MAX      UINT64_C(1000000000)
#define SECONDS_DECIMALS 9

/* Reads digits up to @length; returns how many there were, 0 when the number does not fit. */
static size_t parse_digits(const char *text, size_t length, uint64_t *out_value)
{
	uint64_t value = 0;
	size_t at;

	for (at = 0; at < length && text[at] >= '0' && text[at] <= '9'; at++) {
		if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
			__builtin_add_overflow(value, (uint64_t)(text[at] - '0'), &value))
			return 0;
	}
	*out_value = value;
	return at;
}

bool number_parse(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *out_value)
{
	size_t length = strlen(text);
	uint64_t value;

	if (length == 0 || parse_digits(text, length, &value) != length)
		return false;
	if (value < minimum || value > maximum)
		return false;
	*out_value = value;
	return true;
}

/* "", "B", "K", "KiB", "M", ... give 0, 0, 1, 1, 2; anything else -1. */
static int parse_unit(const char *text, size_t length)
{
	for (size_t unit = 0; unit < UNIT_COUNT; unit++) {
		if (length == strlen(unit_names[unit]) && !memcmp(text, unit_names[unit], length))
			return (int)unit;
		if (unit > 0 && length == 1 && text[0] == unit_names[unit][0])
			return (int)unit;
	}
	return length == 0 ? 0 : -1;
}

bool number_parse_size(const char *text, size_t length, uint64_t *out_bytes)
{
	uint64_t value = 0;
	size_t digits = parse_digits(text, length, &value);
	int unit = parse_unit(text + digits, length - digits);

	if (digits == 0 || value == 0 || unit < 0)
		return false;
	if (value > (UINT64_MAX >> (10 * unit)))
		return false;
	*out_bytes = value << (10 * unit);
	return true;
}

/* What stands behind the point: as if it had nine digits. */
static bool parse_decimals(const char *text, uint64_t *out_ns)
{
	size_t length = strlen(text);
	uint64_t value = 0;

	if (length == 0 || length > SECONDS_DECIMALS ||
		parse_digits(text, length, &value) != length)
		return false;
	for (size_t i = length; i < SECONDS_DECIMALS; i++)
		value *= 10;
	*out_ns = value;
	return true;
}

bool number_parse_seconds(const char *text, uint64_t *out_ns)
{
	size_t length = strcspn(text, ".");
	uint64_t seconds = 0;
	uint64_t ns = 0;

	if (length == 0 || parse_digits(text, length, &seconds) != length || seconds > SECONDS_MAX)
		return false;
	if (text[length] == '.' && !parse_decimals(text + length + 1, &ns))
		return false;
	*out_ns = seconds * NS_PER_S + ns;
	return true;
}

void number_size_name(uint64_t bytes, char out_text[NUMBER_BYTES])
{
	size_t unit = 0;

	while (unit + 1 < UNIT_COUNT && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	snprintf(out_text, NUMBER_BYTES, "%llu%s", (unsigned long long)bytes, unit_names[unit]);
}

void number_size_text(uint64_t bytes, char out_text[NUMBER_BYTES])
{
	double value = (double)bytes;
	size_t unit = 0;

	while (unit + 1 < UNIT_COUNT && value >= 1024) {
		value /= 1024;
		unit++;
	}
	snprintf(out_text, NUMBER_BYTES, unit ? "%.1f %s" : "%.0f %s", value, unit_names[unit]);
}
