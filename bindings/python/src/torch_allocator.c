/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_allocator.c - the functions by which torch allocates from pools
 *
 * torch opens the file of this module and looks the functions up by their names; warpway/torch.py
 * tells it to. It calls them from any thread, with the GIL or without, and also after Python has
 * ended. So nothing here touches Python, but for torch_pool_set().
 *
 *   alloc:  a slice of the device's pool. It is noted by its address, since that is all that torch
 *           gives back
 *   record: the tensor is used by one more stream than the one that it was allocated on
 *   free:   the slice is released by each of these streams, so it is allocated again when the work
 *           that was enqueued on them has run. No thread waits for that
 *
 * A slice that cannot be released in the order of a stream is released after a wait for that
 * stream. If that fails too, the stream never tells that its work has run: the slice is kept.
 *
 * A child of fork() begins without pools: it cannot use what its parent allocated.
 */
#include "core.h"

#include <pthread.h>
#include <stdlib.h>

#define DEVICES_MAX 64
#define ALIGNMENT   512 /* bytes: what torch's kernels expect of an allocation */
#define BUCKETS     (1u << 14)
#define WAIT_NS     UINT64_C(1000000000) /* for the streams that still use released slices */

/* One more stream that uses an allocation. */
struct recorded_stream {
	struct recorded_stream *next;
	void *native;
};

struct allocation {
	struct allocation *next; /* in its bucket */
	void *pointer;
	ww_memory *slice; /* a reference */
	struct recorded_stream *streams;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held across no call of the library */
static ww_pool *pools[DEVICES_MAX];                      /* a reference of each, for ever */
static struct allocation *buckets[BUCKETS];
static char failure[sizeof(((struct ww_error *)0)->message)]; /* of the last allocation */

/* What torch calls. */
__attribute__((visibility("default"))) void *warpway_torch_alloc(ssize_t bytes, int device,
	void *stream);
__attribute__((visibility("default"))) void warpway_torch_free(void *pointer, ssize_t bytes,
	int device, void *stream);
__attribute__((visibility("default"))) void warpway_torch_record_stream(void *pointer,
	void *stream);

/* --- which allocations there are --- */

/* Addresses are multiples of ALIGNMENT. Under the lock. */
static struct allocation **bucket_of(const void *pointer)
{
	return &buckets[((uintptr_t)pointer / ALIGNMENT * UINT64_C(0x9e3779b97f4a7c15)) >> 50];
}

/* Where the allocation is linked; where the list ends if there is none. Under the lock. */
static struct allocation **allocation_find(const void *pointer)
{
	struct allocation **at = bucket_of(pointer);

	while (*at && (*at)->pointer != pointer)
		at = &(*at)->next;
	return at;
}

static struct allocation *allocation_new(ww_memory *slice)
{
	struct allocation *allocation = calloc(1, sizeof(*allocation));
	struct allocation **bucket;

	if (!allocation)
		return NULL;
	allocation->slice = slice;
	allocation->pointer = ww_memory_pointer(slice);
	pthread_mutex_lock(&lock);
	bucket = bucket_of(allocation->pointer);
	allocation->next = *bucket;
	*bucket = allocation;
	pthread_mutex_unlock(&lock);
	return allocation;
}

/* Return: the caller's; NULL: there is none at this address. */
static struct allocation *allocation_take(const void *pointer)
{
	struct allocation **at, *found;

	pthread_mutex_lock(&lock);
	at = allocation_find(pointer);
	found = *at;
	if (found)
		*at = found->next;
	pthread_mutex_unlock(&lock);
	return found;
}

/* --- allocating --- */

static void failure_note(const char *message)
{
	pthread_mutex_lock(&lock);
	snprintf(failure, sizeof(failure), "%s", message);
	pthread_mutex_unlock(&lock);
}

/* A reference. NULL: the device has none. */
static ww_pool *pool_of(int device)
{
	ww_pool *pool = NULL;

	pthread_mutex_lock(&lock);
	if (device >= 0 && device < DEVICES_MAX && pools[device])
		pool = ww_pool_ref(pools[device]);
	pthread_mutex_unlock(&lock);
	return pool;
}

/* Whether slices that were released wait for streams or other processes. */
static bool pool_has_waiting(ww_pool *pool)
{
	struct ww_pool_info info = WW_INIT(struct ww_pool_info);

	return ww_pool_info_get(pool, &info) == WW_OK && info.waiting_count > 0;
}

static ww_memory *pool_cut(ww_pool *pool, uint64_t bytes)
{
	ww_memory *slice = NULL;
	ww_status status = ww_pool_alloc(pool, bytes, ALIGNMENT, 0, NULL, &slice);

	if (status != WW_OK)
		failure_note(ww_error_last()->message);
	if (status != WW_OK && pool_has_waiting(pool))
		(void)ww_pool_alloc(pool, bytes, ALIGNMENT, WAIT_NS, NULL, &slice);
	return slice;
}

void *warpway_torch_alloc(ssize_t bytes, int device, void *stream)
{
	ww_pool *pool = bytes > 0 ? pool_of(device) : NULL;
	struct allocation *made = NULL;
	ww_memory *slice;

	(void)stream; /* a slice is free for every stream */
	if (!pool) {
		if (bytes > 0)
			failure_note(
				"this device has no pool of warpway.torch: CUDA was started, or the "
				"process forked, after warpway.torch.allocator() was called");
		return NULL;
	}
	slice = pool_cut(pool, (uint64_t)bytes);
	if (slice)
		made = allocation_new(slice);
	if (slice && !made) {
		failure_note("out of memory for the note of an allocation");
		ww_memory_unref(slice);
	}
	ww_pool_unref(pool);
	return made ? made->pointer : NULL;
}

/* --- releasing --- */

/* Takes over a reference. */
static void slice_release(ww_memory *slice, void *native)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	ww_stream *stream;

	if (ww_memory_info_get(slice, &info) != WW_OK ||
		ww_stream_wrap(info.device, native, &stream) != WW_OK)
		return;
	if (ww_pool_release(slice, stream) != WW_OK &&
		ww_stream_synchronize(stream, WW_FOREVER, NULL) == WW_OK)
		ww_memory_unref(slice);
	ww_stream_unref(stream);
}

void warpway_torch_free(void *pointer, ssize_t bytes, int device, void *stream)
{
	struct allocation *allocation = allocation_take(pointer);
	struct recorded_stream *recorded;

	(void)bytes;
	(void)device;
	if (!allocation)
		return;
	while ((recorded = allocation->streams)) {
		slice_release(ww_memory_ref(allocation->slice), recorded->native);
		allocation->streams = recorded->next;
		free(recorded);
	}
	slice_release(allocation->slice, stream);
	free(allocation);
}

/* Under the lock. Return: false: out of memory. */
static bool allocation_record(struct allocation *allocation, void *native)
{
	struct recorded_stream *recorded = allocation->streams;

	while (recorded && recorded->native != native)
		recorded = recorded->next;
	if (recorded)
		return true;
	recorded = malloc(sizeof(*recorded));
	if (!recorded)
		return false;
	*recorded = (struct recorded_stream){allocation->streams, native};
	allocation->streams = recorded;
	return true;
}

/* Without memory for a note the allocation gets a reference that is never released. */
void warpway_torch_record_stream(void *pointer, void *stream)
{
	struct allocation *allocation;

	pthread_mutex_lock(&lock);
	allocation = *allocation_find(pointer);
	if (allocation && !allocation_record(allocation, stream))
		ww_memory_ref(allocation->slice);
	pthread_mutex_unlock(&lock);
}

/* --- for Python --- */

/* The notes are the parent's, and the lock may be held by a thread that the child has not. */
static void forget_all(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(pools, 0, sizeof(pools));
	memset(buckets, 0, sizeof(buckets));
}

static bool pool_enter(ww_pool *pool, int device)
{
	static bool is_watched; /* for forks */
	bool is_free;

	pthread_mutex_lock(&lock);
	is_free = !pools[device] || pools[device] == pool;
	if (!pools[device])
		pools[device] = ww_pool_ref(pool);
	if (!is_watched)
		is_watched = pthread_atfork(NULL, NULL, forget_all) == 0;
	pthread_mutex_unlock(&lock);
	return is_free;
}

PyObject *torch_pool_set(PyObject *module, PyObject *arguments)
{
	struct core *core = core_of_module(module);
	bool is_entered;
	PyObject *value;
	ww_pool *pool;
	int device;

	if (!core ||
		!PyArg_ParseTuple(arguments, "iO!:set_torch_pool", &device, core->types[CORE_POOL],
			&value))
		return NULL;
	if (device < 0 || device >= DEVICES_MAX)
		return PyErr_Format(PyExc_ValueError, "the index of a device is 0 to %d, not %d",
			DEVICES_MAX - 1, device);
	pool = handle_borrow(value, &pool_class);
	if (!pool)
		return NULL;
	is_entered = pool_enter(pool, device);
	handle_return(&pool_class, pool);
	if (!is_entered)
		return error_raise_text(core, WW_ERR_STATE, "device %d has another pool already",
			device);
	Py_RETURN_NONE;
}

PyObject *torch_failure(PyObject *module, PyObject *unused)
{
	char message[sizeof(failure)];

	(void)module;
	(void)unused;
	pthread_mutex_lock(&lock);
	memcpy(message, failure, sizeof(message));
	pthread_mutex_unlock(&lock);
	if (!message[0])
		Py_RETURN_NONE;
	return PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
}
