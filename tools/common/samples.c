/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.c - a series of measured times and what is said of it
 */
#include "common/samples.h"

#include <stdlib.h>

#include "common/say.h"

#define NS_PER_US 1e3

int samples_add(struct samples *samples, uint64_t ns)
{
	if (samples->count == samples->capacity) {
		size_t capacity = samples->capacity ? 2 * samples->capacity : 256;
		uint64_t *grown = realloc(samples->ns, capacity * sizeof(*grown));

		if (!grown)
			return complain("out of memory");
		samples->ns = grown;
		samples->capacity = capacity;
	}
	samples->ns[samples->count++] = ns;
	return 0;
}

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

double samples_permille_us(struct samples *samples, unsigned int permille)
{
	size_t rank = (samples->count * permille + 999) / 1000;

	if (samples->count == 0)
		return 0;
	qsort(samples->ns, samples->count, sizeof(*samples->ns), compare);
	return (double)samples->ns[rank ? rank - 1 : 0] / NS_PER_US;
}

double samples_percentile_us(struct samples *samples, unsigned int percent)
{
	return samples_permille_us(samples, 10 * percent);
}

void samples_fini(struct samples *samples)
{
	free(samples->ns);
	*samples = (struct samples){0};
}
