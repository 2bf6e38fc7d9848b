/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_main.c - the suite's tables
 */
#include <unistd.h>

#include "integration/service.h"

static uint64_t has;
static struct check_suite suite;

static void look_at_subject(void)
{
	OWN(device) ww_device *device = subject_open();
	uint64_t values = WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY;
	struct ww_device_info info = device_info(device);

	has |= (info.capabilities & values) == values ? NEEDS_VALUES : 0;
	has |= subject_is_cuda() && info.mps != WW_MPS_ON ? NEEDS_FAULTS : 0;
	has |= geteuid() == 0 ? NEEDS_ROOT : 0;
	suite.leaks = subject_is_countable();
}

static const char *skip(const struct check_case *item)
{
	uint64_t missing = item->needs & ~has;

	if (missing & NEEDS_VALUES)
		return "the device's streams cannot signal values to other processes";
	if (missing & NEEDS_FAULTS)
		return "only on a GPU without MPS, where the fault of one process harms no other";
	return missing ? "only root can become other users" : NULL;
}

static struct check_suite suite = {
	.name = "integration-service",
	.skip = skip,
	.warm_up = look_at_subject,
};

int main(int argc, char **argv)
{
	return check_main(&suite, argc, argv);
}
