/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_object.c - objects that are not memory, as they go into a broker and come out, see
 * sync_object.h
 *
 * A page of timelines is one object, whose id is the page's; tokens name a cell by its offset. A
 * timeline that is given a name is another object with the same descriptors. Both end when this
 * process releases them or ends: the broker sees the page's writable descriptor, and ends what has
 * no signaller any more.
 */
#include "share/sync_object.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "base/random.h"

#define DEFAULT_MODE    0600
#define MODE_MAX        0777
#define SPEAKS_FOR_DEAD 2 /* version of the protocol from which on a broker does */
#define KNOWS_STAYS     4 /* the same */

#define TOKEN_PARAMS_V1_BYTES offsetof(struct ww_token_params, flags)

ww_status ww_sync_object_read_name(const struct ww_name_params *params, struct ww_name_params *ours)
{
	memset(ours, 0, sizeof(*ours));
	if (params)
		ww_try(ww_params_read(ours, sizeof(*ours), params, sizeof(*ours),
			"ww_name_params"));
	if (ours->mode > MODE_MAX)
		return ww_fail(WW_ERR_INVALID,
			"0%" PRIo32 " is no mode of an object; use 0 to 0777", ours->mode);
	if (ours->flags & ~WW_PUT_REPLACE || ours->reserved)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a name",
			ours->reserved ? (uint64_t)ours->reserved : ours->flags);
	if (ours->mode == 0)
		ours->mode = DEFAULT_MODE;
	if (ours->gid == 0)
		ours->gid = WW_GID_OWN;
	return WW_OK;
}

ww_status ww_sync_object_read_token(const struct ww_token_params *params,
	struct ww_escrow *out_escrow)
{
	struct ww_token_params ours = {.uses = 0};

	if (params)
		ww_try(ww_params_read(&ours, sizeof(ours), params, TOKEN_PARAMS_V1_BYTES,
			"ww_token_params"));
	if (ours.reserved)
		return ww_fail(WW_ERR_INVALID, "ww_token_params.reserved is not 0");
	*out_escrow = (struct ww_escrow){ours.escrow_ns, ours.uses, ours.flags};
	return ww_escrow_check(out_escrow);
}

ww_status ww_sync_object_require_version(struct ww_broker *broker, uint32_t least, const char *what)
{
	uint32_t version;

	ww_try(ww_broker_client_ensure(broker, true));
	version = ww_broker_client_version(broker);
	if (version != 0 && version < least)
		return ww_fail(WW_ERR_VERSION,
			"the broker at %s speaks version %" PRIu32
			" of the protocol and would not %s; end it, and a new one starts",
			broker->address.path, version, what);
	return WW_OK;
}

ww_status ww_sync_object_require_broker(struct ww_broker *broker)
{
	return ww_sync_object_require_version(broker, SPEAKS_FOR_DEAD,
		"tell waiters that a signaller died");
}

void ww_sync_object_request_init(struct ww_put_request *request, uint16_t kind,
	const uint8_t id[WW_WIRE_ID_BYTES], const struct ww_name_params *params)
{
	memset(request, 0, sizeof(*request));
	request->put.kind = kind;
	request->put.state = WW_STATE_SEALED;
	request->put.life = WW_LIFE_HELD;
	request->put.mode = params ? params->mode : DEFAULT_MODE;
	request->put.gid = params ? params->gid : WW_GID_OWN;
	if (params && params->flags & WW_PUT_REPLACE)
		request->put.flags = WW_WIRE_PUT_FLAG_REPLACE;
	memcpy(request->put.id, id, sizeof(request->put.id));
}

ww_status ww_sync_object_add_page(struct ww_put_request *request, struct ww_signal_map *page)
{
	request->put.bytes = page->cpu->bytes;
	ww_try(ww_put_request_add_file(request, page->cpu, WW_ACCESS_READ, WW_PUT_TO_READERS));
	return ww_put_request_add(request, page->cpu, WW_ACCESS_WRITE, WW_PUT_TO_BROKER);
}

void ww_sync_object_write_timeline(const struct ww_signal_map *page, uint64_t cell_offset,
	uint8_t out_bytes[WW_TIMELINE_REF_BYTES])
{
	struct ww_wire_timeline_ref ref = {
		.page_bytes = page->cpu->bytes,
		.cell_offset = cell_offset,
	};

	memcpy(ref.page_id, page->id, sizeof(ref.page_id));
	ww_timeline_ref_write(&ref, out_bytes);
}

static void describe(struct ww_put_request *request, const struct ww_signal_map *page,
	uint64_t cell_offset)
{
	ww_sync_object_write_timeline(page, cell_offset, request->put.description);
	request->put.description_bytes = WW_TIMELINE_REF_BYTES;
}

ww_status ww_sync_object_require_alive(const struct ww_signal_map *page)
{
	if (__atomic_load_n(&page->header->lost, __ATOMIC_ACQUIRE))
		return ww_fail(WW_ERR_PEER_LOST,
			"the timeline's signaller has ended: nothing will come of it any more");
	return WW_OK;
}

static ww_status put_page(struct ww_signal_map *page, struct ww_broker *broker)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};

	ww_sync_object_request_init(&request, WW_OBJECT_TIMELINE, page->id, NULL);
	ww_try(ww_sync_object_add_page(&request, page));
	describe(&request, page, 0);
	return ww_put_request_put_unnamed(&request, &page->attachments, broker);
}

ww_status ww_sync_object_hold(ww_timeline *timeline, struct ww_broker *broker,
	uint8_t out_id[WW_WIRE_ID_BYTES])
{
	struct ww_signal_map *page = timeline->page;

	ww_try(ww_sync_object_require_broker(broker));
	ww_try(ww_sync_object_require_alive(page));
	if (ww_hold_ref_find(&page->attachments, broker, out_id))
		return WW_OK;
	if (page->is_own) {
		memcpy(out_id, page->id, sizeof(page->id));
		return put_page(page, broker);
	}
	if (ww_hold_ref_find(&timeline->attachments, broker, out_id))
		return WW_OK;
	return ww_fail(WW_ERR_NOT_FOUND,
		"cannot export this timeline there: it came by another broker, and its signaller alone "
		"can put it into a further one");
}

ww_status ww_sync_object_timeline(ww_timeline *timeline, struct ww_broker *broker, const char *name,
	const struct ww_name_params *params)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};
	uint8_t id[WW_WIRE_ID_BYTES];

	ww_try(ww_sync_object_require_broker(broker));
	ww_try(ww_timeline_require_own(timeline, "name"));
	ww_try(ww_sync_object_require_alive(timeline->page));
	if (ww_hold_ref_is_held(&timeline->attachments, broker))
		return ww_fail(WW_ERR_EXISTS,
			"the timeline has a name in this broker already; it keeps that until it is closed");
	ww_try(ww_random_bytes(id, sizeof(id)));
	ww_sync_object_request_init(&request, WW_OBJECT_TIMELINE, id, params);
	ww_try(ww_sync_object_add_page(&request, timeline->page));
	describe(&request, timeline->page, timeline->offset);
	if (params->flags & WW_SHARE_STAYS && ww_broker_client_version(broker) >= KNOWS_STAYS)
		request.put.flags |= WW_WIRE_PUT_FLAG_STAYS;
	memcpy(request.put.name, name, strlen(name));
	return ww_put_request_put(&request, &timeline->attachments, broker, 0);
}

/*
 * The page of what was granted; nothing of it is true until looked at.
 * @offset:       of the cell that a token names; 0: the description names it
 * @out_is_page:  the object is the whole page, else one timeline
 */
static ww_status open_page(struct ww_get_reply *grant, uint64_t *offset, bool *out_is_page,
	struct ww_signal_map **out_page)
{
	const struct ww_wire_granted *granted = &grant->granted;
	struct ww_wire_timeline_ref ref;

	ww_try(ww_timeline_ref_read(granted->description, granted->description_bytes, &ref));
	*out_is_page = ref.cell_offset == 0;
	if (*out_is_page && memcmp(granted->id, ref.page_id, sizeof(ref.page_id)) != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"the description of the page of timelines is that of another one");
	if (*offset == 0)
		*offset = ref.cell_offset;
	if (*offset == 0)
		return ww_fail(WW_ERR_MISMATCH,
			"the object is a page of timelines, and the request names none of them");
	if (!*out_is_page && *offset != ref.cell_offset)
		return ww_fail(WW_ERR_MISMATCH,
			"the token names a timeline at byte %" PRIu64
			" of a page, and the object is that at byte %" PRIu64,
			*offset, ref.cell_offset);
	return ww_get_reply_map_page(grant, ref.page_bytes, ref.page_id, out_page);
}

ww_status ww_sync_object_open_timeline(struct ww_get_reply *grant, uint64_t offset,
	ww_timeline **out_timeline)
{
	WW_AUTO_SIGNAL_MAP struct ww_signal_map *page = NULL;
	WW_AUTO_TIMELINE struct ww_timeline *timeline = NULL;
	bool is_page;

	ww_try(open_page(grant, &offset, &is_page, &page));
	ww_try(ww_timeline_open(page, offset, &timeline));
	(void)ww_steal(page);
	ww_get_reply_keep(grant, is_page ? &timeline->page->attachments : &timeline->attachments);
	*out_timeline = ww_steal(timeline);
	return WW_OK;
}
