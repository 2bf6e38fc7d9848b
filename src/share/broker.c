/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.c - the calls that are about a broker itself, or about an object by its name alone
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "share/choose_broker.h"
#include "share/object_info.h"
#include "wire/name.h"

#define PARAMS_V1_BYTES sizeof(struct ww_broker_params)
#define INFO_V1_BYTES   sizeof(struct ww_broker_info)

static ww_status read_params(const struct ww_broker_params *params, struct ww_broker_params *ours)
{
	memset(ours, 0, sizeof(*ours));
	if (!params)
		return WW_OK;
	ww_try(ww_params_read(ours, sizeof(*ours), params, PARAMS_V1_BYTES, "ww_broker_params"));
	if (ours->reserved || ours->flags & ~WW_BROKER_NO_START)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a broker",
			ours->reserved ? (uint64_t)ours->reserved : ours->flags);
	return WW_OK;
}

ww_status ww_broker_open(const struct ww_broker_params *params, ww_broker **out_broker)
{
	WW_AUTO_BROKER struct ww_broker *broker = NULL;
	struct ww_broker_params ours;
	struct ww_address address;

	ww_clear(out_broker, NULL);
	ww_try(ww_process_enter());
	ww_require(out_broker, "ww_broker_open: out_broker is NULL");
	ww_try(read_params(params, &ours));
	ww_try(ww_address_find(ours.address, &address));
	ww_try(ww_broker_client_open(&address, &ours, false, &broker));
	ww_try(ww_broker_client_ensure(broker, true));
	*out_broker = ww_steal(broker);
	return WW_OK;
}

const char *ww_broker_address(ww_broker *broker)
{
	return broker && !ww_ref_is_inherited(&broker->ref) ? broker->address.path : NULL;
}

static void fill_info(const struct ww_wire_condition *condition, struct ww_broker_info *info)
{
	info->pid = condition->pid;
	info->supervisor_pid = condition->supervisor_pid;
	info->uid = condition->uid;
	info->restarts = condition->restarts;
	info->objects = condition->objects;
	info->holders = condition->holders;
	info->holds = condition->holds;
	info->bytes = condition->bytes;
	info->fds = condition->fds;
	info->open_fds = condition->open_fds;
	info->memory_bytes = condition->memory_bytes;
	info->up_ns = condition->up_ns;
	info->waits = condition->waits;
	memcpy(info->version, condition->version, sizeof(info->version));
}

ww_status ww_broker_info_get(ww_broker *broker, struct ww_broker_info *info)
{
	static const struct ww_wire_status message;
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	WW_AUTO_REQUEST struct ww_request request;
	struct ww_wire_condition condition;
	struct ww_broker_info ours = {0};

	ww_request_init(&request, WW_WIRE_STATUS, WW_WIRE_CONDITION, &message);
	ww_try(ww_process_enter());
	ww_require(info, "ww_broker_info_get: info is NULL");
	ww_try(ww_params_check(info, INFO_V1_BYTES, "ww_broker_info"));
	ww_try(ww_choose_broker(&broker, &opened, 0));
	ww_try(ww_broker_client_ask(broker, &request));
	if (ww_wire_decode_condition(request.answer, request.answer_bytes, request.version,
		    &condition) < 0)
		return ww_request_fail_answer(&request);
	fill_info(&condition, &ours);
	ours.protocol = request.version;
	ww_broker_client_peer(broker, ours.broker_id, NULL);
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_broker_info");
}

static ww_status ask_to_remove(ww_broker *broker, struct ww_wire_remove *message)
{
	WW_AUTO_REQUEST struct ww_request request;

	ww_request_init(&request, WW_WIRE_REMOVE, WW_WIRE_DONE, message);
	return ww_broker_client_ask(broker, &request);
}

ww_status ww_broker_remove(ww_broker *broker, const char *name)
{
	struct ww_wire_remove message = {.flags = 0};
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;

	ww_try(ww_process_enter());
	ww_require(name, "ww_broker_remove: name is NULL");
	ww_try(ww_name_check(name));
	memcpy(message.name, name, strlen(name));
	ww_try(ww_choose_broker(&broker, &opened, 0));
	return ask_to_remove(broker, &message);
}

/* An older broker ends each object whose name is removed. */
static ww_status choose_end(struct ww_broker *broker, struct ww_wire_remove *message, bool has_id)
{
	uint32_t version = ww_broker_client_version(broker);

	if (version >= WW_REMOVES_NAMES)
		message->flags = WW_WIRE_REMOVE_FLAG_END;
	else if (!message->name[0] || (has_id && version < WW_REMOVES_BY_ID))
		return ww_fail(WW_ERR_VERSION,
			"this broker speaks version %" PRIu32
			" of the protocol and ends objects by their names only; restart it with a newer "
			"warpwayd",
			version);
	return WW_OK;
}

ww_status ww_broker_end(ww_broker *broker, const char *name, const uint8_t *object_id)
{
	struct ww_wire_remove message = {.flags = 0};
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;

	ww_try(ww_process_enter());
	ww_require(name || object_id, "ww_broker_end: name and object_id are NULL");
	if (name) {
		ww_try(ww_name_check(name));
		memcpy(message.name, name, strlen(name));
	}
	if (object_id)
		memcpy(message.id, object_id, sizeof(message.id));
	if (object_id && ww_is_zero(message.id, sizeof(message.id)))
		return ww_fail(WW_ERR_INVALID,
			"cannot end the object with an id of zeros: no object has it");
	ww_try(ww_choose_broker(&broker, &opened, 0));
	ww_try(choose_end(broker, &message, object_id != NULL));
	return ask_to_remove(broker, &message);
}

ww_status ww_broker_stat(ww_broker *broker, const char *name, struct ww_object_info *info)
{
	struct ww_wire_stat message = {.name = ""};
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	WW_AUTO_REQUEST struct ww_request request;
	struct ww_wire_described described;
	struct ww_object_info ours;

	ww_request_init(&request, WW_WIRE_STAT, WW_WIRE_DESCRIBED, &message);
	ww_try(ww_process_enter());
	ww_require(name && info, "ww_broker_stat: name or info is NULL");
	ww_try(ww_object_info_check(info));
	ww_try(ww_name_check(name));
	memcpy(message.name, name, strlen(name));
	ww_try(ww_choose_broker(&broker, &opened, 0));
	ww_try(ww_broker_client_ask(broker, &request));
	if (ww_wire_decode_described(request.answer, request.answer_bytes, request.version,
		    &described) < 0)
		return ww_request_fail_answer(&request);
	ww_object_info_of_entry(&described.entry, &ours);
	return ww_object_info_write(info, &ours);
}
