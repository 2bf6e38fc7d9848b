/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member.c - a pool of another process: joining it, and mapping its chunks, see member.h
 *
 * A member is known by the pool's id and the broker that granted the pool. It stays until the owner
 * has ended and no slice of the pool is used here. A chunk stays mapped until no slice of it is
 * used here, and the owner has given chunks back or closed the pool. The owner sends no message, it
 * stores into its pages: the release of a slice looks there, and so does each reclaim
 * (deferred_release.h).
 */
#include "pool/member/member.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/error.h"
#include "base/process.h"
#include "base/random.h"
#include "pool/broker_object.h"
#include "share/sync_object.h"
#include "share/token_import.h"
#include "share/hold_ref.h"
#include "wire/name.h"

#define HOLDER_MODE    0444 /* the mode of the pool decides */
#define COUNTS_VERSION 6    /* of the protocol from which on a broker counts deliveries */

static pthread_mutex_t join_lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t members_lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_list members WW_PER_PROCESS = WW_LIST_INIT(members);

/* --- members --- */

static void free_chunks(struct ww_list *chunks)
{
	struct ww_list *link;

	while ((link = ww_list_take_first(chunks))) {
		struct ww_member_chunk *chunk = ww_container(link, struct ww_member_chunk, link);

		ww_memory_unref(chunk->memory);
		free(chunk);
	}
}

static void member_free(struct ww_member *member)
{
	if (!member)
		return;
	free_chunks(&member->chunks);
	ww_timeline_drop(member->life);
	ww_attachments_fini(&member->holder);
	ww_attachments_fini(&member->pool);
	ww_pool_keys_set(&member->keys, NULL);
	ww_marks_free(member->own);
	ww_marks_free(member->marks);
	ww_slice_table_fini(&member->table);
	ww_signal_map_unref(member->page);
	pthread_mutex_destroy(&member->lock);
	free(member->slots);
	free(member);
}

WW_DEFINE_CLEANUP(struct ww_member, member_free)

/* Whether the owner has ended, or has released the pool: nothing new will come from it. */
static bool owner_has_ended(const struct ww_member *member)
{
	const struct ww_layout_signal_cell *cell = ww_signal_map_cell(member->page,
		sizeof(struct ww_layout_signal_page));

	return __atomic_load_n(&member->page->header->lost, __ATOMIC_ACQUIRE) || !cell ||
		__atomic_load_n(&cell->state, __ATOMIC_ACQUIRE) != WW_WIRE_CELL_STATE_LIVE;
}

static uint64_t trims_of(const struct ww_member *member)
{
	return __atomic_load_n(&member->table.header->trims, __ATOMIC_ACQUIRE);
}

/*
 * Under member->lock. Those that the owner may have given back, and no slice here uses: into
 * @out_unused.
 */
static void take_unused(struct ww_member *member, struct ww_list *out_unused)
{
	uint64_t trims = trims_of(member);
	struct ww_list *next;

	for (struct ww_list *link = member->chunks.next; link != &member->chunks; link = next) {
		const struct ww_member_chunk *chunk = ww_container(link, struct ww_member_chunk,
			link);

		next = link->next;
		if (chunk->users > 0 || chunk->trims == trims)
			continue;
		ww_list_remove(link);
		ww_list_append(out_unused, link);
	}
}

/* Takes out a member whose owner has ended, if nothing of it is in use. Under members_lock. */
static void take_if_ended(struct ww_member *member, struct ww_list *out_gone)
{
	if (member->users > 0 || !owner_has_ended(member))
		return;
	ww_list_remove(&member->link);
	ww_list_append(out_gone, &member->link);
}

static void free_gone(struct ww_list *gone)
{
	struct ww_list *link;

	while ((link = ww_list_take_first(gone)))
		member_free(ww_container(link, struct ww_member, link));
}

/* Under member->lock. Whether the driver ends a chunk only when all streams are done. */
static bool is_end_slow(const struct ww_member *member)
{
	ww_list_for_each (link, &member->chunks) {
		if (ww_container(link, struct ww_member_chunk, link)->memory->mapping->end_waits)
			return true;
	}
	return false;
}

static void drop_unused(bool may_wait)
{
	struct ww_list gone = WW_LIST_INIT(gone);
	struct ww_list unused = WW_LIST_INIT(unused);
	struct ww_list *next;
	bool may_drop;

	pthread_mutex_lock(&members_lock);
	for (struct ww_list *link = members.next; link != &members; link = next) {
		struct ww_member *member = ww_container(link, struct ww_member, link);

		next = link->next;
		pthread_mutex_lock(&member->lock);
		may_drop = may_wait || !is_end_slow(member);
		if (may_drop)
			take_unused(member, &unused);
		pthread_mutex_unlock(&member->lock);
		if (may_drop)
			take_if_ended(member, &gone);
	}
	pthread_mutex_unlock(&members_lock);
	free_chunks(&unused);
	free_gone(&gone);
}

/*
 * The entry by which each reclaim looks at the members: an owner may close its pool after the last
 * slice was released here. It is never done.
 */
static struct ww_deferred look WW_PER_PROCESS; /* added under join_lock */

static bool look_is_done(struct ww_deferred *entry)
{
	(void)entry;
	drop_unused(false);
	return false;
}

static const struct ww_deferred_class look_class = {.is_done = look_is_done};

void ww_members_drop_unused(void)
{
	drop_unused(true);
}

void ww_members_each(void (*visit)(struct ww_member *member, void *context), void *context)
{
	pthread_mutex_lock(&members_lock);
	ww_list_for_each (link, &members)
		visit(ww_container(link, struct ww_member, link), context);
	pthread_mutex_unlock(&members_lock);
}

void ww_member_ref(struct ww_member *member)
{
	pthread_mutex_lock(&members_lock);
	member->users++;
	pthread_mutex_unlock(&members_lock);
}

void ww_member_leave(struct ww_member *member)
{
	struct ww_list gone = WW_LIST_INIT(gone);

	if (!member)
		return;
	pthread_mutex_lock(&members_lock);
	member->users--;
	take_if_ended(member, &gone);
	pthread_mutex_unlock(&members_lock);
	free_gone(&gone);
}

/* --- joining: under join_lock --- */

static ww_status open_pool(struct ww_member *member, const struct ww_get_reply *grant)
{
	const struct ww_wire_granted *granted = &grant->granted;
	struct ww_wire_pool_ref ref;

	ww_try(ww_pool_ref_read(granted->description, granted->description_bytes, &ref));
	if (memcmp(ref.pool_id, granted->id, sizeof(ref.pool_id)) != 0 ||
		grant->request.fds_come_count < 2)
		return ww_fail(WW_ERR_PROTOCOL,
			"the pool's description is that of another one, or lacks a descriptor");
	memcpy(member->pool_id, ref.pool_id, sizeof(member->pool_id));
	memcpy(member->keys.pool_id, ref.pool_id, sizeof(ref.pool_id));
	memcpy(member->home_uuid, ref.home_uuid, sizeof(member->home_uuid));
	member->owner_uid = granted->uid;
	member->kind = ref.kind;
	ww_try(ww_get_reply_map_page(grant, ref.page_bytes, ref.page_id, &member->page));
	ww_try(ww_slice_table_import(&member->table, grant->request.fds_come[1], ref.table_bytes,
		ref.pool_id, ref.slot_count));
	member->has_owners_clock = ww_slice_table_has_our_clock(&member->table);
	member->slots = calloc(ref.slot_count, sizeof(*member->slots));
	if (!member->slots)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot count a pool's slices: out of memory");
	return ww_marks_create(ref.pool_id, ref.slot_count, &member->marks);
}

static ww_status create_member(const struct ww_get_reply *grant, struct ww_member **out_member)
{
	WW_CLEANUP(member_free_p) struct ww_member *member = calloc(1, sizeof(*member));

	if (!member)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a pool: out of memory");
	ww_list_init(&member->link);
	ww_list_init(&member->chunks);
	ww_list_init(&member->lagging);
	pthread_mutex_init(&member->lock, NULL);
	ww_try(open_pool(member, grant));
	*out_member = ww_steal(member);
	return WW_OK;
}

/* @counts: the broker reads in the marks what was imported */
static ww_status describe_holder(const struct ww_member *member, struct ww_signal_map *page,
	bool counts, struct ww_put_request *request)
{
	struct ww_wire_pool_holder_ref ref = {
		.page_bytes = page->cpu->bytes,
		.marks_bytes = member->marks->cpu->bytes,
		.slot_count = member->marks->slot_count,
	};

	ww_sync_object_request_init(request, WW_OBJECT_POOL, page->id, NULL);
	request->put.mode = HOLDER_MODE;
	ww_try(ww_sync_object_add_page(request, page));
	ww_try(ww_put_request_add_file(request, member->marks->cpu, WW_ACCESS_READ,
		counts ? WW_PUT_TO_READERS | WW_PUT_COUNTS : WW_PUT_TO_READERS));
	memcpy(ref.page_id, page->id, sizeof(ref.page_id));
	ww_pool_holder_ref_write(&ref, request->put.description);
	request->put.description_bytes = WW_POOL_HOLDER_REF_BYTES;
	return WW_OK;
}

/* Shows the owner this process's marks, under a random name. */
static ww_status show_marks(struct ww_member *member, struct ww_signal_map *page,
	struct ww_broker *broker)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};
	char name[WW_POOL_NAME_BYTES];
	uint64_t number;
	char digits[17];

	ww_try(describe_holder(member, page, ww_broker_client_version(broker) >= COUNTS_VERSION,
		&request));
	ww_try(ww_random_bytes(&number, sizeof(number)));
	snprintf(digits, sizeof(digits), "%016" PRIx64, number);
	ww_pool_name(name, member->pool_id, "holder", digits);
	memcpy(request.put.name, name, sizeof(name));
	return ww_put_request_put(&request, &member->holder, broker, 0);
}

static bool is_given_up(const struct ww_member *member)
{
	return !member->life ||
		__atomic_load_n(&member->life->page->header->lost, __ATOMIC_ACQUIRE);
}

/* A member, new or not, becomes known to the owner by way of this broker. */
static ww_status become_known(struct ww_member *member, struct ww_broker *broker)
{
	WW_AUTO_TIMELINE ww_timeline *life = NULL;
	ww_timeline *former;

	if (!is_given_up(member)) {
		if (ww_hold_ref_is_held(&member->holder, broker))
			return WW_OK;
		return show_marks(member, member->life->page, broker);
	}
	ww_try(ww_timeline_create_alone(&life));
	ww_try(show_marks(member, life->page, broker));
	pthread_mutex_lock(&member->lock);
	former = member->life;
	member->life = ww_steal(life);
	pthread_mutex_unlock(&member->lock);
	ww_timeline_drop(former);
	return WW_OK;
}

struct ww_pool_keys ww_member_keys(struct ww_member *member)
{
	struct ww_pool_keys keys;

	pthread_mutex_lock(&member->lock);
	keys = member->keys;
	pthread_mutex_unlock(&member->lock);
	return keys;
}

void ww_member_learn(struct ww_member *member, const struct ww_pool_keys *keys)
{
	pthread_mutex_lock(&member->lock);
	member->keys = *keys;
	pthread_mutex_unlock(&member->lock);
}

/* What the broker granted is the pool that the token names. */
static ww_status admit(struct ww_import *import, const struct ww_token_content *token,
	struct ww_member *member)
{
	struct ww_pool_keys keys;

	ww_get_reply_keep(&import->grant, &member->pool);
	ww_try(become_known(member, import->grant.broker));
	keys = ww_member_keys(member);
	ww_pool_keys_learn(&keys, token);
	/*
	 * The secrets with which the member can hand slices on, also when the owner is gone by
	 * then. The token's own secret will not do: one for reading may carry that for writing.
	 */
	for (uint32_t access = WW_ACCESS_READ; access <= token->info.access; access++)
		ww_try(ww_pool_keys_get(&keys, access));
	ww_member_learn(member, &keys);
	return WW_OK;
}

/*
 * Whether the token needs no look of the broker's: it is as good as one that the broker has
 * accepted.
 */
static bool is_admitted(struct ww_member *member, const struct ww_broker *broker,
	const struct ww_token_content *token)
{
	bool fits;

	pthread_mutex_lock(&member->lock);
	fits = (!broker || broker == member->keys.broker) && !is_given_up(member) &&
		ww_pool_keys_fit(&member->keys, token);
	pthread_mutex_unlock(&member->lock);
	return fits;
}

/*
 * A member of the pool that @token names. Any process may claim any id, so it must be the member
 * that knows @token; or, if @is_granted, the pool as this very broker has it.
 * Return: counted in its users; NULL: there is none.
 */
static struct ww_member *find_member(const struct ww_broker *broker,
	const struct ww_token_content *token, bool is_granted)
{
	struct ww_member *found = NULL;

	pthread_mutex_lock(&members_lock);
	ww_list_for_each (link, &members) {
		struct ww_member *member = ww_container(link, struct ww_member, link);

		if (!memcmp(member->pool_id, token->info.object_id, sizeof(member->pool_id)) &&
			(is_granted ? member->keys.broker == broker
				    : is_admitted(member, broker, token))) {
			member->users++;
			found = member;
			break;
		}
	}
	pthread_mutex_unlock(&members_lock);
	return found;
}

/* A member that is none yet. Return: counted in its users. */
static ww_status begin_member(struct ww_import *import, const struct ww_token_content *token,
	struct ww_member **out_member)
{
	WW_CLEANUP(member_free_p) struct ww_member *member = NULL;

	ww_try(create_member(&import->grant, &member));
	ww_pool_keys_set(&member->keys, import->grant.broker);
	ww_try(admit(import, token, member));
	member->users = 1;
	pthread_mutex_lock(&members_lock);
	ww_list_append(&members, &member->link);
	pthread_mutex_unlock(&members_lock);
	if (!look.class)
		ww_deferred_add(&look, &look_class);
	*out_member = ww_steal(member);
	return WW_OK;
}

/* The broker decides on the token. */
static ww_status join(struct ww_broker *broker, const struct ww_token_content *token,
	struct ww_member **out_member)
{
	WW_AUTO_MEMBER struct ww_member *member = NULL;
	WW_AUTO_IMPORT struct ww_import import;
	uint64_t begun_ns = ww_clock_now_ns();
	uint64_t limit_ns;
	ww_status status;

	ww_import_init(&import, WW_OBJECT_POOL, token->info.access);
	status = ww_import_ask_read(&import, broker, token);
	if (status == WW_ERR_NOT_FOUND && !import.is_astray)
		return ww_fail(WW_ERR_NOT_FOUND,
			"the pool of the token's slice has ended: its owner has ended or released it");
	ww_try(status);
	/*
	 * More requests follow, and the token may come from any process: all of them together take
	 * no longer than one answer may.
	 */
	limit_ns = ww_broker_client_timeout_ns(import.grant.broker);
	ww_request_limit_all(limit_ns < WW_NEVER - begun_ns ? begun_ns + limit_ns : WW_NEVER);
	ww_try(ww_pool_require_broker(import.grant.broker));
	member = find_member(import.grant.broker, token, true);
	if (!member)
		return begin_member(&import, token, out_member);
	ww_try(admit(&import, token, member));
	*out_member = ww_steal(member);
	return WW_OK;
}

ww_status ww_member_join(struct ww_broker *broker, const struct ww_token_content *token,
	struct ww_member **out_member)
{
	ww_status status = WW_OK;

	*out_member = find_member(broker, token, false);
	if (*out_member)
		return WW_OK;
	ww_members_drop_unused();
	ww_try(ww_lock_unless_cancelled(&join_lock));
	*out_member = find_member(broker, token, false); /* another thread may have been faster */
	if (!*out_member)
		status = join(broker, token, out_member);
	pthread_mutex_unlock(&join_lock);
	return status;
}

ww_status ww_member_join_pool(struct ww_broker *broker, const struct ww_token_content *token,
	struct ww_member **out_member)
{
	ww_status status;

	*out_member = NULL;
	ww_members_drop_unused();
	ww_try(ww_lock_unless_cancelled(&join_lock));
	status = join(broker, token, out_member);
	pthread_mutex_unlock(&join_lock);
	return status;
}

/* --- chunks --- */

/* Under member->lock. Return: counted in its users; NULL. */
static struct ww_member_chunk *find_chunk(struct ww_member *member,
	const struct ww_chunk_request *wanted)
{
	ww_list_for_each (link, &member->chunks) {
		struct ww_member_chunk *chunk = ww_container(link, struct ww_member_chunk, link);

		if (chunk->index == wanted->index &&
			chunk->memory->mapping->device == wanted->device &&
			chunk->memory->access == wanted->access) {
			chunk->trims = trims_of(member);
			chunk->users++;
			return chunk;
		}
	}
	return NULL;
}

static ww_status check_chunk(const struct ww_member *member, const struct ww_get_reply *grant)
{
	if (grant->granted.uid != member->owner_uid ||
		grant->description.memory.kind != member->kind)
		return ww_fail(WW_ERR_PROTOCOL,
			"a chunk of the pool is not its owner's: another process has put it");
	return WW_OK;
}

/* Asks the broker for a chunk. @message: that @grant is made with */
static ww_status ask_chunk(struct ww_get_reply *grant, struct ww_wire_get *message,
	const struct ww_member *member, uint32_t index)
{
	char name[WW_POOL_NAME_BYTES];

	ww_get_reply_init(grant, member->keys.broker, WW_WIRE_GET, message, WW_OBJECT_MEMORY);
	ww_pool_chunk_name(name, member->pool_id, index);
	ww_get_reply_set_name(grant, message, name, 0);
	ww_try(ww_get_reply_ask(grant));
	return check_chunk(member, grant);
}

/* Maps a chunk that the broker has. */
static ww_status get_chunk(struct ww_member *member, const struct ww_chunk_request *wanted,
	struct ww_memory **out_memory)
{
	const struct ww_import_options options = {.access = wanted->access};
	struct ww_wire_get message = {.access = (uint8_t)wanted->access};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;

	ww_try(ask_chunk(&grant, &message, member, wanted->index));
	return ww_get_reply_map(&grant, wanted->device, &options, out_memory);
}

/*
 * Maps a chunk that this process holds. Its name ends with the pool, and the chunk does not: so it
 * is imported by the secret that the broker tells its holders.
 */
static ww_status map_held_chunk(const struct ww_member *member,
	const struct ww_chunk_request *wanted, struct ww_memory **out_memory)
{
	const struct ww_import_options options = {.access = wanted->access};
	const struct ww_escrow none = {.ns = WW_ESCROW_NONE};
	struct ww_broker *broker = member->keys.broker;
	struct ww_token_content token = {
		.info.kind = WW_OBJECT_MEMORY,
		.info.access = wanted->access,
		.info.bytes = wanted->bytes,
		.info.total_bytes = wanted->bytes,
	};
	WW_AUTO_IMPORT struct ww_import import;

	ww_import_init(&import, WW_OBJECT_MEMORY, wanted->access);
	if (!ww_hold_ref_find(wanted->held, broker, token.info.object_id))
		return ww_fail(WW_ERR_NOT_FOUND,
			"the broker at %s has lost the chunk of the slice that is held",
			broker->address.path);
	ww_try(ww_export_content(broker, &token, &none));
	ww_try(ww_import_ask_read(&import, broker, &token));
	ww_try(check_chunk(member, &import.grant));
	ww_try(ww_import_check_bytes(&token.info, import.grant.description.memory.bytes));
	return ww_get_reply_map(&import.grant, wanted->device, &options, out_memory);
}

WW_DEFINE_CLEANUP(ww_memory, ww_memory_unref)

/* Return: a reference to a chunk that is mapped here, on any device; NULL. */
static struct ww_memory *find_mapped_chunk(struct ww_member *member, uint32_t index,
	uint32_t access)
{
	struct ww_memory *found = NULL;

	pthread_mutex_lock(&member->lock);
	ww_list_for_each (link, &member->chunks) {
		struct ww_member_chunk *chunk = ww_container(link, struct ww_member_chunk, link);

		if (!found && chunk->index == index && chunk->memory->access >= access)
			found = ww_memory_ref(chunk->memory);
	}
	pthread_mutex_unlock(&member->lock);
	return found;
}

/*
 * A chunk that is mapped here is held already: its hold is counted once more, and the broker is not
 * asked.
 * Return: WW_OK; WW_NOT_READY (this process does not hold it); WW_ERR_MISMATCH; WW_ERR_NO_MEMORY.
 */
static ww_status hold_mapped_chunk(struct ww_member *member, uint32_t index,
	const struct ww_token_info *info, uint32_t access, struct ww_attachments *holds)
{
	WW_CLEANUP(ww_memory_unref_p) ww_memory *chunk = find_mapped_chunk(member, index, access);
	WW_AUTO_HOLD_REF struct ww_hold_ref *hold_ref = NULL;
	struct ww_broker *broker = member->keys.broker;
	uint8_t id[WW_OBJECT_ID_BYTES];

	if (!chunk)
		return WW_NOT_READY;
	ww_try(ww_import_check_bytes(info, chunk->bytes));
	ww_try(ww_hold_ref_new(broker, &hold_ref));
	if (!ww_hold_ref_find(&chunk->attachments, broker, id) ||
		!ww_broker_client_hold_again(broker, id))
		return WW_NOT_READY;
	ww_hold_ref_attach(ww_steal(hold_ref), holds, id);
	return WW_OK;
}

static ww_status hold_other_chunk(struct ww_member *member, uint32_t index,
	const struct ww_token_info *info, uint32_t access, struct ww_attachments *holds)
{
	struct ww_wire_get message = {.access = (uint8_t)access};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;

	ww_try(ask_chunk(&grant, &message, member, index));
	ww_try(ww_import_check_bytes(info, grant.description.memory.bytes));
	ww_get_reply_keep(&grant, holds);
	return WW_OK;
}

ww_status ww_member_hold_chunk(struct ww_member *member, uint32_t index, uint32_t access,
	const struct ww_token_info *info, struct ww_attachments *holds)
{
	ww_status status = hold_mapped_chunk(member, index, info, access, holds);

	return status == WW_NOT_READY ? hold_other_chunk(member, index, info, access, holds)
				      : status;
}

static ww_status add_chunk(struct ww_member *member, const struct ww_chunk_request *wanted,
	struct ww_member_chunk **out_chunk)
{
	struct ww_member_chunk *chunk = calloc(1, sizeof(*chunk));
	ww_status status;

	if (!chunk)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a chunk of a pool: out of memory");
	status = wanted->held ? map_held_chunk(member, wanted, &chunk->memory)
			      : get_chunk(member, wanted, &chunk->memory);
	if (status != WW_OK) {
		free(chunk);
		return status;
	}
	chunk->memory->is_chunk = true;
	chunk->index = wanted->index;
	chunk->trims = trims_of(member);
	chunk->users = 1;
	pthread_mutex_lock(&member->lock);
	ww_list_append(&member->chunks, &chunk->link);
	pthread_mutex_unlock(&member->lock);
	*out_chunk = chunk;
	return WW_OK;
}

/* Return: counted in its users. */
ww_status ww_member_use_chunk(struct ww_member *member, const struct ww_chunk_request *wanted,
	struct ww_member_chunk **out_chunk)
{
	struct ww_list unused = WW_LIST_INIT(unused);
	ww_status status = WW_OK;

	pthread_mutex_lock(&member->lock);
	*out_chunk = find_chunk(member, wanted);
	take_unused(member, &unused);
	pthread_mutex_unlock(&member->lock);
	free_chunks(&unused);
	if (*out_chunk)
		return WW_OK;
	ww_try(ww_lock_unless_cancelled(&join_lock));
	pthread_mutex_lock(&member->lock);
	*out_chunk = find_chunk(member, wanted);
	pthread_mutex_unlock(&member->lock);
	if (!*out_chunk)
		status = add_chunk(member, wanted, out_chunk);
	pthread_mutex_unlock(&join_lock);
	return status;
}

/* Each number is another process's, so a failure ends the walk: no number is asked for twice. */
void ww_member_map_chunks(struct ww_member *member, struct ww_device *device, uint32_t access)
{
	struct ww_chunk_request wanted = {.access = access, .device = device};
	struct ww_member_chunk *chunk;
	struct ww_error record;
	ww_status status = WW_OK;

	ww_error_save(&record);
	for (uint32_t i = 0; i < member->table.slot_count && status == WW_OK; i++) {
		const struct ww_layout_pool_slot *slot = &member->table.slots[i];

		if (__atomic_load_n(&slot->slice, __ATOMIC_ACQUIRE) == 0)
			continue;
		wanted.index = __atomic_load_n(&slot->chunk, __ATOMIC_RELAXED);
		status = ww_member_use_chunk(member, &wanted, &chunk);
		if (status == WW_OK)
			ww_member_stop_using(member, chunk);
	}
	ww_error_restore(&record);
}

void ww_member_stop_using(struct ww_member *member, struct ww_member_chunk *chunk)
{
	struct ww_list unused = WW_LIST_INIT(unused);

	pthread_mutex_lock(&member->lock);
	if (--chunk->users == 0)
		take_unused(member, &unused);
	pthread_mutex_unlock(&member->lock);
	free_chunks(&unused);
}
