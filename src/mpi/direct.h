/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct.h - messages of device memory between ranks of a node, without host memory
 *
 *   the sender                                        the receiver
 *   takes a slice of its pool, on the same GPU
 *   packs the data into it, and waits for the copy
 *   exports it as a delivery for one import
 *   sends a control message in the place of the ──>   receives into the program's buffer, or into
 *   data: same function, tag, communicator            the staging memory in its place
 *                                                     if it is a control message: imports the
 *                                                     slice, copies the data into the buffer
 *
 * So the send completes as one of a short message does, matching is the MPI's, and the slice stays
 * until the receiver has read it, or the sender has ended for a while (in_flight.h).
 *
 * Control messages have one length, which few messages of programs have and which both MPIs send
 * eagerly. It is a multiple of 32: a receive of any predefined type gets a whole number of
 * elements, without which MPICH 5 ends the program. Of a message of that length the first bytes
 * tell whether it is one: they are a secret of the receiver, which its page tells (peer.h). The
 * length carries no information.
 */
#ifndef WW_MPI_DIRECT_H
#define WW_MPI_DIRECT_H

#include <warpway/memory.h>
#include <warpway/token.h>

#include "mpi/call.h"
#include "mpi/peer.h"

struct ww_mpi_control {
	uint8_t nonce[WW_MPI_NONCE_BYTES];
	int64_t bytes; /* of data */
	struct ww_token token;
	char unused[8];
};

#define WW_MPI_CONTROL_BYTES 544

/*
 * Sends the one buffer of a call, or its first one, directly, if the receiver takes that and there
 * is room. Then the MPI is to send the buffer's .control, WW_MPI_CONTROL_BYTES of MPI_BYTE.
 */
void ww_mpi_direct_send(struct ww_mpi_call *call, int dest);

/* Shorter messages never go directly. */
size_t ww_mpi_direct_least(void);

/* Whether another rank has announced itself with this device. */
bool ww_mpi_direct_is_same(int ordinal, const struct ww_mpi_peer *peer);

/* Whether the direct route is the faster one from a device of this rank to another rank. */
bool ww_mpi_direct_is_worth_it(int ordinal, const struct ww_mpi_peer *peer, MPI_Count bytes);

/*
 * Packs a device buffer into a slice, and exports that as a delivery for so many imports, which
 * keeps it. Return: the slice, of which the caller has a reference; NULL: there is no room, it
 * failed, or only the MPI can pack the data
 */
ww_memory *ww_mpi_direct_give(struct ww_mpi_buffer *buffer, uint32_t uses,
	struct ww_token *out_token);
/* No rank imports the slice from now on. */
void ww_mpi_direct_take_back(const struct ww_token *token);

/* Imports a slice of at least so many bytes for a device. Return: NULL: *out_why says why not */
ww_memory *ww_mpi_direct_map(int ordinal, const struct ww_token *token, MPI_Count bytes,
	const char **out_why);

/*
 * Copies bytes of a slice that another rank gave to the buffer, on a GPU of this rank or on the
 * host. Return: NULL, or why they cannot be had; @text may have the words
 */
const char *ww_mpi_direct_take(struct ww_mpi_buffer *buffer, int ordinal,
	const struct ww_token *token, MPI_Count from, MPI_Count bytes, char *text,
	size_t text_bytes);

/* The MPI did not send the control message: the slice is free again. */
void ww_mpi_direct_undo(const struct ww_mpi_buffer *buffer);

/* A call receives into its last buffer: it may be one for which this rank announces itself. */
void ww_mpi_direct_expect(struct ww_mpi_call *call);

/*
 * Gives the receive memory without gaps, if a control message could not be received otherwise.
 * @count_most: of the argument. Return: whether it did: then the MPI gets .bytes of MPI_PACKED
 */
bool ww_mpi_direct_pack(struct ww_mpi_call *call, MPI_Count count_most);

/*
 * A receive is complete: @most bytes of its buffer were written. If they are a control message, the
 * data is written to the buffer, and the status says how much.
 * Return: whether it was one; *code is then MPI_SUCCESS, or a code that no error handler has got
 */
bool ww_mpi_direct_receive(struct ww_mpi_buffer *buffer, const char *name, MPI_Status *status,
	MPI_Count most, int *code);

/* Likewise with a message that a probe took out of the MPI (probe.h). Return: the code. */
int ww_mpi_direct_deliver(struct ww_mpi_buffer *buffer, const char *name,
	const struct ww_mpi_control *control, MPI_Status *status);

/* Whether a message that was received is a control message for this rank. */
bool ww_mpi_direct_is_control(const struct ww_mpi_control *control);

struct ww_mpi_direct_volume {
	unsigned long long sent;
	unsigned long long sent_bytes;
	unsigned long long received;
	unsigned long long received_bytes;
	unsigned long long refused; /* staged, since there was no room in the pool */
};

void ww_mpi_direct_volume_get(struct ww_mpi_direct_volume *out_volume);

#endif
