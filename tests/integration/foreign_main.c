/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_main.c - the suite's tables
 */
#include <unistd.h>

#include "integration/foreign.h"
#include "support/driver.h"

static uint64_t has;

static struct check_suite suite;

static void look_at_subject(void)
{
	OWN(device) ww_device *device = subject_open();
	OWN(device) ww_device *other = subject_is_cuda() ? subject_open_other() : NULL;

	has |= device_info(device).capabilities & WW_CAP_FOREIGN ? NEEDS_FOREIGN : 0;
	has |= other && devices_are_peers(device, other) ? NEEDS_PEER : 0;
	has |= geteuid() == 0 ? NEEDS_ROOT : 0;
	has |= fake_get() ? NEEDS_FAKE : 0;
	/* A real driver opens descriptors of its own whenever it likes. */
	suite.leaks = fake_get();
}

static const char *skip(const struct check_case *item)
{
	uint64_t missing = item->needs & ~has;

	if (missing & NEEDS_FOREIGN)
		return "the device shares no memory that others allocated";
	if (missing & NEEDS_PEER)
		return "needs a second GPU that reaches this one";
	if (missing & NEEDS_FAKE)
		return "only the fake driver fails when it is told to";
	return missing ? "only root can make namespaces" : NULL;
}

static struct check_suite suite = {
	.name = "integration-foreign",
	.skip = skip,
	.warm_up = look_at_subject,
};

int main(int argc, char **argv)
{
	return check_main(&suite, argc, argv);
}
