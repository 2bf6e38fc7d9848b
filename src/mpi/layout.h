/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - where the bytes of a datatype lie
 *
 * An element of a type is a list of runs of bytes, in the order in which they are sent. The MPI
 * itself is asked for it: it unpacks a message whose bytes say their positions, and what lies
 * where afterwards is the layout. So no kind of type has to be understood here. The layout of a
 * derived type is an attribute of the type and ends with it.
 *
 * A type that is only used to send may have a byte of memory several times. Its list has that byte
 * once, so it is incomplete.
 */
#ifndef WW_MPI_LAYOUT_H
#define WW_MPI_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "mpi/abi.h"

struct ww_mpi_run {
	MPI_Count offset;   /* from the element's address */
	MPI_Count position; /* in the message */
	MPI_Count bytes;
};

struct ww_mpi_layout {
	_Atomic long refs;
	MPI_Count size; /* data of an element */
	MPI_Count extent;
	MPI_Count true_lb;
	MPI_Count true_extent;
	/*
	 * The runs are all bytes of memory that an element has, but they are not its message, which
	 * has some of them several times, or in an order that is not known: only the MPI can pack
	 * an element.
	 */
	bool is_incomplete;
	size_t run_count;
	struct ww_mpi_run runs[];
};

/*
 * The layout of a type; the caller has a reference. Return: NULL if there is no memory, or the type
 * cannot be looked at.
 */
struct ww_mpi_layout *ww_mpi_layout_get(MPI_Datatype type);
struct ww_mpi_layout *ww_mpi_layout_unref(struct ww_mpi_layout *layout);

/*
 * A call of this thread begins, with this communicator or with none (MPI_COMM_NULL), or it ends
 * (MPI_COMM_NULL). A program that uses sessions alone has no MPI_COMM_SELF: there the layout of a
 * type with gaps is found by the communicator of the call.
 */
void ww_mpi_layout_set_comm(MPI_Comm comm);

/*
 * Whether it is a predefined type of which this process knows the layout: its first byte is at 0.
 */
bool ww_mpi_type_is_named(MPI_Datatype type);

/*
 * Where an element's first byte may lie, measured from the address that a call is given: 0 for all
 * predefined types, which costs a look into a table.
 */
MPI_Aint ww_mpi_first_byte(MPI_Datatype type);

#endif
