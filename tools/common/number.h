/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number.h - numbers on the command line, and numbers for people
 *
 * Parsing is strict: digits only, so no sign, no space, nothing behind; a number that does not fit
 * is refused, never cut.
 */
#ifndef TOOLS_COMMON_NUMBER_H
#define TOOLS_COMMON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for what the number_... text functions write. */
#define NUMBER_BYTES 32

/**
 * number_parse() - read a whole number in decimal
 * Return: false, and *out_value untouched, unless @text is one and lies in @minimum .. @maximum.
 */
bool number_parse(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *out_value);

/**
 * number_parse_size() - read a size in bytes, such as 4096, 4K, 4KiB, 2M, 2MiB, 1G or 1GiB
 *
 * Return: false unless @text, of @length bytes, is one, > 0, and fits.
 */
bool number_parse_size(const char *text, size_t length, uint64_t *out_bytes);

/**
 * number_parse_seconds() - read seconds with up to nine decimals, such as 30, 0.5 or 0.000000001
 *
 * Return: false, and *out_ns untouched, unless @text is that, and less than 1000000001 s (some 31
 * years).
 */
bool number_parse_seconds(const char *text, uint64_t *out_ns);

/* The exact name of a size in the largest unit that divides it: "2MiB", "4KiB", "4097B". */
void number_size_name(uint64_t bytes, char out_text[NUMBER_BYTES]);

/* A size to look at: "4.0 MiB", "512 B". */
void number_size_text(uint64_t bytes, char out_text[NUMBER_BYTES]);

#endif
