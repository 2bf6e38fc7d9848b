/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.h - what every verb says of its options in the same way
 */
#ifndef TOOLS_COMMON_OPTION_H
#define TOOLS_COMMON_OPTION_H

#include <getopt.h>
#include <stddef.h>
#include <stdint.h>

/* Where the argument of an option goes, or what an option without one says. */
enum option_kind {
	OPTION_FLAG,     /* bool: true */
	OPTION_VALUE,    /* uint32_t: .value */
	OPTION_BITS,     /* uint64_t: or'ed with .value */
	OPTION_TEXT,     /* const char *: the argument */
	OPTION_NUMBER,   /* uint64_t: from .value to .maximum */
	OPTION_SECONDS,  /* uint64_t: nanoseconds, at least .value */
	OPTION_PATIENCE, /* uint64_t: nanoseconds, or "forever" */
	OPTION_TAKEN     /* .take says */
};

/* One option of a verb. */
struct option_row {
	const char *name;
	enum option_kind kind;
	size_t offset; /* of the place in the verb's context */
	int letter;    /* 0: it has no short name */
	uint64_t value;
	uint64_t maximum;
	/* @place: likewise. Return: 0, or EXIT_CANNOT after saying why not. */
	int (*take)(void *place, const char *argument);
};

#define OPTION(name_, kind_, type, field, ...)                            \
	{                                                                 \
		name_, OPTION_##kind_, offsetof(type, field), __VA_ARGS__ \
	}

#define OPTION_END \
	{          \
		0  \
	}

#define OPTIONS_MAX 24

/* Refuses words behind the options. Return: 0 or EXIT_CANNOT. */
int option_no_more(int argc, char *const argv[]);

/**
 * option_read() - take all options of a verb; optind is the first word then
 * @rows:     ended by OPTION_END; --help and -h are options of every verb
 * @help:     all that --help prints
 * @context:  the verb's
 * Return: -1: go on; else the exit code, for there is nothing more to do.
 */
int option_read(int argc, char *argv[], const struct option_row *rows, const char *help,
	void *context);

/**
 * option_words() - whether as many words stand behind the options as the verb takes
 * @count:  how many stand there
 * @what:   those words, as its help names them
 * Return: 0 or EXIT_CANNOT.
 */
int option_words(int count, int minimum, int maximum, const char *what);

#endif
