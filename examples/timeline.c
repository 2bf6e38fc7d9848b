/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.c - a producer and a consumer whose streams wait for each other, and what happens when
 * one is killed
 *
 * The producer fills memory again and again; its stream signals a timeline after each fill. The
 * consumer's stream waits for that before it copies, and signals a timeline of its own when it has,
 * so that nothing is overwritten too early. No CPU waits in between. In the third round the
 * producer is killed: the consumer's wait ends, and says who died.
 *
 *   timeline [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

#define BYTES  (1 << 20)
#define ROUNDS 2

#define PATIENCE_NS UINT64_C(60000000000) /* should the other side fail */

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

/* Both have a timeline of their own, on which they signal, and import the other one's, to wait. */
struct peer {
	ww_device *device;
	ww_stream *stream;
	ww_memory *memory;
	ww_timeline *mine;
	ww_timeline *theirs;
	char prefix[32]; /* of names in the broker */
};

static const char *name_of(const struct peer *peer, const char *what)
{
	static char name[64];

	snprintf(name, sizeof(name), "%s/%s", peer->prefix, what);
	return name;
}

static void open_all(struct peer *peer, const char *device_name, const char *prefix)
{
	snprintf(peer->prefix, sizeof(peer->prefix), "%s", prefix);
	check(ww_device_open(device_name, &peer->device));
	check(ww_stream_create(peer->device, &peer->stream));
	check(ww_timeline_create(NULL, &peer->mine));
}

static void close_all(struct peer *peer)
{
	ww_timeline_unref(peer->theirs);
	ww_timeline_unref(peer->mine);
	ww_memory_unref(peer->memory);
	ww_stream_unref(peer->stream);
	ww_device_unref(peer->device);
}

static int producer(const char *device_name, const char *prefix)
{
	struct ww_memory_params params = {.struct_size = sizeof(params), .bytes = BYTES};
	struct peer peer = {0};

	open_all(&peer, device_name, prefix);
	check(ww_memory_create(peer.device, &params, &peer.memory));
	check(ww_memory_put(peer.memory, NULL, name_of(&peer, "memory"), NULL, 0, NULL));
	check(ww_timeline_put(peer.mine, NULL, name_of(&peer, "full"), NULL, NULL));
	check(ww_timeline_get(NULL, name_of(&peer, "empty"), PATIENCE_NS, NULL, &peer.theirs));

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		/* The stream waits until the round before has been taken, fills, and says so. */
		check(ww_timeline_stream_wait(peer.theirs, peer.stream, round - 1, 0, PATIENCE_NS,
			NULL));
		check(ww_stream_fill(peer.stream, ww_memory_pointer(peer.memory), (uint32_t)round,
			1, BYTES));
		check(ww_timeline_stream_signal(peer.mine, peer.stream, round));
	}
	pause(); /* until it is killed */
	return 1;
}

/* The third round never comes: its wait ends all the same. */
static int wait_in_vain(struct peer *peer, pid_t pid)
{
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);

	kill(pid, SIGKILL);
	if (ww_timeline_wait(peer->theirs, ROUNDS + 1, PATIENCE_NS, NULL) != WW_ERR_PEER_LOST)
		return 1;
	printf("consumer: %s\n", ww_error_last()->message);
	check(ww_timeline_info_get(peer->theirs, &info));
	return info.state == WW_TIMELINE_LOST && info.completed == ROUNDS ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	static unsigned char copies[ROUNDS + 1][BYTES];
	struct peer peer = {0};
	char role[] = "--producer";
	char prefix[32];
	int status;
	pid_t pid;

	if (argc == 4 && !strcmp(argv[1], role))
		return producer(argv[2], argv[3]);
	snprintf(prefix, sizeof(prefix), "example/%d", (int)getpid());
	open_all(&peer, argc > 1 ? argv[1] : NULL, prefix);
	check(ww_device_info_get(peer.device, &info));
	check(ww_timeline_put(peer.mine, NULL, name_of(&peer, "empty"), NULL, NULL));
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL,
		    (char *[]){argv[0], role, info.selector, prefix, NULL}, environ))
		return 1;
	check(ww_timeline_get(NULL, name_of(&peer, "full"), PATIENCE_NS, NULL, &peer.theirs));
	check(ww_memory_get(peer.device, NULL, name_of(&peer, "memory"), NULL, 0, NULL,
		&peer.memory, NULL));

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		check(ww_timeline_stream_wait(peer.theirs, peer.stream, round, 0, PATIENCE_NS,
			NULL));
		check(ww_stream_copy(peer.stream, copies[round], ww_memory_pointer(peer.memory),
			BYTES));
		check(ww_timeline_stream_signal(peer.mine, peer.stream, round));
	}
	check(ww_stream_synchronize(peer.stream, WW_FOREVER, NULL));
	for (int round = 1; round <= ROUNDS; round++)
		printf("consumer: round %d came as %d ... %d\n", round, copies[round][0],
			copies[round][BYTES - 1]);

	status = wait_in_vain(&peer, pid);
	waitpid(pid, NULL, 0);
	close_all(&peer);
	return status || copies[1][BYTES - 1] != 1 || copies[2][BYTES - 1] != 2;
}
