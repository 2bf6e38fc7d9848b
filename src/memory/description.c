/* SPDX-License-Identifier: Apache-2.0 */
/*
 * description.c - what travels beside a memory's descriptor, see description.h
 */
#include "memory/description.h"

#include <inttypes.h>
#include <string.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/params.h"

#define MAGIC "WWMEMORY"

enum {
	AT_MAGIC = 0,
	AT_VERSION = 8,
	AT_LENGTH = 10,
	AT_CHECKSUM = 12,
	AT_BACKING = 16,
	AT_KIND = 17,
	AT_ACCESS = 18,
	AT_RESERVED = 19,
	AT_BYTES = 24,
	AT_OBJECT_ID = 32,
	AT_GENERATION = 48,
	AT_HOME_UUID = 56,
	AT_SPAN_OFFSET = 72, /* version 2 */
	AT_SPAN_BYTES = 80,  /* version 2 */
	AT_END = 88
};

#define VERSION_WHOLE 1 /* describes whole memories of our own */

const char *ww_memory_kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[WW_MEMORY_VMM] = "WW_MEMORY_VMM",
		[WW_MEMORY_HOST] = "WW_MEMORY_HOST",
		[WW_MEMORY_LEGACY] = "WW_MEMORY_LEGACY",
		[WW_MEMORY_CUDA_POOL] = "WW_MEMORY_CUDA_POOL",
	};

	return kind < sizeof(names) / sizeof(names[0]) && names[kind] ? names[kind] : "unknown";
}

static void put(uint8_t *at, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *at, int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

/* The sum of the whole with its own four bytes as zeros. */
static uint32_t checksum(const uint8_t *bytes)
{
	static const uint8_t zeros[4];
	uint32_t sum = ww_checksum(0, bytes, AT_CHECKSUM);

	sum = ww_checksum(sum, zeros, sizeof(zeros));
	return ww_checksum(sum, bytes + AT_BACKING, WW_MEMORY_DESCRIPTION_BYTES - AT_BACKING);
}

void ww_description_encode(const struct ww_description *description,
	struct ww_memory_description *out)
{
	uint8_t *bytes = out->bytes;

	memset(out, 0, sizeof(*out));
	memcpy(bytes + AT_MAGIC, MAGIC, 8);
	put(bytes + AT_VERSION, VERSION_WHOLE, 2);
	put(bytes + AT_LENGTH, sizeof(*out), 2);
	put(bytes + AT_BACKING, description->backing, 1);
	put(bytes + AT_KIND, description->kind, 1);
	put(bytes + AT_ACCESS, description->access, 1);
	put(bytes + AT_BYTES, description->bytes, 8);
	memcpy(bytes + AT_OBJECT_ID, description->object_id, WW_OBJECT_ID_BYTES);
	put(bytes + AT_GENERATION, description->generation, 8);
	memcpy(bytes + AT_HOME_UUID, description->home_uuid, WW_DEVICE_UUID_BYTES);
	if (ww_backing_is_foreign(description->backing) || description->span_bytes > 0) {
		bool is_part = description->span_bytes > 0;

		put(bytes + AT_VERSION, WW_DESCRIPTION_VERSION, 2);
		put(bytes + AT_SPAN_OFFSET, description->span_offset, 8);
		put(bytes + AT_SPAN_BYTES, is_part ? description->span_bytes : description->bytes,
			8);
	}
	put(bytes + AT_CHECKSUM, checksum(bytes), 4);
}

static ww_status check_fields(const uint8_t *bytes, const struct ww_description *fields)
{
	uint64_t version = get(bytes + AT_VERSION, 2);
	size_t end = version == VERSION_WHOLE ? AT_SPAN_OFFSET : AT_END;
	bool is_own = fields->backing == WW_BACKING_MEMFD || fields->backing == WW_BACKING_CUDA_VMM;
	uint32_t kind = fields->kind;

	/* Each backing has its kinds of memory. */
	if (!is_own && !(version > VERSION_WHOLE && ww_backing_is_foreign(fields->backing)))
		return ww_fail(WW_ERR_PROTOCOL, "a memory's description names no known backing: %d",
			(int)fields->backing);
	if (kind < WW_MEMORY_VMM || kind > WW_MEMORY_CUDA_POOL)
		return ww_fail(WW_ERR_PROTOCOL,
			"a memory's description names no known kind: %" PRIu32, kind);
	if (kind == WW_MEMORY_HOST && fields->backing != WW_BACKING_MEMFD)
		return ww_fail(WW_ERR_PROTOCOL,
			"a memory's description says that host memory lies on a GPU");
	if ((kind == WW_MEMORY_LEGACY) != (fields->backing == WW_BACKING_CUDA_LEGACY) ||
		(kind == WW_MEMORY_CUDA_POOL) != (fields->backing == WW_BACKING_CUDA_POOL))
		return ww_fail(WW_ERR_PROTOCOL,
			"a memory's description says that %s has backing %d",
			ww_memory_kind_name(kind), (int)fields->backing);
	if (fields->access != WW_ACCESS_READ && fields->access != WW_ACCESS_WRITE)
		return ww_fail(WW_ERR_PROTOCOL,
			"a memory's description names no known access: %" PRIu32, fields->access);
	if (fields->bytes == 0 || fields->bytes > INT64_MAX)
		return ww_fail(WW_ERR_PROTOCOL,
			"a memory's description names an impossible size: %" PRIu64 " bytes",
			fields->bytes);
	if (!ww_is_zero(bytes + AT_RESERVED, AT_BYTES - AT_RESERVED) ||
		!ww_is_zero(bytes + end, WW_MEMORY_DESCRIPTION_BYTES - end))
		return ww_fail(WW_ERR_PROTOCOL,
			"a memory's description has a field that version %" PRIu64 " does not know",
			version);
	return WW_OK;
}

/* Fills the span, unless it is the whole. */
static ww_status read_span(const uint8_t *bytes, struct ww_description *fields)
{
	uint64_t offset = get(bytes + AT_SPAN_OFFSET, 8);
	uint64_t span = get(bytes + AT_SPAN_BYTES, 8);

	if (get(bytes + AT_VERSION, 2) == VERSION_WHOLE)
		return WW_OK;
	if (span == 0 || span > fields->bytes || offset > fields->bytes - span)
		return ww_fail(WW_ERR_PROTOCOL,
			"a memory's description names %" PRIu64 " bytes at offset %" PRIu64
			" of only %" PRIu64,
			span, offset, fields->bytes);
	if (span < fields->bytes) {
		fields->span_offset = offset;
		fields->span_bytes = span;
	} else if (!ww_backing_is_foreign(fields->backing)) {
		return ww_fail(WW_ERR_PROTOCOL,
			"a memory's description names all of a memory as a part of it");
	}
	return WW_OK;
}

ww_status ww_description_decode(const struct ww_memory_description *description,
	struct ww_description *out_description)
{
	const uint8_t *bytes = description->bytes;
	struct ww_description fields = {0};
	uint64_t version = get(bytes + AT_VERSION, 2);

	/* Check that every valid description passes, whichever process wrote it. */
	if (memcmp(bytes + AT_MAGIC, MAGIC, 8) != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"these bytes do not describe a memory: they do not begin "
			"with " MAGIC);
	if (checksum(bytes) != get(bytes + AT_CHECKSUM, 4))
		return ww_fail(WW_ERR_PROTOCOL,
			"a memory's description is damaged: its checksum is wrong");
	if (version < VERSION_WHOLE || version > WW_DESCRIPTION_VERSION)
		return ww_fail(WW_ERR_VERSION,
			"a memory's description has version %" PRIu64
			", this library (%s) reads versions 1 to %d; "
			"use one version of Warpway in both processes",
			version, WW_VERSION, WW_DESCRIPTION_VERSION);
	if (get(bytes + AT_LENGTH, 2) != WW_MEMORY_DESCRIPTION_BYTES)
		return ww_fail(WW_ERR_PROTOCOL,
			"a memory's description has a wrong length: %" PRIu64,
			get(bytes + AT_LENGTH, 2));
	fields.backing = (enum ww_backing)bytes[AT_BACKING];
	fields.kind = bytes[AT_KIND];
	fields.access = bytes[AT_ACCESS];
	fields.bytes = get(bytes + AT_BYTES, 8);
	fields.generation = get(bytes + AT_GENERATION, 8);
	memcpy(fields.object_id, bytes + AT_OBJECT_ID, WW_OBJECT_ID_BYTES);
	memcpy(fields.home_uuid, bytes + AT_HOME_UUID, WW_DEVICE_UUID_BYTES);
	ww_try(check_fields(bytes, &fields));
	ww_try(read_span(bytes, &fields));
	*out_description = fields;
	return WW_OK;
}
