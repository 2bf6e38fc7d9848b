/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_end.c - whether a child can run no more code, see process_end.h
 *
 * For each thread, /proc/PID/task/TID/stat is read, see proc_pid_stat(5). A thread sets PF_EXITING
 * when it begins to exit, before it releases memory and files. A thread that is killed in an
 * uninterruptible wait (state D) has SIGKILL pending and will exit before it returns from the
 * kernel. A running thread may have SIGKILL pending and still run a little. A thread that exits and
 * runs does not hang, and its status may not be set yet.
 *
 * This file allocates nothing, as all of the supervisor.
 */
#include "daemon/supervisor/process_end.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

/* linux/sched.h */
#define PF_EXITING  UINT64_C(0x4)
#define PF_SIGNALED UINT64_C(0x400)

/* Numbers of fields as proc_pid_stat(5) has them. */
enum {
	FIELD_STATE = 3,
	FIELD_FLAGS = 9,
	FIELD_SIGNALS = 31, /* pending for this thread */
	FIELD_EXIT_CODE = 52,
	FIELDS
};

struct state {
	char state;
	uint64_t numbers[FIELDS];
};

/* As the kernel gives them; the library does not declare it. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static bool state_read(int folder, const char *name, struct state *out_state)
{
	WW_AUTO_FD int file = -1;
	char path[64];
	char text[2048];
	ssize_t count;
	const char *word;

	snprintf(path, sizeof(path), "%.20s/stat", name);
	file = openat(folder, path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	count = read(file, text, sizeof(text) - 1);
	if (count <= 0)
		return false; /* with errno */
	text[count] = '\0';
	/* The name of the program is in brackets and may contain anything. */
	word = strrchr(text, ')');
	*out_state = (struct state){0};
	if (!word || word[1] != ' ' || word[2] == '\0')
		return false;
	out_state->state = word[2];
	word += 3;
	for (int field = FIELD_STATE + 1; field < FIELDS; field++) {
		char *end;

		out_state->numbers[field] = strtoull(word, &end, 10);
		if (end == word)
			return field > FIELD_SIGNALS;
		word = end;
	}
	return true;
}

/* What the threads say of the end of the process. */
struct end {
	int status;
	bool is_forced; /* ended by a signal */
};

/* Whether one thread is over. A thread that ends meanwhile is over too. */
static bool thread_is_over(int folder, const char *name, struct end *end)
{
	struct state state;

	if (!state_read(folder, name, &state))
		return errno == ENOENT || errno == ESRCH;
	if (state.numbers[FIELD_EXIT_CODE])
		end->status = (int)state.numbers[FIELD_EXIT_CODE];
	if (state.numbers[FIELD_FLAGS] & PF_EXITING) {
		end->is_forced = end->is_forced || (state.numbers[FIELD_FLAGS] & PF_SIGNALED);
		return state.state != 'R';
	}
	end->is_forced = true;
	return state.state == 'D' && (state.numbers[FIELD_SIGNALS] >> (SIGKILL - 1) & 1);
}

static bool threads_are_over(int folder, struct end *end)
{
	union {
		struct entry entry;
		char bytes[4096];
	} buffer;
	long count;

	while ((count = syscall(SYS_getdents64, folder, &buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < count;) {
			const struct entry
				*entry = (const struct entry *)(const void *)(buffer.bytes + at);

			at += entry->bytes;
			if (entry->name[0] != '.' && !thread_is_over(folder, entry->name, end))
				return false;
		}
	}
	return count == 0;
}

bool process_end_is_sure(pid_t pid, int *out_status)
{
	struct end end = {0};
	char path[64];
	WW_AUTO_FD int folder = -1;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || !threads_are_over(folder, &end))
		return false;
	/* A thread that does not exit yet may have no status, though its process has. */
	*out_status = end.is_forced && end.status == 0 ? SIGKILL : end.status;
	return true;
}
