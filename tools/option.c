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
