/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_file.h - what a run of `warpway bench` has measured, as a JSON document
 *
 * The document grows row by row, and is the same in memory, in the file of --output and on standard
 * output. What is read, from a file or from the process of a suite, may be anybody's: it is checked
 * completely first, and used only then. So every name that is in use here consists of letters,
 * digits, '.', '_', '+' and '-', and every number is finite.
 */
#ifndef TOOLS_BENCH_RUN_FILE_H
#define TOOLS_BENCH_RUN_FILE_H

#include <jansson.h>
#include <stdbool.h>

#define RUN_SAMPLES_MAX    1000 /* of a row */
#define RUN_TEXT_BYTES_MAX 1000
#define RUN_NOTES_MAX      1000 /* of a suite */

#define RUN_JSON_FLAGS (JSON_INDENT(2) | JSON_REAL_PRECISION(6))

/* The keys of the heading. */
#define RUN_HEADING_COUNT 5
extern const char *const run_heading[RUN_HEADING_COUNT];

/* Of a suite: what became of it. */
#define RUN_DONE        "done"
#define RUN_SKIPPED     "skipped"
#define RUN_FAILED      "failed"
#define RUN_RUNNING     "running" /* in the file of a run that was killed: it was interrupted */
#define RUN_INTERRUPTED "interrupted"
#define RUN_NOT_RUN     "not run"

/* A document without rows; NULL: no memory. */
json_t *run_create(bool is_quick);

/* Whether it is a row; else why not, in a buffer. */
bool run_row_check(const json_t *row, char *out_why, size_t room);

/*
 * Puts the heading that the process of a suite has sent into the document, unless it has one.
 * Return: 0; -1: it is none.
 */
int run_heading_take(json_t *run, const json_t *heading);
bool run_has_heading(const json_t *run);

/* The entry of a suite in the document, borrowed; it is added as RUN_NOT_RUN. NULL: no memory */
json_t *run_suite_add(json_t *run, const char *name, const char *device);

/* All of these borrow; "-" where there is none. */
const char *run_text(const json_t *object, const char *key);
const json_t *run_results(const json_t *run);
bool run_is_complete(const json_t *run);

/* The number; BENCH_NONE where it is null or there is none. */
double run_number(const json_t *row, const char *key);

/* 1: the goal is met, 0: it is not, -1: there is none. */
int run_met(const json_t *row);

/* Return: 0; -1, or EXIT_CANNOT for a terminal, after saying what went wrong. */
int run_save(const json_t *run, const char *path);

/* Return: the caller's; NULL after saying what is wrong with the file. @path: for people */
json_t *run_parse(const char *text, size_t count, const char *path);
json_t *run_load(const char *path);

static inline void own_json(json_t **json)
{
	json_decref(*json);
}

#endif
