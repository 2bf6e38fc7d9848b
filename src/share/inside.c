/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.c - the objects inside another one, see inside.h
 */
#include "share/inside.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "client/request.h"

#define REMOVE_NS UINT64_C(1000000000) /* how long a broker has to answer */
#define EXPEL_NS  UINT64_C(20000000)   /* of one look; several hundred objects */

uint32_t ww_inside_count(const struct ww_signal_map *page)
{
	return __atomic_load_n(&page->header->members, __ATOMIC_SEQ_CST);
}

static bool is_no_member(ww_status status)
{
	return status == WW_ERR_NOT_FOUND || status == WW_ERR_UNSUPPORTED ||
		status == WW_ERR_ACCESS || status == WW_ERR_STATE;
}

bool ww_inside_remove(struct ww_broker *broker, const char *name,
	const uint8_t id[WW_WIRE_ID_BYTES])
{
	WW_AUTO_REQUEST_LIMIT uint64_t former_ns = ww_request_limit();
	struct ww_wire_remove message = {.flags = 0};
	WW_AUTO_REQUEST struct ww_request request;
	ww_status status = WW_ERR_VERSION;
	struct ww_error record;

	ww_request_init(&request, WW_WIRE_REMOVE, WW_WIRE_DONE, &message);
	request.starts_none = true;
	memcpy(message.name, name, strlen(name));
	memcpy(message.id, id, sizeof(message.id));
	ww_error_save(&record);
	ww_request_limit_all(ww_clock_deadline_ns(REMOVE_NS));
	if (ww_broker_client_version(broker) >= WW_REMOVES_BY_ID)
		status = ww_broker_client_ask(broker, &request);
	ww_error_restore(&record);
	return status == WW_OK;
}

bool ww_inside_expel(struct ww_broker *broker, const struct ww_object_info *info)
{
	return info->uid != geteuid() && ww_inside_remove(broker, info->name, info->object_id);
}

ww_status ww_inside_look(ww_snapshot *snapshot, struct ww_broker *owner, ww_inside_fn look,
	void *context)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	uint64_t until_ns = ww_clock_deadline_ns(EXPEL_NS);

	for (size_t i = 0; ww_snapshot_object(snapshot, i, &info) == WW_OK; i++) {
		ww_status status = look(context, &info);

		if (!is_no_member(status))
			ww_try(status);
		else if (owner && status != WW_ERR_NOT_FOUND && ww_clock_now_ns() < until_ns)
			ww_inside_expel(owner, &info);
	}
	return WW_OK;
}
