/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_open.c - a verb that is a client of a service
 */
#include "warpway/service_open.h"

#include "common/interrupt.h"
#include "warpway/open_broker.h"

/* A name that is waited for may come to a broker that does not run yet. */
static int find_broker(struct request *request, uint64_t timeout_ns)
{
	if (timeout_ns)
		return broker_reach(request->address, 0, &request->broker);
	return broker_find_object(request->address, request->words[0], &request->broker);
}

static int fail_to_open(const char *name, ww_status status)
{
	if (status == WW_TIMED_OUT)
		return complain("cannot open %s: it was not there in time", name);
	if (status == WW_CANCELLED)
		return complain("interrupted before %s was there", name);
	if (status == WW_ERR_UNSUPPORTED)
		return complain(
			"cannot open %s: it is no service; `warpway stat %s` says what it is", name,
			name);
	return broker_fail(status, "cannot open %s", name);
}

int service_open(struct request *request, uint32_t flags, uint64_t timeout_ns,
	ww_client **out_client)
{
	const struct ww_client_params params = {.struct_size = sizeof(params), .flags = flags};
	int code = interrupt_open();
	ww_status status;

	if (code == 0)
		code = find_broker(request, timeout_ns);
	if (code)
		return code;
	status = ww_client_open(request->broker, request->words[0], &params, timeout_ns,
		interrupt_cancel(), out_client);
	return status == WW_OK ? 0 : fail_to_open(request->words[0], status);
}
