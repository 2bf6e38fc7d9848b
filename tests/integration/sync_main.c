/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_main.c - the suite's tables
 */
#include <string.h>
#include <unistd.h>

#include "integration/sync.h"

static uint64_t has;
static bool is_under_mps;

static struct check_suite suite;

static void look_at_subject(void)
{
	OWN(device) ww_device *device = subject_open();
	OWN(device) ww_device *other = subject_is_cuda() ? subject_open_other() : NULL;
	uint64_t capabilities = device_info(device).capabilities;
	uint64_t values = WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY;

	has |= (capabilities & values) == values ? NEEDS_VALUES : 0;
	has |= capabilities & WW_CAP_HOST_MEMORY ? NEEDS_HOST : 0;
	has |= geteuid() == 0 ? NEEDS_ROOT : 0;
	has |= subject_is_cuda() ? NEEDS_CUDA : 0;
	has |= other ? NEEDS_OTHER_GPU : 0;
	is_under_mps = device_info(device).mps == WW_MPS_ON;
	suite.leaks = subject_is_countable();
}

static const char *skip(const struct check_case *item)
{
	uint64_t missing = item->needs & ~has;

	if (missing & NEEDS_VALUES)
		return "the device's streams cannot wait for the values of other processes";
	if (missing & NEEDS_HOST)
		return "the device cannot use host memory";
	if (missing & NEEDS_OTHER_GPU)
		return "needs a second GPU";
	if (missing & NEEDS_ROOT)
		return "only root can become another user, or make namespaces";
	return missing ? "only for GPUs, whose streams share queues" : NULL;
}

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
	for (size_t i = 0; i < CHECK_COUNT(expected_failures); i++) {
		if (is_under_mps && !strcmp(expected_failures[i].name, item->name))
			return expected_failures[i].reason;
	}
	return NULL;
}

static struct check_suite suite = {
	.name = "integration-sync",
	.skip = skip,
	.doomed = doomed,
	.warm_up = look_at_subject,
};

int main(int argc, char **argv)
{
	return check_main(&suite, argc, argv);
}
