/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_waiter.c - a process that waits in every way at once, and believes nothing
 *
 * Round by round: it gets the signaller's timelines, starts a JOB for each way of waiting, says
 * that it waits, and when all jobs have come to an end it checks what every later call says.
 * Streams are fresh in each round, since one that was released by poison stays marked.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crash/sync.h"
#include "support/fail_call.h"
#include "support/leak_count.h"
#include "support/driver.h"
#include "support/stream_gate.h"

#define STREAMS_EACH 3 /* of those that wait; with the others fewer than a GPU has queues */
#define JOBS_MAX     32

struct job {
	enum way way;
	enum style style;
	void (*run)(struct job *job); /* by a thread of its own; NULL: a stream does it */
	pthread_t thread;
	ww_stream *stream; /* its own; NULL: it has none */
	uint64_t value;    /* that the stream waits for */
	atomic_uint_fast64_t released_ns;
};

static struct {
	struct board *board;
	uint32_t index;
	uint64_t random;
	ww_device *device;
	ww_device *host;
	ww_broker *broker;
	ww_timeline *own;

	/* of the round */
	uint64_t round;
	uint32_t pid; /* of the signaller */
	bool works;
	bool is_member;
	bool is_exact; /* nothing is stored after the poison, by no GPU either */
	ww_timeline *timelines[STYLES];
	ww_barrier *barrier;
	sem_t begun;
	struct job jobs[JOBS_MAX];
	uint32_t job_count;
	atomic_uint_fast64_t seen[STYLES]; /* the highest value that was success */
} self;

/* --- what may be said --- */

static void must_be_lost(const char *what, ww_status status)
{
	char who[64];

	snprintf(who, sizeof(who), "process %" PRIu32 " (%s)", self.pid, SYNC_PROGRAM);
	if (status != WW_ERR_PEER_LOST)
		FAIL("%s in round %" PRIu64 ": %s: %s", what, self.round, ww_status_name(status),
			ww_error_last()->message);
	if (!strstr(ww_error_last()->message, who))
		FAIL("%s in round %" PRIu64 " does not name %s: %s", what, self.round, who,
			ww_error_last()->message);
}

static void must_be_said(enum style style, uint64_t value)
{
	uint64_t said = board_said(self.board, style);
	uint64_t before = atomic_load(&self.seen[style]);

	if (value > said)
		FAIL("value %" PRIu64 " of timeline %d is said to be reached, and %" PRIu64
		     " was the last that was signalled",
			value, (int)style, said);
	while (before < value && !atomic_compare_exchange_weak(&self.seen[style], &before, value))
		;
}

/* Whether to go on; else it was lost, now. */
static bool goes_on(struct job *job, ww_status status, uint64_t value)
{
	if (status == WW_OK) {
		must_be_said(job->style, value);
		return true;
	}
	atomic_store(&job->released_ns, now_ns());
	must_be_lost(way_names[job->way], status);
	return false;
}

static uint64_t completed(enum style style)
{
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);

	MUST_OK(ww_timeline_info_get(self.timelines[style], &info));
	must_be_said(style, info.completed);
	return info.completed;
}

/* --- jobs with a thread --- */

static void sleep_for_it(struct job *job)
{
	MUST(!goes_on(job,
		ww_timeline_wait(self.timelines[job->style], SYNC_NEVER, WW_FOREVER, NULL),
		SYNC_NEVER));
}

static void follow(struct job *job)
{
	uint64_t value;

	do
		value = completed(job->style) + 1;
	while (goes_on(job, ww_timeline_wait(self.timelines[job->style], value, WW_FOREVER, NULL),
		value));
}

static void wait_for_submission(struct job *job)
{
	MUST(!goes_on(job,
		ww_timeline_stream_wait(self.timelines[job->style], job->stream, SYNC_NEVER, 0,
			WW_FOREVER, NULL),
		SYNC_NEVER));
}

static void ask(struct job *job)
{
	uint64_t value = completed(job->style) + 1;
	ww_status status;

	do {
		status = ww_timeline_query(self.timelines[job->style], value);
		if (status == WW_OK) {
			must_be_said(job->style, value);
			value++;
		}
		sched_yield();
	} while (status >= 0);
	goes_on(job, status, value);
}

static void pass_barrier(struct job *job)
{
	uint64_t round = 0;
	ww_status status;

	do {
		status = ww_barrier_wait(self.barrier, WW_FOREVER, NULL);
		if (status == WW_OK && ++round > atomic_load(&self.board->rounds))
			FAIL("round %" PRIu64 " of the barrier ended without the signaller", round);
	} while (status == WW_OK);
	goes_on(job, status, 0);
}

/* Nothing but time tells a descriptor that is readable from a value; so the question follows. */
static void poll_descriptor(struct job *job)
{
	struct pollfd waiting = {.fd = -1, .events = POLLIN};

	MUST_OK(ww_timeline_eventfd(self.timelines[job->style], job->stream, SYNC_NEVER,
		&waiting.fd));
	MUST_EQUAL(1, poll(&waiting, 1, -1));
	MUST(!goes_on(job, ww_timeline_query(self.timelines[job->style], SYNC_NEVER), SYNC_NEVER));
	close(waiting.fd);
}

/* Also asks a stream that is released whether it is. */
static void follow_by_stream(struct job *job)
{
	ww_timeline *timeline = self.timelines[job->style];
	ww_status status;
	uint64_t value;

	do {
		value = completed(job->style) + 1;
		status = ww_timeline_stream_wait(timeline, job->stream, value, 0, WW_FOREVER, NULL);
		if (status == WW_OK)
			status = ww_stream_synchronize(job->stream, WW_FOREVER, NULL);
	} while (goes_on(job, status, value));
}

/* --- jobs that streams do --- */

static void note_release(void *context)
{
	struct job *job = context;

	atomic_store(&job->released_ns, now_ns());
}

static void enqueue(struct job *job, uint64_t flags)
{
	MUST_OK(ww_timeline_stream_wait(self.timelines[job->style], job->stream, job->value, flags,
		WW_FOREVER, NULL));
	MUST_OK(ww_stream_call(job->stream, note_release, job));
}

static void must_stay_marked(struct job *job)
{
	must_be_lost("a later question", ww_stream_query(job->stream));
	must_be_lost("later work", ww_stream_call(job->stream, note_release, job));
	must_be_lost("a later wait", ww_timeline_stream_wait(self.own, job->stream, 1, 0, 0, NULL));
	must_be_lost("a later signal", ww_timeline_stream_signal(self.own, job->stream, 1));
	must_be_lost("waiting again", ww_stream_synchronize(job->stream, WW_FOREVER, NULL));
}

/* A stream that ran through is one that nobody needs to mistrust. */
static void finish_stream(struct job *job)
{
	ww_status status = ww_stream_synchronize(job->stream, WW_FOREVER, NULL);

	if (status == WW_OK) {
		must_be_said(job->style, job->value);
		atomic_store(&job->released_ns, 0);
		return;
	}
	must_be_lost(way_names[job->way], status);
	MUST(atomic_load(&job->released_ns) > 0);
	must_stay_marked(job);
}

/* --- a round --- */

static void *run_job(void *context)
{
	struct job *job = context;

	sem_post(&self.begun);
	job->run(job);
	return NULL;
}

static struct job *add(enum way way, enum style style, ww_device *device, void (*run)(struct job *))
{
	struct job *job = &self.jobs[self.job_count++];

	MUST(self.job_count <= JOBS_MAX);
	*job = (struct job){.way = way, .style = style, .run = run};
	if (device)
		job->stream = stream_make(device);
	return job;
}

static void add_thread(enum way way, enum style style, ww_device *device, void (*run)(struct job *))
{
	struct job *job = add(way, style, device, run);

	MUST(!pthread_create(&job->thread, NULL, run_job, job));
	if (!gate_wait(&self.begun))
		FAIL("a thread does not begin");
}

static void add_stream(enum way way, enum style style, uint64_t value, uint64_t flags)
{
	struct job *job = add(way, style, self.device, NULL);

	job->value = value;
	enqueue(job, flags);
}

static void start_jobs(void)
{
	self.job_count = 0;
	if (self.works)
		add_thread(WAY_STREAM_FOLLOW, STYLE_STREAM, self.device, follow_by_stream);
	for (int i = 0; i < STREAMS_EACH; i++) {
		if (self.works)
			add_stream(WAY_STREAM, STYLE_GATED, 1 + draw_from(&self.random, SYNC_GATED),
				0);
		add_stream(WAY_UNSUBMITTED, (enum style)draw_from(&self.random, STYLES),
			SYNC_NEVER + (uint64_t)i, WW_WAIT_UNSUBMITTED);
	}
	add_thread(WAY_SLEEP, STYLE_QUIET, NULL, sleep_for_it);
	add_thread(WAY_SLEEP, STYLE_ALONE, NULL, sleep_for_it);
	add_thread(WAY_FOLLOW, STYLE_CPU, NULL, follow);
	if (self.works) {
		add_thread(WAY_FOLLOW_STREAM, STYLE_STREAM, NULL, follow);
		add_thread(WAY_POLL, STYLE_GATED, NULL, sleep_for_it);
	}
	add_thread(WAY_SUBMISSION, STYLE_QUIET, self.device, wait_for_submission);
	add_thread(WAY_EVENTFD, STYLE_QUIET, self.host, poll_descriptor);
	if (self.works)
		add_thread(WAY_EVENTFD, STYLE_GATED, self.host, poll_descriptor);
	if (self.index == 0)
		add_thread(WAY_QUERY, STYLE_ALONE, NULL, ask);
	if (self.barrier)
		add_thread(WAY_BARRIER, STYLE_QUIET, NULL, pass_barrier);
}

static void meet(void)
{
	char name[32];

	for (int i = 0; i < STYLES; i++) {
		atomic_store(&self.seen[i], 0);
		name_timeline(name, self.round, (enum style)i);
		if (i == STYLE_ALONE)
			MUST_OK(ww_timeline_import(self.broker, &self.board->alone, NULL,
				&self.timelines[i]));
		else
			MUST_OK(ww_timeline_get(self.broker, name, 0, NULL, &self.timelines[i]));
	}
	if (!self.is_member)
		return;
	name_barrier(name, self.round);
	MUST_OK(ww_barrier_get(self.broker, name, self.index + 1, WW_FOREVER, NULL, &self.barrier));
}

static void finish_jobs(void)
{
	for (uint32_t i = 0; i < self.job_count; i++)
		if (self.jobs[i].run)
			pthread_join(self.jobs[i].thread, NULL);
	for (uint32_t i = 0; i < self.job_count; i++)
		if (!self.jobs[i].run)
			finish_stream(&self.jobs[i]);
}

static void must_stay_lost(enum style style)
{
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);
	ww_timeline *timeline = self.timelines[style];
	OWN(stream) ww_stream *stream = stream_make(self.device);

	MUST_OK(ww_timeline_info_get(timeline, &info));
	MUST_EQUAL(WW_TIMELINE_LOST, info.state);
	MUST_EQUAL(self.pid, info.pid);
	MUST(!strcmp(info.program, SYNC_PROGRAM) && info.lost_ns > 0);
	atomic_store(&self.board->lost_ns, info.lost_ns);
	if (self.is_exact)
		MUST(info.completed >= atomic_load(&self.seen[style]));
	must_be_said(style, info.completed);
	MUST_OK(ww_timeline_wait(timeline, info.completed, 0, NULL));
	must_be_lost("one more", ww_timeline_wait(timeline, info.completed + 1, WW_FOREVER, NULL));
	MUST_OK(ww_timeline_wait(timeline, 0, WW_FOREVER, NULL));
	must_be_lost("a question", ww_timeline_query(timeline, SYNC_NEVER));
	must_be_lost("a stream's wait",
		ww_timeline_stream_wait(timeline, stream, SYNC_NEVER, WW_WAIT_UNSUBMITTED, 0,
			NULL));
	must_be_lost("a submission",
		ww_timeline_stream_wait(timeline, stream, SYNC_NEVER, 0, WW_FOREVER, NULL));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
}

static void report(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < self.job_count; i++) {
		uint64_t released_ns = atomic_load(&self.jobs[i].released_ns);

		ww_stream_unref(self.jobs[i].stream);
		if (released_ns == 0)
			continue;
		self.board->results[self.index].items[count].way = self.jobs[i].way;
		self.board->results[self.index].items[count++].released_ns = released_ns;
	}
	self.board->results[self.index].count = count;
}

static void part(void)
{
	must_be_lost("the next round",
		self.barrier ? ww_barrier_wait(self.barrier, WW_FOREVER, NULL)
			     : ww_timeline_query(self.timelines[STYLE_QUIET], 1));
	self.barrier = ww_barrier_unref(self.barrier);
	for (int i = 0; i < STYLES; i++) {
		must_stay_lost((enum style)i);
		self.timelines[i] = ww_timeline_unref(self.timelines[i]);
	}
}

/*
 * What this process has after a round it also had after the third one: by then all was used once.
 * But where poison was undone a GPU may look at a page a little longer, and so it is kept.
 */
static void must_hold_no_more(void)
{
	static struct census census;
	static int64_t allocations;
	static uint32_t rounds;

	if (++rounds < 3)
		return;
	if (rounds == 3) {
		census_take(&census);
		allocations = calls_live_allocations();
	}
	census_must_match(&census);
	MUST_EQUAL(allocations, calls_live_allocations());
}

static void play(const char *word)
{
	int works;
	int is_member;
	int is_exact;
	int is_counted;

	MUST_EQUAL(6,
		sscanf(word, "round %" SCNu64 " %" SCNu32 " %d %d %d %d", &self.round, &self.pid,
			&works, &is_member, &is_exact, &is_counted));
	self.works = works;
	self.is_member = is_member;
	self.is_exact = is_exact && (!subject_is_cuda() || fake_get());
	meet();
	start_jobs();
	role_tell("waiting");
	finish_jobs();
	report();
	part();
	if (is_counted && self.is_exact)
		must_hold_no_more();
	role_tell("released");
}

/* role_waiter INDEX SEED: waits, round by round, until the case says that it is over */
ROLE(role_waiter)
{
	char word[CHILD_WORD_BYTES];

	MUST(count == 2);
	self.board = board_map(false);
	self.index = (uint32_t)atoi(arguments[0]);
	self.random = strtoull(arguments[1], NULL, 10) + self.index;
	MUST_CALL(sem_init(&self.begun, 0, 0));
	self.device = subject_open();
	MUST_OK(ww_device_open("host", &self.host));
	MUST_OK(broker_open_patient(NULL, &self.broker));
	MUST_OK(ww_timeline_create(NULL, &self.own));
	role_tell("here");
	while (role_hear_any(word) && strcmp(word, "over"))
		play(word);
	ww_timeline_unref(self.own);
	ww_broker_unref(self.broker);
	ww_device_unref(self.host);
	ww_device_unref(self.device);
}
