/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_device.c - `warpway doctor-child device SELECTOR AFTER BROKER`: all probes of one device
 *
 * AFTER names the probe after which it begins ("-": with the first one): the doctor runs it again
 * behind a probe that has crashed. BROKER is 1 if WARPWAY_BROKER names a broker for trials.
 */
#include "doctor/probe.h"

#include <stdio.h>
#include <string.h>

#define FIRST "context"

static const struct row {
	const char *check;
	enum state failed; /* what a failure comes to */
	bool needs_broker; /* and the host device has it too */
	bool needs_vmm;
	int (*run)(struct probe *probe);
} rows[] = {
	{"mig", STATE_LIMITED, false, false, probe_mig},
	{"mps", STATE_LIMITED, false, false, probe_mps},
	{"compute-mode", STATE_FAILS, false, false, probe_compute_mode},
	{"memory", STATE_LIMITED, false, false, probe_memory},
	{"vmm", STATE_FAILS, false, false, probe_vmm},
	{"descriptors", STATE_FAILS, false, true, probe_descriptors},
	{"read-only", STATE_LIMITED, false, true, probe_read_only},
	{"legacy", STATE_LIMITED, false, false, probe_legacy},
	{"pools", STATE_LIMITED, false, false, probe_pools},
	{"events", STATE_LIMITED, false, false, probe_events},
	{"stream-values", STATE_LIMITED, false, false, probe_stream_values},
	{"host-memory", STATE_LIMITED, false, false, probe_host_memory},
	{"host-read-only", STATE_LIMITED, false, false, probe_host_read_only},
	{"fabric", STATE_LIMITED, false, false, probe_fabric},
	{"share", STATE_FAILS, true, false, probe_share},
	{"timeline", STATE_LIMITED, true, false, probe_timeline},
	{"slice", STATE_LIMITED, true, false, probe_slice},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static void run_row(struct probe *probe, const struct row *row, bool has_broker)
{
	if (row->needs_broker && !has_broker) {
		result_add(&probe->results, row->check, row->failed, "broker",
			"there is no broker to try it with");
		return;
	}
	if (row->needs_vmm && probe->lacks_vmm) {
		result_add(&probe->results, row->check, STATE_SKIPPED, NULL,
			"there is no memory to try it with: vmm fails");
		return;
	}
	result_begin(&probe->results, row->check);
	probe->state = STATE_WORKS;
	probe->cause = NULL;
	probe->said[0] = 0;
	probe->found[0] = 0;
	if (row->run(probe)) {
		bool is_crash = probe->cause && !strcmp(probe->cause, "crash");

		probe->lacks_vmm = probe->lacks_vmm || row->run == probe_vmm;
		result_add(&probe->results, row->check, is_crash ? STATE_FAILS : row->failed,
			probe->cause, "%s", probe->said[0] ? probe->said : "it failed");
	} else {
		result_add(&probe->results, row->check, probe->state, probe->cause, "%s",
			probe->found);
	}
}

static const char *cause_of_context(void)
{
	switch (cuda_last_failure()) {
	case WW_CUDA_ERROR_DEVICE_UNAVAILABLE:
		return "compute-mode";
	case WW_CUDA_ERROR_OUT_OF_MEMORY:
		return "memory";
	case WW_CUDA_ERROR_MPS_CONNECTION_FAILED:
	case WW_CUDA_ERROR_MPS_RPC_FAILURE:
	case WW_CUDA_ERROR_MPS_SERVER_NOT_READY:
	case WW_CUDA_ERROR_MPS_MAX_CLIENTS_REACHED:
	case WW_CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED:
		return "mps";
	default:
		return NULL;
	}
}

/* @say: whether a context that can be made is a result, and not only one that cannot. */
static int open_context(struct probe *probe, bool say)
{
	if (say)
		result_begin(&probe->results, FIRST);
	probe->said[0] = 0;
	if (probe_open_driver(probe)) {
		result_add(&probe->results, FIRST, STATE_FAILS, cause_of_context(), "%s",
			probe->said);
		return -1;
	}
	if (say)
		result_add(&probe->results, FIRST, STATE_WORKS, NULL, "made");
	return 0;
}

static size_t first_row(const char *after)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (!strcmp(rows[i].check, after))
			return i + 1;
	}
	return 0;
}

int child_device(int argc, char *argv[])
{
	struct probe probe;
	bool has_broker;

	if (argc != 4 || probe_init(&probe, argv[1]))
		return EXIT_CANNOT;
	has_broker = !strcmp(argv[3], "1");
	probe.lacks_vmm = !strcmp(argv[2], "vmm");
	probe.results.stream = stdout;
	report_capture(probe.said, sizeof(probe.said));
	if (probe.is_host || open_context(&probe, !strcmp(argv[2], "-")) == 0) {
		for (size_t i = first_row(argv[2]); i < ROW_COUNT; i++) {
			if (!probe.is_host || rows[i].needs_broker)
				run_row(&probe, &rows[i], has_broker);
		}
	}
	probe_fini(&probe);
	return EXIT_DONE;
}
