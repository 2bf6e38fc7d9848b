/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.h - what every verb says of its options in the same way
 */
#ifndef TOOLS_OPTION_H
#define TOOLS_OPTION_H

#include <getopt.h>
#include <stdint.h>

/* All verbs start their option strings so: silent getopt, and a missing argument told apart. */
#define OPTION_SHORT ":h"

/**
 * option_refuse() - say what getopt_long() refused, and what is possible
 * @result:   what getopt_long() returned: '?' or ':'
 * @options:  the verb's, ended by an empty one
 * Return: EXIT_CANNOT.
 */
int option_refuse(int result, char *const argv[], const struct option *options);

/**
 * option_number() - take a number given as an option's argument
 * @name:  of the option, without dashes
 * Return: 0; EXIT_CANNOT after saying what is possible.
 */
int option_number(const char *name, const char *text, uint64_t minimum, uint64_t maximum,
	uint64_t *out_value);

/* Refuses words behind the options. Return: 0 or EXIT_CANNOT. */
int option_no_more(int argc, char *const argv[]);

/**
 * struct option_set - the options of a verb that are taken one by one
 * @letters:  for getopt_long(), begun with OPTION_SHORT
 * @options:  ended by an empty one; --help is 'h'
 * @help:     all that --help prints
 * @take:     takes an option; returns 0, or EXIT_CANNOT after saying why not
 */
struct option_set {
	const char *letters;
	const struct option *options;
	const char *help;
	int (*take)(void *context, int letter, const char *argument);
};

/**
 * option_read() - take all options of a verb; optind is the first word then
 * Return: -1: go on; else the exit code, for there is nothing more to do.
 */
int option_read(int argc, char *argv[], const struct option_set *set, void *context);

/**
 * option_words() - whether as many words stand behind the options as the verb takes
 * @what:  those words, as its help names them
 * Return: 0 or EXIT_CANNOT.
 */
int option_words(int argc, int minimum, int maximum, const char *what);

/**
 * option_seconds() - take a time given as an option's argument, in seconds with decimals
 * @minimum_ns:  least time allowed
 * Return: 0; EXIT_CANNOT after saying what is possible.
 */
int option_seconds(const char *name, const char *text, uint64_t minimum_ns, uint64_t *out_ns);

/* Takes the argument of --wait: seconds as above, or "forever". Return: 0 or EXIT_CANNOT. */
int option_patience(const char *text, uint64_t *out_ns);

#endif
