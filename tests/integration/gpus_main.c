/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus_main.c - the suite's tables
 *
 * What the fake driver holds for this process is counted before and after each case, beside
 * descriptors and mappings.
 */
#include "integration/gpus.h"
#include "support/driver.h"

static uint64_t has;
static uint32_t gpus;
static struct fakecuda_live live_before;

static struct check_suite suite;

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
	OWN(device) ww_device *device = subject_open();
	uint64_t capabilities = device_info(device).capabilities;
	uint64_t values = WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY;

	gpus = subject_is_cuda() ? gpu_count() : 0;
	has |= (capabilities & values) == values ? NEEDS_VALUES : 0;
	has |= capabilities & WW_CAP_HOST_MEMORY ? NEEDS_HOST_MEMORY : 0;
	suite.leaks = subject_is_countable();
	use_all_gpus();
	check_note("%s of %u GPUs", device_info(device).selector, gpus);
}

static const char *skip(const struct check_case *item)
{
	uint64_t missing = item->needs & ~has;

	if (gpus < 2)
		return "needs two GPUs";
	if (missing & NEEDS_VALUES)
		return "the device's streams cannot wait for the values of other processes";
	return missing ? "the device cannot use host memory" : NULL;
}

static void count_before(void)
{
	if (fake_get())
		fake_get()->live(&live_before);
}

static void count_after(void)
{
	struct fakecuda_live live;

	if (!fake_get())
		return;
	fake_get()->live(&live);
	MUST_MATCH(&live_before, &live, sizeof(live));
}

static struct check_suite suite = {
	.name = "integration-gpus",
	.skip = skip,
	.warm_up = look_at_subject,
	.before = count_before,
	.after = count_after,
};

int main(int argc, char **argv)
{
	return check_main(&suite, argc, argv);
}
