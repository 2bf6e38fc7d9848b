/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.c - memory has a name, and outlives its maker, in a broker
 *
 *   putter                     broker                          getter
 *   make, write a pattern
 *   put "demo/weights" ------> keeps the descriptor
 *   killed with SIGKILL        still keeps it
 *                              <------- get "demo/weights" --- map, verify every element
 *
 * The parent holds nothing. The broker is one of the demo's own, which ends with the step; the
 * children find it as any program would, by WARPWAY_BROKER.
 */
#include "demo/demo.h"

#include <stdio.h>

#define NAME        "demo/weights"
#define KEPT_FOR_NS (UINT64_C(600) * 1000000000) /* should the demo be killed */

static const struct pattern pattern = {PATTERN_KEYED, 815};

int demo_broker(const struct demo *demo, struct demo_step *step)
{
	OWN(child) struct child getter = CHILD_NONE;
	struct link_message done;
	int pid = demo_spawn_and_kill(demo, "putter", LINK_READY, &done, NULL);

	if (pid < 0)
		return -1;
	say("killed the putter, pid %d, with SIGKILL and reaped it; only the broker has %s", pid,
		NAME);
	if (demo_spawn(demo, "getter", &getter) || child_receive(&getter, LINK_DONE, &done, NULL))
		return -1;
	snprintf(step->shown, sizeof(step->shown),
		"%s read by name from a broker after its maker's SIGKILL", demo->size_text);
	return demo_end(&getter, &done, step);
}

int demo_putter(const struct demo_child *child)
{
	const struct ww_put_params params = {
		.struct_size = sizeof(params),
		.life = WW_LIFE_KEPT,
		.state = WW_STATE_SEALED,
		.ttl_ns = KEPT_FOR_NS,
	};
	OWN(broker) ww_broker *broker = NULL;
	OWN(span) struct span span = {.elements = child->elements};
	struct link_message message = {.kind = LINK_READY};

	if (ww_broker_open(NULL, &broker) != WW_OK)
		return complain_record("cannot connect to a broker");
	if (demo_memory_make(child->device, pattern, &span))
		return -1;
	if (ww_memory_put(span.memory, broker, NAME, &params, 0, NULL) != WW_OK)
		return complain_record("cannot put memory");
	say("made %s, wrote a pattern, put it into the broker as %s and waits", child->size_text,
		NAME);
	return demo_child_await_kill(&message, -1);
}

int demo_getter(const struct demo_child *child)
{
	OWN(broker) ww_broker *broker = NULL;
	OWN(span) struct span span = {.elements = child->elements};

	if (ww_broker_open(NULL, &broker) != WW_OK)
		return complain_record("cannot connect to a broker");
	if (ww_memory_get(child->device, broker, NAME, NULL, 0, NULL, &span.memory, NULL) != WW_OK)
		return complain_record("cannot get memory whose maker is dead");
	if (span_verify(&span, pattern))
		return -1;
	say("got %s by the name %s, first %.9g, last %.9g: every element as expected",
		child->size_text, NAME, (double)span.first, (double)span.last);
	return demo_child_done(span.memory);
}
