/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - device memory as the MPI library sees it: which pointers are of it, and copies
 *
 * The driver is the one that the program has loaded. If it has loaded none, no pointer can be
 * device memory, and nothing here loads it. A context is made for one reason only: memory that
 * belongs to no context (cuMemCreate(), pools) needs the primary one of its device for a copy.
 *
 * Copies are enqueued in a stream of ours, one for each context, and waited for. The thread's
 * current context is the same after each call.
 */
#ifndef WW_MPI_CUDA_H
#define WW_MPI_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/cuda/relaxed_mode.h"

/* What the driver says of an address. */
struct ww_mpi_memory {
	bool is_device; /* staged: memory of a GPU, or managed memory */
	int ordinal;
	void *context;   /* the driver's; NULL: it belongs to none */
	uintptr_t start; /* of the allocation */
	uintptr_t end;
};

/* Whether a pointer may be device memory: whether the program has loaded the driver. */
bool ww_mpi_cuda_is_there(void);

/* Whether it is device memory: one question to the driver. Any number may be asked for. */
bool ww_mpi_cuda_owns(const void *pointer);

/* All that is to be known of it. */
void ww_mpi_cuda_find(const void *pointer, struct ww_mpi_memory *out_memory);

/* Memory that this process has mapped for a device, whichever device has the bytes. */
void ww_mpi_cuda_of(int ordinal, struct ww_mpi_memory *out_memory);

/*
 * Copies, one after the other. What lies side by side in both places is copied at once.
 *
 *   struct ww_mpi_copies copies = {0};
 *   ww_mpi_copies_add(&copies, to, from, bytes, &memory);   memory: of the side on the device
 *   code = ww_mpi_copies_end(&copies);                      all are done; 0 or the driver's error
 *
 * After an error, add does nothing. No call of the driver ends the capture of a stream.
 */
struct ww_mpi_copies {
	char *to; /* the copy that is not enqueued yet */
	const char *from;
	size_t bytes;
	struct ww_mpi_memory memory;
	void *context; /* that is current because of us */
	void *stream;
	bool is_pushed;
	struct ww_cuda_relaxed relaxed; /* while it is pushed */
	int error;
};

void ww_mpi_copies_add(struct ww_mpi_copies *copies, void *to, const void *from, size_t bytes,
	const struct ww_mpi_memory *memory);

/* The device starts what was added; more may be added. Until the end its context is current. */
void ww_mpi_copies_begin(struct ww_mpi_copies *copies);
int ww_mpi_copies_end(struct ww_mpi_copies *copies);

/*
 * Lets the driver pin host memory. Return: the context that it is pinned in, to be given to unpin;
 * NULL if it is not pinned, and so is copied as well, but slower.
 */
void *ww_mpi_cuda_pin(void *at, size_t bytes, const struct ww_mpi_memory *memory);
void ww_mpi_cuda_unpin(void *at, void *context);

/*
 * Loads a module of PTX into a context, which keeps it, and finds its kernel. Return: 0 or the
 * driver's error
 */
int ww_mpi_cuda_load(void *context, const char *ptx, const char *name, void **out_kernel);

/*
 * Runs a kernel, and waits for it. Return: as above; the work of this process before it was
 * complete.
 */
int ww_mpi_cuda_launch(void *context, void *kernel, unsigned int blocks, unsigned int threads,
	void **arguments);

/* Whether an error says that a context has ended, and what was made in it. */
bool ww_mpi_cuda_is_stale(int error);

#define WW_MPI_CUDA_INVALID   1 /* CUDA_ERROR_INVALID_VALUE */
#define WW_MPI_CUDA_NO_MEMORY 2 /* CUDA_ERROR_OUT_OF_MEMORY */

/* The driver's words for an error, with what to do where that is known. */
void ww_mpi_cuda_describe(int error, char *out_text, size_t bytes);

#endif
