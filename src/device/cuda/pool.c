/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - stream-ordered pools, between processes
 *
 * A pool has a descriptor, an allocation 64 bytes that mean something to a process that has opened
 * the pool. Opening it costs 100 us and an allocation of an open one half a microsecond; so each
 * pool is exported once and opened once, and counted by the allocations of it that are shared. Here
 * and there it is known by a random id, which is only what an untrusted process wrote: the kernel
 * must confirm that two descriptors are one. An owner that exports its pool anew gives it another
 * id; then the driver says that it is open already, for it opens no pool twice. It counts how often
 * it was asked to, but not so for allocations: freeing one frees it for all (driver 580).
 *
 * What is opened is given back with cuMemFreeAsync() on a stream made for that: cuMemFree() would
 * wait for whatever any stream of the process waits for.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/random.h"
#include "device/cuda/cuda.h"

#define SETTLE_NS UINT64_C(1000000) /* a hundred times what freeing takes in an idle queue */

/* Why a pool is kept: an allocation of it that was exported, or that is open here. */
struct user {
	struct ww_list link;
	const void *address;
	uint64_t buffer_id;                  /* exported: of the allocation */
	struct ww_foreign_identity identity; /* open: what named it */
	uint32_t count;                      /* open: how often */
};

struct cuda_pool {
	struct ww_list link; /* in pools */
	struct ww_list users;
	uint8_t id[WW_FOREIGN_ID_BYTES];
	int fd;
	uint32_t opens; /* of another process: how often the driver was asked to open it; else 0 */
	uint64_t reachable; /* of another process: from which GPUs, a bit for each ordinal */
	ww_CUmemoryPool native;
	uint32_t count;
};

/*
 * For all pools and their users. Held across calls of the driver; what waits for a stream there
 * does so for SETTLE_NS at most.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ww_list pools = WW_LIST_INIT(pools);

static struct cuda_pool *pool_new(void)
{
	struct cuda_pool *pool = calloc(1, sizeof(*pool));

	if (!pool) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot share memory of a pool: out of memory");
		return NULL;
	}
	ww_list_init(&pool->link);
	ww_list_init(&pool->users);
	pool->fd = -1;
	return pool;
}

/* Under the lock. */
static void pool_put(const struct ww_cuda_driver *driver, struct cuda_pool *pool)
{
	struct ww_list *link;

	if (--pool->count > 0)
		return;
	while ((link = ww_list_take_first(&pool->users)) != NULL)
		free(ww_container(link, struct user, link));
	ww_list_remove(&pool->link);
	while (pool->opens > 0 && driver->cuMemPoolDestroy(pool->native) == WW_CUDA_SUCCESS)
		pool->opens--;
	ww_fd_close(pool->fd);
	free(pool);
}

const uint8_t *ww_cuda_pool_id(const struct cuda_pool *pool)
{
	return pool->id;
}

ww_status ww_cuda_pool_duplicate(const struct cuda_pool *pool, int *out_fd)
{
	return ww_fd_duplicate(pool->fd, out_fd);
}

static struct user *add_user(struct cuda_pool *pool, const void *address)
{
	struct user *user = calloc(1, sizeof(*user));

	if (!user) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot share memory of a pool: out of memory");
		return NULL;
	}
	user->address = address;
	user->count = 1;
	ww_list_append(&pool->users, &user->link);
	return user;
}

/* --- pools of this process, for others --- */

/* A pool ends with the last of its allocations at the earliest. */
static bool is_there(const struct ww_cuda_driver *driver, const struct cuda_pool *pool)
{
	ww_list_for_each (link, &pool->users) {
		const struct user *user = ww_container(link, struct user, link);
		uint64_t id;

		if (ww_cuda_buffer_id(driver, user->address, &id) == WW_CUDA_SUCCESS &&
			id == user->buffer_id)
			return true;
	}
	return false;
}

static struct cuda_pool *find_exported(const struct ww_cuda_driver *driver, ww_CUmemoryPool native)
{
	ww_list_for_each (link, &pools) {
		struct cuda_pool *pool = ww_container(link, struct cuda_pool, link);

		if (!pool->opens && pool->native == native && is_there(driver, pool))
			return pool;
	}
	return NULL;
}

static ww_status describe(struct cuda_device *device, struct cuda_pool *pool)
{
	ww_CUresult result = device->driver->cuMemPoolExportToShareableHandle(&pool->fd,
		pool->native, WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);

	if (result != WW_CUDA_SUCCESS) {
		pool->fd = -1;
		return ww_cuda_fail(device->driver, result, NULL, "cannot export a pool of %s",
			device->base.selector);
	}
	ww_try(ww_fd_adopt(&pool->fd));
	return ww_random_bytes(pool->id, sizeof(pool->id));
}

/* Under the lock. */
static ww_status take_exported(struct cuda_device *device, ww_CUmemoryPool native,
	const void *witness, uint64_t buffer_id, struct cuda_pool **out_pool)
{
	struct cuda_pool *pool = find_exported(device->driver, native);
	struct user *user;
	ww_status status = WW_OK;

	if (!pool) {
		pool = pool_new();
		if (!pool)
			return WW_ERR_NO_MEMORY;
		pool->native = native;
		status = describe(device, pool);
		ww_list_append(&pools, &pool->link);
	}
	pool->count++;
	user = status == WW_OK ? add_user(pool, witness) : NULL;
	if (!user) {
		pool_put(device->driver, pool);
		return status < 0 ? status : WW_ERR_NO_MEMORY;
	}
	user->buffer_id = buffer_id;
	*out_pool = pool;
	return WW_OK;
}

ww_status ww_cuda_pool_export(struct cuda_device *device, ww_CUmemoryPool handle,
	const void *witness, uint64_t buffer_id, struct cuda_pool **out_pool)
{
	ww_status status;

	pthread_mutex_lock(&lock);
	status = take_exported(device, handle, witness, buffer_id, out_pool);
	pthread_mutex_unlock(&lock);
	return status;
}

void ww_cuda_pool_forget(struct cuda_device *device, struct cuda_pool *pool, uint64_t buffer_id)
{
	pthread_mutex_lock(&lock);
	ww_list_for_each (link, &pool->users) {
		struct user *user = ww_container(link, struct user, link);

		if (user->buffer_id == buffer_id) {
			ww_list_remove(&user->link);
			free(user);
			break;
		}
	}
	pool_put(device->driver, pool);
	pthread_mutex_unlock(&lock);
}

/* --- pools of others --- */

static struct cuda_pool *find_open(const uint8_t *id, int fd)
{
	ww_list_for_each (link, &pools) {
		struct cuda_pool *pool = ww_container(link, struct cuda_pool, link);

		if (pool->opens && memcmp(pool->id, id, sizeof(pool->id)) == 0 &&
			ww_fd_is_duplicate(pool->fd, fd))
			return pool;
	}
	return NULL;
}

static ww_status open_native(struct cuda_device *device, struct cuda_pool *pool, int fd)
{
	ww_CUresult result;

	ww_try(ww_fd_duplicate(fd, &pool->fd));
	result = device->driver->cuMemPoolImportFromShareableHandle(&pool->native,
		(void *)(intptr_t)pool->fd, WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	if (result == WW_CUDA_SUCCESS) {
		pool->opens = 1;
		return WW_OK;
	}
	if (result == WW_CUDA_ERROR_INVALID_VALUE || result == WW_CUDA_ERROR_INVALID_HANDLE ||
		result == WW_CUDA_ERROR_INVALID_DEVICE || result == WW_CUDA_ERROR_NOT_SUPPORTED ||
		result == WW_CUDA_ERROR_UNKNOWN)
		return ww_cuda_fail_as(WW_ERR_DESCRIPTOR, device->driver, result, NULL,
			"descriptor %d is not a pool that %s can import", fd,
			device->base.selector);
	return ww_cuda_fail(device->driver, result, NULL, "cannot import a pool into %s",
		device->base.selector);
}

static void forget_unused(struct cuda_pool *pool)
{
	ww_fd_close(pool->fd);
	free(pool);
}

/*
 * Enters a pool that was opened; but if it was open under another id, that one is known by this id
 * from now on.
 */
static struct cuda_pool *enter(struct cuda_pool *fresh)
{
	ww_list_for_each (link, &pools) {
		struct cuda_pool *pool = ww_container(link, struct cuda_pool, link);

		if (!pool->opens || pool->native != fresh->native)
			continue;
		memcpy(pool->id, fresh->id, sizeof(pool->id));
		pool->opens++;
		forget_unused(fresh);
		return pool;
	}
	ww_list_append(&pools, &fresh->link);
	return fresh;
}

/* Under the lock: with one more count. */
static ww_status take_open(struct cuda_device *device, const uint8_t *id, int fd,
	struct cuda_pool **out_pool)
{
	struct cuda_pool *pool = find_open(id, fd);
	ww_status status;

	if (!pool) {
		pool = pool_new();
		if (!pool)
			return WW_ERR_NO_MEMORY;
		memcpy(pool->id, id, sizeof(pool->id));
		status = open_native(device, pool, fd);
		if (status < 0) {
			forget_unused(pool);
			return status;
		}
		pool = enter(pool);
	}
	pool->count++;
	*out_pool = pool;
	return WW_OK;
}

/*
 * The pool's own device has access from the start, but which one that is the driver does not tell
 * where this process does not see it.
 */
static ww_status give_access(struct cuda_device *device, struct cuda_pool *pool)
{
	const ww_CUmemAccessDesc access = {
		.location = {WW_CU_MEM_LOCATION_TYPE_DEVICE, device->ordinal},
		.flags = WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
	uint64_t bit = device->ordinal < 64 ? UINT64_C(1) << device->ordinal : 0;
	ww_CUresult result;

	if (pool->reachable & bit)
		return WW_OK;
	result = device->driver->cuMemPoolSetAccess(pool->native, &access, 1);
	if (result == WW_CUDA_ERROR_INVALID_DEVICE)
		return ww_cuda_fail_as(WW_ERR_UNSUPPORTED, device->driver, result,
			"nvidia-smi topo -p2p r shows which GPUs reach each other; copy through host memory",
			"%s cannot reach the GPU that holds this memory", device->base.selector);
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot give %s access to a pool of another process",
			device->base.selector);
	pool->reachable |= bit;
	return WW_OK;
}

/* In the order of a stream that nothing else waits in. Return: whether that went well. */
static bool free_in_order(struct cuda_device *device, ww_CUdeviceptr address)
{
	const struct ww_cuda_driver *driver = device->driver;
	ww_CUstream stream = NULL;
	ww_CUresult result = driver->cuStreamCreate(&stream, WW_CU_STREAM_NON_BLOCKING);
	uint64_t deadline_ns;

	if (result != WW_CUDA_SUCCESS)
		return false;
	result = driver->cuMemFreeAsync(address, stream);
	/*
	 * This waits until what the stream was given is done, but not for long: it may share a
	 * queue of the hardware with streams that wait for this very thread. Then the driver does
	 * it later, and the memory cannot be opened again before that.
	 */
	deadline_ns = ww_clock_now_ns() + SETTLE_NS;
	while (driver->cuStreamQuery(stream) == WW_CUDA_ERROR_NOT_READY &&
		ww_clock_now_ns() < deadline_ns)
		sched_yield();
	driver->cuStreamDestroy(stream);
	return result == WW_CUDA_SUCCESS;
}

static void free_native(struct cuda_device *device, ww_CUdeviceptr address)
{
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	struct ww_error record;

	ww_error_save(&record);
	if (ww_cuda_enter(device, &scope) < 0 || !free_in_order(device, address))
		device->driver->cuMemFree(address); /* it waits, but it is the last way */
	ww_error_restore(&record);
}

/*
 * @out_is_taken: what is open has the same handle, and is not the same: one that was freed, which
 * another is in place of
 */
static struct user *find_user(struct cuda_pool *pool, const struct ww_foreign_identity *identity,
	bool *out_is_taken)
{
	*out_is_taken = false;
	ww_list_for_each (link, &pool->users) {
		struct user *user = ww_container(link, struct user, link);

		if (ww_foreign_is_same(&user->identity, identity))
			return user;
		*out_is_taken |= ww_foreign_has_same_handle(&user->identity, identity);
	}
	return NULL;
}

/*
 * Under the lock: one more device, one more thread, or one more page, for what is open; or opens
 * it.
 */
static ww_status take_pointer(struct cuda_device *device, struct cuda_pool *pool,
	const struct ww_foreign_identity *identity, ww_CUdeviceptr *out_address)
{
	bool is_taken;
	struct user *user = find_user(pool, identity, &is_taken);
	ww_CUdeviceptr address = 0;
	ww_status status;
	ww_CUmemPoolPtrExportData data;
	ww_CUresult result;

	if (user) {
		address = (ww_CUdeviceptr)(uintptr_t)user->address;
		ww_try(give_access(device, pool));
		user->count++;
		*out_address = address;
		return WW_OK;
	}
	if (is_taken)
		return ww_fail(WW_ERR_STATE,
			"cannot open this memory: the driver still has another one of this pool open here "
			"under the same handle, of an allocation before it; release that first");
	memcpy(&data, identity->handle, sizeof(data));
	result = device->driver->cuMemPoolImportPointer(&address, pool->native, &data);
	if (result == WW_CUDA_ERROR_INVALID_VALUE || result == WW_CUDA_ERROR_INVALID_HANDLE)
		return ww_cuda_fail_as(WW_ERR_STATE, device->driver, result,
			"if memory of this pool that was freed is still open here, release it",
			"cannot open memory of another process's pool: the owner has freed it, or its "
			"place is taken");
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot open memory of another process's pool");
	status = give_access(device, pool);
	user = status == WW_OK ? add_user(pool, (void *)(uintptr_t)address) : NULL;
	if (!user) {
		free_native(device, address);
		return status < 0 ? status : WW_ERR_NO_MEMORY;
	}
	user->identity = *identity;
	*out_address = address;
	return WW_OK;
}

ww_status ww_cuda_pool_open_pointer(struct cuda_device *device,
	const struct ww_foreign_fields *fields, int fd, int page_fd, struct cuda_pool **out_pool,
	ww_CUdeviceptr *out_address)
{
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	struct cuda_pool *pool = NULL;
	struct ww_foreign_identity identity;
	ww_status status;

	ww_try(ww_foreign_identify(page_fd, fields, &identity));
	ww_try(ww_cuda_enter(device, &scope));
	pthread_mutex_lock(&lock);
	status = take_open(device, fields->pool_id, fd, &pool);
	if (status == WW_OK) {
		status = take_pointer(device, pool, &identity, out_address);
		if (status < 0)
			pool_put(device->driver, pool);
		else
			*out_pool = pool;
	}
	pthread_mutex_unlock(&lock);
	return status;
}

void ww_cuda_pool_close_pointer(struct cuda_device *device, struct cuda_pool *pool,
	ww_CUdeviceptr address)
{
	pthread_mutex_lock(&lock);
	ww_list_for_each (link, &pool->users) {
		struct user *user = ww_container(link, struct user, link);

		if (user->address != (void *)(uintptr_t)address)
			continue;
		if (--user->count == 0) {
			ww_list_remove(&user->link);
			free_native(device, address);
			free(user);
		}
		break;
	}
	pool_put(device->driver, pool);
	pthread_mutex_unlock(&lock);
}
