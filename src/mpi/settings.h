/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - what the environment says; read once, at the first call that needs it
 */
#ifndef WW_MPI_SETTINGS_H
#define WW_MPI_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

enum ww_mpi_route {
	WW_MPI_ROUTE_AUTO,   /* the MPI's own, if it takes device pointers; else staged */
	WW_MPI_ROUTE_STAGED, /* always by way of the host */
};

struct ww_mpi_settings {
	enum ww_mpi_route route; /* WARPWAY_MPI_ROUTE */
	size_t staging_bytes;    /* WARPWAY_MPI_STAGING: a bound */
	bool is_reporting;       /* WARPWAY_MPI_REPORT */
};

const struct ww_mpi_settings *ww_mpi_settings(void);

#endif
