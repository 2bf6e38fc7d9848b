/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get.c - `warpway get`: an object of a broker becomes a file
 *
 * What is written is the array, element by element in C order, where the object has one, else all
 * its bytes. Elements without gaps go straight from the memory to the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "warpway/open_broker.h"
#include "common/file_io.h"
#include "warpway/format.h"
#include "warpway/array_gather.h"
#include "warpway/npy.h"
#include "warpway/transfer.h"
#include "warpway/object_memory.h"
#include "warpway/output_file.h"
#include "warpway/input_file.h"
#include "warpway/verbs.h"

#define PIECE_BYTES ((size_t)1 << 20)

static struct get {
	struct request request;
	const char *token_text;
	enum source_form form;
	bool expand;
	struct reach reach;
	struct ww_token token;
} get_request = {
	.reach.params = {.struct_size = sizeof(struct ww_get_params), .access = WW_ACCESS_READ},
};

/* What was got, and how it is to be written. */
struct taken {
	ww_memory *memory;
	uint64_t bytes; /* of the memory */
	struct ww_array array;
	uint64_t array_bytes;
	bool is_straight; /* the elements lie as they are to be written */
};

static const char help[] =
	"Usage: warpway get [OPTION...] NAME [FILE]\n"
	"       warpway get [OPTION...] --token TOKEN [FILE]\n\n"
	"Writes an object's bytes to FILE, which appears whole or not at all, or to standard output.\n"
	"Of an array these are its elements in C order. A FILE that ends in .npy gets type and shape\n"
	"as well.\n\n"
	"  --device NAME     by which device they are reached: host, cuda:N or cuda:UUID\n"
	"                    (default: the one that holds them)\n"
	"  --wait SECONDS    wait for the name to appear and its object to be ready, or `forever`\n"
	"  --token TOKEN     what this token names, see `warpway export`; - reads it from standard\n"
	"                    input, where other users cannot see it\n"
	"  --npy, --raw      write as .npy, or the bytes alone, whatever the file's name is\n"
	"  --expand          write an array whose elements share bytes also if that makes it larger than\n"
	"                    the object\n" BROKER_HELP "\n  warpway get model/layer0/w w.npy\n"
	"  warpway get --wait 60 batch - | sha256sum\n\n" BROKER_EXIT_HELP;

static const struct option_row options[] = {
	OPTION("device", TEXT, struct get, reach.device_name),
	OPTION("wait", PATIENCE, struct get, reach.timeout_ns),
	OPTION("token", TEXT, struct get, token_text),
	OPTION("npy", VALUE, struct get, form, .value = SOURCE_NPY),
	OPTION("raw", VALUE, struct get, form, .value = SOURCE_RAW),
	OPTION("expand", FLAG, struct get, expand),
	OPTION_BROKER,
	OPTION_END,
};

/* One that comes through standard input is seen by no other user, as a command line is. */
static int take_token(struct get *get, const char *text)
{
	char line[2 * WW_TOKEN_TEXT_BYTES];

	if (!strcmp(text, "-")) {
		ssize_t bytes = flow_read(STDIN_FILENO, line, sizeof(line) - 1);

		if (bytes < 0)
			return refuse("cannot read a token from standard input: %s",
				strerror(errno));
		line[bytes] = 0;
		text = line;
	}
	if (ww_token_from_text(text, &get->token) != WW_OK)
		return refuse("--token: %s", ww_error_last()->message);
	get->reach.token = &get->token;
	get->reach.name = "what the token names";
	return 0;
}

/*
 * A stride of zero makes one byte any number of elements, and whoever put the object chose it: the
 * file might fill the disk.
 */
static int check_size(const struct get *get, const struct taken *taken)
{
	if (get->expand || taken->array_bytes <= taken->bytes)
		return 0;
	return complain(
		"cannot write %s: its array's elements share bytes, which would make %" PRIu64
		" bytes of %" PRIu64 "; add --expand if that is meant",
		get->reach.name, taken->array_bytes, taken->bytes);
}

/* Bytes without an array are one of uint8. */
static int describe(const struct get *get, const struct ww_object_info *object, bool npy,
	struct taken *taken)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	ww_status status = ww_memory_info_get(taken->memory, &info);
	const int64_t shape[] = {(int64_t)info.bytes};

	taken->bytes = info.bytes;
	taken->array = object->array;
	taken->array.struct_size = sizeof(taken->array);
	if (status == WW_OK && !object->has_array)
		status = ww_array_set(&taken->array, WW_DTYPE(WW_DTYPE_UINT, 8), 1, shape, NULL, 0);
	if (status == WW_OK)
		status = ww_array_check(&taken->array, info.bytes);
	if (status == WW_OK)
		status = ww_array_bytes(&taken->array, &taken->array_bytes);
	if (status != WW_OK)
		return complain_record("cannot use the array of %s", get->reach.name);
	taken->is_straight = ww_array_is_contiguous(&taken->array) ||
		(npy && npy_is_fortran(&taken->array));
	return check_size(get, taken);
}

/* All of the memory, where the CPU can walk over it. */
static int mirror(const struct taken *taken, struct pump *pump, void **out_base)
{
	OWN(fd) int fd = memfd_create("warpway-get", MFD_CLOEXEC);

	*out_base = pump->direct;
	if (*out_base)
		return 0;
	if (fd < 0)
		return complain("cannot make memory for a copy: %s", strerror(errno));
	if (pump_drain(pump, fd, "memory for a copy", 0, taken->bytes))
		return -1;
	*out_base = mmap(NULL, taken->bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (*out_base != MAP_FAILED)
		return 0;
	return complain("cannot map a copy: %s", strerror(errno));
}

static int write_gathered(const struct taken *taken, const void *base, const struct sink *sink,
	struct progress *progress)
{
	OWN(heap) char *piece = malloc(PIECE_BYTES);
	struct gather gather;
	size_t bytes;

	if (!piece)
		return complain("out of memory");
	gather_start(&gather, &taken->array, base);
	while ((bytes = gather_next(&gather, piece, PIECE_BYTES)) > 0) {
		if (flow_interrupted())
			return -1;
		if (flow_write(sink->fd, piece, bytes))
			return complain("cannot write %s: %s", sink->name, strerror(errno));
		progress_advance(progress, bytes);
	}
	return 0;
}

/* On a GPU the bytes are copied to the CPU first: the whole memory counts twice then. */
static int gather(const struct taken *taken, struct pump *pump, const struct sink *sink)
{
	void *base;
	int failed;

	if (!pump->direct)
		pump->progress->total = taken->bytes + taken->array_bytes;
	if (mirror(taken, pump, &base))
		return -1;
	failed = write_gathered(taken, base, sink, pump->progress);
	if (!pump->direct)
		munmap(base, taken->bytes);
	return failed;
}

static int write_elements(const struct get *get, const struct taken *taken, const struct sink *sink)
{
	OWN(pump) struct pump pump = {0};
	struct progress progress;
	int failed;

	progress_start(&progress, get->reach.name, taken->array_bytes);
	if (pump_open(&pump, taken->memory, &progress))
		return -1;
	if (taken->is_straight)
		failed = pump_drain(&pump, sink->fd, sink->name, taken->array.offset,
			taken->array_bytes);
	else
		failed = gather(taken, &pump, sink);
	progress_end(&progress);
	return failed;
}

static int write_npy_header(const struct get *get, const struct taken *taken,
	const struct sink *sink)
{
	char header[NPY_WRITE_BYTES];
	char note[NPY_REASON_BYTES];
	size_t bytes = npy_write(&taken->array, header, note);

	if (note[0])
		(void)complain("%s: %s", get->reach.name, note);
	if (flow_write(sink->fd, header, bytes))
		return complain("cannot write %s: %s", sink->name, strerror(errno));
	return 0;
}

static int write_out(const struct get *get, const struct taken *taken, bool npy, const char *path)
{
	OWN(sink) struct sink sink = SINK_NONE;
	int code = sink_open(&sink, path);

	if (code)
		return code;
	if (npy && write_npy_header(get, taken, &sink))
		return -1;
	return write_elements(get, taken, &sink) ? -1 : sink_finish(&sink);
}

/* Without an address the token says which broker; one that starts now would not know it. */
static int find_broker(const struct get *get, ww_broker **out_broker)
{
	const char *address = get->request.address;

	if (get->reach.token)
		return address ? broker_reach(address, WW_BROKER_NO_START, out_broker) : 0;
	if (get->reach.timeout_ns)
		return broker_reach(address, 0, out_broker);
	return broker_find_object(address, get->reach.name, out_broker);
}

static int get_file(struct get *get, const char *path)
{
	OWN(memory) ww_memory *memory = NULL;
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	bool npy = get->form == SOURCE_NPY ||
		(get->form == SOURCE_BY_NAME && source_is_npy_name(path));
	struct taken taken;
	int code = find_broker(get, &get->request.broker);

	if (code == 0)
		code = reach_memory(&get->reach, get->request.broker, &memory, &object);
	if (code)
		return code;
	taken = (struct taken){.memory = memory};
	code = describe(get, &object, npy, &taken);
	return code ? code : write_out(get, &taken, npy, path);
}

/* A token stands in place of the name. */
static int run(struct request *request)
{
	struct get *get = &get_request;
	int names = get->token_text ? 0 : 1;
	int code = option_words(request->word_count, names, names + 1,
		names ? "NAME [FILE]" : "[FILE]");

	if (code)
		return code;
	if (get->token_text && get->reach.timeout_ns)
		return refuse("--wait is for names: what a token names is there, or will not come");
	if (get->token_text)
		code = take_token(get, get->token_text);
	else
		get->reach.name = request->words[0];
	return code ? code : get_file(get, request->words[names]);
}

const struct verb verb_get = {.name = "get",
	.summary = "write an object to a file",
	.options = options,
	.help = help,
	.context = &get_request,
	.words = "NAME [FILE]",
	.most_words = INT_MAX,
	.run = run};
