/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_main.c - the suite's tables
 */
#include <unistd.h>

#include "integration/channel.h"

static uint64_t has;
static struct check_suite suite;

static void look_at_subject(void)
{
	OWN(device) ww_device *device = subject_open();
	uint64_t values = WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY;

	has |= (device_info(device).capabilities & values) == values ? NEEDS_VALUES : 0;
	suite.leaks = subject_is_countable();
	has |= geteuid() == 0 ? NEEDS_ROOT : 0;
}

static const char *skip(const struct check_case *item)
{
	if (item->needs & ~has & NEEDS_ROOT)
		return "to be several users takes root";
	if (item->needs & ~has)
		return "the device's streams cannot wait for the values of other processes";
	return NULL;
}

static struct check_suite suite = {
	.name = "integration-channel",
	.skip = skip,
	.warm_up = look_at_subject,
};

int main(int argc, char **argv)
{
	return check_main(&suite, argc, argv);
}
