/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlpack.c - tensors of DLPack made of arrays, and arrays of tensors, see warpway/dlpack.h
 *
 * Export: a tensor of this library is one allocation: the struct that the other library uses, the
 * shape and the strides that it points to, and a reference of the memory. Its deleter releases the
 * reference and frees the allocation.
 *
 * Import: the tensor of another library is not copied. A memory wraps its bytes, and the release of
 * that memory calls the tensor's deleter. Until the memory exists, the tensor is the caller's, so
 * after a failure the caller still owns it. The wrapped bytes are those from the lowest to the
 * highest byte of any element; with negative strides the data pointer is between them.
 *
 * A tensor comes from another library in this process, which can do everything that this library
 * can. So its pointers are used without a check. Its numbers are checked, because they may be
 * wrong by mistake.
 */
#include <warpway/dlpack.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array/dlpack_abi.h"
#include "array/dtype.h"
#include "array/layout.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/process.h"
#include "device/backend.h"
#include "memory/memory.h"

/* A tensor that this library made, of either form. */
struct tensor {
	union {
		struct DLManagedTensor plain;
		struct DLManagedTensorVersioned versioned;
	};
	ww_memory *memory; /* a reference */
	int64_t shape[WW_ARRAY_DIMS];
	int64_t strides[WW_ARRAY_DIMS];
};

_Static_assert(offsetof(struct tensor, plain) == 0, "a deleter gets the tensor back");
_Static_assert(offsetof(struct tensor, versioned) == 0, "a deleter gets the tensor back");

static void tensor_free(struct tensor *tensor)
{
	if (!tensor)
		return;
	ww_memory_unref(tensor->memory);
	free(tensor);
}

WW_DEFINE_CLEANUP(struct tensor, tensor_free)

static void delete_plain(struct DLManagedTensor *self)
{
	tensor_free((struct tensor *)self);
}

static void delete_versioned(struct DLManagedTensorVersioned *self)
{
	tensor_free((struct tensor *)self);
}

static ww_status fill_tensor(struct tensor *ours, const struct ww_array *array,
	struct ww_dl_tensor *tensor)
{
	int64_t element_bytes = (int64_t)ww_array_element_bytes(array);
	ww_memory *memory;
	const struct ww_device *device;
	char *start;

	/* Strides of bytes become strides of elements. */
	for (uint32_t i = 0; i < array->ndim; i++) {
		ours->strides[i] = array->strides[i] / element_bytes;
		if (array->strides[i] % element_bytes == 0)
			continue;
		if (array->shape[i] > 1)
			return ww_fail(WW_ERR_UNSUPPORTED,
				"cannot hand out an array by DLPack, which counts elements: its stride "
				"of %" PRId64 " bytes in dimension %" PRIu32
				" is no multiple of %" PRId64 "; copy it in C order first",
				array->strides[i], i, element_bytes);
		ours->strides[i] = 1; /* no index uses it */
	}
	memcpy(ours->shape, array->shape, sizeof(ours->shape));
	tensor->ndim = (int32_t)array->ndim;
	tensor->dtype = array->dtype;
	tensor->shape = ours->shape;
	tensor->strides = ours->strides;
	/* Set the device of the tensor, and the address of its first element there. */
	memory = ours->memory;
	device = memory->mapping->device;
	start = ww_memory_pointer(memory);
	if (device->backend->id != WW_BACKEND_CUDA) {
		tensor->device_type = WW_DL_CPU;
		start = ww_memory_host_pointer(memory);
	} else if (memory->mapping->kind == WW_MEMORY_HOST) {
		tensor->device_type = WW_DL_CUDA_HOST;
		start = ww_memory_host_pointer(memory);
	} else {
		tensor->device_type = WW_DL_CUDA;
		tensor->device_id = (int32_t)device->index;
	}
	tensor->data = ww_array_has_elements(array) ? start + array->offset : NULL;
	return WW_OK;
}

static ww_status tensor_new(ww_memory *memory, const struct ww_array *array,
	struct tensor **out_tensor)
{
	struct tensor *tensor;

	ww_try(ww_process_enter());
	ww_try(ww_memory_check(memory));
	ww_try(ww_array_check(array, memory->bytes));
	tensor = malloc(sizeof(*tensor)); /* calloc() does not use glibc's caches of threads */
	if (!tensor)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot make a tensor: out of memory");
	memset(tensor, 0, sizeof(*tensor));
	tensor->memory = ww_memory_ref(memory);
	*out_tensor = tensor;
	return WW_OK;
}

ww_status ww_dlpack_export(ww_memory *memory, const struct ww_array *array,
	struct DLManagedTensorVersioned **out_tensor)
{
	WW_CLEANUP(tensor_free_p) struct tensor *tensor = NULL;

	ww_clear(out_tensor, NULL);
	ww_require(memory && array, "ww_dlpack_export: memory or array is NULL");
	ww_require(out_tensor, "ww_dlpack_export: out_tensor is NULL");
	ww_try(tensor_new(memory, array, &tensor));
	ww_try(fill_tensor(tensor, array, &tensor->versioned.tensor));
	tensor->versioned.major = WW_DL_MAJOR;
	tensor->versioned.minor = WW_DL_MINOR;
	tensor->versioned.deleter = delete_versioned;
	tensor->versioned.flags = ww_memory_access(memory) == WW_ACCESS_READ ? WW_DL_READ_ONLY : 0;
	*out_tensor = &ww_steal(tensor)->versioned;
	return WW_OK;
}

ww_status ww_dlpack_export_unversioned(ww_memory *memory, const struct ww_array *array,
	struct DLManagedTensor **out_tensor)
{
	WW_CLEANUP(tensor_free_p) struct tensor *tensor = NULL;

	ww_clear(out_tensor, NULL);
	ww_require(memory && array, "ww_dlpack_export_unversioned: memory or array is NULL");
	ww_require(out_tensor, "ww_dlpack_export_unversioned: out_tensor is NULL");
	ww_try(tensor_new(memory, array, &tensor));
	if (ww_memory_access(memory) == WW_ACCESS_READ)
		return ww_fail(WW_ERR_ACCESS,
			"cannot hand out memory that may only be read as a tensor without a version, "
			"which cannot say so; use ww_dlpack_export");
	ww_try(fill_tensor(tensor, array, &tensor->plain.tensor));
	tensor->plain.deleter = delete_plain;
	*out_tensor = &ww_steal(tensor)->plain;
	return WW_OK;
}

static void release_plain(void *context)
{
	struct DLManagedTensor *tensor = context;

	if (tensor->deleter)
		tensor->deleter(tensor);
}

static void release_versioned(void *context)
{
	struct DLManagedTensorVersioned *tensor = context;

	if (tensor->deleter)
		tensor->deleter(tensor);
}

/* A tensor that is imported. */
struct intake {
	const struct ww_dl_tensor *tensor;
	uint32_t access;
	void (*release)(void *context);
	void *context;
};

static ww_status check_device(const struct ww_device *device, const struct ww_dl_tensor *tensor)
{
	bool is_cuda = device->backend->id == WW_BACKEND_CUDA;

	switch (tensor->device_type) {
	case WW_DL_CPU:
		if (!is_cuda)
			return WW_OK;
		return ww_fail(WW_ERR_INVALID,
			"the tensor lies in memory of the CPU, not on %s; open device host for it",
			device->selector);
	case WW_DL_CUDA:
		if (is_cuda && tensor->device_id == (int32_t)device->index)
			return WW_OK;
		return ww_fail(WW_ERR_INVALID,
			"the tensor lies on cuda:%" PRId32 ", not on %s; open that device for it",
			tensor->device_id, device->selector);
	case WW_DL_CUDA_HOST:
	case WW_DL_CUDA_MANAGED: /* cannot be shared: ww_memory_wrap() refuses it */
		return WW_OK;
	default:
		return ww_fail(WW_ERR_UNSUPPORTED,
			"the tensor lies on a device of DLPack's type %" PRId32
			"; known are the CPU (1) and CUDA (2, 3)",
			tensor->device_type);
	}
}

/*
 * Strides of elements as strides of bytes. A stride that no index uses may have any value.
 */
static ww_status multiply_strides(const struct ww_dl_tensor *tensor, int64_t *out_strides)
{
	int64_t element_bytes = (int64_t)ww_dtype_bytes(tensor->dtype);

	for (int32_t i = 0; i < tensor->ndim; i++) {
		if (!__builtin_mul_overflow(tensor->strides[i], element_bytes, &out_strides[i]))
			continue;
		if (tensor->shape[i] > 1)
			return ww_fail(WW_ERR_OVERFLOW,
				"the tensor's stride of %" PRId64 " elements in dimension %" PRId32
				" is too large to compute with",
				tensor->strides[i], i);
		out_strides[i] = element_bytes;
	}
	return WW_OK;
}

/* The tensor's array. Its offset is not known yet, and 0. */
static ww_status read_array(const struct ww_dl_tensor *tensor, bool is_padded,
	struct ww_array *out_array)
{
	int64_t strides[WW_ARRAY_DIMS] = {0};
	struct ww_dtype dtype = tensor->dtype;
	struct ww_error reason;

	if (dtype.bits < 8 && is_padded)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"the tensor's elements of %u bits have a byte each; only packed ones are taken",
			dtype.bits);
	if (ww_dtype_check(dtype) != WW_OK) {
		ww_error_save(&reason);
		return ww_fail(WW_ERR_UNSUPPORTED, "cannot take in a tensor: %s", reason.message);
	}
	if (tensor->ndim < 0 || tensor->ndim > WW_ARRAY_DIMS)
		return ww_fail(WW_ERR_INVALID,
			"the tensor has %" PRId32 " dimensions; %d are the most", tensor->ndim,
			WW_ARRAY_DIMS);
	if (tensor->ndim > 0 && !tensor->shape)
		return ww_fail(WW_ERR_INVALID, "the tensor has no shape");
	if (tensor->strides)
		ww_try(multiply_strides(tensor, strides));
	return ww_array_set(out_array, &tensor->dtype, (uint32_t)tensor->ndim, tensor->shape,
		tensor->strides ? strides : NULL, 0);
}

/* The address of the lowest byte of any element. @first: of the data pointer */
static ww_status find_lowest(uintptr_t first, uint64_t byte_offset, uint64_t below, uint64_t bytes,
	uintptr_t *out_lowest)
{
	uintptr_t lowest;
	uintptr_t end;

	if (__builtin_add_overflow(first, byte_offset, &lowest) ||
		__builtin_sub_overflow(lowest, below, &lowest) || lowest == 0 ||
		__builtin_add_overflow(lowest, bytes, &end))
		return ww_fail(WW_ERR_OVERFLOW,
			"the tensor at 0x%" PRIxPTR " reaches out of the address space", first);
	*out_lowest = lowest;
	return WW_OK;
}

/* Wraps the bytes that the tensor's elements reach. On success the memory owns the tensor. */
static ww_status import_bytes(ww_device *device, const struct intake *intake,
	struct ww_array *array, ww_memory **out_memory)
{
	const struct ww_dl_tensor *tensor = intake->tensor;
	const struct ww_wrap_params params = {.struct_size = sizeof(params),
		.release = intake->release,
		.context = intake->context};
	uint64_t below = 0;
	uint64_t above = 0;
	uint64_t bytes;
	uintptr_t lowest = 0;

	if (!tensor->data)
		return ww_fail(WW_ERR_INVALID, "the tensor has elements, and no data");
	ww_try(ww_array_measure(array, &below, &above));
	if (__builtin_add_overflow(below + above, ww_array_element_bytes(array), &bytes))
		bytes = UINT64_MAX; /* find_lowest() refuses it */
	ww_try(find_lowest((uintptr_t)tensor->data, tensor->byte_offset, below, bytes, &lowest));
	ww_try(ww_memory_wrap(device, (void *)lowest, bytes, &params, out_memory));
	/* No other thread can use the view yet, so its access may be changed. */
	if (intake->access < (*out_memory)->access)
		(*out_memory)->access = intake->access;
	array->offset = below;
	return WW_OK;
}

static ww_status import_tensor(ww_device *device, const struct intake *intake, bool is_padded,
	ww_memory **out_memory, struct ww_array *out_array)
{
	struct ww_array array;

	ww_try(ww_process_enter());
	ww_try(read_array(intake->tensor, is_padded, &array));
	ww_try(check_device(device, intake->tensor));
	if (ww_array_has_elements(&array)) {
		ww_try(import_bytes(device, intake, &array, out_memory));
	} else {
		const bool is_gpu = intake->tensor->device_type == WW_DL_CUDA;
		const struct ww_memory_params params = {.struct_size = sizeof(params),
			.kind = is_gpu ? WW_MEMORY_VMM : WW_MEMORY_HOST,
			.bytes = 1};

		/*
		 * A tensor without elements has nothing to wrap, so its deleter is called at once.
		 * The memory only says where the array is.
		 */
		ww_try(ww_memory_create(device, &params, out_memory));
		intake->release(intake->context);
	}
	*out_array = array;
	return WW_OK;
}

ww_status ww_dlpack_import(ww_device *device, struct DLManagedTensorVersioned *tensor,
	ww_memory **out_memory, struct ww_array *out_array)
{
	struct intake intake = {.release = release_versioned, .context = tensor};

	ww_clear(out_memory, NULL);
	ww_require(device && tensor, "ww_dlpack_import: device or tensor is NULL");
	ww_require(out_memory && out_array, "ww_dlpack_import: a result is NULL");
	if (tensor->major != WW_DL_MAJOR)
		return ww_fail(WW_ERR_VERSION,
			"the tensor is of version %" PRIu32 ".%" PRIu32
			" of DLPack; known is %d; ask its library for that one",
			tensor->major, tensor->minor, WW_DL_MAJOR);
	intake.tensor = &tensor->tensor;
	intake.access = tensor->flags & WW_DL_READ_ONLY ? WW_ACCESS_READ : WW_ACCESS_WRITE;
	return import_tensor(device, &intake, tensor->flags & WW_DL_SUBBYTE_PADDED, out_memory,
		out_array);
}

ww_status ww_dlpack_import_unversioned(ww_device *device, struct DLManagedTensor *tensor,
	ww_memory **out_memory, struct ww_array *out_array)
{
	struct intake intake = {.access = WW_ACCESS_WRITE,
		.release = release_plain,
		.context = tensor};

	ww_clear(out_memory, NULL);
	ww_require(device && tensor, "ww_dlpack_import_unversioned: device or tensor is NULL");
	ww_require(out_memory && out_array, "ww_dlpack_import_unversioned: a result is NULL");
	intake.tensor = &tensor->tensor;
	return import_tensor(device, &intake, false, out_memory, out_array);
}
