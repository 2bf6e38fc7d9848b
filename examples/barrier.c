/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier.c - N processes that go on only together
 *
 * Each process does a piece of work of its own length, and waits at the barrier until all have done
 * theirs. In the last round one of them leaves instead; the others, which wait as an event loop
 * does, do not hang, but are told which one.
 *
 *   barrier [PROCESSES]      default 4
 *
 * Barriers need no device: an argument that is no number, such as "cuda:0", is ignored.
 */
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

#define ROUNDS        3
#define PROCESSES     4
#define PROCESSES_MAX 64
#define PATIENCE_NS   UINT64_C(60000000000) /* for all to join */

extern char **environ;

/* A call that fails (status < 0) leaves a sentence that says why. */
static void check(ww_status status)
{
	if (status != WW_OK) {
		fprintf(stderr, "%s: %s\n", ww_status_name(status),
			status < 0 ? ww_error_last()->message : ww_status_text(status));
		exit(1);
	}
}

static volatile unsigned long done;

static void work(uint32_t rank, int round)
{
	for (unsigned long i = 0; i < 100000UL * (rank + (unsigned int)round); i++)
		done++;
}

/* A loop would poll the descriptor beside all else that it waits for. */
static ww_status wait_in_loop(ww_barrier *barrier)
{
	struct pollfd entry = {.events = POLLIN};
	ww_status status;

	check(ww_barrier_eventfd(barrier, &entry.fd));
	while ((status = ww_barrier_wait(barrier, 0, NULL)) == WW_TIMED_OUT)
		poll(&entry, 1, -1);
	close(entry.fd);
	return status;
}

static int member(const char *name, uint32_t rank)
{
	struct ww_barrier_info info = WW_INIT(struct ww_barrier_info);
	ww_barrier *barrier;
	ww_status status;

	check(ww_barrier_get(NULL, name, rank, PATIENCE_NS, NULL, &barrier));
	for (int round = 1; round <= ROUNDS; round++) {
		work(rank, round);
		check(ww_barrier_wait(barrier, WW_FOREVER, NULL));
		if (rank == 0)
			printf("all have done round %d\n", round);
	}
	/* The member of the highest rank has had enough. */
	check(ww_barrier_info_get(barrier, &info));
	if (rank < info.count - 1) {
		status = wait_in_loop(barrier);
		if (status != WW_ERR_PEER_LOST)
			return 1;
		printf("member %d: %s\n", (int)rank, ww_error_last()->message);
	}
	ww_barrier_unref(barrier);
	return 0;
}

static int run(char *program, char *name, unsigned int count)
{
	char role[] = "--member";
	pid_t pids[PROCESSES_MAX];
	int failed = 0;

	for (unsigned int i = 0; i < count; i++) {
		char rank[16];

		snprintf(rank, sizeof(rank), "%u", i);
		if (posix_spawn(&pids[i], "/proc/self/exe", NULL, NULL,
			    (char *[]){program, role, name, rank, NULL}, environ))
			return 1;
	}
	for (unsigned int i = 0; i < count; i++) {
		int status;

		failed |= waitpid(pids[i], &status, 0) != pids[i] || status;
	}
	return failed;
}

int main(int argc, char **argv)
{
	unsigned int count = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0;
	char name[64];
	int failed;

	if (argc == 4 && !strcmp(argv[1], "--member"))
		return member(argv[2], (uint32_t)strtoul(argv[3], NULL, 10));
	if (count == 0 || count > PROCESSES_MAX)
		count = PROCESSES;
	snprintf(name, sizeof(name), "example/%d/barrier", (int)getpid());
	check(ww_barrier_create(NULL, name, WW_PARAMS(struct ww_barrier_params, .count = count),
		NULL, NULL));
	failed = run(argv[0], name, count);
	return failed;
}
