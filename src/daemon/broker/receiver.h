/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receiver.h - another process receives the descriptors of users that the broker does not trust
 *
 * A process must close each descriptor that it receives. A close() of a file of the sender's own
 * file system (FUSE) waits for the sender, cannot be interrupted, and outlives SIGKILL. Closing an
 * inotify descriptor takes milliseconds. So the broker itself must never receive such descriptors.
 *
 * Each user whose packets carry descriptors has a process of its own, the receiver
 * (receiver_process.h), while it has connections. The broker peeks at a packet before it receives
 * it. A packet with descriptors is received by the receiver, which passes on the packet and those
 * descriptors that are of a kind that the broker keeps (descriptor_kind.h). For the others there is
 * -1 in peer.fds. Meanwhile nothing is read from that connection, so the order of its packets
 * stays.
 *
 *   idle ──take──> busy ──answer──> idle
 *    │              └──no answer in 5 s, and it waits──> hung ──> (reaped)
 *    └──user's last connection ends, or it dies──> ending ──> (reaped)
 *
 * If a receiver does not answer, it is killed, and the connections that wait for it end with an
 * error. Until it has been reaped, packets of its user with descriptors are refused. So at most one
 * process of each user hangs.
 *
 * A receiver must not delay the broker if both share a CPU. So it has a nice value of 10, and
 * before it closes the first descriptor that is not kept, it takes the policy SCHED_IDLE, whose
 * tasks are preempted at once. Where all CPUs are busy such a task hardly runs. It is runnable
 * then, which is how it is told from one that hangs.
 *
 * The last close() of a socket releases the descriptors in its queue, which may take long too. So
 * if something is left in the socket of such a user, the socket is sent to another process
 * (RECEIVER_CLOSE), which closes it last.
 *
 * Root, and the user that the broker runs as, are trusted: their packets are received directly.
 * These users can end the broker anyway.
 */
#ifndef WW_DAEMON_BROKER_RECEIVER_H
#define WW_DAEMON_BROKER_RECEIVER_H

#include <stdbool.h>

#include <warpway/base.h>

struct account;
struct peer;
struct server;

/*
 * At the start of the broker, before it opens much else: a receiver inherits copies of the
 * descriptors opened so far.
 */
ww_status receiver_open(struct server *server);

/* Whether the next packet of a connection has to be taken by a receiver. */
bool receiver_is_needed(struct peer *peer);

/*
 * Has a receiver receive it; server_calls.go_on is called later. Or answers with an error, and has
 * the connection end.
 */
void receiver_take(struct peer *peer);

/* The connection ends; a packet that is still received for it is dropped. */
void receiver_forget(struct peer *peer);

/* A connection of the account has ended: without any, it needs no receiver. */
void receiver_release(struct account *account);

/* Closes the socket of a user that is not trusted. */
void receiver_close_socket(struct server *server, int socket);

/* The same for all connections, before this process executes another program. */
void receiver_close_sockets(struct server *server);

#endif
