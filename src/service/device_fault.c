/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_fault.c - finding out that the work of a call has made the device unusable, see
 * device_fault.h
 */
#include "service/device_fault.h"

#include <stdio.h>

#include "base/error.h"
#include "device/backend.h"

#define LOOK_NS UINT64_C(20000000) /* between two questions; a question costs about 20 us */

void ww_service_device_look(struct ww_service *service, uint64_t now_ns)
{
	const struct ww_backend *backend = service->device->backend;
	struct ww_error record;

	if ((service->working_count == 0 && !service->is_suspect) || service->is_faulty ||
		!backend->check_fault || now_ns < service->device_look_ns)
		return;
	service->device_look_ns = now_ns + LOOK_NS;
	service->is_suspect = false;
	ww_error_save(&record);
	if (backend->check_fault(service->device) == WW_ERR_DEVICE) {
		snprintf(service->fault, sizeof(service->fault), "%s", ww_error_last()->message);
		service->is_faulty = true;
	}
	ww_error_restore(&record);
}

static ww_status fail_unusable(const char *why)
{
	return ww_fail(WW_ERR_DEVICE,
		"the work of a call has made the device unusable for this process: %s; end the "
		"process",
		why);
}

ww_status ww_service_device_explain(const struct ww_service *service, ww_status status)
{
	const struct ww_backend *backend = service->device->backend;
	struct ww_error record;

	if (status != WW_ERR_DEVICE || !backend->check_fault)
		return status;
	ww_error_save(&record);
	if (backend->check_fault(service->device) == WW_ERR_DEVICE)
		return fail_unusable(record.message);
	ww_error_restore(&record);
	return status;
}

ww_status ww_service_device_check(const struct ww_service *service)
{
	return service->is_faulty ? fail_unusable(service->fault) : WW_OK;
}
