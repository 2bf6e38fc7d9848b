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

static const char *backend;

static void look_at_subject(void)
{
	OWN(device) ww_device *device = subject_open();
	struct ww_device_info info = device_info(device);

	backend = info.backend == WW_BACKEND_HOST ? "host" : fake_get() ? "fakecuda" : "cuda";
	if (info.capabilities & WW_CAP_FOREIGN)
		allocation_warm_up();
	check_note("%s: %s (%s), %s", info.selector, info.name, info.driver, backend);
}

static const char *excused(const struct excuse *list, const struct check_case *item)
{
	for (; list->name; list++)
		if (!strcmp(list->name, item->name) && !strcmp(list->backend, backend))
			return list->reason;
	return NULL;
}

static const char *skip(const struct check_case *item)
{
	const char *missing = needs_missing(item);

	return missing ? missing : excused(unsupported, item);
}

static const char *doomed(const struct check_case *item)
{
	return excused(expected_failures, item);
}

CHECK_MAIN(needs_main, .name = "conformance", .leaks = true, .skip = skip, .doomed = doomed,
	.warm_up = look_at_subject)
