/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survival.c - memory outlives its maker
 *
 *   maker                      parent                          heir
 *   make, write a pattern
 *   export ---descriptor-----> hold it, map nothing
 *                              SIGKILL the maker, reap it
 *                              start the heir, send ---------> import, verify every element
 *
 * The parent keeps a descriptor and its description and nothing else, so it is the descriptor that
 * keeps the memory alive, not a mapping.
 */
#include "demo/demo.h"

#include <stdio.h>

static const struct pattern pattern = {PATTERN_KEYED, 4711};

/* Takes the memory's descriptor from its maker and kills the maker. */
static int inherit(const struct demo *demo, struct link_message *out_message, int *out_fd)
{
	OWN(child) struct child maker = CHILD_NONE;
	int pid;

	if (demo_spawn(demo, "the maker", "maker", &maker))
		return -1;
	pid = (int)maker.pid;
	if (child_receive(&maker, LINK_MEMORY, out_message, out_fd))
		return -1;
	if (child_kill(&maker))
		return -1;
	say("killed the maker, pid %d, with SIGKILL and reaped it; holds only descriptor %d, "
	    "maps nothing",
		pid, *out_fd);
	return 0;
}

int demo_survival(const struct demo *demo, struct demo_step *step)
{
	OWN(child) struct child heir = CHILD_NONE;
	OWN(fd) int fd = -1;
	struct link_message message;
	struct link_message done;

	if (inherit(demo, &message, &fd))
		return -1;
	if (demo_spawn(demo, "the heir", "heir", &heir))
		return -1;
	if (child_send(&heir, &message, fd))
		return -1;
	if (child_receive(&heir, LINK_DONE, &done, NULL))
		return -1;
	snprintf(step->shown, sizeof(step->shown),
		"%s intact for a third process after its maker's SIGKILL", demo->size_text);
	return demo_end(&heir, &done, step);
}

int demo_maker(const struct demo_child *child)
{
	OWN(memory) ww_memory *memory = NULL;
	OWN(fd) int fd = -1;
	struct span span = {.elements = child->elements};
	struct link_message message = {.kind = LINK_MEMORY};

	if (demo_memory_create(child->device, child->elements, &memory))
		return -1;
	span.memory = memory;
	if (span_write(&span, pattern))
		return -1;
	if (ww_memory_export_fd(memory, WW_ACCESS_READ, &fd, &message.description) != WW_OK)
		return complain_record("cannot export memory");
	say("made %s, wrote a pattern, hands its descriptor over and waits", child->size_text);
	return demo_child_await_kill(&message, fd);
}

int demo_heir(const struct demo_child *child)
{
	OWN(memory) ww_memory *memory = NULL;
	OWN(fd) int fd = -1;
	struct span span = {.elements = child->elements};
	struct link_message message;

	if (parent_receive(LINK_MEMORY, &message, &fd))
		return -1;
	if (ww_memory_import_fd(child->device, fd, &message.description, NULL, &memory) != WW_OK)
		return complain_record("cannot import memory whose maker is dead");
	span.memory = memory;
	if (span_verify(&span, pattern))
		return -1;
	say("received %s of a dead process, first %.9g, last %.9g: every element as expected",
		child->size_text, (double)span.first, (double)span.last);
	return demo_child_done(memory);
}
