/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attacks.c - what attackers do, see attack.h
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/check.h"
#include "support/child.h"
#include "support/page.h"
#include "support/raw_client.h"

#define OBJECTS 30000
#define ESCROWS 60000
#define PARTS   4096 /* of a pool that may have names */

/* A request as it goes over the socket, with descriptors. */
struct request {
	uint8_t packet[1024];
	size_t bytes;
	const int *fds;
	size_t fd_count;
};

static struct raw first; /* a connection that prepares things */

/*
 * A connection of the attacker's, of the process @id if given. Return: its socket; -1: it was
 * refused.
 */
static int join(const char *address, const uint8_t *id)
{
	static struct raw raw;

	raw_connect_as(&raw, address, ATTACKER, ATTACKER);
	if (id)
		memcpy(raw.process_id, id, sizeof(raw.process_id));
	if (raw_hello(&raw) != WW_OK) {
		raw_close(&raw);
		return -1;
	}
	return raw.socket;
}

static size_t join_all(const char *address, const uint8_t *id, int *sockets, size_t most)
{
	size_t count = 0;

	while (count < most && (sockets[count] = join(address, id)) >= 0)
		count++;
	return count;
}

static void ask(int socket, const struct request *request)
{
	(void)ww_packet_send(socket, request->packet, request->bytes, request->fds,
		request->fd_count);
}

/* Each connection asks again when it is answered; nothing is looked at. */
static void cycle(const int *sockets, size_t count, const struct request *request)
{
	static uint8_t in[WW_WIRE_PACKET_BYTES];
	int set = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event events[64];

	MUST_CALL(set);
	for (size_t i = 0; i < count; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.fd = sockets[i]};

		MUST_CALL(epoll_ctl(set, EPOLL_CTL_ADD, sockets[i], &event));
		ask(sockets[i], request);
	}
	for (;;) {
		int ready = epoll_wait(set, events, 64, -1);

		for (int i = 0; i < ready; i++) {
			if (recv(events[i].data.fd, in, sizeof(in), MSG_DONTWAIT) <= 0)
				epoll_ctl(set, EPOLL_CTL_DEL, events[i].data.fd, NULL);
			else
				ask(events[i].data.fd, request);
		}
	}
}

/* How many requests are under way at a time while things are prepared. */
#define WINDOW 50

static void put_many(struct raw *raw, int count, const char *prefix)
{
	char name[64];

	for (int i = 0; i < count + WINDOW; i++) {
		struct ww_wire_put put;

		snprintf(name, sizeof(name), "%s%d", prefix, i);
		put = raw_object(name);
		if (i < count)
			raw_ask_put(raw, &put, NULL, 0);
		if (i >= WINDOW)
			MUST_OK(raw_receive(raw));
	}
	MUST_OK(raw_refusal(raw));
}

static void export_many(struct raw *raw, int count, const struct ww_wire_export *export)
{
	for (int i = 0; i < count + WINDOW; i++) {
		if (i < count)
			raw_ask(raw, export, export);
		if (i >= WINDOW)
			MUST_OK(raw_receive(raw));
	}
	MUST_OK(raw_refusal(raw));
}

static int *room(size_t count)
{
	int *sockets = calloc(count, sizeof(*sockets));

	MUST(sockets);
	return sockets;
}

static const struct ww_wire_header header = {.serial = 1};

void attack_lawful(const char *address, size_t connections, void (*ready)(void))
{
	const struct ww_wire_status status = {0};
	int *sockets = room(connections);
	struct request request = {.fd_count = 0};
	size_t count = join_all(address, NULL, sockets, connections);
	const struct ww_wire_stat stat = {.name = "lawful"};

	(void)status;
	request.bytes = ww_wire_encode_stat(&stat, WW_WIRE_VERSION, &header, request.packet,
		sizeof(request.packet));
	ready();
	cycle(sockets, count, &request);
}

/* Asks for long answers and reads none. */
static void unread(const char *address, size_t connections, void (*ready)(void))
{
	int *sockets = room(connections);
	struct request request = {.fd_count = 0};
	const struct ww_wire_list list = {0};
	size_t count;

	raw_open_as(&first, address, ATTACKER, ATTACKER);
	put_many(&first, 100, "long/");
	count = join_all(address, NULL, sockets, connections);
	request.bytes = ww_wire_encode_list(&list, WW_WIRE_VERSION, &header, request.packet,
		sizeof(request.packet));
	ready();
	for (;;) {
		for (size_t i = 0; i < count; i++)
			ask(sockets[i], &request);
	}
}

/* One process that holds much, one object with many escrows: each export looks for its hold. */
static void holds(const char *address, size_t connections, void (*ready)(void))
{
	int *sockets = room(connections);
	struct request request = {.fd_count = 0};
	struct ww_wire_put put = raw_object("");
	struct ww_wire_export export = {.access = WW_WIRE_ACCESS_READ};
	size_t count;

	raw_open_as(&first, address, ATTACKER, ATTACKER);
	put_many(&first, OBJECTS / 2, "a/");
	MUST_OK(raw_put(&first, &put, NULL, 0));
	put_many(&first, OBJECTS / 2, "b/");
	memcpy(export.id, put.id, sizeof(export.id));
	export.escrow_ns = UINT64_C(3600000000000);
	export_many(&first, ESCROWS, &export);
	export.escrow_ns = 0;
	count = join_all(address, first.process_id, sockets, connections);
	request.bytes = ww_wire_encode_export(&export, WW_WIRE_VERSION, &header, request.packet,
		sizeof(request.packet));
	ready();
	cycle(sockets, count, &request);
}

/* A listing of many objects of which none is wanted. */
static void list(const char *address, size_t connections, void (*ready)(void))
{
	int *sockets = room(connections);
	struct request request = {.fd_count = 0};
	const struct ww_wire_list message = {.prefix = "none"};
	size_t count;

	raw_open_as(&first, address, ATTACKER, ATTACKER);
	put_many(&first, OBJECTS, "some/");
	count = join_all(address, NULL, sockets, connections);
	request.bytes = ww_wire_encode_list(&message, WW_WIRE_VERSION, &header, request.packet,
		sizeof(request.packet));
	ready();
	cycle(sockets, count, &request);
}

/* Watches that want to know of all that is there already, of which none is wanted. */
static void watch(const char *address, size_t connections, void (*ready)(void))
{
	static struct raw eyes;
	int *sockets = room(connections);

	raw_open_as(&first, address, ATTACKER, ATTACKER);
	put_many(&first, OBJECTS, "some/");
	ready();
	for (size_t i = 0;; i = (i + 1) % connections) {
		struct ww_wire_hello hello;
		struct ww_wire_welcome welcome;

		if (sockets[i] > 0)
			close(sockets[i]);
		raw_connect_as(&eyes, address, ATTACKER, ATTACKER);
		hello = raw_greeting(&eyes);
		hello.watcher = 1;
		if (raw_call(&eyes, hello, &hello, welcome, &welcome) == WW_OK)
			(void)raw_watch(&eyes, "none", WW_WIRE_WATCH_FLAG_EXISTING);
		sockets[i] = eyes.socket;
	}
}

/* A pool whose parts have as many names as they may, which its creator asks for. */
static void parts(const char *address, size_t connections, void (*ready)(void))
{
	int *sockets = room(connections);
	struct request request = {.fd_count = 0};
	struct ww_wire_put put = page_object("");
	struct ww_wire_parts message;
	struct page page;
	size_t count;

	raw_open_as(&first, address, ATTACKER, ATTACKER);
	page_make(&page);
	put.kind = WW_WIRE_KIND_POOL;
	put.state = WW_WIRE_STATE_SHARED;
	put.fd_access[0] = 3;
	MUST_OK(page_put(&first, &put, &page));
	memset(put.fd_access, 0, sizeof(put.fd_access));
	put.life = WW_WIRE_LIFE_OWNER;
	for (put.part = 1; put.part <= PARTS; put.part++) {
		snprintf(put.name, sizeof(put.name), "part/%llu", (unsigned long long)put.part);
		MUST_OK(raw_put(&first, &put, NULL, 0));
	}
	memcpy(message.id, put.id, sizeof(message.id));
	count = join_all(address, first.process_id, sockets, connections);
	request.bytes = ww_wire_encode_parts(&message, WW_WIRE_VERSION, &header, request.packet,
		sizeof(request.packet));
	ready();
	cycle(sockets, count, &request);
}

/* The supervisor starts another one. */
static void kill_broker(const char *address)
{
	struct ww_wire_condition condition;
	struct raw root;

	raw_open(&root, address); /* there is always a place */
	MUST_OK(raw_condition(&root, &condition));
	MUST_CALL(kill((pid_t)condition.pid, SIGKILL));
	MUST_STATUS(WW_END, raw_receive(&root));
	raw_close(&root);
}

/*
 * Processes with one object each, whose connections end while no broker is there to notice; see
 * main.c.
 */
static void awaited(const char *address, size_t connections, void (*ready)(void))
{
	int *sockets = room(connections);
	struct request request = {.fd_count = 0};
	struct ww_wire_put put = raw_object("");
	uint8_t in[1024];

	for (int round = 0; round < 3; round++) {
		size_t count = join_all(address, NULL, sockets, connections);

		for (size_t i = 0; i < count; i++) {
			put = raw_object("");
			request.bytes = ww_wire_encode_put(&put, WW_WIRE_VERSION, &header,
				request.packet, sizeof(request.packet));
			ask(sockets[i], &request);
			(void)recv(sockets[i], in, sizeof(in), 0);
		}
		kill_broker(address);
		for (size_t i = 0; i < count; i++)
			close(sockets[i]);
	}
	attack_lawful(address, connections, ready);
}

/* One that cannot be made now, since too many are under way: something cheaper. */
static int make_inotify(void)
{
	int fd = inotify_init1(IN_CLOEXEC);

	return fd >= 0 ? fd : eventfd(0, EFD_CLOEXEC);
}

static int make_epoll(void)
{
	static int watched[100];
	int set = epoll_create1(EPOLL_CLOEXEC);

	MUST_CALL(set);
	for (int i = 0; i < 100; i++) {
		struct epoll_event event = {.events = EPOLLIN};

		if (watched[i] == 0)
			watched[i] = eventfd(0, EFD_CLOEXEC);
		MUST_CALL(epoll_ctl(set, EPOLL_CTL_ADD, watched[i], &event));
	}
	return set;
}

/* Memory beyond the end of the file, which its size does not show. */
static int make_beyond(void)
{
	int fd = memfd_create("beyond", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	MUST_CALL(fd);
	MUST_CALL(ftruncate(fd, 4096));
	MUST_CALL(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1 << 20));
	MUST_CALL(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW));
	return fd;
}

/*
 * Puts new ones all the time, over all connections, so that the broker is the last to close each.
 */
static void put_fds(const char *address, size_t connections, void (*ready)(void), int (*make)(void))
{
	static uint8_t in[WW_WIRE_PACKET_BYTES];
	int *sockets = room(connections);
	int fds[WW_WIRE_FDS];
	struct ww_wire_put put = raw_object("");
	struct ww_wire_header many = {.serial = 1, .fd_count = WW_WIRE_FDS};
	struct request request = {.fds = fds, .fd_count = WW_WIRE_FDS};
	size_t count = join_all(address, NULL, sockets, connections);

	memset(put.fd_access, 3, WW_WIRE_FDS);
	request.bytes = ww_wire_encode_put(&put, WW_WIRE_VERSION, &many, request.packet,
		sizeof(request.packet));
	ready();
	for (size_t i = 0;; i = (i + 1) % count) {
		for (size_t k = 0; k < WW_WIRE_FDS; k++)
			fds[k] = make();
		ask(sockets[i], &request);
		for (size_t k = 0; k < WW_WIRE_FDS; k++)
			close(fds[k]);
		(void)recv(sockets[i], in, sizeof(in), MSG_DONTWAIT);
	}
}

static void inotify(const char *address, size_t connections, void (*ready)(void))
{
	put_fds(address, connections, ready, make_inotify);
}

static void epoll(const char *address, size_t connections, void (*ready)(void))
{
	put_fds(address, connections, ready, make_epoll);
}

static void beyond(const char *address, size_t connections, void (*ready)(void))
{
	put_fds(address, connections, ready, make_beyond);
}

/*
 * Sends them into connections that end before anybody reads; each descriptor's last close is the
 * broker's.
 */
static void closed_unread(const char *address, size_t connections, void (*ready)(void))
{
	static struct raw raw;
	struct ww_wire_put put = raw_object("");
	struct ww_wire_header many = {.serial = 1, .fd_count = WW_WIRE_FDS};
	uint8_t packet[1024];
	size_t bytes = ww_wire_encode_put(&put, WW_WIRE_VERSION, &many, packet, sizeof(packet));

	(void)connections;
	ready();
	for (;;) {
		raw_connect_as(&raw, address, ATTACKER, ATTACKER);
		for (int i = 0; i < 20; i++) {
			int fds[WW_WIRE_FDS];

			for (size_t k = 0; k < WW_WIRE_FDS; k++)
				fds[k] = make_inotify();
			(void)raw_send(&raw, packet, bytes, fds, WW_WIRE_FDS);
			for (size_t k = 0; k < WW_WIRE_FDS; k++)
				close(fds[k]);
		}
		raw_close(&raw);
	}
}

/* More descriptors than a message has. */
static void too_many(const char *address, size_t connections, void (*ready)(void))
{
	static struct raw raw;
	union {
		struct cmsghdr item;
		char bytes[CMSG_SPACE(250 * sizeof(int))];
	} control = {.bytes = {0}};
	char byte[64] = {1};
	struct iovec part = {byte, sizeof(byte)};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	int fd = make_epoll();

	(void)connections;
	control.item.cmsg_level = SOL_SOCKET;
	control.item.cmsg_type = SCM_RIGHTS;
	control.item.cmsg_len = CMSG_LEN(250 * sizeof(int));
	for (size_t i = 0; i < 250; i++)
		memcpy(CMSG_DATA(&control.item) + i * sizeof(int), &fd, sizeof(int));
	ready();
	for (;;) {
		raw_connect_as(&raw, address, ATTACKER, ATTACKER);
		for (int i = 0; i < 20; i++)
			(void)sendmsg(raw.socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
		raw_close(&raw);
	}
}

/* --- who pays --- */

#define HANDED_OUT 10000
#define ROUNDS     4
#define OF_ROUND   (HANDED_OUT / ROUNDS)

/* How many objects each user may have: fewer than the receiver is handed. */
#define SHARE        8000
#define SHARE_CONFIG "[limits]\nobjects = 8000\n"

#define VERSION_NAME "victim/version"

void attack_publish(struct raw *raw, uint8_t former[WW_WIRE_ID_BYTES])
{
	static const uint8_t none[WW_WIRE_ID_BYTES];
	struct ww_wire_put put = raw_object(VERSION_NAME);

	put.mode = 0644;
	put.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_OK(raw_put(raw, &put, NULL, 0));
	if (memcmp(former, none, sizeof(none)) != 0)
		MUST_OK(raw_release(raw, former));
	memcpy(former, put.id, sizeof(put.id));
}

/* The same process over another connection: the broker was killed. */
static void come_back(struct raw *raw, const char *address, uid_t uid)
{
	uint8_t id[WW_WIRE_ID_BYTES];

	memcpy(id, raw->process_id, sizeof(id));
	raw_close(raw);
	raw_connect_as(raw, address, uid, uid);
	memcpy(raw->process_id, id, sizeof(id));
	MUST_OK(raw_hello(raw));
}

/* How many objects a user is charged for. */
static uint64_t charged(const char *address, uid_t uid)
{
	const struct ww_wire_totals totals = {0};
	struct ww_wire_total_listing listing;
	struct ww_wire_user_total user;
	static struct raw root;
	uint64_t objects = 0;

	raw_open(&root, address);
	MUST_OK(raw_call(&root, totals, &totals, total_listing, &listing));
	while (ww_wire_user_total_next(&listing.users, &user))
		objects += user.uid == uid ? user.objects : 0;
	raw_close(&root);
	return objects;
}

/* The holder pays for what only it holds, as far as it has room; the rest has ended. */
static void must_be_charged(const char *address, uid_t uid, uint64_t held)
{
	MUST(COMES_TRUE(charged(address, uid) == (held < SHARE ? held : SHARE)));
}

/* A user whose share is full puts nothing more. */
static void must_be_full(struct raw *raw)
{
	const struct ww_wire_put put = raw_object("");

	MUST_REFUSE(WW_ERR_QUOTA, "objects", raw_put(raw, &put, NULL, 0));
}

/* Holds each version of what the victim publishes; the victim's user pays for the last one only. */
static void versions(const char *address, size_t connections, void (*ready)(void))
{
	static struct raw publisher;
	int *sockets = room(connections);
	const struct ww_wire_get get = {.access = WW_WIRE_ACCESS_READ, .name = VERSION_NAME};
	struct request request = {.fd_count = 0};
	uint8_t former[WW_WIRE_ID_BYTES] = {0};
	struct ww_wire_granted granted;
	size_t count;

	raw_open_as(&publisher, address, VICTIM, VICTIM);
	raw_open_as(&first, address, ATTACKER, ATTACKER);
	for (uint64_t i = 1; i <= HANDED_OUT; i++) {
		attack_publish(&publisher, former);
		MUST_OK(raw_get(&first, VERSION_NAME, WW_WIRE_ACCESS_READ, &granted));
		if (i % OF_ROUND)
			continue;
		kill_broker(address);
		come_back(&publisher, address, VICTIM);
		come_back(&first, address, ATTACKER);
		must_be_charged(address, VICTIM, 1);
		must_be_charged(address, ATTACKER, i - 1);
	}
	must_be_full(&first);
	raw_close(&publisher);
	count = join_all(address, first.process_id, sockets, connections);
	request.bytes = ww_wire_encode_get(&get, WW_WIRE_VERSION, &header, request.packet,
		sizeof(request.packet));
	ready();
	cycle(sockets, count, &request);
}

/* Hands over objects by tokens. The receiver's user pays for them when the giver releases them. */
static void give(struct raw *giver, struct raw *receiver, uint64_t from, uint64_t to)
{
	struct ww_wire_put put = raw_object("");

	memset(put.id, 0, sizeof(put.id));
	for (uint64_t number = from; number < to; number++) {
		struct ww_wire_granted granted;
		uint8_t secret[WW_WIRE_ID_BYTES];

		memcpy(put.id, &number, sizeof(number));
		MUST_OK(raw_put(giver, &put, NULL, 0));
		MUST_OK(raw_export(giver, put.id, WW_WIRE_ACCESS_READ, 0, 0, secret));
		MUST_OK(raw_import(receiver, put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	}
}

static void release(struct raw *receiver, uint64_t from, uint64_t to)
{
	uint8_t id[WW_WIRE_ID_BYTES] = {0};

	for (uint64_t number = from; number < to; number++) {
		memcpy(id, &number, sizeof(number));
		MUST_OK(raw_release(receiver, id));
	}
}

/* The giver and the broker are killed when the receiver has all. */
static void give_and_end(const char *address, struct raw *receiver, uint64_t from, uint64_t to)
{
	pid_t giver = fork();
	int status;

	MUST_CALL(giver);
	if (giver == 0) {
		raw_open_as(&first, address, ATTACKER, ATTACKER);
		MUST_CALL(prctl(PR_SET_PDEATHSIG, SIGKILL)); /* a change of users clears it */
		give(&first, receiver, from, to);
		raise(SIGSTOP);
		_exit(1);
	}
	MUST_CALL(waitpid(giver, &status, WUNTRACED));
	MUST(WIFSTOPPED(status));
	MUST_CALL(kill(giver, SIGKILL));
	kill_broker(address);
	MUST_CALL(waitpid(giver, NULL, 0));
	come_back(receiver, address, VICTIM);
}

/* Fills the victim's share with what a process of the victim's user takes. */
static void gifts(const char *address, size_t connections, void (*ready)(void))
{
	static struct raw receiver;

	(void)connections;
	raw_open_as(&receiver, address, VICTIM, VICTIM);
	for (uint64_t i = 0; i < HANDED_OUT; i += OF_ROUND) {
		give_and_end(address, &receiver, i, i + OF_ROUND);
		must_be_charged(address, VICTIM, i + OF_ROUND);
	}
	must_be_full(&receiver);
	release(&receiver, 0, OF_ROUND);
	must_be_charged(address, VICTIM, SHARE - OF_ROUND);
	must_be_charged(address, ATTACKER, 0);
	ready();
	for (uint64_t i = HANDED_OUT;; i += OF_ROUND / 2) {
		raw_open_as(&first, address, ATTACKER, ATTACKER);
		give(&first, &receiver, i, i + OF_ROUND / 2);
		raw_close(&first);
		release(&receiver, i, i + OF_ROUND / 2);
	}
}

const struct attack attacks[] = {
	{"unread", "asks for long answers and reads none", 4096, unread},
	{"holds", "exports among many holds and escrows", 500, holds, .leaves_escrows = true},
	{"list", "lists with a prefix that nothing has", 500, list},
	{"watch", "watches with a prefix that nothing has", 200, watch},
	{"parts", "lists the most names that parts of a pool may have", 500, parts},
	{"awaited", "leaves processes behind at each restart", 4096, awaited},
	{"inotify", "puts descriptors that are slow to close", 500, inotify},
	{"epoll", "puts epoll sets", 500, epoll},
	{"beyond", "puts memory beyond the end of files", 500, beyond},
	{"closed", "ends connections with unread descriptors in them", 500, closed_unread},
	{"too-many", "sends 250 descriptors at once", 500, too_many},
	{"versions", "holds each version that the victim publishes", 500, versions, SHARE_CONFIG,
		.victim_publishes = true},
	{"gifts", "fills the victim's share with what it takes", 500, gifts, SHARE_CONFIG,
		.victim_publishes = true},
};

const size_t attack_count = sizeof(attacks) / sizeof(attacks[0]);
