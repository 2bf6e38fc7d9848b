/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_memory.c - see device_memory.h
 */
#include "device_memory.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/cuda/cuda_abi.h"
#include "mpi_test.h"

enum kind {
	ALLOCATED,
	MANAGED = DEVICE_MEMORY_MANAGED,
	POOLED,
	MAPPED
};

#define FUNCTIONS(X)                                                    \
	X(cuInit, cuInit)                                               \
	X(cuDeviceGetCount, cuDeviceGetCount)                           \
	X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)           \
	X(cuCtxSetCurrent, cuCtxSetCurrent)                             \
	X(cuCtxGetCurrent, cuCtxGetCurrent)                             \
	X(cuPointerGetAttributes, cuPointerGetAttributes)               \
	X(cuMemAlloc, cuMemAlloc_v2)                                    \
	X(cuMemFree, cuMemFree_v2)                                      \
	X(cuMemAllocManaged, cuMemAllocManaged)                         \
	X(cuMemAllocAsync, cuMemAllocAsync)                             \
	X(cuMemFreeAsync, cuMemFreeAsync)                               \
	X(cuStreamSynchronize, cuStreamSynchronize)                     \
	X(cuStreamCreate, cuStreamCreate)                               \
	X(cuStreamDestroy, cuStreamDestroy_v2)                          \
	X(cuStreamBeginCapture, cuStreamBeginCapture_v2)                \
	X(cuStreamEndCapture, cuStreamEndCapture)                       \
	X(cuGraphDestroy, cuGraphDestroy)                               \
	X(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity) \
	X(cuMemCreate, cuMemCreate)                                     \
	X(cuMemRelease, cuMemRelease)                                   \
	X(cuMemAddressReserve, cuMemAddressReserve)                     \
	X(cuMemAddressFree, cuMemAddressFree)                           \
	X(cuMemMap, cuMemMap)                                           \
	X(cuMemUnmap, cuMemUnmap)                                       \
	X(cuMemSetAccess, cuMemSetAccess)                               \
	X(cuMemcpyHtoD, cuMemcpyHtoD_v2)                                \
	X(cuMemcpyDtoH, cuMemcpyDtoH_v2)

static struct {
#define FIELD(name, symbol) ww_PFN_##name name;
	FUNCTIONS(FIELD)
#undef FIELD
} cuda;

static ww_CUmemAllocationProp property; /* of the device whose context is current */
static ww_CUcontext own_context;        /* current in the program */
static int own_device;
static int memory_devices; /* on so many devices memory is made, in turns; 0: on the own one */

#define MUST_WORK(call) must_work(cuda.call, #call, __LINE__)

static void must_work(ww_CUresult result, const char *call, int line)
{
	if (result != WW_CUDA_SUCCESS)
		fprintf(stderr, "%s:%d: rank %d: %s: CUDA error %d\n", __FILE__, line, rank, call,
			(int)result);
	MUST(result == WW_CUDA_SUCCESS);
}

static ww_CUdeviceptr address_of(const void *memory)
{
	return (ww_CUdeviceptr)(uintptr_t)memory;
}

static void load(void)
{
	static const struct {
		const char *symbol;
		void **function;
	} entries[] = {
#define ENTRY(name, symbol) {#symbol, (void **)&cuda.name},
		FUNCTIONS(ENTRY)
#undef ENTRY
	};
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	MUST(library);
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		*entries[i].function = dlsym(library, entries[i].symbol);
		MUST(*entries[i].function);
	}
}

static ww_CUcontext use(int device)
{
	ww_CUcontext context = NULL;

	property.type = WW_CU_MEM_ALLOCATION_TYPE_PINNED;
	property.location.type = WW_CU_MEM_LOCATION_TYPE_DEVICE;
	property.location.id = device;
	MUST_WORK(cuDevicePrimaryCtxRetain(&context, device));
	MUST_WORK(cuCtxSetCurrent(context));
	return context;
}

void device_open(int turn)
{
	int devices = 1;

	load();
	MUST_WORK(cuInit(0));
	if (getenv("MPI_TEST_SPREAD"))
		MUST_WORK(cuDeviceGetCount(&devices));
	if (getenv("MPI_TEST_ALL_GPUS"))
		MUST_WORK(cuDeviceGetCount(&memory_devices));
	own_device = turn % devices;
	own_context = use(own_device);
}

static void enter(int device)
{
	ww_CUcontext current = NULL;

	if (!memory_devices)
		return;
	/* No call of the MPI has changed it. */
	MUST_WORK(cuCtxGetCurrent(&current));
	MUST(current == own_context);
	use(device);
}

static void leave(void)
{
	if (memory_devices)
		use(own_device);
}

/* Memory of a kind is on another device in each turn; memory of neighbouring turns is, too. */
static int device_for(unsigned int kind)
{
	unsigned int turn = kind + kind / DEVICE_MEMORY_KINDS;

	return memory_devices ? (int)(turn % (unsigned int)memory_devices) : own_device;
}

static int device_of(const void *memory)
{
	ww_CUpointer_attribute attribute = WW_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
	int device = own_device;
	void *values[] = {&device};

	if (memory_devices)
		MUST_WORK(cuPointerGetAttributes(1, &attribute, values, address_of(memory)));
	return device;
}

static size_t round_up(size_t bytes)
{
	size_t unit = 1;

	MUST_WORK(cuMemGetAllocationGranularity(&unit, &property,
		WW_CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	return (bytes + unit - 1) / unit * unit;
}

static ww_CUdeviceptr map(size_t bytes)
{
	ww_CUmemAccessDesc access = {property.location, WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	ww_CUmemGenericAllocationHandle handle = 0;
	ww_CUdeviceptr address = 0;

	bytes = round_up(bytes);
	MUST_WORK(cuMemCreate(&handle, bytes, &property, 0));
	MUST_WORK(cuMemAddressReserve(&address, bytes, 0, 0, 0));
	MUST_WORK(cuMemMap(address, bytes, 0, handle, 0));
	MUST_WORK(cuMemRelease(handle));
	MUST_WORK(cuMemSetAccess(address, bytes, &access, 1));
	return address;
}

void *device_memory_new(size_t bytes, unsigned int kind)
{
	ww_CUdeviceptr address = 0;

	enter(device_for(kind));
	switch (kind % DEVICE_MEMORY_KINDS) {
	case ALLOCATED:
		MUST_WORK(cuMemAlloc(&address, bytes));
		break;
	case MANAGED:
		MUST_WORK(cuMemAllocManaged(&address, bytes, WW_CU_MEM_ATTACH_GLOBAL));
		break;
	case POOLED:
		MUST_WORK(cuMemAllocAsync(&address, bytes, NULL));
		MUST_WORK(cuStreamSynchronize(NULL));
		break;
	default:
		address = map(bytes);
	}
	leave();
	return (void *)(uintptr_t)address;
}

void device_memory_free(void *memory, size_t bytes, unsigned int kind)
{
	ww_CUdeviceptr address = address_of(memory);

	enter(device_for(kind));
	switch (kind % DEVICE_MEMORY_KINDS) {
	case POOLED:
		MUST_WORK(cuMemFreeAsync(address, NULL));
		break;
	case MAPPED:
		bytes = round_up(bytes);
		/* A small cuMemcpyHtoD() can have returned before its bytes are there; unmapping
		 * does not wait for them, as cuMemFree() does. */
		MUST_WORK(cuStreamSynchronize(NULL));
		MUST_WORK(cuMemUnmap(address, bytes));
		MUST_WORK(cuMemAddressFree(address, bytes));
		break;
	default:
		MUST_WORK(cuMemFree(address));
	}
	leave();
}

void device_memory_put(void *memory, const void *from, size_t bytes)
{
	enter(device_of(memory));
	MUST_WORK(cuMemcpyHtoD(address_of(memory), from, bytes));
	leave();
}

void device_memory_get(void *to, const void *memory, size_t bytes)
{
	enter(device_of(memory));
	MUST_WORK(cuMemcpyDtoH(to, address_of(memory), bytes));
	leave();
}

void *device_capture_begin(void)
{
	ww_CUstream stream;

	MUST_WORK(cuStreamCreate(&stream, WW_CU_STREAM_NON_BLOCKING));
	MUST_WORK(cuStreamBeginCapture(stream, WW_CU_STREAM_CAPTURE_MODE_GLOBAL));
	return stream;
}

void device_capture_end(void *capture)
{
	ww_CUgraph graph;

	MUST_WORK(cuStreamEndCapture(capture, &graph));
	MUST_WORK(cuGraphDestroy(graph));
	MUST_WORK(cuStreamDestroy(capture));
}
