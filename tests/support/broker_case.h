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

/* The broker has nothing left, and ends. */
void scene_end(void);

/* Defines a case as CASE() does, with a scene that begins before it and ends after it. */
#define SCENE_CASE(case_name, case_needs)       \
	static void case_name##_in_scene(void); \
	CASE(case_name, case_needs)             \
	{                                       \
		scene_begin();                  \
		case_name##_in_scene();         \
		scene_end();                    \
	}                                       \
	static void case_name##_in_scene(void)

/* Kills the broker and its supervisor instead. Nothing is left of the scene but the children. */
void scene_kill(void);

struct ww_broker_info scene_info(void);

/* Asks the broker until it has so many; fails after the limit. */
void scene_has_objects(uint64_t count);
void scene_has_waits(uint64_t count);
void scene_has_holders(uint64_t count); /* our own connection is one */

/* A memory of ours with a pattern in it. */
ww_memory *scene_make(uint64_t bytes, uint32_t seed);
void scene_put(ww_memory *memory, const char *name, uint32_t mode, uint32_t life, uint32_t state);
ww_memory *scene_get(const char *name, uint32_t access);

/* Asks the broker until something is so; false, and a note of how it is, after the limit. */
bool scene_comes_true(bool (*is_so)(const struct ww_broker_info *info, uint64_t value),
	uint64_t value);

#endif
