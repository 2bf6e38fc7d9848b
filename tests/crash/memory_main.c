/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_main.c - one side of a transfer is killed at every step, and the other one lives on
 *
 * The victim is a helper that dies of SIGKILL at its Nth call of libc or the kernel, for N = 1, 2,
 * 3 ... until it comes through. The survivor, this process, must get what was sent whole, or
 * WW_ERR_PEER_LOST or WW_ERR_TRUNCATED, not WW_TIMED_OUT, and must hold afterwards what it held
 * before.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fail_call.h"
#include "support/leak_count.h"
#include "support/check.h"
#include "support/child.h"
#include "support/driver.h"
#include "support/needs.h"
#include "support/stream_gate.h"
#include "support/packet.h"
#include "support/subject.h"

#define STEPS_MAX 2000

/* How long one call may take, whatever the victim does: a call that takes longer fails. */
#define LIMIT_NS ((uint64_t)child_limit_ms() * 1000000)

/* Makes memory, sends it, takes what comes back. */
ROLE(sender)
{
	ww_device *device;
	ww_memory *memory;
	ww_memory *answer;

	MUST(count == 1);
	calls_die(strtoull(arguments[0], NULL, 10));
	device = subject_open();
	memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	pattern_write(memory, 1);
	MUST_OK(ww_memory_send(memory, WW_ACCESS_WRITE, CHILD_SOCKET, WW_FOREVER, NULL));
	MUST_OK(ww_memory_receive(device, CHILD_SOCKET, NULL, WW_FOREVER, NULL, &answer));
	pattern_verify(answer, 2);
	ww_memory_unref(answer);
	ww_memory_unref(memory);
	ww_device_unref(device);
	calls_off(NULL);
}

/* Takes memory, writes into it, sends its own. */
ROLE(receiver)
{
	ww_device *device;
	ww_memory *memory;
	ww_memory *answer;

	MUST(count == 1);
	calls_die(strtoull(arguments[0], NULL, 10));
	device = subject_open();
	MUST_OK(ww_memory_receive(device, CHILD_SOCKET,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), WW_FOREVER, NULL,
		&memory));
	pattern_write(memory, 3);
	answer = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	pattern_write(answer, 1);
	MUST_OK(ww_memory_send(answer, WW_ACCESS_WRITE, CHILD_SOCKET, WW_FOREVER, NULL));
	ww_memory_unref(answer);
	ww_memory_unref(memory);
	ww_device_unref(device);
	calls_off(NULL);
}

static void must_be_told(const char *what, ww_status status)
{
	if (status != WW_ERR_PEER_LOST && status != WW_ERR_TRUNCATED)
		FAIL("%s returned %s: \"%s\"", what, ww_status_name(status),
			ww_error_last()->message);
	MUST_EQUAL(status, ww_error_last()->status);
}

/* Receives from the victim; whatever came is whole. */
static void survive_receiving(struct child *victim, ww_device *device)
{
	ww_memory *memory;
	ww_status status;

	status = ww_memory_receive(device, victim->socket,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), LIMIT_NS, NULL,
		&memory);
	if (status == WW_OK) {
		pattern_verify(memory, 1);
		ww_memory_unref(memory);
		return;
	}
	MUST(!memory);
	must_be_told("ww_memory_receive", status);
}

static void survive_sending(struct child *victim, ww_memory *memory)
{
	ww_status status;

	status = ww_memory_send(memory, WW_ACCESS_WRITE, victim->socket, LIMIT_NS, NULL);
	if (status != WW_OK)
		must_be_told("ww_memory_send", status);
}

struct holdings {
	struct census census;
	struct fakecuda_live live;
};

static void take_holdings(struct holdings *out)
{
	memset(out, 0, sizeof(*out));
	census_take(&out->census);
	if (fake_get())
		fake_get()->live(&out->live);
}

static void must_hold_no_more(const struct holdings *before)
{
	struct holdings after;

	take_holdings(&after);
	if (!subject_is_cuda() || fake_get())
		census_must_match(&before->census);
	MUST_MATCH(&before->live, &after.live, sizeof(after.live));
}

/* One transfer with a victim that dies at its Nth step; returns whether it came through. */
static bool meet_victim(const char *role, int type, uint64_t nth, ww_device *device)
{
	bool sends = !strcmp(role, "sender");
	char text[24];
	const char *const arguments[] = {text, NULL};
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	struct child victim;
	int status;

	snprintf(text, sizeof(text), "%llu", (unsigned long long)nth);
	pattern_write(memory, 2);
	child_start(&victim, role, &(struct child_options){.type = type, .arguments = arguments});
	if (sends)
		survive_receiving(&victim, device);
	survive_sending(&victim, memory);
	if (!sends)
		survive_receiving(&victim, device);
	status = child_wait(&victim);
	memory_info(memory);
	ww_memory_unref(memory);
	if (WIFSIGNALED(status))
		MUST_EQUAL(SIGKILL, WTERMSIG(status));
	else
		MUST_EQUAL(0, WEXITSTATUS(status));
	return !WIFSIGNALED(status);
}

static void kill_at_every_step(const char *role, int type)
{
	OWN(device) ww_device *device = subject_open();
	struct holdings before;
	bool came_through = false;
	uint64_t nth;

	/* Whoever dies at no step comes through; and what stays from the first use on is there. */
	MUST(meet_victim(role, type, STEPS_MAX, device));
	take_holdings(&before);
	for (nth = 1; nth < STEPS_MAX && !came_through; nth++) {
		came_through = meet_victim(role, type, nth, device);
		must_hold_no_more(&before);
	}
	MUST(came_through && nth > 20);
	check_note("killed at %llu steps", (unsigned long long)nth - 2);
}

CASE_CALL(sender_killed_stream, 0, kill_at_every_step("sender", SOCK_STREAM))
CASE_CALL(sender_killed_seqpacket, 0, kill_at_every_step("sender", SOCK_SEQPACKET))
CASE_CALL(receiver_killed_stream, 0, kill_at_every_step("receiver", SOCK_STREAM))
CASE_CALL(receiver_killed_seqpacket, 0, kill_at_every_step("receiver", SOCK_SEQPACKET))

/* Sends a part of a message and waits to be killed. */
ROLE(stammerer)
{
	struct ww_memory_description description;
	ww_device *device = subject_open();
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	int fd;

	MUST(count == 1);
	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
	packet_send(CHILD_SOCKET, &description, strtoull(arguments[0], NULL, 10), &fd, 1);
	role_tell("said");
	role_hear("never");
}

CASE(killed_inside_a_message, 0)
{
	static const char *const lengths[] = {"1", "16", "64", "127"};
	OWN(device) ww_device *device = subject_open();
	struct holdings before;

	for (size_t i = 0; i < CHECK_COUNT(lengths); i++) {
		const char *const arguments[] = {lengths[i], NULL};
		struct child victim;
		ww_memory *memory;
		int socket;

		take_holdings(&before);
		child_start(&victim, "stammerer", &(struct child_options){.arguments = arguments});
		child_hear(&victim, "said");
		socket = dup(victim.socket);
		child_kill(&victim);
		MUST_REFUSE(WW_ERR_TRUNCATED, lengths[i],
			ww_memory_receive(device, socket,
				WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE),
				WW_FOREVER, NULL, &memory));
		close(socket);
		must_hold_no_more(&before);
	}
}

/* Shares memory and hangs in its own stream's work. */
ROLE(worker)
{
	static struct gate gate;
	ww_device *device = subject_open();
	ww_stream *stream = stream_make(device);
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);

	pattern_write(memory, 4);
	gate_close(&gate, stream);
	MUST_OK(ww_stream_fill(stream, ww_memory_pointer(memory), 0, 1, 2 * MIB));
	gate_reached(&gate);
	MUST_OK(ww_memory_send(memory, WW_ACCESS_WRITE, CHILD_SOCKET, WW_FOREVER, NULL));
	role_tell("at work");
	role_hear("never");
}

CASE(killed_with_work_enqueued, 0)
{
	OWN(device) ww_device *device = subject_open();
	struct holdings before;
	struct child victim;
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);

	memory_must_be(memory, 0); /* what stays from the first use on is there */
	ww_memory_unref(memory);
	take_holdings(&before);
	child_start(&victim, "worker", NULL);
	MUST_OK(ww_memory_receive(device, victim.socket,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), LIMIT_NS, NULL,
		&memory));
	child_hear(&victim, "at work");
	child_kill(&victim);
	pattern_verify(memory, 4); /* what had not run never will */
	pattern_write(memory, 5);
	pattern_verify(memory, 5);
	ww_memory_unref(memory);
	must_hold_no_more(&before);
}

/* Both ends of one memory die, one after the other; the third holder is left. */
CASE(killed_one_after_the_other, 0)
{
	OWN(device) ww_device *device = subject_open();
	struct child victims[3];
	OWN(memory) ww_memory *memory;

	child_start(&victims[0], "worker", NULL);
	MUST_OK(ww_memory_receive(device, victims[0].socket,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), LIMIT_NS, NULL,
		&memory));
	child_hear(&victims[0], "at work");
	for (int i = 1; i < 3; i++) {
		child_start(&victims[i], "holder", NULL);
		MUST_OK(ww_memory_send(memory, WW_ACCESS_READ, victims[i].socket, WW_FOREVER,
			NULL));
		child_hear(&victims[i], "holding");
	}
	for (int i = 0; i < 3; i++) {
		child_kill(&victims[i]);
		pattern_verify(memory, 4);
	}
}

ROLE(holder)
{
	ww_device *device = subject_open();
	ww_memory *memory;

	MUST_OK(ww_memory_receive(device, CHILD_SOCKET, NULL, WW_FOREVER, NULL, &memory));
	pattern_verify(memory, 4);
	role_tell("holding");
	role_hear("never");
}

CHECK_MAIN(needs_main, .name = "crash", .needs = WW_CAP_EXPORT)
