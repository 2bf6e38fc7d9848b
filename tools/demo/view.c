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

#define STEP         (-2)
#define PIECE_FLOATS (UINT64_C(1) << 18)

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

/* --- the viewer: fetches pieces of the memory and looks at the view's elements in them --- */

struct viewer {
	ww_memory *memory; /* borrowed */
	uint64_t offset;   /* of the span in it, bytes */
	uint64_t bytes;
	float *piece;
	uint64_t piece_start; /* bytes */
	uint64_t piece_bytes;
};

static void own_viewer(struct viewer *viewer)
{
	free(viewer->piece);
}

static int fetch(struct viewer *viewer, uint64_t at)
{
	uint64_t room = PIECE_FLOATS * sizeof(float);
	uint64_t left;

	viewer->piece_start = at / room * room;
	left = viewer->bytes - viewer->piece_start;
	viewer->piece_bytes = left < room ? left : room;
	if (ww_memory_read(viewer->memory, viewer->piece_start, viewer->piece, viewer->piece_bytes,
		    WW_FOREVER, NULL) != WW_OK)
		return complain_record("cannot read elements");
	return 0;
}

static int look(struct viewer *viewer, uint64_t at, float *out_value)
{
	if ((at < viewer->piece_start || at >= viewer->piece_start + viewer->piece_bytes) &&
		fetch(viewer, at))
		return -1;
	*out_value = viewer->piece[(at - viewer->piece_start) / sizeof(float)];
	return 0;
}

/* That the view lies in the span was checked when the token was read. */
static int verify(struct viewer *viewer, const struct demo_child *child,
	const struct ww_array *view, float *out_first, float *out_last)
{
	for (int64_t i = 0; i < view->shape[0]; i++) {
		uint64_t at = view->offset + (uint64_t)(i * view->strides[0]);
		uint64_t index = child->elements - 1 - 2 * (uint64_t)i;
		float value;

		if (look(viewer, at, &value))
			return -1;
		if (value != pattern_at(pattern, index))
			return complain("element %lld of the view is %.9g instead of %.9g",
				(long long)i, (double)value, (double)pattern_at(pattern, index));
		if (i == 0)
			*out_first = value;
		*out_last = value;
	}
	return 0;
}

int demo_viewer(const struct demo_child *child)
{
	OWN(memory) ww_memory *memory = NULL;
	OWN(viewer) struct viewer viewer = {.piece = NULL};
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token;
	float first = 0;
	float last = 0;

	if (demo_token(&token))
		return -1;
	if (ww_memory_import(child->device, NULL, &token, NULL, NULL, &memory, &info) != WW_OK)
		return complain_record("cannot import an array");
	if (!info.has_array || info.array.ndim != 1)
		return complain("the token says nothing of a row of elements");
	viewer.memory = memory;
	viewer.bytes = info.span_bytes;
	viewer.piece = malloc(PIECE_FLOATS * sizeof(float));
	if (!viewer.piece)
		return complain("out of memory");
	if (verify(&viewer, child, &info.array, &first, &last))
		return -1;
	say("got an array of %lld elements, %lld bytes from one to the next, route %s; first %.9g, "
	    "last %.9g: every element as expected",
		(long long)info.array.shape[0], (long long)info.array.strides[0],
		demo_route_name(demo_route(memory)), (double)first, (double)last);
	return demo_child_done(memory);
}
