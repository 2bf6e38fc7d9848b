/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.c - making a service, and what there is to tell of it
 *
 * The service's object has the server's signal page, twice, as a channel has it: to read, and to
 * write for the broker only. Then the service's page, for all processes that may read the object;
 * for processes that may write it the bell and the key; and for all of them a pidfd
 * (group/peer_process.h).
 */
#include "service/service.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/condition.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "base/random.h"
#include "service/after_stream.h"
#include "service/allocation.h"
#include "service/builtin.h"
#include "service/call.h"
#include "service/eventfd.h"
#include "share/choose_broker.h"
#include "group/peer_process.h"
#include "share/sync_object.h"
#include "wire/name.h"

#define DEFAULT_FUNCTIONS 64
#define DEFAULT_CLIENTS   1024
#define DEFAULT_CALLS     64
#define DEFAULT_AREA      65536
#define DEFAULT_STREAMS   4
#define DEFAULT_MEMORY    (UINT64_C(1) << 30)
#define DEFAULT_ALLOC     (UINT64_C(1) << 30)
#define BUILTIN_ALL       (WW_SERVICE_BUILTIN_DATA | WW_SERVICE_BUILTIN_ALLOC)
#define AREA_MOST         (UINT32_C(1) << 20)
#define TELLS_WHO_CAME    3 /* version of the protocol from which on a broker does */

#define PARAMS_V1_BYTES        offsetof(struct ww_service_params, builtin)
#define INFO_V1_BYTES          sizeof(struct ww_service_info)
#define FUNCTION_INFO_V1_BYTES offsetof(struct ww_function_info, batches)

/* --- params --- */

static ww_status check_most(const char *what, uint32_t count, uint32_t most)
{
	if (count > most)
		return ww_fail(WW_ERR_INVALID,
			"ww_service_params.%s is %" PRIu32 "; it can be at most %" PRIu32, what,
			count, most);
	return WW_OK;
}

static ww_status check_params(const struct ww_service_params *params)
{
	ww_try(check_most("functions_max", params->functions_max, WW_SERVICE_FUNCTIONS_MAX));
	ww_try(check_most("clients_max", params->clients_max, WW_SERVICE_CLIENTS_MAX));
	ww_try(check_most("calls_max", params->calls_max, WW_SERVICE_CALLS_MAX));
	ww_try(check_most("arguments_bytes", params->arguments_bytes, AREA_MOST));
	ww_try(check_most("results_bytes", params->results_bytes, AREA_MOST));
	ww_try(check_most("streams", params->streams, WW_SERVICE_STREAMS_MAX));
	ww_try(check_most("after_streams", params->after_streams, WW_SERVICE_AFTER_STREAMS_MAX));
	if (params->calls_max & (params->calls_max - 1))
		return ww_fail(WW_ERR_INVALID,
			"ww_service_params.calls_max is %" PRIu32 ", which is no power of two",
			params->calls_max);
	if (params->reserved)
		return ww_fail(WW_ERR_INVALID, "ww_service_params.reserved is not 0");
	if (!memchr(params->version, 0, sizeof(params->version)))
		return ww_fail(WW_ERR_INVALID,
			"ww_service_params.version is not ended by a zero within %d bytes",
			WW_SERVICE_TEXT_BYTES);
	if (params->builtin & ~BUILTIN_ALL)
		return ww_fail(WW_ERR_INVALID,
			"ww_service_params.builtin has unknown bits: 0x%" PRIx64, params->builtin);
	return WW_OK;
}

static uint32_t round_area(uint32_t bytes)
{
	return (bytes + WW_SERVICE_AREA_UNIT - 1) / WW_SERVICE_AREA_UNIT * WW_SERVICE_AREA_UNIT;
}

/* --- create --- */

static void service_free(struct ww_service *service)
{
	struct ww_list *taken;

	ww_service_eventfd_fini(service);
	ww_after_streams_fini(service);
	/* The work on the service's streams is waited for. */
	for (uint32_t i = 0; i < WW_SERVICE_STREAMS_MAX; i++) {
		if (service->streams[i].stream)
			(void)ww_stream_synchronize(service->streams[i].stream, WW_FOREVER, NULL);
	}
	ww_service_end_done(service);
	ww_list_for_each (link, &service->working) /* of a stream that failed */
		ww_call_release(ww_container(link, struct ww_call, link));
	if (service->page.mapping)
		ww_service_page_set_state(&service->page, WW_WIRE_SERVICE_STATE_STOPPED);
	ww_client_views_fini(service);
	ww_allocations_fini(service);
	while ((taken = ww_list_take_first(&service->working)))
		ww_call_free(ww_container(taken, struct ww_call, link));
	while ((taken = ww_list_take_first(&service->free_calls)))
		ww_call_free(ww_container(taken, struct ww_call, link));
	for (uint32_t i = 0; i < WW_SERVICE_STREAMS_MAX; i++) {
		ww_stream_unref(service->streams[i].stream);
		ww_timeline_drop(service->streams[i].timeline);
	}
	ww_offers_fini(service);
	ww_timeline_drop(service->timeline);
	ww_mapping_unref(service->key_file);
	ww_service_bell_fini(&service->bell);
	ww_service_page_fini(&service->page);
	ww_device_unref(service->device);
	ww_broker_unref(service->broker);
	free(service->numbers);
	pthread_cond_destroy(&service->led);
	pthread_mutex_destroy(&service->lock);
	free(service);
}

WW_DEFINE_CLEANUP(struct ww_service, service_free)

static ww_status service_new(const struct ww_service_params *params, struct ww_service **out)
{
	struct ww_service *service = calloc(1, sizeof(*service));

	if (!service)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a service: out of memory");
	ww_ref_init(&service->ref);
	ww_group_init(&service->clients);
	ww_list_init(&service->active);
	ww_list_init(&service->free_calls);
	ww_list_init(&service->working);
	ww_list_init(&service->batches);
	ww_list_init(&service->allocations);
	service->turn = &service->active;
	pthread_mutex_init(&service->lock, NULL);
	ww_condition_init(&service->led);
	service->params = *params;
	service->sleep_ns = WW_SERVICE_FIRST_SLEEP_NS;
	service->after_look_ns = WW_NEVER;
	service->depends_look_ns = WW_NEVER;
	service->late_look_ns = WW_NEVER;
	*out = service;
	return WW_OK;
}

static ww_status make_files(struct ww_service *service)
{
	const struct ww_service_size size = ww_service_size_of(&service->form);
	const struct ww_signal_map *page;
	struct ww_offer *offer;

	service->offers = calloc(service->form.functions_max, sizeof(*service->offers));
	service->numbers = calloc(service->form.clients_max, sizeof(struct ww_client_view *));
	if (!service->offers || !service->numbers)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a service: out of memory");
	offer = &service->lane_offer;
	offer->fn = ww_call_give_timeline;
	offer->shared = &service->lane_function;
	offer->signature = malloc(sizeof(*offer->signature));
	if (!offer->signature)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a signature: out of memory");
	ww_try(ww_signature_parse("", offer->signature));
	ww_try(ww_timeline_create_alone(&service->timeline));
	page = service->timeline->page;
	memcpy(service->form.page_id, page->id, sizeof(page->id));
	service->form.page_bytes = page->cpu->bytes;
	ww_try(ww_random_bytes(service->key, sizeof(service->key)));
	ww_try(ww_service_page_create(&service->page, service->form.service_id, &size));
	service->page.header->created_ns = ww_clock_now_ns();
	service->page.header->state = WW_WIRE_SERVICE_STATE_STARTING;
	ww_try(ww_service_bell_create(&service->bell, service->form.service_id));
	return ww_service_key_create(service->form.service_id, service->key, &service->key_file);
}

static ww_status put_service(struct ww_service *service, const char *name,
	const struct ww_name_params *named)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};
	const uint8_t all = WW_PUT_TO_READERS | WW_PUT_TO_WRITERS;

	ww_sync_object_request_init(&request, WW_OBJECT_SERVICE, service->form.service_id, named);
	request.put.state = WW_STATE_SHARED;
	if (name)
		memcpy(request.put.name, name, strlen(name));
	ww_try(ww_sync_object_add_page(&request, service->timeline->page));
	request.put.fd_access[0] = all;
	ww_try(ww_put_request_add_file(&request, service->page.mapping, WW_ACCESS_READ, all));
	ww_try(ww_put_request_add_file(&request, service->bell.mapping, WW_ACCESS_WRITE,
		WW_PUT_TO_WRITERS));
	ww_try(ww_put_request_add_file(&request, service->key_file, WW_ACCESS_READ,
		WW_PUT_TO_WRITERS));
	request.put.bytes = request.host_bytes;
	ww_service_ref_write(&service->form, request.put.description);
	request.put.description_bytes = WW_SERVICE_REF_BYTES;
	return ww_peer_process_put(&request, &service->timeline->attachments, service->broker, all);
}

static ww_status create(ww_device *device, struct ww_broker *broker, const char *name,
	const struct ww_service_params *params, struct ww_service **out_service)
{
	WW_CLEANUP(service_free_p) struct ww_service *service = NULL;
	struct ww_name_params named;
	struct ww_wire_service_ref *form;

	ww_try(ww_sync_object_read_name(WW_PARAMS(struct ww_name_params, .mode = params->mode,
						.gid = params->gid, .flags = params->flags),
		&named));
	ww_try(service_new(params, &service));
	form = &service->form;
	form->functions_max = params->functions_max;
	form->clients_max = params->clients_max;
	form->calls_max = params->calls_max;
	form->arguments_bytes = round_area(params->arguments_bytes);
	form->results_bytes = round_area(params->results_bytes);
	memcpy(form->text, params->version, strlen(params->version));
	ww_try(ww_random_bytes(form->service_id, sizeof(form->service_id)));
	if (name)
		memcpy(service->name, name, strlen(name));
	service->device = ww_device_ref(device);
	service->broker = ww_broker_ref(broker);
	ww_try(ww_sync_object_require_version(broker, TELLS_WHO_CAME,
		"tell a service's server who its clients are"));
	ww_try(make_files(service));
	ww_try(ww_after_streams_create(service));
	ww_try(ww_builtin_offer(service));
	ww_try(put_service(service, name, &named));
	*out_service = ww_steal(service);
	return WW_OK;
}

ww_status ww_service_create(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_service_params *params, ww_cancel *cancel, ww_service **out_service)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	struct ww_service_params ours = {.mode = 0};

	ww_clear(out_service, NULL);
	ww_try(ww_process_enter());
	ww_require(device && out_service, "ww_service_create: device or out_service is NULL");
	if (params)
		ww_try(ww_params_read(&ours, sizeof(ours), params, PARAMS_V1_BYTES,
			"ww_service_params"));
	ww_params_default(&ours.functions_max, DEFAULT_FUNCTIONS);
	ww_params_default(&ours.clients_max, DEFAULT_CLIENTS);
	ww_params_default(&ours.clients_per_uid_max, ours.clients_max);
	ww_params_default(&ours.calls_max, DEFAULT_CALLS);
	ww_params_default(&ours.arguments_bytes, DEFAULT_AREA);
	ww_params_default(&ours.results_bytes, DEFAULT_AREA);
	ww_params_default(&ours.streams, DEFAULT_STREAMS);
	if (ours.memory_bytes_max == 0)
		ours.memory_bytes_max = DEFAULT_MEMORY;
	if (ours.alloc_bytes_max == 0)
		ours.alloc_bytes_max = DEFAULT_ALLOC;
	ww_try(check_params(&ours));
	if (name)
		ww_try(ww_name_check(name));
	ww_try(ww_choose_broker(&broker, &opened, 0));
	return create(device, broker, name, &ours, out_service);
}

ww_service *ww_service_ref(ww_service *service)
{
	if (service)
		ww_ref_get(&service->ref);
	return service;
}

ww_service *ww_service_unref(ww_service *service)
{
	if (!service || !ww_ref_put(&service->ref))
		return NULL;
	service_free(service);
	ww_deferred_reclaim();
	return NULL;
}

ww_status ww_service_export(ww_service *service, uint32_t access,
	const struct ww_token_params *params, ww_cancel *cancel, struct ww_token *out_token)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct ww_token_info info = {
		.struct_size = sizeof(info),
		.kind = WW_OBJECT_SERVICE,
		.access = access,
	};
	struct ww_escrow escrow;

	ww_try(ww_process_enter());
	ww_require(service && out_token, "ww_service_export: service or out_token is NULL");
	ww_try(ww_ref_check(&service->ref, "a service"));
	ww_try(ww_memory_check_access(access));
	ww_try(ww_sync_object_read_token(params, &escrow));
	if (!ww_hold_ref_find(&service->timeline->attachments, service->broker, info.object_id))
		return ww_fail(WW_ERR_NOT_FOUND, "the broker at %s has lost the service",
			service->broker->address.path);
	return ww_export_object(service->broker, &info, &escrow, out_token);
}

/* --- state --- */

static void set_state(struct ww_service *service, uint32_t from, uint32_t to)
{
	if (!__atomic_compare_exchange_n(&service->page.header->state, &from, to, false,
		    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	ww_await_wake(&service->page.header->wakes);
	ww_await_wake(&service->bell.header->wakes);
}

ww_status ww_service_start(ww_service *service)
{
	ww_try(ww_process_enter());
	ww_require(service, "ww_service_start: service is NULL");
	ww_try(ww_ref_check(&service->ref, "a service"));
	set_state(service, WW_WIRE_SERVICE_STATE_STARTING, WW_WIRE_SERVICE_STATE_READY);
	return WW_OK;
}

ww_status ww_service_drain(ww_service *service)
{
	ww_try(ww_process_enter());
	ww_require(service, "ww_service_drain: service is NULL");
	ww_try(ww_ref_check(&service->ref, "a service"));
	set_state(service, WW_WIRE_SERVICE_STATE_STARTING, WW_WIRE_SERVICE_STATE_DRAINING);
	set_state(service, WW_WIRE_SERVICE_STATE_READY, WW_WIRE_SERVICE_STATE_DRAINING);
	return WW_OK;
}

/* --- what there is to tell --- */

void ww_service_describe(const struct ww_service_page *page, const struct ww_wire_service_ref *form,
	const struct ww_signal_map *server, struct ww_service_info *info)
{
	const struct ww_layout_service_page *header = page->header;
	uint64_t now_ns = ww_clock_now_ns();
	uint64_t created_ns = header->created_ns;

	info->state = ww_service_page_state(page);
	info->functions = ww_service_page_count(page);
	info->clients = __atomic_load_n(&header->clients, __ATOMIC_RELAXED);
	info->calls = __atomic_load_n(&header->calls, __ATOMIC_RELAXED);
	info->age_ns = created_ns < now_ns ? now_ns - created_ns : 0;
	info->clients_max = form->clients_max;
	info->calls_max = form->calls_max;
	info->arguments_bytes = form->arguments_bytes;
	info->results_bytes = form->results_bytes;
	info->pid = server->creator.pid;
	memcpy(info->version, form->text, sizeof(info->version));
	memcpy(info->program, server->creator.program, sizeof(info->program));
	if (info->state != WW_WIRE_SERVICE_STATE_STOPPED &&
		__atomic_load_n(&server->header->lost, __ATOMIC_ACQUIRE))
		info->state = WW_SERVICE_LOST;
}

void ww_service_describe_function(const struct ww_service_page *page, uint32_t index,
	struct ww_function_info *info)
{
	const struct ww_layout_service_function *shared = &page->functions[index];

	info->flags = shared->flags;
	info->hash = shared->hash;
	info->calls = __atomic_load_n(&shared->calls, __ATOMIC_RELAXED);
	info->failed = __atomic_load_n(&shared->failed, __ATOMIC_RELAXED);
	info->not_started = __atomic_load_n(&shared->not_started, __ATOMIC_RELAXED);
	info->batches = __atomic_load_n(&shared->batches, __ATOMIC_RELAXED);
	info->batch_calls_max = shared->batch_calls_max;
	info->run_ns = __atomic_load_n(&shared->run_ns, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < WW_SERVICE_LATENCIES; i++)
		info->latency[i] = __atomic_load_n(&shared->latency[i], __ATOMIC_RELAXED);
	memcpy(info->name, shared->name, sizeof(info->name) - 1);
	memcpy(info->signature, shared->signature, sizeof(info->signature) - 1);
}

ww_status ww_service_info_get(ww_service *service, struct ww_service_info *info)
{
	struct ww_service_info ours = {.struct_size = sizeof(ours)};

	ww_try(ww_process_enter());
	ww_require(service && info, "ww_service_info_get: service or info is NULL");
	ww_try(ww_ref_check(&service->ref, "a service"));
	ww_service_describe(&service->page, &service->form, service->timeline->page, &ours);
	ours.uid = geteuid();
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_service_info");
}

ww_status ww_service_function_info_get(ww_service *service, uint32_t index,
	struct ww_function_info *info)
{
	struct ww_function_info ours = {.struct_size = sizeof(ours)};

	ww_try(ww_process_enter());
	ww_require(service && info, "ww_service_function_info_get: service or info is NULL");
	ww_try(ww_ref_check(&service->ref, "a service"));
	if (index >= ww_service_page_count(&service->page))
		return WW_END;
	ww_service_describe_function(&service->page, index, &ours);
	return ww_params_write(info, &ours, sizeof(ours), FUNCTION_INFO_V1_BYTES,
		"ww_function_info");
}
