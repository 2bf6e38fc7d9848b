/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlpack.h - tensors of DLPack inside the extension, and copies of arrays
 *
 * The structs are those of DLPack 1.1, as other libraries lay them out.
 */
#ifndef CORE_DLPACK_H
#define CORE_DLPACK_H

#include "core.h"

/* dl_tensor.device_type */
#define DL_CPU       1
#define DL_CUDA      2
#define DL_CUDA_HOST 3

/* DLManagedTensorVersioned.flags */
#define DL_READ_ONLY UINT64_C(0x1)
#define DL_IS_COPIED UINT64_C(0x2)
#define DL_IS_PADDED UINT64_C(0x4) /* elements of less than a byte have one each */

struct dl_tensor {
	char *data;
	int32_t device_type;
	int32_t device_id;
	int32_t ndim;
	struct ww_dtype dtype;
	int64_t *shape;
	int64_t *strides; /* in elements; NULL: C order */
	uint64_t byte_offset;
};

struct DLManagedTensor {
	struct dl_tensor tensor;
	void *context;
	void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
	uint32_t major, minor;
	void *context;
	void (*deleter)(struct DLManagedTensorVersioned *self);
	uint64_t flags;
	struct dl_tensor tensor;
};

#define CAPSULE_PLAIN     "dltensor"
#define CAPSULE_VERSIONED "dltensor_versioned"

/* The device of DLPack that a Memory is on. Return: false with an exception. */
bool dlpack_place(PyObject *memory, int *out_type, int *out_id);

/* --- array_copy.c --- */

/* A reference of a device of DLPack; NULL with an exception. */
ww_device *dlpack_open_place(struct core *core, int type, int id);

/* What is copied into a new memory, from the lowest to the highest byte of an array. */
struct array_source {
	const char *start; /* what the array's offset counts from */
	ww_device *device; /* which has streams that reach it; borrowed */
	struct ww_array array;
};

/* The array of a tensor. Return: false with an exception. */
bool array_source_read(struct core *core, const struct dl_tensor *tensor,
	struct array_source *source);

/*
 * An Array in new memory, with the same strides.
 * @device:  of the new memory; borrowed
 * @kind:    WW_MEMORY_... of it
 * @stream:  has the copy in its order; of a GPU. NULL: one of its own
 * @waits:   whether the call waits for the copy
 * Return: NULL with an exception.
 */
PyObject *array_copied(struct core *core, const struct array_source *source, ww_device *device,
	uint32_t kind, ww_stream *stream, bool waits);

/*
 * A copy of an Array for a device of DLPack, after its ready point.
 * @stream:  as in __dlpack__; a copy for another device is waited for
 */
PyObject *array_copy_for(PyObject *self, int type, int id, PyObject *stream);

PyObject *array_copy_in(PyObject *module, PyObject *arguments, PyObject *keywords);

#endif
