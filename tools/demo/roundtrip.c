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

int demo_roundtrip(const struct demo *demo, struct demo_step *step)
{
	OWN(span) struct span span = {.elements = demo->elements};

	if (demo_memory_make(demo->device, ours, &span))
		return -1;
	say("made %s on %s, wrote i + 100, sends it to a child", demo->size_text,
		demo->info.selector);
	if (demo_lend(demo, "receiver", span.memory, WW_ACCESS_WRITE, step) ||
		demo_see_answer(&span, theirs))
		return -1;
	snprintf(step->shown, sizeof(step->shown),
		"%s made here, verified and rewritten by a child", demo->size_text);
	return 0;
}

int demo_receiver(const struct demo_child *child)
{
	OWN(span) struct span span = {.elements = child->elements};

	if (ww_memory_receive(child->device, LINK_FD,
		    WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), WW_FOREVER, NULL,
		    &span.memory) != WW_OK)
		return complain_record("cannot receive memory");
	if (span_verify(&span, ours) || span_write(&span, theirs))
		return -1;
	say("received %s, first %.9g, last %.9g: as expected; wrote -i", child->size_text,
		(double)span.first, (double)span.last);
	return demo_child_done(span.memory);
}
