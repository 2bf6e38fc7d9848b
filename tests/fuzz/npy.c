/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy.c - fuzzes the reader of .npy files
 *
 * Input: the first bytes of a file. What is accepted is an array that can be, from the first byte
 * behind the header on; and when its header is written again it says the same.
 */
#include <string.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "warpway/npy.h"

/* The same array, but for what the text of a header can leave open: strides that lead nowhere. */
static void must_be_same(const struct ww_array *array, const struct ww_array *again)
{
	FUZZ_MUST(array->dtype.code == again->dtype.code && array->dtype.bits == again->dtype.bits);
	FUZZ_MUST(array->ndim == again->ndim);
	FUZZ_MUST(!memcmp(array->shape, again->shape, sizeof(array->shape)));
	FUZZ_MUST(ww_array_is_contiguous(array) == ww_array_is_contiguous(again));
	FUZZ_MUST(ww_array_is_fortran(array) == ww_array_is_fortran(again));
}

static void write_again(const struct ww_array *array)
{
	char header[NPY_WRITE_BYTES];
	char reason[NPY_REASON_BYTES];
	struct ww_array again;
	size_t bytes = npy_write(array, header, reason);
	size_t told;

	FUZZ_MUST(bytes > 0 && bytes <= sizeof(header) && !reason[0]);
	FUZZ_MUST(npy_header_bytes(header, bytes, &told, reason) && told == bytes);
	FUZZ_MUST(npy_read(header, bytes, &again, reason));
	must_be_same(array, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	char reason[NPY_REASON_BYTES] = "";
	struct ww_array array;
	uint64_t elements_bytes;
	char *copy;
	size_t header;

	if (bytes > FUZZ_INPUT_BYTES)
		return 0;
	if (!npy_header_bytes(input, bytes, &header, reason)) {
		FUZZ_MUST(reason[0]);
		return 0;
	}
	FUZZ_MUST(header >= NPY_PREFIX_BYTES && header <= NPY_HEADER_MAX);
	if (header > bytes)
		return 0;
	copy = malloc(header); /* of exactly its size */
	FUZZ_MUST(copy);
	memcpy(copy, input, header);
	if (npy_read(copy, header, &array, reason)) {
		FUZZ_MUST(ww_array_bytes(&array, &elements_bytes) == WW_OK);
		FUZZ_MUST(ww_array_check(&array, elements_bytes) == WW_OK);
		write_again(&array);
	} else {
		FUZZ_MUST(reason[0]);
	}
	free(copy);
	return 0;
}

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	static const char *const texts[] = {
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }          \n",
		"{'descr': '|b1', 'fortran_order': True, 'shape': (2, 3, 4), }\n",
		"{'shape': (7,), 'fortran_order': False, \"descr\": '<c16'}\n",
		"{'descr': '|V2', 'fortran_order': True, 'shape': (), }\n",
		"{'descr': '>i8', 'fortran_order': False, 'shape': (0, 5), }\n",
		"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3L, 2), }\n",
	};
	const size_t count = sizeof(texts) / sizeof(texts[0]);
	const char *text = texts[number % count];
	size_t length = strlen(text);
	size_t start;

	if (number >= 3 * count)
		return 0;
	memset(out, 0, 12);
	memcpy(out, "\x93NUMPY", 6);
	out[6] = (uint8_t)(1 + number / count);
	out[8] = (uint8_t)length;
	start = out[6] == 1 ? 10 : 12;
	memcpy(out + start, text, length);
	return start + length;
}
