/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - whether a text from an untrusted process can be displayed
 *
 * Strict as RFC 3629: no character written longer than need be, no halves of pairs, nothing beyond
 * U+10FFFF. So each text has one spelling, and what is compared byte by byte cannot look the same
 * and differ that way.
 */
#ifndef WW_BASE_UTF8_H
#define WW_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first character of a text that does not end yet. Return: its bytes; 0: it is none. */
size_t ww_utf8_read(const char *text, uint32_t *out_point);

/* Characters that move a terminal's cursor, or worse: C0, DEL and C1. */
bool ww_utf8_is_control(uint32_t point);

/* Whether the whole text is UTF-8 without control characters. */
bool ww_utf8_is_plain(const char *text);

#endif
