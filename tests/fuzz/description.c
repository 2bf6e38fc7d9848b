/* SPDX-License-Identifier: Apache-2.0 */
/*
 * description.c - fuzzes the parser of descriptions
 *
 * Input: one byte of flags (bit 0: seal with a right checksum), then the description, filled up
 * with zeros. What the parser accepts must be what the encoder writes for the same fields: there is
 * one way only to write a description.
 */
#include <string.h>

#include "fuzz/fuzz.h"
#include "memory/description.h"
#include "support/forge.h"

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	struct ww_description fields = {
		.backing = number & 1 ? WW_BACKING_CUDA_VMM : WW_BACKING_MEMFD,
		.kind = number & 2 ? WW_MEMORY_HOST : WW_MEMORY_VMM,
		.access = number & 4 ? WW_ACCESS_READ : WW_ACCESS_WRITE,
		.bytes = UINT64_C(4096) << number,
		.generation = number,
	};
	struct ww_memory_description description;

	if (number >= 16)
		return 0;
	memset(fields.object_id, 0x5a, sizeof(fields.object_id));
	memset(fields.home_uuid, 0xa5, sizeof(fields.home_uuid));
	ww_description_encode(&fields, &description);
	out[0] = number & 8 ? 1 : 0;
	memcpy(out + 1, &description, sizeof(description));
	return 1 + sizeof(description);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	struct ww_memory_description description = {{0}};
	struct ww_memory_description again;
	struct ww_description fields;
	ww_status status;

	if (bytes == 0)
		return 0;
	bytes = bytes - 1 < sizeof(description) ? bytes - 1 : sizeof(description);
	memcpy(&description, input + 1, bytes);
	if (input[0] & 1)
		description_seal(&description);
	status = ww_description_decode(&description, &fields);
	if (status == WW_OK) {
		ww_description_encode(&fields, &again);
		FUZZ_MUST(!memcmp(&description, &again, sizeof(again)));
		FUZZ_MUST(fields.bytes > 0);
		return 0;
	}
	FUZZ_MUST(status == WW_ERR_PROTOCOL || status == WW_ERR_VERSION);
	FUZZ_MUST(ww_error_last()->status == status && ww_error_last()->message[0]);
	return 0;
}
