/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_client.c - a connection to a broker by hand, see raw_client.h
 */
#include "support/raw_client.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "client/broker_client.h"
#include "support/check.h"
#include "support/child.h"
#include "support/own.h"

/* --- a connection --- */

static void drop_fds(struct raw *raw)
{
	while (raw->fd_count > 0)
		close(raw->fds[--raw->fd_count]);
}

void raw_connect(struct raw *raw, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memset(raw, 0, sizeof(*raw));
	MUST_EQUAL(sizeof(raw->process_id), getrandom(raw->process_id, sizeof(raw->process_id), 0));
	MUST(strlen(path) < sizeof(address.sun_path));
	strcpy(address.sun_path, path);
	raw->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	MUST_CALL(raw->socket);
	MUST_CALL(connect(raw->socket, (const struct sockaddr *)&address, sizeof(address)));
}

void raw_connect_as(struct raw *raw, const char *address, uid_t uid, gid_t gid)
{
	const gid_t root = 0;

	MUST_CALL(setgroups(1, &gid));
	MUST_CALL(setegid(gid));
	MUST_CALL(seteuid(uid));
	raw_connect(raw, address);
	MUST_CALL(seteuid(0));
	MUST_CALL(setegid(0));
	MUST_CALL(setgroups(1, &root));
}

struct ww_wire_hello raw_greeting(const struct raw *raw)
{
	struct ww_wire_hello hello = {
		.least = WW_WIRE_LEAST,
		.most = WW_WIRE_VERSION,
		.program = "raw",
	};

	memcpy(hello.process_id, raw->process_id, sizeof(hello.process_id));
	return hello;
}

ww_status raw_hello(struct raw *raw)
{
	const struct ww_wire_hello hello = raw_greeting(raw);
	struct ww_wire_welcome welcome;

	return raw_call(raw, hello, &hello, welcome, &welcome);
}

void raw_open(struct raw *raw, const char *address)
{
	raw_connect(raw, address);
	MUST_OK(raw_hello(raw));
}

void raw_open_as(struct raw *raw, const char *address, uid_t uid, gid_t gid)
{
	raw_connect_as(raw, address, uid, gid);
	MUST_OK(raw_hello(raw));
}

void raw_open_watcher(struct raw *raw, const char *address)
{
	struct ww_wire_hello hello;
	struct ww_wire_welcome welcome;

	raw_connect(raw, address);
	hello = raw_greeting(raw);
	hello.watcher = 1;
	MUST_OK(raw_call(raw, hello, &hello, welcome, &welcome));
}

void raw_close(struct raw *raw)
{
	drop_fds(raw);
	if (raw->socket >= 0)
		close(raw->socket);
	raw->socket = -1;
}

/* --- packets --- */

ww_status raw_send(struct raw *raw, const void *packet, size_t bytes, const int *fds,
	size_t fd_count)
{
	struct pollfd waiting = {.fd = raw->socket, .events = POLLOUT};
	ww_status status;

	while ((status = ww_packet_send(raw->socket, packet, bytes, fds, fd_count)) ==
		WW_NOT_READY) {
		if (poll(&waiting, 1, child_limit_ms()) == 0)
			FAIL("the broker does not read for %d ms", child_limit_ms());
	}
	return status;
}

const struct ww_wire_header *raw_next(struct raw *raw, size_t fd_count)
{
	static struct ww_wire_header header;

	header = (struct ww_wire_header){.serial = ++raw->serial, .fd_count = (uint16_t)fd_count};
	return &header;
}

ww_status raw_receive(struct raw *raw)
{
	struct pollfd waiting = {.fd = raw->socket, .events = POLLIN};
	ww_status status;

	drop_fds(raw);
	for (;;) {
		status = ww_packet_receive(raw->socket, raw->in, sizeof(raw->in), &raw->bytes,
			raw->fds, &raw->fd_count);
		if (status != WW_NOT_READY)
			break;
		if (poll(&waiting, 1, child_limit_ms()) == 0)
			FAIL("time limit: no answer within %d ms", child_limit_ms());
	}
	if (status == WW_END)
		return WW_END;
	MUST_OK(status);
	MUST_OK(ww_wire_read_header(raw->in, raw->bytes, raw->fd_count, &raw->header));
	return WW_OK;
}

bool raw_is_silent(const struct raw *raw)
{
	struct pollfd waiting = {.fd = raw->socket, .events = POLLIN};

	return poll(&waiting, 1, 0) == 0;
}

void raw_must_be_closed(struct raw *raw)
{
	MUST_STATUS(WW_END, raw_receive(raw));
	raw_close(raw);
}

ww_status raw_refusal(const struct raw *raw)
{
	struct ww_wire_error error;

	if (raw->header.code != WW_WIRE_ERROR)
		return WW_OK;
	MUST_OK(ww_wire_decode_error(raw->in, raw->bytes, WW_WIRE_LEAST, &error));
	MUST(error.status < 0);
	return ww_fail(error.status, "%s", error.message);
}

/* Of a connection that has ended one learns when one receives. */
static void post(struct raw *raw, size_t bytes, const int *fds, size_t fd_count)
{
	ww_status status;

	MUST(bytes > 0);
	status = raw_send(raw, raw->out, bytes, fds, fd_count);
	if (status != WW_ERR_PEER_LOST)
		MUST_OK(status);
}

uint32_t raw_posted(struct raw *raw, size_t bytes)
{
	post(raw, bytes, NULL, 0);
	return raw->serial;
}

/* An error without a serial answers everything: the connection is refused. */
ww_status raw_answered(struct raw *raw, uint32_t serial)
{
	if (raw_receive(raw) == WW_END)
		return WW_END;
	if (raw->header.code != WW_WIRE_ERROR || raw->header.serial != 0)
		MUST_EQUAL(serial, raw->header.serial);
	return WW_OK;
}

/* --- requests --- */

struct ww_wire_put raw_object(const char *name)
{
	struct ww_wire_put put = {
		.kind = WW_WIRE_KIND_MEMORY,
		.state = WW_WIRE_STATE_SEALED,
		.life = WW_WIRE_LIFE_HELD,
		.mode = 0600,
		.gid = UINT32_MAX,
		.bytes = 4096,
	};

	MUST_EQUAL(sizeof(put.id), getrandom(put.id, sizeof(put.id), 0));
	MUST(strlen(name) < sizeof(put.name));
	strcpy(put.name, name);
	return put;
}

/* fd_access may be left zero: then all of them are for everybody. */
uint32_t raw_ask_put(struct raw *raw, const struct ww_wire_put *put, const int *fds,
	size_t fd_count)
{
	struct ww_wire_put whole = *put;
	size_t bytes;

	for (size_t i = 0; i < fd_count && i < WW_WIRE_FDS && put->fd_access[0] == 0; i++)
		whole.fd_access[i] = 3;
	bytes = ww_wire_encode_put(&whole, raw_version(raw), raw_next(raw, fd_count), raw->out,
		sizeof(raw->out));
	post(raw, bytes, fds, fd_count);
	return raw->serial;
}

static ww_status take_done(struct raw *raw, uint32_t serial)
{
	struct ww_wire_done done;

	if (raw_answered(raw, serial) == WW_END)
		return WW_END;
	return raw_take(raw, done, &done);
}

ww_status raw_put(struct raw *raw, const struct ww_wire_put *put, const int *fds, size_t fd_count)
{
	return take_done(raw, raw_ask_put(raw, put, fds, fd_count));
}

static struct ww_wire_get make_get(const char *name, uint8_t access, uint32_t flags)
{
	struct ww_wire_get get = {.access = access, .flags = flags};

	MUST(strlen(name) < sizeof(get.name));
	strcpy(get.name, name);
	return get;
}

ww_status raw_get(struct raw *raw, const char *name, uint8_t access,
	struct ww_wire_granted *out_granted)
{
	const struct ww_wire_get get = make_get(name, access, 0);

	return raw_call(raw, get, &get, granted, out_granted);
}

uint32_t raw_ask_get(struct raw *raw, const char *name, uint8_t access)
{
	const struct ww_wire_get get = make_get(name, access, WW_WIRE_GET_FLAG_WAIT);

	return raw_ask(raw, get, &get);
}

ww_status raw_seal(struct raw *raw, const uint8_t id[16], uint8_t state)
{
	struct ww_wire_seal seal = {.state = state};

	memcpy(seal.id, id, sizeof(seal.id));
	return take_done(raw, raw_ask(raw, seal, &seal));
}

ww_status raw_seal_to_stay(struct raw *raw, const struct ww_wire_put *put, uint32_t flags)
{
	struct ww_wire_seal seal = {.state = put->state, .flags = flags};

	memcpy(seal.id, put->id, sizeof(seal.id));
	return take_done(raw, raw_ask(raw, seal, &seal));
}

ww_status raw_revoke(struct raw *raw, const uint8_t id[16])
{
	struct ww_wire_revoke revoke;

	memcpy(revoke.id, id, sizeof(revoke.id));
	return take_done(raw, raw_ask(raw, revoke, &revoke));
}

ww_status raw_release(struct raw *raw, const uint8_t id[16])
{
	struct ww_wire_release release;

	memcpy(release.id, id, sizeof(release.id));
	return take_done(raw, raw_ask(raw, release, &release));
}

static ww_status ask_to_remove(struct raw *raw, const char *name, const uint8_t id[16],
	uint32_t flags)
{
	struct ww_wire_remove message = {.flags = flags};

	MUST(strlen(name) < sizeof(message.name));
	strcpy(message.name, name);
	memcpy(message.id, id, sizeof(message.id));
	return take_done(raw, raw_ask(raw, remove, &message));
}

ww_status raw_remove(struct raw *raw, const char *name, const uint8_t id[16])
{
	return ask_to_remove(raw, name, id, 0);
}

/* An older broker, or one that speaks an older version, ends all objects. */
ww_status raw_end(struct raw *raw, const char *name)
{
	return ask_to_remove(raw, name, (const uint8_t[16]){0},
		raw_version(raw) < 8 ? 0 : WW_WIRE_REMOVE_FLAG_END);
}

ww_status raw_end_id(struct raw *raw, const uint8_t id[16])
{
	return ask_to_remove(raw, "", id, WW_WIRE_REMOVE_FLAG_END);
}

ww_status raw_stat(struct raw *raw, const char *name, struct ww_wire_entry *out_entry)
{
	struct ww_wire_stat stat = {0};
	struct ww_wire_described described;
	ww_status status;

	MUST(strlen(name) < sizeof(stat.name));
	strcpy(stat.name, name);
	status = raw_call(raw, stat, &stat, described, &described);
	if (status == WW_OK)
		*out_entry = described.entry;
	return status;
}

ww_status raw_export(struct raw *raw, const uint8_t id[16], uint8_t access, uint32_t uses,
	uint64_t escrow_ns, uint8_t out_secret[16])
{
	struct ww_wire_export message = {.access = access, .uses = uses, .escrow_ns = escrow_ns};
	struct ww_wire_exported exported;
	ww_status status;

	memcpy(message.id, id, sizeof(message.id));
	status = raw_call(raw, export, &message, exported, &exported);
	if (status == WW_OK)
		memcpy(out_secret, exported.secret, sizeof(exported.secret));
	return status;
}

ww_status raw_deliver(struct raw *raw, const uint8_t id[16], uint8_t access,
	struct raw_delivery *delivery)
{
	struct ww_wire_export message = {.access = access,
		.uses = delivery->uses,
		.escrow_ns = delivery->after_ns,
		.flags = WW_WIRE_EXPORT_FLAG_DELIVERY,
		.most_count = delivery->count,
		.most_bytes = delivery->bytes};
	static const uint8_t none[16];
	struct ww_wire_exported exported;
	ww_status status;

	if (!memcmp(delivery->secret, none, sizeof(none)))
		MUST_EQUAL(16, getrandom(delivery->secret, sizeof(delivery->secret), 0));
	memcpy(message.id, id, sizeof(message.id));
	memcpy(message.secret, delivery->secret, sizeof(message.secret));
	status = raw_call(raw, export, &message, exported, &exported);
	if (status == WW_OK)
		delivery->number = exported.delivery;
	return status;
}

ww_status raw_recall(struct raw *raw, const struct ww_wire_recall *recall,
	struct ww_wire_recalled *out_recalled)
{
	return raw_call(raw, recall, recall, recalled, out_recalled);
}

ww_status raw_import(struct raw *raw, const uint8_t id[16], const uint8_t secret[16],
	uint8_t access, struct ww_wire_granted *out_granted)
{
	struct ww_wire_import message = {.access = access};

	memcpy(message.id, id, sizeof(message.id));
	memcpy(message.secret, secret, sizeof(message.secret));
	return raw_call(raw, import, &message, granted, out_granted);
}

uint32_t raw_ask_reserve(struct raw *raw, uint64_t bytes, uint32_t fd_count)
{
	const struct ww_wire_reserve reserve = {.bytes = bytes, .fd_count = fd_count};

	return raw_ask(raw, reserve, &reserve);
}

ww_status raw_reserve(struct raw *raw, uint64_t bytes, uint32_t fd_count)
{
	return take_done(raw, raw_ask_reserve(raw, bytes, fd_count));
}

ww_status raw_watch(struct raw *raw, const char *prefix, uint32_t flags)
{
	struct ww_wire_watch watch = {.flags = flags};

	MUST(strlen(prefix) < sizeof(watch.prefix));
	strcpy(watch.prefix, prefix);
	return take_done(raw, raw_ask(raw, watch, &watch));
}

ww_status raw_condition(struct raw *raw, struct ww_wire_condition *out_condition)
{
	const struct ww_wire_status status = {0};

	return raw_call(raw, status, &status, condition, out_condition);
}

static bool has_the_same(const struct ww_wire_condition *a, const struct ww_wire_condition *b)
{
	return a->objects == b->objects && a->holders == b->holders && a->holds == b->holds &&
		a->bytes == b->bytes && a->fds == b->fds && a->waits == b->waits &&
		a->open_fds == b->open_fds;
}

static bool is_same_now(struct raw *raw, const struct ww_wire_condition *before,
	struct ww_wire_condition *out_now)
{
	MUST_OK(raw_condition(raw, out_now));
	return has_the_same(out_now, before);
}

/* Each question is a round trip, so this waits for the broker and not for a clock. */
void raw_must_settle(struct raw *raw, const struct ww_wire_condition *before)
{
	struct ww_wire_condition now;

	ww_broker_client_drop_kept(true);
	if (COMES_TRUE(is_same_now(raw, before, &now)))
		return;
	FAIL("left in the broker: %lld objects, %lld holders, %lld holds, %lld bytes, %lld waits, %lld "
	     "descriptors (%lld open)",
		(long long)(now.objects - before->objects),
		(long long)(now.holders - before->holders), (long long)(now.holds - before->holds),
		(long long)(now.bytes - before->bytes), (long long)(now.waits - before->waits),
		(long long)(now.fds - before->fds), (long long)(now.open_fds - before->open_fds));
}

void raw_hear_event(struct raw *raw, uint8_t what, const char *name)
{
	struct ww_wire_event event;

	MUST_OK(raw_receive(raw));
	MUST_OK(raw_take(raw, event, &event));
	if (event.what != what || strcmp(event.entry.name, name))
		FAIL("event %u of \"%s\", not %u of \"%s\"", event.what, event.entry.name, what,
			name);
}

int raw_memory_writable(uint64_t bytes)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	MUST_CALL(fd);
	MUST_CALL(ftruncate(fd, (off_t)bytes));
	MUST_CALL(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
	return fd;
}

int raw_memory(uint64_t bytes)
{
	OWN(fd) int writable = raw_memory_writable(bytes);
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", writable);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	MUST_CALL(fd);
	return fd;
}

void raw_send_same(struct raw *raw, const void *packet, size_t bytes, int fd, size_t count)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(RAW_FDS_MOST * sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec part = {(void *)packet, bytes};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE(count * sizeof(int))};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
	for (size_t i = 0; i < count; i++)
		memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &fd, sizeof(fd));
	MUST_EQUAL(bytes, sendmsg(raw->socket, &message, MSG_NOSIGNAL));
}
