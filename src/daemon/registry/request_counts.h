/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_counts.h - how many requests came, and how many were refused for which reason
 *
 * The broker counts them for all users together, and for each user. Code 0 stands for packets that
 * are no request, status 0 among the refusals for a status that this program does not know.
 */
#ifndef WW_DAEMON_REGISTRY_REQUEST_COUNTS_H
#define WW_DAEMON_REGISTRY_REQUEST_COUNTS_H

#include <stdint.h>

#include <warpway/base.h>

#include "wire/protocol.h"

#define REQUEST_CODES    (WW_WIRE_LOSS + 1)
#define REQUEST_STATUSES (1 - WW_ERR_DEPENDENCY_FAILED)

struct request_counts {
	uint64_t came[REQUEST_CODES];
	uint64_t refused[REQUEST_CODES][REQUEST_STATUSES];
};

static inline void request_counts_came(struct request_counts *counts, uint16_t code)
{
	counts->came[code < REQUEST_CODES ? code : 0]++;
}

static inline void request_counts_refused(struct request_counts *counts, uint16_t code,
	ww_status status)
{
	uint32_t reason = status < 0 && status > -REQUEST_STATUSES ? (uint32_t)-status : 0;

	counts->refused[code < REQUEST_CODES ? code : 0][reason]++;
}

#endif
