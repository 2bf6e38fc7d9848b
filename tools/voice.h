/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voice.h - how the tool and its children speak
 *
 * What a process did goes to standard output, one line each, opened by who it is ("child 4711: ...").
 * What went wrong goes to standard error, opened by the verb ("warpway demo: ..."). Lines are
 * written whole, so those of several processes never mix.
 */
#ifndef TOOLS_VOICE_H
#define TOOLS_VOICE_H

#include <warpway/base.h>

/* Exit codes of every verb. */
enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_CANNOT = 2 /* cannot run here, or wrong use */
};

/**
 * voice_set() - say who speaks from now on
 * @verb:  kept; such as "demo"
 * @who:   kept; such as "child"; NULL: lines carry no name
 */
void voice_set(const char *verb, const char *who);

enum voice {
	VOICE_SAY,
	VOICE_COMPLAIN,
	VOICE_RECORD,
	VOICE_REFUSE
};

__attribute__((format(printf, 2, 3))) int voice_speak(enum voice voice, const char *format, ...);

/* What this process did or sees. */
#define say(...) ((void)voice_speak(VOICE_SAY, __VA_ARGS__))

/* What went wrong. Gives -1, so that a failing function can end with it. */
#define complain(...) voice_speak(VOICE_COMPLAIN, __VA_ARGS__)

/* The same with the message of the thread's error record behind it. */
#define complain_record(...) voice_speak(VOICE_RECORD, __VA_ARGS__)

/* Wrong use, or a place where the verb cannot run. Gives EXIT_CANNOT. */
#define refuse(...) voice_speak(VOICE_REFUSE, __VA_ARGS__)

#endif
