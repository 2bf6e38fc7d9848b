/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value.h - arguments and results of calls, to and from Java
 *
 * Java passes N values as two arrays:
 *
 *   numbers   a long[4 * N]: of each value its kind, its dtype, its bits, and the address of its
 *             memory or timeline or 0
 *   pieces    a byte[3 * N][]: of each value its bytes, its token, its array, or null
 */
#ifndef WARPWAY_JAVA_VALUE_H
#define WARPWAY_JAVA_VALUE_H

#include "native.h"

/* Values, and what they point to. */
struct values {
	uint32_t count;
	struct ww_value values[WW_CALL_ARGS_MAX];
	struct ww_token tokens[WW_CALL_ARGS_MAX];
	struct ww_array arrays[WW_CALL_ARGS_MAX];
	uint8_t bytes[WW_CALL_ARGS_MAX * WW_CALL_BYTES_MAX];
};

/*
 * Takes values from Java. Return: WW_OK; WW_ERR_LIMIT (more values, or more bytes of one, than
 * there may be); WW_ERR_VERSION; WW_ERR_NO_MEMORY. free() ends @out_values, which is NULL on
 * failure.
 */
ww_status values_create(JNIEnv *env, jlongArray numbers, jobjectArray pieces,
	struct values **out_values);

/* Gives one value to Java, as the first of @numbers and @pieces. Return: @status. */
jint value_store(JNIEnv *env, ww_status status, const struct ww_value *value, jlongArray numbers,
	jobjectArray pieces);

#endif
