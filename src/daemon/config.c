/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - the configuration: limits of users, and reserved names; see config.h
 *
 * The file becomes a list of users' limits and a list of reserved names. Both are short and are
 * searched from the front. inih splits lines into sections, keys and values. Lines are read for it
 * by a function of this file, which counts them and refuses a line that is too long; inih would
 * split it without an error.
 *
 * Reading stops at the first fault. Its message says what would be right.
 */
#include "daemon/config.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <ini.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/system_memory.h"
#include "wire/name.h"
#include "wire/protocol.h"

#define NS_PER_SECOND UINT64_C(1000000000)

/* The largest number in a file, so that sums of several do not overflow. */
#define NUMBER_MOST (UINT64_C(1) << 62)
#define TIME_MOST_S (UINT64_C(10) * 365 * 24 * 3600)

/* The value of a limit that a section does not set. */
#define UNSET UINT64_MAX

/* In the order of struct limits. The default of host_bytes depends on the machine. */
static const struct limit_rule {
	const char *key;
	uint64_t fallback;
} limit_rules[LIMIT_COUNT] = {
	{"bytes", 0},
	{"host_bytes", 0},
	{"objects", 65536},
	{"fds", 131072},
	{"holds", 262144},
	{"connections", 4096},
	{"waits", 4096},
	{"watches", 256},
	{"unread_bytes", 16 << 20},
};

struct user_limits {
	struct user_limits *next;
	uid_t uid;
	struct limits limits;
};

struct reserved {
	struct reserved *next;
	bool is_group;
	uint32_t id;
	size_t length;
	char prefix[WW_WIRE_NAME_BYTES];
};

struct config {
	struct limits defaults;
	struct limits everyone;
	struct user_limits *users;
	struct reserved *names;
	uint64_t idle_ns;
	uint64_t escrow_max_ns;
};

/* The file while it is read. */
struct reading {
	struct config *config;
	const char *path;
	FILE *file;
	int line;       /* the one that was read last */
	bool is_broken; /* the record says why */
};

WW_DEFINE_CLEANUP(FILE, fclose)
WW_DEFINE_CLEANUP(struct config, config_free)

WW_PRINTF(2, 3)
static int config_complain(struct reading *reading, const char *format, ...)
{
	char reason[WW_ERROR_MESSAGE_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	ww_fail(WW_ERR_INVALID, "%.90s:%d: %s", reading->path, reading->line, reason);
	reading->is_broken = true;
	return 0;
}

/* Decimal digits and nothing else. */
static bool parse_digits(const char *text, uint64_t most, const char **out_end,
	uint64_t *out_number)
{
	uint64_t number = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');

		if (number > (most - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*out_end = at;
	*out_number = number;
	return at != text;
}

/* A number with a suffix of K, M, G or T: 1024, its square, and so on. */
static bool parse_size(const char *text, uint64_t *out_number)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	const char *end;
	uint64_t number;
	int shift;

	if (!parse_digits(text, NUMBER_MOST, &end, &number))
		return false;
	*out_number = number;
	if (*end == '\0')
		return true;
	suffix = strchr(suffixes, *end);
	if (!suffix || end[1] != '\0')
		return false;
	shift = 10 * (int)(suffix - suffixes + 1);
	*out_number = number << shift;
	return number <= NUMBER_MOST >> shift;
}

static bool parse_id(const char *text, uint32_t *out_id)
{
	const char *end;
	uint64_t number;

	if (!parse_digits(text, UINT32_MAX - 1, &end, &number) || *end != '\0')
		return false;
	*out_id = (uint32_t)number;
	return true;
}

static bool find_user(const char *text, uint32_t *out_uid)
{
	const struct passwd *entry;

	if (parse_id(text, out_uid))
		return true;
	entry = getpwnam(text);
	if (entry)
		*out_uid = entry->pw_uid;
	return entry != NULL;
}

static bool find_group(const char *text, uint32_t *out_gid)
{
	const struct group *entry;

	if (parse_id(text, out_gid))
		return true;
	entry = getgrnam(text);
	if (entry)
		*out_gid = entry->gr_gid;
	return entry != NULL;
}

static int read_limit(struct reading *reading, struct limits *limits, const char *key,
	const char *value)
{
	uint64_t number;

	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		if (strcmp(key, limit_rules[i].key))
			continue;
		if (!parse_size(value, &number))
			return config_complain(reading,
				"\"%.40s\" is no number such as 4096 or 64G (K, M, G and T are "
				"powers of 1024)",
				value);
		limits->values[i] = number ? number : reading->config->defaults.values[i];
		return 1;
	}
	return config_complain(reading,
		"no limit is named \"%.40s\": there are bytes, host_bytes, objects, fds, holds, "
		"connections, waits, watches and unread_bytes",
		key);
}

static struct user_limits *user_limits_of(const struct config *config, uid_t uid)
{
	struct user_limits *entry = config->users;

	while (entry && entry->uid != uid)
		entry = entry->next;
	return entry;
}

static int read_name(struct reading *reading, const char *prefix, const char *value)
{
	size_t length = strlen(prefix);
	struct reserved *entry;
	const char *name;
	bool is_found;

	if (length > 0 && prefix[length - 1] == '/')
		length--;
	if (length >= sizeof(entry->prefix))
		return config_complain(reading, "a name has at most %zu bytes",
			sizeof(entry->prefix) - 1);
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return config_complain(reading, "out of memory");
	entry->next = reading->config->names;
	reading->config->names = entry; /* freed with the config, even if an error follows */
	entry->length = length;
	memcpy(entry->prefix, prefix, length);
	if (ww_name_check(entry->prefix) < 0)
		return config_complain(reading,
			"\"%.60s\" is no name to reserve; write it like model or model/layer0",
			prefix);
	if (prefix[0] == '~')
		return config_complain(reading,
			"names that begin with ~ are reserved by themselves");
	/* The value is "user NAME" or "group NAME", or it has numbers instead of names. */
	name = strchr(value, ' ');
	entry->is_group = strncmp(value, "group ", 6) == 0;
	if (!entry->is_group && strncmp(value, "user ", 5) != 0)
		return config_complain(reading,
			"\"%.40s\" is neither \"user NAME\" nor \"group NAME\" (numbers will do)",
			value);
	name++;
	is_found = entry->is_group ? find_group(name, &entry->id) : find_user(name, &entry->id);
	return is_found ? 1
			: config_complain(reading, "there is no %s \"%.40s\"",
				  entry->is_group ? "group" : "user", name);
}

static int read_broker(struct reading *reading, const char *key, const char *value)
{
	uint64_t *target;
	const char *end;
	uint64_t seconds;

	if (!strcmp(key, "idle_s"))
		target = &reading->config->idle_ns;
	else if (!strcmp(key, "escrow_max_s"))
		target = &reading->config->escrow_max_ns;
	else
		return config_complain(reading,
			"nothing in [broker] is named \"%.40s\": there are idle_s and escrow_max_s",
			key);
	if (!parse_digits(value, TIME_MOST_S, &end, &seconds) || *end != '\0')
		return config_complain(reading, "\"%.40s\" is no number of seconds up to %" PRIu64,
			value, TIME_MOST_S);
	*target = seconds * NS_PER_SECOND;
	return 1;
}

/* inih's handler of one key. After a fault, nothing more is read. */
static int read_key(void *context, const char *section, const char *key, const char *value)
{
	struct reading *reading = context;

	if (reading->is_broken)
		return 0;
	if (!strcmp(section, "limits"))
		return read_limit(reading, &reading->config->everyone, key, value);
	if (!strncmp(section, "limits.", 7)) {
		struct config *config = reading->config;
		struct user_limits *entry;
		uint32_t uid = 0;

		if (!find_user(section + 7, &uid))
			return config_complain(reading, "there is no user \"%.40s\"", section + 7);
		entry = user_limits_of(config, uid);
		if (!entry) {
			entry = calloc(1, sizeof(*entry));
			if (!entry)
				return config_complain(reading, "out of memory");
			entry->uid = uid;
			memset(&entry->limits, 0xff, sizeof(entry->limits)); /* UNSET */
			entry->next = config->users;
			config->users = entry;
		}
		return read_limit(reading, &entry->limits, key, value);
	}
	if (!strcmp(section, "names"))
		return read_name(reading, key, value);
	if (!strcmp(section, "broker"))
		return read_broker(reading, key, value);
	return config_complain(reading,
		"there is no section [%.40s]: there are [limits], [limits.USER], [names] and "
		"[broker]",
		section);
}

/*
 * inih's function to read the next line. After a fault it returns NULL, as at the end. inih would
 * take an indented line as more of the value before, so the indent is removed.
 */
static char *read_line(char *text, int room, void *context)
{
	struct reading *reading = context;
	size_t indent;
	size_t length;

	if (reading->is_broken || !fgets(text, room, reading->file))
		return NULL;
	reading->line++;
	length = strlen(text);
	if (length + 1 == (size_t)room && text[length - 1] != '\n') {
		config_complain(reading, "a line has at most %d bytes", room - 2);
		return NULL;
	}
	indent = strspn(text, " \t");
	memmove(text, text + indent, length + 1 - indent);
	return text;
}

/*
 * inih returns the first line that it or the handler refused. Reading stops at the first line that
 * the handler refused. If inih returns an earlier line, inih itself refused that one.
 */
static ww_status read_file(struct config *config, const char *path)
{
	WW_CLEANUP(fclose_p) FILE *file = fopen(path, "re");
	struct reading reading = {.config = config, .path = path, .file = file};
	int line;

	if (!file)
		return ww_fail_errno_as(errno == ENOENT ? WW_ERR_NOT_FOUND
							: ww_status_from_errno(errno),
			errno, NULL, "cannot read the configuration %s", path);
	line = ini_parse_stream(read_line, &reading, read_key, &reading);
	if (line < 0)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot read the configuration %s: out of memory",
			path);
	if (line > 0 && (!reading.is_broken || line < reading.line)) {
		reading.line = line;
		config_complain(&reading, "neither \"[section]\" nor \"key = value\"");
	}
	if (reading.is_broken)
		return ww_error_last()->status;
	if (ferror(file))
		return ww_fail_errno(errno, NULL, "cannot read the configuration %s", path);
	return WW_OK;
}

ww_status config_read(const char *path, struct config **out_config)
{
	WW_CLEANUP(config_free_p) struct config *config = calloc(1, sizeof(*config));
	uint64_t unused;
	uint64_t total;

	*out_config = NULL;
	if (!config)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot read the configuration: out of memory");
	ww_try(ww_system_memory(&unused, &total));
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		config->defaults.values[i] = limit_rules[i].fallback;
	config->defaults.host_bytes = total / 2;
	config->everyone = config->defaults;
	config->idle_ns = 10 * NS_PER_SECOND;
	config->escrow_max_ns = 3600 * NS_PER_SECOND;
	if (path)
		ww_try(read_file(config, path));
	*out_config = ww_steal(config);
	return WW_OK;
}

struct config *config_free(struct config *config)
{
	if (!config)
		return NULL;
	while (config->users) {
		struct user_limits *next = config->users->next;

		free(config->users);
		config->users = next;
	}
	while (config->names) {
		struct reserved *next = config->names->next;

		free(config->names);
		config->names = next;
	}
	free(config);
	return NULL;
}

void config_limits(const struct config *config, uid_t uid, struct limits *out_limits)
{
	const struct user_limits *own = user_limits_of(config, uid);

	*out_limits = config->everyone;
	for (size_t i = 0; own && i < LIMIT_COUNT; i++) {
		if (own->limits.values[i] != UNSET)
			out_limits->values[i] = own->limits.values[i];
	}
}

uint64_t config_escrow_max_ns(const struct config *config)
{
	return config->escrow_max_ns;
}

uint64_t config_idle_ns(const struct config *config)
{
	return config->idle_ns;
}

static bool is_below(const char *name, const struct reserved *entry)
{
	return strncmp(name, entry->prefix, entry->length) == 0 &&
		(name[entry->length] == '/' || name[entry->length] == '\0');
}

static bool is_for(const struct reserved *entry, uid_t uid, const gid_t *gids, size_t gid_count)
{
	if (!entry->is_group)
		return entry->id == uid;
	for (size_t i = 0; i < gid_count; i++) {
		if (gids[i] == entry->id)
			return true;
	}
	return false;
}

/*
 * Of the prefixes that a name begins with, the longest decides. It may be reserved for several
 * users and groups.
 */
bool config_may_take(const struct config *config, const char *name, uid_t uid, const gid_t *gids,
	size_t gid_count)
{
	size_t longest = 0;
	bool may = true;

	if (uid == 0)
		return true;
	if (name[0] == '~') {
		char home[16];
		int length = snprintf(home, sizeof(home), "~%u", (unsigned)uid);

		/* A name of user 1000 begins with "~1000/": there is one spelling only. */
		return strncmp(name, home, (size_t)length) == 0 &&
			(name[length] == '/' || name[length] == '\0');
	}
	for (const struct reserved *entry = config->names; entry; entry = entry->next) {
		if (entry->length < longest || !is_below(name, entry))
			continue;
		if (entry->length > longest)
			may = false;
		longest = entry->length;
		may = may || is_for(entry, uid, gids, gid_count);
	}
	return may;
}
