/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.c - see settings.h
 *
 * A value that means nothing is reported and the default taken: the program has no way to hear of
 * it as an error.
 */
#include "mpi/settings.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Pinned memory cannot be taken from this rank for the ranks beside it. */
#define SHARE_OF_MEMORY 4

/*
 * Measured on H100 and H200: from here on the direct route is faster than staging
 * (docs/measurements.md).
 */
#define DIRECT_BYTES      ((size_t)64 << 10)
#define DIRECT_SAME_BYTES ((size_t)1 << 20) /* each message costs switches between contexts */

/* To divide a broadcast, all ranks meet once more, and map a slice of each. */
#define DIVIDED_BCAST_BYTES ((size_t)16 << 20)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct ww_mpi_settings settings;

static void complain(const char *name, const char *value, const char *wanted)
{
	fprintf(stderr, "warpway: %s=%s is ignored: it is to be %s\n", name, value, wanted);
}

/* A number with K, M or G after it. Return: 0 if it is none. */
static size_t parse_bytes(const char *value)
{
	char *end;
	unsigned long long number;
	int shift;

	errno = 0;
	number = strtoull(value, &end, 10);
	if (errno || end == value || *value == '-')
		return 0;
	shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	end += shift != 0;
	if (*end || number > SIZE_MAX >> shift)
		return 0;
	return (size_t)number << shift;
}

/* Return: @otherwise if the variable is not set, or is no number of bytes. */
static size_t read_bytes(const char *name, size_t otherwise)
{
	const char *value = getenv(name);
	size_t bytes = value && *value ? parse_bytes(value) : 0;

	if (value && *value && !bytes)
		complain(name, value, "a number of bytes, with K, M or G after it");
	return bytes ? bytes : otherwise;
}

static void read_all(void)
{
	const char *report = getenv("WARPWAY_MPI_REPORT");
	const char *node = getenv("WARPWAY_MPI_NODE");
	const char *value = getenv("WARPWAY_MPI_ROUTE");
	size_t bytes;

	if (value && *value && strcmp(value, "auto")) {
		if (!strcmp(value, "staged"))
			settings.route = WW_MPI_ROUTE_STAGED;
		else if (!strcmp(value, "direct"))
			settings.route = WW_MPI_ROUTE_DIRECT;
		else if (!strcmp(value, "mpi"))
			settings.route = WW_MPI_ROUTE_MPI;
		else
			complain("WARPWAY_MPI_ROUTE", value, "auto, direct, staged or mpi");
	}
	bytes = read_bytes("WARPWAY_MPI_DIRECT", 0);
	settings.direct_bytes = DIRECT_BYTES;
	settings.direct_same_bytes = DIRECT_SAME_BYTES;
	if (bytes) {
		bytes = bytes < WW_MPI_DIRECT_LEAST ? WW_MPI_DIRECT_LEAST : bytes;
		settings.direct_bytes = bytes;
		settings.direct_same_bytes = bytes;
	}
	value = getenv("WARPWAY_MPI_COLLECTIVES");
	if (value && *value && strcmp(value, "staged") && settings.route != WW_MPI_ROUTE_MPI) {
		settings.hierarchical_collectives = !strcmp(value, "hierarchical");
		if (settings.hierarchical_collectives || !strcmp(value, "direct"))
			settings.direct_collectives = settings.route != WW_MPI_ROUTE_STAGED;
		else
			complain("WARPWAY_MPI_COLLECTIVES", value,
				"direct, hierarchical or staged");
	}
	settings.staging_bytes = read_bytes("WARPWAY_MPI_STAGING",
		(size_t)sysconf(_SC_PHYS_PAGES) / SHARE_OF_MEMORY * (size_t)sysconf(_SC_PAGESIZE));
	settings.divided_bcast_bytes = read_bytes("WARPWAY_MPI_DIVIDED_BCAST", DIVIDED_BCAST_BYTES);
	settings.pool_bytes = read_bytes("WARPWAY_MPI_POOL", 0);
	settings.node = node ? node : "";
	settings.is_reporting = report && *report && strcmp(report, "0");
}

const struct ww_mpi_settings *ww_mpi_settings(void)
{
	pthread_once(&once, read_all);
	return &settings;
}
