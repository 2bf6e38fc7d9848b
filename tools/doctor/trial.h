/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial.h - a program that is run with a time limit, and what it printed
 *
 * The program writes into memory, which is read when it has ended: neither a pipe that fills up nor
 * a program that never reads can delay anything. It has a process group of its own, so that what it
 * has started ends with it, and Ctrl-C reaches this process alone.
 */
#ifndef TOOLS_DOCTOR_TRIAL_H
#define TOOLS_DOCTOR_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How a trial ended. */
enum trial_end {
	TRIAL_NONE,        /* it runs, or was never started */
	TRIAL_DONE,        /* exit status 0 */
	TRIAL_FAILED,      /* another exit status: @number */
	TRIAL_CRASHED,     /* a signal: @number */
	TRIAL_LATE,        /* it was ended after its time limit */
	TRIAL_STUCK,       /* the same, and it has not ended even by SIGKILL */
	TRIAL_INTERRUPTED, /* this process was told to end */
	TRIAL_NOT_STARTED  /* @number: errno */
};

struct trial {
	pid_t pid;
	int socket; /* closed at the other end when the program has ended */
	int output;
	int errors;
	uint64_t deadline_ns;
	enum trial_end end;
	int number;
};

#define TRIAL_EMPTY                                      \
	{                                                \
		.socket = -1, .output = -1, .errors = -1 \
	}

/* @argv: the program first, which is searched for in PATH; NULL behind the last word */
void trial_start(struct trial *trial, const char *const argv[], uint64_t limit_ns);

/* Waits until all have ended, one way or the other. */
void trial_wait_all(struct trial trials[], size_t count);

/* Waits until one more of them has ended. Return: which; @count: none is left. */
size_t trial_wait_any(struct trial trials[], size_t count);

/* What it printed, the caller's (free()); empty, never NULL. trial_errors: to standard error. */
char *trial_output(const struct trial *trial);
char *trial_errors(const struct trial *trial);

/* How it ended, for people: "was killed by signal 11 (Segmentation fault)". */
void trial_end_text(const struct trial *trial, char *out_text, size_t room);

/* Ends what still runs. */
void trial_fini(struct trial *trial);

static inline void own_trial(struct trial *trial)
{
	trial_fini(trial);
}

#endif
