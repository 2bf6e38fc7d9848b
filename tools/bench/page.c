/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.c - a run of `warpway bench` as one page of HTML that loads nothing
 *
 * Every text is escaped, since a file may be anybody's. Where gnuplot is missing, or fails, a table
 * stands in the place of each plot.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/chart.h"
#include "bench/run_file.h"
#include "common/file_io.h"
#include "warpway/output_file.h"

#define GPUS_MAX 64

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'\">\n"
	"<title>warpway bench</title>\n<style>\n"
	":root{color-scheme:light dark}\n"
	"body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:76rem;padding:1rem}\n"
	".wide{overflow-x:auto}\n"
	"table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}\n"
	"th,td{border-bottom:1px solid #8886;padding:.2rem .6rem;text-align:left;"
	"white-space:nowrap}\n"
	"td.n,th.n{text-align:right}\n"
	".no{color:#dc2626;font-weight:bold}.yes{color:#16a34a}\n"
	".plots{display:grid;gap:1rem;grid-template-columns:"
	"repeat(auto-fit,minmax(min(100%,28rem),1fr))}\n"
	"figure{border:1px solid #8886;border-radius:.4rem;margin:0;min-width:0;padding:.6rem}\n"
	"figcaption{font-weight:bold}\n"
	"svg{height:auto;width:100%}\n"
	/* What gnuplot draws in black has the colour of text. */
	"svg [color=black]{color:inherit}svg [fill=black]{fill:currentColor}"
	"svg [stroke=black]{stroke:currentColor}\n"
	"</style>\n</head>\n<body>\n<h1>warpway bench</h1>\n";

static void write_text(FILE *page, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", page);
			break;
		case '<':
			fputs("&lt;", page);
			break;
		case '>':
			fputs("&gt;", page);
			break;
		case '"':
			fputs("&quot;", page);
			break;
		default:
			fputc(*text, page);
		}
	}
}

static void write_number(FILE *page, const char *format, double number)
{
	fputs("<td class=\"n\">", page);
	if (isnan(number))
		fputs("-", page);
	else
		fprintf(page, format[0] == '3' ? "%.3f" : "%.1f", number);
	fputs("</td>", page);
}

static void write_fact(FILE *page, const char *title, const char *text)
{
	fprintf(page, "<tr><th>%s</th><td>", title);
	write_text(page, text);
	fputs("</td></tr>\n", page);
}

static void write_facts(FILE *page, const json_t *run)
{
	const json_t *host = json_object_get(run, "host");
	char text[NUMBER_BYTES];

	fputs("<div class=\"wide\"><table>\n", page);
	for (size_t i = 0; i < RUN_HEADING_COUNT; i++)
		write_fact(page, run_heading[i], run_text(run, run_heading[i]));
	if (host) {
		snprintf(text, sizeof(text), "%.0f", run_number(host, "cpus"));
		write_fact(page, "processor", run_text(host, "cpu"));
		write_fact(page, "processors", text);
		write_fact(page, "kernel", run_text(host, "kernel"));
	}
	if (json_is_true(json_object_get(run, "quick")))
		write_fact(page, "setting", "--quick: few sizes and iterations");
	if (!run_is_complete(run))
		write_fact(page, "state", "incomplete: the run was interrupted, or has failed");
	fputs("</table></div>\n", page);
}

static void write_goals(FILE *page, const json_t *run)
{
	size_t goals = 0;
	size_t met = 0;
	size_t index;
	const json_t *row;

	json_array_foreach(run_results(run), index, row)
	{
		goals += run_met(row) >= 0;
		met += run_met(row) == 1;
	}
	fprintf(page, "<p>%zu of %zu goals are met.</p>\n", met, goals);
	if (met < goals)
		fputs("<ul>\n", page);
	json_array_foreach(run_results(run), index, row)
	{
		if (run_met(row) != 0)
			continue;
		fputs("<li><span class=\"no\">unmet</span> ", page);
		write_text(page, run_text(row, "name"));
		fprintf(page, ": %.1f ", run_number(row, "p50"));
		write_text(page, run_text(row, "unit"));
		fprintf(page, ", goal %.1f</li>\n", run_number(row, "goal"));
	}
	if (met < goals)
		fputs("</ul>\n", page);
}

static void write_suites(FILE *page, const json_t *run)
{
	const json_t *suites = json_object_get(run, "suites");
	size_t index;
	const json_t *suite;

	if (json_array_size(suites) == 0)
		return;
	fputs("<h2>Suites</h2>\n<div class=\"wide\"><table>\n<tr><th>suite</th><th>device</th>"
	      "<th>state</th><th class=\"n\">seconds</th><th>reason</th></tr>\n",
		page);
	json_array_foreach(suites, index, suite)
	{
		const char *state = run_text(suite, "state");

		fputs("<tr><td>", page);
		write_text(page, run_text(suite, "name"));
		fputs("</td><td>", page);
		write_text(page, run_text(suite, "device"));
		fputs("</td><td>", page);
		write_text(page, !strcmp(state, RUN_RUNNING) ? RUN_INTERRUPTED : state);
		fputs("</td>", page);
		write_number(page, "1", run_number(suite, "seconds"));
		fputs("<td>", page);
		write_text(page, run_text(suite, "reason"));
		fputs("</td></tr>\n", page);
	}
	fputs("</table></div>\n", page);
}

/* --- plots --- */

/* The same numbers as the plot has. */
static void write_chart_table(FILE *page, const struct chart *chart)
{
	bool is_histogram = chart->kind == CHART_HISTOGRAM;

	fprintf(page,
		"<div class=\"wide\"><table>\n<tr><th>%s</th><th class=\"n\">%s</th>"
		"<th class=\"n\">%s</th><th class=\"n\">%s</th></tr>\n",
		is_histogram ? "" : "curve", is_histogram ? "from" : "bytes",
		is_histogram ? "kills" : chart->unit, is_histogram ? "" : "floor");
	for (size_t s = 0; s < chart->count; s++) {
		for (size_t i = 0; i < chart->series[s].count; i++) {
			const struct chart_point *point = &chart->series[s].points[i];

			fputs("<tr><td>", page);
			write_text(page, is_histogram ? "" : chart->series[s].name);
			fputs("</td>", page);
			write_number(page, "1", point->x);
			write_number(page, is_histogram ? "1" : "3", point->y);
			write_number(page, "3", is_histogram ? BENCH_NONE : point->floor);
			fputs("</tr>\n", page);
		}
	}
	fputs("</table></div>\n", page);
}

static const char *const kind_titles[] = {
	[CHART_TIME] = "Time by size",
	[CHART_BANDWIDTH] = "Bandwidth by size",
	[CHART_HISTOGRAM] = "Time of release after a kill",
};

static const char *const kind_texts[] = {
	[CHART_TIME] = "Medians; a dashed line is the floor of the curve of that colour. Both axes "
		       "are logarithmic.",
	[CHART_BANDWIDTH] = "Bytes of messages, frames or arrays that are handed over in a time, "
			    "copied or not; dashed lines are floors.",
	[CHART_HISTOGRAM] = "How many kills were followed by the release of waiters, or of objects, "
			    "in that time. The axis of time is logarithmic.",
};

/* @is_drawn: false once gnuplot has failed; it is not asked again. */
static void write_chart(FILE *page, const struct chart *chart, size_t number, bool *is_drawn)
{
	OWN(heap) char *svg = *is_drawn ? plot_chart(chart, number) : NULL;

	*is_drawn = svg != NULL;
	fputs("<figure><figcaption>", page);
	write_text(page, chart->title);
	fprintf(page, ", %s</figcaption>\n", chart->unit);
	if (svg)
		fprintf(page, "%s\n<details><summary>numbers</summary>\n", svg);
	write_chart_table(page, chart);
	fputs(svg ? "</details></figure>\n" : "</figure>\n", page);
}

static void write_charts(FILE *page, const json_t *run)
{
	size_t count = 0;
	OWN(heap) struct chart *charts = chart_list(run, &count);
	bool is_drawn = true;

	for (int kind = CHART_TIME; kind <= CHART_HISTOGRAM; kind++) {
		bool is_first = true;

		for (size_t i = 0; i < count; i++) {
			if ((int)charts[i].kind != kind)
				continue;
			if (is_first)
				fprintf(page, "<h2>%s</h2>\n<p>%s</p>\n<div class=\"plots\">\n",
					kind_titles[kind], kind_texts[kind]);
			is_first = false;
			write_chart(page, &charts[i], i, &is_drawn);
		}
		if (!is_first)
			fputs("</div>\n", page);
	}
	if (count > 0 && !is_drawn) {
		static const char hint[] =
			"gnuplot was not found, or has failed, so the page has tables in place of "
			"plots; install gnuplot (Debian, Ubuntu: gnuplot-nox), then `warpway bench "
			"--from FILE --html PAGE`";

		say("%s", hint);
		fprintf(page, "<p>%s.</p>\n", hint);
	}
}

/* --- pairs of GPUs --- */

struct matrix {
	const char *what; /* of rows pairs.WHAT.I-J */
	bool is_copy;
	double p50[GPUS_MAX][GPUS_MAX]; /* by I and J; 0: none */
	unsigned int count;
	double least;
	double most;
};

/* The two GPUs of a row pairs.WHAT.I-J. */
static bool parse_pair(const char *name, const char *what, uint64_t out_gpus[2])
{
	char text[BENCH_NAME_BYTES];
	size_t length = (size_t)snprintf(text, sizeof(text), "pairs.%s.", what);
	char *second;

	if (strncmp(name, text, length) != 0)
		return false;
	snprintf(text, sizeof(text), "%s", name + length);
	second = strchr(text, '-');
	if (!second)
		return false;
	*second++ = 0;
	return number_parse(text, 0, GPUS_MAX - 1, &out_gpus[0]) &&
		number_parse(second, 0, GPUS_MAX - 1, &out_gpus[1]);
}

static void fill(struct matrix *matrix, const json_t *run)
{
	size_t index;
	const json_t *row;

	matrix->least = INFINITY;
	json_array_foreach(run_results(run), index, row)
	{
		double p50 = run_number(row, "p50");
		uint64_t gpus[2];

		if (!parse_pair(run_text(row, "name"), matrix->what, gpus) || !(p50 > 0))
			continue;
		matrix->p50[gpus[0]][gpus[1]] = p50;
		for (size_t i = 0; i < 2; i++)
			matrix->count = gpus[i] >= matrix->count ? (unsigned int)gpus[i] + 1
								 : matrix->count;
		matrix->least = p50 < matrix->least ? p50 : matrix->least;
		matrix->most = p50 > matrix->most ? p50 : matrix->most;
	}
}

/* The slower, the darker. */
static void write_cell(FILE *page, const struct matrix *matrix, double p50)
{
	double range = matrix->most - matrix->least;

	if (p50 == 0) {
		fputs("<td class=\"n\">-</td>", page);
		return;
	}
	fprintf(page, "<td class=\"n\" style=\"background:rgba(234,88,12,%.2f)\">%.1f us",
		range > 0 ? 0.1 + 0.5 * (p50 - matrix->least) / range : 0.1, p50);
	if (matrix->is_copy)
		fprintf(page, "<br>%.0f GB/s", (double)BENCH_PAIR_BYTES / p50 / 1e3);
	fputs("</td>", page);
}

static void write_matrix(FILE *page, const struct matrix *matrix)
{
	fprintf(page, "<h3>%s</h3>\n<div class=\"wide\"><table>\n<tr><th></th>", matrix->what);
	for (unsigned int j = 0; j < matrix->count; j++)
		fprintf(page, "<th class=\"n\">GPU %u</th>", j);
	fputs("</tr>\n", page);
	for (unsigned int i = 0; i < matrix->count; i++) {
		fprintf(page, "<tr><th>memory of GPU %u</th>", i);
		for (unsigned int j = 0; j < matrix->count; j++)
			write_cell(page, matrix, matrix->p50[i][j]);
		fputs("</tr>\n", page);
	}
	fputs("</table></div>\n", page);
}

static void write_pairs(FILE *page, const json_t *run)
{
	static const struct matrix kinds[] = {
		{.what = "read", .is_copy = true},
		{.what = "write", .is_copy = true},
		{.what = "signal"},
	};
	bool is_first = true;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct matrix matrix = kinds[i];

		fill(&matrix, run);
		if (matrix.count == 0)
			continue;
		if (is_first)
			fputs("<h2>Pairs of GPUs</h2>\n<p>Copies of 64 MiB, and rounds of signals: "
			      "the memory is of the GPU of the line; the GPU of the column does "
			      "it. The slower, the darker.</p>\n",
				page);
		is_first = false;
		write_matrix(page, &matrix);
	}
}

/* --- all --- */

static void write_results(FILE *page, const json_t *run)
{
	static const char *const verdicts[] = {"<td>-</td>", "<td class=\"no\">no</td>",
		"<td class=\"yes\">yes</td>"};
	size_t index;
	const json_t *row;

	fputs("<h2>All figures</h2>\n<p>p50 and p99 are of the library; the floor is the median of "
	      "the raw calls, or of what else the name says, in the same run; the goal is the "
	      "largest p50 allowed.</p>\n<div class=\"wide\"><table>\n<tr><th>name</th>"
	      "<th>unit</th><th class=\"n\">p50</th><th class=\"n\">p99</th>"
	      "<th class=\"n\">floor p50</th><th class=\"n\">ratio</th><th class=\"n\">goal</th>"
	      "<th>met</th></tr>\n",
		page);
	json_array_foreach(run_results(run), index, row)
	{
		fputs("<tr><td>", page);
		write_text(page, run_text(row, "name"));
		fputs("</td><td>", page);
		write_text(page, run_text(row, "unit"));
		fputs("</td>", page);
		write_number(page, "1", run_number(row, "p50"));
		write_number(page, "1", run_number(row, "p99"));
		write_number(page, "1", run_number(row, "floor_p50"));
		write_number(page, "3", run_number(row, "ratio"));
		write_number(page, "1", run_number(row, "goal"));
		fprintf(page, "%s</tr>\n", verdicts[run_met(row) + 1]);
	}
	fputs("</table></div>\n", page);
}

char *bench_page_text(const json_t *run)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *page = open_memstream(&text, &bytes);

	if (!page)
		return NULL;
	fputs(head, page);
	write_facts(page, run);
	write_goals(page, run);
	write_suites(page, run);
	write_charts(page, run);
	write_pairs(page, run);
	write_results(page, run);
	fputs("</body>\n</html>\n", page);
	if (fclose(page)) {
		free(text);
		return NULL;
	}
	return text;
}

int bench_page(const json_t *run, const char *path)
{
	OWN(heap) char *text = bench_page_text(run);
	OWN(sink) struct sink sink = SINK_NONE;

	if (!text) {
		complain("cannot make the page %s: out of memory", path);
		return EXIT_FAILED;
	}
	if (sink_open(&sink, path))
		return EXIT_FAILED;
	if (flow_write(sink.fd, text, strlen(text))) {
		complain("cannot write %s: %s", path, strerror(errno));
		return EXIT_FAILED;
	}
	return sink_finish(&sink) ? EXIT_FAILED : 0;
}
