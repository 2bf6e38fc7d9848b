/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_text.c - a channel, and how fast its frames go, in words for people and as JSON
 */
#include "warpway/channel_text.h"

#include <stdio.h>

#include "common/number.h"
#include "warpway/format.h"

#define NS_PER_S 1e9

void channel_text(const struct ww_channel_info *info, char out_text[CHANNEL_TEXT_BYTES])
{
	char array[FORMAT_ARRAY_BYTES] = "bytes";
	char size[NUMBER_BYTES];

	number_size_text(info->slot_bytes, size);
	if (info->has_array)
		format_array(&info->array, array);
	snprintf(out_text, CHANNEL_TEXT_BYTES,
		"policy %s, %u slot%s of %s, frames of %s, up to %u consumer%s",
		format_policy(info->policy), info->slots, info->slots == 1 ? "" : "s", size, array,
		info->consumers_max, info->consumers_max == 1 ? "" : "s");
}

static double per_second(uint64_t count, uint64_t ns)
{
	return ns ? (double)count / ((double)ns / NS_PER_S) : 0;
}

double channel_rate_frames_per_s(const struct channel_rate *rate)
{
	return per_second(rate->frames, rate->ns);
}

void channel_rate_text(const struct channel_rate *rate, char out_text[CHANNEL_TEXT_BYTES])
{
	char bytes[NUMBER_BYTES];

	number_size_text((uint64_t)per_second(rate->bytes, rate->ns), bytes);
	snprintf(out_text, CHANNEL_TEXT_BYTES, "%llu frame%s in %.1f s: %.1f/s, %s/s",
		(unsigned long long)rate->frames, rate->frames == 1 ? "" : "s",
		(double)rate->ns / NS_PER_S, per_second(rate->frames, rate->ns), bytes);
}

json_t *channel_rate_json(const char *name, const struct channel_rate *rate)
{
	return json_pack("{s:s, s:I, s:I, s:f, s:f, s:f}", "name", name, "frames",
		(json_int_t)rate->frames, "bytes", (json_int_t)rate->bytes, "seconds",
		(double)rate->ns / NS_PER_S, "frames_per_s", per_second(rate->frames, rate->ns),
		"bytes_per_s", per_second(rate->bytes, rate->ns));
}
