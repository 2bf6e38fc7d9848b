/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_plain.c - a program that does not use this library shares memory with one that does, both ways
 *
 *   parent, with the library                  stranger, with the driver alone
 *                                             cuMemAlloc, writes i + 100
 *   ww_memory_open_handle <------ 64 bytes -- cuIpcGetMemHandle
 *   verifies it, writes -i                    verifies -i, frees it
 *
 *   cuMemAlloc, ww_memory_wrap, writes keyed
 *   ww_memory_handle_get -- 64 bytes, offset -> cuIpcOpenMemHandle
 *                                             verifies it, writes -i
 *   verifies -i
 */
#include "demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plain_cuda.h"

#define PIECE_ELEMENTS (UINT64_C(1) << 20)
#define OFFSET_BYTES   1024 /* of what is wrapped in its allocation */

static const struct pattern of_stranger = {PATTERN_COUNT_100, 0};
static const struct pattern of_parent = {PATTERN_KEYED, 1234};
static const struct pattern answer = {PATTERN_NEGATIVE, 0};

_Static_assert(WW_HANDLE_BYTES == sizeof(ww_CUipcMemHandle), "a handle is a handle");
_Static_assert(WW_HANDLE_BYTES <= sizeof(struct ww_memory_description), "and fits a message");

/* --- the parent --- */

static int open_theirs(const struct demo *demo, struct child *stranger, struct demo_step *step)
{
	OWN(memory) ww_memory *memory = NULL;
	struct span span = {.stream = demo->stream, .elements = demo->elements};
	struct link_message message;
	float first;
	float last;

	if (child_receive(stranger, LINK_READY, &message, NULL))
		return -1;
	if (ww_memory_open_handle(demo->device, message.description.bytes, WW_ACCESS_WRITE,
		    &memory) != WW_OK)
		return complain_record("cannot open the handle of a plain CUDA program");
	step->routes |= UINT32_C(1) << demo_route(memory);
	span.memory = memory;
	if (span_verify(&span, of_stranger, &first, &last) || span_write(&span, answer))
		return -1;
	say("opened the handle of a program that has no Warpway, route %s; first %.9g, last %.9g: as "
	    "expected; wrote -i",
		demo_route_name(demo_route(memory)), (double)first, (double)last);
	memory = ww_memory_unref(memory);
	message.kind = LINK_GO;
	return child_send(stranger, &message, -1) ||
			child_receive(stranger, LINK_READY, &message, NULL)
		? -1
		: 0;
}

static int hand_ours(const struct demo *demo, ww_memory *wrapped, struct child *stranger)
{
	struct span span = {
		.stream = demo->stream,
		.memory = wrapped,
		.elements = demo->elements,
	};
	struct link_message message = {.kind = LINK_GO};
	float first;
	float last;

	if (span_write(&span, of_parent))
		return -1;
	if (ww_memory_handle_get(wrapped, message.description.bytes, &message.numbers[0]) != WW_OK)
		return complain_record("cannot get a handle");
	say("hands its own %s as a handle and an offset of %llu bytes", demo->size_text,
		(unsigned long long)message.numbers[0]);
	if (child_send(stranger, &message, -1) ||
		child_receive(stranger, LINK_DONE, &message, NULL) ||
		span_verify(&span, answer, &first, &last))
		return -1;
	say("sees first %.9g, last %.9g: every -i of the stranger as expected", (double)first,
		(double)last);
	return child_finish(stranger, 0);
}

struct scene {
	struct cuda cuda;
	ww_CUdeviceptr address;
	ww_memory *wrapped;
	struct child stranger;
};

static void own_scene(struct scene *scene)
{
	child_fini(&scene->stranger);
	ww_memory_unref(scene->wrapped);
	if (scene->address)
		scene->cuda.cuMemFree(scene->address);
	cuda_close(&scene->cuda);
}

static int run(const struct demo *demo, struct scene *scene, struct demo_step *step)
{
	uint64_t bytes = demo->elements * sizeof(float);

	if (demo_spawn(demo, "the stranger", "stranger", &scene->stranger) ||
		open_theirs(demo, &scene->stranger, step) ||
		cuda_open(&scene->cuda, demo->info.index) ||
		CUDA_CALL(&scene->cuda, cuMemAlloc, &scene->address, OFFSET_BYTES + bytes))
		return -1;
	if (ww_memory_wrap(demo->device, (void *)(uintptr_t)(scene->address + OFFSET_BYTES), bytes,
		    NULL, &scene->wrapped) != WW_OK)
		return complain_record("cannot wrap memory of cuMemAlloc");
	return hand_ours(demo, scene->wrapped, &scene->stranger);
}

int demo_plain(const struct demo *demo, struct demo_step *step)
{
	OWN(scene) struct scene scene = {.stranger = CHILD_NONE};

	if (!demo_has_foreign(demo, step))
		return 0;
	if (run(demo, &scene, step))
		return -1;
	snprintf(step->shown, sizeof(step->shown),
		"%s from a CUDA program without Warpway, and %s to it, by 64-byte handles",
		demo->size_text, demo->size_text);
	return 0;
}

/* --- the stranger: what any program of CUDA does --- */

struct stranger {
	struct cuda cuda;
	uint64_t elements;
	float *piece;
	ww_CUdeviceptr own;
	ww_CUdeviceptr opened;
};

static void own_stranger(struct stranger *stranger)
{
	if (stranger->opened)
		stranger->cuda.cuIpcCloseMemHandle(stranger->opened);
	if (stranger->own)
		stranger->cuda.cuMemFree(stranger->own);
	free(stranger->piece);
	cuda_close(&stranger->cuda);
}

static uint64_t piece_count(const struct stranger *stranger, uint64_t start)
{
	uint64_t left = stranger->elements - start;

	return left < PIECE_ELEMENTS ? left : PIECE_ELEMENTS;
}

static int write_all(const struct stranger *stranger, ww_CUdeviceptr address,
	struct pattern pattern)
{
	for (uint64_t start = 0; start < stranger->elements; start += PIECE_ELEMENTS) {
		uint64_t count = piece_count(stranger, start);

		for (uint64_t i = 0; i < count; i++)
			stranger->piece[i] = pattern_at(pattern, start + i);
		if (CUDA_CALL(&stranger->cuda, cuMemcpyHtoD, address + start * sizeof(float),
			    stranger->piece, count * sizeof(float)))
			return -1;
	}
	return 0;
}

static int verify_all(const struct stranger *stranger, ww_CUdeviceptr address,
	struct pattern pattern)
{
	for (uint64_t start = 0; start < stranger->elements; start += PIECE_ELEMENTS) {
		uint64_t count = piece_count(stranger, start);

		if (CUDA_CALL(&stranger->cuda, cuMemcpyDtoH, stranger->piece,
			    address + start * sizeof(float), count * sizeof(float)))
			return -1;
		for (uint64_t i = 0; i < count; i++) {
			if (stranger->piece[i] != pattern_at(pattern, start + i))
				return complain("element %llu is wrong",
					(unsigned long long)(start + i));
		}
	}
	return 0;
}

/* Tells the parent, and waits for what comes back. */
static int exchange(struct link_message *message)
{
	enum link_result result;

	message->kind = LINK_READY;
	result = link_send(LINK_FD, message, -1, WW_FOREVER);
	if (result == LINK_OK)
		result = link_receive(LINK_FD, LINK_GO, message, NULL, WW_FOREVER);
	if (result == LINK_OK)
		return 0;
	complain("cannot reach the parent: %s", link_result_text(result));
	return -1;
}

/* Its own memory, until the other side has an answer in it. */
static int lend(struct stranger *stranger)
{
	struct link_message message = {.kind = LINK_READY};
	ww_CUipcMemHandle handle;

	if (CUDA_CALL(&stranger->cuda, cuMemAlloc, &stranger->own,
		    stranger->elements * sizeof(float)) ||
		write_all(stranger, stranger->own, of_stranger) ||
		CUDA_CALL(&stranger->cuda, cuIpcGetMemHandle, &handle, stranger->own))
		return -1;
	memcpy(message.description.bytes, &handle, sizeof(handle));
	if (exchange(&message) || verify_all(stranger, stranger->own, answer) ||
		CUDA_CALL(&stranger->cuda, cuMemFree, stranger->own))
		return -1;
	stranger->own = 0;
	return 0;
}

static int borrow(struct stranger *stranger)
{
	struct link_message message = {.kind = LINK_READY};
	ww_CUipcMemHandle handle;
	ww_CUdeviceptr address;

	if (exchange(&message))
		return -1;
	memcpy(&handle, message.description.bytes, sizeof(handle));
	if (CUDA_CALL(&stranger->cuda, cuIpcOpenMemHandle, &stranger->opened, handle,
		    WW_CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))
		return -1;
	address = stranger->opened + message.numbers[0];
	return verify_all(stranger, address, of_parent) || write_all(stranger, address, answer) ? -1
												: 0;
}

static int open_stranger(struct stranger *stranger, const struct demo_child *child)
{
	uint64_t index;

	if (strncmp(child->selector, "cuda:", 5) ||
		!number_parse(child->selector + 5, 0, UINT32_MAX, &index)) {
		complain("there is no GPU %s", child->selector);
		return -1;
	}
	stranger->elements = child->elements;
	stranger->piece = malloc(PIECE_ELEMENTS * sizeof(float));
	if (!stranger->piece) {
		complain("out of memory");
		return -1;
	}
	return cuda_open(&stranger->cuda, (uint32_t)index);
}

int demo_stranger(const struct demo_child *child)
{
	OWN(stranger) struct stranger stranger = {.elements = 0};
	const struct link_message done = {.kind = LINK_DONE};

	if (open_stranger(&stranger, child) || lend(&stranger) || borrow(&stranger))
		return -1;
	say("has no Warpway: lent %s of its own by a handle and found every -i in it, opened the "
	    "handle it was given, found all as expected and wrote -i",
		child->size_text);
	return link_send(LINK_FD, &done, -1, WW_FOREVER) == LINK_OK ? 0 : -1;
}
