/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_broker.c - what every verb that talks to a broker does in the same way
 */
#include "warpway/open_broker.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MACHINE_ADDRESS "/run/warpway/broker.sock"

static ww_status open_broker(const char *address, uint64_t flags, ww_broker **out_broker)
{
	const struct ww_broker_params params = {
		.struct_size = sizeof(params),
		.flags = flags,
		.address = address,
	};

	return ww_broker_open(&params, out_broker);
}

int broker_reach(const char *address, uint64_t flags, ww_broker **out_broker)
{
	if (open_broker(address, flags, out_broker) == WW_OK)
		return 0;
	return refuse("%s", ww_error_last()->message);
}

/* Whether it is the user's own broker that is meant, in the order that warpway/broker.h gives. */
static bool is_own(const char *address)
{
	const char *named = address ? address : getenv("WARPWAY_BROKER");
	const char *folder = getenv("XDG_RUNTIME_DIR");
	char own[WW_ADDRESS_BYTES];

	if (!named || !named[0])
		return access(MACHINE_ADDRESS, F_OK) != 0;
	snprintf(own, sizeof(own), "%s/warpway/broker.sock", folder ? folder : "");
	return folder && !strcmp(named, own);
}

int broker_find(const char *address, ww_broker **out_broker)
{
	ww_status status = open_broker(address, WW_BROKER_NO_START, out_broker);

	/* With an errno: nothing listens there. Without: something does, and does not answer. */
	if (status == WW_ERR_NO_BROKER && ww_error_last()->domain == WW_DOMAIN_ERRNO &&
		is_own(address))
		return 0;
	return status == WW_OK ? 0 : refuse("%s", ww_error_last()->message);
}

int broker_find_object(const char *address, const char *name, ww_broker **out_broker)
{
	int code = broker_find(address, out_broker);

	if (code || *out_broker)
		return code;
	return complain("there is no object '%s': no broker runs, and so none is kept", name);
}

int broker_exit(ww_status status)
{
	switch (status) {
	case WW_ERR_INVALID:
	case WW_ERR_NO_BROKER:
	case WW_ERR_VERSION:
	case WW_ERR_NO_DEVICE:
		return EXIT_CANNOT;
	default:
		return EXIT_FAILED;
	}
}
