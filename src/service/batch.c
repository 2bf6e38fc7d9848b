/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - calls of one function that are run together, see batch.h
 */
#include "service/batch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "service/late.h"

#define DEFAULT_CALLS 64
#define WAIT_NS_MOST  UINT64_C(60000000000)

ww_status ww_batch_create(const struct ww_function_params *params, struct ww_batch **out_batch)
{
	struct ww_batch *batch;

	if (params->batch_calls_max > WW_SERVICE_BATCH_MAX)
		return ww_fail(WW_ERR_INVALID,
			"ww_function_params.batch_calls_max is %" PRIu32 "; it can be at most %d",
			params->batch_calls_max, WW_SERVICE_BATCH_MAX);
	if (params->batch_wait_ns > WAIT_NS_MOST)
		return ww_fail(WW_ERR_INVALID,
			"calls cannot wait %" PRIu64 " ns for others "
			"(ww_function_params.batch_wait_ns): 60 s are the most",
			params->batch_wait_ns);
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a function: out of memory");
	ww_list_init(&batch->link);
	ww_list_init(&batch->calls);
	batch->calls_max = params->batch_calls_max ? params->batch_calls_max : DEFAULT_CALLS;
	batch->wait_ns = params->batch_wait_ns;
	*out_batch = batch;
	return WW_OK;
}

void ww_batch_free(struct ww_batch *batch)
{
	struct ww_list *link;

	while (batch && (link = ww_list_take_first(&batch->calls)))
		ww_call_free(ww_container(link, struct ww_call, link));
	free(batch);
}

static void look_by(struct ww_service *service, uint64_t look_ns)
{
	if (look_ns < service->batch_look_ns)
		service->batch_look_ns = look_ns;
}

bool ww_batch_add(struct ww_service *service, struct ww_call *call)
{
	struct ww_batch *batch = call->offer->batch;
	uint64_t now_ns = ww_clock_now_ns();

	if (batch->count++ == 0) {
		batch->due_ns = now_ns + batch->wait_ns;
		ww_list_append(&service->batches, &batch->link);
	}
	ww_call_reset(call);
	ww_list_append(&batch->calls, &call->link);
	look_by(service, batch->count == batch->calls_max ? now_ns : batch->due_ns);
	look_by(service, call->request.deadline_ns);
	look_by(service, now_ns + WW_PEER_LOOK_NS);
	return batch->count == batch->calls_max;
}

/* A call that is not wanted any more ends. Return: whether it does. */
static bool drop(struct ww_batch *batch, struct ww_call *call)
{
	uint64_t failed_call;

	if (!call->view->is_refused && !ww_call_is_cancelled(call))
		return false;
	ww_list_remove(&call->link);
	batch->count--;
	call->status = ww_late_judge(call->view, call->slot, call->message, &failed_call);
	if (call->status == WW_OK) /* its client has ended */
		call->status = WW_CANCELLED;
	if (call->status == WW_TIMED_OUT)
		ww_late_describe(call->service, &call->view->calls[call->slot],
			"while it waited for calls to run with; wait longer than batch_wait_ns",
			call->message);
	ww_call_end(call, false);
	return true;
}

static void drop_unwanted(struct ww_service *service, struct ww_batch *batch)
{
	struct ww_list *next;

	for (struct ww_list *link = batch->calls.next; link != &batch->calls; link = next) {
		struct ww_call *call = ww_container(link, struct ww_call, link);

		next = link->next;
		if (!drop(batch, call))
			look_by(service, call->request.deadline_ns);
	}
	look_by(service, batch->due_ns);
	if (batch->count == 0)
		ww_list_remove(&batch->link);
}

bool ww_batch_take(struct ww_service *service, struct ww_run *out_run)
{
	struct ww_list *next;
	uint64_t now_ns;

	if (ww_list_is_empty(&service->batches))
		return false;
	now_ns = ww_clock_now_ns();
	if (now_ns < ww_batch_look_ns(service))
		return false;
	service->batch_look_ns = now_ns + WW_PEER_LOOK_NS;
	for (struct ww_list *link = service->batches.next; link != &service->batches; link = next) {
		struct ww_batch *batch = ww_container(link, struct ww_batch, link);
		struct ww_layout_service_function *shared;
		struct ww_list *taken;

		next = link->next;
		drop_unwanted(service, batch);
		if (batch->count == 0 ||
			(batch->count != batch->calls_max && now_ns < batch->due_ns &&
				!service->is_refusing))
			continue;
		out_run->count = 0;
		while ((taken = ww_list_take_first(&batch->calls)))
			out_run->calls[out_run->count++] = ww_container(taken, struct ww_call,
				link);
		batch->count = 0;
		ww_list_remove(&batch->link);
		shared = out_run->calls[0]->offer->shared;
		__atomic_store_n(&shared->batches, shared->batches + 1, __ATOMIC_RELAXED);
		service->batch_look_ns = now_ns; /* the others were not looked at */
		return true;
	}
	return false;
}

uint64_t ww_batch_look_ns(const struct ww_service *service)
{
	if (ww_list_is_empty(&service->batches))
		return WW_NEVER;
	return service->is_refusing ? 0 : service->batch_look_ns;
}
