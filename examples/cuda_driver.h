/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_driver.h - the few functions of CUDA that the examples call, for machines without CUDA's
 * headers
 *
 * A program of yours includes <cuda.h> or <cuda_runtime.h> and links CUDA: cudaMalloc() is
 * cuMemAlloc(). The examples have to compile and run where neither is, so they look the driver up
 * while they run.
 */
#ifndef EXAMPLES_CUDA_DRIVER_H
#define EXAMPLES_CUDA_DRIVER_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long cuda_pointer;

typedef struct {
	char bytes[64];
} cuda_handle; /* CUipcMemHandle, cudaIpcMemHandle_t */

struct cuda_driver {
	int (*init)(unsigned int flags);
	int (*device_get)(int *out_device, int index);
	int (*context_retain)(void **out_context, int device);
	int (*context_set)(void *context);
	int (*alloc)(cuda_pointer *out_pointer, size_t bytes);
	int (*free)(cuda_pointer pointer);
	int (*to_device)(cuda_pointer to, const void *from, size_t bytes);
	int (*handle_get)(cuda_handle *out_handle, cuda_pointer pointer);
	int (*capture_begin)(void *stream, int mode);
	int (*capture_end)(void *stream, void **out_graph);
	int (*instantiate)(void **out_executable, void *graph, unsigned long long flags);
	int (*executable_destroy)(void *executable);
	int (*graph_destroy)(void *graph);
};

static inline void cuda_check(const char *call, int result)
{
	if (result != 0) {
		fprintf(stderr, "%s: CUDA error %d\n", call, result);
		exit(1);
	}
}

static inline void cuda_find(void *library, const char *name, void *out_function)
{
	*(void **)out_function = dlsym(library, name);
	if (!*(void **)out_function) {
		fprintf(stderr, "libcuda.so.1 has no %s\n", name);
		exit(1);
	}
}

/*
 * Finds the driver and makes the primary context of a GPU current, as the first call of CUDA's
 * runtime does.
 */
static inline struct cuda_driver cuda_start(int index)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	struct cuda_driver cuda;
	void *context;
	int device;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	cuda_find(library, "cuInit", &cuda.init);
	cuda_find(library, "cuDeviceGet", &cuda.device_get);
	cuda_find(library, "cuDevicePrimaryCtxRetain", &cuda.context_retain);
	cuda_find(library, "cuCtxSetCurrent", &cuda.context_set);
	cuda_find(library, "cuMemAlloc_v2", &cuda.alloc);
	cuda_find(library, "cuMemFree_v2", &cuda.free);
	cuda_find(library, "cuMemcpyHtoD_v2", &cuda.to_device);
	cuda_find(library, "cuIpcGetMemHandle", &cuda.handle_get);
	cuda_find(library, "cuStreamBeginCapture_v2", &cuda.capture_begin);
	cuda_find(library, "cuStreamEndCapture", &cuda.capture_end);
	cuda_find(library, "cuGraphInstantiateWithFlags", &cuda.instantiate);
	cuda_find(library, "cuGraphExecDestroy", &cuda.executable_destroy);
	cuda_find(library, "cuGraphDestroy", &cuda.graph_destroy);
	cuda_check("cuInit", cuda.init(0));
	cuda_check("cuDeviceGet", cuda.device_get(&device, index));
	cuda_check("cuDevicePrimaryCtxRetain", cuda.context_retain(&context, device));
	cuda_check("cuCtxSetCurrent", cuda.context_set(context));
	return cuda;
}

#endif
