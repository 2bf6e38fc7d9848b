/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_main.c - the integration suite's tables
 */
#include <unistd.h>

#include "integration/memory.h"

static uint64_t has;

static struct check_suite suite;

static void look_at_subject(void)
{
	OWN(device) ww_device *device = subject_open();
	OWN(device) ww_device *other = subject_is_cuda() ? subject_open_other() : NULL;
	uint64_t capabilities = device_info(device).capabilities;

	has |= capabilities & WW_CAP_EXPORT ? NEEDS_EXPORT : 0;
	has |= capabilities & WW_CAP_HOST_MEMORY ? NEEDS_HOST_MEMORY : 0;
	has |= capabilities & WW_CAP_HOST_READ_ONLY ? NEEDS_HOST_READ_ONLY : 0;
	has |= other && devices_are_peers(device, other) ? NEEDS_PEER : 0;
	has |= geteuid() == 0 ? NEEDS_ROOT : 0;
	has |= subject_is_cuda() ? 0 : NEEDS_HOST_BACKEND;
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
	if (missing & NEEDS_PEER)
		return "needs a second GPU that reaches this one";
	if (missing & NEEDS_ROOT)
		return "only root can become another user";
	return missing ? "only for the host device" : NULL;
}

static struct check_suite suite = {
	.name = "integration",
	.skip = skip,
	.warm_up = look_at_subject,
};

int main(int argc, char **argv)
{
	return check_main(&suite, argc, argv);
}
