/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_view.c - a view of an array is handed to another process: its elements from the last to
 * the first, every other one
 *
 *   parent                                        viewer
 *   array of n elements, element i is i + 100
 *   view = array[::-2]
 *   token with the view ------------------------> imports the memory and learns of the view
 *                                                 view[k] is (n - 1 - 2 k) + 100
 *
 * Only the description is another one; the elements stay where they are.
 */
#include "demo/demo.h"

#include <stdio.h>
#include <stdlib.h>

#define STEP        (-2)
#define PIECE_BYTES (UINT64_C(1) << 20)

static const struct pattern pattern = {PATTERN_COUNT_100, 0};

static int describe(const struct demo *demo, struct ww_array *out_view)
{
	int64_t shape = (int64_t)demo->elements;

	*out_view = (struct ww_array){.struct_size = sizeof(*out_view)};
	if (ww_array_set(out_view, WW_DTYPE(WW_DTYPE_FLOAT, 32), 1, &shape, NULL, 0) != WW_OK ||
		ww_array_slice(out_view, 0, WW_SLICE_NONE, WW_SLICE_NONE, STEP, out_view) != WW_OK)
		return complain_record("cannot describe an array");
	return 0;
}

static int hand_over(const struct demo *demo, ww_memory *memory, const struct ww_array *view,
	struct demo_step *step)
{
	OWN(child) struct child viewer = CHILD_NONE;
	struct link_message done;

	if (demo_spawn_with_memory(demo, "viewer", memory, WW_ACCESS_READ, view, &viewer) ||
		child_receive(&viewer, LINK_DONE, &done, NULL))
		return -1;
	return demo_end(&viewer, &done, step);
}

int demo_view(const struct demo *demo, struct demo_step *step)
{
	OWN(span) struct span span = {.elements = demo->elements};
	struct ww_array view;

	if (describe(demo, &view) || demo_memory_make(demo->device, pattern, &span))
		return -1;
	say("made an array of %llu elements, wrote i + 100, hands its view [::%d] to a child",
		(unsigned long long)demo->elements, STEP);
	snprintf(step->shown, sizeof(step->shown),
		"view [::%d] of %s, verified by a child, nothing copied", STEP, demo->size_text);
	return hand_over(demo, span.memory, &view, step);
}

/* --- the viewer --- */

/*
 * Reads the memory by pieces, and looks at the elements of the view in them. That the view lies in
 * the @bytes was checked when the token was read.
 */
static int verify(ww_memory *memory, uint64_t bytes, const struct ww_array *view, uint64_t elements,
	float out_ends[2])
{
	OWN(heap) float *piece = malloc(PIECE_BYTES);
	uint64_t start = UINT64_MAX; /* of the piece */

	if (!piece)
		return complain("out of memory");
	for (int64_t i = 0; i < view->shape[0]; i++) {
		uint64_t at = view->offset + (uint64_t)(i * view->strides[0]);
		float expected = pattern_at(pattern, elements - 1 - 2 * (uint64_t)i);
		float value;

		if (at / PIECE_BYTES * PIECE_BYTES != start) {
			start = at / PIECE_BYTES * PIECE_BYTES;
			if (ww_memory_read(memory, start, piece,
				    bytes - start < PIECE_BYTES ? bytes - start : PIECE_BYTES,
				    WW_FOREVER, NULL) != WW_OK)
				return complain_record("cannot read elements");
		}
		value = piece[(at - start) / sizeof(float)];
		if (value != expected)
			return complain("element %lld of the view is %.9g instead of %.9g",
				(long long)i, (double)value, (double)expected);
		out_ends[0] = i ? out_ends[0] : value;
		out_ends[1] = value;
	}
	return 0;
}

int demo_viewer(const struct demo_child *child)
{
	OWN(memory) ww_memory *memory = NULL;
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token;
	float ends[2] = {0};

	if (demo_token(&token))
		return -1;
	if (ww_memory_import(child->device, NULL, &token, NULL, NULL, &memory, &info) != WW_OK)
		return complain_record("cannot import an array");
	if (!info.has_array || info.array.ndim != 1)
		return complain("the token says nothing of a row of elements");
	if (verify(memory, info.span_bytes, &info.array, child->elements, ends))
		return -1;
	say("got an array of %lld elements, %lld bytes from one to the next, route %s; first %.9g, "
	    "last %.9g: every element as expected",
		(long long)info.array.shape[0], (long long)info.array.strides[0],
		demo_route_name(demo_route(memory)), (double)ends[0], (double)ends[1]);
	return demo_child_done(memory);
}
