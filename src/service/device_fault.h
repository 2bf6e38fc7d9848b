/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_fault.h - finding out that the work of a call has made the device unusable
 *
 * After a fault of a kernel (an illegal address, say) the driver runs nothing more in the process's
 * context. No stream raises a timeline then, so the leader asks the driver from time to time while
 * streams work, and when a call has failed with WW_ERR_DEVICE. After a fault the calls whose work
 * goes on end with WW_ERR_DEVICE, and so does serving. What waits in lanes and batches stays until
 * the service or its process ends.
 */
#ifndef WW_SERVICE_DEVICE_FAULT_H
#define WW_SERVICE_DEVICE_FAULT_H

#include "service/service.h"

/* Asks the driver, if it is time to. By the leader, or when no thread serves; not locked. */
void ww_service_device_look(struct ww_service *service, uint64_t now_ns);

/*
 * Asks the driver whether a fault is the reason of a failure. Then the record says so, and gives
 * the former message as the reason. Return: @status.
 */
ww_status ww_service_device_explain(const struct ww_service *service, ww_status status);

/* Return: WW_OK; WW_ERR_DEVICE (a fault was found; the message is the driver's). */
ww_status ww_service_device_check(const struct ww_service *service);

#endif
