/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold_ref.h - a thing that stands for a hold in a broker
 *
 * As long as a memory, a page of timelines or a membership lives that was put or got, this process
 * holds the object: the thing keeps one count of the hold, and the broker open. There is one hold
 * reference for each thing and broker; a second put or get of the same object finds it there. After
 * the broker was lost a thing may be put anew, as another object; then the new one counts.
 *
 * A hold reference remembers by which tokens the object was imported or exported here, and what the
 * broker said then. A caller that comes with such a token again needs no broker: this process holds
 * the object, and the broker would say the same.
 */
#ifndef WW_SHARE_HOLD_REF_H
#define WW_SHARE_HOLD_REF_H

#include "client/broker_client.h"
#include "memory/memory.h"
#include "wire/token.h"

struct ww_hold_ref;

/*
 * Made before it is needed, so that what was granted can be kept. Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status ww_hold_ref_new(struct ww_broker *broker, struct ww_hold_ref **out_hold_ref);
void ww_hold_ref_free(struct ww_hold_ref *hold_ref);

WW_DEFINE_CLEANUP(struct ww_hold_ref, ww_hold_ref_free)
#define WW_AUTO_HOLD_REF WW_CLEANUP(ww_hold_ref_free_p)

/* Has it ready to learn, see below. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status ww_hold_ref_prepare(struct ww_hold_ref *hold_ref);

/* Hands one count of the hold of the object @id over to the thing. Takes over @hold_ref. */
void ww_hold_ref_attach(struct ww_hold_ref *hold_ref, struct ww_attachments *thing,
	const uint8_t id[WW_OBJECT_ID_BYTES]);

/*
 * Whether this process holds an object in @broker by way of the thing; what the broker lost does
 * not count.
 */
bool ww_hold_ref_is_held(struct ww_attachments *thing, struct ww_broker *broker);

/* The same. @out_id: of that object, unless it returns false */
bool ww_hold_ref_find(struct ww_attachments *thing, struct ww_broker *broker,
	uint8_t out_id[WW_OBJECT_ID_BYTES]);

/*
 * For calls that put the thing: whether no hold of it is the parent's, in a child made by fork().
 * Return: WW_OK; WW_ERR_FORKED.
 */
ww_status ww_hold_ref_check(struct ww_attachments *thing);

/*
 * The broker that all hold references of the thing are of, borrowed; NULL: there is none, or more
 * than one.
 */
struct ww_broker *ww_hold_ref_only_broker(struct ww_attachments *thing);

/* The state that the object is in, as this process put it or was told. */
void ww_hold_ref_note_state(struct ww_attachments *thing, struct ww_broker *broker, uint32_t state);

/*
 * The hold reference of the object, if there is one, is made ready to learn. Return: WW_OK;
 * WW_ERR_NO_MEMORY.
 */
ww_status ww_hold_ref_prepare_of(struct ww_attachments *thing, struct ww_broker *broker);

/*
 * A token opened the object, or was made for it. One that was not prepared learns nothing.
 * @access:  that the secret is known to give
 * @info:    NULL, or what the broker said
 */
void ww_hold_ref_learn(struct ww_attachments *thing, struct ww_broker *broker,
	const struct ww_token_info *token, const uint8_t secret[WW_SECRET_BYTES], uint32_t access,
	const struct ww_object_info *info);

/*
 * Whether the broker need not be asked: the object is held, and the secret known to give @access.
 * @broker:    NULL: any that the token is from
 * @out_info:  NULL: not wanted; else what the broker said, without which it returns false
 */
bool ww_hold_ref_knows(struct ww_attachments *thing, struct ww_broker *broker,
	const struct ww_token_info *token, const uint8_t secret[WW_SECRET_BYTES], uint32_t access,
	struct ww_object_info *out_info);

#endif
