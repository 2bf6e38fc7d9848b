/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - helper processes: this program again, in another role
 *
 * CUDA does not survive fork(), so a helper is started with posix_spawn() of /proc/self/exe. It
 * has two sockets: `socket`, of the type the case asks for, carries what is being tested;
 * `control`, a seqpacket pair, carries the words by which both sides keep in step. Nobody sleeps:
 * each side waits for the other's word, and every wait has a limit.
 *
 * A helper never outlives its case: child_finish() and child_kill() reap it, the runner kills and
 * reaps what is left, and the kernel kills it when its parent dies.
 */
#ifndef WW_TESTS_SUPPORT_CHILD_H
#define WW_TESTS_SUPPORT_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

#define CHILD_WORD_BYTES 256

/* Where a helper finds its ends. */
#define CHILD_SOCKET  3
#define CHILD_CONTROL 4

struct child {
	pid_t pid;
	int pidfd;
	int socket;
	int control;
};

/* How long to wait for a word or an end that must come: it ends what hangs, and nothing else. */
int child_limit_ms(void);

/* When that limit is over, by ww_clock_now_ns(). */
uint64_t child_limit_end_ns(void);

/* Asks again and again until the answer is yes or the limit is over. It is the last answer. */
#define COMES_TRUE(question)                                    \
	({                                                      \
		uint64_t end_ns_ = child_limit_end_ns();        \
		bool is_so_;                                    \
                                                                \
		do                                              \
			is_so_ = (question);                    \
		while (!is_so_ && ww_clock_now_ns() < end_ns_); \
		is_so_;                                         \
	})

/*
 * struct child_options - how to start a helper
 * @type:         SOCK_STREAM or SOCK_SEQPACKET; 0: SOCK_STREAM
 * @environment:  "NAME=VALUE" to set, "NAME" to remove; NULL at the end; may be NULL
 * @arguments:    for the role; NULL at the end; may be NULL
 */
struct child_options {
	int type;
	const char *const *environment;
	const char *const *arguments;
};

/* Starts a helper; options may be NULL. */
void child_start(struct child *child, const char *role, const struct child_options *options);

/* Says a word to the helper; waits for this very word from it; waits for any. */
void child_tell(struct child *child, const char *format, ...) __attribute__((format(printf, 2, 3)));
void child_hear(struct child *child, const char *word);
void child_hear_any(struct child *child, char word[CHILD_WORD_BYTES]);

/* Waits for its end, which must be a clean one. */
void child_finish(struct child *child);

/* Waits for its end, however that is; returns waitpid()'s status. */
int child_wait(struct child *child);

/* Kills it with SIGKILL and waits until it is gone. */
void child_kill(struct child *child);

/* Tells every helper that is left to `end`, and waits for its end, which must be a clean one. */
void child_end_all(void);

/* Kills and reaps every helper that is left. */
void child_reap_all(void);

/* Runs this program with other arguments, its report on standard error; -1 when it cannot start. */
int child_run_self(char *const *arguments, int *out_status);

/* The helper's side. */
void child_become(void);

/*
 * Needs root. Gives back what a change of user takes away: looking into the own /proc, and dying
 * with the parent.
 */
void child_become_user(uid_t uid, gid_t gid, const gid_t *groups, size_t count);
void role_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void role_hear(const char *word);
bool role_hear_any(char word[CHILD_WORD_BYTES]); /* false: the other side is gone */

#endif
