/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_test.c - arguments that fit a signature, those that do not, and what is said about them
 */
#include "base/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "call/signature.h"

static const struct ww_dtype f32 = {WW_DTYPE_FLOAT, 32, 1};
static const struct ww_dtype f64 = {WW_DTYPE_FLOAT, 64, 1};
static const struct ww_dtype i32 = {WW_DTYPE_INT, 32, 1};
static const struct ww_dtype boolean = {WW_DTYPE_BOOL, 8, 1};

/* One call: its signature, its arguments, what they are bound to. */
struct call {
	struct ww_signature signature;
	struct ww_call_args args;
	struct ww_signature_binding binding;
};

static struct call *call_new(const char *text)
{
	struct call *call = calloc(1, sizeof(*call));

	assert_non_null(call);
	assert_ok(ww_signature_parse(text, &call->signature));
	return call;
}

/* Makes the arguments anew, so that one call can be tried several times. */
static struct ww_call_arg *again(struct call *call, uint32_t count)
{
	call->args.count = count;
	for (uint32_t i = 0; i < count; i++)
		ww_call_arg_none(&call->args.items[i]);
	return call->args.items;
}

/* An array of up to two dimensions that may be written. */
static void array(struct ww_call_arg *arg, struct ww_dtype dtype, uint32_t ndim, int64_t first,
	int64_t second)
{
	const int64_t shape[] = {first, second};

	arg->kind = WW_ARGUMENT_ARRAY;
	arg->access = WW_ACCESS_WRITE;
	arg->has_array = true;
	arg->token = NULL;
	assert_ok(ww_array_set(&arg->array, &dtype, ndim, shape, NULL, 0));
}

static void vector(struct ww_call_arg *arg, int64_t count)
{
	array(arg, f32, 1, count, 0);
}

static void assert_binds(struct call *call)
{
	if (ww_signature_bind(&call->signature, &call->args, &call->binding) != WW_OK)
		fail_msg("%s", ww_error_last()->message);
}

static void assert_refused(struct call *call, const char *message)
{
	assert_fails(ww_signature_bind(&call->signature, &call->args, &call->binding),
		WW_ERR_MISMATCH);
	assert_string_equal(ww_error_last()->message, message);
}

UNIT_TEST(what_fits)
{
	AUTO_FREE struct call *call = call_new("f32 a, f32[n] x read, f32[n] y write");
	struct ww_call_arg *args = again(call, 3);

	ww_call_arg_scalar(f32, 0x40000000, &args[0]);
	vector(&args[1], 8);
	vector(&args[2], 8);
	args[1].access = WW_ACCESS_READ;
	assert_binds(call);
	assert_true(call->binding.dims[0] == 8);
}

UNIT_TEST(no_arguments)
{
	AUTO_FREE struct call *call = call_new("");

	again(call, 0);
	assert_binds(call);
	again(call, 1);
	assert_refused(call, "a call has 1 arguments, and the signature has 0");
}

UNIT_TEST(kinds_and_types)
{
	AUTO_FREE struct call *call = call_new("f32 a, f32[n, 4] x read, bytes[3] b, timeline t");
	struct ww_call_arg *args = again(call, 4);

	ww_call_arg_scalar(f64, 0, &args[0]);
	assert_refused(call, "argument 1, a, is f64 and must be f32");
	ww_call_arg_scalar((struct ww_dtype){0, 0, 0}, 0, &args[0]);
	assert_refused(call, "argument 1, a, is a scalar without dtype and must be f32");
	ww_call_arg_bytes("abc", 3, &args[0]);
	assert_refused(call, "argument 1, a, is 3 bytes and must be f32");
	vector(&args[0], 2);
	assert_refused(call, "argument 1, a, is f32[2] and must be f32");
	ww_call_arg_scalar(f32, 0, &args[0]);
	array(&args[1], f64, 2, 3, 4);
	assert_refused(call, "argument 2, x, is f64[3, 4] and must be f32[n, 4]");
	array(&args[1], f32, 1, 4, 0);
	assert_refused(call, "argument 2, x, is f32[4] and must be f32[n, 4]");
	array(&args[1], f32, 2, 3, 5);
	assert_refused(call, "argument 2, x, is f32[3, 5] and must be f32[n, 4]");
	array(&args[1], f32, 2, 3, 4);
	ww_call_arg_bytes("abcd", 4, &args[2]);
	assert_refused(call, "argument 3, b, is 4 bytes and must be bytes[3]");
	ww_call_arg_bytes("", 0, &args[2]);
	ww_call_arg_scalar(i32, 0, &args[3]);
	assert_refused(call, "argument 4, t, is i32 and must be timeline");
	args[3].kind = WW_ARGUMENT_TIMELINE;
	assert_binds(call);
	args[0].kind = WW_ARGUMENT_TIMELINE;
	assert_refused(call, "argument 1, a, is a timeline and must be f32");
}

UNIT_TEST(missing_arguments)
{
	AUTO_FREE struct call *call = call_new("f32 a, f32[n] x read");
	struct ww_call_arg *args = again(call, 1);

	assert_refused(call, "argument 1, a, is missing and must be f32");
	ww_call_arg_scalar(f32, 0, &args[0]);
	call->args.count = 1;
	assert_refused(call, "argument 2, x, is missing and must be f32[n]");
}

UNIT_TEST(dimensions)
{
	AUTO_FREE struct call *call = call_new("f32[n, m] x read, f32[m] y write, f32[*] z read");
	struct ww_call_arg *args = again(call, 3);

	array(&args[0], f32, 2, 3, 4);
	vector(&args[1], 3);
	vector(&args[2], 100);
	assert_refused(call, "argument 2, y, is f32[3] and must be f32[m] where m is 4");
	vector(&args[1], 4);
	assert_binds(call);
	assert_true(call->binding.dims[0] == 3 && call->binding.dims[1] == 4);
}

UNIT_TEST(a_square)
{
	AUTO_FREE struct call *call = call_new("f32[n, n] x read");

	array(again(call, 1), f32, 2, 3, 4);
	assert_refused(call, "argument 1, x, is f32[3, 4] and must be f32[n, n] where n is 3");
	array(again(call, 1), f32, 2, 0, 0);
	assert_binds(call);
}

UNIT_TEST(bits_of_scalars)
{
	AUTO_FREE struct call *call = call_new("i32 a, bool b");
	struct ww_call_arg *args = again(call, 2);

	ww_call_arg_scalar(i32, (uint64_t)-3, &args[0]);
	ww_call_arg_scalar(boolean, 1, &args[1]);
	assert_refused(call,
		"argument 1, a, is i32 with bits that the type does not have and must be i32 with "
		"zeros above its bits");
	ww_call_arg_scalar(i32, (uint32_t)-3, &args[0]);
	assert_binds(call);
	ww_call_arg_scalar(boolean, 2, &args[1]);
	assert_refused(call,
		"argument 2, b, is bool with bits that the type does not have and must be bool, 0 or 1");
}

UNIT_TEST(scalars_that_are_dimensions)
{
	struct call *call = call_new("i32 n, f32[n] x read = none, i8 n8, f32[n8] y read");
	struct ww_call_arg *args = again(call, 4);

	vector(&args[1], 300);
	vector(&args[3], 128);
	assert_refused(call, "argument 3, n8, is missing and must be i8 where n8 is 128");
	args = again(call, 4);
	vector(&args[1], 300);
	vector(&args[3], 127);
	assert_binds(call);
	assert_int_equal(args[0].kind, WW_ARGUMENT_SCALAR);
	assert_int_equal(args[0].scalar, 300);
	assert_int_equal(args[2].scalar, 127);
	ww_call_arg_scalar(i32, 299, &args[0]);
	assert_refused(call, "argument 2, x, is f32[300] and must be f32[n] where n is 299");
	ww_call_arg_scalar(i32, UINT32_MAX, &args[0]);
	assert_refused(call,
		"argument 1, n, is i32 with a value that no dimension has and must be i32 from 0 on");
	/* no array says how long n is, and no argument does */
	args = again(call, 4);
	vector(&args[3], 1);
	assert_refused(call, "argument 1, n, is missing and must be i32");
	free(call);
	call = call_new("f32[n] x read, i32 n");
	args = again(call, 2);
	vector(&args[0], 10);
	ww_call_arg_scalar(i32, 11, &args[1]);
	assert_refused(call, "argument 2, n, is i32 11 and must be i32 where n is 10");
	free(call);
}

UNIT_TEST(defaults)
{
	AUTO_FREE struct call *call = call_new("f32 a = 2.0, bytes b = none, f32[n] x read = none, "
					       "timeline t = none, i32 k = -1");
	struct ww_call_arg *args = again(call, 0);

	assert_binds(call);
	assert_int_equal(call->args.count, 5);
	assert_int_equal(args[0].kind, WW_ARGUMENT_SCALAR);
	assert_int_equal(args[0].scalar, 0x40000000);
	assert_int_equal(args[0].dtype.bits, 32);
	for (uint32_t i = 1; i < 4; i++)
		assert_int_equal(args[i].kind, WW_ARGUMENT_NONE);
	assert_int_equal(args[4].scalar, UINT32_MAX);
	assert_true(call->binding.dims[0] == -1);
	again(call, 5);
	ww_call_arg_scalar(i32, 5, &args[4]);
	assert_binds(call);
	assert_int_equal(args[0].scalar, 0x40000000);
	assert_int_equal(args[4].scalar, 5);
}

UNIT_TEST(order_of_elements)
{
	AUTO_FREE struct call *call = call_new("f32[*, *] x read");
	struct call *strided = call_new("f32[*, *] x read strided");
	struct ww_call_arg *args = again(call, 1);

	array(&args[0], f32, 2, 3, 4);
	assert_ok(ww_array_permute(&args[0].array, NULL, &args[0].array));
	assert_refused(call,
		"argument 1, x, is f32[4, 3] with gaps or in another order and must be f32[*, *] in C "
		"order without gaps; copy it");
	strided->args = call->args;
	assert_binds(strided);
	free(strided);
}

UNIT_TEST(access_of_tokens)
{
	AUTO_FREE struct call *call = call_new("f32[n] x write");
	struct ww_call_arg *args = again(call, 1);

	vector(&args[0], 8);
	args[0].access = WW_ACCESS_READ;
	assert_refused(call,
		"argument 1, x, is f32[8] with a token for reading only and must be f32[n] with a token "
		"for writing");
}

UNIT_TEST(any_array)
{
	AUTO_FREE struct call *call = call_new("any[...] x read, any[n] y read");
	struct ww_call_arg *args = again(call, 2);

	array(&args[0], f64, 0, 0, 0);
	vector(&args[1], 3);
	assert_binds(call);
	array(&args[1], f64, 2, 3, 3);
	assert_refused(call, "argument 2, y, is f64[3, 3] and must be any[n]");
}

UNIT_TEST(results)
{
	AUTO_FREE struct call *call = call_new("f32[n] x read -> i32 k, f32[n, k] y, bytes[2] b");
	struct ww_call_arg *args = again(call, 1);

	vector(&args[0], 3);
	assert_binds(call);
	(void)again(call, 2);
	assert_fails(ww_signature_bind_results(&call->signature, &call->binding, &call->args),
		WW_ERR_MISMATCH);
	assert_string_equal(ww_error_last()->message,
		"a call has 2 results, and the signature has 3");
	args = again(call, 3);
	ww_call_arg_scalar(i32, 5, &args[0]);
	array(&args[1], f32, 2, 3, 4);
	args[1].access = WW_ACCESS_READ;
	ww_call_arg_bytes("ab", 2, &args[2]);
	assert_fails(ww_signature_bind_results(&call->signature, &call->binding, &call->args),
		WW_ERR_MISMATCH);
	assert_string_equal(ww_error_last()->message,
		"result 2, y, is f32[3, 4] and must be f32[n, k] where k is 5");
	array(&args[1], f32, 2, 3, 5);
	assert_ok(ww_signature_bind_results(&call->signature, &call->binding, &call->args));
	ww_call_arg_none(&args[2]);
	assert_fails(ww_signature_bind_results(&call->signature, &call->binding, &call->args),
		WW_ERR_MISMATCH);
	assert_string_equal(ww_error_last()->message,
		"result 3, b, is missing and must be bytes[2]");
}

/* A message has room for the longest types: they are cut. */
UNIT_TEST(long_types)
{
	AUTO_FREE struct call *call = call_new(
		"f32[a234567890123456789012345678901, b234567890123456789012345678901, "
		"c234567890123456789012345678901] d234567890123456789012345678901 read");
	struct ww_call_arg *args = again(call, 1);
	int64_t shape[WW_ARRAY_DIMS];

	for (uint32_t i = 0; i < WW_ARRAY_DIMS; i++)
		shape[i] = i ? 1 : INT64_MAX / 4;
	args[0].kind = WW_ARGUMENT_ARRAY;
	assert_ok(ww_array_set(&args[0].array, &f32, WW_ARRAY_DIMS, shape, NULL, 0));
	assert_fails(ww_signature_bind(&call->signature, &call->args, &call->binding),
		WW_ERR_MISMATCH);
	assert_non_null(strstr(ww_error_last()->message, "is f32[2305843009213693951, 1, 1"));
	assert_non_null(strstr(ww_error_last()->message, "and must be f32[a23456789"));
}

UNIT_MAIN("bind")
