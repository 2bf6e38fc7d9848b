/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last_will_fixture.h - a signal page, its owner and its waiters in one process, for tests of last
 * wills
 *
 * Beside registry_fixture.h: one page, of which the test is the owner, the waiters and the GPU.
 */
#ifndef WW_DAEMON_REGISTRY_LAST_WILL_FIXTURE_H
#define WW_DAEMON_REGISTRY_LAST_WILL_FIXTURE_H

#include "daemon/registry/registry_fixture.h"

#include "daemon/registry/exit_wait.h"
#include "daemon/registry/last_will.h"

#define PAGE_NUMBER 7 /* the object's id */
#define CELL_AT     sizeof(struct ww_layout_signal_page)

/* What a process that signals has, and its waiters: all of it here. */
struct page_fixture {
	int reader;
	int writer;
	struct ww_layout_signal_page *page;
	struct ww_layout_signal_cell *cell;
};

extern struct page_fixture ours;

void make_page(void);
void close_page(void);

/* As if it had never been lost. */
void renew_page(void);

void must_be_lost(void);
void must_live(void);

/* For cmocka: fixture_start() and _stop(), with a page. */
int page_start(void **state);
int page_stop(void **state);

/* A process that does nothing. */
struct process {
	pid_t pid;
	int pidfd;
};

void start_process(struct process *process);
void kill_process(struct process *process);

/* @pidfd: -1: the kernel gave none. */
struct holder *add_process(struct fixture *fixture, uint8_t number, int pidfd);

/* Starts a process, and adds it. */
struct holder *start_holder(struct fixture *fixture, uint8_t number, struct process *process);

/* The page as an object of its own. */
struct object *put_page(struct fixture *fixture, struct holder *creator, uint8_t life);

/* Waits for EXIT_WAIT_NS, and until every exit wait that may end by then has ended. */
void grow_old(struct fixture *fixture);
void pass_time(struct fixture *fixture);

/* The same; then nothing may be left. */
void must_become_empty(struct fixture *fixture);

/* A holder without a pidfd has one paid for, all the same. */
void must_count(struct fixture *fixture, uint32_t objects, uint32_t holders, uint32_t holds,
	uint64_t fds);

/*
 * The page of an object is not mapped; and under its number in the fdstore there is one for
 * reading, for a while.
 */
void unmap_page(struct fixture *fixture, struct object *object);
void take_page_away(struct fixture *fixture, const struct object *object);
void bring_page_back(struct fixture *fixture, const struct object *object);

/* Nothing may be left when every exit wait has ended. */
#define PAGE_TEST(name) FIXTURE_TEST(name, page_start, page_stop, must_become_empty)

#endif
