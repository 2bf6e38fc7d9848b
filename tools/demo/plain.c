/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain.c - a program that does not use this library shares memory with one that does, both ways
 *
 *   parent, with the library                  attacker, with the driver alone
 *                                             cuMemAlloc, writes i + 100
 *   ww_memory_handle_open <------ 64 bytes -- cuIpcGetMemHandle
 *   verifies it, writes -i                    verifies -i, frees it
 *
 *   cuMemAlloc, ww_memory_wrap, writes keyed
 *   ww_memory_handle_get -- 64 bytes, offset -> cuIpcOpenMemHandle
 *                                             verifies it, writes -i
 *   verifies -i
 */
#include "demo/demo.h"

#include <stdio.h>
#include <string.h>

#include "common/plain_cuda.h"

#define OFFSET_BYTES 1024 /* of what is wrapped in its allocation */

static const struct pattern of_attacker = {PATTERN_COUNT_100, 0};
static const struct pattern of_parent = {PATTERN_KEYED, 1234};
static const struct pattern answer = {PATTERN_NEGATIVE, 0};

_Static_assert(WW_MEMORY_HANDLE_BYTES == sizeof(ww_CUipcMemHandle), "a handle is a handle");
_Static_assert(WW_MEMORY_HANDLE_BYTES <= sizeof(struct ww_memory_description),
	"and fits a message");

/* --- the parent --- */

static int open_theirs(const struct demo *demo, struct child *attacker, struct demo_step *step)
{
	OWN(span) struct span span = {.elements = demo->elements};
	struct link_message message;
	struct ww_memory_handle handle;

	if (child_receive(attacker, LINK_READY, &message, NULL))
		return -1;
	memcpy(handle.bytes, message.description.bytes, sizeof(handle.bytes));
	if (ww_memory_handle_open(demo->device, &handle,
		    WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE),
		    &span.memory) != WW_OK)
		return complain_record("cannot open the handle of a plain CUDA program");
	step->routes |= UINT32_C(1) << demo_route(span.memory);
	if (span_verify(&span, of_attacker) || span_write(&span, answer))
		return -1;
	say("opened the handle of a program that has no Warpway, route %s; first %.9g, last %.9g: as "
	    "expected; wrote -i",
		demo_route_name(demo_route(span.memory)), (double)span.first, (double)span.last);
	span.memory = ww_memory_unref(span.memory);
	message.kind = LINK_GO;
	return child_send(attacker, &message, -1) ||
			child_receive(attacker, LINK_READY, &message, NULL)
		? -1
		: 0;
}

static int hand_ours(const struct demo *demo, ww_memory *wrapped, struct child *attacker)
{
	struct span span = {
		.memory = wrapped,
		.elements = demo->elements,
	};
	struct link_message message = {.kind = LINK_GO};
	struct ww_memory_handle handle;

	if (span_write(&span, of_parent))
		return -1;
	if (ww_memory_handle_get(wrapped, &handle, &message.numbers[0]) != WW_OK)
		return complain_record("cannot get a handle");
	memcpy(message.description.bytes, handle.bytes, sizeof(handle.bytes));
	say("hands its own %s as a handle and an offset of %llu bytes", demo->size_text,
		(unsigned long long)message.numbers[0]);
	if (child_send(attacker, &message, -1) ||
		child_receive(attacker, LINK_DONE, &message, NULL) || span_verify(&span, answer))
		return -1;
	say("sees first %.9g, last %.9g: every -i of the attacker as expected", (double)span.first,
		(double)span.last);
	return child_finish(attacker, 0);
}

struct scene {
	struct cuda cuda;
	ww_CUdeviceptr address;
	ww_memory *wrapped;
	struct child attacker;
};

static void own_scene(struct scene *scene)
{
	child_fini(&scene->attacker);
	ww_memory_unref(scene->wrapped);
	if (scene->address)
		scene->cuda.cuMemFree(scene->address);
	cuda_close(&scene->cuda);
}

static int exchange_both(const struct demo *demo, struct scene *scene, struct demo_step *step)
{
	uint64_t bytes = demo->elements * sizeof(float);

	if (demo_spawn(demo, "attacker", &scene->attacker) ||
		open_theirs(demo, &scene->attacker, step) ||
		cuda_open(&scene->cuda, demo->info.index) ||
		CUDA_CALL(&scene->cuda, cuMemAlloc, &scene->address, OFFSET_BYTES + bytes))
		return -1;
	if (ww_memory_wrap(demo->device, (void *)(uintptr_t)(scene->address + OFFSET_BYTES), bytes,
		    NULL, &scene->wrapped) != WW_OK)
		return complain_record("cannot wrap memory of cuMemAlloc");
	return hand_ours(demo, scene->wrapped, &scene->attacker);
}

int demo_plain(const struct demo *demo, struct demo_step *step)
{
	OWN(scene) struct scene scene = {.attacker = CHILD_NONE};

	if (exchange_both(demo, &scene, step))
		return -1;
	snprintf(step->shown, sizeof(step->shown),
		"%s from a CUDA program without Warpway, and %s to it, by 64-byte handles",
		demo->size_text, demo->size_text);
	return 0;
}

/* --- the attacker: what any program of CUDA does --- */

struct attacker {
	struct cuda cuda;
	uint64_t elements;
	ww_CUdeviceptr own;
	ww_CUdeviceptr opened;
};

static void own_attacker(struct attacker *attacker)
{
	if (attacker->opened)
		attacker->cuda.cuIpcCloseMemHandle(attacker->opened);
	if (attacker->own)
		attacker->cuda.cuMemFree(attacker->own);
	cuda_close(&attacker->cuda);
}

/* Tells the parent, and waits for what comes back. */
static int exchange(struct link_message *message)
{
	message->kind = LINK_READY;
	return parent_send(message, -1) ? -1 : parent_receive(LINK_GO, message, NULL);
}

/* Its own memory, until the other side has an answer in it. */
static int lend(struct attacker *attacker)
{
	struct link_message message = {.kind = LINK_READY};
	ww_CUipcMemHandle handle;

	if (CUDA_CALL(&attacker->cuda, cuMemAlloc, &attacker->own,
		    attacker->elements * sizeof(float)) ||
		cuda_write(&attacker->cuda, attacker->own, attacker->elements, of_attacker) ||
		CUDA_CALL(&attacker->cuda, cuIpcGetMemHandle, &handle, attacker->own))
		return -1;
	memcpy(message.description.bytes, &handle, sizeof(handle));
	if (exchange(&message) ||
		cuda_verify(&attacker->cuda, attacker->own, attacker->elements, answer) ||
		CUDA_CALL(&attacker->cuda, cuMemFree, attacker->own))
		return -1;
	attacker->own = 0;
	return 0;
}

static int borrow(struct attacker *attacker)
{
	struct link_message message = {.kind = LINK_READY};
	ww_CUipcMemHandle handle;
	ww_CUdeviceptr address;

	if (exchange(&message))
		return -1;
	memcpy(&handle, message.description.bytes, sizeof(handle));
	if (CUDA_CALL(&attacker->cuda, cuIpcOpenMemHandle, &attacker->opened, handle,
		    WW_CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))
		return -1;
	address = attacker->opened + message.numbers[0];
	if (cuda_verify(&attacker->cuda, address, attacker->elements, of_parent))
		return -1;
	return cuda_write(&attacker->cuda, address, attacker->elements, answer);
}

static int open_attacker(struct attacker *attacker, const struct demo_child *child)
{
	uint64_t index;

	if (strncmp(child->selector, "cuda:", 5) ||
		!number_parse(child->selector + 5, 0, UINT32_MAX, &index)) {
		(void)complain("there is no GPU %s", child->selector);
		return -1;
	}
	attacker->elements = child->elements;
	return cuda_open(&attacker->cuda, (uint32_t)index);
}

int demo_attacker(const struct demo_child *child)
{
	OWN(attacker) struct attacker attacker = {.elements = 0};
	const struct link_message done = {.kind = LINK_DONE};

	if (open_attacker(&attacker, child) || lend(&attacker) || borrow(&attacker))
		return -1;
	say("has no Warpway: lent %s of its own by a handle and found every -i in it, opened the "
	    "handle it was given, found all as expected and wrote -i",
		child->size_text);
	return parent_send(&done, -1);
}
