/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - what the processes of a service share, see ring.h
 */
#include "service/ring.h"

#include <stdio.h>
#include <string.h>

#include <warpway/memory.h>
#include <warpway/service.h>

#include "base/error.h"
#include "share/shared_file.h"
#include "wire/name.h"

_Static_assert(sizeof(struct ww_layout_service_page) == WW_LAYOUT_SERVICE_PAGE_BYTES, "no padding");
_Static_assert(sizeof(struct ww_layout_service_function) == WW_LAYOUT_SERVICE_FUNCTION_BYTES,
	"no padding");
_Static_assert(sizeof(struct ww_layout_service_request) == WW_LAYOUT_SERVICE_REQUEST_BYTES,
	"no padding");
_Static_assert(sizeof(struct ww_layout_service_reply) == WW_LAYOUT_SERVICE_REPLY_BYTES,
	"no padding");
_Static_assert(sizeof(((struct ww_layout_service_function *)0)->name) == WW_FUNCTION_NAME_BYTES &&
		sizeof(((struct ww_layout_service_function *)0)->signature) ==
			WW_SIGNATURE_TEXT_BYTES &&
		sizeof(((struct ww_layout_service_function *)0)->latency) ==
			WW_SERVICE_LATENCIES * sizeof(uint64_t) &&
		sizeof(((struct ww_layout_service_reply *)0)->message) == WW_ERROR_MESSAGE_BYTES,
	"as the headers say");

/* --- names --- */

void ww_service_name(const struct ww_wire_service_ref *form, const char *what,
	char out[WW_SERVICE_NAME_BYTES])
{
	ww_name_begin_inside(form->service_id, out);
	snprintf(out + WW_NAME_INSIDE_CHARS, WW_SERVICE_NAME_BYTES - WW_NAME_INSIDE_CHARS, "%s",
		what);
}

/* --- files --- */

static struct ww_shared_file page_file(const struct ww_service_size *size,
	const uint8_t *service_id)
{
	return (struct ww_shared_file){
		.owner = "service",
		.what = "page",
		.magic = "WWSVPAGE",
		.version = WW_LAYOUT_SERVICE_PAGE_VERSION,
		.header_bytes = sizeof(struct ww_layout_service_page),
		.item_bytes = sizeof(struct ww_layout_service_function),
		.item_count = size->functions_max,
		.bytes = ww_shared_file_round_up(sizeof(struct ww_layout_service_page) +
			(uint64_t)size->functions_max * sizeof(struct ww_layout_service_function)),
		.id = service_id,
	};
}

static struct ww_shared_file bell_file(const uint8_t *service_id)
{
	return (struct ww_shared_file){
		.owner = "service",
		.what = "bell",
		.magic = "WWSVBELL",
		.version = WW_LAYOUT_SERVICE_BELL_VERSION,
		.header_bytes = sizeof(struct ww_layout_service_bell),
		.item_bytes = sizeof(struct ww_layout_service_bell_word),
		.item_count = WW_SERVICE_BELL_WORDS,
		.bytes = WW_SHARED_FILE_UNIT,
		.id = service_id,
		.access = WW_ACCESS_WRITE,
		.is_open = true,
	};
}

static struct ww_shared_file key_file(const uint8_t *service_id)
{
	return (struct ww_shared_file){
		.owner = "service",
		.what = "key",
		.magic = "WWSVCKEY",
		.version = WW_LAYOUT_SERVICE_KEY_VERSION,
		.header_bytes = sizeof(struct ww_layout_service_key),
		.bytes = WW_SHARED_FILE_UNIT,
		.id = service_id,
	};
}

static struct ww_shared_file requests_file(const struct ww_service_size *size,
	const uint8_t *service_id)
{
	return (struct ww_shared_file){
		.owner = "client",
		.what = "requests",
		.magic = "WWSVREQU",
		.version = WW_LAYOUT_SERVICE_REQUESTS_VERSION,
		.header_bytes = sizeof(struct ww_layout_service_requests),
		.item_bytes = sizeof(struct ww_layout_service_request),
		.item_count = size->calls_max,
		.bytes = ww_shared_file_round_up(sizeof(struct ww_layout_service_requests) +
			(uint64_t)size->calls_max *
				(sizeof(uint64_t) + sizeof(struct ww_layout_service_request)) +
			size->arguments_bytes),
		.id = service_id,
	};
}

static struct ww_shared_file replies_file(const struct ww_service_size *size,
	const uint8_t *service_id)
{
	return (struct ww_shared_file){
		.owner = "client",
		.what = "replies",
		.magic = "WWSVREPL",
		.version = WW_LAYOUT_SERVICE_REPLIES_VERSION,
		.header_bytes = sizeof(struct ww_layout_service_replies),
		.item_bytes = sizeof(struct ww_layout_service_reply),
		.item_count = size->calls_max,
		.bytes = ww_shared_file_round_up(sizeof(struct ww_layout_service_replies) +
			(uint64_t)size->calls_max * sizeof(struct ww_layout_service_reply) +
			size->results_bytes),
		.id = service_id,
		.access = WW_ACCESS_WRITE,
	};
}

static void page_set(struct ww_service_page *page, struct ww_mapping *mapping,
	const struct ww_service_size *size)
{
	page->mapping = mapping;
	page->header = mapping->host_pointer;
	page->functions = (void *)(page->header + 1);
	page->function_max = size->functions_max;
}

ww_status ww_service_page_create(struct ww_service_page *page,
	const uint8_t service_id[WW_WIRE_ID_BYTES], const struct ww_service_size *size)
{
	const struct ww_shared_file file = page_file(size, service_id);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_create(&file, &mapping));
	page_set(page, mapping, size);
	return WW_OK;
}

ww_status ww_service_page_import(struct ww_service_page *page, int fd,
	const uint8_t service_id[WW_WIRE_ID_BYTES], const struct ww_service_size *size)
{
	const struct ww_shared_file file = page_file(size, service_id);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_import(&file, fd, file.bytes, &mapping));
	page_set(page, mapping, size);
	return WW_OK;
}

void ww_service_page_fini(struct ww_service_page *page)
{
	page->mapping = ww_mapping_unref(page->mapping);
}

static void bell_set(struct ww_service_bell *bell, struct ww_mapping *mapping)
{
	bell->mapping = mapping;
	bell->header = mapping->host_pointer;
	bell->words = (void *)(bell->header + 1);
}

ww_status ww_service_bell_create(struct ww_service_bell *bell,
	const uint8_t service_id[WW_WIRE_ID_BYTES])
{
	const struct ww_shared_file file = bell_file(service_id);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_create(&file, &mapping));
	bell_set(bell, mapping);
	return WW_OK;
}

ww_status ww_service_bell_import(struct ww_service_bell *bell, int fd,
	const uint8_t service_id[WW_WIRE_ID_BYTES])
{
	const struct ww_shared_file file = bell_file(service_id);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_import(&file, fd, file.bytes, &mapping));
	bell_set(bell, mapping);
	return WW_OK;
}

void ww_service_bell_fini(struct ww_service_bell *bell)
{
	bell->mapping = ww_mapping_unref(bell->mapping);
}

ww_status ww_service_key_create(const uint8_t service_id[WW_WIRE_ID_BYTES],
	const uint8_t key[WW_WIRE_ID_BYTES], struct ww_mapping **out_mapping)
{
	const struct ww_shared_file file = key_file(service_id);
	struct ww_layout_service_key *header;

	ww_try(ww_shared_file_create(&file, out_mapping));
	header = (*out_mapping)->host_pointer;
	memcpy(header->key, key, sizeof(header->key));
	return WW_OK;
}

ww_status ww_service_key_import(int fd, const uint8_t service_id[WW_WIRE_ID_BYTES],
	uint8_t out_key[WW_WIRE_ID_BYTES])
{
	const struct ww_shared_file file = key_file(service_id);
	const struct ww_layout_service_key *header;
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_import(&file, fd, file.bytes, &mapping));
	header = mapping->host_pointer;
	memcpy(out_key, header->key, sizeof(header->key));
	ww_mapping_unref(mapping);
	return WW_OK;
}

static void requests_set(struct ww_service_requests *requests, struct ww_mapping *mapping,
	const struct ww_service_size *size)
{
	requests->mapping = mapping;
	requests->header = mapping->host_pointer;
	requests->order = (void *)(requests->header + 1);
	requests->slots = (void *)(requests->order + size->calls_max);
	requests->area = (uint8_t *)(requests->slots + size->calls_max);
	requests->slot_count = size->calls_max;
	requests->area_bytes = size->arguments_bytes;
}

ww_status ww_service_requests_create(struct ww_service_requests *requests,
	const uint8_t service_id[WW_WIRE_ID_BYTES], const struct ww_service_size *size)
{
	const struct ww_shared_file file = requests_file(size, service_id);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_create(&file, &mapping));
	requests_set(requests, mapping, size);
	return WW_OK;
}

ww_status ww_service_requests_import(struct ww_service_requests *requests, int fd,
	const uint8_t service_id[WW_WIRE_ID_BYTES], const struct ww_service_size *size)
{
	const struct ww_shared_file file = requests_file(size, service_id);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_import(&file, fd, file.bytes, &mapping));
	ww_mapping_close_fd(mapping);
	requests_set(requests, mapping, size);
	return WW_OK;
}

void ww_service_requests_fini(struct ww_service_requests *requests)
{
	requests->mapping = ww_mapping_unref(requests->mapping);
}

static void replies_set(struct ww_service_replies *replies, struct ww_mapping *mapping,
	const struct ww_service_size *size)
{
	replies->mapping = mapping;
	replies->header = mapping->host_pointer;
	replies->slots = (void *)(replies->header + 1);
	replies->area = (uint8_t *)(replies->slots + size->calls_max);
	replies->slot_count = size->calls_max;
	replies->area_bytes = size->results_bytes;
}

ww_status ww_service_replies_create(struct ww_service_replies *replies,
	const uint8_t service_id[WW_WIRE_ID_BYTES], const struct ww_service_size *size)
{
	const struct ww_shared_file file = replies_file(size, service_id);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_create(&file, &mapping));
	replies_set(replies, mapping, size);
	return WW_OK;
}

ww_status ww_service_replies_import(struct ww_service_replies *replies, int fd,
	const uint8_t service_id[WW_WIRE_ID_BYTES], const struct ww_service_size *size)
{
	const struct ww_shared_file file = replies_file(size, service_id);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_import(&file, fd, file.bytes, &mapping));
	ww_mapping_close_fd(mapping);
	replies_set(replies, mapping, size);
	return WW_OK;
}

void ww_service_replies_fini(struct ww_service_replies *replies)
{
	replies->mapping = ww_mapping_unref(replies->mapping);
}

/* --- steps --- */

void ww_service_bell_ring(struct ww_service_bell *bell, const struct ww_service_page *page,
	const struct ww_service_replies *replies)
{
	if (__atomic_load_n(&replies->header->is_idle, __ATOMIC_SEQ_CST)) {
		uint32_t number = __atomic_load_n(&replies->header->number, __ATOMIC_RELAXED);

		__atomic_fetch_or(&bell->words[number / 64 % WW_SERVICE_BELL_WORDS].bits,
			UINT64_C(1) << number % 64, __ATOMIC_SEQ_CST);
	}
	if (__atomic_load_n(&page->header->is_asleep, __ATOMIC_SEQ_CST))
		ww_await_wake(&bell->header->wakes);
}

void ww_service_replies_end(struct ww_service_replies *replies, uint32_t slot, uint64_t call,
	const struct ww_service_requests *requests)
{
	__atomic_store_n(&replies->slots[slot].done, call, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&requests->header->is_asleep, __ATOMIC_SEQ_CST))
		ww_await_wake(&replies->header->wakes);
}

void ww_service_replies_join(struct ww_service_replies *replies, uint32_t join, uint32_t number)
{
	__atomic_store_n(&replies->header->number, number, __ATOMIC_RELAXED);
	__atomic_store_n(&replies->header->join, join, __ATOMIC_RELEASE);
	ww_await_wake(&replies->header->wakes);
}

void ww_service_page_set_state(struct ww_service_page *page, uint32_t state)
{
	__atomic_store_n(&page->header->state, state, __ATOMIC_RELEASE);
	ww_await_wake(&page->header->wakes);
}

/* --- sleeping --- */

ww_status ww_service_await_call(const struct ww_service_bell *bell, struct ww_service_page *own,
	ww_await_fn look, void *context, uint64_t deadline_ns)
{
	return ww_await_announced(&own->header->is_asleep, &bell->header->wakes, look, context,
		deadline_ns);
}

ww_status ww_service_await_reply(const struct ww_service_replies *replies,
	struct ww_service_requests *own, ww_await_fn look, void *context, uint64_t deadline_ns)
{
	return ww_await_announced(&own->header->is_asleep, &replies->header->wakes, look, context,
		deadline_ns);
}
