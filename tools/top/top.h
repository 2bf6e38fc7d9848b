/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top.h - the program `warpway-top`, which `warpway top` becomes: a broker, second by second
 *
 * A refresh asks the broker for its sums and for the rows on the screen, never for a list of
 * everything (monitor.h). Frames of channels and calls of services are read in the pages that their
 * processes share, by observers: these take no consumer's place and no slot. A work queue is opened
 * as a keeper for each look.
 *
 *   sample   what the broker said, twice: rates are the difference
 *   meter    frames and calls of the channels, work queues and services on the screen
 *   table    the sample as rows of text, for the screen, for --once and for sorting
 *   screen   the table on a terminal; keys
 */
#ifndef TOOLS_TOP_TOP_H
#define TOOLS_TOP_TOP_H

#include <warpway/monitor.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "warpway/object_view.h"

#define TOP_ROWS_MOST 256 /* on one screen */
#define TOP_PAGES     512 /* that a user can go back */
#define TOP_WORD      128

enum top_view {
	TOP_OBJECTS,
	TOP_PROCESSES,
	TOP_USERS,
	TOP_DEVICES,
	TOP_REQUESTS,
	TOP_VIEWS
};

/* What the user wants to see. */
struct wish {
	enum top_view view;
	uint32_t rows;         /* on the screen */
	uint32_t kind;         /* of objects; 0: any */
	bool is_own;           /* only the caller's */
	char prefix[TOP_WORD]; /* of names of objects; elsewhere a part of any cell */
	int sort;              /* column; -1: as it comes */
	bool is_reversed;
	/* Where pages of objects and of processes begin; both 0 at the first. */
	struct {
		uint64_t bytes;
		uint64_t number;
	} places[TOP_PAGES];
	uint32_t page;
};

/* --- sample.c --- */

struct sample {
	uint64_t at_ns;
	ww_totals *totals; /* NULL: the broker did not answer */
	struct ww_broker_totals all;
	struct ww_broker_info info;
	ww_snapshot *rows; /* objects or processes on the screen; NULL: none were asked for */
	bool has_next_page;
	uint64_t next_bytes, next_number;
	char fault[256]; /* why it did not answer */
};

/* Asks. @broker: NULL: not connected, so it connects. */
void sample_take(struct sample *sample, const char *address, ww_broker **broker,
	const struct wish *wish);
void sample_free(struct sample *sample);

/* Requests, or refusals, of one user, or of all (uid ignored). Rates are per second. */
double sample_rate_all(const struct sample *now, const struct sample *before, bool is_refused);
double sample_rate_user(const struct sample *now, const struct sample *before, uint32_t uid,
	bool is_refused);
double sample_rate_request(const struct sample *now, const struct sample *before,
	const struct ww_request_total *row);

/* --- meter.c --- */

/* Frames or calls per second of an object. Return: a negative number: not known. */
double meter_rate(ww_broker *broker, const struct ww_object_info *object);

/* Gives up the observers of what was not asked for since the last call. */
void meter_sweep(void);
void meter_close(void);

/* --- table.c --- */

struct cell {
	char text[TOP_WORD];
	double number; /* what it is sorted by, if the column has numbers */
};

struct column {
	const char *title;
	int width; /* 0: what is left; only the last one */
	bool is_number;
};

#define TOP_COLUMNS 9

struct rows {
	const struct column *columns;
	size_t column_count;
	size_t count;
	struct cell cells[TOP_ROWS_MOST][TOP_COLUMNS];
	uint32_t order[TOP_ROWS_MOST]; /* rows as they are shown */
};

/* Fills the rows of the view. */
void rows_fill(struct rows *rows, const struct wish *wish, ww_broker *broker, struct view *names,
	const struct sample *now, const struct sample *before);

const struct column *top_columns(enum top_view view, size_t *out_count);
const char *top_view_name(enum top_view view);

/* Lines above the table: how the broker is. Return: how many. */
#define TOP_HEAD 3
void head_text(char out_lines[TOP_HEAD][160], const struct sample *now, const struct sample *before,
	const char *address);

/* --- detail.c: why the memory of one object is not freed --- */

#define DETAIL_LINES 64
#define DETAIL_WIDTH 160

/* Return: how many lines. */
size_t detail_text(char out_lines[DETAIL_LINES][DETAIL_WIDTH], ww_broker *broker,
	struct view *names, const struct ww_object_info *object);

/* --- json.c --- */

int top_json(const char *address, ww_broker **broker, struct wish *wish, struct view *names,
	uint64_t interval_ns);

/* --- screen.c --- */

/* Until the user ends it. Return: the exit code. */
int screen_run(const char *address, ww_broker **broker, struct wish *wish, struct view *names,
	uint64_t interval_ns);

#endif
