/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suite.c - the daemons and connections of the cases, see suite.h
 */
#include "broker/suite.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

#define PEERS_MAX  128
#define AT_ONCE_NS (5000 * MS)
#define TRIES      10

static const char shared_config[] = "[broker]\n"
				    "escrow_max_s = 60\n"
				    "[names]\n"
				    "model = user 54321\n"
				    "model/open = group 54400\n";

static struct broker shared;
static struct broker own;
static struct raw pool[PEERS_MAX]; /* in use: the first `used` */
static size_t used;
static uint64_t open_fds; /* of the shared daemon, with one connection */

struct broker *daemon_now = &shared;

static struct raw *take(void)
{
	if (used == PEERS_MAX)
		FAIL("more than %d connections", PEERS_MAX);
	pool[used].socket = -1;
	return &pool[used++];
}

struct raw *peer(void)
{
	struct raw *raw = take();

	raw_open(raw, daemon_now->address);
	return raw;
}

struct raw *attacker(void)
{
	struct raw *raw = take();

	raw_connect(raw, daemon_now->address);
	return raw;
}

struct raw *old_peer(uint16_t version)
{
	struct raw *raw = attacker();
	struct ww_wire_hello hello = raw_greeting(raw);
	struct ww_wire_welcome welcome;

	hello.most = version;
	MUST_OK(raw_call(raw, hello, &hello, welcome, &welcome));
	MUST_EQUAL(version, welcome.version);
	raw->version = version;
	return raw;
}

struct raw *watcher(void)
{
	struct raw *raw = take();

	raw_open_watcher(raw, daemon_now->address);
	return raw;
}

struct raw *peer_of(uid_t uid, gid_t gid)
{
	struct raw *raw = take();

	raw_open_as(raw, daemon_now->address, uid, gid);
	return raw;
}

static void close_all(void)
{
	while (used > 0)
		raw_close(&pool[--used]);
}

struct ww_wire_put put_named(struct raw *raw, const char *name)
{
	const struct ww_wire_put put = raw_object(name);

	MUST_OK(raw_put(raw, &put, NULL, 0));
	return put;
}

uint32_t count_listed(struct raw *raw, const char *prefix, bool unnamed)
{
	struct ww_wire_list list = {.unnamed = unnamed};
	struct ww_wire_listing listing;
	uint32_t total = 0;

	strcpy(list.prefix, prefix);
	do {
		MUST_OK(raw_call(raw, list, &list, listing, &listing));
		total += listing.entries.count;
		list.cursor = listing.next;
	} while (list.cursor);
	return total;
}

static bool is(uint64_t wanted, uint64_t got)
{
	return wanted == UINT64_MAX || wanted == got;
}

/* Each look is a round trip, and no more than that lies between two. */
void wait_for(struct raw *raw, const struct want *want)
{
	uint64_t deadline_ns = ww_clock_deadline_ns((uint64_t)child_limit_ms() * MS);
	struct ww_wire_condition now;

	do {
		MUST_OK(raw_condition(raw, &now));
		if (is(want->objects, now.objects) && is(want->holders, now.holders) &&
			is(want->holds, now.holds) && is(want->fds, now.fds) &&
			is(want->waits, now.waits))
			return;
	} while (ww_clock_now_ns() < deadline_ns);
	FAIL("the daemon has %llu objects, %llu holders, %llu holds, %llu descriptors, %llu waits; not "
	     "%lld, %lld, %lld, %lld, %lld",
		(unsigned long long)now.objects, (unsigned long long)now.holders,
		(unsigned long long)now.holds, (unsigned long long)now.fds,
		(unsigned long long)now.waits, (long long)want->objects, (long long)want->holders,
		(long long)want->holds, (long long)want->fds, (long long)want->waits);
}

/* Descriptors are closed a moment after what they belong to is forgotten, by another thread. */
static void wait_for_descriptors(struct raw *raw, uint64_t wanted)
{
	uint64_t deadline_ns = ww_clock_deadline_ns((uint64_t)child_limit_ms() * MS);
	struct ww_wire_condition now;

	do {
		MUST_OK(raw_condition(raw, &now));
		if (now.open_fds == wanted)
			return;
	} while (ww_clock_now_ns() < deadline_ns);
	FAIL("the daemon has %llu descriptors open, it had %llu", (unsigned long long)now.open_fds,
		(unsigned long long)wanted);
}

/*
 * What the daemon says must be what the kernel says; but it closes descriptors by other threads,
 * meanwhile.
 */
static void must_count_descriptors(struct raw *raw, struct ww_wire_condition *now)
{
	uint64_t deadline_ns = ww_clock_deadline_ns((uint64_t)child_limit_ms() * MS);
	uint64_t counted;

	do {
		MUST_OK(raw_condition(raw, now));
		counted = (uint64_t)process_descriptors((pid_t)now->pid);
	} while (now->open_fds != counted && ww_clock_now_ns() < deadline_ns);
	MUST_EQUAL(now->open_fds, counted);
}

void suite_must_be_at_once(uint64_t (*time_ns)(void *context), void *context)
{
	int tries = 1;

	while (time_ns(context) >= AT_ONCE_NS * check_slowness())
		MUST(++tries <= TRIES);
}

void suite_settle(void)
{
	const struct want nothing = {.holders = 1};
	struct ww_wire_condition now;
	struct raw *raw;

	close_all();
	suite_stop();
	if (!shared.group) {
		broker_start(&shared, &(struct broker_options){.config = shared_config});
		daemon_now = &shared;
	}
	raw = peer();
	wait_for(raw, &nothing);
	MUST_OK(raw_condition(raw, &now));
	MUST_EQUAL(0, now.bytes);
	MUST_EQUAL(0, now.restarts);
	must_count_descriptors(raw, &now);
	if (open_fds == 0)
		open_fds = now.open_fds;
	wait_for_descriptors(raw, open_fds);
	close_all();
}

void suite_begin(void)
{
	if (used > 0 || own.group)
		suite_settle();
}

void suite_start(const char *config, uint64_t files)
{
	if (own.group)
		broker_kill(&own);
	broker_start(&own, &(struct broker_options){.config = config, .files = files});
	daemon_now = &own;
}

void suite_want_small(void)
{
	struct rlimit limit;

	MUST_CALL(prlimit(own.supervisor, RLIMIT_NOFILE, NULL, &limit));
	if (limit.rlim_max > 256)
		check_skip("the daemon may raise its limit of open files here");
}

void suite_stop(void)
{
	daemon_now = &shared;
	if (!own.group)
		return;
	close_all();
	broker_stop(&own);
}

void must_be_granted(struct raw *raw, uint32_t serial, uint8_t state)
{
	struct ww_wire_granted granted;

	MUST_OK(raw_answered(raw, serial));
	MUST_OK(raw_take(raw, granted, &granted));
	MUST_EQUAL(state, granted.state);
}

void must_be_refused(struct raw *raw, uint32_t serial, ww_status status, const char *word)
{
	MUST_OK(raw_answered(raw, serial));
	MUST_REFUSE(status, word, raw_refusal(raw));
}
