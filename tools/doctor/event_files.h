/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_files.h - the files in /dev/shm in which the driver keeps events between processes
 *
 * The driver makes such a file for a process at its first event, and leaves it there for ever. What
 * a probe has caused is removed: files of this user that this process maps, and that were not there
 * before.
 */
#ifndef TOOLS_DOCTOR_EVENT_FILES_H
#define TOOLS_DOCTOR_EVENT_FILES_H

#include <stddef.h>
#include <sys/types.h>

struct event_files {
	ino_t *known; /* those that were there */
	size_t count;
};

void event_files_note(struct event_files *files);

/* Removes what came since, and ends @files. */
void event_files_remove(struct event_files *files);

#endif
