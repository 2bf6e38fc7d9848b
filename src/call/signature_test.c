/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature_test.c - what a signature can be, its canonical text, and where a wrong one is wrong
 */
#include "base/unit_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call/signature.h"

static struct ww_signature *parsed(const char *text)
{
	struct ww_signature *signature = malloc(sizeof(*signature));

	assert_non_null(signature);
	if (ww_signature_parse(text, signature) != WW_OK)
		fail_msg("%s: %s", text, ww_error_last()->message);
	return signature;
}

static void assert_canonical(const char *text, const char *canonical)
{
	struct ww_signature *signature = parsed(text);
	struct ww_signature *again;

	assert_string_equal(signature->text, canonical);
	again = parsed(canonical);
	assert_string_equal(again->text, canonical);
	assert_true(again->hash == signature->hash);
	assert_memory_equal(again->parameters, signature->parameters,
		signature->parameter_count * sizeof(signature->parameters[0]));
	assert_memory_equal(again->results, signature->results,
		signature->result_count * sizeof(signature->results[0]));
	free(again);
	free(signature);
}

UNIT_TEST(canonical_texts)
{
	static const char *const texts[][2] = {
		{"", ""},
		{" \t\r\n", ""},
		{"f32 a,f32[n]x read,f32 [ n ] y write", "f32 a, f32[n] x read, f32[n] y write"},
		{"float32 a", "f32 a"},
		{"uint8[ 007 , m,* ] x readwrite strided", "u8[7, m, *] x readwrite strided"},
		{"bool a = true, bool b=false", "bool a = true, bool b = false"},
		{"f32 a = 1, f64 b = 0.10", "f32 a = 1.0, f64 b = 0.1"},
		{"f64 a=-0, f64 b=1E-400", "f64 a = -0.0, f64 b = 0.0"},
		{"f64 a=1e+22, f16 b=65504, bf16 c=inf, f32 d=-inf, f32 e=nan",
			"f64 a = 1e+22, f16 b = 65504.0, bf16 c = inf, f32 d = -inf, f32 e = nan"},
		{"i8 a=-128, u64 b=18446744073709551615, i64 c=-0",
			"i8 a = -128, u64 b = 18446744073709551615, i64 c = 0"},
		{"f32 a=1->f32 b", "f32 a = 1.0 -> f32 b"},
		{"bytes a, bytes[4096] b, bytes[ 16 ] c = none",
			"bytes a, bytes b, bytes[16] c = none"},
		{"timeline t, timeline u=none", "timeline t, timeline u = none"},
		{"f32[] x read, f32[...] y read, any[n,n] z write = none",
			"f32[] x read, f32[...] y read, any[n, n] z write = none"},
		{"complex64[n] x read, complex128[2] y read, float8_e4m3fn[n] z read, float32x4[1] w read",
			"c64[n] x read, c128[2] y read, float8_e4m3fn[n] z read, float32x4[1] w read"},
		{"->f64 sum,f32[n]z,f32[*] w strided,bytes[3] b",
			"-> f64 sum, f32[n] z, f32[*] w strided, bytes[3] b"},
		{"i32 read, f32[read] write write -> i64 n",
			"i32 read, f32[read] write write -> i64 n"},
		{"f32[n] x read, i32 n -> i64 k, f32[k, n] y",
			"f32[n] x read, i32 n -> i64 k, f32[k, n] y"},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_canonical(texts[i][0], texts[i][1]);
}

/* Each with the column, or "-" for what no column has, and a word of the message. */
static const struct {
	const char *text;
	const char *column;
	const char *words;
} wrong[] = {
	{"f33 a", "column 1,", "a type (bool"},
	{"f32", "column 4,", "the end"},
	{"f32 a,", "column 7,", "a type"},
	{"f32 a,, f32 b", "column 7,", "','"},
	{"f32 a f32 b", "column 7,", "'->' or the end"},
	{"f32 a b", "column 7,", "'b'"},
	{"f32 2a", "column 5,", "a name"},
	{"f32 a -", "column 7,", "'-'"},
	{"- > f32 a", "column 1,", "'-'"},
	{"->", "column 3,", "a type"},
	{"-> f32 a,", "column 10,", "a type"},
	{"-> f32 a = 1", "column 10,", "',' or the end"},
	{"-> f32[n] x read", "column 13,", "'read'"},
	{"-> timeline t", "column 4,", "no timeline"},
	{"-> f32 a -> f32 b", "column 10,", "',' or the end"},
	{"f32 a, f64 a", "column 12,", "a name that no other one has"},
	{"-> f32 a, f64 a", "column 15,", "a name that no other one has"},
	{"f32[n] x", "column 9,", "read, write or readwrite"},
	{"f32[n] x reads", "column 10,", "'reads'"},
	{"f32[n] x = none", "column 10,", "read, write or readwrite"},
	{"f32[n] x read = 1", "column 17,", "none"},
	{"f32[n x read", "column 7,", "',' or ']'"},
	{"f32[n,] x read", "column 7,", "the length of a dimension"},
	{"f32[,] x read", "column 5,", "the length of a dimension"},
	{"f32[-1] x read", "column 5,", "the length of a dimension"},
	{"f32[9223372036854775808] x read", "column 5,", "the length of a dimension"},
	{"f32[n,...] x read", "column 7,", "'.'"},
	{"f32[...,n] x read", "column 8,", "']'"},
	{"f32 a strided", "column 7,", "'strided'"},
	{"any a", "column 5,", "'['"},
	{"c64 a", "column 5,", "'[', since no scalar has this type"},
	{"float32x4 a", "column 11,", "'['"},
	{"bytes[0] a", "column 7,", "from 1 to 4096"},
	{"bytes[4097] a", "column 7,", "from 1 to 4096"},
	{"bytes[] a", "column 7,", "from 1 to 4096"},
	{"bytes[4 a", "column 9,", "']'"},
	{"bytes a = 1", "column 11,", "none"},
	{"timeline t = 1", "column 14,", "none"},
	{"u8 a = 256", "column 8,", "a value of type u8"},
	{"u8 a = -1", "column 8,", "a value of type u8"},
	{"i64 a = 1.5", "column 9,", "a value of type i64"},
	{"f32 a = 1e39", "column 9,", "a value of type f32"},
	{"f16 a = 65520", "column 9,", "a value of type f16"},
	{"f32 a = ", "column 9,", "a value of type f32"},
	{"f32 a = none", "column 9,", "a value of type f32"},
	{"bool a = 1", "column 10,", "a value of type bool"},
	{"f32 a = 0x10", "column 9,", "a value of type f32"},
	{"f32 a = .5", "column 9,", "a value of type f32"},
	{"f32 a = 1111111111111111111111111111111111111111111111111111111111111111", "column 9,",
		"at most 63"},
	{"f32 a\x80", "column 6,", "a byte of value 128"},
	{"f32 a\n;", "column 7,", "';'"},
	{"f32 n, f32[n] x read", "-", "'n' as a dimension and as a parameter"},
	{"bool n, f32[n] x read", "-", "'n' as a dimension and as a parameter"},
	{"f32[n] n read", "-", "'n' as a dimension and as a parameter"},
	{"i32 n = 4, f32[n] x read", "-", "leave the default out"},
	{"f32[n] x read -> f32 n", "-", "'n' as a dimension and as a parameter"},
};

UNIT_TEST(what_is_no_signature)
{
	struct ww_signature *signature = malloc(sizeof(*signature));

	assert_non_null(signature);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *message = ww_error_last()->message;

		assert_fails(ww_signature_parse(wrong[i].text, signature), WW_ERR_INVALID);
		if (*wrong[i].column != '-' && !strstr(message, wrong[i].column))
			fail_msg("%s: %s", wrong[i].text, message);
		if (!strstr(message, wrong[i].words))
			fail_msg("%s: %s", wrong[i].text, message);
	}
	free(signature);
}

/* A list of @count items, each of @format with its number in it. */
static void list_of(char *out_text, size_t room, const char *begin, uint32_t count,
	const char *type, const char *behind)
{
	size_t used = (size_t)snprintf(out_text, room, "%s", begin);

	for (uint32_t i = 0; i < count; i++)
		used += (size_t)snprintf(out_text + used, room - used, "%s%s a%u%s", i ? "," : "",
			type, i, behind);
	assert_true(used < room);
}

static void assert_limit(const char *text, ww_status status)
{
	struct ww_signature *signature = malloc(sizeof(*signature));

	assert_non_null(signature);
	if (status == WW_OK)
		assert_int_equal(ww_signature_parse(text, signature), WW_OK);
	else
		assert_fails(ww_signature_parse(text, signature), status);
	free(signature);
}

UNIT_TEST(limits)
{
	char text[4096];

	list_of(text, sizeof(text), "", WW_CALL_ARGS_MAX, "u8", "");
	assert_limit(text, WW_OK);
	list_of(text, sizeof(text), "", WW_CALL_ARGS_MAX + 1, "u8", "");
	assert_limit(text, WW_ERR_LIMIT);
	list_of(text, sizeof(text), "->", WW_CALL_ARGS_MAX, "u8[*]", "");
	assert_limit(text, WW_OK);
	list_of(text, sizeof(text), "->", WW_CALL_ARGS_MAX + 1, "u8[*]", "");
	assert_limit(text, WW_ERR_LIMIT);
	/* 7 x 4104 bytes and 3 more fit into 32 KiB; 8 x 4104 do not. */
	list_of(text, sizeof(text), "bytes[4032] b,", 7, "bytes", "");
	assert_limit(text, WW_OK);
	list_of(text, sizeof(text), "bytes[4033] b,", 7, "bytes", "");
	assert_limit(text, WW_ERR_LIMIT);
	list_of(text, sizeof(text), "->bytes[4033] b,", 7, "bytes", "");
	assert_limit(text, WW_ERR_LIMIT);
	list_of(text, sizeof(text), "", WW_CALL_ARGS_MAX, "float8_e4m3b11fnuzx2[*]", " read");
	assert_limit(text, WW_ERR_LIMIT); /* more than 1023 characters */
	assert_limit("u8 a234567890123456789012345678901", WW_OK);
	assert_limit("u8 a2345678901234567890123456789012", WW_ERR_LIMIT);
	assert_limit("u8[a234567890123456789012345678901] x read", WW_OK);
	assert_limit("u8[a2345678901234567890123456789012] x read", WW_ERR_LIMIT);
	assert_limit("u8[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16] x read", WW_OK);
	assert_limit("u8[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17] x read", WW_ERR_LIMIT);
}

UNIT_TEST(names_of_dimensions)
{
	char text[1024] = "u8[";
	size_t used = strlen(text);

	for (uint32_t i = 0; i < WW_SIGNATURE_DIMS_MAX; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%sn%u",
			i == 16     ? "] x read, u8["
				: i ? ","
				    : "",
			i);
	snprintf(text + used, sizeof(text) - used, "] y read");
	assert_limit(text, WW_OK);
	snprintf(text + used, sizeof(text) - used, "] y read, u8[more] z read");
	assert_limit(text, WW_ERR_LIMIT);
}

/* Published values of FNV-1a: the hash is part of what processes of two versions exchange. */
UNIT_TEST(hashes)
{
	struct ww_signature *signature = parsed("");

	assert_true(signature->hash == UINT64_C(0xcbf29ce484222325));
	free(signature);
	signature = parsed("f32 a, f32[n] x read, f32[n] y write");
	assert_true(signature->hash == UINT64_C(0xccea306ce39ae013));
	free(signature);
}

UNIT_TEST(parameters_as_structs)
{
	struct ww_parameter_info info = WW_INIT(struct ww_parameter_info);
	const char *text = "f32 a = 0.5, f32[n, 4, *] x write strided = none, i32 n, bytes[9] b, "
			   "any[...] r readwrite -> u8[n] z";

	assert_fails(ww_signature_parameter_get("f32", 0, &info), WW_ERR_INVALID);
	assert_int_equal(ww_signature_parameter_get(text, 0, &info), WW_OK);
	assert_int_equal(info.kind, WW_ARGUMENT_SCALAR);
	assert_int_equal(info.flags, WW_PARAMETER_OPTIONAL | WW_PARAMETER_DEFAULT);
	assert_int_equal(info.scalar, 0x3f000000);
	assert_string_equal(info.name, "a");
	assert_string_equal(info.type, "f32");
	assert_int_equal(ww_signature_parameter_get(text, 1, &info), WW_OK);
	assert_int_equal(info.kind, WW_ARGUMENT_ARRAY);
	assert_int_equal(info.access, WW_ACCESS_WRITE);
	assert_int_equal(info.flags,
		WW_PARAMETER_OPTIONAL | WW_PARAMETER_STRIDED | WW_PARAMETER_WRITE_ONLY);
	assert_int_equal(info.ndim, 3);
	assert_true(info.shape[0] == -1 && info.shape[1] == 4 && info.shape[2] == -1);
	assert_string_equal(info.type, "f32[n, 4, *]");
	assert_int_equal(ww_signature_parameter_get(text, 2, &info), WW_OK);
	assert_int_equal(info.flags, WW_PARAMETER_OPTIONAL | WW_PARAMETER_DIMENSION);
	assert_int_equal(ww_signature_parameter_get(text, 3, &info), WW_OK);
	assert_int_equal(info.kind, WW_ARGUMENT_BYTES);
	assert_int_equal(info.bytes_max, 9);
	assert_int_equal(info.flags, 0);
	assert_int_equal(ww_signature_parameter_get(text, 4, &info), WW_OK);
	assert_int_equal(info.flags, WW_PARAMETER_ANY_TYPE | WW_PARAMETER_ANY_RANK);
	assert_int_equal(info.access, WW_ACCESS_WRITE);
	assert_int_equal(ww_signature_parameter_get(text, 5, &info), WW_END);
	assert_int_equal(ww_signature_result_get(text, 0, &info), WW_OK);
	assert_string_equal(info.name, "z");
	assert_int_equal(info.access, 0);
	assert_int_equal(ww_signature_result_get(text, 1, &info), WW_END);
}

/* A dimension that only results have must be given, one of an array's need not. */
UNIT_TEST(a_dimension_of_results)
{
	struct ww_parameter_info info = WW_INIT(struct ww_parameter_info);

	assert_int_equal(ww_signature_parameter_get("i64 n -> f32[n] x", 0, &info), WW_OK);
	assert_int_equal(info.flags, WW_PARAMETER_DIMENSION);
	assert_int_equal(ww_signature_parameter_get("i64 n, f32[4, n] x read", 0, &info), WW_OK);
	assert_int_equal(info.flags, WW_PARAMETER_OPTIONAL | WW_PARAMETER_DIMENSION);
}

UNIT_TEST(as_a_whole)
{
	struct ww_signature_info info = WW_INIT(struct ww_signature_info);

	assert_int_equal(ww_signature_info_get("float32 a,f32[n]x read->f64 s", &info), WW_OK);
	assert_int_equal(info.parameter_count, 2);
	assert_int_equal(info.result_count, 1);
	assert_string_equal(info.text, "f32 a, f32[n] x read -> f64 s");
	info.struct_size = 0;
	assert_fails(ww_signature_info_get("", &info), WW_ERR_INVALID);
}

/* --- signatures of any form --- */

static uint64_t state_of_random = 1;

/* splitmix64 */
static uint32_t random_below(uint32_t limit)
{
	uint64_t z = state_of_random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((z ^ (z >> 31)) % limit);
}

static const char *any_of(const char *const *words, uint32_t count)
{
	return words[random_below(count)];
}

#define ANY_OF(...)                                \
	any_of((const char *const[]){__VA_ARGS__}, \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* One parameter or result, with spaces where there may be some. */
static void random_item(char *out_text, size_t room, bool is_result, uint32_t number)
{
	const char *space = ANY_OF("", " ", "\t \n");
	const char *strided = ANY_OF("", " strided");

	switch (random_below(4)) {
	case 0:
		snprintf(out_text, room, "%s %sp%u%s%s", ANY_OF("f16", "bf16", "float32", "f64"),
			space, number, space,
			is_result ? "" : ANY_OF("", "=1", "= 0.1", "=-2.50e-3", "=inf", "=nan"));
		break;
	case 1:
		snprintf(out_text, room, "%s p%u%s", ANY_OF("i8", "uint8", "i64", "u16"), number,
			is_result ? "" : ANY_OF("", "= 0", "=007", "= 127"));
		break;
	case 2:
		snprintf(out_text, room, "bytes%s p%u%s", ANY_OF("", "[1]", "[ 4096 ]", "[99]"),
			number, is_result ? "" : ANY_OF("", " =none"));
		break;
	default:
		snprintf(out_text, room, "%s[%s%s%s]%sp%u%s%s%s",
			ANY_OF("f32", "any", "bool", "c64", "float8_e5m2", "uint8x3"), space,
			ANY_OF("", "n", "4,n", "*,m,*", "...", "0"), space, space, number,
			is_result ? "" : ANY_OF(" read", " write", " readwrite"), strided,
			is_result ? "" : ANY_OF("", " = none"));
	}
}

UNIT_TEST(canonical_text_parses_to_itself)
{
	for (int round = 0; round < 20000; round++) {
		char text[1024] = "";
		size_t used = 0;
		uint32_t parameters = random_below(6);
		uint32_t results = random_below(4);
		struct ww_signature *signature;
		char canonical[WW_SIGNATURE_TEXT_BYTES];

		for (uint32_t i = 0; i < parameters + results; i++) {
			char item[128];

			random_item(item, sizeof(item), i >= parameters, i);
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
				i == parameters ? "->"
					: i > 0 ? ","
						: "",
				item);
		}
		signature = parsed(text);
		assert_int_equal(signature->parameter_count, parameters);
		assert_int_equal(signature->result_count, results);
		memcpy(canonical, signature->text, sizeof(canonical));
		free(signature);
		assert_canonical(canonical, canonical);
	}
}

UNIT_MAIN("signature")
