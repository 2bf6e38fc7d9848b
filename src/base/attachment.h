/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attachment.h - what lasts exactly as long as something else does
 *
 * A layer above hangs something on a thing of a layer below, which knows only when to let go of it.
 * Of one owner's attachments the newest counts; older ones stay, because a thread may still read
 * them. The layer that makes an attachment embeds it in its own struct.
 */
#ifndef WW_BASE_ATTACHMENT_H
#define WW_BASE_ATTACHMENT_H

struct ww_attachment {
	struct ww_attachment *next;
	const void *owner;
	/* Called once, by ww_attachments_fini(); frees it. */
	void (*detach)(struct ww_attachment *attachment);
};

/* Of one thing; all zero: none. Under a lock that all of them share. */
struct ww_attachments {
	struct ww_attachment *first;
};

/* @attachment: the thing's from now on */
void ww_attachments_add(struct ww_attachments *attachments, struct ww_attachment *attachment);

/* Return: the newest, valid as long as the caller holds the thing; NULL when there is none. */
struct ww_attachment *ww_attachments_find(struct ww_attachments *attachments, const void *owner);

/* Return: the newest of all, as above; the others follow by their `next`, which does not change. */
struct ww_attachment *ww_attachments_first(struct ww_attachments *attachments);

/* Detaches all; no other code has the thing any more. */
void ww_attachments_fini(struct ww_attachments *attachments);

#endif
