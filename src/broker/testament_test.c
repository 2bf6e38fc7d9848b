/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testament_test.c - testaments: given up, taken over by the next broker, many, damaged
 */
#include "broker/testament_fixture.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void maker_lets_go(void **state)
{
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;
	struct holder *waiter = add_holder(fixture, 2, 8);
	struct holder *maker = add_process(fixture, 1, -1);
	struct object *object = put_page(fixture, maker, WW_WIRE_LIFE_KEPT);

	assert_int_equal(hold_take(registry, waiter, object, 1), WW_OK);
	hold_drop(registry, hold_find(registry, maker, object));
	assert_int_equal(fixture->told[WW_WIRE_WHAT_GONE], 1);
	must_have(fixture, 1, 2, 1, 0);
	/* Removed first, and put anew under the same id. */
	object = put_page(fixture, maker, WW_WIRE_LIFE_HELD);
	object_end(registry, object, WW_WIRE_WHAT_REMOVED);
	must_count(fixture, 2, 2, 2, 2);
	restart(fixture);
	maker = find_holder(fixture, 1);
	must_count(fixture, 2, 2, 2, 2);
	hold_drop(registry, ww_container(maker->holds.next, struct hold, of_holder));
	must_have(fixture, 1, 2, 1, 0);
	must_live();
	holder_end(registry, maker);
	must_live();
	holder_end(registry, find_holder(fixture, 2));
	must_be_empty(fixture);
}

/* The former broker was killed after the first of the steps, and had not even poisoned. */
static void killed_at_the_first_step(void **state)
{
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;
	struct holder *waiter = add_holder(fixture, 2, 8);
	struct holder *maker = add_process(fixture, 1, -1);
	struct object *object = put_page(fixture, maker, WW_WIRE_LIFE_HELD);

	assert_int_equal(hold_take(registry, waiter, object, 1), WW_OK);
	put(fixture, maker, 9, "other", WW_WIRE_LIFE_OWNER, 1);
	restart(fixture);
	must_live();
	must_count(fixture, 2, 2, 3, 4);
	table_commit(&registry->holder_table, find_holder(fixture, 1)->index, HOLDER_MOURNED);
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
static void killed_while_removing(void **state)
{
	static const uint8_t accesses[][3] = {{1, 4, 2}, {4, 4, 2}, {4, 0, 2}, {4, 0, 1}};
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;

	for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
		struct holder *maker = add_process(fixture, 1, -1);
		struct object *object = put_page(fixture, maker, WW_WIRE_LIFE_HELD);
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
		pass_time(fixture);
		must_be_empty(fixture);
		renew_page();
	}
}

/* A record that says of two descriptors that they are the page: the second is closed as any other. */
static void two_pages(void **state)
{
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;

	for (int ends = 0; ends <= 1; ends++) {
		struct holder *maker = add_process(fixture, 1, -1);
		struct object *object = put_page(fixture, maker, WW_WIRE_LIFE_HELD);

		memcpy(object_record(registry, object)->fd_access,
			(uint8_t[8]){TESTAMENT_ACCESS, TESTAMENT_ACCESS}, 8);
		bring_page_back(fixture, object);
		if (ends)
			restart(fixture);
		else
			object_end(registry, object, WW_WIRE_WHAT_REMOVED);
		maker = find_holder(fixture, 1);
		holder_end(registry, maker);
		pass_time(fixture);
		must_be_empty(fixture);
		renew_page();
	}
}

/* Its maker's record is lost: there is nobody to ask, so he is taken for dead. */
static void maker_is_lost(void **state)
{
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;

	for (int is_removed = 0; is_removed <= 1; is_removed++) {
		struct holder *waiter = add_holder(fixture, 2, 8);
		struct holder *maker = add_process(fixture, 1, -1);
		struct object *object = put_page(fixture, maker, WW_WIRE_LIFE_KEPT);

		assert_int_equal(hold_take(registry, waiter, object, 1), WW_OK);
		if (is_removed)
			object_end(registry, object, WW_WIRE_WHAT_REMOVED);
		object_record(registry, object)->maker = 0;
		holder_record(registry, maker)->number = 0;
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
static void many(void **state)
{
	static struct ww_layout_signal_page *pages[MANY];
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;
	struct process process;
	struct holder *maker;

	start_process(&process);
	maker = add_process(fixture, 1, process.pidfd);
	for (uint32_t i = 0; i < MANY; i++) {
		struct ww_wire_put put = describe(i, "", WW_WIRE_LIFE_HELD);
		struct object *object;

		close_page();
		make_page();
		put.state = WW_WIRE_STATE_SEALED;
		memcpy(put.fd_access, (uint8_t[8]){TESTAMENT_ACCESS}, 8);
		assert_int_equal(object_put(registry, maker, &put, &ours.writer, 1, 0, 0, &object),
			WW_OK);
		drain(fixture);
		pages[i] = mmap(NULL, WW_SIGNAL_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			ours.writer, 0);
	}
	assert_int_equal(registry->mapped_bytes, MANY * WW_SIGNAL_PAGE_BYTES);
	holder_end(registry, maker);
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
	while (registry->mourned_count > 0)
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

/* A page whose maker is there, was removed from, or is mourned. */
static void prepare(struct fixture *fixture, int how)
{
	struct registry *registry = &fixture->registry;
	struct holder *maker = add_process(fixture, 1,
		ours.reader); /* is ready at once, as a pidfd */
	struct holder *waiter = add_holder(fixture, 2, 8);
	struct object *object = put_page(fixture, maker, WW_WIRE_LIFE_HELD);

	assert_int_equal(hold_take(registry, waiter, object, 1), WW_OK);
	if (how == 1)
		object_end(registry, object, WW_WIRE_WHAT_REMOVED);
	if (how == 2) {
		uint32_t pidfd = holder_record(registry, maker)->pidfd;

		holder_record(registry, maker)->pidfd = NO_PIDFD;
		holder_end(registry, maker);
		holder_record(registry, maker)->pidfd = pidfd;
	}
}

static void end_all(struct fixture *fixture)
{
	struct registry *registry = &fixture->registry;

	for (uint32_t i = 0; i < registry->holder_table.capacity; i++) {
		const uint32_t *holder = table_record(&registry->holder_table, i);

		if (*holder)
			holder_end(registry, slab_item(&registry->holders, i));
	}
	for (uint32_t i = 0; i < registry->object_table.capacity; i++) {
		const uint32_t *object = table_record(&registry->object_table, i);

		if (*object && *object != WW_WIRE_STATE_REMOVED)
			object_end(registry, slab_item(&registry->objects, i),
				WW_WIRE_WHAT_REMOVED);
	}
	pass_time(fixture);
	must_be_empty(fixture);
}

static void damaged(void **state)
{
	static const uint64_t values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0x401, 0x104, 0x404,
		FIRST, FIRST + 3, FIRST + 5, LIMIT, UINT32_MAX, UINT64_MAX};
	struct fixture *fixture = *state;

	for (int how = 0; how < 3; how++) {
		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
			for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
				uint8_t field[192] = {0};

				memcpy(field, &values[j], sizeof(values[j]));
				prepare(fixture, how);
				close_registry(fixture);
				pwrite(FIRST + fields[i].table, field, fields[i].bytes,
					(off_t)(64 + fields[i].at));
				assert_int_equal(open_registry(fixture), WW_OK);
				drain(fixture);
				end_all(fixture);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAGE_CASE(maker_lets_go),
		PAGE_CASE(killed_at_the_first_step),
		PAGE_CASE(killed_while_removing),
		PAGE_CASE(two_pages),
		PAGE_CASE(maker_is_lost),
		PAGE_CASE(many),
		PAGE_CASE(damaged),
	};

	return cmocka_run_group_tests_name("testament", tests, NULL, NULL);
}
