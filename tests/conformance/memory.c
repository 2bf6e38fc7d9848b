/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - making, describing and releasing memory within one process
 */
#include <stdlib.h>
#include <string.h>

#include "conformance/conformance.h"
#include "support/driver.h"

static void check_info(uint32_t kind, uint32_t route)
{
	static const uint8_t no_id[WW_OBJECT_ID_BYTES];
	OWN(device) ww_device *device = subject_open();
	ww_memory *memory = memory_make(device, kind, 3 * MIB);
	struct ww_memory_info info = memory_info(memory);
	struct ww_device_info about = device_info(device);

	MUST_EQUAL(sizeof(info), info.struct_size);
	MUST_EQUAL(kind, info.kind);
	MUST_EQUAL(WW_ACCESS_WRITE, info.access);
	MUST_EQUAL(route, info.route);
	MUST_EQUAL(kind == WW_MEMORY_HOST ? 3 * MIB : 4 * MIB, info.bytes);
	MUST(info.pointer && info.pointer == ww_memory_pointer(memory));
	MUST(info.host_pointer == ww_memory_host_pointer(memory));
	MUST(info.device == device);
	MUST_MATCH(about.uuid, info.home_uuid, sizeof(about.uuid));
	MUST(memcmp(info.object_id, no_id, sizeof(no_id)));
	MUST(!ww_memory_unref(memory));
}

CASE_CALL(memory_vmm_info, 0,
	check_info(WW_MEMORY_VMM, subject_is_cuda() ? WW_ROUTE_LOCAL : WW_ROUTE_HOST))
CASE_CALL(memory_host_info, WW_CAP_HOST_MEMORY,
	check_info(WW_MEMORY_HOST, subject_is_cuda() ? WW_ROUTE_HOST_REGISTERED : WW_ROUTE_HOST))

DEVICE_CASE(memory_kind_zero_is_vmm, 0)
{
	OWN(memory) ww_memory *memory = memory_make(device, 0, 1);

	MUST_EQUAL(WW_MEMORY_VMM, memory_info(memory).kind);
}

static void check_rounding(ww_device *device, uint32_t kind, uint64_t unit)
{
	const uint64_t asked[] = {1, unit - 1, unit, unit + 1, 2 * unit};
	const uint64_t given[] = {unit, unit, unit, 2 * unit, 2 * unit};

	for (size_t i = 0; i < CHECK_COUNT(asked); i++) {
		ww_memory *memory = memory_make(device, kind, asked[i]);

		MUST_EQUAL(given[i], memory_info(memory).bytes);
		ww_memory_unref(memory);
	}
}

DEVICE_CASE(memory_rounds_up, 0)
{
	struct ww_device_info info = device_info(device);

	check_rounding(device, WW_MEMORY_VMM, info.granularity);
	if (info.capabilities & WW_CAP_HOST_MEMORY)
		check_rounding(device, WW_MEMORY_HOST, 4096);
}

static void check_zero(uint32_t kind, uint64_t bytes)
{
	OWN(device) ww_device *device = subject_open();
	OWN(memory) ww_memory *memory = memory_make(device, kind, bytes);

	memory_must_be(memory, 0);
}

CASE_CALL(memory_is_zero, 0, check_zero(WW_MEMORY_VMM, 5 * MIB))
CASE_CALL(memory_host_is_zero, WW_CAP_HOST_MEMORY, check_zero(WW_MEMORY_HOST, 5 * MIB))

DEVICE_CASE(memory_is_zero_after_use, 0)
{
	for (uint32_t i = 0; i < 8; i++) {
		ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);

		memory_must_be(memory, 0);
		pattern_write(memory, i);
		ww_memory_unref(memory);
	}
}

/* Whether the CPU reaches vmm memory is what the capability says. */
DEVICE_CASE(memory_cpu_pointer, 0)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	bool reaches = device_info(device).capabilities & WW_CAP_CPU_ACCESS;

	MUST_EQUAL(reaches, ww_memory_host_pointer(memory) != NULL);
	if (reaches) {
		pattern_make(ww_memory_host_pointer(memory), 2 * MIB, 11);
		pattern_verify(memory, 11);
	}
}

DEVICE_CASE(memory_host_pointer_is_shared, WW_CAP_HOST_MEMORY)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_HOST, 1 * MIB);
	OWN(heap) uint8_t *expected = malloc(1 * MIB);

	MUST(expected && ww_memory_host_pointer(memory));
	pattern_make(ww_memory_host_pointer(memory), 1 * MIB, 12); /* the CPU writes, */
	pattern_verify(memory, 12);                                /* the device sees it */
	pattern_write(memory, 13);                                 /* and back */
	pattern_make(expected, 1 * MIB, 13);
	MUST_MATCH(expected, ww_memory_host_pointer(memory), 1 * MIB);
}

DEVICE_CASE(memory_ids_differ, 0)
{
	OWN(memory) ww_memory *a = memory_make(device, WW_MEMORY_VMM, 1);
	OWN(memory) ww_memory *b = memory_make(device, WW_MEMORY_VMM, 1);

	MUST(memcmp(memory_info(a).object_id, memory_info(b).object_id, WW_OBJECT_ID_BYTES));
	MUST(ww_memory_pointer(a) != ww_memory_pointer(b));
}

DEVICE_CASE(memory_ref_counts, 0)
{
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);

	MUST(ww_memory_ref(memory) == memory);
	MUST(!ww_memory_unref(memory));
	pattern_write(memory, 14);
	pattern_verify(memory, 14);
	MUST(!ww_memory_unref(memory));
}

CASE(memory_keeps_device, 0)
{
	ww_device *device = subject_open();
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);

	ww_device_unref(device);
	MUST(memory_info(memory).device == device);
	pattern_write(memory, 15);
	pattern_verify(memory, 15);
}

CASE(memory_info_is_versioned, 0)
{
	struct {
		struct ww_memory_info info;
		uint8_t later[64];
	} longer = {.info.struct_size = sizeof(longer)};
	ww_device *device = subject_open();
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 1);
	struct ww_memory_info info = {.struct_size = 0};
	uint8_t zero[sizeof(longer.later)] = {0};

	MUST_REFUSE(WW_ERR_INVALID, "size", ww_memory_info_get(memory, &info));
	info.struct_size = 12;
	MUST_REFUSE(WW_ERR_INVALID, "size", ww_memory_info_get(memory, &info));
	memset(longer.later, 0xee, sizeof(longer.later));
	MUST_OK(ww_memory_info_get(memory, &longer.info));
	MUST_EQUAL(sizeof(longer), longer.info.struct_size);
	MUST_MATCH(zero, longer.later, sizeof(zero));
	ww_memory_unref(memory);
	ww_device_unref(device);
}

CASE(memory_params_are_versioned, 0)
{
	struct {
		struct ww_memory_params params;
		uint64_t later;
	} longer = {.params = {.struct_size = sizeof(longer), .kind = WW_MEMORY_VMM, .bytes = 1}};
	struct ww_memory_params params = {.struct_size = 0, .kind = WW_MEMORY_VMM, .bytes = 1};
	ww_device *device = subject_open();
	ww_memory *memory;

	MUST_REFUSE(WW_ERR_INVALID, "size", ww_memory_create(device, &params, &memory));
	MUST(!memory);
	params.struct_size = 16;
	MUST_REFUSE(WW_ERR_INVALID, "size", ww_memory_create(device, &params, &memory));
	MUST_OK(ww_memory_create(device, &longer.params, &memory)); /* zero means as before */
	ww_memory_unref(memory);
	longer.later = 1;
	MUST_REFUSE(WW_ERR_INVALID, "", ww_memory_create(device, &longer.params, &memory));
	MUST(!memory);
	ww_device_unref(device);
}

static void must_refuse_bytes(uint32_t kind, uint64_t bytes, ww_status status)
{
	struct ww_memory_params params = {.struct_size = sizeof(params),
		.kind = kind,
		.bytes = bytes};
	OWN(device) ww_device *device = subject_open();
	ww_memory *memory = (ww_memory *)&params;

	MUST_REFUSE(status, "", ww_memory_create(device, &params, &memory));
	MUST(!memory);
}

CASE(memory_refuses_no_bytes, 0)
{
	must_refuse_bytes(WW_MEMORY_VMM, 0, WW_ERR_INVALID);
	must_refuse_bytes(WW_MEMORY_HOST, 0, WW_ERR_INVALID);
}

CASE(memory_refuses_overflow, 0)
{
	must_refuse_bytes(WW_MEMORY_VMM, UINT64_MAX, WW_ERR_OVERFLOW);
	must_refuse_bytes(WW_MEMORY_HOST, UINT64_MAX, WW_ERR_OVERFLOW);
	must_refuse_bytes(WW_MEMORY_VMM, UINT64_MAX - 2 * MIB + 2, WW_ERR_OVERFLOW);
}

DEVICE_CASE(memory_refuses_too_much, 0)
{
	struct ww_device_info info = device_info(device);
	ww_status status = subject_is_cuda() ? WW_ERR_DEVICE_MEMORY : WW_ERR_NO_MEMORY;

	must_refuse_bytes(WW_MEMORY_VMM, 2 * info.bytes_total, status);
	must_refuse_bytes(WW_MEMORY_VMM, UINT64_C(1) << 46, status);
}

CASE_CALL(memory_host_refuses_too_much, WW_CAP_HOST_MEMORY,
	must_refuse_bytes(WW_MEMORY_HOST, UINT64_C(1) << 46, WW_ERR_NO_MEMORY))

DEVICE_CASE(memory_refuses_unknown, 0)
{
	static const struct ww_memory_params wrong[] = {
		{.struct_size = sizeof(wrong[0]), .kind = 3, .bytes = 1},
		{.struct_size = sizeof(wrong[0]), .kind = UINT32_MAX, .bytes = 1},
		{.struct_size = sizeof(wrong[0]), .kind = WW_MEMORY_VMM, .bytes = 1, .flags = 1},
		{.struct_size = sizeof(wrong[0]),
			.kind = WW_MEMORY_VMM,
			.bytes = 1,
			.flags = UINT64_C(1) << 63},
	};
	ww_memory *memory;

	for (size_t i = 0; i < CHECK_COUNT(wrong); i++) {
		memory = (ww_memory *)&device;
		MUST_REFUSE(WW_ERR_INVALID, wrong[i].flags ? "flag" : "kind",
			ww_memory_create(device, &wrong[i], &memory));
		MUST(!memory);
	}
}

CASE_CALL(memory_unref_of_null, 0, MUST(!ww_memory_unref(NULL)))

/* As much as there is in all, several times over, one after the other. */
DEVICE_CASE(memory_release_gives_back, 0)
{
	uint64_t bytes = device_free_bytes(device) / 4 / (2 * MIB) * (2 * MIB);

	if (bytes > 512 * MIB)
		bytes = fake_get() || !subject_is_cuda() ? 64 * MIB : bytes;
	for (int i = 0; i < 8; i++)
		ww_memory_unref(memory_make(device, WW_MEMORY_VMM, bytes));
}

DEVICE_CASE(memory_misuse, NEEDS_MISUSE_STATUS)
{
	const struct ww_memory_params *params = WW_PARAMS(struct ww_memory_params, .bytes = 1);
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 1);
	ww_memory *none;

	MUST_REFUSE(WW_ERR_INVALID, "", ww_memory_create(NULL, params, &none));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_memory_create(device, NULL, &none));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_memory_create(device, params, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_memory_info_get(NULL, &info));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_memory_info_get(memory, NULL));
}
