/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needs.c - looks at the subject once, and compares the needs of cases with that
 */
#include "support/needs.h"

#include <string.h>
#include <unistd.h>

#include "device/deferred_release.h"
#include "support/child.h"
#include "support/driver.h"
#include "support/subject.h"

static uint64_t has; /* capability and NEEDS_ bits */
static struct check_suite own;
static void (*warm_up)(void);
static struct fakecuda_live live_before;

static void look(void)
{
	OWN(device) ww_device *device = subject_open();
	OWN(device) ww_device *other = subject_is_cuda() ? subject_open_other() : NULL;
	struct ww_device_info info = device_info(device);

	has = info.capabilities;
	has |= info.backend == WW_BACKEND_CUDA ? NEEDS_CUDA : NEEDS_HOST_BACKEND;
	has |= info.capabilities & WW_CAP_STREAM_VALUE ? 0 : NEEDS_NO_STREAM_VALUE;
	has |= info.mps == WW_MPS_ON ? 0 : NEEDS_NO_MPS;
	has |= geteuid() == 0 ? NEEDS_ROOT : 0;
	has |= fake_get() ? NEEDS_FAKE : 0;
	if (other)
		has |= NEEDS_OTHER_GPU |
			(devices_are_peers(device, other) ? NEEDS_PEER : NEEDS_NO_PEER);
#ifndef WW_MISUSE_ABORTS
	has |= NEEDS_MISUSE_STATUS;
#endif
	own.leaks = own.leaks && subject_is_countable();
	if (warm_up)
		warm_up();
}

static void count_before(void)
{
	if (fake_get())
		fake_get()->live(&live_before);
}

static void count_after(void)
{
	struct fakecuda_live live;

	if (!fake_get())
		return;
	/* What the library releases later may have to wait for streams. */
	(void)COMES_TRUE((ww_deferred_reclaim(), fake_get()->live(&live),
		memcmp(&live_before, &live, sizeof(live)) == 0));
	MUST_MATCH(&live_before, &live, sizeof(live));
}

const char *needs_missing(const struct check_case *item)
{
	static const struct {
		uint64_t need;
		const char *reason;
	} reasons[] = {
		{NEEDS_CUDA, "only for GPUs"},
		{NEEDS_HOST_BACKEND, "only for the host device"},
		{NEEDS_OTHER_GPU, "needs a second GPU"},
		{NEEDS_PEER, "needs a second GPU that reaches this one"},
		{NEEDS_NO_PEER, "needs a second GPU that cannot reach this one"},
		{NEEDS_NO_STREAM_VALUE, "the device's streams can wait for values"},
		{NEEDS_MISUSE_STATUS, "misuse aborts in this build"},
		{NEEDS_ROOT, "only root can become another user, or make namespaces"},
		{NEEDS_NO_MPS, "with MPS the fault of one process harms others"},
		{NEEDS_FAKE, "only the fake driver fails when it is told to"},
		{WW_CAP_EXPORT, "the device cannot export memory"},
		{WW_CAP_HOST_MEMORY, "the device cannot use host memory"},
		{WW_CAP_HOST_READ_ONLY, "the device cannot map host memory read-only"},
		{WW_CAP_CPU_ACCESS, "the CPU cannot reach the device's memory"},
		{WW_CAP_STREAM_WRAP, "the device has no streams of its own to wrap"},
		{WW_CAP_STREAM_VALUE, "the device's streams cannot wait for values"},
		{WW_CAP_EVENT, "the device has no events between processes"},
		{WW_CAP_FOREIGN, "the device shares no memory that others allocated"},
		{WW_CAP_MODULE, "the device loads no modules"},
		{WW_CAP_GRAPH, "the device has no graphs in which nodes signal and wait"},
	};

	for (size_t i = 0; i < CHECK_COUNT(reasons); i++)
		if ((item->needs | own.needs) & ~has & reasons[i].need)
			return reasons[i].reason;
	return NULL;
}

int needs_main_live(const struct check_suite *suite, int argc, char **argv)
{
	struct check_suite counting = *suite;

	counting.leaks = true;
	counting.before = count_before;
	counting.after = count_after;
	return needs_main(&counting, argc, argv);
}

int needs_main(const struct check_suite *suite, int argc, char **argv)
{
	own = *suite;
	own.skip = suite->skip ? suite->skip : needs_missing;
	own.no_device = NO_DEVICE;
	warm_up = suite->warm_up;
	own.warm_up = look;
	return check_main(&own, argc, argv);
}
