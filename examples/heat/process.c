/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.c - signals, systemd, log, clocks: what a daemon needs of its surroundings
 *
 * systemd's protocol is a datagram of text to a socket, sd_notify(3): a few lines, so libsystemd is
 * not used.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <zlib.h>

#include "heat.h"

#define NS_PER_SECOND UINT64_C(1000000000)

static volatile sig_atomic_t stop_is_wanted;
static volatile sig_atomic_t reload_is_wanted;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

uint64_t heat_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t heat_real_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

void heat_pause(uint64_t ns)
{
	struct timespec time = {
		.tv_sec = (time_t)(ns / NS_PER_SECOND),
		.tv_nsec = (long)(ns % NS_PER_SECOND),
	};

	nanosleep(&time, NULL);
}

uint64_t heat_random(void)
{
	uint64_t number = 0;

	while (number == 0) {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			number = heat_real_ns() ^ (uint64_t)getpid() << 32;
	}
	return number;
}

uint32_t heat_checksum(const void *bytes, uint64_t count)
{
	return (uint32_t)crc32_z(0, bytes, count);
}

/* All stores before this one are there when another process, or the next daemon, sees it. */
void heat_store_magic(uint64_t *magic, uint64_t value)
{
	__atomic_store_n(magic, value, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Whether standard error is the stream that systemd has opened to its journal: systemd.exec(5). */
static bool logs_to_journal(void)
{
	const char *journal = getenv("JOURNAL_STREAM");
	struct stat file;
	char stream[64];

	if (!journal || fstat(STDERR_FILENO, &file) < 0)
		return false;
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)file.st_dev, (uintmax_t)file.st_ino);
	return !strcmp(stream, journal);
}

void heat_say(int priority, const char *text)
{
	if (logs_to_journal())
		fprintf(stderr, "<%d>%s\n", priority, text);
	else
		fprintf(stderr, "heatd: %s\n", text);
}

void heat_log(int priority, const char *format, ...)
{
	char text[HEAT_TEXT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	heat_say(priority, text);
}

void heat_notify(const char *state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	size_t length = path ? strlen(path) : 0;
	int fd;

	if (length < 2 || length >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@') /* a name in the kernel's memory instead of a path */
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
		sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0)
		heat_log(HEAT_LOG_WARNING, "cannot notify systemd at %s: %s", path,
			strerror(errno));
	if (fd >= 0)
		close(fd);
}

void heat_notify_reloading(void)
{
	char state[64];

	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		heat_now_ns() / 1000);
	heat_notify(state);
}

void heat_notify_alive(void)
{
	static uint64_t next_ns;
	const char *text = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");
	uint64_t now_ns = heat_now_ns();

	if (!text || now_ns < next_ns || (pid && strtol(pid, NULL, 10) != (long)getpid()))
		return;
	next_ns = now_ns + strtoull(text, NULL, 10) * 1000 / 2;
	heat_notify("WATCHDOG=1");
}

static void take_signal(int number)
{
	if (number == SIGHUP)
		reload_is_wanted = 1;
	else
		stop_is_wanted = 1;
}

void heat_signals_start(void)
{
	struct sigaction action = {.sa_handler = take_signal, .sa_flags = SA_RESTART};

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
}

int heat_signals(void)
{
	int signals = stop_is_wanted ? HEAT_SIGNAL_STOP : 0;

	if (reload_is_wanted) {
		reload_is_wanted = 0;
		signals |= HEAT_SIGNAL_RELOAD;
	}
	return signals;
}
