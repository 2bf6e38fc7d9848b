/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forge.c - the checksum of a description, see src/memory/description.h for its place
 */
#include "support/forge.h"

#include <string.h>

#include "base/checksum.h"

#define CHECKSUM_AT 12

void description_seal(struct ww_memory_description *description)
{
	uint32_t sum;

	memset(description->bytes + CHECKSUM_AT, 0, sizeof(sum));
	sum = ww_checksum(0, description->bytes, sizeof(description->bytes));
	for (size_t i = 0; i < sizeof(sum); i++)
		description->bytes[CHECKSUM_AT + i] = (uint8_t)(sum >> (8 * i));
}
