/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_scenario.c - see sync_scenario.h
 */
#include "torture/sync_scenario.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "support/subject.h"
#include "torture/torture_step.h"

#define NAME "torture/timeline"

struct ww_token scenario_event;
void (*scenario_replace_partner)(void);

struct scenario {
	struct first_failure failure;
	struct ww_device_info info;
	ww_device *device;
	ww_broker *broker;
	ww_stream *stream;
	ww_stream *other;
	ww_timeline *own;
	ww_timeline *alone;
	ww_timeline *imported;
	ww_timeline *partners;
	ww_timeline *again; /* what came a second time */
	ww_event *event;
	ww_event *imported_event;
	ww_event *partners_event;
	ww_barrier *barrier;
	const char *barrier_name;
	struct ww_token token;
	int fd;
};

static uint64_t submitted(ww_timeline *timeline)
{
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);

	if (!timeline)
		return 0;
	MUST_OK(ww_timeline_info_get(timeline, &info));
	MUST_EQUAL(WW_TIMELINE_LIVE, info.state);
	return info.submitted;
}

#define DO(call)                                                                 \
	do {                                                                     \
		uint64_t before_ = submitted(scenario->own);                     \
		ww_status status_ = (call);                                      \
                                                                                 \
		if (step_has_failed(&scenario->failure, #call, status_)) {       \
			MUST_EQUAL(before_, submitted(scenario->own));           \
			status_ = (call);                                        \
		}                                                                \
		if (status_ != WW_OK)                                            \
			check_status(__FILE__, __LINE__, #call, WW_OK, status_); \
	} while (0)

static void open_all(struct scenario *scenario)
{
	DO(ww_device_open(subject_name(), &scenario->device));
	scenario->info.struct_size = sizeof(scenario->info);
	DO(ww_device_info_get(scenario->device, &scenario->info));
	DO(ww_stream_create(scenario->device, &scenario->stream));
	DO(ww_stream_create(scenario->device, &scenario->other));
}

static ww_status create(uint64_t flags, ww_timeline **out)
{
	ww_status status = ww_timeline_create(WW_PARAMS(struct ww_timeline_params, .flags = flags,
						      .value = 1),
		out);

	return step_gives(status, *out);
}

static ww_status make_eventfd(struct scenario *scenario, ww_timeline *timeline, uint64_t value)
{
	ww_status status = ww_timeline_eventfd(timeline, scenario->stream, value, &scenario->fd);

	MUST_EQUAL(status == WW_OK, scenario->fd >= 0);
	return status;
}

/* It became readable, once. */
static void use_eventfd(struct scenario *scenario, ww_timeline *timeline, uint64_t value)
{
	eventfd_t count;

	DO(make_eventfd(scenario, timeline, value));
	DO(ww_stream_synchronize(scenario->stream, WW_FOREVER, NULL));
	MUST_CALL(eventfd_read(scenario->fd, &count));
	MUST_EQUAL(1, count);
	close(scenario->fd);
	scenario->fd = -1;
}

/*
 * Two streams and the CPU take turns at signalling; the second stream waits for the first by
 * itself.
 */
static void use_own(struct scenario *scenario)
{
	DO(create(0, &scenario->own));
	DO(create(WW_TIMELINE_ALONE, &scenario->alone));
	DO(ww_timeline_prepare(scenario->own, scenario->device));
	DO(ww_timeline_stream_wait(scenario->own, scenario->stream, 2, WW_WAIT_UNSUBMITTED, 0,
		NULL));
	DO(ww_timeline_signal(scenario->own, 2));
	DO(ww_timeline_stream_wait(scenario->alone, scenario->stream, 2, WW_WAIT_UNSUBMITTED, 0,
		NULL));
	DO(ww_timeline_stream_signal(scenario->own, scenario->stream, 3));
	DO(ww_timeline_stream_signal(scenario->own, scenario->other, 4));
	DO(ww_timeline_stream_wait(scenario->own, scenario->other, 4, 0, WW_FOREVER, NULL));
	DO(ww_timeline_signal(scenario->alone, 2));
	DO(ww_timeline_wait(scenario->own, 4, WW_FOREVER, NULL));
	DO(ww_timeline_query(scenario->own, 4));
	DO(ww_stream_synchronize(scenario->other, WW_FOREVER, NULL));
	use_eventfd(scenario, scenario->own, 4);
}

static ww_status export(struct scenario *scenario, ww_timeline *timeline)
{
	return ww_timeline_export(timeline, scenario->broker,
		WW_PARAMS(struct ww_token_params, .escrow_ns = WW_ESCROW_NONE), NULL,
		&scenario->token);
}

static ww_status import(struct scenario *scenario, ww_timeline **out)
{
	ww_status status = ww_timeline_import(NULL, &scenario->token, NULL, out);

	return step_gives(status, *out);
}

static ww_status get(struct scenario *scenario, const char *name, ww_timeline **out)
{
	ww_status status = ww_timeline_get(scenario->broker, name, WW_FOREVER, NULL, out);

	return step_gives(status, *out);
}

static void drop_again(struct scenario *scenario)
{
	scenario->again = ww_timeline_unref(scenario->again);
}

/* In its own process a timeline is itself, however it comes. */
static void share_own(struct scenario *scenario)
{
	DO(export(scenario, scenario->alone));
	DO(export(scenario, scenario->own));
	DO(import(scenario, &scenario->imported));
	MUST(scenario->imported == scenario->own);
	DO(ww_timeline_put(scenario->own, scenario->broker, NAME, NULL, NULL));
	DO(get(scenario, NAME, &scenario->again));
	MUST(scenario->again == scenario->own);
	drop_again(scenario);
}

/* That of another process: its page comes here, and to the GPU, for reading only. */
static void use_partners(struct scenario *scenario)
{
	DO(get(scenario, SCENARIO_PARTNER, &scenario->partners));
	DO(ww_timeline_wait(scenario->partners, PARTNER_VALUE, WW_FOREVER, NULL));
	DO(export(scenario, scenario->partners));
	DO(import(scenario, &scenario->again));
	drop_again(scenario);
	if (!(scenario->info.capabilities & WW_CAP_HOST_READ_ONLY))
		return;
	DO(ww_timeline_prepare(scenario->partners, scenario->device));
	DO(ww_timeline_stream_wait(scenario->partners, scenario->stream, PARTNER_VALUE, 0,
		WW_FOREVER, NULL));
	use_eventfd(scenario, scenario->partners, PARTNER_VALUE);
}

static ww_status create_event(struct scenario *scenario)
{
	ww_status status = ww_event_create(scenario->device, NULL, &scenario->event);

	return step_gives(status, scenario->event);
}

static ww_status export_event(struct scenario *scenario)
{
	return ww_event_export(scenario->event, scenario->broker,
		WW_PARAMS(struct ww_token_params, .escrow_ns = WW_ESCROW_NONE), NULL,
		&scenario->token);
}

static ww_status import_event(struct scenario *scenario, const struct ww_token *token,
	ww_event **out)
{
	ww_status status = ww_event_import(scenario->device, scenario->broker, token, NULL, out);

	return step_gives(status, *out);
}

static void use_events(struct scenario *scenario)
{
	struct ww_event_handle handle;

	DO(create_event(scenario));
	DO(ww_event_record(scenario->event, scenario->stream));
	DO(ww_event_stream_wait(scenario->event, scenario->other));
	DO(export_event(scenario));
	DO(import_event(scenario, &scenario->token, &scenario->imported_event));
	DO(import_event(scenario, &scenario_event, &scenario->partners_event));
	DO(ww_event_stream_wait(scenario->partners_event, scenario->stream));
	DO(ww_event_synchronize(scenario->partners_event, WW_FOREVER, NULL));
	DO(ww_event_synchronize(scenario->imported_event, WW_FOREVER, NULL));
	DO(ww_event_query(scenario->event));
	if (subject_is_cuda())
		DO(ww_event_handle_get(scenario->event, &handle));
	DO(ww_stream_synchronize(scenario->other, WW_FOREVER, NULL));
}

static ww_status create_barrier(struct scenario *scenario, const char *name, uint32_t count)
{
	return ww_barrier_create(scenario->broker, name,
		WW_PARAMS(struct ww_barrier_params, .count = count), NULL, &scenario->token);
}

static ww_status join(struct scenario *scenario)
{
	ww_status status = ww_barrier_import(scenario->broker, &scenario->token, 0, WW_FOREVER,
		NULL, &scenario->barrier);

	return step_gives(status, scenario->barrier);
}

/*
 * Its escrow would keep it without its name. It is gone already if the partner had joined, and so
 * was its last member.
 */
static ww_status end_barrier(struct scenario *scenario)
{
	struct ww_token_info info = WW_INIT(struct ww_token_info);
	ww_status status = ww_token_info_get(&scenario->token, &info);

	if (status == WW_OK)
		status = ww_broker_end(scenario->broker, NULL, info.object_id);
	return status == WW_ERR_NOT_FOUND ? WW_OK : status;
}

/*
 * A member that failed to join has left for the partner, which may have been in the barrier with
 * it: the barrier is broken then, for both. So this is done with another partner, at another
 * barrier.
 */
static ww_status join_first(struct scenario *scenario)
{
	ww_status status = join(scenario);

	if (!step_has_failed(&scenario->failure, "ww_barrier_import", status))
		return status;
	scenario_replace_partner();
	DO(end_barrier(scenario));
	DO(create_barrier(scenario, SCENARIO_SECOND_BARRIER, 2));
	scenario->barrier_name = SCENARIO_SECOND_BARRIER;
	return join(scenario);
}

static ww_status show_barrier(struct scenario *scenario)
{
	ww_status status = ww_barrier_eventfd(scenario->barrier, &scenario->fd);

	MUST_EQUAL(status == WW_OK, scenario->fd >= 0);
	return status;
}

static void use_barrier(struct scenario *scenario)
{
	DO(create_barrier(scenario, SCENARIO_BARRIER, 2));
	scenario->barrier_name = SCENARIO_BARRIER;
	DO(join_first(scenario));
	DO(show_barrier(scenario));
	close(scenario->fd);
	scenario->fd = -1;
	DO(ww_barrier_wait(scenario->barrier, WW_FOREVER, NULL));
	DO(end_barrier(scenario));
}

static void let_go(struct scenario *scenario)
{
	ww_barrier_unref(scenario->barrier);
	ww_timeline_unref(scenario->again);
	ww_timeline_unref(scenario->imported);
	ww_timeline_unref(scenario->partners);
	ww_timeline_unref(scenario->alone);
	scenario->own = ww_timeline_unref(scenario->own);
	ww_event_unref(scenario->partners_event);
	ww_event_unref(scenario->imported_event);
	ww_event_unref(scenario->event);
	ww_stream_unref(scenario->other);
	ww_stream_unref(scenario->stream);
	ww_broker_unref(scenario->broker);
	ww_device_unref(scenario->device);
}

static ww_status finish(struct scenario *scenario, const char **out_step)
{
	let_go(scenario);
	return step_report(&scenario->failure, out_step);
}

ww_status sync_scenario_run(const char **out_step)
{
	struct scenario all = {.fd = -1};
	struct scenario *scenario = &all;

	open_all(scenario);
	DO(step_open_broker(&scenario->broker));
	use_own(scenario);
	share_own(scenario);
	use_partners(scenario);
	if (scenario->info.capabilities & WW_CAP_EVENT)
		use_events(scenario);
	use_barrier(scenario);
	return finish(scenario, out_step);
}

ww_status sync_scenario_close(const char **out_step)
{
	struct scenario all = {.fd = -1};
	struct scenario *scenario = &all;

	open_all(scenario);
	DO(create(0, &scenario->own));
	DO(create(0, &scenario->alone));
	DO(ww_timeline_stream_wait(scenario->alone, scenario->stream, 2, WW_WAIT_UNSUBMITTED, 0,
		NULL));
	DO(ww_timeline_stream_signal(scenario->own, scenario->stream, 2));
	scenario->own = ww_timeline_unref(scenario->own);
	DO(ww_timeline_signal(scenario->alone, 2));
	DO(ww_stream_synchronize(scenario->stream, WW_FOREVER, NULL));
	return finish(scenario, out_step);
}
