/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.c - Fortran array pointers into memories, and descriptions of Fortran arrays
 *
 * C counts dimensions from the slowest, Fortran from the fastest: dimension i of the one is
 * dimension n - 1 - i of the other.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fortran.h"

/* Which element types have a Fortran type of their own. */
static const struct kind {
	CFI_type_t type;
	struct ww_dtype dtype;
	uint32_t alignment;
	const char *name;
} kinds[] = {
	{CFI_type_int8_t, {WW_DTYPE_INT, 8, 1}, 1, "integer(c_int8_t)"},
	{CFI_type_int16_t, {WW_DTYPE_INT, 16, 1}, 2, "integer(c_int16_t)"},
	{CFI_type_int32_t, {WW_DTYPE_INT, 32, 1}, 4, "integer(c_int32_t)"},
	{CFI_type_int64_t, {WW_DTYPE_INT, 64, 1}, 8, "integer(c_int64_t)"},
	{CFI_type_float, {WW_DTYPE_FLOAT, 32, 1}, 4, "real(c_float)"},
	{CFI_type_double, {WW_DTYPE_FLOAT, 64, 1}, 8, "real(c_double)"},
	{CFI_type_float_Complex, {WW_DTYPE_COMPLEX, 64, 1}, 4, "complex(c_float)"},
	{CFI_type_double_Complex, {WW_DTYPE_COMPLEX, 128, 1}, 8, "complex(c_double)"},
	{CFI_type_Bool, {WW_DTYPE_BOOL, 8, 1}, 1, "logical(c_bool)"},
};

static const struct kind *kind_find(const CFI_cdesc_t *values)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t bytes = kinds[i].dtype.bits / 8;

		if (kinds[i].type == values->type && bytes == values->elem_len)
			return &kinds[i];
	}
	return NULL;
}

/* What to do about an array of another type than the pointer's. */
static const char *remedy(const struct ww_dtype *dtype)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!memcmp(dtype, &kinds[i].dtype, sizeof(*dtype)))
			return kinds[i].name;
	return "an integer and ww_bits(), as Fortran has no such type";
}

/* The pointer's type and rank are those of the array. */
static ww_status check_type(const struct ww_array *array, const CFI_cdesc_t *pointer,
	const struct kind *kind)
{
	char name[WW_DTYPE_NAME_BYTES] = "";

	if (!kind)
		return ww_fortran_fail(WW_ERR_UNSUPPORTED, "no array has elements of this type");
	ww_dtype_name(&array->dtype, name);
	if (memcmp(&array->dtype, &kind->dtype, sizeof(kind->dtype)) != 0)
		return ww_fortran_fail(WW_ERR_MISMATCH,
			"the array has elements of %s, the pointer %s; use %s", name, kind->name,
			remedy(&array->dtype));
	if (array->ndim != (uint32_t)pointer->rank)
		return ww_fortran_fail(WW_ERR_MISMATCH,
			"the array of %s has %" PRIu32 " dimensions, the pointer of %s %d", name,
			array->ndim, kind->name, (int)pointer->rank);
	return WW_OK;
}

/* Every element is where its type may be, and Fortran counts strides in elements. */
static ww_status check_layout(const struct ww_array *array, const char *base,
	const struct kind *kind)
{
	int64_t bytes = kind->dtype.bits / 8;

	if ((uintptr_t)base % kind->alignment != 0)
		return ww_fortran_fail(WW_ERR_UNSUPPORTED,
			"the array begins at a byte that is not aligned for %s: offset %" PRIu64,
			kind->name, array->offset);
	for (uint32_t i = 0; i < array->ndim; i++)
		if (array->strides[i] % bytes != 0)
			return ww_fortran_fail(WW_ERR_UNSUPPORTED,
				"the stride of %" PRId64 " bytes is no multiple of the %" PRId64
				" bytes of %s",
				array->strides[i], bytes, kind->name);
	return WW_OK;
}

/* Associates the pointer: everything is checked. */
static ww_status pointer_set(const struct ww_array *array, char *base, CFI_cdesc_t *pointer)
{
	CFI_CDESC_T(CFI_MAX_RANK) storage;
	CFI_cdesc_t *target = (CFI_cdesc_t *)&storage;
	CFI_index_t lower[CFI_MAX_RANK] = {0};
	CFI_index_t extents[CFI_MAX_RANK] = {0};
	uint32_t n = array->ndim;

	for (uint32_t i = 0; i < n; i++) {
		lower[i] = 1;
		extents[i] = array->shape[n - 1 - i];
	}
	if (CFI_establish(target, base, CFI_attribute_pointer, pointer->type, pointer->elem_len,
		    (CFI_rank_t)n, extents) != CFI_SUCCESS)
		return ww_fortran_fail(WW_ERR_SYSTEM, "the Fortran runtime refuses the array");
	for (uint32_t i = 0; i < n; i++)
		target->dim[i].sm = array->strides[n - 1 - i];
	if (CFI_setpointer(pointer, target, lower) != CFI_SUCCESS)
		return ww_fortran_fail(WW_ERR_SYSTEM, "the Fortran runtime refuses the pointer");
	return WW_OK;
}

/* Shows an array that begins offset bytes behind start; out_base: its first element. */
static ww_status show(const struct ww_array *array, uint64_t bytes, char *start,
	CFI_cdesc_t *pointer, void **out_base)
{
	const struct kind *kind = kind_find(pointer);
	ww_status status = ww_array_check(array, bytes);

	if (status == WW_OK)
		status = check_type(array, pointer, kind);
	if (status == WW_OK && !start)
		status = ww_fortran_fail(WW_ERR_UNSUPPORTED,
			"the CPU cannot reach this memory: read it, or pass its pointer() to a kernel");
	if (status == WW_OK)
		status = check_layout(array, start + array->offset, kind);
	if (status == WW_OK)
		status = pointer_set(array, start + array->offset, pointer);
	*out_base = status == WW_OK ? start + array->offset : NULL;
	return status;
}

static ww_status check_access(uint32_t granted, uint32_t access)
{
	if (access != WW_ACCESS_READ && access != WW_ACCESS_WRITE)
		return ww_fortran_fail(WW_ERR_INVALID, "access is no WW_ACCESS_...: %" PRIu32,
			access);
	if (granted < access)
		return ww_fortran_fail(WW_ERR_ACCESS,
			"it is mapped for reading, and the view is for writing; pass "
			"access=ww_access_read, and do not write");
	return WW_OK;
}

ww_status ww_fortran_view(int64_t memory, const struct ww_array *array, uint32_t access,
	CFI_cdesc_t *pointer)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	ww_memory *object = ww_fortran_find(memory, KIND_MEMORY);
	ww_status status = object ? ww_memory_info_get(object, &info) : WW_ERR_INVALID;
	void *base = NULL;

	CFI_setpointer(pointer, NULL, NULL);
	if (status == WW_OK)
		status = check_access(info.access, access);
	if (status == WW_OK)
		status = show(array, info.bytes, info.host_pointer, pointer, &base);
	if (status == WW_OK)
		status = ww_fortran_view_begin(memory, base);
	if (status != WW_OK)
		CFI_setpointer(pointer, NULL, NULL);
	return status;
}

/* The array of a frame: what the channel says, with the shape of the frame if that has one. */
static ww_status frame_array(const struct ww_channel_info *info, const struct ww_frame *frame,
	struct ww_array *array)
{
	const struct ww_dtype byte = {WW_DTYPE_INT, 8, 1};
	int64_t shape[WW_ARRAY_DIMS] = {0};

	if (!info->has_array) {
		shape[0] = (int64_t)(info->is_producer ? frame->capacity : frame->bytes);
		return ww_array_set(array, &byte, 1, shape, NULL, 0);
	}
	for (uint32_t i = 0; i < frame->ndim && i < WW_FRAME_DIMS; i++)
		shape[i] = (int64_t)frame->shape[i];
	if (frame->ndim == 0)
		return ww_array_set(array, &info->array.dtype, info->array.ndim, info->array.shape,
			NULL, 0);
	return ww_array_set(array, &info->array.dtype, frame->ndim, shape, NULL, 0);
}

ww_status ww_fortran_view_frame(int64_t channel, const struct ww_frame *frame, uint32_t access,
	CFI_cdesc_t *pointer)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);
	ww_channel *object = ww_fortran_find(channel, KIND_CHANNEL);
	ww_status status = object ? ww_channel_info_get(object, &info) : WW_ERR_INVALID;
	struct ww_array array;
	void *base;

	CFI_setpointer(pointer, NULL, NULL);
	if (status == WW_OK && !frame->pointer)
		status = ww_fortran_fail(WW_ERR_INVALID, "no frame that is held");
	if (status == WW_OK)
		status = check_access(info.is_producer ? WW_ACCESS_WRITE : WW_ACCESS_READ, access);
	if (status == WW_OK)
		status = frame_array(&info, frame, &array);
	if (status == WW_OK)
		status = show(&array, info.is_producer ? frame->capacity : frame->bytes,
			frame->host_pointer, pointer, &base);
	if (status != WW_OK)
		CFI_setpointer(pointer, NULL, NULL);
	return status;
}

/* An array of assumed size, as in x(*), does not say how large it is. */
static ww_status check_size(const CFI_cdesc_t *values)
{
	if (values->rank > 0 && values->dim[values->rank - 1].extent < 0)
		return ww_fortran_fail(WW_ERR_INVALID,
			"the size of an array x(*) is not known; pass a section such as x(1:n)");
	return WW_OK;
}

ww_status ww_fortran_describe(const CFI_cdesc_t *values, int64_t memory, struct ww_array *array)
{
	const struct kind *kind = kind_find(values);
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	int64_t strides[WW_ARRAY_DIMS] = {0};
	int64_t shape[WW_ARRAY_DIMS] = {0};
	ww_memory *object;
	ww_status status;
	int n = values->rank;

	if (check_size(values) != WW_OK)
		return WW_ERR_INVALID;
	if (!kind)
		return ww_fortran_fail(WW_ERR_UNSUPPORTED,
			"no element type of an array is this Fortran type");
	for (int i = 0; i < n; i++) {
		shape[i] = values->dim[n - 1 - i].extent;
		strides[i] = values->dim[n - 1 - i].sm;
	}
	if (!memory)
		return ww_array_set(array, &kind->dtype, (uint32_t)n, shape, NULL, 0);
	object = ww_fortran_find(memory, KIND_MEMORY);
	status = object ? ww_memory_info_get(object, &info) : WW_ERR_INVALID;
	if (status != WW_OK)
		return status;
	if (!info.host_pointer || (char *)values->base_addr < (char *)info.host_pointer ||
		(char *)values->base_addr > (char *)info.host_pointer + info.bytes)
		return ww_fortran_fail(WW_ERR_MISMATCH, "the values do not lie in this memory");
	status = ww_array_set(array, &kind->dtype, (uint32_t)n, shape, strides,
		(uint64_t)((char *)values->base_addr - (char *)info.host_pointer));
	return status == WW_OK ? ww_array_check(array, info.bytes) : status;
}

static uint64_t bytes_of(const CFI_cdesc_t *values)
{
	uint64_t bytes = values->elem_len;

	for (int i = 0; i < values->rank; i++)
		bytes *= (uint64_t)values->dim[i].extent;
	return bytes;
}

static int32_t is_contiguous(const CFI_cdesc_t *values)
{
	CFI_index_t expected = (CFI_index_t)values->elem_len;

	for (int i = 0; i < values->rank; i++) {
		if (values->dim[i].extent != 1 && values->dim[i].sm != expected)
			return 0;
		expected *= values->dim[i].extent;
	}
	return 1;
}

/* Copies the elements of dimensions below n to or from a place without gaps; returns its end. */
static char *pack(const CFI_cdesc_t *values, int n, char *element, char *packed, int32_t is_read)
{
	if (n == 0) {
		memcpy(is_read ? element : packed, is_read ? packed : element, values->elem_len);
		return packed + values->elem_len;
	}
	for (CFI_index_t i = 0; i < values->dim[n - 1].extent; i++)
		packed = pack(values, n - 1, element + i * values->dim[n - 1].sm, packed, is_read);
	return packed;
}

ww_status ww_fortran_write(int64_t memory, uint64_t offset, const CFI_cdesc_t *values,
	uint64_t timeout_ns)
{
	ww_memory *object = ww_fortran_find(memory, KIND_MEMORY);
	ww_status status = object ? check_size(values) : WW_ERR_INVALID;
	uint64_t bytes = bytes_of(values);
	char *packed;

	if (status != WW_OK)
		return status;
	if (is_contiguous(values))
		return ww_memory_write(object, offset, values->base_addr, bytes, timeout_ns, NULL);
	packed = malloc(bytes + 1);
	if (!packed)
		return ww_fortran_fail(WW_ERR_NO_MEMORY, "cannot write: out of memory");
	pack(values, values->rank, values->base_addr, packed, 0);
	status = ww_memory_write(object, offset, packed, bytes, timeout_ns, NULL);
	free(packed);
	return status;
}

ww_status ww_fortran_read(int64_t memory, uint64_t offset, const CFI_cdesc_t *values,
	uint64_t timeout_ns)
{
	ww_memory *object = ww_fortran_find(memory, KIND_MEMORY);
	ww_status status = object ? check_size(values) : WW_ERR_INVALID;
	uint64_t bytes = bytes_of(values);
	char *packed;

	if (status != WW_OK)
		return status;
	if (is_contiguous(values))
		return ww_memory_read(object, offset, values->base_addr, bytes, timeout_ns, NULL);
	packed = malloc(bytes + 1);
	if (!packed)
		return ww_fortran_fail(WW_ERR_NO_MEMORY, "cannot read: out of memory");
	status = ww_memory_read(object, offset, packed, bytes, timeout_ns, NULL);
	if (status == WW_OK)
		pack(values, values->rank, values->base_addr, packed, 1);
	free(packed);
	return status;
}

ww_status ww_fortran_write_text(int64_t memory, uint64_t offset, const char *text, uint64_t bytes,
	uint64_t timeout_ns)
{
	ww_memory *object = ww_fortran_find(memory, KIND_MEMORY);

	return object ? ww_memory_write(object, offset, text, bytes, timeout_ns, NULL)
		      : WW_ERR_INVALID;
}

ww_status ww_fortran_read_text(int64_t memory, uint64_t offset, char *text, uint64_t bytes,
	uint64_t timeout_ns)
{
	ww_memory *object = ww_fortran_find(memory, KIND_MEMORY);

	return object ? ww_memory_read(object, offset, text, bytes, timeout_ns, NULL)
		      : WW_ERR_INVALID;
}
