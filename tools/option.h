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

#endif
