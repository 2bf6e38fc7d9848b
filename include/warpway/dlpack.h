/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/dlpack.h - arrays to and from other libraries of this process, by DLPack
 *
 * DLPack is the format in which PyTorch, CuPy, NumPy, JAX and others exchange arrays inside one
 * process without a copy. It is a struct, called tensor, with a pointer, a shape, strides, and a
 * function that frees it, its deleter. The calls of this header make a tensor from a memory with an
 * array, and a memory with an array from a tensor. Such a memory can be put, exported and sent to
 * other processes.
 *
 *   ww_memory + ww_array ──export──> tensor ──> PyTorch, ... ──deleter──> releases the ww_memory
 *   tensor of PyTorch, ... ──import──> ww_memory + ww_array ──last unref──> deleter of the tensor
 *
 * This header needs no <dlpack/dlpack.h>; both can be included, in any order. Versioned tensors
 * (DLPack 1.0 and later) say whether they may be written. Older tensors without a version cannot
 * say this. Python's capsules are "dltensor_versioned" and "dltensor" around these pointers.
 *
 * The calls do not order work of streams. If a stream writes the bytes, the program must make the
 * readers wait for the stream, by an event or by synchronizing, as DLPack's rules for Python say.
 *
 * Threads: every function may be called from any thread, and a tensor's deleter from any.
 */
#ifndef WARPWAY_DLPACK_H
#define WARPWAY_DLPACK_H

#include <warpway/array.h>
#include <warpway/base.h>
#include <warpway/device.h>
#include <warpway/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of <dlpack/dlpack.h>. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/**
 * ww_dlpack_export() - make a tensor of an array in a memory
 * @memory:      borrowed; the tensor has its own reference until its deleter is called
 * @array:       borrowed; inside the memory
 * @out_tensor:  the caller's; the caller calls its deleter, or passes the tensor to a library that
 *               does; NULL on failure
 *
 * The tensor has version 1.1. Its flag READ_ONLY is set if the memory's access is WW_ACCESS_READ.
 * Its device is the device that the memory is mapped for: kDLCUDA with the index of "cuda:N",
 * kDLCUDAHost for host memory that a GPU reaches, else kDLCPU. The data pointer points to element
 * [0, 0, ...]; it is NULL if there are no elements. byte_offset is 0, because not every library
 * reads it. The tensor always has strides.
 *
 * Return: WW_OK; WW_ERR_INVALID, WW_ERR_OVERFLOW, WW_ERR_MISMATCH (as ww_array_check());
 *         WW_ERR_UNSUPPORTED (a stride is not a multiple of an element's bytes: DLPack counts
 *         elements); WW_ERR_NO_MEMORY; WW_ERR_FORKED.
 */
WW_API ww_status ww_dlpack_export(ww_memory *memory, const struct ww_array *array,
	struct DLManagedTensorVersioned **out_tensor);

/**
 * ww_dlpack_export_unversioned() - make a tensor in the format before DLPack 1.0
 * @memory:      borrowed, as for ww_dlpack_export()
 * @array:       borrowed; inside the memory
 * @out_tensor:  the caller's; NULL on failure
 *
 * Return: as ww_dlpack_export(); WW_ERR_ACCESS (the memory is for reading only, which such a tensor
 * cannot say).
 */
WW_API ww_status ww_dlpack_export_unversioned(ww_memory *memory, const struct ww_array *array,
	struct DLManagedTensor **out_tensor);

/**
 * ww_dlpack_import() - make a memory and an array from another library's tensor
 * @device:      borrowed; the device of the tensor: "cuda:N" for kDLCUDA with id N, "host" for
 *               kDLCPU, any of them for kDLCUDAHost
 * @tensor:      consumed on success: the last unref of the memory calls its deleter, on its thread.
 *               After a failure it is still the caller's
 * @out_memory:  the caller's; NULL on failure. From the lowest to the highest byte of the array
 * @out_array:   filled on success: the tensor's type, shape and strides, in that memory
 *
 * The tensor's memory is wrapped as by ww_memory_wrap(), whose description says what can be shared.
 * A tensor marked READ_ONLY becomes a memory of WW_ACCESS_READ. A tensor without elements has no
 * bytes to wrap: its deleter is called at once, and the memory is a new one where the tensor is: of
 * WW_MEMORY_VMM for a GPU, else of WW_MEMORY_HOST.
 *
 * Return: WW_OK; WW_ERR_VERSION (of another major version: the caller may only call its deleter);
 *         WW_ERR_INVALID (the tensor is of another device, or not well formed); WW_ERR_UNSUPPORTED
 *         (a device of another kind; a type that struct ww_array does not have, such as a single
 *         float4; memory that cannot be wrapped, such as malloc()'s: copy it with
 *         ww_memory_copy_in()); WW_ERR_OVERFLOW; as ww_memory_wrap().
 */
WW_API ww_status ww_dlpack_import(ww_device *device, struct DLManagedTensorVersioned *tensor,
	ww_memory **out_memory, struct ww_array *out_array);

/**
 * ww_dlpack_import_unversioned() - the same, from a tensor in the format before DLPack 1.0
 * @device:      borrowed, as for ww_dlpack_import()
 * @tensor:      consumed on success, as for ww_dlpack_import()
 * @out_memory:  the caller's; NULL on failure
 * @out_array:   filled on success
 *
 * Return: as ww_dlpack_import().
 */
WW_API ww_status ww_dlpack_import_unversioned(ww_device *device, struct DLManagedTensor *tensor,
	ww_memory **out_memory, struct ww_array *out_array);

#ifdef __cplusplus
}
#endif

#endif
