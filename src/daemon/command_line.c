/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_line.c - the command line of a process of the daemon, see command_line.h
 */
#include "daemon/command_line.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

enum option_kind {
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_FLAG,
	OPTION_ROLE, /* this and what follows takes an argument */
	OPTION_PATH,
	OPTION_MODE,
	OPTION_FD,
	OPTION_NUMBER /* of 4 or 8 bytes */
};

/* For which roles start_write() writes an option. */
enum option_use {
	FOR_NONE,
	FOR_BOTH,
	FOR_SUPERVISOR
};

/* Where in struct start an option is kept, and in how many bytes. */
#define AT(field) offsetof(struct start, field), sizeof(((struct start *)NULL)->field)

static const struct start_option {
	const char *name;
	enum option_kind kind;
	enum option_use use;
	size_t at;
	size_t room;
} options[] = {
	{"--help", OPTION_HELP, FOR_NONE, 0, 0},
	{"--version", OPTION_VERSION, FOR_NONE, 0, 0},
	{"--role", OPTION_ROLE, FOR_NONE, AT(role)},
	{"--socket-mode", OPTION_MODE, FOR_NONE, AT(socket_mode)},
	{"--socket", OPTION_PATH, FOR_BOTH, AT(address)},
	{"--program", OPTION_PATH, FOR_BOTH, AT(program)},
	{"--config", OPTION_PATH, FOR_BOTH, AT(config)},
	{"--leave-when-idle", OPTION_FLAG, FOR_BOTH, AT(leaves_when_idle)},
	{"--bound", OPTION_FLAG, FOR_BOTH, AT(is_bound)},
	{"--fdstore-first", OPTION_NUMBER, FOR_BOTH, AT(fdstore_first)},
	{"--fdstore-limit", OPTION_NUMBER, FOR_BOTH, AT(fdstore_limit)},
	{"--restarts", OPTION_NUMBER, FOR_BOTH, AT(restarts)},
	{"--started-ns", OPTION_NUMBER, FOR_BOTH, AT(started_ns)},
	{"--ready-fd", OPTION_FD, FOR_SUPERVISOR, AT(ready_fd)},
	{"--broker", OPTION_NUMBER, FOR_SUPERVISOR, AT(broker)},
};

#define OPTIONS (sizeof(options) / sizeof(options[0]))

/* In the order of enum start_role; the first process is given none. */
static const char *const roles[] = {"", "supervisor", "broker", "receiver"};

static const char help
	[] = "Usage: warpwayd [OPTION]...\n"
	     "Serve named, permissioned GPU and host memory to the processes of this machine.\n"
	     "\n"
	     "      --socket PATH       listen here (default: the user's own address,\n"
	     "                          $XDG_RUNTIME_DIR/warpway/broker.sock)\n"
	     "      --socket-mode MODE  who may connect, as for chmod (default: 0600)\n"
	     "      --config FILE       limits and reserved names, see warpwayd.conf(5)\n"
	     "      --leave-when-idle   end when no client is connected and nothing is kept\n"
	     "      --ready-fd N        go on in the background, and write \"ready\" or\n"
	     "                          \"failed: REASON\" to this descriptor\n"
	     "      --help              print this and exit\n"
	     "      --version           print the version and exit\n"
	     "\n"
	     "It stays in the foreground unless --ready-fd is given. SIGHUP: read the\n"
	     "configuration again and go on with the program as it is installed now; no object\n"
	     "is lost. SIGTERM: end, and all objects with it.\n";

static bool parse_number(const char *text, int base, uint64_t most, uint64_t *out_number)
{
	char *end;

	errno = 0;
	*out_number = strtoull(text, &end, base);
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && !errno && *out_number <= most;
}

static ww_status read_mode(const char *text, mode_t *out_mode)
{
	uint64_t number;

	if (!parse_number(text, 8, 0777, &number))
		return ww_fail(WW_ERR_INVALID,
			"--socket-mode takes a mode such as 0600, not \"%.40s\"", text);
	*out_mode = (mode_t)number;
	return WW_OK;
}

static ww_status read_fd(const struct start_option *option, const char *text, int *out_fd)
{
	uint64_t number;

	if (!parse_number(text, 10, INT_MAX, &number) || number <= STDERR_FILENO ||
		fcntl((int)number, F_GETFD) < 0)
		return ww_fail(WW_ERR_INVALID,
			"%s takes the number of an open descriptor above the standard streams, not "
			"\"%.40s\"",
			option->name, text);
	*out_fd = (int)number;
	return WW_OK;
}

static ww_status read_role(const char *text, enum start_role *out_role)
{
	for (int role = START_SUPERVISOR; role <= START_RECEIVER; role++) {
		if (strcmp(text, roles[role]) != 0)
			continue;
		*out_role = (enum start_role)role;
		return WW_OK;
	}
	return ww_fail(WW_ERR_INVALID, "there is no role \"%.40s\"", text);
}

/* Makes a relative path absolute, since the process changes to another folder later. */
static ww_status read_path(const char *name, const char *text, char *out, size_t room)
{
	char folder[PATH_MAX] = "";
	int length;

	if (text[0] == '\0')
		return ww_fail(WW_ERR_INVALID, "%s takes a path, not nothing", name);
	if (text[0] != '/' && !getcwd(folder, sizeof(folder)))
		return ww_fail_errno_as(WW_ERR_INVALID, errno, "give an absolute path",
			"%s %.80s: there is no current folder", name, text);
	length = snprintf(out, room, "%s%s%s", folder, text[0] == '/' ? "" : "/", text);
	if (length < (int)room)
		return WW_OK;
	out[0] = '\0';
	return ww_fail(WW_ERR_INVALID, "%s takes a path of at most %zu bytes, not %d", name,
		room - 1, length);
}

static ww_status read_option(const struct start_option *option, const char *text,
	struct start *start)
{
	void *field = (char *)start + option->at;
	bool is_short;
	uint64_t most;
	uint64_t number;

	switch (option->kind) {
	case OPTION_HELP:
		fputs(help, stdout);
		return WW_END;
	case OPTION_VERSION:
		puts("warpwayd " WW_VERSION);
		return WW_END;
	case OPTION_FLAG:
		*(bool *)field = true;
		return WW_OK;
	case OPTION_ROLE:
		return read_role(text, field);
	case OPTION_PATH:
		return read_path(option->name, text, field, option->room);
	case OPTION_MODE:
		return read_mode(text, field);
	case OPTION_FD:
		return read_fd(option, text, field);
	default:
		is_short = option->room == sizeof(uint32_t);
		most = is_short ? UINT32_MAX : UINT64_MAX;
		if (!parse_number(text, 10, most, &number))
			return ww_fail(WW_ERR_INVALID,
				"%s takes a number up to %" PRIu64 ", not \"%.40s\"", option->name,
				most, text);
		if (is_short)
			*(uint32_t *)field = (uint32_t)number;
		else
			*(uint64_t *)field = number;
		return WW_OK;
	}
}

ww_status start_read(int count, char **arguments, struct start *out_start)
{
	struct option long_options[OPTIONS + 1];
	int code;

	*out_start = (struct start){.socket_mode = 0600, .ready_fd = -1};
	/* getopt_long(3) returns 1 + the index of an option. */
	for (size_t i = 0; i < OPTIONS; i++)
		long_options[i] = (struct option){.name = options[i].name + 2,
			.has_arg = options[i].kind >= OPTION_ROLE ? required_argument : no_argument,
			.val = (int)i + 1};
	long_options[OPTIONS] = (struct option){0};
	optind = 0; /* starts over, even if getopt was used before */
	while ((code = getopt_long(count, arguments, "+:", long_options, NULL)) != -1) {
		ww_status status;

		if (code == ':' || code == '?')
			return ww_fail(WW_ERR_INVALID, "%s %.80s; see warpwayd --help",
				code == ':' ? "something must follow" : "there is no option",
				arguments[optind - 1]);
		status = read_option(&options[code - 1], optarg, out_start);
		if (status != WW_OK)
			return status;
	}
	if (optind < count)
		return ww_fail(WW_ERR_INVALID,
			"there are options only, not \"%.80s\"; see warpwayd --help",
			arguments[optind]);
	/* The options of the roles are written by start_write(), so they must be complete. */
	if (out_start->role == START_FIRST || out_start->role == START_RECEIVER)
		return WW_OK;
	if (out_start->address[0] == '\0' || out_start->program[0] == '\0' ||
		out_start->fdstore_first == 0 ||
		out_start->fdstore_first >= out_start->fdstore_limit ||
		out_start->fdstore_limit > INT32_MAX)
		return ww_fail(WW_ERR_INVALID, "--role is for warpwayd's own use; leave it out");
	return WW_OK;
}

static void start_line_add(struct start_line *line, const char *argument)
{
	ww_assert(line->argument_count + 1 < sizeof(line->arguments) / sizeof(line->arguments[0]));
	line->arguments[line->argument_count++] = (char *)argument;
	line->arguments[line->argument_count] = NULL;
}

static void start_line_add_number(struct start_line *line, uint64_t number)
{
	char *text = line->numbers[line->number_count++];

	snprintf(text, sizeof(line->numbers[0]), "%" PRIu64, number);
	start_line_add(line, text);
}

char **start_write(const struct start *start, enum start_role role, struct start_line *line)
{
	line->argument_count = 0;
	line->number_count = 0;
	start_line_add(line, "warpwayd");
	start_line_add(line, "--role");
	start_line_add(line, roles[role]);
	for (size_t i = 0; i < OPTIONS; i++) {
		if (options[i].use == FOR_BOTH ||
			(options[i].use == FOR_SUPERVISOR && role == START_SUPERVISOR)) {
			const struct start_option *option = &options[i];
			const void *field = (const char *)start + options[i].at;

			/* A flag, path or descriptor that was not given is not written. */
			if ((option->kind == OPTION_FLAG && !*(const bool *)field) ||
				(option->kind == OPTION_PATH && *(const char *)field == '\0') ||
				(option->kind == OPTION_FD && *(const int *)field < 0))
				continue;
			start_line_add(line, option->name);
			if (option->kind == OPTION_PATH)
				start_line_add(line, field);
			else if (option->kind != OPTION_FLAG && option->room == sizeof(uint32_t))
				start_line_add_number(line, *(const uint32_t *)field);
			else if (option->kind != OPTION_FLAG)
				start_line_add_number(line, *(const uint64_t *)field);
		}
	}
	return line->arguments;
}
