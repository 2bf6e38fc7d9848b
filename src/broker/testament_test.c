/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testament_test.c - testaments: executed, mourned over, taken over by the next broker, damaged
 */
#include "broker/registry_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/mourning.h"
#include "broker/registry_items.h"

#define PAGE_NUMBER 7 /* the object's id */
#define CELL_AT     sizeof(struct ww_layout_signal_page)

/* What a process that signals has, and its waiters: all of it here. */
static struct {
	int reader;
	int writer;
	struct ww_layout_signal_page *page;
	struct ww_layout_signal_cell *cell;
} ours;

static void make_page(void)
{
	char path[32];

	ours.writer = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(ours.writer, WW_SIGNAL_PAGE_BYTES), 0);
	assert_int_equal(fchmod(ours.writer, 0600), 0);
	assert_int_equal(fcntl(ours.writer, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
		0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ours.writer);
	ours.reader = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(ours.reader >= 0);
	ours.page = mmap(NULL, WW_SIGNAL_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		ours.writer, 0);
	assert_ptr_not_equal(ours.page, MAP_FAILED);
	ww_signal_page_init(ours.page, WW_SIGNAL_PAGE_BYTES, (const uint8_t[16]){1}, 1, 2, "unit");
	ours.cell = ww_signal_page_cell(ours.page, WW_SIGNAL_PAGE_BYTES, CELL_AT);
	ww_signal_cell_open(ours.cell, 5);
}

static void close_page(void)
{
	munmap(ours.page, WW_SIGNAL_PAGE_BYTES);
	ww_fd_close(ours.reader);
	ww_fd_close(ours.writer);
}

static int page_start(void **state)
{
	make_page();
	return fixture_start(state);
}

static int page_stop(void **state)
{
	close_page();
	return fixture_stop(state);
}

/* As if it had never been lost. */
static void renew_page(void)
{
	ours.page->lost = 0;
	ww_signal_cell_open(ours.cell, 5);
}

static void must_be_lost(void)
{
	assert_int_equal(ours.page->lost, 1);
	assert_int_equal(ours.cell->state, WW_WIRE_CELL_STATE_LOST);
	assert_int_equal(ours.cell->reached, 5);
	assert_true(ours.cell->completed == WW_SIGNAL_POISON);
}

static void must_live(void)
{
	assert_int_equal(ours.page->lost, 0);
	assert_int_equal(ours.cell->state, WW_WIRE_CELL_STATE_LIVE);
	assert_true(ours.cell->completed == 5);
}

/* --- processes --- */

struct process {
	pid_t pid;
	int pidfd;
};

static void start_process(struct process *process)
{
	process->pid = fork();
	assert_true(process->pid >= 0);
	if (process->pid == 0) {
		for (;;)
			pause();
	}
	process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	assert_true(process->pidfd >= 0);
}

static void kill_process(struct process *process)
{
	assert_int_equal(kill(process->pid, SIGKILL), 0);
	assert_int_equal(waitpid(process->pid, NULL, 0), process->pid);
	ww_fd_close(process->pidfd);
}

static struct holder *add_process(struct fixture *fixture, uint8_t number, int pidfd)
{
	uint8_t process_id[16] = {number};
	struct holder *holder;

	assert_int_equal(holder_add(&fixture->registry, process_id, 1000 + number, 7, 7, pidfd,
				 "maker", &holder),
		WW_OK);
	drain(fixture);
	return holder;
}

static struct object *put_page(struct fixture *fixture, struct holder *maker, uint8_t life)
{
	struct ww_wire_put put = describe(PAGE_NUMBER, "page", life);
	const int fds[2] = {ours.reader, ours.writer};
	struct object *object;

	put.state = WW_WIRE_STATE_SEALED;
	memcpy(put.fd_access, (uint8_t[8]){1, TESTAMENT_ACCESS}, 8);
	assert_int_equal(testament_check(&put, fds, 2), WW_OK);
	assert_int_equal(object_put(&fixture->registry, maker, &put, fds, 2, 0, 0, &object), WW_OK);
	drain(fixture);
	assert_non_null(object->testament);
	return object;
}

/* Time goes by, as much as it takes until nobody is mourned who may be forgotten. */
static void pass_time(struct fixture *fixture)
{
	struct registry *registry = &fixture->registry;

	ww_list_for_each (link, &registry->mourned) {
		ww_container(link, struct testament, of_mourned)->until_ns = 0;
	}
	while (registry->mourned_count > 0)
		uv_run(&fixture->loop, UV_RUN_ONCE);
	drain(fixture);
}

/* A holder without a pidfd has one paid for, all the same. */
static void must_count(struct fixture *fixture, uint32_t objects, uint32_t holders, uint32_t holds,
	uint64_t fds)
{
	const struct registry *registry = &fixture->registry;

	assert_int_equal(registry->object_table.used, objects);
	assert_int_equal(registry->holder_table.used, holders);
	assert_int_equal(registry->hold_table.used, holds);
	assert_int_equal(registry->accounts.fds, fds);
}

/* --- cases --- */

static void alive_then_over(void **state)
{
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;
	struct holder *waiter = add_holder(fixture, 2, 8);
	struct process process;
	struct object *object;
	struct holder *maker;

	start_process(&process);
	maker = add_process(fixture, 1, process.pidfd);
	object = put_page(fixture, maker, WW_WIRE_LIFE_HELD);
	assert_int_equal(registry->accounts.fds, 3);
	assert_int_equal(hold_take(registry, waiter, object, 1), WW_OK);
	must_live();
	holder_end(registry, maker);
	must_be_lost();
	assert_int_equal(fixture->told[WW_WIRE_WHAT_GONE], 1);
	assert_string_equal(ours.page->lost_program, "maker");
	assert_int_equal(ours.page->lost_pid, 1001);
	assert_null(find(fixture, PAGE_NUMBER));
	assert_null(find_holder(fixture, 1));
	/* The page and the pidfd are left: in the vault, and on the bill. */
	must_have(fixture, 1, 2, 1, 2);
	for (int round = 0; round < 3; round++) {
		ours.cell->completed = 6;
		while (ours.cell->completed != WW_SIGNAL_POISON)
			uv_run(&fixture->loop, UV_RUN_ONCE);
	}
	assert_int_equal(ours.cell->reached, 5);
	ours.cell->completed = 7;
	kill_process(&process);
	while (registry->mourned_count > 0)
		uv_run(&fixture->loop, UV_RUN_ONCE);
	must_be_lost();
	must_have(fixture, 1, 1, 1, 0);
	holder_end(registry, waiter);
	must_be_empty(fixture);
}

/* Nothing is left to mourn over. */
static void over_at_once(void **state)
{
	struct fixture *fixture = *state;
	struct process process;
	struct holder *maker;

	start_process(&process);
	maker = add_process(fixture, 1, process.pidfd);
	put_page(fixture, maker, WW_WIRE_LIFE_KEPT);
	kill_process(&process);
	must_live();
	holder_end(&fixture->registry, maker);
	must_be_lost();
	must_be_empty(fixture);
}

static void without_pidfd(void **state)
{
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;
	struct holder *waiter = add_holder(fixture, 2, 8);
	struct holder *maker = add_process(fixture, 1, -1);
	struct object *object = put_page(fixture, maker, WW_WIRE_LIFE_OWNER);

	assert_int_equal(hold_take(registry, waiter, object, 1), WW_OK);
	holder_end(registry, maker);
	must_be_lost();
	uv_run(&fixture->loop, UV_RUN_ONCE);
	assert_int_equal(registry->mourned_count, 1);
	pass_time(fixture);
	must_have(fixture, 1, 1, 1, 0);
	holder_end(registry, waiter);
	must_be_empty(fixture);
}

/* Of a process that lives: as long as somebody holds it, and then not much longer. */
static void given_up_but_alive(void **state)
{
	struct fixture *fixture = *state;
	struct registry *registry = &fixture->registry;
	struct holder *waiter = add_holder(fixture, 2, 8);
	struct process process;
	struct object *object;
	struct holder *maker;

	start_process(&process);
	maker = add_process(fixture, 1, process.pidfd);
	object = put_page(fixture, maker, WW_WIRE_LIFE_HELD);
	assert_int_equal(hold_take(registry, waiter, object, 1), WW_OK);
	holder_end(registry, maker);
	object->testament->until_ns = 0;
	uv_run(&fixture->loop, UV_RUN_ONCE);
	uv_run(&fixture->loop, UV_RUN_ONCE);
	assert_int_equal(registry->mourned_count, 1);
	/* The same process comes again: it is another holder. */
	maker = add_process(fixture, 1, process.pidfd);
	assert_ptr_equal(find_holder(fixture, 1), maker);
	restart(fixture);
	maker = find_holder(fixture, 1);
	assert_false(holder_is_mourned(registry, maker));
	assert_int_equal(registry->holder_table.used, 3);
	holder_end(registry, maker);
	holder_end(registry, find_holder(fixture, 2));
	assert_int_equal(registry->object_table.used, 1);
	pass_time(fixture);
	must_be_empty(fixture);
	kill_process(&process);
}

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

#define PAGE_CASE(name) cmocka_unit_test_setup_teardown(name, page_start, page_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAGE_CASE(alive_then_over),
		PAGE_CASE(over_at_once),
		PAGE_CASE(without_pidfd),
		PAGE_CASE(given_up_but_alive),
		PAGE_CASE(maker_lets_go),
		PAGE_CASE(killed_at_the_first_step),
		PAGE_CASE(killed_while_removing),
		PAGE_CASE(maker_is_lost),
		PAGE_CASE(many),
		PAGE_CASE(damaged),
	};

	return cmocka_run_group_tests_name("testament", tests, NULL, NULL);
}
