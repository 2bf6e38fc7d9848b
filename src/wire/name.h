/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name.h - whether a text can be the name of an object
 *
 * A name is components divided by '/', such as "model/layer0/w". It is valid UTF-8 without control
 * characters, so that it can be printed as it is, and has one spelling only: no component is empty,
 * "." or "..". It names an entry of a table, never a file. The rights to names are not decided
 * here.
 *
 * A name "@ID/REST" is inside the object of that id, in 32 hexadecimal digits, small ones. No other
 * name begins with '@'.
 *
 * The library checks a name before it asks the broker. The broker checks it, too, because it trusts
 * no client.
 */
#ifndef WW_WIRE_NAME_H
#define WW_WIRE_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include <warpway/base.h>

#include "wire/protocol.h"

/* Return: WW_OK; WW_ERR_INVALID (the record says what is wrong, and where). */
ww_status ww_name_check(const char *name);

/*
 * The same for what names are to begin with: it may be empty and end anywhere between two
 * characters, so that "a/", "a/." and "a/.." are fine.
 */
ww_status ww_name_check_prefix(const char *prefix);

/* "@", 32 digits, "/". */
#define WW_NAME_INSIDE_CHARS (1 + 2 * WW_WIRE_ID_BYTES + 1)

/* What the names inside an object begin with: WW_NAME_INSIDE_CHARS characters, and no zero. */
void ww_name_begin_inside(const uint8_t id[WW_WIRE_ID_BYTES], char *out);

/* Whether a name that was checked is inside an object; and of such a name, inside which. */
bool ww_name_is_inside(const char *name);
void ww_name_outer(const char *name, uint8_t out_id[WW_WIRE_ID_BYTES]);

#endif
