/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.c - what every verb that talks to a broker does in the same way
 */
#include "broker.h"

int broker_reach(const char *address, uint64_t flags, ww_broker **out_broker)
{
	const struct ww_broker_params params = {
		.size = sizeof(params),
		.flags = flags,
		.address = address,
	};

	if (ww_broker_open(&params, out_broker) == WW_OK)
		return 0;
	return refuse("%s", ww_error_last()->message);
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
