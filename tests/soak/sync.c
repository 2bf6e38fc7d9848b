/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.c - timelines, events and barriers
 *
 * A wait without a short limit on time ends only with its signaller. So that no two actors wait for
 * each other so, on the CPU or by a stream, an actor waits only for those of higher numbers.
 */
#include "soak/soak.h"

#define SLOTS    4
#define BARRIERS 3

struct foreign {
	ww_timeline *timeline;
	uint32_t owner;
	uint64_t completed; /* that was seen */
};

static struct {
	ww_timeline *timeline;
	uint64_t value;
} own[SLOTS];
static struct foreign got[SLOTS];
static ww_event *events[SLOTS];
static struct {
	ww_event *event;
	uint32_t owner;
} foreign_events[SLOTS];
static struct {
	ww_barrier *barrier;
	uint64_t rounds;
} barrier;

static void leave_barrier(void)
{
	barrier.barrier = ww_barrier_unref(barrier.barrier);
	barrier.rounds = 0;
}

static void let_go(void)
{
	for (size_t i = 0; i < SLOTS; i++) {
		own[i].timeline = ww_timeline_unref(own[i].timeline);
		got[i].timeline = ww_timeline_unref(got[i].timeline);
		events[i] = ww_event_unref(events[i]);
		foreign_events[i].event = ww_event_unref(foreign_events[i].event);
	}
	leave_barrier();
}

__attribute__((constructor)) static void register_let_go(void)
{
	soak_at_end(let_go);
}

/* --- timelines --- */

OP(timeline_make, 6)
{
	uint32_t at = draw_below(SLOTS);
	const struct ww_timeline_params params = {
		.struct_size = sizeof(params),
		.flags = draw_one_in(4) ? WW_TIMELINE_ALONE : 0,
		.value = draw_below(3),
	};

	ww_timeline_unref(own[at].timeline);
	own[at].value = params.value;
	DO(0, ww_timeline_create(&params, &own[at].timeline));
}

OP(timeline_export, 8)
{
	const struct ww_token_params params = draw_token_params();
	ww_timeline *timeline = own[draw_below(SLOTS)].timeline;
	struct ww_token token;

	if (timeline &&
		DO(ALLOW(WW_ERR_QUOTA),
			ww_timeline_export(timeline, soak.broker, &params, NULL, &token)) == WW_OK)
		soak_offer(TOKEN_TIMELINE, &token, 0);
}

OP(timeline_put, 3)
{
	const struct ww_name_params *params = WW_PARAMS(struct ww_name_params, .mode = 0644,
		.flags = draw_one_in(2) ? WW_PUT_REPLACE : 0);
	ww_timeline *timeline = own[draw_below(SLOTS)].timeline;
	char name[NAME_BYTES];

	draw_name_to_make(name, "t", 4);
	if (timeline)
		DO(MAKE_STATUSES, ww_timeline_put(timeline, soak.broker, name, params, NULL));
}

OP(timeline_signal, 14)
{
	uint32_t at = draw_below(SLOTS);
	uint64_t value = own[at].value + 1 + draw_below(3);

	if (own[at].timeline &&
		DO(ALLOW(WW_ERR_STATE), ww_timeline_signal(own[at].timeline, value)) == WW_OK)
		own[at].value = value;
}

OP(timeline_stream_signal, 8)
{
	uint32_t at = draw_below(SLOTS);
	uint64_t value = own[at].value + 1 + draw_below(3);

	if (own[at].timeline &&
		DO(ALLOW(WW_ERR_PEER_LOST),
			ww_timeline_stream_signal(own[at].timeline, soak_stream(), value)) == WW_OK)
		own[at].value = value;
}

static void take(ww_timeline *timeline, uint32_t owner)
{
	struct foreign *foreign = &got[draw_below(SLOTS)];

	ww_timeline_unref(foreign->timeline);
	*foreign = (struct foreign){timeline, owner, 0};
}

#define IMPORT_STATUSES (ALLOW(WW_ERR_NOT_FOUND) | ALLOW(WW_ERR_ACCESS) | ALLOW(WW_ERR_QUOTA))

OP(timeline_import, 10)
{
	struct soak_offer offer;
	ww_timeline *timeline;

	if (soak_take(TOKEN_TIMELINE, &offer) &&
		DO(IMPORT_STATUSES,
			ww_timeline_import(soak.broker, &offer.token, NULL, &timeline)) == WW_OK)
		take(timeline, offer.owner);
}

/* Whose it is the name does not tell: it is waited for with short limits only. */
OP(timeline_get, 4)
{
	uint64_t evil = ALLOW(WW_ERR_PROTOCOL) | ALLOW(WW_ERR_MISMATCH) | ALLOW(WW_ERR_VERSION);
	char name[NAME_BYTES];
	ww_timeline *timeline;

	draw_name_to_get(name, "t", 4);
	if (DO(ALLOW(WW_TIMED_OUT) | IMPORT_STATUSES | (name_is_evil(name) ? evil : 0),
		    ww_timeline_get(soak.broker, name, draw_wait_ns(5), NULL, &timeline)) == WW_OK)
		take(timeline, 0);
}

/* What is reached stays reached. A forger's page may say anything. */
OP(timeline_wait, 14)
{
	struct foreign *foreign = &got[draw_below(SLOTS)];
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);
	uint64_t value;
	ww_status status;

	if (!foreign->timeline)
		return;
	DO(0, ww_timeline_info_get(foreign->timeline, &info));
	if (foreign->owner > 0 && info.state != WW_TIMELINE_LOST)
		HOLDS(info.completed >= foreign->completed);
	foreign->completed = info.completed;
	value = info.completed % WW_TIMELINE_MAX + draw_below(3);
	status = DO(ALLOW(WW_TIMED_OUT) | ALLOW(WW_ERR_PEER_LOST),
		ww_timeline_wait(foreign->timeline, value, draw_wait_ns(5), NULL));
	if (foreign->owner > 0 && value <= info.completed)
		MUST_STATUS(WW_OK, status);
	if (foreign->owner > 0 && status == WW_OK)
		DO(0, ww_timeline_query(foreign->timeline, value));
}

/* Only the end of the signaller, or of its timeline, ends this wait; and it does. */
OP(timeline_wait_lost, 1)
{
	struct foreign *foreign = &got[draw_below(SLOTS)];
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);

	if (!foreign->timeline || foreign->owner <= soak.number)
		return;
	DO(0, ww_timeline_info_get(foreign->timeline, &info));
	if (DO(ALLOW(WW_ERR_PEER_LOST) | ALLOW(WW_TIMED_OUT),
		    ww_timeline_wait(foreign->timeline, WW_TIMELINE_MAX,
			    (uint64_t)child_limit_ms() * MS, NULL)) != WW_ERR_PEER_LOST)
		FAIL("a wait for a value that is never signalled did not end with its signaller");
}

OP(timeline_stream_wait, 6)
{
	struct foreign *foreign = &got[draw_below(SLOTS)];
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);
	uint64_t flags = draw_one_in(4) ? WW_WAIT_UNSUBMITTED : 0;

	if (!foreign->timeline || foreign->owner <= soak.number)
		return;
	DO(0, ww_timeline_info_get(foreign->timeline, &info));
	DO(ALLOW(WW_TIMED_OUT) | ALLOW(WW_ERR_PEER_LOST),
		ww_timeline_stream_wait(foreign->timeline, soak_stream(),
			info.completed + draw_below(3), flags, draw_wait_ns(3), NULL));
}

OP(timeline_release, 4)
{
	uint32_t at = draw_below(SLOTS);

	if (draw_one_in(2))
		own[at].timeline = ww_timeline_unref(own[at].timeline);
	else
		got[at].timeline = ww_timeline_unref(got[at].timeline);
}

OP(stream_synchronize, 4)
{
	DO(ALLOW(WW_TIMED_OUT) | ALLOW(WW_ERR_PEER_LOST),
		ww_stream_synchronize(soak_stream(), draw_wait_ns(5), NULL));
}

/* --- events --- */

OP(event_make, 3)
{
	uint32_t at = draw_below(SLOTS);

	events[at] = ww_event_unref(events[at]);
	DO(0, ww_event_create(soak.device, NULL, &events[at]));
}

OP(event_record, 4)
{
	ww_event *event = events[draw_below(SLOTS)];

	if (event)
		DO(ALLOW(WW_ERR_PEER_LOST), ww_event_record(event, soak_stream()));
}

OP(event_export, 3)
{
	const struct ww_token_params params = draw_token_params();
	ww_event *event = events[draw_below(SLOTS)];
	struct ww_token token;

	if (event &&
		DO(ALLOW(WW_ERR_QUOTA),
			ww_event_export(event, soak.broker, &params, NULL, &token)) == WW_OK)
		soak_offer(TOKEN_EVENT, &token, 0);
}

OP(event_import, 3)
{
	uint32_t at = draw_below(SLOTS);
	struct soak_offer offer;
	ww_event *event;

	/* A GPU's events have a file, which ends with their process, and before the token. */
	if (!soak_take(TOKEN_EVENT, &offer) ||
		DO(IMPORT_STATUSES | (subject_is_cuda() ? ALLOW(WW_ERR_SYSTEM) : 0),
			ww_event_import(soak.device, soak.broker, &offer.token, NULL, &event)) !=
			WW_OK)
		return;
	ww_event_unref(foreign_events[at].event);
	foreign_events[at].event = event;
	foreign_events[at].owner = offer.owner;
}

/* No stream waits for the event of another process on a GPU: nothing would end that wait. */
OP(event_wait, 5)
{
	uint32_t at = draw_below(SLOTS);
	ww_event *event = foreign_events[at].event;

	if (!event)
		return;
	if (draw_one_in(3) && !subject_is_cuda() && foreign_events[at].owner > soak.number)
		DO(ALLOW(WW_ERR_PEER_LOST), ww_event_stream_wait(event, soak_stream()));
	else
		DO(ALLOW(WW_TIMED_OUT) | ALLOW(WW_ERR_PEER_LOST),
			ww_event_synchronize(event, draw_wait_ns(5), NULL));
}

/* --- barriers --- */

OP(barrier_make, 3)
{
	const struct ww_barrier_params *params = WW_PARAMS(struct ww_barrier_params,
		.count = 1 + draw_below(3), .mode = 0644,
		.flags = draw_one_in(6) ? WW_PUT_REPLACE : 0,
		.escrow_ns = (1 + draw_below(300)) * MS);
	char name[NAME_BYTES];

	draw_name_to_make(name, "b", BARRIERS);
	DO(MAKE_STATUSES, ww_barrier_create(soak.broker, name, params, NULL, NULL));
}

OP(barrier_join, 4)
{
	char name[NAME_BYTES];

	draw_name_to_get(name, "b", BARRIERS);
	leave_barrier();
	DO(ALLOW(WW_TIMED_OUT) | ALLOW(WW_ERR_EXISTS) | ALLOW(WW_ERR_PEER_LOST) | IMPORT_STATUSES |
			(name_is_evil(name) ? ALLOW_ALL : 0),
		ww_barrier_get(soak.broker, name, WW_BARRIER_ANY_RANK, draw_wait_ns(30), NULL,
			&barrier.barrier));
}

OP(barrier_wait, 10)
{
	struct ww_barrier_info info = WW_INIT(struct ww_barrier_info);

	if (!barrier.barrier)
		return;
	if (DO(ALLOW(WW_TIMED_OUT) | ALLOW(WW_ERR_PEER_LOST),
		    ww_barrier_wait(barrier.barrier, draw_wait_ns(5), NULL)) == WW_OK)
		barrier.rounds++;
	DO(0, ww_barrier_info_get(barrier.barrier, &info));
	MUST_EQUAL(barrier.rounds, info.round);
	if (info.is_broken)
		leave_barrier();
}
