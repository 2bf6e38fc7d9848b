/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_fixture.h - a registry in one process that is broker and keeper at once
 *
 * The vault's numbers are open here, so a registry that is closed and opened again finds what a new broker would
 * find. What the vault says to its keeper is read and thrown away.
 */
#ifndef WW_BROKER_REGISTRY_FIXTURE_H
#define WW_BROKER_REGISTRY_FIXTURE_H

#include "base/unit.h"

#include <stdbool.h>

#include "base/fd.h"
#include "broker/registry.h"

#define FIRST 400
#define LIMIT 900

struct fixture {
	uv_loop_t loop;
	struct vault vault;
	struct registry registry;
	struct config *config;
	int keeper;       /* our end */
	int broker;       /* the vault's */
	int file;         /* something to keep */
	uint32_t told[8]; /* how often each kind of change was told */
};

/* For cmocka: a registry that is open and empty; and its end. */
int fixture_start(void **state);
int fixture_stop(void **state);

/* Reads what the vault says to its keeper. */
void drain(struct fixture *fixture);

ww_status open_registry(struct fixture *fixture);
void close_registry(struct fixture *fixture);

/* As when the broker is killed and another one started. */
void restart(struct fixture *fixture);

struct holder *add_holder(struct fixture *fixture, uint8_t number, uid_t uid);

/* A put of an object whose id is this number; shared, of 1000 bytes and @number more. */
struct ww_wire_put describe(uint32_t number, const char *name, uint8_t life);

ww_status try_put(struct fixture *fixture, struct holder *maker, const struct ww_wire_put *put,
	size_t fd_count, struct object **out_object);
struct object *put(struct fixture *fixture, struct holder *maker, uint32_t number, const char *name,
	uint8_t life, size_t fd_count);

struct object *find(struct fixture *fixture, uint32_t number);
struct holder *find_holder(struct fixture *fixture, uint8_t number);

void must_have(struct fixture *fixture, uint32_t objects, uint32_t holders, uint32_t holds,
	uint64_t fds);
void must_be_empty(struct fixture *fixture);

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_start, fixture_stop)

#endif
