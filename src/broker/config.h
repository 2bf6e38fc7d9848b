/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - what an administrator may set: shares of users, names that are reserved
 *
 * An INI file, see warpwayd.conf(5). Read once, when a broker process starts; an error in it is an error of the
 * start, with its line. Without a file the defaults hold.
 */
#ifndef WW_BROKER_CONFIG_H
#define WW_BROKER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <warpway/base.h>

/* The share of one user; 0 means no limit, except where a default is named, which then is what 0 cannot undo. */
struct limits {
	uint64_t bytes;       /* of objects, as their makers say; default: no limit */
	uint64_t host_bytes;  /* of these, in memfds; default: half of the machine's memory */
	uint64_t objects;     /* default 65536 */
	uint64_t fds;         /* default 131072, and at most half of what the process may open */
	uint64_t holds;       /* of a process or a token in escrow; default 262144 */
	uint64_t connections; /* default 4096 */
	uint64_t waits;       /* requests that wait; default 4096 */
	uint64_t watches;     /* default 256 */
};

struct config;

/*
 * @path:  NULL: the defaults
 * Return: WW_OK; WW_ERR_INVALID (line and reason in the record); WW_ERR_NOT_FOUND; WW_ERR_ACCESS; WW_ERR_NO_MEMORY.
 */
ww_status config_read(const char *path, struct config **out_config);
struct config *config_free(struct config *config);

/* The share of a user: the defaults, overlaid by [limits], then by [limits.UID]. */
void config_limits(const struct config *config, uid_t uid, struct limits *out_limits);

/* The longest escrow a client may ask for; default 1 hour. */
uint64_t config_escrow_max_ns(const struct config *config);

/* How long a broker that was started by a client stays with nothing to do; default 10 s. */
uint64_t config_idle_ns(const struct config *config);

/*
 * Whether a name is one that this user may take: "~UID/..." is UID's, [names] reserves other prefixes for users
 * and groups, root may take any.
 * @gids:  all groups of the user
 */
bool config_may_take(const struct config *config, const char *name, uid_t uid, const gid_t *gids,
	size_t gid_count);

#endif
