/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.h - what the checks of `warpway doctor` have found
 *
 * A result says how one check came out, for the machine or for one device. What the user loses by
 * it and what to do about it stand in a table (advice.c), by the check and the cause.
 *
 * A child that probes prints each result as a line of JSON, and before each probe a line that names
 * it; so the parent knows which probe a child was at when it crashed.
 */
#ifndef TOOLS_DOCTOR_RESULT_H
#define TOOLS_DOCTOR_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define RESULT_FOUND_BYTES  400
#define RESULT_WORD_BYTES   32
#define RESULT_DEVICE_BYTES 48

enum state {
	STATE_WORKS,
	STATE_LIMITED,
	STATE_FAILS,
	STATE_SKIPPED
};

struct result {
	enum state state;
	char check[RESULT_WORD_BYTES];
	char cause[RESULT_WORD_BYTES];    /* empty: as the check's row says */
	char device[RESULT_DEVICE_BYTES]; /* "cuda:0", "cuda:0>cuda:1"; empty: the machine */
	char found[RESULT_FOUND_BYTES];
};

struct results {
	struct result *list;
	size_t count;
	size_t capacity;
	FILE *stream;       /* a child's: each result is printed at once; else NULL */
	const char *device; /* whose results are added now; NULL: the machine's */
};

void results_fini(struct results *results);

/**
 * result_add() - note how a check came out
 * @check:  one of advice.c
 * @cause:  one of advice.c, of that check; NULL: none
 *
 * Out of memory, the process ends: it has nothing left to show.
 */
__attribute__((format(printf, 5, 6))) void result_add(struct results *results, const char *check,
	enum state state, const char *cause, const char *format, ...);

/* A child is about to run a probe. */
void result_begin(const struct results *results, const char *check);

/* NULL: there is none. @device: NULL for the machine's */
const struct result *result_find(const struct results *results, const char *check,
	const char *device);

const char *state_name(enum state state);

/* The text without its end and what is no printable character, cut to the room there is. */
void text_clean(const char *text, char *out_text, size_t room);

/* One line of a child. Return: whether it was a result; else @out_begun has the probe it names. */
bool result_take(struct results *results, const json_t *line, char out_begun[RESULT_WORD_BYTES]);

#endif
