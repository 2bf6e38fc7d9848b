/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_use.c - who still uses a slice: streams of this process, other processes, tokens in flight,
 * and its name
 *
 * Nothing here begins a use of a slice, or frees its bytes; slice.c does. So the end of a pool can
 * ask here, although slices have references of their pool.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "pool/owner/importers.h"
#include "pool/owner/slice.h"

bool ww_tokens_are_in_flight(const struct ww_pool *pool, const struct ww_slice_tokens *tokens)
{
	return tokens->expected > 0 &&
		tokens->taken + ww_pool_taken(pool, tokens->number) < tokens->expected &&
		ww_clock_now_ns() < tokens->until_ns;
}

uint64_t ww_tokens_deliveries(const struct ww_pool *pool, const struct ww_slice_tokens *tokens)
{
	uint64_t taken;

	if (tokens->sent_ns == 0 || tokens->expected == 0)
		return 0;
	taken = tokens->taken + ww_pool_taken(pool, tokens->number);
	return taken < tokens->expected ? tokens->expected - taken : 0;
}

bool ww_slice_is_streaming(struct ww_slice *slice)
{
	struct ww_release **at = &slice->releases;
	struct ww_release *release;

	while ((release = *at)) {
		if (ww_marks_is_passed(slice->pool->own, &release->cell)) {
			*at = release->next;
			free(release);
		} else {
			at = &release->next;
		}
	}
	return slice->releases != NULL;
}

bool ww_slices_have_streams(struct ww_pool *pool)
{
	ww_list_for_each (link, &pool->waiting) {
		if (ww_slice_is_streaming(ww_container(link, struct ww_slice, link)))
			return true;
	}
	return false;
}

bool ww_slice_has_formers(struct ww_slice *slice)
{
	struct ww_former_number **at = &slice->formers;
	struct ww_pool *pool = slice->pool;
	struct ww_former_number *former;

	while ((former = *at)) {
		if (ww_pool_knows_all(pool) && !ww_pool_is_marked(pool, former->number)) {
			*at = former->next;
			ww_pool_give_slot(pool, former->number);
			pool->former_count--;
			free(former);
		} else {
			at = &former->next;
		}
	}
	return slice->formers != NULL;
}

/* Slots that were closed by revocations come back when they are needed. */
bool ww_slices_have_slot(struct ww_pool *pool)
{
	if (pool->free_slot_count > 0 || pool->slots_touched < pool->slot_count)
		return true;
	if (pool->former_count > 0 && !ww_pool_knows_all(pool))
		(void)ww_pool_meet_holders(pool);
	for (uint32_t slot = 0; pool->former_count > 0 && slot < pool->slot_count; slot++) {
		if (pool->slices[slot])
			(void)ww_slice_has_formers(pool->slices[slot]);
	}
	return pool->free_slot_count > 0;
}

/*
 * Whether no process uses the slice by that number. A process that hands it on to another one is
 * seen too: the process that takes it counts that, so the count differs before and after the look.
 */
static bool is_number_unused(const struct ww_pool *pool, uint64_t number)
{
	uint64_t taken = ww_pool_taken(pool, number);

	return ww_pool_knows_all(pool) && !ww_pool_is_marked(pool, number) &&
		ww_pool_taken(pool, number) == taken;
}

static bool is_unused(struct ww_slice *slice)
{
	if (ww_slice_is_streaming(slice) || ww_slice_has_formers(slice) || slice->name_number)
		return false;
	for (uint32_t i = 0; i < slice->kind_count; i++) {
		const struct ww_slice_tokens *tokens = &slice->tokens[i];

		if (tokens->is_shared && !is_number_unused(slice->pool, tokens->number))
			return false;
	}
	return true;
}

/* In this order, see slice_table.h. */
bool ww_slice_is_free(struct ww_slice *slice)
{
	struct ww_slice_table *table = &slice->pool->table;

	if (!is_unused(slice))
		return false;
	for (uint32_t i = 0; i < slice->kind_count; i++)
		ww_slice_table_close_slot(table, ww_slice_slot(slice->tokens[i].number));
	if (is_unused(slice))
		return true;
	for (uint32_t i = 0; i < slice->kind_count; i++) /* a process came just before */
		ww_slice_table_reopen_slot(table, slice->tokens[i].number);
	return false;
}

void ww_formers_free(struct ww_former_number *formers)
{
	struct ww_former_number *former;

	while ((former = formers)) {
		formers = former->next;
		free(former);
	}
}

void ww_slice_free(struct ww_slice *slice)
{
	ww_formers_free(slice->formers);
	free(slice);
}
