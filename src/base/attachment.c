/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attachment.c - what lasts exactly as long as something else does, see attachment.h
 */
#include "base/attachment.h"

#include <pthread.h>
#include <stddef.h>

#include "base/process.h"

/* Of all lists; nothing is taken inside it. */
static pthread_mutex_t lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;

void ww_attachments_add(struct ww_attachments *attachments, struct ww_attachment *attachment)
{
	pthread_mutex_lock(&lock);
	attachment->next = attachments->first;
	attachments->first = attachment;
	pthread_mutex_unlock(&lock);
}

struct ww_attachment *ww_attachments_find(struct ww_attachments *attachments, const void *owner)
{
	struct ww_attachment *attachment;

	pthread_mutex_lock(&lock);
	attachment = attachments->first;
	while (attachment && attachment->owner != owner)
		attachment = attachment->next;
	pthread_mutex_unlock(&lock);
	return attachment;
}

struct ww_attachment *ww_attachments_first(struct ww_attachments *attachments)
{
	struct ww_attachment *attachment;

	pthread_mutex_lock(&lock);
	attachment = attachments->first;
	pthread_mutex_unlock(&lock);
	return attachment;
}

void ww_attachments_fini(struct ww_attachments *attachments)
{
	while (attachments->first) {
		struct ww_attachment *attachment = attachments->first;

		attachments->first = attachment->next;
		attachment->detach(attachment);
	}
}
