/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier.h - warpway.Barrier inside the extension
 */
#ifndef CORE_BARRIER_H
#define CORE_BARRIER_H

#include "core.h"

/* A Barrier, of which this process is no member yet. */
PyObject *barrier_object(struct core *core, const struct ww_token *token);

#endif
