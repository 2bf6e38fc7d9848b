/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last_will_fixture.c - a signal page, its owner and its waiters in one process, see
 * last_will_fixture.h
 */
#include "daemon/registry/last_will_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

struct page_fixture ours;

void make_page(void)
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

void close_page(void)
{
	munmap(ours.page, WW_SIGNAL_PAGE_BYTES);
	ww_fd_close(ours.reader);
	ww_fd_close(ours.writer);
}

int page_start(void **state)
{
	make_page();
	return fixture_start(state);
}

int page_stop(void **state)
{
	close_page();
	return fixture_stop(state);
}

/* As if it had never been lost. */
void renew_page(void)
{
	ours.page->lost = 0;
	ours.page->ended = 0;
	ww_signal_cell_open(ours.cell, 5);
}

void must_be_lost(void)
{
	assert_int_equal(ours.page->lost, 1);
	assert_int_equal(ours.cell->state, WW_WIRE_CELL_STATE_LOST);
	assert_int_equal(ours.cell->reached, 5);
	assert_true(ours.cell->completed == WW_SIGNAL_POISON);
}

void must_live(void)
{
	assert_int_equal(ours.page->lost, 0);
	assert_int_equal(ours.cell->state, WW_WIRE_CELL_STATE_LIVE);
	assert_true(ours.cell->completed == 5);
}

void start_process(struct process *process)
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

void kill_process(struct process *process)
{
	assert_int_equal(kill(process->pid, SIGKILL), 0);
	assert_int_equal(waitpid(process->pid, NULL, 0), process->pid);
	ww_fd_close(process->pidfd);
}

struct holder *add_process(struct fixture *fixture, uint8_t number, int pidfd)
{
	uint8_t process_id[16] = {number};
	struct holder *holder;

	assert_ok(holder_add(&fixture->registry, process_id, 1000 + number, 7, 7, pidfd, "creator",
		&holder));
	drain(fixture);
	return holder;
}

struct holder *start_holder(struct fixture *fixture, uint8_t number, struct process *process)
{
	start_process(process);
	return add_process(fixture, number, process->pidfd);
}

struct object *put_page(struct fixture *fixture, struct holder *creator, uint8_t life)
{
	struct ww_wire_put put = describe(PAGE_NUMBER, "page", life);
	const int fds[2] = {ours.reader, ours.writer};
	struct object *object;

	put.kind = WW_WIRE_KIND_CHANNEL;
	put.state = WW_WIRE_STATE_SEALED;
	memcpy(put.fd_access, (uint8_t[8]){1, LAST_WILL_ACCESS}, 8);
	assert_ok(last_will_check(&put, fds, 2));
	assert_ok(object_put(&fixture->registry, creator, &put, fds, 2, 0, 0, &object));
	drain(fixture);
	assert_non_null(object->extra->last_will);
	return object;
}

/* EXIT_WAIT_NS go by. */
void grow_old(struct fixture *fixture)
{
	struct registry *registry = &fixture->registry;

	ww_list_for_each (link, &registry->exit_waits) {
		struct last_will *last_will = ww_container(link, struct last_will, of_exit_waits);

		last_will->until_ns = 0;
		exit_wait_add(registry, last_will);
	}
}

/* Waits until every exit wait that may end by its time has ended. */
void pass_time(struct fixture *fixture)
{
	struct registry *registry = &fixture->registry;

	grow_old(fixture);
	while (registry->exit_wait_count > 0)
		uv_run(&fixture->loop, UV_RUN_ONCE);
	drain(fixture);
}

void must_become_empty(struct fixture *fixture)
{
	pass_time(fixture);
	must_be_empty(fixture);
}

/* A holder without a pidfd has one paid for, all the same. */
void must_count(struct fixture *fixture, uint32_t objects, uint32_t holders, uint32_t holds,
	uint64_t fds)
{
	const struct registry *registry = &fixture->registry;

	assert_int_equal(registry->object_table.used, objects);
	assert_int_equal(registry->holder_table.used, holders);
	assert_int_equal(registry->hold_table.used, holds);
	assert_int_equal(registry->accounts.fds, fds);
}

/*
 * The page of an object that is not mapped, under its number in the fdstore; and how it cannot be
 * had for a while.
 */
void unmap_page(struct fixture *fixture, struct object *object)
{
	struct last_will *last_will = object->extra->last_will;

	munmap(last_will->page, last_will->bytes);
	last_will->page = NULL;
	fixture->registry.mapped_bytes -= last_will->bytes;
}

/* Puts a descriptor under the number of an object's page. */
static void object_place_fd(struct fixture *fixture, const struct object *object, int fd)
{
	const struct ww_layout_object_record *record = object_record(&fixture->registry, object);
	int number = (int)record->fds[last_will_find(record->fd_access, record->fd_count)];
	struct rlimit files;
	struct rlimit all;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	all = (struct rlimit){files.rlim_max, files.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	assert_int_equal(dup3(fd, number, O_CLOEXEC), number);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

void take_page_away(struct fixture *fixture, const struct object *object)
{
	object_place_fd(fixture, object, ours.reader);
}

void bring_page_back(struct fixture *fixture, const struct object *object)
{
	object_place_fd(fixture, object, ours.writer);
}
