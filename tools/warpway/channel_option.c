/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_option.c - what options of `warpway channel` take
 */
#include "warpway/channel_option.h"

#include <string.h>

#include "common/number.h"
#include "common/say.h"
#include "warpway/format.h"

#define NS_PER_S UINT64_C(1000000000)

int channel_take_policy(void *place, const char *text)
{
	if (format_find(FORMAT_POLICY, text, place))
		return 0;
	return refuse("'--policy %s': block, drop-oldest or latest is needed", text);
}

/* A number with decimals, in thousand-millionths; more than 0. */
static bool parse_decimal(const char *text, uint64_t *out_billionths)
{
	return number_parse_seconds(text, out_billionths) && *out_billionths > 0;
}

int channel_take_rate(void *place, const char *text)
{
	uint64_t billionths;

	if (!parse_decimal(text, &billionths))
		return refuse("'--rate %s': frames a second are needed, such as 60 or 29.97", text);
	*(uint64_t *)place = NS_PER_S * NS_PER_S / billionths;
	return 0;
}

int channel_take_speed(void *place, const char *text)
{
	uint64_t billionths;

	if (!parse_decimal(text, &billionths))
		return refuse("'--speed %s': a number above 0 is needed, such as 2 or 0.5", text);
	*(double *)place = (double)billionths / (double)NS_PER_S;
	return 0;
}

int channel_take_bytes(void *place, const char *text)
{
	if (number_parse_size(text, strlen(text), place))
		return 0;
	return refuse("'--bytes %s': a size is needed, such as 4096, 64K or 8MiB", text);
}

/* "480,640,3": the next number, and where it ends. */
static const char *next_size(const char *text, int64_t *out_size)
{
	char digits[24];
	size_t length = strcspn(text, ",");
	uint64_t size;

	if (length >= sizeof(digits))
		return NULL;
	memcpy(digits, text, length);
	digits[length] = 0;
	if (!number_parse(digits, 1, INT64_MAX, &size))
		return NULL;
	*out_size = (int64_t)size;
	return text + length;
}

int channel_take_shape(void *place, const char *text)
{
	struct channel_shape shape = {0};
	const char *at = text;

	do {
		if (shape.ndim == WW_FRAME_DIMS)
			return refuse("'--shape %s': at most %d dimensions are possible", text,
				WW_FRAME_DIMS);
		at = next_size(at, &shape.sizes[shape.ndim++]);
	} while (at && *at++ == ',');
	if (!at)
		return refuse("'--shape %s': numbers are needed, such as 480,640,3", text);
	*(struct channel_shape *)place = shape;
	return 0;
}

int channel_take_dtype(void *place, const char *text)
{
	if (ww_dtype_parse(text, place) == WW_OK)
		return 0;
	return refuse("--dtype: %s", ww_error_last()->message);
}

int channel_take_history(void *place, const char *text)
{
	if (!strcmp(text, "oldest")) {
		*(uint64_t *)place = WW_CHANNEL_OLDEST;
		return 0;
	}
	if (number_parse(text, 0, UINT32_MAX, place))
		return 0;
	return refuse("'--history %s': a number of frames, or `oldest`, is needed", text);
}
