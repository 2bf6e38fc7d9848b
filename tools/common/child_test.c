/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_test.c - children end in every way there is, and none is left behind
 *
 * The children are this program again; the word behind the program's name says how to behave.
 */
#include "base/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/cleanup.h"

#define NS_PER_SECOND UINT64_C(1000000000)

static const struct link_message ready = {.kind = LINK_READY, .numbers = {1, 2, 3, 4}};

static int wait_for_the_end(void)
{
	struct link_message message;

	return link_receive(LINK_FD, LINK_GO, &message, NULL, WW_FOREVER) == LINK_OK ? 0 : 1;
}

static int say_ready(void)
{
	return link_send(LINK_FD, &ready, -1, WW_FOREVER) == LINK_OK ? 0 : 1;
}

static int send_garbage(void)
{
	return send(LINK_FD, "garbage", 7, MSG_NOSIGNAL) == 7 ? wait_for_the_end() : 1;
}

/* The descriptor behind the socket must be the one the parent chose. */
static int write_into_extra(void)
{
	return write(LINK_FD + 2, "x", 1) == 1 ? say_ready() : 1;
}

static int behave(const char *how)
{
	child_begin();
	if (!strcmp(how, "exit"))
		return 3;
	if (!strcmp(how, "die"))
		return raise(SIGTERM);
	if (!strcmp(how, "silent"))
		return wait_for_the_end();
	if (!strcmp(how, "garbage"))
		return send_garbage();
	if (!strcmp(how, "extra"))
		return write_into_extra();
	return say_ready();
}

static int start(struct child *child, const char *how, uint64_t seconds)
{
	const struct child_plan plan = {
		.name = how,
		.arguments = {how},
		.timeout_ns = seconds * NS_PER_SECOND,
	};

	return child_spawn(child, &plan);
}

/* All that was started must be reaped. */
static void assert_no_children(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

UNIT_TEST(answers_and_exits)
{
	struct child child = CHILD_NONE;
	struct link_message message;

	assert_int_equal(start(&child, "ready", 60), 0);
	assert_int_equal(child_receive(&child, LINK_READY, &message, NULL), 0);
	assert_memory_equal(message.numbers, ready.numbers, sizeof(ready.numbers));
	assert_int_equal(child_finish(&child, 0), 0);
	child_fini(&child);
	assert_no_children();
}

static void loses(const char *how, uint64_t seconds)
{
	struct child child = CHILD_NONE;
	struct link_message message;

	assert_int_equal(start(&child, how, seconds), 0);
	assert_int_equal(child_receive(&child, LINK_READY, &message, NULL), -1);
	assert_no_children();
	assert_int_equal(child_receive(&child, LINK_READY, &message, NULL), -1);
	child_fini(&child);
}

UNIT_TEST(ends_are_noticed)
{
	loses("exit", 60);
	loses("die", 60);
	loses("garbage", 60);
	loses("silent", 1);
}

UNIT_TEST(wrong_ends_are_refused)
{
	struct child child = CHILD_NONE;

	assert_int_equal(start(&child, "exit", 60), 0);
	assert_int_equal(child_finish(&child, 0), -1);
	child_fini(&child);
	assert_int_equal(start(&child, "die", 60), 0);
	assert_int_equal(child_finish(&child, SIGTERM), 0);
	child_fini(&child);
	assert_int_equal(start(&child, "die", 60), 0);
	assert_int_equal(child_finish(&child, SIGSEGV), -1);
	child_fini(&child);
	assert_int_equal(start(&child, "silent", 1), 0);
	assert_int_equal(child_finish(&child, 0), -1);
	child_fini(&child);
	assert_no_children();
}

UNIT_TEST(scope_ends_them)
{
	{
		OWN(child) struct child child = CHILD_NONE;
		OWN(child) struct child never = CHILD_NONE;

		(void)never;
		assert_int_equal(start(&child, "silent", 60), 0);
	}
	assert_no_children();
}

UNIT_TEST(kills_on_purpose)
{
	struct child child = CHILD_NONE;

	assert_int_equal(start(&child, "silent", 60), 0);
	assert_int_equal(child_kill(&child), 0);
	child_fini(&child);
	assert_no_children();
}

UNIT_TEST(group_ends_with_its_first_death)
{
	struct child children[3] = {CHILD_NONE, CHILD_NONE, CHILD_NONE};
	struct link_message messages[3];

	assert_int_equal(start(&children[0], "silent", 60), 0);
	assert_int_equal(start(&children[1], "ready", 60), 0);
	assert_int_equal(start(&children[2], "die", 60), 0);
	assert_int_equal(child_group_receive(children, 3, LINK_READY, messages), -1);
	assert_int_equal(children[2].pid, 0);
	assert_true(children[0].pid > 0);
	for (int i = 0; i < 3; i++)
		child_fini(&children[i]);
	assert_no_children();
}

UNIT_TEST(group_has_a_limit)
{
	struct child children[2] = {CHILD_NONE, CHILD_NONE};
	struct link_message messages[2];

	assert_int_equal(start(&children[0], "silent", 1), 0);
	assert_int_equal(start(&children[1], "ready", 60), 0);
	assert_int_equal(child_group_receive(children, 2, LINK_READY, messages), -1);
	assert_int_equal(children[0].pid, 0);
	for (int i = 0; i < 2; i++)
		child_fini(&children[i]);
	assert_no_children();
}

/* Also when the numbers they have here are those they are to have there. */
UNIT_TEST(descriptors_find_their_place)
{
	struct child child = CHILD_NONE;
	struct link_message message;
	int pipes[2];
	char byte;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	const struct child_plan plan = {
		.name = "extra",
		.arguments = {"extra"},
		.fds = {pipes[0], pipes[1]},
		.fd_count = 2,
		.timeout_ns = 60 * NS_PER_SECOND,
	};
	assert_int_equal(child_spawn(&child, &plan), 0);
	assert_int_equal(child_receive(&child, LINK_READY, &message, NULL), 0);
	assert_int_equal(child_finish(&child, 0), 0);
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	assert_int_equal(read(pipes[0], &byte, 1), 0);
	close(pipes[0]);
	child_fini(&child);
}

UNIT_TEST(link_refuses_what_is_not_expected)
{
	struct link_message message = ready;
	int pair[2];
	int fd = -1;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(link_receive(pair[1], LINK_GO, &message, NULL, 0), LINK_TIMED_OUT);
	link_send(pair[0], &ready, -1, 0);
	assert_int_equal(link_receive(pair[1], LINK_GO, &message, NULL, 0), LINK_BROKEN);
	link_send(pair[0], &ready, -1, 0);
	assert_int_equal(link_receive(pair[1], LINK_READY, &message, &fd, 0), LINK_BROKEN);
	link_send(pair[0], &ready, pair[0], 0);
	assert_int_equal(link_receive(pair[1], LINK_READY, &message, NULL, 0), LINK_BROKEN);
	assert_int_equal(send(pair[0], &ready, sizeof(ready) - 1, 0), sizeof(ready) - 1);
	assert_int_equal(link_receive(pair[1], LINK_READY, &message, NULL, 0), LINK_BROKEN);
	link_send(pair[0], &ready, pair[0], 0);
	assert_int_equal(link_receive(pair[1], LINK_READY, &message, &fd, 0), LINK_OK);
	close(fd);
	close(pair[0]);
	assert_int_equal(link_receive(pair[1], LINK_READY, &message, NULL, 0), LINK_CLOSED);
	assert_int_equal(link_send(pair[1], &ready, -1, 0), LINK_CLOSED);
	close(pair[1]);
}

int main(int argc, char *argv[])
{
	if (argc > 1)
		return behave(argv[1]);
	return _cmocka_run_group_tests("child", unit_tests, unit_test_count, NULL, NULL);
}
