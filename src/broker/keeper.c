/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper.c - the process that keeps the broker's descriptors, see keeper.h
 *
 * A loop over two descriptors, the socket to the broker and a signalfd, and one deadline. It allocates nothing.
 *
 *   none ──start──> starting ──READY──> serving
 *    ^                 │                   │
 *    └──────ended──────┴───────ended───────┘     how it ended decides what comes next, see decide()
 *
 * A broker has ended when waitpid() says so. Only then is the rest of its messages read, up to the end of the
 * socket: what it kept before it died is kept. The next one is a child of this process and inherits everything.
 *
 * An upgrade asks the broker to leave and starts the program as it is installed now, on trial: it gets the new
 * configuration. When it is ready the keeper executes the new program too, and goes on as its parent; so the keeper is
 * never older than the tables. When it fails, the next one is the former program again.
 *
 * The broker is trusted as far as its messages are well formed and name numbers of the vault; one that says anything
 * else has a fault and is killed. The next one begins with what was kept so far.
 */
#include "broker/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "broker/inherit.h"
#include "broker/say.h"
#include "broker/server.h"
#include "broker/socket.h"
#include "broker/start.h"
#include "broker/starter.h"
#include "broker/systemd.h"
#include "wire/packet.h"

#define NS_PER_MS UINT64_C(1000000)
#define SELF      "/proc/self/exe"

/* A broker that is not ready by then never will be. */
#define READY_NS (30000 * NS_PER_MS)

/* How long one may take that was asked to leave, or has closed its socket. */
#define LEAVE_NS (5000 * NS_PER_MS)

/*
 * A thread of a killed broker may hang in close(), for a stranger's file system that does not answer, and keeps the
 * process from ending. It does nothing any more, and what it knew is in the tables: so it is left to itself.
 */
#define HUNG_MOST 8

/* Before another try, when brokers end before they are ready: doubled each time. */
#define BACKOFF_NS      (10 * NS_PER_MS)
#define BACKOFF_NS_MOST (1000 * NS_PER_MS)

/*
 * With nothing to keep it is the end after so many of these in a row, or when a broker says that no other could either.
 * Once one has served there may be objects, and then it never is: what stands in the way may pass, such as a machine
 * without memory.
 */
#define FAILURES_MOST 10

enum {
	GOES_ON = -1 /* the loop; else it is the exit status */
};

struct keeper {
	struct start *start;
	int signals;
	pid_t broker;      /* 0: none */
	bool is_connected; /* KEEPER_SOCKET is open */
	bool is_ready;
	bool is_trial;       /* this broker is of an upgrade */
	bool is_upgrade_due; /* the next one is to be */
	bool was_started;
	bool has_served; /* so there may be objects */
	bool has_terminal;
	bool is_killed;
	int trial_config;
	pid_t hung[HUNG_MOST]; /* brokers that were left to themselves; 0: none */
	uint32_t failures;     /* brokers in a row that did not get ready */
	uint64_t deadline_ns;  /* when to start one, or to kill it; WW_NEVER */
};

static uint64_t in(uint64_t delay_ns)
{
	return ww_clock_deadline_ns(delay_ns);
}

/* Called in the child. The keeper's other descriptors are close-on-exec. */
_Noreturn static void become_broker(const struct keeper *keeper, int socket, const char *program)
{
	struct start_line line;
	char **arguments = start_write(keeper->start, START_BROKER, &line);
	sigset_t none;

	sigemptyset(&none);
	/* A terminal's signals are for the keeper. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(socket, KEEPER_SOCKET) < 0 ||
		(keeper->trial_config >= 0 && dup2(keeper->trial_config, KEEPER_CONFIG) < 0))
		say("cannot hand the broker its descriptors: %m");
	else
		execv(program, arguments);
	say("cannot run %s: %m", program);
	_exit(SERVER_CANNOT);
}

static void back_off(struct keeper *keeper)
{
	uint32_t doublings = keeper->failures < 7 ? keeper->failures : 7;
	uint64_t delay_ns = BACKOFF_NS << doublings;

	keeper->failures++;
	keeper->deadline_ns = in(delay_ns < BACKOFF_NS_MOST ? delay_ns : BACKOFF_NS_MOST);
}

static void start_broker(struct keeper *keeper)
{
	const char *program = keeper->is_upgrade_due ? keeper->start->program : SELF;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		say("cannot make a socket for the broker: %m");
		back_off(keeper);
		return;
	}
	/* It has that number already where this is the lowest free one. */
	if (pair[0] != KEEPER_SOCKET) {
		dup3(pair[0], KEEPER_SOCKET, O_CLOEXEC);
		close(pair[0]);
	}
	if (keeper->was_started)
		keeper->start->restarts++;
	keeper->is_killed = false;
	keeper->broker = fork();
	if (keeper->broker == 0)
		become_broker(keeper, pair[1], program);
	close(pair[1]);
	if (keeper->broker < 0) {
		say("cannot start a process for the broker: %m");
		keeper->broker = 0;
		close(KEEPER_SOCKET);
		back_off(keeper);
		return;
	}
	keeper->was_started = true;
	keeper->is_connected = true;
	keeper->is_ready = false;
	keeper->is_trial = keeper->is_upgrade_due;
	keeper->is_upgrade_due = false;
	keeper->deadline_ns = in(READY_NS);
}

/* Only from a broker that ends: one that goes on would take this for the keeper's death, and its place. */
static void disconnect(struct keeper *keeper)
{
	if (keeper->is_connected)
		close(KEEPER_SOCKET);
	keeper->is_connected = false;
}

static bool is_kept(const struct keeper *keeper, uint32_t number)
{
	return number >= keeper->start->vault_first && number < keeper->start->vault_limit;
}

/* Whether the message is one, whatever it says. */
static bool is_well_formed(const struct keeper *keeper, const struct keeper_message *message,
	size_t bytes, size_t fd_count)
{
	const size_t most = sizeof(message->numbers) / sizeof(message->numbers[0]);

	if (bytes != sizeof(*message) || message->count > most)
		return false;
	if (fd_count != (message->what == KEEPER_KEEP ? message->count : 0))
		return false;
	for (uint32_t i = 0; i < message->count; i++) {
		if (!is_kept(keeper, message->numbers[i]))
			return false;
	}
	switch (message->what) {
	case KEEPER_KEEP:
	case KEEPER_DROP:
		return message->count > 0;
	case KEEPER_DROP_RANGE:
		return message->count == 2 && message->numbers[0] <= message->numbers[1];
	case KEEPER_READY:
		return message->count == 0;
	default:
		return false;
	}
}

/* Whether what is installed is another file than what runs here. */
static bool is_replaced(const char *program)
{
	struct stat installed;
	struct stat own;

	return stat(program, &installed) == 0 && stat(SELF, &own) == 0 &&
		(installed.st_dev != own.st_dev || installed.st_ino != own.st_ino);
}

/* This process, its children and descriptors stay what they are; only the program changes. */
static void become_installed(struct keeper *keeper)
{
	struct start_line line;

	keeper->start->broker = keeper->broker;
	if (fcntl(KEEPER_SOCKET, F_SETFD, 0) == 0)
		execv(keeper->start->program, start_write(keeper->start, START_KEEPER, &line));
	say("the keeper stays the former program: cannot run %s: %m", keeper->start->program);
	fcntl(KEEPER_SOCKET, F_SETFD, FD_CLOEXEC);
}

static void say_upgraded(const struct keeper *keeper)
{
	say("upgraded: broker %d serves", (int)keeper->broker);
}

static void finish_upgrade(struct keeper *keeper)
{
	if (keeper->trial_config >= 0 && inherit_as(&keeper->trial_config, KEEPER_CONFIG) < 0)
		say("the former configuration stays: %s", ww_error_last()->message);
	keeper->trial_config = ww_fd_close(keeper->trial_config);
	keeper->is_trial = false;
	if (is_replaced(keeper->start->program))
		become_installed(keeper);
	say_upgraded(keeper);
}

static void broker_is_ready(struct keeper *keeper)
{
	keeper->is_ready = true;
	keeper->has_served = true;
	keeper->failures = 0;
	if (!keeper->is_upgrade_due) /* else it has been asked to leave */
		keeper->deadline_ns = WW_NEVER;
	starter_ready(&keeper->start->ready_fd);
	systemd_notify("READY=1\nMAINPID=%d\nSTATUS=broker %d serves %s, restarted %" PRIu32
		       " times",
		(int)getpid(), (int)keeper->broker, keeper->start->address,
		keeper->start->restarts);
	if (keeper->is_trial)
		finish_upgrade(keeper);
}

static void keep(const struct keeper_message *message, const int *fds)
{
	for (uint32_t i = 0; i < message->count; i++) {
		if (dup2(fds[i], (int)message->numbers[i]) < 0)
			say("cannot keep a descriptor as %" PRIu32 ": %m", message->numbers[i]);
	}
}

static void obey(struct keeper *keeper, const struct keeper_message *message, const int *fds)
{
	switch (message->what) {
	case KEEPER_KEEP:
		keep(message, fds);
		break;
	case KEEPER_DROP:
		for (uint32_t i = 0; i < message->count; i++)
			close((int)message->numbers[i]);
		break;
	case KEEPER_DROP_RANGE:
		close_range(message->numbers[0], message->numbers[1], 0);
		break;
	default:
		broker_is_ready(keeper);
	}
}

static void kill_broker(struct keeper *keeper, const char *reason)
{
	say("broker %d %s: killing it", (int)keeper->broker, reason);
	kill(keeper->broker, SIGKILL);
	keeper->is_killed = true;
	keeper->deadline_ns = in(LEAVE_NS);
}

/* Takes one message. Return: whether there may be more. */
static bool hear(struct keeper *keeper)
{
	struct keeper_message message;
	int fds[WW_PACKET_FDS];
	size_t fd_count = 0;
	size_t bytes = 0;
	ww_status status = ww_packet_receive(KEEPER_SOCKET, &message, sizeof(message), &bytes, fds,
		&fd_count);
	bool is_good = status == WW_OK && is_well_formed(keeper, &message, bytes, fd_count);

	if (is_good)
		obey(keeper, &message, fds);
	while (fd_count > 0)
		close(fds[--fd_count]);
	if (is_good)
		return true;
	if (status == WW_NOT_READY)
		return false;
	if (status == WW_END || status == WW_ERR_PEER_LOST)
		keeper->deadline_ns = in(LEAVE_NS); /* it has ended, or is about to */
	else if (keeper->broker > 0)
		kill_broker(keeper, status < 0 ? ww_error_last()->message : "talks nonsense");
	disconnect(keeper);
	return false;
}

static void say_how(pid_t broker, int status, bool was_ready)
{
	const char *when = was_ready ? "" : " before it was ready";

	if (WIFSIGNALED(status))
		say("broker %d was killed by signal %d (%s)%s", (int)broker, WTERMSIG(status),
			strsignal(WTERMSIG(status)), when);
	else if (WEXITSTATUS(status) != SERVER_AGAIN)
		say("broker %d ended with status %d%s", (int)broker, WEXITSTATUS(status), when);
}

/* Whether somebody has connected and was not accepted. */
static bool is_awaited(void)
{
	struct pollfd listener = {.fd = KEEPER_LISTENER, .events = POLLIN};

	return poll(&listener, 1, 0) > 0;
}

/* What comes after a broker. Return: GOES_ON; the exit status. */
static int decide(struct keeper *keeper, bool was_ready, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	keeper->deadline_ns = 0; /* another at once */
	if (keeper->is_trial) {
		say("the upgrade failed; going on with the former program and configuration");
		keeper->trial_config = ww_fd_close(keeper->trial_config);
		keeper->is_trial = false;
		return GOES_ON;
	}
	if (code == SERVER_DONE && !is_awaited())
		return 0;
	if (was_ready || code == SERVER_DONE)
		return GOES_ON;
	back_off(keeper);
	if (keeper->has_served || (code != SERVER_CANNOT && keeper->failures < FAILURES_MOST))
		return GOES_ON;
	return 1;
}

static void reap_hung(struct keeper *keeper)
{
	for (int i = 0; i < HUNG_MOST; i++) {
		if (keeper->hung[i] > 0 && waitpid(keeper->hung[i], NULL, WNOHANG) != 0)
			keeper->hung[i] = 0;
	}
}

/* The broker is no more. Return: GOES_ON; the exit status. */
static int after(struct keeper *keeper, int status)
{
	pid_t broker = keeper->broker;
	bool was_ready;

	keeper->broker = 0;
	while (keeper->is_connected && hear(keeper))
		;
	disconnect(keeper);
	was_ready = keeper->is_ready;
	keeper->is_ready = false;
	say_how(broker, status, was_ready);
	return decide(keeper, was_ready, status);
}

/* Notices the broker's end. Return: GOES_ON; the exit status. */
static int reap(struct keeper *keeper)
{
	int status = 0;
	pid_t ended;

	reap_hung(keeper);
	if (keeper->broker == 0)
		return GOES_ON;
	ended = waitpid(keeper->broker, &status, WNOHANG);
	if (ended == 0 || (ended < 0 && errno == EINTR))
		return GOES_ON;
	if (ended < 0) /* not our child: then nothing is known of it, and it is no broker of ours */
		status = SIGKILL;
	return after(keeper, status);
}

/* It was killed and is still there. Return: GOES_ON; the exit status. */
static int leave_hung(struct keeper *keeper)
{
	for (int i = 0; i < HUNG_MOST; i++) {
		if (keeper->hung[i] > 0)
			continue;
		say("broker %d does not end: going on without it", (int)keeper->broker);
		keeper->hung[i] = keeper->broker;
		return after(keeper, SIGKILL);
	}
	keeper->deadline_ns = WW_NEVER; /* too many: then this one is waited for */
	return GOES_ON;
}

/* The broker leaves when it gets SIGTERM; what comes after it is decided when it has ended. */
static void upgrade(struct keeper *keeper)
{
	int copy = -1;

	if (inherit_config(keeper->start->config, &copy) < 0)
		say("the configuration stays as it is: %s", ww_error_last()->message);
	ww_fd_close(keeper->trial_config);
	keeper->trial_config = copy;
	keeper->is_upgrade_due = true;
	keeper->is_trial = false;
	systemd_notify("RELOADING=1\nSTATUS=waiting for another broker");
	if (keeper->broker > 0) {
		kill(keeper->broker, SIGTERM);
		keeper->deadline_ns = in(LEAVE_NS);
	}
}

/* Return: GOES_ON; the exit status. */
static int take_signals(struct keeper *keeper)
{
	struct signalfd_siginfo signal;

	while (read(keeper->signals, &signal, sizeof(signal)) == (ssize_t)sizeof(signal)) {
		if (signal.ssi_signo == SIGTERM || signal.ssi_signo == SIGINT)
			return 0;
		if (signal.ssi_signo == SIGHUP && keeper->has_terminal)
			return 0; /* it was closed */
		if (signal.ssi_signo == SIGHUP)
			upgrade(keeper);
	}
	return GOES_ON;
}

/* Return: GOES_ON; the exit status. */
static int pass_deadline(struct keeper *keeper)
{
	if (keeper->broker > 0 && keeper->is_killed)
		return leave_hung(keeper);
	if (keeper->broker == 0)
		start_broker(keeper);
	else if (!keeper->is_connected || keeper->is_upgrade_due)
		kill_broker(keeper, "does not end");
	else
		kill_broker(keeper, "did not get ready in time");
	return GOES_ON;
}

/* Waits for one thing to happen and deals with it. Return: GOES_ON; the exit status. */
static int step(struct keeper *keeper)
{
	struct pollfd entries[2] = {
		{.fd = keeper->signals, .events = POLLIN},
		{.fd = keeper->is_connected ? KEEPER_SOCKET : -1, .events = POLLIN},
	};
	struct timespec left;
	int ready = ppoll(entries, 2, ww_clock_left(keeper->deadline_ns, &left), NULL);
	int outcome = GOES_ON;

	if (ready < 0 && errno != EINTR) {
		say("cannot wait for the broker: %m");
		return 1;
	}
	if (ready > 0 && entries[1].revents)
		hear(keeper);
	if (ready > 0 && entries[0].revents) {
		outcome = take_signals(keeper);
		if (outcome == GOES_ON)
			outcome = reap(keeper);
	}
	if (outcome == GOES_ON && ww_clock_now_ns() >= keeper->deadline_ns)
		outcome = pass_deadline(keeper);
	return outcome;
}

/* Kills a broker, and waits for its end as long as that may take: a hung one must not keep the keeper. */
static void wait_for_end(pid_t broker)
{
	uint64_t deadline_ns = in(LEAVE_NS);
	struct timespec left;
	sigset_t child;

	if (broker == 0)
		return;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	kill(broker, SIGKILL);
	while (waitpid(broker, NULL, WNOHANG) == 0 && ww_clock_now_ns() < deadline_ns)
		sigtimedwait(&child, NULL, ww_clock_left(deadline_ns, &left));
}

/*
 * The broker first, so that it does not take our place. Who waits for us is told when nobody can connect any more, and
 * may start another one at once.
 */
static int end(struct keeper *keeper, int code)
{
	systemd_notify("STOPPING=1");
	wait_for_end(keeper->broker);
	if (keeper->start->is_bound)
		socket_remove(keeper->start->address, KEEPER_LOCK);
	close(KEEPER_LISTENER);
	starter_failed(&keeper->start->ready_fd,
		code ? "the broker could not start; run warpwayd by hand to see why"
		     : "the broker was ended before it was ready");
	return code;
}

static bool open_signals(struct keeper *keeper)
{
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGCHLD);
	/* Blocked before they are no longer ignored. */
	sigprocmask(SIG_BLOCK, &ours, NULL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	keeper->signals = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
	return inherit_aside(&keeper->signals) == WW_OK && keeper->signals >= 0;
}

static bool has_terminal(void)
{
	WW_AUTO_FD int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	return terminal >= 0;
}

/* Nothing but the fixed descriptors and the vault. Of a broker that became a keeper, its connections end here. */
static void tidy(const struct start *start)
{
	if (start->broker == 0)
		close(KEEPER_SOCKET);
	else
		fcntl(KEEPER_SOCKET, F_SETFD, FD_CLOEXEC);
	if (start->ready_fd < 0)
		close(KEEPER_STARTER);
	else
		fcntl(KEEPER_STARTER, F_SETFD, FD_CLOEXEC);
	close_range(KEEPER_STARTER + 1, start->vault_first - 1, 0);
}

int keeper_run(struct start *start)
{
	struct keeper keeper = {
		.start = start,
		.broker = start->broker,
		.is_connected = start->broker > 0,
		.is_ready = start->broker > 0,
		.was_started = start->broker > 0,
		.has_served = start->broker > 0 || start->restarts > 0,
		.trial_config = -1,
		.deadline_ns = start->broker > 0 ? WW_NEVER : 0,
	};
	int outcome;

	tidy(start);
	if (inherit_files(start->vault_limit) < 0)
		say("%s", ww_error_last()->message);
	if (!open_signals(&keeper)) {
		say("cannot wait for signals: %m");
		return end(&keeper, 1);
	}
	keeper.has_terminal = has_terminal();
	if (keeper.broker > 0)
		say_upgraded(&keeper);
	/* Its end may have been signalled to the program that was here before. */
	outcome = reap(&keeper);
	while (outcome == GOES_ON)
		outcome = step(&keeper);
	return end(&keeper, outcome);
}
