/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_files.c - the files in /dev/shm in which the driver keeps events, see event_files.h
 */
#include "doctor/event_files.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/dev/shm/"

void event_files_note(struct event_files *files)
{
	DIR *folder = opendir(FOLDER);
	const struct dirent *entry;

	*files = (struct event_files){0};
	while (folder && (entry = readdir(folder))) {
		ino_t *known = reallocarray(files->known, files->count + 1, sizeof(*known));

		if (!known)
			abort();
		files->known = known;
		files->known[files->count++] = entry->d_ino;
	}
	if (folder)
		closedir(folder);
}

static bool is_known(const struct event_files *files, ino_t inode)
{
	for (size_t i = 0; i < files->count; i++) {
		if (files->known[i] == inode)
			return true;
	}
	return false;
}

void event_files_remove(struct event_files *files)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		const char *path = strstr(line, FOLDER);
		struct stat file;

		line[strcspn(line, "\n")] = 0;
		if (path && !lstat(path, &file) && S_ISREG(file.st_mode) &&
			file.st_uid == geteuid() && !is_known(files, file.st_ino))
			unlink(path);
	}
	if (maps)
		fclose(maps);
	free(files->known);
	*files = (struct event_files){0};
}
