/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_quiet.c - once they are warm, neither allocating nor handing over makes a system call
 *
 * A helper warms up, then asks the kernel to trap whatever call its thread makes but the few by
 * which it ends, and goes on. The handler of the trap says which call it was. Tokens pass through a
 * mailbox in shared memory, at which both sides look again and again. Between two looks they yield
 * the processor, by a call with an argument that shows whose it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/pool.h"

#define WARM_ROUNDS  2000
#define QUIET_ROUNDS 20000
#define BATCH        50 /* rounds that one handing over is for */
#define LIVE         64
#define NO_FILTERS   77         /* exit status: the kernel has no seccomp filters */
#define TRAPPED      99         /* exit status: a system call was made */
#define YIELD        0x77617270 /* the argument of the test's own sched_yield() */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

struct mailbox {
	atomic_uint given; /* tokens */
	atomic_uint taken;
	atomic_uint failed; /* somebody made a call: nobody waits for him any more */
	atomic_int trapped; /* that call */
	struct ww_token tokens[BATCH];
};

static struct mailbox *mailbox;

static void trap(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	atomic_store(&mailbox->trapped, info->si_syscall);
	atomic_store(&mailbox->failed, 1);
	_exit(TRAPPED);
}

/* From now on this thread can only end. */
static void be_quiet(void)
{
	const struct sigaction action = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO};
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit_group, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sched_yield, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, YIELD, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	const struct sock_fprog program = {.len = CHECK_COUNT(code), .filter = code};

	MUST_CALL(sigaction(SIGSYS, &action, NULL));
	MUST_CALL(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == -1)
		_exit(NO_FILTERS);
}

static struct mailbox *mailbox_open(const char *path)
{
	OWN(fd) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct mailbox *box;

	MUST_CALL(fd);
	MUST_CALL(ftruncate(fd, sizeof(*box)));
	box = mmap(NULL, sizeof(*box), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	MUST(box != MAP_FAILED);
	return box;
}

/* Return: whether it came so far; false: the other has failed. */
static bool await(const atomic_uint *counter, unsigned int value)
{
	while (atomic_load(counter) != value) {
		if (atomic_load(&mailbox->failed))
			return false;
		syscall(SYS_sched_yield, YIELD);
	}
	return true;
}

/* No claim of check.h holds here: it would print. */
static void quiet_must(bool condition)
{
	if (condition)
		return;
	atomic_store(&mailbox->failed, 1);
	_exit(1);
}

/* --- one process --- */

static void alloc_round(ww_pool *pool, uint32_t round)
{
	static ww_memory *live[LIVE];
	ww_memory **slot = &live[round % LIVE];

	ww_memory_unref(*slot);
	quiet_must(ww_pool_alloc(pool, 256 + round * 977 % 60000, 0, 0, NULL, slot) == WW_OK);
	*(volatile uint32_t *)ww_memory_pointer(*slot) = round;
}

static void run_alloc(ww_device *device)
{
	ww_pool *pool = pool_make(device, 8 * CHUNK, 0);

	for (uint32_t i = 0; i < WARM_ROUNDS; i++)
		alloc_round(pool, i);
	be_quiet();
	for (uint32_t i = 0; i < QUIET_ROUNDS; i++)
		alloc_round(pool, i);
	_exit(0);
}

/* --- two --- */

/* Slices of odd rounds are let go of before they are imported. */
static void give_batch(ww_pool *pool, ww_broker *broker, unsigned int batch)
{
	ww_memory *slices[BATCH];

	for (unsigned int i = 0; i < BATCH; i++) {
		unsigned int round = batch * BATCH + i;

		quiet_must(ww_pool_alloc(pool, 256 + round * 977 % 60000, 0, 0, NULL, &slices[i]) ==
			WW_OK);
		*(unsigned int *)ww_memory_pointer(slices[i]) = round;
		quiet_must(ww_memory_export(slices[i], broker,
				   WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE),
				   NULL, &mailbox->tokens[i]) == WW_OK);
		if (i % 2)
			slices[i] = ww_memory_unref(slices[i]);
	}
	atomic_store(&mailbox->given, batch);
	quiet_must(await(&mailbox->taken, batch));
	for (unsigned int i = 0; i < BATCH; i += 2) {
		quiet_must(*(unsigned int *)ww_memory_pointer(slices[i]) == ~(batch * BATCH + i));
		ww_memory_unref(slices[i]);
	}
}

static void take_batch(ww_device *device, ww_broker *broker, unsigned int batch)
{
	quiet_must(await(&mailbox->given, batch));
	for (unsigned int i = 0; i < BATCH; i++) {
		const struct ww_token token = mailbox->tokens[i];
		unsigned int *word;
		ww_memory *slice;

		quiet_must(ww_memory_import(device, broker, &token,
				   WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE),
				   NULL, &slice, NULL) == WW_OK);
		word = ww_memory_pointer(slice);
		quiet_must(*word == batch * BATCH + i);
		*word = ~*word;
		ww_memory_unref(slice);
	}
	atomic_store(&mailbox->taken, batch);
}

static void run_pass(ww_device *device, bool gives)
{
	ww_pool *pool = gives ? pool_make(device, 8 * CHUNK, 0) : NULL;
	ww_broker *broker;

	MUST_OK(broker_open_patient(NULL, &broker));
	for (unsigned int batch = 1; batch <= (WARM_ROUNDS + QUIET_ROUNDS) / BATCH; batch++) {
		if (batch == WARM_ROUNDS / BATCH)
			be_quiet();
		if (gives)
			give_batch(pool, broker, batch);
		else
			take_batch(device, broker, batch);
	}
	_exit(0);
}

/* MAILBOX alloc|give|take */
ROLE(pool_quiet)
{
	ww_device *device = subject_open();

	MUST_EQUAL(2, count);
	mailbox = mailbox_open(arguments[0]);
	role_hear("go");
	if (!strcmp(arguments[1], "alloc"))
		run_alloc(device);
	run_pass(device, !strcmp(arguments[1], "give"));
}

/* --- the cases --- */

static void run_quietly(const char *const *parts, size_t count)
{
	struct child helpers[2];
	int statuses[2];
	char path[BROKER_PATH_BYTES + 16];

	if (IS_SANITIZED)
		check_skip("a sanitizer makes system calls of its own");
	scene_begin();
	snprintf(path, sizeof(path), "%s/mailbox", scene.daemon.folder);
	mailbox = mailbox_open(path);
	for (size_t i = 0; i < count; i++) {
		const char *const arguments[] = {path, parts[i], NULL};
		const struct child_options options = {.arguments = arguments};

		child_start(&helpers[i], "pool_quiet", &options);
		child_tell(&helpers[i], "go");
	}
	for (size_t i = 0; i < count; i++)
		statuses[i] = child_wait(&helpers[i]);
	for (size_t i = 0; i < count; i++) {
		if (statuses[i] == W_EXITCODE(NO_FILTERS, 0))
			check_skip("the kernel has no seccomp filters");
		if (statuses[i] == W_EXITCODE(TRAPPED, 0))
			FAIL("system call %d, on the path of \"%s\"",
				atomic_load(&mailbox->trapped), parts[i]);
	}
	for (size_t i = 0; i < count; i++)
		if (statuses[i])
			FAIL("\"%s\" ended with status %x", parts[i], (unsigned int)statuses[i]);
	munmap(mailbox, sizeof(*mailbox));
	MUST_CALL(unlink(path));
	scene_end();
}

CASE(quiet_alloc, NEEDS_HOST_BACKEND)
{
	static const char *const parts[] = {"alloc"};

	run_quietly(parts, 1);
}

CASE(quiet_pass, NEEDS_HOST_BACKEND)
{
	static const char *const parts[] = {"give", "take"};

	run_quietly(parts, 2);
}
