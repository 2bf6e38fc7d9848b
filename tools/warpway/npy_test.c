/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy_test.c - headers of .npy files: those of NumPy are read, anything else is refused with a
 * reason
 */
#include "base/unit_test.h"

#include <stdio.h>
#include <string.h>

#include "warpway/array_gather.h"
#include "warpway/npy.h"

#define HEADER_BYTES 512

static char reason[NPY_REASON_BYTES];

/* A header of the version with this text as it is; returns its length. */
static size_t make(char *out_header, int version, const char *text)
{
	size_t length = strlen(text);
	size_t start = version == 1 ? 10 : 12;

	memset(out_header, 0, start);
	memcpy(out_header, "\x93NUMPY", 6);
	out_header[6] = (char)version;
	out_header[8] = (char)length;
	out_header[9] = (char)(length >> 8);
	memcpy(out_header + start, text, length);
	return start + length;
}

static bool read_text(int version, const char *text, struct ww_array *out_array)
{
	char header[HEADER_BYTES];
	size_t bytes = make(header, version, text);
	size_t told;

	reason[0] = 0;
	if (!npy_header_bytes(header, bytes, &told, reason))
		return false;
	assert_int_equal(told, bytes);
	return npy_read(header, bytes, out_array, reason);
}

static void check_type(const char *descr, uint32_t code, uint32_t bits)
{
	struct ww_array array;
	char text[200];

	snprintf(text, sizeof(text), "{'descr': '%s', 'fortran_order': False, 'shape': (3, 4), }\n",
		descr);
	if (!read_text(1, text, &array))
		fail_msg("%s: %s", descr, reason);
	assert_int_equal(array.dtype.code, code);
	assert_int_equal(array.dtype.bits, bits);
	assert_int_equal(array.dtype.lanes, 1);
	assert_int_equal(array.ndim, 2);
	assert_int_equal(array.shape[0], 3);
	assert_int_equal(array.shape[1], 4);
	assert_int_equal(array.strides[0], 4 * bits / 8);
	assert_int_equal(array.strides[1], bits / 8);
	assert_int_equal(array.offset, 0);
}

UNIT_TEST(types_of_numbers_are_known)
{
	check_type("|b1", WW_DTYPE_BOOL, 8);
	check_type("|i1", WW_DTYPE_INT, 8);
	check_type("<i2", WW_DTYPE_INT, 16);
	check_type("<i4", WW_DTYPE_INT, 32);
	check_type("<i8", WW_DTYPE_INT, 64);
	check_type("|u1", WW_DTYPE_UINT, 8);
	check_type("<u2", WW_DTYPE_UINT, 16);
	check_type("<u4", WW_DTYPE_UINT, 32);
	check_type("<u8", WW_DTYPE_UINT, 64);
	check_type("<f2", WW_DTYPE_FLOAT, 16);
	check_type("<f4", WW_DTYPE_FLOAT, 32);
	check_type("<f8", WW_DTYPE_FLOAT, 64);
	check_type("<c8", WW_DTYPE_COMPLEX, 64);
	check_type("<c16", WW_DTYPE_COMPLEX, 128);
	check_type("|V2", WW_DTYPE_OPAQUE, 16);
	check_type("<V2", WW_DTYPE_OPAQUE, 16); /* ml_dtypes.bfloat16 */
	check_type("|V31", WW_DTYPE_OPAQUE, 248);
}

/* The first bytes of numpy.save(file, numpy.arange(6, dtype='float32').reshape(2, 3)). */
UNIT_TEST(a_header_of_numpy_is_read)
{
	static const char
		header[128] = "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, "
			      "'shape': (2, 3), }                                            "
			      "              \n";
	struct ww_array array;
	size_t bytes;

	assert_true(npy_header_bytes(header, sizeof(header), &bytes, reason));
	assert_int_equal(bytes, sizeof(header));
	if (!npy_read(header, bytes, &array, reason))
		fail_msg("%s", reason);
	assert_int_equal(array.dtype.code, WW_DTYPE_FLOAT);
	assert_int_equal(array.shape[1], 3);
}

UNIT_TEST(forms_that_python_allows)
{
	static const char *const texts[] = {
		"{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }\n",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}\n",
		"{'shape': (7,), 'fortran_order': True, 'descr': '<f4', }\n",
		"{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (7L,), }    \n",
		"  {'descr':'<f4','fortran_order':False,'shape':( 7 , )}\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (int version = 1; version <= 3; version++) {
			struct ww_array array;

			if (!read_text(version, texts[i], &array))
				fail_msg("%s: %s", texts[i], reason);
			assert_int_equal(array.ndim, 1);
			assert_int_equal(array.shape[0], 7);
			assert_int_equal(array.strides[0], 4);
		}
	}
}

UNIT_TEST(shapes_of_all_sizes)
{
	struct ww_array array;

	assert_true(
		read_text(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (), }\n", &array));
	assert_int_equal(array.ndim, 0);
	assert_true(read_text(1, "{'descr': '<i8', 'fortran_order': True, 'shape': (0, 5), }\n",
		&array));
	assert_int_equal(array.shape[0], 0);
	assert_true(read_text(1,
		"{'descr': '|u1', 'fortran_order': False, 'shape': "
		"(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2), }\n",
		&array));
	assert_int_equal(array.ndim, WW_ARRAY_DIMS);
}

UNIT_TEST(fortran_order_becomes_strides)
{
	struct ww_array array;

	assert_true(read_text(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3, 4), }\n",
		&array));
	assert_int_equal(array.strides[0], 8);
	assert_int_equal(array.strides[1], 16);
	assert_int_equal(array.strides[2], 48);
	assert_true(npy_is_fortran(&array));
	assert_ok(ww_array_check(&array, 192));
}

static void check_refused(int version, const char *text, const char *told)
{
	struct ww_array array;

	if (read_text(version, text, &array))
		fail_msg("accepted: %s", text);
	if (!strstr(reason, told))
		fail_msg("%s: told '%s', not '%s'", text, reason, told);
}

UNIT_TEST(what_is_no_array_of_numbers_is_refused)
{
	static const struct {
		const char *descr;
		const char *told;
	} cases[] = {
		{"'|O'", "pickled Python objects"},
		{"[('a', '<f4'), ('b', '<i4')]", "records"},
		{"'>f4'", "big-endian ('>f4'); convert them"},
		{"'>i2'", "newbyteorder"},
		{"'<f16'", "long doubles"},
		{"'<c32'", "complex128"},
		{"'|S8'", "text"},
		{"'<U3'", "text"},
		{"'<M8[ns]'", "dates or times"},
		{"'<m8'", "dates or times"},
		{"'|f4'", "in which order"},
		{"'=f4'", "not of the form"},
		{"'<f3'", "not known"},
		{"'<f1'", "8 bits ('<f1')"}, /* ml_dtypes.float8_e5m2 */
		{"'<x4'", "not known"},
		{"'|V0'", "not known"},
		{"'|V32'", "not known"},
		{"'<f'", "not known"},
		{"'f4'", "not of the form"},
		{"'<f44444444444444444'", "where a type"},
		{"''", "not of the form"},
		{"'<f\\x34'", "where a type"},
		{"None", "where a type"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[200];

		snprintf(text, sizeof(text),
			"{'descr': %s, 'fortran_order': False, 'shape': (3,), }\n", cases[i].descr);
		check_refused(1, text, cases[i].told);
	}
}

UNIT_TEST(what_is_no_header_is_refused)
{
#define TYPE  "'descr': '<f4', "
#define ORDER "'fortran_order': False, "
#define SHAPE "'shape': (3,), "
	check_refused(1, "   \n", "'{'");
	check_refused(1, "{" TYPE ORDER "}\n", "does not say all");
	check_refused(1, "{" TYPE SHAPE "}\n", "does not say all");
	check_refused(1, "{" ORDER SHAPE "}\n", "does not say all");
	check_refused(1, "{" TYPE ORDER SHAPE TYPE "}\n", "'descr' twice");
	check_refused(1, "{" TYPE ORDER SHAPE "'more': 1, }\n", "unknown key");
	check_refused(1, "{" TYPE ORDER SHAPE "}", "end should be");
	check_refused(1, "{" TYPE ORDER SHAPE "}x\n", "end should be");
	check_refused(1, "{" TYPE ORDER SHAPE, "a key");
	check_refused(1, "{" TYPE ORDER "'shape': (3), }\n", "','");
	check_refused(1, "{" TYPE ORDER "'shape': (3 4), }\n", "','");
	check_refused(1, "{" TYPE ORDER "'shape': (,), }\n", "a number");
	check_refused(1, "{" TYPE ORDER "'shape': (-3,), }\n", "a number");
	check_refused(1, "{" TYPE ORDER "'shape': [3], }\n", "'('");
	check_refused(1, "{" TYPE ORDER "'shape': (3,", "a number");
	check_refused(1, "{" TYPE ORDER "'shape': (99999999999999999999,), }\n", "63 bits");
	check_refused(1, "{" TYPE ORDER "'shape': (4611686018427387904, 4, 0), }\n", "63 bits");
	check_refused(1,
		"{" TYPE ORDER "'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }\n",
		"more than 16 dimensions");
	check_refused(1, "{" TYPE "'fortran_order': 0, " SHAPE "}\n", "True or False");
	check_refused(1, "{" TYPE "'fortran_order'; False, " SHAPE "}\n", "':'");
	check_refused(4, "{" TYPE ORDER SHAPE "}\n", "version 4.0");
	check_refused(1, "{\x01\x1b" TYPE "}\n", "?'descr'");
}

UNIT_TEST(prefixes_are_checked)
{
	size_t bytes;

	assert_false(npy_header_bytes("", 0, &bytes, reason));
	assert_false(npy_header_bytes("\x93NUMPX\x01\x00\x10\x00{ ", 12, &bytes, reason));
	assert_non_null(strstr(reason, "does not begin"));
	assert_false(npy_header_bytes("\x93NUMPY\x01\x00\x10\x00{", 11, &bytes, reason));
	assert_non_null(strstr(reason, "ends inside"));
	assert_false(npy_header_bytes("\x93NUMPY\x01\x01\x10\x00{ ", 12, &bytes, reason));
	assert_non_null(strstr(reason, "version 1.1"));
	assert_false(npy_header_bytes("\x93NUMPY\x01\x00\x01\x00{ ", 12, &bytes, reason));
	assert_non_null(strstr(reason, "empty"));
	assert_false(npy_header_bytes("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12, &bytes, reason));
	assert_non_null(strstr(reason, "4294967295"));
	assert_true(npy_header_bytes("\x93NUMPY\x01\x00\xf6\xff{ ", 12, &bytes, reason));
	assert_int_equal(bytes, NPY_HEADER_MAX);
	assert_false(npy_header_bytes("\x93NUMPY\x01\x00\xf7\xff{ ", 12, &bytes, reason));
}

UNIT_TEST(written_headers_are_read_back)
{
	static const struct {
		uint8_t code;
		uint8_t bits;
	} types[] = {{WW_DTYPE_BOOL, 8}, {WW_DTYPE_INT, 8}, {WW_DTYPE_INT, 64}, {WW_DTYPE_UINT, 32},
		{WW_DTYPE_FLOAT, 16}, {WW_DTYPE_COMPLEX, 128}, {WW_DTYPE_OPAQUE, 24}};
	const int64_t shape[WW_ARRAY_DIMS] = {5, 1, 0, 7, INT32_MAX};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		for (uint32_t ndim = 0; ndim <= 5; ndim++) {
			char header[NPY_WRITE_BYTES];
			struct ww_array array = WW_INIT(struct ww_array);
			struct ww_array back;
			size_t told;
			size_t bytes;

			assert_ok(ww_array_set(&array, WW_DTYPE(types[i].code, types[i].bits), ndim,
				shape, NULL, 0));
			bytes = npy_write(&array, header, reason);
			assert_int_not_equal(bytes, 0);
			assert_int_equal(bytes % 64, 0);
			assert_int_equal(header[bytes - 1], '\n');
			assert_true(npy_header_bytes(header, bytes, &told, reason));
			assert_int_equal(told, bytes);
			if (!npy_read(header, bytes, &back, reason))
				fail_msg("%s", reason);
			assert_memory_equal(&array, &back, sizeof(array));
		}
	}
}

UNIT_TEST(the_longest_header_fits)
{
	char header[NPY_WRITE_BYTES];
	struct ww_array array = {.struct_size = sizeof(array),
		.dtype.code = WW_DTYPE_OPAQUE,
		.dtype.bits = 248,
		.dtype.lanes = UINT16_MAX,
		.ndim = WW_ARRAY_DIMS};

	for (int i = 0; i < WW_ARRAY_DIMS; i++)
		array.shape[i] = INT64_MAX;
	assert_in_range(npy_write(&array, header, reason), 400, sizeof(header));
}

UNIT_TEST(fortran_arrays_are_written_so)
{
	static const char wanted[] = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }";
	char header[NPY_WRITE_BYTES];
	struct ww_array array;

	assert_true(read_text(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n",
		&array));
	assert_int_equal(npy_write(&array, header, reason), 128);
	assert_memory_equal(header + 10, wanted, sizeof(wanted) - 1);
}

UNIT_TEST(lanes_become_a_dimension)
{
	static const char wanted[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
	char header[NPY_WRITE_BYTES];
	struct ww_array array = {.struct_size = sizeof(array),
		.dtype.code = WW_DTYPE_FLOAT,
		.dtype.bits = 32,
		.dtype.lanes = 4};

	assert_int_not_equal(npy_write(&array, header, reason), 0);
	assert_memory_equal(header + 10, wanted, sizeof(wanted) - 1);
}

static void check_written_as(uint8_t code, uint8_t bits, uint16_t lanes, const char *wanted)
{
	char header[NPY_WRITE_BYTES];
	struct ww_array array = {.struct_size = sizeof(array),
		.dtype.code = code,
		.dtype.bits = bits,
		.dtype.lanes = lanes,
		.ndim = 1,
		.shape = {3},
		.strides = {bits * lanes / 8}};
	struct ww_array back;
	size_t bytes = npy_write(&array, header, reason);

	assert_int_not_equal(bytes, 0);
	header[bytes - 1] = 0;
	assert_non_null(strstr(header + 10, wanted));
	assert_non_null(strstr(reason, "a.view()"));
	header[bytes - 1] = '\n';
	assert_true(npy_read(header, bytes, &back, reason));
	assert_int_equal(back.dtype.code, WW_DTYPE_OPAQUE);
}

UNIT_TEST(types_that_numpy_lacks_are_written_as_bytes)
{
	check_written_as(WW_DTYPE_BFLOAT, 16, 1, "'|V2', 'fortran_order': False, 'shape': (3,)");
	check_written_as(WW_DTYPE_BFLOAT, 16, 4, "'|V2', 'fortran_order': False, 'shape': (3, 4)");
	check_written_as(WW_DTYPE_FLOAT8_E5M2, 8, 1, "'|V1', ");
	check_written_as(WW_DTYPE_FLOAT, 128, 1, "'|V16', ");
	check_written_as(WW_DTYPE_COMPLEX, 32, 1, "'|V4', ");
	check_written_as(WW_DTYPE_FLOAT4_E2M1FN, 4, 2,
		"'|V1', 'fortran_order': False, 'shape': (3,)");
	check_written_as(WW_DTYPE_FLOAT6_E2M3FN, 6, 4, "'|V3', ");
	check_written_as(WW_DTYPE_UINT, 4, 4, "'|V2', ");
}

/* Takes an array of uint16 in pieces of @room bytes and compares it with what it should be. */
static void check_gathered(const struct ww_array *array, const void *base, size_t room,
	const uint16_t *wanted, size_t count)
{
	struct gather gather;
	uint16_t got[64] = {0};
	size_t bytes = 0;
	size_t more;

	gather_start(&gather, array, base);
	while ((more = gather_next(&gather, (char *)got + bytes, room)) > 0) {
		bytes += more;
		assert_in_range(bytes, 1, sizeof(got) - room);
	}
	if (bytes != count * sizeof(*got) || memcmp(got, wanted, bytes) != 0)
		fail_msg("%u dimensions, offset %llu, in pieces of %zu: wrong in %zu bytes",
			array->ndim, (unsigned long long)array->offset, room, bytes);
}

UNIT_TEST(elements_are_gathered_in_c_order)
{
	static const uint16_t base[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
	static const uint16_t turned[] = {0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11};
	static const uint16_t backwards[] = {11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
	static const uint16_t same[] = {5, 5, 5};
	static const struct {
		uint32_t ndim;
		int64_t shape[2];
		int64_t strides[2];
		uint64_t offset;
		const uint16_t *wanted;
		size_t count;
	} cases[] = {
		{2, {3, 4}, {2, 6}, 0, turned, 12},
		{2, {3, 4}, {8, 2}, 0, base, 12},
		{2, {3, 4}, {-8, -2}, 22, backwards, 12},
		{2, {3, 0}, {-8, -2}, 22, base, 0},
		{1, {3}, {0}, 10, same, 3},
		{0, {0}, {0}, 10, same, 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ww_array array;

		assert_ok(ww_array_set(&array, WW_DTYPE(WW_DTYPE_UINT, 16), cases[i].ndim,
			cases[i].shape, cases[i].strides, cases[i].offset));
		for (size_t room = 1; room <= 26; room += 3) /* also in halves of an element */
			check_gathered(&array, base, room, cases[i].wanted, cases[i].count);
	}
}

UNIT_MAIN("npy")
