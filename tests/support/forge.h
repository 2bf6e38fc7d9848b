/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forge.h - descriptions and tokens that were tampered with, and sealed with a right checksum again
 */
#ifndef WW_TESTS_SUPPORT_FORGE_H
#define WW_TESTS_SUPPORT_FORGE_H

#include <stddef.h>
#include <stdint.h>

#include <warpway/memory.h>
#include <warpway/token.h>

/* Both write the checksum that belongs to the rest. */
void description_seal(struct ww_memory_description *description);
void token_seal(struct ww_token *token);

/* The same for any record that has it there. */
void bytes_seal(uint8_t *bytes, size_t count);

/*
 * What to make of one number of a record, for tables of untrue ones. ADDED gives a field more,
 * TAKEN less, BECOMES another value; MASKED keeps some of its bits, and adds others.
 */
struct number_change {
	size_t at;
	size_t bytes;
	uint64_t kept; /* bits of the former value */
	uint64_t added;
};
#define MASKED(type, field, kept, added)                                                     \
	{                                                                                    \
		offsetof(struct type, field), sizeof(((struct type *)0)->field), kept, added \
	}
#define ADDED(type, field, more)    MASKED(type, field, UINT64_MAX, more)
#define TAKEN(type, field, less)    MASKED(type, field, UINT64_MAX, -(uint64_t)(less))
#define BECOMES(type, field, value) MASKED(type, field, 0, value)

void number_change(void *record, const struct number_change *change);

#endif
