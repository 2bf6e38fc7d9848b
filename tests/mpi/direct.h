/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct.h - what direct.c, collective.c and probe.c share: two ranks, whose data tell where they
 * come from
 */
#ifndef TESTS_MPI_DIRECT_H
#define TESTS_MPI_DIRECT_H

#include <warpway/mpi.h>

#include <stdbool.h>
#include <stddef.h>

#include "mpi/abi.h"

#define DATA    4000 /* bytes of most messages */
#define CONTROL 544  /* of src/mpi/direct.h */

extern int peer; /* the other rank */

struct ww_mpi_info info(void);

unsigned char byte_of(int sender, int tag, size_t at);
void fill(void *memory, size_t bytes, int tag);
void check(const void *memory, size_t bytes, size_t count, int tag);

/* A buffer of either kind; 0xee everywhere. */
struct place {
	unsigned char *at;
	size_t bytes;
	bool is_device;
};

struct place place_new(size_t bytes, bool is_device);
void place_free(struct place *place);

/* A local place, which is freed when its scope ends. */
#define OWN_PLACE __attribute__((cleanup(place_free), unused))

void barrier(void);
void send_device(size_t bytes, int tag);
void send_host(size_t bytes, int tag);
/* @room: bytes of the buffer; @count: of data that come */
void receive(size_t room, bool is_device, int count, int tag);

void must_be(const MPI_Status *status, int count, int tag);
void must_be_cut(int code);
void probe(int count, int tag);

/* probe.c */
void kept_unread(void);
void kept_many(void);
void probe_fails(void);
void refused_exchanges(void);
void announcing_fails(void);

/* collective.c; both ranks take direct messages */
void collectives_go_directly(void);
void collectives_are_divided(void);
void divided_killed(void);
void divided_killed_prepare(void);

/* large.c; with the fake driver only */
void halves_of_2_gib(void);

/* killed.c; the ones after the first do not return */
void broker_killed(void);
void sender_killed(void);
void sender_killed_long_ago(void);
void aborted(void);
void member_killed(void);
void divided_bcast_killed(void);
void divided_bcast_unanswered(void);
void divided_bcast_root_unanswered(void);

#endif
