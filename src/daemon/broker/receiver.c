/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receiver.c - the processes that receive descriptors for the broker, see receiver.h
 *
 * To start a process must not take long although the broker has tens of thousands of descriptors.
 * So the child shares the broker's memory and descriptors until it has copied the lowest few of
 * these (CLOSE_RANGE_UNSHARE). The socket for the child is at one of these numbers, which is
 * reserved.
 */
#include "daemon/broker/receiver.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/proc_file.h"
#include "daemon/broker/descriptor_check.h"
#include "daemon/broker/server_state.h"
#include "daemon/receiver_process.h"
#include "daemon/supervisor/supervisor.h"

#define SELF "/proc/self/exe"

/* How long a receiver may take for one packet, or to end; and how often that is checked. */
#define LIMIT_MS 5000
#define LOOK_MS  500

/* It hangs if it waits at so many looks after that, one after the other. */
#define WAITING_LOOKS 2

/*
 * The most processes that close sockets, with those that were killed as too slow; beyond, sockets
 * are closed here.
 */
#define CLOSERS_MOST 64

#define STACK_BYTES 65536

enum receiver_state {
	RECEIVER_IDLE,
	RECEIVER_BUSY,
	RECEIVER_ENDING,
	RECEIVER_HUNG
};

struct receiver {
	uv_poll_t poll;
	struct ww_list of_server;
	struct server *server;
	struct account *account;
	struct ww_list waiting; /* struct peer.of_receiver */
	struct peer *current;   /* whose packet it receives; NULL: none, or that one has ended */
	uint64_t since_ms;      /* while busy or ending */
	uint32_t waiting_looks; /* likewise, since the limit was over */
	enum receiver_state state;
	pid_t pid;
	int socket;
};

/* --- starting processes --- */

/*
 * In the child, which shares our memory and, until the first call, our descriptors. Our signals are
 * blocked here.
 */
static int receiver_become(void *context)
{
	static const char *const arguments[] = {"warpwayd", "--role", "receiver", NULL};
	const int *slot = context;
	sigset_t none;

	if (close_range((unsigned int)*slot + 1, ~0U, CLOSE_RANGE_UNSHARE) == 0 &&
		dup2(*slot, RECEIVER_SOCKET) >= 0 &&
		close_range(RECEIVER_SOCKET + 1, (unsigned int)*slot, 0) == 0) {
		signal(SIGTERM, SIG_DFL);
		signal(SIGCHLD, SIG_DFL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execv(SELF, (char *const *)arguments);
	}
	_exit(1);
}

/*
 * The child's socket is at the reserved number. The call returns after the child's exec; errno is
 * lost in the child.
 */
static pid_t receiver_clone(struct server *server)
{
	static char stack[STACK_BYTES] __attribute__((aligned(16)));
	sigset_t all;
	sigset_t former;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &former);
	pid = clone(receiver_become, stack + sizeof(stack),
		CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &server->receiver_slot);
	pthread_sigmask(SIG_SETMASK, &former, NULL);
	return pid;
}

static ww_status receiver_start_process(struct server *server, pid_t *out_pid, int *out_socket)
{
	WW_AUTO_FD int ours = -1;
	WW_AUTO_FD int theirs = -1;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return ww_fail_errno(errno, NULL,
			"the broker cannot make a socket for what receives descriptors");
	ours = pair[0];
	theirs = pair[1];
	if (dup3(theirs, server->receiver_slot, O_CLOEXEC) < 0)
		return ww_fail_errno(errno, NULL, "the broker cannot hand over a socket");
	*out_pid = receiver_clone(server);
	if (*out_pid < 0)
		ww_fail_errno(errno, "raise the limit of processes (TasksMax, ulimit -u)",
			"the broker cannot start a process that receives descriptors");
	/*
	 * Put a descriptor without meaning at the reserved number, so that the kernel does not give
	 * it out.
	 */
	if (dup3(SUPERVISOR_LISTENER, server->receiver_slot, O_CLOEXEC) < 0)
		return ww_fail_errno(errno, NULL, "cannot reserve descriptor %d",
			server->receiver_slot);
	if (*out_pid < 0)
		return ww_error_last()->status;
	*out_socket = ww_fd_steal(&ours);
	return WW_OK;
}

/* --- accounts of receivers --- */

static void on_answer(uv_poll_t *poll, int error, int events);

static void free_receiver(uv_handle_t *handle)
{
	free(handle->data);
}

/* A receiver counts as a connection, of its user and of all users. */
static void receiver_charge(struct receiver *receiver, struct account *account)
{
	const struct charge charge = {.connections = 1};
	struct server *server = receiver->server;

	account_charge_anyway(&server->registry.accounts, account, &charge);
	account->users++;
	account->receiver = receiver;
	receiver->account = account;
	server->peer_count++;
	server_listen(server);
}

static void receiver_stop_charging(struct receiver *receiver)
{
	const struct charge charge = {.connections = 1};
	struct server *server = receiver->server;

	receiver->account->receiver = NULL;
	account_return(&server->registry.accounts, receiver->account, &charge);
	account_put(&server->registry.accounts, receiver->account);
	server->peer_count--;
	server_listen(server);
}

static ww_status receiver_start(struct server *server, struct account *account)
{
	struct receiver *receiver = calloc(1, sizeof(*receiver));
	ww_status status;

	if (!receiver)
		return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
	receiver->server = server;
	receiver->poll.data = receiver;
	ww_list_init(&receiver->waiting);
	status = receiver_start_process(server, &receiver->pid, &receiver->socket);
	if (status < 0) {
		free(receiver);
		return status;
	}
	if (uv_poll_init(&server->loop, &receiver->poll, receiver->socket) < 0) {
		ww_fd_close(receiver->socket);
		free(receiver);
		return ww_fail(WW_ERR_SYSTEM, "the broker cannot watch what receives descriptors");
	}
	uv_poll_start(&receiver->poll, UV_READABLE, on_answer);
	ww_list_append(&server->receivers, &receiver->of_server);
	receiver_charge(receiver, account);
	return WW_OK;
}

/* --- failures --- */

static ww_status receiver_fail_hung(const struct receiver *receiver)
{
	return ww_fail(WW_ERR_DESCRIPTOR,
		"process %d hangs in receiving or closing descriptors that user %u sent, and is killed; "
		"no more are accepted from that user until it has ended; end what it waits for (FUSE?)",
		(int)receiver->pid, receiver->account->uid);
}

static ww_status receiver_fail_lost(const struct receiver *receiver)
{
	return ww_fail(WW_ERR_DESCRIPTOR,
		"process %d, which received descriptors of user %u, has ended; send them again",
		(int)receiver->pid, receiver->account->uid);
}

/* The packet is lost, or cannot be received without its descriptors. So the connection ends. */
static void peer_refuse_packet(struct peer *peer, ww_status status)
{
	peer->is_last = true;
	peer_send_error(peer, peer->next_serial, status);
}

static void peer_refuse_and_go_on(struct peer *peer, ww_status status)
{
	peer_refuse_packet(peer, status);
	peer->server->calls->go_on(peer);
}

static void on_look(uv_timer_t *timer);

static void receiver_look_later(struct server *server)
{
	if (!uv_is_active((const uv_handle_t *)&server->receiver_look))
		uv_timer_start(&server->receiver_look, on_look, LOOK_MS, LOOK_MS);
}

static void receiver_begin_time(struct receiver *receiver)
{
	receiver->since_ms = uv_now(&receiver->server->loop);
	receiver->waiting_looks = 0;
	receiver_look_later(receiver->server);
}

/* Kills it, which may have no effect while it hangs. The rest is done when it is reaped. */
static void receiver_end(struct receiver *receiver, enum receiver_state state)
{
	kill(receiver->pid, SIGKILL);
	uv_poll_stop(&receiver->poll);
	receiver->state = state;
	receiver_begin_time(receiver);
}

static struct peer *receiver_take_waiting(struct receiver *receiver)
{
	struct ww_list *link = ww_list_take_first(&receiver->waiting);

	return link ? ww_container(link, struct peer, of_receiver) : NULL;
}

static struct peer *receiver_take_current(struct receiver *receiver)
{
	struct peer *peer = receiver->current;

	receiver->current = NULL;
	return peer;
}

/*
 * All connections that wait for it end. They keep the account alive meanwhile: all are of its user.
 */
static void receiver_hang(struct receiver *receiver)
{
	struct peer *peer = receiver_take_current(receiver);

	ww_log_debug("receiver: process %d of user %u hangs", (int)receiver->pid,
		receiver->account->uid);
	receiver_end(receiver, RECEIVER_HUNG);
	do {
		if (peer)
			peer_refuse_and_go_on(peer, receiver_fail_hung(receiver));
		peer = receiver_take_waiting(receiver);
	} while (peer);
}

/*
 * Whether a process waits for something. One that could run if it had a CPU does not, and one that
 * has ended and is yet to be reaped does not.
 */
static bool process_waits(pid_t pid)
{
	char path[32];
	char line[256];
	const char *name_end;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!ww_proc_file_read_line(path, line, sizeof(line)))
		return true;
	name_end = strrchr(line, ')');
	return !name_end || name_end[1] != ' ' || !strchr("RZX", name_end[2]);
}

/*
 * Whether it has answered, or ended, and this process has not looked yet, being late itself. Of one
 * that was killed the end of its socket says nothing: it may hang in closing other descriptors.
 */
static bool receiver_has_answered(const struct receiver *receiver)
{
	char byte;

	return receiver->state == RECEIVER_BUSY &&
		recv(receiver->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

/*
 * Whether it has taken too long: it was found waiting at every look since then. A process that gets
 * few turns on a busy CPU waits for a moment now and then, and may be found so once.
 */
static bool receiver_hangs(struct receiver *receiver)
{
	if (receiver->state != RECEIVER_BUSY && receiver->state != RECEIVER_ENDING)
		return false;
	if (uv_now(&receiver->server->loop) - receiver->since_ms < LIMIT_MS)
		return false;
	if (receiver_has_answered(receiver) || !process_waits(receiver->pid))
		receiver->waiting_looks = 0;
	else
		receiver->waiting_looks++;
	return receiver->waiting_looks >= WAITING_LOOKS;
}

/*
 * Its end closes what it has left, without waiting; a TCP socket that lingers would make close()
 * wait.
 */
static void closer_end(struct server *server)
{
	if (server->closer_pid > 0)
		kill(server->closer_pid, SIGKILL);
	server->closer_pid = 0;
	server->closer = ww_fd_close(server->closer);
}

/* Return: whether it may be needed still. */
static bool closer_release(struct server *server)
{
	if (server->closer >= 0 && uv_now(&server->loop) - server->closer_ms >= LOOK_MS)
		closer_end(server);
	return server->closer >= 0;
}

static void on_look(uv_timer_t *timer)
{
	struct server *server = timer->loop->data;
	struct ww_list *link = server->receivers.next;
	bool is_over = true;

	while (link != &server->receivers) {
		struct receiver *receiver = ww_container(link, struct receiver, of_server);

		link = link->next; /* a receiver is freed when it is reaped, not here */
		if (receiver_hangs(receiver))
			receiver_hang(receiver);
		is_over = is_over && receiver->state != RECEIVER_BUSY &&
			receiver->state != RECEIVER_ENDING;
	}
	if (!closer_release(server) && is_over)
		uv_timer_stop(timer);
}

/* --- packets --- */

static ww_status receiver_send_request(struct server *server, int helper, uint32_t what, int socket)
{
	const struct receiver_request request = {what};

	return fdstore_send(&server->fdstore, helper, &request, sizeof(request), &socket, 1);
}

/* Has it receive the next packet that waits, if it is idle. */
static void receiver_take_next(struct receiver *receiver)
{
	struct peer *peer;
	ww_status status;

	while (receiver->state == RECEIVER_IDLE && (peer = receiver_take_waiting(receiver))) {
		status = receiver_send_request(receiver->server, receiver->socket, RECEIVER_TAKE,
			peer->socket);
		if (status == WW_OK) {
			receiver->current = peer;
			receiver->state = RECEIVER_BUSY;
			receiver_begin_time(receiver);
			return;
		}
		if (status == WW_ERR_PEER_LOST) { /* the receiver has ended: another one goes on */
			ww_list_append(&receiver->waiting, &peer->of_receiver);
			receiver_end(receiver, RECEIVER_ENDING);
			return;
		}
		if (status == WW_NOT_READY)
			status = receiver_fail_lost(receiver);
		peer_refuse_and_go_on(peer, status);
	}
}

static bool answer_is_whole(const struct receiver_answer *answer, size_t bytes, size_t fd_count)
{
	const size_t head = offsetof(struct receiver_answer, packet);

	return bytes >= head && answer->bytes == bytes - head &&
		answer->fd_count <= WW_PACKET_FDS && answer->kept >> answer->fd_count == 0 &&
		(size_t)__builtin_popcount(answer->kept) == fd_count;
}

static void on_answer(uv_poll_t *poll, int error, int events)
{
	static struct receiver_answer answer;
	struct receiver *receiver = poll->data;
	struct peer *peer = receiver->current;
	int fds[WW_PACKET_FDS];
	size_t fd_count = 0;
	size_t bytes = 0;
	bool is_good;
	ww_status status = ww_packet_receive(receiver->socket, &answer, sizeof(answer), &bytes, fds,
		&fd_count);

	(void)error;
	(void)events;
	if (status == WW_NOT_READY)
		return;
	receiver->current = NULL;
	is_good = status == WW_OK && answer_is_whole(&answer, bytes, fd_count);
	if (is_good)
		receiver->state = RECEIVER_IDLE;
	else
		receiver_end(receiver, RECEIVER_ENDING);
	receiver_take_next(receiver);
	if (peer && is_good) {
		size_t used = 0;

		/* The kept descriptors come in order; the others become -1 in their places. */
		peer->fd_count = answer.fd_count;
		for (size_t i = 0; i < peer->fd_count; i++)
			peer->fds[i] = answer.kept >> i & 1 ? fds[used++] : -1;
		if (answer.status < 0)
			ww_fail(answer.status, "%.*s", (int)sizeof(answer.message) - 1,
				answer.message);
		peer->server->calls->receive(peer, answer.status, answer.packet, answer.bytes);
		peer->server->calls->go_on(peer);
		return;
	}
	descriptor_close_all(receiver->server, receiver->account, fds, fd_count);
	if (peer)
		peer_refuse_and_go_on(peer, receiver_fail_lost(receiver));
}

/* Peeks at the next packet. There is no room for descriptors, so none is received. */
static bool peer_has_descriptors(struct peer *peer)
{
	uint8_t head[8] = {0};
	struct iovec part = {head, sizeof(head)};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t count;

	do {
		count = recvmsg(peer->socket, &header, MSG_PEEK | MSG_DONTWAIT);
	} while (count < 0 && errno == EINTR);
	if (count < 0 || !(header.msg_flags & MSG_CTRUNC))
		return false;
	peer->next_serial = peer_read_serial(head, (size_t)count);
	return true;
}

/*
 * The thread sanitizer's runtime does not survive a clone() that shares memory: with it, all
 * packets are received directly.
 */
#ifdef __SANITIZE_THREAD__
#define HAS_RECEIVERS false
#else
#define HAS_RECEIVERS true
#endif

bool receiver_is_needed(struct peer *peer)
{
	return HAS_RECEIVERS && !peer->is_trusted && peer_has_descriptors(peer);
}

void receiver_take(struct peer *peer)
{
	struct account *account = peer->account;
	ww_status status = WW_OK;

	if (!account->receiver)
		status = receiver_start(peer->server, account);
	if (status == WW_OK && account->receiver->state == RECEIVER_HUNG)
		status = receiver_fail_hung(account->receiver);
	if (status < 0) {
		peer_refuse_packet(peer, status);
		return;
	}
	peer->is_away = true;
	peer_listen(peer);
	ww_list_append(&account->receiver->waiting, &peer->of_receiver);
	receiver_take_next(account->receiver);
}

void receiver_forget(struct peer *peer)
{
	struct receiver *receiver = peer->account->receiver;

	ww_list_remove(&peer->of_receiver);
	if (receiver && receiver->current == peer)
		receiver->current = NULL;
}

void receiver_release(struct account *account)
{
	struct receiver *receiver = account->receiver;

	if (receiver && account->peers == 0 && receiver->state < RECEIVER_ENDING)
		receiver_end(receiver, RECEIVER_ENDING);
}

/* --- sockets --- */

/*
 * Whether a packet is left in a socket, which is shut down first. With SO_PASSCRED the kernel
 * distinguishes a packet from the end.
 */
static bool socket_has_packets(int socket)
{
	const int on = 1;
	struct msghdr header = {0};

	shutdown(socket, SHUT_RDWR);
	if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return true;
	return recvmsg(socket, &header, MSG_PEEK | MSG_DONTWAIT) >= 0 &&
		(header.msg_flags & MSG_CTRUNC);
}

/*
 * Sends a socket to the process that closes sockets. If that is too slow, it is killed, and another
 * one started.
 */
static ww_status closer_send_socket(struct server *server, int socket)
{
	ww_status status = WW_NOT_READY;

	server->closer_ms = uv_now(&server->loop);
	receiver_look_later(server);
	if (server->closer >= 0)
		status = receiver_send_request(server, server->closer, RECEIVER_CLOSE, socket);
	if (status != WW_NOT_READY && status != WW_ERR_PEER_LOST)
		return status;
	closer_end(server);
	if (server->closer_count >= CLOSERS_MOST)
		return ww_fail(WW_ERR_LIMIT, "%d processes close sockets", CLOSERS_MOST);
	ww_try(receiver_start_process(server, &server->closer_pid, &server->closer));
	server->closer_count++;
	return receiver_send_request(server, server->closer, RECEIVER_CLOSE, socket);
}

void receiver_close_socket(struct server *server, int socket)
{
	if (socket_has_packets(socket) && closer_send_socket(server, socket) != WW_OK)
		ww_log_debug("receiver: closing a socket in the broker: %s",
			ww_error_last()->message);
	ww_fd_close(socket);
}

static void peers_close_sockets(struct server *server, const struct ww_list *peers)
{
	ww_list_for_each (link, peers) {
		const struct peer *peer = ww_container(link, struct peer, of_server);

		if (!peer->is_trusted)
			receiver_close_socket(server, peer->socket);
	}
}

void receiver_close_sockets(struct server *server)
{
	peers_close_sockets(server, &server->peers);
	peers_close_sockets(server, &server->lingering);
}

/* --- reaping --- */

static void receiver_reap(struct receiver *receiver)
{
	struct peer *peer = receiver_take_current(receiver);
	struct ww_list waiting;

	ww_list_init(&waiting);
	for (struct peer *other; (other = receiver_take_waiting(receiver));)
		ww_list_append(&waiting, &other->of_receiver);
	ww_list_remove(&receiver->of_server);
	if (peer)
		peer_refuse_and_go_on(peer, receiver_fail_lost(receiver));
	receiver_stop_charging(receiver);
	uv_close((uv_handle_t *)&receiver->poll, free_receiver);
	ww_fd_close(receiver->socket);
	for (struct ww_list *link; (link = ww_list_take_first(&waiting));) {
		peer = ww_container(link, struct peer, of_receiver);
		peer->is_away = false;
		receiver_take(peer);
		if (!peer->is_away)
			peer->server->calls->go_on(peer);
	}
}

static void child_reap(struct server *server, pid_t pid)
{
	ww_list_for_each (link, &server->receivers) {
		struct receiver *receiver = ww_container(link, struct receiver, of_server);

		if (receiver->pid == pid) {
			receiver_reap(receiver);
			return;
		}
	}
	if (pid == server->closer_pid) {
		server->closer_pid = 0;
		server->closer = ww_fd_close(server->closer);
	}
	server->closer_count--;
}

static void on_child(uv_signal_t *handle, int number)
{
	pid_t pid;

	(void)number;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		child_reap(handle->loop->data, pid);
}

ww_status receiver_open(struct server *server)
{
	int error;

	server->closer = -1;
	ww_list_init(&server->receivers);
	server->receiver_slot = fcntl(SUPERVISOR_LISTENER, F_DUPFD_CLOEXEC, SUPERVISOR_STARTER + 1);
	if (server->receiver_slot < 0)
		return ww_fail_errno(errno, NULL, "cannot reserve a descriptor");
	uv_timer_init(&server->loop, &server->receiver_look);
	error = uv_signal_init(&server->loop, &server->child);
	if (error < 0)
		return ww_fail(WW_ERR_SYSTEM, "the broker's loop cannot start: %s",
			uv_strerror(error));
	uv_signal_start(&server->child, on_child, SIGCHLD);
	return WW_OK;
}
