/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls_server.c - the processes beside the bench's own: the server, and idle clients
 */
#include "bench/calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define CALLS_MAX       128
#define AREA_BYTES      (UINT32_C(128) << 10)
#define IDLE_AREA_BYTES UINT32_C(4096) /* a thousand clients have one each */
#define CLIENTS_MAX     2048
#define KEEP_NS         UINT64_C(100000000) /* as `warpway offer` without --keep */
#define FDS_OF_CLIENT   16                  /* at most, of the server's or of the client's */

const char *const calls_names[CALLS_FUNCTIONS] = {"nop", "touch", "fill"};

/* --- clients --- */

static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int calls_client_open(struct bench *bench, const char *service, struct calls_client *out_client)
{
	if (bench_expect(ww_client_open(bench->broker, service, NULL, BENCH_ANSWER_NS, NULL,
				 &out_client->client),
		    "cannot open the service"))
		return -1;
	for (int i = 0; i < CALLS_FUNCTIONS; i++) {
		if (bench_expect(ww_client_find(out_client->client, calls_names[i], NULL,
					 BENCH_ANSWER_NS, NULL, &out_client->functions[i]),
			    "cannot find a function"))
			return -1;
	}
	/* From now on the server knows it. */
	return bench_expect(ww_client_call(out_client->client, out_client->functions[CALLS_NOP],
				    NULL, 0, NULL, BENCH_ANSWER_NS, NULL, NULL),
		"cannot call");
}

void calls_client_close(struct calls_client *client)
{
	client->client = ww_client_unref(client->client);
}

/* Ends by being killed. */
int calls_role_crowd(struct bench *bench, const char *word)
{
	struct calls_client *clients;
	struct rlimit limit;
	struct link_message message = {.kind = LINK_READY};
	uint64_t count;
	uint64_t opened = 0;

	raise_files();
	if (getrlimit(RLIMIT_NOFILE, &limit) || !number_parse(word, 1, CLIENTS_MAX, &count))
		return complain("there is no such crowd");
	if (count > limit.rlim_cur / FDS_OF_CLIENT)
		count = limit.rlim_cur / FDS_OF_CLIENT;
	clients = calloc(count, sizeof(*clients));
	if (!clients)
		return complain("out of memory");
	while (opened < count && !calls_client_open(bench, CALLS_IDLE_SERVICE, &clients[opened]))
		opened++;
	message.numbers[0] = opened;
	if (opened > 0 && !parent_send(&message, -1)) /* the broker may have no room for more */
		link_receive(LINK_FD, LINK_GO, &message, NULL, WW_FOREVER); /* never comes */
	while (opened > 0)
		calls_client_close(&clients[--opened]);
	free(clients);
	return -1;
}

/* --- the server's functions --- */

static ww_status run_nop(void *context, ww_call *call)
{
	(void)context;
	(void)call;
	return WW_OK;
}

static ww_status run_touch(void *context, ww_call *call)
{
	struct ww_value array;

	(void)context;
	return ww_call_argument(call, 0, &array);
}

static ww_status run_fill(void *context, ww_call *call)
{
	struct ww_value array;
	struct ww_value value;
	ww_stream *stream;
	ww_status status = ww_call_argument(call, 0, &array);

	(void)context;
	if (status == WW_OK)
		status = ww_call_argument(call, 1, &value);
	if (status == WW_OK)
		status = ww_call_stream(call, &stream);
	return status != WW_OK ? status
			       : ww_stream_fill(stream, array.pointer, (uint32_t)value.scalar, 1,
					 CALLS_MESSAGE_BYTES);
}

static int offer_all(ww_service *service)
{
	static const char *const signatures[] = {"", "u8[*] x write", "u8[*] x write, u8 value"};
	static const ww_service_fn functions[] = {run_nop, run_touch, run_fill};

	for (uint32_t i = 0; i < CALLS_FUNCTIONS; i++) {
		const struct ww_function_params params = {
			.struct_size = sizeof(params),
			.flags = i == CALLS_FILL ? WW_FUNCTION_ENQUEUES : 0,
		};

		if (bench_expect(ww_service_offer(service, calls_names[i], signatures[i],
					 functions[i], NULL, &params),
			    "cannot offer a function"))
			return -1;
	}
	return bench_expect(ww_service_start(service), "cannot start the service");
}

static void *serve(void *service)
{
	(void)ww_service_serve(service, WW_FOREVER, NULL);
	return NULL;
}

/* --- bare sockets --- */

struct echo {
	int fd;
	uint64_t bytes;
};

static bool read_all(int fd, char *to, uint64_t bytes)
{
	for (ssize_t got; bytes > 0; bytes -= (uint64_t)got, to += got) {
		got = read(fd, to, bytes);
		if (got <= 0)
			return false;
	}
	return true;
}

static bool write_all(int fd, const char *from, uint64_t bytes)
{
	for (ssize_t put; bytes > 0; bytes -= (uint64_t)put, from += put) {
		put = write(fd, from, bytes);
		if (put <= 0)
			return false;
	}
	return true;
}

static void *echo_all(void *context)
{
	struct echo *echo = context;
	char *buffer = malloc(echo->bytes);

	while (buffer && read_all(echo->fd, buffer, echo->bytes) &&
		write_all(echo->fd, buffer, echo->bytes))
		;
	close(echo->fd);
	free(buffer);
	free(echo);
	return NULL;
}

/* A thread reads and writes from now on. */
static int take_socket(void)
{
	struct link_message message;
	struct echo *echo = malloc(sizeof(*echo));
	pthread_t thread;

	if (!echo)
		return complain("out of memory");
	if (parent_receive(LINK_MEMORY, &message, &echo->fd)) {
		free(echo);
		return -1;
	}
	echo->bytes = message.numbers[0];
	if (pthread_create(&thread, NULL, echo_all, echo)) {
		close(echo->fd);
		free(echo);
		return complain("cannot start a thread");
	}
	pthread_detach(thread);
	return bench_child_ready();
}

/* Ends by being killed. */
int calls_role_server(struct bench *bench, const char *word)
{
	uint32_t bytes = strcmp(word, CALLS_IDLE_SERVICE) ? AREA_BYTES : IDLE_AREA_BYTES;
	const struct ww_service_params params = {
		.struct_size = sizeof(params),
		.calls_max = CALLS_MAX,
		.clients_max = CLIENTS_MAX,
		.arguments_bytes = bytes,
		.results_bytes = bytes,
		.keep_ns = KEEP_NS,
	};
	ww_service *service;
	pthread_t thread;

	raise_files();
	if (bench_expect(ww_service_create(bench->device, bench->broker, word, &params, NULL,
				 &service),
		    "cannot make a service"))
		return -1;
	if (offer_all(service) || pthread_create(&thread, NULL, serve, service) ||
		bench_child_ready())
		return -1;
	while (take_socket() == 0)
		;
	return -1;
}
