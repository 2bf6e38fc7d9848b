/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.c - the caller's current CUDA context is the same after every call
 *
 * The driver itself is asked after each call of the library, once for every state in which a
 * program may come: no context, the device's primary one, one of its own, one of another GPU.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "support/driver.h"
#include "support/kernels.h"

static ww_CUcontext current(void)
{
	ww_CUcontext context = NULL;

	MUST_EQUAL(0, driver_get()->cuCtxGetCurrent(&context));
	return context;
}

/* Makes the call, then looks. */
#define KEEPS(context, call)                                                \
	do {                                                                \
		call;                                                       \
		if (current() != (context))                                 \
			FAIL("another context is current after %s", #call); \
	} while (0)

/* Takes over the memory. */
static void keep_sharing(ww_CUcontext own, ww_device *device, ww_memory *memory)
{
	struct ww_memory_description description;
	ww_memory *imported;
	int sockets[2];
	int fd;

	packet_pair(SOCK_SEQPACKET, sockets);
	KEEPS(own, MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description)));
	KEEPS(own, ww_memory_unref(memory));
	KEEPS(own,
		MUST_OK(ww_memory_import_fd(device, fd, &description,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &imported)));
	KEEPS(own, MUST_OK(ww_memory_send(imported, WW_ACCESS_WRITE, sockets[0], 0, NULL)));
	KEEPS(own,
		MUST_OK(ww_memory_receive(device, sockets[1],
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), 0, NULL,
			&memory)));
	KEEPS(own, ww_memory_unref(memory));
	KEEPS(own, ww_memory_unref(imported));
	close(fd);
	close(sockets[0]);
	close(sockets[1]);
}

static void keep_with_memory(ww_CUcontext own, ww_device *device, ww_stream *stream, uint32_t kind)
{
	uint8_t buffer[64] = {0};
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	ww_memory *memory;

	KEEPS(own,
		MUST_OK(ww_memory_create(device,
			WW_PARAMS(struct ww_memory_params, .kind = kind, .bytes = 2 * MIB),
			&memory)));
	KEEPS(own, MUST_OK(ww_memory_info_get(memory, &info)));
	KEEPS(own, MUST_OK(ww_stream_fill(stream, info.pointer, 1, 4, 16)));
	KEEPS(own, MUST_OK(ww_stream_copy(stream, info.pointer, buffer, 64)));
	KEEPS(own, MUST_OK(ww_stream_copy(stream, buffer, info.pointer, 64)));
	KEEPS(own, MUST_OK(ww_stream_copy(stream, (uint8_t *)info.pointer + 64, info.pointer, 64)));
	KEEPS(own, MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL)));
	buffer[0] = 7;
	KEEPS(own, MUST_OK(ww_memory_write(memory, 1, buffer, 1, WW_FOREVER, NULL)));
	KEEPS(own, MUST_OK(ww_memory_read(memory, 1, buffer + 1, 1, WW_FOREVER, NULL)));
	MUST_EQUAL(7, buffer[1]);
	if (kind == WW_MEMORY_HOST || device_info(device).capabilities & WW_CAP_EXPORT)
		keep_sharing(own, device, memory);
	else
		KEEPS(own, ww_memory_unref(memory));
}

static void keep_with_module(ww_CUcontext own, ww_device *device, ww_stream *stream)
{
	struct ww_kernel_info info = WW_INIT(struct ww_kernel_info);
	ww_kernel *kernel;
	ww_module *module;

	KEEPS(own, MUST_OK(kernels_try_load(device, &module)));
	KEEPS(own, MUST_OK(ww_module_kernel(module, "nothing", &kernel)));
	KEEPS(own, MUST(ww_module_kernel(module, "no_such_kernel", &(ww_kernel *){NULL}) < 0));
	KEEPS(own, MUST_OK(ww_kernel_info_get(kernel, &info)));
	KEEPS(own, MUST_OK(launch(kernel, stream, 1, 1, NULL, 0)));
	KEEPS(own, ww_kernel_unref(kernel));
	KEEPS(own, ww_module_unref(module));
}

/* Every call of the library, while `own` is current. */
static void keep_all(ww_CUcontext own)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	static sem_t ran;
	ww_device *device;
	ww_stream *stream;
	ww_stream *wrapped;
	uint64_t bytes;
	uint32_t count;

	MUST_CALL(sem_init(&ran, 0, 0));
	KEEPS(own, MUST_OK(ww_device_count(WW_BACKEND_CUDA, &count)));
	KEEPS(own, MUST_OK(ww_device_open(NULL, &device)));
	KEEPS(own, ww_device_unref(device));
	KEEPS(own, MUST_OK(ww_device_open(subject_name(), &device)));
	KEEPS(own, MUST_OK(ww_device_info_get(device, &info)));
	KEEPS(own, MUST_OK(ww_device_free_bytes(device, &bytes)));
	KEEPS(own, MUST_OK(ww_stream_create(device, &stream)));
	KEEPS(own, MUST_OK(ww_stream_wrap(device, ww_stream_native(stream), &wrapped)));
	KEEPS(own, MUST_OK(ww_stream_query(stream)));
	KEEPS(own, MUST_OK(ww_stream_call(stream, gate_post, &ran)));
	KEEPS(own, MUST_OK(ww_stream_synchronize(wrapped, WW_FOREVER, NULL)));
	MUST_CALL(sem_trywait(&ran));
	keep_with_memory(own, device, stream, WW_MEMORY_VMM);
	if (info.capabilities & WW_CAP_HOST_MEMORY)
		keep_with_memory(own, device, stream, WW_MEMORY_HOST);
	if (info.capabilities & WW_CAP_MODULE)
		keep_with_module(own, device, stream);
	KEEPS(own, ww_stream_unref(wrapped));
	KEEPS(own, ww_stream_unref(stream));
	KEEPS(own, ww_device_unref(device));
}

CASE(context_none_stays_none, NEEDS_CUDA)
{
	MUST(driver_get());
	MUST_EQUAL(0, driver_get()->cuCtxSetCurrent(NULL));
	keep_all(NULL);
}

static ww_CUdevice ordinal_of(ww_device *device)
{
	ww_CUdevice ordinal;

	MUST_EQUAL(0, driver_get()->cuDeviceGet(&ordinal, (int)device_info(device).index));
	return ordinal;
}

static void keep_primary_of(ww_device *device)
{
	ww_CUdevice ordinal = ordinal_of(device);
	ww_CUcontext context;

	MUST_EQUAL(0, driver_get()->cuDevicePrimaryCtxRetain(&context, ordinal));
	MUST_EQUAL(0, driver_get()->cuCtxSetCurrent(context));
	keep_all(context);
	MUST_EQUAL(0, driver_get()->cuCtxSetCurrent(NULL));
	MUST_EQUAL(0, driver_get()->cuDevicePrimaryCtxRelease(ordinal));
}

DEVICE_CASE(context_primary_stays, NEEDS_CUDA)
{
	keep_primary_of(device);
}

CASE(context_other_stays, NEEDS_OTHER_GPU)
{
	OWN(device) ww_device *other = subject_open_other();

	keep_primary_of(other);
}

DEVICE_CASE(context_own_stays, NEEDS_CUDA)
{
	const struct driver *driver = driver_get();
	ww_CUcontext context;

	MUST_EQUAL(0, driver->cuCtxCreate(&context, WW_CU_CTX_SCHED_AUTO, ordinal_of(device)));
	MUST_EQUAL(0, driver->cuCtxSetCurrent(context));
	keep_all(context);
	MUST_EQUAL(0, driver->cuCtxDestroy(context));
	MUST_EQUAL(0, driver->cuCtxSetCurrent(NULL));
}

/* A call that fails leaves it alone too. */
DEVICE_CASE(context_failures_leave_it, WW_CAP_EXPORT | NEEDS_CUDA)
{
	const struct ww_memory_params *params = WW_PARAMS(struct ww_memory_params,
		.bytes = UINT64_C(1) << 46);
	struct ww_memory_description description;
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	ww_memory *none;
	ww_device *missing;
	OWN(fd) int fd;

	MUST_EQUAL(0, driver_get()->cuCtxSetCurrent(NULL));
	KEEPS(NULL, MUST(ww_memory_create(device, params, &none) < 0));
	KEEPS(NULL, MUST(ww_device_open("cuda:4095", &missing) < 0));
	KEEPS(NULL, MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description)));
	KEEPS(NULL,
		MUST(ww_memory_import_fd(device, STDIN_FILENO, &description,
			     WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE),
			     &none) < 0));
	KEEPS(NULL, MUST(ww_stream_copy(stream, ww_memory_pointer(memory), &fd, 4 * MIB) < 0));
}

/*
 * What a call does that needs a context, whether it makes one or finds one that another case has
 * left.
 */
static uint64_t count_uses(const struct fake *fake)
{
	return fake->call_count("cuDevicePrimaryCtxRetain") + fake->call_count("cuCtxCreate") +
		fake->call_count("cuCtxGetCurrent");
}

/*
 * Opening a device and asking what it can do cost no context: it would take 525 MiB of the GPU in
 * each process. Asking for its free memory does, which shows that the count counts.
 */
CASE(context_open_makes_none, NEEDS_CUDA)
{
	const struct fake *fake = fake_get();
	struct fakecuda_live live;
	OWN(device) ww_device *device;
	uint64_t contexts;
	uint64_t before;

	if (!fake)
		check_skip("only the fake driver counts its calls");
	fake->live(&live);
	contexts = live.contexts;
	before = count_uses(fake);
	device = subject_open();
	MUST(device_info(device).bytes_total > 0);
	MUST_EQUAL(before, count_uses(fake));
	fake->live(&live);
	MUST_EQUAL(contexts, live.contexts);
	MUST(device_free_bytes(device) <= device_info(device).bytes_total);
	MUST(count_uses(fake) > before);
}
