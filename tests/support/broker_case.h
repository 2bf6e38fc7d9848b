/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_case.h - what a case about brokers begins with
 *
 * A private broker, its address in WARPWAY_BROKER so that helpers find it too, the device under
 * test and a connection. When the scene ends the broker must be back where it was: no object, no
 * hold, no descriptor more than before.
 */
#ifndef WW_TESTS_SUPPORT_BROKER_CASE_H
#define WW_TESTS_SUPPORT_BROKER_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warpway/warpway.h>

#include "support/broker.h"
#include "support/check.h"

struct scene {
	struct broker daemon;
	ww_device *device;
	ww_broker *broker;
	uint64_t open_fds; /* of the broker process, with nothing but our connection */
};

extern struct scene scene;

/* A private broker that every user may connect to; or as the options say. */
void scene_begin(void);
void scene_begin_with(const struct broker_options *options);

/* Agents that are left end, and then the broker, which has nothing left. */
void scene_end(void);

/* Defines a case as CASE() does, with a scene that begins before it and ends after it. */
#define SCENE_CASE(case_name, case_needs) \
	CASE_BETWEEN(case_name, case_needs, scene_begin(), scene_end())

/* Defines a case that is one call, with such a scene. */
#define SCENE_CASE_CALL(case_name, case_needs, call) \
	SCENE_CASE(case_name, case_needs)            \
	{                                            \
		call;                                \
	}

/* Kills the broker and its supervisor instead. Nothing is left of the scene but the children. */
void scene_kill(void);

/* Kills the broker process, and waits until its supervisor has started another one. */
void scene_restart_broker(void);

/* Waits until another broker process than this one serves. */
void scene_has_other_broker(uint64_t pid);

struct ww_broker_info scene_info(void);

/* Asks the broker until it has so many. Our own connection is one of the holders. */
#define scene_has_objects(count) SCENE_MUST_HAVE(objects, count)
#define scene_has_holders(count) SCENE_MUST_HAVE(holders, count)
#define scene_has_holds(count)   SCENE_MUST_HAVE(holds, count)
#define scene_has_waits(count)   SCENE_MUST_HAVE(waits, count)
#define SCENE_MUST_HAVE(field, count) \
	scene_must_have(__FILE__, __LINE__, #field, offsetof(struct ww_broker_info, field), count)
void scene_must_have(const char *file, int line, const char *what, size_t offset, uint64_t count);

/* A memory of ours with a pattern in it. */
ww_memory *scene_make(uint64_t bytes, uint32_t seed);
void scene_put(ww_memory *memory, const char *name, uint32_t mode, uint32_t life, uint32_t state);
ww_memory *scene_get(const char *name, uint32_t access);

/* Imports by the broker of the scene. A token that is refused gives no memory. */
ww_status scene_import(const struct ww_token *token, uint32_t access, ww_memory **out_memory);

/* Asks the broker until something is so; false, and a note of how it is, after the limit. */
bool scene_comes_true(bool (*is_so)(const struct ww_broker_info *info, uint64_t value),
	uint64_t value);

#endif
