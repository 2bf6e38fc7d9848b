/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.h - warpway.Service and warpway.Call inside the extension
 *
 *   Service ──> service_state ──> ww_service ──(calls)──> offer_run() ──> the Python function
 *      │                                                       ^
 *      └── kept: an Offer for each function, which it keeps ───┘ borrowed
 *
 * What a ww_service calls must be there as long as it is. So a Service keeps the offers until the
 * ww_service has ended. A thread that serves has a reference of the Service.
 */
#ifndef CORE_SERVICE_H
#define CORE_SERVICE_H

#include "core.h"

#include "call_value.h"

struct service_state {
	int refs;      /* atomic */
	int is_closed; /* atomic: threads that serve are to stop */
	int ready_fd;  /* of fileno(); -1: it was not asked for; under the GIL */
	ww_service *service;
	ww_device *device;
};

/* A function that is offered: an Offer of offer.pxi. */
struct offer;

/* A thread that serves, while it does. */
struct serving {
	struct service_state *state;
	ww_cancel *cancel;                  /* of this wait; or NULL */
	PyObject *type, *error, *traceback; /* what a function raised that ends the serving */
};

/* --- service.c --- */

extern const struct handle_class service_class;
PyTypeObject *service_type_make(PyObject *module);

/* --- serve.c --- */

PyObject *service_serve(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *service_fileno(PyObject *self, PyObject *unused);
/* The thread's; NULL: it does not serve. */
struct serving *serving_now(void);
/* Whether the Service that the thread serves was closed. */
bool serving_is_over(void);

/* --- offer.pxi --- */

/* An Offer. @name: a str. Return: NULL with an exception. */
PyObject *offer_new(struct core *core, const char *signature, PyObject *name, PyObject *function,
	ww_device *device, int wants_call, int is_batch, struct offer **out_offer);
/* A ww_service_fn and a ww_service_batch_fn; @context is a struct offer. */
ww_status offer_run(void *context, ww_call *call);
ww_status offer_run_batch(void *context, ww_call *const *calls, uint32_t count);

/* --- call.c --- */

PyTypeObject *call_type_make(PyObject *module);
PyObject *call_object(struct core *core, ww_call *call);
/* The function has returned. */
void call_end(PyObject *self);

/* --- service_info.c --- */

PyObject *service_info_object(struct core *core, const struct ww_service_info *info);
typedef ww_status (*function_info_fn)(void *context, uint32_t index, struct ww_function_info *info);
/* A list of FunctionInfo. @get: WW_END ends the list; a status of client.h may come, too */
PyObject *function_infos(struct core *core, function_info_fn get, void *context);

#endif
