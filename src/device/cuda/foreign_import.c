/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_import.c - memory that another process allocated, mapped here
 *
 * By a page (foreign_page.h), or by the bare 64 bytes of a legacy handle. The driver maps an
 * allocation of another process once, counts how often it was opened, and finds it by the handle's
 * bytes; so each opening is closed once.
 *
 * Bytes prove nothing: some drivers give a later allocation the handle of an earlier one, and what
 * is still open is then found in its place. So all openings are noted, and one whose bytes are
 * those of another allocation's opening is refused; which allocation it is, its page says.
 *
 * The driver fails if one thread opens a handle while another one closes it: it answered
 * CUDA_ERROR_ALREADY_MAPPED once (580.159.04). So the driver is called for one opening of the same
 * bytes at a time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "device/cuda/cuda.h"

/* A thread that closes may wait for streams, and these for the thread that would open. */
#define OPEN_LIMIT_S 5

struct cuda_legacy {
	struct ww_list link; /* in openings, under lock */
	uint8_t handle[WW_FOREIGN_HANDLE_BYTES];
	const struct ww_handle_page *page;   /* of an object; NULL: by the bare handle */
	struct ww_foreign_identity identity; /* of an object */
	ww_CUcontext context;                /* in which it was opened */
	bool is_retired;                     /* not used, but still open */
	bool is_in_driver;                   /* a thread opens or closes it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t driver_left = PTHREAD_COND_INITIALIZER; /* of lock */
static struct ww_list openings = WW_LIST_INIT(openings);

/* Whether two openings of the same bytes can be trusted to mean the same allocation. */
static bool is_same(const struct cuda_legacy *older, const struct cuda_legacy *newer)
{
	if (older->page && newer->page)
		return ww_foreign_is_same(&older->identity, &newer->identity);
	if (older->is_retired)
		return false;
	if (older->page)
		return ww_handle_page_check(older->page) == WW_OK;
	return !newer->page;
}

/* Notes an opening that is about to be made. */
static ww_status note(struct cuda_legacy *opening)
{
	struct ww_error record;
	bool is_trusted = true;

	ww_error_save(&record);
	pthread_mutex_lock(&lock);
	ww_list_for_each (link, &openings) {
		const struct cuda_legacy *other = ww_container(link, struct cuda_legacy, link);

		if (memcmp(other->handle, opening->handle, sizeof(opening->handle)) == 0 &&
			!is_same(other, opening))
			is_trusted = false;
	}
	if (is_trusted)
		ww_list_append(&openings, &opening->link);
	pthread_mutex_unlock(&lock);
	ww_error_restore(&record);
	if (!is_trusted)
		return ww_fail(WW_ERR_STATE,
			"cannot open this memory: the driver still has another one open here under the same "
			"handle, of an allocation before it or of a bare handle; release that first; it "
			"stays open as long as streams wait for timelines");
	return WW_OK;
}

/* Whether the driver is called for these bytes. Under the lock. */
static bool is_handle_in_driver(const uint8_t *handle)
{
	ww_list_for_each (link, &openings) {
		const struct cuda_legacy *other = ww_container(link, struct cuda_legacy, link);

		if (other->is_in_driver &&
			memcmp(other->handle, handle, sizeof(other->handle)) == 0)
			return true;
	}
	return false;
}

/*
 * Before the driver is called for an opening that is noted, and after.
 * @until:  CLOCK_REALTIME; NULL: for ever
 * Return: whether the driver may be called.
 */
static bool driver_enter(struct cuda_legacy *opening, const struct timespec *until)
{
	bool is_late = false;
	bool may_call;

	pthread_mutex_lock(&lock);
	while (is_handle_in_driver(opening->handle) && !is_late) {
		if (until)
			is_late = pthread_cond_timedwait(&driver_left, &lock, until) == ETIMEDOUT;
		else
			pthread_cond_wait(&driver_left, &lock);
	}
	may_call = !is_handle_in_driver(opening->handle);
	opening->is_in_driver = may_call;
	pthread_mutex_unlock(&lock);
	return may_call;
}

static void driver_leave(struct cuda_legacy *opening)
{
	pthread_mutex_lock(&lock);
	opening->is_in_driver = false;
	pthread_cond_broadcast(&driver_left);
	pthread_mutex_unlock(&lock);
}

static void forget(struct cuda_legacy *opening)
{
	pthread_mutex_lock(&lock);
	ww_list_remove(&opening->link);
	pthread_mutex_unlock(&lock);
	free(opening);
}

/* @pid: of the owner, as it says; 0: unknown */
static ww_status fail_open(struct cuda_device *device, ww_CUresult result, uint32_t pid)
{
	const struct ww_cuda_driver *driver = device->driver;

	if (result == WW_CUDA_ERROR_INVALID_HANDLE)
		return ww_cuda_fail_as(WW_ERR_PEER_LOST, driver, result, "ask for a new token",
			"cannot open the memory: its owner has ended, or freed it");
	if (result == WW_CUDA_ERROR_INVALID_CONTEXT && pid == 0)
		return ww_cuda_fail_as(WW_ERR_STATE, driver, result,
			"use a token, or different pids",
			"CUDA opens no handle of this very process, nor of one with the same pid %d (as in "
			"two containers)",
			(int)getpid());
	if (result == WW_CUDA_ERROR_INVALID_CONTEXT && pid == (uint32_t)getpid())
		return ww_cuda_fail_as(WW_ERR_UNSUPPORTED, driver, result,
			"start one with another pid, or copy into memory of kind vmm",
			"the owner, in another container, has the same pid %d as this process, and CUDA "
			"takes them for one",
			(int)getpid());
	/* INVALID_VALUE: nothing is in its place; NOT_PERMITTED: something is. */
	if ((result == WW_CUDA_ERROR_INVALID_VALUE || result == WW_CUDA_ERROR_NOT_PERMITTED) && pid)
		return ww_cuda_fail_as(WW_ERR_PEER_LOST, driver, result, "ask for a new token",
			"cannot open the memory: its owner has freed it, or its page names none");
	if (result == WW_CUDA_ERROR_INVALID_VALUE || result == WW_CUDA_ERROR_NOT_PERMITTED)
		return ww_cuda_fail_as(WW_ERR_INVALID, driver, result, NULL,
			"these 64 bytes are no handle of memory, or of memory that its owner has freed");
	return ww_cuda_fail(driver, result, NULL, "cannot open memory of another process on %s",
		device->base.selector);
}

static void close_native(struct cuda_device *device, struct cuda_legacy *opening,
	ww_CUdeviceptr address)
{
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	struct ww_error record;

	/*
	 * If its context cannot be entered, in whichever is current; what fails then goes with the
	 * context.
	 */
	ww_error_save(&record);
	(void)ww_cuda_enter_context(device, opening->context, &scope);
	ww_error_restore(&record);
	(void)driver_enter(opening, NULL);
	device->driver->cuIpcCloseMemHandle(address);
	driver_leave(opening);
}

/* Opens a handle in the context that is current, which is kept. */
static ww_status open_native(struct cuda_device *device, struct cuda_legacy *opening, uint32_t pid,
	ww_CUdeviceptr *out_address)
{
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUipcMemHandle handle;
	struct timespec until;
	ww_CUresult result;

	memcpy(&handle, opening->handle, sizeof(handle));
	ww_try(ww_cuda_enter_to_stay(device, &scope, &opening->context));
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += OPEN_LIMIT_S;
	if (!driver_enter(opening, &until))
		return ww_fail(WW_ERR_STATE,
			"cannot open this memory: for %d s another thread of this process has been closing "
			"it, which waits for all streams; let these go on, and try again",
			OPEN_LIMIT_S);
	result = device->driver->cuIpcOpenMemHandle(out_address, handle,
		WW_CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
	driver_leave(opening);
	return result == WW_CUDA_SUCCESS ? WW_OK : fail_open(device, result, pid);
}

/* @page, @fields: NULL: there is only the handle */
static ww_status open_legacy(struct cuda_device *device, const uint8_t *handle,
	const struct ww_handle_page *page, const struct ww_foreign_fields *fields,
	struct cuda_legacy **out_opening, ww_CUdeviceptr *out_address)
{
	struct cuda_legacy *opening = calloc(1, sizeof(*opening));
	ww_status status = WW_OK;

	if (!opening)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot open memory: out of memory");
	memcpy(opening->handle, handle, sizeof(opening->handle));
	ww_list_init(&opening->link);
	opening->page = page;
	if (page)
		status = ww_foreign_identify(page->fd, fields, &opening->identity);
	if (status == WW_OK)
		status = note(opening);
	if (status == WW_OK)
		status = open_native(device, opening, fields ? fields->pid : 0, out_address);
	if (status < 0)
		forget(opening);
	else
		*out_opening = opening;
	return status;
}

/* --- what came --- */

/*
 * Asks the driver how many bytes there are at least: it may have mapped the whole block that it cut
 * a small allocation from, and tell of that. In a context, whose device has access.
 */
static ww_status find_bytes(struct cuda_device *device, ww_CUdeviceptr address, uint64_t *out_bytes)
{
	ww_CUdeviceptr base = 0;
	size_t bytes = 0;
	ww_CUresult result = device->driver->cuMemGetAddressRange(&base, &bytes, address);

	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot find out how large memory of another process is");
	if (address < base || address - base >= bytes)
		return ww_fail(WW_ERR_MISMATCH,
			"refused memory of another process: opened at 0x%llx, the driver says it is %zu bytes "
			"at 0x%llx",
			address, bytes, base);
	*out_bytes = base + bytes - address;
	return WW_OK;
}

/* Return: the ordinal of a GPU; -1: this process does not see it. */
static int find_ordinal(const struct cuda_device *device, const uint8_t uuid[WW_DEVICE_UUID_BYTES])
{
	ww_CUdevice ordinal;

	if (memcmp(device->base.uuid, uuid, WW_DEVICE_UUID_BYTES) == 0)
		return device->ordinal;
	return ww_cuda_find_uuid(device->driver, uuid, &ordinal) < 0 ? -1 : ordinal;
}

/*
 * Which GPU holds the bytes the owner says. The driver calls memory that was opened by a handle
 * that of the GPU for which it was opened, and a pool of a GPU that this process does not see that
 * of one it sees (580.159.04); so only a pool's can be checked, and only if it is to be seen.
 */
static ww_status find_home(const struct cuda_device *device, struct ww_mapping *mapping,
	const struct ww_memory_source *source)
{
	int home = find_ordinal(device, source->home_uuid);
	ww_CUpointer_attribute attribute = WW_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
	int found = home;
	void *value = &found;
	ww_CUresult result = WW_CUDA_SUCCESS;

	if (source->backing == WW_BACKING_CUDA_POOL && home >= 0)
		result = device->driver->cuPointerGetAttributes(1, &attribute, &value,
			(ww_CUdeviceptr)(uintptr_t)mapping->pointer);
	if (result != WW_CUDA_SUCCESS)
		return ww_cuda_fail(device->driver, result, NULL,
			"cannot find out which GPU holds memory of another process");
	if (found != home)
		return ww_fail(WW_ERR_MISMATCH,
			"refused memory of cuda:%d: its description names another GPU", found);
	memcpy(mapping->home_uuid, source->home_uuid, WW_DEVICE_UUID_BYTES);
	mapping->route = home < 0         ? WW_ROUTE_PEER_HIDDEN
		: home == device->ordinal ? WW_ROUTE_LOCAL
					  : WW_ROUTE_PEER;
	return WW_OK;
}

/* Fills in what the driver, or the description, says of an open mapping's bytes. */
static ww_status settle(struct cuda_device *device, struct ww_mapping *mapping,
	const struct ww_memory_source *source)
{
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	uint64_t bytes = 0;

	ww_try(ww_cuda_enter(device, &scope));
	ww_try(find_bytes(device, (ww_CUdeviceptr)(uintptr_t)mapping->pointer, &bytes));
	mapping->bytes = source ? source->bytes : bytes;
	mapping->route = WW_ROUTE_LOCAL;
	if (source && source->bytes > bytes)
		return ww_fail(WW_ERR_MISMATCH,
			"refused memory of %" PRIu64 " bytes: its description says %" PRIu64, bytes,
			source->bytes);
	return source ? find_home(device, mapping, source) : WW_OK;
}

static void close_foreign(struct cuda_device *device, struct cuda_foreign *foreign,
	ww_CUdeviceptr address)
{
	if (foreign->legacy) {
		if (address)
			close_native(device, foreign->legacy, address);
		forget(foreign->legacy);
	}
	if (foreign->pool)
		ww_cuda_pool_close_pointer(device, foreign->pool, address);
	ww_handle_page_close(&foreign->page);
	free(foreign);
}

static ww_status open_page(struct cuda_device *device, struct cuda_foreign *foreign,
	const struct ww_memory_source *source, ww_CUdeviceptr *out_address)
{
	struct ww_foreign_fields fields;

	ww_try(ww_handle_page_open(&foreign->page, source->fd, &fields));
	if (fields.backing != source->backing || fields.bytes != source->bytes)
		return ww_fail(WW_ERR_MISMATCH,
			"refused a wrapped memory: its description says %" PRIu64
			" bytes, its page %" PRIu64 ", or they are of two kinds",
			source->bytes, fields.bytes);
	ww_try(ww_handle_page_check(&foreign->page));
	if (ww_foreign_is_this_process(fields.process_id))
		return ww_fail(WW_ERR_UNSUPPORTED,
			"cannot open memory of this very process for another GPU: CUDA has no handle for "
			"that; use its pointer, with cudaDeviceEnablePeerAccess()");
	if (source->backing == WW_BACKING_CUDA_LEGACY)
		return open_legacy(device, fields.handle, &foreign->page, &fields, &foreign->legacy,
			out_address);
	return ww_cuda_pool_open_pointer(device, &fields, source->pool_fd, foreign->page.fd,
		&foreign->pool, out_address);
}

/* @status: of opening it. What is open then is the mapping's, to be closed with it. */
static ww_status take(struct ww_mapping *mapping, struct cuda_foreign *foreign, ww_status status,
	ww_CUdeviceptr address, const struct ww_memory_source *source)
{
	if (status < 0) {
		close_foreign(ww_cuda_device(mapping->device), foreign, address);
		return status;
	}
	mapping->foreign = foreign;
	mapping->pointer = (void *)(uintptr_t)address;
	mapping->end_waits = foreign->legacy != NULL;
	return settle(ww_cuda_device(mapping->device), mapping, source);
}

ww_status ww_cuda_foreign_import(struct ww_mapping *mapping, const struct ww_memory_source *source,
	uint32_t access)
{
	struct cuda_device *device = ww_cuda_device(mapping->device);
	ww_CUdeviceptr address = 0;
	struct cuda_foreign *foreign;
	ww_status status;

	if (!device->driver->has_foreign)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"%s cannot open memory that others allocated: its driver lacks a function for that; "
			"install one of version 525 or newer",
			device->base.selector);
	if (source->backing == WW_BACKING_CUDA_POOL && source->pool_fd < 0)
		return ww_fail(WW_ERR_DESCRIPTOR,
			"memory of a pool came without the pool's descriptor; pass it on by a token or a name");
	foreign = calloc(1, sizeof(*foreign));
	if (!foreign)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot open memory: out of memory");
	status = open_page(device, foreign, source, &address);
	ww_try(take(mapping, foreign, status, address, source));
	mapping->fd = foreign->page.fd;
	mapping->backing = source->backing;
	mapping->kind = source->kind;
	mapping->access = access;
	return WW_OK;
}

ww_status ww_cuda_foreign_open(struct ww_mapping *mapping,
	const uint8_t handle[WW_FOREIGN_HANDLE_BYTES], uint32_t access)
{
	struct cuda_device *device = ww_cuda_device(mapping->device);
	struct cuda_foreign *foreign = calloc(1, sizeof(*foreign));
	ww_CUdeviceptr address = 0;
	ww_status status;

	if (!foreign)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot open memory: out of memory");
	status = open_legacy(device, handle, NULL, NULL, &foreign->legacy, &address);
	ww_try(take(mapping, foreign, status, address, NULL));
	mapping->backing = WW_BACKING_CUDA_LEGACY;
	mapping->kind = WW_MEMORY_LEGACY;
	mapping->access = access;
	return WW_OK;
}

void ww_cuda_foreign_retire(struct ww_mapping *mapping)
{
	const struct cuda_foreign *foreign = mapping->foreign;

	if (!foreign || !foreign->legacy)
		return;
	pthread_mutex_lock(&lock);
	foreign->legacy->is_retired = true;
	pthread_mutex_unlock(&lock);
}

void ww_cuda_foreign_close(struct ww_mapping *mapping)
{
	close_foreign(ww_cuda_device(mapping->device), mapping->foreign,
		(ww_CUdeviceptr)(uintptr_t)mapping->pointer);
}
