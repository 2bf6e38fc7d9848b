/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.c - what every verb says of its options in the same way
 */
#include "common/option.h"

#include "common/number.h"
#include "common/say.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void list_options(const struct option *options, char *out_text, size_t room)
{
	size_t used = 0;

	out_text[0] = 0;
	for (const struct option *option = options; option->name && used < room; option++)
		used += (size_t)snprintf(out_text + used, room - used, "%s--%s", used ? ", " : "",
			option->name);
}

static int option_refuse(int result, char *const argv[], const struct option *options)
{
	const char *word = argv[optind - 1];
	char list[512];

	if (result == ':')
		return refuse("option '%s' needs a value", word);
	for (const struct option *option = options; option->name; option++) {
		if (optopt == option->val && option->has_arg == no_argument && strchr(word, '='))
			return refuse("option '--%s' takes no value", option->name);
	}
	list_options(options, list, sizeof(list));
	if (optopt && word[0] == '-' && word[1] != '-')
		return refuse("unknown option '-%c'; possible are %s", optopt, list);
	return refuse("unknown option '%s'; possible are %s", word, list);
}

static int option_number(const char *name, const char *text, uint64_t minimum, uint64_t maximum,
	uint64_t *out_value)
{
	if (number_parse(text, minimum, maximum, out_value))
		return 0;
	return refuse("'--%s %s': a whole number from %llu to %llu is needed", name, text,
		(unsigned long long)minimum, (unsigned long long)maximum);
}

int option_no_more(int argc, char *const argv[])
{
	if (optind == argc)
		return 0;
	return refuse("unexpected word '%s'; only options are possible here", argv[optind]);
}

int option_words(int count, int minimum, int maximum, const char *what)
{
	if (count >= minimum && count <= maximum)
		return 0;
	return refuse("%s: %s is needed; see --help",
		count < minimum ? "too few words" : "too many words", what);
}

static int option_seconds(const char *name, const char *text, uint64_t minimum_ns, uint64_t *out_ns)
{
	uint64_t ns;

	if (number_parse_seconds(text, &ns) && ns >= minimum_ns) {
		*out_ns = ns;
		return 0;
	}
	return refuse("'--%s %s': seconds are needed, such as 30 or 0.5%s", name, text,
		minimum_ns ? ", and more than none" : "");
}

static int option_patience(const char *name, const char *text, uint64_t *out_ns)
{
	if (!strcmp(text, "forever")) {
		*out_ns = UINT64_MAX;
		return 0;
	}
	return option_seconds(name, text, 0, out_ns);
}

static bool has_argument(const struct option_row *row)
{
	return row->kind >= OPTION_TEXT && row->kind <= OPTION_TAKEN;
}

/* Return: 0, or EXIT_CANNOT. */
static int option_take(const struct option_row *row, void *context, const char *argument)
{
	void *place = (char *)context + row->offset;

	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)place = true;
		return 0;
	case OPTION_VALUE:
		*(uint32_t *)place = (uint32_t)row->value;
		return 0;
	case OPTION_BITS:
		*(uint64_t *)place |= row->value;
		return 0;
	case OPTION_TEXT:
		*(const char **)place = argument;
		return 0;
	case OPTION_NUMBER:
		return option_number(row->name, argument, row->value, row->maximum, place);
	case OPTION_SECONDS:
		return option_seconds(row->name, argument, row->value, place);
	case OPTION_PATIENCE:
		return option_patience(row->name, argument, place);
	case OPTION_TAKEN:
		break;
	}
	return row->take(place, argument);
}

/*
 * An option's value for getopt_long() is its letter, or its place in the table behind all letters.
 */
#define BEHIND_LETTERS 256

/* What getopt_long() wants. Return: how many rows there are. */
static size_t option_prepare(const struct option_row *rows, struct option out_options[],
	char *out_letters)
{
	size_t count = 0;

	*out_letters++ = ':';
	*out_letters++ = 'h';
	for (; rows[count].name; count++) {
		const struct option_row *row = &rows[count];

		out_options[count] = (struct option){
			.name = row->name,
			.has_arg = has_argument(row) ? required_argument : no_argument,
			.val = row->letter ? row->letter : BEHIND_LETTERS + (int)count,
		};
		if (!row->letter)
			continue;
		*out_letters++ = (char)row->letter;
		if (has_argument(row))
			*out_letters++ = ':';
	}
	*out_letters = 0;
	out_options[count] = (struct option){"help", no_argument, NULL, 'h'};
	out_options[count + 1] = (struct option){0};
	return count;
}

int option_read(int argc, char *argv[], const struct option_row *rows, const char *help,
	void *context)
{
	struct option options[OPTIONS_MAX + 2];
	char letters[2 * OPTIONS_MAX + 3];
	size_t count = option_prepare(rows, options, letters);
	int letter;

	opterr = 0;
	while ((letter = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		int refused = 0;

		if (letter == 'h')
			return fputs(help, stdout) < 0 ? EXIT_FAILED : EXIT_DONE;
		if (letter == '?' || letter == ':')
			return option_refuse(letter, argv, options);
		for (size_t i = 0; i < count && !refused; i++) {
			if (options[i].val == letter)
				refused = option_take(&rows[i], context, optarg);
		}
		if (refused)
			return refused;
	}
	return -1;
}
