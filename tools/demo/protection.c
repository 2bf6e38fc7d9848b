/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protection.c - memory handed out for reading cannot be written
 *
 * A guest gets memory read-only and tries everything the library offers to write it: each try is
 * refused with a status, and nobody dies. Where the CPU reaches the memory, an intruder then goes
 * past the library with a plain store: the hardware stops it, and it dies alone. The owner finds
 * every element as it was.
 */
#include "demo/demo.h"

#include <signal.h>
#include <stdio.h>

static const struct pattern pattern = {PATTERN_KEYED, 42};

static int run_intruder(const struct demo *demo, ww_memory *memory)
{
	OWN(child) struct child intruder = CHILD_NONE;
	struct link_message ready;
	int pid;

	if (demo_spawn(demo, "intruder", &intruder))
		return -1;
	pid = (int)intruder.pid;
	if (child_send_memory(&intruder, memory, WW_ACCESS_READ) ||
		child_receive(&intruder, LINK_READY, &ready, NULL))
		return -1;
	if (child_finish(&intruder, SIGSEGV))
		return complain("the intruder should have died of SIGSEGV");
	say("the intruder, pid %d, died of SIGSEGV, alone", pid);
	return 0;
}

int demo_protection(const struct demo *demo, struct demo_step *step)
{
	OWN(span) struct span span = {.elements = demo->elements};
	bool cpu = demo->info.capabilities & WW_CAP_CPU_ACCESS;

	if (demo_memory_make(demo->device, pattern, &span))
		return -1;
	say("made %s, hands it out for reading only", demo->size_text);
	if (demo_lend(demo, "guest", span.memory, WW_ACCESS_READ, step) ||
		(cpu && run_intruder(demo, span.memory)) || span_verify(&span, pattern))
		return -1;
	say("finds every element unchanged");
	snprintf(step->shown, sizeof(step->shown), "%s unchanged: writes refused%s",
		demo->size_text, cpu ? ", a raw store stopped by SIGSEGV" : "");
	return 0;
}

/* A try to write must end in WW_ERR_ACCESS, nothing else. */
static int expect_refusal(const char *what, ww_status status)
{
	if (status == WW_ERR_ACCESS) {
		say("%s is refused: %s", what, ww_error_last()->message);
		return 0;
	}
	if (status < 0)
		return complain_record("%s failed with %s instead of WW_ERR_ACCESS", what,
			ww_status_name(status));
	return complain("%s was not refused", what);
}

static int try_all(const struct demo_child *child, ww_memory *memory)
{
	struct ww_memory_description description;
	OWN(fd) int fd = -1;
	const float zero = 0;
	void *target = ww_memory_pointer(memory);
	int failed = 0;

	failed |= expect_refusal("a copy into it",
		ww_stream_copy(child->stream, target, &zero, sizeof(zero)));
	failed |= expect_refusal("a fill of it",
		ww_stream_fill(child->stream, target, 0, sizeof(zero), child->elements));
	failed |= expect_refusal("handing it on for writing",
		ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
	return failed;
}

static int receive_read_only(const struct demo_child *child, ww_memory **out_memory)
{
	if (ww_memory_receive(child->device, LINK_FD, NULL, WW_FOREVER, NULL, out_memory) != WW_OK)
		return complain_record("cannot receive memory");
	return 0;
}

int demo_guest(const struct demo_child *child)
{
	OWN(span) struct span span = {.elements = child->elements};

	if (receive_read_only(child, &span.memory) || try_all(child, span.memory) ||
		span_verify(&span, pattern))
		return -1;
	say("still reads every element as expected");
	return demo_child_done(span.memory);
}

int demo_intruder(const struct demo_child *child)
{
	OWN(memory) ww_memory *memory = NULL;
	const struct link_message ready = {.kind = LINK_READY};
	volatile float *target;

	if (receive_read_only(child, &memory))
		return -1;
	target = ww_memory_host_pointer(memory);
	if (!target)
		return complain("the CPU does not reach this memory");
	say("goes past the library: stores into the read-only mapping");
	if (parent_send(&ready, -1))
		return -1;
	signal(SIGSEGV, SIG_DFL);
	target[0] = 0;
	return complain("a store into a read-only mapping went through");
}
