/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.h - warpway.WorkQueue and warpway.WorkFrame inside the extension
 *
 * They are made of what Channel and Frame are made of (channel.h): the object of a WorkQueue is a
 * struct channel_state, and a WorkFrame has a hold, which may outlive it. A received frame whose
 * hold ends is acknowledged if the program said that its work is done, else it is given back.
 */
#ifndef CORE_WORK_QUEUE_H
#define CORE_WORK_QUEUE_H

#include "channel.h"

extern const struct handle_class work_queue_class;

/* --- work_queue.pxi --- */

/* Raises that a member of this role cannot acquire, or receive. Return: NULL. */
PyObject *work_queue_refuse_role(PyObject *self, const struct channel_state *state, bool acquires);
/* A consumer. @which: a device, or None: the default one */
PyObject *work_queue_open_token(struct core *core, const struct ww_token *token, PyObject *which);

/* --- work_frame.c --- */

PyTypeObject *work_frame_type_make(PyObject *module);

#endif
