/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeping.c - a thing that stands for a hold in a broker, see keeping.h
 */
#include "client/keeping.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

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

struct ww_keeping {
	struct ww_attachment attachment;
	struct ww_broker *broker; /* a reference */
	uint8_t id[WW_OBJECT_ID_BYTES];

	/* Under the lock of all keepings, in which nothing is called. */
	uint32_t state; /* WW_STATE_...; 0: it was never said */
	uint64_t offset;
	uint64_t bytes;      /* 0: all of it */
	struct known *known; /* owned; NULL: nothing */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void detach(struct ww_attachment *attachment)
{
	struct ww_keeping *keeping = ww_container(attachment, struct ww_keeping, attachment);

	ww_connection_release(keeping->broker, keeping->id);
	ww_keeping_free(keeping);
}

ww_status ww_keeping_new(struct ww_broker *broker, struct ww_keeping **out_keeping)
{
	struct ww_keeping *keeping = calloc(1, sizeof(*keeping));

	if (!keeping)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep an object: out of memory");
	keeping->broker = ww_broker_ref(broker);
	keeping->attachment.owner = broker;
	keeping->attachment.detach = detach;
	*out_keeping = keeping;
	return WW_OK;
}

void ww_keeping_free(struct ww_keeping *keeping)
{
	if (!keeping)
		return;
	ww_broker_unref(keeping->broker);
	free(keeping->known);
	free(keeping);
}

/* Return: NULL when there is none. */
static struct ww_keeping *find(struct ww_attachments *thing, struct ww_broker *broker)
{
	struct ww_attachment *attachment = ww_attachments_find(thing, broker);

	return attachment ? ww_container(attachment, struct ww_keeping, attachment) : NULL;
}

/* What was prepared for the one that is not needed. */
static void hand_over(struct ww_keeping *from, struct ww_keeping *to)
{
	pthread_mutex_lock(&lock);
	if (!to->known)
		to->known = ww_steal(from->known);
	pthread_mutex_unlock(&lock);
}

void ww_keeping_attach(struct ww_keeping *keeping, struct ww_attachments *thing,
	const uint8_t id[WW_OBJECT_ID_BYTES])
{
	struct ww_keeping *former = find(thing, keeping->broker);

	memcpy(keeping->id, id, sizeof(keeping->id));
	if (former && memcmp(former->id, id, sizeof(former->id)) == 0) {
		hand_over(keeping, former);
		detach(&keeping->attachment); /* one count is enough */
	} else {
		ww_attachments_add(thing, &keeping->attachment);
	}
}

bool ww_keeping_find(struct ww_attachments *thing, struct ww_broker *broker,
	uint8_t out_id[WW_OBJECT_ID_BYTES])
{
	const struct ww_keeping *keeping = find(thing, broker);

	if (!keeping || !ww_connection_is_held(broker, keeping->id))
		return false;
	memcpy(out_id, keeping->id, sizeof(keeping->id));
	return true;
}

bool ww_keeping_is_held(struct ww_attachments *thing, struct ww_broker *broker)
{
	uint8_t id[WW_OBJECT_ID_BYTES];

	return ww_keeping_find(thing, broker, id);
}

/* --- what is known --- */

ww_status ww_keeping_prepare(struct ww_keeping *keeping)
{
	struct known *known = calloc(1, sizeof(*known));

	if (!known)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep an object: out of memory");
	pthread_mutex_lock(&lock);
	if (!keeping->known)
		keeping->known = ww_steal(known);
	pthread_mutex_unlock(&lock);
	free(known);
	return WW_OK;
}

ww_status ww_keeping_prepare_of(struct ww_attachments *thing, struct ww_broker *broker)
{
	struct ww_keeping *keeping = find(thing, broker);

	return keeping ? ww_keeping_prepare(keeping) : WW_OK;
}

void ww_keeping_note_state(struct ww_attachments *thing, struct ww_broker *broker, uint32_t state)
{
	struct ww_keeping *keeping = find(thing, broker);

	if (!keeping)
		return;
	pthread_mutex_lock(&lock);
	keeping->state = state;
	pthread_mutex_unlock(&lock);
}

void ww_keeping_note_part(struct ww_attachments *thing, struct ww_broker *broker, uint64_t offset,
	uint64_t bytes)
{
	struct ww_keeping *keeping = find(thing, broker);

	if (!keeping)
		return;
	pthread_mutex_lock(&lock);
	keeping->offset = offset;
	keeping->bytes = bytes;
	pthread_mutex_unlock(&lock);
}

bool ww_keeping_is_part(struct ww_attachments *thing, struct ww_broker *broker, uint64_t offset,
	uint64_t bytes)
{
	struct ww_keeping *keeping = find(thing, broker);
	bool is_part;

	if (!keeping || !ww_connection_is_held(broker, keeping->id))
		return true;
	pthread_mutex_lock(&lock);
	is_part = keeping->offset == offset && keeping->bytes == bytes;
	pthread_mutex_unlock(&lock);
	return is_part;
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
static void learn(struct ww_keeping *keeping, const struct ww_token_info *token,
	const uint8_t secret[WW_SECRET_BYTES], uint32_t access, const struct ww_object_info *info)
{
	struct known *known = keeping->known;

	if (!is_of(known, token)) {
		memset(known, 0, sizeof(*known));
		known->generation = token->generation;
		memcpy(known->broker_id, token->broker_id, sizeof(known->broker_id));
	}
	learn_secret(known, secret, access);
	if (info) {
		known->info = *info;
		known->has_info = true;
		keeping->state = info->state;
	}
}

void ww_keeping_learn(struct ww_attachments *thing, struct ww_broker *broker,
	const struct ww_token_info *token, const uint8_t secret[WW_SECRET_BYTES], uint32_t access,
	const struct ww_object_info *info)
{
	struct ww_keeping *keeping = find(thing, broker);

	pthread_mutex_lock(&lock);
	if (keeping && keeping->known)
		learn(keeping, token, secret, access, info);
	pthread_mutex_unlock(&lock);
}

/* Under the lock. */
static bool knows(const struct ww_keeping *keeping, const struct ww_token_info *token,
	const uint8_t secret[WW_SECRET_BYTES], uint32_t access, struct ww_object_info *out_info)
{
	const struct known *known = keeping->known;
	bool gives_access = false;

	if (!known || !is_of(known, token) || (out_info && !known->has_info) ||
		memcmp(keeping->id, token->object_id, sizeof(keeping->id)) != 0)
		return false;
	/* What is being written is not imported; what is sealed, not for writing. */
	if (keeping->state != WW_STATE_SHARED &&
		(keeping->state != WW_STATE_SEALED || access != WW_ACCESS_READ))
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

bool ww_keeping_knows(struct ww_attachments *thing, struct ww_broker *broker,
	const struct ww_token_info *token, const uint8_t secret[WW_SECRET_BYTES], uint32_t access,
	struct ww_object_info *out_info)
{
	struct ww_attachment *attachment = ww_attachments_first(thing);

	for (; attachment; attachment = attachment->next) {
		struct ww_keeping *keeping = ww_container(attachment, struct ww_keeping,
			attachment);
		bool is_known;

		if (attachment->detach != detach || (broker && keeping->broker != broker))
			continue;
		pthread_mutex_lock(&lock);
		is_known = knows(keeping, token, secret, access, out_info);
		pthread_mutex_unlock(&lock);
		if (is_known && ww_connection_is_held(keeping->broker, keeping->id))
			return true;
	}
	return false;
}
