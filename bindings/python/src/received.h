/* SPDX-License-Identifier: Apache-2.0 */
/*
 * received.h - which pickles of slices this process has received
 *
 * The broker counts how often other tokens are received. Slices of pools are counted by the
 * processes that import them, none of which knows who else has imported. So the pickle of a slice
 * has a random number; a process keeps about the latest 4096 that it has received, and refuses one
 * that comes too often. Pickles of several senders can take each other's places.
 *
 * Threads: under the GIL.
 */
#ifndef CORE_RECEIVED_H
#define CORE_RECEIVED_H

#include "core.h"

/* What a refusal ends with. */
#define RECEIVE_AGAIN                                                                  \
	": send it anew, or send what can be unpickled again: token(uses=n) n times, " \
	"get_ipc_handle() of an Array any number of times"

/* What a pickle says of itself. */
struct sent {
	uint64_t number; /* random; 0: not counted */
	uint32_t uses;   /* how often a process may receive it */
};

/*
 * For a token that is sent.
 * @is_slice: it names a slice; of other memory the broker counts
 * @uses:     0: any number
 */
struct sent sent_choose(bool is_slice, uint32_t uses);

/* Whether it may be received (again); false with an exception. */
bool received_check(struct core *core, const struct sent *sent);

/* It was received. */
void received_note(const struct sent *sent);

#endif
