/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_fixture.h - a registry in one process that is broker and supervisor at once
 *
 * The fdstore's numbers are open here, so a registry that is closed and opened again finds what a
 * new broker would find. What the fdstore says to its supervisor is read and thrown away.
 */
#ifndef WW_DAEMON_REGISTRY_REGISTRY_FIXTURE_H
#define WW_DAEMON_REGISTRY_REGISTRY_FIXTURE_H

#include "base/unit_test.h"

#include <stdbool.h>

#include "base/clock.h"
#include "base/fd.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/object.h"
#include "daemon/registry/name.h"
#include "daemon/registry/registry.h"

#define FIRST 400
#define LIMIT 900

/* A point in time that no test reaches. */
#define FAR (ww_clock_now_ns() + UINT64_C(3600000000000))

struct fixture {
	uv_loop_t loop;
	struct fdstore fdstore;
	struct registry registry;
	struct config *config;
	int supervisor;        /* our end */
	int broker;            /* the fdstore's */
	int file;              /* something to keep */
	uint32_t told[9];      /* how often each kind of change was told */
	uint32_t told_unnamed; /* how often that was only the end of a name */
};

/* For cmocka: a registry that is open and empty; and its end. */
int fixture_start(void **state);
int fixture_stop(void **state);

/* Reads what the fdstore says to its supervisor. */
void drain(struct fixture *fixture);

ww_status open_registry(struct fixture *fixture);
void close_registry(struct fixture *fixture);

/* As when the broker is killed and another one started. */
void restart(struct fixture *fixture);

struct holder *add_holder(struct fixture *fixture, uint8_t number, uid_t uid);

/* A put of an object whose id is this number; shared, of 1000 bytes and @number more. */
struct ww_wire_put describe(uint32_t number, const char *name, uint8_t life);

ww_status try_put(struct fixture *fixture, struct holder *creator, const struct ww_wire_put *put,
	size_t fd_count, struct object **out_object);
struct object *put(struct fixture *fixture, struct holder *creator, uint32_t number,
	const char *name, uint8_t life, size_t fd_count);

struct object *find(struct fixture *fixture, uint32_t number);

/* The object that is found by a name; NULL: none. */
static inline struct object *find_name(const struct registry *registry, const char *text)
{
	return name_find(registry, text).object;
}
struct holder *find_holder(struct fixture *fixture, uint8_t number);

void must_have(struct fixture *fixture, uint32_t objects, uint32_t holders, uint32_t holds,
	uint64_t fds);
void must_be_empty(struct fixture *fixture);

/*
 * The body of a test sees its `fixture`, and the `registry` of that. Behind the body @must_end says
 * what has to be left.
 */
#define FIXTURE_TEST(name, set_up, tear_down, must_end)                               \
	static void name##_steps(struct fixture *fixture, struct registry *registry); \
	UNIT_TEST_ON(name, set_up, tear_down, struct fixture *fixture)                \
	{                                                                             \
		name##_steps(fixture, &fixture->registry);                            \
		must_end(fixture);                                                    \
	}                                                                             \
	static void name##_steps(__attribute__((unused)) struct fixture *fixture,     \
		__attribute__((unused)) struct registry *registry)

/* Nothing may be left. */
#define REGISTRY_TEST(name) FIXTURE_TEST(name, fixture_start, fixture_stop, must_be_empty)

#endif
