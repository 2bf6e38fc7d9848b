/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put.c - putting a memory into a broker, and sealing it there
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "client/offer.h"
#include "wire/name.h"

#define PARAMS_V1_BYTES sizeof(struct ww_put_params)
#define DEFAULT_MODE    0600
#define MODE_MAX        0777

static ww_status check_params(const struct ww_put_params *params)
{
	if (params->mode > MODE_MAX)
		return ww_fail(WW_ERR_INVALID,
			"0%" PRIo32 " is no mode of an object; use 0 to 0777", params->mode);
	if (params->life < WW_LIFE_HELD || params->life > WW_LIFE_KEPT)
		return ww_fail(WW_ERR_INVALID,
			"there is no life %" PRIu32 "; use one of WW_LIFE_...", params->life);
	if (params->state < WW_STATE_WRITING || params->state > WW_STATE_SHARED)
		return ww_fail(WW_ERR_INVALID,
			"an object cannot be put in state %" PRIu32
			"; use WW_STATE_WRITING, WW_STATE_SEALED or WW_STATE_SHARED",
			params->state);
	if (params->flags & ~WW_PUT_REPLACE || params->reserved)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a put",
			params->reserved ? (uint64_t)params->reserved : params->flags);
	if (params->ttl_ns && params->life != WW_LIFE_KEPT)
		return ww_fail(WW_ERR_INVALID,
			"only an object of life kept has a time to live; use WW_LIFE_KEPT");
	return WW_OK;
}

static ww_status read_params(const struct ww_put_params *params, struct ww_put_params *ours)
{
	memset(ours, 0, sizeof(*ours));
	if (params)
		ww_try(ww_params_read(ours, sizeof(*ours), params, PARAMS_V1_BYTES,
			"ww_put_params"));
	if (ours->mode == 0)
		ours->mode = DEFAULT_MODE;
	if (ours->life == 0)
		ours->life = WW_LIFE_HELD;
	if (ours->state == 0)
		ours->state = WW_STATE_SEALED;
	if (ours->gid == 0)
		ours->gid = WW_GID_OWN;
	return check_params(ours);
}

ww_status ww_memory_put(ww_memory *memory, ww_broker *broker, const char *name,
	const struct ww_put_params *params)
{
	WW_AUTO_OFFER struct ww_offer offer = {.fd_count = 0};
	struct ww_put_params ours;

	ww_try(ww_process_enter());
	ww_require(memory && broker, "ww_memory_put: memory or broker is NULL");
	ww_try(read_params(params, &ours));
	if (name)
		ww_try(ww_name_check(name));
	if (ours.array)
		ww_try(ww_array_check(ours.array, memory->description.bytes));
	ww_try(ww_offer_init(&offer, memory, ours.state, ours.array));
	offer.put.life = (uint8_t)ours.life;
	offer.put.mode = ours.mode;
	offer.put.gid = ours.gid;
	offer.put.ttl_ns = ours.ttl_ns;
	offer.put.flags = ours.flags & WW_PUT_REPLACE ? WW_WIRE_PUT_FLAG_REPLACE : 0;
	if (name)
		memcpy(offer.put.name, name, strlen(name));
	return ww_offer_put(&offer, &memory->attachments, broker, ours.timeout_ns);
}

ww_status ww_memory_seal(ww_memory *memory, ww_broker *broker, uint32_t state)
{
	struct ww_wire_seal message = {.state = (uint8_t)state};
	WW_AUTO_REQUEST struct ww_request request;

	ww_request_init(&request, WW_WIRE_SEAL, WW_WIRE_DONE, &message);
	ww_try(ww_process_enter());
	ww_require(memory && broker, "ww_memory_seal: memory or broker is NULL");
	if (state != WW_STATE_SEALED && state != WW_STATE_SHARED)
		return ww_fail(WW_ERR_INVALID,
			"writing cannot end in state %" PRIu32
			"; use WW_STATE_SEALED or WW_STATE_SHARED",
			state);
	memcpy(message.id, memory->description.object_id, sizeof(message.id));
	return ww_connection_ask(broker, &request);
}
