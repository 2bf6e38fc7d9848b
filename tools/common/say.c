/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.c - how the tool and its children speak
 *
 * One name for the process, set once. A line is made whole in a buffer and written by one call,
 * because several processes share the terminal.
 */
#include "common/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_BYTES 1024

static const char *report_verb;
static const char *report_who;

static char *captured; /* NULL: complaints are printed */
static size_t captured_room;

void report_set(const char *verb, const char *who)
{
	report_verb = verb;
	report_who = who;
}

void report_capture(char *buffer, size_t room)
{
	captured = buffer;
	captured_room = room;
}

/* "child 4711: ", or nothing. */
static void name_self(char *out_name, size_t room)
{
	out_name[0] = 0;
	if (report_who)
		snprintf(out_name, room, "%s %d: ", report_who, (int)getpid());
}

/* What is quoted may be anybody's: a line stays a line, and commands nothing to a terminal. */
static void hush(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
	}
}

static void write_complaint(const char *text, const char *reason)
{
	char name[64];
	char line[LINE_BYTES + 2 + WW_ERROR_MESSAGE_BYTES];

	name_self(name, sizeof(name));
	snprintf(line, sizeof(line), "%s%s%s", text, reason ? ": " : "", reason ? reason : "");
	hush(line);
	if (captured) {
		if (!captured[0])
			snprintf(captured, captured_room, "%s", line);
		return;
	}
	fflush(stdout);
	fprintf(stderr, "warpway%s%s: %s%s\n", report_verb ? " " : "",
		report_verb ? report_verb : "", name, line);
}

static void write_line(const char *text)
{
	char name[64];

	name_self(name, sizeof(name));
	fprintf(stdout, "%s%s\n", name, text);
	fflush(stdout);
}

int report_speak(enum report report, const char *format, ...)
{
	char text[LINE_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (report == REPORT_SAY)
		write_line(text);
	else
		write_complaint(text, report == REPORT_RECORD ? ww_error_last()->message : NULL);
	return report == REPORT_REFUSE ? EXIT_CANNOT : -1;
}

int report_json(json_t *root, size_t flags)
{
	int failed = root ? json_dumpf(root, stdout, flags) : -1;

	fputc('\n', stdout);
	json_decref(root);
	return failed ? complain("cannot write the result as JSON") : 0;
}
