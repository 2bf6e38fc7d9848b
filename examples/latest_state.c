/* SPDX-License-Identifier: Apache-2.0 */
/*
 * latest_state.c - a reader that takes the newest state of a writer, which never waits for it
 *
 * The memory has SLOTS slots. The writer writes state n into slot n modulo SLOTS, then signals n.
 * The reader copies the slot of the newest signalled state. The copy is whole if the writer has not
 * begun to write that slot again, which it does after it has signalled n + SLOTS - 1.
 *
 *   latest_state [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

#define SLOTS 4
#define WORDS 512
#define READS 20000

#define PATIENCE_S  60 /* should the other side fail */
#define PATIENCE_NS (PATIENCE_S * UINT64_C(1000000000))

extern char **environ;

/* A call that fails (status < 0) leaves a sentence that says why. */
static void check(ww_status status)
{
	if (status < 0)
		fprintf(stderr, "%s: %s\n", ww_status_name(status),
			status < 0 ? ww_error_last()->message : ww_status_text(status));
	else if (status != WW_OK)
		fprintf(stderr, "%s: %s\n", ww_status_name(status), ww_status_text(status));
	if (status != WW_OK)
		exit(1);
}

/* A state that can be checked: each word is its number. */
struct state {
	uint64_t words[WORDS];
};

static void state_fill(struct state *state, uint64_t number)
{
	for (int i = 0; i < WORDS; i++)
		state->words[i] = number;
}

static bool state_is(const struct state *state, uint64_t number)
{
	for (int i = 0; i < WORDS; i++) {
		if (state->words[i] != number)
			return false;
	}
	return true;
}

/* Until the reader ends this process, and the memory and the timeline with it. */
static void write_states(ww_device *device, const char *prefix)
{
	char name[64];
	ww_memory *memory;
	ww_timeline *timeline;
	struct state state;

	alarm(PATIENCE_S);
	check(ww_memory_create(device,
		WW_PARAMS(struct ww_memory_params, .bytes = SLOTS * sizeof(struct state)),
		&memory));
	check(ww_timeline_create(NULL, &timeline));
	snprintf(name, sizeof(name), "%s/slots", prefix);
	check(ww_memory_put(memory, NULL, name, NULL, 0, NULL));
	snprintf(name, sizeof(name), "%s/newest", prefix);
	check(ww_timeline_put(timeline, NULL, name, NULL, NULL));
	for (uint64_t n = 1;; n++) {
		state_fill(&state, n);
		check(ww_memory_write(memory, n % SLOTS * sizeof(state), &state, sizeof(state),
			WW_FOREVER, NULL));
		check(ww_timeline_signal(timeline, n));
	}
}

/* Return: the number of the state that was copied. */
static uint64_t read_newest(ww_memory *memory, ww_timeline *timeline, struct state *out_state)
{
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);

	do {
		check(ww_timeline_info_get(timeline, &info));
		check(ww_memory_read(memory, info.completed % SLOTS * sizeof(*out_state), out_state,
			sizeof(*out_state), WW_FOREVER, NULL));
	} while (ww_timeline_query(timeline, info.completed + SLOTS - 1) == WW_OK);
	return info.completed;
}

static int read_states(ww_device *device, const char *prefix)
{
	char name[64];
	ww_memory *memory;
	ww_timeline *timeline;
	struct state state;
	uint64_t number, former = 0, different = 0;

	snprintf(name, sizeof(name), "%s/slots", prefix);
	check(ww_memory_get(device, NULL, name, NULL, PATIENCE_NS, NULL, &memory, NULL));
	snprintf(name, sizeof(name), "%s/newest", prefix);
	check(ww_timeline_get(NULL, name, PATIENCE_NS, NULL, &timeline));
	check(ww_timeline_wait(timeline, 1, PATIENCE_NS, NULL));
	for (int i = 0; i < READS; i++) {
		number = read_newest(memory, timeline, &state);
		if (number < former || !state_is(&state, number)) {
			fprintf(stderr, "state %llu is not whole\n", (unsigned long long)number);
			return 1;
		}
		different += number != former;
		former = number;
	}
	printf("reader: %d copies, all whole, of %llu different states\n", READS,
		(unsigned long long)different);
	ww_timeline_unref(timeline);
	ww_memory_unref(memory);
	return 0;
}

static pid_t start_writer(const char *program, const char *device_name, const char *prefix)
{
	char *arguments[] = {(char *)program, (char *)device_name, (char *)prefix, NULL};
	pid_t pid;

	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ)) {
		perror("cannot start the writer");
		exit(1);
	}
	return pid;
}

int main(int argc, char **argv)
{
	const char *device_name = argc > 1 ? argv[1] : NULL;
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	ww_device *device;
	char prefix[32];
	pid_t writer;
	int result;

	check(ww_device_open(device_name, &device));
	if (argc > 2)
		write_states(device, argv[2]);
	check(ww_device_info_get(device, &info));
	snprintf(prefix, sizeof(prefix), "latest_state/%d", (int)getpid());
	writer = start_writer(argv[0], info.selector, prefix);
	result = read_states(device, prefix);
	kill(writer, SIGTERM);
	waitpid(writer, NULL, 0);
	ww_device_unref(device);
	return result;
}
