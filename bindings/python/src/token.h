/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.h - warpway.Token inside the extension
 */
#ifndef CORE_TOKEN_H
#define CORE_TOKEN_H

#include "core.h"

/*
 * Maps the memory of a token.
 * @which:  a device, or None: the one that holds the bytes, if this process sees it
 * @access: WW_ACCESS_...; 0: what the token grants
 * Return: a reference; NULL with an exception.
 */
ww_memory *token_map(struct core *core, const struct ww_token *token, PyObject *which,
	uint32_t access);

/* The content of a token; false with an exception. */
bool token_info(struct core *core, const struct ww_token *token, struct ww_token_info *info);

/* The device for a token's memory: @which, or the one that holds the bytes. */
ww_device *token_device(struct core *core, const struct ww_token_info *info, PyObject *which);

/* What __reduce__ returns; the second form with the point at which an array is ready. */
PyObject *token_pickle(struct core *core, const struct ww_token *token);
PyObject *token_pickle_ready(struct core *core, const struct ww_token *token,
	const struct ww_token *timeline, uint64_t value);

/* The function that pickles name. */
PyObject *token_unpickle(PyObject *module, PyObject *payload);

/* Seconds, or None: WW_ESCROW_NONE. For "O&", into a uint64_t. */
int convert_escrow(PyObject *value, void *out_ns);
/* A count of uses. For "O&", into a uint32_t. */
int convert_uses(PyObject *value, void *out_uses);

#endif
