/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.c - sets a flag while another thread sleeps, see cancel.h
 */
#include "support/cancel.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "support/check.h"
#include "support/own.h"

#define ROUNDS      3
#define ROUNDS_MOST 100
#define PROMISED_NS UINT64_C(50000000)
#define PLAIN_WAITS 4

struct setter {
	pthread_t thread;
	ww_cancel *cancel;
	int bell; /* an eventfd */
	pid_t whom;
	uint64_t set_ns; /* when it was */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Return: whether it is asleep, or has ended. */
static bool is_asleep(pid_t thread)
{
	char text[256] = "";
	char path[64];
	FILE *file;
	bool is_read;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
	file = fopen(path, "re");
	MUST(file || errno == ENOENT);
	if (!file)
		return true;
	is_read = fgets(text, sizeof(text), file);
	MUST(is_read || errno == ESRCH);
	fclose(file);
	return !is_read || strstr(text, ") S ");
}

void thread_wait_asleep(pid_t thread)
{
	while (!is_asleep(thread))
		sched_yield();
}

static void *set_when_asleep(void *context)
{
	struct setter *setter = context;

	thread_wait_asleep(setter->whom);
	setter->set_ns = now_ns();
	ww_cancel_set(setter->cancel);
	MUST_CALL(eventfd_write(setter->bell, 1));
	return NULL;
}

/* Return: nanoseconds from the setting of the flag to the end of the call. */
static uint64_t end_once(cancel_call call, void *context, ww_cancel *cancel, int bell)
{
	struct setter setter = {.cancel = cancel, .bell = bell, .whom = gettid()};
	uint64_t end_ns;

	ww_cancel_clear(cancel);
	MUST(!pthread_create(&setter.thread, NULL, set_when_asleep, &setter));
	MUST_STATUS(WW_CANCELLED, call(context, cancel));
	end_ns = now_ns();
	MUST(!pthread_join(setter.thread, NULL));
	return end_ns > setter.set_ns ? end_ns - setter.set_ns : 0;
}

/* What any program waits for this machine. */
static ww_status wait_plainly(void *bell, ww_cancel *cancel)
{
	eventfd_t count;

	(void)cancel;
	MUST_CALL(eventfd_read(*(int *)bell, &count));
	return WW_CANCELLED;
}

void cancel_must_end(cancel_call call, void *context)
{
	const uint64_t promised_ns = PROMISED_NS * check_slowness();
	OWN(cancel) ww_cancel *cancel;
	OWN(fd) int bell = eventfd(0, EFD_CLOEXEC);
	bool was_prompt = false;
	uint64_t plain_ns = 0;
	uint64_t took_ns = 0;
	eventfd_t rung;

	MUST_CALL(bell);
	MUST_OK(ww_cancel_create(&cancel));
	ww_cancel_set(cancel);
	MUST_STATUS(WW_CANCELLED, call(context, cancel));
	for (int i = 0; i < ROUNDS || (!was_prompt && i < ROUNDS_MOST); i++) {
		took_ns = end_once(call, context, cancel, bell);
		MUST_CALL(eventfd_read(bell, &rung));
		plain_ns = end_once(wait_plainly, &bell, cancel, bell);
		was_prompt = was_prompt || took_ns <= promised_ns + PLAIN_WAITS * plain_ns;
	}
	if (!was_prompt)
		FAIL("%d calls ended late; the last one %llu ns after the flag was set, and a "
		     "thread that waits for a descriptor %llu ns",
			ROUNDS_MOST, (unsigned long long)took_ns, (unsigned long long)plain_ns);
}
