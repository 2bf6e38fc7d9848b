/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.c - `warpway functions`: what a service offers, and how its calls went
 *
 * The command observes: it calls nothing, and reading the service's mode is enough. All that it
 * prints stands in the page that the server keeps.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/interrupt.h"
#include "common/table.h"
#include "warpway/format.h"
#include "warpway/histogram.h"
#include "warpway/open_broker.h"
#include "warpway/service_open.h"

static struct functions {
	struct request request;
	bool wait_ready;
	bool prometheus;
	uint64_t timeout_ns;
} functions_request = {.timeout_ns = WW_FOREVER};

static const char help[] =
	"Usage: warpway functions [OPTION...] NAME\n\n"
	"Lists the functions of the service NAME with their signatures, how often each was called, how\n"
	"many calls failed or ended before the function ran, and how long it ran. warpway-signature(7)\n"
	"explains signatures.\n\n"
	"  --wait-ready      wait until the service is there and ready\n"
	"  --timeout SECONDS how long, or `forever` (default)\n"
	"  --prometheus      the counters in the text format of Prometheus\n"
	"  -n, --numeric     users by number\n"
	"  --json            one object; the keys are in warpway(1)\n" BROKER_HELP
	"\n  warpway functions --wait-ready lab/blas\n\n" BROKER_EXIT_HELP;

static const struct option_row options[] = {
	OPTION("wait-ready", FLAG, struct functions, wait_ready),
	OPTION("timeout", PATIENCE, struct functions, timeout_ns),
	OPTION("prometheus", FLAG, struct functions, prometheus),
	OPTION_NUMERIC,
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

/* One look at it all. */
struct look {
	struct ww_service_info info;
	struct ww_function_info *functions; /* on the heap */
	uint32_t count;
};

static void own_look(struct look *look)
{
	free(look->functions);
}

/* --- looking --- */

static int wait_ready(ww_client *client, const struct functions *request)
{
	const char *name = request->request.words[0];
	ww_status status = ww_client_wait_ready(client, request->timeout_ns, interrupt_cancel());

	if (status == WW_OK)
		return 0;
	if (status == WW_TIMED_OUT)
		return complain("%s was not ready in time", name);
	if (status == WW_CANCELLED)
		return complain("interrupted before %s was ready", name);
	return broker_fail(status, "cannot wait for %s", name);
}

static ww_status look_at(ww_client *client, struct look *look)
{
	ww_status status;

	look->info.struct_size = sizeof(look->info);
	look->functions = calloc(WW_SERVICE_FUNCTIONS_MAX, sizeof(look->functions[0]));
	if (!look->functions)
		return WW_ERR_NO_MEMORY;
	do {
		struct ww_function_info *function = &look->functions[look->count];

		function->struct_size = sizeof(*function);
		status = ww_client_function_info_get(client, look->count, function);
	} while (status == WW_OK && ++look->count < WW_SERVICE_FUNCTIONS_MAX);
	if (status != WW_OK && status != WW_END)
		return status;
	return ww_client_service_info_get(client, &look->info);
}

/* --- times --- */

/* What the times of an entry are below. */
static uint64_t below_ns(uint32_t entry)
{
	uint64_t power = UINT64_C(1) << entry / 2;

	return entry % 2 ? power * 2 : power + (power + 1) / 2;
}

static uint64_t runs_of(const struct ww_function_info *function)
{
	uint64_t runs = 0;

	for (uint32_t i = 0; i < WW_SERVICE_LATENCIES; i++)
		runs += function->latency[i];
	return runs;
}

/* What so many thousandths of the runs are below; 0 for none. */
static uint64_t percentile_ns(const struct ww_function_info *function, uint64_t permille)
{
	uint64_t runs = runs_of(function);
	uint64_t wanted = runs / 1000 * permille + (runs % 1000 * permille + 999) / 1000;
	uint64_t passed = function->latency[0];
	uint32_t entry = 0;

	if (runs == 0)
		return 0;
	while (passed < wanted)
		passed += function->latency[++entry];
	return below_ns(entry);
}

/* --- telling --- */

static const char *state_word(uint32_t state)
{
	static const char *const words[] = {
		[WW_SERVICE_STARTING] = "starting",
		[WW_SERVICE_READY] = "ready",
		[WW_SERVICE_DRAINING] = "draining",
		[WW_SERVICE_STOPPED] = "stopped",
		[WW_SERVICE_LOST] = "lost",
	};

	return state < sizeof(words) / sizeof(words[0]) && words[state] ? words[state] : "unknown";
}

static void print_service(struct functions *request, const struct look *look)
{
	const struct ww_service_info *info = &look->info;
	char age[FORMAT_DURATION_BYTES];
	char version[WW_SERVICE_TEXT_BYTES];
	char process[FORMAT_PROCESS_BYTES];
	char name[WW_NAME_BYTES];

	format_safe(request->request.words[0], name, sizeof(name));
	format_safe(info->version, version, sizeof(version));
	format_duration(info->age_ns, age);
	printf("name        %s%s%s\n", name, version[0] ? ", version " : "", version);
	printf("server      %s of %s, for %s, %s\n",
		format_process(info->pid, info->program, process),
		view_user(&request->request.view, info->uid), age, state_word(info->state));
	printf("clients     %u of %u\n", info->clients, info->clients_max);
	printf("calls       %" PRIu64 "\n", info->calls);
	printf("functions   %u\n", look->count);
}

static void add_function(struct table *table, const struct ww_function_info *function)
{
	char name[WW_FUNCTION_NAME_BYTES];
	char signature[WW_SIGNATURE_TEXT_BYTES];
	char half[HISTOGRAM_TIME_BYTES] = "-";
	char most[HISTOGRAM_TIME_BYTES] = "-";

	format_safe(function->name, name, sizeof(name));
	format_safe(function->signature, signature, sizeof(signature));
	if (runs_of(function)) {
		histogram_time_text(percentile_ns(function, 500), half);
		histogram_time_text(percentile_ns(function, 990), most);
	}
	table_add(table, "%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t%s", name,
		function->calls, function->failed, function->not_started, half, most, signature);
}

static int print_table(struct functions *request, const struct look *look)
{
	struct table table;

	print_service(request, look);
	if (look->count == 0)
		return EXIT_DONE;
	table_init(&table, "lrrrrrl");
	table_add(&table, "FUNCTION\tCALLS\tFAILED\tNOT RUN\tP50\tP99\tSIGNATURE");
	for (uint32_t i = 0; i < look->count; i++)
		add_function(&table, &look->functions[i]);
	table_print(&table, stdout);
	table_fini(&table);
	return EXIT_DONE;
}

/* --- JSON --- */

static json_t *json_of_latency(const struct ww_function_info *function)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < WW_SERVICE_LATENCIES; i++) {
		if (function->latency[i])
			json_array_append_new(list,
				json_pack("{s:I, s:I}", "below_ns", (json_int_t)below_ns(i),
					"count", (json_int_t)function->latency[i]));
	}
	return list;
}

static json_t *json_of_function(const struct ww_function_info *function)
{
	char name[WW_FUNCTION_NAME_BYTES];
	char signature[WW_SIGNATURE_TEXT_BYTES];
	char hash[24];

	format_safe(function->name, name, sizeof(name));
	format_safe(function->signature, signature, sizeof(signature));
	snprintf(hash, sizeof(hash), "%016" PRIx64, function->hash);
	return json_pack("{s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
		"name", name, "signature", signature, "hash", hash, "idempotent",
		(int)((function->flags & WW_FUNCTION_IDEMPOTENT) != 0), "calls",
		(json_int_t)function->calls, "failed", (json_int_t)function->failed, "not_started",
		(json_int_t)function->not_started, "batches", (json_int_t)function->batches,
		"batch_calls_max", (json_int_t)function->batch_calls_max, "run_ns",
		(json_int_t)function->run_ns, "p50_ns", (json_int_t)percentile_ns(function, 500),
		"p90_ns", (json_int_t)percentile_ns(function, 900), "p99_ns",
		(json_int_t)percentile_ns(function, 990), "latency", json_of_latency(function));
}

static int print_json(struct functions *request, const struct look *look)
{
	const struct ww_service_info *info = &look->info;
	json_t *functions = json_array();
	char version[WW_SERVICE_TEXT_BYTES];
	char program[WW_PROGRAM_BYTES];

	format_safe(info->version, version, sizeof(version));
	format_safe(info->program, program, sizeof(program));
	for (uint32_t i = 0; i < look->count; i++)
		json_array_append_new(functions, json_of_function(&look->functions[i]));
	return report_json(json_pack("{s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:o}",
				   "name", request->request.words[0], "version", version, "state",
				   state_word(info->state), "pid", (json_int_t)info->pid, "uid",
				   (json_int_t)info->uid, "user",
				   view_user(&request->request.view, info->uid), "program", program,
				   "clients", (json_int_t)info->clients, "clients_max",
				   (json_int_t)info->clients_max, "calls", (json_int_t)info->calls,
				   "age_ns", (json_int_t)info->age_ns, "functions", functions),
		JSON_INDENT(2));
}

/* --- Prometheus --- */

/* Names of services have letters that a label must escape; those of functions have none. */
static void print_label(const char *service, const struct ww_function_info *function)
{
	char name[WW_FUNCTION_NAME_BYTES];

	format_safe(function->name, name, sizeof(name));
	fputs("{service=\"", stdout);
	for (; *service; service++) {
		if (*service == '"' || *service == '\\')
			putchar('\\');
		putchar(*service);
	}
	printf("\",function=\"%s\"", name);
}

static void print_counter(const char *service, const struct look *look, const char *metric,
	size_t offset)
{
	printf("# TYPE warpway_function_%s_total counter\n", metric);
	for (uint32_t i = 0; i < look->count; i++) {
		const char *function = (const char *)&look->functions[i];

		printf("warpway_function_%s_total", metric);
		print_label(service, &look->functions[i]);
		printf("} %" PRIu64 "\n", *(const uint64_t *)(const void *)(function + offset));
	}
}

static void print_bucket(const char *service, const struct ww_function_info *function,
	const char *limit, uint64_t count)
{
	fputs("warpway_function_run_seconds_bucket", stdout);
	print_label(service, function);
	printf(",le=\"%s\"} %" PRIu64 "\n", limit, count);
}

static void print_runs(const char *service, const struct ww_function_info *function)
{
	uint64_t count = 0;
	char limit[32];

	for (uint32_t i = 0; i < WW_SERVICE_LATENCIES - 1; i++) {
		count += function->latency[i];
		snprintf(limit, sizeof(limit), "%.9g", (double)below_ns(i) / 1e9);
		if (function->latency[i])
			print_bucket(service, function, limit, count);
	}
	count += function->latency[WW_SERVICE_LATENCIES - 1];
	print_bucket(service, function, "+Inf", count);
	fputs("warpway_function_run_seconds_sum", stdout);
	print_label(service, function);
	printf("} %.9f\n", (double)function->run_ns / 1e9);
	fputs("warpway_function_run_seconds_count", stdout);
	print_label(service, function);
	printf("} %" PRIu64 "\n", count);
}

static int print_prometheus(const struct functions *request, const struct look *look)
{
	char service[WW_NAME_BYTES];

	format_safe(request->request.words[0], service, sizeof(service));
	print_counter(service, look, "calls", offsetof(struct ww_function_info, calls));
	print_counter(service, look, "failed", offsetof(struct ww_function_info, failed));
	print_counter(service, look, "not_started", offsetof(struct ww_function_info, not_started));
	print_counter(service, look, "batches", offsetof(struct ww_function_info, batches));
	puts("# TYPE warpway_function_run_seconds histogram");
	for (uint32_t i = 0; i < look->count; i++)
		print_runs(service, &look->functions[i]);
	return EXIT_DONE;
}

static int run(struct request *base)
{
	struct functions *request = &functions_request;
	OWN(client) ww_client *client = NULL;
	OWN(look) struct look look = {.count = 0};
	ww_status status;
	int code;

	if (base->json && request->prometheus)
		return refuse("--json and --prometheus: only one of them is possible");
	code = service_open(base, WW_CLIENT_OBSERVE, request->wait_ready ? request->timeout_ns : 0,
		&client);
	if (code == 0 && request->wait_ready)
		code = wait_ready(client, request);
	if (code)
		return code;
	status = look_at(client, &look);
	if (status != WW_OK)
		return broker_fail(status, "cannot look at %s", base->words[0]);
	view_init(&base->view);
	if (request->prometheus)
		return print_prometheus(request, &look);
	return base->json ? print_json(request, &look) : print_table(request, &look);
}

const struct verb verb_functions = {.name = "functions",
	.summary = "the functions of a service, and how their calls went",
	.options = options,
	.help = help,
	.context = &functions_request,
	.words = "NAME",
	.least_words = 1,
	.most_words = 1,
	.broker = VERB_BROKER_NONE,
	.run = run};
