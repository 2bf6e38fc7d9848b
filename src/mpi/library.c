/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.c - the end of the MPI
 */
#include <stdio.h>

#include "mpi/agree.h"
#include "mpi/collective.h"
#include "mpi/direct.h"
#include "mpi/next.h"
#include "mpi/node.h"
#include "mpi/request.h"
#include "mpi/settings.h"
#include "mpi/support.h"

int ww_mpi_call_Finalize(ww_mpi_fn_Finalize *next)
{
	int code;

	ww_mpi_depth++;
	ww_mpi_request_finish();
	ww_mpi_agree_finish();
	if (ww_mpi_settings()->is_reporting) {
		struct ww_mpi_direct_volume direct;
		struct ww_mpi_volume volume;
		size_t used, most, bound;
		int rank = 0;

		if (ww_mpi_has_world())
			PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
		ww_mpi_volume_get(&volume);
		ww_mpi_staging_state(&used, &most, &bound);
		fprintf(stderr,
			"warpway: rank %d: %llu buffers staged, %llu bytes from devices, %llu bytes to devices, "
			"at most %zu bytes of staging memory\n",
			rank, volume.buffers, volume.bytes_in, volume.bytes_out, most);
		if (ww_mpi_settings()->route != WW_MPI_ROUTE_STAGED) {
			ww_mpi_direct_volume_get(&direct);
			fprintf(stderr,
				"warpway: rank %d: %llu messages sent directly with %llu bytes, %llu received with %llu "
				"bytes, no room for %llu, %llu collectives went directly, %llu were hierarchical%s%s\n",
				rank, direct.sent, direct.sent_bytes, direct.received,
				direct.received_bytes, direct.refused, ww_mpi_collective_count(),
				ww_mpi_node_count(),
				ww_mpi_direct_problem() ? "; no direct route: " : "",
				ww_mpi_direct_problem() ? ww_mpi_direct_problem() : "");
		}
	}
	ww_mpi_depth--;
	code = next();
	ww_mpi_peer_finish();
	return code;
}
