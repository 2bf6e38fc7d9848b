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

/* broker.c */
/* @where: a Broker, or None. Return: false with an exception. */
bool borrow_broker(struct core *core, PyObject *where, ww_broker **out_broker);

/* The arguments of a call that makes something of a device, and puts it into a broker, begin so. */
struct broker_call {
	ww_device *device; /* on success, it is the caller's */
	ww_broker *broker; /* borrowed, during the call; NULL: the default one */
};

/*
 * @which, @where:  a device and a broker, as users name them
 * Return: false with an exception.
 */
bool broker_call_run(struct core *core, wait_fn fn, struct broker_call *call, PyObject *which,
	PyObject *where, PyObject *cancel);

/* broker_put.c */
/* Permission bits, for "O&", into a uint32_t; the id of a group, or None, which changes nothing. */
int convert_mode(PyObject *value, void *out_mode);
int convert_group(PyObject *value, void *out_gid);
PyObject *broker_put(PyObject *self, PyObject *arguments, PyObject *keywords);

/* broker_get.c */
/*
 * Looks at the object of a name, and waits for it up to a time limit.
 * @broker:  borrowed; NULL: the default one
 * Return: as ww_broker_stat() and ww_memory_get(); STATUS_RAISED.
 */
ww_status broker_await(struct core *core, ww_broker *broker, const char *name, uint64_t timeout_ns,
	PyObject *cancel, struct ww_object_info *out_info);
/* Whether this machine has a GPU that can be used. */
bool broker_sees_gpu(void);
PyObject *broker_get(PyObject *self, PyObject *arguments, PyObject *keywords);

/* broker_list.c: what is in a broker, and who uses it */
PyObject *broker_list(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *broker_stat(PyObject *self, PyObject *name);
PyObject *broker_remove(PyObject *self, PyObject *name);
PyObject *broker_end(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *broker_who(PyObject *self, PyObject *unused);
PyObject *broker_held_elsewhere(PyObject *self, PyObject *unused);
PyObject *broker_in_flight(PyObject *self, PyObject *unused);
PyObject *broker_info(PyObject *self, PyObject *unused);

/* broker_totals.c: Broker.totals() */
PyObject *broker_totals(PyObject *self, PyObject *unused);

/* watch.c: Broker.watch() */
PyObject *broker_watch(PyObject *self, PyObject *arguments, PyObject *keywords);

#endif
