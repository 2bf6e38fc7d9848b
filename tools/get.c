/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get.c - `warpway get`: an object of a broker becomes a file
 *
 * What is written is the array, element by element in C order, where the object has one, else all its
 * bytes. Elements without gaps go straight from the memory to the file.
 *
 * Which device: the CPU is tried first, for it reaches what it holds without a driver. Memory that it
 * cannot reach lives on a GPU, and the broker says on which.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "broker.h"
#include "flow.h"
#include "format.h"
#include "gather.h"
#include "npy.h"
#include "pump.h"
#include "sink.h"
#include "source.h"
#include "verbs.h"

#define PIECE_BYTES ((size_t)1 << 20)

struct get {
	const char *address;
	const char *device_name; /* NULL: where the bytes are */
	const char *name;
	bool npy;
	bool raw;
	bool expand;
	struct ww_get_params params;
};

/* What was got, and how it is to be written. */
struct taken {
	ww_memory *memory;
	uint64_t bytes; /* of the memory */
	struct ww_array array;
	uint64_t array_bytes;
	bool is_straight; /* the elements lie as they are to be written */
};

static const struct option options[] = {
	{"device", required_argument, NULL, 'd'},
	{"wait", required_argument, NULL, 'w'},
	{"npy", no_argument, NULL, 'N'},
	{"raw", no_argument, NULL, 'R'},
	{"expand", no_argument, NULL, 'E'},
	BROKER_OPTIONS,
};

static const char help[] =
	"Usage: warpway get [OPTION...] NAME [FILE]\n\n"
	"Writes an object's bytes to FILE, which appears whole or not at all, or to standard output.\n"
	"Of an array these are its elements in C order. A FILE that ends in .npy gets type and shape\n"
	"as well.\n\n"
	"  --device NAME     by which device they are reached: host, cuda:N or cuda:UUID\n"
	"                    (default: the one that holds them)\n"
	"  --wait SECONDS    wait for the name to appear and its object to be ready, or `forever`\n"
	"  --npy, --raw      write as .npy, or the bytes alone, whatever the file's name is\n"
	"  --expand          write an array whose elements share bytes also if that makes it larger than\n"
	"                    the object\n" BROKER_HELP "\n  warpway get model/layer0/w w.npy\n"
	"  warpway get --wait 60 batch - | sha256sum\n\n" BROKER_EXIT_HELP;

static int take(void *context, int letter, const char *argument)
{
	struct get *get = context;

	switch (letter) {
	case 'd':
		get->device_name = argument;
		break;
	case 'w':
		return option_patience(argument, &get->params.timeout_ns);
	case 'N':
	case 'R':
		get->npy = letter == 'N';
		get->raw = letter == 'R';
		break;
	case 'E':
		get->expand = true;
		break;
	default:
		get->address = argument;
	}
	return 0;
}

static ww_status get_on(const struct get *get, ww_broker *broker, const char *device_name,
	ww_memory **out_memory, struct ww_object_info *out_object)
{
	OWN(device) ww_device *device = NULL;
	ww_status status = ww_device_open(device_name, &device);

	if (status == WW_OK)
		status = ww_memory_get(device, broker, get->name, &get->params, out_memory,
			out_object);
	return status;
}

/* The device that holds it, which is not the CPU. */
static ww_status get_at_home(const struct get *get, ww_broker *broker, ww_memory **out_memory,
	struct ww_object_info *out_object)
{
	struct ww_object_info home = {.size = sizeof(home)};
	char uuid[FORMAT_UUID_BYTES];
	char device_name[FORMAT_UUID_BYTES + 8];
	ww_status status = ww_broker_stat(broker, get->name, &home);

	if (status != WW_OK)
		return status;
	if (home.kind != WW_OBJECT_MEMORY) /* the record says so already */
		return WW_ERR_UNSUPPORTED;
	format_uuid(home.home_uuid, uuid);
	snprintf(device_name, sizeof(device_name), "cuda:%s", uuid);
	return get_on(get, broker, device_name, out_memory, out_object);
}

static int reach(const struct get *get, ww_broker *broker, ww_memory **out_memory,
	struct ww_object_info *out_object)
{
	const char *first = get->device_name ? get->device_name : "host";
	ww_status status = get_on(get, broker, first, out_memory, out_object);

	if (status == WW_ERR_UNSUPPORTED && !get->device_name)
		status = get_at_home(get, broker, out_memory, out_object);
	if (status == WW_OK)
		return 0;
	if (status == WW_TIMED_OUT)
		complain("cannot get %s: it was not there and ready in time", get->name);
	else
		complain_record("cannot get %s", get->name);
	return broker_exit(status);
}

/*
 * A stride of zero makes one byte any number of elements, and whoever put the object chose it: the file might fill the
 * disk.
 */
static int check_size(const struct get *get, const struct taken *taken)
{
	if (get->expand || taken->array_bytes <= taken->bytes)
		return 0;
	complain("cannot write %s: its array's elements share bytes, which would make %" PRIu64
		 " bytes of %" PRIu64 "; add --expand if that is meant",
		get->name, taken->array_bytes, taken->bytes);
	return EXIT_FAILED;
}

/* Bytes without an array are one of uint8. */
static int describe(const struct get *get, const struct ww_object_info *object, bool npy,
	struct taken *taken)
{
	const int64_t shape[] = {(int64_t)object->bytes};
	struct ww_memory_info info = {.size = sizeof(info)};
	ww_status status = ww_memory_info_get(taken->memory, &info);

	taken->bytes = info.bytes;
	taken->array = object->array;
	taken->array.size = sizeof(taken->array);
	if (status == WW_OK && !object->has_array)
		status = ww_array_set(&taken->array, WW_DTYPE_UINT, 8, 1, shape);
	if (status == WW_OK)
		status = ww_array_check(&taken->array, taken->bytes);
	if (status == WW_OK)
		status = ww_array_bytes(&taken->array, &taken->array_bytes);
	if (status != WW_OK) {
		complain_record("cannot use the array of %s", get->name);
		return EXIT_FAILED;
	}
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

	progress_start(&progress, get->name, taken->array_bytes);
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
		(void)complain("%s: %s", get->name, note);
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
	if ((npy && write_npy_header(get, taken, &sink)) || write_elements(get, taken, &sink) ||
		sink_finish(&sink))
		return EXIT_FAILED;
	return EXIT_DONE;
}

static int run(const struct get *get, const char *path)
{
	OWN(broker) ww_broker *broker = NULL;
	OWN(memory) ww_memory *memory = NULL;
	struct ww_object_info object = {.size = sizeof(object)};
	bool npy = get->npy || (!get->raw && source_is_npy_name(path));
	uint64_t flags = get->params.timeout_ns ? 0 : WW_BROKER_NO_START;
	struct taken taken;
	int code = broker_reach(get->address, flags, &broker);

	if (code == 0)
		code = reach(get, broker, &memory, &object);
	if (code)
		return code;
	taken = (struct taken){.memory = memory};
	code = describe(get, &object, npy, &taken);
	return code ? code : write_out(get, &taken, npy, path);
}

int verb_get(int argc, char *argv[])
{
	static const struct option_set set = {OPTION_SHORT, options, help, take};
	struct get get = {.params = {.size = sizeof(get.params), .access = WW_ACCESS_READ}};
	int code = option_read(argc, argv, &set, &get);

	if (code >= 0)
		return code;
	code = option_words(argc, 1, 2, "NAME [FILE]");
	if (code)
		return code;
	get.name = argv[optind];
	return run(&get, argv[optind + 1]);
}
