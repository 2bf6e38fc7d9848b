/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_attacker.c - others than a pool's owner who put what they like beside his, or somewhere else
 * under his pool's id
 *
 * The id of a pool is no secret: every token says it. A case plays the attacker by hand, with
 * packets of its own. As root it also plays him, and the owner, as users who are nobody to each
 * other.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "integration/pool.h"
#include "pool/broker_object.h"
#include "pool/slice_table.h"
#include "support/forge.h"
#include "support/page.h"
#include "support/raw_client.h"
#include "wire/sync_description.h"

#define SEED_OF_STRANGER 66
#define OWNER            "61001 61001"
#define STRANGER         61002

/* --- with a broker of his own --- */

/*
 * A broker that has a pool of the same id, with a slice of the same number, and memory of the
 * untrusted process's behind it.
 */
struct attacker {
	struct broker daemon;
	struct raw raw;
	uint8_t broker_id[WW_WIRE_ID_BYTES];
	struct page page;
	struct ww_slice_table table;
	ww_memory *memory;
	struct ww_token token;
};

static void greet(struct attacker *attacker)
{
	struct ww_wire_welcome welcome;
	struct ww_wire_hello hello;

	raw_connect(&attacker->raw, attacker->daemon.address);
	hello = raw_greeting(&attacker->raw);
	MUST_OK(raw_call(&attacker->raw, hello, &hello, welcome, &welcome));
	memcpy(attacker->broker_id, welcome.broker_id, sizeof(attacker->broker_id));
}

static void put_pool(struct attacker *attacker, const struct ww_wire_token *token)
{
	struct ww_wire_put put = page_object("");
	struct ww_wire_pool_ref ref = {
		.page_bytes = attacker->page.bytes,
		.table_bytes = attacker->table.mapping->bytes,
		.slot_count = attacker->table.slot_count,
		.kind = WW_MEMORY_VMM,
	};
	int fds[3] = {attacker->page.reader, attacker->page.writer, -1};

	memcpy(ref.pool_id, token->object_id, sizeof(ref.pool_id));
	memcpy(ref.page_id, attacker->page.page->page_id, sizeof(ref.page_id));
	memcpy(ref.home_uuid, token->home_uuid, sizeof(ref.home_uuid));
	memcpy(put.id, token->object_id, sizeof(put.id));
	memcpy(put.home_uuid, token->home_uuid, sizeof(put.home_uuid));
	ww_pool_ref_write(&ref, put.description);
	put.description_bytes = WW_POOL_REF_BYTES;
	put.kind = WW_WIRE_KIND_POOL;
	put.state = WW_WIRE_STATE_SHARED;
	memcpy(put.fd_access, (const uint8_t[]){3, 4, 3}, 3);
	MUST_OK(ww_mapping_export(attacker->table.mapping, WW_ACCESS_READ, &fds[2]));
	MUST_OK(raw_put(&attacker->raw, &put, fds, 3));
	close(fds[2]);
}

static void put_chunk(struct attacker *attacker, const struct ww_wire_token *token, uint32_t index)
{
	struct ww_memory_description description;
	struct ww_wire_put put;
	char name[WW_POOL_NAME_BYTES];
	OWN(fd) int fd;

	ww_pool_chunk_name(name, token->object_id, index);
	put = raw_object(name);
	memcpy(put.id, memory_info(attacker->memory).object_id, sizeof(put.id));
	MUST_OK(ww_memory_export_fd(attacker->memory, WW_ACCESS_WRITE, &fd, &description));
	memcpy(put.description, description.bytes, sizeof(description.bytes));
	put.description_bytes = sizeof(description.bytes);
	memcpy(put.home_uuid, token->home_uuid, sizeof(put.home_uuid));
	put.state = WW_WIRE_STATE_SHARED;
	put.mode = 0666;
	put.bytes = token->total_bytes;
	MUST_OK(raw_put(&attacker->raw, &put, &fd, 1));
}

/* The owner's token, but for the broker, and the secret that fits there. */
static void make_token(struct attacker *attacker, struct ww_wire_token *record)
{
	struct ww_wire_export ours = {
		.access = WW_ACCESS_WRITE,
		.escrow_ns = 60000 * MS,
	};
	struct ww_wire_exported exported;

	memcpy(ours.id, record->object_id, sizeof(ours.id));
	MUST_OK(raw_call(&attacker->raw, export, &ours, exported, &exported));
	memcpy(record->secret, exported.secret, sizeof(record->secret));
	record->generation = exported.generation;
	memcpy(record->broker_id, attacker->broker_id, sizeof(record->broker_id));
	memset(record->address, 0, sizeof(record->address));
	strcpy((char *)record->address, attacker->daemon.address);
	ww_wire_encode_token(record, attacker->token.bytes);
	token_seal(&attacker->token);
}

/* @token: of all of the owner's chunk @chunk. */
static void attacker_begin(struct attacker *attacker, const struct ww_token *token, uint32_t chunk)
{
	struct ww_wire_token record;

	ww_wire_decode_token(token->bytes, &record);
	broker_start(&attacker->daemon, NULL);
	greet(attacker);
	page_make(&attacker->page);
	MUST_OK(ww_slice_table_create(&attacker->table, record.object_id, 64));
	ww_slice_table_open_slot(&attacker->table, record.slice, chunk, record.offset,
		record.bytes);
	attacker->memory = memory_make(scene.device, WW_MEMORY_VMM, record.total_bytes);
	pattern_write(attacker->memory, SEED_OF_STRANGER);
	put_pool(attacker, &record);
	put_chunk(attacker, &record, chunk);
	make_token(attacker, &record);
}

static void attacker_end(struct attacker *attacker)
{
	pattern_verify(attacker->memory, SEED_OF_STRANGER); /* nobody took it for the owner's */
	raw_close(&attacker->raw);
	ww_memory_unref(attacker->memory);
	ww_slice_table_fini(&attacker->table);
	page_close(&attacker->page);
	broker_kill(&attacker->daemon);
}

/* The untrusted process's token with the name of the owner's broker in it. */
static struct ww_token lie(const struct attacker *attacker, const struct ww_token *of_owner)
{
	struct ww_wire_token record;
	struct ww_wire_token owners;
	struct ww_token token;

	ww_wire_decode_token(attacker->token.bytes, &record);
	ww_wire_decode_token(of_owner->bytes, &owners);
	memcpy(record.broker_id, owners.broker_id, sizeof(record.broker_id));
	record.generation = owners.generation;
	ww_wire_encode_token(&record, token.bytes);
	token_seal(&token);
	return token;
}

/*
 * The owner of two chunks with a slice each, all of them, and the attacker that has seen the token
 * of the second.
 */
static struct {
	ww_pool *pool;
	ww_memory *slices[2];
	struct ww_token tokens[2];
	struct attacker attacker;
	struct child victim; /* asks the broker that a token names */
} cast;

static void begin(void)
{
	static const char *const any_broker[] = {"WARPWAY_BROKER", NULL};
	const struct child_options options = {.environment = any_broker};

	scene_begin();
	cast.pool = pool_make(scene.device, 2 * CHUNK, 64);
	for (uint32_t i = 0; i < 2; i++) {
		cast.slices[i] = slice_make(cast.pool, CHUNK, i);
		cast.tokens[i] = slice_token_for(cast.slices[i], 0, WW_ESCROW_NONE);
	}
	attacker_begin(&cast.attacker, &cast.tokens[1], 1);
	pool_start(&cast.victim, &options);
}

static void end(void)
{
	agent_end(&cast.victim);
	attacker_end(&cast.attacker);
	for (int i = 0; i < 2; i++)
		ww_memory_unref(cast.slices[i]);
	pool_comes_to(cast.pool, 0, 0);
	ww_pool_unref(cast.pool);
	scene_end();
}

#define BROKER_CASE(case_name) CASE_BETWEEN(case_name, 0, begin(), end())

static void give(const struct ww_token *token, int slice, ww_status expected)
{
	agent_send_token(&cast.victim, token);
	agent_must(&cast.victim, expected, "import %d write anywhere", slice);
}

/*
 * A process that takes the untrusted process's token gets the untrusted process's memory, as from
 * anybody.
 */
static void take_from_attacker(int slice)
{
	give(&cast.attacker.token, slice, WW_OK);
	agent_must(&cast.victim, WW_OK, "look %d %d", slice, SEED_OF_STRANGER);
}

/* And who takes the owner's gets the owner's. */
static void take_from_owner(int slice)
{
	give(&cast.tokens[1], slice, WW_OK);
	agent_must(&cast.victim, WW_OK, "look %d 1", slice);
	agent_must(&cast.victim, WW_OK, "paint %d 7", slice);
	pattern_verify(cast.slices[1], 7);
	pattern_write(cast.slices[1], 1);
}

BROKER_CASE(attacker_with_a_broker)
{
	struct ww_token token = lie(&cast.attacker, &cast.tokens[1]);
	give(&cast.tokens[0], 0, WW_OK);
	give(&token, 1, WW_ERR_NOT_FOUND);
	take_from_attacker(1);
	give(&token, 2, WW_ERR_NOT_FOUND);
	take_from_owner(2);
	/* Each is let go of by itself. */
	agent_must(&cast.victim, WW_OK, "unref 1");
	cast.slices[1] = ww_memory_unref(cast.slices[1]);
	pool_must_be(cast.pool, CHUNK, CHUNK);
	agent_must(&cast.victim, WW_OK, "unref 2");
	pool_must_be(cast.pool, CHUNK, 0);
	agent_must(&cast.victim, WW_OK, "look 0 0");
}

BROKER_CASE(attacker_with_a_broker_first)
{
	struct ww_token token = lie(&cast.attacker, &cast.tokens[1]);
	take_from_attacker(1);
	give(&token, 2, WW_ERR_NOT_FOUND);
	take_from_owner(2);
	take_from_attacker(3);
	give(&cast.tokens[0], 0, WW_OK);
	agent_must(&cast.victim, WW_OK, "look 0 0");
	cast.slices[1] = ww_memory_unref(cast.slices[1]);
	agent_must(&cast.victim, WW_OK, "unref 2");
	pool_must_be(cast.pool, CHUNK, 0);
	/*
	 * The slice is gone, and the untrusted process's word for the same one does not change
	 * that.
	 */
	give(&cast.tokens[1], 2, WW_ERR_NOT_FOUND);
}

/* The owner has its own slices by the word of its own broker only. */
BROKER_CASE(attacker_with_a_broker_at_home)
{
	struct ww_token tokens[2];
	ww_memory *home;

	tokens[0] = cast.attacker.token;
	tokens[1] = lie(&cast.attacker, &cast.tokens[1]);
	for (int i = 0; i < 2; i++) {
		ww_status expected = i ? WW_ERR_ACCESS : WW_ERR_NOT_FOUND;

		MUST_REFUSE(expected, "", scene_import(&tokens[i], WW_ACCESS_WRITE, &home));
		unsetenv("WARPWAY_BROKER");
		MUST_REFUSE(expected, "",
			ww_memory_import(scene.device, NULL, &tokens[i],
				WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL,
				&home, NULL));
		setenv("WARPWAY_BROKER", scene.daemon.address, 1);
		MUST(!home);
	}
	pool_must_be(cast.pool, 2 * CHUNK, 0);
	MUST_OK(ww_memory_import(scene.device, NULL, &cast.tokens[1],
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &home, NULL));
	pattern_verify(home, 1);
	ww_memory_unref(home);
}

/* --- in the same broker --- */

/*
 * An owner of a pool of two chunks, of which slice 0 has the first, and an untrusted process who
 * holds the pool by a token.
 */
static struct {
	struct child owner;
	struct raw raw;
	struct ww_token token;
	struct ww_wire_token record;
} company;

/* Without root everybody is of one user. */
static bool are_of_two_users(void)
{
	return geteuid() == 0;
}

static void begin_company(void)
{
	struct ww_wire_granted granted;

	scene_begin();
	pool_start(&company.owner, NULL);
	if (are_of_two_users())
		agent_must(&company.owner, WW_OK, "user " OWNER);
	agent_does(&company.owner, "pool 4096", "alloc 0 2048", "paint 0 1");
	company.token = agent_export(&company.owner, "0 write");
	ww_wire_decode_token(company.token.bytes, &company.record);
	if (are_of_two_users())
		raw_open_as(&company.raw, scene.daemon.address, STRANGER, STRANGER);
	else
		raw_open(&company.raw, scene.daemon.address);
	MUST_OK(raw_import(&company.raw, company.record.object_id, company.record.secret,
		WW_WIRE_ACCESS_WRITE, &granted));
}

static void end_company(void)
{
	raw_close(&company.raw);
	scene_end();
}

#define COMPANY_CASE(case_name, case_needs) \
	CASE_BETWEEN(case_name, case_needs, begin_company(), end_company())

/* Puts an object of 4096 bytes inside the pool's, after the case had a hand in it. */
static ww_status put_inside(const char *what, const char *which, const struct ww_wire_put *like)
{
	char name[WW_POOL_NAME_BYTES];
	struct ww_wire_put put;
	ww_status status;
	OWN(fd) int fd = raw_memory(4096);

	ww_pool_name(name, company.record.object_id, what, which);
	put = raw_object(name);
	put.kind = like->kind;
	put.state = like->state;
	put.mode = like->mode;
	put.flags = like->flags;
	status = raw_put(&company.raw, &put, &fd, 1);
	return status;
}

/* The only other holder of the pool. */
static struct ww_object_info find_holder(void)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_object_info second = info;
	char prefix[WW_POOL_NAME_BYTES];
	OWN(snapshot) ww_snapshot *snapshot;

	ww_pool_name(prefix, company.record.object_id, "holder", "");
	MUST_OK(ww_snapshot_create(scene.broker, prefix, WW_SNAPSHOT_OBJECTS, &snapshot));
	MUST_OK(ww_snapshot_object(snapshot, 0, &info));
	MUST_STATUS(WW_END, ww_snapshot_object(snapshot, 1, &second));
	return info;
}

/* Who shows the owner nothing that it may read, or nothing of the sort, keeps nothing from it. */
COMPANY_CASE(attacker_among_holders, 0)
{
	static const struct ww_wire_put shown[] = {
		{.kind = WW_WIRE_KIND_POOL, .state = WW_WIRE_STATE_WRITING, .mode = 0666},
		{.kind = WW_WIRE_KIND_MEMORY, .state = WW_WIRE_STATE_WRITING, .mode = 0},
		{.kind = WW_WIRE_KIND_POOL, .state = WW_WIRE_STATE_SHARED, .mode = 0},
		{.kind = WW_WIRE_KIND_POOL, .state = WW_WIRE_STATE_SEALED, .mode = 0600},
		{.kind = WW_WIRE_KIND_POOL, .state = WW_WIRE_STATE_SEALED, .mode = 0666},
		{.kind = WW_WIRE_KIND_MEMORY, .state = WW_WIRE_STATE_SHARED, .mode = 0666},
		{.kind = WW_WIRE_KIND_TIMELINE, .state = WW_WIRE_STATE_SEALED, .mode = 0666},
		{.kind = 99, .state = WW_WIRE_STATE_SEALED, .mode = 0666},
	};
	struct child member;
	char which[8];

	pool_start(&member, NULL);
	for (size_t i = 0; i < CHECK_COUNT(shown); i++) {
		snprintf(which, sizeof(which), "x%zu", i);
		MUST_OK(put_inside("holder", which, &shown[i]));
		agent_must(&company.owner, WW_OK, "alloc 1 2048"); /* never exported */
		agent_must(&company.owner, WW_OK, "unref 1");
		pool_give(&member, &company.token, 0, WW_OK);
		agent_must(&company.owner, WW_OK, "unref 0");
		/* Who shows himself as he should is protected all the same. */
		agent_must(&company.owner, WW_OK, "alloc 1 2048");
		agent_must(&company.owner, WW_ERR_LIMIT, "alloc 0 2048");
		agent_must(&member, WW_OK, "unref 0");
		agent_does(&company.owner, "alloc 0 2048", "unref 1");
		company.token = agent_export(&company.owner, "0 write");
	}
	if (are_of_two_users()) /* the owner has taken out what nobody uses */
		(void)find_holder();
}

/*
 * Shows the marks of the only other holder as the untrusted process's own, with a page of his.
 * Return: what he put.
 */
static struct ww_wire_put show_marks_of_holder(const struct page *page)
{
	struct ww_wire_pool_holder_ref ref;
	struct ww_wire_granted granted;
	char name[WW_POOL_NAME_BYTES];
	struct ww_wire_put put;
	OWN(fd) int marks;

	MUST_OK(raw_get(&company.raw, find_holder().name, WW_WIRE_ACCESS_READ, &granted));
	marks = dup(company.raw.fds[1]);
	MUST_CALL(marks);
	MUST_OK(ww_pool_holder_ref_read(granted.description, granted.description_bytes, &ref));
	memcpy(ref.page_id, page->page->page_id, sizeof(ref.page_id));
	ref.page_bytes = page->bytes;
	ww_pool_name(name, company.record.object_id, "holder", "thief");
	put = page_object(name);
	put.kind = WW_WIRE_KIND_POOL;
	put.mode = 0444;
	put.fd_access[2] = 1;
	ww_pool_holder_ref_write(&ref, put.description);
	put.description_bytes = WW_POOL_HOLDER_REF_BYTES;
	MUST_OK(raw_put(&company.raw, &put, (int[]){page->reader, page->writer, marks}, 3));
	return put;
}

/* Marks that two users show are void when both are gone: that one of them says so is not enough. */
COMPANY_CASE(attacker_shows_marks_of_another, NEEDS_ROOT)
{
	struct ww_wire_put put;
	struct child member;
	struct page page;

	pool_start(&member, NULL);
	pool_give(&member, &company.token, 0, WW_OK);
	page_make(&page);
	put = show_marks_of_holder(&page);
	agent_must(&company.owner, WW_OK, "alloc 1 2048"); /* it has seen both now */
	agent_must(&company.owner, WW_OK, "unref 0");
	__atomic_store_n(&page_cell(&page, 0)->state, WW_WIRE_CELL_STATE_CLOSED, __ATOMIC_RELEASE);
	agent_must(&company.owner, WW_ERR_LIMIT, "alloc 2 2048");
	agent_does(&member, "look 0 1", "unref 0");
	agent_must(&company.owner, WW_OK, "alloc 2 2048");
	MUST_OK(raw_release(&company.raw, put.id));
	page_close(&page);
}

/* Whoever was there first: chunks are the owner's. */
COMPANY_CASE(attacker_among_chunks, 0)
{
	static const char *const chunks[] = {"1", "2", "3"};
	const struct ww_wire_put first = {
		.kind = WW_WIRE_KIND_MEMORY,
		.state = WW_WIRE_STATE_SHARED,
		.mode = 0666,
	};
	struct ww_wire_put again = first;
	struct child member;

	for (size_t i = 0; i < CHECK_COUNT(chunks); i++)
		MUST_OK(put_inside("chunk", chunks[i], &first));
	agent_does(&company.owner, "alloc 1 2048", "paint 1 5");
	company.token = agent_export(&company.owner, "1 write");
	again.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_REFUSE(WW_ERR_EXISTS, "", put_inside("chunk", "1", &first));
	if (are_of_two_users())
		MUST_REFUSE(WW_ERR_ACCESS, "", put_inside("chunk", "1", &again));
	pool_start(&member, NULL);
	pool_give(&member, &company.token, 0, WW_OK);
	agent_does(&member, "look 0 5", "paint 0 6");
	agent_must(&company.owner, WW_OK, "look 1 6");
}
