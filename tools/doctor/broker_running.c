/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_running.c - the broker that programs would use here
 *
 * It is connected to and asked how it is, and nothing else: nothing is put there.
 */
#include "doctor/doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "doctor/advice.h"

#define LIMIT_NS (UINT64_C(2) * 1000000000)

static void check_version(struct doctor *doctor, ww_broker *broker)
{
	struct ww_broker_info info = WW_INIT(struct ww_broker_info);
	struct stat socket;
	unsigned int mode = 0;
	bool is_same;

	if (ww_broker_info_get(broker, &info) != WW_OK) {
		result_add(&doctor->results, "broker", STATE_FAILS, NULL, "%s",
			ww_error_last()->message);
		return;
	}
	if (!stat(ww_broker_address(broker), &socket))
		mode = (unsigned int)(socket.st_mode & 07777);
	is_same = !strcmp(info.version, ww_version());
	result_add(&doctor->results, "broker", is_same ? STATE_WORKS : STATE_LIMITED,
		is_same ? NULL : "version",
		"%s, version %s, protocol %u, of user %u; the socket's mode is %04o and lets this user in",
		ww_broker_address(broker), info.version, info.protocol, info.uid, mode);
}

static const char *cause_of(ww_status status)
{
	switch (status) {
	case WW_ERR_ACCESS:
		return "access";
	case WW_ERR_VERSION:
	case WW_ERR_PROTOCOL:
		return "protocol";
	default:
		return NULL;
	}
}

/* While the machine's broker has left its socket behind, nobody starts one of their own. */
static bool is_left_by_machine(const struct ww_error *error)
{
	return error->native == ECONNREFUSED && strstr(error->message, MACHINE_SOCKET);
}

void doctor_broker_running(struct doctor *doctor)
{
	const struct ww_broker_params params = {
		.struct_size = sizeof(params),
		.flags = WW_BROKER_NO_START,
		.timeout_ns = LIMIT_NS,
		.address = doctor->request.address,
	};
	const char *named = getenv("WARPWAY_BROKER");
	bool is_named = params.address || (named && named[0]);
	OWN(broker) ww_broker *broker = NULL;
	ww_status status = ww_broker_open(&params, &broker);
	const struct ww_error *error = ww_error_last();
	bool is_absent = status == WW_ERR_NO_BROKER && error->domain == WW_DOMAIN_ERRNO;

	if (status == WW_OK)
		check_version(doctor, broker);
	else if (is_absent && !is_named && is_left_by_machine(error))
		result_add(&doctor->results, "broker", STATE_FAILS, "left", "%s", error->message);
	else if (is_absent && !is_named)
		result_add(&doctor->results, "broker", STATE_SKIPPED, "none",
			"none runs; the first program that needs one starts it");
	else
		result_add(&doctor->results, "broker", STATE_FAILS,
			is_absent ? "named" : cause_of(status), "%s", error->message);
}
