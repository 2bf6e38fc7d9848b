/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_open.h - a verb that is a client of a service
 */
#ifndef TOOLS_WARPWAY_SERVICE_OPEN_H
#define TOOLS_WARPWAY_SERVICE_OPEN_H

#include "warpway/verbs.h"

static inline void own_client(ww_client **client)
{
	ww_client_unref(*client);
}

/**
 * service_open() - become a client of the service that the first word names
 * @request:     its broker is found here
 * @flags:       WW_CLIENT_...
 * @timeout_ns:  for the name to appear; 0: not at all
 * @out_client:  the caller's
 * Return: 0; the exit code after saying what went wrong.
 */
int service_open(struct request *request, uint32_t flags, uint64_t timeout_ns,
	ww_client **out_client);

#endif
