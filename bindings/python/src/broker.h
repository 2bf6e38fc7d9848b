/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.h - warpway.Broker inside the extension
 */
#ifndef CORE_BROKER_H
#define CORE_BROKER_H

#include "core.h"

struct broker_handle {
	struct handle base;
	PyObject *address; /* a str, also when it is closed */
};

/* broker_put.c */
PyObject *broker_put(PyObject *self, PyObject *arguments, PyObject *keywords);

/* broker_get.c */
PyObject *broker_get(PyObject *self, PyObject *arguments, PyObject *keywords);

/* broker_list.c: what is in a broker, and who uses it */
PyObject *broker_list(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *broker_stat(PyObject *self, PyObject *name);
PyObject *broker_remove(PyObject *self, PyObject *name);
PyObject *broker_who(PyObject *self, PyObject *unused);
PyObject *broker_held_elsewhere(PyObject *self, PyObject *unused);
PyObject *broker_in_flight(PyObject *self, PyObject *unused);
PyObject *broker_info(PyObject *self, PyObject *unused);

/* watch.c: Broker.watch() */
PyObject *broker_watch(PyObject *self, PyObject *arguments, PyObject *keywords);

#endif
