/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holder.c - finds holders and keeps their records, see holder.h
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/key_hash.h"

/*
 * A holder that awaits its exit is charged like a connection, for the number of holders is limited.
 */
static const struct charge one_awaiting_exit = {.connections = 1};

struct holder *holder_find(const struct registry *registry, const uint8_t process_id[16])
{
	item_map_for_each (item, &registry->by_process, key_hash_id(process_id)) {
		struct holder *holder = item;

		if (!memcmp(holder_record(registry, holder)->process_id, process_id,
			    WW_WIRE_ID_BYTES))
			return holder;
	}
	return NULL;
}

struct holder *holder_find_number(const struct registry *registry, uint64_t number)
{
	item_map_for_each (item, &registry->by_number, key_hash_number(number)) {
		struct holder *holder = item;

		if (holder_record(registry, holder)->number == number)
			return holder;
	}
	return NULL;
}

ww_status holder_item(struct registry *registry, uint32_t index, struct holder **out_holder)
{
	const struct ww_layout_holder_record *record = table_record(&registry->holder_table, index);
	struct holder *holder = table_item(&registry->holder_table, index);
	ww_status status;

	holder->index = index;
	ww_list_init(&holder->holds);
	ww_list_init(&holder->put);
	ww_list_init(&holder->signal_pages);
	ww_list_init(&holder->peers);
	ww_list_init(&holder->deliveries);
	holder->are_in_order = true;
	ww_list_init(&holder->of_done);
	holder->account = account_get(&registry->accounts, record->uid);
	if (!holder->account)
		return WW_ERR_NO_MEMORY;
	status = item_map_insert(&registry->by_number, index, key_hash_number(record->number));
	if (status == WW_OK && record->state != HOLDER_AWAITS_EXIT) {
		status = item_map_insert(&registry->by_process, index,
			key_hash_id(record->process_id));
		if (status < 0)
			item_map_remove(&registry->by_number, index);
	}
	if (status < 0) {
		account_put(&registry->accounts, holder->account);
		return status;
	}
	if (record->state == HOLDER_AWAITS_EXIT)
		account_charge_anyway(&registry->accounts, holder->account, &one_awaiting_exit);
	size_order_add(&registry->holders_by_size, index);
	holder->account->holders++;
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
	record->pidfd = HOLDER_NO_PIDFD;
	memcpy(record->process_id, process_id, sizeof(record->process_id));
	memcpy(record->program, program, strnlen(program, sizeof(record->program) - 1));
	if (pidfd >= 0)
		status = fdstore_keep(registry->fdstore, &pidfd, 1, &record->pidfd);
	if (status == WW_OK)
		status = holder_item(registry, index, out_holder);
	if (status < 0) {
		if (record->pidfd != HOLDER_NO_PIDFD)
			fdstore_drop(registry->fdstore, &record->pidfd, 1);
		table_give(&registry->holder_table, index);
		return status;
	}
	table_commit(&registry->holder_table, index, 1);
	return WW_OK;
}

void holder_await(struct registry *registry, struct holder *holder)
{
	holder->is_awaited = true;
	account_await(&registry->accounts, holder->account);
	holder_check_done(registry, holder);
}

void holder_attach(struct registry *registry, struct holder *holder)
{
	if (!holder->is_awaited)
		return;
	holder->is_awaited = false;
	account_await_no_more(&registry->accounts, holder->account);
	ww_list_remove(&holder->of_done);
}

void holder_check_done(struct registry *registry, struct holder *holder)
{
	if (holder->is_awaited && holder->held == 0 && holder->put_count == 0 &&
		holder->delivery_count == 0 && ww_list_is_empty(&holder->of_done))
		ww_list_append(&registry->done, &holder->of_done);
}

bool holder_awaits_exit(const struct registry *registry, const struct holder *holder)
{
	return holder_record(registry, holder)->state == HOLDER_AWAITS_EXIT;
}

bool holder_has_pidfd(const struct registry *registry, const struct holder *holder)
{
	return holder_record(registry, holder)->pidfd != HOLDER_NO_PIDFD;
}

bool holder_is_over(const struct registry *registry, const struct holder *holder)
{
	const struct ww_layout_holder_record *record = holder_record(registry, holder);
	struct pollfd pidfd = {.fd = (int)record->pidfd, .events = POLLIN};

	return holder_has_pidfd(registry, holder) && poll(&pidfd, 1, 0) > 0;
}

void holder_begin_exit_wait(struct registry *registry, struct holder *holder)
{
	holder_attach(registry, holder); /* it is charged as one that awaits its exit instead */
	table_commit(&registry->holder_table, holder->index, HOLDER_AWAITS_EXIT);
	item_map_remove(&registry->by_process, holder->index);
	account_charge_anyway(&registry->accounts, holder->account, &one_awaiting_exit);
}

struct size_key holder_size_key(const struct table *table, uint32_t index)
{
	const struct ww_layout_holder_record *record = table_record(table, index);
	const struct holder *holder = table_item(table, index);

	return (struct size_key){byte_sum_told(holder->held_bytes), record->number};
}

/* The order finds a holder by what it holds, so it is out of the order while that changes. */
void holder_count_hold(struct registry *registry, struct holder *holder, uint64_t bytes)
{
	size_order_remove(&registry->holders_by_size, holder->index);
	holder->held++;
	holder->held_bytes += bytes;
	size_order_add(&registry->holders_by_size, holder->index);
}

void holder_count_release(struct registry *registry, struct holder *holder, uint64_t bytes)
{
	size_order_remove(&registry->holders_by_size, holder->index);
	holder->held--;
	holder->held_bytes -= bytes;
	size_order_add(&registry->holders_by_size, holder->index);
}

static void free_exit_poll(uv_handle_t *handle)
{
	free(handle);
}

void holder_free(struct registry *registry, struct holder *holder)
{
	struct ww_layout_holder_record *record = holder_record(registry, holder);

	holder_attach(registry, holder);
	if (holder_awaits_exit(registry, holder))
		account_return(&registry->accounts, holder->account, &one_awaiting_exit);
	else
		item_map_remove(&registry->by_process, holder->index);
	item_map_remove(&registry->by_number, holder->index);
	size_order_remove(&registry->holders_by_size, holder->index);
	holder->account->holders--;
	account_put(&registry->accounts, holder->account);
	if (holder->exit_poll)
		uv_close((uv_handle_t *)holder->exit_poll, free_exit_poll);
	__atomic_store_n(&record->state, 0, __ATOMIC_RELEASE);
	if (record->pidfd != HOLDER_NO_PIDFD)
		fdstore_drop(registry->fdstore, &record->pidfd, 1);
	table_give(&registry->holder_table, holder->index);
}
