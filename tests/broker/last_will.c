/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last_will.c - what happens to signal pages when their creator ends, also together with the broker
 *
 * Creators that must end as processes are helpers (role_signaller). The others are connections of
 * this process, which goes on: for the broker such a connection is a process that it gave up.
 */
#include "broker/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/page.h"

#define PAGES 100
#define CROWD 1000

static void store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Puts pages "p0", "p1" ..., each at value 5 of 7; then waits until it is killed. */
ROLE(role_signaller)
{
	struct page pages[PAGES];
	struct raw *raw = calloc(1, sizeof(*raw));
	int page_count = atoi(arguments[1]);

	MUST_EQUAL(2, count);
	raw_open(raw, arguments[0]);
	for (int i = 0; i < page_count; i++) {
		char name[16];
		struct ww_wire_put put;

		snprintf(name, sizeof(name), "p%d", i);
		put = page_object(name);
		page_make(&pages[i]);
		ww_signal_cell_submit(page_cell(&pages[i], 0), 7, false);
		store(&page_cell(&pages[i], 0)->completed, 5);
		MUST_OK(page_put(raw, &put, &pages[i]));
	}
	role_tell("put");
	role_hear("go");
	FAIL("it was to be killed");
}

/* Puts a page under a name, which may be inside "outer"; then leaves the broker, and goes on. */
ROLE(role_leaver)
{
	struct ww_wire_put put = page_object(arguments[1]);
	struct raw *raw = calloc(1, sizeof(*raw));
	struct ww_wire_granted granted;
	struct page page;

	MUST_EQUAL(2, count);
	raw_open(raw, arguments[0]);
	page_make(&page);
	if (put.name[0] == '@')
		MUST_OK(raw_get(raw, "outer", WW_WIRE_ACCESS_READ, &granted));
	put.mode = 0666;
	MUST_OK(page_put(raw, &put, &page));
	role_tell("put");
	role_hear("leave");
	raw_close(raw);
	role_tell("left");
	role_hear("go");
	FAIL("it was to be killed");
}

/* Return: its pid, which @child no longer has when the helper has been reaped. */
static pid_t start_signaller(struct child *child, int pages)
{
	char number[16];
	const char *const arguments[] = {daemon_now->address, number, NULL};

	snprintf(number, sizeof(number), "%d", pages);
	child_start(child, "role_signaller", &(struct child_options){.arguments = arguments});
	child_hear(child, "put");
	return child->pid;
}

/* Maps a page as a waiter does. */
static void get_page(struct raw *raw, const char *name, struct page *out_page)
{
	struct ww_wire_granted granted;

	MUST_OK(raw_get(raw, name, WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(1, raw->fd_count);
	page_take(out_page, raw->fds[0]);
}

static void must_be_lost(const struct page *page, uint64_t reached, pid_t pid, const char *program)
{
	struct ww_signal_look look;

	page_wait_lost(page, 0);
	ww_signal_cell_look(page_cell(page, 0), &look);
	MUST_EQUAL(WW_WIRE_CELL_STATE_LOST, look.state);
	MUST_EQUAL(reached, look.reached);
	MUST_EQUAL(1, page->page->lost);
	MUST_EQUAL(pid, page->page->lost_pid);
	MUST(page->page->lost_ns != 0);
	MUST(!strcmp(program, (const char *)page->page->lost_program));
}

/* A page of this process, in a daemon of the case's own, and a waiter. */
struct stage {
	struct raw *maker;
	struct raw *waiter;
	struct ww_wire_put put;
	struct page ours;
	struct page theirs;
};

static void set_stage(struct stage *stage)
{
	suite_start(NULL, 0);
	stage->maker = peer();
	stage->waiter = peer();
	stage->put = page_object("page");
	page_make(&stage->ours);
	MUST_OK(page_put(stage->maker, &stage->put, &stage->ours));
	get_page(stage->waiter, "page", &stage->theirs);
}

static void clear_stage(struct stage *stage)
{
	page_close(&stage->ours);
	page_close(&stage->theirs);
}

CASE(signal_page_connection_ends, ONCE)
{
	struct stage stage;
	struct raw *eye;
	struct ww_wire_holder_listing listing;
	const struct ww_wire_holders ask = {0};
	struct ww_wire_granted granted;

	set_stage(&stage);
	eye = watcher();
	MUST_OK(raw_watch(eye, "", 0));
	ww_signal_cell_complete(page_cell(&stage.ours, 0), 3);
	raw_close(stage.maker);
	must_be_lost(&stage.theirs, 3, getpid(), "raw");
	page_wait_lost(&stage.theirs, 125); /* never used, and never woken by its owner */
	raw_hear_event(eye, WW_WIRE_WHAT_GONE, "page");
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object",
		raw_get(stage.waiter, "page", WW_WIRE_ACCESS_READ, &granted));
	/* Its process still runs: it is no longer listed as a holder, but its share stays used. */
	wait_for(stage.waiter, &(struct want){1, 2, 1, 2, 1});
	MUST_OK(raw_call(stage.waiter, holders, &ask, holder_listing, &listing));
	MUST_EQUAL(1, listing.holders.count);
	clear_stage(&stage);
}

CASE(signal_page_maker_is_killed, 0)
{
	struct raw *raw = peer();
	struct page page;
	struct child child;
	pid_t pid;

	pid = start_signaller(&child, 1);
	get_page(raw, "p0", &page);
	MUST_EQUAL(5, load(&page_cell(&page, 0)->completed));
	child_kill(&child);
	must_be_lost(&page, 5, pid, "raw");
	/* The only thing left is our hold of the removed object. */
	wait_for(raw, &(struct want){1, 1, 1, 0, 0});
	MUST_EQUAL(1, page.page->ended);
	page_close(&page);
}

CASE(signal_page_lives_end_with_maker, 0)
{
	struct raw *raw = peer();
	struct page page;
	struct page mine;
	struct child child;
	pid_t pid;
	struct ww_wire_put put = page_object("mine");

	page_make(&mine);
	put.life = WW_WIRE_LIFE_KEPT;
	MUST_OK(page_put(raw, &put, &mine));
	pid = start_signaller(&child, 3);
	get_page(raw, "p2", &page);
	child_kill(&child);
	must_be_lost(&page, 5, pid, "raw");
	/* The pages of other processes are unchanged. */
	wait_for(raw, &(struct want){2, 1, 2, 3, 0});
	MUST_EQUAL(0, mine.page->lost);
	MUST_OK(raw_release(raw, put.id));
	page_close(&page);
	page_close(&mine);
}

CASE(signal_page_removed_first, 0)
{
	struct raw *raw = peer();
	struct page page;
	struct child child;
	pid_t pid;

	pid = start_signaller(&child, 2);
	get_page(raw, "p0", &page);
	MUST_OK(raw_end(raw, "p0"));
	MUST_OK(raw_end(raw, "p1"));
	wait_for(raw, &(struct want){2, 2, 3, 4, 0});
	MUST_EQUAL(5, load(&page_cell(&page, 0)->completed));
	child_kill(&child);
	must_be_lost(&page, 5, pid, "raw");
	wait_for(raw, &(struct want){1, 1, 1, 0, 0});
	page_close(&page);
}

/*
 * A GPU of a process that ended may store over the poison: the broker poisons the page again, and
 * the reached value stays the same.
 */
CASE(signal_page_stored_over, ONCE)
{
	struct stage stage;

	set_stage(&stage);
	raw_close(stage.maker);
	must_be_lost(&stage.theirs, 0, getpid(), "raw");
	for (uint64_t value = 1; value < 10; value++) {
		store(&page_cell(&stage.ours, 0)->completed, value);
		store(&page_cell(&stage.ours, 125)->completed, value);
		page_wait_poison(&stage.theirs, 0);
		page_wait_poison(&stage.theirs, 125);
	}
	must_be_lost(&stage.theirs, 0, getpid(), "raw");
	clear_stage(&stage);
}

/* A process that goes on does not use up its share with pages that no other process had. */
CASE(signal_page_unshared_is_forgotten, ONCE)
{
	const struct ww_wire_put put = page_object("page");
	struct raw *maker;
	struct raw *eye;
	struct page page;

	suite_start(NULL, 0);
	maker = peer();
	eye = peer();
	page_make(&page);
	MUST_OK(page_put(maker, &put, &page));
	raw_close(maker);
	/* For a time the object is still there: exit_wait_test.c, given_up_and_never_shared. */
	wait_for(eye, &(struct want){0, 1, 0, 0, 0});
	MUST_EQUAL(1, page.page->lost);
	MUST_EQUAL(0, page.page->ended);
	page_close(&page);
}

/*
 * A process that leaves is lost, and one that has ended is ended. The broker says so also when no
 * process holds the object any more.
 */
CASE(signal_page_left_then_ended, ONCE)
{
	const char *arguments[] = {NULL, "p0", NULL};
	struct child child;
	struct page page;
	struct raw *raw;
	pid_t pid;

	for (int is_held = 0; is_held <= 1; is_held++) {
		struct ww_wire_granted granted;

		suite_start(NULL, 0);
		raw = peer();
		arguments[0] = daemon_now->address;
		child_start(&child, "role_leaver", &(struct child_options){.arguments = arguments});
		child_hear(&child, "put");
		pid = child.pid;
		MUST_OK(raw_get(raw, "p0", WW_WIRE_ACCESS_READ, &granted));
		page_take(&page, raw->fds[0]);
		child_tell(&child, "leave");
		child_hear(&child, "left");
		must_be_lost(&page, 0, pid, "raw");
		wait_for(raw, &(struct want){1, 2, 1, 2, 0});
		if (!is_held) {
			MUST_OK(raw_release(raw, granted.id));
			wait_for(raw, &(struct want){1, 2, 0, 2, 0});
		}
		suite_kill_broker(raw);
		suite_come_back(raw, is_held); /* a process without holds is forgotten */
		MUST_EQUAL(0, page.page->ended);
		child_kill(&child);
		wait_for(raw, &(struct want){(uint64_t)is_held, 1, (uint64_t)is_held, 0, 0});
		MUST_EQUAL(1, page.page->ended);
		page_close(&page);
		suite_stop();
	}
}

/* "@ID/holder-0" of an object. */
static void name_holder(char out_name[WW_WIRE_NAME_BYTES], const struct ww_wire_put *outer)
{
	out_name[0] = '@';
	for (size_t i = 0; i < sizeof(outer->id); i++)
		snprintf(out_name + 1 + 2 * i, 3, "%02x", outer->id[i]);
	strcat(out_name, "/holder-0");
}

/* An object with a page, and a process that has put another one inside of it and goes on. */
struct club {
	struct raw *owner;
	struct ww_wire_put outer;
	struct page page;
	struct child member;
	pid_t pid;
	char name[WW_WIRE_NAME_BYTES];
};

static void found_club(struct club *club)
{
	const char *arguments[] = {NULL, club->name, NULL};

	suite_start(NULL, 0);
	arguments[0] = daemon_now->address;
	club->owner = peer();
	club->outer = page_object("outer");
	page_make(&club->page);
	MUST_OK(page_put(club->owner, &club->outer, &club->page));
	name_holder(club->name, &club->outer);
	child_start(&club->member, "role_leaver", &(struct child_options){.arguments = arguments});
	child_hear(&club->member, "put");
	club->pid = club->member.pid;
	MUST_EQUAL(1, club->page.page->members);
}

/* The creator of an object may look for its members late: they are listed until they have ended. */
CASE(signal_page_member_is_found_late, ONCE)
{
	struct ww_wire_granted granted;
	struct club club;
	struct page theirs;

	found_club(&club);
	child_tell(&club.member, "leave");
	child_hear(&club.member, "left");
	wait_for(club.owner, &(struct want){2, 2, 1, 6, 0});
	suite_kill_broker(club.owner);
	suite_come_back(club.owner, true);
	get_page(club.owner, club.name, &theirs);
	must_be_lost(&theirs, 0, club.pid, "raw");
	MUST_EQUAL(0, theirs.page->ended);
	child_kill(&club.member);
	wait_for(club.owner, &(struct want){2, 1, 2, 3, 0});
	MUST_EQUAL(1, theirs.page->ended);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object",
		raw_get(club.owner, club.name, WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(0, club.page.page->lost);
	page_close(&theirs);
	page_close(&club.page);
}

/*
 * Members that have ended are listed for a minute more, unless the owner of the object has had them
 * before, or the object has ended.
 */
CASE(signal_page_member_ended_unseen, ONCE)
{
	struct ww_wire_granted granted;
	struct ww_wire_entry entry;
	struct club club;
	struct page theirs;

	found_club(&club);
	child_kill(&club.member);
	wait_for(club.owner, &(struct want){2, 1, 1, 5, 0});
	suite_kill_broker(club.owner);
	suite_come_back(club.owner, true);
	wait_for(club.owner, &(struct want){2, 1, 1, 5, 0});
	MUST_OK(raw_stat(club.owner, club.name, &entry));
	MUST(entry.left_ns <= 60000 * MS);
	MUST_OK(raw_get(club.owner, club.name, WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(1, club.owner->fd_count);
	page_take(&theirs, club.owner->fds[0]);
	must_be_lost(&theirs, 0, club.pid, "raw");
	MUST_EQUAL(1, theirs.page->ended);
	MUST_OK(raw_release(club.owner, granted.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object", raw_stat(club.owner, club.name, &entry));
	MUST_OK(raw_release(club.owner, club.outer.id));
	wait_for(club.owner, &(struct want){0, 1, 0, 0, 0});
	page_close(&theirs);
	page_close(&club.page);
}

/* The creator still runs: the next broker has all that it needs. */
CASE(signal_page_broker_killed_before, ONCE)
{
	struct stage stage;
	struct page removed;
	struct ww_wire_put put = page_object("removed");

	set_stage(&stage);
	page_make(&removed);
	MUST_OK(page_put(stage.maker, &put, &removed));
	MUST_OK(raw_end(stage.waiter, "removed"));
	suite_kill_broker(stage.waiter);
	suite_come_back(stage.waiter, true);
	suite_come_back(stage.maker, true);
	wait_for(stage.waiter, &(struct want){2, 2, 3, 5, 0});
	MUST_EQUAL(0, stage.ours.page->lost);
	raw_close(stage.maker);
	must_be_lost(&stage.theirs, 0, getpid(), "raw");
	page_wait_lost(&removed, 0);
	clear_stage(&stage);
	page_close(&removed);
}

/*
 * The broker is killed between the end of the connection and the end of the process: the next
 * broker goes on where the first one was.
 */
CASE(signal_page_broker_killed_after, ONCE)
{
	struct stage stage;

	set_stage(&stage);
	raw_close(stage.maker);
	must_be_lost(&stage.theirs, 0, getpid(), "raw");
	for (int round = 0; round < 2; round++) {
		suite_kill_broker(stage.waiter);
		suite_come_back(stage.waiter, true);
		wait_for(stage.waiter, &(struct want){1, 2, 1, 2, 0});
		store(&page_cell(&stage.ours, 0)->completed, 8);
		page_wait_poison(&stage.theirs, 0);
	}
	must_be_lost(&stage.theirs, 0, getpid(), "raw");
	MUST_EQUAL(0, stage.theirs.page->ended);
	clear_stage(&stage);
}

CASE(signal_page_maker_killed_without_broker, ONCE)
{
	struct ww_wire_condition condition;
	struct child child;
	pid_t pid;
	struct page page;
	struct raw *raw;

	suite_start(NULL, 0);
	raw = peer();
	pid = start_signaller(&child, 1);
	get_page(raw, "p0", &page);
	MUST_OK(raw_condition(raw, &condition));
	MUST_CALL(kill(daemon_now->supervisor, SIGSTOP));
	MUST_CALL(kill((pid_t)condition.pid, SIGKILL));
	MUST_STATUS(WW_END, raw_receive(raw));
	child_kill(&child);
	MUST_EQUAL(5, load(&page_cell(&page, 0)->completed));
	MUST_CALL(kill(daemon_now->supervisor, SIGCONT));
	broker_hear_ready(daemon_now);
	must_be_lost(&page, 5, pid, "raw");
	suite_come_back(raw, true);
	wait_for(raw, &(struct want){1, 1, 1, 0, 0});
	MUST_EQUAL(1, page.page->ended);
	page_close(&page);
}

/* What was given up stays given up; what the process puts now is new. */
CASE(signal_page_maker_comes_back, ONCE)
{
	struct stage stage;
	struct page again;
	struct ww_wire_granted granted;
	struct ww_wire_put put = page_object("page");

	set_stage(&stage);
	MUST_CALL(shutdown(stage.maker->socket, SHUT_RDWR));
	must_be_lost(&stage.theirs, 0, getpid(), "raw");
	suite_come_back(stage.maker, false);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "does not hold", raw_release(stage.maker, stage.put.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object",
		raw_get(stage.maker, "page", WW_WIRE_ACCESS_READ, &granted));
	page_make(&again);
	MUST_OK(page_put(stage.maker, &put, &again));
	wait_for(stage.waiter, &(struct want){2, 3, 2, 5, 0});
	/*
	 * The broker too may come and go: the one is known by its process id, the other by nothing.
	 */
	suite_kill_broker(stage.waiter);
	suite_come_back(stage.waiter, true);
	suite_come_back(stage.maker, true);
	wait_for(stage.waiter, &(struct want){2, 3, 2, 5, 0});
	MUST_EQUAL(0, again.page->lost);
	store(&page_cell(&stage.ours, 0)->completed, 9);
	page_wait_poison(&stage.theirs, 0);
	MUST_OK(raw_release(stage.maker, put.id));
	wait_for(stage.waiter, &(struct want){1, 3, 1, 2, 0});
	MUST_EQUAL(0, again.page->lost);
	page_close(&again);
	clear_stage(&stage);
}

/* Return: the time from the death of a creator of 100 pages to the poison of the last of them. */
static uint64_t time_hundred_pages(void *unused)
{
	static struct page pages[PAGES];
	struct raw *raw = peer();
	struct child child;
	pid_t pid;
	uint64_t start_ns;
	uint64_t first_ns;
	uint64_t last_ns;

	(void)unused;
	pid = start_signaller(&child, PAGES);
	for (int i = 0; i < PAGES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "p%d", i);
		get_page(raw, name, &pages[i]);
	}
	start_ns = ww_clock_now_ns();
	MUST_CALL(kill(pid, SIGKILL));
	page_wait_poison(&pages[0], 0);
	first_ns = ww_clock_now_ns();
	page_wait_poison(&pages[PAGES - 1], 0);
	last_ns = ww_clock_now_ns();
	check_note("killed -> first page %llu us, -> last of %d pages %llu us later",
		(unsigned long long)(first_ns - start_ns) / 1000, PAGES,
		(unsigned long long)(last_ns - first_ns) / 1000);
	child_kill(&child);
	for (int i = 0; i < PAGES; i++) {
		must_be_lost(&pages[i], 5, pid, "raw");
	}
	wait_for(raw, &(struct want){PAGES, 101, PAGES, 0, 0});
	for (int i = 0; i < PAGES; i++) {
		MUST_EQUAL(1, pages[i].page->ended);
		page_close(&pages[i]);
	}
	raw_close(raw);
	return last_ns - start_ns;
}

/* 100 pages of one creator, and 100 other connections, delay no waiter much. */
CASE(signal_page_hundred_at_once, ONCE)
{
	for (int i = 0; i < 100; i++)
		peer();
	suite_must_be_at_once(time_hundred_pages, NULL);
}

/* The sockets of so many connections. */
static void gather(int *sockets, int count)
{
	static struct raw one;

	for (int i = 0; i < count; i++) {
		raw_open(&one, daemon_now->address);
		sockets[i] = one.socket;
	}
}

/* Return: the time from a creator's death to the poison, while CROWD connections ask for a list. */
static uint64_t time_among_crowd(void *unused)
{
	static int crowd[CROWD];
	const struct ww_wire_header header = {.serial = 1};
	struct raw *raw;
	struct child child;
	struct page page;
	uint8_t packet[512];
	uint64_t start_ns;
	uint64_t end_ns;
	pid_t pid;
	size_t bytes = ww_wire_encode_list(&(struct ww_wire_list){.unnamed = 1}, WW_WIRE_VERSION,
		&header, packet, sizeof(packet));

	(void)unused;
	raw = peer();
	for (int i = 0; i < 100; i++)
		put_named(raw, "");
	gather(crowd, CROWD);
	pid = start_signaller(&child, 1);
	get_page(raw, "p0", &page);
	for (int i = 0; i < CROWD; i++)
		MUST_EQUAL(bytes, send(crowd[i], packet, bytes, 0));
	start_ns = ww_clock_now_ns();
	MUST_CALL(kill(pid, SIGKILL));
	page_wait_poison(&page, 0);
	end_ns = ww_clock_now_ns();
	check_note("killed -> poisoned, while %d ask: %llu us", CROWD,
		(unsigned long long)(end_ns - start_ns) / 1000);
	child_kill(&child);
	must_be_lost(&page, 5, pid, "raw");
	page_close(&page);
	for (int i = 0; i < CROWD; i++)
		close(crowd[i]);
	wait_for(raw, &(struct want){UINT64_MAX, 1, UINT64_MAX, UINT64_MAX, UINT64_MAX});
	raw_close(raw);
	return end_ns - start_ns;
}

/* Many requests at once do not keep the broker from executing a last will. */
CASE(signal_page_among_a_thousand, ONCE)
{
	struct rlimit files;

	MUST_CALL(getrlimit(RLIMIT_NOFILE, &files));
	if (files.rlim_max < 8192)
		check_skip("no more than %llu open files", (unsigned long long)files.rlim_max);
	MUST_CALL(setrlimit(RLIMIT_NOFILE, &(struct rlimit){4096, files.rlim_max}));
	suite_start(NULL, files.rlim_max);
	suite_must_be_at_once(time_among_crowd, NULL);
	MUST_CALL(setrlimit(RLIMIT_NOFILE, &files));
}
