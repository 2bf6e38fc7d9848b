/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offer_cli_module.c - for offer_cli_test.py: kernels of the host device
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <warpway/module.h>

void scale(const struct ww_host_launch *launch, void *const *arguments);
void geometry(const struct ww_host_launch *launch, void *const *arguments);
void crash(const struct ww_host_launch *launch, void *const *arguments);
void hold(const struct ww_host_launch *launch, void *const *arguments);
extern const uint32_t scale_argument_bytes[];

const uint32_t scale_argument_bytes[] = {1, 8, 8, 8, 0};

void scale(const struct ww_host_launch *launch, void *const *arguments)
{
	uint8_t factor = *(const uint8_t *)arguments[0];
	const uint8_t *x = *(const uint8_t *const *)arguments[1];
	uint8_t *y = *(uint8_t **)arguments[2];
	uint64_t count = *(const uint64_t *)arguments[3];

	(void)launch;
	for (uint64_t i = 0; i < count; i++)
		y[i] = (uint8_t)(factor * x[i]);
}

/* Writes its grid, its block and its shared bytes. */
void geometry(const struct ww_host_launch *launch, void *const *arguments)
{
	uint32_t *out = *(uint32_t **)arguments[0];

	for (int i = 0; i < 3; i++) {
		out[i] = launch->grid[i];
		out[3 + i] = launch->block[i];
	}
	out[6] = launch->shared_bytes;
}

void crash(const struct ww_host_launch *launch, void *const *arguments)
{
	(void)launch;
	(void)arguments;
	raise(SIGKILL);
}

/* Writes 1, and 2 when the file is there that the environment names. */
void hold(const struct ww_host_launch *launch, void *const *arguments)
{
	volatile uint8_t *x = *(volatile uint8_t **)arguments[0];
	const char *path = getenv("OFFER_HOLD_FILE");

	(void)launch;
	x[0] = 1;
	while (path && access(path, F_OK))
		sched_yield();
	x[0] = 2;
}
