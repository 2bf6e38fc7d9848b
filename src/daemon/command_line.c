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

enum option_code {
	OPTION_SOCKET = 1,
	OPTION_SOCKET_MODE,
	OPTION_CONFIG,
	OPTION_LEAVE,
	OPTION_READY_FD,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_ROLE,
	OPTION_PROGRAM,
	OPTION_BOUND,
	OPTION_FDSTORE_FIRST,
	OPTION_FDSTORE_LIMIT,
	OPTION_RESTARTS,
	OPTION_STARTED_NS,
	OPTION_BROKER
};

static const struct option options[] = {
	{"socket", required_argument, NULL, OPTION_SOCKET},
	{"socket-mode", required_argument, NULL, OPTION_SOCKET_MODE},
	{"config", required_argument, NULL, OPTION_CONFIG},
	{"leave-when-idle", no_argument, NULL, OPTION_LEAVE},
	{"ready-fd", required_argument, NULL, OPTION_READY_FD},
	{"help", no_argument, NULL, OPTION_HELP},
	{"version", no_argument, NULL, OPTION_VERSION},
	{"role", required_argument, NULL, OPTION_ROLE},
	{"program", required_argument, NULL, OPTION_PROGRAM},
	{"bound", no_argument, NULL, OPTION_BOUND},
	{"fdstore-first", required_argument, NULL, OPTION_FDSTORE_FIRST},
	{"fdstore-limit", required_argument, NULL, OPTION_FDSTORE_LIMIT},
	{"restarts", required_argument, NULL, OPTION_RESTARTS},
	{"started-ns", required_argument, NULL, OPTION_STARTED_NS},
	{"broker", required_argument, NULL, OPTION_BROKER},
	{NULL, 0, NULL, 0},
};

static const char help
	[] = "Usage: warpwayd [OPTION]...\n"
	     "Serve named, permissioned GPU and host memory to the processes of this machine.\n"
	     "\n"
	     "      --socket PATH       listen here (default: the user's own address,\n"
	     "                          $XDG_RUNTIME_DIR/warpway/broker.sock)\n"
	     "      --socket-mode MODE  who may connect, as for chmod (default: 0600)\n"
	     "      --config FILE       limits and reserved names, see warpwayd.conf(5)\n"
	     "      --leave-when-idle   end when nobody is connected and nothing is kept\n"
	     "      --ready-fd N        go on in the background, and write \"ready\" or\n"
	     "                          \"failed: REASON\" to this descriptor\n"
	     "      --help              print this and exit\n"
	     "      --version           print the version and exit\n"
	     "\n"
	     "It stays in the foreground unless --ready-fd is given. SIGHUP: read the\n"
	     "configuration again and go on with the program as it is installed now; no object\n"
	     "is lost. SIGTERM: end, and all objects with it.\n";

static ww_status read_number(const char *name, const char *text, int base, uint64_t most,
	uint64_t *out_number)
{
	char *end;

	errno = 0;
	*out_number = strtoull(text, &end, base);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno || *out_number > most)
		return ww_fail(WW_ERR_INVALID,
			"--%s takes a number up to %" PRIu64 ", not \"%.40s\"", name, most, text);
	return WW_OK;
}

static ww_status read_u32(const char *name, const char *text, uint32_t *out_number)
{
	uint64_t number;

	ww_try(read_number(name, text, 10, UINT32_MAX, &number));
	*out_number = (uint32_t)number;
	return WW_OK;
}

static ww_status read_mode(const char *text, mode_t *out_mode)
{
	uint64_t number;

	if (read_number("socket-mode", text, 8, 0777, &number) < 0)
		return ww_fail(WW_ERR_INVALID,
			"--socket-mode takes a mode such as 0600, not \"%.40s\"", text);
	*out_mode = (mode_t)number;
	return WW_OK;
}

static ww_status read_ready_fd(const char *text, int *out_fd)
{
	uint64_t number;

	ww_try(read_number("ready-fd", text, 10, INT_MAX, &number));
	if (number <= STDERR_FILENO || fcntl((int)number, F_GETFD) < 0)
		return ww_fail(WW_ERR_INVALID,
			"--ready-fd %.40s: that is no open descriptor above the standard streams",
			text);
	*out_fd = (int)number;
	return WW_OK;
}

static ww_status read_role(const char *text, enum start_role *out_role)
{
	if (!strcmp(text, "supervisor"))
		*out_role = START_SUPERVISOR;
	else if (!strcmp(text, "broker"))
		*out_role = START_BROKER;
	else if (!strcmp(text, "receiver"))
		*out_role = START_RECEIVER;
	else
		return ww_fail(WW_ERR_INVALID, "there is no role \"%.40s\"", text);
	return WW_OK;
}

/* Makes a relative path absolute, since the process changes to another folder later. */
static ww_status read_path(const char *name, const char *text, char *out, size_t room)
{
	char folder[PATH_MAX] = "";
	int length;

	if (text[0] == '\0')
		return ww_fail(WW_ERR_INVALID, "--%s takes a path, not nothing", name);
	if (text[0] != '/' && !getcwd(folder, sizeof(folder)))
		return ww_fail_errno_as(WW_ERR_INVALID, errno, "give an absolute path",
			"--%s %.80s: there is no current folder", name, text);
	length = snprintf(out, room, "%s%s%s", folder, text[0] == '/' ? "" : "/", text);
	if (length < (int)room)
		return WW_OK;
	out[0] = '\0';
	return ww_fail(WW_ERR_INVALID, "--%s takes a path of at most %zu bytes, not %d", name,
		room - 1, length);
}

static ww_status read_role_option(int code, const char *text, struct start *start)
{
	uint32_t number;

	switch (code) {
	case OPTION_ROLE:
		return read_role(text, &start->role);
	case OPTION_PROGRAM:
		return read_path("program", text, start->program, sizeof(start->program));
	case OPTION_BOUND:
		start->is_bound = true;
		return WW_OK;
	case OPTION_FDSTORE_FIRST:
		return read_u32("fdstore-first", text, &start->fdstore_first);
	case OPTION_FDSTORE_LIMIT:
		return read_u32("fdstore-limit", text, &start->fdstore_limit);
	case OPTION_RESTARTS:
		return read_u32("restarts", text, &start->restarts);
	case OPTION_STARTED_NS:
		return read_number("started-ns", text, 10, UINT64_MAX, &start->started_ns);
	default:
		ww_try(read_u32("broker", text, &number));
		start->broker = (pid_t)number;
		return WW_OK;
	}
}

static ww_status read_option(int code, const char *text, struct start *start)
{
	switch (code) {
	case OPTION_SOCKET:
		return read_path("socket", text, start->address, sizeof(start->address));
	case OPTION_SOCKET_MODE:
		return read_mode(text, &start->socket_mode);
	case OPTION_CONFIG:
		return read_path("config", text, start->config, sizeof(start->config));
	case OPTION_LEAVE:
		start->leaves_when_idle = true;
		return WW_OK;
	case OPTION_READY_FD:
		return read_ready_fd(text, &start->ready_fd);
	case OPTION_HELP:
		fputs(help, stdout);
		return WW_END;
	case OPTION_VERSION:
		puts("warpwayd " WW_VERSION);
		return WW_END;
	default:
		return read_role_option(code, text, start);
	}
}

/* The options of the roles are written by start_write(), so they must be complete. */
static ww_status start_check_role(const struct start *start)
{
	if (start->role == START_FIRST || start->role == START_RECEIVER)
		return WW_OK;
	if (start->address[0] == '\0' || start->program[0] == '\0' || start->fdstore_first == 0 ||
		start->fdstore_first >= start->fdstore_limit || start->fdstore_limit > INT32_MAX)
		return ww_fail(WW_ERR_INVALID, "--role is for warpwayd's own use; leave it out");
	return WW_OK;
}

static ww_status refuse_option(int code, char **arguments)
{
	return ww_fail(WW_ERR_INVALID, "%s %.80s; see warpwayd --help",
		code == ':' ? "something must follow" : "there is no option",
		arguments[optind - 1]);
}

ww_status start_read(int count, char **arguments, struct start *out_start)
{
	int code;

	*out_start = (struct start){.socket_mode = 0600, .ready_fd = -1};
	optind = 0; /* starts over, even if getopt was used before */
	while ((code = getopt_long(count, arguments, "+:", options, NULL)) != -1) {
		ww_status status;

		if (code == ':' || code == '?')
			return refuse_option(code, arguments);
		status = read_option(code, optarg, out_start);
		if (status != WW_OK)
			return status;
	}
	if (optind < count)
		return ww_fail(WW_ERR_INVALID,
			"there are options only, not \"%.80s\"; see warpwayd --help",
			arguments[optind]);
	return start_check_role(out_start);
}

static void start_line_add(struct start_line *line, const char *argument)
{
	ww_assert(line->argument_count + 1 < sizeof(line->arguments) / sizeof(line->arguments[0]));
	line->arguments[line->argument_count++] = (char *)argument;
	line->arguments[line->argument_count] = NULL;
}

static void start_line_add_number(struct start_line *line, const char *option, uint64_t number)
{
	char *text = line->numbers[line->number_count++];

	snprintf(text, sizeof(line->numbers[0]), "%" PRIu64, number);
	start_line_add(line, option);
	start_line_add(line, text);
}

char **start_write(const struct start *start, enum start_role role, struct start_line *line)
{
	line->argument_count = 0;
	line->number_count = 0;
	start_line_add(line, "warpwayd");
	start_line_add(line, "--role");
	start_line_add(line, role == START_BROKER ? "broker" : "supervisor");
	start_line_add(line, "--socket");
	start_line_add(line, start->address);
	start_line_add(line, "--program");
	start_line_add(line, start->program);
	if (start->config[0] != '\0') {
		start_line_add(line, "--config");
		start_line_add(line, start->config);
	}
	if (start->leaves_when_idle)
		start_line_add(line, "--leave-when-idle");
	if (start->is_bound)
		start_line_add(line, "--bound");
	start_line_add_number(line, "--fdstore-first", start->fdstore_first);
	start_line_add_number(line, "--fdstore-limit", start->fdstore_limit);
	start_line_add_number(line, "--restarts", start->restarts);
	start_line_add_number(line, "--started-ns", start->started_ns);
	if (role == START_SUPERVISOR && start->ready_fd >= 0)
		start_line_add_number(line, "--ready-fd", (uint64_t)start->ready_fd);
	if (role == START_SUPERVISOR && start->broker > 0)
		start_line_add_number(line, "--broker", (uint64_t)start->broker);
	return line->arguments;
}
