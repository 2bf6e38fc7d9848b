/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_main.c - the suite's tables
 */
#include <unistd.h>

#include "integration/pool.h"
#include "support/driver.h"

static uint64_t has;

static struct check_suite suite;

static void look_at_subject(void)
{
	OWN(device) ww_device *device = subject_open();
	uint64_t capabilities = device_info(device).capabilities;

	has |= capabilities & WW_CAP_STREAM_VALUE ? NEEDS_VALUES : 0;
	has |= geteuid() == 0 ? NEEDS_ROOT : 0;
	has |= subject_is_cuda() ? NEEDS_CUDA : NEEDS_HOST;
	/* A real driver opens descriptors of its own whenever it likes. */
	suite.leaks = !subject_is_cuda() || fake_get();
}

static const char *skip(const struct check_case *item)
{
	uint64_t missing = item->needs & ~has;

	if (missing & NEEDS_VALUES)
		return "the device's streams cannot store values";
	if (missing & NEEDS_ROOT)
		return "only root can be several users";
	if (missing & NEEDS_HOST)
		return "a driver may make system calls whenever it likes";
	return missing ? "needs a GPU beside the host device" : NULL;
}

static struct check_suite suite = {
	.name = "integration-pool",
	.skip = skip,
	.warm_up = look_at_subject,
};

int main(int argc, char **argv)
{
	return check_main(&suite, argc, argv);
}
