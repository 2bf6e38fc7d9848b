/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - commands, and the case's side of the dialogue
 *
 * An answer is the name of a status, and behind it the record's sentence, for the reader of a
 * failed test.
 */
#include "support/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <warpway/warpway.h>

#include "support/broker.h"
#include "support/check.h"
#include "support/stream_gate.h"
#include "support/subject.h"

#define WORDS_MAX   24
#define STATUS_MOST 100
#define NS_PER_MS   UINT64_C(1000000)

static ww_device *device;
static ww_broker *connection;
static ww_stream *stream;
static ww_memory *memory;
static struct gate gate;
static bool is_closed; /* the gate */

/* --- words --- */

static char *words[WORDS_MAX];
static size_t word_count;

static void cut(char *command)
{
	char *rest = NULL;

	word_count = 0;
	for (char *word = strtok_r(command, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		MUST(word_count < WORDS_MAX);
		words[word_count++] = word;
	}
	MUST(word_count > 0);
}

const char *agent_word(size_t at)
{
	if (at >= word_count)
		FAIL("the command %s needs more words", words[0]);
	return words[at];
}

uint64_t agent_number(size_t at)
{
	return strtoull(agent_word(at), NULL, 10);
}

bool agent_has_option(const char *name)
{
	for (size_t i = 1; i < word_count; i++)
		if (!strcmp(words[i], name))
			return true;
	return false;
}

/* What follows NAME= ; NULL: it is not there. */
const char *agent_find_option(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 1; i < word_count; i++)
		if (!strncmp(words[i], name, length) && words[i][length] == '=')
			return words[i] + length + 1;
	return NULL;
}

uint64_t agent_number_option(const char *name, int base)
{
	const char *value = agent_find_option(name);

	return value ? strtoull(value, NULL, base) : 0;
}

uint64_t agent_time_option(const char *name)
{
	const char *value = agent_find_option(name);

	if (!value)
		return 0;
	if (!strcmp(value, "none")) /* of an escrow */
		return WW_ESCROW_NONE;
	if (!strcmp(value, "forever"))
		return WW_FOREVER;
	return strtoull(value, NULL, 10) * NS_PER_MS;
}

uint32_t agent_option(const char *name)
{
	return (uint32_t)agent_number_option(name, 10);
}

uint32_t agent_access(void)
{
	return agent_has_option("write") ? WW_ACCESS_WRITE : WW_ACCESS_READ;
}

/* --- commands --- */

ww_device *agent_device(void)
{
	if (!device)
		device = subject_open();
	return device;
}

ww_status agent_broker(ww_broker **out_broker)
{
	ww_status status = connection ? WW_OK : broker_open_patient(NULL, &connection);

	*out_broker = connection;
	return status;
}

ww_stream *agent_stream(void)
{
	if (!stream)
		stream = stream_make(agent_device());
	return stream;
}

void agent_hold_stream(void)
{
	gate_close(&gate, agent_stream());
	is_closed = true;
}

ww_memory **agent_memory(void)
{
	return &memory;
}

COMMAND(agent, open)
{
	(void)agent_device();
	return agent_broker(&(ww_broker *){NULL});
}

COMMAND(agent, user)
{
	uid_t uid = (uid_t)atoi(agent_word(1));
	gid_t gid = (gid_t)atoi(agent_word(2));
	gid_t groups[WORDS_MAX];
	size_t count = 0;

	for (size_t i = 3; i < word_count; i++)
		groups[count++] = (gid_t)atoi(words[i]);
	child_become_user(uid, gid, groups, count);
	return WW_OK;
}

COMMAND(agent, make)
{
	uint32_t kind = strcmp(agent_word(1), "host") ? WW_MEMORY_VMM : WW_MEMORY_HOST;

	MUST(!memory);
	memory = memory_make(agent_device(), kind, strtoull(agent_word(2), NULL, 10));
	pattern_write(memory, (uint32_t)atoi(agent_word(3)));
	return WW_OK;
}

static uint32_t life_option(void)
{
	const char *value = agent_find_option("life");

	if (!value)
		return 0;
	if (!strcmp(value, "kept"))
		return WW_LIFE_KEPT;
	return strcmp(value, "owner") ? WW_LIFE_HELD : WW_LIFE_OWNER;
}

static uint32_t state_of(const char *value)
{
	if (!value)
		return 0;
	if (!strcmp(value, "writing"))
		return WW_STATE_WRITING;
	return strcmp(value, "shared") ? WW_STATE_SEALED : WW_STATE_SHARED;
}

/* shape=3x5: float32 in C order. Return: NULL if there is no such option. */
static const struct ww_array *array_option(struct ww_array *array)
{
	const char *value = agent_find_option("shape");
	int64_t shape[WW_ARRAY_DIMS];
	uint32_t count = 0;
	char *end;

	if (!value)
		return NULL;
	do {
		MUST(count < WW_ARRAY_DIMS);
		shape[count++] = strtoll(value, &end, 10);
		value = end + 1;
	} while (*end == 'x');
	array->struct_size = sizeof(*array);
	MUST_OK(ww_array_set(array, WW_DTYPE(WW_DTYPE_FLOAT, 32), count, shape, NULL, 0));
	return array;
}

COMMAND_BROKER(agent, put)
{
	struct ww_array array;
	const struct ww_put_params *params = WW_PARAMS(struct ww_put_params,
		.mode = (uint32_t)agent_number_option("mode", 8), .life = life_option(),
		.state = state_of(agent_find_option("state")), .gid = agent_option("gid"),
		.flags = agent_has_option("replace") ? WW_PUT_REPLACE : 0,
		.ttl_ns = agent_time_option("ttl_ms"), .array = array_option(&array));

	return ww_memory_put(memory, broker, strcmp(agent_word(1), "-") ? words[1] : NULL, params,
		agent_time_option("wait_ms"), NULL);
}

COMMAND_CALL(agent, seal, ww_memory_publish(memory, connection, state_of(agent_word(1)), NULL))

COMMAND_BROKER(agent, get)
{
	const char *owner = agent_find_option("owner");
	const struct ww_get_params *params = WW_PARAMS(struct ww_get_params,
		.access = agent_access(), .flags = owner ? WW_GET_FROM_OWNER : 0,
		.owner = owner ? (uint32_t)atoi(owner) : 0);

	MUST(!memory);
	return ww_memory_get(agent_device(), broker, agent_word(1), params,
		agent_time_option("wait_ms"), NULL, &memory, NULL);
}

static int open_token(int flags)
{
	const char *path = agent_find_option("file");
	int fd = path ? open(path, flags | O_CLOEXEC, 0600) : dup(CHILD_SOCKET);

	MUST_CALL(fd);
	return fd;
}

void agent_say(const struct ww_token *token)
{
	OWN(fd) int fd = open_token(O_WRONLY | O_CREAT | O_TRUNC);

	MUST_EQUAL(sizeof(*token), write(fd, token, sizeof(*token)));
}

struct ww_token agent_heard(void)
{
	struct ww_token token;
	OWN(fd) int fd = open_token(O_RDONLY);

	MUST_EQUAL(sizeof(token), read(fd, &token, sizeof(token)));
	return token;
}

COMMAND_BROKER(agent, export)
{
	struct ww_array array;
	const struct ww_export_params *params = WW_PARAMS(struct ww_export_params,
		.access = agent_access(), .offset = agent_number_option("offset", 10),
		.bytes = agent_number_option("bytes", 10),
		.escrow_ns = agent_time_option("escrow_ms"), .uses = agent_option("uses"),
		.flags = agent_has_option("delivery") ? WW_EXPORT_DELIVERY : 0,
		.array = array_option(&array));
	struct ww_token token;
	ww_status status = ww_memory_export(memory, broker, params, NULL, &token);

	if (status == WW_OK)
		agent_say(&token);
	return status;
}

COMMAND_CALL(agent, revoke, ww_memory_revoke(memory, connection, NULL))

COMMAND_BROKER(agent, import)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token = agent_heard();

	MUST(!memory);
	return ww_memory_import(agent_device(), broker, &token,
		WW_PARAMS(struct ww_import_params, .access = agent_access()), NULL, &memory, &info);
}

COMMAND_DO(agent, write, pattern_write(memory, (uint32_t)atoi(agent_word(1))))

COMMAND_DO(agent, verify, pattern_verify(memory, (uint32_t)atoi(agent_word(1))))

/* WW_ERR_ACCESS: the kernel refuses. */
COMMAND(agent, map_write)
{
	struct ww_memory_description description;
	void *pointer;
	int fd;

	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_READ, &fd, &description));
	pointer = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (pointer == MAP_FAILED)
		return errno == EACCES || errno == EPERM ? WW_ERR_ACCESS : WW_ERR_SYSTEM;
	munmap(pointer, 4096);
	return WW_OK;
}

/* WW_ERR_ACCESS: the kernel opens the file behind the memory for reading only. */
COMMAND(agent, reopen)
{
	struct ww_memory_description description;
	char path[64];
	int again;
	int fd;

	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_READ, &fd, &description));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	close(fd);
	if (again < 0)
		return errno == EACCES ? WW_ERR_ACCESS : WW_ERR_SYSTEM;
	close(again);
	return WW_OK;
}

COMMAND_BROKER(agent, remove)
{
	return ww_broker_remove(broker, agent_word(1));
}

COMMAND_BROKER(agent, stat)
{
	return ww_broker_stat(broker, agent_word(1), &WW_INIT(struct ww_object_info));
}

COMMAND_BROKER(agent, list)
{
	OWN(snapshot) ww_snapshot *snapshot = NULL;

	return ww_snapshot_create(broker, NULL,
		WW_SNAPSHOT_OBJECTS | WW_SNAPSHOT_UNNAMED | WW_SNAPSHOT_HOLDERS | WW_SNAPSHOT_HOLDS,
		&snapshot);
}

COMMAND_BROKER(agent, watch)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	OWN(watch) ww_watch *watch = NULL;
	ww_status status = ww_watch_create(broker, NULL, WW_WATCH_EXISTING, &watch);

	return status ? status : ww_watch_next(watch, WW_FOREVER, NULL, &event);
}

COMMAND_DO(agent, drop, memory = ww_memory_unref(memory))

COMMAND_DO(agent, close, connection = ww_broker_unref(connection))

/* No use of the library there: only descriptors stay open in it. */
COMMAND(agent, fork)
{
	pid_t pid = fork();
	char byte;

	MUST_CALL(pid);
	if (pid == 0) {
		while (read(CHILD_SOCKET, &byte, 1) > 0)
			;
		_exit(0);
	}
	return WW_OK;
}

static void let_stream_go(void)
{
	if (is_closed)
		gate_open(&gate);
	is_closed = false;
}

COMMAND_DO(agent, go, let_stream_go())

COMMAND(agent, cut)
{
	const char *address = getenv("WARPWAY_BROKER");
	int count = 0;

	for (int fd = CHILD_CONTROL + 1; fd < 256; fd++) {
		struct sockaddr_un peer = {0}; /* of a pair it has no path */
		socklen_t bytes = sizeof(peer) - 1;

		if (getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0 &&
			peer.sun_family == AF_UNIX && !strcmp(peer.sun_path, address)) {
			MUST_CALL(shutdown(fd, SHUT_RDWR));
			count++;
		}
	}
	MUST_EQUAL(1, count);
	return WW_OK;
}

/* --- obeying --- */

static struct agent_command *commands;
static const char *own_kind;
static void (*let_go_own)(void);

void agent_add(struct agent_command *command)
{
	command->next = commands;
	commands = command;
}

static const struct agent_command *find_command(const char *kind)
{
	for (const struct agent_command *item = commands; item; item = item->next)
		if (kind && !strcmp(kind, item->kind) && !strcmp(words[0], item->name))
			return item;
	return NULL;
}

ww_status agent_obey(char *command)
{
	const struct agent_command *found;

	cut(command);
	found = find_command(own_kind);
	if (!found)
		found = find_command("agent");
	if (!found)
		FAIL("there is no command %s", words[0]);
	return found->obey();
}

void agent_let_go(void)
{
	let_stream_go();
	stream = ww_stream_unref(stream);
	if (let_go_own)
		let_go_own();
	memory = ww_memory_unref(memory);
	connection = ww_broker_unref(connection);
	device = ww_device_unref(device);
}

void agent_serve(const char *kind, void (*let_go)(void))
{
	char command[CHILD_WORD_BYTES];

	own_kind = kind;
	let_go_own = let_go;
	while (role_hear_any(command) && strcmp(command, "end")) {
		ww_status status = agent_obey(command);

		role_tell("%s %.200s", ww_status_name(status),
			status < 0 ? ww_error_last()->message : "");
	}
	agent_let_go();
}

AGENTS(agent, NULL)

/* --- the case's side --- */

void agent_start(struct child *agent, const struct child_options *options)
{
	child_start(agent, "agent", options);
}

static void hear(struct child *agent, const char *command, ww_status expected, const char *word)
{
	const char *name = ww_status_name(expected);
	char answer[CHILD_WORD_BYTES];
	size_t length = strlen(name);

	child_hear_any(agent, answer);
	if (strncmp(answer, name, length) || answer[length] != ' ')
		FAIL("%s: expected %s, but the agent says: %s", command, name, answer);
	if (!strstr(answer, word))
		FAIL("%s: \"%s\" does not name \"%s\"", command, answer, word);
}

ww_status agent_hear(struct child *agent)
{
	char answer[CHILD_WORD_BYTES];
	size_t length;

	child_hear_any(agent, answer);
	length = strcspn(answer, " ");
	for (ww_status status = -STATUS_MOST; status <= STATUS_MOST; status++) {
		const char *name = ww_status_name(status);

		if (strlen(name) == length && !strncmp(name, answer, length))
			return status;
	}
	FAIL("no status: %s", answer);
}

/* Says the command that a format and its arguments make. */
#define TELL(agent, command, format)                                    \
	do {                                                            \
		va_list arguments;                                      \
                                                                        \
		va_start(arguments, format);                            \
		vsnprintf(command, sizeof(command), format, arguments); \
		va_end(arguments);                                      \
		child_tell(agent, "%s", command);                       \
	} while (0)

void agent_tell(struct child *agent, const char *format, ...)
{
	char command[CHILD_WORD_BYTES];

	TELL(agent, command, format);
}

void agent_must(struct child *agent, ww_status expected, const char *format, ...)
{
	char command[CHILD_WORD_BYTES];

	TELL(agent, command, format);
	hear(agent, command, expected, "");
}

void agent_obeys(struct child *agent, const char *const *orders)
{
	while (*orders)
		agent_must(agent, WW_OK, "%s", *orders++);
}

void agent_refuses(struct child *agent, ww_status expected, const char *word, const char *format,
	...)
{
	char command[CHILD_WORD_BYTES];

	TELL(agent, command, format);
	hear(agent, command, expected, word);
}

void agent_begin(struct child *agent, const char *kind, const char *format, ...)
{
	char command[CHILD_WORD_BYTES];

	child_start(agent, kind, NULL);
	TELL(agent, command, format);
	hear(agent, command, WW_OK, "");
}

void agent_answers(struct child *agent, ww_status expected)
{
	hear(agent, "what it was told before", expected, "");
}

void agent_answers_with(struct child *agent, ww_status expected, const char *word)
{
	hear(agent, "what it was told before", expected, word);
}

void agent_send_token(struct child *agent, const struct ww_token *token)
{
	MUST_EQUAL(sizeof(*token), write(agent->socket, token, sizeof(*token)));
}

struct ww_token agent_hear_token(struct child *agent)
{
	struct ww_token token;

	MUST_EQUAL(sizeof(token), read(agent->socket, &token, sizeof(token)));
	return token;
}

struct ww_token agent_export(struct child *agent, const char *format, ...)
{
	char options[CHILD_WORD_BYTES / 2];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(options, sizeof(options), format, arguments);
	va_end(arguments);
	agent_must(agent, WW_OK, "export %s", options);
	return agent_hear_token(agent);
}

void agent_end(struct child *agent)
{
	child_tell(agent, "end");
	child_finish(agent);
}

const char *agent_kill(struct child *agent)
{
	static char name[32];

	snprintf(name, sizeof(name), "process %d ", (int)agent->pid);
	child_kill(agent);
	return name;
}
