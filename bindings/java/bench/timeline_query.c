/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_query.c - nanoseconds of one ww_timeline_query(), for TimelineQuery.java
 */
#include <stdio.h>
#include <time.h>

#include <warpway/warpway.h>

#define CALLS 5000000

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

int main(void)
{
	ww_timeline *timeline;
	double best = 1e9;

	if (ww_timeline_create(NULL, &timeline) != WW_OK ||
		ww_timeline_signal(timeline, 1) != WW_OK)
		return 1;
	for (int round = 0; round < 5; round++) {
		double begin = now_ns();
		for (int i = 0; i < CALLS; i++) {
			if (ww_timeline_query(timeline, 1) != WW_OK)
				return 1;
		}
		double each = (now_ns() - begin) / CALLS;
		best = each < best ? each : best;
	}
	printf("%.1f\n", best);
	ww_timeline_unref(timeline);
	return 0;
}
