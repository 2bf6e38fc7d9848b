/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - the processes a verb starts, and how each of them ends
 *
 * A child is this binary run again with a verb of its own, or another program, and has one end of a
 * socket pair at LINK_FD.
 * It lives no longer than its struct: child_fini() kills and reaps what still runs, and is what
 * OWN(child) calls, so no path leaves a process behind. Should the parent itself be killed, the
 * kernel kills its children (child_begin()).
 *
 * No wait is without a limit. A child that dies or does not answer is named, with its exit status
 * or signal, on standard error.
 */
#ifndef TOOLS_COMMON_CHILD_H
#define TOOLS_COMMON_CHILD_H

#include "common/child_link.h"

#include <sys/types.h>

#define CHILD_NAME_BYTES    48
#define CHILD_ARGUMENTS_MAX 8
#define CHILD_FDS_MAX       3
#define CHILD_GROUP_MAX     256

struct child {
	pid_t pid;                   /* 0: none, or reaped */
	int socket;                  /* our end; -1: none */
	uint64_t timeout_ns;         /* for one answer */
	char name[CHILD_NAME_BYTES]; /* for people: "the receiver" */
};

#define CHILD_NONE                     \
	{                              \
		.pid = 0, .socket = -1 \
	}

/* What to start. */
struct child_plan {
	const char *name;
	const char *program; /* NULL: this binary; without a slash it is searched for in PATH */
	const char *arguments[CHILD_ARGUMENTS_MAX]; /* the verb first, NULL behind the last */
	int fds[CHILD_FDS_MAX];                     /* borrowed; they follow LINK_FD */
	size_t fd_count;
	uint64_t timeout_ns;
};

/* All of these return 0, or -1 after saying what went wrong. */
int child_spawn(struct child *child, const struct child_plan *plan);
int child_send(struct child *child, const struct link_message *message, int fd);
int child_receive(struct child *child, enum link_kind kind, struct link_message *out_message,
	int *out_fd);
int child_send_memory(struct child *child, ww_memory *memory, uint32_t access);

/**
 * child_finish() - wait until a child that has nothing left to do is gone
 * @signal:  0: it must exit with status 0; else the signal it must die of
 */
int child_finish(struct child *child, int signal);

/* Kills a child, which must be alive until then, and reaps it. */
int child_kill(struct child *child);

/* Takes one message of one kind from each; a death anywhere ends the wait at once. */
int child_group_receive(struct child children[], size_t count, enum link_kind kind,
	struct link_message out_messages[]);
int child_group_send(struct child children[], size_t count, const struct link_message *message);

void child_fini(struct child *child);

static inline void own_child(struct child *child)
{
	child_fini(child);
}

/*
 * What a child says to its parent, and what it waits for; without a limit, since the parent keeps
 * the time.
 * @fd: borrowed; -1: none. @out_fd: as link_receive(). Return: 0, or -1 after saying what went
 *      wrong.
 */
int parent_send(const struct link_message *message, int fd);
int parent_receive(enum link_kind kind, struct link_message *out_message, int *out_fd);

/* Called first by every child: die with the parent, leave no core file. */
void child_begin(void);

#endif
