/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part_name.c - the names of a part of memory that was wrapped, see part_name.h
 */
#include "share/part_name.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/list.h"
#include "base/process.h"

struct ww_part_name {
	struct ww_attachment attachment; /* of the part */
	struct ww_list link;             /* in all_names, under lock */
	struct ww_memory *part;
	struct ww_broker *broker;      /* a reference */
	struct ww_wire_remove message; /* that takes the name */
	bool is_given_on;              /* under lock: another part has it now */
};

static pthread_mutex_t lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_list all_names WW_PER_PROCESS = WW_LIST_INIT(all_names); /* under lock */

/*
 * An older broker is not asked: it would end the object, which is of other parts, too.
 * Return: whether the broker has said that it does not have the name, or not for this memory.
 */
static bool remove_name(struct ww_part_name *part_name)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_mask();
	WW_AUTO_REQUEST struct ww_request request;
	struct ww_error record;
	ww_status status;

	ww_error_save(&record);
	ww_request_init(&request, WW_WIRE_REMOVE, WW_WIRE_DONE, &part_name->message);
	request.starts_none = true;
	status = ww_broker_client_ensure(part_name->broker, false);
	if (status == WW_OK)
		status = ww_broker_client_version(part_name->broker) >= WW_REMOVES_NAMES
			? ww_broker_client_ask(part_name->broker, &request)
			: WW_ERR_VERSION;
	ww_error_restore(&record);
	return status == WW_OK || status == WW_ERR_NOT_FOUND;
}

/* The bytes of an import may be of any part. */
static void lend(struct ww_memory *part)
{
	if (part->class->flags & WW_MEMORY_IS_WRAPPED)
		part->is_lent = true;
	else
		part->whole->is_lent = true;
}

static void detach(struct ww_attachment *attachment)
{
	struct ww_part_name *part_name = ww_container(attachment, struct ww_part_name, attachment);
	bool is_given_on;

	pthread_mutex_lock(&lock);
	ww_list_remove(&part_name->link);
	is_given_on = part_name->is_given_on;
	pthread_mutex_unlock(&lock);
	if (!is_given_on && !ww_ref_is_inherited(&part_name->broker->ref) &&
		!remove_name(part_name))
		lend(part_name->part);
	ww_part_name_free(part_name);
}

ww_status ww_part_name_new(const struct ww_memory *memory, struct ww_broker *broker,
	const char *name, struct ww_part_name **out_part_name)
{
	struct ww_part_name *part_name;

	*out_part_name = NULL;
	if (!name || !memory->mapping->is_wrapped)
		return WW_OK;
	part_name = calloc(1, sizeof(*part_name));
	if (!part_name)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a name: out of memory");
	memcpy(part_name->message.name, name, strlen(name));
	part_name->broker = ww_broker_ref(broker);
	part_name->attachment.owner = &all_names;
	part_name->attachment.detach = detach;
	*out_part_name = part_name;
	return WW_OK;
}

void ww_part_name_free(struct ww_part_name *part_name)
{
	if (!part_name)
		return;
	ww_broker_unref(part_name->broker);
	free(part_name);
}

void ww_part_name_attach(struct ww_part_name *part_name, struct ww_memory *memory,
	const uint8_t id[WW_OBJECT_ID_BYTES], bool is_answered)
{
	if (!part_name)
		return;
	part_name->part = memory;
	memcpy(part_name->message.id, id, sizeof(part_name->message.id));
	pthread_mutex_lock(&lock);
	ww_list_for_each (link, &all_names) {
		struct ww_part_name *other = ww_container(link, struct ww_part_name, link);

		if (is_answered && other->broker == part_name->broker &&
			!memcmp(&other->message, &part_name->message, sizeof(other->message)))
			other->is_given_on = true;
	}
	ww_list_append(&all_names, &part_name->link);
	pthread_mutex_unlock(&lock);
	ww_attachments_add(&memory->attachments, &part_name->attachment);
}
