/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.c - what is in a broker, in words for people
 */
#include "warpway/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_MS  UINT64_C(1000000)
#define NS_PER_S   (1000 * NS_PER_MS)
#define NS_PER_MIN (60 * NS_PER_S)
#define NS_PER_H   (60 * NS_PER_MIN)
#define NS_PER_D   (24 * NS_PER_H)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define WORDS_MAX 9

static const char *const words[][WORDS_MAX] = {
	[FORMAT_KIND] = {[WW_OBJECT_MEMORY] = "memory",
		[WW_OBJECT_TIMELINE] = "timeline",
		[WW_OBJECT_EVENT] = "event",
		[WW_OBJECT_BARRIER] = "barrier",
		[WW_OBJECT_CHANNEL] = "channel",
		[WW_OBJECT_SERVICE] = "service",
		[WW_OBJECT_POOL] = "pool",
		[WW_OBJECT_WORK_QUEUE] = "work-queue"},
	[FORMAT_MEMORY_KIND] = {[WW_MEMORY_VMM] = "vmm", [WW_MEMORY_HOST] = "host"},
	[FORMAT_STATE] = {[WW_STATE_WRITING] = "writing",
		[WW_STATE_SEALED] = "sealed",
		[WW_STATE_SHARED] = "shared",
		[WW_STATE_REMOVED] = "removed"},
	[FORMAT_LIFE] =
		{[WW_LIFE_HELD] = "held", [WW_LIFE_OWNER] = "owner", [WW_LIFE_KEPT] = "kept"},
	[FORMAT_ACCESS] = {[0] = "none", [WW_ACCESS_READ] = "read", [WW_ACCESS_WRITE] = "write"},
	[FORMAT_WHAT] = {[WW_WATCH_PUT] = "put",
		[WW_WATCH_READY] = "ready",
		[WW_WATCH_REMOVED] = "removed",
		[WW_WATCH_EXPIRED] = "expired",
		[WW_WATCH_GONE] = "gone",
		[WW_WATCH_LOST] = "lost",
		[WW_WATCH_OVERFLOW] = "overflow",
		[WW_WATCH_REPLACED] = "replaced"},
	[FORMAT_TIMELINE_STATE] = {[WW_TIMELINE_LIVE] = "live",
		[WW_TIMELINE_CLOSED] = "closed",
		[WW_TIMELINE_LOST] = "lost"},
	[FORMAT_POLICY] = {[WW_CHANNEL_BLOCK] = "block",
		[WW_CHANNEL_DROP_OLDEST] = "drop-oldest",
		[WW_CHANNEL_LATEST] = "latest"},
};

const char *format_word(enum format_sort sort, uint32_t number)
{
	const char *word = number < WORDS_MAX ? words[sort][number] : NULL;

	return word ? word : "unknown";
}

bool format_find(enum format_sort sort, const char *word, uint32_t *out_number)
{
	for (uint32_t number = 0; number < WORDS_MAX; number++) {
		if (words[sort][number] && !strcmp(word, words[sort][number])) {
			*out_number = number;
			return true;
		}
	}
	return false;
}

static char state_letter(uint32_t state)
{
	static const char letters[] = "?ws-x";

	return state < sizeof(letters) - 1 ? letters[state] : '?';
}

void format_mode(uint32_t state, uint32_t mode, char out_text[FORMAT_MODE_BYTES])
{
	static const char letters[] = "rwxrwxrwx";

	out_text[0] = state_letter(state);
	for (int i = 0; i < 9; i++)
		out_text[1 + i] = mode & (UINT32_C(0400) >> i) ? letters[i] : '-';
	out_text[10] = 0;
}

void format_duration(uint64_t ns, char out_text[FORMAT_DURATION_BYTES])
{
	static const struct {
		uint64_t below;
		uint64_t unit;
		const char *name;
	} scales[] = {
		{NS_PER_S, NS_PER_MS, "ms"},
		{100 * NS_PER_S, NS_PER_S, "s"},
		{100 * NS_PER_MIN, NS_PER_MIN, "min"},
		{48 * NS_PER_H, NS_PER_H, "h"},
		{UINT64_MAX, NS_PER_D, "d"},
	};
	size_t i = 0;

	while (i + 1 < COUNT(scales) && ns >= scales[i].below)
		i++;
	snprintf(out_text, FORMAT_DURATION_BYTES, "%llu %s",
		(unsigned long long)(ns / scales[i].unit), scales[i].name);
}

static size_t append_hex(char *out_text, const uint8_t *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++) {
		*out_text++ = digits[bytes[i] >> 4];
		*out_text++ = digits[bytes[i] & 15];
	}
	*out_text = 0;
	return 2 * count;
}

void format_uuid(const uint8_t uuid[WW_DEVICE_UUID_BYTES], char out_text[FORMAT_UUID_BYTES])
{
	static const size_t groups[] = {4, 2, 2, 2, 6};
	size_t at = 0;

	memcpy(out_text, "GPU", 3);
	out_text += 3;
	for (size_t i = 0; i < COUNT(groups); i++) {
		*out_text++ = '-';
		out_text += append_hex(out_text, uuid + at, groups[i]);
		at += groups[i];
	}
}

void format_id(const uint8_t id[WW_OBJECT_ID_BYTES], char out_text[FORMAT_ID_BYTES])
{
	append_hex(out_text, id, WW_OBJECT_ID_BYTES);
}

bool format_find_id(const char *text, uint8_t out_id[WW_OBJECT_ID_BYTES])
{
	if (strspn(text, "0123456789abcdef") < 2 * (size_t)WW_OBJECT_ID_BYTES)
		return false;
	for (size_t i = 0; i < WW_OBJECT_ID_BYTES; i++) {
		const char pair[] = {text[2 * i], text[2 * i + 1], '\0'};

		out_id[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return true;
}

void format_dtype(const struct ww_array *array, char out_text[FORMAT_DTYPE_BYTES])
{
	const struct ww_dtype dtype = {array->dtype.code, array->dtype.bits, array->dtype.lanes};

	if (ww_dtype_name(&dtype, out_text) != WW_OK)
		snprintf(out_text, FORMAT_DTYPE_BYTES, "unknown%u", array->dtype.bits);
}

void format_array(const struct ww_array *array, char out_text[FORMAT_ARRAY_BYTES])
{
	char dtype[FORMAT_DTYPE_BYTES];
	size_t used;

	format_dtype(array, dtype);
	used = (size_t)snprintf(out_text, FORMAT_ARRAY_BYTES, "%s[", dtype);
	for (uint32_t i = 0; i < array->ndim && i < WW_ARRAY_DIMS; i++)
		used += (size_t)snprintf(out_text + used, FORMAT_ARRAY_BYTES - used, "%s%lld",
			i ? "," : "", (long long)array->shape[i]);
	snprintf(out_text + used, FORMAT_ARRAY_BYTES - used, "]");
}

/* Bytes of a character that begins so; 0: none does. */
static size_t bytes_by_lead(unsigned char lead)
{
	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead < 0xe0)
		return 2;
	if (lead >= 0xe0 && lead < 0xf0)
		return 3;
	return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

/* Bytes of the character at @text, which is not empty; 0 when they are not valid UTF-8. */
static size_t character_bytes(const unsigned char *text)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t bytes = bytes_by_lead(text[0]);
	uint32_t value = bytes > 1 ? text[0] & (0xffu >> (bytes + 1)) : text[0];

	for (size_t i = 1; i < bytes; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (text[i] & 0x3f);
	}
	if (value < least[bytes] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return 0;
	return bytes;
}

/* C0, DEL, and C1, which some terminals obey even as UTF-8. */
static int is_control(const unsigned char *text)
{
	return text[0] < 0x20 || text[0] == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0);
}

void format_safe(const char *text, char *out_text, size_t room)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		size_t bytes = character_bytes(at);
		size_t taken = bytes ? bytes : 1;
		int bad = bytes == 0 || is_control(at);

		if ((bad ? 1 : bytes) >= room)
			break;
		if (bad) {
			*out_text++ = '?';
			room--;
		} else {
			memcpy(out_text, at, bytes);
			out_text += bytes;
			room -= bytes;
		}
		at += taken;
	}
	*out_text = 0;
}

const char *format_process(uint32_t pid, const char *program, char out_text[FORMAT_PROCESS_BYTES])
{
	char safe[WW_PROGRAM_BYTES];
	char who[16] = "a process";

	format_safe(program, safe, sizeof(safe));
	if (pid)
		snprintf(who, sizeof(who), "pid %" PRIu32, pid);
	if (safe[0])
		snprintf(out_text, FORMAT_PROCESS_BYTES, "%s (%s)", who, safe);
	else
		snprintf(out_text, FORMAT_PROCESS_BYTES, "%s", who);
	return out_text;
}
