/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_damage_test.c - tables with records that a fault has damaged: each is dropped alone, and
 * nothing crashes
 */
#include "daemon/registry/registry_fixture.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define FAR (ww_clock_now_ns() + UINT64_C(3600000000000))

static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((z ^ (z >> 31)) % limit);
}

#define TABLES     4 /* that of names is the last one in a new registry */
#define TABLE_MOST (1 << 20)

static struct {
	uint8_t bytes[TABLES][TABLE_MOST];
	size_t count[TABLES];
	uint32_t last; /* the highest number in the fdstore, and one */
} snapshot;

static void take_snapshot(struct fixture *fixture)
{
	snapshot.last = fixture->fdstore.next;
	for (int i = 0; i < TABLES; i++) {
		ssize_t count = pread(FIRST + i, snapshot.bytes[i], TABLE_MOST, 0);

		assert_in_range(count, 64, TABLE_MOST - 1);
		snapshot.count[i] = (size_t)count;
	}
}

/* Files as they were, and descriptors open as they were. */
static void restore_snapshot(struct fixture *fixture)
{
	for (int i = 0; i < TABLES; i++) {
		assert_int_equal(ftruncate(FIRST + i, (off_t)snapshot.count[i]), 0);
		assert_int_equal(pwrite(FIRST + i, snapshot.bytes[i], snapshot.count[i], 0),
			snapshot.count[i]);
	}
	for (uint32_t number = FIRST + TABLES; number < snapshot.last; number++)
		assert_int_equal(dup2(fixture->file, (int)number), number);
}

/*
 * Three that are kept and named, two of them twice; one being written, one removed, one without a
 * name, an escrow.
 */
static void registry_populate(struct fixture *fixture)
{
	struct registry *registry = &fixture->registry;
	struct holder *first = add_holder(fixture, 1, 7);
	struct holder *second = add_holder(fixture, 2, 8);
	struct ww_wire_put writing = describe(4, "writing", WW_WIRE_LIFE_HELD);
	struct object *object;

	for (uint32_t number = 1; number <= 3; number++) {
		char name[8] = {'k', (char)('0' + number)};

		object = put(fixture, number == 3 ? second : first, number, name, WW_WIRE_LIFE_KEPT,
			number);
		assert_ok(hold_take(registry, second, object, 1));
	}
	assert_ok(hold_escrow(registry, second->account, object, 1, 3, FAR));
	for (uint32_t number = 1; number <= 2; number++) {
		struct ww_wire_put further = describe(number, number == 1 ? "f1" : "f2",
			number == 1 ? WW_WIRE_LIFE_HELD : WW_WIRE_LIFE_KEPT);

		assert_ok(object_add_name(registry, find(fixture, number), 7, &further, 7));
	}
	writing.state = WW_WIRE_STATE_WRITING;
	assert_ok(try_put(fixture, first, &writing, 1, &object));
	object = put(fixture, first, 5, "removed", WW_WIRE_LIFE_HELD, 1);
	assert_ok(hold_take(registry, second, object, 2));
	object_end(registry, object, WW_WIRE_WHAT_REMOVED);
	put(fixture, second, 6, "", WW_WIRE_LIFE_OWNER, 1);
}

/* Ends everything there is, by the ways that there are. */
static void end_all(struct fixture *fixture)
{
	struct registry *registry = &fixture->registry;

	for (uint32_t i = 0; i < registry->holder_table.capacity; i++) {
		const struct ww_layout_holder_record *record = table_record(&registry->holder_table,
			i);

		if (record->state)
			holder_end(registry, table_item(&registry->holder_table, i));
	}
	for (uint32_t i = 0; i < registry->object_table.capacity; i++) {
		const struct ww_layout_object_record *record = table_record(&registry->object_table,
			i);

		if (record->state && record->state != WW_WIRE_STATE_REMOVED)
			object_end(registry, table_item(&registry->object_table, i),
				WW_WIRE_WHAT_REMOVED);
	}
	must_be_empty(fixture);
}

/* @object: which one was damaged itself; 0: none. */
static void registry_must_survive(struct fixture *fixture, uint32_t object)
{
	assert_ok(open_registry(fixture));
	drain(fixture);
	for (uint32_t number = 1; number <= 3; number++)
		assert_true(number == object || find(fixture, number));
	end_all(fixture);
	close_registry(fixture);
	restore_snapshot(fixture);
}

/* Writes some of the numbers that programs stumble over into one field of a record. */
static void registry_damage(struct fixture *fixture, int table, size_t at, size_t bytes,
	uint32_t object)
{
	static const uint64_t numbers[] = {0, 1, 2, 3, 5, 0x7f, 0xff, 0x101, 0xffff, FIRST,
		FIRST + 1, LIMIT, INT32_MAX, UINT32_MAX, UINT64_C(1) << 32, INT64_MAX,
		UINT64_MAX - 1000, UINT64_MAX};
	uint8_t field[16];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		memset(field, i % 2 ? 0xff : 0x11, sizeof(field));
		memcpy(field, &numbers[i], sizeof(numbers[i]));
		assert_int_equal(pwrite(FIRST + table, field, bytes, (off_t)at), bytes);
		registry_must_survive(fixture, object);
	}
}

struct field {
	size_t at;
	size_t bytes;
};

#define FIELD(layout, name)                                                        \
	{                                                                          \
		offsetof(struct ww_layout_##layout##_record, name),                \
			sizeof(((struct ww_layout_##layout##_record *)NULL)->name) \
	}

static const struct field object_fields[] = {FIELD(object, state), FIELD(object, kind),
	FIELD(object, life), FIELD(object, fd_count), FIELD(object, mode),
	FIELD(object, description_bytes), FIELD(object, uid), FIELD(object, gid),
	FIELD(object, maker_pid), FIELD(object, bytes), FIELD(object, created_ns),
	FIELD(object, expires_ns), FIELD(object, generation), FIELD(object, maker),
	FIELD(object, id), FIELD(object, fds[0]), FIELD(object, fds[1]), FIELD(object, fd_access),
	FIELD(object, host_bytes)};

static const struct field holder_fields[] = {FIELD(holder, state), FIELD(holder, pid),
	FIELD(holder, uid), FIELD(holder, gid), FIELD(holder, number), FIELD(holder, since_ns),
	FIELD(holder, pidfd), FIELD(holder, process_id)};

static const struct field hold_fields[] = {FIELD(hold, state), FIELD(hold, object),
	FIELD(hold, holder), FIELD(hold, generation), FIELD(hold, uid), FIELD(hold, expires_ns),
	FIELD(hold, since_ns), FIELD(hold, uses), FIELD(hold, access), FIELD(hold, flags)};

static const struct field name_fields[] = {FIELD(name, state), FIELD(name, object),
	FIELD(name, generation), FIELD(name, sequence), FIELD(name, created_ns),
	FIELD(name, expires_ns), FIELD(name, uid), FIELD(name, description_bytes),
	FIELD(name, life), FIELD(name, part)};

/* Every field of every record of a table. */
static void damage_table(struct fixture *fixture, int table, size_t record_bytes,
	const struct field *fields, size_t field_count)
{
	size_t records = (snapshot.count[table] - 64) / record_bytes;

	for (size_t record = 0; record < records; record++) {
		const uint8_t *bytes = snapshot.bytes[table] + 64 + record * record_bytes;
		uint32_t state;

		memcpy(&state, bytes, sizeof(state));
		for (size_t i = 0; state && i < field_count; i++)
			registry_damage(fixture, table, 64 + record * record_bytes + fields[i].at,
				fields[i].bytes, table == 0 ? (uint32_t)record + 1 : 0);
	}
}

static void prepare_damage(struct fixture *fixture)
{
	registry_populate(fixture);
	take_snapshot(fixture);
	close_registry(fixture);
}

static void finish_damage(struct fixture *fixture)
{
	assert_ok(open_registry(fixture));
	must_have(fixture, 6, 2, 10, 8);
	end_all(fixture);
}

REGISTRY_TEST(damaged_objects)
{
	prepare_damage(fixture);
	damage_table(fixture, 0, WW_LAYOUT_OBJECT_RECORD_BYTES, object_fields,
		sizeof(object_fields) / sizeof(object_fields[0]));
	finish_damage(fixture);
}

REGISTRY_TEST(damaged_holders)
{
	prepare_damage(fixture);
	damage_table(fixture, 1, WW_LAYOUT_HOLDER_RECORD_BYTES, holder_fields,
		sizeof(holder_fields) / sizeof(holder_fields[0]));
	finish_damage(fixture);
}

REGISTRY_TEST(damaged_holds)
{
	prepare_damage(fixture);
	damage_table(fixture, 2, WW_LAYOUT_HOLD_RECORD_BYTES, hold_fields,
		sizeof(hold_fields) / sizeof(hold_fields[0]));
	finish_damage(fixture);
}

REGISTRY_TEST(damaged_names)
{
	prepare_damage(fixture);
	damage_table(fixture, 3, WW_LAYOUT_NAME_RECORD_BYTES, name_fields,
		sizeof(name_fields) / sizeof(name_fields[0]));
	finish_damage(fixture);
}

/* Texts without an end, with what no name has, and the name of another. */
REGISTRY_TEST(damaged_texts)
{
	static const struct field name = FIELD(object, name);
	static const struct field further = FIELD(name, name);
	static const struct field program = FIELD(holder, program);
	static const char *const names[] = {"k2", "../k1", "/", "a\nb", "\xff"};
	char text[192];

	prepare_damage(fixture);
	memset(text, 'x', sizeof(text));
	pwrite(FIRST, text, name.bytes, (off_t)(64 + name.at));
	registry_must_survive(fixture, 1);
	pwrite(FIRST + 1, text, program.bytes, (off_t)(64 + program.at));
	registry_must_survive(fixture, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		memset(text, 0, sizeof(text));
		strcpy(text, names[i]);
		pwrite(FIRST, text, name.bytes, (off_t)(64 + name.at));
		/* Of two of one name that stays which was put later. */
		registry_must_survive(fixture, 1);
		pwrite(FIRST + 3, text, further.bytes, (off_t)(64 + further.at));
		registry_must_survive(fixture, 0);
	}
	finish_damage(fixture);
}

/* Whole tables of noise, and headers of other tables. */
REGISTRY_TEST(damaged_beyond_repair)
{
	prepare_damage(fixture);
	random_state = 99;
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 40; i++) {
			int table = (int)random_below(TABLES);
			uint8_t byte = (uint8_t)random_below(256);

			pwrite(FIRST + table, &byte, 1,
				(off_t)(64 + random_below((uint32_t)snapshot.count[table] - 64)));
		}
		assert_ok(open_registry(fixture));
		drain(fixture);
		end_all(fixture);
		close_registry(fixture);
		restore_snapshot(fixture);
	}
	for (size_t at = 0; at < 24; at++) {
		uint8_t byte = (uint8_t)~snapshot.bytes[at % TABLES][at];

		if (at == 16 || at == 17)
			continue; /* a capacity that is a little smaller is one too */
		pwrite(FIRST + (int)(at % TABLES), &byte, 1, (off_t)at);
		if (at % TABLES == 3) { /* further names are lost, all others are not */
			registry_must_survive(fixture, 0);
			continue;
		}
		assert_true(open_registry(fixture) < 0);
		fdstore_close(&fixture->fdstore);
		restore_snapshot(fixture);
	}
	finish_damage(fixture);
}

UNIT_MAIN("registry_damage")
