/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeping.c - a memory that stands for a hold in a broker, see keeping.h
 *
 * The hold is named by the memory's object id, which is the object's in every broker.
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

void ww_keeping_attach(struct ww_keeping *keeping, struct ww_memory *memory)
{
	memcpy(keeping->id, memory->description.object_id, sizeof(keeping->id));
	if (!ww_memory_attach(memory, &keeping->attachment))
		detach(&keeping->attachment); /* one count is enough */
}

bool ww_keeping_is_held(struct ww_memory *memory, struct ww_broker *broker)
{
	const uint8_t *id = memory->description.object_id;

	return ww_memory_find_attachment(memory, broker) && ww_connection_is_held(broker, id);
}
