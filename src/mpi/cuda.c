/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.c - see cuda.h
 *
 * Whether the driver is loaded is asked for in each call while it is not. The dynamic linker counts
 * what it has loaded, and reading that count takes 10 ns; the driver is looked for when the count
 * has changed.
 */
#include "mpi/cuda.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/loader.h"
#include "device/cuda/cuda_abi.h"

#define LIBRARY      "libcuda.so.1"
#define STREAMS_MOST 64

/* Errors of calls during the capture of a stream. */
#define CAPTURE_FIRST 900
#define CAPTURE_LAST  908

#define FUNCTIONS(X)                                              \
	X(cuGetErrorName, cuGetErrorName)                         \
	X(cuGetErrorString, cuGetErrorString)                     \
	X(cuPointerGetAttributes, cuPointerGetAttributes)         \
	X(cuMemGetAddressRange, cuMemGetAddressRange_v2)          \
	X(cuMemcpyAsync, cuMemcpyAsync)                           \
	X(cuMemHostRegister, cuMemHostRegister_v2)                \
	X(cuMemHostUnregister, cuMemHostUnregister)               \
	X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)     \
	X(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState) \
	X(cuCtxPushCurrent, cuCtxPushCurrent_v2)                  \
	X(cuCtxPopCurrent, cuCtxPopCurrent_v2)                    \
	X(cuCtxGetCurrent, cuCtxGetCurrent)                       \
	X(cuCtxGetDevice, cuCtxGetDevice)                         \
	X(cuModuleLoadData, cuModuleLoadData)                     \
	X(cuModuleGetFunction, cuModuleGetFunction)               \
	X(cuLaunchKernel, cuLaunchKernel)                         \
	X(cuStreamCreate, cuStreamCreate)                         \
	X(cuStreamSynchronize, cuStreamSynchronize)               \
	X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode)

static struct {
#define FIELD(name, symbol) ww_PFN_##name name;
	FUNCTIONS(FIELD)
#undef FIELD
	ww_CUresult (*cuStreamIsCapturing)(ww_CUstream stream, int *out_status); /* may be NULL */
} driver; /* constant once is_there */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct {
	ww_CUcontext context;
	ww_CUstream stream;
} streams[STREAMS_MOST];
static int stream_count;
static ww_CUcontext primaries[STREAMS_MOST]; /* by ordinal; retained until the process ends */

static _Atomic bool is_there;
static _Atomic unsigned long long seen_loads; /* of the dynamic linker, when we looked */

static ww_CUdeviceptr address_of(const void *pointer)
{
	return (ww_CUdeviceptr)(uintptr_t)pointer;
}

/* --- the driver --- */

static bool load(void)
{
	static const struct {
		const char *symbol;
		void **function;
	} entries[] = {
#define ENTRY(name, symbol) {#symbol, (void **)&driver.name},
		FUNCTIONS(ENTRY)
#undef ENTRY
	};
	void *library = ww_loader_open(LIBRARY, RTLD_NOLOAD | RTLD_NOW);

	if (!library)
		return false;
	/* The handle stays: our functions must not be unloaded. */
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		*entries[i].function = ww_loader_symbol(library, entries[i].symbol);
		if (!*entries[i].function)
			return false;
	}
	*(void **)&driver.cuStreamIsCapturing = ww_loader_symbol(library, "cuStreamIsCapturing");
	return true;
}

static int read_loads(struct dl_phdr_info *info, size_t bytes, void *out_loads)
{
	(void)bytes;
	*(unsigned long long *)out_loads = info->dlpi_adds;
	return 1;
}

bool ww_mpi_cuda_is_there(void)
{
	unsigned long long loads = 0;

	if (atomic_load_explicit(&is_there, memory_order_acquire))
		return true;
	dl_iterate_phdr(read_loads, &loads);
	/* Another thread may have found it since, and stored that before it stored the number. */
	if (loads == atomic_load_explicit(&seen_loads, memory_order_acquire))
		return atomic_load(&is_there);
	pthread_mutex_lock(&lock);
	if (!atomic_load(&is_there) && load())
		atomic_store(&is_there, true);
	atomic_store(&seen_loads, loads);
	pthread_mutex_unlock(&lock);
	return atomic_load(&is_there);
}

void ww_mpi_cuda_describe(int error, char *out_text, size_t bytes)
{
	const char *name = NULL;
	const char *text = NULL;

	if (error >= CAPTURE_FIRST && error <= CAPTURE_LAST) {
		snprintf(out_text, bytes,
			"a stream is being captured (CUDA error %d); MPI calls cannot be captured: end the "
			"capture before the call",
			error);
		return;
	}
	if (driver.cuGetErrorName(error, &name) != WW_CUDA_SUCCESS || !name)
		name = "unknown CUresult";
	if (driver.cuGetErrorString(error, &text) != WW_CUDA_SUCCESS || !text)
		text = "no text";
	snprintf(out_text, bytes, "%s (%s)", text, name);
}

static struct ww_cuda_relaxed relax(void)
{
	return ww_cuda_relaxed_enter(driver.cuThreadExchangeStreamCaptureMode);
}

/* --- pointers --- */

static ww_CUcontext retain_primary(int ordinal)
{
	WW_AUTO_CUDA_RELAXED struct ww_cuda_relaxed relaxed = relax();
	ww_CUcontext primary = NULL;

	pthread_mutex_lock(&lock);
	if (!primaries[ordinal] &&
		driver.cuDevicePrimaryCtxRetain(&primary, ordinal) == WW_CUDA_SUCCESS)
		primaries[ordinal] = primary;
	primary = primaries[ordinal];
	pthread_mutex_unlock(&lock);
	return primary;
}

/* A context that the program has, of any GPU; none is made. Return: NULL: there is none. */
static ww_CUcontext find_any_context(void)
{
	unsigned int flags;
	int is_active = 0;

	for (int i = 0; i < STREAMS_MOST &&
		driver.cuDevicePrimaryCtxGetState(i, &flags, &is_active) == WW_CUDA_SUCCESS;
		i++) {
		if (is_active)
			return retain_primary(i);
	}
	return NULL;
}

/* The driver knows no addresses in a thread without a context; one of any GPU will do. */
static ww_CUresult ask(const void *pointer, unsigned int count, ww_CUpointer_attribute *attributes,
	void **values)
{
	ww_CUcontext current = NULL;
	ww_CUcontext other = NULL;
	ww_CUcontext popped;
	ww_CUresult result;

	if (driver.cuCtxGetCurrent(&current) == WW_CUDA_SUCCESS && !current)
		other = find_any_context();
	if (other && driver.cuCtxPushCurrent(other) != WW_CUDA_SUCCESS)
		other = NULL;
	result = driver.cuPointerGetAttributes(count, attributes, values, address_of(pointer));
	if (other)
		driver.cuCtxPopCurrent(&popped);
	return result;
}

bool ww_mpi_cuda_owns(const void *pointer)
{
	ww_CUpointer_attribute attribute = WW_CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
	unsigned int type = 0;
	void *value = &type;

	return ask(pointer, 1, &attribute, &value) == WW_CUDA_SUCCESS &&
		type == WW_CU_MEMORYTYPE_DEVICE;
}

/* The context in which memory without one is copied. */
static ww_CUcontext find_context(int ordinal)
{
	ww_CUcontext current = NULL;
	ww_CUdevice device;

	if (driver.cuCtxGetCurrent(&current) == WW_CUDA_SUCCESS && current &&
		driver.cuCtxGetDevice(&device) == WW_CUDA_SUCCESS && device == ordinal)
		return current;
	return ordinal < 0 || ordinal >= STREAMS_MOST ? current : retain_primary(ordinal);
}

/* The allocation's bounds can be asked for only while some context is current. */
static void find_bounds(ww_CUdeviceptr address, ww_CUcontext context, struct ww_mpi_memory *memory)
{
	ww_CUdeviceptr start = address;
	size_t bytes = 1;
	ww_CUcontext popped;

	if (!context || driver.cuCtxPushCurrent(context) != WW_CUDA_SUCCESS)
		return;
	if (driver.cuMemGetAddressRange(&start, &bytes, address) == WW_CUDA_SUCCESS) {
		memory->start = start;
		memory->end = start + bytes;
	}
	driver.cuCtxPopCurrent(&popped);
}

void ww_mpi_cuda_find(const void *pointer, struct ww_mpi_memory *out_memory)
{
	ww_CUpointer_attribute attributes[] = {
		WW_CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		WW_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		WW_CU_POINTER_ATTRIBUTE_CONTEXT,
	};
	unsigned int type = 0;
	ww_CUcontext context = NULL;
	void *values[] = {&type, &out_memory->ordinal, &context};

	memset(out_memory, 0, sizeof(*out_memory));
	out_memory->start = (uintptr_t)pointer;
	out_memory->end = out_memory->start + 1;
	if (ask(pointer, 3, attributes, values) != WW_CUDA_SUCCESS ||
		type != WW_CU_MEMORYTYPE_DEVICE)
		return;
	out_memory->is_device = true;
	out_memory->context = context ? context : find_context(out_memory->ordinal);
	find_bounds(address_of(pointer), out_memory->context, out_memory);
}

void ww_mpi_cuda_of(int ordinal, struct ww_mpi_memory *out_memory)
{
	memset(out_memory, 0, sizeof(*out_memory));
	out_memory->is_device = true;
	out_memory->ordinal = ordinal;
	out_memory->context = find_context(ordinal);
}

/* --- copies --- */

/*
 * The stream of a context that is current. It waits for the context's default stream, where a small
 * cudaMemcpy() to a device can have returned before its bytes are there.
 */
static int find_stream(ww_CUcontext context, ww_CUstream *out_stream)
{
	int error = WW_CUDA_SUCCESS;
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < stream_count && streams[i].context != context; i++)
		;
	if (i == stream_count) {
		/* With more contexts than places the last one is used over and over. */
		i = i < STREAMS_MOST ? i : STREAMS_MOST - 1;
		error = driver.cuStreamCreate(&streams[i].stream, WW_CU_STREAM_DEFAULT);
		streams[i].context = error ? NULL : context;
		if (!error && i == stream_count)
			stream_count++;
	}
	*out_stream = streams[i].stream;
	pthread_mutex_unlock(&lock);
	return error;
}

/* A context of this address was destroyed, its stream with it; another one has the address. */
static void forget_stream(ww_CUcontext context)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < stream_count; i++) {
		if (streams[i].context == context)
			streams[i] = streams[--stream_count];
	}
	pthread_mutex_unlock(&lock);
}

static void leave(struct ww_mpi_copies *copies)
{
	ww_CUcontext popped;

	if (copies->stream) {
		int error = driver.cuStreamSynchronize(copies->stream);

		copies->error = copies->error ? copies->error : error;
	}
	if (copies->is_pushed)
		driver.cuCtxPopCurrent(&popped);
	ww_cuda_relaxed_leave(&copies->relaxed);
	copies->stream = NULL;
	copies->is_pushed = false;
}

static int enter(struct ww_mpi_copies *copies, ww_CUcontext context)
{
	ww_CUstream stream = NULL;
	int error;
	int status = 0;

	if (copies->is_pushed && copies->context == context)
		return WW_CUDA_SUCCESS;
	leave(copies);
	error = context ? driver.cuCtxPushCurrent(context) : WW_CUDA_ERROR_INVALID_CONTEXT;
	if (error)
		return error;
	copies->is_pushed = true;
	copies->relaxed = relax();
	copies->context = context;
	/* It is an error of its own that a stream is captured which waits for the legacy one. */
	error = driver.cuStreamIsCapturing
		? driver.cuStreamIsCapturing(WW_CU_STREAM_LEGACY, &status)
		: WW_CUDA_SUCCESS;
	if (!error)
		error = find_stream(context, &stream);
	copies->stream = stream;
	return error;
}

bool ww_mpi_cuda_is_stale(int error)
{
	return error == WW_CUDA_ERROR_INVALID_HANDLE || error == WW_CUDA_ERROR_INVALID_CONTEXT ||
		error == WW_CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static void enqueue(struct ww_mpi_copies *copies)
{
	int error = copies->error;

	if (!error && copies->bytes)
		error = enter(copies, copies->memory.context);
	if (!error && copies->bytes) {
		error = driver.cuMemcpyAsync(address_of(copies->to), address_of(copies->from),
			copies->bytes, copies->stream);
		if (ww_mpi_cuda_is_stale(error)) {
			forget_stream(copies->context);
			error = find_stream(copies->context, (ww_CUstream *)&copies->stream);
			if (!error)
				error = driver.cuMemcpyAsync(address_of(copies->to),
					address_of(copies->from), copies->bytes, copies->stream);
		}
	}
	copies->error = error;
	copies->bytes = 0;
}

void ww_mpi_copies_add(struct ww_mpi_copies *copies, void *to, const void *from, size_t bytes,
	const struct ww_mpi_memory *memory)
{
	if (!memory->is_device) {
		memcpy(to, from, bytes);
		return;
	}
	if (copies->bytes && copies->to + copies->bytes == (char *)to &&
		copies->from + copies->bytes == (const char *)from &&
		copies->memory.context == memory->context) {
		copies->bytes += bytes;
		return;
	}
	enqueue(copies);
	copies->to = to;
	copies->from = from;
	copies->bytes = bytes;
	copies->memory = *memory;
}

void ww_mpi_copies_begin(struct ww_mpi_copies *copies)
{
	enqueue(copies);
}

int ww_mpi_copies_end(struct ww_mpi_copies *copies)
{
	enqueue(copies);
	leave(copies);
	return copies->error;
}

/* --- kernels --- */

int ww_mpi_cuda_load(void *context, const char *ptx, const char *name, void **out_kernel)
{
	struct ww_mpi_copies copies = {0};
	ww_CUmodule module;
	ww_CUfunction kernel = NULL;
	int error = enter(&copies, context);

	if (!error)
		error = driver.cuModuleLoadData(&module, ptx);
	if (!error)
		error = driver.cuModuleGetFunction(&kernel, module, name);
	leave(&copies);
	*out_kernel = kernel;
	return error;
}

int ww_mpi_cuda_launch(void *context, void *kernel, unsigned int blocks, unsigned int threads,
	void **arguments)
{
	struct ww_mpi_copies copies = {0};

	copies.error = enter(&copies, context);
	if (!copies.error)
		copies.error = driver.cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0,
			copies.stream, arguments, NULL);
	leave(&copies);
	return copies.error;
}

/* --- pinned memory --- */

void *ww_mpi_cuda_pin(void *at, size_t bytes, const struct ww_mpi_memory *memory)
{
	WW_AUTO_CUDA_RELAXED struct ww_cuda_relaxed relaxed = relax();
	ww_CUcontext popped;
	ww_CUresult result;

	if (!memory->context || driver.cuCtxPushCurrent(memory->context) != WW_CUDA_SUCCESS)
		return NULL;
	result = driver.cuMemHostRegister(at, bytes, WW_CU_MEMHOSTREGISTER_PORTABLE);
	driver.cuCtxPopCurrent(&popped);
	return result == WW_CUDA_SUCCESS ? memory->context : NULL;
}

/* What was pinned in a context that has ended is pinned no more. */
void ww_mpi_cuda_unpin(void *at, void *context)
{
	WW_AUTO_CUDA_RELAXED struct ww_cuda_relaxed relaxed = relax();
	ww_CUcontext popped;

	if (driver.cuCtxPushCurrent(context) != WW_CUDA_SUCCESS)
		return;
	driver.cuMemHostUnregister(at);
	driver.cuCtxPopCurrent(&popped);
}
