/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_info.c - how a GPU is set up: MIG, MPS, compute mode, free memory
 *
 * The compute mode and MPS are asked; that a second process gets a context is tried.
 */
#include "doctor/probe.h"

#include <stdio.h>
#include <string.h>

#define MEMORY_FEW (UINT64_C(600) << 20) /* for the context of one more process */

/* @out_value: -1 where the driver does not know the attribute. */
static int ask(struct probe *probe, ww_CUdevice_attribute attribute, int *out_value)
{
	ww_CUresult result = probe->cuda.cuDeviceGetAttribute(out_value, attribute,
		probe->cuda.ordinal);

	if (result == WW_CUDA_ERROR_INVALID_VALUE) {
		*out_value = -1;
		return 0;
	}
	return cuda_expect(&probe->cuda, "cuDeviceGetAttribute", result);
}

int probe_mig(struct probe *probe)
{
	char name[128] = "";
	const char *part;

	if (CUDA_CALL(&probe->cuda, cuDeviceGetName, name, (int)sizeof(name) - 1,
		    probe->cuda.ordinal))
		return -1;
	part = strstr(name, " MIG ");
	if (part) {
		probe->state = STATE_LIMITED;
		snprintf(probe->found, sizeof(probe->found), "an instance of MIG: %s", part + 5);
	} else {
		snprintf(probe->found, sizeof(probe->found), "a whole GPU");
	}
	return 0;
}

int probe_mps(struct probe *probe)
{
	int value;

	if (ask(probe, WW_CU_DEVICE_ATTRIBUTE_MPS_ENABLED, &value))
		return -1;
	if (value < 0) {
		probe->state = STATE_SKIPPED;
		probe->cause = "unknown";
		snprintf(probe->found, sizeof(probe->found),
			"the driver is too old to say whether MPS is on");
	} else if (value) {
		probe->state = STATE_LIMITED;
		snprintf(probe->found, sizeof(probe->found),
			"on: processes share the GPU at the same time");
	} else {
		snprintf(probe->found, sizeof(probe->found),
			"off: processes take turns, by time slices, and are protected from each other");
	}
	return 0;
}

static const char *mode_name(int mode)
{
	switch (mode) {
	case WW_CU_COMPUTEMODE_DEFAULT:
		return "default";
	case WW_CU_COMPUTEMODE_PROHIBITED:
		return "prohibited";
	case WW_CU_COMPUTEMODE_EXCLUSIVE_PROCESS:
		return "exclusive process";
	default:
		return "unknown";
	}
}

int probe_compute_mode(struct probe *probe)
{
	int mode;
	int mps;

	if (ask(probe, WW_CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, &mode) ||
		ask(probe, WW_CU_DEVICE_ATTRIBUTE_MPS_ENABLED, &mps))
		return -1;
	snprintf(probe->found, sizeof(probe->found), "%s", mode_name(mode));
	if (mode != WW_CU_COMPUTEMODE_DEFAULT && mps <= 0)
		return complain("the compute mode is %s", mode_name(mode));
	if (peer_spawn(probe)) {
		probe->cause = mode == WW_CU_COMPUTEMODE_DEFAULT ? "second" : NULL;
		return -1;
	}
	if (mode != WW_CU_COMPUTEMODE_DEFAULT) {
		probe->state = STATE_LIMITED;
		probe->cause = "exclusive-mps";
	}
	snprintf(probe->found, sizeof(probe->found), "%s: two processes have contexts at once",
		mode_name(mode));
	return 0;
}

int probe_memory(struct probe *probe)
{
	size_t free_bytes = 0;
	size_t total_bytes = 0;
	char free_text[NUMBER_BYTES];
	char total_text[NUMBER_BYTES];

	if (CUDA_CALL(&probe->cuda, cuMemGetInfo, &free_bytes, &total_bytes))
		return -1;
	number_size_text(free_bytes, free_text);
	number_size_text(total_bytes, total_text);
	if (free_bytes < MEMORY_FEW)
		probe->state = STATE_LIMITED;
	snprintf(probe->found, sizeof(probe->found), "%s of %s are free", free_text, total_text);
	return 0;
}
