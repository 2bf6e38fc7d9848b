/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - the configuration: limits of users, and reserved names
 *
 * The configuration is an INI file, see warpwayd.conf(5). It is read once, when a broker process
 * starts. If it has an error, the start fails, with the line of the error. Without a file the
 * defaults hold.
 */
#ifndef WW_DAEMON_CONFIG_H
#define WW_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <warpway/base.h>

#define LIMIT_COUNT 9

/*
 * The limits of one user, by their names or in their order. 0 means no limit; but where a default
 * is named, 0 in the file means that default.
 */
struct limits {
	union {
		struct {
			uint64_t bytes; /* of objects, as their creators say; default: no limit */
			/* of these, in memfds; default: half of the machine's memory */
			uint64_t host_bytes;
			uint64_t objects; /* default 65536 */
			/* default 131072; account.c: half of what there are for objects at most */
			uint64_t fds;
			uint64_t holds; /* of a process or a token in escrow; default 262144 */
			uint64_t connections; /* default 4096 */
			uint64_t waits;       /* requests that wait; default 4096 */
			uint64_t watches;     /* default 256 */
			uint64_t
				unread_bytes; /* of answers, see unread_replies.h; default 16 MiB */
		};
		uint64_t values[LIMIT_COUNT];
	};
};

struct config;

/*
 * @path:  NULL: the defaults
 * Return: WW_OK; WW_ERR_INVALID (line and reason in the record); WW_ERR_NOT_FOUND; WW_ERR_ACCESS;
 * WW_ERR_NO_MEMORY.
 */
ww_status config_read(const char *path, struct config **out_config);
struct config *config_free(struct config *config);

/* The limits of a user: the defaults, overlaid by [limits], then by [limits.UID]. */
void config_limits(const struct config *config, uid_t uid, struct limits *out_limits);

/* The longest escrow a client may ask for; default 1 hour. */
uint64_t config_escrow_max_ns(const struct config *config);

/* How long an idle broker that was started by a client keeps running; default 10 s. */
uint64_t config_idle_ns(const struct config *config);

/*
 * Whether a user may put an object under a name: "~UID/..." is reserved for UID, [names] reserves
 * other prefixes for users and groups, and root may use any name.
 * @gids:  all groups of the user
 */
bool config_may_take(const struct config *config, const char *name, uid_t uid, const gid_t *gids,
	size_t gid_count);

#endif
