/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ping.c - `warpway ping`: whether a broker answers, and how fast
 *
 * For health checks: no broker is started, and the exit code says it all. Each round is one request
 * that the broker answers from its counters.
 */
#include <stdio.h>

#include "common/child_link.h"
#include "common/interrupt.h"
#include "warpway/open_broker.h"
#include "warpway/verbs.h"

static struct ping {
	struct request request;
	uint64_t count;
	uint64_t interval_ns;
	uint64_t timeout_ns;
} ping = {.count = 1, .interval_ns = 1000000000, .timeout_ns = 5000000000};

static const struct option_row options[] = {
	OPTION("count", NUMBER, struct ping, count, .value = 1, .maximum = UINT32_MAX),
	OPTION("interval", SECONDS, struct ping, interval_ns),
	OPTION("timeout", SECONDS, struct ping, timeout_ns, .value = 1000000),
	OPTION_JSON,
	OPTION_BROKER,
	OPTION_END,
};

static const char help[] =
	"Usage: warpway ping [OPTION...]\n\n"
	"Says whether a broker answers, how fast, and which versions it and this program have. It\n"
	"starts none.\n\n"
	"  --count N         ask N times (default: once)\n"
	"  --interval S      seconds between two times (default: 1)\n"
	"  --timeout S       seconds to wait for the broker (default: 5)\n"
	"  --json            one object for each time; the keys are in warpway(1)\n" BROKER_HELP
	"\n  warpway ping --timeout 1 || systemctl status warpwayd\n\n"
	"Exit codes: 0 it answered each time, 1 it failed to answer, 2 none runs, or wrong use.\n";

static int print_json(const struct request *request, const struct ww_broker_info *info, uint64_t ns)
{
	return report_json(json_pack("{s:s, s:I, s:s, s:s, s:I, s:I, s:I}", "address",
				   ww_broker_address(request->broker), "time_ns", (json_int_t)ns,
				   "version", info->version, "client_version", ww_version(),
				   "protocol", (json_int_t)info->protocol, "restarts",
				   (json_int_t)info->restarts, "up_ns", (json_int_t)info->up_ns),
		JSON_COMPACT);
}

static int ping_once(const struct request *request)
{
	struct ww_broker_info info = WW_INIT(struct ww_broker_info);
	uint64_t begun_ns = link_now_ns();
	ww_status status = ww_broker_info_get(request->broker, &info);
	uint64_t ns = link_now_ns() - begun_ns;

	if (status != WW_OK) {
		complain_record("%s does not answer", ww_broker_address(request->broker));
		return EXIT_FAILED;
	}
	if (request->json)
		return print_json(request, &info, ns) < 0 ? EXIT_FAILED : EXIT_DONE;
	printf("%s: warpwayd %s answers warpway %s by protocol %u in %.1f us\n",
		ww_broker_address(request->broker), info.version, ww_version(), info.protocol,
		(double)ns / 1e3);
	return fflush(stdout) == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int ping_open(struct request *request)
{
	const struct ww_broker_params params = {
		.struct_size = sizeof(params),
		.flags = WW_BROKER_NO_START,
		.timeout_ns = ping.timeout_ns,
		.address = request->address,
	};

	if (ww_broker_open(&params, &request->broker) == WW_OK)
		return EXIT_DONE;
	return refuse("%s", ww_error_last()->message);
}

static int run(struct request *request)
{
	int code = ping_open(request);
	int failed = EXIT_DONE;

	if (code || interrupt_open() < 0)
		return code ? code : EXIT_FAILED;
	for (uint64_t i = 0; i < ping.count; i++) {
		uint64_t begun_ns = link_now_ns();

		code = ping_once(request);
		failed = failed ? failed : code;
		if (i + 1 < ping.count && !interrupt_sleep(begun_ns + ping.interval_ns))
			break;
	}
	return failed;
}

const struct verb verb_ping = {.name = "ping",
	.summary = "whether a broker answers, and how fast",
	.options = options,
	.help = help,
	.context = &ping,
	.run = run};
