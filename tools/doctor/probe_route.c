/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_route.c - `warpway doctor-child route COUNT BANDWIDTH`: how each GPU reaches each other one
 *
 * For each two GPUs, in either order, memory of the one is mapped for the other, which reads it. If
 * the driver does not let it, the driver copies instead, by way of the CPU. BANDWIDTH is 1 if
 * copies are to be timed, also between each GPU and the host.
 *
 * Each GPU has at most three memories of PROBE_BYTES, or of TIMED_BYTES.
 */
#include "doctor/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "doctor/doctor.h"

#define CHECK       "route"
#define TIMED_BYTES (UINT64_C(16) << 20)
#define TIMED_NS    (UINT64_C(50) * 1000000)
#define BATCH       8
#define NS_PER_S    1e9

struct gpu {
	char name[16];
	struct cuda cuda;
	struct vmm own;  /* where others copy from */
	struct vmm room; /* where it copies to */
	bool is_open;
	bool is_usable; /* and has its memories */
};

struct routes {
	struct gpu *gpus;
	size_t count;
	uint64_t bytes; /* of each memory */
	bool is_timed;
	struct results results;
	char said[RESULT_FOUND_BYTES];
};

/* Makes a GPU's context the current one. */
static int use(const struct gpu *gpu)
{
	ww_CUcontext popped;

	gpu->cuda.cuCtxPopCurrent(&popped);
	return CUDA_CALL(&gpu->cuda, cuCtxPushCurrent, gpu->cuda.context);
}

static int open_gpu(struct routes *routes, size_t index)
{
	struct gpu *gpu = &routes->gpus[index];
	struct cuda *cuda = &gpu->cuda;
	const int write = WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

	cuda->may_lack = true;
	if (cuda_open(cuda, (uint32_t)index))
		return -1;
	gpu->is_open = true;
	if (vmm_create(cuda, cuda->ordinal, routes->bytes, 0, &gpu->own) ||
		vmm_map(cuda, &gpu->own, cuda->ordinal, write) ||
		vmm_create(cuda, cuda->ordinal, routes->bytes, 0, &gpu->room) ||
		vmm_map(cuda, &gpu->room, cuda->ordinal, write))
		return -1;
	return cuda_write(cuda, gpu->own.address, PROBE_ELEMENTS, probe_question);
}

static void close_gpu(struct gpu *gpu)
{
	if (!gpu->is_open)
		return;
	use(gpu);
	vmm_fini(&gpu->cuda, &gpu->own);
	vmm_fini(&gpu->cuda, &gpu->room);
	/* The context that it pops is its own, whichever is current. */
	cuda_close(&gpu->cuda);
}

static int copy_once(const struct cuda *cuda, ww_CUdeviceptr to, ww_CUdeviceptr from,
	uint64_t bytes)
{
	return CUDA_CALL(cuda, cuMemcpyAsync, to, from, bytes, cuda->stream) ||
			CUDA_CALL(cuda, cuStreamSynchronize, cuda->stream)
		? -1
		: 0;
}

/* Copies for a while. Return: 0, with bytes per second; -1 after saying what went wrong. */
static int time_copies(const struct cuda *cuda, ww_CUdeviceptr to, ww_CUdeviceptr from,
	uint64_t bytes, double *out_rate)
{
	uint64_t begin_ns;
	uint64_t done = 0;

	if (copy_once(cuda, to, from, bytes))
		return -1;
	begin_ns = link_now_ns();
	do {
		for (int i = 0; i < BATCH; i++) {
			if (CUDA_CALL(cuda, cuMemcpyAsync, to, from, bytes, cuda->stream))
				return -1;
		}
		if (CUDA_CALL(cuda, cuStreamSynchronize, cuda->stream))
			return -1;
		done += BATCH * bytes;
	} while (link_now_ns() - begin_ns < TIMED_NS);
	*out_rate = (double)done * NS_PER_S / (double)(link_now_ns() - begin_ns);
	return 0;
}

static void print_route(const char *from, const char *to, const char *route, double rate)
{
	json_t *line = json_pack("{s:s, s:s, s:s, s:f}", "from", from, "to", to, "route", route,
		"bytes_per_s", rate);

	json_dumpf(line, stdout, JSON_COMPACT);
	fputc('\n', stdout);
	fflush(stdout);
	json_decref(line);
}

/* The memory of @far, mapped for @near: its address there is @out_address. */
static int try_peer(const struct gpu *near, const struct gpu *far, struct vmm *window,
	ww_CUdeviceptr *out_address)
{
	*window = (struct vmm){.handle = far->own.handle, .bytes = far->own.bytes};
	if (vmm_map(&near->cuda, window, near->cuda.ordinal, WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
		return -1;
	*out_address = window->address;
	return 0;
}

/* @from: an address that the near GPU's context can copy from. */
static int verify_copy(const struct routes *routes, struct gpu *near, ww_CUdeviceptr from,
	double *out_rate)
{
	if (copy_once(&near->cuda, near->room.address, from, routes->bytes) ||
		cuda_verify(&near->cuda, near->room.address, PROBE_ELEMENTS, probe_question))
		return -1;
	return routes->is_timed
		? time_copies(&near->cuda, near->room.address, from, routes->bytes, out_rate)
		: 0;
}

/*
 * Of memory of cuMemAlloc(): the driver copies it by way of the CPU where it must, which memory of
 * cuMemCreate() that is mapped for one GPU does not promise.
 */
static int try_copy(const struct routes *routes, struct gpu *near, struct gpu *far,
	double *out_rate)
{
	ww_CUdeviceptr address = 0;
	int result = -1;

	if (use(far) || CUDA_CALL(&far->cuda, cuMemAlloc, &address, routes->bytes))
		return -1;
	if (!cuda_write(&far->cuda, address, PROBE_ELEMENTS, probe_question) && !use(near))
		result = verify_copy(routes, near, address, out_rate);
	use(far);
	far->cuda.cuMemFree(address);
	return result;
}

static void try_pair(struct routes *routes, struct gpu *near, struct gpu *far)
{
	struct vmm window;
	ww_CUdeviceptr address = 0;
	char device[RESULT_DEVICE_BYTES];
	double rate = 0;
	bool is_peer;

	snprintf(device, sizeof(device), "%s>%s", near->name, far->name);
	routes->results.device = device;
	routes->said[0] = 0;
	result_begin(&routes->results, device);
	is_peer = !use(near) && !try_peer(near, far, &window, &address) &&
		!verify_copy(routes, near, address, &rate);
	vmm_fini(&near->cuda, &window);
	if (is_peer) {
		print_route(near->name, far->name, "peer", rate);
		result_add(&routes->results, CHECK, STATE_WORKS, NULL,
			"peer access: memory is read and written in place");
		return;
	}
	if (try_copy(routes, near, far, &rate) == 0) {
		print_route(near->name, far->name, "copy", rate);
		result_add(&routes->results, CHECK, STATE_LIMITED, "copy",
			"copied by the driver, no peer access: %s", routes->said);
		return;
	}
	print_route(near->name, far->name, "none", 0);
	result_add(&routes->results, CHECK, STATE_FAILS, NULL, "%s", routes->said);
}

/* Between a GPU and registered memory of the CPU, each way. */
static void time_host(struct routes *routes, struct gpu *gpu)
{
	double rates[2] = {0, 0};
	ww_CUdeviceptr address = 0;
	void *at = mmap(NULL, routes->bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (at == MAP_FAILED)
		return;
	if (!use(gpu) &&
		!CUDA_CALL(&gpu->cuda, cuMemHostRegister, at, routes->bytes,
			WW_CU_MEMHOSTREGISTER_DEVICEMAP)) {
		if (!CUDA_CALL(&gpu->cuda, cuMemHostGetDevicePointer, &address, at, 0) &&
			!time_copies(&gpu->cuda, gpu->room.address, address, routes->bytes,
				&rates[0]) &&
			!time_copies(&gpu->cuda, address, gpu->room.address, routes->bytes,
				&rates[1])) {
			print_route(gpu->name, "host", "host", rates[0]);
			print_route("host", gpu->name, "host", rates[1]);
		}
		gpu->cuda.cuMemHostUnregister(at);
	}
	munmap(at, routes->bytes);
}

static void open_gpus(struct routes *routes)
{
	for (size_t i = 0; i < routes->count; i++) {
		routes->results.device = routes->gpus[i].name;
		routes->said[0] = 0;
		result_begin(&routes->results, routes->gpus[i].name);
		routes->gpus[i].is_usable = open_gpu(routes, i) == 0;
		if (!routes->gpus[i].is_usable)
			result_add(&routes->results, CHECK, STATE_SKIPPED, NULL,
				"it cannot be used: %s", routes->said);
	}
}

static void run(struct routes *routes)
{
	for (size_t near = 0; near < routes->count; near++) {
		if (!routes->gpus[near].is_usable)
			continue;
		for (size_t far = 0; far < routes->count; far++) {
			if (near != far && routes->gpus[far].is_usable)
				try_pair(routes, &routes->gpus[near], &routes->gpus[far]);
		}
		if (routes->is_timed)
			time_host(routes, &routes->gpus[near]);
	}
}

int child_route(int argc, char *argv[])
{
	struct gpu gpus[DOCTOR_DEVICES_MAX] = {0};
	struct routes routes = {.gpus = gpus, .results = {.stream = stdout}};
	uint64_t count;

	if (argc != 3 || !number_parse(argv[1], 1, DOCTOR_DEVICES_MAX, &count))
		return EXIT_CANNOT;
	routes.count = count;
	routes.is_timed = !strcmp(argv[2], "1");
	routes.bytes = routes.is_timed ? TIMED_BYTES : PROBE_BYTES;
	report_capture(routes.said, sizeof(routes.said));
	for (unsigned int i = 0; i < DOCTOR_DEVICES_MAX; i++)
		snprintf(gpus[i].name, sizeof(gpus[i].name), "cuda:%u", i);
	open_gpus(&routes);
	run(&routes);
	for (size_t i = 0; i < count; i++)
		close_gpu(&gpus[i]);
	results_fini(&routes.results);
	return EXIT_DONE;
}
