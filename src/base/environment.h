/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.h - the one place that reads the environment
 *
 * The library and the daemon look at these variables and at no other ones. A program with more
 * rights than the user that started it (set-user-ID, capabilities) uses none of them: they would
 * let its user choose what it runs and talks to. A variable that is set to nothing counts as not
 * set.
 */
#ifndef WW_BASE_ENVIRONMENT_H
#define WW_BASE_ENVIRONMENT_H

#include <stdbool.h>

enum ww_variable {
	WW_VARIABLE_DEBUG,       /* WARPWAY_DEBUG: 1 sends the log to standard error */
	WW_VARIABLE_BROKER,      /* WARPWAY_BROKER: address of the broker */
	WW_VARIABLE_NO_START,    /* WARPWAY_NO_START: 1 keeps brokers from being started */
	WW_VARIABLE_WARPWAYD,    /* WARPWAYD: path of the broker's program */
	WW_VARIABLE_RUNTIME_DIR, /* XDG_RUNTIME_DIR: where the user's sockets are */
	/* systemd's, for the daemon: see sd_notify(3) and sd_listen_fds(3) */
	WW_VARIABLE_NOTIFY_SOCKET, /* NOTIFY_SOCKET */
	WW_VARIABLE_LISTEN_PID,    /* LISTEN_PID */
	WW_VARIABLE_LISTEN_FDS     /* LISTEN_FDS */
};

/*
 * Return: the value; NULL if it is not set. The process's own string: a program that changes the
 * environment while another thread reads it is faulty anyway.
 */
const char *ww_environment_find(enum ww_variable variable);

/*
 * For a program that this process starts and that is to outlive it: all variables but systemd's
 * above, which are for this process alone.
 * Return: to be freed with free(), the strings are the process's own; NULL if there is no memory.
 */
char **ww_environment_to_hand_on(void);

/* Whether the variable is "1". */
bool ww_environment_is_on(enum ww_variable variable);

#endif
