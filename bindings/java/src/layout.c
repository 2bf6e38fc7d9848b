/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.c - element types, how arrays lie in memories, signatures of functions
 */
#include "native.h"

NATIVE(jint, dtypeParse)(THREAD, jbyteArray name, jbyteArray out)
{
	char text[TEXT_BYTES];
	struct ww_dtype dtype;
	ww_status status = ww_dtype_parse(text_load(env, name, text), &dtype);

	return struct_store(env, status, &dtype, sizeof(dtype), out);
}

NATIVE(jint, dtypeName)(THREAD, jbyteArray bytes, jbyteArray out)
{
	char text[WW_DTYPE_NAME_BYTES];
	struct ww_dtype dtype;

	if (!struct_load(env, bytes, &dtype, sizeof(dtype)))
		return WW_ERR_VERSION;
	ww_status status = ww_dtype_name(&dtype, text);
	return struct_store(env, status, text, sizeof(text), out);
}

NATIVE(jint, arraySet)
(THREAD, jbyteArray dtype_bytes, jlongArray shape, jlongArray strides, jlong offset, jbyteArray out)
{
	int64_t lengths[WW_ARRAY_DIMS], steps[WW_ARRAY_DIMS];
	struct ww_array array = WW_INIT(struct ww_array);
	struct ww_dtype dtype;
	jsize ndim = (*env)->GetArrayLength(env, shape);

	if (!struct_load(env, dtype_bytes, &dtype, sizeof(dtype)))
		return WW_ERR_VERSION;
	/* Java has checked that there are as many strides as dimensions, and not too many. */
	(*env)->GetLongArrayRegion(env, shape, 0, ndim, (jlong *)lengths);
	if (strides)
		(*env)->GetLongArrayRegion(env, strides, 0, ndim, (jlong *)steps);
	ww_status status = ww_array_set(&array, &dtype, (uint32_t)ndim, lengths,
		strides ? steps : NULL, (uint64_t)offset);
	return struct_store(env, status, &array, sizeof(array), out);
}

NATIVE(jint, arrayCheck)(THREAD, jbyteArray bytes, jlong memory_bytes)
{
	struct ww_array array;

	if (!struct_load(env, bytes, &array, sizeof(array)))
		return WW_ERR_VERSION;
	return ww_array_check(&array, (uint64_t)memory_bytes);
}

NATIVE(jboolean, arrayIsContiguous)(THREAD, jbyteArray bytes, jboolean fortran)
{
	struct ww_array array;

	if (!struct_load(env, bytes, &array, sizeof(array)))
		return false;
	return (fortran ? ww_array_is_fortran(&array) : ww_array_is_contiguous(&array)) != 0;
}

/* Bytes of the elements, first byte, end: three numbers. */
NATIVE(jint, arrayBytes)(THREAD, jbyteArray bytes, jlongArray out)
{
	struct ww_array array;
	uint64_t values[3] = {0};

	if (!struct_load(env, bytes, &array, sizeof(array)))
		return WW_ERR_VERSION;
	ww_status status = ww_array_bytes(&array, &values[0]);
	if (status == WW_OK)
		status = ww_array_span(&array, &values[1], &values[2]);
	if (status == WW_OK)
		(*env)->SetLongArrayRegion(env, out, 0, 3, (const jlong *)values);
	return status;
}

/* With itself if @other is NULL. */
NATIVE(jint, arrayOverlap)(THREAD, jbyteArray bytes, jbyteArray other_bytes, jlongArray out)
{
	struct ww_array array, other;
	uint32_t overlap = 0;

	if (!struct_load(env, bytes, &array, sizeof(array)))
		return WW_ERR_VERSION;
	if (other_bytes && !struct_load(env, other_bytes, &other, sizeof(other)))
		return WW_ERR_VERSION;
	ww_status status = other_bytes ? ww_array_overlap(&array, &other, &overlap)
				       : ww_array_self_overlap(&array, &overlap);
	jlong value = overlap;
	if (status == WW_OK)
		(*env)->SetLongArrayRegion(env, out, 0, 1, &value);
	return status;
}

NATIVE(jint, arraySlice)
(THREAD, jbyteArray bytes, jint dim, jlong start, jlong stop, jlong step, jbyteArray out)
{
	struct ww_array array;

	if (!struct_load(env, bytes, &array, sizeof(array)))
		return WW_ERR_VERSION;
	ww_status status = ww_array_slice(&array, (uint32_t)dim, start, stop, step, &array);
	return struct_store(env, status, &array, sizeof(array), out);
}

NATIVE(jint, arrayIndex)(THREAD, jbyteArray bytes, jint dim, jlong index, jbyteArray out)
{
	struct ww_array array;

	if (!struct_load(env, bytes, &array, sizeof(array)))
		return WW_ERR_VERSION;
	ww_status status = ww_array_index(&array, (uint32_t)dim, index, &array);
	return struct_store(env, status, &array, sizeof(array), out);
}

/* Java has checked that @order has as many numbers as the array has dimensions. */
NATIVE(jint, arrayPermute)(THREAD, jbyteArray bytes, jintArray order, jbyteArray out)
{
	uint32_t dims[WW_ARRAY_DIMS];
	struct ww_array array;

	if (!struct_load(env, bytes, &array, sizeof(array)))
		return WW_ERR_VERSION;
	if (order)
		(*env)->GetIntArrayRegion(env, order, 0, (*env)->GetArrayLength(env, order),
			(jint *)dims);
	ww_status status = ww_array_permute(&array, order ? dims : NULL, &array);
	return struct_store(env, status, &array, sizeof(array), out);
}

/* Java has checked that @shape has at most WW_ARRAY_DIMS numbers. */
NATIVE(jint, arrayShape)
(THREAD, jbyteArray bytes, jboolean broadcast, jlongArray shape, jbyteArray out)
{
	int64_t lengths[WW_ARRAY_DIMS];
	struct ww_array array;
	uint32_t ndim = (uint32_t)(*env)->GetArrayLength(env, shape);

	if (!struct_load(env, bytes, &array, sizeof(array)))
		return WW_ERR_VERSION;
	(*env)->GetLongArrayRegion(env, shape, 0, (jsize)ndim, (jlong *)lengths);
	ww_status status = broadcast ? ww_array_broadcast(&array, ndim, lengths, &array)
				     : ww_array_reshape(&array, ndim, lengths, &array);
	return struct_store(env, status, &array, sizeof(array), out);
}

NATIVE(jint, arrayReinterpret)(THREAD, jbyteArray bytes, jbyteArray dtype_bytes, jbyteArray out)
{
	struct ww_array array;
	struct ww_dtype dtype;

	if (!struct_load(env, bytes, &array, sizeof(array)) ||
		!struct_load(env, dtype_bytes, &dtype, sizeof(dtype)))
		return WW_ERR_VERSION;
	ww_status status = ww_array_reinterpret(&array, &dtype, &array);
	return struct_store(env, status, &array, sizeof(array), out);
}

NATIVE(jint, signatureInfo)(THREAD, jbyteArray signature, jbyteArray out)
{
	char text[TEXT_BYTES];
	struct ww_signature_info info = WW_INIT(struct ww_signature_info);
	ww_status status = ww_signature_info_get(text_load(env, signature, text), &info);

	return struct_store(env, status, &info, sizeof(info), out);
}

NATIVE(jint, signatureItem)
(THREAD, jbyteArray signature, jboolean result, jint index, jbyteArray out)
{
	char text[TEXT_BYTES];
	struct ww_parameter_info info = WW_INIT(struct ww_parameter_info);

	text_load(env, signature, text);
	ww_status status = result ? ww_signature_result_get(text, (uint32_t)index, &info)
				  : ww_signature_parameter_get(text, (uint32_t)index, &info);
	return struct_store(env, status, &info, sizeof(info), out);
}

NATIVE(jint, scalarParse)(THREAD, jbyteArray dtype_bytes, jbyteArray value, jlongArray out)
{
	char text[TEXT_BYTES];
	struct ww_dtype dtype;
	uint64_t scalar = 0;

	if (!struct_load(env, dtype_bytes, &dtype, sizeof(dtype)))
		return WW_ERR_VERSION;
	ww_status status = ww_scalar_parse(&dtype, text_load(env, value, text), &scalar);
	jlong bits = (jlong)scalar;
	if (status == WW_OK)
		(*env)->SetLongArrayRegion(env, out, 0, 1, &bits);
	return status;
}

NATIVE(jint, scalarText)(THREAD, jbyteArray dtype_bytes, jlong bits, jbyteArray out)
{
	char text[WW_SCALAR_TEXT_BYTES];
	struct ww_dtype dtype;

	if (!struct_load(env, dtype_bytes, &dtype, sizeof(dtype)))
		return WW_ERR_VERSION;
	ww_status status = ww_scalar_text(&dtype, (uint64_t)bits, text);
	return struct_store(env, status, text, sizeof(text), out);
}
