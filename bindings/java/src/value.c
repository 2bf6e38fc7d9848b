/* SPDX-License-Identifier: Apache-2.0 */
#include "value.h"

#include <stdlib.h>
#include <string.h>

enum {
	NUMBER_KIND,
	NUMBER_DTYPE,
	NUMBER_SCALAR,
	NUMBER_OBJECT,
	NUMBERS
};
enum {
	PIECE_BYTES,
	PIECE_TOKEN,
	PIECE_ARRAY,
	PIECES
};

/* Copies the bytes of one value behind those of the others. */
static bool values_copy_bytes(JNIEnv *env, struct values *values, jbyteArray bytes,
	struct ww_value *value, size_t *used)
{
	size_t length = bytes ? (size_t)(*env)->GetArrayLength(env, bytes) : 0;

	if (length > WW_CALL_BYTES_MAX)
		return false;
	if (length > 0)
		(*env)->GetByteArrayRegion(env, bytes, 0, (jsize)length,
			(jbyte *)&values->bytes[*used]);
	value->data = bytes ? &values->bytes[*used] : NULL;
	value->bytes = length;
	*used += length;
	return true;
}

static ww_status values_load(JNIEnv *env, struct values *values, uint32_t i, const jlong *numbers,
	jobjectArray pieces, size_t *used)
{
	struct ww_value *value = &values->values[i];
	jsize first = (jsize)(i * PIECES);
	jbyteArray bytes = (*env)->GetObjectArrayElement(env, pieces, first + PIECE_BYTES);
	jbyteArray token = (*env)->GetObjectArrayElement(env, pieces, first + PIECE_TOKEN);
	jbyteArray array = (*env)->GetObjectArrayElement(env, pieces, first + PIECE_ARRAY);
	bool token_ok, array_ok;

	value->kind = (uint32_t)numbers[NUMBER_KIND];
	memcpy(&value->dtype, &numbers[NUMBER_DTYPE], sizeof(value->dtype));
	value->scalar = (uint64_t)numbers[NUMBER_SCALAR];
	if (value->kind == WW_ARGUMENT_TIMELINE)
		value->timeline = object_of(numbers[NUMBER_OBJECT]);
	else
		value->memory = object_of(numbers[NUMBER_OBJECT]);
	value->token = params_load(env, token, &values->tokens[i], sizeof(values->tokens[i]),
		&token_ok);
	value->array = params_load(env, array, &values->arrays[i], sizeof(values->arrays[i]),
		&array_ok);
	bool bytes_ok = values_copy_bytes(env, values, bytes, value, used);
	(*env)->DeleteLocalRef(env, bytes);
	(*env)->DeleteLocalRef(env, token);
	(*env)->DeleteLocalRef(env, array);
	if (!bytes_ok)
		return WW_ERR_LIMIT;
	return token_ok && array_ok ? WW_OK : WW_ERR_VERSION;
}

ww_status values_create(JNIEnv *env, jlongArray numbers, jobjectArray pieces,
	struct values **out_values)
{
	jlong four[NUMBERS];
	size_t used = 0;
	uint32_t count = (uint32_t)(*env)->GetArrayLength(env, numbers) / NUMBERS;

	*out_values = NULL;
	if (count > WW_CALL_ARGS_MAX)
		return WW_ERR_LIMIT;
	struct values *values = calloc(1, sizeof(*values));
	if (!values)
		return WW_ERR_NO_MEMORY;
	values->count = count;
	for (uint32_t i = 0; i < count; i++) {
		(*env)->GetLongArrayRegion(env, numbers, (jsize)(i * NUMBERS), NUMBERS, four);
		ww_status status = values_load(env, values, i, four, pieces, &used);
		if (status != WW_OK) {
			free(values);
			return status;
		}
	}
	*out_values = values;
	return WW_OK;
}

static void piece_store(JNIEnv *env, jobjectArray pieces, jsize index, const void *from,
	size_t size)
{
	if (!from)
		return;
	jbyteArray bytes = bytes_create(env, from, size);
	if (bytes)
		(*env)->SetObjectArrayElement(env, pieces, index, bytes);
	(*env)->DeleteLocalRef(env, bytes);
}

jint value_store(JNIEnv *env, ww_status status, const struct ww_value *value, jlongArray numbers,
	jobjectArray pieces)
{
	jlong four[NUMBERS] = {0};

	if (status != WW_OK)
		return status;
	four[NUMBER_KIND] = value->kind;
	memcpy(&four[NUMBER_DTYPE], &value->dtype, sizeof(value->dtype));
	four[NUMBER_SCALAR] = (jlong)value->scalar;
	four[NUMBER_OBJECT] = (jlong)(uintptr_t)(value->kind == WW_ARGUMENT_TIMELINE
			? (void *)value->timeline
			: (void *)value->memory);
	(*env)->SetLongArrayRegion(env, numbers, 0, NUMBERS, four);
	if (value->kind == WW_ARGUMENT_BYTES)
		piece_store(env, pieces, PIECE_BYTES, value->data ? value->data : "",
			(size_t)value->bytes);
	piece_store(env, pieces, PIECE_TOKEN, value->token, sizeof(*value->token));
	piece_store(env, pieces, PIECE_ARRAY, value->array, sizeof(*value->array));
	return status;
}
