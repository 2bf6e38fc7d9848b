/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_hang.c - the broker hangs when it ends, and the next one serves all the same
 *
 * What hangs it is a file of a file system that does not answer (fuse.h), sent by a user that it
 * trusts, root. Until that file system is released the process does not end: neither SIGCHLD nor
 * the end of a socket tells of its death. The file system gives up after FUSE_LIMIT_S, and then the
 * case fails.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "crash/broker.h"
#include "support/broker.h"
#include "support/fuse.h"
#include "support/raw_client.h"

#define NS_PER_S UINT64_C(1000000000)

/* What the supervisor waits for a broker that it cannot see the state of. */
#define LEAVE_NS (5 * NS_PER_S)
#define TRIES    5

struct stage {
	struct broker daemon;
	struct fuse fuse;
	struct raw raw;
	struct ww_wire_put put;
	pid_t broker;
	int file;
};

/*
 * With something kept, which must be there afterwards. The daemon first: to start it closes every
 * descriptor in a child.
 */
static void open_stage(struct stage *stage)
{
	struct ww_wire_condition now;
	int memory;

	if (geteuid() != 0)
		check_skip("only root can mount a file system of its own");
	broker_start(&stage->daemon, NULL);
	fuse_start(&stage->fuse);
	stage->file = fuse_open(&stage->fuse);
	raw_open(&stage->raw, stage->daemon.address);
	MUST_OK(raw_condition(&stage->raw, &now));
	stage->broker = (pid_t)now.pid;
	stage->put = raw_object("kept");
	stage->put.life = WW_WIRE_LIFE_KEPT;
	memory = raw_memory(4096);
	MUST_OK(raw_put(&stage->raw, &stage->put, &memory, 1));
	close(memory);
}

static void send_file(struct stage *stage)
{
	struct ww_wire_put put = raw_object("none");

	raw_ask_put(&stage->raw, &put, &stage->file, 1);
}

/* Another broker serves, although the former one is still there. */
static void must_be_served(struct stage *stage)
{
	struct ww_wire_granted granted;
	struct ww_wire_condition now;
	struct raw raw;

	broker_hear_ready(&stage->daemon);
	raw_open(&raw, stage->daemon.address);
	MUST_OK(raw_condition(&raw, &now));
	MUST(now.pid != (uint32_t)stage->broker);
	MUST_CALL(kill(stage->broker, 0));
	MUST_OK(raw_get(&raw, "kept", WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(1, raw.fd_count);
	MUST_OK(raw_end(&raw, "kept"));
	raw_close(&raw);
}

static void close_stage(struct stage *stage)
{
	fuse_release(&stage->fuse);
	process_wait_end(
		stage->broker); /* whose child the supervisor may be: then it is ours to wait for */
	raw_close(&stage->raw);
	close(stage->file);
	broker_stop(&stage->daemon);
	fuse_stop(&stage->fuse);
}

/* A thread of it hangs in close(), and so does not even begin to exit. */
CASE(hung_broker_killed, 0)
{
	static struct stage stage;

	open_stage(&stage);
	send_file(&stage);
	fuse_await_flush(&stage.fuse);
	MUST_CALL(kill(stage.broker, SIGKILL));
	must_be_served(&stage);
	close_stage(&stage);
}

/*
 * The supervisor of a broker that hangs gets a signal, SIGHUP or SIGKILL.
 * Return: how much longer it took until another broker served than a daemon takes to start.
 */
static uint64_t time_to_replace(int signal)
{
	uint64_t began_ns = ww_clock_now_ns();
	static struct stage stage;
	uint64_t start_ns;
	uint64_t took_ns;
	uint64_t usual_ns;

	open_stage(&stage);
	usual_ns = ww_clock_now_ns() - began_ns;
	send_file(&stage);
	fuse_await_flush(&stage.fuse);
	start_ns = ww_clock_now_ns();
	MUST_CALL(kill(stage.daemon.supervisor, signal));
	if (signal == SIGKILL)
		MUST_EQUAL(stage.daemon.supervisor, waitpid(stage.daemon.supervisor, NULL, 0));
	must_be_served(&stage);
	took_ns = ww_clock_now_ns() - start_ns;
	close_stage(&stage);
	return took_ns > usual_ns ? took_ns - usual_ns : 0;
}

/* Others use this machine too, so one of several runs has to be in time. */
static void must_be_replaced_in_time(int signal)
{
	int tries = 1;

	while (time_to_replace(signal) >= LEAVE_NS * check_slowness())
		MUST(++tries <= TRIES);
}

CASE_CALL(hung_broker_upgraded, 0, must_be_replaced_in_time(SIGHUP))

/* The supervisor is killed, whose place the hung broker cannot take: a child of it does. */
CASE_CALL(hung_broker_keeps, 0, must_be_replaced_in_time(SIGKILL))

/* It dies with the file in its table, before it has looked at it: the exit itself hangs. */
CASE(hung_broker_killed_before_it_looked, 0)
{
	const char *usual = getenv("WARPWAYD");
	const char *mortal = getenv("WW_TEST_WARPWAYD");
	static struct stage stage;
	char *before;

	MUST(usual && mortal);
	before = strdup(usual);
	setenv("WARPWAYD", mortal, 1);
	/* Its packets: hello, status, put, and that one. */
	setenv("WW_TEST_DIE", "broker:0:recvmsg:4:after:start", 1);
	open_stage(&stage);
	setenv("WARPWAYD", before, 1);
	unsetenv("WW_TEST_DIE");
	free(before);
	send_file(&stage);
	fuse_await_flush(&stage.fuse);
	must_be_served(&stage);
	close_stage(&stage);
}
