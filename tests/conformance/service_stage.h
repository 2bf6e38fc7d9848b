/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_stage.h - a service with the functions of support/service.h, or with built-in ones, and a
 * client of it
 */
#ifndef WW_TESTS_CONFORMANCE_SERVICE_STAGE_H
#define WW_TESTS_CONFORMANCE_SERVICE_STAGE_H

#include <pthread.h>

#include "conformance/conformance.h"
#include "support/broker_case.h"
#include "support/service.h"

#define SERVICES (WW_CAP_EXPORT | WW_CAP_HOST_READ_ONLY | WW_CAP_STREAM_VALUE)
#define FOREVER  WW_FOREVER
#define BYTES    4096
#define UNIT     (UINT64_C(2) << 20) /* a memory has a multiple of so many bytes */

#define SERVICE(...) WW_PARAMS(struct ww_service_params, __VA_ARGS__)
#define SUBMIT(...)  WW_PARAMS(struct ww_submit_params, __VA_ARGS__)

#define ALL_BUILTIN (WW_SERVICE_BUILTIN_DATA | WW_SERVICE_BUILTIN_ALLOC)

/* Calls a function, and expects it to succeed, or to be refused. */
#define COUNT(...) CHECK_COUNT(((struct ww_value[]){__VA_ARGS__}))
#define CALL(stage, name, ...)                                                       \
	stage_call_by((stage)->client, name, (const struct ww_value[]){__VA_ARGS__}, \
		COUNT(__VA_ARGS__))
#define REFUSED(stage, status, words, name, ...)                                         \
	MUST_REFUSE(status, words,                                                       \
		stage_try((stage)->client, name, (const struct ww_value[]){__VA_ARGS__}, \
			COUNT(__VA_ARGS__), NULL))

struct stage {
	ww_service *service;
	ww_client *client;
	ww_cancel *cancel;
	pthread_t threads[4];
	uint32_t thread_count;
};

/* A service "s". open: nobody serves yet. begin: a thread does. @params: may be NULL */
void stage_open(struct stage *stage, const struct ww_service_params *params);
void stage_begin(struct stage *stage, const struct ww_service_params *params);
void stage_start_thread(struct stage *stage); /* one more, which serves */
void stage_end(struct stage *stage);
void stage_stop(struct stage *stage); /* the same, but the scene goes on */

/* Defines a case as CASE() does, with a `stage` that begins before it and ends after it. */
#define STAGE_CASE(case_name, case_needs) \
	CASE_WITH(case_name, case_needs, stage, stage_begin(&stage, NULL), stage_end)

/* Only with built-in functions. @name: of the service, or NULL */
void stage_begin_builtin(struct stage *stage, const char *name,
	const struct ww_service_params *params);
/* A service "s" of which a user can have 2 UNIT of memory. @builtin: WW_SERVICE_BUILTIN_... */
void stage_begin_with(struct stage *stage, uint64_t builtin);

/* One more client, of the same user. */
ww_client *stage_client(struct stage *stage);

/* Waits until the server knows so many clients. */
void stage_has_clients(struct stage *stage, uint32_t count);

uint32_t stage_find(ww_client *client, const char *name);

/* submit: by the client, in lane 0. call: the same, and waits for it. */
ww_ticket *stage_submit(struct stage *stage, const char *name, const struct ww_value *values,
	uint32_t count);
ww_ticket *stage_call(struct stage *stage, const char *name, const struct ww_value *values,
	uint32_t count);

/* By another client. @out_ticket: NULL: not wanted */
ww_status stage_try(ww_client *client, const char *name, const struct ww_value *values,
	uint32_t count, ww_ticket **out_ticket);
ww_ticket *stage_call_by(ww_client *client, const char *name, const struct ww_value *values,
	uint32_t count);

/* Waits until its function has been started. */
void stage_wait_started(ww_ticket *ticket);

struct ww_value value_u32(uint32_t value);
struct ww_value value_true(void);
struct ww_value value_text(const char *text);
struct ww_value value_none(void);

#endif
