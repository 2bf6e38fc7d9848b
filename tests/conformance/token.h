/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.h - tokens of memories in the scene's broker, for the cases about them
 */
#ifndef WW_TESTS_CONFORMANCE_TOKEN_H
#define WW_TESTS_CONFORMANCE_TOKEN_H

#include "conformance/conformance.h"

/* A token that keeps nothing: without an escrow. */
struct ww_token token_of(ww_memory *memory, uint32_t access);

/* A token with one byte changed, and whole by its checksum. */
struct ww_token token_forged(const struct ww_token *token, size_t at, uint8_t value);

/* The import ends with this status, and the record has the word. */
void token_refuse_import(const struct ww_token *token, uint32_t access, ww_status status,
	const char *word);

#endif
