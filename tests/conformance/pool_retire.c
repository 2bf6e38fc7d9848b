/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_retire.c - slices that are released when the device has done its work
 */
#include "conformance/pool.h"
#include "support/driver.h"

#define CHUNK (2 * MIB)

static bool is_cuda(ww_device *device)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);

	MUST_OK(ww_device_info_get(device, &info));
	return info.backend == WW_BACKEND_CUDA;
}

/* The stream need not be known. On host a stream keeps what it uses, so nothing is waited for. */
DEVICE_CASE(pool_retired_slice_waits_for_the_device, WW_CAP_EXPORT)
{
	static struct gate gate;
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(pool) ww_pool *pool = pool_make(device, 0, CHUNK, 0);
	OWN(memory) ww_memory *slice = slice_make(pool, CHUNK);

	gate_close(&gate, stream);
	gate_reached(&gate);
	MUST(!ww_memory_retire(slice));
	MUST_EQUAL(is_cuda(device), ww_memory_retired());
	MUST_EQUAL(is_cuda(device), pool_info(pool).slice_count);
	if (is_cuda(device))
		MUST_REFUSE(WW_ERR_LIMIT, "in use", ww_pool_alloc(pool, 1, 0, 0, NULL, &slice));
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_OK(ww_pool_alloc(pool, CHUNK, 0, WW_FOREVER, NULL, &slice));
	ww_memory_retire(slice);
	ww_memory_retire(NULL);
	MUST_EQUAL(0, ww_memory_retired());
	MUST_OK(ww_pool_alloc(pool, CHUNK, 0, WW_FOREVER, NULL, &slice));
}

DEVICE_CASE(pool_allocation_waits_for_retired_slice, WW_CAP_EXPORT)
{
	static struct gate gate;
	ww_stream *streams[2] = {stream_make(device), stream_make(device)};
	ww_pool *pool = pool_make(device, 0, CHUNK, 0);
	ww_memory *slice = slice_make(pool, CHUNK);

	gate_close(&gate, streams[0]);
	gate_reached(&gate);
	ww_memory_retire(slice);
	if (is_cuda(device))
		MUST_STATUS(WW_TIMED_OUT, ww_pool_alloc(pool, 1, 0, 3000000, NULL, &slice));
	gate_open(&gate);
	MUST_OK(ww_pool_alloc(pool, 1, 0, WW_FOREVER, NULL, &slice));
	ww_memory_unref(slice);
	ww_pool_unref(pool);
	ww_stream_unref(streams[0]);
	ww_stream_unref(streams[1]);
}
