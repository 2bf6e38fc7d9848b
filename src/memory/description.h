/* SPDX-License-Identifier: Apache-2.0 */
/*
 * description.h - the description that is sent with a memory's descriptor, as fields
 *
 * The 128 bytes of struct ww_memory_description. All numbers are little-endian; bytes without a
 * field must be zero. A reader refuses a higher version, since fields may have another meaning
 * there. Memory that version 1 can describe is written as version 1.
 *
 *   offset  bytes  field
 *        0      8  magic "WWMEMORY"
 *        8      2  version, 1 or 2
 *       10      2  length of all this, 128
 *       12      4  CRC-32C of the whole with these four bytes zero
 *       16      1  backing: 1 memfd, 2 CUDA VMM; version 2: 3 CUDA legacy handle, 4 CUDA pool
 *       17      1  kind: 1 vmm, 2 host; version 2: 3 legacy, 4 CUDA pool
 *       18      1  access: the most an importer may ask for
 *       24      8  bytes
 *       32     16  object id
 *       48      8  generation
 *       56     16  UUID of the device that holds the bytes
 *       72      8  version 2: bytes from the start of the memory to the span that is described
 *       80      8  version 2: of the span, > 0
 *
 * It comes from untrusted processes: decoding checks everything that can be checked without the
 * descriptor.
 */
#ifndef WW_MEMORY_DESCRIPTION_H
#define WW_MEMORY_DESCRIPTION_H

#include <warpway/memory.h>

#include "device/backend.h"

#define WW_DESCRIPTION_VERSION 2

/* "WW_MEMORY_VMM", ...; "unknown" for what is no kind: a message then gives the number, too. */
const char *ww_memory_kind_name(uint32_t kind);

struct ww_description {
	enum ww_backing backing;
	uint32_t kind;   /* WW_MEMORY_... */
	uint32_t access; /* WW_ACCESS_... */
	uint64_t bytes;  /* > 0 */
	uint64_t generation;
	uint8_t object_id[WW_OBJECT_ID_BYTES];
	uint8_t home_uuid[WW_DEVICE_UUID_BYTES];
	uint64_t span_offset; /* of a view: where it is in the memory; else 0, as is the next */
	uint64_t span_bytes;
};

void ww_description_encode(const struct ww_description *description,
	struct ww_memory_description *out);

/* Return: WW_OK; WW_ERR_PROTOCOL (no description, or damaged); WW_ERR_VERSION. */
ww_status ww_description_decode(const struct ww_memory_description *bytes,
	struct ww_description *out_description);

#endif
