/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_keep.c - memory of another process that stays mapped for a moment after its last use
 *
 * How long that is must not decide a case: so it is an hour, or no time at all.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "device/mapping.h"
#include "integration/broker.h"
#include "memory/import_cache.h"
#include "support/driver.h"

#define HOUR_NS UINT64_C(3600000000000)
#define BYTES   (2 * MIB)

/* Defines a case as SCENE_CASE() does, in which what is kept stays. */
#define KEEP_CASE(case_name, case_needs)                                          \
	static void case_name##_keeping(void);                                    \
	SCENE_CASE(case_name, case_needs)                                         \
	{                                                                         \
		uint64_t former_ns = atomic_exchange(&ww_cache_keep_ns, HOUR_NS); \
                                                                                  \
		case_name##_keeping();                                            \
		(void)ww_cache_drop_kept();                                       \
		ww_cache_keep_ns = former_ns;                                     \
	}                                                                         \
	static void case_name##_keeping(void)

static struct child maker;

/* --- counts --- */

/* How often the broker got such a request, from all processes. */
static uint64_t requests(const char *name)
{
	struct ww_request_total info = WW_INIT(struct ww_request_total);
	uint64_t count = 0;
	ww_totals *totals;

	MUST_OK(ww_totals_create(scene.broker, &totals));
	for (size_t i = 0; ww_totals_request(totals, i, &info) == WW_OK; i++) {
		if (info.status == 0 && !strcmp(info.request, name))
			count += info.count;
	}
	ww_totals_free(totals);
	return count;
}

/* Calls of the driver that map and unmap; 0 without the fake one. */
static uint64_t map_calls(void)
{
	const struct fake *fake = fake_get();

	return fake ? fake->call_count("cuMemImportFromShareableHandle") +
			fake->call_count("cuMemMap") + fake->call_count("cuMemSetAccess") +
			fake->call_count("cuMemUnmap") + fake->call_count("cuMemRelease")
		    : 0;
}

/* --- hand-overs --- */

/* As a Queue of Python does: it is held first, and mapped when it is used. Return: where. */
static void *hand_over(void)
{
	struct ww_token token = agent_export(&maker, "write uses=1 delivery");
	ww_object *object;
	ww_memory *memory;
	void *pointer;

	MUST_OK(ww_object_import(scene.broker, &token, NULL, &object, NULL));
	MUST_OK(ww_object_map(object, scene.device,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE,
			.flags = WW_IMPORT_KEEP),
		NULL, &memory));
	ww_object_unref(object);
	pattern_verify(memory, 3);
	pointer = ww_memory_pointer(memory);
	ww_memory_unref(memory);
	return pointer;
}

KEEP_CASE(kept_import_is_mapped_once, WW_CAP_EXPORT)
{
	uint64_t imports, exports, releases, calls;
	size_t spans = ww_mapping_count();
	void *pointer;

	agent_begin(&maker, "agent", "make vmm %" PRIu64 " 3", BYTES);
	pointer = hand_over();
	MUST_EQUAL(spans + 1, ww_mapping_count());
	scene_has_holds(2); /* the maker's, and that of what is kept */
	imports = requests("import");
	exports = requests("export");
	releases = requests("release");
	calls = map_calls();
	for (int i = 0; i < 3; i++)
		MUST(hand_over() == pointer);
	MUST_EQUAL(3, requests("import") - imports);
	MUST_EQUAL(3, requests("export") - exports);
	MUST_EQUAL(releases, requests("release"));
	MUST_EQUAL(calls, map_calls());
	scene_has_holds(2);
	MUST(ww_cache_drop_kept());
	MUST_EQUAL(spans, ww_mapping_count());
	scene_has_holds(1);
}

/* The thread ends what was kept, and the bytes of a maker that has ended with it. */
SCENE_CASE(kept_import_is_let_go_of, WW_CAP_EXPORT)
{
	uint64_t former_ns = atomic_exchange(&ww_cache_keep_ns, 0);
	size_t spans = ww_mapping_count();

	agent_begin(&maker, "agent", "make vmm %" PRIu64 " 3", BYTES);
	(void)hand_over();
	agent_end(&maker);
	while (ww_mapping_count() > spans)
		sched_yield();
	scene_has_objects(0);
	ww_cache_keep_ns = former_ns;
}

/* --- how much --- */

/* Gets memories of so many bytes, which others made, and lets go of them. Return: how many stay. */
static size_t keep_as_many(int count, uint64_t bytes)
{
	size_t spans = ww_mapping_count();
	ww_memory *memories[32];

	agent_start(&maker, NULL);
	for (int i = 0; i < count; i++) {
		char name[16];

		snprintf(name, sizeof(name), "kept/%d", i);
		agent_must(&maker, WW_OK, "make vmm %" PRIu64 " 3", bytes);
		agent_must(&maker, WW_OK, "put %s life=kept", name);
		agent_must(&maker, WW_OK, "drop");
		MUST_OK(ww_memory_get(scene.device, scene.broker, name,
			WW_PARAMS(struct ww_get_params, .flags = WW_IMPORT_KEEP), 0, NULL,
			&memories[i], NULL));
		agent_must(&maker, WW_OK, "remove %s", name);
	}
	for (int i = 0; i < count; i++)
		ww_memory_unref(memories[i]);
	return ww_mapping_count() - spans;
}

KEEP_CASE(kept_imports_are_few, WW_CAP_EXPORT)
{
	MUST_EQUAL(16, keep_as_many(18, BYTES));
}

KEEP_CASE(kept_imports_are_small, WW_CAP_EXPORT)
{
	MUST_EQUAL(2, keep_as_many(3, 24 * MIB));
}

KEEP_CASE(kept_import_makes_room, WW_CAP_EXPORT | NEEDS_FAKE)
{
	OWN(memory) ww_memory *memory = NULL;

	MUST_EQUAL(1, keep_as_many(1, BYTES));
	fake_get()->fail("cuMemCreate", 1, WW_CUDA_ERROR_OUT_OF_MEMORY);
	memory = memory_make(scene.device, WW_MEMORY_VMM, BYTES);
	MUST(!ww_cache_drop_kept());
	fake_get()->fail("cuMemCreate", 1, WW_CUDA_ERROR_OUT_OF_MEMORY);
	MUST_STATUS(WW_ERR_DEVICE_MEMORY,
		ww_memory_create(scene.device,
			WW_PARAMS(struct ww_memory_params, .kind = WW_MEMORY_VMM, .bytes = BYTES),
			&(ww_memory *){NULL}));
	fake_get()->fail_off();
}
