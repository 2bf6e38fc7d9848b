/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign.c - memory that CUDA's own calls have allocated is handed to another process
 *
 *   parent                                     taker
 *   cuMemAlloc; a pointer into its middle
 *   ww_memory_wrap(pointer), writes i + 100
 *   token -----------------------------------> imports it, verifies it, writes -i
 *   verifies -i, and what lies before and behind
 *   lets go: the release function runs, cuMemFree
 *
 * Nothing is copied, and the allocation stays the caller's. The taker is that of slices (slice.c):
 * it cannot tell how the memory came about.
 */
#include "demo/demo.h"

#include <stdio.h>

#include "common/plain_cuda.h"

#define MARGIN_BYTES UINT64_C(4096) /* of the allocation before and behind what is wrapped */

static const struct pattern ours = {PATTERN_COUNT_100, 0};
static const struct pattern theirs = {PATTERN_NEGATIVE, 0};
static const struct pattern margins = {PATTERN_KEYED, 99};

struct scene {
	struct cuda cuda;
	ww_CUdeviceptr address;
	uint64_t bytes; /* that are wrapped */
	ww_memory *wrapped;
	bool is_released;
};

static void own_scene(struct scene *scene)
{
	ww_memory_unref(scene->wrapped);
	if (scene->address)
		scene->cuda.cuMemFree(scene->address);
	cuda_close(&scene->cuda);
}

/* By the last unref of the wrapped memory. */
static void note_release(void *context)
{
	struct scene *scene = context;

	scene->is_released = true;
}

/* Before and behind what is wrapped. @do_one: cuda_write or cuda_verify */
static int both_margins(struct scene *scene,
	int (*do_one)(struct cuda *cuda, ww_CUdeviceptr address, uint64_t elements,
		struct pattern pattern))
{
	const uint64_t elements = MARGIN_BYTES / sizeof(float);

	return do_one(&scene->cuda, scene->address, elements, margins) ||
			do_one(&scene->cuda, scene->address + MARGIN_BYTES + scene->bytes, elements,
				margins)
		? -1
		: 0;
}

static int allocate_and_wrap(const struct demo *demo, struct scene *scene)
{
	const struct ww_wrap_params params = {
		.struct_size = sizeof(params),
		.release = note_release,
		.context = scene,
	};

	scene->bytes = demo->elements * sizeof(float);
	if (cuda_open(&scene->cuda, demo->info.index) ||
		CUDA_CALL(&scene->cuda, cuMemAlloc, &scene->address,
			scene->bytes + 2 * MARGIN_BYTES) ||
		both_margins(scene, cuda_write))
		return -1;
	if (ww_memory_wrap(demo->device, (void *)(uintptr_t)(scene->address + MARGIN_BYTES),
		    scene->bytes, &params, &scene->wrapped) != WW_OK)
		return complain_record("cannot wrap memory of cuMemAlloc");
	return 0;
}

int demo_foreign(const struct demo *demo, struct demo_step *step)
{
	OWN(scene) struct scene scene = {.address = 0};
	struct span span = {.elements = demo->elements};

	if (allocate_and_wrap(demo, &scene))
		return -1;
	span.memory = scene.wrapped;
	if (span_write(&span, ours))
		return -1;
	say("wrapped %s in the middle of a cuMemAlloc allocation, wrote i + 100, hands it to a child",
		demo->size_text);
	if (demo_give(demo, scene.wrapped, NULL, step) || span_verify(&span, theirs))
		return -1;
	if (both_margins(&scene, cuda_verify))
		return complain("what lies beside the wrapped memory has changed");
	scene.wrapped = ww_memory_unref(scene.wrapped);
	if (!scene.is_released)
		return complain("nobody was told that the memory is not used any more");
	say("sees first %.9g, last %.9g: every -i as expected; was told that it may free the memory",
		(double)span.first, (double)span.last);
	snprintf(step->shown, sizeof(step->shown),
		"%s inside a cuMemAlloc allocation, wrapped, rewritten by a child, no copy",
		demo->size_text);
	return 0;
}
