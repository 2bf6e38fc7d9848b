/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - many small pieces of memory, handed to another process one after the other
 *
 * The parent cuts slices from a pool, writes a number to each and sends tokens of them through a
 * pipe; it lets go at once. The child imports them as they come. Only the first needs the broker
 * and a mapping; after that a slice costs a few stores into shared memory on either side, and its
 * place is used again as soon as the child has let go: until then the parent waits for room.
 *
 * Then the parent publishes one result after the other under a name, and the child gets the newest.
 * A slice stays as long as it has the name, or the child has it.
 *
 *   pool [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

#define SLICES      10000
#define SLICE_BYTES 65536 /* 625 MiB in all; the pool has 8 MiB */
#define POOL_BYTES  (UINT64_C(8) << 20)
#define RESULTS     1000

#define PATIENCE_NS UINT64_C(60000000000) /* should the parent fail */

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

/* Return: how many different ones it has got. */
static int get_results(ww_device *device, const char *name)
{
	int last = -1;
	int count = 0;

	while (last < RESULTS - 1) {
		ww_memory *slice;
		int number;

		check(ww_memory_get(device, NULL, name, NULL, PATIENCE_NS, NULL, &slice, NULL));
		check(ww_memory_read(slice, 0, &number, sizeof(number), WW_FOREVER, NULL));
		ww_memory_unref(slice);
		count += number > last;
		last = number;
	}
	return count;
}

static int child(const char *device_name, const char *name)
{
	struct ww_token token;
	ww_device *device;
	long long sum = 0;
	int count = 0;

	check(ww_device_open(device_name, &device));
	while (fread(&token, sizeof(token), 1, stdin) == 1) {
		ww_memory *slice;
		int number;

		check(ww_memory_import(device, NULL, &token, NULL, NULL, &slice, NULL));
		check(ww_memory_read(slice, 0, &number, sizeof(number), WW_FOREVER, NULL));
		ww_memory_unref(slice);
		sum += number;
		count++;
	}
	fprintf(stderr, "child:  %d slices came, the sum of their numbers is %lld\n", count, sum);
	fprintf(stderr, "child:  got %d results by their name\n", get_results(device, name));
	ww_device_unref(device);
	return sum == (long long)SLICES * (SLICES - 1) / 2 ? 0 : 1;
}

/* Starts this program again, with a pipe for its standard input. */
static pid_t start_child(char *program, char *selector, char *name, int *out_tokens)
{
	posix_spawn_file_actions_t actions;
	char role[] = "--child";
	int tokens[2];
	pid_t pid;

	if (pipe(tokens) || posix_spawn_file_actions_init(&actions))
		exit(1);
	posix_spawn_file_actions_adddup2(&actions, tokens[0], STDIN_FILENO);
	for (int i = 0; i < 2; i++)
		posix_spawn_file_actions_addclose(&actions, tokens[i]);
	if (posix_spawn(&pid, "/proc/self/exe", &actions, NULL,
		    (char *[]){program, role, selector, name, NULL}, environ))
		exit(1);
	posix_spawn_file_actions_destroy(&actions);
	close(tokens[0]);
	*out_tokens = tokens[1];
	return pid;
}

static void send_all(ww_pool *pool, int tokens)
{
	for (int i = 0; i < SLICES; i++) {
		struct ww_token token;
		ww_memory *slice;

		/* When there is no room the child has yet to let go of earlier ones. */
		check(ww_pool_alloc(pool, SLICE_BYTES, 0, WW_FOREVER, NULL, &slice));
		check(ww_memory_write(slice, 0, &i, sizeof(i), WW_FOREVER, NULL));
		check(ww_memory_export(slice, NULL, NULL, NULL, &token));
		/* The token keeps the slice until the child has imported it. */
		ww_memory_unref(slice);
		if (write(tokens, &token, sizeof(token)) != sizeof(token))
			exit(1);
	}
}

static void publish_all(ww_pool *pool, const char *name)
{
	struct ww_put_params put = {.struct_size = sizeof(put), .flags = WW_PUT_REPLACE};

	for (int i = 0; i < RESULTS; i++) {
		ww_memory *slice;

		check(ww_pool_alloc(pool, SLICE_BYTES, 0, WW_FOREVER, NULL, &slice));
		check(ww_memory_write(slice, 0, &i, sizeof(i), WW_FOREVER, NULL));
		check(ww_memory_put(slice, NULL, name, &put, 0, NULL));
		/* The name keeps the slice until it passes to the next one. */
		ww_memory_unref(slice);
	}
}

int main(int argc, char **argv)
{
	struct ww_pool_params params = {.struct_size = sizeof(params), .bytes_max = POOL_BYTES};
	struct ww_pool_info pool_info = WW_INIT(struct ww_pool_info);
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	ww_device *device;
	ww_pool *pool;
	char name[32];
	int status;
	int tokens;
	pid_t pid;

	if (argc == 4 && !strcmp(argv[1], "--child"))
		return child(argv[2], argv[3]);
	check(ww_device_open(argc > 1 ? argv[1] : NULL, &device));
	check(ww_device_info_get(device, &info));
	check(ww_pool_create(device, &params, &pool));
	snprintf(name, sizeof(name), "pool/%d", (int)getpid());
	pid = start_child(argv[0], info.selector, name, &tokens);
	send_all(pool, tokens);
	close(tokens);
	publish_all(pool, name);
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	check(ww_pool_info_get(pool, &pool_info));
	printf("parent: cut %llu slices of %d bytes from %llu bytes of memory\n",
		(unsigned long long)pool_info.allocations, SLICE_BYTES,
		(unsigned long long)pool_info.bytes_reserved);
	ww_pool_unref(pool);
	ww_device_unref(device);
	return status == 0 && pool_info.slice_count == 0 ? 0 : 1;
}
