/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold_ref.c - a thing that stands for a hold in a broker, see hold_ref.h
 */
#include "share/hold_ref.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/process.h"

/* An object has two secrets, one for each access. */
#define SECRETS 2

struct known {
	uint64_t generation;
	uint8_t broker_id[WW_OBJECT_ID_BYTES];
	struct {
		uint32_t access; /* that it is known to give; 0: none is here */
		uint8_t bytes[WW_SECRET_BYTES];
	} secrets[SECRETS];
	bool has_info;
	struct ww_object_info info; /* as the broker said; what a token says is not in it */
};

struct ww_hold_ref {
	struct ww_attachment attachment;
	struct ww_broker *broker; /* a reference */
	uint8_t id[WW_OBJECT_ID_BYTES];

	/* Under the lock of all keepings, in which nothing is called. */
	uint32_t state;      /* WW_STATE_...; 0: it was never said */
	struct known *known; /* owned; NULL: nothing */
};

static pthread_mutex_t lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;

static void detach(struct ww_attachment *attachment)
{
	struct ww_hold_ref *hold_ref = ww_container(attachment, struct ww_hold_ref, attachment);

	ww_broker_client_release(hold_ref->broker, hold_ref->id);
	ww_hold_ref_free(hold_ref);
}

ww_status ww_hold_ref_new(struct ww_broker *broker, struct ww_hold_ref **out_hold_ref)
{
	struct ww_hold_ref *hold_ref = calloc(1, sizeof(*hold_ref));

	if (!hold_ref)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep an object: out of memory");
	hold_ref->broker = ww_broker_ref(broker);
	hold_ref->attachment.owner = broker;
	hold_ref->attachment.detach = detach;
	*out_hold_ref = hold_ref;
	return WW_OK;
}

void ww_hold_ref_free(struct ww_hold_ref *hold_ref)
{
	if (!hold_ref)
		return;
	ww_broker_unref(hold_ref->broker);
	free(hold_ref->known);
	free(hold_ref);
}

/* Return: NULL when there is none. */
static struct ww_hold_ref *find(struct ww_attachments *thing, struct ww_broker *broker)
{
	struct ww_attachment *attachment = ww_attachments_find(thing, broker);

	return attachment ? ww_container(attachment, struct ww_hold_ref, attachment) : NULL;
}

/* What was prepared for the one that is not needed. */
static void hand_over(struct ww_hold_ref *from, struct ww_hold_ref *to)
{
	pthread_mutex_lock(&lock);
	if (!to->known)
		to->known = ww_steal(from->known);
	pthread_mutex_unlock(&lock);
}

void ww_hold_ref_attach(struct ww_hold_ref *hold_ref, struct ww_attachments *thing,
	const uint8_t id[WW_OBJECT_ID_BYTES])
{
	struct ww_hold_ref *former = find(thing, hold_ref->broker);

	memcpy(hold_ref->id, id, sizeof(hold_ref->id));
	if (former && memcmp(former->id, id, sizeof(former->id)) == 0) {
		hand_over(hold_ref, former);
		detach(&hold_ref->attachment); /* one count is enough */
	} else {
		ww_attachments_add(thing, &hold_ref->attachment);
	}
}

bool ww_hold_ref_find(struct ww_attachments *thing, struct ww_broker *broker,
	uint8_t out_id[WW_OBJECT_ID_BYTES])
{
	const struct ww_hold_ref *hold_ref = find(thing, broker);

	if (!hold_ref || !ww_broker_client_is_held(broker, hold_ref->id))
		return false;
	memcpy(out_id, hold_ref->id, sizeof(hold_ref->id));
	return true;
}

bool ww_hold_ref_is_held(struct ww_attachments *thing, struct ww_broker *broker)
{
	uint8_t id[WW_OBJECT_ID_BYTES];

	return ww_hold_ref_find(thing, broker, id);
}

/* Whether it is of a connection that is the parent's (process.h). */
static bool is_inherited(const struct ww_attachment *attachment)
{
	return ww_ref_is_inherited(
		&ww_container(attachment, struct ww_hold_ref, attachment)->broker->ref);
}

static bool is_usable(const struct ww_attachment *attachment)
{
	return attachment->detach == detach && !is_inherited(attachment);
}

ww_status ww_hold_ref_check(struct ww_attachments *thing)
{
	const struct ww_attachment *attachment = ww_attachments_first(thing);

	for (; attachment; attachment = attachment->next) {
		if (attachment->detach == detach && is_inherited(attachment))
			return ww_fail(WW_ERR_FORKED,
				"the parent process has this memory in a broker, so its child made by fork() can read "
				"and write it, but not hand it on: have the parent do so, or copy it");
	}
	return WW_OK;
}

struct ww_broker *ww_hold_ref_only_broker(struct ww_attachments *thing)
{
	const struct ww_attachment *attachment = ww_attachments_first(thing);
	struct ww_broker *only = NULL;

	for (; attachment; attachment = attachment->next) {
		if (!is_usable(attachment) || attachment->owner == only)
			continue;
		if (only)
			return NULL;
		only = ww_container(attachment, struct ww_hold_ref, attachment)->broker;
	}
	return only;
}

/* --- what is known --- */

ww_status ww_hold_ref_prepare(struct ww_hold_ref *hold_ref)
{
	struct known *known = calloc(1, sizeof(*known));

	if (!known)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep an object: out of memory");
	pthread_mutex_lock(&lock);
	if (!hold_ref->known)
		hold_ref->known = ww_steal(known);
	pthread_mutex_unlock(&lock);
	free(known);
	return WW_OK;
}

ww_status ww_hold_ref_prepare_of(struct ww_attachments *thing, struct ww_broker *broker)
{
	struct ww_hold_ref *hold_ref = find(thing, broker);

	return hold_ref ? ww_hold_ref_prepare(hold_ref) : WW_OK;
}

void ww_hold_ref_note_state(struct ww_attachments *thing, struct ww_broker *broker, uint32_t state)
{
	struct ww_hold_ref *hold_ref = find(thing, broker);

	if (!hold_ref)
		return;
	pthread_mutex_lock(&lock);
	hold_ref->state = state;
	pthread_mutex_unlock(&lock);
}

static bool is_of(const struct known *known, const struct ww_token_info *token)
{
	return known->generation == token->generation &&
		memcmp(known->broker_id, token->broker_id, sizeof(known->broker_id)) == 0;
}

static void learn_secret(struct known *known, const uint8_t secret[WW_SECRET_BYTES],
	uint32_t access)
{
	size_t at = 0;

	while (at < SECRETS - 1 && known->secrets[at].access != 0 &&
		memcmp(known->secrets[at].bytes, secret, WW_SECRET_BYTES) != 0)
		at++;
	if (memcmp(known->secrets[at].bytes, secret, WW_SECRET_BYTES) != 0)
		known->secrets[at].access = 0;
	if (access > known->secrets[at].access)
		known->secrets[at].access = access;
	memcpy(known->secrets[at].bytes, secret, WW_SECRET_BYTES);
}

/* Under the lock. */
static void learn(struct ww_hold_ref *hold_ref, const struct ww_token_info *token,
	const uint8_t secret[WW_SECRET_BYTES], uint32_t access, const struct ww_object_info *info)
{
	struct known *known = hold_ref->known;

	if (!is_of(known, token)) {
		memset(known, 0, sizeof(*known));
		known->generation = token->generation;
		memcpy(known->broker_id, token->broker_id, sizeof(known->broker_id));
	}
	learn_secret(known, secret, access);
	if (info) {
		known->info = *info;
		known->has_info = true;
		hold_ref->state = info->state;
	}
}

void ww_hold_ref_learn(struct ww_attachments *thing, struct ww_broker *broker,
	const struct ww_token_info *token, const uint8_t secret[WW_SECRET_BYTES], uint32_t access,
	const struct ww_object_info *info)
{
	struct ww_hold_ref *hold_ref = find(thing, broker);

	pthread_mutex_lock(&lock);
	if (hold_ref && hold_ref->known)
		learn(hold_ref, token, secret, access, info);
	pthread_mutex_unlock(&lock);
}

/* Under the lock. */
static bool knows(const struct ww_hold_ref *hold_ref, const struct ww_token_info *token,
	const uint8_t secret[WW_SECRET_BYTES], uint32_t access, struct ww_object_info *out_info)
{
	const struct known *known = hold_ref->known;
	bool gives_access = false;

	if (!known || !is_of(known, token) || (out_info && !known->has_info) ||
		memcmp(hold_ref->id, token->object_id, sizeof(hold_ref->id)) != 0)
		return false;
	/* What is being written is not imported; what is sealed, not for writing. */
	if (hold_ref->state != WW_STATE_SHARED &&
		(hold_ref->state != WW_STATE_SEALED || access != WW_ACCESS_READ))
		return false;
	for (size_t i = 0; i < SECRETS; i++) {
		if (known->secrets[i].access >= access &&
			memcmp(known->secrets[i].bytes, secret, WW_SECRET_BYTES) == 0)
			gives_access = true;
	}
	if (gives_access && out_info)
		*out_info = known->info;
	return gives_access;
}

bool ww_hold_ref_knows(struct ww_attachments *thing, struct ww_broker *broker,
	const struct ww_token_info *token, const uint8_t secret[WW_SECRET_BYTES], uint32_t access,
	struct ww_object_info *out_info)
{
	struct ww_attachment *attachment = ww_attachments_first(thing);

	for (; attachment; attachment = attachment->next) {
		struct ww_hold_ref *hold_ref = ww_container(attachment, struct ww_hold_ref,
			attachment);
		bool is_known;

		if (!is_usable(attachment) || (broker && hold_ref->broker != broker))
			continue;
		pthread_mutex_lock(&lock);
		is_known = knows(hold_ref, token, secret, access, out_info);
		pthread_mutex_unlock(&lock);
		if (is_known && ww_broker_client_has_valid_tokens(hold_ref->broker, hold_ref->id))
			return true;
	}
	return false;
}
