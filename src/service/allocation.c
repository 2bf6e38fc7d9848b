/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocation.c - the built-in functions alloc and free, and what ends with a client
 *
 * The broker knows the memories as the server's. So names are limited to those inside the name of
 * the service: a client cannot have an object put in the name of the server's user where others
 * look for that user's own.
 */
#include "service/allocation.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "service/kept_results.h"
#include "wire/name.h"

/* What a client asks for. */
struct wish {
	uint64_t bytes;
	uint32_t mode;
	bool is_kept;
	char name[WW_NAME_BYTES]; /* empty: none */
};

/* --- bytes of a user --- */

/* Locked. */
static uint64_t bytes_of_user(struct ww_service *service, uint32_t uid)
{
	uint64_t bytes = 0;

	ww_list_for_each (link, &service->allocations) {
		const struct ww_allocation *each = ww_container(link, struct ww_allocation, link);

		bytes += each->uid == uid ? each->bytes : 0;
	}
	return bytes;
}

/* Counts it with so many bytes, no longer with those it had. Return: whether there is room. */
static bool try_count(struct ww_service *service, struct ww_allocation *allocation, uint64_t bytes)
{
	uint64_t most = service->params.alloc_bytes_max;
	bool has_room;

	pthread_mutex_lock(&service->lock);
	ww_list_remove(&allocation->link);
	has_room = bytes <= most && bytes_of_user(service, allocation->uid) <= most - bytes;
	if (has_room) {
		allocation->bytes = bytes;
		allocation->number = ++service->allocations_made;
		ww_list_append(&service->allocations, &allocation->link);
	}
	pthread_mutex_unlock(&service->lock);
	return has_room;
}

/* --- names in the broker --- */

/* Return: WW_OK (it is there); WW_ERR_NOT_FOUND; as ww_broker_stat(). */
static ww_status look_up(struct ww_service *service, const struct ww_allocation *allocation)
{
	struct ww_object_info info = {.struct_size = sizeof(info)};

	ww_try(ww_broker_stat(service->broker, allocation->name, &info));
	if (memcmp(info.object_id, allocation->object_id, sizeof(info.object_id)) != 0)
		return WW_ERR_NOT_FOUND;
	return WW_OK;
}

/* Copies the first kept one of a user after @number. Return: false: there is none. */
static bool next_kept(struct ww_service *service, uint32_t uid, uint64_t number,
	struct ww_allocation *out_copy)
{
	bool is_found = false;

	pthread_mutex_lock(&service->lock);
	ww_list_for_each (link, &service->allocations) {
		const struct ww_allocation *each = ww_container(link, struct ww_allocation, link);

		is_found = each->uid == uid && each->number > number && each->is_made &&
			!each->view;
		if (is_found) {
			*out_copy = *each;
			break;
		}
	}
	pthread_mutex_unlock(&service->lock);
	return is_found;
}

static void forget(struct ww_service *service, uint64_t number)
{
	struct ww_allocation *found = NULL;

	pthread_mutex_lock(&service->lock);
	ww_list_for_each (link, &service->allocations) {
		struct ww_allocation *each = ww_container(link, struct ww_allocation, link);

		if (each->number == number) {
			found = each;
			ww_list_remove(link);
			break;
		}
	}
	pthread_mutex_unlock(&service->lock);
	free(found);
}

/* Of a user, those kept ones that are not in the broker any more. */
static void forget_removed(struct ww_service *service, uint32_t uid)
{
	struct ww_allocation copy = {.number = 0};
	ww_status status = WW_OK;

	while ((status == WW_OK || status == WW_ERR_NOT_FOUND) &&
		next_kept(service, uid, copy.number, &copy)) {
		status = look_up(service, &copy);
		if (status == WW_ERR_NOT_FOUND)
			forget(service, copy.number);
	}
}

/* --- the end --- */

/*
 * Not in the list any more. A name is freed at once; without a name the memory leaves the broker
 * with the last reference. Calls that use it have theirs until they are complete.
 */
static void allocation_end(struct ww_service *service, struct ww_allocation *allocation,
	bool *is_answering)
{
	struct ww_error record;

	ww_error_save(&record);
	if (allocation->name[0] && *is_answering) {
		ww_status status = look_up(service, allocation);

		if (status == WW_OK)
			status = ww_broker_end(service->broker, allocation->name, NULL);
		*is_answering = status != WW_ERR_NO_BROKER;
	}
	ww_memory_unref(allocation->memory);
	free(allocation);
	ww_error_restore(&record);
}

/* Takes the first one of a client out. Return: NULL: there is none. */
static struct ww_allocation *take_of(struct ww_service *service, const struct ww_client_view *view)
{
	struct ww_allocation *found = NULL;

	pthread_mutex_lock(&service->lock);
	ww_list_for_each (link, &service->allocations) {
		struct ww_allocation *each = ww_container(link, struct ww_allocation, link);

		if (each->view == view) {
			found = each;
			ww_list_remove(link);
			break;
		}
	}
	pthread_mutex_unlock(&service->lock);
	return found;
}

void ww_allocations_end_of(struct ww_service *service, const struct ww_client_view *view)
{
	struct ww_allocation *allocation;
	bool is_answering = true;

	while ((allocation = take_of(service, view)))
		allocation_end(service, allocation, &is_answering);
}

bool ww_allocations_have(const struct ww_service *service, const struct ww_memory *whole)
{
	ww_list_for_each (link, &service->allocations) {
		const struct ww_allocation *each = ww_container(link, struct ww_allocation, link);

		if (!memcmp(each->object_id, whole->description.object_id, sizeof(each->object_id)))
			return true;
	}
	return false;
}

void ww_allocations_fini(struct ww_service *service)
{
	struct ww_list *link;

	while ((link = ww_list_take_first(&service->allocations)))
		free(ww_container(link, struct ww_allocation, link));
}

/* --- alloc --- */

/* u64 bytes, bytes name, u32 mode, bool kept */
static ww_status read_wish(ww_call *call, struct wish *out_wish)
{
	struct ww_value values[4];

	for (uint32_t i = 0; i < 4; i++)
		ww_try(ww_call_argument(call, i, &values[i]));
	*out_wish = (struct wish){
		.bytes = values[0].scalar,
		.mode = (uint32_t)values[2].scalar,
		.is_kept = values[3].scalar != 0,
	};
	if (values[1].kind != WW_ARGUMENT_NONE) {
		const struct ww_service *service = call->service;
		const struct ww_value *value = &values[1];
		char *out_name = out_wish->name;
		size_t length = strlen(service->name);

		if (value->bytes >= WW_NAME_BYTES || memchr(value->data, 0, value->bytes))
			return ww_fail(WW_ERR_INVALID,
				"the name of a memory is too long, or has a zero byte in it");
		memcpy(out_name, value->data, value->bytes);
		out_name[value->bytes] = 0;
		ww_try(ww_name_check(out_name));
		if (length == 0)
			return ww_fail(WW_ERR_UNSUPPORTED,
				"a service without a name makes memories without names only");
		if (strncmp(out_name, service->name, length) != 0 || out_name[length] != '/')
			return ww_fail(WW_ERR_ACCESS,
				"the name '%.64s' does not begin with '%.64s/', as names of memories that "
				"this service makes must",
				out_name, service->name);
		return WW_OK;
	}
	if (out_wish->is_kept)
		return ww_fail(WW_ERR_INVALID,
			"a memory is kept under a name, and 'name' was left out");
	return WW_OK;
}

/* @wished: what was asked for; @bytes: what that takes */
static ww_status count_bytes(struct ww_service *service, struct ww_allocation *allocation,
	uint64_t wished, uint64_t bytes)
{
	if (try_count(service, allocation, bytes))
		return WW_OK;
	forget_removed(service, allocation->uid);
	if (try_count(service, allocation, bytes))
		return WW_OK;
	return ww_fail(WW_ERR_QUOTA,
		"the service makes at most %" PRIu64
		" bytes of memory for all clients of user %" PRIu32
		" (alloc_bytes_max), and these %" PRIu64 ", which take %" PRIu64
		" on the device, are too many; free what is not needed",
		service->params.alloc_bytes_max, allocation->uid, wished, bytes);
}

static ww_status make(struct ww_service *service, struct ww_allocation *allocation,
	const struct wish *wish)
{
	const struct ww_memory_params params = {
		.struct_size = sizeof(params),
		.bytes = wish->bytes,
	};
	struct ww_memory_info info = {.struct_size = sizeof(info)};
	const struct ww_put_params how = {
		.struct_size = sizeof(how),
		.mode = wish->mode,
		.life = wish->is_kept ? WW_LIFE_KEPT : WW_LIFE_OWNER,
		.state = WW_STATE_SHARED,
	};
	const char *name = wish->name[0] ? wish->name : NULL;

	ww_try(ww_memory_create(service->device, &params, &allocation->memory));
	ww_try(ww_memory_info_get(allocation->memory, &info));
	memcpy(allocation->object_id, info.object_id, sizeof(allocation->object_id));
	ww_try(count_bytes(service, allocation, wish->bytes, info.bytes));
	ww_try(ww_memory_put(allocation->memory, service->broker, name, &how, 0, NULL));
	memcpy(allocation->name, wish->name, sizeof(allocation->name));
	return WW_OK;
}

/* The array has as many bytes as were asked for; the memory may have more. */
static ww_status give(ww_call *call, ww_memory *memory, uint64_t bytes)
{
	const int64_t shape = (int64_t)bytes;
	struct ww_array array;
	struct ww_value result = {
		.kind = WW_ARGUMENT_ARRAY,
		.memory = memory,
		.array = &array,
	};

	ww_try(ww_array_set(&array, WW_DTYPE(WW_DTYPE_UINT, 8), 1, &shape, NULL, 0));
	return ww_call_result(call, 0, &result);
}

ww_status ww_allocation_run_alloc(void *context, ww_call *call)
{
	struct ww_service *service = context;
	struct ww_allocation *allocation;
	bool is_answering = true;
	struct wish wish;
	ww_status status;

	ww_try(read_wish(call, &wish));
	allocation = calloc(1, sizeof(*allocation));
	if (!allocation)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot note a memory: out of memory");
	ww_list_init(&allocation->link);
	allocation->view = wish.is_kept ? NULL : call->view;
	allocation->uid = call->view->member.uid;
	status = count_bytes(service, allocation, wish.bytes, wish.bytes);
	if (status == WW_OK)
		status = make(service, allocation, &wish);
	if (status == WW_OK)
		status = give(call, allocation->memory, wish.bytes);
	if (status == WW_OK) {
		ww_memory *kept = NULL;

		/* The memory can be freed from now on. */
		pthread_mutex_lock(&service->lock);
		if (!allocation->view)
			kept = ww_steal(allocation->memory);
		allocation->is_made = true;
		pthread_mutex_unlock(&service->lock);
		ww_memory_unref(kept);
		return WW_OK;
	}
	pthread_mutex_lock(&service->lock);
	ww_list_remove(&allocation->link);
	pthread_mutex_unlock(&service->lock);
	allocation_end(service, allocation, &is_answering);
	return status;
}

/* --- free --- */

ww_status ww_allocation_run_free(void *context, ww_call *call)
{
	struct ww_service *service = context;
	struct ww_memory_info info = {.struct_size = sizeof(info)};
	struct ww_allocation *allocation = NULL;
	bool is_answering = true;
	struct ww_value value;

	ww_try(ww_call_argument(call, 0, &value));
	ww_try(ww_memory_info_get(value.memory, &info));
	/* A result that the client has not taken is released with the memory. */
	pthread_mutex_lock(&service->lock);
	ww_list_for_each (link, &service->allocations) {
		struct ww_allocation *each = ww_container(link, struct ww_allocation, link);

		if (each->is_made && each->uid == call->view->member.uid &&
			!memcmp(each->object_id, info.object_id, sizeof(each->object_id))) {
			allocation = each;
			ww_list_remove(link);
			break;
		}
	}
	if (allocation && allocation->view)
		ww_client_view_release_memory(service, allocation->view, allocation->memory);
	pthread_mutex_unlock(&service->lock);
	if (!allocation)
		return ww_fail(WW_ERR_NOT_FOUND,
			"the service has no memory to free that it made for user %" PRIu32
			" and that this token names",
			call->view->member.uid);
	allocation_end(service, allocation, &is_answering);
	return WW_OK;
}
