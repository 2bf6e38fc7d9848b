/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_kill.c - the broker and its supervisor are killed at random moments, many times, under
 * load
 *
 * The moment is drawn in questions: so many are asked, and answered, before the next kill. After
 * each kill this process asks on, and the time until it is answered by the next broker is the time
 * that is reported; no test fails by it.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/broker.h"

#define QUESTIONS_MAX 100

static uint64_t random_state = 1;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(random_state >> 33) % below;
}

static struct ww_broker_info ask_for_a_while(void)
{
	for (uint32_t i = draw(QUESTIONS_MAX); i > 0; i--)
		scene_info();
	return scene_info();
}

static bool is_other_supervisor(const struct ww_broker_info *info, uint64_t pid)
{
	return info->supervisor_pid != pid;
}

/*
 * The supervisor may be another one now. Who was killed, and is ours since its parent was, is
 * reaped.
 */
static void look_again(const struct ww_broker_info *before)
{
	scene.daemon.supervisor = (pid_t)scene_info().supervisor_pid;
	waitpid((pid_t)before->supervisor_pid, NULL, WNOHANG);
	waitpid((pid_t)before->pid, NULL, WNOHANG);
}

/* Return: nanoseconds until somebody else serves. */
static uint64_t kill_broker(void)
{
	struct ww_broker_info before = ask_for_a_while();
	uint64_t start_ns = now_ns();
	uint64_t time_ns;

	MUST_CALL(kill((pid_t)before.pid, SIGKILL));
	scene_has_other_broker(before.pid);
	time_ns = now_ns() - start_ns;
	MUST_EQUAL(before.supervisor_pid, scene_info().supervisor_pid);
	return time_ns;
}

/* The broker takes its place and starts another. */
static uint64_t kill_supervisor(void)
{
	struct ww_broker_info before = ask_for_a_while();
	uint64_t start_ns = now_ns();
	uint64_t time_ns;

	MUST_CALL(kill((pid_t)before.supervisor_pid, SIGKILL));
	MUST(scene_comes_true(is_other_supervisor, before.supervisor_pid));
	time_ns = now_ns() - start_ns;
	look_again(&before);
	return time_ns;
}

static uint64_t kill_either(void)
{
	return draw(2) ? kill_broker() : kill_supervisor();
}

/* Asked by SIGHUP to make room for another. */
static uint64_t upgrade(void)
{
	struct ww_broker_info before = ask_for_a_while();
	uint64_t start_ns = now_ns();

	MUST_CALL(kill((pid_t)before.supervisor_pid, SIGHUP));
	scene_has_other_broker(before.pid);
	return now_ns() - start_ns;
}

static pid_t wait_for_child(pid_t parent, pid_t but)
{
	uint64_t end_ns = now_ns() + (uint64_t)child_limit_ms() * 1000000;
	pid_t child;

	do {
		child = find_child(parent, but);
		sched_yield();
	} while (!child && now_ns() < end_ns);
	MUST(child);
	return child;
}

/*
 * The second death comes while the first is being made good: the supervisor's, when it has just
 * started a broker; or the new broker's, when the old one has just become the supervisor.
 */
static uint64_t kill_one_after_the_other(void)
{
	struct ww_broker_info before = ask_for_a_while();
	uint64_t start_ns = now_ns();
	bool broker_first = draw(2);

	if (broker_first) {
		MUST_CALL(kill((pid_t)before.pid, SIGKILL));
		wait_for_child((pid_t)before.supervisor_pid, (pid_t)before.pid);
		MUST_CALL(kill((pid_t)before.supervisor_pid, SIGKILL));
		MUST(scene_comes_true(is_other_supervisor, before.supervisor_pid));
	} else {
		MUST_CALL(kill((pid_t)before.supervisor_pid, SIGKILL));
		MUST_CALL(kill(wait_for_child((pid_t)before.pid, 0), SIGKILL));
		scene_has_other_broker(before.pid);
	}
	start_ns = now_ns() - start_ns;
	look_again(&before);
	return start_ns;
}

static void under_load(const char *what, uint64_t (*harm)(void), uint32_t count)
{
	uint64_t *times_ns = calloc(count, sizeof(*times_ns));

	MUST(times_ns);
	scene_begin();
	load_begin();
	for (uint32_t i = 0; i < count; i++)
		times_ns[i] = harm();
	load_end();
	scene.daemon.supervisor = (pid_t)scene_info().supervisor_pid;
	scene_end();
	note_times(what, times_ns, count);
	free(times_ns);
}

static uint32_t some_kills(uint32_t part)
{
	return kills_wanted() / part > 0 ? kills_wanted() / part : 1;
}

CASE_CALL(load_broker_killed, 0,
	under_load("from the kill of the broker to the next answer", kill_broker, kills_wanted()))
CASE_CALL(load_supervisor_killed, 0,
	under_load("from the kill of the supervisor to the next broker's answer", kill_supervisor,
		some_kills(5)))
CASE_CALL(load_either_killed, 0,
	under_load("from the kill of either to the next broker's answer", kill_either,
		some_kills(2)))

CASE(load_one_killed_while_other_restarts, 0)
{
	if (access("/proc/thread-self/children", F_OK))
		check_skip("this kernel does not tell of a process's children");
	under_load("from two kills in a row to the next answer", kill_one_after_the_other,
		some_kills(5));
}

CASE_CALL(load_upgraded, 0,
	under_load("from SIGHUP to the next broker's answer", upgrade, some_kills(5)))
