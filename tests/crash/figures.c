/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figures.c - numbers, shared bytes and players of the suites that kill, see figures.h
 */
#include "crash/figures.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/broker_case.h"
#include "support/check.h"
#include "support/subject.h"

#define GROWTH_MOST (4 * MIB) /* a sanitizer keeps what was freed for a while */

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint32_t kills_wanted(void)
{
	const char *value = getenv("WW_TEST_KILLS");
	unsigned long kills = value ? strtoul(value, NULL, 10) : 100;

	MUST(kills > 0 && kills <= 1000000);
	return (uint32_t)kills;
}

static int compare(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a;
	uint64_t second = *(const uint64_t *)b;

	return first < second ? -1 : first > second;
}

void note_times(const char *what, uint64_t *times_ns, size_t count)
{
	MUST(count > 0);
	qsort(times_ns, count, sizeof(*times_ns), compare);
	check_note("%s: %zu times, p50 %.2f ms, p99 %.2f ms, max %.2f ms", what, count,
		(double)times_ns[count / 2] / 1e6, (double)times_ns[count * 99 / 100] / 1e6,
		(double)times_ns[count - 1] / 1e6);
}

void broker_must_not_grow(uint64_t before)
{
	uint64_t after = process_memory_bytes((pid_t)scene_info().pid);

	check_note("the broker has %.1f MiB, %.1f MiB after the first kills", (double)after / MIB,
		(double)before / MIB);
	if (after > before)
		MUST(after - before < GROWTH_MOST * check_slowness());
}

uint64_t draw_from(uint64_t *state, uint64_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*state >> 33) % below;
}

uint64_t number_wanted(const char *name, uint64_t usual)
{
	const char *value = getenv(name);
	uint64_t number = value && *value ? strtoull(value, NULL, 10) : usual;

	MUST(number > 0);
	return number;
}

uint64_t seed_choose(void)
{
	uint64_t seed = number_wanted("WW_TEST_SEED", 1 + now_ns() % 1000000);

	check_note("seed %" PRIu64, seed);
	return seed;
}

void scene_path(char *out, size_t room, const char *name, uint32_t number)
{
	const char *address = getenv("WARPWAY_BROKER");

	MUST(address);
	snprintf(out, room, "%.*s/%s%u", (int)(strrchr(address, '/') - address), address, name,
		number);
}

void *scene_share(bool create, size_t bytes)
{
	char path[BROKER_PATH_BYTES + 16];
	void *shared;
	int fd;

	scene_path(path, sizeof(path), "board", 0);
	fd = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0600);
	MUST_CALL(fd);
	MUST_CALL(ftruncate(fd, (off_t)bytes));
	shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(shared != MAP_FAILED);
	close(fd);
	return shared;
}

void player_must_live(const struct child *player, const char *what, uint32_t index)
{
	siginfo_t end = {.si_pid = 0};

	MUST_CALL(waitid(P_PID, (id_t)player->pid, &end, WEXITED | WNOHANG | WNOWAIT));
	if (end.si_pid)
		FAIL("%s %" PRIu32 " has ended, with status %d", what, index, end.si_status);
}

void player_must_be_killed(struct child *player, const char *what, uint32_t index)
{
	int status;

	MUST_CALL(kill(player->pid, SIGKILL));
	status = child_wait(player);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		FAIL("%s %" PRIu32 " had ended before it was killed, with status %x", what, index,
			(unsigned int)status);
}
