/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlpack_abi.h - the structs of DLPack, as other libraries lay them out
 *
 * Written from the published layout, so that a build needs no header of DLPack. Within major
 * version 1 the layout does not change. Of a tensor of another major version only the fields up to
 * the flags may be read.
 */
#ifndef WW_ARRAY_DLPACK_ABI_H
#define WW_ARRAY_DLPACK_ABI_H

#include <stddef.h>
#include <stdint.h>

#include <warpway/array.h>

#define WW_DL_MAJOR 1
#define WW_DL_MINOR 1

/* ww_dl_tensor.device_type */
enum {
	WW_DL_CPU = 1,
	WW_DL_CUDA = 2,
	WW_DL_CUDA_HOST = 3, /* pinned: the CPU's, and reached by GPUs */
	WW_DL_CUDA_MANAGED = 13
};

/* DLManagedTensorVersioned.flags */
#define WW_DL_READ_ONLY      UINT64_C(0x1)
#define WW_DL_SUBBYTE_PADDED UINT64_C(0x4) /* elements of less than a byte have one each */

struct ww_dl_tensor {
	void *data;
	int32_t device_type;
	int32_t device_id;
	int32_t ndim;
	struct ww_dtype dtype;
	int64_t *shape;
	int64_t *strides; /* in elements; NULL: C order */
	uint64_t byte_offset;
};

struct DLManagedTensor {
	struct ww_dl_tensor tensor;
	void *context;
	void (*deleter)(struct DLManagedTensor *self); /* may be NULL */
};

struct DLManagedTensorVersioned {
	uint32_t major;
	uint32_t minor;
	void *context;
	void (*deleter)(struct DLManagedTensorVersioned *self); /* may be NULL */
	uint64_t flags;
	struct ww_dl_tensor tensor;
};

_Static_assert(sizeof(struct ww_dtype) == 4, "DLDataType");
_Static_assert(sizeof(void *) == 8, "the offsets below are those of 64-bit machines");
_Static_assert(offsetof(struct ww_dl_tensor, device_type) == 8, "DLTensor");
_Static_assert(offsetof(struct ww_dl_tensor, ndim) == 16, "DLTensor");
_Static_assert(offsetof(struct ww_dl_tensor, dtype) == 20, "DLTensor");
_Static_assert(offsetof(struct ww_dl_tensor, shape) == 24, "DLTensor");
_Static_assert(offsetof(struct ww_dl_tensor, strides) == 32, "DLTensor");
_Static_assert(offsetof(struct ww_dl_tensor, byte_offset) == 40, "DLTensor");
_Static_assert(sizeof(struct ww_dl_tensor) == 48, "DLTensor");
_Static_assert(offsetof(struct DLManagedTensor, context) == 48, "DLManagedTensor");
_Static_assert(offsetof(struct DLManagedTensor, deleter) == 56, "DLManagedTensor");
_Static_assert(sizeof(struct DLManagedTensor) == 64, "DLManagedTensor");
_Static_assert(offsetof(struct DLManagedTensorVersioned, context) == 8, "its version");
_Static_assert(offsetof(struct DLManagedTensorVersioned, deleter) == 16, "its version");
_Static_assert(offsetof(struct DLManagedTensorVersioned, flags) == 24, "its version");
_Static_assert(offsetof(struct DLManagedTensorVersioned, tensor) == 32, "its version");
_Static_assert(sizeof(struct DLManagedTensorVersioned) == 80, "its version");

#endif
