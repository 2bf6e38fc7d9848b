/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.h - a service as its server has it
 *
 *   ww_service ──> functions, by index
 *              ──> clients (client_view.h) ──> lanes ──> calls that were taken, in order
 *              ──> streams, and the calls whose work is on them
 *
 * Of the threads that serve, one at a time is the leader: only this thread notes clients, removes
 * them, and reads their requests. When it has found a call, another thread leads, and it runs the
 * call. The lock guards what threads change that end calls: lanes, streams, free calls. It is never
 * held while a function runs, while the broker answers or while anything is mapped.
 */
#ifndef WW_SERVICE_SERVICE_H
#define WW_SERVICE_SERVICE_H

#include <pthread.h>

#include <warpway/service.h>

#include "call/signature.h"
#include "client/broker_client.h"
#include "group/group.h"
#include "memory/memory.h"
#include "service/ring.h"
#include "sync/timeline.h"
#include "wire/sync_description.h"

/*
 * A wake can be missed in the instant before the server sleeps (ring.h), so its first sleep is
 * short, and each one after it twice as long, up to WW_PEER_LOOK_NS, as long as no call comes.
 */
#define WW_SERVICE_FIRST_SLEEP_NS UINT64_C(1000000)

#define WW_SERVICE_STREAMS_MAX 64

/* A function that is offered; constant, but for what its entry in the page counts. */
struct ww_offer {
	ww_service_fn fn;             /* NULL: there is the next one */
	ww_service_batch_fn batch_fn; /* or NULL */
	struct ww_batch *batch;       /* owned: calls that wait for batch_fn; or NULL */
	void *context;
	uint32_t flags;
	uint32_t uid_count;
	uint32_t gid_count;
	uint32_t *uids; /* owned, as are the next two */
	uint32_t *gids;
	struct ww_signature *signature;
	struct ww_layout_service_function *shared;
};

/* A stream for functions. A value of its timeline is reached when the work before is complete. */
struct ww_service_stream {
	ww_stream *stream; /* NULL: not made yet */
	ww_timeline *timeline;
	uint64_t value; /* the last one that was signalled */
	uint32_t lanes; /* that use it now */
};

struct ww_service {
	struct ww_ref ref;
	struct ww_wire_service_ref form; /* constant, as are the next ones */
	struct ww_service_params params;
	uint8_t key[WW_WIRE_ID_BYTES];
	char name[WW_NAME_BYTES]; /* empty: none */
	ww_device *device;        /* a reference */
	struct ww_broker *broker; /* a reference */
	struct ww_service_page page;
	struct ww_service_bell bell;
	struct ww_mapping *key_file; /* a reference */
	/* Own; its page is the server's signal page, its attachments hold the object. */
	ww_timeline *timeline;

	/* Of the leader. */
	struct ww_group clients; /* struct ww_client_view */
	struct ww_list active;   /* those of them that are looked at in each round (active.h) */
	struct ww_list *turn;    /* of the client that was served last, or &active */
	uint32_t client_count;   /* that were not refused */
	uint64_t look_ns;        /* when to look again which clients have ended */
	uint64_t retire_ns;      /* when to look again which clients have become idle */
	uint64_t sleep_ns;       /* how long to sleep next, at most */
	uint64_t changes_seen;
	uint64_t after_since_ns;  /* when a lane last began to wait for a timeline (after.h) */
	uint64_t after_look_ns;   /* when to look at timelines; WW_NEVER: no lane waits for one */
	uint64_t after_pause_ns;  /* not to look at them before */
	uint64_t depends_look_ns; /* when to look at lanes that wait for calls (depends.h) */
	uint64_t late_look_ns;    /* when to look at the deadlines of queued calls (late.h) */
	uint64_t late_pause_ns;   /* not to look at them before */
	struct ww_list batches;   /* struct ww_batch with calls that wait (batch.h) */
	uint64_t batch_look_ns;   /* when to look at these */
	struct ww_client_view **numbers; /* clients by their number; NULL: it is free */
	uint64_t device_look_ns;         /* when to ask the driver whether a kernel has faulted */
	bool is_refusing;                /* calls that come now come after drain */

	/* Counts what may let another call start: a call has ended, or a function has returned. */
	_Atomic uint64_t changes;

	_Atomic(uint32_t) serving; /* threads; changed under the lock */

	_Atomic(bool) is_suspect; /* a call has failed with WW_ERR_DEVICE: the driver is asked */
	_Atomic(bool) is_faulty;  /* set once, after the next one (device_fault.h) */
	char fault[WW_ERROR_MESSAGE_BYTES]; /* what the driver says */

	pthread_mutex_t lock;               /* of all that follows */
	struct ww_service_eventfd *eventfd; /* owned; NULL: no call asked for a descriptor */
	pthread_cond_t led;                 /* there is no leader */
	bool has_leader;
	uint32_t waiting; /* threads that would lead */
	uint32_t running; /* calls that were started, or are about to be, and have not ended */
	struct ww_offer *offers;
	struct ww_offer lane_offer;                      /* WW_SERVICE_LANE_FUNCTION; constant */
	struct ww_layout_service_function lane_function; /* what is counted of it */
	struct ww_list free_calls;                       /* struct ww_call */
	struct ww_list allocations;                      /* struct ww_allocation, oldest first */
	uint64_t allocations_made;                       /* ever */
	struct ww_list working; /* calls whose functions have returned, and whose work goes on */
	_Atomic(uint32_t) working_count; /* of them; also read without the lock */
	struct ww_service_stream streams[WW_SERVICE_STREAMS_MAX];
	struct ww_after_streams *after_streams; /* owned; NULL: none (after_stream.h) */
};

static inline struct ww_service_size ww_service_size_of(const struct ww_wire_service_ref *form)
{
	return (struct ww_service_size){
		.functions_max = form->functions_max,
		.calls_max = form->calls_max,
		.arguments_bytes = form->arguments_bytes,
		.results_bytes = form->results_bytes,
	};
}

/*
 * The function that every service has, beside those that it offers: it takes nothing, and returns
 * the token of the timeline of the lane in which it is called.
 */
#define WW_SERVICE_LANE_FUNCTION UINT32_MAX

/* Return: NULL: there is no such function. */
static inline const struct ww_offer *ww_service_offer_of(const struct ww_service *service,
	uint32_t function)
{
	if (function == WW_SERVICE_LANE_FUNCTION)
		return &service->lane_offer;
	return function < ww_service_page_count(&service->page) ? &service->offers[function] : NULL;
}

/*
 * ww_service_offer() for a name that was checked, also one of the library's. @what: fn or batch_fn,
 * and context
 * Return: as ww_service_offer().
 */
ww_status ww_service_add_function(struct ww_service *service, const char *name,
	const char *signature, const struct ww_offer *what,
	const struct ww_function_params *params);

/* So that the thread that leads looks again. From any thread. */
static inline void ww_service_note_change(struct ww_service *service)
{
	atomic_fetch_add(&service->changes, 1);
	if (__atomic_load_n(&service->page.header->is_asleep, __ATOMIC_SEQ_CST))
		ww_await_wake(&service->bell.header->wakes);
}

/* Of a service that is not whole yet, too. */
void ww_offers_fini(struct ww_service *service);

/* Ends the calls whose work is complete (serve.c). By the leader, or when no thread serves. */
void ww_service_end_done(struct ww_service *service);

/*
 * Whether ww_service_serve() would find something to do (serve.c), or why not. By the leader, or by
 * the thread of eventfd.h when no thread serves, as are the next ones.
 */
enum ww_await_look ww_service_look(struct ww_service *service);

/* Forgets clients that have ended, if the last time was WW_PEER_LOOK_NS ago. */
void ww_client_views_forget_now_and_then(struct ww_service *service, uint64_t now_ns);

/* When to look again, if nothing comes. */
uint64_t ww_service_sleep_until_ns(const struct ww_service *service, uint64_t now_ns);

/* Nothing came while it slept. */
void ww_service_sleep_longer(struct ww_service *service);

/* What the page says of the service, and of a function. @index: of one that there is */
void ww_service_describe(const struct ww_service_page *page, const struct ww_wire_service_ref *form,
	const struct ww_signal_map *server, struct ww_service_info *info);
void ww_service_describe_function(const struct ww_service_page *page, uint32_t index,
	struct ww_function_info *info);

#endif
