/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detail.c - why the memory of one object is not freed, see top.h
 *
 * Memory stays as long as a process holds the object, a token in flight keeps it, or its life says
 * so. Each of these is a line, with what to do about it.
 */
#include "top/top.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "warpway/work_queue_report.h"

struct page {
	char (*lines)[DETAIL_WIDTH];
	size_t count;
};

__attribute__((format(printf, 2, 3))) static void add(struct page *page, const char *format, ...)
{
	va_list arguments;

	if (page->count == DETAIL_LINES)
		return;
	va_start(arguments, format);
	vsnprintf(page->lines[page->count++], DETAIL_WIDTH, format, arguments);
	va_end(arguments);
}

static void add_what(struct page *page, struct view *names, const struct ww_object_info *object)
{
	struct view_text text;
	char left[FORMAT_DURATION_BYTES];

	view_text(names, object, &text);
	add(page, "name      %s", text.name);
	add(page, "id        %s, generation %" PRIu64, text.id, object->generation);
	add(page, "kind      %s, %s, %s", format_kind(object->kind), format_state(object->state),
		text.mode);
	add(page, "bytes     %" PRIu64 " (%s)", object->bytes, text.size);
	add(page, "device    %s", text.device);
	add(page, "owner     %s, put %s ago by pid %u", view_user(names, object->uid), text.age,
		object->pid);
	if (object->left_ns != WW_FOREVER) {
		format_duration(object->left_ns, left);
		add(page, "life      %s, ends in %s", format_life(object->life), left);
	} else {
		add(page, "life      %s", format_life(object->life));
	}
}

/* Of a work queue that the user may read. */
static void add_work_queue(struct page *page, ww_broker *broker,
	const struct ww_object_info *object)
{
	struct ww_work_queue_info info;
	struct work_queue_text text;

	if (!work_queue_report_is_possible(object) ||
		work_queue_report_read(broker, object, &info) != WW_OK)
		return;
	work_queue_report_text(&info, &text);
	add(page, "members   %s%s", text.members, info.is_closed ? ", closed" : "");
	add(page, "frames    %s", text.frames);
	add(page, "totals    %s", text.totals);
}

/* Finds the process of a hold. Return: whether it is in the snapshot. */
static bool find_holder(ww_snapshot *snapshot, uint64_t number, struct ww_holder_info *out)
{
	*out = WW_INIT(struct ww_holder_info);
	for (size_t i = 0; ww_snapshot_holder(snapshot, i, out) == WW_OK; i++) {
		if (out->number == number)
			return true;
	}
	return false;
}

/*
 * Whether it is this program, which holds what it reads rates from. The broker knows it by another
 * number if it runs in another PID namespace; then it is shown as any other process.
 */
static bool is_self(const struct ww_holder_info *holder)
{
	return holder->pid == (uint32_t)getpid() && holder->uid == geteuid();
}

/* How many other processes hold the object of a snapshot. */
static uint32_t count_others(ww_snapshot *snapshot, const struct ww_object_info *object)
{
	struct ww_hold_info hold = WW_INIT(struct ww_hold_info);
	struct ww_holder_info holder;
	uint32_t count = object->holders;

	for (size_t i = 0; count && ww_snapshot_hold(snapshot, i, &hold) == WW_OK; i++) {
		if (!hold.is_escrow && find_holder(snapshot, hold.holder, &holder) &&
			is_self(&holder))
			count--;
	}
	return count;
}

static void add_why(struct page *page, ww_snapshot *snapshot, const struct ww_object_info *object)
{
	uint32_t others = count_others(snapshot, object);

	add(page, "%s", "");
	add(page, "Its memory is not freed, since:");
	if (object->state == WW_STATE_REMOVED)
		add(page, "- it has ended, so the broker has let go; the processes below have not");
	else if (object->life == WW_LIFE_KEPT)
		add(page, "- its life is kept: until `warpway rm`, or its time to live");
	else if (object->life == WW_LIFE_OWNER)
		add(page, "- its life is owner: until process %u ends, or `warpway rm`",
			object->pid);
	if (others)
		add(page, "- %u process%s hold%s it", others, others == 1 ? "" : "es",
			others == 1 ? "s" : "");
	if (object->escrows)
		add(page, "- %u token%s in flight keep%s it", object->escrows,
			object->escrows == 1 ? "" : "s", object->escrows == 1 ? "s" : "");
}

static void add_process(struct page *page, ww_snapshot *snapshot, struct view *names,
	const struct ww_hold_info *hold)
{
	struct ww_holder_info holder;
	char age[FORMAT_DURATION_BYTES];
	char program[WW_PROGRAM_BYTES];

	if (!find_holder(snapshot, hold->holder, &holder))
		return;
	format_duration(hold->age_ns, age);
	format_safe(holder.program, program, sizeof(program));
	add(page, "  pid %-8u %-8s %-5s since %-7s %s%s%s%s", holder.pid,
		view_user(names, holder.uid), format_access(hold->access), age, program,
		is_self(&holder) ? " (this program)" : "", hold->is_creator ? ", its creator" : "",
		holder.is_attached ? "" : ", awaited since a restart");
}

static void add_token(struct page *page, const struct ww_hold_info *hold)
{
	char age[FORMAT_DURATION_BYTES];
	char left[FORMAT_DURATION_BYTES] = "its sender lives";
	char uses[48] = "any number of imports";

	format_duration(hold->age_ns, age);
	if (hold->left_ns != WW_FOREVER)
		format_duration(hold->left_ns, left);
	if (hold->uses)
		snprintf(uses, sizeof(uses), "%u import%s", hold->uses, hold->uses == 1 ? "" : "s");
	if (hold->delivery)
		add(page, "  delivery %" PRIu64 " since %s, for %s more, keeps it while %s",
			hold->delivery, age, uses,
			hold->left_ns == WW_FOREVER ? left : "its time lasts");
	else
		add(page, "  token since %s, for %s more, keeps it for %s", age, uses, left);
}

static void add_holds(struct page *page, ww_snapshot *snapshot, struct view *names)
{
	struct ww_hold_info hold = WW_INIT(struct ww_hold_info);

	add(page, "%s", "");
	for (size_t i = 0; ww_snapshot_hold(snapshot, i, &hold) == WW_OK; i++) {
		if (!hold.is_escrow)
			add_process(page, snapshot, names, &hold);
	}
	for (size_t i = 0; ww_snapshot_hold(snapshot, i, &hold) == WW_OK; i++) {
		if (hold.is_escrow)
			add_token(page, &hold);
	}
}

size_t detail_text(char out_lines[DETAIL_LINES][DETAIL_WIDTH], ww_broker *broker,
	struct view *names, const struct ww_object_info *object)
{
	struct page page = {.lines = out_lines};
	struct ww_object_info now = WW_INIT(struct ww_object_info);
	ww_snapshot *snapshot = NULL;
	ww_status status = ww_snapshot_of_object(broker, object, &snapshot);

	if (status == WW_OK)
		status = ww_snapshot_object(snapshot, 0, &now);
	if (status == WW_OK) {
		add_what(&page, names, &now);
		add_work_queue(&page, broker, &now);
		add_why(&page, snapshot, &now);
		add_holds(&page, snapshot, names);
	} else {
		add_what(&page, names, object);
		add(&page, "%s", "");
		add(&page, "%s",
			status == WW_ERR_NOT_FOUND ? "It has ended, and nothing holds it any more."
						   : ww_error_last()->message);
	}
	ww_snapshot_free(snapshot);
	return page.count;
}
