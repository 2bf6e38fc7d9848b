/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - how much an attacker delays another user of a broker, compared with a lawful user
 *
 *   attack [--only NAME] [--rounds N]
 *
 * The broker and the victim run on one core, the attacker or the lawful user on another. For each
 * attack the victim's p99 of a request is measured beside a lawful user with as many connections,
 * and beside the attacker; the medians of several rounds are compared. The attack passes if the
 * ratio is at most RATIO_MOST, root could connect all the time, the victim's objects and rights are
 * whole afterwards, and nothing is left in the broker when all have ended. Needs root, for it is
 * three users.
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "base/clock.h"
#include "support/check.h"
#include "support/child.h"
#include "support/raw_client.h"

#define RATIO_MOST 5.0
#define REQUESTS   10000
#define OWN        10
#define ROUNDS     3
#define READY_S    60

/* What the victim found; in memory that it shares with us. */
struct finding {
	uint64_t p50_ns;
	uint64_t p99_ns;
	bool is_whole;
};

static int ready_pipe[2];

static void say_ready(void)
{
	MUST_EQUAL(1, write(ready_pipe[1], "r", 1));
}

static void run_on(pid_t pid, int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	MUST_CALL(sched_setaffinity(pid, sizeof(set), &set));
}

/* --- the broker: a user of its own, like the machine's --- */

static void write_starter(char path[32], const char *program)
{
	FILE *file;
	int fd;

	strcpy(path, "/tmp/warpway-attack-XXXXXX");
	fd = mkstemp(path);
	MUST_CALL(fd);
	MUST_CALL(fchmod(fd, 0755));
	file = fdopen(fd, "w");
	MUST(file);
	fprintf(file,
		"#!/bin/sh\nfolder=$(dirname \"$2\")\nchown %u \"$folder\"\n"
		"chmod 666 \"$folder/notify.sock\"\n"
		"exec taskset -c 0 setpriv --reuid=%u --regid=%u --clear-groups '%s' \"$@\"\n",
		DAEMON, DAEMON, DAEMON, program);
	MUST_CALL(fclose(file));
}

static void start(struct broker *broker, const char *program, const char *config)
{
	char starter[32];

	write_starter(starter, program);
	setenv("WARPWAYD", starter, 1);
	broker_start(broker, &(struct broker_options){.mode = "0666", .config = config});
	unlink(starter);
}

/* --- the victim --- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void put_own(struct raw *raw, struct ww_wire_put put[OWN])
{
	int fd = raw_memory(4096);
	char name[32];

	for (int i = 0; i < OWN; i++) {
		snprintf(name, sizeof(name), "victim/%d", i);
		put[i] = raw_object(name);
		put[i].fd_access[0] = 3;
		MUST_OK(raw_put(raw, &put[i], &fd, 1));
	}
	close(fd);
}

static bool is_whole(struct raw *raw, const struct ww_wire_put put[OWN])
{
	for (int i = 0; i < OWN; i++) {
		struct ww_wire_entry entry;
		struct ww_wire_granted granted;

		if (raw_stat(raw, put[i].name, &entry) != WW_OK || entry.uid != VICTIM ||
			memcmp(entry.id, put[i].id, sizeof(entry.id)) ||
			raw_get(raw, put[i].name, WW_WIRE_ACCESS_READ, &granted) != WW_OK)
			return false;
	}
	return true;
}

static void be_victim(const char *address, bool publishes, struct finding *finding)
{
	static struct raw raw;
	static uint64_t times[REQUESTS];
	uint8_t former[WW_WIRE_ID_BYTES] = {0};
	struct ww_wire_put put[OWN];

	raw_open_as(&raw, address, VICTIM, VICTIM);
	put_own(&raw, put);
	for (int i = 0; i < REQUESTS; i++) {
		uint64_t began_ns = ww_clock_now_ns();
		struct ww_wire_entry entry;

		if (publishes)
			attack_publish(&raw, former);
		else
			MUST_OK(raw_stat(&raw, put[random() % OWN].name, &entry));
		times[i] = ww_clock_now_ns() - began_ns;
	}
	qsort(times, REQUESTS, sizeof(times[0]), compare);
	finding->p50_ns = times[REQUESTS / 2];
	finding->p99_ns = times[REQUESTS * 99 / 100];
	finding->is_whole = is_whole(&raw, put);
}

/* --- one measurement --- */

static pid_t begin(int core)
{
	pid_t pid = fork();

	MUST_CALL(pid);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_on(0, core);
	}
	return pid;
}

static bool wait_ready(void)
{
	struct timeval limit = {READY_S, 0};
	fd_set set;
	char byte;

	FD_ZERO(&set);
	FD_SET(ready_pipe[0], &set);
	return select(ready_pipe[0] + 1, &set, NULL, NULL, &limit) == 1 &&
		read(ready_pipe[0], &byte, 1) == 1;
}

static bool is_empty(struct raw *root)
{
	struct ww_wire_condition now;

	MUST_OK(raw_condition(root, &now));
	return now.objects == 0 && now.holds == 0 && now.holders == 1 && now.waits == 0;
}

/* Return: whether the victim was served to the end, root was let in, and nothing is left. */
static bool measure(const char *program, const struct attack *attack, bool is_lawful,
	struct finding *finding)
{
	struct broker broker;
	static struct raw root;
	pid_t other;
	pid_t victim;
	int status = -1;

	start(&broker, program, attack->config);
	MUST_CALL(pipe(ready_pipe));
	other = begin(1);
	if (other == 0) {
		close(ready_pipe[0]);
		(is_lawful ? attack_lawful : attack->run)(broker.address, attack->connections,
			say_ready);
		_exit(1);
	}
	close(ready_pipe[1]);
	if (wait_ready()) {
		victim = begin(0);
		if (victim == 0) {
			be_victim(broker.address, attack->victim_publishes, finding);
			_exit(0);
		}
		raw_open(&root, broker.address);
		raw_close(&root);
		waitpid(victim, &status, 0);
		raw_open(&root, broker.address);
		raw_close(&root);
	}
	close(ready_pipe[0]);
	if (waitpid(other, NULL, WNOHANG) != 0) {
		printf("# the %s ended early\n", is_lawful ? "lawful user" : "attacker");
		status = -1;
	}
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	raw_open(&root, broker.address);
	if (status == 0 && !attack->leaves_escrows && !COMES_TRUE(is_empty(&root))) {
		printf("# something is left of the %s\n", is_lawful ? "lawful user" : "attacker");
		status = -1;
	}
	raw_close(&root);
	broker_kill(&broker);
	return status == 0;
}

static double median_us(uint64_t times[ROUNDS])
{
	qsort(times, ROUNDS, sizeof(times[0]), compare);
	return (double)times[ROUNDS / 2] / 1000;
}

static bool compare_with_lawful(const char *program, const struct attack *attack,
	struct finding *finding)
{
	uint64_t p50[2][ROUNDS];
	uint64_t p99[2][ROUNDS];
	bool is_well = true;
	double ratio;

	for (int round = 0; round < ROUNDS && is_well; round++) {
		for (int i = 0; i < 2 && is_well; i++) {
			memset(finding, 0, sizeof(*finding));
			is_well = measure(program, attack, i == 0, finding) && finding->is_whole;
			p50[i][round] = finding->p50_ns;
			p99[i][round] = finding->p99_ns;
		}
	}
	if (!is_well) {
		printf("not ok %-9s %s: the victim or its objects did not survive, or something is left\n",
			attack->name, attack->what);
		return false;
	}
	ratio = median_us(p99[1]) / median_us(p99[0]);
	printf("%s %-9s p50 %7.0f -> %7.0f us, p99 %7.0f -> %7.0f us, ratio %5.1f: %s\n",
		ratio <= RATIO_MOST ? "ok    " : "not ok", attack->name, median_us(p50[0]),
		median_us(p50[1]), median_us(p99[0]), median_us(p99[1]), ratio, attack->what);
	return ratio <= RATIO_MOST;
}

/* Return: why nothing can be measured here, or NULL. */
static const char *reason_to_skip(void)
{
	if (geteuid() != 0)
		return "only root can be three users";
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return "two cores are needed";
	return NULL;
}

int main(int argc, char **argv)
{
	const char *only = argc == 3 && !strcmp(argv[1], "--only") ? argv[2] : NULL;
	const char *why = reason_to_skip();
	const char *seed = getenv("WW_ATTACK_SEED");
	char program[4096];
	struct finding *finding;
	int passed = 0;
	int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	srandom(seed ? (unsigned int)atoi(seed) : (unsigned int)getpid());
	printf("seed %u; %d rounds of %d requests each\n",
		seed ? (unsigned int)atoi(seed) : (unsigned int)getpid(), ROUNDS, REQUESTS);
	(void)setpriority(PRIO_PROCESS, 0, -15); /* so that what else runs here disturbs less */
	if (why) {
		printf("skipped: %s\n0 passed, 0 failed, %zu skipped\n", why, attack_count);
		return 0;
	}
	MUST(getenv("WARPWAYD") && realpath(getenv("WARPWAYD"), program));
	finding = mmap(NULL, sizeof(*finding), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	MUST(finding != MAP_FAILED);
	for (size_t i = 0; i < attack_count; i++) {
		if (only && strcmp(only, attacks[i].name))
			continue;
		if (compare_with_lawful(program, &attacks[i], finding))
			passed++;
		else
			failed++;
	}
	printf("%d passed, %d failed, 0 skipped\n", passed, failed);
	return failed ? 1 : 0;
}
