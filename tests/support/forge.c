/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forge.c - the checksum of a description or a token; all have it at the same place
 */
#include "support/forge.h"

#include <string.h>

#include "base/checksum.h"

#define CHECKSUM_AT 12

void bytes_seal(uint8_t *bytes, size_t count)
{
	uint32_t sum;

	memset(bytes + CHECKSUM_AT, 0, sizeof(sum));
	sum = ww_checksum(0, bytes, count);
	for (size_t i = 0; i < sizeof(sum); i++)
		bytes[CHECKSUM_AT + i] = (uint8_t)(sum >> (8 * i));
}

void description_seal(struct ww_memory_description *description)
{
	bytes_seal(description->bytes, sizeof(description->bytes));
}

void token_seal(struct ww_token *token)
{
	bytes_seal(token->bytes, sizeof(token->bytes));
}

/* Numbers are little endian, as are all machines that the library runs on. */
void number_change(void *record, const struct number_change *change)
{
	uint8_t *field = (uint8_t *)record + change->at;
	uint64_t value = 0;

	memcpy(&value, field, change->bytes);
	value = (value & change->kept) + change->added;
	memcpy(field, &value, change->bytes);
}
