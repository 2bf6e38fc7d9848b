/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uuid.c - device UUIDs as text, see uuid.h
 */
#include "device/uuid.h"

#include <string.h>

static int digit_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

/* Whether the usual form has a hyphen before this byte. */
static bool is_after_hyphen(int byte)
{
	return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

bool ww_uuid_parse(const char *text, uint8_t out_uuid[WW_DEVICE_UUID_BYTES])
{
	bool has_hyphens = strchr(text, '-') != NULL;
	uint8_t uuid[WW_DEVICE_UUID_BYTES];

	for (int i = 0; i < WW_DEVICE_UUID_BYTES; i++) {
		int high;
		int low;

		if (has_hyphens && is_after_hyphen(i) && *text++ != '-')
			return false;
		high = digit_value(text[0]);
		low = high < 0 ? -1 : digit_value(text[1]);
		if (low < 0)
			return false;
		uuid[i] = (uint8_t)(high * 16 + low);
		text += 2;
	}
	if (*text != '\0')
		return false;
	memcpy(out_uuid, uuid, sizeof(uuid));
	return true;
}
