/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_forge.c - tokens that were tampered with, and untrusted processes who write what they like
 * into the pages that they share
 *
 * A process may write its own pages, so a case plays the attacker: it finds its page in its address
 * space by the word that the page begins with, and changes it behind the library's back.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "integration/pool.h"
#include "support/forge.h"
#include "wire/protocol.h"

#define PART (64 * KIB)

/* --- tokens --- */

/* An agent owns a pool whose slices 0 and 1, of 64 KiB, this process may import by tokens. */
static struct {
	struct child owner;
	struct ww_token tokens[2];
} cast;

/*
 * Tokens without an escrow are good as long as the owner has the slices, and need no import to end.
 */
static void begin(void)
{
	scene_begin();
	pool_start(&cast.owner, NULL);
	agent_must(&cast.owner, WW_OK, "pool 2048 slices=64");
	for (int i = 0; i < 2; i++) {
		agent_must(&cast.owner, WW_OK, "alloc %d 64", i);
		agent_must(&cast.owner, WW_OK, "paint %d %d", i, i);
		cast.tokens[i] = agent_export(&cast.owner, "%d escrow_ms=none", i);
	}
}

static ww_memory *must_import(const struct ww_token *token, uint32_t seed)
{
	ww_memory *slice;

	MUST_OK(ww_memory_import(scene.device, scene.broker, token, NULL, NULL, &slice, NULL));
	pattern_verify(slice, seed);
	return slice;
}

/* A pool whose owner is gone is left when something is imported from another one. */
static void leave_pool(const struct ww_token *token)
{
	struct ww_wire_token record;
	struct ww_token other;
	ww_memory *slice;

	ww_wire_decode_token(token->bytes, &record);
	record.object_id[0] ^= 1;
	ww_wire_encode_token(&record, other.bytes);
	token_seal(&other);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "",
		ww_memory_import(scene.device, scene.broker, &other, NULL, NULL, &slice, NULL));
}

/* The owner has everything that it had before. */
static void end(void)
{
	for (int i = 0; i < 2; i++)
		agent_must(&cast.owner, WW_OK, "unref %d", i);
	agent_must(&cast.owner, WW_OK, "alloc 2 2048");
	agent_end(&cast.owner);
	leave_pool(&cast.tokens[0]);
	scene_end();
}

#define FORGE_CASE(case_name) CASE_BETWEEN(case_name, 0, begin(), end())

#define SLOT_BITS ((uint64_t)WW_POOL_SLICES_MAX - 1)

static void change_slice_none(struct ww_wire_token *record)
{
	record->slice = 0;
}

static void change_bytes_all(struct ww_wire_token *record)
{
	record->bytes = record->total_bytes;
}

static void change_total_to_slice(struct ww_wire_token *record)
{
	record->total_bytes = record->offset + record->bytes;
}

#define RECORD ww_wire_token

/* What is written over a token's bytes: a number, and what more there is. */
static const struct change {
	const char *what;
	struct number_change number;
	ww_status expected; /* WW_OK: any refusal */
	void (*change)(struct ww_wire_token *record);
} changes[] = {
	{"another pool", ADDED(RECORD, object_id[5], 1), WW_ERR_NOT_FOUND, NULL},
	{"another secret", ADDED(RECORD, secret[15], 0x40), WW_ERR_ACCESS, NULL},
	{"another broker", ADDED(RECORD, broker_id[0], 1), WW_ERR_NOT_FOUND, NULL},
	{"a slot without a slice", ADDED(RECORD, slice, 5), WW_ERR_NOT_FOUND, NULL},
	{"a slot beyond the table", ADDED(RECORD, slice, 64), WW_ERR_NOT_FOUND, NULL},
	{"the last slot of all", MASKED(RECORD, slice, ~SLOT_BITS, SLOT_BITS), WW_ERR_NOT_FOUND,
		NULL},
	{"the next generation", ADDED(RECORD, slice, WW_POOL_SLICES_MAX), WW_ERR_NOT_FOUND, NULL},
	{"no generation", MASKED(RECORD, slice, SLOT_BITS, 0), WW_OK, NULL},
	{"the last slice of all", BECOMES(RECORD, slice, UINT64_MAX), WW_ERR_NOT_FOUND, NULL},
	{"no slice", BECOMES(RECORD, slice, 0), WW_ERR_PROTOCOL, NULL},
	{"bytes before the slice", TAKEN(RECORD, offset, 256), WW_ERR_MISMATCH, NULL},
	{"bytes behind the slice", ADDED(RECORD, offset, 256), WW_ERR_MISMATCH, NULL},
	{"bytes at the end of all", BECOMES(RECORD, offset, UINT64_MAX - 255), WW_OK, NULL},
	{"a byte more", ADDED(RECORD, bytes, 1), WW_ERR_MISMATCH, NULL},
	{"all of the chunk", BECOMES(RECORD, offset, 0), WW_ERR_MISMATCH, change_bytes_all},
	{"a larger chunk", ADDED(RECORD, total_bytes, CHUNK), WW_ERR_MISMATCH, NULL},
	{"a smaller chunk", ADDED(RECORD, total_bytes, 0), WW_ERR_MISMATCH, change_total_to_slice},
	{"more access", BECOMES(RECORD, access, WW_ACCESS_WRITE), WW_ERR_ACCESS, NULL},
	{"no flags", BECOMES(RECORD, flags, 0), WW_OK, change_slice_none},
	{"all flags", BECOMES(RECORD, flags, 0xff), WW_OK, NULL},
	{"the kind of the pool itself", BECOMES(RECORD, kind, WW_WIRE_KIND_POOL), WW_OK, NULL},
	{"the kind of a timeline", BECOMES(RECORD, kind, WW_WIRE_KIND_TIMELINE), WW_OK, NULL},
};

static void refuse_changes(const struct ww_token *token)
{
	for (size_t i = 0; i < CHECK_COUNT(changes); i++) {
		struct ww_wire_token record;
		struct ww_token other;
		ww_memory *slice;
		ww_status status;

		ww_wire_decode_token(token->bytes, &record);
		number_change(&record, &changes[i].number);
		if (changes[i].change)
			changes[i].change(&record);
		ww_wire_encode_token(&record, other.bytes);
		token_seal(&other);
		status = ww_memory_import(scene.device, scene.broker, &other,
			WW_PARAMS(struct ww_import_params,
				.access = record.access == WW_ACCESS_WRITE ? WW_ACCESS_WRITE
									   : WW_ACCESS_READ),
			NULL, &slice, NULL);
		if (status >= 0 || slice || (changes[i].expected && status != changes[i].expected))
			FAIL("%s: %s (%s)", changes[i].what, ww_status_name(status),
				ww_error_last()->message);
	}
}

/*
 * Of the second slice, so that there are bytes before it; refused to an untrusted process, a
 * member, and one who has it.
 */
FORGE_CASE(token_sealed_again)
{
	ww_memory *slices[2];

	refuse_changes(&cast.tokens[1]);
	slices[0] = must_import(&cast.tokens[0], 0);
	refuse_changes(&cast.tokens[1]);
	slices[1] = must_import(&cast.tokens[1], 1);
	refuse_changes(&cast.tokens[1]);
	for (int i = 0; i < 2; i++)
		ww_memory_unref(slices[i]);
}

/* A token of this process's own pool, at home. */
SCENE_CASE(token_at_home_sealed_again, 0)
{
	OWN(pool) ww_pool *pool = pool_make(scene.device, CHUNK, 64);
	ww_memory *first = slice_make(pool, PART, 1);
	ww_memory *slice = slice_make(pool, PART, 2);
	struct ww_token token = slice_token(slice, WW_ACCESS_READ);

	refuse_changes(&token);
	ww_memory_unref(must_import(&token, 2));
	pool_must_be(pool, 2 * PART, 0);
	ww_memory_unref(slice);
	ww_memory_unref(first);
	pool_must_be(pool, 0, 0);
}

/* --- pages --- */

static bool is_page_of(const uint8_t *page, const char *magic, const uint8_t id[WW_WIRE_ID_BYTES])
{
	return !memcmp(page, magic, 8) &&
		!memcmp(page + offsetof(struct ww_layout_pool_table, pool_id), id,
			WW_WIRE_ID_BYTES);
}

/*
 * Return: the writable page of this process that begins so, of the pool that the token is for;
 * there must be one.
 */
static void *find_page(const char *magic, const struct ww_token *token)
{
	struct ww_token_info info = WW_INIT(struct ww_token_info);
	FILE *maps = fopen("/proc/self/maps", "re");
	void *found = NULL;
	char line[512];

	MUST(maps);
	MUST_OK(ww_token_info_get(token, &info));
	while (!found && fgets(line, sizeof(line), maps)) {
		unsigned long start;
		char rights[5];

		if (sscanf(line, "%lx-%*x %4s", &start, rights) == 2 && !strcmp(rights, "rw-s") &&
			is_page_of((const uint8_t *)start, magic, info.object_id))
			found = (void *)start;
	}
	fclose(maps);
	MUST(found);
	return found;
}

/* A new process refuses the pool as long as a byte of the table's header is another one. */
static void refuse_header(const struct ww_token *token, uint8_t *byte)
{
	char answer[CHILD_WORD_BYTES];
	ENDED_BY(agent_end) struct child agent;

	*byte ^= 0x41;
	pool_start(&agent, NULL);
	agent_send_token(&agent, token);
	agent_tell(&agent, "import 0 write");
	child_hear_any(&agent, answer);
	if (strncmp(answer, "WW_ERR_PROTOCOL ", 16) && strncmp(answer, "WW_ERR_VERSION ", 15))
		FAIL("with another header: %s", answer);
	*byte ^= 0x41;
}

/*
 * Slots that lie of their slice: whoever imports finds out, or gets bytes of the pool that are not
 * his; never others.
 */
static void refuse_slot(struct child *agent, ww_memory *slice)
{
	const struct ww_token token = slice_token_for(slice, 0, WW_ESCROW_NONE);
	struct ww_layout_pool_table *table = find_page("WWPOOLTB", &token);
	struct ww_layout_pool_slot *slots = (struct ww_layout_pool_slot *)(table + 1);
	struct ww_token_info info = WW_INIT(struct ww_token_info);
	struct ww_layout_pool_slot *slot;
	struct ww_layout_pool_slot before;

	MUST_OK(ww_token_info_get(&token, &info));
	slot = &slots[info.slice & (WW_POOL_SLICES_MAX - 1)];
	MUST_EQUAL(info.slice, slot->slice);
	before = *slot;
	slot->offset += 256;
	pool_give(agent, &token, 0, WW_ERR_MISMATCH);
	slot->offset = UINT64_MAX;
	pool_give(agent, &token, 0, WW_ERR_MISMATCH);
	slot->offset = before.offset;
	slot->bytes -= 256;
	pool_give(agent, &token, 0, WW_ERR_MISMATCH);
	slot->bytes = before.bytes;
	slot->chunk = 77;
	pool_give(agent, &token, 0, WW_ERR_NOT_FOUND);
	slot->chunk = before.chunk;
	slot->slice++;
	pool_give(agent, &token, 0, WW_ERR_NOT_FOUND);
	*slot = before;
	pool_show(agent, &token, 0, 2);
}

POOL_CASE(table_of_an_attacker, 0, CHUNK, 64)
{
	ww_memory *slices[2];
	struct ww_token token;
	struct child agent;
	uint8_t *header;

	slices[0] = slice_make(pool, PART, 1);
	slices[1] = slice_make(pool, PART, 2);
	token = slice_token_for(slices[0], 0, WW_ESCROW_NONE);
	header = find_page("WWPOOLTB", &token);
	for (size_t at = 0; at < offsetof(struct ww_layout_pool_table, pool_id) + 16; at += 4)
		refuse_header(&token, header + at);
	pool_start(&agent, NULL);
	refuse_slot(&agent, slices[1]);
	agent_end(&agent);
	for (int i = 0; i < 2; i++)
		ww_memory_unref(slices[i]);
}

/* Wild marks keep slices from being handed out, and no more: all is well when they are gone. */
FORGE_CASE(marks_of_an_attacker)
{
	struct ww_layout_pool_marks *header;
	struct ww_layout_pool_mark *marks;
	ww_memory *slice;

	slice = must_import(&cast.tokens[0], 0);
	header = find_page("WWPOOLMK", &cast.tokens[0]);
	marks = (struct ww_layout_pool_mark *)(header + 1);
	for (uint32_t i = 2; i < 64; i++) {
		marks[i].slice = UINT64_MAX;
		marks[i].taken = UINT64_MAX;
	}
	agent_does(&cast.owner, "alloc 2 64", "unref 2", "alloc 2 1024");
	/*
	 * More imports than were expected, and of another slice: 1 is free as soon as its owner
	 * wants it so.
	 */
	marks[1].taken = (UINT64_C(1) << 20) + 5000;
	agent_does(&cast.owner, "unref 1", "alloc 1 896");
	ww_memory_unref(slice);
	agent_must(&cast.owner, WW_OK, "unref 2");
}

/*
 * A page of marks that is none, of a member that the owner has yet to see: it protects nothing, and
 * harms nobody.
 */
CASE(marks_that_are_none, 0)
{
	static const size_t places[] = {0, 8, 12, 16, 20, 24, 32};

	for (size_t i = 0; i < CHECK_COUNT(places); i++) {
		uint8_t *header;
		ww_memory *slice;

		begin();
		slice = must_import(&cast.tokens[0], 0);
		header = find_page("WWPOOLMK", &cast.tokens[0]);
		header[places[i]] ^= 0x41;
		agent_does(&cast.owner, "alloc 2 64", "unref 2");
		header[places[i]] ^= 0x41;
		ww_memory_unref(slice);
		end();
	}
}
