/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uuid.h - device UUIDs as text
 */
#ifndef WW_DEVICE_UUID_H
#define WW_DEVICE_UUID_H

#include <stdbool.h>
#include <stdint.h>

#include <warpway/device.h>

/*
 * Reads 32 hexadecimal digits of either case, with or without the four hyphens of the usual form.
 * Return: whether that is what the whole text is; @out_uuid is changed only then.
 */
bool ww_uuid_parse(const char *text, uint8_t out_uuid[WW_DEVICE_UUID_BYTES]);

#endif
