/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/dlpack.h - arrays to and from other libraries of this process, by DLPack
 *
 * DLPack is the format in which PyTorch, CuPy, NumPy, JAX and others exchange arrays inside one
 * process without a copy: a struct, called tensor, with a pointer, a shape, strides, and a function
 * that frees it, its deleter. The calls here make a tensor of a memory with an array, and a memory
 * with an array of a tensor. Such a memory can be put, exported and sent to other processes.
 *
 *   ww_memory + ww_array ──export──> tensor ──> PyTorch, ... ──deleter──> releases the ww_memory
 *   tensor of PyTorch, ... ──import──> ww_memory + ww_array ──last unref──> deleter of the tensor
 *
 * This header needs no <dlpack/dlpack.h>; both can be included, in any order. Versioned tensors
 * (DLPack 1.0 and later) say whether they may be written; the older ones without version cannot.
 * Python's capsules are "dltensor_versioned" and "dltensor" around these pointers.
 *
 * The calls order no work of streams. If a stream writes the bytes, the program must make the
 * readers wait for it, by an event or by synchronizing, as DLPack's rules for Python say.
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
 * @memory:      borrowed; the tensor holds a reference of its own until its deleter is called
 * @array:       borrowed; inside the memory
 * @out_tensor:  the caller's, who calls its deleter, or passes it to a library that does; NULL on
 *               failure
 *
 * It is of version 1.1; its flag READ_ONLY is set when the memory's access is WW_ACCESS_READ. Its
 * device is the one that the memory is mapped for: kDLCUDA with the index of "cuda:N", kDLCUDAHost
 * for host memory that a GPU reaches, else kDLCPU. The data pointer is that of element [0, 0, ...]
 * and byte_offset 0, because not every library reads the latter; NULL when there are no elements.
 * Strides are always there.
 *
 * Return: WW_OK; WW_ERR_INVALID, WW_ERR_OVERFLOW, WW_ERR_MISMATCH (as ww_array_check());
 *         WW_ERR_UNSUPPORTED (a stride is no multiple of an element's bytes: DLPack counts
 *         elements); WW_ERR_NO_MEMORY; WW_ERR_FORKED.
 */
WW_API ww_status ww_dlpack_export(ww_memory *memory, const struct ww_array *array,
	struct DLManagedTensorVersioned **out_tensor);

/**
 * ww_dlpack_export_unversioned() - make a tensor as it was before DLPack 1.0
 * @memory:      borrowed, as for ww_dlpack_export()
 * @array:       borrowed; inside the memory
 * @out_tensor:  the caller's; NULL on failure
 *
 * Return: as ww_dlpack_export(); WW_ERR_ACCESS (the memory may only be read, which such a tensor
 * cannot say).
 */
WW_API ww_status ww_dlpack_export_unversioned(ww_memory *memory, const struct ww_array *array,
	struct DLManagedTensor **out_tensor);

/**
 * ww_dlpack_import() - make a memory and an array of another library's tensor
 * @device:      borrowed; the tensor's: "cuda:N" for kDLCUDA with id N, "host" for kDLCPU, any of
 *               them for kDLCUDAHost
 * @tensor:      consumed on success: the last unref of the memory calls its deleter, on its thread.
 *               After a failure it is still the caller's
 * @out_memory:  the caller's; NULL on failure. From the lowest to the highest byte of the array
 * @out_array:   filled on success: the tensor's type, shape and strides, in that memory
 *
 * The tensor's memory is wrapped as by ww_memory_wrap(), which says what can be shared and what
 * not. A tensor marked READ_ONLY becomes a memory of WW_ACCESS_READ. A tensor without elements has
 * no bytes to wrap: its deleter is called at once, and the memory is a new page of WW_MEMORY_HOST.
 *
 * Return: WW_OK; WW_ERR_VERSION (of another major version: only its deleter may be called, and the
 *         caller does); WW_ERR_INVALID (the tensor is of another device, or not well formed);
 *         WW_ERR_UNSUPPORTED (a device of another kind; a type that struct ww_array does not have,
 *         such as a single float4; memory that cannot be wrapped, such as malloc()'s: copy it with
 *         ww_memory_copy_in()); WW_ERR_OVERFLOW; as ww_memory_wrap().
 */
WW_API ww_status ww_dlpack_import(ww_device *device, struct DLManagedTensorVersioned *tensor,
	ww_memory **out_memory, struct ww_array *out_array);

/**
 * ww_dlpack_import_unversioned() - make a memory and an array of a tensor of before DLPack 1.0
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
