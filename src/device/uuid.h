/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uuid.h - device UUIDs as text
 */
#ifndef WW_DEVICE_UUID_H
#define WW_DEVICE_UUID_H

#include <stdbool.h>
#include <stdint.h>

#include <warpway/device.h>

/* "GPU-" + 8-4-4-4-12 digits + the final zero byte */
#define WW_UUID_TEXT_BYTES 41

/*
 * Reads 32 hexadecimal digits of either case, with or without the four hyphens of the usual form.
 * Return: whether that is what the whole text is; @out_uuid is changed only then.
 */
bool ww_uuid_parse(const char *text, uint8_t out_uuid[WW_DEVICE_UUID_BYTES]);

/* Writes "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", as nvidia-smi -L prints it. */
void ww_uuid_format_gpu(const uint8_t uuid[WW_DEVICE_UUID_BYTES], char out[WW_UUID_TEXT_BYTES]);

#endif
