/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.c - a server computes on arrays for a client that has no device
 *
 * The server offers two functions: one makes an array on the server's device, the other one adds it
 * up. The client calls the first one, gets a token of the array, and passes it to the second. The
 * array stays where it is; the client maps nothing and opens no device.
 *
 *   service [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

#define COUNT UINT64_C(1000)

#define PATIENCE_S  60 /* should the other side fail */
#define PATIENCE_NS (PATIENCE_S * UINT64_C(1000000000))

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

/* Ends a function that fails: the client gets the status and the sentence. */
#define TRY(call)                         \
	do {                              \
		ww_status status_ = call; \
		if (status_ != WW_OK)     \
			return status_;   \
	} while (0)

/* --- the server --- */

/* u64 count, f32 value -> f32[n] x: by the stream of the call, on which nobody waits here */
static ww_status make(void *context, ww_call *call)
{
	struct ww_memory_params params = WW_INIT(struct ww_memory_params);
	struct ww_value result = {.kind = WW_ARGUMENT_ARRAY};
	struct ww_value count;
	struct ww_value value;
	struct ww_array array;
	ww_status status;
	ww_stream *stream;

	TRY(ww_call_argument(call, 0, &count));
	TRY(ww_call_argument(call, 1, &value));
	TRY(ww_call_stream(call, &stream));
	TRY(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 1,
		(const int64_t[]){(int64_t)count.scalar}, NULL, 0));
	params.bytes = count.scalar * sizeof(float);
	TRY(ww_memory_create(context, &params, &result.memory));
	result.array = &array;
	status = ww_stream_fill(stream, ww_memory_pointer(result.memory), (uint32_t)value.scalar,
		sizeof(float), count.scalar);
	if (status == WW_OK)
		status = ww_call_result(call, 0, &result);
	ww_memory_unref(result.memory); /* the service keeps it until the client has taken it */
	return status;
}

static double add_up(const float *values, uint64_t count)
{
	double sum = 0;

	for (uint64_t i = 0; i < count; i++)
		sum += values[i];
	return sum;
}

/* f32[n] x read -> f64 sum */
static ww_status sum(void *context, ww_call *call)
{
	struct ww_value result = {
		.kind = WW_ARGUMENT_SCALAR,
		.dtype = {WW_DTYPE_FLOAT, 64, 1},
	};
	ww_status status;
	struct ww_value x;
	uint64_t count;
	float *copy;
	double total;

	(void)context;
	TRY(ww_call_argument(call, 0, &x));
	count = (uint64_t)x.array->shape[0];
	copy = calloc(count + 1, sizeof(*copy));
	if (!copy)
		return ww_call_fail(call, WW_ERR_NO_MEMORY, "cannot add up: out of memory");
	status = ww_memory_read(x.memory, x.array->offset, copy, count * sizeof(*copy), PATIENCE_NS,
		NULL);
	total = add_up(copy, count);
	free(copy);
	if (status != WW_OK)
		return ww_call_fail(call, WW_ERR_DEVICE, "cannot add up: the array is not read");
	memcpy(&result.scalar, &total, sizeof(total));
	return ww_call_result(call, 0, &result);
}

/* Serves until it is drained by its last client's word, here: the end of the child. */
static int run_server(ww_device *device, const char *name, pid_t client)
{
	ww_service *service;
	int status = 0;

	check(ww_service_create(device, NULL, name, NULL, NULL, &service));
	check(ww_service_offer(service, "make", "u64 count, f32 value -> f32[n] x", make, device,
		NULL));
	check(ww_service_offer(service, "sum", "f32[n] x read -> f64 sum", sum, NULL, NULL));
	check(ww_service_start(service));
	while (waitpid(client, &status, WNOHANG) == 0) {
		if (ww_service_serve(service, 10000000, NULL) != WW_TIMED_OUT)
			check(WW_ERR_STATE);
	}
	ww_service_unref(service);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* --- the client --- */

static struct ww_value of_float(float value)
{
	struct ww_value scalar = {
		.kind = WW_ARGUMENT_SCALAR,
		.dtype = {WW_DTYPE_FLOAT, 32, 1},
	};

	memcpy(&scalar.scalar, &value, sizeof(value));
	return scalar;
}

static ww_ticket *call(ww_client *client, const char *name, const struct ww_value *values,
	uint32_t count)
{
	ww_ticket *ticket;
	uint32_t function;

	check(ww_client_find(client, name, NULL, PATIENCE_NS, NULL, &function));
	check(ww_client_call(client, function, values, count, NULL, PATIENCE_NS, NULL, &ticket));
	return ticket;
}

static int run_client(const char *name)
{
	const struct ww_value made[] = {
		{.kind = WW_ARGUMENT_SCALAR, .dtype = {WW_DTYPE_UINT, 64, 1}, .scalar = COUNT},
		of_float(0.5F),
	};
	struct ww_value result;
	struct ww_value total;
	ww_client *client;
	ww_ticket *array;
	ww_ticket *added;
	double value;

	alarm(PATIENCE_S);
	check(ww_client_open(NULL, name, NULL, PATIENCE_NS, NULL, &client));
	array = call(client, "make", made, 2);
	check(ww_ticket_result(array, 0, &result)); /* a token: passed on as it is */
	added = call(client, "sum", &result, 1);
	check(ww_ticket_result(added, 0, &total));
	memcpy(&value, &total.scalar, sizeof(value));
	printf("%" PRIu64 " times 0.5 is %g\n", COUNT, value);
	ww_ticket_unref(added);
	ww_ticket_unref(array);
	ww_client_unref(client);
	return value == COUNT / 2.0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	char role[] = "--client";
	ww_device *device;
	char name[64];
	int status;
	pid_t pid;

	if (argc == 3 && !strcmp(argv[1], role))
		return run_client(argv[2]);
	snprintf(name, sizeof(name), "example/service-%d", (int)getpid());
	check(ww_device_open(argc > 1 ? argv[1] : NULL, &device));
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, (char *[]){argv[0], role, name, NULL},
		    environ))
		return 1;
	status = run_server(device, name, pid);
	ww_device_unref(device);
	return status;
}
