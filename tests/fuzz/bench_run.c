/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_run.c - fuzzes the reader of files of `warpway bench`, which anybody may have sent, and the
 * page that is made of one
 *
 * Input: the file. What is accepted has only names that gnuplot and a page may have as they are,
 * and numbers that are finite; the page of it has no element that does or loads anything.
 */
#include "fuzz/fuzz.h"

#include <string.h>

#include "bench/bench.h"
#include "bench/chart.h"
#include "bench/run_file.h"

static bool has_complained;

/* In place of common/say.c, which would print a line for each input. */
int report_speak(enum report report, const char *format, ...)
{
	has_complained |= report != REPORT_SAY && format[0];
	return -1;
}

/* In place of plot.c, which would start a process for each chart. */
char *plot_chart(const struct chart *chart, size_t number)
{
	(void)number;
	FUZZ_MUST(chart->count > 0 && chart->count <= CHART_SERIES_MAX);
	for (size_t s = 0; s < chart->count; s++) {
		const struct chart_series *series = &chart->series[s];

		FUZZ_MUST(series->count <= CHART_POINTS_MAX && !strpbrk(series->name, "'\"\\\n<"));
		for (size_t i = 0; i < series->count; i++)
			FUZZ_MUST(isfinite(series->points[i].x) && series->points[i].y >= 0);
	}
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	json_t *run = run_parse((const char *)input, bytes, "input");
	size_t index;
	const json_t *row;
	char *page;

	FUZZ_MUST(run || has_complained);
	has_complained = false;
	if (!run)
		return 0;
	json_array_foreach(run_results(run), index, row)
	{
		FUZZ_MUST(isfinite(run_number(row, "p50")) && bench_unit(run_text(row, "unit")));
		FUZZ_MUST(!strpbrk(run_text(row, "name"), "'\"\\\n<"));
	}
	page = bench_page_text(run);
	FUZZ_MUST(page && !strstr(page, "<script") && !strstr(page, "<img"));
	free(page);
	json_decref(run);
	return 0;
}

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
#define HEAD \
	"{\"device\":\"<script>\",\"driver\":\"b\",\"mps\":\"off\",\"date\":\"d\",\"version\":\"1\","
#define ROW(name, p50, more)                                  \
	"{\"name\":\"" name "\",\"unit\":\"us\",\"p50\":" p50 \
	",\"p99\":null,\"floor_p50\":1,\"ratio\":1.5,\"goal\":9,\"met\":true" more "}"
	static const char *const seeds[] = {
		HEAD "\"results\":[]}",
		HEAD "\"results\":[" ROW("memory.create.4KiB", "3",
			"") "," ROW("memory.create.2MiB", "4.5", "") "]}",
		HEAD "\"results\":[" ROW("pairs.read.0-1", "200", "") "," ROW("sync.release.cpu",
			"4.5", ",\"samples\":[1,2.5,300]") "]}",
		HEAD
		"\"complete\":false,\"host\":{\"cpu\":\"<img src=x>\",\"cpus\":2,\"kernel\":\"6\"},"
		"\"suites\":[{\"name\":\"mpi\",\"state\":\"skipped\",\"reason\":\"<b>\","
		"\"seconds\":1,\"notes\":[\"n\"]}],\"results\":[]}",
	};
	size_t length;

	if (number >= sizeof(seeds) / sizeof(seeds[0]))
		return 0;
	length = strlen(seeds[number]);
	FUZZ_MUST(length <= FUZZ_INPUT_BYTES);
	memcpy(out, seeds[number], length);
	return length;
}
