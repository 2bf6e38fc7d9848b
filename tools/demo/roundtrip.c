/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roundtrip.c - one memory, two processes, both write
 *
 *   parent                          receiver
 *   make, write i + 100
 *   send memory ------------------> map, verify every i + 100
 *                                   write -i
 *   verify every -i <------- DONE
 */
#include "demo/demo.h"

#include <stdio.h>

static const struct pattern ours = {PATTERN_COUNT_100, 0};
static const struct pattern theirs = {PATTERN_NEGATIVE, 0};

static int exchange(const struct demo *demo, ww_memory *memory, struct demo_step *step)
{
	OWN(child) struct child child = CHILD_NONE;
	struct link_message done;

	if (demo_spawn(demo, "the receiver", "receiver", &child))
		return -1;
	if (child_send_memory(&child, memory, WW_ACCESS_WRITE))
		return -1;
	if (child_receive(&child, LINK_DONE, &done, NULL))
		return -1;
	return demo_end(&child, &done, step);
}

int demo_roundtrip(const struct demo *demo, struct demo_step *step)
{
	OWN(memory) ww_memory *memory = NULL;
	struct span span = {.elements = demo->elements};

	if (demo_memory_create(demo->device, demo->elements, &memory))
		return -1;
	span.memory = memory;
	if (span_write(&span, ours))
		return -1;
	say("made %s on %s, wrote i + 100, sends it to a child", demo->size_text,
		demo->info.selector);
	if (exchange(demo, memory, step))
		return -1;
	if (span_verify(&span, theirs))
		return -1;
	say("sees first %.9g, last %.9g: every -i as expected", (double)span.first,
		(double)span.last);
	snprintf(step->shown, sizeof(step->shown),
		"%s made here, verified and rewritten by a child", demo->size_text);
	return 0;
}

int demo_receiver(const struct demo_child *child)
{
	OWN(memory) ww_memory *memory = NULL;
	struct span span = {.elements = child->elements};

	if (ww_memory_receive(child->device, LINK_FD,
		    WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), WW_FOREVER, NULL,
		    &memory) != WW_OK)
		return complain_record("cannot receive memory");
	span.memory = memory;
	if (span_verify(&span, ours))
		return -1;
	if (span_write(&span, theirs))
		return -1;
	say("received %s, first %.9g, last %.9g: as expected; wrote -i", child->size_text,
		(double)span.first, (double)span.last);
	return demo_child_done(memory);
}
