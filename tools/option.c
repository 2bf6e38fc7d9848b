/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.c - what every verb says of its options in the same way
 */
#include "option.h"

#include "number.h"
#include "voice.h"

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

int option_refuse(int result, char *const argv[], const struct option *options)
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

int option_number(const char *name, const char *text, uint64_t minimum, uint64_t maximum,
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

int option_read(int argc, char *argv[], const struct option_set *set, void *context)
{
	int letter;

	opterr = 0;
	while ((letter = getopt_long(argc, argv, set->letters, set->options, NULL)) != -1) {
		int refused;

		if (letter == 'h') {
			fputs(set->help, stdout);
			return EXIT_DONE;
		}
		if (letter == '?' || letter == ':')
			return option_refuse(letter, argv, set->options);
		refused = set->take(context, letter, optarg);
		if (refused)
			return refused;
	}
	return -1;
}

int option_words(int argc, int minimum, int maximum, const char *what)
{
	int count = argc - optind;

	if (count >= minimum && count <= maximum)
		return 0;
	return refuse("%s: %s is needed; see --help",
		count < minimum ? "too few words" : "too many words", what);
}

int option_seconds(const char *name, const char *text, uint64_t minimum_ns, uint64_t *out_ns)
{
	uint64_t ns;

	if (number_parse_seconds(text, &ns) && ns >= minimum_ns) {
		*out_ns = ns;
		return 0;
	}
	return refuse("'--%s %s': seconds are needed, such as 30 or 0.5%s", name, text,
		minimum_ns ? ", and more than none" : "");
}

int option_patience(const char *text, uint64_t *out_ns)
{
	if (!strcmp(text, "forever")) {
		*out_ns = UINT64_MAX;
		return 0;
	}
	return option_seconds("wait", text, 0, out_ns);
}
