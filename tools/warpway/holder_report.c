/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holder_report.c - who holds what in a broker, and why each object is still there
 */
#include "warpway/holder_report.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "warpway/open_broker.h"
#include "warpway/format.h"

/* Holders that a reason names; of more it tells the number. */
#define NAMED_MAX 3

typedef ww_status (*next_fn)(ww_snapshot *snapshot, size_t index, void *out_item);

static ww_status next_object(ww_snapshot *snapshot, size_t index, void *out_item)
{
	struct ww_object_info *object = out_item;

	object->struct_size = sizeof(*object);
	return ww_snapshot_object(snapshot, index, object);
}

static ww_status next_holder(ww_snapshot *snapshot, size_t index, void *out_item)
{
	struct ww_holder_info *holder = out_item;

	holder->struct_size = sizeof(*holder);
	return ww_snapshot_holder(snapshot, index, holder);
}

static ww_status next_hold(ww_snapshot *snapshot, size_t index, void *out_item)
{
	struct holder_report_hold *hold = out_item;

	hold->info.struct_size = sizeof(hold->info);
	return ww_snapshot_hold(snapshot, index, &hold->info);
}

static char *grow(char *items, size_t *room, size_t item_bytes)
{
	*room = *room ? 2 * *room : 64;
	return reallocarray(items, *room, item_bytes);
}

/* Reads a list to its end. What was read is the caller's on failure too. */
static ww_status read_list(ww_snapshot *snapshot, next_fn next, size_t item_bytes, void *out_items,
	size_t *out_count)
{
	char *items = NULL;
	size_t room = 0;
	size_t count = 0;
	ww_status status;

	do {
		char *grown = count == room ? grow(items, &room, item_bytes) : items;

		if (!grown)
			return WW_ERR_NO_MEMORY;
		items = grown;
		*(char **)out_items = items;
		memset(items + count * item_bytes, 0, item_bytes);
		status = next(snapshot, count, items + count * item_bytes);
		*out_count = count++;
	} while (status == WW_OK);
	return status == WW_END ? WW_OK : status;
}

static ww_status read_lists(struct holder_report *report, ww_snapshot *snapshot)
{
	ww_status status = read_list(snapshot, next_object, sizeof(*report->objects),
		&report->objects, &report->object_count);

	if (status == WW_OK)
		status = read_list(snapshot, next_holder, sizeof(*report->holders),
			&report->holders, &report->holder_count);
	if (status == WW_OK)
		status = read_list(snapshot, next_hold, sizeof(*report->holds), &report->holds,
			&report->hold_count);
	return status;
}

ww_status holder_report_take(struct holder_report *report, ww_broker *broker)
{
	OWN(snapshot) ww_snapshot *snapshot = NULL;
	ww_status status = ww_snapshot_create(broker, NULL,
		WW_SNAPSHOT_OBJECTS | WW_SNAPSHOT_UNNAMED | WW_SNAPSHOT_HOLDERS | WW_SNAPSHOT_HOLDS,
		&snapshot);

	if (status == WW_OK)
		status = read_lists(report, snapshot);
	return status == WW_OK ? holder_report_link(report) : status;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_holders(const void *a, const void *b)
{
	const struct ww_holder_info *first = a;
	const struct ww_holder_info *second = b;

	return compare_numbers(first->number, second->number);
}

static int compare_ids(const uint8_t *a, const uint8_t *b)
{
	return memcmp(a, b, WW_OBJECT_ID_BYTES);
}

/* Makers first, tokens last, then the oldest. */
static int compare_holds(const void *a, const void *b)
{
	const struct ww_hold_info *first = &((const struct holder_report_hold *)a)->info;
	const struct ww_hold_info *second = &((const struct holder_report_hold *)b)->info;
	int order = compare_ids(first->object_id, second->object_id);

	if (order == 0)
		order = compare_numbers(first->is_escrow, second->is_escrow);
	if (order == 0)
		order = compare_numbers(second->is_creator, first->is_creator);
	if (order == 0)
		order = compare_numbers(second->age_ns, first->age_ns);
	return order ? order : compare_numbers(first->holder, second->holder);
}

/* A pool comes before its slices that have names, which are in the list with its id. */
static int compare_objects(const void *a, const void *b)
{
	const struct ww_object_info *first = *(const struct ww_object_info *const *)a;
	const struct ww_object_info *second = *(const struct ww_object_info *const *)b;
	int order = compare_ids(first->object_id, second->object_id);

	if (order == 0)
		order = compare_numbers(second->kind == WW_OBJECT_POOL,
			first->kind == WW_OBJECT_POOL);
	return order;
}

/* How many objects by_id has before those of an id. */
static size_t count_before(const struct holder_report *report, const uint8_t id[WW_OBJECT_ID_BYTES])
{
	size_t low = 0;
	size_t high = report->object_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_ids(report->by_id[middle]->object_id, id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Return: the first of this id; NULL: it is not in the list. */
static const struct ww_object_info *find_object(const struct holder_report *report,
	const uint8_t id[WW_OBJECT_ID_BYTES])
{
	size_t at = count_before(report, id);

	return at < report->object_count && !compare_ids(report->by_id[at]->object_id, id)
		? report->by_id[at]
		: NULL;
}

static void link_hold(struct holder_report *report, struct holder_report_hold *hold)
{
	const struct ww_holder_info holder = {.number = hold->info.holder};

	hold->object = find_object(report, hold->info.object_id);
	if (!hold->info.is_escrow)
		hold->holder = bsearch(&holder, report->holders, report->holder_count,
			sizeof(holder), compare_holders);
}

static int compare_held(const void *a, const void *b)
{
	const struct holder_report_hold *first = *(const struct holder_report_hold *const *)a;
	const struct holder_report_hold *second = *(const struct holder_report_hold *const *)b;
	int order = compare_numbers((uintptr_t)first->holder, (uintptr_t)second->holder);

	return order ? order : compare_numbers((uintptr_t)first->object, (uintptr_t)second->object);
}

static ww_status order_held(struct holder_report *report)
{
	report->held = calloc(report->hold_count + 1, sizeof(const void *));
	if (!report->held)
		return WW_ERR_NO_MEMORY;
	for (size_t i = 0; i < report->hold_count; i++)
		report->held[i] = &report->holds[i];
	qsort(report->held, report->hold_count, sizeof(const void *), compare_held);
	return WW_OK;
}

ww_status holder_report_link(struct holder_report *report)
{
	report->by_id = calloc(report->object_count + 1, sizeof(const void *));
	if (!report->by_id)
		return WW_ERR_NO_MEMORY;
	for (size_t i = 0; i < report->object_count; i++)
		report->by_id[i] = &report->objects[i];
	qsort(report->by_id, report->object_count, sizeof(const void *), compare_objects);
	if (report->holder_count)
		qsort(report->holders, report->holder_count, sizeof(*report->holders),
			compare_holders);
	for (size_t i = 0; i < report->hold_count; i++)
		link_hold(report, &report->holds[i]);
	if (report->hold_count)
		qsort(report->holds, report->hold_count, sizeof(*report->holds), compare_holds);
	return order_held(report);
}

void holder_report_fini(struct holder_report *report)
{
	free(report->objects);
	free(report->holders);
	free(report->holds);
	free(report->held);
	free(report->by_id);
	memset(report, 0, sizeof(*report));
}

const struct holder_report_hold *holder_report_holds(const struct holder_report *report,
	const struct ww_object_info *object, size_t *out_count)
{
	size_t low = 0;
	size_t high = report->hold_count;
	size_t end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_ids(report->holds[middle].info.object_id, object->object_id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < report->hold_count; end++) {
		if (compare_ids(report->holds[end].info.object_id, object->object_id) != 0)
			break;
	}
	*out_count = end - low;
	return end > low ? &report->holds[low] : NULL;
}

/*
 * How many holds come before those of @holder with an object, or, with @after, before those of the
 * next one.
 */
static size_t find_held(const struct holder_report *report, const struct ww_holder_info *holder,
	bool after)
{
	size_t low = 0;
	size_t high = report->hold_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct holder_report_hold *hold = report->held[middle];
		int order = compare_numbers((uintptr_t)hold->holder, (uintptr_t)holder);

		if (order < 0 || (order == 0 && (after || !hold->object)))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct holder_report_hold *const *holder_report_held(const struct holder_report *report,
	const struct ww_holder_info *holder, size_t *out_count)
{
	size_t start = find_held(report, holder, false);

	*out_count = find_held(report, holder, true) - start;
	return *out_count ? &report->held[start] : NULL;
}

struct line {
	char *text;
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void append(struct line *line, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line->text + line->used, HOLDER_REPORT_REASON_BYTES - line->used, format,
		arguments);
	va_end(arguments);
	if (length > 0)
		line->used += (size_t)length;
	if (line->used >= HOLDER_REPORT_REASON_BYTES)
		line->used = HOLDER_REPORT_REASON_BYTES - 1;
}

struct tally {
	size_t processes;
	size_t tokens;
	uint64_t left_ns; /* until the last token ends */
};

static struct tally count_holds(const struct holder_report_hold *holds, size_t count)
{
	struct tally tally = {0};

	for (size_t i = 0; i < count; i++) {
		tally.processes += !holds[i].info.is_escrow;
		tally.tokens += holds[i].info.is_escrow != 0;
		if (holds[i].info.is_escrow && holds[i].info.left_ns > tally.left_ns)
			tally.left_ns = holds[i].info.left_ns;
	}
	return tally;
}

/* Processes come before tokens in the list. */
static void append_processes(struct line *line, const struct holder_report_hold *holds,
	size_t count)
{
	size_t named = count > NAMED_MAX ? NAMED_MAX : count;

	for (size_t i = 0; i < named; i++) {
		char holder[FORMAT_PROCESS_BYTES] = "a process";

		if (holds[i].holder)
			format_process(holds[i].holder->pid, holds[i].holder->program, holder);
		append(line, "%s%s", i ? ", " : "", holder);
	}
	if (count > named)
		append(line, " and %zu more", count - named);
}

/* The time of a delivery begins when its exporter ends. */
static void append_tokens(struct line *line, const struct tally *tally)
{
	char left[FORMAT_DURATION_BYTES];

	append(line, "%zu token%s in ", tally->tokens, tally->tokens == 1 ? "" : "s");
	format_duration(tally->left_ns, left);
	if (tally->left_ns == WW_FOREVER)
		append(line, "flight, while the exporter lives");
	else
		append(line, "escrow, %s left", left);
}

static void append_holds(struct line *line, const struct holder_report_hold *holds, size_t count)
{
	struct tally tally = count_holds(holds, count);

	if (count == 0)
		append(line, "nobody");
	append_processes(line, holds, tally.processes);
	if (tally.processes && tally.tokens)
		append(line, " and ");
	if (tally.tokens)
		append_tokens(line, &tally);
}

/* What is inside another object, such as a former member of a barrier, ends with that. */
static void append_kept_inside(struct line *line, const struct holder_report *report,
	const uint8_t outer_id[WW_OBJECT_ID_BYTES])
{
	const struct ww_object_info *outer = find_object(report, outer_id);
	char name[WW_NAME_BYTES] = "";
	char id[FORMAT_ID_BYTES];

	if (outer)
		format_safe(outer->name, name, sizeof(name));
	format_id(outer_id, id);
	if (name[0])
		append(line, "kept until %s ends", name);
	else
		append(line, "kept until (id %.8s) ends", id);
}

static void append_kept(struct line *line, const struct holder_report *report,
	const struct ww_object_info *object)
{
	uint8_t outer_id[WW_OBJECT_ID_BYTES];
	char left[FORMAT_DURATION_BYTES];

	format_duration(object->left_ns, left);
	if (object->left_ns != WW_FOREVER)
		append(line, "kept, %s left", left);
	else if (object->name[0] == '@' && format_find_id(object->name + 1, outer_id))
		append_kept_inside(line, report, outer_id);
	else
		append(line, "kept, no time to live");
}

/* Its maker is the first of its holders; one that let go of it may still be there. */
static void append_owner(struct line *line, const struct ww_object_info *object,
	const struct holder_report_hold *holds, size_t count)
{
	char maker[FORMAT_PROCESS_BYTES] = "its owner";

	if (count > 0 && holds[0].info.is_creator && holds[0].holder)
		format_process(holds[0].holder->pid, holds[0].holder->program, maker);
	else if (object->pid)
		snprintf(maker, sizeof(maker), "pid %u", object->pid);
	append(line, "until %s ends", maker);
}

/* A memory with several names is in the list with each of them, and each may keep it. */
static void append_other_names(struct line *line, const struct holder_report *report,
	const struct ww_object_info *object)
{
	const char *between = "; also named ";

	for (size_t i = count_before(report, object->object_id); i < report->object_count &&
		!compare_ids(report->by_id[i]->object_id, object->object_id);
		i++) {
		const struct ww_object_info *other = report->by_id[i];
		char name[WW_NAME_BYTES];

		if (other == object || other->generation != object->generation)
			continue;
		format_safe(other->name, name, sizeof(name));
		append(line, "%s'%s'%s", between, name,
			other->life == WW_LIFE_KEPT ? ", kept" : "");
		between = ", ";
	}
}

/* The broker does not know which processes have the slice: the holds are those of the pool. */
static void append_slice(struct line *line, const struct holder_report *report,
	const struct ww_object_info *slice)
{
	size_t count;
	const struct holder_report_hold *holds = holder_report_holds(report, slice, &count);
	char id[FORMAT_ID_BYTES];

	format_id(slice->object_id, id);
	append_owner(line, slice, holds, count);
	append(line, "; a slice of the pool (id %.8s)", id);
}

static void append_reason(struct line *line, const struct holder_report *report,
	const struct ww_object_info *object)
{
	size_t count;
	const struct holder_report_hold *holds = holder_report_holds(report, object, &count);

	if (object->state == WW_STATE_WRITING)
		append(line, "being written; ");
	if (object->state == WW_STATE_REMOVED)
		append(line, "ended, but ");
	else if (object->life == WW_LIFE_KEPT)
		append_kept(line, report, object);
	else if (object->life == WW_LIFE_OWNER)
		append_owner(line, object, holds, count);
	if (object->state != WW_STATE_REMOVED && object->life != WW_LIFE_HELD) {
		if (count == 0)
			return;
		append(line, "; ");
	}
	append(line, "held by ");
	append_holds(line, holds, count);
}

void holder_report_reason(const struct holder_report *report, const struct ww_object_info *object,
	char out_text[HOLDER_REPORT_REASON_BYTES])
{
	struct line line = {.text = out_text};

	out_text[0] = 0;
	if (object->is_slice) {
		append_slice(&line, report, object);
		return;
	}
	append_reason(&line, report, object);
	if (object->kind != WW_OBJECT_POOL)
		append_other_names(&line, report, object);
}
