/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.h - warpway.Token inside the extension
 */
#ifndef CORE_TOKEN_H
#define CORE_TOKEN_H

#include "core.h"

struct ready_point;
struct sent;

/* The content of a token; false with an exception. */
bool token_info(struct core *core, const struct ww_token *token, struct ww_token_info *info);

/* The device for memory: @which, or the one that holds the bytes. */
ww_device *token_device(struct core *core, const uint8_t *home_uuid, PyObject *which);

/*
 * The device that holds the bytes, if this process has used it; it is not opened for what is passed
 * on only. Return: a reference; NULL without an exception.
 */
ww_device *token_used_device(const struct core *core, const struct ww_token_info *info);

/*
 * Maps a slice of a chunk that this process has mapped, which costs less than a hold now and a
 * mapping later. The device is one that this process uses: so it is not opened for what is passed
 * on only.
 * Return: a reference; NULL without an exception: the slice is to be held.
 */
ww_memory *token_map_at_once(const struct core *core, const struct ww_token *token,
	const struct ww_token_info *info);

/*
 * A Memory that holds what the token names, and is mapped by its first use; a slice of a chunk that
 * this process has mapped is mapped at once.
 * Return: NULL with an exception.
 */
PyObject *token_hold(struct core *core, const struct ww_token *token,
	const struct ww_token_info *info);

/* The timeline of a token, for the caller; token_open_timeline() makes an object of it. */
ww_status token_timeline(struct core *core, const struct ww_token *token,
	ww_timeline **out_timeline);
PyObject *token_open_timeline(struct core *core, const struct ww_token *token);

/* Return: NULL with an exception: the token's object cannot be opened from Python. */
PyObject *token_fail_kind(struct core *core);

/* A token with uses and an escrow is a delivery: it is kept as long as this process lives. */
void token_deliver(struct ww_export_params *params);

/*
 * What says which object to open: a str, its name, or a Token.
 * @out_name, @out_token:  one of them is set
 * @out_text:              a reference that keeps the name, or NULL
 * Return: false with an exception.
 */
bool read_name_or_token(struct core *core, PyObject *value, const char **out_name,
	const struct ww_token **out_token, PyObject **out_text);

/* A Token that may be received as often as @sent says. */
PyObject *token_object_sent(struct core *core, const struct ww_token *token,
	const struct sent *sent);
/* The point at which the bytes that a Token names are ready. */
void token_set_ready(PyObject *self, const struct ready_point *point);

/*
 * In token_pickle.c: what __reduce__ returns. The second form is for a token that may be received
 * as often as @sent says, with the point at which its bytes are ready.
 */
PyObject *token_pickle(struct core *core, const struct ww_token *token);
PyObject *token_pickle_ready(struct core *core, const struct ww_token *token,
	const struct ready_point *point, const struct sent *sent);

/* The function that pickles name. */
PyObject *token_unpickle(PyObject *module, PyObject *payload);

/* Seconds, or None: WW_ESCROW_NONE. For "O&", into a uint64_t. */
int convert_escrow(PyObject *value, void *out_ns);
/* A count of uses. For "O&", into a uint32_t. */
int convert_uses(PyObject *value, void *out_uses);

#endif
