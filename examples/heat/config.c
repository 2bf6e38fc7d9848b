/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - the configuration of a heat daemon: an INI file with one section
 *
 * A table says which keys there are and what values they take. inih splits the lines. The first
 * fault ends the reading: its message has the line and says what would be right.
 */
#include <errno.h>
#include <grp.h>
#include <math.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ini.h>

#include "heat.h"

enum kind {
	KIND_TEXT,
	KIND_COUNT,
	KIND_NUMBER,
	KIND_GROUP,
	KIND_BACKEND
};

static const struct rule {
	const char *key;
	enum kind kind;
	size_t offset;
	size_t room; /* of a text */
	double least;
	double most;
	bool can_change; /* while the daemon runs */
} rules[] = {
#define TEXT(key)                                           \
#key, KIND_TEXT, offsetof(struct heat_config, key), \
		sizeof(((struct heat_config *)NULL)->key)
	{TEXT(name), 0, 0, false},
	{TEXT(kernels), 0, 0, false},
	{TEXT(broker), 0, 0, false},
	{"backend", KIND_BACKEND, offsetof(struct heat_config, backend), 16, 0, 0, false},
	{"group", KIND_GROUP, offsetof(struct heat_config, group), 64, 0, 0, false},
	{"operators", KIND_GROUP, offsetof(struct heat_config, operators), 64, 0, 0, true},
#define COUNT(key, least, most, can_change)                                                     \
	{                                                                                       \
#key, KIND_COUNT, offsetof(struct heat_config, key), 0, least, most, can_change \
	}
	COUNT(rows, HEAT_CELLS_LEAST, HEAT_CELLS_MOST, false),
	COUNT(columns, HEAT_CELLS_LEAST, HEAT_CELLS_MOST, false),
	COUNT(rows_max, HEAT_CELLS_LEAST, HEAT_CELLS_MOST, false),
	COUNT(columns_max, HEAT_CELLS_LEAST, HEAT_CELLS_MOST, false),
	COUNT(consumers_per_uid_max, 1, 32, false),
#define NUMBER(key, least, most)                                                           \
	{                                                                                  \
#key, KIND_NUMBER, offsetof(struct heat_config, key), 0, least, most, true \
	}
	NUMBER(diffusivity, 1e-9, 1e9),
	NUMBER(steps_per_second_max, 0, 1e9),
	NUMBER(frames_per_second, 0, 1e6),
};

#define RULES (sizeof(rules) / sizeof(rules[0]))

void heat_config_init(struct heat_config *config)
{
	*config = (struct heat_config){
		.name = "heat",
		.kernels = "heat-kernels",
		.backend = "openmp",
		.rows = 256,
		.columns = 256,
		.rows_max = 512,
		.columns_max = 512,
		.consumers_per_uid_max = 32,
		.diffusivity = 0.1,
		.frames_per_second = 60,
	};
}

__attribute__((format(printf, 2, 3))) static int complain(char *out_error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(out_error, HEAT_TEXT_BYTES, format, arguments);
	va_end(arguments);
	return -1;
}

static int set_text(const struct rule *rule, char *field, const char *value, char *out_error)
{
	if (strlen(value) >= rule->room)
		return complain(out_error, "%s has more than %zu bytes", rule->key, rule->room - 1);
	if (rule->kind == KIND_BACKEND && strcmp(value, "openmp") != 0 && strcmp(value, "gpu") != 0)
		return complain(out_error, "\"%.40s\" is no backend: write openmp or gpu", value);
	if (rule->kind == KIND_TEXT && !*value && strcmp(rule->key, "broker") != 0)
		return complain(out_error, "%s needs a name, such as %s = heat", rule->key,
			rule->key);
	memset(field, 0, rule->room);
	memcpy(field, value, strlen(value));
	return 0;
}

static int set_group(struct heat_config *config, const struct rule *rule, const char *value,
	char *out_error)
{
	uint32_t *gid = strcmp(rule->key, "group") ? &config->operators_gid : &config->gid;
	const struct group *entry = *value ? getgrnam(value) : NULL;
	char *end;
	unsigned long number = strtoul(value, &end, 10);

	if (*value >= '1' && *value <= '9' && *end == '\0' && number < UINT32_MAX) {
		*gid = (uint32_t)number;
		return set_text(rule, (char *)config + rule->offset, value, out_error);
	}
	if (*value && !entry)
		return complain(out_error,
			"there is no group \"%.40s\": make it by \"groupadd %.40s\", or name "
			"another one, by name or number",
			value, value);
	*gid = entry ? entry->gr_gid : 0;
	return set_text(rule, (char *)config + rule->offset, value, out_error);
}

static int set_number(struct heat_config *config, const struct rule *rule, const char *value,
	char *out_error)
{
	char *field = (char *)config + rule->offset;
	char *end;
	double number = strtod(value, &end);

	if (end == value || *end != '\0' || !(number >= rule->least && number <= rule->most) ||
		(rule->kind == KIND_COUNT && number != floor(number)))
		return complain(out_error, "\"%.40s\" is wrong for %s: write %s from %g to %g",
			value, rule->key, rule->kind == KIND_COUNT ? "a whole number" : "a number",
			rule->least, rule->most);
	if (rule->kind == KIND_COUNT)
		memcpy(field, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
	else
		memcpy(field, &number, sizeof(number));
	return 0;
}

int heat_config_set(struct heat_config *config, const char *key, const char *value, char *out_error)
{
	char keys[HEAT_TEXT_BYTES] = "";
	size_t length = 0;

	for (size_t i = 0; i < RULES; i++) {
		if (strcmp(key, rules[i].key) != 0) {
			length += (size_t)snprintf(keys + length, sizeof(keys) - length, "%s%s",
				length ? ", " : "", rules[i].key);
			continue;
		}
		switch (rules[i].kind) {
		case KIND_GROUP:
			return set_group(config, &rules[i], value, out_error);
		case KIND_COUNT:
		case KIND_NUMBER:
			return set_number(config, &rules[i], value, out_error);
		default:
			return set_text(&rules[i], (char *)config + rules[i].offset, value,
				out_error);
		}
	}
	return complain(out_error, "there is no key \"%.40s\"; the keys are %.300s", key, keys);
}

/* --- the file --- */

/* What the file said: options of the command line count more, also after it was read again. */
static struct heat_config last_read;

static size_t bytes_of(const struct rule *rule)
{
	return rule->kind == KIND_COUNT     ? sizeof(uint32_t)
		: rule->kind == KIND_NUMBER ? sizeof(double)
					    : rule->room;
}

struct reading {
	struct heat_config config;
	FILE *file;
	bool is_too_long; /* a line is: inih would split it without an error */
	char error[HEAT_TEXT_BYTES];
};

static char *read_line(char *line, int room, void *stream)
{
	struct reading *reading = stream;
	char *read = fgets(line, room, reading->file);

	if (read && !strchr(line, '\n') && !feof(reading->file))
		reading->is_too_long = true;
	return read;
}

static int take_value(void *context, const char *section, const char *key, const char *value)
{
	struct reading *reading = context;

	if (reading->error[0])
		return 0;
	if (strcmp(section, "heat") != 0) {
		complain(reading->error, "\"%.40s\" is in no section [heat]: write [heat] above it",
			key);
		return 0;
	}
	return heat_config_set(&reading->config, key, value, reading->error) == 0;
}

/* What only all values together show. */
static int check_together(const struct heat_config *config, char *out_error)
{
	if (config->rows > config->rows_max)
		return complain(out_error,
			"rows is %u and rows_max %u: lower one or raise the other", config->rows,
			config->rows_max);
	if (config->columns > config->columns_max)
		return complain(out_error,
			"columns is %u and columns_max %u: lower one or raise the other",
			config->columns, config->columns_max);
	return 0;
}

int heat_config_read(struct heat_config *config, const char *path, char *out_error)
{
	struct reading reading = {.config = *config, .file = fopen(path, "re")};
	int line;

	if (!reading.file)
		return complain(out_error, "cannot read %.300s: %s", path, strerror(errno));
	line = ini_parse_stream(read_line, &reading, take_value, &reading);
	fclose(reading.file);
	if (reading.is_too_long)
		return complain(out_error, "%.300s: a line is too long: break it, or shorten it",
			path);
	if (line != 0)
		return complain(out_error, "%.200s:%d: %.280s", path, line,
			reading.error[0]
				? reading.error
				: "this is no line: write \"key = value\", \"[heat]\" or a "
				  "comment that begins with #");
	if (check_together(&reading.config, reading.error) < 0)
		return complain(out_error, "%.200s: %.280s", path, reading.error);
	snprintf(reading.config.path, sizeof(reading.config.path), "%s", path);
	*config = reading.config;
	last_read = reading.config;
	return 0;
}

int heat_config_reload(struct heat_config *config)
{
	const struct heat_config former = last_read;
	struct heat_config read;
	char error[HEAT_TEXT_BYTES];

	if (!config->path[0]) {
		heat_say(HEAT_LOG_WARNING,
			"there is no configuration file to read again: start with "
			"--config FILE");
		return -1;
	}
	heat_config_init(&read);
	if (heat_config_read(&read, config->path, error) < 0) {
		heat_log(HEAT_LOG_ERROR, "%s; the former configuration goes on", error);
		return -1;
	}
	for (size_t i = 0; i < RULES; i++) {
		size_t at = rules[i].offset;

		if (!memcmp((const char *)&former + at, (const char *)&read + at,
			    bytes_of(&rules[i])))
			continue;
		if (rules[i].can_change)
			memcpy((char *)config + at, (char *)&read + at, bytes_of(&rules[i]));
		heat_log(rules[i].can_change ? HEAT_LOG_INFO : HEAT_LOG_WARNING, "%s has changed%s",
			rules[i].key,
			rules[i].can_change ? "" : " in the file: it needs a restart");
	}
	if (former.operators_gid != read.operators_gid)
		config->operators_gid = read.operators_gid;
	return 0;
}

/* --- who may steer --- */

static bool is_in_group(uint32_t uid, uint32_t gid)
{
	const struct passwd *user = getpwuid(uid);
	gid_t groups[256];
	int count = sizeof(groups) / sizeof(groups[0]);

	if (!user || getgrouplist(user->pw_name, user->pw_gid, groups, &count) < 0)
		return false;
	for (int i = 0; i < count; i++) {
		if (groups[i] == gid)
			return true;
	}
	return false;
}

int heat_may_steer(const struct heat_config *config, uint32_t uid, uint32_t gid)
{
	return uid == geteuid() ||
		(config->operators_gid != 0 &&
			(gid == config->operators_gid || is_in_group(uid, config->operators_gid)));
}

void heat_refusal(const struct heat_config *config, uint32_t uid, char *out_text)
{
	const struct passwd *entry = getpwuid(geteuid());
	char owner[64];
	char caller[64];

	snprintf(owner, sizeof(owner), "%s", entry ? entry->pw_name : "the daemon's");
	entry = getpwuid(uid);
	snprintf(caller, sizeof(caller), "%s", entry ? entry->pw_name : "?");
	if (config->operators_gid)
		snprintf(out_text, HEAT_TEXT_BYTES,
			"user %s may watch, not steer: only group %s and user %s may steer", caller,
			config->operators, owner);
	else
		snprintf(out_text, HEAT_TEXT_BYTES,
			"user %s may watch, not steer: only user %s may steer", caller, owner);
}
