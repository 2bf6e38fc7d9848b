/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_main.c - the suite's tables
 */
#include <unistd.h>

#include "integration/work_queue.h"

static uint64_t has;
static struct check_suite suite;

static void look_at_subject(void)
{
	OWN(device) ww_device *device = subject_open();
	uint64_t values = WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY;

	has |= (device_info(device).capabilities & values) == values ? NEEDS_VALUES : 0;
	has |= geteuid() == 0 ? NEEDS_ROOT : 0;
	suite.leaks = subject_is_countable();
}

static const char *skip(const struct check_case *item)
{
	if (item->needs & ~has & NEEDS_VALUES)
		return "the device's streams cannot wait for the values of other processes";
	if (item->needs & ~has)
		return "only root can start helpers of other users";
	return NULL;
}

static struct check_suite suite = {
	.name = "integration-work-queue",
	.skip = skip,
	.warm_up = look_at_subject,
};

int main(int argc, char **argv)
{
	return check_main(&suite, argc, argv);
}
