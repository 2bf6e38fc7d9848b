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

int demo_survival(const struct demo *demo, struct demo_step *step)
{
	OWN(child) struct child heir = CHILD_NONE;
	OWN(fd) int fd = -1;
	struct link_message message;
	struct link_message done;
	int pid;

	pid = demo_spawn_and_kill(demo, "maker", LINK_MEMORY, &message, &fd);
	if (pid < 0)
		return -1;
	say("killed the maker, pid %d, with SIGKILL and reaped it; holds only descriptor %d, "
	    "maps nothing",
		pid, fd);
	if (demo_spawn(demo, "heir", &heir) || child_send(&heir, &message, fd) ||
		child_receive(&heir, LINK_DONE, &done, NULL))
		return -1;
	snprintf(step->shown, sizeof(step->shown),
		"%s intact for a third process after its maker's SIGKILL", demo->size_text);
	return demo_end(&heir, &done, step);
}

int demo_maker(const struct demo_child *child)
{
	OWN(fd) int fd = -1;
	OWN(span) struct span span = {.elements = child->elements};
	struct link_message message = {.kind = LINK_MEMORY};

	if (demo_memory_make(child->device, pattern, &span))
		return -1;
	if (ww_memory_export_fd(span.memory, WW_ACCESS_READ, &fd, &message.description) != WW_OK)
		return complain_record("cannot export memory");
	say("made %s, wrote a pattern, hands its descriptor over and waits", child->size_text);
	return demo_child_await_kill(&message, fd);
}

int demo_heir(const struct demo_child *child)
{
	OWN(fd) int fd = -1;
	OWN(span) struct span span = {.elements = child->elements};
	struct link_message message;

	if (parent_receive(LINK_MEMORY, &message, &fd))
		return -1;
	if (ww_memory_import_fd(child->device, fd, &message.description, NULL, &span.memory) !=
		WW_OK)
		return complain_record("cannot import memory whose maker is dead");
	if (span_verify(&span, pattern))
		return -1;
	say("received %s of a dead process, first %.9g, last %.9g: every element as expected",
		child->size_text, (double)span.first, (double)span.last);
	return demo_child_done(span.memory);
}
