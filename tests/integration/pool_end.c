/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_end.c - processes end while slices are theirs, or with others; also with the broker
 * restarted in between
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/pool.h"
#include "support/raw_client.h"

/* A pool of one chunk, all of it a slice that an agent alone still has. */
static struct {
	ww_pool *pool;
	struct child agent;
} cast;

static void begin(void)
{
	ww_memory *slice;

	scene_begin();
	cast.pool = pool_make(scene.device, CHUNK, 0);
	slice = slice_make(cast.pool, CHUNK, 1);
	pool_start(&cast.agent, NULL);
	pool_lend(&cast.agent, slice, WW_ACCESS_WRITE, 0);
	ww_memory_unref(slice);
	pool_must_be(cast.pool, 0, CHUNK);
}

/* Agents that are left end: everything comes back. */
static void end(void)
{
	ww_memory *slice;

	child_end_all();
	pool_comes_to(cast.pool, 0, 0);
	slice = slice_make(cast.pool, CHUNK, 2);
	pattern_verify(slice, 2);
	ww_memory_unref(slice);
	MUST_EQUAL(0, pool_info(cast.pool).holder_count);
	ww_pool_unref(cast.pool);
	scene_end();
}

#define END_CASE(case_name, case_needs) CASE_BETWEEN(case_name, case_needs, begin(), end())

END_CASE(end_of_holder, 0)
{
	child_kill(&cast.agent);
}

END_CASE(end_of_holder_with_stream, WW_CAP_STREAM_VALUE)
{
	agent_does(&cast.agent, "hold", "release 0");
	pool_must_be(cast.pool, 0, CHUNK);
	child_kill(&cast.agent);
}

END_CASE(end_of_holder_by_exit, 0)
{
	child_tell(&cast.agent, "exit");
	child_finish(&cast.agent);
}

/*
 * An owner with slices 0 to 2, of which the first member has 0, the second has 1; 2 is in flight.
 */
static struct {
	struct child owner;
	struct child members[2];
	struct ww_token tokens[3];
} all;

static void begin_inheritance(void)
{
	scene_begin();
	agent_begin(&all.owner, "pool", "pool 2048");
	for (int i = 0; i < 3; i++) {
		agent_must(&all.owner, WW_OK, "alloc %d 64", i);
		agent_must(&all.owner, WW_OK, "paint %d %d", i, i);
		all.tokens[i] = agent_export(&all.owner, "%d write", i);
	}
	for (int i = 0; i < 2; i++) {
		pool_start(&all.members[i], NULL);
		pool_give(&all.members[i], &all.tokens[i], 0, WW_OK);
	}
}

/* The owner is gone: who is a member can go on, with all its bytes; nobody else can begin. */
static void end_inheritance(void)
{
	struct child attacker;
	struct ww_token token;

	for (int i = 0; i < 2; i++)
		agent_must(&all.members[i], WW_OK, "look 0 %d", i);
	pool_give(&all.members[1], &all.tokens[2], 2, WW_OK);
	agent_does(&all.members[1], "look 2 2", "paint 2 5");
	token = agent_export(&all.members[1], "2 write");
	pool_give(&all.members[0], &token, 2, WW_OK);
	agent_must(&all.members[1], WW_OK, "unref 2");
	agent_must(&all.members[0], WW_OK, "look 2 5");
	pool_start(&attacker, NULL);
	agent_send_token(&attacker, &token);
	agent_refuses(&attacker, WW_ERR_NOT_FOUND, "owner", "import 0 write");
	for (int i = 0; i < 2; i++)
		agent_must(&all.members[i], WW_OK, "unref 0");
	scene_end();
}

#define OWNER_CASE(case_name) CASE_BETWEEN(case_name, 0, begin_inheritance(), end_inheritance())

OWNER_CASE(end_of_owner)
{
	child_kill(&all.owner);
	scene_has_holders(3);
}

OWNER_CASE(end_of_owner_by_exit)
{
	child_tell(&all.owner, "exit");
	child_finish(&all.owner);
	scene_has_holders(3);
}

/* Both sides go on, and who comes after the restart is seen. */
END_CASE(end_of_broker, 0)
{
	struct ww_token token;
	struct child late;
	ww_memory *slice;

	scene_restart_broker();
	agent_must(&cast.agent, WW_OK, "look 0 1");
	pool_must_be(cast.pool, 0, CHUNK);
	agent_must(&cast.agent, WW_OK, "unref 0");
	pool_must_be(cast.pool, 0, 0);
	slice = slice_make(cast.pool, CHUNK, 3);
	token = slice_token_for(slice, 2, 0);
	pool_start(&late, NULL);
	pool_give(&cast.agent, &token, 0, WW_OK);
	pool_give(&late, &token, 0, WW_OK);
	ww_memory_unref(slice);
	agent_must(&cast.agent, WW_OK, "unref 0");
	agent_must(&late, WW_OK, "look 0 3");
	pool_must_be(cast.pool, 0, CHUNK);
	scene_restart_broker();
	pool_must_be(cast.pool, 0, CHUNK);
	agent_must(&late, WW_OK, "unref 0");
}

END_CASE(end_of_broker_and_holder, 0)
{
	scene_restart_broker();
	child_kill(&cast.agent);
}

/* --- what a broker alone knew, and knows no more --- */

/*
 * The owner has slice 0, a chunk that a member has imported, and slice 1, half of another chunk
 * that nobody was ever told of. It has not looked since, so the broker alone knows of the member.
 */
static struct {
	struct child owner;
	struct child member;
	struct broker former; /* group 0: none */
} loss;

static void begin_loss(void)
{
	struct ww_token token;

	loss.former.group = 0;
	scene_begin();
	agent_begin(&loss.owner, "pool", "pool 4096");
	agent_does(&loss.owner, "alloc 0 2048", "alloc 1 1024");
	for (int i = 0; i < 2; i++)
		agent_must(&loss.owner, WW_OK, "paint %d %d", i, i);
	token = agent_export(&loss.owner, "0 write escrow_ms=1");
	pool_start(&loss.member, NULL);
	pool_give(&loss.member, &token, 0, WW_OK);
}

/* Another one serves at the same address, which knows nothing. */
static void replace_broker(void)
{
	const char *const arguments[] = {"--socket", loss.former.address, NULL};
	const struct broker_options options = {.arguments = arguments};

	loss.former = scene.daemon; /* its folder stays for the socket */
	kill(-loss.former.group, SIGKILL);
	while (waitpid(-loss.former.group, NULL, 0) > 0)
		;
	broker_start(&scene.daemon, &options);
}

/* The broker gives the owner up, who lives. */
static void cut_owner(void)
{
	struct ww_wire_condition now;
	uint64_t before;
	ENDED_BY(raw_close) struct raw raw;

	raw_open_watcher(&raw, scene.daemon.address);
	MUST_OK(raw_condition(&raw, &now));
	before = now.holds;
	agent_must(&loss.owner, WW_OK, "cut");
	do {
		MUST_OK(raw_condition(&raw, &now));
	} while (now.holds == before);
}

static void end_loss(void)
{
	child_end_all();
	if (loss.former.group) {
		scene.open_fds = scene_info().open_fds;
		broker_kill(&loss.former);
	}
	scene_end();
}

/* What was exported is not handed out again, whoever lets go of it; nor is anything more. */
static void lose_shared(void)
{
	agent_must(&loss.owner, WW_OK, "unref 0");
	agent_must(&loss.owner, WW_ERR_LIMIT, "alloc 0 2048");
	agent_must(&loss.member, WW_OK, "look 0 0");
	agent_must(&loss.owner, WW_ERR_PEER_LOST, "export 1 write");
	agent_must(&loss.member, WW_OK, "unref 0");
	agent_must(&loss.owner, WW_ERR_LIMIT, "alloc 0 2048");
	agent_must(&loss.owner, WW_ERR_PEER_LOST, "export 1");
}

/* What was not is as it was. */
static void keep_others(void)
{
	agent_must(&loss.owner, WW_OK, "look 1 1");
	for (int i = 0; i < 3; i++) {
		agent_must(&loss.owner, WW_OK, "alloc 2 1024");
		agent_must(&loss.owner, WW_ERR_LIMIT, "alloc 3 1024");
		agent_must(&loss.owner, WW_OK, "unref 2");
	}
	agent_does(&loss.owner, "unref 1", "alloc 1 2048");
	agent_must(&loss.owner, WW_ERR_PEER_LOST, "export 1");
}

static void keep_streams(void)
{
	agent_does(&loss.owner, "alloc 2 1024", "hold", "release 2");
	agent_must(&loss.owner, WW_ERR_LIMIT, "alloc 3 1024");
	agent_does(&loss.owner, "go", "alloc 3 1024");
}

/* Nor is what cannot come back waited for. */
static void wait_for_nothing(void)
{
	agent_must(&loss.owner, WW_OK, "unref 1");
	agent_must(&loss.owner, WW_ERR_LIMIT, "alloc 1 4096 wait");
}

static void lose(void (*how)(void), void (*keep)(void))
{
	begin_loss();
	how();
	lose_shared();
	keep();
	end_loss();
}

CASE_CALL(loss_of_broker, 0, lose(replace_broker, keep_others))
CASE_CALL(loss_of_broker_with_stream, WW_CAP_STREAM_VALUE, lose(replace_broker, keep_streams))
CASE_CALL(loss_of_broker_ends_waits, 0, lose(replace_broker, wait_for_nothing))
CASE_CALL(loss_of_connection, 0, lose(cut_owner, keep_others))
CASE_CALL(loss_of_connection_with_stream, WW_CAP_STREAM_VALUE, lose(cut_owner, keep_streams))

/* --- fork --- */

/* The child has the host device for itself; of the parent's pool and slice it has nothing. */
static void refuse_calls(ww_pool *pool, ww_memory *slice, const struct ww_token *token)
{
	struct ww_pool_holder_info holder = WW_INIT(struct ww_pool_holder_info);
	struct ww_pool_info info = WW_INIT(struct ww_pool_info);
	ww_pool *other;
	ww_memory *more;
	uint64_t bytes;

	MUST_STATUS(subject_is_cuda() ? WW_ERR_FORKED : WW_OK,
		ww_pool_create(scene.device, NULL, &other));
	ww_pool_unref(other);
	MUST_STATUS(WW_ERR_FORKED, ww_pool_alloc(pool, 256, 0, 0, NULL, &more));
	MUST_STATUS(WW_ERR_FORKED, ww_pool_trim(pool, 0, &bytes));
	MUST_STATUS(WW_ERR_FORKED, ww_pool_info_get(pool, &info));
	MUST_STATUS(WW_ERR_FORKED, ww_pool_holder_get(pool, 0, &holder));
	MUST_STATUS(WW_ERR_FORKED,
		ww_memory_export(slice, scene.broker, NULL, NULL, &(struct ww_token){{0}}));
	MUST_STATUS(WW_ERR_FORKED,
		ww_memory_import(scene.device, scene.broker, token, NULL, NULL, &more, NULL));
	ww_memory_unref(slice);
	ww_pool_unref(pool);
}

POOL_CASE(fork_refuses_pools, 0, CHUNK, 0)
{
	struct child agent;
	int status = -1;
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct ww_token token = slice_token(slice, WW_ACCESS_READ);
	pid_t pid = fork();

	MUST_CALL(pid);
	if (pid == 0) {
		alarm((unsigned int)child_limit_ms() / 1000);
		refuse_calls(pool, slice, &token);
		_exit(0);
	}
	MUST_EQUAL(pid, waitpid(pid, &status, 0));
	MUST_EQUAL(0, status);
	/* Nothing has happened to it. */
	pool_start(&agent, NULL);
	pool_give(&agent, &token, 0, WW_OK);
	agent_must(&agent, WW_OK, "look 0 1");
	ww_memory_unref(slice);
	pool_must_be(pool, 0, CHUNK);
}
