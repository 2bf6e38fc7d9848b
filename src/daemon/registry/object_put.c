/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_put.c - how objects come: put, sealed, or left by a former broker; their secrets
 *
 * A record is filled, then everything that can fail is done, then its state is stored: from then on
 * the object counts. See object.h.
 */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "daemon/registry/delivery_counts.h"
#include "daemon/registry/expiry.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/key_hash.h"
#include "daemon/registry/last_will.h"
#include "daemon/registry/object.h"

/*
 * Draws the two secrets that tokens of an object carry, one for each access. Return: WW_OK;
 * WW_ERR_SYSTEM (the record is as it was).
 */
static ww_status object_choose_secrets(struct ww_layout_object_record *record)
{
	uint8_t secrets[2][WW_WIRE_ID_BYTES];

	ww_try(ww_random_bytes(secrets, sizeof(secrets)));
	memcpy(record->read_secret, secrets[0], sizeof(record->read_secret));
	memcpy(record->write_secret, secrets[1], sizeof(record->write_secret));
	return WW_OK;
}

/*
 * Undoes a put that failed: its record is taken, and filled in part; the object is in no map.
 */
static void object_undo_put(struct registry *registry, struct object *object, uint32_t index)
{
	const struct ww_layout_object_record *record = table_record(&registry->object_table, index);

	if (record->fd_count > 0)
		fdstore_drop(registry->fdstore, record->fds, record->fd_count);
	if (object) {
		object_disown(registry, object);
		last_will_close(registry, object);
		object_forget_account(registry, object);
		object_free_extra(object);
	}
	table_give(&registry->object_table, index);
}

/* What objects that are put and adopted have in common. On failure nothing of it is left. */
static ww_status object_enter(struct registry *registry, struct object *object)
{
	ww_status status = last_will_open(registry, object);

	if (status == WW_OK && object_record(registry, object)->state != WW_WIRE_STATE_REMOVED)
		status = object_arm(registry, object);
	if (status == WW_OK)
		status = object_map(registry, object);
	if (status < 0) {
		expiry_stop(&object->extra->expiry);
		last_will_close(registry, object);
	}
	return status;
}

/* Fills the record and the item, and stores the state last, so that the object counts. */
static ww_status object_build(struct registry *registry, uint32_t index, struct holder *creator,
	const struct ww_wire_put *put, const int *fds, size_t fd_count, struct object **out_object)
{
	struct ww_layout_object_record *record = table_record(&registry->object_table, index);
	struct object *object;
	ww_status status;
	const struct ww_layout_holder_record *process = holder_record(registry, creator);

	record->kind = put->kind;
	record->life = put->life;
	record->mode = (uint16_t)put->mode;
	record->uid = process->uid;
	record->maker_pid = process->pid;
	record->bytes = put->bytes;
	record->created_ns = ww_clock_now_ns();
	record->expires_ns = expiry_point(record->created_ns, put->ttl_ns);
	record->maker = process->number;
	record->generation = ++*table_value(&registry->object_table, 0);
	memcpy(record->id, put->id, sizeof(record->id));
	memcpy(record->home_uuid, put->home_uuid, sizeof(record->home_uuid));
	memcpy(record->fd_access, put->fd_access, sizeof(record->fd_access));
	if (put->flags & WW_WIRE_PUT_FLAG_STAYS)
		last_will_stay(record);
	memcpy(record->name, put->name, strlen(put->name));
	memcpy(record->description, put->description, put->description_bytes);
	record->description_bytes = put->description_bytes;
	ww_try(object_choose_secrets(record));
	ww_try(object_item(registry, index, out_object));
	object = *out_object;
	if (fd_count != 0) {
		ww_try(fdstore_keep(registry->fdstore, fds, fd_count, record->fds));
		record->fd_count = (uint8_t)fd_count;
	}
	ww_try(object_enter(registry, object));
	object_belongs(registry, object, creator);
	status = hold_take(registry, creator, object, WW_WIRE_ACCESS_WRITE);
	if (status < 0) {
		object_unmap_name(registry, object);
		object_unmap_id(registry, object);
		expiry_stop(&object->extra->expiry);
		return status;
	}
	table_commit(&registry->object_table, index, put->state);
	return WW_OK;
}

ww_status object_put(struct registry *registry, struct holder *creator,
	const struct ww_wire_put *put, const int *fds, size_t fd_count, uint64_t host_bytes,
	gid_t gid, struct object **out_object)
{
	struct ww_layout_object_record *record;
	struct object *object = NULL;
	struct charge charge;
	ww_status status;
	uint32_t index;

	*out_object = NULL;
	ww_try(table_take(&registry->object_table, &index));
	record = table_record(&registry->object_table, index);
	record->gid = gid;
	record->host_bytes = host_bytes;
	charge = (struct charge){.bytes = put->bytes,
		.host_bytes = host_bytes,
		.objects = 1,
		.fds = object_count_fds(put->fd_access, fd_count)};
	status = account_charge(&registry->accounts, creator->account, &charge);
	if (status == WW_OK) {
		status = object_build(registry, index, creator, put, fds, fd_count, &object);
		if (status < 0)
			account_return(&registry->accounts, creator->account, &charge);
	}
	if (status != WW_OK) {
		object_undo_put(registry, object, index);
		return status;
	}
	registry->bytes += put->bytes;
	device_total_add(object_total(object), record);
	delivery_counts_enter(registry, object);
	*out_object = object;
	name_announce(registry, name_first(object), true);
	return WW_OK;
}

bool object_agrees(const struct registry *registry, const struct object *object,
	const struct ww_wire_put *put, gid_t gid)
{
	const struct ww_layout_object_record *record = object_record(registry, object);

	return record->kind == put->kind && record->state == put->state &&
		record->mode == put->mode && record->gid == gid &&
		(record->life == WW_WIRE_LIFE_OWNER) == (put->life == WW_WIRE_LIFE_OWNER);
}

bool name_agrees(const struct registry *registry, struct name name, const struct ww_wire_put *put)
{
	struct name_fields fields = name_read(registry, name);

	return fields.life == put->life && fields.part == put->part &&
		fields.expires_ns == expiry_point(fields.since_ns, put->ttl_ns) &&
		fields.description_bytes == put->description_bytes &&
		!memcmp(fields.description, put->description, put->description_bytes);
}

void object_seal(struct registry *registry, struct object *object, uint32_t state)
{
	struct name name = name_first(object);

	table_commit(&registry->object_table, object->index, state);
	do {
		name_announce(registry, name, false);
		name.further = further_next(registry, object, name.further);
	} while (name.further);
}

ww_status object_adopt(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	struct charge charge = object_charge(record);
	ww_status status;

	account_charge_anyway(&registry->accounts, object_account(object), &charge);
	status = object_enter(registry, object);
	if (status < 0) {
		account_return(&registry->accounts, object_account(object), &charge);
		return status;
	}
	if (record->state != WW_WIRE_STATE_REMOVED)
		registry->bytes += record->bytes;
	device_total_add(object_total(object), record);
	return WW_OK;
}

ww_status object_revoke(struct registry *registry, struct object *object)
{
	ww_try(object_choose_secrets(object_record(registry, object)));
	object_end_escrows(registry, object);
	return WW_OK;
}
