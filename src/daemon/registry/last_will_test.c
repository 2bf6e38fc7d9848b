/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last_will_test.c - last wills: given up, taken over by the next broker, many, damaged
 */
#include "daemon/registry/last_will_fixture.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

PAGE_TEST(creator_releases)
{
	struct holder *waiter = add_holder(fixture, 2, 8);
	struct holder *creator = add_process(fixture, 1, -1);
	struct object *object = put_page(fixture, creator, WW_WIRE_LIFE_KEPT);

	assert_ok(hold_take(registry, waiter, object, 1));
	hold_drop(registry, hold_find(registry, creator, object));
	assert_int_equal(fixture->told[WW_WIRE_WHAT_GONE], 1);
	must_have(fixture, 1, 2, 1, 0);
	/* Removed first, and put anew under the same id. */
	object = put_page(fixture, creator, WW_WIRE_LIFE_HELD);
	object_end(registry, object, WW_WIRE_WHAT_REMOVED);
	must_count(fixture, 2, 2, 2, 2);
	restart(fixture);
	creator = find_holder(fixture, 1);
	must_count(fixture, 2, 2, 2, 2);
	hold_drop(registry, ww_container(creator->holds.next, struct hold, of_holder));
	must_have(fixture, 1, 2, 1, 0);
	must_live();
	holder_end(registry, creator);
	must_live();
	holder_end(registry, find_holder(fixture, 2));
	must_be_empty(fixture);
}

/* The former broker was killed after the first of the steps, and had not even poisoned. */
PAGE_TEST(killed_at_the_first_step)
{
	struct holder *waiter = add_holder(fixture, 2, 8);
	struct holder *creator = add_process(fixture, 1, -1);
	struct object *object = put_page(fixture, creator, WW_WIRE_LIFE_HELD);

	assert_ok(hold_take(registry, waiter, object, 1));
	put(fixture, creator, 9, "other", WW_WIRE_LIFE_OWNER, 1);
	restart(fixture);
	must_live();
	must_count(fixture, 2, 2, 3, 4);
	table_commit(&registry->holder_table, find_holder(fixture, 1)->index, HOLDER_AWAITS_EXIT);
	/* The item knows of nothing, as when the process is gone. */
	restart(fixture);
	must_be_lost();
	assert_null(find(fixture, PAGE_NUMBER));
	assert_null(find(fixture, 9));
	must_count(fixture, 1, 2, 1, 2);
	renew_page();
	restart(fixture);
	must_be_lost();
	must_count(fixture, 1, 2, 1, 2);
	pass_time(fixture);
	must_have(fixture, 1, 1, 1, 0);
	holder_end(registry, find_holder(fixture, 2));
	must_be_empty(fixture);
}

/* In each of the steps by which a removed object's record comes to name the page alone. */
PAGE_TEST(killed_while_removing)
{
	static const uint8_t accesses[][3] = {{1, 4, 2}, {4, 4, 2}, {4, 0, 2}, {4, 0, 1}};

	for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
		struct holder *creator = add_process(fixture, 1, -1);
		struct object *object = put_page(fixture, creator, WW_WIRE_LIFE_HELD);
		struct ww_layout_object_record *record = object_record(registry, object);

		object_end(registry, object, WW_WIRE_WHAT_REMOVED);
		record->fds[1] = record->fds[0];
		record->fd_access[0] = accesses[i][0];
		record->fd_access[1] = accesses[i][1];
		record->fd_count = accesses[i][2];
		if (i == 0)
			record->fds[0] = FIRST; /* closed already, and another's by now */
		restart(fixture);
		must_live();
		must_count(fixture, 1, 1, 1, 2);
		holder_end(registry, find_holder(fixture, 1));
		must_be_lost();
		must_become_empty(fixture);
		renew_page();
	}
}

/*
 * A record that says of two descriptors that they are the page: the second is closed as any other.
 */
PAGE_TEST(two_pages)
{
	for (int ends = 0; ends <= 1; ends++) {
		struct holder *creator = add_process(fixture, 1, -1);
		struct object *object = put_page(fixture, creator, WW_WIRE_LIFE_HELD);

		memcpy(object_record(registry, object)->fd_access,
			(uint8_t[8]){LAST_WILL_ACCESS, LAST_WILL_ACCESS}, 8);
		bring_page_back(fixture, object);
		if (ends)
			restart(fixture);
		else
			object_end(registry, object, WW_WIRE_WHAT_REMOVED);
		creator = find_holder(fixture, 1);
		holder_end(registry, creator);
		must_become_empty(fixture);
		renew_page();
	}
}

/* Its creator's record is lost: its end could not be noticed, so it counts as ended. */
PAGE_TEST(creator_is_lost)
{
	for (int is_removed = 0; is_removed <= 1; is_removed++) {
		struct holder *waiter = add_holder(fixture, 2, 8);
		struct holder *creator = add_process(fixture, 1, -1);
		struct object *object = put_page(fixture, creator, WW_WIRE_LIFE_KEPT);

		assert_ok(hold_take(registry, waiter, object, 1));
		if (is_removed)
			object_end(registry, object, WW_WIRE_WHAT_REMOVED);
		object_record(registry, object)->maker = 0;
		holder_record(registry, creator)->number = 0;
		restart(fixture);
		must_be_lost();
		assert_int_equal(ours.page->ended, 0);
		must_have(fixture, 1, 1, 1, 0);
		holder_end(registry, find_holder(fixture, 2));
		must_be_empty(fixture);
		renew_page();
	}
}

#define MANY 200
#define MOST 128 /* in a turn of the loop: then others have theirs */

/* More than one turn looks at. */
PAGE_TEST(many_last_wills)
{
	static struct ww_layout_signal_page *pages[MANY];
	struct process process;
	struct holder *creator = start_holder(fixture, 1, &process);

	for (uint32_t i = 0; i < MANY; i++) {
		struct ww_wire_put put = describe(i, "", WW_WIRE_LIFE_HELD);
		struct object *object;

		close_page();
		make_page();
		put.state = WW_WIRE_STATE_SEALED;
		memcpy(put.fd_access, (uint8_t[8]){LAST_WILL_ACCESS}, 8);
		assert_ok(object_put(registry, creator, &put, &ours.writer, 1, 0, 0, &object));
		drain(fixture);
		pages[i] = mmap(NULL, WW_SIGNAL_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			ours.writer, 0);
	}
	assert_int_equal(registry->mapped_bytes, MANY * WW_SIGNAL_PAGE_BYTES);
	holder_end(registry, creator);
	for (uint32_t i = 0; i < MANY; i++) {
		struct ww_layout_signal_cell *cell = ww_signal_page_cell(pages[i],
			WW_SIGNAL_PAGE_BYTES, CELL_AT);

		assert_int_equal(cell->completed == WW_SIGNAL_POISON, i < MOST);
		cell->completed = 1;
	}
	for (uint32_t i = 0; i < MANY; i++) {
		struct ww_layout_signal_cell *cell = ww_signal_page_cell(pages[i],
			WW_SIGNAL_PAGE_BYTES, CELL_AT);

		while (cell->completed != WW_SIGNAL_POISON)
			uv_run(&fixture->loop, UV_RUN_ONCE);
	}
	for (uint32_t i = 0; i < MANY; i++)
		ww_signal_page_cell(pages[i], WW_SIGNAL_PAGE_BYTES, CELL_AT)->completed = 2;
	kill_process(&process);
	while (registry->exit_wait_count > 0)
		uv_run(&fixture->loop, UV_RUN_ONCE);
	for (uint32_t i = 0; i < MANY; i++) {
		const struct ww_layout_signal_cell *cell = ww_signal_page_cell(pages[i],
			WW_SIGNAL_PAGE_BYTES, CELL_AT);

		assert_true(cell->completed == WW_SIGNAL_POISON);
		munmap(pages[i], WW_SIGNAL_PAGE_BYTES);
	}
	assert_int_equal(registry->mapped_bytes, 0);
	must_be_empty(fixture);
}

/* --- damage --- */

struct field {
	int table;
	size_t at;
	size_t bytes;
};

#define FIELD(number, layout, name)                                                \
	{                                                                          \
		number, offsetof(struct ww_layout_##layout##_record, name),        \
			sizeof(((struct ww_layout_##layout##_record *)NULL)->name) \
	}

static const struct field fields[] = {FIELD(0, object, state), FIELD(0, object, life),
	FIELD(0, object, fd_count), FIELD(0, object, uid), FIELD(0, object, bytes),
	FIELD(0, object, generation), FIELD(0, object, maker), FIELD(0, object, id),
	FIELD(0, object, fds[0]), FIELD(0, object, fds[1]), FIELD(0, object, fd_access[0]),
	FIELD(0, object, fd_access[1]), FIELD(0, object, fd_access), FIELD(0, object, host_bytes),
	FIELD(0, object, name), FIELD(1, holder, state), FIELD(1, holder, uid),
	FIELD(1, holder, number), FIELD(1, holder, pidfd), FIELD(1, holder, process_id),
	FIELD(2, hold, object), FIELD(2, hold, holder), FIELD(2, hold, generation)};

/* A page whose creator runs, whose object was removed, or whose creator awaits its exit. */
static void page_prepare(struct fixture *fixture, int how)
{
	struct registry *registry = &fixture->registry;
	struct holder *creator = add_process(fixture, 1,
		ours.reader); /* is ready at once, as a pidfd */
	struct holder *waiter = add_holder(fixture, 2, 8);
	struct object *object = put_page(fixture, creator, WW_WIRE_LIFE_HELD);

	assert_ok(hold_take(registry, waiter, object, 1));
	if (how == 1)
		object_end(registry, object, WW_WIRE_WHAT_REMOVED);
	if (how == 2) {
		uint32_t pidfd = holder_record(registry, creator)->pidfd;

		holder_record(registry, creator)->pidfd = HOLDER_NO_PIDFD;
		holder_end(registry, creator);
		holder_record(registry, creator)->pidfd = pidfd;
	}
}

static void end_all(struct fixture *fixture)
{
	struct registry *registry = &fixture->registry;

	for (uint32_t i = 0; i < registry->holder_table.capacity; i++) {
		const uint32_t *holder = table_record(&registry->holder_table, i);

		if (*holder)
			holder_end(registry, table_item(&registry->holder_table, i));
	}
	for (uint32_t i = 0; i < registry->object_table.capacity; i++) {
		const uint32_t *object = table_record(&registry->object_table, i);

		if (*object && *object != WW_WIRE_STATE_REMOVED)
			object_end(registry, table_item(&registry->object_table, i),
				WW_WIRE_WHAT_REMOVED);
	}
	must_become_empty(fixture);
}

PAGE_TEST(damaged_records)
{
	static const uint64_t values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0x401, 0x104, 0x404,
		FIRST, FIRST + 3, FIRST + 5, LIMIT, UINT32_MAX, UINT64_MAX};

	for (int how = 0; how < 3; how++) {
		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
			for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
				uint8_t field[192] = {0};

				memcpy(field, &values[j], sizeof(values[j]));
				page_prepare(fixture, how);
				close_registry(fixture);
				pwrite(FIRST + fields[i].table, field, fields[i].bytes,
					(off_t)(64 + fields[i].at));
				assert_ok(open_registry(fixture));
				drain(fixture);
				end_all(fixture);
			}
		}
	}
}

UNIT_MAIN("last will")
