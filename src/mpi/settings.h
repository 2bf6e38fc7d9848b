/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - what the environment says; read once, at the first call that needs it
 */
#ifndef WW_MPI_SETTINGS_H
#define WW_MPI_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

enum ww_mpi_route {
	WW_MPI_ROUTE_AUTO,   /* the MPI's own, if it takes device pointers; else direct */
	WW_MPI_ROUTE_STAGED, /* always by way of the host */
	WW_MPI_ROUTE_DIRECT, /* direct, if the message is large enough; else staged */
	WW_MPI_ROUTE_MPI, /* the MPI's own: it takes device pointers, whether or not it says so */
};

/* A message that goes directly has at least so many bytes: more than a control message. */
#define WW_MPI_DIRECT_LEAST 1024

struct ww_mpi_settings {
	enum ww_mpi_route route;  /* WARPWAY_MPI_ROUTE */
	size_t staging_bytes;     /* WARPWAY_MPI_STAGING: a bound of pinned memory */
	size_t direct_bytes;      /* WARPWAY_MPI_DIRECT: messages of so many go directly */
	size_t direct_same_bytes; /* the same between processes on one GPU, without MPS */
	size_t pool_bytes; /* WARPWAY_MPI_POOL: a bound for each GPU; 0: a quarter of its memory */
	/* WARPWAY_MPI_COLLECTIVES=direct or hierarchical, and the route is not staged */
	bool direct_collectives;
	size_t divided_bcast_bytes;    /* WARPWAY_MPI_DIVIDED_BCAST: of so many it is divided */
	bool hierarchical_collectives; /* WARPWAY_MPI_COLLECTIVES=hierarchical */
	const char
		*node; /* WARPWAY_MPI_NODE: ranks with other ones are as on another machine; "" */
	bool is_reporting; /* WARPWAY_MPI_REPORT */
};

const struct ww_mpi_settings *ww_mpi_settings(void);

#endif
