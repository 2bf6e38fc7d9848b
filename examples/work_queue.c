/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.c - work for several processes, each piece for one of them, and what happens to the
 * piece of one that crashes
 *
 * This process publishes jobs. A worker crashes in the middle of the first one. So that job is
 * given to the next worker, marked as a repeat, and no job is lost.
 *
 *   work_queue [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

#define JOBS  10
#define COUNT 4096 /* elements of a job */
#define BYTES (COUNT * sizeof(uint32_t))

#define PATIENCE_NS UINT64_C(60000000000) /* should another process fail */

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

/* --- a worker --- */

/* Adds up the elements; a program of yours would start a kernel. Return: whether they are right. */
static int work(ww_stream *stream, const struct ww_frame *job)
{
	static uint32_t elements[COUNT];
	uint64_t sum = 0;

	check(ww_stream_copy(stream, elements, job->pointer, BYTES));
	check(ww_stream_synchronize(stream, PATIENCE_NS, NULL));
	for (size_t i = 0; i < COUNT; i++)
		sum += elements[i];
	printf("job %" PRIu64 ", attempt %" PRIu32 ": %" PRIu64 "\n", job->number, job->attempts,
		sum);
	return sum == job->number * COUNT;
}

static int run_worker(ww_device *device, const char *name, int crashes)
{
	struct ww_frame job = WW_INIT(struct ww_frame);
	const struct ww_work_member_params member = {
		.struct_size = sizeof(member),
		.role = WW_WORK_QUEUE_CONSUMER,
		.metadata_type = "sum/1", /* a queue of other work is refused */
		.end_after_producers = 1, /* the one that has the work, which then leaves */
	};
	ww_work_queue *queue;
	ww_stream *stream;
	uint64_t repeats = 0;
	ww_status status;

	check(ww_stream_create(device, &stream));
	check(ww_work_queue_get(device, NULL, name, &member, PATIENCE_NS, NULL, &queue));
	while ((status = ww_work_queue_receive(queue, stream, PATIENCE_NS, NULL, &job)) == WW_OK) {
		if (crashes)
			_exit(0); /* with the job */
		if (!work(stream, &job))
			return 1;
		repeats += job.attempts > 1;
		/* Only now is the job done; its slot is free. */
		check(ww_work_queue_acknowledge(queue, &job, NULL));
	}
	ww_work_queue_unref(queue);
	ww_stream_unref(stream);
	return status != WW_END || repeats != 1; /* no more work comes */
}

/* --- the process that has the work --- */

/* The jobs outlive their producer: they stay as long as somebody has the queue open. */
static void publish_jobs(ww_device *device, const char *name)
{
	const struct ww_work_member_params member = {
		.struct_size = sizeof(member),
		.role = WW_WORK_QUEUE_PRODUCER,
	};
	ww_work_queue *queue;
	ww_stream *stream;

	check(ww_stream_create(device, &stream));
	check(ww_work_queue_get(device, NULL, name, &member, 0, NULL, &queue));
	for (uint32_t i = 1; i <= JOBS; i++) {
		struct ww_frame job = WW_INIT(struct ww_frame);

		check(ww_work_queue_acquire(queue, stream, PATIENCE_NS, NULL, &job));
		check(ww_stream_fill(stream, job.pointer, i, sizeof(i), COUNT));
		job.bytes = BYTES;
		/* Complete when the stream has done the work before. */
		check(ww_work_queue_publish(queue, &job, stream));
	}
	check(ww_stream_synchronize(stream, PATIENCE_NS, NULL));
	ww_work_queue_unref(queue);
	ww_stream_unref(stream);
}

/* This program, started anew. */
static pid_t start_worker(char *program, char *role, char *device, char *name)
{
	pid_t pid;

	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL,
		    (char *[]){program, role, device, name, NULL}, environ))
		exit(1);
	return pid;
}

static int run(ww_device *device, char *program)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	struct ww_work_queue_params params = {
		.struct_size = sizeof(params),
		.role = WW_WORK_QUEUE_KEEPER,
		.slot_bytes = BYTES,
		.metadata_type = "sum/1",
	};
	char crashes[] = "--crash", works[] = "--work", name[32];
	ww_work_queue *queue;
	int status;

	snprintf(name, sizeof(name), "example/%d", (int)getpid());
	check(ww_device_info_get(device, &info));
	check(ww_work_queue_create(device, NULL, name, &params, NULL, &queue));
	publish_jobs(device, name);
	waitpid(start_worker(program, crashes, info.selector, name), NULL, 0);
	waitpid(start_worker(program, works, info.selector, name), &status, 0);
	ww_work_queue_unref(queue);
	return status != 0;
}

int main(int argc, char **argv)
{
	ww_device *device;
	int status;

	check(ww_device_open(argc == 4 ? argv[2] : argc > 1 ? argv[1] : NULL, &device));
	if (argc == 4)
		status = run_worker(device, argv[3], !strcmp(argv[1], "--crash"));
	else
		status = run(device, argv[0]);
	ww_device_unref(device);
	return status;
}
