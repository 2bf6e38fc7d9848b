/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.h - what warpway.Timeline and warpway.Event have in common
 */
#ifndef CORE_SYNC_H
#define CORE_SYNC_H

#include "core.h"

/* A value of a timeline. For "O&", into a uint64_t. */
int timeline_convert_value(PyObject *value, void *out_value);

/* The arguments and the result of an export. */
struct sync_export {
	void *object;      /* a ww_timeline or ww_event; borrowed */
	ww_broker *broker; /* borrowed; NULL: the default one */
	struct ww_token_params params;
	struct ww_token token;
};

/*
 * The method token().
 * @run: exports; its call is a struct sync_export
 */
PyObject *sync_token(PyObject *self, PyObject *arguments, PyObject *keywords,
	const struct handle_class *class, wait_fn run);

extern const char sync_token_doc[];

#endif
