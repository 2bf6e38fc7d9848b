/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c - the command line of a heat daemon, and --status, which asks one that runs
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <warpway/warpway.h>

#include "heat.h"

#define PATIENCE_NS UINT64_C(10000000000) /* for the answer of a daemon */

/* Exit codes. 3: as systemctl status and init scripts say that a service does not run. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NOT_RUNNING = 3
};

static const char help[] =
	"Usage: heatd [OPTION...]\n"
	"Computes how heat spreads on a plate, and shows and lets steer that through Warpway.\n"
	"\n"
	"  -c, --config FILE     read the configuration: see heatd.conf for the keys\n"
	"  -s, --set KEY=VALUE   one key of the configuration; may be given several times\n"
	"  -n, --name PREFIX     as --set name=PREFIX: of the names in the broker\n"
	"      --new             begin a new simulation: do not continue the kept one\n"
	"      --check-config    say whether the configuration is right, and end\n"
	"      --status          ask the daemon that runs how it is, and end\n"
	"      --help            this text\n"
	"      --version         the version\n"
	"\n"
	"SIGTERM and SIGINT end it after a last frame; the simulation is kept. SIGHUP reads FILE again.\n"
	"Exit codes: 0 it was done; 1 it failed; 2 wrong use or configuration; 3 no daemon runs.\n";

/* --- --status --- */

static double number_of(const struct ww_value *value)
{
	double number;

	memcpy(&number, &value->scalar, sizeof(number));
	return number;
}

static void print_status(const struct ww_value *values, const char *name)
{
	time_t started = (time_t)(values[HEAT_STATUS_STARTED_NS].scalar / UINT64_C(1000000000));
	struct tm parts;
	char since[64] = "";

	if (localtime_r(&started, &parts))
		strftime(since, sizeof(since), "%Y-%m-%d %H:%M:%S", &parts);
	printf("heatd %s: process %" PRIu64 ", runs since %s, computes by %.*s\n", name,
		values[HEAT_STATUS_PID].scalar, since, (int)values[HEAT_STATUS_BACKEND].bytes,
		(const char *)values[HEAT_STATUS_BACKEND].data);
	printf("simulation: %016" PRIx64 ", step %" PRIu64 ", time %.6g, %s, continued %" PRIu64
	       " times\n",
		values[HEAT_STATUS_RUN].scalar, values[HEAT_STATUS_STEP].scalar,
		number_of(&values[HEAT_STATUS_TIME]),
		values[HEAT_STATUS_PAUSED].scalar ? "paused" : "running",
		values[HEAT_STATUS_RESTARTS].scalar);
	printf("field: %" PRIu64 " rows, %" PRIu64
	       " columns, diffusivity %.6g, %.6g steps a second\n",
		values[HEAT_STATUS_ROWS].scalar, values[HEAT_STATUS_COLUMNS].scalar,
		number_of(&values[HEAT_STATUS_DIFFUSIVITY]),
		number_of(&values[HEAT_STATUS_STEPS_PER_SECOND]));
	printf("watchers: %" PRIu64 " of %" PRIu64 ", %" PRIu64 " frames published\n",
		values[HEAT_STATUS_WATCHERS].scalar, values[HEAT_STATUS_WATCHERS_MAX].scalar,
		values[HEAT_STATUS_FRAMES].scalar);
}

static ww_status ask_status(ww_client *client, const char *name)
{
	struct ww_value values[HEAT_STATUS_COUNT];
	ww_ticket *ticket = NULL;
	uint32_t function;
	ww_status status = ww_client_wait_ready(client, PATIENCE_NS, NULL);

	if (status == WW_OK)
		status = ww_client_find(client, "status", HEAT_STATUS_SIGNATURE, PATIENCE_NS, NULL,
			&function);
	if (status == WW_OK)
		status = ww_client_call(client, function, NULL, 0, NULL, PATIENCE_NS, NULL,
			&ticket);
	for (uint32_t i = 0; i < HEAT_STATUS_COUNT && status == WW_OK; i++)
		status = ww_ticket_result(ticket, i, &values[i]);
	if (status == WW_OK)
		print_status(values, name);
	ww_ticket_unref(ticket);
	return status;
}

static bool is_absence(ww_status status)
{
	return status == WW_ERR_NOT_FOUND || status == WW_ERR_NO_BROKER ||
		status == WW_ERR_PEER_LOST || status == WW_ERR_UNAVAILABLE;
}

static void print_failure(ww_broker *broker, const char *prefix, ww_status status)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	char message[sizeof(ww_error_last()->message)];
	char name[HEAT_NAME_BYTES + 16];

	snprintf(message, sizeof(message), "%s",
		status < 0 ? ww_error_last()->message : ww_status_text(status));
	snprintf(name, sizeof(name), "%s/state", prefix);
	if (!is_absence(status))
		fprintf(stderr, "heatd: the daemon does not say its status: %s\n", message);
	else if (broker && ww_broker_stat(broker, name, &info) == WW_OK)
		fprintf(stderr,
			"heatd: no daemon runs as %s; %s keeps a simulation: start heatd to "
			"continue it\n",
			prefix, name);
	else
		fprintf(stderr, "heatd: no daemon runs as %s: %s\n", prefix, message);
}

static int show_status(const struct heat_config *config)
{
	struct ww_broker_params params = {
		.struct_size = sizeof(params),
		.flags = WW_BROKER_NO_START,
		.address = config->broker[0] ? config->broker : NULL,
	};
	ww_broker *broker = NULL;
	ww_client *client = NULL;
	char name[HEAT_NAME_BYTES + 16];
	ww_status status = ww_broker_open(&params, &broker);

	snprintf(name, sizeof(name), "%s/steer", config->name);
	if (status == WW_OK)
		status = ww_client_open(broker, name, NULL, 0, NULL, &client);
	if (status == WW_OK)
		status = ask_status(client, config->name);
	if (status != WW_OK)
		print_failure(broker, config->name, status);
	ww_client_unref(client);
	ww_broker_unref(broker);
	return status == WW_OK ? EXIT_OK : is_absence(status) ? EXIT_NOT_RUNNING : EXIT_FAILED;
}

/* --- the arguments --- */

static const struct option options[] = {
	{"config", required_argument, NULL, 'c'},
	{"set", required_argument, NULL, 's'},
	{"name", required_argument, NULL, 'n'},
	{"new", no_argument, NULL, 'N'},
	{"check-config", no_argument, NULL, 'C'},
	{"status", no_argument, NULL, 'S'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static int set_pair(struct heat_config *config, const char *pair, char *out_error)
{
	const char *equals = strchr(pair, '=');
	char key[64];

	if (!equals || (size_t)(equals - pair) >= sizeof(key)) {
		snprintf(out_error, HEAT_TEXT_BYTES, "--set %.60s: write --set KEY=VALUE", pair);
		return -1;
	}
	snprintf(key, sizeof(key), "%.*s", (int)(equals - pair), pair);
	return heat_config_set(config, key, equals + 1, out_error);
}

/*
 * The file first, since options count more, wherever they stand.
 * @out_action:  0: run; else the option that says what else
 */
static int parse(int argc, char *const *argv, struct heat_config *config, int *out_action,
	char *out_error)
{
	int option;
	int failed = 0;

	*out_action = 0;
	optind = 1;
	while (!failed && (option = getopt_long(argc, argv, "c:s:n:", options, NULL)) != -1) {
		if (option == 'c')
			failed = heat_config_read(config, optarg, out_error);
		else if (option == '?')
			return -1;
	}
	optind = 1;
	while (!failed && (option = getopt_long(argc, argv, "c:s:n:", options, NULL)) != -1) {
		if (option == 's')
			failed = set_pair(config, optarg, out_error);
		else if (option == 'n')
			failed = heat_config_set(config, "name", optarg, out_error);
		else if (option == 'N')
			config->starts_anew = 1;
		else if (option != 'c')
			*out_action = option;
	}
	if (!failed && optind < argc) {
		snprintf(out_error, HEAT_TEXT_BYTES, "unknown argument '%.60s'", argv[optind]);
		failed = -1;
	}
	if (!failed)
		failed = heat_config_check(config, out_error);
	return failed;
}

static int finish(const struct heat_config *config, int action)
{
	switch (action) {
	case 'C':
		printf("%s: the configuration is right\n",
			config->path[0] ? config->path : "heatd");
		return EXIT_OK;
	case 'S':
		return show_status(config);
	case 'h':
		fputs(help, stdout);
		return EXIT_OK;
	case 'V':
		printf("heatd of Warpway %s\n", ww_version());
		return EXIT_OK;
	default:
		return -1;
	}
}

int heat_command(int argc, const char *const *argv, struct heat_config *config)
{
	char error[HEAT_TEXT_BYTES] = "";
	int action;

	heat_config_init(config);
	if (parse(argc, (char *const *)argv, config, &action, error) < 0) {
		fprintf(stderr, "heatd: %s\n", error[0] ? error : "see heatd --help");
		return EXIT_USAGE;
	}
	return finish(config, action);
}
