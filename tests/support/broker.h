/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.h - a warpwayd of the test's own
 *
 * It runs in the foreground, in a temporary folder and in a process group of its own, and tells by
 * NOTIFY_SOCKET when it serves, so nobody has to look again and again. WARPWAYD in the environment
 * says where the program is.
 *
 * A daemon never outlives the test program: a guard, one small process for each, waits for the end
 * of the test program and then kills the group. The test program is made the parent of orphans
 * (PR_SET_CHILD_SUBREAPER), so that it can also wait for a broker whose supervisor was killed.
 */
#ifndef WW_TESTS_SUPPORT_BROKER_H
#define WW_TESTS_SUPPORT_BROKER_H

#include <stdint.h>
#include <sys/types.h>

#include <warpway/broker.h>

#define BROKER_PATH_BYTES 64

struct broker {
	char folder[BROKER_PATH_BYTES];  /* 0755 */
	char address[BROKER_PATH_BYTES]; /* of its socket */
	char config[BROKER_PATH_BYTES];  /* its configuration; "": none */
	pid_t group;                     /* of all its processes; the first supervisor's pid */
	pid_t supervisor;                /* as it last said */
	int notify;                      /* where it says that it is ready */
	int guard;                       /* pipe to the guard */
	pid_t guard_pid;
};

/*
 * struct broker_options - how to start it
 * @config:     text of its configuration; NULL: none
 * @mode:       of the socket, in octal digits; NULL: "0666"
 * @arguments:  more options; NULL at the end; may be NULL
 * @files:      RLIMIT_NOFILE; 0: as it is here
 */
struct broker_options {
	const char *config;
	const char *mode;
	const char *const *arguments;
	uint64_t files;
};

/* Starts it and waits until it serves; options may be NULL. */
void broker_start(struct broker *broker, const struct broker_options *options);

/*
 * Waits until it serves again, after a restart or an upgrade; the supervisor may be another process
 * now.
 */
void broker_hear_ready(struct broker *broker);

/* Writes another configuration; SIGHUP makes it count. */
void broker_write_config(struct broker *broker, const char *config);

/* Has it end by SIGTERM, which must go well; nothing may be left of it. */
void broker_stop(struct broker *broker);

/* Waits until it has ended by itself, and well. */
void broker_wait(struct broker *broker);

/* Kills all its processes. */
void broker_kill(struct broker *broker);

/*
 * Opens a broker as ww_broker_open() does, and waits for its answers for half of child_limit_ms():
 * the library's 5 s are too short for a machine where all takes longer.
 * @address:  NULL: as the environment says
 */
ww_status broker_open_patient(const char *address, ww_broker **out_broker);

/* What /proc says of a process: open descriptors, resident memory. */
int process_descriptors(pid_t pid);
uint64_t process_memory_bytes(pid_t pid);

/* Waits until a process, of ours or not, has ended. */
void process_wait_end(pid_t pid);

#endif
