/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the program `warpway-top`: its options, see top.h
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/interrupt.h"
#include "common/option.h"
#include "common/say.h"
#include "common/standard_streams.h"
#include "common/table.h"
#include "top/top.h"
#include "warpway/open_broker.h"

static struct settings {
	const char *address;
	const char *view;
	uint64_t interval_ns;
	uint64_t rows;
	bool once;
	bool json;
	bool own;
	bool numeric;
} settings = {.interval_ns = 1000000000, .rows = 40};

static const struct option_row options[] = {
	OPTION("interval", SECONDS, struct settings, interval_ns, .value = 100000000),
	OPTION("view", TEXT, struct settings, view),
	OPTION("own", FLAG, struct settings, own),
	OPTION("once", FLAG, struct settings, once),
	OPTION("rows", NUMBER, struct settings, rows, .value = 1, .maximum = TOP_ROWS_MOST),
	OPTION("json", FLAG, struct settings, json),
	OPTION("numeric", FLAG, struct settings, numeric, .letter = 'n'),
	OPTION("broker", TEXT, struct settings, address),
	OPTION_END,
};

static const char help[] =
	"Usage: warpway top [OPTION...]\n\n"
	"Shows a broker, second by second: the largest objects and processes, users and their quotas,\n"
	"devices, requests; frames of channels and work queues, and calls of services, per second.\n"
	"Enter tells why the memory of an object is not freed, and what a work queue has; h tells all\n"
	"keys. No broker is started.\n\n"
	"  --interval S      seconds between two refreshes, at least 0.1 (default: 1)\n"
	"  --view VIEW       begin with objects, processes, users, devices or requests\n"
	"  --own             only what is yours\n"
	"  --once            print the view once; rates are those of one interval\n"
	"  --rows N          with --once: rows of objects and of processes (default: 40)\n"
	"  --json            with --once: one object with all views; the keys are in warpway(1)\n"
	"  -n, --numeric     users by number\n" BROKER_HELP "\n  warpway top --view users\n"
	"  warpway top --once --json | jq '.users[].bytes'\n\n" BROKER_EXIT_HELP;

static void print_rows(const struct rows *rows)
{
	char align[TOP_COLUMNS + 1] = "";
	struct table table;

	for (size_t i = 0; i < rows->column_count; i++)
		align[i] = rows->columns[i].is_number ? 'r' : 'l';
	table_init(&table, align);
	for (size_t i = 0; i < rows->column_count; i++)
		table_add(&table, "%s", rows->columns[i].title);
	for (size_t row = 0; row < rows->count; row++) {
		for (size_t i = 0; i < rows->column_count; i++)
			table_add(&table, "%s", rows->cells[rows->order[row]][i].text);
	}
	table_print(&table, stdout);
	table_fini(&table);
}

/* A view as text: two samples, and what lies between them. */
static int print_once(ww_broker **broker, struct wish *wish, struct view *names)
{
	static struct rows rows;
	char head[TOP_HEAD][160];
	struct sample before, now;
	int code = EXIT_DONE;

	sample_take(&before, settings.address, broker, wish);
	rows_fill(&rows, wish, *broker, names, &before, &before);
	if (before.totals)
		(void)interrupt_sleep(before.at_ns + settings.interval_ns);
	sample_take(&now, settings.address, broker, wish);
	if (now.totals) {
		rows_fill(&rows, wish, *broker, names, &now, &before);
		head_text(head, &now, &before, ww_broker_address(*broker));
		for (int i = 0; i < TOP_HEAD; i++)
			printf("%s\n", head[i]);
		print_rows(&rows);
	} else {
		code = refuse("%s", now.fault);
	}
	sample_free(&before);
	sample_free(&now);
	return code;
}

static int find_view(enum top_view *out_view)
{
	for (int view = 0; settings.view && view < TOP_VIEWS; view++) {
		if (!strcmp(settings.view, top_view_name((enum top_view)view))) {
			*out_view = (enum top_view)view;
			return 0;
		}
	}
	return settings.view ? refuse("there is no view '%s'; `warpway top --help` names the views",
				       settings.view)
			     : 0;
}

static int run(void)
{
	static struct wish wish = {.sort = -1};
	static struct view names;
	ww_broker *broker = NULL;
	int code = find_view(&wish.view);

	if (code)
		return code;
	if (settings.json && !settings.once)
		return refuse("--json goes with --once");
	if (!settings.once && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		return refuse("this is no terminal; see warpway top --once");
	if (interrupt_open() < 0)
		return EXIT_FAILED;
	wish.rows = (uint32_t)settings.rows;
	wish.is_own = settings.own;
	names.numeric = settings.numeric;
	view_init(&names);
	if (settings.json)
		code = top_json(settings.address, &broker, &wish, &names, settings.interval_ns);
	else if (settings.once)
		code = print_once(&broker, &wish, &names);
	else
		code = screen_run(settings.address, &broker, &wish, &names, settings.interval_ns);
	meter_close();
	ww_broker_unref(broker);
	return code;
}

int main(int argc, char *argv[])
{
	int code;

	standard_streams_open();
	report_set("top", NULL);
	code = option_read(argc, argv, options, help, &settings);
	if (code < 0) {
		code = option_no_more(argc, argv);
		if (code == 0)
			code = run();
	}
	return standard_streams_flush(code);
}
