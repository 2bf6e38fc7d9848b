/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.h - messages that a probe took out of the MPI
 *
 * A probe that finds a control message (direct.h) must tell the length of the data. Only a receive
 * tells what is in a message. So a probe that finds a message of that length takes it out of the
 * MPI with MPI_Improbe() and MPI_Mrecv(), and keeps it. It first takes out, without receiving them,
 * all messages that the same rank sent earlier on that communicator: so what is kept comes before
 * all that the MPI still has from that rank, and receives and probes look here first.
 *
 *   probe of one that is left there     kept, until a receive gets it
 *   MPI_Mprobe(), MPI_Improbe()         the program gets a handle of ours, until MPI_Mrecv()
 *
 * If several threads may call the MPI, a receive is posted and looked for here in one step: else a
 * probe in another thread could take its message out in between, and it would wait for ever.
 */
#ifndef WW_MPI_PROBE_H
#define WW_MPI_PROBE_H

#include "mpi/call.h"

/* What a receive asks for; buffer is what the MPI is to write. */
struct ww_mpi_receive {
	void *buffer;
	MPI_Count count;
	MPI_Datatype type;
	int source;
	int tag;
	MPI_Comm comm;
};

/*
 * Receives, if the MPI alone must not: a message is kept here, or other threads may probe. The
 * last buffer of the call is the receive's.
 * Return: false: the MPI is to be called as usual; true: *out_code is what it would have returned
 */
bool ww_mpi_probe_receive(struct ww_mpi_call *call, const struct ww_mpi_receive *receive,
	MPI_Status *status, int *out_code);
bool ww_mpi_probe_post(struct ww_mpi_call *call, const struct ww_mpi_receive *receive,
	MPI_Request *request, int *out_code);

/* The same for the receive in an exchange; @send: of the other message. */
struct ww_mpi_send {
	const void *buffer;
	MPI_Count count;
	MPI_Datatype type;
	int dest;
	int tag;
	bool is_same; /* the receive's buffer is the same */
};

bool ww_mpi_probe_exchange(struct ww_mpi_call *call, const struct ww_mpi_send *send,
	const struct ww_mpi_receive *receive, MPI_Status *status, int *out_code);
bool ww_mpi_probe_post_exchange(struct ww_mpi_call *call, const struct ww_mpi_send *send,
	const struct ww_mpi_receive *receive, MPI_Request *request, int *out_code);

/* For a message that may have a handle of ours. */
bool ww_mpi_probe_mreceive(struct ww_mpi_call *call, MPI_Message *message, MPI_Status *status,
	int *out_code);
bool ww_mpi_probe_mpost(struct ww_mpi_call *call, MPI_Message *message, MPI_Request *request,
	int *out_code);

/*
 * A persistent receive is about to be started. If what it asks for is kept, it gets it now.
 * Return: whether it did; the real request is then not started
 */
bool ww_mpi_probe_start(struct ww_mpi_buffer *buffer, const char *name,
	const struct ww_mpi_receive *receive, MPI_Status *out_status, int *out_code);

/* While a receive is posted in another way. */
void ww_mpi_probe_lock(void);
void ww_mpi_probe_unlock(void);

#endif
