/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the program `warpway-metrics`: its options, see metrics.h
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file_io.h"
#include "common/interrupt.h"
#include "common/option.h"
#include "common/say.h"
#include "common/standard_streams.h"
#include "metrics/metrics.h"
#include "warpway/open_broker.h"
#include "warpway/output_file.h"

static struct settings {
	const char *address;
	const char *listen;
	const char *output;
	const char *mode;
	bool once;
} settings;

static const struct option_row options[] = {
	OPTION("listen", TEXT, struct settings, listen),
	OPTION("mode", TEXT, struct settings, mode),
	OPTION("once", FLAG, struct settings, once),
	OPTION("output", TEXT, struct settings, output, .letter = 'o'),
	OPTION("broker", TEXT, struct settings, address),
	OPTION_END,
};

static const char help[] =
	"Usage: warpway metrics --listen WHERE [OPTION...]\n"
	"       warpway metrics --once [--output FILE] [OPTION...]\n\n"
	"Tells Prometheus what a broker has: objects and bytes by user, device and kind, quotas,\n"
	"requests and refusals. No names of objects are told. If the broker does not run, it is not\n"
	"started, and warpway_up is 0. Root, and the user that the broker runs as, see all users.\n\n"
	"  --listen WHERE    answer GET /metrics until interrupted: 127.0.0.1:PORT, [::1]:PORT, or the\n"
	"                    path of a Unix socket\n"
	"  --mode MODE       permission bits of that socket (default: 0600)\n"
	"  --once            write all once, for the textfile collector of node_exporter\n"
	"  -o, --output FILE with --once: where to; the file is replaced in one step\n" BROKER_HELP
	"\n  warpway metrics --listen 127.0.0.1:9917\n"
	"  warpway metrics --once -o /var/lib/node_exporter/warpway.prom\n\n"
	"Exit codes: 0 done, 1 failed, 2 cannot run here or wrong use.\n";

static int write_once(struct scraper *scraper)
{
	struct sink sink;
	char *text = NULL;
	size_t bytes = 0;
	int code = EXIT_FAILED;

	if (scraper_page(scraper, &text, &bytes) < 0)
		return complain("out of memory"), EXIT_FAILED;
	if (sink_open(&sink, settings.output) == 0) {
		if (flow_write(sink.fd, text, bytes) < 0)
			complain_record("cannot write %s", sink.name);
		else if (sink_finish(&sink) == 0)
			code = EXIT_DONE;
	}
	sink_close(&sink);
	free(text);
	return code;
}

static int check(unsigned int *out_mode)
{
	char *rest;

	if (settings.once == (settings.listen != NULL))
		return refuse("either --once or --listen WHERE; see warpway metrics --help");
	if (settings.output && !settings.once)
		return refuse("--output goes with --once");
	if (settings.mode && settings.once)
		return refuse("--mode goes with --listen");
	*out_mode = settings.mode ? (unsigned int)strtoul(settings.mode, &rest, 8) : 0600;
	if (settings.mode && (!settings.mode[0] || *rest || *out_mode > 0777))
		return refuse("--mode %s is no permission bits such as 0660", settings.mode);
	return 0;
}

static int run(void)
{
	static struct scraper scraper;
	unsigned int mode = 0;
	int code = check(&mode);

	if (code)
		return code;
	if (settings.listen && interrupt_open() < 0)
		return EXIT_FAILED;
	scraper_init(&scraper, settings.address);
	code = settings.once ? write_once(&scraper) : http_serve(&scraper, settings.listen, mode);
	scraper_fini(&scraper);
	return code;
}

int main(int argc, char *argv[])
{
	int code;

	standard_streams_open();
	report_set("metrics", NULL);
	code = option_read(argc, argv, options, help, &settings);
	if (code < 0) {
		code = option_no_more(argc, argv);
		if (code == 0)
			code = run();
	}
	return standard_streams_flush(code);
}
