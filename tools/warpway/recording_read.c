/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_read.c - frames of a channel in a folder: the reader
 */
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/file_io.h"
#include "common/say.h"
#include "warpway/format.h"
#include "warpway/input_file.h"
#include "warpway/recording_layout.h"

/* --- channel.json --- */

static int refuse_channel(const struct recording *recording, const char *reason)
{
	return complain("%s/%s is no description of a recorded channel: %s", recording->folder,
		RECORDING_CHANNEL, reason);
}

/* A list of sizes. Return: whether it is one of at most @most, each from 0 to 2^63 - 1. */
static bool read_shape(const json_t *list, uint32_t most, int64_t out_shape[], uint32_t *out_ndim)
{
	size_t count = json_array_size(list);

	if (!json_is_array(list) || count > most)
		return false;
	for (size_t i = 0; i < count; i++) {
		const json_t *size = json_array_get(list, i);

		if (!json_is_integer(size) || json_integer_value(size) < 0)
			return false;
		out_shape[i] = json_integer_value(size);
	}
	*out_ndim = (uint32_t)count;
	return true;
}

static bool read_array(const json_t *root, struct ww_channel_info *info)
{
	const char *name = json_string_value(json_object_get(root, "dtype"));
	int64_t shape[WW_ARRAY_DIMS];
	struct ww_dtype dtype;
	uint32_t ndim;

	info->has_array = !json_is_null(root);
	return !info->has_array ||
		(name && ww_dtype_parse(name, &dtype) == WW_OK &&
			read_shape(json_object_get(root, "shape"), WW_ARRAY_DIMS, shape, &ndim) &&
			ww_array_set(&info->array, &dtype, ndim, shape, NULL, 0) == WW_OK);
}

/* Numbers that the library checks when the channel is made need only fit here. */
static bool read_number(const json_t *root, const char *key, uint64_t most, uint64_t *out_number)
{
	const json_t *number = json_object_get(root, key);

	if (!json_is_integer(number) || json_integer_value(number) < 0)
		return false;
	*out_number = (uint64_t)json_integer_value(number);
	return *out_number <= most;
}

static bool read_numbers(const json_t *root, struct ww_channel_info *info)
{
	const struct {
		const char *key;
		uint32_t *place;
	} rows[] = {
		{"slots", &info->slots},
		{"consumers_max", &info->consumers_max},
		{"held_max", &info->held_max},
		{"metadata_bytes", &info->metadata_bytes},
	};
	uint64_t number;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!read_number(root, rows[i].key, WW_CHANNEL_SLOTS_MAX, &number))
			return false;
		*rows[i].place = (uint32_t)number;
	}
	return read_number(root, "slot_bytes", INT64_MAX, &info->slot_bytes) &&
		info->metadata_bytes <= WW_FRAME_METADATA_MAX;
}

static bool read_words(const json_t *root, struct ww_channel_info *info)
{
	const char *policy = json_string_value(json_object_get(root, "policy"));
	const char *type = json_string_value(json_object_get(root, "metadata_type"));

	if (!policy || !format_find(FORMAT_POLICY, policy, &info->policy) || !type ||
		strlen(type) >= sizeof(info->metadata_type))
		return false;
	memcpy(info->metadata_type, type, strlen(type) + 1);
	return true;
}

static int read_channel(struct recording *recording, const json_t *root)
{
	struct ww_channel_info *info = &recording->info;
	uint64_t version;

	*info = (struct ww_channel_info){.struct_size = sizeof(*info)};
	if (!read_number(root, "version", UINT32_MAX, &version))
		return refuse_channel(recording, "it names no version");
	if (version != RECORDING_VERSION)
		return complain("the recording %s has version %llu of the format, and this program "
				"knows version %d; use a newer warpway",
			recording->folder, (unsigned long long)version, RECORDING_VERSION);
	if (!read_words(root, info) || !read_numbers(root, info) ||
		!read_array(json_object_get(root, "array"), info))
		return refuse_channel(recording, "a key is missing, or its value is wrong");
	return 0;
}

int recording_open(struct recording *recording, const char *folder)
{
	char path[RECORDING_PATH_BYTES];
	json_error_t error;
	json_t *root;
	int failed;

	recording->folder = folder;
	recording_path(recording, RECORDING_CHANNEL, path);
	root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return complain("cannot read the recording %s: %s; `warpway channel record` makes a "
				"recording, and `warpway channel pub` publishes other files",
			folder, error.text);
	failed = read_channel(recording, root);
	json_decref(root);
	if (failed)
		return -1;
	recording_path(recording, RECORDING_FRAMES, path);
	recording->lines = fopen(path, "re");
	return recording->lines ? 0 : complain("cannot open %s: %s", path, strerror(errno));
}

void recording_rewind(struct recording *recording)
{
	rewind(recording->lines);
	recording->line = 0;
}

/* --- frames.jsonl --- */

static int digit_of(char sign)
{
	if (sign >= '0' && sign <= '9')
		return sign - '0';
	return sign >= 'a' && sign <= 'f' ? sign - 'a' + 10 : -1;
}

static bool read_metadata(const json_t *value, uint32_t most, struct recorded_frame *out_frame)
{
	const char *text = json_string_value(value);
	size_t length = json_string_length(value);

	if (!text || length % 2 != 0 || length / 2 > most)
		return false;
	for (size_t i = 0; i < length / 2; i++) {
		int high = digit_of(text[2 * i]);
		int low = digit_of(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out_frame->metadata[i] = (uint8_t)(16 * high + low);
	}
	out_frame->frame.metadata_bytes = (uint32_t)(length / 2);
	return true;
}

/* A name as recording_add() makes it: so it names nothing outside the folder. */
static bool read_file_name(const json_t *value, char out_file[RECORDING_FILE_BYTES])
{
	const char *text = json_string_value(value);
	size_t digits = text ? strspn(text, "0123456789") : 0;

	if (digits == 0 || digits > RECORDING_FILE_BYTES - sizeof(".npy") ||
		(strcmp(text + digits, ".npy") != 0 && strcmp(text + digits, ".raw") != 0))
		return false;
	memcpy(out_file, text, digits + sizeof(".npy"));
	return true;
}

static bool read_frame(const json_t *root, const struct ww_channel_info *info,
	struct recorded_frame *out_frame)
{
	struct ww_frame *frame = &out_frame->frame;
	int64_t shape[WW_FRAME_DIMS] = {0};

	*frame = (struct ww_frame){.struct_size = sizeof(*frame)};
	if (!read_file_name(json_object_get(root, "file"), out_frame->file) ||
		!read_number(root, "number", INT64_MAX, &frame->number) ||
		!read_number(root, "bytes", info->slot_bytes, &frame->bytes) ||
		!read_number(root, "submitted_ns", INT64_MAX, &frame->submitted_ns) ||
		!read_shape(json_object_get(root, "shape"), WW_FRAME_DIMS, shape, &frame->ndim) ||
		!read_metadata(json_object_get(root, "metadata"), info->metadata_bytes, out_frame))
		return false;
	for (uint32_t i = 0; i < frame->ndim; i++)
		frame->shape[i] = (uint64_t)shape[i];
	return true;
}

int recording_next(struct recording *recording, struct recorded_frame *out_frame)
{
	OWN(heap) char *line = NULL;
	size_t room = 0;
	ssize_t length = getline(&line, &room, recording->lines);
	json_t *root;
	bool is_frame;

	/* A line without an end is of a frame at which the recording was killed. */
	if (length <= 0 || line[length - 1] != '\n')
		return 0;
	recording->line++;
	root = json_loadb(line, (size_t)length, JSON_REJECT_DUPLICATES, NULL);
	is_frame = root && read_frame(root, &recording->info, out_frame);
	json_decref(root);
	if (is_frame)
		return 1;
	return complain("%s/%s, line %llu is no frame of this channel", recording->folder,
		RECORDING_FRAMES, (unsigned long long)recording->line);
}

/* --- files --- */

int recording_read(const struct recording *recording, const struct recorded_frame *frame,
	void *bytes)
{
	OWN(source) struct source source = SOURCE_NONE;
	char path[RECORDING_PATH_BYTES];
	ssize_t got;

	recording_path(recording, frame->file, path);
	if (source_open(&source, path, SOURCE_BY_NAME))
		return -1;
	if (source.bytes != frame->frame.bytes)
		return complain("%s has %llu bytes of a frame, and %s says %llu", path,
			(unsigned long long)source.bytes, RECORDING_FRAMES,
			(unsigned long long)frame->frame.bytes);
	got = flow_read(source.fd, bytes, source.bytes);
	if (got == (ssize_t)source.bytes)
		return 0;
	return complain("cannot read %s: %s", path,
		got < 0 ? strerror(errno) : "it ends too early");
}
