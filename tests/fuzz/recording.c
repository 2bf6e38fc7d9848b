/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording.c - fuzzes the reader of recordings, whose folder is an untrusted process's
 *
 * Input: channel.json, a zero, frames.jsonl. What is accepted is a channel and frames that can be,
 * whose files are in the folder; read again from the beginning, the frames are the same.
 */
#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/say.h"
#include "warpway/progress.h"
#include "warpway/recording_layout.h"

#define FRAMES_MOST 16 /* of each input */

static char folder[] = "/tmp/warpway-fuzz-XXXXXX";
static bool has_complained;

/* In place of common/say.c, which would print a line for each input. */
int report_speak(enum report report, const char *format, ...)
{
	char text[4096];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	has_complained |= report == REPORT_COMPLAIN && text[0];
	return -1;
}

/* In place of warpway/progress.c: no bar is shown. */
void progress_start(struct progress *progress, const char *what, uint64_t total)
{
	*progress = (struct progress){.what = what, .total = total};
}

void progress_advance(struct progress *progress, uint64_t bytes)
{
	progress->done += bytes;
}

void progress_end(struct progress *progress)
{
	(void)progress;
}

static void file_path(const char *name, char out[64])
{
	snprintf(out, 64, "%s/%s", folder, name);
}

static void folder_end(void)
{
	char path[64];

	file_path(RECORDING_CHANNEL, path);
	unlink(path);
	file_path(RECORDING_FRAMES, path);
	unlink(path);
	rmdir(folder);
}

static void folder_begin(void)
{
	static bool is_made;

	if (is_made)
		return;
	is_made = true;
	FUZZ_MUST(mkdtemp(folder));
	atexit(folder_end);
}

static void write_file(const char *name, const void *bytes, size_t count)
{
	char path[64];
	int fd;

	file_path(name, path);
	/* Not O_TRUNC: some file systems write to the disk then. */
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	FUZZ_MUST(fd >= 0);
	FUZZ_MUST(write(fd, bytes, count) == (ssize_t)count && !ftruncate(fd, (off_t)count));
	close(fd);
}

static void check_channel(const struct ww_channel_info *info)
{
	FUZZ_MUST(info->policy >= WW_CHANNEL_BLOCK && info->policy <= WW_CHANNEL_LATEST);
	FUZZ_MUST(info->metadata_bytes <= WW_FRAME_METADATA_MAX);
	FUZZ_MUST(info->slots <= WW_CHANNEL_SLOTS_MAX);
	FUZZ_MUST(memchr(info->metadata_type, 0, sizeof(info->metadata_type)));
	FUZZ_MUST(!info->has_array || info->array.ndim <= WW_ARRAY_DIMS);
}

static void check_frame(const struct ww_channel_info *info, const struct recorded_frame *read)
{
	struct ww_array array;

	FUZZ_MUST(memchr(read->file, 0, sizeof(read->file)) && !strchr(read->file, '/'));
	FUZZ_MUST(read->frame.bytes <= info->slot_bytes);
	FUZZ_MUST(read->frame.metadata_bytes <= info->metadata_bytes);
	FUZZ_MUST(read->frame.ndim <= WW_FRAME_DIMS);
	if (recording_array(info, &read->frame, &array))
		FUZZ_MUST(info->has_array && array.ndim <= WW_ARRAY_DIMS);
}

static unsigned int read_frames(struct recording *recording, struct recorded_frame *out_first)
{
	struct recorded_frame *read = calloc(1, sizeof(*read));
	unsigned int count = 0;
	int result;

	FUZZ_MUST(read);
	has_complained = false;
	while (count < FRAMES_MOST && (result = recording_next(recording, read)) != 0) {
		FUZZ_MUST(result == 1 || has_complained);
		if (result < 0)
			break;
		check_frame(&recording->info, read);
		if (count++ == 0)
			*out_first = *read;
	}
	free(read);
	return count;
}

static void read_recording(void)
{
	static struct recorded_frame first, again; /* of a few KiB */
	struct recording recording = RECORDING_NONE;
	unsigned int count;

	has_complained = false;
	if (recording_open(&recording, folder)) {
		FUZZ_MUST(has_complained);
		recording_close(&recording);
		return;
	}
	check_channel(&recording.info);
	count = read_frames(&recording, &first);
	recording_rewind(&recording);
	FUZZ_MUST(read_frames(&recording, &again) == count);
	if (count > 0)
		FUZZ_MUST(!strcmp(first.file, again.file) &&
			!memcmp(&first.frame, &again.frame, sizeof(first.frame)));
	recording_close(&recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	const uint8_t *zero = memchr(input, 0, bytes);
	size_t head = zero ? (size_t)(zero - input) : bytes;

	if (bytes > FUZZ_INPUT_BYTES)
		return 0;
	folder_begin();
	write_file(RECORDING_CHANNEL, input, head);
	write_file(RECORDING_FRAMES, input + head + (zero ? 1 : 0), bytes - head - (zero ? 1 : 0));
	read_recording();
	return 0;
}

#define CHANNEL(array)                                                                        \
	"{\"version\": 1, \"policy\": \"block\", \"metadata_type\": \"a/1\", \"slots\": 4, "  \
	"\"consumers_max\": 4, \"held_max\": 1, \"metadata_bytes\": 8, \"slot_bytes\": 512, " \
	"\"array\": " array "}"

#define FRAME(number, shape)                                                                \
	"{\"file\": \"00000000000" number ".npy\", \"number\": " number ", \"bytes\": 24, " \
	"\"submitted_ns\": 5, \"shape\": " shape ", \"metadata\": \"00ff\"}\n"

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	static const struct {
		const char *channel;
		const char *frames;
	} seeds[] = {
		{CHANNEL("null"), FRAME("1", "[]") FRAME("2", "[]")},
		{CHANNEL("{\"dtype\": \"float32\", \"shape\": [3, 4]}"), FRAME("1", "[3, 2]")},
		{CHANNEL("{\"dtype\": \"uint8\", \"shape\": []}"),
			FRAME("1", "[]") "{\"file\": \"1"},
	};
	size_t head;
	size_t rest;

	if (number >= sizeof(seeds) / sizeof(seeds[0]))
		return 0;
	head = strlen(seeds[number].channel) + 1;
	rest = strlen(seeds[number].frames);
	FUZZ_MUST(head + rest <= FUZZ_INPUT_BYTES);
	memcpy(out, seeds[number].channel, head);
	memcpy(out + head, seeds[number].frames, rest);
	return head + rest;
}
