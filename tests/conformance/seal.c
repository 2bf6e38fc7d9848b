/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seal.c - the mapping of the process that seals a memory: WW_STATE_READ_ONLY; tokens in flight
 *
 * One process and a private broker. What sealing means to other processes is tested by the suites
 * broker and integration.
 */
#include <unistd.h>

#include "conformance/foreign.h"
#include "conformance/token.h"
#include "support/broker_case.h"
#include "support/driver.h"

#define BYTES     (2 * MIB)
#define READ_ONLY (WW_STATE_SEALED | WW_STATE_READ_ONLY)
#define HERE(...) WW_PARAMS(struct ww_put_params, .state = READ_ONLY, __VA_ARGS__)

/* As the kernel or the driver says, behind the library's back. */
static bool is_writable(ww_memory *memory)
{
	const ww_CUmemLocation location = {
		.type = WW_CU_MEM_LOCATION_TYPE_DEVICE,
		.id = (int)device_info(scene.device).index,
	};
	char *start = ww_memory_pointer(memory);
	unsigned long long flags = 0;
	int ends[2];
	bool wrote;

	if (subject_is_cuda()) {
		MUST(driver_get()->cuMemGetAccess(&flags, &location, (uintptr_t)start) == 0);
		return flags == WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	}
	MUST(pipe(ends) == 0 && write(ends[1], start, 1) == 1);
	wrote = read(ends[0], start, 1) == 1;
	close(ends[0]);
	close(ends[1]);
	return wrote;
}

static void must_have(ww_memory *memory, uint32_t access)
{
	MUST_EQUAL(access, memory_info(memory).access);
	MUST_EQUAL(access == WW_ACCESS_WRITE, is_writable(memory));
}

static void must_refuse_writes(ww_memory *memory)
{
	OWN(stream) ww_stream *stream = stream_make(scene.device);
	char *start = ww_memory_pointer(memory);
	struct ww_memory_description description;
	struct ww_token token;
	int fd;

	MUST_REFUSE(WW_ERR_ACCESS, "read-only", ww_memory_write(memory, 0, "x", 1, 0, NULL));
	MUST_REFUSE(WW_ERR_ACCESS, "read-only", ww_stream_fill(stream, start, 1, 1, 16));
	MUST_REFUSE(WW_ERR_ACCESS, "",
		ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
	MUST_REFUSE(WW_ERR_ACCESS, "",
		ww_memory_export(memory, scene.broker,
			WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE), NULL,
			&token));
}

/* A span has the mapping of its whole. Another mapping stays as it is. */
SCENE_CASE(seal_read_only_put, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = scene_make(2 * BYTES, 1);
	void *pointer = ww_memory_pointer(memory);
	OWN(memory) ww_memory *half = NULL;
	OWN(memory) ww_memory *apart = NULL;
	OWN(memory) ww_memory *got = NULL;
	struct ww_token token = token_of(memory, WW_ACCESS_WRITE);
	struct ww_token half_token;

	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE, .offset = BYTES,
			.escrow_ns = WW_ESCROW_NONE),
		NULL, &half_token));
	MUST_OK(scene_import(&half_token, WW_ACCESS_WRITE, &half));
	MUST_OK(ww_memory_import(scene.device, scene.broker, &token,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE,
			.flags = WW_IMPORT_OWN_MAPPING),
		NULL, &apart, NULL));
	MUST_OK(ww_memory_put(memory, scene.broker, "x", HERE(.mode = 0600), 0, NULL));
	must_have(memory, WW_ACCESS_READ);
	must_have(half, WW_ACCESS_READ);
	must_have(apart, WW_ACCESS_WRITE);
	must_refuse_writes(memory);
	must_refuse_writes(half);
	MUST(ww_memory_pointer(memory) == pointer);
	pattern_verify(memory, 1);
	/* It can be put again, and what is got is the same memory. */
	MUST_OK(ww_memory_put(memory, scene.broker, "x", HERE(.mode = 0600), 0, NULL));
	MUST_OK(ww_memory_put(memory, scene.broker, "x", NULL, 0, NULL));
	got = scene_get("x", WW_ACCESS_READ);
	memory_must_be_same(memory, got);
	token_refuse_import(&token, WW_ACCESS_WRITE, WW_ERR_ACCESS, "sealed");
	/* Once sealed, it stays read-only. */
	MUST_OK(ww_broker_remove(scene.broker, "x"));
	must_have(memory, WW_ACCESS_READ);
	MUST_REFUSE(WW_ERR_ACCESS, "read-only",
		ww_memory_put(memory, scene.broker, "y",
			WW_PARAMS(struct ww_put_params, .state = WW_STATE_SHARED), 0, NULL));
}

SCENE_CASE(seal_read_only_publish, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = scene_make(BYTES, 1);

	MUST_REFUSE(WW_ERR_NOT_FOUND, "", ww_memory_publish(memory, scene.broker, READ_ONLY, NULL));
	must_have(memory, WW_ACCESS_WRITE);
	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_WRITING);
	MUST_OK(ww_memory_publish(memory, scene.broker, READ_ONLY, NULL));
	must_have(memory, WW_ACCESS_READ);
	must_refuse_writes(memory);
	MUST_OK(ww_memory_publish(memory, scene.broker, READ_ONLY, NULL));
	pattern_verify(memory, 1);
}

/* Without the flag the mapping stays writable. What is refused changes nothing. */
SCENE_CASE(seal_read_only_refused, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = scene_make(BYTES, 1);
	OWN(memory) ww_memory *other = scene_make(BYTES, 2);

	scene_put(other, "x", 0, WW_LIFE_HELD, WW_STATE_SEALED);
	must_have(other, WW_ACCESS_WRITE);
	MUST_REFUSE(WW_ERR_EXISTS, "taken",
		ww_memory_put(memory, scene.broker, "x", HERE(.mode = 0600), 0, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "state",
		ww_memory_put(memory, scene.broker, "y",
			WW_PARAMS(struct ww_put_params,
				.state = WW_STATE_SHARED | WW_STATE_READ_ONLY),
			0, NULL));
	must_have(memory, WW_ACCESS_WRITE);
	/* Nothing beside the flag: sealed, as without it. */
	MUST_OK(ww_memory_put(memory, scene.broker, "y",
		WW_PARAMS(struct ww_put_params, .state = WW_STATE_READ_ONLY), 0, NULL));
	must_have(memory, WW_ACCESS_READ);
	MUST_REFUSE(WW_ERR_INVALID, "state shared and read-only;",
		ww_memory_publish(memory, scene.broker, WW_STATE_SHARED | WW_STATE_READ_ONLY,
			NULL));
}

static void must_be_unsupported(ww_memory *memory)
{
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "read-only",
		ww_memory_put(memory, scene.broker, "x", HERE(.life = WW_LIFE_OWNER), 0, NULL));
	MUST_EQUAL(WW_ACCESS_WRITE, memory_info(memory).access);
	scene_has_objects(0);
}

SCENE_CASE(seal_read_only_host_kind, WW_CAP_HOST_MEMORY)
{
	OWN(memory) ww_memory *memory = memory_make(scene.device, WW_MEMORY_HOST, 1);

	if (subject_is_cuda()) {
		must_be_unsupported(memory);
		return;
	}
	MUST_OK(ww_memory_put(memory, scene.broker, "x", HERE(.mode = 0600), 0, NULL));
	must_have(memory, WW_ACCESS_READ);
}

SCENE_CASE(seal_read_only_wrapped, WW_CAP_FOREIGN | NEEDS_CUDA)
{
	for (size_t i = 0; i < FOREIGN_KINDS; i++) {
		struct allocation allocation;
		ww_device *device = foreign_begin(&allocation, foreign_shareable[i]);
		ww_memory *memory = foreign_wrap(device, &allocation, 0, 0);

		must_be_unsupported(memory);
		ww_memory_unref(memory);
		foreign_end(device, &allocation);
	}
}

/* What was held for writing before it was sealed is mapped for reading only. */
SCENE_CASE(seal_object_is_mapped, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = scene_make(BYTES, 1);
	OWN(object) ww_object *object = NULL;
	OWN(memory) ww_memory *mapped = NULL;
	struct ww_token token = token_of(memory, WW_ACCESS_WRITE);

	MUST_OK(ww_object_import(scene.broker, &token, NULL, &object, NULL));
	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_SEALED);
	MUST_REFUSE(WW_ERR_ACCESS, "sealed, for reading only; use WW_ACCESS_READ",
		ww_object_map(object, scene.device,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL,
			&mapped));
	MUST_OK(ww_object_map(object, scene.device, NULL, NULL, &mapped));
	MUST_EQUAL(WW_ACCESS_READ, memory_info(mapped).access);
}

/* A token for writing that was in flight when its memory was sealed is one for reading. */
SCENE_CASE(seal_token_in_flight, WW_CAP_EXPORT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token_info passed = WW_INIT(struct ww_token_info);
	OWN(memory) ww_memory *memory = scene_make(BYTES, 1);
	OWN(object) ww_object *object = NULL;
	OWN(memory) ww_memory *got = NULL;
	OWN(memory) ww_memory *mapped = NULL;
	struct ww_token token = token_of(memory, WW_ACCESS_WRITE);
	struct ww_token next;

	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_SEALED);
	token_refuse_import(&token, WW_ACCESS_WRITE, WW_ERR_ACCESS, "sealed");
	MUST_OK(scene_import(&token, WW_ACCESS_READ, &got));
	MUST_EQUAL(WW_ACCESS_READ, memory_info(got).access);
	MUST_OK(ww_object_import(scene.broker, &token, NULL, &object, &info));
	MUST_EQUAL(WW_ACCESS_READ, info.access);
	MUST_OK(ww_object_map(object, scene.device, NULL, NULL, &mapped));
	MUST_REFUSE(WW_ERR_ACCESS, "reading",
		ww_object_map(object, scene.device,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL,
			&(ww_memory *){NULL}));
	MUST_OK(ww_object_export(object,
		WW_PARAMS(struct ww_token_params, .escrow_ns = WW_ESCROW_NONE), NULL, &next));
	MUST_OK(ww_token_info_get(&next, &passed));
	MUST_EQUAL(WW_ACCESS_READ, passed.access);
}
