/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakecuda_test.c - the rules of the fake driver that one process can see
 */
#include "fakecuda_test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TESTS_MAX 128

struct cu_functions cu;

static void *must_find(void *library, const char *symbol)
{
	void *function = dlsym(library, symbol);
	if (!function) {
		fprintf(stderr, "libcuda.so.1 has no %s: is it the fake one?\n", symbol);
		exit(1);
	}
	return function;
}

void cu_open(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
#define CU_LOAD(name, symbol, parameters) *(void **)&cu.name = must_find(library, #symbol);
	WW_CUDA_FUNCTIONS(CU_LOAD)
#undef CU_LOAD
	*(void **)&cu.fail_nth = must_find(library, "fakecuda_fail");
	*(void **)&cu.call_at = must_find(library, "fakecuda_at");
	*(void **)&cu.fail_off = must_find(library, "fakecuda_fail_off");
	*(void **)&cu.call_count = must_find(library, "fakecuda_call_count");
	*(void **)&cu.live = must_find(library, "fakecuda_live");
}

ww_CUmemAllocationProp vmm_prop(int device, int handle_types)
{
	ww_CUmemAllocationProp prop;
	memset(&prop, 0, sizeof(prop));
	prop.type = WW_CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.requestedHandleTypes = handle_types;
	prop.location.type = WW_CU_MEM_LOCATION_TYPE_DEVICE;
	prop.location.id = device;
	return prop;
}

void set_access(ww_CUdeviceptr address, size_t bytes, int device, int flags)
{
	ww_CUmemAccessDesc access = {{WW_CU_MEM_LOCATION_TYPE_DEVICE, device}, flags};
	OK(cu.cuMemSetAccess(address, bytes, &access, 1));
}

struct mapped map_handle(ww_CUmemGenericAllocationHandle handle, size_t bytes)
{
	struct mapped mapped = {.handle = handle, .bytes = bytes};
	OK(cu.cuMemAddressReserve(&mapped.address, bytes, 0, 0, 0));
	OK(cu.cuMemMap(mapped.address, bytes, 0, handle, 0));
	set_access(mapped.address, bytes, 0, WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	return mapped;
}

struct mapped map_new(size_t bytes, int handle_types)
{
	ww_CUmemAllocationProp prop = vmm_prop(0, handle_types);
	ww_CUmemGenericAllocationHandle handle;
	OK(cu.cuMemCreate(&handle, bytes, &prop, 0));
	return map_handle(handle, bytes);
}

void unmap(struct mapped *mapped)
{
	OK(cu.cuMemUnmap(mapped->address, mapped->bytes));
	OK(cu.cuMemAddressFree(mapped->address, mapped->bytes));
	OK(cu.cuMemRelease(mapped->handle));
}

uint32_t read_word(ww_CUdeviceptr address)
{
	uint32_t value;
	OK(cu.cuMemcpyDtoH(&value, address, sizeof(value)));
	return value;
}

void write_word(ww_CUdeviceptr address, uint32_t value)
{
	OK(cu.cuMemcpyHtoD(address, &value, sizeof(value)));
}

static struct CMUnitTest tests[TESTS_MAX];
static size_t test_count;

void test_enter(const struct CMUnitTest *test)
{
	assert_true(test_count < TESTS_MAX);
	tests[test_count++] = *test;
}

int test_begin(void **state)
{
	struct fakecuda_live *before = malloc(sizeof(*before));
	ww_CUcontext context;

	cu.live(before);
	*state = before;
	OK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	OK(cu.cuCtxPushCurrent(context));
	return 0;
}

int test_end(void **state)
{
	struct fakecuda_live after;
	ww_CUcontext context;

	cu.fail_off();
	OK(cu.cuCtxPopCurrent(NULL));
	OK(cu.cuDevicePrimaryCtxRelease(0));
	OK(cu.cuCtxGetCurrent(&context));
	assert_null(context);
	cu.live(&after);
	assert_memory_equal(*state, &after, sizeof(after));
	free(*state);
	return 0;
}

/* ---- before and around initialisation ---- */

TEST_WITH(test_nothing_works_before_init, NULL, NULL)
{
	const char *name = NULL;
	ww_CUcontext context;
	size_t bytes;
	int number;

	FAILS(cu.cuDeviceGetCount(&number), NOT_INITIALIZED);
	FAILS(cu.cuCtxGetCurrent(&context), NOT_INITIALIZED);
	FAILS(cu.cuMemGetInfo(&bytes, &bytes), NOT_INITIALIZED);
	FAILS(cu.cuMemRelease(1), NOT_INITIALIZED);

	OK(cu.cuDriverGetVersion(&number));
	assert_int_equal(number, 13000);
	OK(cu.cuGetErrorName(WW_CUDA_ERROR_NOT_FOUND, &name));
	assert_string_equal(name, "CUDA_ERROR_NOT_FOUND");
	OK(cu.cuGetErrorString(WW_CUDA_ERROR_OUT_OF_MEMORY, &name));
	assert_string_equal(name, "out of memory");
	FAILS(cu.cuGetErrorName(12345, &name), INVALID_VALUE);

	FAILS(cu.cuInit(1), INVALID_VALUE);
	OK(cu.cuInit(0));
	OK(cu.cuInit(0));
}

TEST_WITH(test_functions_are_found_by_name, NULL, NULL)
{
	void *function;
	int status;

	OK(cu.cuGetProcAddress("cuMemAlloc", &function, WW_CUDA_ABI_VERSION, 0, &status));
	assert_int_equal(status, WW_CU_GET_PROC_ADDRESS_SUCCESS);
	assert_true(function == *(void **)&cu.cuMemAlloc);
	OK(cu.cuGetProcAddress("cuCtxCreate", &function, 3020, 0, NULL));
	assert_true(function == *(void **)&cu.cuCtxCreate);

	static const char *const unknown[] = {"cuNothing", "cuMemAlloc_v2", "cuCtxCreate"};
	for (size_t i = 0; i < 3; i++) {
		function = &status;
		OK(cu.cuGetProcAddress(unknown[i], &function, WW_CUDA_ABI_VERSION, 0, &status));
		assert_null(function);
		assert_int_equal(status, WW_CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	}
	OK(cu.cuGetProcAddress("cuMemCreate", &function, 9000, 0, &status));
	assert_null(function);
	assert_int_equal(status, WW_CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

static int attribute(ww_CUdevice_attribute which)
{
	int value;
	OK(cu.cuDeviceGetAttribute(&value, which, 0));
	return value;
}

TEST_WITH(test_devices, NULL, NULL)
{
	char text[64];
	ww_CUuuid uuids[2];
	ww_CUdevice device;
	size_t bytes;
	int value;

	OK(cu.cuDeviceGetCount(&value));
	assert_int_equal(value, 2);
	OK(cu.cuDeviceGet(&device, 1));
	OK(cu.cuDeviceGetName(text, sizeof(text), device));
	OK(cu.cuDeviceGetPCIBusId(text, sizeof(text), device));
	assert_string_equal(text, "0000:02:00.0");
	OK(cu.cuDeviceGetUuid(&uuids[0], 0));
	OK(cu.cuDeviceGetUuid(&uuids[1], 1));
	assert_memory_not_equal(&uuids[0], &uuids[1], sizeof(uuids[0]));
	OK(cu.cuDeviceTotalMem(&bytes, 0));
	assert_int_equal(bytes, (uint64_t)4 << 30);
	OK(cu.cuDeviceCanAccessPeer(&value, 0, 1));
	assert_int_equal(value, 1);
	OK(cu.cuDeviceCanAccessPeer(&value, 1, 1));
	assert_int_equal(value, 0);

	assert_int_equal(attribute(WW_CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), 1);
	assert_int_equal(attribute(WW_CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 1);
	assert_int_equal(
		attribute(WW_CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED), 1);

	FAILS(cu.cuDeviceGet(&device, 2), INVALID_DEVICE);
	FAILS(cu.cuDeviceGetAttribute(&value, 9999, 0), INVALID_VALUE);
	FAILS(cu.cuDeviceGetAttribute(&value, 41, 2), INVALID_DEVICE);
	FAILS(cu.cuDeviceGetCount(NULL), INVALID_VALUE);
	FAILS(cu.cuDeviceGetName(text, sizeof(text), -1), INVALID_DEVICE);
}

/* ---- contexts ---- */

TEST(test_calls_need_a_context)
{
	ww_CUcontext primary;
	ww_CUdeviceptr address;
	ww_CUstream stream;
	ww_CUevent event;
	void *host;
	size_t bytes;
	int device;

	OK(cu.cuCtxPopCurrent(&primary));
	FAILS(cu.cuCtxPopCurrent(NULL), INVALID_CONTEXT);
	FAILS(cu.cuCtxGetDevice(&device), INVALID_CONTEXT);
	FAILS(cu.cuCtxSynchronize(), INVALID_CONTEXT);
	FAILS(cu.cuMemGetInfo(&bytes, &bytes), INVALID_CONTEXT);
	FAILS(cu.cuMemAlloc(&address, 1), INVALID_CONTEXT);
	FAILS(cu.cuMemHostAlloc(&host, 1, 0), INVALID_CONTEXT);
	FAILS(cu.cuMemHostRegister(&bytes, 8, 0), INVALID_CONTEXT);
	FAILS(cu.cuStreamCreate(&stream, 0), INVALID_CONTEXT);
	FAILS(cu.cuStreamSynchronize(NULL), INVALID_CONTEXT);
	FAILS(cu.cuStreamQuery(WW_CU_STREAM_PER_THREAD), INVALID_CONTEXT);
	FAILS(cu.cuEventCreate(&event, 0), INVALID_CONTEXT);
	FAILS(cu.cuMemcpy(0, 0, 0), INVALID_CONTEXT);
	OK(cu.cuCtxPushCurrent(primary));

	/* A stream brings its context; VMM needs none. */
	OK(cu.cuStreamCreate(&stream, WW_CU_STREAM_NON_BLOCKING));
	OK(cu.cuCtxPopCurrent(NULL));
	struct mapped mapped = map_new(GRANULARITY, 0);
	OK(cu.cuMemsetD8Async(mapped.address, 7, 16, stream));
	OK(cu.cuStreamSynchronize(stream));
	unmap(&mapped);
	OK(cu.cuStreamDestroy(stream));
	OK(cu.cuCtxPushCurrent(primary));
}

TEST(test_context_stack)
{
	ww_CUcontext primary;
	ww_CUcontext created;
	ww_CUcontext current;
	size_t bytes;
	int device;

	OK(cu.cuCtxGetCurrent(&primary));
	FAILS(cu.cuCtxDestroy(primary), INVALID_CONTEXT);
	FAILS(cu.cuCtxPushCurrent(NULL), INVALID_VALUE);
	OK(cu.cuCtxCreate(&created, 0, 1));
	OK(cu.cuCtxGetDevice(&device));
	assert_int_equal(device, 1);
	OK(cu.cuCtxPushCurrent(created));

	/* Destroying it takes one of the two from the stack; the other is a dead context. */
	OK(cu.cuCtxDestroy(created));
	FAILS(cu.cuCtxDestroy(created), INVALID_CONTEXT);
	OK(cu.cuCtxGetCurrent(&current));
	assert_ptr_equal(current, created);
	FAILS(cu.cuMemGetInfo(&bytes, &bytes), CONTEXT_IS_DESTROYED);
	OK(cu.cuCtxPopCurrent(&current));
	assert_ptr_equal(current, created);
	OK(cu.cuCtxGetCurrent(&current));
	assert_ptr_equal(current, primary);

	OK(cu.cuCtxSetCurrent(NULL));
	OK(cu.cuCtxGetCurrent(&current));
	assert_null(current);
	OK(cu.cuCtxSetCurrent(primary));
}

TEST(test_primary_context_is_counted)
{
	ww_CUcontext contexts[2];
	ww_CUdeviceptr address;
	unsigned int flags;
	size_t bytes;
	int active;

	FAILS(cu.cuDevicePrimaryCtxRelease(1), INVALID_CONTEXT);
	FAILS(cu.cuDevicePrimaryCtxRetain(&contexts[0], 2), INVALID_DEVICE);
	OK(cu.cuDevicePrimaryCtxRetain(&contexts[0], 1));
	OK(cu.cuDevicePrimaryCtxRetain(&contexts[1], 1));
	assert_ptr_equal(contexts[0], contexts[1]);
	OK(cu.cuCtxPushCurrent(contexts[0]));
	OK(cu.cuMemAlloc(&address, 100));
	OK(cu.cuDevicePrimaryCtxRelease(1));
	OK(cu.cuMemGetInfo(&bytes, &bytes));
	OK(cu.cuDevicePrimaryCtxGetState(1, &flags, &active));
	assert_int_equal(active, 1);

	/* The last release takes the allocation along. */
	OK(cu.cuDevicePrimaryCtxRelease(1));
	OK(cu.cuDevicePrimaryCtxGetState(1, &flags, &active));
	assert_int_equal(active, 0);
	FAILS(cu.cuMemGetInfo(&bytes, &bytes), CONTEXT_IS_DESTROYED);
	FAILS(cu.cuMemFree(address), INVALID_VALUE);
	OK(cu.cuCtxPopCurrent(NULL));
}

TEST(test_peer_access_of_contexts)
{
	ww_CUcontext own;
	ww_CUcontext peer;

	OK(cu.cuCtxGetCurrent(&own));
	OK(cu.cuDevicePrimaryCtxRetain(&peer, 1));
	FAILS(cu.cuCtxEnablePeerAccess(own, 0), PEER_ACCESS_UNSUPPORTED);
	FAILS(cu.cuCtxEnablePeerAccess(peer, 1), INVALID_VALUE);
	OK(cu.cuCtxEnablePeerAccess(peer, 0));
	FAILS(cu.cuCtxEnablePeerAccess(peer, 0), PEER_ACCESS_ALREADY_ENABLED);
	OK(cu.cuDevicePrimaryCtxRelease(1));
}

/* ---- allocations, host memory, pointers ---- */

TEST(test_alloc_and_free)
{
	ww_CUdeviceptr first;
	ww_CUdeviceptr second;
	ww_CUdeviceptr base;
	ww_CUmemGenericAllocationHandle handle;
	size_t bytes;
	char text[128] = {0};

	FAILS(cu.cuMemAlloc(&first, 0), INVALID_VALUE);
	FAILS(cu.cuMemAlloc(&first, (size_t)1 << 50), OUT_OF_MEMORY);
	OK(cu.cuMemAlloc(&first, 100));
	OK(cu.cuMemAlloc(&second, 100));
	OK(cu.cuMemGetAddressRange(&base, &bytes, first + 50));
	assert_int_equal(base, first);
	assert_int_equal(bytes, 100);
	FAILS(cu.cuMemcpyHtoD(first, text, 101), INVALID_VALUE);
	FAILS(cu.cuMemsetD8(first + 1, 0, 100), INVALID_VALUE);
	FAILS(cu.cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)first), INVALID_VALUE);
	OK(cu.cuMemFree(0));
	FAILS(cu.cuMemFree(first + 1), INVALID_VALUE);
	FAILS(cu.cuMemFree((uintptr_t)text), INVALID_VALUE);
	OK(cu.cuMemFree(first));
	FAILS(cu.cuMemFree(first), INVALID_VALUE);
	FAILS(cu.cuMemcpyHtoD(first, text, 1), INVALID_VALUE);
	FAILS(cu.cuMemGetAddressRange(&base, &bytes, first), NOT_FOUND);

	/* The same size comes back at the same address. */
	OK(cu.cuMemAlloc(&base, 100));
	assert_int_equal(base, first);
	OK(cu.cuMemFree(base));
	OK(cu.cuMemFree(second));
}

static uint64_t pointer_attribute(ww_CUpointer_attribute which, ww_CUdeviceptr address)
{
	uint64_t value = 0;
	OK(cu.cuPointerGetAttribute(&value, which, address));
	return value;
}

TEST(test_pointer_attributes)
{
	ww_CUdeviceptr plain;
	ww_CUdeviceptr managed;
	ww_CUcontext context;
	uint64_t value;
	int numbers[2];
	ww_CUpointer_attribute asked[2] = {WW_CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		WW_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
	void *answers[2] = {&numbers[0], &numbers[1]};

	OK(cu.cuCtxGetCurrent(&context));
	OK(cu.cuMemAlloc(&plain, 100));
	OK(cu.cuMemAllocManaged(&managed, 100, WW_CU_MEM_ATTACH_GLOBAL));
	struct mapped mapped = map_new(GRANULARITY, WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);

	assert_int_equal(pointer_attribute(WW_CU_POINTER_ATTRIBUTE_CONTEXT, plain),
		(uintptr_t)context);
	assert_int_equal(pointer_attribute(WW_CU_POINTER_ATTRIBUTE_CONTEXT, mapped.address), 0);
	assert_int_equal(pointer_attribute(WW_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, plain),
		WW_CU_MEMORYTYPE_DEVICE);
	assert_int_equal(pointer_attribute(WW_CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
				 plain),
		1);
	assert_int_equal(pointer_attribute(WW_CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
				 managed),
		0);
	assert_int_equal(pointer_attribute(WW_CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
				 mapped.address),
		0);
	assert_int_equal(pointer_attribute(WW_CU_POINTER_ATTRIBUTE_IS_MANAGED, managed), 1);
	assert_int_equal(pointer_attribute(WW_CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
				 mapped.address),
		WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	assert_int_equal(pointer_attribute(WW_CU_POINTER_ATTRIBUTE_RANGE_SIZE, plain + 3), 100);
	assert_int_equal(pointer_attribute(WW_CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
				 mapped.address + 3),
		mapped.address);
	assert_int_equal(pointer_attribute(WW_CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, mapped.address),
		3);
	FAILS(cu.cuPointerGetAttribute(&value, WW_CU_POINTER_ATTRIBUTE_HOST_POINTER, plain),
		INVALID_VALUE);

	/* An address of no device: an error for one question, neutral answers for several. */
	FAILS(cu.cuPointerGetAttribute(&value, asked[0], (uintptr_t)&value), INVALID_VALUE);
	OK(cu.cuPointerGetAttributes(2, asked, answers, (uintptr_t)&value));
	assert_int_equal(numbers[0], 0);
	assert_int_equal(numbers[1], WW_CU_DEVICE_INVALID);
	OK(cu.cuPointerGetAttributes(2, asked, answers, managed));
	assert_int_equal(numbers[0], WW_CU_MEMORYTYPE_DEVICE);
	assert_int_equal(numbers[1], 0);

	unmap(&mapped);
	FAILS(cu.cuPointerGetAttribute(&value, asked[0], mapped.address), INVALID_VALUE);
	OK(cu.cuMemFree(managed));
	OK(cu.cuMemFree(plain));
}

TEST(test_managed_memory_is_the_cpus_too)
{
	ww_CUdeviceptr address;

	FAILS(cu.cuMemAllocManaged(&address, 100, 0), INVALID_VALUE);
	OK(cu.cuMemAllocManaged(&address, 100, WW_CU_MEM_ATTACH_GLOBAL));
	*(uint32_t *)(uintptr_t)address = 77;
	assert_int_equal(read_word(address), 77);
	OK(cu.cuMemFree(address));
}

TEST(test_host_allocation)
{
	ww_CUdeviceptr device;
	void *host;

	FAILS(cu.cuMemHostAlloc(&host, 0, 0), INVALID_VALUE);
	FAILS(cu.cuMemHostAlloc(&host, 1, 8), INVALID_VALUE);
	OK(cu.cuMemHostAlloc(&host, 4096, WW_CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cu.cuMemHostGetDevicePointer(&device, host, 0));
	assert_int_equal(device, (uintptr_t)host);
	assert_int_equal(pointer_attribute(WW_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device),
		WW_CU_MEMORYTYPE_HOST);
	FAILS(cu.cuMemFree(device), INVALID_VALUE);
	FAILS(cu.cuMemHostUnregister(host), INVALID_VALUE);
	FAILS(cu.cuMemHostRegister(host, 4096, 0), INVALID_VALUE);
	OK(cu.cuMemFreeHost(host));
	OK(cu.cuMemFreeHost(NULL));
	FAILS(cu.cuMemFreeHost(&device), INVALID_VALUE);
}

TEST(test_host_registration)
{
	ww_CUdeviceptr device;
	char *pages = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	FAILS(cu.cuMemHostRegister(pages, 0, 0), INVALID_VALUE);
	FAILS(cu.cuMemHostRegister(NULL, 4096, 0), INVALID_VALUE);
	FAILS(cu.cuMemHostRegister(pages, 4096, 0x80), INVALID_VALUE);
	OK(cu.cuMemHostRegister(pages, 8192, WW_CU_MEMHOSTREGISTER_DEVICEMAP));
	OK(cu.cuMemHostGetDevicePointer(&device, pages + 100, 0));
	assert_int_equal(device, (uintptr_t)pages + 100);
	FAILS(cu.cuMemHostRegister(pages, 8192, 0), HOST_MEMORY_ALREADY_REGISTERED);
	FAILS(cu.cuMemHostRegister(pages + 4096, 8192, 0), HOST_MEMORY_ALREADY_REGISTERED);
	FAILS(cu.cuMemHostUnregister(pages + 100), INVALID_VALUE);
	OK(cu.cuMemHostUnregister(pages));
	FAILS(cu.cuMemHostUnregister(pages), HOST_MEMORY_NOT_REGISTERED);
	FAILS(cu.cuMemHostGetDevicePointer(&device, pages, 0), INVALID_VALUE);

	munmap(pages + 32768, 32768);
	FAILS(cu.cuMemHostRegister(pages, 65536, 0), INVALID_VALUE);

	/* What the CPU may only read must be registered for reading only, and refuses copies. */
	mprotect(pages, 4096, PROT_READ);
	FAILS(cu.cuMemHostRegister(pages, 4096, WW_CU_MEMHOSTREGISTER_DEVICEMAP), INVALID_VALUE);
	OK(cu.cuMemHostRegister(pages, 4096,
		WW_CU_MEMHOSTREGISTER_DEVICEMAP | WW_CU_MEMHOSTREGISTER_READ_ONLY));
	assert_int_equal(read_word((uintptr_t)pages), 0);
	FAILS(cu.cuMemcpyHtoD((uintptr_t)pages, &device, 8), INVALID_VALUE);
	FAILS(cu.cuMemsetD8((uintptr_t)pages, 1, 1), INVALID_VALUE);
	OK(cu.cuMemHostUnregister(pages));
	munmap(pages, 32768);
}

/* ---- copies ---- */

TEST(test_copies_in_all_directions)
{
	char from[64] = "over there";
	char to[64] = {0};
	ww_CUdeviceptr a;
	ww_CUdeviceptr b;

	OK(cu.cuMemAlloc(&a, sizeof(from)));
	OK(cu.cuMemAlloc(&b, sizeof(from)));
	OK(cu.cuMemcpyHtoD(a, from, sizeof(from)));
	OK(cu.cuMemcpyDtoD(b, a, sizeof(from)));
	OK(cu.cuMemcpyDtoH(to, b, sizeof(to)));
	assert_string_equal(to, from);
	OK(cu.cuMemcpy((uintptr_t)to, (uintptr_t) "plain", 6));
	assert_string_equal(to, "plain");
	OK(cu.cuMemcpyAsync((uintptr_t)to, b, sizeof(to), NULL));
	assert_string_equal(to, from);

	OK(cu.cuMemcpyHtoD(0, from, 0));
	FAILS(cu.cuMemcpyHtoD((uintptr_t)to, from, 1), INVALID_VALUE);
	FAILS(cu.cuMemcpyDtoH(to, (uintptr_t)from, 1), INVALID_VALUE);
	FAILS(cu.cuMemcpyDtoD(a, (uintptr_t)from, 1), INVALID_VALUE);
	FAILS(cu.cuMemcpyDtoD(a, b + 1, sizeof(from)), INVALID_VALUE);
	FAILS(cu.cuMemsetD8((uintptr_t)to, 1, 1), INVALID_VALUE);
	OK(cu.cuMemFree(b));
	OK(cu.cuMemFree(a));
}

TEST(test_fills)
{
	uint32_t words[4];
	ww_CUdeviceptr at;

	OK(cu.cuMemAlloc(&at, sizeof(words)));
	OK(cu.cuMemsetD32(at, 0x01020304, 4));
	OK(cu.cuMemsetD16(at + 4, 0xabcd, 2));
	OK(cu.cuMemsetD8(at + 8, 0x5a, 3));
	OK(cu.cuMemcpyDtoH(words, at, sizeof(words)));
	assert_int_equal(words[0], 0x01020304);
	assert_int_equal(words[1], 0xabcdabcd);
	assert_int_equal(words[2], 0x015a5a5a);
	assert_int_equal(words[3], 0x01020304);
	FAILS(cu.cuMemsetD32(at + 1, 0, 1), INVALID_VALUE);
	FAILS(cu.cuMemsetD16(at + 1, 0, 1), INVALID_VALUE);
	FAILS(cu.cuMemsetD32(at, 0, 5), INVALID_VALUE);
	FAILS(cu.cuMemsetD32(at, 0, SIZE_MAX / 2), INVALID_VALUE);
	OK(cu.cuMemFree(at));
}

/* ---- failures on purpose ---- */

TEST(test_the_nth_call_fails)
{
	ww_CUdeviceptr address;
	int count;

	cu.fail_nth("cuMemAlloc_v2", 2, WW_CUDA_ERROR_OUT_OF_MEMORY);
	OK(cu.cuMemAlloc(&address, 100));
	OK(cu.cuMemFree(address));
	FAILS(cu.cuMemAlloc(&address, 100), OUT_OF_MEMORY);
	OK(cu.cuMemAlloc(&address, 100));

	/* Any call but cleanup; cleanup only by its name, and it has done nothing then. */
	cu.fail_nth("*", 2, WW_CUDA_ERROR_UNKNOWN);
	OK(cu.cuDeviceGetCount(&count));
	FAILS(cu.cuMemFree(1), INVALID_VALUE);
	FAILS(cu.cuDeviceGetCount(&count), UNKNOWN);
	cu.fail_nth("cuMemFree", 1, WW_CUDA_ERROR_UNKNOWN);
	FAILS(cu.cuMemFree(address), UNKNOWN);
	OK(cu.cuMemFree(address));

	cu.fail_nth("cuDeviceGetCount", 1, WW_CUDA_ERROR_UNKNOWN);
	cu.fail_off();
	OK(cu.cuDeviceGetCount(&count));
}

static int function_calls;

static void count_function_call(void)
{
	function_calls++;
}

TEST(test_the_nth_call_calls_a_function)
{
	int count = 0;

	cu.call_at("cuDeviceGetCount", 2, count_function_call);
	OK(cu.cuDeviceGetCount(&count));
	assert_int_equal(function_calls, 0);
	count = 0;
	for (int i = 0; i < 2; i++) {
		OK(cu.cuDeviceGetCount(&count));
		assert_int_equal(function_calls, 1);
	}
	assert_int_not_equal(count, 0);
}

TEST(test_calls_are_counted)
{
	ww_CUdeviceptr address;

	uint64_t allocs = cu.call_count("cuMemAlloc");
	uint64_t all = cu.call_count("*");
	uint64_t cleanups = cu.call_count("cleanup");
	OK(cu.cuMemAlloc(&address, 100));
	OK(cu.cuMemFree(address));
	assert_int_equal(cu.call_count("cuMemAlloc"), allocs + 1);
	assert_int_equal(cu.call_count("*"), all + 1);
	assert_int_equal(cu.call_count("cleanup"), cleanups + 1);
}

TEST(test_what_is_live_is_counted)
{
	struct fakecuda_live live;
	ww_CUdeviceptr address;
	ww_CUstream stream;
	ww_CUevent event;

	OK(cu.cuMemAlloc(&address, 100));
	OK(cu.cuStreamCreate(&stream, 0));
	OK(cu.cuEventCreate(&event, 0));
	struct mapped mapped = map_new(GRANULARITY, 0);
	cu.live(&live);
	assert_int_equal(live.handles, 1);
	assert_int_equal(live.physical, 2);
	assert_int_equal(live.reservations, 1);
	assert_int_equal(live.mappings, 1);
	assert_int_equal(live.primary_retains, 1);
	assert_int_equal(live.contexts, 0);
	assert_int_equal(live.streams, 1);
	assert_int_equal(live.events, 1);
	assert_int_equal(live.allocations, 1);
	assert_int_equal(live.bytes[0], GRANULARITY + 4096);
	assert_int_equal(live.bytes[1], 0);
	unmap(&mapped);
	OK(cu.cuEventDestroy(event));
	OK(cu.cuStreamDestroy(stream));
	OK(cu.cuMemFree(address));
}

int main(int argc, char **argv)
{
	cu_open();
	if (argc > 1)
		return helper_main(argc, argv);
	return _cmocka_run_group_tests("fakecuda", tests, test_count, NULL, NULL);
}
