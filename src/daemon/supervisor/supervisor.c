/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor.c - the process that keeps the broker's descriptors, see supervisor.h
 *
 * A loop over two descriptors, the socket to the broker and a signalfd, and two deadlines. It
 * allocates nothing.
 *
 *   none ──start──> starting ──READY──> serving
 *    ^                 │                   │
 *    └──────ended──────┴───────ended───────┘     what comes next: supervisor_decide()
 *
 * A broker has ended when waitpid() says so, or when it can run no more code. Only then the rest of
 * its messages is read, up to the end of the socket's queue. So what it kept before it died is
 * kept. The next broker is a child of this process and inherits everything.
 *
 * For an upgrade, the supervisor ends the broker and starts the program as it is installed now, on
 * trial, with the new configuration. When that is ready, the supervisor executes the new program
 * too, and goes on as its parent. So the supervisor is never older than the tables. If the trial
 * fails, the former program is started again.
 *
 * One other thread closes descriptors whose close() takes long (closer.h).
 *
 * The messages of the broker must be well formed and name numbers of the fdstore. If one is not,
 * the broker has a fault and is killed. The next broker begins with what was kept so far.
 */
#include "daemon/supervisor/supervisor.h"

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
#include "daemon/supervisor/closer.h"
#include "daemon/inherited.h"
#include "daemon/descriptor_kind.h"
#include "daemon/supervisor/process_end.h"
#include "daemon/admin_log.h"
#include "daemon/broker/server.h"
#include "daemon/supervisor/listen_address.h"
#include "daemon/command_line.h"
#include "daemon/supervisor/start_notice.h"
#include "daemon/supervisor/systemd.h"
#include "wire/packet.h"

#define NS_PER_MS UINT64_C(1000000)
#define SELF      "/proc/self/exe"

/* How long a broker may take to get ready. */
#define READY_NS (30000 * NS_PER_MS)

/* How long a broker may take to end after SIGTERM, or after it has closed its socket. */
#define LEAVE_NS (5000 * NS_PER_MS)

/*
 * A killed broker may hang in close(), for a file system that does not answer. Only /proc shows
 * that it runs no more code (process_end.h). Its state is in the tables, so the supervisor goes on
 * without it. These are the periods of that check: while a broker is to end, and otherwise, since
 * another process may kill it. The second bounds how long clients wait then.
 */
#define LOOK_OFTEN_NS (10 * NS_PER_MS)
#define LOOK_NS       (1000 * NS_PER_MS)
#define HUNG_MOST     8

/*
 * The pause before another broker is started, if brokers end before they are ready; doubled each
 * time.
 */
#define BACKOFF_NS      (10 * NS_PER_MS)
#define BACKOFF_NS_MOST (1000 * NS_PER_MS)

/*
 * If no broker has served yet, the supervisor gives up after so many failures in a row, or when a
 * broker reports that no other could start either. Once a broker has served there may be objects,
 * and the supervisor never gives up: the cause may pass, such as a machine without memory.
 */
#define FAILURES_MOST 10

enum {
	GOES_ON = -1 /* the loop continues; any other value is the exit status */
};

struct supervisor {
	struct start *start;
	int signals;
	pid_t broker;      /* 0: none */
	bool is_connected; /* SUPERVISOR_SOCKET is open */
	bool is_ready;
	bool is_trial;       /* this broker is an upgrade on trial */
	bool is_upgrade_due; /* the next broker is to be an upgrade */
	bool was_started;
	bool has_served; /* so there may be objects */
	bool has_terminal;
	bool is_killed;
	int trial_config;
	pid_t hung[HUNG_MOST]; /* killed brokers that hang; 0: none */
	uint32_t failures;     /* brokers in a row that did not get ready */
	uint32_t top;          /* above every number that is kept */
	uint64_t deadline_ns;  /* when to start a broker, or to kill it; WW_NEVER */
	uint64_t look_ns;      /* when to check whether the broker can still run */
};

/* Called in the child. The supervisor's other descriptors are close-on-exec. */
_Noreturn static void broker_become(const struct supervisor *supervisor, int socket,
	const char *program)
{
	struct start_line line;
	char **arguments = start_write(supervisor->start, START_BROKER, &line);
	sigset_t none;

	sigemptyset(&none);
	/* Only the supervisor handles a terminal's signals. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(socket, SUPERVISOR_SOCKET) < 0 ||
		(supervisor->trial_config >= 0 &&
			dup2(supervisor->trial_config, SUPERVISOR_CONFIG) < 0))
		admin_log("cannot hand the broker its descriptors: %m");
	else
		execv(program, arguments);
	admin_log("cannot run %s: %m", program);
	_exit(SERVER_CANNOT);
}

static void supervisor_back_off(struct supervisor *supervisor)
{
	uint32_t doublings = supervisor->failures < 7 ? supervisor->failures : 7;
	uint64_t delay_ns = BACKOFF_NS << doublings;

	supervisor->failures++;
	supervisor->deadline_ns = ww_clock_deadline_ns(
		delay_ns < BACKOFF_NS_MOST ? delay_ns : BACKOFF_NS_MOST);
}

/* Makes the socket to the next broker, at its fixed number. Return: the broker's end; -1. */
static int broker_make_socket(void)
{
	bool is_placed;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		admin_log("cannot make a socket for the broker: %m");
		return -1;
	}
	/* It has that number already if that is the lowest free one. */
	if (pair[0] == SUPERVISOR_SOCKET)
		return pair[1];
	is_placed = dup3(pair[0], SUPERVISOR_SOCKET, O_CLOEXEC) >= 0;
	if (!is_placed)
		admin_log("cannot put the broker's socket at %d: %m", SUPERVISOR_SOCKET);
	close(pair[0]);
	return is_placed ? pair[1] : ww_fd_close(pair[1]);
}

static void broker_start(struct supervisor *supervisor)
{
	const char *program = supervisor->is_upgrade_due ? supervisor->start->program : SELF;
	int theirs = broker_make_socket();

	if (theirs < 0) {
		supervisor_back_off(supervisor);
		return;
	}
	if (supervisor->was_started)
		supervisor->start->restarts++;
	supervisor->is_killed = false;
	supervisor->broker = fork();
	if (supervisor->broker == 0)
		broker_become(supervisor, theirs, program);
	close(theirs);
	if (supervisor->broker < 0) {
		admin_log("cannot start a process for the broker: %m");
		supervisor->broker = 0;
		close(SUPERVISOR_SOCKET);
		supervisor_back_off(supervisor);
		return;
	}
	supervisor->was_started = true;
	supervisor->is_connected = true;
	supervisor->is_ready = false;
	supervisor->is_trial = supervisor->is_upgrade_due;
	supervisor->is_upgrade_due = false;
	supervisor->deadline_ns = ww_clock_deadline_ns(READY_NS);
}

/*
 * Called only for a broker that ends: another one would take this for the supervisor's end, and
 * become a supervisor.
 */
static void supervisor_disconnect(struct supervisor *supervisor)
{
	if (supervisor->is_connected)
		close(SUPERVISOR_SOCKET);
	supervisor->is_connected = false;
}

/* Whether a message has a valid form. */
static bool message_is_well_formed(const struct supervisor *supervisor,
	const struct supervisor_message *message, size_t bytes, size_t fd_count)
{
	const size_t most = sizeof(message->numbers) / sizeof(message->numbers[0]);

	if (bytes != sizeof(*message) || message->count > most)
		return false;
	if (fd_count != (message->what == SUPERVISOR_KEEP ? message->count : 0))
		return false;
	for (uint32_t i = 0; i < message->count; i++) {
		if (message->numbers[i] < supervisor->start->fdstore_first ||
			message->numbers[i] >= supervisor->start->fdstore_limit)
			return false;
	}
	switch (message->what) {
	case SUPERVISOR_KEEP:
	case SUPERVISOR_DROP:
		return message->count > 0;
	case SUPERVISOR_DROP_RANGE:
		return message->count == 2 && message->numbers[0] <= message->numbers[1];
	case SUPERVISOR_READY:
		return message->count == 0;
	default:
		return false;
	}
}

/* Whether another file than the running program is installed now. */
static bool program_is_replaced(const char *program)
{
	struct stat installed;
	struct stat own;

	return stat(program, &installed) == 0 && stat(SELF, &own) == 0 &&
		(installed.st_dev != own.st_dev || installed.st_ino != own.st_ino);
}

static void admin_log_upgraded(const struct supervisor *supervisor)
{
	admin_log("upgraded: broker %d serves", (int)supervisor->broker);
}

static void supervisor_take_ready(struct supervisor *supervisor)
{
	supervisor->is_ready = true;
	supervisor->has_served = true;
	supervisor->failures = 0;
	if (!supervisor->is_upgrade_due) /* else it got SIGTERM already */
		supervisor->deadline_ns = WW_NEVER;
	start_notice_ready(&supervisor->start->ready_fd);
	systemd_notify("READY=1\nMAINPID=%d\nSTATUS=broker %d serves %s, restarted %" PRIu32
		       " times",
		(int)getpid(), (int)supervisor->broker, supervisor->start->address,
		supervisor->start->restarts);
	if (supervisor->is_trial) {
		if (supervisor->trial_config >= 0 &&
			inherit_as(&supervisor->trial_config, SUPERVISOR_CONFIG) < 0)
			admin_log("the former configuration stays: %s", ww_error_last()->message);
		supervisor->trial_config = ww_fd_close(supervisor->trial_config);
		supervisor->is_trial = false;
		if (program_is_replaced(supervisor->start->program)) {
			struct start_line line;

			/*
			 * Execute the installed program in this process, which keeps its children
			 * and descriptors.
			 */
			supervisor->start->broker = supervisor->broker;
			if (fcntl(SUPERVISOR_SOCKET, F_SETFD, 0) == 0)
				execv(supervisor->start->program,
					start_write(supervisor->start, START_SUPERVISOR, &line));
			admin_log("the supervisor stays the former program: cannot run %s: %m",
				supervisor->start->program);
			fcntl(SUPERVISOR_SOCKET, F_SETFD, FD_CLOEXEC);
		}
		admin_log_upgraded(supervisor);
	}
}

/*
 * Closes a number, which is free at once. If that frees much memory, a duplicate is closed later by
 * the thread.
 */
static void number_drop(const struct supervisor *supervisor, int number)
{
	int aside = -1;

	if (kind_is_large(number))
		aside = fcntl(number, F_DUPFD_CLOEXEC, SUPERVISOR_STARTER + 1);
	close(number);
	if (aside >= 0 && (uint32_t)aside < supervisor->start->fdstore_first)
		closer_close(aside);
	else
		ww_fd_close(aside);
}

static void supervisor_obey(struct supervisor *supervisor, const struct supervisor_message *message,
	const int *fds)
{
	uint32_t from;

	switch (message->what) {
	case SUPERVISOR_KEEP:
		for (uint32_t i = 0; i < message->count; i++) {
			if (message->numbers[i] >= supervisor->top)
				supervisor->top = message->numbers[i] + 1;
			if (dup2(fds[i], (int)message->numbers[i]) < 0)
				admin_log("cannot keep a descriptor as %" PRIu32 ": %m",
					message->numbers[i]);
		}
		break;
	case SUPERVISOR_DROP:
		for (uint32_t i = 0; i < message->count; i++)
			number_drop(supervisor, (int)message->numbers[i]);
		break;
	case SUPERVISOR_DROP_RANGE:
		/* No number at or above top was ever kept, so these are skipped. */
		from = message->numbers[0];
		for (uint32_t number = from;
			number <= message->numbers[1] && number < supervisor->top; number++)
			number_drop(supervisor, (int)number);
		if (from < supervisor->top && message->numbers[1] + 1 >= supervisor->top)
			supervisor->top = from;
		break;
	default:
		supervisor_take_ready(supervisor);
	}
}

static void supervisor_expect_end(struct supervisor *supervisor)
{
	supervisor->deadline_ns = ww_clock_deadline_ns(LEAVE_NS);
	supervisor->look_ns = 0;
}

static void broker_kill(struct supervisor *supervisor, const char *reason)
{
	admin_log("broker %d %s: killing it", (int)supervisor->broker, reason);
	kill(supervisor->broker, SIGKILL);
	supervisor->is_killed = true;
	supervisor_expect_end(supervisor);
}

/* Receives one message. Return: whether there may be more. */
static bool supervisor_receive(struct supervisor *supervisor)
{
	struct supervisor_message message;
	int fds[WW_PACKET_FDS];
	size_t fd_count = 0;
	size_t bytes = 0;
	ww_status status = ww_packet_receive(SUPERVISOR_SOCKET, &message, sizeof(message), &bytes,
		fds, &fd_count);
	bool is_good = status == WW_OK &&
		message_is_well_formed(supervisor, &message, bytes, fd_count);

	if (is_good)
		supervisor_obey(supervisor, &message, fds);
	while (fd_count > 0)
		close(fds[--fd_count]);
	if (is_good)
		return true;
	if (status == WW_NOT_READY)
		return false;
	if (status == WW_END || status == WW_ERR_PEER_LOST)
		supervisor_expect_end(supervisor); /* it has ended, or will end soon */
	else if (supervisor->broker > 0)
		broker_kill(supervisor,
			status < 0 ? ww_error_last()->message : "sent a message that is not valid");
	supervisor_disconnect(supervisor);
	return false;
}

/* Whether a client has connected and was not accepted. */
static bool listener_is_awaited(void)
{
	struct pollfd listener = {.fd = SUPERVISOR_LISTENER, .events = POLLIN};

	return poll(&listener, 1, 0) > 0;
}

/* Decides what follows after a broker has ended. Return: GOES_ON; the exit status. */
static int supervisor_decide(struct supervisor *supervisor, bool was_ready, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	supervisor->deadline_ns = 0; /* another at once */
	if (supervisor->is_trial) {
		admin_log("the upgrade failed; going on with the former program and configuration");
		supervisor->trial_config = ww_fd_close(supervisor->trial_config);
		supervisor->is_trial = false;
		return GOES_ON;
	}
	if (code == SERVER_DONE && !listener_is_awaited())
		return 0;
	if (was_ready || code == SERVER_DONE)
		return GOES_ON;
	supervisor_back_off(supervisor);
	if (supervisor->has_served ||
		(code != SERVER_CANNOT && supervisor->failures < FAILURES_MOST))
		return GOES_ON;
	return 1;
}

/* Reaps hung brokers that have ended, and receivers of the broker that this process was before. */
static void supervisor_reap_others(struct supervisor *supervisor)
{
	siginfo_t ended = {0};

	while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid > 0 &&
		ended.si_pid != supervisor->broker) {
		waitpid(ended.si_pid, NULL, WNOHANG);
		for (int i = 0; i < HUNG_MOST; i++) {
			if (supervisor->hung[i] == ended.si_pid)
				supervisor->hung[i] = 0;
		}
		ended.si_pid = 0;
	}
}

/* The broker has ended. Return: GOES_ON; the exit status. */
static int supervisor_follow_broker(struct supervisor *supervisor, int status)
{
	pid_t broker = supervisor->broker;
	bool was_ready;
	const char *when;

	supervisor->broker = 0;
	while (supervisor->is_connected && supervisor_receive(supervisor))
		;
	supervisor_disconnect(supervisor);
	was_ready = supervisor->is_ready;
	supervisor->is_ready = false;
	when = was_ready ? "" : " before it was ready";
	if (WIFSIGNALED(status))
		admin_log("broker %d was killed by signal %d (%s)%s", (int)broker, WTERMSIG(status),
			strsignal(WTERMSIG(status)), when);
	else if (WEXITSTATUS(status) != SERVER_AGAIN)
		admin_log("broker %d ended with status %d%s", (int)broker, WEXITSTATUS(status),
			when);
	return supervisor_decide(supervisor, was_ready, status);
}

/* Notices the broker's end. Return: GOES_ON; the exit status. */
static int supervisor_reap(struct supervisor *supervisor)
{
	int status = 0;
	pid_t ended;

	supervisor_reap_others(supervisor);
	if (supervisor->broker == 0)
		return GOES_ON;
	ended = waitpid(supervisor->broker, &status, WNOHANG);
	if (ended == 0 || (ended < 0 && errno == EINTR))
		return GOES_ON;
	if (ended < 0) /* it is not our child, so its status is unknown */
		status = SIGKILL;
	return supervisor_follow_broker(supervisor, status);
}

/* The broker hangs: it has not ended, but runs no more code. Return: GOES_ON; the exit status. */
static int supervisor_leave_hung(struct supervisor *supervisor, int status)
{
	for (int i = 0; i < HUNG_MOST; i++) {
		if (supervisor->hung[i] > 0)
			continue;
		admin_log("broker %d does not end: going on without it", (int)supervisor->broker);
		supervisor->hung[i] = supervisor->broker;
		return supervisor_follow_broker(supervisor, status);
	}
	supervisor->deadline_ns = WW_NEVER; /* too many hang: waits for the end of this one */
	supervisor->look_ns = ww_clock_deadline_ns(LOOK_NS);
	return GOES_ON;
}

/* Return: GOES_ON; the exit status. */
static int supervisor_take_signals(struct supervisor *supervisor)
{
	struct signalfd_siginfo signal;

	while (read(supervisor->signals, &signal, sizeof(signal)) == (ssize_t)sizeof(signal)) {
		if (signal.ssi_signo == SIGTERM || signal.ssi_signo == SIGINT)
			return 0;
		if (signal.ssi_signo == SIGHUP && supervisor->has_terminal)
			return 0; /* the terminal was closed */
		if (signal.ssi_signo == SIGHUP) {
			int copy = -1;

			/*
			 * Send SIGTERM to the broker; supervisor_decide() does the rest when it has
			 * ended.
			 */
			if (inherit_config(supervisor->start->config, &copy) < 0)
				admin_log("the configuration stays as it is: %s",
					ww_error_last()->message);
			ww_fd_close(supervisor->trial_config);
			supervisor->trial_config = copy;
			supervisor->is_upgrade_due = true;
			supervisor->is_trial = false;
			systemd_notify("RELOADING=1\nSTATUS=waiting for another broker");
			if (supervisor->broker > 0) {
				kill(supervisor->broker, SIGTERM);
				supervisor_expect_end(supervisor);
			}
		}
	}
	return GOES_ON;
}

/* Return: GOES_ON; the exit status. */
static int supervisor_pass_deadline(struct supervisor *supervisor)
{
	if (supervisor->broker > 0 && supervisor->is_killed)
		return supervisor_leave_hung(supervisor, SIGKILL);
	if (supervisor->broker == 0)
		broker_start(supervisor);
	else if (!supervisor->is_connected || supervisor->is_upgrade_due)
		broker_kill(supervisor, "does not end");
	else
		broker_kill(supervisor, "did not get ready in time");
	return GOES_ON;
}

/* Waits for one event and handles it. Return: GOES_ON; the exit status. */
static int supervisor_step(struct supervisor *supervisor)
{
	struct pollfd entries[2] = {
		{.fd = supervisor->signals, .events = POLLIN},
		{.fd = supervisor->is_connected ? SUPERVISOR_SOCKET : -1, .events = POLLIN},
	};
	struct timespec left;
	uint64_t next_ns = supervisor->broker > 0 && supervisor->look_ns < supervisor->deadline_ns
		? supervisor->look_ns
		: supervisor->deadline_ns;
	int ready = ppoll(entries, 2, ww_clock_left(next_ns, &left), NULL);
	int outcome = GOES_ON;

	if (ready < 0 && errno != EINTR) {
		admin_log("cannot wait for the broker: %m");
		return 1;
	}
	if (ready > 0 && entries[1].revents)
		supervisor_receive(supervisor);
	if (ready > 0 && entries[0].revents) {
		outcome = supervisor_take_signals(supervisor);
		if (outcome == GOES_ON)
			outcome = supervisor_reap(supervisor);
	}
	if (outcome == GOES_ON && ww_clock_now_ns() >= supervisor->look_ns) {
		bool is_to_end = supervisor->is_killed || !supervisor->is_connected ||
			supervisor->is_upgrade_due;
		int status;

		supervisor->look_ns = ww_clock_deadline_ns(is_to_end ? LOOK_OFTEN_NS : LOOK_NS);
		if (supervisor->broker != 0 && process_end_is_sure(supervisor->broker, &status))
			outcome = supervisor_leave_hung(supervisor, status);
	}
	if (outcome == GOES_ON && ww_clock_now_ns() >= supervisor->deadline_ns)
		outcome = supervisor_pass_deadline(supervisor);
	return outcome;
}

/*
 * Ends the broker first, so that it does not become a supervisor. The client that waits is told
 * last, when no client can connect any more: it may start another broker at once.
 */
static int supervisor_end(struct supervisor *supervisor, int code)
{
	pid_t broker = supervisor->broker;
	uint64_t deadline_ns = ww_clock_deadline_ns(LEAVE_NS);
	const struct timespec pause = {.tv_nsec = LOOK_OFTEN_NS};
	sigset_t child;
	int status;

	systemd_notify("STOPPING=1");
	/* The wait for the end of the broker is bounded, since it may hang. */
	if (broker != 0) {
		sigemptyset(&child);
		sigaddset(&child, SIGCHLD);
		kill(broker, SIGKILL);
		while (waitpid(broker, NULL, WNOHANG) == 0 &&
			!process_end_is_sure(broker, &status) && ww_clock_now_ns() < deadline_ns)
			sigtimedwait(&child, NULL, &pause);
	}
	if (supervisor->start->is_bound)
		listen_address_remove(supervisor->start->address, SUPERVISOR_LOCK);
	close(SUPERVISOR_LISTENER);
	start_notice_failed(&supervisor->start->ready_fd,
		code ? "the broker could not start; run warpwayd by hand to see why"
		     : "the broker was ended before it was ready");
	return code;
}

static bool supervisor_open_signals(struct supervisor *supervisor)
{
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGCHLD);
	/* They are blocked before their actions change. */
	sigprocmask(SIG_BLOCK, &ours, NULL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	supervisor->signals = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
	return inherit_aside(&supervisor->signals) == WW_OK && supervisor->signals >= 0;
}

static bool process_has_terminal(void)
{
	WW_AUTO_FD int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	return terminal >= 0;
}

int supervisor_run(struct start *start)
{
	struct supervisor supervisor = {
		.start = start,
		.broker = start->broker,
		.is_connected = start->broker > 0,
		.is_ready = start->broker > 0,
		.was_started = start->broker > 0,
		.has_served = start->broker > 0 || start->restarts > 0,
		.trial_config = -1,
		.top = inherit_top(start->fdstore_first, start->fdstore_limit),
		.deadline_ns = start->broker > 0 ? WW_NEVER : 0,
	};
	int outcome;

	/*
	 * Close all but the fixed descriptors and the fdstore. If this process was a broker, its
	 * connections end here.
	 */
	if (start->broker == 0)
		close(SUPERVISOR_SOCKET);
	else
		fcntl(SUPERVISOR_SOCKET, F_SETFD, FD_CLOEXEC);
	if (start->ready_fd < 0)
		close(SUPERVISOR_STARTER);
	else
		fcntl(SUPERVISOR_STARTER, F_SETFD, FD_CLOEXEC);
	close_range(SUPERVISOR_STARTER + 1, start->fdstore_first - 1, 0);
	if (inherit_files(start->fdstore_limit) < 0)
		admin_log("%s", ww_error_last()->message);
	if (!supervisor_open_signals(&supervisor)) {
		admin_log("cannot wait for signals: %m");
		return supervisor_end(&supervisor, 1);
	}
	closer_open();
	supervisor.has_terminal = process_has_terminal();
	if (supervisor.broker > 0)
		admin_log_upgraded(&supervisor);
	/* The program that ran in this process before may have got the signal of its end. */
	outcome = supervisor_reap(&supervisor);
	while (outcome == GOES_ON)
		outcome = supervisor_step(&supervisor);
	return supervisor_end(&supervisor, outcome);
}
