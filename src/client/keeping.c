/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeping.c - a thing that stands for a hold in a broker, see keeping.h
 */
#include "client/keeping.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct ww_keeping {
	struct ww_attachment attachment;
	struct ww_broker *broker; /* a reference */
	uint8_t id[WW_OBJECT_ID_BYTES];
};

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
	free(keeping);
}

/* Return: NULL when there is none. */
static const struct ww_keeping *find(struct ww_attachments *thing, struct ww_broker *broker)
{
	struct ww_attachment *attachment = ww_attachments_find(thing, broker);

	return attachment ? ww_container(attachment, struct ww_keeping, attachment) : NULL;
}

void ww_keeping_attach(struct ww_keeping *keeping, struct ww_attachments *thing,
	const uint8_t id[WW_OBJECT_ID_BYTES])
{
	const struct ww_keeping *former = find(thing, keeping->broker);

	memcpy(keeping->id, id, sizeof(keeping->id));
	if (former && memcmp(former->id, id, sizeof(former->id)) == 0)
		detach(&keeping->attachment); /* one count is enough */
	else
		ww_attachments_add(thing, &keeping->attachment);
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
