/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.h - how the tool and its children speak
 *
 * What a process did goes to standard output, one line each, opened by who it is ("child 4711:
 * ..."). What went wrong goes to standard error, opened by the verb ("warpway demo: ..."). Lines
 * are written whole, so those of several processes never mix.
 */
#ifndef TOOLS_COMMON_SAY_H
#define TOOLS_COMMON_SAY_H

#include <warpway/base.h>

#include <jansson.h>
#include <stddef.h>

/* Exit codes of every verb. */
enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_CANNOT = 2 /* cannot run here, or wrong use */
};

/**
 * report_set() - say who speaks from now on
 * @verb:  kept; such as "demo"
 * @who:   kept; such as "child"; NULL: lines carry no name
 */
void report_set(const char *verb, const char *who);

/**
 * report_capture() - keep what is complained of from now on, in place of printing it
 * @buffer:  kept; holds the first complaint since it was empty; NULL: print again
 */
void report_capture(char *buffer, size_t room);

enum report {
	REPORT_SAY,
	REPORT_COMPLAIN,
	REPORT_RECORD,
	REPORT_REFUSE
};

__attribute__((format(printf, 2, 3))) int report_speak(enum report report, const char *format, ...);

/**
 * report_json() - write a value and a new line to standard output
 * @root:   consumed; NULL: there was no memory to make it
 * @flags:  of json_dumpf()
 * Return: 0; -1 after saying what went wrong.
 */
int report_json(json_t *root, size_t flags);

/* What this process did or sees. */
#define say(...) ((void)report_speak(REPORT_SAY, __VA_ARGS__))

/* What went wrong. Gives -1, so that a failing function can end with it. */
#define complain(...) report_speak(REPORT_COMPLAIN, __VA_ARGS__)

/* The same with the message of the thread's error record behind it. */
#define complain_record(...) report_speak(REPORT_RECORD, __VA_ARGS__)

/* Wrong use, or a place where the verb cannot run. Gives EXIT_CANNOT. */
#define refuse(...) report_speak(REPORT_REFUSE, __VA_ARGS__)

#endif
