/* SPDX-License-Identifier: Apache-2.0 */
/*
 * victim.h - a memory that untrusted processes lie about
 */
#ifndef WW_TESTS_CONFORMANCE_VICTIM_H
#define WW_TESTS_CONFORMANCE_VICTIM_H

#include <warpway/warpway.h>

#include "support/check.h"
#include "support/own.h"

/* A memory of the subject, with a true descriptor and description of it. */
struct victim {
	ww_device *device;
	ww_memory *memory;
	int fd;
	struct ww_memory_description description;
};

void victim_make(struct victim *victim, uint32_t kind);
void victim_end(struct victim *victim);

/* Defines a case as CASE() does, with a `victim` of the kind WW_MEMORY_VMM. */
#define VICTIM_CASE(case_name, case_needs) \
	CASE_WITH(case_name, case_needs, victim, victim_make(&victim, WW_MEMORY_VMM), victim_end)

#endif
