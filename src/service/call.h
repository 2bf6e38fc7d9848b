/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h - a call that runs, as a function sees it
 *
 * It is used from the time the call is started until its work on streams is complete, or while the
 * timeline that the call starts after is looked up; then it goes back to the service's free calls,
 * with the room it has for arguments and results.
 */
#ifndef WW_SERVICE_CALL_H
#define WW_SERVICE_CALL_H

#include "service/client_view.h"

struct ww_call_memory {
	ww_memory *memory; /* a reference; NULL: not imported yet */
	ww_timeline *timeline;
	bool is_kept; /* the memory, after the call (recent.h) */
};

struct ww_call {
	struct ww_list link; /* in free_calls, in working, or in a batch (batch.h) */
	struct ww_service *service;
	struct ww_client_view *view;
	struct ww_service_lane *lane;
	const struct ww_offer *offer;
	struct ww_layout_service_request request; /* as it was taken */
	uint32_t slot;
	struct ww_call *first; /* of those that run together: it has the stream */
	bool is_lookup;        /* only of the timeline that the call starts after (after.h) */
	uint64_t start_ns;
	ww_status status;
	char message[WW_ERROR_MESSAGE_BYTES];
	struct ww_service_stream *stream; /* that it has asked for; NULL: none */
	uint64_t work;                    /* value of that stream's timeline */

	uint8_t *record; /* owned; the arguments, copied */
	uint32_t record_room;
	uint32_t held; /* of imports: as many as this may be set */
	struct ww_call_args arguments;
	struct ww_signature_binding binding;
	struct ww_call_memory imports[WW_CALL_ARGS_MAX];
	struct ww_call_args results;
	uint32_t results_set;  /* a bit for each */
	uint8_t *result_bytes; /* owned; copies of bytes, WW_CALL_BYTES_MAX for each; or NULL */
	struct ww_token *result_tokens; /* owned, one for each; or NULL */
	uint32_t result_record_bytes;
};

_Static_assert(WW_CALL_ARGS_MAX <= 32, "results_set has a bit for each");

/* Locked. Return: NULL: out of memory. */
struct ww_call *ww_call_new(struct ww_service *service);
void ww_call_free(struct ww_call *call);

/* Nothing of it has run. */
void ww_call_reset(struct ww_call *call);

/*
 * Copies and checks the arguments. Not locked.
 * Return: WW_OK; the status that the call ends with, recorded.
 */
ww_status ww_call_read(struct ww_call *call);

/* Writes the results into the replies. Return: WW_OK; the status that the call ends with. */
ww_status ww_call_write(struct ww_call *call);

/* The function WW_SERVICE_LANE_FUNCTION. */
ww_status ww_call_give_timeline(void *context, struct ww_call *call);

/* Releases what its arguments hold, but for what the service keeps (recent.h). Not locked. */
void ww_call_release(struct ww_call *call);

#endif
