/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.c - what every call around a broker refuses, and how: arrays, tokens, names, parameters
 *
 * One process and a private broker. What a refused call leaves behind is nothing: the scene's end
 * sees to that.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "conformance/token.h"
#include "support/forge.h"
#include "support/broker_case.h"

#define BYTES (2 * MIB)

/* Structs with their size set, and whatever else is given. */
#define PUT(...)    WW_PARAMS(struct ww_put_params, __VA_ARGS__)
#define GET(...)    WW_PARAMS(struct ww_get_params, __VA_ARGS__)
#define EXPORT(...) WW_PARAMS(struct ww_export_params, __VA_ARGS__)
#define OPEN(...)   WW_PARAMS(struct ww_broker_params, __VA_ARGS__)

/* --- arrays --- */

CASE(broker_array_set_refuses, NO_DEVICE)
{
	const int64_t small[WW_ARRAY_DIMS] = {2, 3};
	const int64_t negative[] = {2, -1};
	const int64_t huge[] = {INT64_MAX / 2, 4};
	struct ww_array array = WW_INIT(struct ww_array);

	MUST_REFUSE(WW_ERR_INVALID, "7", ww_array_set(&array, WW_DTYPE(7, 32), 1, small, NULL, 0));
	MUST_REFUSE(WW_ERR_INVALID, "bits",
		ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 12), 1, small, NULL, 0));
	MUST_REFUSE(WW_ERR_INVALID, "bits",
		ww_array_set(&array, WW_DTYPE(WW_DTYPE_INT, 0), 1, small, NULL, 0));
	MUST_REFUSE(WW_ERR_INVALID, "dimensions",
		ww_array_set(&array, WW_DTYPE(WW_DTYPE_INT, 32), WW_ARRAY_DIMS + 1, small, NULL,
			0));
	MUST_REFUSE(WW_ERR_INVALID, "-1",
		ww_array_set(&array, WW_DTYPE(WW_DTYPE_INT, 32), 2, negative, NULL, 0));
	MUST_REFUSE(WW_ERR_OVERFLOW, "",
		ww_array_set(&array, WW_DTYPE(WW_DTYPE_INT, 32), 2, huge, NULL, 0));
}

CASE(broker_array_check_refuses, NO_DEVICE)
{
	const int64_t shape[] = {4, 5};
	struct ww_array array = WW_INIT(struct ww_array);
	uint64_t bytes = 99;

	MUST_OK(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 2, shape, NULL, 0));
	MUST_OK(ww_array_check(&array, 80));
	MUST_REFUSE(WW_ERR_MISMATCH, "79", ww_array_check(&array, 79));
	array.offset = 1;
	MUST_REFUSE(WW_ERR_MISMATCH, "80", ww_array_check(&array, 80));
	array.offset = 0;
	array.strides[0] = -20;
	MUST_REFUSE(WW_ERR_MISMATCH, "", ww_array_check(&array, 80));
	array.strides[0] = INT64_MAX;
	MUST_REFUSE(WW_ERR_OVERFLOW, "", ww_array_check(&array, 80));
	array.strides[0] = 20;
	array.shape[2] = 1;
	MUST_REFUSE(WW_ERR_INVALID, "", ww_array_check(&array, 80));
	array.shape[2] = 0;
	array.dtype.lanes = 0;
	MUST_REFUSE(WW_ERR_INVALID, "lanes", ww_array_check(&array, 80));
	array.dtype.lanes = 1;
	array.ndim = 17;
	MUST_REFUSE(WW_ERR_INVALID, "17", ww_array_bytes(&array, &bytes));
	MUST_EQUAL(0, ww_array_is_contiguous(&array));
}

/* --- opening --- */

static void refuse_open(ww_status status, const char *word, const struct ww_broker_params *params)
{
	ww_broker *broker = (ww_broker *)&status;

	MUST_REFUSE(status, word, ww_broker_open(params, &broker));
	MUST(!broker);
}

CASE(broker_open_refuses_parameters, NO_DEVICE)
{
	char name[160] = "/tmp/";

	memset(name + 5, 'x', sizeof(name) - 6);
	refuse_open(WW_ERR_INVALID, "size", &(struct ww_broker_params){0});
	refuse_open(WW_ERR_INVALID, "flags", OPEN(.flags = 0x80));
	refuse_open(WW_ERR_INVALID, "", OPEN(.reserved = 1));
	refuse_open(WW_ERR_INVALID, "absolute", OPEN(.address = "broker.sock"));
	refuse_open(WW_ERR_INVALID, "absolute", OPEN(.address = ""));
	refuse_open(WW_ERR_INVALID, "long", OPEN(.address = name));
}

static int listen_at(const char *path, int type)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	MUST_CALL(fd);
	strcpy(address.sun_path, path);
	MUST_CALL(bind(fd, (const struct sockaddr *)&address, sizeof(address)));
	MUST_CALL(listen(fd, 4));
	return fd;
}

/*
 * Nothing there; a file; a socket of another type; a socket that nobody listens at; one that does
 * not answer.
 */
CASE(broker_open_refuses_addresses, NO_DEVICE)
{
	char path[] = "/tmp/warpway-refuse-XXXXXX";
	int fd = mkstemp(path);

	MUST_CALL(fd);
	close(fd);
	refuse_open(WW_ERR_NO_BROKER, path, OPEN(.address = path));
	unlink(path);
	refuse_open(WW_ERR_NO_BROKER, path, OPEN(.address = path));
	refuse_open(WW_ERR_NO_BROKER, "/nonexistent", OPEN(.address = "/nonexistent/broker.sock"));
	fd = listen_at(path, SOCK_STREAM);
	refuse_open(WW_ERR_PROTOCOL, path, OPEN(.address = path));
	close(fd);
	unlink(path);
	fd = listen_at(path, SOCK_SEQPACKET);
	refuse_open(WW_ERR_NO_BROKER, path, OPEN(.address = path, .timeout_ns = 20000000));
	close(fd);
	refuse_open(WW_ERR_NO_BROKER, path, OPEN(.address = path));
	unlink(path);
}

/* --- names --- */

static const char *const bad_names[] = {
	"",
	"/a",
	"a/",
	"a//b",
	".",
	"..",
	"a/./b",
	"a/../b",
	"../a",
	"a\nb",
	"a\x7f",
	"a\xc2\x85",
	"\xff",
	"a\xc0\xaf",
	"\xed\xa0\x80",
};

static void refuse_name(ww_memory *memory, const char *name)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_memory *got;

	MUST_REFUSE(WW_ERR_INVALID, "name",
		ww_memory_put(memory, scene.broker, name, NULL, 0, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "name",
		ww_memory_get(scene.device, scene.broker, name, NULL, 0, NULL, &got, NULL));
	MUST(!got);
	MUST_REFUSE(WW_ERR_INVALID, "name", ww_broker_remove(scene.broker, name));
	MUST_REFUSE(WW_ERR_INVALID, "name", ww_broker_stat(scene.broker, name, &info));
}

SCENE_CASE(broker_refuses_names, WW_CAP_EXPORT)
{
	char name[WW_NAME_BYTES + 1];
	ww_snapshot *snapshot;
	ww_watch *watch;
	OWN(memory) ww_memory *memory = scene_make(BYTES, 1);

	for (size_t i = 0; i < CHECK_COUNT(bad_names); i++)
		refuse_name(memory, bad_names[i]);
	memset(name, 'x', sizeof(name));
	name[WW_NAME_BYTES] = '\0';
	refuse_name(memory, name);
	MUST_REFUSE(WW_ERR_INVALID, "prefix",
		ww_snapshot_create(scene.broker, "a//", WW_SNAPSHOT_OBJECTS, &snapshot));
	MUST(!snapshot);
	MUST_REFUSE(WW_ERR_INVALID, "prefix",
		ww_snapshot_create(scene.broker, name, WW_SNAPSHOT_OBJECTS, &snapshot));
	MUST_REFUSE(WW_ERR_INVALID, "prefix", ww_watch_create(scene.broker, "/", 0, &watch));
	MUST(!watch);
	name[WW_NAME_BYTES - 1] = '\0'; /* as long as can be */
	MUST_OK(ww_memory_put(memory, scene.broker, name, NULL, 0, NULL));
}

/* --- put and seal --- */

static void refuse_put(ww_memory *memory, ww_status status, const char *word,
	const struct ww_put_params *params)
{
	MUST_REFUSE(status, word, ww_memory_put(memory, scene.broker, "x", params, 0, NULL));
}

SCENE_CASE(broker_put_refuses_parameters, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = scene_make(BYTES, 1);

	refuse_put(memory, WW_ERR_INVALID, "size", &(struct ww_put_params){0});
	refuse_put(memory, WW_ERR_INVALID, "mode", PUT(.mode = 01000));
	refuse_put(memory, WW_ERR_INVALID, "life", PUT(.life = 4));
	refuse_put(memory, WW_ERR_INVALID, "state removed;", PUT(.state = WW_STATE_REMOVED));
	refuse_put(memory, WW_ERR_INVALID, "state 77;", PUT(.state = 77));
	refuse_put(memory, WW_ERR_INVALID, "flags", PUT(.flags = 2));
	refuse_put(memory, WW_ERR_INVALID, "", PUT(.reserved = 1));
	refuse_put(memory, WW_ERR_INVALID, "time to live", PUT(.ttl_ns = 1));
	MUST_REFUSE(WW_ERR_INVALID, "without a name",
		ww_memory_put(memory, scene.broker, NULL, PUT(.life = WW_LIFE_KEPT), 0, NULL));
}

SCENE_CASE(broker_put_refuses_arrays, WW_CAP_EXPORT)
{
	const int64_t shape[] = {(int64_t)(BYTES / 4)};
	struct ww_array array = WW_INIT(struct ww_array);
	OWN(memory) ww_memory *memory = scene_make(BYTES, 1);

	MUST_OK(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 1, shape, NULL, 0));
	array.offset = 4;
	refuse_put(memory, WW_ERR_MISMATCH, "", PUT(.array = &array));
	array.offset = 0;
	array.strides[0] = INT64_MIN;
	refuse_put(memory, WW_ERR_OVERFLOW, "", PUT(.array = &array));
	array.dtype.bits = 0;
	refuse_put(memory, WW_ERR_INVALID, "", PUT(.array = &array));
}

#define SECOND "a second put changes nothing"

SCENE_CASE(broker_put_refuses_what_is_there, WW_CAP_EXPORT)
{
	char taken[64];
	OWN(memory) ww_memory *memory;
	OWN(memory) ww_memory *other;

	snprintf(taken, sizeof(taken), "'x' is taken: process %d (", (int)getpid());
	memory = scene_make(BYTES, 1);
	other = scene_make(BYTES, 2);
	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_SHARED);
	refuse_put(other, WW_ERR_EXISTS, taken, NULL);
	MUST_REFUSE(WW_ERR_EXISTS, "x", ww_memory_put(memory, scene.broker, "y", NULL, 0, NULL));
	/* A second put says what the first one said, or is refused. */
	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_SHARED);
	refuse_put(memory, WW_ERR_EXISTS, SECOND, PUT(.state = WW_STATE_SHARED, .mode = 0400));
	refuse_put(memory, WW_ERR_EXISTS, SECOND, PUT(.state = WW_STATE_SEALED));
	refuse_put(memory, WW_ERR_EXISTS, SECOND,
		PUT(.state = WW_STATE_SHARED, .life = WW_LIFE_OWNER, .flags = WW_PUT_REPLACE));
	ww_memory_unref(memory);
	memory = memory_reimport(other, scene.device, WW_ACCESS_READ);
	refuse_put(memory, WW_ERR_ACCESS, "read-only", NULL);
}

/*
 * Named after a token was made: as its first put says, whose holders must not see less than they
 * had.
 */
SCENE_CASE(broker_put_names_what_was_exported, WW_CAP_EXPORT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	OWN(memory) ww_memory *memory = scene_make(BYTES, 1);

	token_of(memory, WW_ACCESS_WRITE);
	refuse_put(memory, WW_ERR_STATE, "writing", PUT(.state = WW_STATE_WRITING));
	MUST_OK(ww_memory_put(memory, scene.broker, "x",
		PUT(.state = WW_STATE_SHARED, .mode = 0640, .life = WW_LIFE_OWNER), 0, NULL));
	MUST_OK(ww_broker_stat(scene.broker, "x", &info));
	MUST_EQUAL(0640, info.mode);
	MUST_EQUAL(WW_LIFE_OWNER, info.life);
	scene_has_objects(1);
	MUST_OK(ww_broker_remove(scene.broker, "x"));
}

static struct ww_watch_event hear(ww_watch *watch, uint32_t what)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);

	MUST_OK(ww_watch_next(watch, WW_FOREVER, NULL, &event));
	MUST_EQUAL(what, event.what);
	MUST_EQUAL(sizeof(event.object), event.object.struct_size);
	return event;
}

SCENE_CASE(broker_watch_tells_of_replacement, WW_CAP_EXPORT)
{
	OWN(watch) ww_watch *watch = NULL;
	OWN(memory) ww_memory *memory = scene_make(BYTES, 3);
	OWN(memory) ww_memory *next = scene_make(BYTES, 4);
	struct ww_object_info former = WW_INIT(struct ww_object_info);
	struct ww_watch_event event;

	MUST_OK(ww_watch_create(scene.broker, "x", 0, &watch));
	MUST_OK(ww_memory_put(memory, scene.broker, "x", NULL, 0, NULL));
	MUST_OK(ww_broker_stat(scene.broker, "x", &former));
	MUST_EQUAL(0, hear(watch, WW_WATCH_PUT).former_generation);
	hear(watch, WW_WATCH_READY);
	MUST_OK(ww_memory_put(next, scene.broker, "x", PUT(.flags = WW_PUT_REPLACE), 0, NULL));
	event = hear(watch, WW_WATCH_REPLACED);
	MUST_MATCH(former.object_id, event.former_id, sizeof(event.former_id));
	MUST_EQUAL(former.generation, event.former_generation);
	MUST(event.object.generation > former.generation);
	hear(watch, WW_WATCH_READY);
}

/* The name of a memory is a link: when it goes, a process that has the memory can still send it. */
SCENE_CASE(broker_name_is_a_link, WW_CAP_EXPORT)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	ww_memory *memory = scene_make(BYTES, 3);
	ww_memory *next = scene_make(BYTES, 4);
	ww_memory *got;
	struct ww_token token;

	MUST_OK(ww_memory_info_get(memory, &info));
	scene_put(memory, "x", 0, WW_LIFE_KEPT, WW_STATE_SHARED);
	MUST_OK(ww_memory_put(next, scene.broker, "x", PUT(.flags = WW_PUT_REPLACE), 0, NULL));
	MUST_OK(ww_memory_export(memory, scene.broker, NULL, NULL, &token));
	MUST_OK(ww_memory_import(scene.device, scene.broker, &token, NULL, NULL, &got, NULL));
	pattern_verify(got, 3);
	ww_memory_unref(got);
	scene_put(memory, "y", 0, WW_LIFE_HELD, WW_STATE_SHARED);
	got = scene_get("y", WW_ACCESS_READ);
	pattern_verify(got, 3);
	ww_memory_unref(got);
	MUST_OK(ww_broker_remove(scene.broker, "y"));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "y", ww_broker_end(scene.broker, "y", info.object_id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "id and name",
		ww_broker_end(scene.broker, "x", info.object_id));
	MUST_REFUSE(WW_ERR_INVALID, "zeros",
		ww_broker_end(scene.broker, "x", (const uint8_t[WW_OBJECT_ID_BYTES]){0}));
	MUST_OK(ww_broker_end(scene.broker, NULL, info.object_id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "id", ww_broker_end(scene.broker, NULL, info.object_id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "not hold",
		ww_memory_export(memory, scene.broker, NULL, NULL, &token));
	pattern_verify(memory, 3);
	scene_put(memory, "y", 0, WW_LIFE_HELD, WW_STATE_SHARED);
	MUST_OK(ww_broker_end(scene.broker, "y", info.object_id));
	ww_memory_unref(memory);
	ww_memory_unref(next);
}

/* Its name goes while it is written: it is ready without one, and can get another. */
SCENE_CASE(broker_name_goes_while_written, WW_CAP_EXPORT)
{
	ww_memory *memory = scene_make(BYTES, 5);
	ww_memory *got;

	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_WRITING);
	MUST_OK(ww_broker_remove(scene.broker, "x"));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "its name was removed",
		ww_memory_publish(memory, scene.broker, WW_STATE_SEALED, NULL));
	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_SEALED);
	got = scene_get("x", WW_ACCESS_READ);
	pattern_verify(got, 5);
	ww_memory_unref(got);
	ww_memory_unref(memory);
}

SCENE_CASE(broker_seal_refuses, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = scene_make(BYTES, 1);

	MUST_REFUSE(WW_ERR_NOT_FOUND, "",
		ww_memory_publish(memory, scene.broker, WW_STATE_SEALED, NULL));
	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_WRITING);
	MUST_REFUSE(WW_ERR_INVALID, "state writing;",
		ww_memory_publish(memory, scene.broker, WW_STATE_WRITING, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "state",
		ww_memory_publish(memory, scene.broker, WW_STATE_REMOVED, NULL));
	MUST_OK(ww_memory_publish(memory, scene.broker, WW_STATE_SHARED, NULL));
	MUST_REFUSE(WW_ERR_STATE, "shared",
		ww_memory_publish(memory, scene.broker, WW_STATE_SEALED, NULL));
}

/* --- get --- */

static void refuse_get(ww_status status, const char *word, const struct ww_get_params *params)
{
	ww_memory *memory = (ww_memory *)&status;

	MUST_REFUSE(status, word,
		ww_memory_get(scene.device, scene.broker, "x", params, 0, NULL, &memory, NULL));
	MUST(!memory);
}

SCENE_CASE(broker_get_refuses, WW_CAP_EXPORT)
{
	struct ww_object_info info = {0};
	OWN(memory) ww_memory *memory;
	ww_memory *got;

	refuse_get(WW_ERR_INVALID, "size", &(struct ww_get_params){0});
	refuse_get(WW_ERR_INVALID, "access", GET(.access = 3));
	refuse_get(WW_ERR_INVALID, "flags", GET(.flags = 8));
	refuse_get(WW_ERR_INVALID, "", GET(.reserved = 1));
	refuse_get(WW_ERR_INVALID, "owner", GET(.owner = 1));
	refuse_get(WW_ERR_NOT_FOUND, "'x'", NULL);
	memory = scene_make(BYTES, 1);
	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_WRITING);
	refuse_get(WW_ERR_STATE, "written", NULL);
	MUST_OK(ww_memory_publish(memory, scene.broker, WW_STATE_SEALED, NULL));
	refuse_get(WW_ERR_ACCESS, "sealed", GET(.access = WW_ACCESS_WRITE));
	refuse_get(WW_ERR_ACCESS, "belongs",
		GET(.flags = WW_GET_FROM_OWNER, .owner = geteuid() + 1));
	MUST_REFUSE(WW_ERR_INVALID, "size",
		ww_memory_get(scene.device, scene.broker, "x", NULL, 0, NULL, &got, &info));
	MUST(!got);
	MUST_REFUSE(WW_ERR_INVALID, "size", ww_broker_stat(scene.broker, "x", &info));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "'y'", ww_broker_remove(scene.broker, "y"));
	info.struct_size = sizeof(info);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "'y'", ww_broker_stat(scene.broker, "y", &info));
	scene_has_holds(1);
}

/* --- export and import --- */

static void refuse_export(ww_memory *memory, ww_status status, const char *word,
	const struct ww_export_params *params)
{
	struct ww_token token;

	MUST_REFUSE(status, word, ww_memory_export(memory, scene.broker, params, NULL, &token));
}

SCENE_CASE(broker_export_refuses, WW_CAP_EXPORT)
{
	const int64_t shape[] = {100};
	struct ww_array array = WW_INIT(struct ww_array);
	OWN(memory) ww_memory *reader;
	OWN(memory) ww_memory *memory = scene_make(BYTES, 1);

	MUST_OK(ww_array_set(&array, WW_DTYPE(WW_DTYPE_INT, 8), 1, shape, NULL, 0));
	refuse_export(memory, WW_ERR_INVALID, "size", &(struct ww_export_params){0});
	refuse_export(memory, WW_ERR_INVALID, "access", EXPORT(.access = 3));
	refuse_export(memory, WW_ERR_INVALID, "flags", EXPORT(.flags = 2));
	refuse_export(memory, WW_ERR_INVALID, "uses", EXPORT(.flags = WW_EXPORT_DELIVERY));
	refuse_export(memory, WW_ERR_INVALID, "escrow",
		EXPORT(.flags = WW_EXPORT_DELIVERY, .uses = 1, .escrow_ns = WW_ESCROW_NONE));
	refuse_export(memory, WW_ERR_MISMATCH, "inside", EXPORT(.offset = UINT64_C(1) << 40));
	refuse_export(memory, WW_ERR_MISMATCH, "inside",
		EXPORT(.bytes = memory_info(memory).bytes + 1));
	refuse_export(memory, WW_ERR_OVERFLOW, "", EXPORT(.offset = UINT64_MAX, .bytes = 2));
	refuse_export(memory, WW_ERR_MISMATCH, "", EXPORT(.bytes = 99, .array = &array));
	refuse_export(memory, WW_ERR_INVALID, "escrow", EXPORT(.escrow_ns = UINT64_MAX));
	reader = memory_reimport(memory, scene.device, WW_ACCESS_READ);
	refuse_export(reader, WW_ERR_ACCESS, "read-only", EXPORT(.access = WW_ACCESS_WRITE));
}

SCENE_CASE(broker_import_refuses, WW_CAP_EXPORT)
{
	struct ww_object_info info = {0};
	struct ww_token other;
	ww_memory *got;
	ww_memory *memory = scene_make(BYTES, 1);
	struct ww_token token = token_of(memory, WW_ACCESS_READ);

	token_refuse_import(&token, 3, WW_ERR_INVALID, "access");
	token_refuse_import(&token, WW_ACCESS_WRITE, WW_ERR_ACCESS, "reading");
	MUST_REFUSE(WW_ERR_INVALID, "size",
		ww_memory_import(scene.device, scene.broker, &token, NULL, NULL, &got, &info));
	other = token_forged(&token, 16, 1); /* of the object's id */
	token_refuse_import(&other, WW_ACCESS_READ, WW_ERR_NOT_FOUND, "");
	other = token_forged(&token, 32, 1); /* of the secret */
	token_refuse_import(&other, WW_ACCESS_READ, WW_ERR_ACCESS, "secret");
	other = token_forged(&token, 64, 1 ^ 2); /* memory becomes timeline */
	token_refuse_import(&other, WW_ACCESS_READ, WW_ERR_UNSUPPORTED, "kind");
	other = token_forged(&token, 66, 1 ^ 2); /* reading becomes writing, but for the secret */
	token_refuse_import(&other, WW_ACCESS_WRITE, WW_ERR_ACCESS, "");
	other = token_forged(&token, 96, 1); /* of the generation */
	token_refuse_import(&other, WW_ACCESS_READ, WW_ERR_NOT_FOUND, "generation");
	other = token_forged(&token, 94, 1); /* far more bytes in all */
	token_refuse_import(&other, WW_ACCESS_READ, WW_ERR_MISMATCH, "bytes");
	other = token_forged(&token, 104, 1); /* of the broker's id */
	token_refuse_import(&other, WW_ACCESS_READ, WW_ERR_NOT_FOUND, "another broker");
	other = token;
	other.bytes[40] ^= 1;
	token_refuse_import(&other, WW_ACCESS_READ, WW_ERR_PROTOCOL, "checksum");
	scene_has_holds(1);
	ww_memory_unref(memory);
	token_refuse_import(&token, WW_ACCESS_READ, WW_ERR_NOT_FOUND, "has ended");
}

/* --- looking --- */

SCENE_CASE(broker_snapshot_refuses, NO_DEVICE)
{
	struct ww_object_info object = {0};
	struct ww_holder_info holder = {0};
	struct ww_hold_info hold = {0};
	struct ww_broker_info info = {0};
	ww_snapshot *snapshot = (ww_snapshot *)&info;

	MUST_REFUSE(WW_ERR_INVALID, "size", ww_broker_info_get(scene.broker, &info));
	MUST_REFUSE(WW_ERR_INVALID, "contents",
		ww_snapshot_create(scene.broker, NULL, UINT64_C(1) << 9, &snapshot));
	MUST(!snapshot);
	MUST_OK(ww_snapshot_create(scene.broker, NULL, WW_SNAPSHOT_OBJECTS, &snapshot));
	MUST_REFUSE(WW_ERR_INVALID, "size", ww_snapshot_object(snapshot, 0, &object));
	MUST_REFUSE(WW_ERR_INVALID, "size", ww_snapshot_holder(snapshot, 0, &holder));
	MUST_REFUSE(WW_ERR_INVALID, "size", ww_snapshot_hold(snapshot, 0, &hold));
	object.struct_size = sizeof(object);
	holder.struct_size = sizeof(holder);
	hold.struct_size = sizeof(hold);
	MUST_STATUS(WW_END, ww_snapshot_object(snapshot, 0, &object));
	MUST_STATUS(WW_END, ww_snapshot_holder(snapshot, SIZE_MAX, &holder));
	MUST_STATUS(WW_END, ww_snapshot_hold(snapshot, 1, &hold));
	MUST(!ww_snapshot_free(snapshot));
	MUST(!ww_snapshot_free(NULL));
}

SCENE_CASE(broker_watch_refuses, NO_DEVICE)
{
	struct ww_watch_event event = {0};
	ww_watch *watch = (ww_watch *)&event;

	MUST_REFUSE(WW_ERR_INVALID, "flags", ww_watch_create(scene.broker, NULL, 2, &watch));
	MUST(!watch);
	MUST_OK(ww_watch_create(scene.broker, NULL, 0, &watch));
	MUST_REFUSE(WW_ERR_INVALID, "size", ww_watch_next(watch, 0, NULL, &event));
	event.struct_size = sizeof(event);
	MUST_STATUS(WW_TIMED_OUT, ww_watch_next(watch, 0, NULL, &event));
	MUST_STATUS(WW_TIMED_OUT, ww_watch_next(watch, 1000000, NULL, &event));
	MUST(ww_watch_fd(watch) >= 0);
	MUST(!ww_watch_free(watch));
	MUST(!ww_watch_free(NULL));
}

/* --- misuse --- */

#define MISUSED(call) MUST_REFUSE(WW_ERR_INVALID, "NULL", call)

SCENE_CASE(broker_misuse, WW_CAP_EXPORT | NEEDS_MISUSE_STATUS)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	ww_object *object;
	ww_memory *got;
	OWN(memory) ww_memory *memory = scene_make(BYTES, 1);
	struct ww_token token = token_of(memory, WW_ACCESS_READ);

	MISUSED(ww_broker_open(NULL, NULL));
	MISUSED(ww_broker_info_get(scene.broker, NULL));
	MISUSED(ww_memory_put(NULL, scene.broker, "x", NULL, 0, NULL));
	MISUSED(ww_memory_publish(NULL, scene.broker, WW_STATE_SEALED, NULL));
	MISUSED(ww_memory_get(NULL, scene.broker, "x", NULL, 0, NULL, &got, NULL));
	MISUSED(ww_memory_get(scene.device, scene.broker, NULL, NULL, 0, NULL, &got, NULL));
	MISUSED(ww_memory_get(scene.device, scene.broker, "x", NULL, 0, NULL, NULL, NULL));
	MISUSED(ww_memory_export(NULL, scene.broker, NULL, NULL, &token));
	MISUSED(ww_memory_export(memory, scene.broker, NULL, NULL, NULL));
	MISUSED(ww_object_import(NULL, NULL, NULL, &object, NULL));
	MISUSED(ww_object_import(NULL, &token, NULL, NULL, NULL));
	MISUSED(ww_object_export(NULL, NULL, NULL, &token));
	MISUSED(ww_object_map(NULL, scene.device, NULL, NULL, &got));
	MUST_OK(ww_object_import(NULL, &token, NULL, &object, NULL));
	MISUSED(ww_object_map(object, NULL, NULL, NULL, &got));
	MISUSED(ww_object_map(object, scene.device, NULL, NULL, NULL));
	ww_object_unref(object);
	MISUSED(ww_memory_revoke(NULL, scene.broker, NULL));
	MISUSED(ww_memory_import(NULL, scene.broker, &token, NULL, NULL, &got, NULL));
	MISUSED(ww_memory_import(scene.device, scene.broker, NULL, NULL, NULL, &got, NULL));
	MISUSED(ww_memory_import(scene.device, scene.broker, &token, NULL, NULL, NULL, NULL));
	MISUSED(ww_broker_remove(scene.broker, NULL));
	MISUSED(ww_broker_end(scene.broker, NULL, NULL));
	MISUSED(ww_broker_stat(scene.broker, NULL, &info));
	MISUSED(ww_broker_stat(scene.broker, "x", NULL));
	MISUSED(ww_snapshot_create(scene.broker, NULL, 0, NULL));
	MISUSED(ww_snapshot_object(NULL, 0, &info));
	MISUSED(ww_watch_create(scene.broker, NULL, 0, NULL));
	MISUSED(ww_watch_next(NULL, 0, NULL, &event));
	MUST(ww_watch_fd(NULL) == -1);
	MUST(!ww_broker_address(NULL));
	MUST(!ww_broker_ref(NULL));
	MUST(!ww_broker_unref(NULL));
}
