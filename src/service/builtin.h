/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builtin.h - the functions that a service offers by itself
 */
#ifndef WW_SERVICE_BUILTIN_H
#define WW_SERVICE_BUILTIN_H

#include "service/service.h"

#define WW_BUILTIN_PREFIX "warpway."

/* Offers those that the service's params ask for. Return: as ww_service_offer(). */
ww_status ww_builtin_offer(struct ww_service *service);

#endif
