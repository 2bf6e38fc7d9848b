/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_fixture.c - a registry for tests, see registry_fixture.h
 */
#include "daemon/registry/registry_fixture.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/packet.h"

void drain(struct fixture *fixture)
{
	uint8_t packet[256];
	int fds[WW_PACKET_FDS];
	size_t fd_count;
	size_t bytes;

	while (fixture->supervisor >= 0 &&
		ww_packet_receive(fixture->supervisor, packet, sizeof(packet), &bytes, fds,
			&fd_count) == WW_OK) {
		while (fd_count > 0)
			ww_fd_close(fds[--fd_count]);
	}
}

static void on_change(void *context, struct name name, uint8_t what)
{
	struct fixture *fixture = context;

	if (what & REGISTRY_NAME_ONLY)
		fixture->told_unnamed++;
	what &= (uint8_t)~REGISTRY_NAME_ONLY;
	assert_in_range(what, REGISTRY_LEFT, WW_WIRE_WHAT_REPLACED);
	assert_int_not_equal(object_record(&fixture->registry, name.object)->kind, 0);
	fixture->told[what]++;
}

/* Whatever the parent has left open: the numbers of the fdstore must be free. */
__attribute__((constructor)) static void close_inherited(void)
{
	close_range(STDERR_FILENO + 1, ~0U, 0);
}

ww_status open_registry(struct fixture *fixture)
{
	struct registry *registry = &fixture->registry;

	assert_ok(fdstore_open(&fixture->fdstore, fixture->broker, FIRST, LIMIT));
	memset(registry, 0, sizeof(*registry));
	registry->fdstore = &fixture->fdstore;
	registry->loop = &fixture->loop;
	registry->changed = on_change;
	registry->context = fixture;
	registry->accounts.config = fixture->config;
	registry->accounts.fd_limit = UINT64_C(2) * (LIMIT - FIRST);
	return registry_open(registry);
}

void close_registry(struct fixture *fixture)
{
	registry_close(&fixture->registry);
	fdstore_close(&fixture->fdstore);
	uv_run(&fixture->loop, UV_RUN_DEFAULT);
	drain(fixture);
}

void restart(struct fixture *fixture)
{
	close_registry(fixture);
	assert_ok(open_registry(fixture));
	drain(fixture);
}

int fixture_start(void **state)
{
	static struct fixture fixture;
	int pair[2];

	memset(&fixture, 0, sizeof(fixture));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ||
		uv_loop_init(&fixture.loop) || config_read(NULL, &fixture.config) < 0)
		return -1;
	fixture.supervisor = pair[0];
	fixture.broker = pair[1];
	fixture.file = memfd_create("test", MFD_CLOEXEC);
	*state = &fixture;
	return open_registry(&fixture);
}

int fixture_stop(void **state)
{
	struct fixture *fixture = *state;

	close_registry(fixture);
	config_free(fixture->config);
	ww_fd_close(fixture->supervisor);
	ww_fd_close(fixture->broker);
	ww_fd_close(fixture->file);
	close_range(FIRST, LIMIT, 0);
	return uv_loop_close(&fixture->loop);
}

struct holder *add_holder(struct fixture *fixture, uint8_t number, uid_t uid)
{
	uint8_t process_id[16] = {number};
	struct holder *holder;

	assert_ok(holder_add(&fixture->registry, process_id, 1000 + number, uid, uid, -1, "test",
		&holder));
	return holder;
}

struct ww_wire_put describe(uint32_t number, const char *name, uint8_t life)
{
	struct ww_wire_put put = {
		.kind = WW_WIRE_KIND_MEMORY,
		.state = WW_WIRE_STATE_SHARED,
		.life = life,
		.mode = 0600,
		.bytes = 1000 + number,
		.fd_access = {3, 3, 3},
		.description_bytes = 2,
		.description = {1, 2},
	};

	memcpy(put.id, &number, sizeof(number));
	memcpy(put.name, name, strnlen(name, sizeof(put.name) - 1));
	return put;
}

ww_status try_put(struct fixture *fixture, struct holder *creator, const struct ww_wire_put *put,
	size_t fd_count, struct object **out_object)
{
	const int fds[3] = {fixture->file, fixture->file, fixture->file};
	ww_status status = object_put(&fixture->registry, creator, put, fds, fd_count, 0, 0,
		out_object);

	drain(fixture);
	return status;
}

struct object *put(struct fixture *fixture, struct holder *creator, uint32_t number,
	const char *name, uint8_t life, size_t fd_count)
{
	const struct ww_wire_put message = describe(number, name, life);
	struct object *object;

	assert_ok(try_put(fixture, creator, &message, fd_count, &object));
	return object;
}

struct object *find(struct fixture *fixture, uint32_t number)
{
	uint8_t id[16] = {0};

	memcpy(id, &number, sizeof(number));
	return object_find_id(&fixture->registry, id);
}

struct holder *find_holder(struct fixture *fixture, uint8_t number)
{
	const uint8_t process_id[16] = {number};

	return holder_find(&fixture->registry, process_id);
}

void must_have(struct fixture *fixture, uint32_t objects, uint32_t holders, uint32_t holds,
	uint64_t fds)
{
	const struct registry *registry = &fixture->registry;

	assert_int_equal(registry->object_table.used, objects);
	assert_int_equal(registry->holder_table.used, holders);
	assert_int_equal(registry->hold_table.used, holds);
	assert_int_equal(registry->accounts.fds, fds);
	assert_int_equal(fixture->fdstore.used, REGISTRY_TABLES + fds);
}

void must_be_empty(struct fixture *fixture)
{
	must_have(fixture, 0, 0, 0, 0);
	assert_int_equal(fixture->registry.accounts.by_uid.count, 0);
	assert_int_equal(fixture->registry.bytes, 0);
}
