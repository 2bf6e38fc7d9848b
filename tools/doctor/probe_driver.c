/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_driver.c - `warpway doctor-child driver`: whether the driver starts, and its devices
 *
 * Beside its result it prints a line for each device: {"selector", "uuid", "name", "bytes"}, and
 * the version.
 */
#include "doctor/probe.h"

#include <dlfcn.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/doctor.h"

#define CHECK      "driver"
#define HOST_WORKS "; all of Warpway works on the host device"

static const char *cause_of_start(void)
{
	switch (cuda_last_failure()) {
	case WW_CUDA_ERROR_NO_DEVICE:
		return getenv("CUDA_VISIBLE_DEVICES") ? "hidden" : "no-device";
	case WW_CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
	case WW_CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
		return "mismatch";
	case WW_CUDA_ERROR_SYSTEM_NOT_READY:
		return "fabric-manager";
	case WW_CUDA_ERROR_OPERATING_SYSTEM:
		return "proc";
	case WW_CUDA_ERROR_MPS_CONNECTION_FAILED:
	case WW_CUDA_ERROR_MPS_RPC_FAILURE:
	case WW_CUDA_ERROR_MPS_SERVER_NOT_READY:
	case WW_CUDA_ERROR_MPS_MAX_CLIENTS_REACHED:
	case WW_CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED:
		return "mps";
	case WW_CUDA_ERROR_UNKNOWN:
		return access("/dev/nvidia-uvm", F_OK) ? "uvm" : NULL;
	default:
		return NULL;
	}
}

/* No GPU is no failure where there is none, or where the user hid them. */
static enum state state_of_start(const char *cause)
{
	if (cause && !strcmp(cause, "hidden"))
		return STATE_SKIPPED;
	if (cause && !strcmp(cause, "no-device") && !doctor_sees_gpu())
		return STATE_SKIPPED;
	return STATE_FAILS;
}

static void explain_start(struct probe *probe)
{
	const char *cause = cause_of_start();
	enum state state = state_of_start(cause);
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");

	if (state == STATE_SKIPPED && visible)
		result_add(&probe->results, CHECK, state, cause,
			"CUDA_VISIBLE_DEVICES=%s shows no GPU (%s)" HOST_WORKS, visible,
			probe->said);
	else
		result_add(&probe->results, CHECK, state, cause, "%s%s", probe->said,
			state == STATE_SKIPPED ? HOST_WORKS : "");
}

static void explain_missing(struct probe *probe)
{
	bool sees_gpu = doctor_sees_gpu();

	result_add(&probe->results, CHECK, sees_gpu ? STATE_FAILS : STATE_SKIPPED,
		sees_gpu ? "missing" : "none", "%s (%s)%s",
		sees_gpu ? "there is an NVIDIA GPU, and no driver" : "no NVIDIA GPU, no driver",
		probe->said, sees_gpu ? "" : HOST_WORKS);
}

/* Whether there is a library at all. What it lacks is said by probe_start(). */
static bool has_library(struct probe *probe)
{
	if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL))
		return true;
	text_clean(dlerror(), probe->said, sizeof(probe->said));
	return false;
}

static void print_device(const struct cuda *cuda, int index)
{
	char name[DOCTOR_NAME_BYTES] = "";
	char selector[16];
	char uuid[DOCTOR_UUID_BYTES];
	size_t used = 0;
	size_t bytes = 0;
	ww_CUuuid id = {{0}};
	ww_CUdevice device = 0;
	json_t *line;

	snprintf(selector, sizeof(selector), "cuda:%d", index);
	if (CUDA_CALL(cuda, cuDeviceGet, &device, index) ||
		CUDA_CALL(cuda, cuDeviceGetName, name, (int)sizeof(name) - 1, device) ||
		CUDA_CALL(cuda, cuDeviceGetUuid, &id, device) ||
		CUDA_CALL(cuda, cuDeviceTotalMem, &bytes, device))
		return;
	used = (size_t)snprintf(uuid, sizeof(uuid), "%s-", strstr(name, " MIG ") ? "MIG" : "GPU");
	for (size_t i = 0; i < sizeof(id.bytes); i++)
		used += (size_t)snprintf(uuid + used, sizeof(uuid) - used, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			(unsigned char)id.bytes[i]);
	line = json_pack("{s:s, s:s, s:s, s:I}", "selector", selector, "uuid", uuid, "name", name,
		"bytes", (json_int_t)bytes);
	json_dumpf(line, stdout, JSON_COMPACT);
	fputc('\n', stdout);
	json_decref(line);
}

/* The kernel's module: ", driver 580.95.05"; empty: it does not say. */
static void find_module(char *out_text, size_t room)
{
	FILE *file = fopen("/proc/driver/nvidia/version", "re");
	char line[512] = "";
	char *word, *rest = line;

	out_text[0] = 0;
	if (!file)
		return;
	if (!fgets(line, sizeof(line), file))
		line[0] = 0;
	fclose(file);
	while ((word = strsep(&rest, " \n"))) {
		if (word[0] >= '0' && word[0] <= '9' && strchr(word, '.')) {
			snprintf(out_text, room, ", driver %.*s", (int)strspn(word, "0123456789."),
				word);
			return;
		}
	}
}

static void list_devices(struct probe *probe)
{
	char module[32];
	int version = 0;
	int count = 0;

	if (CUDA_CALL(&probe->cuda, cuDriverGetVersion, &version) ||
		CUDA_CALL(&probe->cuda, cuDeviceGetCount, &count)) {
		result_add(&probe->results, CHECK, STATE_FAILS, NULL, "%s", probe->said);
		return;
	}
	find_module(module, sizeof(module));
	printf("{\"version\": \"CUDA %d.%d%s\"}\n", version / 1000, version % 1000 / 10, module);
	for (int i = 0; i < count; i++)
		print_device(&probe->cuda, i);
	result_add(&probe->results, CHECK, STATE_WORKS, NULL, "CUDA %d.%d%s, %d GPU%s",
		version / 1000, version % 1000 / 10, module, count, count == 1 ? "" : "s");
}

int child_driver(int argc, char *argv[])
{
	struct probe probe;

	(void)argv;
	if (argc != 1 || probe_init(&probe, "cuda:0"))
		return EXIT_CANNOT;
	probe.results.device = NULL;
	probe.results.stream = stdout;
	report_capture(probe.said, sizeof(probe.said));
	if (!has_library(&probe)) {
		explain_missing(&probe);
	} else if (cuda_find(&probe.cuda) || !probe.cuda.cuMemCreate) {
		result_add(&probe.results, CHECK, STATE_FAILS, "old", "%s",
			probe.said[0] ? probe.said : "it has no cuMemCreate");
	} else if (CUDA_CALL(&probe.cuda, cuInit, 0)) {
		explain_start(&probe);
	} else {
		list_devices(&probe);
	}
	results_fini(&probe.results);
	return EXIT_DONE;
}
