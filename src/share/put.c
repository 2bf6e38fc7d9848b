/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put.c - putting a memory into a broker, and sealing it there
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "share/choose_broker.h"
#include "share/part_name.h"
#include "share/put_request.h"
#include "wire/name.h"

#define PARAMS_V1_BYTES sizeof(struct ww_put_params)
#define DEFAULT_MODE    0600
#define MODE_MAX        0777

#define SEALED_READ_ONLY (WW_STATE_SEALED | WW_STATE_READ_ONLY)

#define STATE_TEXT_BYTES 32

/* "shared and read-only", for a message. A number that is no state stays a number. */
static const char *state_text(uint32_t state, char out_text[STATE_TEXT_BYTES])
{
	static const char *const names[] = {[WW_STATE_WRITING] = "writing",
		[WW_STATE_SEALED] = "sealed",
		[WW_STATE_SHARED] = "shared",
		[WW_STATE_REMOVED] = "removed"};
	uint32_t plain = state & ~(uint32_t)WW_STATE_READ_ONLY;

	if (plain >= WW_STATE_WRITING && plain <= WW_STATE_REMOVED)
		snprintf(out_text, STATE_TEXT_BYTES, "%s%s", names[plain],
			plain == state ? "" : " and read-only");
	else
		snprintf(out_text, STATE_TEXT_BYTES, "%" PRIu32, state);
	return out_text;
}

static ww_status check_params(const struct ww_put_params *params)
{
	char state[STATE_TEXT_BYTES];

	if (params->mode > MODE_MAX)
		return ww_fail(WW_ERR_INVALID,
			"0%" PRIo32 " is no mode of an object; use 0 to 0777", params->mode);
	if (params->life < WW_LIFE_HELD || params->life > WW_LIFE_KEPT)
		return ww_fail(WW_ERR_INVALID,
			"there is no life %" PRIu32 "; use one of WW_LIFE_...", params->life);
	if (params->state != SEALED_READ_ONLY &&
		(params->state < WW_STATE_WRITING || params->state > WW_STATE_SHARED))
		return ww_fail(WW_ERR_INVALID,
			"an object cannot be put in state %s; use WW_STATE_WRITING, WW_STATE_SEALED or "
			"WW_STATE_SHARED",
			state_text(params->state, state));
	if (params->flags & ~WW_PUT_REPLACE || params->reserved)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a put",
			params->reserved ? (uint64_t)params->reserved : params->flags);
	if (params->ttl_ns && params->life != WW_LIFE_KEPT)
		return ww_fail(WW_ERR_INVALID,
			"only an object of life kept has a time to live; use WW_LIFE_KEPT");
	return WW_OK;
}

static bool is_slice(const struct ww_memory *memory)
{
	return memory->class && memory->class->put;
}

/* Memory that was wrapped lives as long as its owner keeps it, and a slice as its pool. */
static ww_status choose_life(const struct ww_memory *memory, struct ww_put_params *ours)
{
	const struct ww_memory *whole = memory->whole ? memory->whole : memory;
	bool has_owner = is_slice(memory) || ww_memory_is_borrowed(whole);

	if (ours->life == 0)
		ours->life = has_owner ? WW_LIFE_OWNER : WW_LIFE_HELD;
	if (is_slice(memory) && ours->ttl_ns)
		return ww_fail(WW_ERR_INVALID,
			"a slice of a pool has no time to live: remove its name, or put a copy");
	if (has_owner && ours->life != WW_LIFE_OWNER)
		return ww_fail(WW_ERR_INVALID,
			"put %s with WW_LIFE_OWNER, or put a copy: it lives as long as its owner %s",
			is_slice(memory) ? "a slice" : "memory that was wrapped",
			is_slice(memory) ? "has the pool" : "keeps it");
	return WW_OK;
}

/* The owner of a pool, and who holds it for writing, can write all of its slices. */
static ww_status choose_state(const struct ww_memory *memory, struct ww_put_params *ours)
{
	if (!(ours->state & ~(uint32_t)WW_STATE_READ_ONLY))
		ours->state |= is_slice(memory) ? WW_STATE_SHARED : WW_STATE_SEALED;
	if (is_slice(memory) && ours->state != WW_STATE_SHARED)
		return ww_fail(WW_ERR_INVALID,
			"a slice of a pool cannot be sealed or put as being written: put it with "
			"WW_STATE_SHARED when its bytes are there, or put a copy");
	return WW_OK;
}

static ww_status read_params(const struct ww_put_params *params, const struct ww_memory *memory,
	struct ww_put_params *ours)
{
	memset(ours, 0, sizeof(*ours));
	if (params)
		ww_try(ww_params_read(ours, sizeof(*ours), params, PARAMS_V1_BYTES,
			"ww_put_params"));
	if (ours->mode == 0)
		ours->mode = DEFAULT_MODE;
	ww_try(choose_life(memory, ours));
	ww_try(choose_state(memory, ours));
	if (ours->gid == 0)
		ours->gid = WW_GID_OWN;
	return check_params(ours);
}

/*
 * Makes the mapping read-only if the state says so: before the broker has the object, so that no
 * process that gets it sees a later store of this one.
 * @out_changed:  it must be made writable again if the object is not sealed
 */
static ww_status protect(struct ww_mapping *mapping, uint32_t state, bool *out_changed)
{
	*out_changed = false;
	if (state & WW_STATE_READ_ONLY)
		return ww_mapping_protect(mapping, WW_ACCESS_READ, out_changed);
	return WW_OK;
}

/* Leaves the error record alone. */
static void unprotect(struct ww_mapping *mapping)
{
	struct ww_error record;
	bool changed;

	ww_error_save(&record);
	ww_mapping_protect(mapping, WW_ACCESS_WRITE, &changed);
	ww_error_restore(&record);
}

/* What another process put, and this one has got, only gets a further name. */
static ww_status init_request(struct ww_put_request *request, struct ww_memory *memory,
	struct ww_broker *broker, const struct ww_put_params *ours)
{
	uint32_t state = ours->state & ~(uint32_t)WW_STATE_READ_ONLY;
	uint8_t id[WW_OBJECT_ID_BYTES];

	if (ww_hold_ref_find(&ww_memory_whole(memory)->attachments, broker, id) &&
		ww_broker_client_is_others(broker, id) &&
		ww_broker_client_version(broker) >= WW_REMOVES_NAMES)
		return ww_put_request_init_further(request, memory, state, ours->array);
	return ww_put_request_init(request, memory, state, ours->array);
}

ww_status ww_memory_put(ww_memory *memory, ww_broker *broker, const char *name,
	const struct ww_put_params *params, uint64_t timeout_ns, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_BROKER struct ww_broker *opened = NULL;
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};
	WW_AUTO_PART_NAME struct ww_part_name *part_name = NULL;
	struct ww_put_params ours;
	struct ww_memory *whole;
	ww_status status;
	bool is_protected;

	ww_try(ww_process_enter());
	ww_require(memory, "ww_memory_put: memory is NULL");
	ww_try(ww_memory_check(memory));
	ww_try(read_params(params, memory, &ours));
	if (name)
		ww_try(ww_name_check(name));
	if (ours.array)
		ww_try(ww_array_check(ours.array, memory->bytes));
	whole = ww_memory_whole(memory);
	ww_try(ww_hold_ref_check(&whole->attachments));
	status = ww_choose_broker_of(memory, &broker, &opened, timeout_ns);
	if (status != WW_OK)
		return status;
	if (is_slice(memory))
		return memory->class->put(memory, broker, name, &ours, timeout_ns);
	ww_try(init_request(&request, memory, broker, &ours));
	request.put.life = (uint8_t)ours.life;
	request.put.mode = ours.mode;
	request.put.gid = ours.gid;
	request.put.ttl_ns = ours.ttl_ns;
	request.put.flags |= ours.flags & WW_PUT_REPLACE ? WW_WIRE_PUT_FLAG_REPLACE : 0;
	if (name)
		memcpy(request.put.name, name, strlen(name));
	ww_try(ww_part_name_new(memory, broker, name, &part_name));
	ww_try(protect(whole->mapping, ours.state, &is_protected));
	status = ww_put_request_put(&request, &whole->attachments, broker, timeout_ns);
	if (status == WW_OK || status == WW_ERR_NO_BROKER || status == WW_CANCELLED)
		ww_part_name_attach(ww_steal(part_name), memory, request.put.id, status == WW_OK);
	if (status != WW_OK && is_protected)
		unprotect(whole->mapping);
	return status;
}

/*
 * The object may be ready without a name, or not be in the broker. Only in the first case a second
 * request, which changes nothing, succeeds. The error record stays.
 */
static bool is_ready_unnamed(struct ww_broker *broker, const struct ww_wire_seal *message)
{
	WW_AUTO_REQUEST struct ww_request request;
	struct ww_error record;
	ww_status status;

	ww_error_save(&record);
	ww_request_init(&request, WW_WIRE_SEAL, WW_WIRE_DONE, message);
	status = ww_broker_client_ask(broker, &request);
	ww_error_restore(&record);
	return status == WW_OK;
}

ww_status ww_memory_publish(ww_memory *memory, ww_broker *broker, uint32_t state, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct ww_wire_seal message = {.state = (uint8_t)state};
	struct ww_memory *whole = memory ? ww_memory_whole(memory) : NULL;
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	struct ww_description description;
	WW_AUTO_REQUEST struct ww_request request;
	char text[STATE_TEXT_BYTES];
	bool is_protected;
	ww_status status;

	ww_request_init(&request, WW_WIRE_SEAL, WW_WIRE_DONE, &message);
	ww_try(ww_process_enter());
	ww_require(whole, "ww_memory_publish: memory is NULL");
	ww_try(ww_memory_check(memory));
	if (state != WW_STATE_SEALED && state != WW_STATE_SHARED && state != SEALED_READ_ONLY)
		return ww_fail(WW_ERR_INVALID,
			"writing cannot end in state %s; use WW_STATE_SEALED or WW_STATE_SHARED",
			state_text(state, text));
	ww_try(ww_memory_describe(memory, &description));
	ww_try(ww_hold_ref_check(&whole->attachments));
	memcpy(message.id, description.object_id, sizeof(message.id));
	ww_try(ww_choose_broker_of(memory, &broker, &opened, 0));
	ww_try(protect(whole->mapping, state, &is_protected));
	status = ww_broker_client_ask(broker, &request);
	if (status == WW_OK || (status == WW_ERR_NOT_FOUND && is_ready_unnamed(broker, &message)))
		ww_hold_ref_note_state(&whole->attachments, broker, message.state);
	else if (is_protected)
		unprotect(whole->mapping);
	return status;
}
