/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_main.c - the suite's tables
 */
#include <string.h>

#include "integration/sync.h"

struct excuse {
	const char *name; /* of the case */
	const char *reason;
};

/* Run, and known to fail: on a GPU under MPS. */
static const struct excuse expected_failures[] = {
	{"write_by_raw_stream_dies_alone",
		"the fault of one client of an MPS server ends the contexts of all"},
};

static const char *doomed(const struct check_case *item)
{
	OWN(device) ww_device *device = subject_open();
	bool is_under_mps = device_info(device).mps == WW_MPS_ON;

	for (size_t i = 0; i < CHECK_COUNT(expected_failures); i++) {
		if (is_under_mps && !strcmp(expected_failures[i].name, item->name))
			return expected_failures[i].reason;
	}
	return NULL;
}

CHECK_MAIN(needs_main_live, .name = "integration-sync", .doomed = doomed)
