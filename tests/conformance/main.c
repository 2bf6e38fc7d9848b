/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the conformance suite's table, and who is excused from what
 *
 * A case that needs what the device does not have is skipped with the reason. Two lists per backend
 * say more: what a backend cannot do although its capabilities do not say so, and what it is known
 * to do wrong. A known failure is run all the same, and passing it is a failure of this list.
 */
#include <stdio.h>
#include <string.h>

#include "conformance/conformance.h"
#include "support/allocation.h"
#include "support/driver.h"

struct excuse {
	const char *name;    /* of the case */
	const char *backend; /* "host", "fakecuda" or "cuda" */
	const char *reason;
};

/* Not run: the backend cannot do it. */
static const struct excuse unsupported[] = {
	{NULL, NULL, NULL},
};

/* Run, and known to fail. */
static const struct excuse expected_failures[] = {
	{NULL, NULL, NULL},
};

static struct {
	uint64_t has; /* capability and NEEDS_ bits */
	const char *backend;
} subject;

static struct check_suite suite;

static void look_at_subject(void)
{
	ww_device *device = subject_open();
	ww_device *other = subject_is_cuda() ? subject_open_other() : NULL;
	struct ww_device_info info = device_info(device);

	subject.has = info.capabilities;
	subject.has |= info.backend == WW_BACKEND_CUDA ? NEEDS_CUDA : NEEDS_HOST_BACKEND;
	if (!(info.capabilities & WW_CAP_STREAM_VALUE))
		subject.has |= NEEDS_NO_STREAM_VALUE;
	if (other)
		subject.has |= NEEDS_OTHER_GPU |
			(devices_are_peers(device, other) ? NEEDS_PEER : NEEDS_NO_PEER);
#ifndef WW_MISUSE_ABORTS
	subject.has |= NEEDS_MISUSE_STATUS;
#endif
	subject.backend = info.backend == WW_BACKEND_HOST ? "host"
		: fake_get()                              ? "fakecuda"
							  : "cuda";
	if (info.capabilities & WW_CAP_FOREIGN)
		allocation_warm_up();
	check_note("%s: %s (%s), %s", info.selector, info.name, info.driver, subject.backend);
	suite.leaks = subject_is_countable();
	ww_device_unref(other);
	ww_device_unref(device);
}

static const char *excused(const struct excuse *list, const struct check_case *item)
{
	for (; list->name; list++)
		if (!strcmp(list->name, item->name) && !strcmp(list->backend, subject.backend))
			return list->reason;
	return NULL;
}

static const char *skip(const struct check_case *item)
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
		{WW_CAP_EXPORT, "the device cannot export memory"},
		{WW_CAP_HOST_MEMORY, "the device cannot use host memory"},
		{WW_CAP_HOST_READ_ONLY, "the device cannot map host memory read-only"},
		{WW_CAP_CPU_ACCESS, "the CPU cannot reach the device's memory"},
		{WW_CAP_STREAM_WRAP, "the device has no streams of its own to wrap"},
		{WW_CAP_STREAM_VALUE, "the device's streams cannot wait for values"},
		{WW_CAP_EVENT, "the device has no events between processes"},
		{WW_CAP_FOREIGN, "the device shares no memory that others allocated"},
		{WW_CAP_MODULE, "the device loads no modules"},
	};

	for (size_t i = 0; i < CHECK_COUNT(reasons); i++)
		if (item->needs & ~subject.has & reasons[i].need)
			return reasons[i].reason;
	return excused(unsupported, item);
}

static const char *doomed(const struct check_case *item)
{
	return excused(expected_failures, item);
}

static struct check_suite suite = {
	.name = "conformance",
	.skip = skip,
	.doomed = doomed,
	.warm_up = look_at_subject,
};

int main(int argc, char **argv)
{
	return check_main(&suite, argc, argv);
}
