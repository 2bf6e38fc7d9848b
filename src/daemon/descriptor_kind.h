/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor_kind.h - the kind of a descriptor, by calls that no file system serves
 *
 * The broker keeps three kinds: memory (a sealed memfd), devices of the GPU driver, and pidfds. To
 * close any of these never waits for another process. Closing any other kind may: a file of the
 * sender's own file system (FUSE) waits at every close(), a TCP socket lingers, an inotify
 * descriptor takes milliseconds.
 */
#ifndef WW_DAEMON_DESCRIPTOR_KIND_H
#define WW_DAEMON_DESCRIPTOR_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Only memory files have seals. */
bool kind_is_memory(int fd);

/*
 * Whether it is memory that cannot grow. Then it is a memfd, since files with a name cannot be
 * sealed.
 */
bool kind_is_sealed(int fd);

/*
 * Whether it is a device whose major number /proc/devices lists under a name that begins with
 * "nvidia", or 195, which is registered for that driver. If a device is unknown, the list is read
 * again, at most once a second. Threads: one.
 */
bool kind_is_gpu(int fd);

/* Whether it is a pidfd, whatever process it is of. False where /proc is missing. */
bool kind_is_process(int fd);

/* Whether it is of a kind that the broker keeps. */
bool kind_is_kept(int fd);

/*
 * Whether its last close() may take long, since much memory is freed: then another thread or
 * process must close it.
 * @fd:  of a kind that the broker keeps
 */
bool kind_is_large(int fd);

/*
 * The majors of the GPU driver in a text like /proc/devices.
 * @room:  of @out_majors; further majors are left out
 * Return: how many there are.
 */
size_t kind_find_majors(const char *text, uint32_t *out_majors, size_t room);

#endif
