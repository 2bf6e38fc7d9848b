/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offer.c - the functions that a service offers
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "service/batch.h"
#include "service/builtin.h"

#define FUNCTION_PARAMS_V1_BYTES offsetof(struct ww_function_params, batch_wait_ns)

static ww_status copy_ids(const uint32_t *ids, uint32_t count, uint32_t **out_ids,
	uint32_t *out_count)
{
	if (!ids)
		return WW_OK;
	*out_ids = calloc(count + (size_t)1, sizeof(*ids));
	if (!*out_ids)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot keep the users of a function: out of memory");
	memcpy(*out_ids, ids, count * sizeof(*ids));
	*out_count = count;
	return WW_OK;
}

static ww_status read_offer(const char *signature, const struct ww_function_params *params,
	struct ww_offer *offer)
{
	struct ww_function_params ours = {.flags = 0};

	if (params)
		ww_try(ww_params_read(&ours, sizeof(ours), params, FUNCTION_PARAMS_V1_BYTES,
			"ww_function_params"));
	if (!offer->batch_fn && (ours.batch_calls_max || ours.batch_wait_ns))
		return ww_fail(WW_ERR_INVALID,
			"ww_service_offer: params has a batch, but the function takes one call; use "
			"ww_service_offer_batch()");
	if (ours.flags & ~(WW_FUNCTION_IDEMPOTENT | WW_FUNCTION_ENQUEUES))
		return ww_fail(WW_ERR_INVALID,
			"ww_function_params.flags has unknown bits: 0x%" PRIx32, ours.flags);
	offer->flags = ours.flags;
	ww_try(copy_ids(ours.uids, ours.uid_count, &offer->uids, &offer->uid_count));
	ww_try(copy_ids(ours.gids, ours.gid_count, &offer->gids, &offer->gid_count));
	if (offer->batch_fn)
		ww_try(ww_batch_create(&ours, &offer->batch));
	offer->signature = malloc(sizeof(*offer->signature));
	if (!offer->signature)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a signature: out of memory");
	return ww_signature_parse(signature, offer->signature);
}

/* Locked. */
static ww_status add_offer(struct ww_service *service, const char *name,
	const struct ww_offer *offer)
{
	uint32_t count = ww_service_page_count(&service->page);
	struct ww_layout_service_function *shared = &service->page.functions[count];

	for (uint32_t i = 0; i < count; i++) {
		if (!strcmp((const char *)service->page.functions[i].name, name))
			return ww_fail(WW_ERR_EXISTS, "the service offers a function '%s' already",
				name);
	}
	if (count == service->form.functions_max)
		return ww_fail(WW_ERR_LIMIT,
			"cannot offer '%s': the service has %" PRIu32
			" functions already, as many as it was made for (functions_max)",
			name, count);
	service->offers[count] = *offer;
	service->offers[count].shared = shared;
	memcpy(shared->name, name, strlen(name));
	memcpy(shared->signature, offer->signature->text, strlen(offer->signature->text));
	shared->hash = offer->signature->hash;
	shared->flags = offer->flags;
	shared->batch_calls_max = offer->batch ? offer->batch->calls_max : 0;
	__atomic_store_n(&service->page.header->function_count, count + 1, __ATOMIC_RELEASE);
	ww_await_wake(&service->page.header->wakes);
	return WW_OK;
}

ww_status ww_service_add_function(struct ww_service *service, const char *name,
	const char *signature, const struct ww_offer *what, const struct ww_function_params *params)
{
	struct ww_offer offer = *what;
	ww_status status = read_offer(signature, params, &offer);

	pthread_mutex_lock(&service->lock);
	if (status == WW_OK)
		status = add_offer(service, name, &offer);
	pthread_mutex_unlock(&service->lock);
	if (status != WW_OK) {
		free(offer.uids);
		free(offer.gids);
		free(offer.signature);
		ww_batch_free(offer.batch);
	}
	return status;
}

static ww_status offer_function(struct ww_service *service, const char *name, const char *signature,
	const struct ww_offer *what, const struct ww_function_params *params)
{
	static const char
		allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/";
	size_t good;

	ww_try(ww_process_enter());
	ww_require(service && name && signature && (what->fn || what->batch_fn),
		"ww_service_offer: service, name, signature or fn is NULL");
	ww_try(ww_ref_check(&service->ref, "a service"));
	good = strspn(name, allowed);
	if (good == 0 || name[good] || good >= WW_FUNCTION_NAME_BYTES)
		return ww_fail(WW_ERR_INVALID,
			"'%.64s' is no name of a function: use 1 to %d letters, digits, '_', '.', '-' "
			"and '/'",
			name, WW_FUNCTION_NAME_BYTES - 1);
	if (!strncmp(name, WW_BUILTIN_PREFIX, strlen(WW_BUILTIN_PREFIX)))
		return ww_fail(WW_ERR_INVALID,
			"cannot offer '%s': names that begin with '" WW_BUILTIN_PREFIX
			"' are those of built-in functions",
			name);
	return ww_service_add_function(service, name, signature, what, params);
}

ww_status ww_service_offer(ww_service *service, const char *name, const char *signature,
	ww_service_fn fn, void *context, const struct ww_function_params *params)
{
	const struct ww_offer what = {.fn = fn, .context = context};

	return offer_function(service, name, signature, &what, params);
}

ww_status ww_service_offer_batch(ww_service *service, const char *name, const char *signature,
	ww_service_batch_fn fn, void *context, const struct ww_function_params *params)
{
	const struct ww_offer what = {.batch_fn = fn, .context = context};

	return offer_function(service, name, signature, &what, params);
}

void ww_offers_fini(struct ww_service *service)
{
	for (uint32_t i = 0; service->offers && i < service->form.functions_max; i++) {
		free(service->offers[i].uids);
		free(service->offers[i].gids);
		free(service->offers[i].signature);
		ww_batch_free(service->offers[i].batch);
	}
	free(service->offers);
	free(service->lane_offer.signature);
}
