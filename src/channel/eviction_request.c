/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eviction_request.c - an observer asks the producer to evict a consumer, see eviction_request.h
 */
#include "channel/eviction_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/random.h"
#include "channel/consumer.h"
#include "channel/producer.h"
#include "share/sync_object.h"
#include "sync/wait_result.h"
#include "wire/name.h"

#define REQUEST \
	"consumer-evict-" /* then the consumer's number and id, which alone a client may choose */

/* --- the observer's side --- */

static ww_status check_user(const struct ww_channel *observer)
{
	const struct ww_consumer *own = ww_container(observer, const struct ww_consumer, channel);
	char process[WW_WAIT_RESULT_PROCESS_BYTES];

	if (own->is_own_user || geteuid() == 0)
		return WW_OK;
	return ww_fail(WW_ERR_ACCESS,
		"cannot ask the producer, %s, to evict a consumer: the channel is of another user; only that user and root may",
		ww_wait_result_process(own->page, process));
}

ww_status ww_eviction_request_put(struct ww_channel *observer, struct ww_consumer_view *view)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};
	uint8_t id[WW_WIRE_ID_BYTES];
	uint32_t random;
	char what[64];

	ww_try(check_user(observer));
	if (ww_channel_has_ended(observer))
		return ww_channel_fail_ended(observer);
	if (ww_attachments_first(&view->request))
		return WW_OK;
	ww_try(ww_random_bytes(id, sizeof(id)));
	ww_try(ww_random_bytes(&random, sizeof(random)));
	ww_sync_object_request_init(&request, WW_OBJECT_CHANNEL, id, NULL);
	snprintf(what, sizeof(what), REQUEST "%" PRIu32 "-%016" PRIx64 "-%08" PRIx32, view->number,
		ww_ring_consumer_id(view->member.id), random);
	ww_channel_name(observer, what, (char *)request.put.name);
	return ww_put_request_put(&request, &view->request, observer->broker, 0);
}

/* --- the producer's side --- */

bool ww_eviction_request_is(const struct ww_object_info *info)
{
	return !strncmp(info->name + WW_NAME_INSIDE_CHARS, REQUEST, strlen(REQUEST));
}

bool ww_eviction_request_may(uint32_t uid)
{
	return uid == geteuid() || uid == 0;
}

/* It may have left, or be evicted already. */
static void obey(struct ww_channel *channel, const char *name)
{
	char *id_text;
	unsigned long number = strtoul(name + WW_NAME_INSIDE_CHARS + strlen(REQUEST), &id_text, 10);
	uint64_t id = *id_text == '-' ? strtoull(id_text + 1, NULL, 16) : 0;

	ww_list_for_each (link, &channel->consumers.group.members) {
		struct ww_consumer_view *view = ww_consumer_view_of(link);

		if (view->number == number && ww_ring_consumer_id(view->member.id) == id &&
			!view->is_evicted)
			ww_producer_evict(ww_producer_of(channel), view,
				WW_WIRE_CHANNEL_EVICTION_REASON_REQUEST);
	}
}

void ww_eviction_requests_obey(struct ww_channel *channel, ww_snapshot *snapshot)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	for (size_t i = 0; ww_snapshot_object(snapshot, i, &info) == WW_OK; i++) {
		if (ww_eviction_request_is(&info) && ww_eviction_request_may(info.uid))
			obey(channel, info.name);
	}
}
