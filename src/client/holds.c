/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holds.c - the objects of one broker that this process holds, see holds.h
 */
#include "client/holds.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

/* A map allocates at its first insertion only. That is done here, so later ones cannot fail. */
ww_status ww_holds_init(struct ww_holds *holds)
{
	struct ww_map_node first;

	memset(holds, 0, sizeof(*holds));
	ww_list_init(&holds->all);
	ww_list_init(&holds->due);
	ww_try(ww_map_insert(&holds->map, &first, 0));
	ww_map_remove(&holds->map, &first);
	return WW_OK;
}

struct ww_hold *ww_hold_new(void)
{
	struct ww_hold *hold = calloc(1, sizeof(*hold));

	if (!hold)
		ww_fail(WW_ERR_NO_MEMORY, "cannot hold an object: out of memory");
	return hold;
}

/* Ids are random: any eight bytes of one are a hash. */
static uint64_t hash_of(const uint8_t id[WW_WIRE_ID_BYTES])
{
	uint64_t hash;

	memcpy(&hash, id, sizeof(hash));
	return hash;
}

static bool is_same(const uint8_t a[WW_WIRE_ID_BYTES], const uint8_t b[WW_WIRE_ID_BYTES])
{
	return memcmp(a, b, WW_WIRE_ID_BYTES) == 0;
}

static struct ww_hold *hold_of(struct ww_map_node *node)
{
	return ww_container(node, struct ww_hold, node);
}

struct ww_hold *ww_holds_find(const struct ww_holds *holds, const uint8_t id[WW_WIRE_ID_BYTES])
{
	struct ww_map_node *node = ww_map_first(&holds->map, hash_of(id));

	while (node && !is_same(hold_of(node)->id, id))
		node = ww_map_next(node);
	return node ? hold_of(node) : NULL;
}

bool ww_hold_is_live(const struct ww_hold *hold)
{
	return hold && hold->count > 0 && !hold->is_lost;
}

struct ww_hold *ww_holds_take(struct ww_holds *holds, const uint8_t id[WW_WIRE_ID_BYTES],
	bool is_own, struct ww_hold **spare)
{
	struct ww_hold *hold = ww_holds_find(holds, id);

	if (!hold) {
		hold = ww_steal(*spare);
		ww_assert(hold);
		memset(hold, 0, sizeof(*hold));
		ww_list_init(&hold->due);
		ww_list_append(&holds->all, &hold->link);
		memcpy(hold->id, id, sizeof(hold->id));
		ww_assert(ww_map_insert(&holds->map, &hold->node, hash_of(id)) == WW_OK);
	}
	ww_list_remove(&hold->due);
	if (is_own && hold->count == 0) {
		free(hold->removed_name);
		hold->removed_name = NULL;
	}
	hold->is_lost = false;
	hold->is_own = hold->is_own || is_own;
	hold->count++;
	return hold;
}

void ww_holds_drop(struct ww_holds *holds, struct ww_hold *hold)
{
	ww_assert(hold->count > 0);
	if (--hold->count > 0)
		return;
	if (hold->is_lost)
		ww_holds_forget(holds, hold);
	else
		ww_list_append(&holds->due, &hold->due);
}

void ww_holds_forget(struct ww_holds *holds, struct ww_hold *hold)
{
	ww_assert(hold->count == 0);
	ww_list_remove(&hold->due);
	ww_list_remove(&hold->link);
	ww_map_remove(&holds->map, &hold->node);
	free(hold->removed_name);
	free(hold);
}

struct ww_hold *ww_holds_first_due(const struct ww_holds *holds)
{
	if (ww_list_is_empty(&holds->due))
		return NULL;
	return ww_container(holds->due.next, struct ww_hold, due);
}

void ww_holds_forget_due(struct ww_holds *holds)
{
	struct ww_list removed;
	struct ww_list *link;

	ww_list_init(&removed);
	while ((link = ww_list_take_first(&holds->due)) != NULL) {
		struct ww_hold *hold = ww_container(link, struct ww_hold, due);

		if (hold->removed_name)
			ww_list_append(&removed, link);
		else
			ww_holds_forget(holds, hold);
	}
	while ((link = ww_list_take_first(&removed)) != NULL)
		ww_list_append(&holds->due, link);
}

void ww_holds_lose_all(struct ww_holds *holds)
{
	struct ww_hold *due;

	while ((due = ww_holds_first_due(holds)) != NULL)
		ww_holds_forget(holds, due);
	ww_list_for_each (link, &holds->all)
		ww_container(link, struct ww_hold, link)->is_lost = true;
}

size_t ww_holds_live_count(const struct ww_holds *holds)
{
	size_t count = 0;

	ww_list_for_each (link, &holds->all)
		count += ww_hold_is_live(ww_container(link, struct ww_hold, link));
	return count;
}

size_t ww_holds_list(const struct ww_holds *holds, struct ww_wire_held *out_ids)
{
	size_t count = 0;

	ww_list_for_each (link, &holds->all) {
		const struct ww_hold *hold = ww_container(link, struct ww_hold, link);

		if (!ww_hold_is_live(hold) && !hold->removed_name)
			continue;
		if (out_ids)
			memcpy(out_ids[count].id, hold->id, sizeof(hold->id));
		count++;
	}
	return count;
}

void ww_holds_note_release(struct ww_holds *holds, const uint8_t id[WW_WIRE_ID_BYTES],
	uint64_t sequence)
{
	size_t at = holds->release_count % WW_HOLDS_RELEASES;

	memcpy(holds->releases[at].id, id, WW_WIRE_ID_BYTES);
	holds->releases[at].sequence = sequence;
	holds->release_count++;
}

bool ww_holds_may_be_released(const struct ww_holds *holds, const uint8_t id[WW_WIRE_ID_BYTES],
	uint64_t sequence)
{
	uint64_t last = holds->release_count;

	for (uint64_t i = 1; i <= last; i++) {
		size_t at = (last - i) % WW_HOLDS_RELEASES;

		if (i > WW_HOLDS_RELEASES)
			return true;
		if (holds->releases[at].sequence <= sequence)
			return false;
		if (is_same(holds->releases[at].id, id))
			return true;
	}
	return false;
}

void ww_holds_fini(struct ww_holds *holds)
{
	struct ww_list *link;

	while ((link = ww_list_take_first(&holds->all)) != NULL) {
		struct ww_hold *hold = ww_container(link, struct ww_hold, link);

		ww_map_remove(&holds->map, &hold->node);
		free(hold->removed_name);
		free(hold);
	}
	ww_map_fini(&holds->map);
}
