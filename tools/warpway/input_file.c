/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_file.c - what `put` reads: a file or standard input, raw or .npy
 */
#include "warpway/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_io.h"
#include "warpway/npy.h"
#include "common/cleanup.h"
#include "warpway/progress.h"
#include "common/say.h"

bool source_is_npy_name(const char *path)
{
	size_t length = path ? strlen(path) : 0;

	return length > 4 && !strcmp(path + length - 4, ".npy");
}

static int open_file(struct source *source, const char *path)
{
	if (!path || !strcmp(path, "-")) {
		source->name = "standard input";
		source->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	} else {
		source->name = path;
		source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	}
	if (source->fd < 0)
		return complain("cannot open %s: %s", source->name, strerror(errno));
	return 0;
}

static int set_bytes(struct source *source, uint64_t bytes)
{
	const int64_t shape[] = {(int64_t)bytes};

	source->bytes = bytes;
	source->array = (struct ww_array){.struct_size = sizeof(source->array)};
	if (ww_array_set(&source->array, WW_DTYPE(WW_DTYPE_UINT, 8), 1, shape, NULL, 0) != WW_OK)
		return complain_record("cannot put %s", source->name);
	return 0;
}

static void advance(void *context, size_t bytes)
{
	progress_advance(context, bytes);
}

/* Takes all that comes, so that its length is known. */
static int spool(struct source *source)
{
	OWN(fd) int fd = memfd_create("warpway-put", MFD_CLOEXEC);
	struct progress progress;
	bool reading = false;
	int failed = -1;
	off_t bytes;
	int error;

	if (fd >= 0) {
		progress_start(&progress, source->name, 0);
		failed = flow_copy(source->fd, fd, &reading, advance, &progress);
		error = errno;
		progress_end(&progress);
		errno = error;
	}
	if (failed)
		return complain(reading ? "cannot read %s: %s" : "cannot keep %s in memory: %s",
			source->name, strerror(errno));
	bytes = lseek(fd, 0, SEEK_CUR);
	if (bytes < 0 || lseek(fd, 0, SEEK_SET) < 0 || dup3(fd, source->fd, O_CLOEXEC) < 0)
		return complain("cannot keep %s in memory: %s", source->name, strerror(errno));
	return set_bytes(source, (uint64_t)bytes);
}

/* A file that says it is empty may still have something to say, as those of /proc do. */
static int measure(struct source *source)
{
	struct stat stat;
	off_t at;

	if (fstat(source->fd, &stat))
		return complain("cannot look at %s: %s", source->name, strerror(errno));
	if (S_ISDIR(stat.st_mode))
		return complain("cannot put %s: it is a directory", source->name);
	at = lseek(source->fd, 0, SEEK_CUR);
	if (!S_ISREG(stat.st_mode) || at < 0 || stat.st_size <= at)
		return spool(source);
	return set_bytes(source, (uint64_t)(stat.st_size - at));
}

static int refuse_npy(const struct source *source, const char *reason)
{
	return complain("cannot put %s as .npy: %s", source->name, reason);
}

static int read_npy(struct source *source)
{
	OWN(heap) char *header = malloc(NPY_HEADER_MAX);
	char reason[NPY_REASON_BYTES];
	size_t bytes;
	ssize_t got;

	if (!header)
		return complain("out of memory");
	got = flow_read(source->fd, header, NPY_PREFIX_BYTES);
	if (got < 0)
		return complain("cannot read %s: %s", source->name, strerror(errno));
	if (!npy_header_bytes(header, (size_t)got, &bytes, reason))
		return refuse_npy(source, reason);
	got = flow_read(source->fd, header + NPY_PREFIX_BYTES, bytes - NPY_PREFIX_BYTES);
	if (got < 0)
		return complain("cannot read %s: %s", source->name, strerror(errno));
	if ((size_t)got < bytes - NPY_PREFIX_BYTES)
		return refuse_npy(source, "it ends inside the header");
	if (!npy_read(header, bytes, &source->array, reason))
		return refuse_npy(source, reason);
	if (ww_array_bytes(&source->array, &source->bytes) != WW_OK)
		return complain_record("cannot put %s", source->name);
	return 0;
}

int source_open(struct source *source, const char *path, enum source_form form)
{
	*source = (struct source)SOURCE_NONE;
	if (open_file(source, path))
		return -1;
	if (form == SOURCE_BY_NAME)
		form = source_is_npy_name(path) ? SOURCE_NPY : SOURCE_RAW;
	return form == SOURCE_NPY ? read_npy(source) : measure(source);
}

int source_finish(const struct source *source)
{
	char byte;

	if (flow_read(source->fd, &byte, 1) == 0)
		return 0;
	return complain("%s goes on behind the %llu bytes that were to be put: it has grown, or "
			"holds more than one array",
		source->name, (unsigned long long)source->bytes);
}

void source_close(struct source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
}
