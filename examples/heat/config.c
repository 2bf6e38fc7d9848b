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

enum effect {
	BY_RESTART,
	FOR_NEW, /* simulations only */
	AT_ONCE
};

static const struct rule {
	const char *key;
	enum kind kind;
	size_t offset;
	size_t room; /* of a text */
	double least;
	double most;
	enum effect effect; /* of a change in the file while the daemon runs */
} rules[] = {
#define TEXT(key)                                           \
#key, KIND_TEXT, offsetof(struct heat_config, key), \
		sizeof(((struct heat_config *)NULL)->key)
	{TEXT(name), 0, 0, BY_RESTART},
	{TEXT(kernels), 0, 0, BY_RESTART},
	{TEXT(broker), 0, 0, BY_RESTART},
	{"backend", KIND_BACKEND, offsetof(struct heat_config, backend), 16, 0, 0, BY_RESTART},
	{"group", KIND_GROUP, offsetof(struct heat_config, group), 64, 0, 0, BY_RESTART},
	{"operators", KIND_GROUP, offsetof(struct heat_config, operators), 64, 0, 0, AT_ONCE},
#define COUNT(key, least, most, effect)                                                     \
	{                                                                                   \
#key, KIND_COUNT, offsetof(struct heat_config, key), 0, least, most, effect \
	}
	COUNT(rows, HEAT_CELLS_LEAST, HEAT_CELLS_MOST, FOR_NEW),
	COUNT(columns, HEAT_CELLS_LEAST, HEAT_CELLS_MOST, FOR_NEW),
	COUNT(rows_max, HEAT_CELLS_LEAST, HEAT_CELLS_MOST, BY_RESTART),
	COUNT(columns_max, HEAT_CELLS_LEAST, HEAT_CELLS_MOST, BY_RESTART),
	COUNT(consumers_per_uid_max, 1, 32, BY_RESTART),
#define NUMBER(key, least, most)                                                              \
	{                                                                                     \
#key, KIND_NUMBER, offsetof(struct heat_config, key), 0, least, most, AT_ONCE \
	}
	NUMBER(diffusivity, 1e-9, 1e9),
	NUMBER(steps_per_second_max, 0, 1e9),
	NUMBER(frames_per_second, 0, 1e6),
};

#define RULES (sizeof(rules) / sizeof(rules[0]))

/* Which keys the file or the command line has set, and the line of the file. */
static struct mention {
	bool is_set;
	int line; /* 0: the command line */
} mentions[RULES];

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

/* Components that the broker takes: none is empty, "." or "..". */
static bool is_prefix(const char *name)
{
	const char *end;

	for (; *name; name = end + (*end == '/')) {
		size_t length = strcspn(name, "/");

		end = name + length;
		if (length == 0 || !strncmp(name, "..", length) || (*end == '/' && !end[1]))
			return false;
		for (; name < end; name++) {
			if ((unsigned char)*name < ' ' || *name == 127)
				return false;
		}
	}
	return true;
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
	if (rule->kind == KIND_TEXT && strcmp(rule->key, "broker") != 0 && !is_prefix(value))
		return complain(out_error,
			"\"%.40s\" is wrong for %s: write words with one / between them, such as "
			"%s = lab/heat",
			value, rule->key, rule->key);
	if (!strcmp(rule->key, "broker") && *value && *value != '/')
		return complain(out_error,
			"\"%.40s\" is no absolute path: write broker = /.../broker.sock", value);
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

	if (!strcmp(value, "0") || (entry && entry->gr_gid == 0))
		return complain(out_error,
			"group %.40s cannot be given access: leave %s empty (only the daemon's user "
			"and root have access), or name another group",
			value, rule->key);
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

static int set_by_rule(struct heat_config *config, const struct rule *rule, const char *value,
	char *out_error)
{
	switch (rule->kind) {
	case KIND_GROUP:
		return set_group(config, rule, value, out_error);
	case KIND_COUNT:
	case KIND_NUMBER:
		return set_number(config, rule, value, out_error);
	default:
		return set_text(rule, (char *)config + rule->offset, value, out_error);
	}
}

static int set_at_line(struct heat_config *config, const char *key, const char *value, int line,
	char *out_error)
{
	char keys[HEAT_TEXT_BYTES] = "";
	size_t length = 0;

	for (size_t i = 0; i < RULES; i++) {
		if (strcmp(key, rules[i].key) != 0) {
			length += (size_t)snprintf(keys + length, sizeof(keys) - length, "%s%s",
				length ? ", " : "", rules[i].key);
			continue;
		}
		mentions[i] = (struct mention){.is_set = true, .line = line};
		return set_by_rule(config, &rules[i], value, out_error);
	}
	return complain(out_error, "there is no key \"%.40s\"; the keys are %.300s", key, keys);
}

int heat_config_set(struct heat_config *config, const char *key, const char *value, char *out_error)
{
	return set_at_line(config, key, value, 0, out_error);
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
	int line;
	int wrong_section; /* its line; 0: there is none */
	bool is_too_long;  /* a line is: inih would split it without an error */
	char error[HEAT_TEXT_BYTES];
};

static char *read_line(char *line, int room, void *stream)
{
	struct reading *reading = stream;
	char *read = fgets(line, room, reading->file);

	if (!read)
		return NULL;
	reading->line++;
	if (!strchr(line, '\n') && !feof(reading->file))
		reading->is_too_long = true;
	if (*line != '[' || !strncmp(line, "[heat]", strlen("[heat]")) || !strchr(line, ']'))
		return line;
	complain(reading->error, "there is no section %.*s: there is [heat]",
		(int)strcspn(line, "]") + 1 > 40 ? 40 : (int)strcspn(line, "]") + 1, line);
	reading->wrong_section = reading->line;
	return NULL;
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
	return set_at_line(&reading->config, key, value, reading->line, reading->error) == 0;
}

/* @offset: of a member of struct heat_config */
static int line_of(size_t offset)
{
	for (size_t i = 0; i < RULES; i++) {
		if (rules[i].offset == offset)
			return mentions[i].line;
	}
	return 0;
}

/* @out_line: of the later one of two keys; 0: no line of the file */
static int check_together(const struct heat_config *config, int *out_line, char *out_error)
{
	size_t key = offsetof(struct heat_config, rows);
	size_t other = offsetof(struct heat_config, rows_max);
	int failed = 0;

	if (config->rows > config->rows_max) {
		failed = complain(out_error,
			"rows is %u and rows_max %u: lower one or raise the other", config->rows,
			config->rows_max);
	} else if (config->columns > config->columns_max) {
		key = offsetof(struct heat_config, columns);
		other = offsetof(struct heat_config, columns_max);
		failed = complain(out_error,
			"columns is %u and columns_max %u: lower one or raise the other",
			config->columns, config->columns_max);
	} else if (config->operators[0] && !config->group[0]) {
		key = other = offsetof(struct heat_config, operators);
		failed = complain(out_error,
			"operators is set, and group is not: only members of group can steer, so "
			"set group too");
	}
	*out_line = line_of(key) > line_of(other) ? line_of(key) : line_of(other);
	return failed;
}

int heat_config_check(const struct heat_config *config, char *out_error)
{
	int line;

	return check_together(config, &line, out_error);
}

static void forget_lines(void)
{
	for (size_t i = 0; i < RULES; i++)
		mentions[i].line = 0;
}

/* The number of the wrong line; 0: the whole file, -1: nothing is wrong. */
static int read_all(struct reading *reading)
{
	int line = ini_parse_stream(read_line, reading, take_value, reading);

	if (reading->is_too_long) {
		complain(reading->error, "a line is too long: break it, or shorten it");
		return 0;
	}
	if (reading->wrong_section)
		return reading->wrong_section;
	if (line != 0 && !reading->error[0])
		complain(reading->error,
			"this is no line: write \"key = value\", \"[heat]\" or a comment that "
			"begins with #");
	if (line != 0)
		return line;
	return check_together(&reading->config, &line, reading->error) < 0 ? line : -1;
}

int heat_config_read(struct heat_config *config, const char *path, char *out_error)
{
	struct reading reading = {.config = *config, .file = fopen(path, "re")};
	int line;

	if (!reading.file)
		return complain(out_error, "cannot read %.300s: %s", path, strerror(errno));
	forget_lines();
	line = read_all(&reading);
	fclose(reading.file);
	if (line > 0)
		return complain(out_error, "%.200s:%d: %.280s", path, line, reading.error);
	if (line == 0)
		return complain(out_error, "%.200s: %.280s", path, reading.error);
	snprintf(reading.config.path, sizeof(reading.config.path), "%s", path);
	*config = reading.config;
	last_read = reading.config;
	return 0;
}

static double value_of(const void *from, const struct rule *rule)
{
	uint32_t count;
	double number;

	if (rule->kind == KIND_COUNT) {
		memcpy(&count, (const char *)from + rule->offset, sizeof(count));
		return count;
	}
	memcpy(&number, (const char *)from + rule->offset, sizeof(number));
	return number;
}

void heat_config_compare(const struct heat_config *config, const struct heat_state *state)
{
	const struct heat_config kept = {
		.rows = state->rows,
		.columns = state->columns,
		.diffusivity = state->diffusivity,
		.steps_per_second_max = state->steps_per_second_max,
	};
	static const char *const keys[] = {"rows", "columns", "diffusivity",
		"steps_per_second_max"};

	for (size_t i = 0; i < RULES; i++) {
		bool is_kept = false;

		for (size_t j = 0; j < sizeof(keys) / sizeof(keys[0]); j++)
			is_kept |= !strcmp(rules[i].key, keys[j]);
		if (!is_kept || !mentions[i].is_set ||
			value_of(&kept, &rules[i]) == value_of(config, &rules[i]))
			continue;
		heat_log(HEAT_LOG_NOTICE,
			"the kept simulation has %s = %g; %s = %g of the configuration is for a new "
			"one (--new)",
			rules[i].key, value_of(&kept, &rules[i]), rules[i].key,
			value_of(config, &rules[i]));
	}
}

static void log_change(const struct heat_config *config, const struct rule *rule)
{
	if (rule->effect == AT_ONCE)
		heat_log(HEAT_LOG_INFO, "%s has changed", rule->key);
	else if (rule->effect == BY_RESTART)
		heat_log(HEAT_LOG_WARNING, "%s has changed in the file: it needs a restart",
			rule->key);
	else
		heat_log(HEAT_LOG_WARNING,
			"%s has changed in the file: it holds for the next new simulation (heatd "
			"--new); now: warpway call %s/steer resolution",
			rule->key, config->name);
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
		if (rules[i].effect == AT_ONCE)
			memcpy((char *)config + at, (char *)&read + at, bytes_of(&rules[i]));
		log_change(config, &rules[i]);
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
