/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_stage.h - a service with built-in functions that a thread serves, and a client of it
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
#define ALL_BUILTIN  (WW_SERVICE_BUILTIN_DATA | WW_SERVICE_BUILTIN_ALLOC)

/* Calls a function, and expects it to succeed, or to be refused. */
#define COUNT(...) CHECK_COUNT(((struct ww_value[]){__VA_ARGS__}))
#define CALL(stage, name, ...)                                                    \
	stage_call((stage)->client, name, (const struct ww_value[]){__VA_ARGS__}, \
		COUNT(__VA_ARGS__))
#define REFUSED(stage, status, words, name, ...)                                         \
	MUST_REFUSE(status, words,                                                       \
		stage_try((stage)->client, name, (const struct ww_value[]){__VA_ARGS__}, \
			COUNT(__VA_ARGS__), NULL))

struct stage {
	ww_service *service;
	ww_client *client;
	ww_cancel *cancel;
	pthread_t thread;
};

void stage_begin(struct stage *stage, const char *name, const struct ww_service_params *params);

/* A service "s" of which a user can have 2 UNIT of memory. @builtin: WW_SERVICE_BUILTIN_... */
void stage_begin_with(struct stage *stage, uint64_t builtin);
void stage_end(struct stage *stage);

/* The same, but the scene goes on. */
void stage_stop(struct stage *stage);

/* One more client, of the same user. */
ww_client *stage_client(struct stage *stage);

/* Waits until the server knows so many clients. */
void stage_has_clients(struct stage *stage, uint32_t count);

/* @out_ticket: NULL: not wanted */
ww_status stage_try(ww_client *client, const char *name, const struct ww_value *values,
	uint32_t count, ww_ticket **out_ticket);
ww_ticket *stage_call(ww_client *client, const char *name, const struct ww_value *values,
	uint32_t count);

struct ww_value value_u32(uint32_t value);
struct ww_value value_true(void);
struct ww_value value_text(const char *text);
struct ww_value value_none(void);

#endif
