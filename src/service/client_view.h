/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_view.h - the clients of a service, as its server sees them
 *
 * A client has put an object inside the service's. The broker counts these in the server's signal
 * page, so a newcomer is noticed by one load (group/group.h). A client stays known until its
 * process has ended, or it has left, and none of its calls runs.
 *
 * Of its end its signal page, its requests and its pidfd tell. All three come from an untrusted
 * process: it can show the page and the pidfd of a process that lives on. So when newcomers are
 * looked for, a client that does not hold its object any more, as the broker lists it, has ended,
 * whatever it shows. Of a client that was refused nothing is kept open: it is forgotten by such a
 * listing only.
 *
 * Calls are taken from the requests as soon as they are seen, into the lane that they name; a call
 * is started when it is the first of its lane and the lane is free.
 */
#ifndef WW_SERVICE_CLIENT_VIEW_H
#define WW_SERVICE_CLIENT_VIEW_H

#include <warpway/client.h>

#include "service/recent.h"
#include "service/service.h"

#define WW_SERVICE_NO_SLOT UINT32_MAX

/* A call that was taken: a copy of what the client says, which is checked where it is used. */
struct ww_taken_call {
	struct ww_layout_service_request request;
	bool is_used;      /* from the time it is taken until it is done */
	bool is_late;      /* it came after drain */
	bool is_signalled; /* a stream raises the lane's timeline for it */
	uint64_t failed;   /* of those that it depends on, the first call that failed; 0: none */
	uint64_t before;   /* number of the call before it in its lane; 0: none */
	uint64_t value;    /* of its lane's timeline: which call of the lane it is, or a late one */
	uint32_t next;     /* slot of the lane's next call; WW_SERVICE_NO_SLOT */
	uint32_t before_slot; /* the slot that the call before had */
	uint64_t taken_ns;    /* when it was taken, if it has a deadline */
};

/* What became of a call: whether it failed, for those that depend on it. */
struct ww_call_outcome {
	uint64_t call;
	uint64_t failed; /* the first call that failed; 0: it did not */
};

struct ww_service_lane {
	uint32_t first; /* slot; WW_SERVICE_NO_SLOT: none is queued */
	uint32_t last;
	uint32_t last_slot; /* that the last call had */
	uint32_t running;   /* slot of the call that runs, while one does */
	bool is_running;    /* a function of it runs, or is about to */
	bool only_enqueues; /* so do the functions of all calls that are working */
	uint32_t working;   /* calls whose functions have returned, and whose work goes on */
	struct ww_service_stream *stream; /* that these use */
	uint64_t calls;                   /* that were taken */
	uint64_t last_call;               /* number of the last one of them (depends.h) */
	struct ww_call_outcome outcome;   /* of the last one that has ended (depends.h) */
	ww_timeline *timeline;            /* a reference; NULL: the client has not asked for it */
	struct ww_service_after *after;   /* of the first call, as it waits (after.h); or NULL */
	bool has_stream;                  /* one waits for it, too (after_stream.h) */
};

/* A memory that is kept for a client until it has taken it. */
struct ww_kept_result {
	struct ww_list link;
	ww_memory *memory; /* a reference */
	uint64_t bytes;
	uint64_t call;
	uint32_t slot;
};

/* A power of two; a call can depend on so many calls before it. */
#define WW_SERVICE_OUTCOMES WW_SERVICE_DEPENDS_MAX

struct ww_client_view {
	struct ww_group_member member; /* without page and process when nothing of it is used */
	struct ww_list active;         /* in the service's list of that name, or in none */
	uint32_t number;               /* UINT32_MAX: it was refused */
	/* Not mapped any more when it is refused, and none of its calls runs. */
	struct ww_service_requests requests;
	struct ww_service_replies replies;

	uint64_t taken;           /* number of the last call that was taken; of the leader */
	uint64_t taken_seen;      /* the same, when it was last looked whether it is idle */
	uint64_t late_look_ns;    /* when to look at the deadlines of its calls; of the leader */
	_Atomic(bool) is_refused; /* nothing of it is taken any more */
	_Atomic(bool) is_gone;    /* it has left, or its process has ended */

	/* Under the service's lock. */
	uint32_t running;   /* calls that were started, or are about to be, and have not ended */
	uint32_t next_lane; /* whose turn it is */
	/* A bit for each lane whose first call might be started; also read without the lock. */
	_Atomic(uint64_t) ready;
	uint64_t waiting; /* the same, of those that wait for another call to end */
	/* The same, of those that wait for a timeline; of the leader. */
	uint64_t waiting_after;
	struct ww_service_after *afters[WW_SERVICE_LANES_MAX]; /* owned; NULL: a free place */
	uint64_t afters_used;                                  /* how often a lane has had one */
	uint64_t kept_bytes;
	struct ww_list kept;     /* struct ww_kept_result */
	struct ww_recent recent; /* if the service keeps memories */
	struct ww_service_lane lanes[WW_SERVICE_LANES_MAX];
	struct ww_call_outcome outcomes[WW_SERVICE_OUTCOMES];
	struct ww_taken_call calls[]; /* calls_max, by slot */
};

/* A call that another one depends on; 0: none. @index: below WW_SUBMIT_DEPENDS_MAX */
static inline uint64_t ww_service_dependency(const struct ww_layout_service_request *request,
	uint32_t index)
{
	return index == 0 ? request->depends_on : request->depends_more[index - 1];
}

/* The arguments of a call that starts after a timeline end with its token: bytes before that. */
static inline uint32_t ww_service_record_bytes(const struct ww_layout_service_request *request)
{
	return request->arguments_bytes - (request->after ? WW_TOKEN_BYTES : 0);
}

static inline bool ww_service_is_inside(uint32_t at, uint32_t bytes, uint32_t area_bytes)
{
	return at % 8 == 0 && bytes <= area_bytes && at <= area_bytes - bytes;
}

static inline bool ww_service_arguments_are_inside(const struct ww_layout_service_request *request,
	uint32_t area_bytes)
{
	return ww_service_is_inside(request->arguments_at, request->arguments_bytes, area_bytes) &&
		(!request->after || request->arguments_bytes >= WW_TOKEN_BYTES);
}

static inline struct ww_client_view *ww_client_view_of(struct ww_list *link)
{
	return ww_container(link, struct ww_client_view, member.link);
}

/*
 * Notes clients that have joined. Without newcomers it is one load. If the broker or this process
 * cannot, they wait for a second, and a log line says so. After objects that are not clients they
 * may wait, too, but not for long.
 * Return: WW_OK; WW_CANCELLED.
 */
ww_status ww_client_views_meet(struct ww_service *service);
bool ww_client_views_have_come(const struct ww_service *service);

/* When to look at those that have come and wait; WW_NEVER: none has. */
uint64_t ww_client_views_look_ns(const struct ww_service *service);

/* Forgets those that have ended or left, and releases what was kept for others and is taken. */
void ww_client_views_forget(struct ww_service *service);
void ww_client_views_fini(struct ww_service *service);

/* Takes the calls that have come into their lanes. Takes and gives back the service's lock. */
void ww_client_view_absorb(struct ww_service *service, struct ww_client_view *view);

/* A call that was taken out of its lane, and not started, is the lane's first again. Locked. */
void ww_client_view_requeue(struct ww_client_view *view, uint32_t lane, uint32_t slot);

/* Ends a call that was taken: the reply but for its results' bytes is written here. Locked. */
void ww_client_view_end(struct ww_service *service, struct ww_client_view *view, uint32_t slot,
	ww_status status, const char *message, uint64_t failed_call);

#endif
