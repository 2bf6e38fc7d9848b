/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_end.h - whether a child can run no more code, although it has not ended
 *
 * A process that is killed, or exits, closes its files. If that hangs (a file of a FUSE server that
 * does not answer), the process never becomes a zombie: its parent gets no SIGCHLD, its pidfd does
 * not become readable, and its sockets stay open. But it runs no more code of its own, and /proc
 * shows that.
 */
#ifndef WW_DAEMON_SUPERVISOR_PROCESS_END_H
#define WW_DAEMON_SUPERVISOR_PROCESS_END_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether every thread of a child that has not been reaped is exiting, or is killed and in an
 * uninterruptible wait of the kernel.
 * @out_status:  as waitpid() will report it; SIGKILL if the kernel does not say
 */
bool process_end_is_sure(pid_t pid, int *out_status);

#endif
