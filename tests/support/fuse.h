/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse.h - a file system whose files hang whoever closes them
 *
 * The kernel sends FLUSH at every close() of a descriptor and waits for the answer, also in a
 * process that was killed. This file system answers everything but FLUSH and RELEASE, until it is
 * told to. It has one file and no place in the tree of mounts, and it is served by a process of its
 * own, so it leaves nothing behind and cannot hang itself.
 *
 * The server ends by itself after FUSE_LIMIT_S, and all that waits for it goes on with an error: a
 * case that hangs in close() fails in fuse_stop().
 */
#ifndef WW_TESTS_SUPPORT_FUSE_H
#define WW_TESTS_SUPPORT_FUSE_H

#include <sys/types.h>

#define FUSE_LIMIT_S 60

struct fuse {
	pid_t server;
	int control;
	int mount;
};

/* Skips the case where there can be none: without root's rights, or without /dev/fuse. */
void fuse_start(struct fuse *self);

/* Return: a descriptor of the file, open for reading and writing, close-on-exec. */
int fuse_open(const struct fuse *self);

/* From now on nothing is answered, so that fstat() and fstatfs() hang too. */
void fuse_mute(const struct fuse *self);

/* Waits until a FLUSH has come that was not waited for before: something hangs in close(). */
void fuse_await_flush(const struct fuse *self);

/* Answers what was not, and from now on everything. */
void fuse_release(const struct fuse *self);

/* Ends it; what waits for an answer goes on. Claims that the server did not reach its limit. */
void fuse_stop(struct fuse *self);

#endif
