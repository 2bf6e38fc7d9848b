/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_end_test.c - the end of a pool whose parts have names
 */
#include "daemon/registry/last_will_fixture.h"

#include <setjmp.h>
#include <string.h>

#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/object.h"

static jmp_buf killed;

static void kill_at_second(void *context, struct name name, uint8_t what)
{
	struct fixture *fixture = context;

	(void)name;
	(void)what;
	if (fixture->told[0]++ == 1)
		longjmp(killed, 1);
}

static struct object *put_pool(struct fixture *fixture, struct holder *creator)
{
	struct ww_wire_put put = describe(PAGE_NUMBER, "", WW_WIRE_LIFE_HELD);
	const int fds[2] = {ours.reader, ours.writer};
	struct object *object;

	put.kind = WW_WIRE_KIND_POOL;
	put.state = WW_WIRE_STATE_SHARED;
	memcpy(put.fd_access, (uint8_t[8]){3, LAST_WILL_ACCESS}, 8);
	assert_ok(object_put(&fixture->registry, creator, &put, fds, 2, 0, 0, &object));
	drain(fixture);
	return object;
}

static void add_part(struct fixture *fixture, struct object *pool, const char *name)
{
	struct ww_wire_put put = describe(PAGE_NUMBER, name, WW_WIRE_LIFE_OWNER);

	put.part = 5;
	assert_ok(object_add_name(&fixture->registry, pool, 7, &put, 7));
}

/* The broker is killed while the pool is ended by a request, and its creator lives. */
PAGE_TEST(ending_pool_keeps_its_creator)
{
	struct process process;
	struct holder *creator = start_holder(fixture, 1, &process);
	struct object *pool = put_pool(fixture, creator);

	add_part(fixture, pool, "a");
	add_part(fixture, pool, "b");
	registry->changed = kill_at_second;
	if (setjmp(killed) == 0)
		object_end(registry, pool, WW_WIRE_WHAT_REMOVED);
	restart(fixture);
	must_live();
	holder_end(registry, find_holder(fixture, 1));
	kill_process(&process);
	must_become_empty(fixture);
}

/* The same, while it ends with its creator, or that one releases it: the next broker goes on. */
PAGE_TEST(ending_pool_ends)
{
	for (int is_release = 0; is_release < 2; is_release++) {
		struct process process;
		struct holder *creator = start_holder(fixture, 1, &process);
		struct object *pool = put_pool(fixture, creator);

		add_part(fixture, pool, "a");
		add_part(fixture, pool, "b");
		registry->changed = kill_at_second;
		fixture->told[0] = 0;
		if (setjmp(killed) == 0) {
			if (is_release)
				hold_drop(registry, hold_find(registry, creator, pool));
			else
				holder_end(registry, creator);
		}
		restart(fixture);
		assert_null(find(fixture, PAGE_NUMBER));
		assert_null(find_name(registry, "a"));
		assert_null(find_name(registry, "b"));
		kill_process(&process);
		must_become_empty(fixture);
		renew_page();
	}
}

UNIT_MAIN("object_end")
