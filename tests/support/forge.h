/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forge.h - descriptions and tokens that were tampered with, and sealed with a right checksum again
 */
#ifndef WW_TESTS_SUPPORT_FORGE_H
#define WW_TESTS_SUPPORT_FORGE_H

#include <warpway/memory.h>
#include <warpway/token.h>

/* Both write the checksum that belongs to the rest. */
void description_seal(struct ww_memory_description *description);
void token_seal(struct ww_token *token);

/* The same for any record that has it there. */
void bytes_seal(uint8_t *bytes, size_t count);

#endif
