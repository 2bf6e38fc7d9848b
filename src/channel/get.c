/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get.c - getting a channel of a name or a token: this process joins it (join.h), and goes on with
 * the next producer of the name if that was asked for (reattach.h)
 */
#include <inttypes.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "channel/join.h"
#include "channel/reattach.h"
#include "share/call_limit.h"
#include "share/choose_broker.h"
#include "share/token_import.h"
#include "wire/name.h"

#define JOIN_TRIES 10 /* of channels of one name that end while they are joined */

static ww_status read_params(const struct ww_consumer_params *params,
	struct ww_consumer_params *ours)
{
	memset(ours, 0, sizeof(*ours));
	if (params)
		ww_try(ww_params_read(ours, sizeof(*ours), params, sizeof(*ours),
			"ww_consumer_params"));
	if (ours->flags & ~(WW_CONSUMER_OBSERVE | WW_CONSUMER_REATTACH | WW_CONSUMER_TRUST_USERS))
		return ww_fail(WW_ERR_INVALID,
			"ww_consumer_params.flags has unknown bits: 0x%" PRIx32, ours->flags);
	return WW_OK;
}

/* As ww_channel_get(), with a broker. */
static ww_status get(const struct ww_joining *joining, struct ww_broker *broker, const char *name,
	ww_channel **out_channel)
{
	WW_CLEANUP(ww_consumer_free_p) struct ww_consumer *consumer = NULL;
	ww_status status = ww_join_name(joining, broker, name, &consumer);

	if (status != WW_OK)
		return status;
	if (joining->params.flags & WW_CONSUMER_REATTACH)
		ww_try(ww_reattach_init(consumer, joining->device, name, &joining->params));
	*out_channel = &ww_steal(consumer)->channel;
	return WW_OK;
}

ww_status ww_channel_get(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_consumer_params *params, uint64_t timeout_ns, ww_cancel *cancel,
	ww_channel **out_channel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	struct ww_joining joining = {.device = device, .timeout_ns = timeout_ns};
	uint64_t deadline_ns = ww_clock_deadline_ns(timeout_ns);
	struct ww_call_limit limit;
	ww_status status;

	ww_clear(out_channel, NULL);
	ww_try(ww_process_enter());
	ww_require(device && name && out_channel,
		"ww_channel_get: device, name or out_channel is NULL");
	ww_try(ww_name_check(name));
	ww_try(read_params(params, &joining.params));
	ww_call_limit_begin(&limit, timeout_ns);
	status = ww_choose_broker(&broker, &opened, 0);
	if (status == WW_OK)
		status = get(&joining, broker, name, out_channel);
	for (int i = 1; i < JOIN_TRIES && status == WW_ERR_NOT_FOUND && timeout_ns; i++) {
		joining.timeout_ns = ww_clock_left_ns(deadline_ns);
		status = joining.timeout_ns ? get(&joining, broker, name, out_channel)
					    : WW_TIMED_OUT;
	}
	return ww_call_limit_end(&limit, status);
}

ww_status ww_channel_import(ww_device *device, ww_broker *broker, const struct ww_token *token,
	const struct ww_consumer_params *params, ww_cancel *cancel, ww_channel **out_channel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct ww_joining joining = {.device = device};
	WW_AUTO_IMPORT struct ww_import import;
	struct ww_consumer *consumer;
	ww_status status;

	ww_clear(out_channel, NULL);
	ww_import_init(&import, WW_OBJECT_CHANNEL, WW_ACCESS_READ);
	ww_try(ww_process_enter());
	ww_require(device && token && out_channel,
		"ww_channel_import: device, token or out_channel is NULL");
	ww_try(read_params(params, &joining.params));
	if (joining.params.flags & WW_CONSUMER_REATTACH)
		return ww_fail(WW_ERR_INVALID,
			"a consumer by token cannot go on with another producer (WW_CONSUMER_REATTACH): "
			"it has no name; get the channel by its name");
	ww_try(ww_import_ask(&import, broker, token));
	status = ww_join_grant(&import.grant, &joining, &consumer);
	if (status == WW_OK)
		*out_channel = &consumer->channel;
	return status;
}
