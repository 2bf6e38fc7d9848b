/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put.c - `warpway put`: a file becomes an object in a broker
 *
 * The name is taken first, with the object being written, so that what cannot be put is refused before
 * anything is copied, and whoever waits for the name sees it coming. With --replace the old object must
 * stay until the new one is whole: there the name is taken last.
 */
#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"
#include "number.h"
#include "pump.h"
#include "source.h"
#include "stay.h"
#include "verbs.h"

struct put {
	const char *address;
	const char *device_name;
	const char *name;
	uint32_t state; /* that it is to end in */
	enum source_form form;
	struct ww_put_params params;
};

static const struct option options[] = {
	{"device", required_argument, NULL, 'd'},
	{"mode", required_argument, NULL, 'm'},
	{"group", required_argument, NULL, 'g'},
	{"life", required_argument, NULL, 'l'},
	{"ttl", required_argument, NULL, 't'},
	{"shared", no_argument, NULL, 's'},
	{"replace", no_argument, NULL, 'r'},
	{"wait", required_argument, NULL, 'w'},
	{"npy", no_argument, NULL, 'N'},
	{"raw", no_argument, NULL, 'R'},
	BROKER_OPTIONS,
};

static const char help[] =
	"Usage: warpway put [OPTION...] NAME [FILE]\n\n"
	"Puts the bytes of FILE, or of standard input, into a broker under NAME. A .npy file of\n"
	"numbers keeps its type and shape. When the command has ended the object stays until it is\n"
	"removed, unless told otherwise.\n\n"
	"  --device NAME     where the bytes live: host (default), cuda:N or cuda:UUID\n"
	"  --mode MODE       permissions in octal (default 0600)\n"
	"  --group GROUP     one of your groups (default: your own)\n"
	"  --life LIFE       kept (default); owner or held: the command stays, and the object goes\n"
	"                    with it (held: when no other process holds it any more)\n"
	"  --ttl SECONDS     how long a kept object stays\n"
	"  --shared          for writing too, by mode; else nobody can change it\n"
	"  --replace         an object of that name gives way, once the new one is whole\n"
	"  --wait SECONDS    wait for room in the quota, or `forever`\n"
	"  --npy, --raw      what the bytes are, whatever the file's name is\n" BROKER_HELP
	"\n  warpway put --mode 0640 model/layer0/w w.npy\n"
	"  generate | warpway put --device cuda:0 batch -\n\n" BROKER_EXIT_HELP;

static int take_mode(struct put *put, const char *text)
{
	size_t length = strspn(text, "01234567");
	uint32_t mode = 0;

	for (size_t i = 0; i < length && mode <= 0777; i++)
		mode = 8 * mode + (uint32_t)(text[i] - '0');
	if (text[length] || mode == 0 || mode > 0777)
		return refuse("'--mode %s': an octal number from 1 to 777 is needed, such as 0640",
			text);
	put->params.mode = mode;
	return 0;
}

/* Group 0 means the caller's own in the call, so it can be named only by those it is. */
static int take_group(struct put *put, const char *text)
{
	const struct group *group = getgrnam(text);
	uint64_t gid;

	if (group)
		gid = group->gr_gid;
	else if (!number_parse(text, 0, UINT32_MAX - 1, &gid))
		return refuse("'--group %s': there is no such group", text);
	if (gid == 0 && getegid() != 0)
		return refuse("'--group %s': group 0 is not yours to give an object to", text);
	put->params.gid = (uint32_t)gid;
	return 0;
}

static int take_life(struct put *put, const char *text)
{
	static const struct {
		const char *name;
		uint32_t life;
	} lives[] = {{"kept", WW_LIFE_KEPT}, {"owner", WW_LIFE_OWNER}, {"held", WW_LIFE_HELD}};

	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
		if (!strcmp(text, lives[i].name)) {
			put->params.life = lives[i].life;
			return 0;
		}
	}
	return refuse("'--life %s': kept, owner or held is needed", text);
}

static int take(void *context, int letter, const char *argument)
{
	struct put *put = context;

	switch (letter) {
	case 'd':
		put->device_name = argument;
		break;
	case 'm':
		return take_mode(put, argument);
	case 'g':
		return take_group(put, argument);
	case 'l':
		return take_life(put, argument);
	case 't':
		return option_seconds("ttl", argument, 1, &put->params.ttl_ns);
	case 's':
		put->state = WW_STATE_SHARED;
		break;
	case 'r':
		put->params.flags |= WW_PUT_REPLACE;
		break;
	case 'w':
		return option_patience(argument, &put->params.timeout_ns);
	case 'N':
		put->form = SOURCE_NPY;
		break;
	case 'R':
		put->form = SOURCE_RAW;
		break;
	default:
		put->address = argument;
	}
	return 0;
}

static int make_memory(const struct put *put, const struct source *source, ww_memory **out_memory)
{
	OWN(device) ww_device *device = NULL;
	bool on_host = !strcmp(put->device_name, "host");
	const struct ww_memory_params params = {
		.size = sizeof(params),
		.kind = on_host ? WW_MEMORY_HOST : WW_MEMORY_VMM, /* pages of 4 KiB, not of 2 MiB */
		.bytes = source->bytes ? source->bytes : 1,
	};

	if (ww_device_open(put->device_name, &device) != WW_OK)
		return refuse("device '%s': %s", put->device_name, ww_error_last()->message);
	if (ww_memory_create(device, &params, out_memory) == WW_OK)
		return 0;
	complain_record("cannot make memory for %s", source->name);
	return EXIT_FAILED;
}

static int copy(const struct put *put, const struct source *source, ww_memory *memory)
{
	OWN(pump) struct pump pump = {0};
	struct progress progress;

	progress_start(&progress, put->name, source->bytes);
	if (pump_open(&pump, memory, &progress) ||
		pump_fill(&pump, source->fd, source->name, 0, source->bytes))
		return -1;
	progress_end(&progress);
	return source_finish(source);
}

static int enter(const struct put *put, uint32_t state, const struct source *source,
	ww_memory *memory, ww_broker *broker)
{
	struct ww_put_params params = put->params;
	ww_status status;

	params.state = state;
	params.array = &source->array;
	status = ww_memory_put(memory, broker, put->name, &params);
	if (status == WW_OK)
		return 0;
	if (status == WW_TIMED_OUT)
		complain("cannot put %s: there was no room in the quota in time", put->name);
	else
		complain_record("cannot put %s", put->name);
	return broker_exit(status);
}

static int replace(const struct put *put, const struct source *source, ww_memory *memory,
	ww_broker *broker)
{
	if (copy(put, source, memory))
		return EXIT_FAILED;
	return enter(put, put->state, source, memory, broker);
}

static int write_and_seal(const struct put *put, const struct source *source, ww_memory *memory,
	ww_broker *broker)
{
	int code = enter(put, WW_STATE_WRITING, source, memory, broker);
	ww_status status;

	if (code)
		return code;
	if (copy(put, source, memory))
		return EXIT_FAILED;
	status = ww_memory_seal(memory, broker, put->state);
	if (status == WW_OK)
		return 0;
	complain_record("cannot end writing %s", put->name);
	return broker_exit(status);
}

static int run(const struct put *put, const char *path)
{
	OWN(source) struct source source = SOURCE_NONE;
	OWN(broker) ww_broker *broker = NULL;
	OWN(memory) ww_memory *memory = NULL;
	int code = broker_reach(put->address, 0, &broker);

	if (code)
		return code;
	if (source_open(&source, path, put->form))
		return EXIT_FAILED;
	code = make_memory(put, &source, &memory);
	if (code)
		return code;
	if (put->params.flags & WW_PUT_REPLACE)
		code = replace(put, &source, memory, broker);
	else
		code = write_and_seal(put, &source, memory, broker);
	if (code || put->params.life == WW_LIFE_KEPT)
		return code;
	say("%s is there until this command is interrupted", put->name);
	return stay_with(broker, put->name);
}

int verb_put(int argc, char *argv[])
{
	static const struct option_set set = {OPTION_SHORT, options, help, take};
	struct put put = {
		.device_name = "host",
		.state = WW_STATE_SEALED,
		.params = {.size = sizeof(put.params), .life = WW_LIFE_KEPT},
	};
	int code = option_read(argc, argv, &set, &put);

	if (code >= 0)
		return code;
	code = option_words(argc, 1, 2, "NAME [FILE]");
	if (code)
		return code;
	if (put.params.ttl_ns && put.params.life != WW_LIFE_KEPT)
		return refuse("--ttl is for objects of life kept only");
	put.name = argv[optind];
	return run(&put, argv[optind + 1]);
}
