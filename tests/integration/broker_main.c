/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_main.c - the suite's tables
 */
#include <unistd.h>

#include "integration/broker.h"

static uint64_t has;

static struct check_suite suite;

static void look_at_subject(void)
{
	OWN(device) ww_device *device = subject_open();
	uint64_t capabilities = device_info(device).capabilities;

	has |= capabilities & WW_CAP_EXPORT ? NEEDS_EXPORT : 0;
	has |= capabilities & WW_CAP_HOST_MEMORY ? NEEDS_HOST_MEMORY : 0;
	has |= capabilities & WW_CAP_HOST_READ_ONLY ? NEEDS_HOST_READ_ONLY : 0;
	if (capabilities & WW_CAP_EVENT && capabilities & WW_CAP_STREAM_VALUE)
		has |= NEEDS_EVENT | (subject_is_cuda() ? NEEDS_EVENT_HANDLE : 0);
	has |= geteuid() == 0 ? NEEDS_ROOT : 0;
	suite.leaks = subject_is_countable();
}

static const char *skip(const struct check_case *item)
{
	uint64_t missing = item->needs & ~has;

	if (missing & NEEDS_EXPORT)
		return "the device cannot export memory";
	if (missing & NEEDS_HOST_MEMORY)
		return "the device cannot use host memory";
	if (missing & NEEDS_HOST_READ_ONLY)
		return "the device cannot map host memory read-only";
	if (missing & NEEDS_EVENT)
		return "the device has no events between processes, or streams that wait for values";
	if (missing & NEEDS_EVENT_HANDLE)
		return "the host device's events have no handle of CUDA's";
	return missing ? "only root can become another user, or make namespaces" : NULL;
}

static struct check_suite suite = {
	.name = "integration-broker",
	.skip = skip,
	.warm_up = look_at_subject,
};

int main(int argc, char **argv)
{
	return check_main(&suite, argc, argv);
}
