/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testament_fixture.c - a signal page, its owner and its waiters in one process, see testament_fixture.h
 */
#include "broker/testament_fixture.h"

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

	assert_int_equal(holder_add(&fixture->registry, process_id, 1000 + number, 7, 7, pidfd,
				 "maker", &holder),
		WW_OK);
	drain(fixture);
	return holder;
}

struct object *put_page(struct fixture *fixture, struct holder *maker, uint8_t life)
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

/* MOURNING_NS go by. */
void grow_old(struct fixture *fixture)
{
	struct registry *registry = &fixture->registry;

	ww_list_for_each (link, &registry->mourned) {
		struct testament *testament = ww_container(link, struct testament, of_mourned);

		testament->until_ns = 0;
		mourning_join(registry, testament);
	}
}

/* Time goes by, as much as it takes until nobody is mourned who may be forgotten. */
void pass_time(struct fixture *fixture)
{
	struct registry *registry = &fixture->registry;

	grow_old(fixture);
	while (registry->mourned_count > 0)
		uv_run(&fixture->loop, UV_RUN_ONCE);
	drain(fixture);
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

/* The page of an object that is not mapped, under its number in the vault; and how it cannot be had for a while. */
void unmap_page(struct fixture *fixture, struct object *object)
{
	struct testament *testament = object->testament;

	munmap(testament->page, testament->bytes);
	testament->page = NULL;
	fixture->registry.mapped_bytes -= testament->bytes;
}

/* Puts a descriptor under the number of an object's page. */
static void place(struct fixture *fixture, const struct object *object, int fd)
{
	const struct ww_layout_object_record *record = object_record(&fixture->registry, object);
	int number = (int)record->fds[testament_find(record->fd_access, record->fd_count)];
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
	place(fixture, object, ours.reader);
}

void bring_page_back(struct fixture *fixture, const struct object *object)
{
	place(fixture, object, ours.writer);
}
