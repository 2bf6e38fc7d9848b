/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.c - from being written to removed; who waits for it; what keeps an object alive
 */
#include "broker/suite.h"

#include <stdio.h>
#include <unistd.h>

static struct ww_wire_put put_writing(struct raw *raw, const char *name)
{
	struct ww_wire_put put = raw_object(name);

	put.state = WW_WIRE_STATE_WRITING;
	put.mode = 0644;
	MUST_OK(raw_put(raw, &put, NULL, 0));
	return put;
}

CASE(state_writing_then_ready, 0)
{
	struct raw *maker = peer();
	struct raw *early = peer();
	struct raw *other = peer();
	struct ww_wire_granted granted;
	struct ww_wire_put put;
	uint32_t before = raw_ask_get(early, "slow", WW_WIRE_ACCESS_READ);
	uint32_t during;

	put = put_writing(maker, "slow");
	MUST_REFUSE(WW_ERR_STATE, "being written",
		raw_get(other, "slow", WW_WIRE_ACCESS_READ, &granted));
	MUST_REFUSE(WW_ERR_STATE, "being written",
		raw_get(maker, "slow", WW_WIRE_ACCESS_READ, &granted));
	during = raw_ask_get(other, "slow", WW_WIRE_ACCESS_READ);
	wait_for(maker, &(struct want){1, 3, 1, 0, 2});
	MUST(raw_is_silent(early) && raw_is_silent(other));
	MUST_OK(raw_seal(maker, put.id, WW_WIRE_STATE_SEALED));
	must_be_granted(early, before, WW_WIRE_STATE_SEALED);
	must_be_granted(other, during, WW_WIRE_STATE_SEALED);
	wait_for(maker, &(struct want){1, 3, 3, 0, 0});
	MUST_OK(raw_seal(maker, put.id, WW_WIRE_STATE_SEALED));
	MUST_REFUSE(WW_ERR_STATE, "sealed already", raw_seal(maker, put.id, WW_WIRE_STATE_SHARED));
	MUST_REFUSE(WW_ERR_ACCESS, "put it", raw_seal(other, put.id, WW_WIRE_STATE_SEALED));

	during = raw_ask_get(other, "common", WW_WIRE_ACCESS_WRITE);
	put = put_writing(maker, "common");
	MUST_OK(raw_seal(maker, put.id, WW_WIRE_STATE_SHARED));
	must_be_granted(other, during, WW_WIRE_STATE_SHARED);
	MUST_REFUSE(WW_ERR_STATE, "shared already", raw_seal(maker, put.id, WW_WIRE_STATE_SEALED));
}

/* However it ends: closed, let go of. Nobody waits for ever. */
CASE(state_writer_ends, 0)
{
	struct raw *raw = peer();
	struct raw *other = peer();
	struct raw *maker = peer();
	struct ww_wire_put put;
	uint32_t first = raw_ask_get(raw, "half", WW_WIRE_ACCESS_READ);
	uint32_t second;

	put = put_writing(maker, "half");
	second = raw_ask_get(other, "half", WW_WIRE_ACCESS_READ);
	wait_for(maker, &(struct want){1, 3, 1, 0, 2});
	raw_close(maker);
	must_be_refused(raw, first, WW_ERR_PEER_LOST, "will not be ready");
	must_be_refused(other, second, WW_ERR_PEER_LOST, "will not be ready");
	raw_close(other);
	maker = peer();
	put = put_writing(maker, "half");
	first = raw_ask_get(raw, "half", WW_WIRE_ACCESS_READ);
	wait_for(maker, &(struct want){1, 2, 1, 0, 1});
	MUST_OK(raw_release(maker, put.id));
	must_be_refused(raw, first, WW_ERR_PEER_LOST, "released it");
	/* Removed: there may be another of that name. */
	put = put_writing(maker, "half");
	first = raw_ask_get(raw, "half", WW_WIRE_ACCESS_READ);
	wait_for(maker, &(struct want){1, 2, 1, 0, 1});
	MUST_OK(raw_end(maker, "half"));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "not in this broker",
		raw_seal(maker, put.id, WW_WIRE_STATE_SEALED));
	put_named(maker, "half");
	must_be_granted(raw, first, WW_WIRE_STATE_SEALED);
}

/* The page of all objects, with those that have no name; there are few. */
static uint32_t find_in_list(struct raw *raw, const uint8_t id[16], struct ww_wire_entry *out)
{
	const struct ww_wire_list list = {.unnamed = 1};
	struct ww_wire_listing listing;
	uint32_t count = 0;
	struct ww_wire_entry entry;

	MUST_OK(raw_call(raw, list, &list, listing, &listing));
	while (ww_wire_entry_next(&listing.entries, &entry)) {
		if (memcmp(entry.id, id, sizeof(entry.id)))
			continue;
		*out = entry;
		count++;
	}
	return count;
}

CASE(state_removed, 0)
{
	struct raw *maker = peer();
	struct raw *other = peer();
	OWN(fd) int fd = raw_memory(4096);
	struct ww_wire_put put = raw_object("removed");
	struct ww_wire_granted granted;
	struct ww_wire_entry entry;
	uint8_t secret[16];

	MUST_OK(raw_put(maker, &put, &fd, 1));
	MUST_OK(raw_get(other, "removed", WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, 60000 * MS, secret));
	wait_for(maker, &(struct want){1, 2, 3, 1, 0});
	MUST_OK(raw_end(maker, "removed"));
	/* Named by nothing, held by both, its descriptor closed, its token worthless. */
	wait_for(maker, &(struct want){1, 2, 2, 0, 0});
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object 'removed'", raw_stat(other, "removed", &entry));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object 'removed'", raw_end(other, "removed"));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "ended",
		raw_import(other, put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "does not hold",
		raw_export(other, put.id, WW_WIRE_ACCESS_READ, 0, 0, secret));
	MUST_EQUAL(1, find_in_list(other, put.id, &entry));
	MUST_EQUAL(WW_WIRE_STATE_REMOVED, entry.state);
	MUST_EQUAL(2, entry.holders);
	MUST_EQUAL(0, entry.fd_count);
	/* The name is free, and so is the id. */
	put_named(maker, "removed");
	MUST_OK(raw_end(maker, "removed"));
	put.name[0] = 'R';
	MUST_OK(raw_put(maker, &put, &fd, 1));
	MUST_EQUAL(2, find_in_list(other, put.id, &entry));
	MUST_OK(raw_release(other, put.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "does not hold", raw_release(other, put.id));
}

/* The process is named by its pid and its program. A token for writing hinders nothing. */
CASE(state_sealed_without_writers, 0)
{
	struct raw *maker = peer();
	struct raw *writer = peer();
	struct raw *reader = peer();
	struct ww_wire_put put = raw_object("");
	OWN(fd) int fd = raw_memory(4096);
	struct ww_wire_granted granted;
	uint8_t secret[16];
	char who[48];

	put.state = WW_WIRE_STATE_SHARED;
	MUST_OK(raw_put(maker, &put, &fd, 1));
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_WRITE, 0, 60000 * MS, secret));
	MUST_OK(raw_import(reader, put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_import(writer, put.id, secret, WW_WIRE_ACCESS_WRITE, &granted));
	snprintf(who, sizeof(who), "process %d (", getpid());
	strcpy(put.name, "named");
	put.state = WW_WIRE_STATE_SEALED;
	MUST_REFUSE(WW_ERR_STATE, who, raw_put(maker, &put, NULL, 0));
	/* Removed, it is still held; put anew, it is the same memory. */
	put.state = WW_WIRE_STATE_SHARED;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	MUST_OK(raw_end(maker, "named"));
	put.state = WW_WIRE_STATE_SEALED;
	MUST_REFUSE(WW_ERR_STATE, who, raw_put(maker, &put, NULL, 0));
	put.state = WW_WIRE_STATE_WRITING;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	MUST_REFUSE(WW_ERR_STATE, who, raw_seal(maker, put.id, WW_WIRE_STATE_SEALED));
	MUST_OK(raw_release(writer, put.id));
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_WRITE, 0, 60000 * MS, secret));
	MUST_OK(raw_seal(maker, put.id, WW_WIRE_STATE_SEALED));
	MUST_REFUSE(WW_ERR_ACCESS, "sealed",
		raw_import(writer, put.id, secret, WW_WIRE_ACCESS_WRITE, &granted));
	MUST_OK(raw_import(writer, put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_end(maker, "named"));
}

static struct ww_wire_put put_living(struct raw *raw, const char *name, uint8_t life)
{
	struct ww_wire_put put = raw_object(name);

	put.life = life;
	MUST_OK(raw_put(raw, &put, NULL, 0));
	return put;
}

CASE(state_lives, 0)
{
	struct raw *maker = peer();
	struct raw *other = peer();
	struct ww_wire_granted granted;
	struct ww_wire_put held = put_living(maker, "held", WW_WIRE_LIFE_HELD);
	struct ww_wire_put said = put_living(maker, "said", WW_WIRE_LIFE_OWNER);
	struct ww_wire_put kept = put_living(maker, "kept", WW_WIRE_LIFE_KEPT);
	struct ww_wire_put owner = raw_object("owner");
	struct ww_wire_entry entry;
	int fd = raw_memory(4096);

	owner.life = WW_WIRE_LIFE_OWNER;
	MUST_OK(raw_put(maker, &owner, &fd, 1));
	close(fd);
	/* Let go of by its maker, each lives on by its own rule. */
	MUST_OK(raw_get(other, "held", WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_release(maker, held.id));
	MUST_OK(raw_release(maker, owner.id));
	MUST_OK(raw_release(maker, kept.id));
	wait_for(other, &(struct want){4, 2, 2, 1, 0});
	/* But what is there only because its maker says so is so no longer. */
	MUST_OK(raw_release(maker, said.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object", raw_stat(other, "said", &entry));
	wait_for(other, &(struct want){3, 2, 1, 1, 0});
	MUST_OK(raw_release(other, held.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object", raw_stat(other, "held", &entry));
	MUST_OK(raw_get(other, "owner", WW_WIRE_ACCESS_READ, &granted));
	raw_close(maker);
	wait_for(other, &(struct want){2, 1, 1, 0, 0});
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object", raw_stat(other, "owner", &entry));
	MUST_OK(raw_stat(other, "kept", &entry));
	MUST_EQUAL(0, entry.holders);
	MUST_EQUAL(UINT64_MAX, entry.left_ns);
	MUST_OK(raw_release(other, owner.id));
	MUST_OK(raw_end(other, "kept"));
	wait_for(other, &(struct want){0, 1, 0, 0, 0});
}

CASE(state_time_to_live, 0)
{
	struct raw *maker = peer();
	struct raw *eyes = watcher();
	struct ww_wire_put put = raw_object("brief");
	struct ww_wire_entry entry;

	MUST_OK(raw_watch(eyes, "", 0));
	put.life = WW_WIRE_LIFE_KEPT;
	put.ttl_ns = 60000 * MS;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	MUST_OK(raw_stat(maker, "brief", &entry));
	MUST(entry.left_ns <= 60000 * MS && entry.left_ns > 1000 * MS);
	MUST_OK(raw_end(maker, "brief"));
	MUST_OK(raw_release(maker, put.id));
	put.ttl_ns = 1;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	raw_hear_event(eyes, WW_WIRE_WHAT_PUT, "brief");
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "brief");
	raw_hear_event(eyes, WW_WIRE_WHAT_REMOVED, "brief");
	raw_hear_event(eyes, WW_WIRE_WHAT_PUT, "brief");
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "brief");
	raw_hear_event(eyes, WW_WIRE_WHAT_EXPIRED, "brief");
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object", raw_stat(maker, "brief", &entry));
	MUST_EQUAL(1, find_in_list(maker, put.id, &entry));
	MUST_EQUAL(WW_WIRE_STATE_SEALED, entry.state); /* it goes on without a name */
	MUST_EQUAL(0, strlen(entry.name));
	put = raw_object("endless");
	put.life = WW_WIRE_LIFE_KEPT;
	put.ttl_ns = UINT64_MAX;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	MUST_OK(raw_stat(maker, "endless", &entry));
	MUST(entry.left_ns > UINT64_MAX / 2);
	MUST_OK(raw_end(maker, "endless"));
}

CASE(state_replace, 0)
{
	struct raw *maker = peer();
	struct raw *eyes = watcher();
	struct raw *other = peer();
	struct ww_wire_put old = put_named(maker, "current");
	struct ww_wire_put put = raw_object("current");
	struct ww_wire_granted granted;

	MUST_OK(raw_get(other, "current", WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_watch(eyes, "", 0));
	put.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	raw_hear_event(eyes, WW_WIRE_WHAT_REPLACED, "current");
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "current");
	MUST_OK(raw_get(other, "current", WW_WIRE_ACCESS_READ, &granted));
	MUST_MATCH(put.id, granted.id, sizeof(put.id));
	MUST_OK(raw_release(other, old.id));
	/* With nothing there to replace it is a put like any other. */
	put = raw_object("fresh");
	put.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_OK(raw_put(maker, &put, NULL, 0));
}

static struct ww_wire_put put_replacement(struct raw *raw, const char *name, uint8_t state)
{
	struct ww_wire_put put = raw_object(name);

	put.flags = WW_WIRE_PUT_FLAG_REPLACE;
	put.life = WW_WIRE_LIFE_KEPT;
	put.state = state;
	MUST_OK(raw_put(raw, &put, NULL, 0));
	return put;
}

/* What a get by name and a look at the name say, and a list. */
static void must_be_found(struct raw *raw, const char *name, const struct ww_wire_put *put)
{
	struct ww_wire_list list = {.unnamed = 0};
	struct ww_wire_listing listing;
	struct ww_wire_granted granted;
	struct ww_wire_entry entry;

	MUST_OK(raw_get(raw, name, WW_WIRE_ACCESS_READ, &granted));
	MUST_MATCH(put->id, granted.id, sizeof(put->id));
	MUST_OK(raw_release(raw, put->id));
	MUST_OK(raw_stat(raw, name, &entry));
	MUST_MATCH(put->id, entry.id, sizeof(put->id));
	strcpy(list.prefix, name);
	MUST_OK(raw_call(raw, list, &list, listing, &listing));
	MUST_EQUAL(1, listing.entries.count);
	MUST(ww_wire_entry_next(&listing.entries, &entry));
	MUST_MATCH(put->id, entry.id, sizeof(put->id));
}

/*
 * Who removes what it made removes nothing else that has its name by now, nor what is being written
 * to replace it.
 */
CASE(state_remove_by_id, 0)
{
	struct raw *maker = peer();
	struct raw *other = peer();
	struct ww_wire_put old = put_named(maker, "current");
	struct ww_wire_put put = put_replacement(other, "current", WW_WIRE_STATE_SHARED);
	struct ww_wire_put next = put_replacement(other, "current", WW_WIRE_STATE_WRITING);

	MUST_STATUS(WW_ERR_NOT_FOUND, raw_remove(maker, "current", old.id));
	MUST_STATUS(WW_ERR_NOT_FOUND, raw_remove(maker, "other", put.id));
	must_be_found(maker, "current", &put);
	MUST_OK(raw_remove(maker, "current", put.id));
	MUST_STATUS(WW_ERR_NOT_FOUND, raw_remove(maker, "current", put.id));
	MUST_OK(raw_seal(other, next.id, WW_WIRE_STATE_SHARED));
	must_be_found(maker, "current", &next);
	MUST_OK(raw_remove(maker, "current", next.id));
	MUST_STATUS(WW_ERR_NOT_FOUND, raw_end(maker, "current"));
}

/*
 * Until the new one is ready the old one is there, and the new one's end is of no interest to
 * anybody.
 */
CASE(state_replaced_when_ready, 0)
{
	struct raw *maker = peer();
	struct raw *writer = peer();
	struct raw *eyes = watcher();
	struct raw *late = watcher();
	struct ww_wire_put old = put_replacement(maker, "current", WW_WIRE_STATE_SEALED);
	struct ww_wire_put put;
	struct ww_wire_put next;
	struct ww_wire_entry entry;

	MUST_OK(raw_watch(eyes, "", 0));
	put = put_replacement(writer, "current", WW_WIRE_STATE_WRITING);
	must_be_found(maker, "current", &old);
	MUST_EQUAL(1, find_in_list(maker, put.id, &entry));
	MUST_EQUAL(WW_WIRE_STATE_WRITING, entry.state);
	MUST_OK(raw_put(writer, &put, NULL, 0)); /* as after a connection that broke */
	/* Of two that are being written the one that was put last. */
	next = put_replacement(maker, "current", WW_WIRE_STATE_WRITING);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "its name was removed or given to another object",
		raw_seal(writer, put.id, WW_WIRE_STATE_SEALED));
	put = put_replacement(writer, "current", WW_WIRE_STATE_WRITING);
	MUST_OK(raw_watch(late, "", WW_WIRE_WATCH_FLAG_EXISTING));
	raw_hear_event(late, WW_WIRE_WHAT_PUT, "current");
	raw_close(writer);
	/* The old one, which nobody holds, and the next. */
	wait_for(maker, &(struct want){2, 1, 1, 0, 2});
	must_be_found(maker, "current", &old);
	MUST(raw_is_silent(eyes) && raw_is_silent(late));
	MUST_OK(raw_release(maker, next.id));
	put = put_replacement(maker, "current", WW_WIRE_STATE_WRITING);
	MUST_OK(raw_seal(maker, put.id, WW_WIRE_STATE_SHARED));
	raw_hear_event(eyes, WW_WIRE_WHAT_REPLACED, "current");
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "current");
	must_be_found(maker, "current", &put);
	/* What is ready at once is later than what is being written. */
	next = put_replacement(maker, "current", WW_WIRE_STATE_WRITING);
	old = put_replacement(maker, "current", WW_WIRE_STATE_SEALED);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "its name was removed or given to another object",
		raw_seal(maker, next.id, WW_WIRE_STATE_SEALED));
	must_be_found(maker, "current", &old);
	MUST_OK(raw_end(maker, "current"));
}

/* Whose old one ends before: then it is like any that is being written. */
CASE(state_replacement_is_left, 0)
{
	struct raw *maker = peer();
	struct raw *other = peer();
	struct raw *eyes = watcher();
	struct ww_wire_put old = raw_object("current");
	struct ww_wire_put put;
	struct ww_wire_entry entry;
	uint32_t serial;

	MUST_OK(raw_put(maker, &old, NULL, 0));
	put = put_replacement(maker, "current", WW_WIRE_STATE_WRITING);
	MUST_OK(raw_watch(eyes, "", 0));
	MUST_OK(raw_release(maker, old.id));
	raw_hear_event(eyes, WW_WIRE_WHAT_GONE, "current");
	raw_hear_event(eyes, WW_WIRE_WHAT_PUT, "current");
	MUST_OK(raw_stat(other, "current", &entry));
	MUST_MATCH(put.id, entry.id, sizeof(put.id));
	MUST_REFUSE(WW_ERR_EXISTS, "taken", raw_put(other, &old, NULL, 0));
	/* One that nobody could have yet gives way at once; who waits goes on waiting. */
	serial = raw_ask_get(other, "current", WW_WIRE_ACCESS_READ);
	put = put_replacement(maker, "current", WW_WIRE_STATE_WRITING);
	raw_hear_event(eyes, WW_WIRE_WHAT_REPLACED, "current");
	MUST(raw_is_silent(eyes) && raw_is_silent(other));
	MUST_OK(raw_seal(maker, put.id, WW_WIRE_STATE_SEALED));
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "current");
	must_be_granted(other, serial, WW_WIRE_STATE_SEALED);
	/* Removed is the name: what is to have it, too. */
	put = put_replacement(maker, "current", WW_WIRE_STATE_WRITING);
	MUST_OK(raw_end(other, "current"));
	raw_hear_event(eyes, WW_WIRE_WHAT_REMOVED, "current");
	MUST(raw_is_silent(eyes));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object", raw_stat(other, "current", &entry));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "not in this broker",
		raw_seal(maker, put.id, WW_WIRE_STATE_SEALED));
}

/* A second put of what is there that says something else is refused, and changes nothing. */
static void refuse_changes(struct raw *raw, const struct ww_wire_put *put)
{
	struct ww_wire_put changed[7];
	struct ww_wire_entry entry;

	for (size_t i = 0; i < CHECK_COUNT(changed); i++)
		changed[i] = *put;
	changed[0].mode ^= 0040;
	changed[1].life = WW_WIRE_LIFE_KEPT;
	changed[2].state = WW_WIRE_STATE_SHARED;
	changed[3].state = WW_WIRE_STATE_WRITING;
	changed[4].description[0] ^= 1;
	changed[4].description_bytes = 1;
	changed[5].kind++;
	changed[6].mode = 0;
	changed[6].flags = WW_WIRE_PUT_FLAG_REPLACE;
	for (size_t i = 0; i < CHECK_COUNT(changed); i++)
		MUST_REFUSE(WW_ERR_EXISTS, "a second put changes nothing",
			raw_put(raw, &changed[i], NULL, 0));
	MUST_OK(raw_stat(raw, put->name, &entry));
	MUST_EQUAL(put->mode, entry.mode);
	MUST_EQUAL(put->life, entry.life);
	MUST_EQUAL(put->state, entry.state);
}

/* The time to live counts from the first put; a second one says the same, or is refused. */
static void refuse_other_time(struct raw *raw)
{
	struct ww_wire_put put = raw_object("timed");

	put.life = WW_WIRE_LIFE_KEPT;
	put.ttl_ns = 60000 * MS;
	MUST_OK(raw_put(raw, &put, NULL, 0));
	MUST_OK(raw_put(raw, &put, NULL, 0));
	put.ttl_ns++;
	MUST_REFUSE(WW_ERR_EXISTS, "a second put", raw_put(raw, &put, NULL, 0));
	put.ttl_ns = 0;
	MUST_REFUSE(WW_ERR_EXISTS, "a second put", raw_put(raw, &put, NULL, 0));
	MUST_OK(raw_end(raw, "timed"));
	MUST_OK(raw_put(raw, &put, NULL, 0));
	MUST_OK(raw_end(raw, "timed"));
	MUST_OK(raw_release(raw, put.id));
}

CASE(state_put_again, 0)
{
	struct raw *maker = peer();
	struct raw *other = peer();
	struct ww_wire_put put = put_named(maker, "once");
	struct ww_wire_put renamed = put;
	OWN(fd) int fd = raw_memory(4096);

	/*
	 * As after a connection that broke: it is there, and that is success; one object, one hold.
	 */
	MUST_OK(raw_put(maker, &put, NULL, 0));
	MUST_OK(raw_put(maker, &put, &fd, 1));
	wait_for(maker, &(struct want){1, 2, 1, 0, 0});
	MUST_REFUSE(WW_ERR_EXISTS, "already", raw_put(other, &put, NULL, 0));
	refuse_other_time(maker);
	refuse_changes(maker, &put);
	renamed.name[0] = '\0';
	MUST_REFUSE(WW_ERR_EXISTS, "as 'once'", raw_put(maker, &renamed, NULL, 0));
}

/* Memory that was shared by token first, and then is put under a name. */
CASE(state_named_later, 0)
{
	struct raw *maker = peer();
	struct raw *other = peer();
	struct raw *eyes = watcher();
	struct ww_wire_put put = raw_object("");
	struct ww_wire_granted granted;
	struct ww_wire_entry entry;
	uint8_t secret[16];
	uint32_t serial = raw_ask_get(other, "christened", WW_WIRE_ACCESS_READ);
	int fd = raw_memory(4096);

	MUST_OK(raw_watch(eyes, "", 0));
	put.life = WW_WIRE_LIFE_OWNER;
	MUST_OK(raw_put(maker, &put, &fd, 1));
	close(fd);
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, 0, secret));
	strcpy(put.name, "christened");
	put.state = WW_WIRE_STATE_WRITING;
	MUST_REFUSE(WW_ERR_STATE, "as writing", raw_put(maker, &put, NULL, 0));
	put.state = WW_WIRE_STATE_SHARED;
	MUST_REFUSE(WW_ERR_STATE, "sealed", raw_put(maker, &put, NULL, 0));
	put.state = WW_WIRE_STATE_SEALED;
	put.life = WW_WIRE_LIFE_HELD;
	put.mode = 0444;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	raw_hear_event(eyes, WW_WIRE_WHAT_PUT, "christened");
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "christened");
	must_be_granted(other, serial, WW_WIRE_STATE_SEALED);
	MUST_OK(raw_stat(other, "christened", &entry));
	MUST_EQUAL(0444, entry.mode);
	MUST_EQUAL(2, entry.holders); /* to put is to hold */
	MUST_OK(raw_import(other, put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST(!strcmp("christened", granted.name));
	MUST_OK(raw_release(other, put.id));
	MUST_OK(raw_release(maker, put.id));
	raw_hear_event(eyes, WW_WIRE_WHAT_GONE, "christened");
	/* One that is being written and has no name is ready when it has one. */
	put = raw_object("");
	put.state = WW_WIRE_STATE_WRITING;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	strcpy(put.name, "second");
	put.state = WW_WIRE_STATE_SHARED;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	raw_hear_event(eyes, WW_WIRE_WHAT_PUT, "second");
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "second");
}

/* Nobody could name it again, but by its token. */
CASE(state_unnamed_goes_with_its_maker, 0)
{
	struct raw *maker = peer();
	struct raw *other = peer();
	struct ww_wire_put put = raw_object("");
	struct ww_wire_granted granted;
	uint8_t secret[16];
	int fd = raw_memory(4096);

	put.life = WW_WIRE_LIFE_OWNER;
	MUST_OK(raw_put(maker, &put, &fd, 1));
	close(fd);
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, UINT64_C(60000000000), secret));
	MUST_OK(raw_import(other, put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_release(maker, put.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "",
		raw_import(other, put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_release(other, put.id));
}

/* What was not allowed when it came is not allowed when it is ready either. */
CASE(wait_answered_with_refusal, AS_ROOT)
{
	struct raw *alice = peer_of(ALICE, ALICE);
	struct raw *bob = peer_of(BOB, BOB);
	struct ww_wire_put put = raw_object("private");
	struct ww_wire_granted granted;
	uint32_t read = raw_ask_get(bob, "private", WW_WIRE_ACCESS_READ);
	struct raw *writer = peer_of(ALICE, ALICE);
	uint32_t write = raw_ask_get(writer, "private", WW_WIRE_ACCESS_WRITE);

	wait_for(peer(), &(struct want){0, 4, 0, 0, 2});
	put.state = WW_WIRE_STATE_WRITING;
	MUST_OK(raw_put(alice, &put, NULL, 0));
	MUST_REFUSE(WW_ERR_ACCESS, "may not read",
		raw_get(bob, "private", WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_seal(alice, put.id, WW_WIRE_STATE_SEALED));
	must_be_refused(bob, read, WW_ERR_ACCESS, "may not read");
	must_be_refused(writer, write, WW_ERR_ACCESS, "sealed");
}

CASE(wait_cancelled, 0)
{
	struct raw *raw = peer();
	struct raw *maker = peer();
	struct ww_wire_cancel cancel = {.waiting = raw_ask_get(raw, "never", WW_WIRE_ACCESS_READ)};
	struct ww_wire_done done;
	uint32_t serial;

	/* One that nobody made, or another's: done, and nothing happens. */
	serial = raw_ask(maker, cancel, &cancel);
	MUST_OK(raw_answered(maker, serial));
	MUST_OK(raw_take(maker, done, &done));
	wait_for(maker, &(struct want){0, 2, 0, 0, 1});
	serial = raw_ask(raw, cancel, &cancel);
	must_be_refused(raw, cancel.waiting, WW_ERR_GIVEN_UP, "given up");
	MUST_OK(raw_answered(raw, serial));
	MUST_OK(raw_call(raw, cancel, &cancel, done, &done));
	put_named(maker, "never");
	wait_for(maker, &(struct want){1, 2, 1, 0, 0});
	MUST(raw_is_silent(raw));
}

/* --- tokens in flight --- */

CASE(escrow_time, 0)
{
	struct raw *maker = peer();
	struct raw *eyes = watcher();
	struct ww_wire_put put = put_named(maker, "in-flight");
	uint8_t secret[16];

	MUST_OK(raw_watch(eyes, "", 0));
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, 60000 * MS, secret));
	raw_close(maker);
	/* In flight, so it lives without its maker, but not its name. */
	raw_hear_event(eyes, WW_WIRE_WHAT_GONE, "in-flight");
	wait_for(eyes, &(struct want){1, 0, 1, 0, 1});
	maker = peer();
	MUST_OK(raw_import(maker, put.id, secret, WW_WIRE_ACCESS_READ,
		&(struct ww_wire_granted){0}));
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, 1, secret));
	wait_for(maker, &(struct want){1, 1, 2, 0, 1}); /* the short one has ended */
	MUST_OK(raw_end_id(maker, put.id));
	put = put_named(maker, "short");
	raw_hear_event(eyes, WW_WIRE_WHAT_PUT, "short");
	raw_hear_event(eyes, WW_WIRE_WHAT_READY, "short");
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, 20 * MS, secret));
	raw_close(maker);
	raw_hear_event(eyes, WW_WIRE_WHAT_GONE, "short");
	wait_for(eyes, &(struct want){0, 0, 0, 0, 1});
}

CASE(escrow_uses, 0)
{
	struct raw *maker = peer();
	struct raw *other[3] = {peer(), peer(), peer()};
	struct ww_wire_put put = put_named(maker, "twice-only");
	struct ww_wire_granted granted;
	uint8_t secret[16];

	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 2, 60000 * MS, secret));
	MUST_OK(raw_release(maker, put.id));
	MUST_OK(raw_import(other[0], put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	wait_for(maker, &(struct want){1, 4, 2, 0, 0});
	MUST_OK(raw_import(other[1], put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	wait_for(maker, &(struct want){1, 4, 2, 0, 0}); /* the escrow has ended */
	/* One for writing is not used up by who reads. */
	MUST_OK(raw_export(other[0], put.id, WW_WIRE_ACCESS_READ, 1, 60000 * MS, secret));
	MUST_OK(raw_import(other[1], put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	wait_for(maker, &(struct want){1, 4, 3, 0, 0}); /* nor by who has it already */
	/* The secret stays good while somebody holds the object. */
	MUST_OK(raw_import(other[2], put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	for (size_t i = 0; i < 3; i++)
		MUST_OK(raw_release(other[i], put.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "ended",
		raw_import(other[0], put.id, secret, WW_WIRE_ACCESS_READ, &granted));
}

/* Whatever id is sent: only who put the object revokes. */
CASE(revoke_by_maker_only, 0)
{
	struct raw *maker = peer();
	struct raw *other = peer();
	struct ww_wire_put put = put_named(maker, "guarded");
	struct ww_wire_granted granted;
	uint8_t secret[16];
	uint8_t id[16] = {0};

	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, 60000 * MS, secret));
	MUST_REFUSE(WW_ERR_ACCESS, "hold it", raw_revoke(other, put.id));
	MUST_OK(raw_import(other, put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "not in this broker", raw_revoke(maker, id));
	MUST_OK(raw_import(peer(), put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_end(maker, "guarded"));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "any more", raw_revoke(maker, put.id));
}

CASE(revoke_ends_tokens, 0)
{
	struct raw *maker = peer();
	struct raw *other = peer();
	struct raw *late = peer();
	struct ww_wire_put put = raw_object("twice");
	struct ww_wire_granted granted;
	uint8_t secrets[2][16];
	uint8_t fresh[16];

	put.state = WW_WIRE_STATE_SHARED;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, 60000 * MS, secrets[0]));
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_WRITE, 3, 60000 * MS, secrets[1]));
	MUST_OK(raw_import(other, put.id, secrets[0], WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_export(other, put.id, WW_WIRE_ACCESS_READ, 0, 60000 * MS, fresh));
	wait_for(maker, &(struct want){1, 3, 5, 0, 0});
	MUST_OK(raw_revoke(maker, put.id));
	wait_for(maker, &(struct want){1, 3, 2, 0, 0}); /* the holders stay, the escrows do not */
	for (int i = 0; i < 2; i++)
		MUST_REFUSE(WW_ERR_ACCESS, "revoked",
			raw_import(late, put.id, secrets[i], WW_WIRE_ACCESS_READ, &granted));
	MUST_REFUSE(WW_ERR_ACCESS, "revoked",
		raw_import(other, put.id, secrets[0], WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_get(late, "twice", WW_WIRE_ACCESS_READ,
		&granted)); /* the name is another matter */
	MUST_OK(raw_export(other, put.id, WW_WIRE_ACCESS_READ, 0, 0, fresh));
	MUST_OK(raw_import(late, put.id, fresh, WW_WIRE_ACCESS_READ, &granted));
	MUST_REFUSE(WW_ERR_ACCESS, "",
		raw_import(late, put.id, fresh, WW_WIRE_ACCESS_WRITE, &granted));
	MUST_OK(raw_end(maker, "twice"));
}

/*
 * The broker is killed after it: old secrets do not come back, new ones stay; and once more is as
 * good.
 */
CASE(revoke_survives_restart, ONCE)
{
	struct raw *maker;
	struct ww_wire_put put;
	struct ww_wire_granted granted;
	uint8_t old[16];
	uint8_t fresh[16];

	suite_start(NULL, 0);
	maker = peer();
	put = put_named(maker, "x");
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, 60000 * MS, old));
	MUST_OK(raw_revoke(maker, put.id));
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, 60000 * MS, fresh));
	suite_kill_broker(maker);
	suite_come_back(maker, true);
	MUST_REFUSE(WW_ERR_ACCESS, "revoked",
		raw_import(maker, put.id, old, WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_import(maker, put.id, fresh, WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_revoke(maker, put.id));
	MUST_REFUSE(WW_ERR_ACCESS, "revoked",
		raw_import(maker, put.id, fresh, WW_WIRE_ACCESS_READ, &granted));
}

CASE(escrow_limits, 0)
{
	struct raw *maker = peer();
	struct ww_wire_put put = raw_object("limited");
	struct ww_wire_granted granted;
	uint8_t secret[16];

	put.state = WW_WIRE_STATE_WRITING;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	MUST_REFUSE(WW_ERR_INVALID, "60 s",
		raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, 60001 * MS, secret));
	MUST_REFUSE(WW_ERR_INVALID, "escrow",
		raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, UINT64_MAX, secret));
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_WRITE, 0, 60000 * MS, secret));
	MUST_REFUSE(WW_ERR_STATE, "being written",
		raw_import(peer(), put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_seal(maker, put.id, WW_WIRE_STATE_SEALED));
	MUST_REFUSE(WW_ERR_ACCESS, "sealed",
		raw_import(peer(), put.id, secret, WW_WIRE_ACCESS_WRITE, &granted));
	MUST_REFUSE(WW_ERR_ACCESS, "sealed",
		raw_export(maker, put.id, WW_WIRE_ACCESS_WRITE, 0, 0, secret));
	MUST_OK(raw_end(maker, "limited"));
}
