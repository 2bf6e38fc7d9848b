/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - the views as rows of text, see top.h
 *
 * A terminal of 80 columns shows all columns; the last one gets what is left.
 */
#include "top/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// clang-format off
static const struct column object_columns[] = {
	{"BYTES", 9, true}, {"DEVICE", 8, false}, {"KIND", 10, false}, {"STATE", 7, false},
	{"HELD", 4, true}, {"TOK", 3, true}, {"USER", 8, false}, {"RATE/s", 7, true},
	{"NAME", 0, false},
};
static const struct column process_columns[] = {
	{"HELD", 9, true}, {"OBJS", 5, true}, {"PUT", 9, true}, {"OBJS", 5, true},
	{"USER", 8, false}, {"PID", 7, true}, {"AGE", 7, true}, {"STATE", 7, false},
	{"PROGRAM", 0, false},
};
static const struct column user_columns[] = {
	{"USER", 8, false}, {"BYTES/LIMIT", 15, true}, {"HOST/LIMIT", 15, true},
	{"OBJECTS/LIM", 12, true}, {"FDS/LIMIT", 12, true}, {"REQ/s", 6, true},
	{"REF/s", 0, true},
};
static const struct column device_columns[] = {
	{"DEVICE", 14, false}, {"USER", 8, false}, {"KIND", 10, false}, {"OBJECTS", 8, true},
	{"BYTES", 10, true}, {"ENDED", 8, true}, {"BYTES ENDED", 0, true},
};
static const struct column request_columns[] = {
	{"REQUEST", 16, false}, {"OF THESE REFUSED FOR", 20, false}, {"COUNT", 14, true}, {"PER SECOND", 0, true},
};

static const struct {
	const char *name;
	const struct column *columns;
	size_t count;
} views[TOP_VIEWS] = {
	[TOP_OBJECTS] = {"objects", object_columns, 9},
	[TOP_PROCESSES] = {"processes", process_columns, 9},
	[TOP_USERS] = {"users", user_columns, 7},
	[TOP_DEVICES] = {"devices", device_columns, 7},
	[TOP_REQUESTS] = {"requests", request_columns, 4},
};
// clang-format on

const struct column *top_columns(enum top_view view, size_t *out_count)
{
	*out_count = views[view].count;
	return views[view].columns;
}

const char *top_view_name(enum top_view view)
{
	return views[view].name;
}

/* --- cells --- */

/* "12.3G": five columns at most. */
static void short_size(uint64_t bytes, char *out, size_t room)
{
	static const char units[] = "BKMGTPE";
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 999.5 && units[unit + 1]) {
		value /= 1024;
		unit++;
	}
	snprintf(out, room, value < 99.95 && unit > 0 ? "%.1f%c" : "%.0f%c", value, units[unit]);
}

static void short_count(uint64_t count, char *out, size_t room)
{
	static const char units[] = " kMGTPE";
	double value = (double)count;
	size_t unit = 0;

	while (value >= 99999.5 && units[unit + 1]) {
		value /= 1000;
		unit++;
	}
	if (unit == 0)
		snprintf(out, room, "%.0f", value);
	else
		snprintf(out, room, "%.0f%c", value, units[unit]);
}

static void set_text(struct cell *cell, const char *text)
{
	format_safe(text, cell->text, sizeof(cell->text));
}

static void set_size(struct cell *cell, uint64_t bytes)
{
	short_size(bytes, cell->text, sizeof(cell->text));
	cell->number = (double)bytes;
}

static void set_count(struct cell *cell, uint64_t count)
{
	short_count(count, cell->text, sizeof(cell->text));
	cell->number = (double)count;
}

static void set_rate(struct cell *cell, double rate)
{
	cell->number = rate;
	if (rate < 0)
		snprintf(cell->text, sizeof(cell->text), "-");
	else if (rate < 100)
		snprintf(cell->text, sizeof(cell->text), "%.1f", rate);
	else
		short_count((uint64_t)(rate + 0.5), cell->text, sizeof(cell->text));
}

/* Used and limit; sorted by what is used. */
static void set_share(struct cell *cell, uint64_t used, uint64_t limit, bool is_size)
{
	void (*write)(uint64_t, char *, size_t) = is_size ? short_size : short_count;
	char have[32];
	char most[32] = "-";

	write(used, have, sizeof(have));
	if (limit)
		write(limit, most, sizeof(most));
	snprintf(cell->text, sizeof(cell->text), "%s/%s", have, most);
	cell->number = (double)used;
}

/* --- rows --- */

static struct cell *next_row(struct rows *rows)
{
	struct cell *row;

	if (rows->count == TOP_ROWS_MOST)
		return NULL;
	row = rows->cells[rows->count++];
	memset(row, 0, sizeof(rows->cells[0]));
	return row;
}

static void add_object(struct rows *rows, ww_broker *broker, struct view *names,
	const struct ww_object_info *object)
{
	struct cell *row = next_row(rows);
	char device[FORMAT_UUID_BYTES];
	struct view_text text;

	if (!row)
		return;
	view_text(names, object, &text);
	view_device(names, object->home_uuid, object->memory_kind, device);
	device[8] = 0; /* "GPU-ee2f": the detail view has all of it */
	set_size(&row[0], object->bytes);
	set_text(&row[1], device);
	set_text(&row[2], format_kind(object->kind));
	set_text(&row[3], format_state(object->state));
	set_count(&row[4], object->holders);
	set_count(&row[5], object->escrows);
	set_text(&row[6], view_user(names, object->uid));
	set_rate(&row[7], meter_rate(broker, object));
	set_text(&row[8], text.name);
}

static void add_process(struct rows *rows, struct view *names, const struct ww_holder_info *holder)
{
	struct cell *row = next_row(rows);

	if (!row)
		return;
	set_size(&row[0], holder->held_bytes);
	set_count(&row[1], holder->held);
	set_size(&row[2], holder->put_bytes);
	set_count(&row[3], holder->put);
	set_text(&row[4], view_user(names, holder->uid));
	snprintf(row[5].text, sizeof(row[5].text), "%u", holder->pid);
	row[5].number = holder->pid;
	format_duration(holder->age_ns, row[6].text);
	row[6].number = (double)holder->age_ns;
	set_text(&row[7], holder->is_attached ? "here" : "awaited");
	set_text(&row[8], holder->program);
}

static void add_user(struct rows *rows, struct view *names, const struct sample *now,
	const struct sample *before, const struct ww_user_total *user)
{
	struct cell *row = next_row(rows);

	if (!row)
		return;
	set_text(&row[0], view_user(names, user->uid));
	set_share(&row[1], user->bytes, user->bytes_limit, true);
	set_share(&row[2], user->host_bytes, user->host_bytes_limit, true);
	set_share(&row[3], user->objects, user->objects_limit, false);
	set_share(&row[4], user->fds, user->fds_limit, false);
	set_rate(&row[5], sample_rate_user(now, before, user->uid, false));
	set_rate(&row[6], sample_rate_user(now, before, user->uid, true));
}

static void add_device(struct rows *rows, struct view *names, const struct ww_device_total *device)
{
	struct cell *row = next_row(rows);
	char text[FORMAT_UUID_BYTES] = "others";

	if (!row)
		return;
	if (!device->is_others)
		view_device(names, device->home_uuid, 0, text);
	set_text(&row[0], text);
	set_text(&row[1], view_user(names, device->uid));
	set_text(&row[2], format_kind(device->kind));
	set_count(&row[3], device->objects);
	set_size(&row[4], device->bytes);
	set_count(&row[5], device->removed);
	set_size(&row[6], device->removed_bytes);
}

static void add_request(struct rows *rows, const struct sample *now, const struct sample *before,
	const struct ww_request_total *request)
{
	const char *name = ww_status_name(request->status);
	struct cell *row = next_row(rows);

	if (!row)
		return;
	set_text(&row[0], request->request);
	set_text(&row[1], request->status ? name + (strncmp(name, "WW_ERR_", 7) ? 3 : 7) : "");
	set_count(&row[2], request->count);
	set_rate(&row[3], sample_rate_request(now, before, request));
}

/* --- a view --- */

static void fill_from_totals(struct rows *rows, const struct wish *wish, struct view *names,
	const struct sample *now, const struct sample *before)
{
	struct ww_user_total user = WW_INIT(struct ww_user_total);
	struct ww_device_total device = WW_INIT(struct ww_device_total);
	struct ww_request_total request = WW_INIT(struct ww_request_total);

	for (size_t i = 0;
		wish->view == TOP_USERS && ww_totals_user(now->totals, i, &user) == WW_OK; i++) {
		if (!wish->is_own || user.uid == geteuid())
			add_user(rows, names, now, before, &user);
	}
	for (size_t i = 0;
		wish->view == TOP_DEVICES && ww_totals_device(now->totals, i, &device) == WW_OK;
		i++) {
		if (!wish->is_own || device.uid == geteuid())
			add_device(rows, names, &device);
	}
	for (size_t i = 0;
		wish->view == TOP_REQUESTS && ww_totals_request(now->totals, i, &request) == WW_OK;
		i++)
		add_request(rows, now, before, &request);
}

static void fill_from_snapshot(struct rows *rows, const struct wish *wish, ww_broker *broker,
	struct view *names, const struct sample *now)
{
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	struct ww_holder_info holder = WW_INIT(struct ww_holder_info);

	for (size_t i = 0;
		wish->view == TOP_OBJECTS && ww_snapshot_object(now->rows, i, &object) == WW_OK;
		i++)
		add_object(rows, broker, names, &object);
	for (size_t i = 0;
		wish->view == TOP_PROCESSES && ww_snapshot_holder(now->rows, i, &holder) == WW_OK;
		i++)
		add_process(rows, names, &holder);
}

/* qsort() has no context: one thread sorts at a time. */
static const struct rows *sorted;
static const struct wish *sorted_as;

static int compare_rows(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;
	const struct cell *one = &sorted->cells[a][sorted_as->sort];
	const struct cell *two = &sorted->cells[b][sorted_as->sort];
	int order = sorted->columns[sorted_as->sort].is_number
		? (one->number < two->number) - (one->number > two->number)
		: strcmp(one->text, two->text);

	if (order == 0)
		return (a > b) - (a < b);
	return sorted_as->is_reversed ? -order : order;
}

/* Whether any cell contains what the user looks for. */
static bool row_matches(const struct rows *rows, uint32_t row, const struct wish *wish)
{
	if (!wish->prefix[0] || wish->view == TOP_OBJECTS)
		return true;
	for (size_t i = 0; i < rows->column_count; i++) {
		if (strstr(rows->cells[row][i].text, wish->prefix))
			return true;
	}
	return false;
}

void rows_fill(struct rows *rows, const struct wish *wish, ww_broker *broker, struct view *names,
	const struct sample *now, const struct sample *before)
{
	size_t shown = 0;

	rows->columns = top_columns(wish->view, &rows->column_count);
	rows->count = 0;
	if (now->totals && now->rows)
		fill_from_snapshot(rows, wish, broker, names, now);
	else if (now->totals)
		fill_from_totals(rows, wish, names, now, before);
	meter_sweep();
	for (uint32_t i = 0; i < rows->count; i++) {
		if (row_matches(rows, i, wish))
			rows->order[shown++] = i;
	}
	rows->count = shown;
	if (wish->sort >= 0 && (size_t)wish->sort < rows->column_count) {
		sorted = rows;
		sorted_as = wish;
		qsort(rows->order, rows->count, sizeof(rows->order[0]), compare_rows);
	}
}

void head_text(char out_lines[TOP_HEAD][160], const struct sample *now, const struct sample *before,
	const char *address)
{
	const struct ww_broker_totals *all = &now->all;
	char up[FORMAT_DURATION_BYTES];
	char bytes[32];
	char memory[32];
	char rate[2][32];

	out_lines[1][0] = out_lines[2][0] = 0;
	if (!now->totals) {
		snprintf(out_lines[0], 160, "warpway top: no answer");
		snprintf(out_lines[1], 160, "%.159s", now->fault);
		return;
	}
	format_duration(now->info.up_ns, up);
	short_size(all->bytes, bytes, sizeof(bytes));
	short_size(now->info.memory_bytes, memory, sizeof(memory));
	for (int i = 0; i < 2; i++)
		snprintf(rate[i], sizeof(rate[i]), "%.1f", sample_rate_all(now, before, i == 1));
	snprintf(out_lines[0], 160, "warpway top: %s, up %s, %u restarts, protocol %u%s", address,
		up, now->info.restarts, now->info.protocol,
		all->is_all ? "" : ", sums of your user only");
	snprintf(out_lines[1], 160,
		"%" PRIu64 " objects, %s, %" PRIu64 " processes, %" PRIu64 " holds, %" PRIu64
		" waits, broker's own memory %s",
		all->objects, bytes, all->holders, all->holds, all->waits, memory);
	snprintf(out_lines[2], 160,
		"requests %s/s, refused %s/s, fds %" PRIu64 "/%" PRIu64 ", connections %" PRIu64
		"/%" PRIu64,
		rate[0], rate[1], all->fds, all->fds_limit, all->connections,
		all->connections_limit);
}
