/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls_peer.h - what `warpway bench calls` and the programs beside it say to each other
 *
 * A peer is a process that calls another one, which it has started, by a library that is not ours.
 * It has a socket at LINK_FD. To LINK_GO, whose numbers are the bytes of a message and a count, it
 * makes one call that carries as many bytes, and then as many as the count says; to a call the
 * answer is empty. It answers LINK_SAMPLE, with the nanoseconds that all calls but the first have
 * taken, or with CALLS_PEER_MISSING where the library is missing. When the socket is closed, it
 * ends.
 */
#ifndef TOOLS_BENCH_CALLS_PEER_H
#define TOOLS_BENCH_CALLS_PEER_H

#include "common/child_link.h"

#define CALLS_PEER_MISSING UINT64_MAX

#endif
