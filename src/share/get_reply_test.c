/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get_reply_test.c - put, get, export and import, as packets: what is sent, and what is believed of
 * what comes
 */
#include "client/fake_broker.h"

#include <fcntl.h>

#include <warpway/broker.h>

#include "client/broker_client.h"
#include "share/object_info.h"
#include "memory/memory.h"

/* A memory of another process, so to speak: its descriptors and what describes them. */
struct sample {
	ww_device *device;
	ww_memory *memory;
	uint8_t id[WW_WIRE_ID_BYTES];
	int fds[2]; /* for reading, for writing */
	uint64_t bytes;
};

static struct sample sample;
static struct ww_array sample_array;

static ww_memory *make_memory(ww_device *device)
{
	ww_memory *memory;

	ww_assert(ww_memory_create(device,
			  WW_PARAMS(struct ww_memory_params, .kind = WW_MEMORY_HOST, .bytes = 4096),
			  &memory) == WW_OK);
	return memory;
}

static int make_sample(void **state)
{
	struct ww_memory_description description;
	const int64_t shape[] = {4, 8};

	(void)state;
	ww_assert(ww_device_open("host", &sample.device) == WW_OK);
	sample.memory = make_memory(sample.device);
	for (uint32_t i = 0; i < 2; i++)
		ww_assert(ww_memory_export_fd(sample.memory, i + 1, &sample.fds[i], &description) ==
			WW_OK);
	memcpy(sample.id, sample.memory->description.object_id, sizeof(sample.id));
	sample.bytes = sample.memory->description.bytes;
	sample_array.struct_size = sizeof(sample_array);
	return ww_array_set(&sample_array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 2, shape, NULL, 0);
}

static int drop_sample(void **state)
{
	(void)state;
	ww_fd_close(sample.fds[0]);
	ww_fd_close(sample.fds[1]);
	ww_memory_unref(sample.memory);
	ww_device_unref(sample.device);
	return 0;
}

static struct ww_wire_granted granted_sample(uint8_t access)
{
	struct ww_wire_granted granted = {
		.kind = WW_WIRE_KIND_MEMORY,
		.access = access,
		.state = WW_WIRE_STATE_SHARED,
		.uid = 17,
		.bytes = UINT64_C(1) << 36, /* a maker may say so */
		.generation = 5,
		.name = "a",
	};

	memcpy(granted.id, sample.id, sizeof(granted.id));
	granted.description_bytes = ww_object_description_encode(&sample.memory->description,
		&sample_array, granted.description);
	return granted;
}

static void take_release(int peer)
{
	ww_assert(stand_in_take_serial(peer, WW_WIRE_RELEASE) == 0);
}

/* --- get --- */

static void grant_reading(struct stand_in *self)
{
	const struct ww_wire_granted granted = granted_sample(WW_WIRE_ACCESS_READ);
	int peer = stand_in_accept(self);

	for (int i = 0; i < 2; i++)
		stand_in_send(peer, granted, &granted, stand_in_take_serial(peer, WW_WIRE_GET),
			&sample.fds[0], 1);
	take_release(peer); /* one, after both are gone */
	stand_in_finish_peer(peer);
}

UNIT_TEST(got)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_memory_info memory_info = WW_INIT(struct ww_memory_info);
	ww_memory *first;
	ww_memory *second;
	struct stand_in self;
	ww_broker *broker;

	stand_in_start(&self, grant_reading);
	broker = stand_in_open(&self, 0);
	assert_ok(ww_memory_get(sample.device, broker, "a", NULL, 0, NULL, &first, &info));
	assert_ok(ww_memory_get(sample.device, broker, "a", NULL, 0, NULL, &second, NULL));
	assert_ptr_equal(first, second);
	assert_int_equal(info.struct_size, sizeof(info));
	assert_int_equal(info.kind, WW_OBJECT_MEMORY);
	assert_int_equal(info.access, WW_ACCESS_READ);
	assert_int_equal(info.uid, 17);
	assert_int_equal(info.is_own, 0);
	assert_int_equal(info.bytes, sample.bytes);
	assert_int_equal(info.span_bytes, sample.bytes);
	assert_int_equal(info.generation, 5);
	assert_int_equal(info.memory_kind, WW_MEMORY_HOST);
	assert_true(info.has_array);
	assert_memory_equal(&info.array, &sample_array, sizeof(sample_array));
	assert_string_equal(info.name, "a");
	assert_ok(ww_memory_info_get(first, &memory_info));
	assert_int_equal(memory_info.access, WW_ACCESS_READ);
	/* The description said that writing is possible; what was granted counts. */
	assert_int_equal(first->description.access, WW_ACCESS_READ);
	ww_memory_unref(first);
	ww_broker_unref(broker); /* the memory keeps it */
	ww_memory_unref(second);
	stand_in_finish(&self);
}

static struct ww_wire_granted hostile;
static int hostile_fd;
static size_t hostile_fd_count;

static void grant_hostile(struct stand_in *self)
{
	int peer = stand_in_accept(self);

	stand_in_send(peer, granted, &hostile, stand_in_take_serial(peer, WW_WIRE_GET), &hostile_fd,
		hostile_fd_count);
	take_release(peer);
	stand_in_finish_peer(peer);
}

/* What was granted is let go of again, with the status and without a leak. */
static void assert_refused(ww_status status)
{
	ww_memory *memory;
	struct stand_in self;
	ww_broker *broker;

	stand_in_start(&self, grant_hostile);
	broker = stand_in_open(&self, 0);
	assert_fails(ww_memory_get(sample.device, broker, "a",
			     WW_PARAMS(struct ww_get_params, .access = WW_ACCESS_WRITE), 0, NULL,
			     &memory, NULL),
		status);
	assert_null(memory);
	ww_broker_unref(broker);
	stand_in_finish(&self);
}

static void set_hostile(uint8_t access, size_t fd_count)
{
	hostile = granted_sample(access);
	hostile_fd = sample.fds[1];
	hostile_fd_count = fd_count;
}

UNIT_TEST(refused)
{
	set_hostile(WW_WIRE_ACCESS_WRITE, 0);
	assert_refused(WW_ERR_PROTOCOL); /* no descriptor */
	set_hostile(WW_WIRE_ACCESS_READ, 1);
	assert_refused(WW_ERR_ACCESS); /* less than was asked for */
	set_hostile(WW_WIRE_ACCESS_WRITE, 1);
	hostile_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_refused(WW_ERR_DESCRIPTOR); /* not the memory it should be */
	close(hostile_fd);
	set_hostile(WW_WIRE_ACCESS_WRITE, 1);
	hostile.kind = WW_WIRE_KIND_CHANNEL;
	assert_refused(WW_ERR_UNSUPPORTED);
	set_hostile(WW_WIRE_ACCESS_WRITE, 1);
	hostile.id[0] ^= 1;
	assert_refused(WW_ERR_PROTOCOL); /* the description of another object */
	set_hostile(WW_WIRE_ACCESS_WRITE, 1);
	hostile.description[20] ^= 1;
	assert_refused(WW_ERR_PROTOCOL);
	set_hostile(WW_WIRE_ACCESS_WRITE, 1);
	hostile.description_bytes = 77;
	assert_refused(WW_ERR_PROTOCOL);
	set_hostile(WW_WIRE_ACCESS_WRITE, 1);
	memset(hostile.description + WW_MEMORY_DESCRIPTION_BYTES, 0x7f, 24);
	assert_refused(WW_ERR_PROTOCOL); /* an array that cannot be */
}

/* What is wrong with a call is found before anybody is asked. */
CLIENT_TEST(not_asked, stand_in_serve_nothing)
{
	struct ww_get_params get = {.struct_size = sizeof(get), .access = 3};
	struct ww_put_params put = {.struct_size = sizeof(put), .mode = 01000};
	struct ww_object_info info = {.struct_size = 1};
	ww_memory *memory;

	assert_fails(ww_memory_get(sample.device, broker, "../a", NULL, 0, NULL, &memory, NULL),
		WW_ERR_INVALID);
	assert_fails(ww_memory_get(sample.device, broker, "a", &get, 0, NULL, &memory, NULL),
		WW_ERR_INVALID);
	assert_fails(ww_memory_get(sample.device, broker, "a", NULL, 0, NULL, &memory, &info),
		WW_ERR_INVALID);
	get = (struct ww_get_params){.struct_size = sizeof(get), .owner = 5};
	assert_fails(ww_memory_get(sample.device, broker, "a", &get, 0, NULL, &memory, NULL),
		WW_ERR_INVALID);
	assert_fails(ww_memory_put(sample.memory, broker, "a", &put, 0, NULL), WW_ERR_INVALID);
	put = (struct ww_put_params){.struct_size = sizeof(put), .ttl_ns = 1};
	assert_fails(ww_memory_put(sample.memory, broker, "a", &put, 0, NULL), WW_ERR_INVALID);
	put = (struct ww_put_params){.struct_size = sizeof(put), .state = WW_STATE_REMOVED};
	assert_fails(ww_memory_put(sample.memory, broker, "a", &put, 0, NULL), WW_ERR_INVALID);
	put = (struct ww_put_params){.struct_size = sizeof(put), .life = 4};
	assert_fails(ww_memory_put(sample.memory, broker, "a", &put, 0, NULL), WW_ERR_INVALID);
	put = (struct ww_put_params){.struct_size = sizeof(put), .array = &sample_array};
	sample_array.offset = 4096;
	assert_fails(ww_memory_put(sample.memory, broker, "a", &put, 0, NULL), WW_ERR_MISMATCH);
	sample_array.offset = 0;
	assert_fails(ww_memory_put(sample.memory, broker, "", NULL, 0, NULL), WW_ERR_INVALID);
	assert_fails(ww_memory_publish(sample.memory, broker, WW_STATE_WRITING, NULL),
		WW_ERR_INVALID);
	assert_fails(ww_broker_remove(broker, "a//b"), WW_ERR_INVALID);
}

/* --- put --- */

static struct ww_wire_put taken;
static bool taken_is_writable[WW_PACKET_FDS];
static size_t taken_fd_count;

static void take_put(struct stand_in *self)
{
	static struct stand_in_packet packet;
	int peer = stand_in_accept(self);

	stand_in_take(peer, WW_WIRE_PUT, &packet);
	stand_in_decode(put, &packet, &taken);
	taken_fd_count = packet.fd_count;
	for (size_t i = 0; i < packet.fd_count; i++) {
		taken_is_writable[i] = (fcntl(packet.fds[i], F_GETFL) & O_ACCMODE) == O_RDWR;
		close(packet.fds[i]);
	}
	stand_in_done(peer, packet.header.serial);
	take_release(peer);
	stand_in_finish_peer(peer);
}

static void put_sample(const struct ww_put_params *params)
{
	ww_memory *memory = make_memory(sample.device);
	struct stand_in self;
	ww_broker *broker;

	stand_in_start(&self, take_put);
	broker = stand_in_open(&self, 0);
	assert_ok(ww_memory_put(memory, broker, "a/b", params, 0, NULL));
	assert_memory_equal(taken.id, memory->description.object_id, sizeof(taken.id));
	ww_memory_unref(memory);
	ww_broker_unref(broker);
	stand_in_finish(&self);
	assert_string_equal(taken.name, "a/b");
	assert_int_equal(taken.kind, WW_WIRE_KIND_MEMORY);
	assert_int_equal(taken.bytes, 4096);
}

UNIT_TEST(put_sealed)
{
	struct ww_object_description description;

	put_sample(NULL);
	assert_int_equal(taken.state, WW_WIRE_STATE_SEALED);
	assert_int_equal(taken.life, WW_WIRE_LIFE_HELD);
	assert_int_equal(taken.mode, 0600);
	assert_int_equal(taken.gid, UINT32_MAX);
	assert_int_equal(taken_fd_count, 1);
	assert_int_equal(taken.fd_access[0], 1);
	assert_false(taken_is_writable[0]);
	assert_ok(ww_object_description_decode(taken.description, taken.description_bytes,
		&description));
	assert_int_equal(description.memory.access, WW_ACCESS_READ);
	assert_false(description.has_array);
}

UNIT_TEST(put_shared)
{
	struct ww_object_description description;

	put_sample(WW_PARAMS(struct ww_put_params, .mode = 0640, .life = WW_LIFE_KEPT,
		.state = WW_STATE_SHARED, .gid = 23, .flags = WW_PUT_REPLACE, .ttl_ns = 1000,
		.array = &sample_array));
	assert_int_equal(taken.state, WW_WIRE_STATE_SHARED);
	assert_int_equal(taken.life, WW_WIRE_LIFE_KEPT);
	assert_int_equal(taken.mode, 0640);
	assert_int_equal(taken.gid, 23);
	assert_int_equal(taken.flags, WW_WIRE_PUT_FLAG_REPLACE);
	assert_int_equal(taken.ttl_ns, 1000);
	assert_int_equal(taken_fd_count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(taken.fd_access[i], taken_is_writable[i] ? 2 : 1);
	assert_true(taken_is_writable[0] != taken_is_writable[1]);
	assert_ok(ww_object_description_decode(taken.description, taken.description_bytes,
		&description));
	assert_int_equal(description.memory.access, WW_ACCESS_WRITE);
	assert_true(description.has_array);
	assert_memory_equal(&description.array, &sample_array, sizeof(sample_array));
}

/* --- the quota --- */

static void make_room(struct stand_in *self)
{
	static struct stand_in_packet packet;
	struct ww_wire_reserve reserve;
	int peer = stand_in_accept(self);

	stand_in_refuse(peer, stand_in_take_serial(peer, WW_WIRE_PUT), WW_ERR_QUOTA, "full");
	stand_in_take(peer, WW_WIRE_RESERVE, &packet);
	stand_in_decode(reserve, &packet, &reserve);
	ww_assert(reserve.bytes == 4096 && reserve.host_bytes == 4096 && reserve.fd_count == 1);
	stand_in_done(peer, packet.header.serial);
	stand_in_done(peer, stand_in_take_serial(peer, WW_WIRE_PUT));
	take_release(peer);
	stand_in_finish_peer(peer);
}

CLIENT_TEST(waited_for_room, make_room)
{
	ww_memory *memory = make_memory(sample.device);

	assert_ok(ww_memory_put(memory, broker, "a", NULL, WW_FOREVER, NULL));
	ww_memory_unref(memory);
}

/* --- tokens --- */

static void export_and_import(struct stand_in *self)
{
	static const struct ww_wire_exported exported = {.secret = {9, 8, 7}, .generation = 5};
	const struct ww_wire_granted granted = granted_sample(WW_WIRE_ACCESS_READ);
	static struct stand_in_packet packet;
	struct ww_wire_granted other = granted;
	struct ww_wire_import import;
	int peer = stand_in_accept(self);

	stand_in_take(peer, WW_WIRE_PUT, &packet); /* without a name, first */
	stand_in_decode(put, &packet, &taken);
	while (packet.fd_count > 0)
		close(packet.fds[--packet.fd_count]);
	stand_in_done(peer, packet.header.serial);
	stand_in_send(peer, exported, &exported, stand_in_take_serial(peer, WW_WIRE_EXPORT), NULL,
		0);
	stand_in_send(peer, exported, &exported, stand_in_take_serial(peer, WW_WIRE_EXPORT), NULL,
		0);
	stand_in_take(peer, WW_WIRE_IMPORT, &packet);
	stand_in_decode(import, &packet, &import);
	ww_assert(memcmp(import.secret, exported.secret, sizeof(import.secret)) == 0);
	ww_assert(memcmp(import.id, sample.id, sizeof(import.id)) == 0);
	stand_in_send(peer, granted, &granted, packet.header.serial, &sample.fds[0], 1);
	other.generation = 6;
	stand_in_send(peer, granted, &other, stand_in_take_serial(peer, WW_WIRE_IMPORT),
		&sample.fds[0], 1);
	take_release(peer);
	stand_in_finish_peer(peer);
}

static void export_once(struct stand_in *self)
{
	static const struct ww_wire_exported exported = {.secret = {9, 8, 7}, .generation = 5};
	int peer = stand_in_accept(self);

	stand_in_done(peer, stand_in_take_serial(peer, WW_WIRE_PUT));
	stand_in_send(peer, exported, &exported, stand_in_take_serial(peer, WW_WIRE_EXPORT), NULL,
		0);
	take_release(peer);
	stand_in_finish_peer(peer);
}

/* A memory, and a right one, but not the token's. */
static void import_other(struct stand_in *self)
{
	const struct ww_wire_granted other = granted_sample(WW_WIRE_ACCESS_READ);
	int peer = stand_in_accept(self);

	stand_in_send(peer, granted, &other, stand_in_take_serial(peer, WW_WIRE_IMPORT),
		&sample.fds[0], 1);
	take_release(peer);
	stand_in_finish_peer(peer);
}

/* Where WARPWAY_BROKER says which broker is meant, the token's address is not even looked at. */
UNIT_TEST(named_by_the_environment)
{
	struct ww_token token;
	struct stand_in self;
	struct stand_in meant;
	ww_broker *broker;
	ww_memory *memory;

	stand_in_start(&self, export_once);
	broker = stand_in_open(&self, 0);
	assert_ok(ww_memory_export(sample.memory, broker, NULL, NULL, &token));
	ww_broker_unref(broker);
	drop_sample(NULL);
	stand_in_finish(&self); /* so nobody listens there any more */
	make_sample(NULL);
	stand_in_start(&meant, import_other);
	setenv("WARPWAY_BROKER", meant.path, 1);
	assert_fails(ww_memory_import(sample.device, NULL, &token, NULL, NULL, &memory, NULL),
		WW_ERR_PROTOCOL);
	assert_null(memory);
	stand_in_finish(&meant);
	/* Nobody listens where it says: then nowhere else. */
	assert_fails(ww_memory_import(sample.device, NULL, &token, NULL, NULL, &memory, NULL),
		WW_ERR_NO_BROKER);
	assert_non_null(strstr(ww_error_last()->message, meant.path));
	unsetenv("WARPWAY_BROKER");
}

UNIT_TEST(tokens)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token;
	struct stand_in self;
	ww_broker *broker;
	ww_memory *memory;

	stand_in_start(&self, export_and_import);
	broker = stand_in_open(&self, 0);
	assert_ok(ww_memory_export(sample.memory, broker, NULL, NULL, &token));
	assert_string_equal(taken.name, "");
	assert_int_equal(taken.state, WW_WIRE_STATE_SHARED);
	assert_ok(ww_memory_export(sample.memory, broker,
		WW_PARAMS(struct ww_export_params, .offset = 128, .bytes = 128,
			.array = &sample_array),
		NULL, &token));
	/* At its own address, without being told which broker. */
	assert_ok(ww_memory_import(sample.device, NULL, &token, NULL, NULL, &memory, &info));
	assert_int_equal(info.offset, 128);
	assert_int_equal(info.span_bytes, 128);
	assert_int_equal(info.bytes, 4096);
	assert_int_equal(info.is_own, 1);
	assert_true(info.has_array);
	assert_int_equal(info.array.shape[1], 8);
	ww_memory_unref(memory);
	assert_fails(ww_memory_import(sample.device, broker, &token, NULL, NULL, &memory, NULL),
		WW_ERR_NOT_FOUND); /* another generation */
	ww_broker_unref(broker);
	drop_sample(NULL);                /* which keeps the broker */
	ww_broker_client_drop_kept(true); /* which a token named */
	stand_in_finish(&self);
	make_sample(NULL);
}

UNIT_MAIN_WITH("grant", make_sample, drop_sample)
