/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - devices by name, each open once
 *
 * If a device is open already, opening it again gives the same object. So two pointers are equal
 * exactly if they mean the same device. The list of open devices holds no references.
 *
 * The host device has no state of its own, so a child made by fork() goes on with its parent's.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/params.h"
#include "base/process.h"
#include "device/backend.h"
#include "device/uuid.h"

#define INFO_V1_BYTES sizeof(struct ww_device_info)

static const struct ww_backend *const backends[] = {&ww_host_backend, &ww_cuda_backend};

static pthread_mutex_t lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_list devices WW_PER_PROCESS = WW_LIST_INIT(devices); /* open ones, under lock */
/* Why the best device was host, when it was last asked for; under lock. */
static char no_gpu_reason[WW_ERROR_MESSAGE_BYTES] WW_PER_PROCESS;
static struct ww_device *host; /* the one of these that is the host, or the parent's; under lock */

static const struct ww_backend *find_backend(uint32_t id)
{
	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		if (backends[i]->id == id)
			return backends[i];
	}
	return NULL;
}

/* Splits "cuda:0" into its backend and "0"; the selector of "host" is NULL. */
static const struct ww_backend *parse(const char *name, const char **out_selector)
{
	size_t length = strcspn(name, ":");

	*out_selector = name[length] == ':' ? name + length + 1 : NULL;
	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		const struct ww_backend *backend = backends[i];
		bool takes_selector = backend->id != WW_BACKEND_HOST;

		if (strlen(backend->name) == length && memcmp(backend->name, name, length) == 0 &&
			takes_selector == (*out_selector != NULL))
			return backend;
	}
	return NULL;
}

ww_status ww_device_count(uint32_t backend_id, uint32_t *out_count)
{
	const struct ww_backend *backend = find_backend(backend_id);

	ww_clear(out_count, 0);
	ww_try(ww_process_enter());
	ww_require(out_count, "ww_device_count: out_count is NULL");
	if (!backend)
		return ww_fail(WW_ERR_INVALID, "there is no backend %" PRIu32, backend_id);
	return backend->count(out_count);
}

/*
 * The open device that @device describes, with a reference; NULL when there is none. Under the
 * lock.
 */
static struct ww_device *find_open(const struct ww_device *device)
{
	ww_list_for_each (link, &devices) {
		struct ww_device *other = ww_container(link, struct ww_device, link);

		if (other->backend == device->backend &&
			memcmp(other->uuid, device->uuid, sizeof(other->uuid)) == 0 &&
			ww_ref_try_get(&other->ref))
			return other;
	}
	/* The host device is the same after fork(), if the parent had it. */
	if (device->backend != &ww_host_backend || !host || !ww_ref_is_inherited(&host->ref))
		return NULL;
	return host;
}

/* @uuid: what the selector says, or NULL: it is an index, or NULL as that of the host device */
static bool is_selected(const struct ww_device *device, const char *selector, const uint8_t *uuid)
{
	if (uuid)
		return memcmp(device->uuid, uuid, sizeof(device->uuid)) == 0;
	if (!selector)
		return device->backend == &ww_host_backend;
	return strcmp(device->selector + strlen(device->backend->name) + 1, selector) == 0;
}

/* The same by its name: nothing is made, and no driver asked, to find it. */
static struct ww_device *find_open_by_name(const struct ww_backend *backend, const char *selector)
{
	const char *text = selector && strncmp(selector, "GPU-", 4) == 0 ? selector + 4 : selector;
	uint8_t uuid[WW_DEVICE_UUID_BYTES];
	bool has_uuid = text && ww_uuid_parse(text, uuid);

	ww_list_for_each (link, &devices) {
		struct ww_device *device = ww_container(link, struct ww_device, link);

		if (device->backend == backend &&
			is_selected(device, selector, has_uuid ? uuid : NULL) &&
			ww_ref_try_get(&device->ref))
			return device;
	}
	return NULL;
}

/* Under the lock. */
static ww_status open_listed(const struct ww_backend *backend, const char *selector,
	struct ww_device **out_device)
{
	struct ww_device *open = find_open_by_name(backend, selector);
	struct ww_device *device;

	if (!open) {
		ww_try(backend->open(selector, &device));
		open = find_open(device);
		if (open) {
			backend->close(device);
		} else {
			ww_list_append(&devices, &device->link);
			if (device->backend == &ww_host_backend)
				host = device;
		}
	}
	*out_device = open ? open : device;
	return WW_OK;
}

static ww_status open_device(const struct ww_backend *backend, const char *selector,
	struct ww_device **out_device)
{
	ww_status status;

	pthread_mutex_lock(&lock);
	status = open_listed(backend, selector, out_device);
	pthread_mutex_unlock(&lock);
	return status;
}

/* "": a GPU was opened. */
static void keep_reason(const char *reason)
{
	pthread_mutex_lock(&lock);
	snprintf(no_gpu_reason, sizeof(no_gpu_reason), "%s", reason);
	pthread_mutex_unlock(&lock);
}

ww_status ww_device_fail_gpu_memory(void)
{
	char reason[sizeof(no_gpu_reason)];

	pthread_mutex_lock(&lock);
	memcpy(reason, no_gpu_reason, sizeof(reason));
	pthread_mutex_unlock(&lock);
	if (reason[0])
		return ww_fail(WW_ERR_UNSUPPORTED,
			"cannot import memory of a GPU: this process sees no GPU, because %s",
			reason);
	return ww_fail(WW_ERR_UNSUPPORTED,
		"cannot import memory of a GPU into host: the CPU cannot map it; import it into a "
		"cuda device and copy");
}

ww_status ww_device_open(const char *name, ww_device **out_device)
{
	const struct ww_backend *backend;
	const char *selector;

	ww_clear(out_device, NULL);
	ww_try(ww_process_enter());
	ww_require(out_device, "ww_device_open: out_device is NULL");
	if (!name) {
		struct ww_error record;
		ww_status status;

		/*
		 * The first GPU that can share memory, else host. Why there is no GPU matters only
		 * in a child made by fork(), which cannot have what its parent had.
		 */
		ww_error_save(&record);
		status = open_device(&ww_cuda_backend, NULL, out_device);
		if (status == WW_OK || status == WW_ERR_FORKED) {
			keep_reason("");
			return status;
		}
		ww_log_debug("using host: %s", ww_error_last()->message);
		keep_reason(ww_error_last()->message);
		ww_error_restore(&record);
		return open_device(&ww_host_backend, NULL, out_device);
	}
	backend = parse(name, &selector);
	if (!backend)
		return ww_fail(WW_ERR_INVALID,
			"\"%.64s\" is not the name of a device; use \"host\", \"cuda:0\" or \"cuda:GPU-...\"",
			name);
	return open_device(backend, selector, out_device);
}

ww_device *ww_device_ref(ww_device *device)
{
	if (device)
		ww_ref_get(&device->ref);
	return device;
}

ww_device *ww_device_unref(ww_device *device)
{
	if (!device || !ww_ref_put(&device->ref))
		return NULL;
	pthread_mutex_lock(&lock);
	ww_list_remove(&device->link);
	if (device == host)
		host = NULL;
	pthread_mutex_unlock(&lock);
	device->backend->close(device);
	return NULL;
}

ww_status ww_device_info_get(ww_device *device, struct ww_device_info *info)
{
	struct ww_device_info ours = {0};

	ww_try(ww_process_enter());
	ww_require(device && info, "ww_device_info_get: device or info is NULL");
	ww_try(ww_params_check(info, INFO_V1_BYTES, "ww_device_info"));
	ours.backend = device->backend->id;
	ours.index = device->index;
	ours.capabilities = device->capabilities;
	ours.granularity = device->granularity;
	memcpy(ours.uuid, device->uuid, sizeof(ours.uuid));
	memcpy(ours.selector, device->selector, sizeof(ours.selector));
	ww_try(device->backend->info(device, &ours));
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_device_info");
}

ww_status ww_device_free_bytes(ww_device *device, uint64_t *out_bytes)
{
	ww_clear(out_bytes, 0);
	ww_try(ww_process_enter());
	ww_require(device && out_bytes, "ww_device_free_bytes: device or out_bytes is NULL");
	return device->backend->free_bytes(device, out_bytes);
}
