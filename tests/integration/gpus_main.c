/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus_main.c - the suite's tables
 *
 * What the fake driver holds for this process is counted before and after each case, beside
 * descriptors and mappings.
 */
#include "integration/gpus.h"

static uint32_t gpus;

/* Contexts that are made on the way would count as leaks. */
static void use_all_gpus(void)
{
	for (uint32_t i = 0; i < gpus; i++) {
		ww_device *gpu = gpu_open(i);

		(void)device_free_bytes(gpu);
		ww_device_unref(gpu);
	}
}

static void look_at_subject(void)
{
	gpus = subject_is_cuda() ? gpu_count() : 0;
	use_all_gpus();
	check_note("%s of %u GPUs", subject_name(), gpus);
}

static const char *skip(const struct check_case *item)
{
	return gpus < 2 ? "needs two GPUs" : needs_missing(item);
}

CHECK_MAIN(needs_main_live, .name = "integration-gpus", .skip = skip, .warm_up = look_at_subject)
