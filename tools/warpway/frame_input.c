/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_input.c - where `channel pub` gets its frames from
 *
 * Files are opened for each frame anew, so there may be any number of them. What they are is known
 * before the channel is made: each is looked at once.
 */
#include "warpway/frame_input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file_io.h"
#include "common/interrupt.h"
#include "common/say.h"
#include "warpway/frame_pattern.h"
#include "warpway/input_file.h"

#define DEFAULT_BYTES (UINT64_C(1) << 20)

/* --- what a frame is --- */

static int set_array(struct frame_input *input, const struct frame_form *form)
{
	struct ww_dtype dtype = form->dtype;

	if (dtype.bits == 0)
		dtype = *WW_DTYPE(WW_DTYPE_UINT, 8);
	if (ww_array_set(&input->array, &dtype, form->shape.ndim, form->shape.sizes, NULL, 0) !=
			WW_OK ||
		ww_array_bytes(&input->array, &input->bytes) != WW_OK)
		return refuse("--shape: %s", ww_error_last()->message);
	input->has_array = true;
	return 0;
}

static int check_form(const struct frame_input *input, const struct frame_form *form)
{
	bool is_said = form->bytes || form->shape.ndim;

	if (form->bytes && form->shape.ndim)
		return refuse(
			"--bytes and --shape exclude each other: a shape says how many bytes a "
			"frame has");
	if (form->dtype.bits && !form->shape.ndim)
		return refuse("--dtype needs --shape");
	if (is_said && input->path_count > 0 && !input->is_stream)
		return refuse("--bytes and --shape are for frames that are made, or come through "
			      "standard input; files say themselves what they are");
	if (!is_said && input->is_stream)
		return refuse(
			"how many bytes of standard input are a frame? Say --bytes or --shape");
	return 0;
}

static bool is_same(const struct ww_array *one, const struct ww_array *other)
{
	return !memcmp(&one->dtype, &other->dtype, sizeof(one->dtype)) &&
		one->ndim == other->ndim &&
		!memcmp(one->shape, other->shape, one->ndim * sizeof(one->shape[0]));
}

/* All files are of one type and shape, or all are bytes. */
static int add_file(struct frame_input *input, const struct source *source, bool is_first)
{
	bool is_array = source_is_npy_name(source->name);

	if (is_array && !ww_array_is_contiguous(&source->array))
		return complain("%s is in Fortran order, and frames are in C order: save "
				"numpy.ascontiguousarray(a)",
			source->name);
	if (is_array && source->array.ndim > WW_FRAME_DIMS)
		return complain("%s has %u dimensions; a frame has at most %d", source->name,
			source->array.ndim, WW_FRAME_DIMS);
	if (is_first) {
		input->has_array = is_array;
		input->array = source->array;
	} else if (is_array != input->has_array ||
		(is_array && !is_same(&source->array, &input->array))) {
		return complain("%s has another type or shape than %s; all frames of a channel have "
				"the same",
			source->name, input->paths[0]);
	}
	if (source->bytes > input->bytes)
		input->bytes = source->bytes;
	return 0;
}

static int look_at_files(struct frame_input *input)
{
	for (size_t i = 0; i < input->path_count; i++) {
		OWN(source) struct source source = SOURCE_NONE;

		if (!strcmp(input->paths[i], "-"))
			return refuse("standard input (-) stands alone");
		if (source_open(&source, input->paths[i], SOURCE_BY_NAME) ||
			add_file(input, &source, i == 0))
			return -1;
	}
	if (input->bytes == 0)
		return complain("the files are empty");
	return 0;
}

int frame_input_open(struct frame_input *input, const struct frame_form *form, char **paths,
	size_t count)
{
	int code;

	*input = (struct frame_input){
		.paths = paths,
		.path_count = count,
		.is_stream = count == 1 && !strcmp(paths[0], "-"),
	};
	code = check_form(input, form);
	if (code)
		return code;
	if (count > 0 && !input->is_stream)
		return look_at_files(input);
	if (form->shape.ndim)
		return set_array(input, form);
	input->bytes = form->bytes ? form->bytes : DEFAULT_BYTES;
	return 0;
}

uint64_t frame_input_count(const struct frame_input *input)
{
	return input->is_stream ? 0 : input->path_count;
}

/* --- its bytes --- */

/* As flow_read(), but that Ctrl-C ends it. Return: bytes; -1: told, or interrupted. */
static ssize_t read_stream(void *bytes, uint64_t count)
{
	uint64_t done = 0;

	while (done < count) {
		ssize_t got;

		if (!interrupt_await_input(STDIN_FILENO))
			return -1;
		got = read(STDIN_FILENO, (char *)bytes + done, count - done);
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return complain("cannot read standard input: %s", strerror(errno));
		if (got == 0)
			break;
		if (got > 0)
			done += (uint64_t)got;
	}
	return (ssize_t)done;
}

static enum publisher_next next_of_stream(const struct frame_input *input, void *bytes)
{
	ssize_t got = read_stream(bytes, input->bytes);

	if (got == (ssize_t)input->bytes)
		return PUBLISHER_GO;
	if (got == 0 || (got < 0 && interrupt_came()))
		return PUBLISHER_END;
	if (got > 0)
		(void)complain("standard input ends inside a frame: %zd of %llu bytes came", got,
			(unsigned long long)input->bytes);
	return PUBLISHER_FAILED;
}

static int read_file(const struct frame_input *input, const char *path, void *bytes,
	uint64_t *out_bytes)
{
	OWN(source) struct source source = SOURCE_NONE;
	ssize_t got;

	if (source_open(&source, path, SOURCE_BY_NAME))
		return -1;
	if (source.bytes > input->bytes ||
		(input->has_array && !is_same(&source.array, &input->array)))
		return complain("%s is not what it was when the channel was made", path);
	got = flow_read(source.fd, bytes, source.bytes);
	if (got < 0)
		return complain("cannot read %s: %s", path, strerror(errno));
	if ((uint64_t)got < source.bytes)
		return complain("%s ends before all its bytes are read", path);
	*out_bytes = source.bytes;
	return source_finish(&source);
}

enum publisher_next frame_input_read(const struct frame_input *input, uint64_t number, void *bytes,
	uint64_t *out_bytes)
{
	const char *path;

	*out_bytes = input->bytes;
	if (input->is_stream)
		return next_of_stream(input, bytes);
	if (input->path_count == 0) {
		frame_pattern_fill(bytes, input->bytes, number);
		return PUBLISHER_GO;
	}
	path = input->paths[(number - 1) % input->path_count];
	return read_file(input, path, bytes, out_bytes) ? PUBLISHER_FAILED : PUBLISHER_GO;
}
