/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.c - what a daemon asks its broker besides its own names, and what it says of that
 *
 * The broker keeps the simulation. A daemon goes on without it, since frames and calls do not pass
 * through it, so the daemon looks from time to time whether the broker is still the same one.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <warpway/warpway.h>

#include "heat.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define GRACE_MS      1000 /* for a daemon that is about to end */
#define SLOW_NS       (30 * NS_PER_SECOND)

/* --- another daemon --- */

/* Whether a process runs, and still does so a while later. */
static bool stays(uint32_t pid)
{
	struct pollfd end = {.events = POLLIN};
	int count;

	end.fd = pid ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
	if (end.fd < 0)
		return false;
	do
		count = poll(&end, 1, GRACE_MS);
	while (count < 0 && errno == EINTR && !heat_signals());
	close(end.fd);
	return count == 0;
}

int heat_wait_for_name(struct ww_broker *broker, const char *prefix)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	uint64_t end_ns = heat_now_ns() + 3 * NS_PER_SECOND;
	const struct passwd *entry;
	char name[WW_NAME_BYTES];
	char user[64];

	snprintf(name, sizeof(name), "%s/daemon", prefix);
	while (ww_broker_stat(broker, name, &info) == WW_OK) {
		if (!stays(info.pid) && heat_now_ns() < end_ns) {
			heat_pause(NS_PER_SECOND / 20);
			continue;
		}
		entry = getpwuid(info.uid);
		snprintf(user, sizeof(user), "%u", info.uid);
		heat_log(HEAT_LOG_ERROR,
			"another daemon, process %u of %s, runs as %s: end it (warpway call "
			"%s/steer stop), or take another --name",
			info.pid, entry ? entry->pw_name : user, prefix, prefix);
		return -1;
	}
	return 0;
}

/* --- the end of the broker --- */

static bool listens(const char *address)
{
	struct sockaddr_un socket_address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool is_refused;

	snprintf(socket_address.sun_path, sizeof(socket_address.sun_path), "%s", address);
	is_refused = fd >= 0 &&
		connect(fd, (const struct sockaddr *)&socket_address, sizeof(socket_address)) < 0 &&
		(errno == ECONNREFUSED || errno == ENOENT);
	if (fd >= 0)
		close(fd);
	return !is_refused;
}

int heat_broker_is_lost(struct ww_broker *broker, uint64_t step, uint64_t every_ns)
{
	static uint8_t known_id[16];
	static bool is_known;
	static uint64_t next_ns;
	struct ww_broker_info info = WW_INIT(struct ww_broker_info);
	uint64_t now_ns = heat_now_ns();
	const char *address = ww_broker_address(broker);

	if (every_ns && now_ns < next_ns)
		return 0;
	next_ns = now_ns + every_ns;
	if (ww_broker_info_get(broker, &info) == WW_OK) {
		if (!is_known)
			memcpy(known_id, info.broker_id, sizeof(known_id));
		is_known = true;
		if (!memcmp(known_id, info.broker_id, sizeof(known_id)))
			return 0;
	} else if (listens(address)) { /* it is slow, or begins */
		next_ns = heat_now_ns() + SLOW_NS;
		heat_log(HEAT_LOG_WARNING, "the broker at %s does not answer: %s", address,
			ww_error_last()->message);
		return 0;
	}
	heat_log(HEAT_LOG_ERROR,
		"the broker at %s has ended; the simulation (step %" PRIu64
		") is not kept there any more",
		address, step);
	return 1;
}

/* --- what the log says of the simulation --- */

void heat_log_begin(const struct heat_config *config, const struct heat_state *state)
{
	heat_log(HEAT_LOG_NOTICE,
		"the daemon %s simulation %016" PRIx64 " at step %" PRIu64
		", %u rows, %u columns%s, as %s",
		state->restarts ? "continues" : "begins", state->run, state->step, state->rows,
		state->columns, state->is_paused ? ", which is paused" : "", config->name);
	if (state->restarts)
		heat_config_compare(config, state);
}

void heat_log_end(struct ww_broker *broker, const struct heat_config *config,
	const struct heat_state *state)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	char name[WW_NAME_BYTES];
	bool is_kept;

	snprintf(name, sizeof(name), "%s/state", config->name);
	is_kept = ww_broker_stat(broker, name, &info) == WW_OK;
	heat_log(is_kept ? HEAT_LOG_NOTICE : HEAT_LOG_WARNING,
		"the daemon ends at step %" PRIu64 " of simulation %016" PRIx64 ", which is %s",
		state->step, state->run,
		is_kept ? "kept" : "not kept: its memory was removed from the broker");
}
