/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.h - a series of measured times and what is said of it
 */
#ifndef TOOLS_COMMON_SAMPLES_H
#define TOOLS_COMMON_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

struct samples {
	uint64_t *ns;
	size_t count;
	size_t capacity;
};

/* Returns 0, or -1 after saying that memory is short. */
int samples_add(struct samples *samples, uint64_t ns);

/*
 * The smallest value that so many percent, or thousandths, of the series do not exceed, in
 * microseconds; 0 for an empty series. Sorts the series.
 */
double samples_percentile_us(struct samples *samples, unsigned int percent);
double samples_permille_us(struct samples *samples, unsigned int permille);

void samples_fini(struct samples *samples);

static inline void own_samples(struct samples *samples)
{
	samples_fini(samples);
}

#endif
