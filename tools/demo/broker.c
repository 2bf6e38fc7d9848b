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
#include <stdlib.h>

#include "common/temp_broker.h"

#define NAME        "demo/weights"
#define VARIABLE    "WARPWAY_BROKER"
#define KEPT_FOR_NS (UINT64_C(600) * 1000000000) /* should the demo be killed */

static const struct pattern pattern = {PATTERN_KEYED, 815};

static int put_and_die(const struct demo *demo)
{
	OWN(child) struct child putter = CHILD_NONE;
	struct link_message message;
	int pid;

	if (demo_spawn(demo, "the putter", "putter", &putter))
		return -1;
	pid = (int)putter.pid;
	if (child_receive(&putter, LINK_READY, &message, NULL) || child_kill(&putter))
		return -1;
	say("killed the putter, pid %d, with SIGKILL and reaped it; only the broker has %s", pid,
		NAME);
	return 0;
}

static int run(const struct demo *demo, struct demo_step *step)
{
	OWN(child) struct child getter = CHILD_NONE;
	struct link_message done;

	if (put_and_die(demo) || demo_spawn(demo, "the getter", "getter", &getter) ||
		child_receive(&getter, LINK_DONE, &done, NULL))
		return -1;
	snprintf(step->shown, sizeof(step->shown),
		"%s read by name from a broker after its maker's SIGKILL", demo->size_text);
	return demo_end(&getter, &done, step);
}

int demo_with_broker(const struct demo *demo, struct demo_step *step,
	int (*run_step)(const struct demo *demo, struct demo_step *step))
{
	OWN(temp_broker) struct temp_broker temp_broker = TEMP_BROKER_NONE;
	const char *before = getenv(VARIABLE);
	int result;

	if (temp_broker_open(&temp_broker, NULL))
		return -1;
	if (setenv(VARIABLE, temp_broker.address, 1))
		return complain("out of memory");
	result = run_step(demo, step);
	if (before)
		setenv(VARIABLE, before, 1);
	else
		unsetenv(VARIABLE);
	return result;
}

int demo_broker(const struct demo *demo, struct demo_step *step)
{
	return demo_with_broker(demo, step, run);
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
	OWN(memory) ww_memory *memory = NULL;
	struct span span = {.elements = child->elements};
	struct link_message message = {.kind = LINK_READY};

	if (ww_broker_open(NULL, &broker) != WW_OK)
		return complain_record("cannot connect to a broker");
	if (demo_memory_create(child->device, child->elements, &memory))
		return -1;
	span.memory = memory;
	if (span_write(&span, pattern))
		return -1;
	if (ww_memory_put(memory, broker, NAME, &params, 0, NULL) != WW_OK)
		return complain_record("cannot put memory");
	say("made %s, wrote a pattern, put it into the broker as %s and waits", child->size_text,
		NAME);
	return demo_child_await_kill(&message, -1);
}

int demo_getter(const struct demo_child *child)
{
	OWN(broker) ww_broker *broker = NULL;
	OWN(memory) ww_memory *memory = NULL;
	struct span span = {.elements = child->elements};

	if (ww_broker_open(NULL, &broker) != WW_OK)
		return complain_record("cannot connect to a broker");
	if (ww_memory_get(child->device, broker, NAME, NULL, 0, NULL, &memory, NULL) != WW_OK)
		return complain_record("cannot get memory whose maker is dead");
	span.memory = memory;
	if (span_verify(&span, pattern))
		return -1;
	say("got %s by the name %s, first %.9g, last %.9g: every element as expected",
		child->size_text, NAME, (double)span.first, (double)span.last);
	return demo_child_done(memory);
}
