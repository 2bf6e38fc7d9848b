/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repeat.c - calls that are made again when their server has ended
 *
 * The next server is found by the name that the client was opened by. Anyone may have taken that
 * name since: a call has tokens, so it goes to a server of the same user only.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "service/client.h"
#include "service/service.h"

/* The broker takes the name from a server that has ended a little later than its client knows. */
#define PAUSE_NS UINT64_C(2000000)

static bool is_idempotent(const struct ww_client *client, uint32_t function,
	struct ww_function_info *out_info)
{
	*out_info = (struct ww_function_info){.struct_size = sizeof(*out_info)};
	if (function >= ww_service_page_count(&client->page))
		return false;
	ww_service_describe_function(&client->page, function, out_info);
	return out_info->flags & WW_FUNCTION_IDEMPOTENT;
}

bool ww_client_may_repeat(const struct ww_client *client, uint32_t function,
	const struct ww_submit_params *params)
{
	struct ww_function_info info;

	return client->name && params->depends_on == 0 && params->depends_more_count == 0 &&
		!(params->flags & WW_SUBMIT_CHAIN) && is_idempotent(client, function, &info);
}

static enum ww_await_look look_for_nothing(void *context)
{
	(void)context;
	return WW_AWAIT_SLEEP;
}

static ww_status check_user(const struct ww_client *client)
{
	if (client->next->server_uid == client->server_uid)
		return WW_OK;
	return ww_fail(WW_ERR_ACCESS,
		"the call is not repeated: the server of '%s' has ended, and the next one is of user "
		"%" PRIu32 ", not %" PRIu32 "; open the service anew if that is right",
		client->name, client->next->server_uid, client->server_uid);
}

/* Waits for one that has not ended. */
static ww_status open_next(struct ww_client *client, uint64_t deadline_ns)
{
	const struct ww_client_params params = {.struct_size = sizeof(params), .gid = client->gid};
	ww_status status = WW_OK;

	while (status == WW_OK) {
		status = ww_client_open(client->broker, client->name, &params,
			ww_clock_left_ns(deadline_ns), NULL, &client->next);
		if (status == WW_OK && !ww_client_is_over(client->next))
			return check_user(client);
		client->next = ww_client_unref(client->next);
		/* It was found, and ended meanwhile. */
		if (status == WW_OK || status == WW_ERR_PEER_LOST || status == WW_ERR_NOT_FOUND) {
			uint64_t until_ns = ww_clock_deadline_ns(PAUSE_NS);
			const uint32_t wakes = 0;

			status = ww_await(&wakes, look_for_nothing, NULL,
				until_ns < deadline_ns ? until_ns : deadline_ns);
			status = status == WW_TIMED_OUT && until_ns < deadline_ns ? WW_OK : status;
		}
	}
	return status;
}

ww_status ww_client_find_next(struct ww_client *client, uint32_t function, uint64_t deadline_ns,
	uint32_t *out_function)
{
	ww_status status = WW_ERR_PEER_LOST;

	while (status == WW_ERR_PEER_LOST) {
		struct ww_function_info info;

		if (client->next && ww_client_is_over(client->next))
			client->next = ww_client_unref(client->next);
		if (!client->next)
			status = open_next(client, deadline_ns);
		else
			status = check_user(client);
		if (status != WW_OK)
			return status;
		if (ww_clock_left_ns(deadline_ns) == 0) {
			status = WW_TIMED_OUT;
		} else {
			(void)is_idempotent(client, function, &info);
			status = ww_client_find(client->next, info.name, info.signature,
				ww_clock_left_ns(deadline_ns), NULL, out_function);
			if (status == WW_OK && !is_idempotent(client->next, *out_function, &info))
				status = ww_fail(WW_ERR_MISMATCH,
					"the call is not repeated: the next server does not offer '%s' as idempotent",
					info.name);
		}
	}
	return status;
}
