/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_process.h - whether the process of the other side lives, when no broker says so
 *
 * The two sides are the producer and the consumers of a channel, or the server and the clients of a
 * service. Each puts a pidfd of its own process beside its object, and the broker hands it to the
 * other side. The kernel makes it readable when that process has ended, whichever other processes
 * live: then its descriptors of the GPU driver are closed, so no work of it goes on. A side that
 * waits looks every WW_PEER_LOOK_NS; a side that finds what it wants never looks.
 *
 * An untrusted process can send the pidfd of another process, or any descriptor that a broker keeps
 * (memory and devices of the GPU driver; poll() of these does not block):
 *   - of one that has ended: then it counts as ended. As a producer or a server it could have
 *     closed the channel or the service as well. As a consumer it gives up the frames kept for it,
 *     and its slots are written while it reads; as a client it gives up its calls.
 *   - of one that lives on: its own end is noticed only by the broker, as without a pidfd. A
 *     consumer or a client that has sent none could stay alive as well to keep what it has.
 * The other side never signals it, so it never reaches a process that has nothing to do with this.
 * A pidfd gives a process that may read the object nothing that would not need a further
 * permission.
 */
#ifndef WW_GROUP_PEER_PROCESS_H
#define WW_GROUP_PEER_PROCESS_H

#include <stdatomic.h>

#include "base/ref.h"
#include "share/get_reply.h"
#include "share/put_request.h"

/* How long a side sleeps before it looks whether the other one has ended: that wakes no thread. */
#define WW_PEER_LOOK_NS UINT64_C(50000000)

struct ww_peer_process {
	struct ww_ref ref;
	int fd;                   /* owned */
	_Atomic uint64_t look_ns; /* not before */
	atomic_bool has_ended;
};

/*
 * Of what was granted, if a pidfd came as its descriptor @at. Return: WW_OK (NULL: none came);
 * WW_ERR_NO_MEMORY; WW_ERR_LIMIT.
 */
ww_status ww_peer_process_get(const struct ww_get_reply *grant, size_t at,
	struct ww_peer_process **out_process);
struct ww_peer_process *ww_peer_process_ref(struct ww_peer_process *process);   /* takes NULL */
struct ww_peer_process *ww_peer_process_unref(struct ww_peer_process *process); /* takes NULL */

/* Whether it has ended, says the kernel. @process: NULL: false */
bool ww_peer_process_ask(struct ww_peer_process *process);

/* The same, if it was not asked in the last WW_PEER_LOOK_NS. */
bool ww_peer_process_look(struct ww_peer_process *process);

/* What is known. @process: NULL: false */
static inline bool ww_peer_process_has_ended(const struct ww_peer_process *process)
{
	return process && atomic_load_explicit(&process->has_ended, memory_order_acquire);
}

/*
 * Puts an object with a pidfd of this process behind its descriptors. Without it if the kernel has
 * none, or the broker is too old to keep one.
 * @whom:  which processes get it: WW_PUT_TO_... bits
 * Return: as ww_put_request_put().
 */
ww_status ww_peer_process_put(struct ww_put_request *request, struct ww_attachments *thing,
	struct ww_broker *broker, uint8_t whom);

#endif
