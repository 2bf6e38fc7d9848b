/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.h - what broker.pxi, broker_put.pxi and broker_get.pxi have for the files in C
 *
 * Functions return 0 with an exception. core: core_only
 */
#ifndef CORE_BROKER_H
#define CORE_BROKER_H

#include "core.h"

/* @where: a Broker, or None */
int borrow_broker(struct core *core, PyObject *where, ww_broker **out_broker);

/* The arguments of a call that makes something of a device, and puts it into a broker, begin so. */
struct broker_call {
	ww_device *device; /* on success, it is the caller's */
	ww_broker *broker; /* borrowed, during the call; NULL: the default one */
};

/* @which, @where: a device and a broker, as users name them */
int broker_call_run(struct core *core, wait_fn fn, struct broker_call *call, PyObject *which,
	PyObject *where, PyObject *cancel);

/* Permission bits, for "O&", into a uint32_t; the id of a group, or None, which changes nothing. */
int convert_mode(PyObject *value, void *out_mode);
int convert_group(PyObject *value, void *out_gid);

/*
 * Looks at the object of a name, and waits for it up to a time limit.
 * @broker:  borrowed; NULL: the default one
 * Return: as ww_broker_stat() and ww_memory_get(); STATUS_RAISED.
 */
ww_status broker_await(struct core *core, ww_broker *broker, const char *name, uint64_t timeout_ns,
	PyObject *cancel, struct ww_object_info *out_info);
/* Whether this machine has a GPU that can be used. */
int broker_sees_gpu(void);

#endif
