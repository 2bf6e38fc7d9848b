/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name.h - the names of objects, and how an object is found by one
 *
 * The record of an object has its first name. A memory may have further ones, each with a record of
 * its own: what belongs to the name, not to the object, is there (its owner, life and time to live,
 * and the description of the part that it names). The first name may be removed before the others.
 * Then the record of the object is free for another name.
 *
 * An object that replaces another one has the name before the other one loses it. So two names of
 * different objects may have one text: if both objects are ready, or both are being written, the
 * next broker takes the name from the one that got it first.
 */
#ifndef WW_DAEMON_REGISTRY_NAME_H
#define WW_DAEMON_REGISTRY_NAME_H

#include "daemon/registry/expiry.h"
#include "daemon/registry/registry.h"

/*
 * The most further names of one object: they are looked at together when it is sealed or ends, and
 * those of parts are told in one answer.
 */
#define FURTHER_NAMES_MOST 4096

struct account;
struct object;

/* What belongs to a name beside its text. */
struct name_fields {
	const char *text; /* empty: the object's record has no name */
	const uint8_t *description;
	uint64_t since_ns;
	uint64_t sequence; /* the later one of two names has the higher one */
	uint64_t expires_ns;
	uint64_t part; /* number of the part of a pool; 0: the whole object */
	uid_t uid;     /* its owner */
	uint16_t description_bytes;
	uint8_t life;
};

/* The item of a further name. */
struct further_name {
	struct item_node by_name;
	struct object *object;
	struct account *account; /* of its owner */
	struct expiry *expiry;
	uint32_t index;
	uint32_t newer; /* 1 + the index of the one that came after it, of the object; 0: none */
	uint32_t older;
};

static inline struct ww_layout_name_record *further_record(const struct registry *registry,
	const struct further_name *further)
{
	return table_record(&registry->name_table, further->index);
}

/* One name of an object, or the place for it in the object's record. */
static inline struct name name_first(struct object *object)
{
	return (struct name){.object = object};
}

struct name_fields name_read(const struct registry *registry, struct name name);
const char *name_text(const struct registry *registry, struct name name);

/*
 * The first name of an object, or if it has lost that, a further one, but not of a part; or its
 * place, if none.
 */
struct name name_any(const struct registry *registry, struct object *object);

/* The next older further name of an object; NULL: the newest. Return: NULL: there is none. */
struct further_name *further_next(const struct registry *registry, const struct object *object,
	const struct further_name *further);
uint32_t object_count_further(const struct registry *registry, const struct object *object);

/*
 * Where a name comes when all are told of one after the other: those in the records of objects,
 * which may be empty, then further ones. A place does not change.
 */
#define PLACE_FURTHER (UINT64_C(1) << 32) /* the first further name's */
#define PLACE_END     (UINT64_C(1) << 33)

uint64_t name_place(struct name name);

/*
 * The next name from a place on. *place becomes the one behind it.
 * @records:  how many records are looked at, at most; counted down
 * Return: no object: none of these records is in use; *place is PLACE_END if they were the last.
 */
struct name name_walk(const struct registry *registry, uint64_t *place, uint32_t *records);

/*
 * Whose object can be had by this text: the one that is ready; if there is none, the one that got
 * the name first. Return: no object when there is none.
 */
struct name name_find(const struct registry *registry, const char *text);

/*
 * The name of this text that an object has, also if it only waits for it.
 * @object:  may be NULL
 */
struct name name_find_of(const struct registry *registry, const struct object *object,
	const char *text);

/*
 * The one whose object is being written and is to replace the one that is found by this text: it
 * counts when the object is ready, or when the other one ends.
 */
struct name name_find_replacement(const struct registry *registry, const char *text);
bool name_is_replacement(const struct registry *registry, struct name name);

/*
 * The other one with the same text that must go for this one: one that is earlier, but an object
 * that is being written replaces no object that is ready. One that has not had the name yet comes
 * first.
 */
struct name name_find_former(const struct registry *registry, struct name name);

/* A name has gone: if another object waited for that, reports it as put. */
void name_pass(struct registry *registry, const char *text);

/*
 * Gives an object that may have names (object_may_have_names) a further one, which user @uid owns
 * and is charged for. @end: called when its time to live has ended. Return: WW_OK; WW_ERR_QUOTA;
 * WW_ERR_LIMIT; WW_ERR_NO_MEMORY.
 */
ww_status further_make(struct registry *registry, struct object *object, uid_t uid,
	const struct ww_wire_put *put, expiry_end end, struct further_name **out_further);

/*
 * The same with a record that a former broker left. Return: WW_OK; WW_ERR_PROTOCOL (it is
 * impossible, or its object has gone); WW_ERR_NO_MEMORY.
 */
ww_status further_adopt(struct registry *registry, uint32_t index, expiry_end end);

/* Takes a further name from its object: watchers are told @what. The object is not looked at. */
void further_drop(struct registry *registry, struct further_name *further, uint8_t what);

#endif
