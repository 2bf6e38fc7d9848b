/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign.c - memory that was allocated by other means: what can be wrapped, what is refused, and
 * copies
 *
 * One process; what others do with it is tested between real ones (integration/foreign.h). A
 * pointer into memory of this library can be wrapped on every device.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "conformance/foreign.h"
#include "support/broker_case.h"

const enum allocation_kind foreign_shareable[FOREIGN_KINDS] = {ALLOCATION_LEGACY, ALLOCATION_POOL,
	ALLOCATION_VMM};

const uint32_t foreign_kinds[FOREIGN_KINDS] = {WW_MEMORY_LEGACY, WW_MEMORY_CUDA_POOL,
	WW_MEMORY_VMM};

ww_device *foreign_begin(struct allocation *allocation, enum allocation_kind kind)
{
	ww_device *device = subject_open();

	if (!allocation_make(allocation, kind, FOREIGN_BYTES))
		check_skip("the GPU has no memory of this kind");
	allocation_write(allocation, 7);
	return device;
}

void foreign_end(ww_device *device, struct allocation *allocation)
{
	allocation_free(allocation);
	allocation_leave();
	ww_device_unref(device);
}

ww_memory *foreign_wrap(ww_device *device, const struct allocation *allocation, uint64_t offset,
	uint64_t bytes)
{
	ww_memory *memory;

	MUST_OK(ww_memory_wrap(device, allocation_at(allocation, offset), bytes, NULL, &memory));
	return memory;
}

void foreign_must_be_same_object(ww_memory *a, ww_memory *b)
{
	struct ww_memory_info info = memory_info(a);
	struct ww_memory_info other = memory_info(b);

	MUST_MATCH(info.object_id, other.object_id, sizeof(info.object_id));
}

static void refuse_wrap(ww_device *device, void *pointer, uint64_t bytes, ww_status status,
	const char *word)
{
	ww_memory *memory = (ww_memory *)&status;

	MUST_REFUSE(status, word, ww_memory_wrap(device, pointer, bytes, NULL, &memory));
	MUST(!memory);
}

/* --- wrapping --- */

CASE(foreign_wrap_says_what_it_is, WW_CAP_FOREIGN)
{
	for (size_t i = 0; i < CHECK_COUNT(foreign_shareable); i++) {
		struct allocation allocation;
		ww_device *device = foreign_begin(&allocation, foreign_shareable[i]);
		ww_memory *memory = foreign_wrap(device, &allocation, FOREIGN_OFFSET, FOREIGN_SPAN);
		struct ww_memory_info info = memory_info(memory);
		uint8_t *expected = malloc(FOREIGN_BYTES);
		uint8_t *got = malloc(FOREIGN_SPAN);

		MUST(expected && got);
		MUST_EQUAL(foreign_kinds[i], info.kind);
		MUST_EQUAL(WW_ACCESS_WRITE, info.access);
		MUST_EQUAL(WW_ROUTE_LOCAL, info.route);
		MUST_EQUAL(WW_MEMORY_IS_WRAPPED, info.flags);
		MUST_EQUAL(FOREIGN_SPAN, info.bytes);
		MUST_EQUAL(FOREIGN_OFFSET, info.offset);
		MUST_EQUAL(allocation.bytes, info.total_bytes);
		MUST(info.pointer == allocation_at(&allocation, FOREIGN_OFFSET));
		MUST(!info.host_pointer);
		MUST(info.device == device);
		pattern_make(expected, allocation.bytes, 7);
		memory_get(memory, 0, got, FOREIGN_SPAN);
		MUST_MATCH(expected + FOREIGN_OFFSET, got, FOREIGN_SPAN);
		ww_memory_unref(memory);

		memory = foreign_wrap(device, &allocation, 0, 0);
		MUST_EQUAL(allocation.bytes, memory_info(memory).bytes);
		pattern_write(memory, 8);
		allocation_verify(&allocation, 8);
		ww_memory_unref(memory);
		free(expected);
		free(got);
		foreign_end(device, &allocation);
	}
}

CASE(foreign_wrap_twice_is_one_object, WW_CAP_FOREIGN)
{
	for (size_t i = 0; i < CHECK_COUNT(foreign_shareable); i++) {
		struct allocation allocation;
		ww_device *device = foreign_begin(&allocation, foreign_shareable[i]);
		ww_memory *first = foreign_wrap(device, &allocation, 0, FOREIGN_SPAN);
		ww_memory *second = foreign_wrap(device, &allocation, FOREIGN_OFFSET, 0);

		MUST(first != second);
		foreign_must_be_same_object(first, second);
		MUST_EQUAL(allocation.bytes - FOREIGN_OFFSET, memory_info(second).bytes);
		ww_memory_unref(first);
		MUST_EQUAL(FOREIGN_OFFSET, memory_info(second).offset);
		ww_memory_unref(second);
		foreign_end(device, &allocation);
	}
}

static void count_call(void *context)
{
	(*(int *)context)++;
}

DEVICE_CASE(foreign_release_is_called_once, 0)
{
	struct ww_wrap_params params = {.struct_size = sizeof(params), .release = count_call};
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, FOREIGN_BYTES);
	ww_memory *wrapped;
	int calls = 0;

	params.context = &calls;
	MUST_OK(ww_memory_wrap(device, ww_memory_pointer(memory), 0, &params, &wrapped));
	ww_memory_ref(wrapped);
	ww_memory_unref(wrapped);
	MUST_EQUAL(0, calls);
	ww_memory_unref(wrapped);
	MUST_EQUAL(1, calls);
	MUST_REFUSE(WW_ERR_INVALID, "",
		ww_memory_wrap(device, ww_memory_pointer(memory), 2 * FOREIGN_BYTES, &params,
			&wrapped));
	MUST_EQUAL(1, calls);
}

static ww_memory *wrap_counted(ww_device *device, const struct allocation *allocation,
	uint64_t offset, int *calls)
{
	ww_memory *memory;

	MUST_OK(ww_memory_wrap(device, allocation_at(allocation, offset), FOREIGN_SPAN,
		WW_PARAMS(struct ww_wrap_params, .release = count_call, .context = calls),
		&memory));
	return memory;
}

/* Parts of one allocation end each for itself: a caching allocator uses the bytes of one again. */
static void release_parts(enum allocation_kind kind)
{
	struct allocation allocation;
	ww_device *device = foreign_begin(&allocation, kind);
	int calls[2] = {0, 0};
	ww_memory *parts[2];

	for (int i = 0; i < 2; i++)
		parts[i] = wrap_counted(device, &allocation, FOREIGN_SPAN * (uint64_t)i, &calls[i]);
	ww_memory_unref(parts[0]);
	MUST_EQUAL(1, calls[0]);
	ww_memory_unref(parts[1]);
	MUST_EQUAL(1, calls[1]);
	MUST_EQUAL(1, calls[0]);
	foreign_end(device, &allocation);
}

/* Not while this process holds another span of the allocation by a token of its own. */
static void release_held(enum allocation_kind kind, uint32_t access)
{
	struct allocation allocation;
	ww_device *device = foreign_begin(&allocation, kind);
	int calls[2] = {0, 0};
	struct ww_token token;
	ww_memory *parts[2];
	ww_memory *held;

	scene_begin();
	for (int i = 0; i < 2; i++)
		parts[i] = wrap_counted(device, &allocation, FOREIGN_SPAN * (uint64_t)i, &calls[i]);
	MUST_OK(ww_memory_export(parts[0], scene.broker,
		WW_PARAMS(struct ww_export_params, .access = access, .bytes = FOREIGN_SPAN / 2),
		NULL, &token));
	MUST_OK(ww_memory_import(device, scene.broker, &token,
		WW_PARAMS(struct ww_import_params, .access = access), NULL, &held, NULL));
	for (int i = 0; i < 2; i++) {
		ww_memory_unref(parts[i]);
		MUST_EQUAL(0, calls[0] + calls[1]);
		pattern_verify(held, 7);
	}
	/* Wrapped anew meanwhile, it is still the same. */
	parts[0] = wrap_counted(device, &allocation, 0, &calls[0]);
	foreign_must_be_same_object(held, parts[0]);
	ww_memory_unref(held);
	MUST_EQUAL(0, calls[0] + calls[1]);
	ww_memory_unref(parts[0]);
	MUST_EQUAL(2, calls[0]);
	MUST_EQUAL(1, calls[1]);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "release",
		ww_memory_import(device, scene.broker, &token,
			WW_PARAMS(struct ww_import_params, .access = access), NULL, &held, NULL));
	scene_end();
	foreign_end(device, &allocation);
}

CASE(foreign_release_waits_for_imports, WW_CAP_FOREIGN)
{
	for (size_t i = 0; i < 2; i++) {
		release_parts(foreign_shareable[i]);
		release_held(foreign_shareable[i], WW_ACCESS_WRITE);
		release_held(foreign_shareable[i], WW_ACCESS_READ);
	}
}

/* ... so what is told is that nobody can import it any more. */
struct witness {
	const struct ww_memory_description *description;
	ww_device *device;
	int fd;
	int calls;
};

static void must_be_withdrawn(void *context)
{
	struct witness *witness = context;
	ww_memory *memory;

	MUST_REFUSE(WW_ERR_NOT_FOUND, "release",
		ww_memory_import_fd(witness->device, witness->fd, witness->description, NULL,
			&memory));
	witness->calls++;
}

CASE(foreign_release_comes_after_withdrawal, WW_CAP_FOREIGN)
{
	struct ww_memory_description description;
	struct witness witness = {.description = &description};
	struct allocation allocation;
	ww_device *device = foreign_begin(&allocation, ALLOCATION_LEGACY);
	ww_memory *memory;

	witness.device = device;
	MUST_OK(ww_memory_wrap(device, allocation_at(&allocation, 0), 0,
		WW_PARAMS(struct ww_wrap_params, .release = must_be_withdrawn, .context = &witness),
		&memory));
	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_READ, &witness.fd, &description));
	ww_memory_unref(memory);
	MUST_EQUAL(1, witness.calls);
	close(witness.fd);
	foreign_end(device, &allocation);
}

/* A slice has marks that keep it, which a wrap of its bytes would go past. */
SCENE_CASE(foreign_wrap_refuses_slices, WW_CAP_EXPORT)
{
	ww_device *device;
	ww_memory *slices[2];
	struct ww_token token;
	OWN(pool) ww_pool *pool;

	device = scene.device;
	MUST_OK(ww_pool_create(device, NULL, &pool));
	MUST_OK(ww_pool_alloc(pool, FOREIGN_SPAN, 0, 0, NULL, &slices[0]));
	MUST_OK(ww_memory_export(slices[0], scene.broker, NULL, NULL, &token));
	MUST_OK(ww_memory_import(device, scene.broker, &token, NULL, NULL, &slices[1], NULL));
	for (int i = 0; i < 2; i++) {
		char *pointer = ww_memory_pointer(slices[i]);

		refuse_wrap(device, pointer, 0, WW_ERR_UNSUPPORTED, "export the slice itself");
		refuse_wrap(device, pointer + 1, 1, WW_ERR_UNSUPPORTED, "export the slice itself");
	}
	for (int i = 0; i < 2; i++)
		ww_memory_unref(slices[i]);
}

static void wrap_own(uint32_t kind)
{
	OWN(device) ww_device *device = subject_open();
	ww_memory *memory = memory_make(device, kind, FOREIGN_BYTES);
	struct ww_memory_info own = memory_info(memory);
	struct ww_memory_info info;
	OWN(memory) ww_memory *wrapped;

	MUST_OK(ww_memory_wrap(device, (char *)own.pointer + FOREIGN_OFFSET, FOREIGN_SPAN, NULL,
		&wrapped));
	pattern_write(wrapped, 3);
	info = memory_info(wrapped);
	MUST_EQUAL(kind, info.kind);
	MUST_EQUAL(FOREIGN_OFFSET, info.offset);
	MUST_EQUAL(FOREIGN_SPAN, info.bytes);
	MUST_EQUAL(own.bytes, info.total_bytes);
	foreign_must_be_same_object(memory, wrapped);
	if (own.host_pointer)
		MUST(info.host_pointer == (char *)own.host_pointer + FOREIGN_OFFSET);
	ww_memory_unref(memory);
	pattern_verify(wrapped, 3); /* it keeps the memory */
}

CASE_CALL(foreign_wrap_own_memory, 0, wrap_own(WW_MEMORY_VMM))
CASE_CALL(foreign_wrap_own_memory_host_kind, WW_CAP_HOST_MEMORY, wrap_own(WW_MEMORY_HOST))

/* The allocation is gone and another one has its address: neither is taken for the other. */
static void reallocate(enum allocation_kind kind, const char *word)
{
	struct ww_memory_description description;
	struct allocation allocation;
	ww_device *device = foreign_begin(&allocation, kind);
	ww_memory *former = foreign_wrap(device, &allocation, 0, 0);
	ww_CUdeviceptr address = allocation.address;
	struct ww_token token;
	ww_memory *memory;
	int fd;

	scene_begin();
	MUST_OK(ww_memory_export(former, scene.broker, NULL, NULL, &token));
	allocation_free(&allocation);
	MUST(allocation_make(&allocation, kind, FOREIGN_BYTES));
	if (allocation.address != address)
		check_note("the driver gave another address");
	MUST_REFUSE(WW_ERR_STATE, word, ww_memory_export(former, scene.broker, NULL, NULL, &token));
	if (kind == ALLOCATION_LEGACY)
		MUST_REFUSE(WW_ERR_STATE, word,
			ww_memory_export_fd(former, WW_ACCESS_READ, &fd, &description));
	MUST_REFUSE(WW_ERR_STATE, word,
		ww_memory_import(device, scene.broker, &token, NULL, NULL, &memory, NULL));
	memory = foreign_wrap(device, &allocation, 0, 0);
	MUST(memcmp(memory_info(memory).object_id, memory_info(former).object_id,
		WW_OBJECT_ID_BYTES));
	ww_memory_unref(former);
	MUST_OK(ww_memory_export(memory, scene.broker, NULL, NULL, &token));
	ww_memory_unref(memory);
	scene_end();
	foreign_end(device, &allocation);
}

CASE(foreign_freed_while_wrapped, WW_CAP_FOREIGN)
{
	reallocate(ALLOCATION_LEGACY, "freed");
	reallocate(ALLOCATION_POOL, "freed");
}

/* --- what is refused --- */

CASE(foreign_wrap_refuses_kinds, WW_CAP_FOREIGN)
{
	static const struct {
		enum allocation_kind kind;
		const char *word;
	} refused[] = {
		{ALLOCATION_MANAGED, "managed"},
		{ALLOCATION_PINNED, "pinned"},
		{ALLOCATION_DEFAULT_POOL, "default pool"},
		{ALLOCATION_POOL_CLOSED, "handleTypes"},
		{ALLOCATION_VMM_CLOSED, "requestedHandleTypes"},
	};

	for (size_t i = 0; i < CHECK_COUNT(refused); i++) {
		struct allocation allocation;
		ww_device *device = foreign_begin(&allocation, refused[i].kind);

		refuse_wrap(device, allocation_at(&allocation, 0), 0, WW_ERR_UNSUPPORTED,
			refused[i].word);
		refuse_wrap(device, allocation_at(&allocation, 0), 0, WW_ERR_UNSUPPORTED,
			"ww_memory_copy_in");
		foreign_end(device, &allocation);
	}
}

DEVICE_CASE(foreign_wrap_refuses_other_memory, 0)
{
	OWN(heap) void *heap = malloc(FOREIGN_BYTES);

	MUST(heap);
	refuse_wrap(device, heap, FOREIGN_BYTES, WW_ERR_UNSUPPORTED, "malloc");
	refuse_wrap(device, heap, FOREIGN_BYTES, WW_ERR_UNSUPPORTED, "ww_memory_copy_in");
}

DEVICE_CASE(foreign_wrap_refuses_no_memory, WW_CAP_FOREIGN)
{
	void *nothing = mmap(NULL, FOREIGN_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(nothing != MAP_FAILED);
	refuse_wrap(device, nothing, 0, WW_ERR_INVALID, "no memory");
	munmap(nothing, FOREIGN_BYTES);
}

CASE(foreign_wrap_refuses_spans, WW_CAP_FOREIGN)
{
	for (size_t i = 0; i < CHECK_COUNT(foreign_shareable); i++) {
		struct allocation allocation;
		ww_device *device = foreign_begin(&allocation, foreign_shareable[i]);

		refuse_wrap(device, allocation_at(&allocation, 1), allocation.bytes, WW_ERR_INVALID,
			"leave");
		refuse_wrap(device, allocation_at(&allocation, 1), UINT64_MAX, WW_ERR_OVERFLOW, "");
		foreign_end(device, &allocation);
	}
}

/* PyTorch's expandable segments: what looks like one allocation is many. */
CASE(foreign_wrap_refuses_several_allocations, WW_CAP_FOREIGN)
{
	struct allocation allocation;
	ww_device *device = foreign_begin(&allocation, ALLOCATION_VMM_PARTS);
	ww_memory *memory;

	refuse_wrap(device, allocation_at(&allocation, 0), allocation.bytes, WW_ERR_UNSUPPORTED,
		"expandable_segments");
	memory = foreign_wrap(device, &allocation, allocation.part_bytes, 0);
	MUST_EQUAL(allocation.part_bytes, memory_info(memory).bytes);
	MUST_EQUAL(0, memory_info(memory).offset);
	ww_memory_unref(memory);
	foreign_end(device, &allocation);
}

CASE(foreign_wrap_refuses_other_gpu, WW_CAP_FOREIGN | NEEDS_OTHER_GPU)
{
	struct allocation allocation;
	ww_device *device = foreign_begin(&allocation, ALLOCATION_LEGACY);
	ww_device *other = subject_open_other();

	refuse_wrap(other, allocation_at(&allocation, 0), 0, WW_ERR_INVALID, "lies on");
	ww_device_unref(other);
	foreign_end(device, &allocation);
}

DEVICE_CASE(foreign_wrap_params_are_versioned, 0)
{
	struct ww_wrap_params params = {.struct_size = sizeof(params), .flags = 4};
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, FOREIGN_BYTES);
	void *pointer = ww_memory_pointer(memory);
	ww_memory *wrapped;

	MUST_REFUSE(WW_ERR_INVALID, "flags", ww_memory_wrap(device, pointer, 0, &params, &wrapped));
	params = (struct ww_wrap_params){.struct_size = sizeof(params), .reserved = 1};
	MUST_REFUSE(WW_ERR_INVALID, "flags", ww_memory_wrap(device, pointer, 0, &params, &wrapped));
	params = (struct ww_wrap_params){.struct_size = 0};
	MUST_REFUSE(WW_ERR_INVALID, "size", ww_memory_wrap(device, pointer, 0, &params, &wrapped));
}

/* --- copies --- */

DEVICE_CASE(foreign_copy_in, 0)
{
	struct ww_memory_params params = {.struct_size = sizeof(params), .bytes = FOREIGN_SPAN};
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(heap) uint8_t *source = malloc(FOREIGN_BYTES);
	OWN(heap) uint8_t *got = malloc(FOREIGN_SPAN);
	ww_memory *memory;

	MUST(source && got);
	pattern_make(source, FOREIGN_BYTES, 12);
	MUST_OK(ww_memory_copy_in(stream, source + 1, &params, &memory));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_EQUAL(WW_MEMORY_VMM, memory_info(memory).kind);
	MUST(memory_info(memory).bytes >= FOREIGN_SPAN);
	memory_get(memory, 0, got, FOREIGN_SPAN);
	MUST_MATCH(source + 1, got, FOREIGN_SPAN);
	ww_memory_unref(memory);
	params.bytes = 0;
	MUST_REFUSE(WW_ERR_INVALID, "0 bytes", ww_memory_copy_in(stream, source, &params, &memory));
}

CASE(foreign_copy_in_of_managed_memory, WW_CAP_FOREIGN)
{
	struct allocation allocation;
	ww_device *device = foreign_begin(&allocation, ALLOCATION_MANAGED);
	ww_stream *stream = stream_make(device);
	ww_memory *memory;

	MUST_OK(ww_memory_copy_in(stream, allocation_at(&allocation, 0),
		WW_PARAMS(struct ww_memory_params, .bytes = FOREIGN_BYTES), &memory));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	pattern_verify(memory, 7);
	ww_memory_unref(memory);
	ww_stream_unref(stream);
	foreign_end(device, &allocation);
}

/* --- the strict flag --- */

DEVICE_CASE(foreign_strict_takes_fast_routes, WW_CAP_EXPORT)
{
	struct ww_memory_description description;
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, FOREIGN_BYTES);
	OWN(memory) ww_memory *again;
	OWN(fd) int fd;

	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
	MUST_OK(ww_memory_import_fd(device, fd, &description,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE,
			.flags = WW_IMPORT_NO_SLOW_ROUTE),
		&again));
}

DEVICE_CASE(foreign_strict_refuses_host_memory, WW_CAP_HOST_MEMORY | NEEDS_CUDA)
{
	struct ww_memory_description description;
	ww_memory *memory = memory_make(device, WW_MEMORY_HOST, FOREIGN_BYTES);
	OWN(memory) ww_memory *again;
	OWN(fd) int fd;

	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "WW_IMPORT_NO_SLOW_ROUTE",
		ww_memory_import_fd(device, fd, &description,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE,
				.flags = WW_IMPORT_NO_SLOW_ROUTE),
			&again));
	ww_memory_unref(memory);
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "WW_IMPORT_NO_SLOW_ROUTE",
		ww_memory_import_fd(device, fd, &description,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE,
				.flags = WW_IMPORT_NO_SLOW_ROUTE),
			&again));
	MUST(!again);
	MUST_OK(ww_memory_import_fd(device, fd, &description,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &again));
}
