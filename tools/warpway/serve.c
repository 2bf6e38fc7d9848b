/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.c - `warpway serve`: have a broker, see how it is, have it take a new program, end it
 *
 * In the background a broker is started just as a client that needs one would start it, by
 * connecting; in the foreground this process becomes the daemon. Ending one means ending its
 * supervisor, which would start it again; the supervisor is waited for, so that after this command
 * nobody serves there. A reload is a signal to the supervisor too; another broker process then
 * answers, and the count of restarts tells whether what is installed now works.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "warpway/open_broker.h"
#include "common/find_program.h"
#include "common/child_link.h"
#include "warpway/verbs.h"
#include "warpway/object_view.h"

#define DAEMON_WORDS_MAX 8
#define STOP_TIMEOUT_MS  10000
#define RELOAD_TIMEOUT_S 60
#define RELOAD_LOOK_NS   UINT64_C(20000000)
#define STAT_TERMINAL    5 /* the field of /proc/PID/stat, counted from the program's name */
#define NS_PER_S         UINT64_C(1000000000)

static struct serve {
	struct request request;
	const char *socket;
	const char *socket_mode;
	const char *config;
	bool foreground;
	bool status;
	bool reload;
	bool stop;
	bool force;
} serve;

static const struct option_row options[] = {
	OPTION("foreground", FLAG, struct serve, foreground),
	OPTION("socket", TEXT, struct serve, socket),
	OPTION("socket-mode", TEXT, struct serve, socket_mode),
	OPTION("config", TEXT, struct serve, config),
	OPTION("status", FLAG, struct serve, status),
	OPTION("reload", FLAG, struct serve, reload),
	OPTION("stop", FLAG, struct serve, stop),
	OPTION("force", FLAG, struct serve, force),
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

static const char help[] =
	"Usage: warpway serve [OPTION...]\n\n"
	"Starts your broker in the background if none runs, and says where it is. Programs, and the\n"
	"commands that put something or wait for it, do so too. It ends by itself when nobody is\n"
	"connected and nothing is kept; one in the foreground stays. At another address, of\n"
	"WARPWAY_BROKER or --broker, no broker is started: use --foreground --socket.\n\n"
	"  --foreground      become the broker, " DAEMON ", until a signal ends it\n"
	"  --socket PATH     listen there (with --foreground)\n"
	"  --socket-mode MODE  who may connect, as for chmod (with --foreground; default 0600): 0666 is\n"
	"                    for a broker of several users\n"
	"  --config FILE     shares of users and reserved names, see warpwayd.conf(5) (with\n"
	"                    --foreground)\n"
	"  --status          say how the broker is; start none\n"
	"  --reload          have the broker go on with the program and configuration that are\n"
	"                    installed now; it keeps all objects and connections\n"
	"  --stop            end the broker\n"
	"  --force           with --stop: even if objects are lost by that\n"
	"  --json            say how it is as an object; its keys are in warpway(1)\n" BROKER_HELP
	"\n  warpway serve --foreground --socket /run/user/1000/lab.sock\n\n" BROKER_EXIT_HELP;

static int check(void)
{
	if (serve.foreground + serve.status + serve.reload + serve.stop > 1)
		return refuse("--foreground, --status, --reload and --stop exclude each other");
	if ((serve.socket || serve.socket_mode || serve.config) && !serve.foreground)
		return refuse("--socket, --socket-mode and --config are for --foreground");
	if (serve.foreground && (serve.request.address || serve.request.json))
		return refuse(
			"--broker and --json are not for --foreground; --socket names the address");
	if (serve.force && !serve.stop)
		return refuse("--force is for --stop");
	return 0;
}

static int become_daemon(void)
{
	const char *const passed[][2] = {{"--socket", serve.socket},
		{"--socket-mode", serve.socket_mode}, {"--config", serve.config}};
	char path[PROGRAM_PATH_BYTES];
	const char *argv[DAEMON_WORDS_MAX] = {DAEMON};
	size_t count = 1;

	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
		if (passed[i][1]) {
			argv[count++] = passed[i][0];
			argv[count++] = passed[i][1];
		}
	}
	daemon_find(path, sizeof(path));
	fflush(stdout);
	execvp(path, (char **)argv);
	return refuse("cannot run %s: %s; install it, or name it with WARPWAYD", path,
		strerror(errno));
}

static void print_text(ww_broker *broker, const struct ww_broker_info *info)
{
	char up[FORMAT_DURATION_BYTES];
	char bytes[NUMBER_BYTES];
	char memory[NUMBER_BYTES];
	char version[WW_PROGRAM_BYTES];

	format_duration(info->up_ns, up);
	number_size_text(info->bytes, bytes);
	number_size_text(info->memory_bytes, memory);
	format_safe(info->version, version, sizeof(version));
	printf("address    %s\n", ww_broker_address(broker));
	printf("version    %s, protocol %u\n", version, info->protocol);
	printf("pid        %u, supervisor %u, user %u\n", info->pid, info->supervisor_pid,
		info->uid);
	printf("up         %s, restarted %u time%s\n", up, info->restarts,
		info->restarts == 1 ? "" : "s");
	printf("objects    %llu (%s), by %llu descriptors\n", (unsigned long long)info->objects,
		bytes, (unsigned long long)info->fds);
	printf("processes  %llu, with %llu holds; %llu requests wait\n",
		(unsigned long long)info->holders, (unsigned long long)info->holds,
		(unsigned long long)info->waits);
	printf("itself     %s of memory, %llu descriptors\n", memory,
		(unsigned long long)info->open_fds);
}

static int print_json(ww_broker *broker, const struct ww_broker_info *info)
{
	char version[WW_PROGRAM_BYTES];
	char id[FORMAT_ID_BYTES];

	format_safe(info->version, version, sizeof(version));
	format_id(info->broker_id, id);
	return report_json(
		json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:I, s:I, s:I, s:I, s:I,"
			  " s:I, s:I, s:I}",
			"address", ww_broker_address(broker), "version", version, "protocol",
			(json_int_t)info->protocol, "pid", (json_int_t)info->pid, "supervisor_pid",
			(json_int_t)info->supervisor_pid, "uid", (json_int_t)info->uid, "restarts",
			(json_int_t)info->restarts, "broker_id", id, "up_ns",
			view_json_ns(info->up_ns), "objects", (json_int_t)info->objects,
			"processes", (json_int_t)info->holders, "holds", (json_int_t)info->holds,
			"waits", (json_int_t)info->waits, "bytes", (json_int_t)info->bytes, "fds",
			(json_int_t)info->fds, "open_fds", (json_int_t)info->open_fds,
			"memory_bytes", (json_int_t)info->memory_bytes),
		JSON_INDENT(2));
}

static int print(const struct request *request, const struct ww_broker_info *info)
{
	if (request->json)
		return print_json(request->broker, info);
	if (serve.status)
		print_text(request->broker, info);
	else
		say("a broker serves at %s, pid %u (supervisor %u)",
			ww_broker_address(request->broker), info->pid, info->supervisor_pid);
	return EXIT_DONE;
}

/* Reads the beginning of a file of /proc as text. */
static bool read_of_process(uint32_t pid, const char *name, char *out_text, size_t room)
{
	char path[64];
	ssize_t length = -1;
	OWN(fd) int fd = -1;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		length = read(fd, out_text, room - 1);
	if (length <= 0)
		return false;
	out_text[length] = 0;
	return true;
}

/* The number may mean another process here than where the broker runs: its command line tells. */
static bool is_daemon(uint32_t pid)
{
	char line[4096];
	const char *slash;

	if (!read_of_process(pid, "cmdline", line, sizeof(line)))
		return false;
	slash = strrchr(line, '/');
	return !strncmp(slash ? slash + 1 : line, DAEMON, strlen(DAEMON));
}

/* The supervisor of a broker that was started on a terminal ends when that is hung up. */
static bool process_has_terminal(uint32_t pid)
{
	char line[512];
	const char *field;

	if (!read_of_process(pid, "stat", line, sizeof(line)))
		return false;
	field = strrchr(line, ')'); /* the name of the program may contain anything */
	for (int i = 0; field && i < STAT_TERMINAL; i++)
		field = strchr(field + 1, ' ');
	return field && strtol(field, NULL, 10) != 0;
}

/*
 * Sends a signal to the supervisor.
 * @out_process: -1, or a pidfd of it, which is the caller's also on failure
 * Return: 0; the exit status.
 */
static int signal_supervisor(const struct ww_broker_info *info, int number, int *out_process)
{
	uint32_t pid = info->supervisor_pid ? info->supervisor_pid : info->pid;

	*out_process = pid ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
	if (*out_process < 0 || !is_daemon(pid))
		return refuse("the broker's process is not seen from here (pid %u there)", pid);
	if (number == SIGHUP && process_has_terminal(pid))
		return refuse("pid %u has a terminal, whose hang-up the signal for a reload would "
			      "mean: it would end",
			pid);
	if (syscall(SYS_pidfd_send_signal, *out_process, number, NULL, 0))
		return complain("cannot send a signal to pid %u: %s", pid, strerror(errno));
	return EXIT_DONE;
}

static int await_end(int process)
{
	struct pollfd entry = {.fd = process, .events = POLLIN};

	if (link_poll(&entry, 1, link_now_ns() + STOP_TIMEOUT_MS * UINT64_C(1000000)) > 0)
		return EXIT_DONE;
	return complain("the broker has not ended within %d s", STOP_TIMEOUT_MS / 1000);
}

static int stop(const struct ww_broker_info *info)
{
	OWN(fd) int process = -1;
	int code;

	if (info->objects > 0 && !serve.force)
		return refuse(
			"%llu object%s would be lost with the broker; --force ends it all the same",
			(unsigned long long)info->objects, info->objects == 1 ? "" : "s");
	code = signal_supervisor(info, SIGTERM, &process);
	return code ? code : await_end(process);
}

/* Whether the file that a process executes is no longer the one of that name. */
static bool program_is_former(uint32_t pid)
{
	char path[64];
	char name[PATH_MAX];
	struct stat running;
	struct stat installed;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	length = readlink(path, name, sizeof(name) - 1);
	if (length <= 0 || stat(path, &running))
		return false; /* another user's process: not known */
	name[length] = '\0';
	return stat(name, &installed) || running.st_ino != installed.st_ino ||
		running.st_dev != installed.st_dev;
}

/* The supervisor executes the new program once the new broker serves. Return: 0: it does. */
static int await_supervisor(uint32_t pid, int process, uint64_t deadline_ns)
{
	struct pollfd entry = {.fd = process, .events = POLLIN};

	while (program_is_former(pid)) {
		if (link_now_ns() > deadline_ns ||
			link_poll(&entry, 1, link_now_ns() + RELOAD_LOOK_NS) > 0)
			return -1;
	}
	return 0;
}

/*
 * Waits until another broker process answers. While one starts, the library waits for it in the
 * call itself, and the call fails when that takes longer than usual. If what is installed now does
 * not work, the supervisor starts the former program with the former configuration after it.
 */
static int reload(struct request *request, struct ww_broker_info *info)
{
	uint64_t deadline_ns = link_now_ns() + RELOAD_TIMEOUT_S * NS_PER_S;
	const struct ww_broker_info former = *info;
	OWN(fd) int process = -1;
	struct pollfd entry;
	int code = signal_supervisor(info, SIGHUP, &process);

	if (code)
		return code;
	entry = (struct pollfd){.fd = process, .events = POLLIN};
	while (ww_broker_info_get(request->broker, info) != WW_OK || info->pid == former.pid) {
		if (link_now_ns() > deadline_ns)
			return complain("no other broker process answers after %d s",
				RELOAD_TIMEOUT_S);
		if (link_poll(&entry, 1, link_now_ns() + RELOAD_LOOK_NS) > 0)
			return complain("the broker has ended: %s", ww_error_last()->message);
	}
	if (info->restarts - former.restarts > 1)
		return complain("the broker goes on with its former program and configuration, "
				"pid %u: its log says why",
			info->pid);
	return await_supervisor(info->supervisor_pid, process, deadline_ns)
		? complain("the supervisor, pid %u, stays the former program: its log says why",
			  info->supervisor_pid)
		: print(request, info);
}

static int run(struct request *request)
{
	struct ww_broker_info info = WW_INIT(struct ww_broker_info);
	ww_status status;
	int code = check();

	if (code)
		return code;
	if (serve.foreground)
		return become_daemon();
	code = broker_reach(request->address,
		serve.status || serve.reload || serve.stop ? WW_BROKER_NO_START : 0,
		&request->broker);
	if (code)
		return code;
	status = ww_broker_info_get(request->broker, &info);
	if (status != WW_OK)
		return broker_fail(status, "cannot ask the broker how it is");
	if (serve.reload)
		return reload(request, &info);
	return serve.stop ? stop(&info) : print(request, &info);
}

const struct verb verb_serve = {.name = "serve",
	.summary = "have a broker for named memory, see how it is, renew or end it",
	.options = options,
	.help = help,
	.context = &serve,
	.run = run};
