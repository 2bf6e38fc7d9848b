/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording.c - frames of a channel in a folder: what writer and reader share, and the writer
 */
#include "warpway/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file_io.h"
#include "common/say.h"
#include "warpway/format.h"
#include "warpway/npy.h"
#include "warpway/output_file.h"
#include "warpway/recording_layout.h"

#define NS_PER_S UINT64_C(1000000000)

void recording_path(const struct recording *recording, const char *file,
	char out_path[RECORDING_PATH_BYTES])
{
	snprintf(out_path, RECORDING_PATH_BYTES, "%s/%s", recording->folder, file);
}

void recording_close(struct recording *recording)
{
	if (recording->index >= 0)
		close(recording->index);
	if (recording->lines)
		fclose(recording->lines);
	*recording = (struct recording)RECORDING_NONE;
}

/* --- what the channel is --- */

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static json_t *json_of_shape(const struct ww_array *array)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < array->ndim; i++)
		json_array_append_new(list, json_integer(array->shape[i]));
	return list;
}

static json_t *json_of_frames(const struct ww_channel_info *info)
{
	char dtype[FORMAT_DTYPE_BYTES];

	if (!info->has_array)
		return json_null();
	format_dtype(&info->array, dtype);
	return json_pack("{s:s, s:o}", "dtype", dtype, "shape", json_of_shape(&info->array));
}

/* Two clocks of one moment: the times of frames are CLOCK_MONOTONIC. */
static json_t *json_of_channel(const char *name, const struct ww_channel_info *info)
{
	char type[WW_FRAME_METADATA_TYPE_BYTES];
	char program[WW_PROGRAM_BYTES];
	char safe_name[WW_NAME_BYTES];

	format_safe(info->metadata_type, type, sizeof(type));
	format_safe(info->program, program, sizeof(program));
	format_safe(name, safe_name, sizeof(safe_name));
	return json_pack("{s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:s, s:I, s:I, s:I}",
		"version", RECORDING_VERSION, "name", safe_name, "policy",
		format_policy(info->policy), "slots", (json_int_t)info->slots, "slot_bytes",
		(json_int_t)info->slot_bytes, "consumers_max", (json_int_t)info->consumers_max,
		"held_max", (json_int_t)info->held_max, "metadata_bytes",
		(json_int_t)info->metadata_bytes, "metadata_type", type, "array",
		json_of_frames(info), "program", program, "pid", (json_int_t)info->pid,
		"realtime_ns", (json_int_t)now_ns(CLOCK_REALTIME), "monotonic_ns",
		(json_int_t)now_ns(CLOCK_MONOTONIC));
}

static int write_channel(const struct recording *recording, const char *name)
{
	char path[RECORDING_PATH_BYTES];
	json_t *root = json_of_channel(name, &recording->info);
	int failed;

	recording_path(recording, RECORDING_CHANNEL, path);
	failed = !root || json_dump_file(root, path, JSON_INDENT(2));
	json_decref(root);
	return failed ? complain("cannot write %s: %s", path, strerror(errno)) : 0;
}

/* --- the folder --- */

static bool is_empty(const char *folder)
{
	DIR *entries = opendir(folder);
	const struct dirent *entry = NULL;

	if (!entries)
		return false;
	do {
		entry = readdir(entries);
	} while (entry && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")));
	closedir(entries);
	return !entry;
}

static int make_folder(const char *folder)
{
	if (mkdir(folder, 0777) == 0)
		return 0;
	if (errno != EEXIST)
		return complain("cannot make the folder %s: %s", folder, strerror(errno));
	if (is_empty(folder))
		return 0;
	return refuse("'%s' is there, and is no empty folder; name another one for the recording",
		folder);
}

int recording_create(struct recording *recording, const char *folder, const char *name,
	const struct ww_channel_info *info)
{
	char path[RECORDING_PATH_BYTES];
	int code;

	if (strlen(folder) > RECORDING_PATH_BYTES - RECORDING_FILE_BYTES)
		return refuse("the name of the folder is too long");
	code = make_folder(folder);
	if (code)
		return code;
	recording->folder = folder;
	recording->info = *info;
	if (write_channel(recording, name))
		return -1;
	recording_path(recording, RECORDING_FRAMES, path);
	recording->index = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
	return recording->index >= 0 ? 0 : complain("cannot make %s: %s", path, strerror(errno));
}

/* --- frames --- */

bool recording_array(const struct ww_channel_info *info, const struct ww_frame *frame,
	struct ww_array *out_array)
{
	const struct ww_array *whole = &info->array;
	int64_t shape[WW_FRAME_DIMS];
	uint64_t bytes;

	if (!info->has_array)
		return false;
	for (uint32_t i = 0; i < frame->ndim; i++)
		shape[i] = (int64_t)frame->shape[i];
	return ww_array_set(out_array, &whole->dtype, frame->ndim ? frame->ndim : whole->ndim,
		       frame->ndim ? shape : whole->shape, NULL, 0) == WW_OK &&
		ww_array_bytes(out_array, &bytes) == WW_OK && bytes == frame->bytes;
}

static int write_file(const struct recording *recording, const struct ww_frame *frame,
	const char *file, const void *bytes)
{
	OWN(sink) struct sink sink = SINK_NONE;
	char header[NPY_WRITE_BYTES];
	char note[NPY_REASON_BYTES];
	char path[RECORDING_PATH_BYTES];
	struct ww_array array;
	size_t header_bytes = 0;

	recording_path(recording, file, path);
	if (recording_array(&recording->info, frame, &array))
		header_bytes = npy_write(&array, header, note);
	if (sink_open(&sink, path))
		return -1;
	if (flow_write(sink.fd, header, header_bytes) || flow_write(sink.fd, bytes, frame->bytes))
		return complain("cannot write %s: %s", path, strerror(errno));
	return sink_finish(&sink);
}

static json_t *json_of_frame_shape(const struct ww_frame *frame)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < frame->ndim; i++)
		json_array_append_new(list, json_integer((json_int_t)frame->shape[i]));
	return list;
}

static json_t *json_of_metadata(const struct ww_frame *frame)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *bytes = frame->metadata;
	char text[2 * WW_FRAME_METADATA_MAX + 1];
	size_t length = 0;

	for (uint32_t i = 0; i < frame->metadata_bytes; i++) {
		text[length++] = digits[bytes[i] >> 4];
		text[length++] = digits[bytes[i] & 15];
	}
	return json_stringn(text, length);
}

/* One write for a line: so it is there as a whole, or has no end. */
static int write_line(const struct recording *recording, const struct ww_frame *frame,
	const char *file)
{
	json_t *root = json_pack("{s:I, s:s, s:I, s:I, s:o, s:o}", "number",
		(json_int_t)frame->number, "file", file, "bytes", (json_int_t)frame->bytes,
		"submitted_ns", (json_int_t)frame->submitted_ns, "shape",
		json_of_frame_shape(frame), "metadata", json_of_metadata(frame));
	OWN(heap) char *line = root ? json_dumps(root, JSON_COMPACT) : NULL;
	size_t length = line ? strlen(line) : 0;

	json_decref(root);
	if (!line)
		return complain("out of memory");
	line[length] = '\n'; /* in place of the end: what is written has a length */
	if (flow_write(recording->index, line, length + 1) == 0)
		return 0;
	return complain("cannot write to %s/%s: %s", recording->folder, RECORDING_FRAMES,
		strerror(errno));
}

int recording_add(struct recording *recording, const struct ww_frame *frame, const void *bytes)
{
	char file[RECORDING_FILE_BYTES];
	struct ww_array array;
	bool is_array = recording_array(&recording->info, frame, &array);

	snprintf(file, sizeof(file), "%012llu.%s", (unsigned long long)frame->number,
		is_array ? "npy" : "raw");
	if (write_file(recording, frame, file, bytes))
		return -1;
	return write_line(recording, frame, file);
}
