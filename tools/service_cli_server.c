/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_cli_server.c - for service_cli_test.py: a service whose functions show what came
 *
 *   service_cli_server DEVICE NAME
 *
 * Prints a line when the name is taken, and one when the service is ready: it becomes that at the
 * first line of standard input. Serves until standard input ends, and then what has come.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <warpway/warpway.h>

static void check(ww_status status)
{
	if (status != WW_OK) {
		fprintf(stderr, "%s: %s\n", ww_status_name(status), ww_error_last()->message);
		exit(1);
	}
}

/* --- functions --- */

static ww_status run_scale(void *context, ww_call *call)
{
	struct ww_value values[4];
	uint64_t bytes;
	void *copy;
	ww_status status;

	(void)context;
	for (uint32_t i = 0; i < 4; i++) {
		status = ww_call_argument(call, i, &values[i]);
		if (status != WW_OK)
			return status;
	}
	bytes = values[3].scalar;
	copy = malloc(bytes);
	if (!copy)
		return ww_call_fail(call, WW_ERR_NO_MEMORY, "no memory");
	status = ww_memory_read(values[1].memory, values[1].array->offset, copy, bytes, WW_FOREVER,
		NULL);
	for (uint64_t i = 0; i < bytes; i++)
		((uint8_t *)copy)[i] *= (uint8_t)values[0].scalar;
	if (status == WW_OK)
		status = ww_memory_write(values[2].memory, values[2].array->offset, copy, bytes,
			WW_FOREVER, NULL);
	free(copy);
	return status == WW_OK ? ww_call_result(call, 0, &values[3]) : status;
}

/* Its arguments are its results. */
static ww_status run_echo(void *context, ww_call *call)
{
	const uint32_t *count = context;
	ww_status status = WW_OK;

	for (uint32_t i = 0; i < *count && status == WW_OK; i++) {
		struct ww_value value;

		status = ww_call_argument(call, i, &value);
		if (status == WW_OK)
			status = ww_call_result(call, i, &value);
	}
	return status;
}

static ww_status run_fail(void *context, ww_call *call)
{
	(void)context;
	return ww_call_fail(call, WW_ERR_STATE, "the function says why");
}

static ww_status run_hold(void *context, ww_call *call)
{
	(void)context;
	puts("held");
	fflush(stdout);
	while (!ww_call_is_cancelled(call))
		sched_yield();
	return ww_call_fail(call, WW_ERR_GIVEN_UP, "cancelled");
}

static ww_status run_reached(void *context, ww_call *call)
{
	struct ww_value timeline;
	struct ww_value value;
	ww_status status = ww_call_argument(call, 0, &timeline);

	(void)context;
	if (status == WW_OK)
		status = ww_call_argument(call, 1, &value);
	if (status == WW_OK)
		status = ww_timeline_query(timeline.timeline, value.scalar);
	if (status < 0)
		return status;
	value = (struct ww_value){.kind = WW_ARGUMENT_SCALAR,
		.dtype = {WW_DTYPE_BOOL, 8, 1},
		.scalar = status == WW_OK};
	return ww_call_result(call, 0, &value);
}

/* --- the service --- */

static void offer_all(ww_service *service)
{
	static uint32_t scalars = 4;
	static uint32_t bytes = 1;

	check(ww_service_offer(service, "scale",
		"u8 factor = 2, u8[n] x read, u8[n] y write, u64 n -> u64 n", run_scale, NULL,
		NULL));
	check(ww_service_offer(service, "scalars",
		"bool b = true, i8 i = -1, u64 u = 18446744073709551615, f32 f = 0.1 -> bool b, i8 i, "
		"u64 u, f32 f",
		run_echo, &scalars, NULL));
	check(ww_service_offer(service, "bytes", "bytes[8] b -> bytes[8] same", run_echo, &bytes,
		NULL));
	check(ww_service_offer(service, "fail", "", run_fail, NULL, NULL));
	check(ww_service_offer(service, "hold", "", run_hold, NULL, NULL));
	check(ww_service_offer(service, "reached", "timeline t, u64 value -> bool reached",
		run_reached, NULL, NULL));
}

static void *serve(void *service)
{
	return (void *)(intptr_t)ww_service_serve(service, WW_FOREVER, NULL);
}

static void say(const char *line)
{
	puts(line);
	fflush(stdout);
}

static void await_line(void)
{
	int letter = getchar();

	while (letter != '\n' && letter != EOF)
		letter = getchar();
}

int main(int argc, char *argv[])
{
	struct ww_service_params params = {.struct_size = sizeof(params), .version = "1.5"};
	ww_timeline *timeline;
	ww_service *service;
	ww_device *device;
	pthread_t thread;

	if (argc != 3)
		return 2;
	check(ww_device_open(argv[1], &device));
	check(ww_timeline_create(NULL, &timeline));
	check(ww_timeline_signal(timeline, 41));
	check(ww_timeline_put(timeline, NULL, "served/timeline", NULL, NULL));
	check(ww_service_create(device, NULL, argv[2], &params, NULL, &service));
	say("there");
	await_line();
	offer_all(service);
	check(ww_service_start(service));
	if (pthread_create(&thread, NULL, serve, service))
		return 1;
	say("ready");
	while (getchar() != EOF)
		;
	check(ww_service_drain(service));
	pthread_join(thread, NULL);
	ww_service_unref(service);
	ww_timeline_unref(timeline);
	ww_device_unref(device);
	return 0;
}
