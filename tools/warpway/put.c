/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put.c - `warpway put`: a file becomes an object in a broker
 *
 * The name is taken first, with the object being written, so that what cannot be put is refused
 * before anything is copied, and whoever waits for the name sees it coming. With --replace the old
 * object must stay until the new one is whole: there the name is taken last.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "warpway/open_broker.h"
#include "warpway/transfer.h"
#include "warpway/input_file.h"
#include "warpway/name_option.h"
#include "warpway/verbs.h"

static struct put {
	struct request request;
	const char *device_name;
	const char *name;
	uint32_t state; /* that it is to end in */
	enum source_form form;
	struct ww_put_params params;
	uint64_t timeout_ns;
} put_request = {
	.device_name = "host",
	.state = WW_STATE_SEALED,
	.params = {.struct_size = sizeof(struct ww_put_params), .life = WW_LIFE_KEPT},
};

static const char help[] =
	"Usage: warpway put [OPTION...] NAME [FILE]\n\n"
	"Puts the bytes of FILE, or of standard input (-), into a broker under NAME. A .npy file of\n"
	"numbers keeps its type and shape. When the command has ended the object stays until its\n"
	"name is removed, unless told otherwise. Without FILE standard input must not be a terminal,\n"
	"nor empty.\n\n"
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

static int take_life(void *place, const char *text)
{
	if (format_find(FORMAT_LIFE, text, place))
		return 0;
	return refuse("'--life %s': kept, owner or held is needed", text);
}

static const struct option_row options[] = {
	OPTION("device", TEXT, struct put, device_name),
	OPTION("mode", TAKEN, struct put, params.mode, .take = name_take_mode),
	OPTION("group", TAKEN, struct put, params.gid, .take = name_take_group),
	OPTION("life", TAKEN, struct put, params.life, .take = take_life),
	OPTION("ttl", SECONDS, struct put, params.ttl_ns, .value = 1),
	OPTION("shared", VALUE, struct put, state, .value = WW_STATE_SHARED),
	OPTION("replace", BITS, struct put, params.flags, .value = WW_PUT_REPLACE),
	OPTION("wait", PATIENCE, struct put, timeout_ns),
	OPTION("npy", VALUE, struct put, form, .value = SOURCE_NPY),
	OPTION("raw", VALUE, struct put, form, .value = SOURCE_RAW),
	OPTION_BROKER,
	OPTION_END,
};

static int make_memory(const struct put *put, const struct source *source, ww_memory **out_memory)
{
	OWN(device) ww_device *device = NULL;
	bool on_host = !strcmp(put->device_name, "host");
	const struct ww_memory_params params = {
		.struct_size = sizeof(params),
		.kind = on_host ? WW_MEMORY_HOST : WW_MEMORY_VMM, /* pages of 4 KiB, not of 2 MiB */
		.bytes = source->bytes ? source->bytes : 1,
	};

	if (ww_device_open(put->device_name, &device) != WW_OK)
		return refuse("device '%s': %s", put->device_name, ww_error_last()->message);
	if (ww_memory_create(device, &params, out_memory) == WW_OK)
		return 0;
	return complain_record("cannot make memory for %s", source->name);
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
	status = ww_memory_put(memory, broker, put->name, &params, put->timeout_ns, NULL);
	if (status == WW_OK)
		return 0;
	if (status == WW_TIMED_OUT)
		return complain("cannot put %s: there was no room in the quota in time", put->name);
	return broker_fail(status, "cannot put %s", put->name);
}

static int replace(const struct put *put, const struct source *source, ww_memory *memory,
	ww_broker *broker)
{
	return copy(put, source, memory) ? -1 : enter(put, put->state, source, memory, broker);
}

static int write_and_seal(const struct put *put, const struct source *source, ww_memory *memory,
	ww_broker *broker)
{
	int code = enter(put, WW_STATE_WRITING, source, memory, broker);
	ww_status status;

	if (code)
		return code;
	if (copy(put, source, memory))
		return -1;
	status = ww_memory_publish(memory, broker, put->state, NULL);
	return status == WW_OK ? 0 : broker_fail(status, "cannot end writing %s", put->name);
}

/* Whether the only word is a file: then the name is missing, not the bytes. */
static bool is_file(const char *word)
{
	struct stat entry;

	return stat(word, &entry) == 0 && !S_ISDIR(entry.st_mode);
}

/* Of `put WORD`: what comes through standard input may be meant, but must not be guessed. */
static int check_input(const char *word)
{
	if (is_file(word))
		return refuse(
			"a name is missing: '%s' is a file; to put it, say `warpway put NAME %s`; "
			"to put standard input under that name, `warpway put %s -`",
			word, word, word);
	if (isatty(STDIN_FILENO))
		return refuse(
			"the bytes are missing: standard input is a terminal; say `warpway put %s "
			"FILE`, or `warpway put %s -` to type them",
			word, word);
	return 0;
}

static int refuse_nothing(const char *name)
{
	return refuse("standard input is empty, so nothing was put; say `warpway put %s FILE`, or "
		      "`warpway put %s -` if an empty object is meant",
		name, name);
}

/* --- be there for an object that goes when its maker does --- */

static int stay_fail(ww_status status)
{
	return broker_fail(status, "cannot stay any longer");
}

/*
 * Whether it is there, and which one. Return: 0; the exit code when it is gone or cannot be seen.
 */
static int stay_look(ww_broker *broker, const char *name, bool *out_gone,
	struct ww_object_info *out_object)
{
	ww_status status = ww_broker_stat(broker, name, out_object);

	*out_gone = status == WW_ERR_NOT_FOUND || (status == WW_OK && !out_object->is_own);
	return status == WW_OK || *out_gone ? 0 : stay_fail(status);
}

static bool is_end_of(const struct ww_watch_event *event, const struct ww_object_info *object)
{
	if (event->what == WW_WATCH_REPLACED)
		return !memcmp(event->former_id, object->object_id, sizeof(event->former_id));
	return event->what >= WW_WATCH_REMOVED && event->what <= WW_WATCH_LOST &&
		!memcmp(event->object.object_id, object->object_id, sizeof(object->object_id));
}

/*
 * Waits until an object that this process has put has left its broker. It ends earlier only by a
 * signal. The watch comes first and the look second, so that no end is missed between them. An
 * overflow tells that the broker may have been restarted: the look that follows connects to it
 * again, and by that confirms what this process holds.
 * Return: the exit code: EXIT_DONE when somebody removed its name or ended it.
 */
static int stay_with(ww_broker *broker, const char *name)
{
	OWN(watch) ww_watch *changes = NULL;
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	ww_status status = ww_watch_create(broker, name, 0, &changes);
	bool gone = false;
	int code;

	if (status != WW_OK)
		return stay_fail(status);
	code = stay_look(broker, name, &gone, &object);
	while (code == 0 && !gone) {
		status = ww_watch_next(changes, WW_FOREVER, NULL, &event);
		if (status != WW_OK)
			return stay_fail(status);
		if (event.what == WW_WATCH_OVERFLOW)
			code = stay_look(broker, name, &gone, &object);
		else
			gone = is_end_of(&event, &object);
	}
	if (code == 0)
		say("%s is gone", name);
	return code;
}

static int put_file(const struct put *put, const char *path, ww_broker *broker)
{
	OWN(source) struct source source = SOURCE_NONE;
	OWN(memory) ww_memory *memory = NULL;
	int code;

	if (source_open(&source, path, put->form))
		return -1;
	if (!path && source.bytes == 0 && put->form != SOURCE_NPY)
		return refuse_nothing(put->name);
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

/* What is wrong use is refused before a broker is started. */
static int run(struct request *request)
{
	struct put *put = &put_request;
	const char *path = request->words[1];
	int code;

	if (put->params.ttl_ns && put->params.life != WW_LIFE_KEPT)
		return refuse("--ttl is for objects of life kept only");
	put->name = request->words[0];
	code = path ? 0 : check_input(put->name);
	if (code == 0)
		code = broker_reach(request->address, 0, &request->broker);
	return code ? code : put_file(put, path, request->broker);
}

const struct verb verb_put = {.name = "put",
	.summary = "put a file into a broker, as memory under a name",
	.options = options,
	.help = help,
	.context = &put_request,
	.words = "NAME [FILE]",
	.least_words = 1,
	.most_words = 2,
	.run = run};
