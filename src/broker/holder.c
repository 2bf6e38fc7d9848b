/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holder.c - processes that hold objects, see registry.h
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "broker/mourning.h"
#include "broker/registry_items.h"

/* Who is mourned costs as much as who is connected: there are only so many holders. */
static const struct charge one_mourned = {.connections = 1};

struct holder *holder_find(const struct registry *registry, const uint8_t process_id[16])
{
	for (struct ww_map_node *node =
			ww_map_first(&registry->by_process, registry_hash_id(process_id));
		node; node = ww_map_next(node)) {
		struct holder *holder = ww_container(node, struct holder, by_process);

		if (!memcmp(holder_record(registry, holder)->process_id, process_id,
			    WW_WIRE_ID_BYTES))
			return holder;
	}
	return NULL;
}

struct holder *holder_find_number(const struct registry *registry, uint64_t number)
{
	for (struct ww_map_node *node =
			ww_map_first(&registry->by_number, registry_hash_number(number));
		node; node = ww_map_next(node)) {
		struct holder *holder = ww_container(node, struct holder, by_number);

		if (holder_record(registry, holder)->number == number)
			return holder;
	}
	return NULL;
}

ww_status holder_item(struct registry *registry, uint32_t index, struct holder **out_holder)
{
	const struct ww_layout_holder_record *record = table_record(&registry->holder_table, index);
	struct holder *holder;
	ww_status status;

	ww_try(slab_reserve(&registry->holders, index));
	holder = slab_item(&registry->holders, index);
	memset(holder, 0, sizeof(*holder));
	holder->index = index;
	ww_list_init(&holder->holds);
	ww_list_init(&holder->put);
	ww_list_init(&holder->pages);
	ww_list_init(&holder->peers);
	holder->account = account_get(&registry->accounts, record->uid);
	if (!holder->account)
		return WW_ERR_NO_MEMORY;
	status = ww_map_insert(&registry->by_number, &holder->by_number,
		registry_hash_number(record->number));
	if (status == WW_OK && record->state != HOLDER_MOURNED) {
		status = ww_map_insert(&registry->by_process, &holder->by_process,
			registry_hash_id(record->process_id));
		if (status < 0)
			ww_map_remove(&registry->by_number, &holder->by_number);
	}
	if (status < 0) {
		account_put(&registry->accounts, holder->account);
		return status;
	}
	if (record->state == HOLDER_MOURNED)
		(void)account_charge_anyway(&registry->accounts, holder->account, &one_mourned);
	*out_holder = holder;
	return WW_OK;
}

ww_status holder_add(struct registry *registry, const uint8_t process_id[16], uint32_t pid,
	uid_t uid, gid_t gid, int pidfd, const char *program, struct holder **out_holder)
{
	struct ww_layout_holder_record *record;
	ww_status status = WW_OK;
	uint32_t index;

	*out_holder = NULL;
	ww_try(table_take(&registry->holder_table, &index));
	record = table_record(&registry->holder_table, index);
	record->pid = pid;
	record->uid = uid;
	record->gid = gid;
	record->number = ++*table_value(&registry->holder_table, 0);
	record->since_ns = ww_clock_now_ns();
	record->pidfd = NO_PIDFD;
	memcpy(record->process_id, process_id, sizeof(record->process_id));
	memcpy(record->program, program, strnlen(program, sizeof(record->program) - 1));
	if (pidfd >= 0)
		status = vault_keep(registry->vault, &pidfd, 1, &record->pidfd);
	if (status == WW_OK)
		status = holder_item(registry, index, out_holder);
	if (status < 0) {
		if (record->pidfd != NO_PIDFD)
			vault_drop(registry->vault, &record->pidfd, 1);
		table_give(&registry->holder_table, index);
		return status;
	}
	table_commit(&registry->holder_table, index, 1);
	return WW_OK;
}

/* Its objects have no maker any more; those that live with it, or were not finished, end. */
static void end_put(struct registry *registry, struct holder *holder)
{
	struct ww_list *link;

	while ((link = ww_list_take_first(&holder->put))) {
		struct object *object = ww_container(link, struct object, of_maker);
		struct ww_layout_object_record *record = object_record(registry, object);

		object->maker = NULL;
		record->maker = 0;
		if (record->state == WW_WIRE_STATE_WRITING)
			object_end(registry, object, WW_WIRE_WHAT_LOST);
		else if (object_ends_with_maker(record))
			object_end(registry, object, WW_WIRE_WHAT_GONE);
		else
			object_remains(registry,
				object); /* the former broker was killed amid that */
	}
}

bool holder_is_mourned(const struct registry *registry, const struct holder *holder)
{
	return holder_record(registry, holder)->state == HOLDER_MOURNED;
}

bool holder_has_pidfd(const struct registry *registry, const struct holder *holder)
{
	return holder_record(registry, holder)->pidfd != NO_PIDFD;
}

bool holder_is_over(const struct registry *registry, const struct holder *holder)
{
	const struct ww_layout_holder_record *record = holder_record(registry, holder);
	struct pollfd pidfd = {.fd = (int)record->pidfd, .events = POLLIN};

	return holder_has_pidfd(registry, holder) && poll(&pidfd, 1, 0) > 0;
}

void holder_mourn(struct registry *registry, struct holder *holder)
{
	if (ww_list_is_empty(&holder->pages))
		return;
	if (!holder_is_mourned(registry, holder)) {
		table_commit(&registry->holder_table, holder->index, HOLDER_MOURNED);
		ww_map_remove(&registry->by_process, &holder->by_process);
		(void)account_charge_anyway(&registry->accounts, holder->account, &one_mourned);
	}
	ww_list_for_each (link, &holder->pages) {
		if (testament_is_enough(registry))
			return;
		(void)testament_execute(registry, ww_container(link, struct object, of_maker),
			false);
	}
}

/*
 * No store of its process can come any more: nor does anything else. Those that are left have their turn by the pidfd; but
 * one that could not be buried has it by the mourning, for the pidfd goes on firing.
 */
static void bury_pages(struct registry *registry, struct holder *holder)
{
	struct ww_list *link = holder->pages.next;

	while (link != &holder->pages && !testament_is_enough(registry)) {
		struct object *object = ww_container(link, struct object, of_maker);

		link = link->next;
		if (!object_bury(registry, object) && holder->watch)
			uv_poll_stop(holder->watch);
	}
}

/* The objects end, their testaments stay. */
static void end_pages(struct registry *registry, struct holder *holder)
{
	struct ww_list *link = holder->pages.next;

	while (link != &holder->pages) {
		struct object *object = ww_container(link, struct object, of_maker);

		link = link->next;
		object_mourn(registry, object);
	}
}

static void let_go(struct registry *registry, struct holder *holder)
{
	while (!ww_list_is_empty(&holder->holds))
		hold_drop(registry, ww_container(holder->holds.next, struct hold, of_holder));
	if (holder->has_reservation)
		account_return(&registry->accounts, holder->account, &holder->reservation);
	holder->has_reservation = false;
}

static void close_watch(uv_handle_t *handle)
{
	free(handle);
}

static void forget(struct registry *registry, struct holder *holder)
{
	struct ww_layout_holder_record *record = holder_record(registry, holder);

	if (holder_is_mourned(registry, holder))
		account_return(&registry->accounts, holder->account, &one_mourned);
	else
		ww_map_remove(&registry->by_process, &holder->by_process);
	ww_map_remove(&registry->by_number, &holder->by_number);
	account_put(&registry->accounts, holder->account);
	if (holder->watch)
		uv_close((uv_handle_t *)holder->watch, close_watch);
	__atomic_store_n(&record->state, 0, __ATOMIC_RELEASE);
	if (record->pidfd != NO_PIDFD)
		vault_drop(registry->vault, &record->pidfd, 1);
	table_give(&registry->holder_table, holder->index);
}

void holder_end(struct registry *registry, struct holder *holder)
{
	/* Asked first: what comes after it is the last word. */
	bool is_over = holder_is_over(registry, holder);

	ww_assert(ww_list_is_empty(&holder->peers));
	if (!holder_is_mourned(registry, holder))
		holder_mourn(registry, holder);
	if (is_over)
		bury_pages(registry, holder);
	end_pages(registry, holder);
	end_put(registry, holder);
	let_go(registry, holder);
	if (ww_list_is_empty(&holder->pages))
		forget(registry, holder);
}
