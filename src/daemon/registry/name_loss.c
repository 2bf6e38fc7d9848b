/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_loss.c - what is told of an object whose name was removed or given to another object, see
 * name_loss.h
 *
 * The record has it in the place of the description, which no process gets any more. That of a
 * memory stays, since listings show it.
 */
#include "daemon/registry/name_loss.h"

#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/key_hash.h"
#include "daemon/registry/last_will.h"
#include "daemon/registry/object.h"

/* As many as a barrier has members: who puts more inside of it delays the requests of others. */
#define INSIDE_MOST 1024

/* --- pages --- */

static void page_tell(const struct registry *registry, const struct object *object, uint8_t what)
{
	struct ww_layout_signal_page *page;

	if (last_will_borrow(registry, object, &page) < 0) {
		ww_log_debug("name loss: %s", ww_error_last()->message);
		return;
	}
	ww_signal_page_lose_name(page, object->extra->last_will->bytes, what);
	last_will_give_back(object, page);
}

/* Tells at most so many of the pages that a holder has put inside. Return: how many it told. */
static uint32_t pages_tell_inside(const struct registry *registry, const struct object *outer,
	const struct holder *holder, uint8_t what, uint32_t most)
{
	uint32_t count = 0;

	ww_list_for_each (link, &holder->signal_pages) {
		const struct object *object = ww_container(link, struct object, of_creator);

		if (count == most)
			break;
		if (object_find_outer(registry, object) != outer)
			continue;
		page_tell(registry, object, what);
		count++;
	}
	return count;
}

void name_loss_tell(const struct registry *registry, const struct object *object, uint8_t what)
{
	uint32_t left = INSIDE_MOST;

	if (what != WW_WIRE_WHAT_REPLACED && what != WW_WIRE_WHAT_REMOVED)
		return;
	if (object->extra->last_will) {
		page_tell(registry, object, what);
		return;
	}
	if (object_record(registry, object)->fd_count > 0)
		return;
	for (uint32_t at = object->newest_hold; at && left > 0;) {
		const struct hold *hold = table_item(&registry->hold_table, at - 1);

		if (!hold->is_escrow)
			left -= pages_tell_inside(registry, object, hold->holder, what, left);
		at = hold->older;
	}
}

void name_loss_count_part(const struct registry *registry, const struct object *object)
{
	struct ww_layout_signal_page *page;

	if (!object->extra->last_will || !object_may_have_parts(object_record(registry, object)))
		return;
	if (last_will_borrow(registry, object, &page) < 0) {
		ww_log_debug("name loss: %s", ww_error_last()->message);
		return;
	}
	__atomic_add_fetch(&page->parts_lost, 1, __ATOMIC_RELEASE);
	last_will_give_back(object, page);
}

/* --- which process --- */

static struct ww_layout_name_loss name_loss_make(uint8_t what, uint32_t pid, uint32_t uid)
{
	return (struct ww_layout_name_loss){.what = what, .pid = pid, .uid = uid};
}

struct ww_layout_name_loss name_loss_by(const struct registry *registry,
	const struct holder *holder)
{
	const struct ww_layout_holder_record *record = holder_record(registry, holder);
	struct ww_layout_name_loss loss = name_loss_make(WW_WIRE_WHAT_REMOVED, record->pid,
		record->uid);

	memcpy(loss.program, record->program, sizeof(loss.program));
	return loss;
}

struct ww_layout_name_loss name_loss_to(const struct registry *registry,
	const struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	struct ww_layout_name_loss loss = name_loss_make(WW_WIRE_WHAT_REPLACED, record->maker_pid,
		record->uid);

	if (object->creator) /* else the broker was killed meanwhile, and that one has ended */
		memcpy(loss.program, holder_record(registry, object->creator)->program,
			sizeof(loss.program));
	return loss;
}

/* --- in the record --- */

/* The removed object of an id that was put last. Return: NULL: there is none. */
static struct ww_layout_object_record *record_find_removed(const struct registry *registry,
	const uint8_t id[WW_WIRE_ID_BYTES])
{
	struct ww_layout_object_record *found = NULL;

	item_map_for_each (item, &registry->by_id, key_hash_id(id)) {
		struct ww_layout_object_record *record = object_record(registry, item);

		if (record->state == WW_WIRE_STATE_REMOVED &&
			!memcmp(record->id, id, WW_WIRE_ID_BYTES) &&
			(!found || record->generation > found->generation))
			found = record;
	}
	return found;
}

void name_loss_keep(struct registry *registry, const uint8_t id[WW_WIRE_ID_BYTES],
	const struct ww_layout_name_loss *loss)
{
	struct ww_layout_object_record *record = record_find_removed(registry, id);

	if (!record || record->kind == WW_WIRE_KIND_MEMORY)
		return;
	memcpy(record->description, loss, sizeof(*loss));
	/* Last, so that a broker that is killed in between has left no half of it. */
	__atomic_store_n(&record->description_bytes, 0, __ATOMIC_RELEASE);
}

const struct ww_layout_name_loss *name_loss_find(const struct registry *registry,
	const uint8_t id[WW_WIRE_ID_BYTES])
{
	const struct ww_layout_object_record *record = record_find_removed(registry, id);
	const struct ww_layout_name_loss *loss;

	if (!record || record->kind == WW_WIRE_KIND_MEMORY || record->description_bytes > 0)
		return NULL;
	loss = (const struct ww_layout_name_loss *)record->description;
	return loss->what == WW_WIRE_WHAT_REPLACED || loss->what == WW_WIRE_WHAT_REMOVED ? loss
											 : NULL;
}
