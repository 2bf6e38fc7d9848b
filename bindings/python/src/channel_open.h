/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_open.h - how a warpway.Channel is made: Channel(...), Channel.get()
 */
#ifndef CORE_CHANNEL_OPEN_H
#define CORE_CHANNEL_OPEN_H

#include "core.h"

PyObject *channel_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords);
PyObject *channel_get(PyObject *type, PyObject *arguments, PyObject *keywords);

#endif
