/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replies.c - fuzzes what the library does with what a broker answers
 *
 * Input: bytes from which all is drawn, in the order of need: which functions of the library are
 * called, and what their broker says to each request: the right answer, with a few bytes changed or
 * none; another one; an event; any bytes; or the end of the connection. Descriptions in it have
 * right checksums. Where the input ends, so does the broker.
 *
 * There is one thread and no socket that listens. __wrap_connect() joins the library to this
 * program, and __wrap_ppoll() answers what was asked before the library waits; what it would wait
 * for without an end is ended.
 *
 * Whatever comes, a call succeeds or says why not, and no descriptor stays open.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <warpway/warpway.h>

#include "base/error.h"
#include "base/fd.h"
#include "share/object_info.h"
#include "fuzz/fuzz.h"
#include "support/forge.h"
#include "support/own.h"
#include "support/raw_client.h"
#include "wire/sync_description.h"
#include "wire/packet.h"
#include "wire/samples.h"
#include "wire/signal_page.h"
#include "wire/token.h"

#define LINKS      4
#define PAGE_BYTES 4096
#define TIMEOUT_NS UINT64_C(100000000)
#define CALLS      8
#define ENTRIES    8 /* of a snapshot or a watch that are looked at */

static struct {
	ww_device *device;
	int memory_fd;
	struct ww_memory_description description;
	int page_fd;
	struct ww_token token;
} world;

/* Our ends of connections; -1: none. */
static int links[LINKS];
static bool is_watched; /* the last call was for events */
static uint16_t kind;   /* of the object that was asked for */

/* --- what is drawn --- */

static struct {
	const uint8_t *at;
	size_t left;
} source;

static uint8_t draw(void)
{
	if (source.left == 0)
		return 0;
	source.left--;
	return *source.at++;
}

static uint32_t draw_below(uint32_t limit)
{
	uint32_t number = draw();

	if (limit > 256)
		number = number << 8 | draw();
	return number % limit;
}

static bool draw_one_in(uint32_t many)
{
	return draw_below(many) == many - 1;
}

/* Changes a few bytes, mostly none. */
static void change(uint8_t *bytes, size_t count)
{
	for (int i = 0; i < 4 && count > 0 && draw_one_in(4); i++)
		bytes[draw_below((uint32_t)count)] = draw();
}

/* --- a broker's answers --- */

static size_t make_welcome(const struct ww_wire_header *header, uint8_t *out)
{
	struct ww_wire_welcome welcome = {
		.version = draw_one_in(8) ? draw() : WW_WIRE_VERSION,
		.least = WW_WIRE_LEAST,
		.most = WW_WIRE_VERSION,
		.known = draw_one_in(4),
		.broker_id = {0xb1, draw_one_in(8)},
	};

	return ww_wire_encode_welcome(&welcome, WW_WIRE_LEAST, header, out, WW_WIRE_PACKET_BYTES);
}

static size_t make_error(const struct ww_wire_header *header, uint8_t *out)
{
	struct ww_wire_error error = {.status = -(int32_t)draw_below(32), .message = "no\n"};

	return ww_wire_encode_error(&error, WW_WIRE_LEAST, header, out, WW_WIRE_PACKET_BYTES);
}

static size_t make_confirmed(const struct ww_wire_header *header, uint8_t *out)
{
	struct ww_wire_held held[3] = {{{0}}};
	struct ww_wire_confirmed confirmed = {.unknown = {.count = draw_below(4), .items = held}};

	memcpy(held[0].id, world.description.bytes + 32, sizeof(held[0].id));
	return ww_wire_encode_confirmed(&confirmed, WW_WIRE_VERSION, header, out,
		WW_WIRE_PACKET_BYTES);
}

static uint16_t describe_memory(uint8_t *out)
{
	struct ww_memory_description description = world.description;
	struct ww_description fields;
	struct ww_array array = WW_INIT(struct ww_array);
	bool has_array = draw_one_in(2);
	uint16_t bytes;

	FUZZ_MUST(ww_description_decode(&description, &fields) == WW_OK);
	FUZZ_MUST(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 1, (const int64_t[]){16}, NULL,
			  0) == WW_OK);
	bytes = ww_object_description_encode(&fields, has_array ? &array : NULL, out);
	change(out, bytes);
	memcpy(&description, out, sizeof(description));
	description_seal(&description);
	memcpy(out, &description, sizeof(description));
	return bytes;
}

static uint16_t describe_timeline(uint8_t *out)
{
	const struct ww_wire_timeline_ref ref = {.page_bytes = PAGE_BYTES,
		.cell_offset = draw_one_in(4) ? draw() : sizeof(struct ww_layout_signal_page)};

	ww_timeline_ref_write(&ref, out);
	change(out, WW_TIMELINE_REF_BYTES);
	bytes_seal(out, WW_TIMELINE_REF_BYTES);
	return WW_TIMELINE_REF_BYTES;
}

static size_t make_granted(struct ww_wire_header *header, uint8_t *out, int fds[WW_WIRE_FDS])
{
	struct ww_wire_granted granted = {
		.kind = draw_one_in(8) ? draw() : kind,
		.access = (uint8_t)(1 + draw_below(2)),
		.state = (uint8_t)(2 + draw_below(2)),
		.bytes = PAGE_BYTES,
		.generation = draw_one_in(8),
		.name = "a",
	};

	if (granted.kind >= 128) { /* a slice of a pool */
		granted.part = granted.kind;
		granted.kind = WW_WIRE_KIND_POOL;
	}
	memcpy(granted.id, world.description.bytes + 32, sizeof(granted.id));
	granted.description_bytes = kind == WW_WIRE_KIND_MEMORY
		? describe_memory(granted.description)
		: describe_timeline(granted.description);
	header->fd_count = (uint16_t)(draw_one_in(8) ? draw_below(WW_WIRE_FDS + 1) : 1);
	for (uint16_t i = 0; i < header->fd_count; i++)
		fds[i] = (kind == WW_WIRE_KIND_MEMORY) != draw_one_in(8) ? world.memory_fd
									 : world.page_fd;
	return ww_wire_encode_granted(&granted, WW_WIRE_VERSION, header, out, WW_WIRE_PACKET_BYTES);
}

/* The sample of a message. */
static size_t make_sample(uint16_t code, struct ww_wire_header *header, uint8_t *out)
{
	for (size_t i = 0; i < wire_sample_count; i++) {
		const struct wire_sample *sample = &wire_samples[i];

		if (sample->header.code != code || sample->header.fd_count > 0)
			continue;
		return sample->encode(sample->message, sample->version, header, out,
			WW_WIRE_PACKET_BYTES);
	}
	return 0;
}

static bool is_listing(uint16_t code)
{
	return (code >= WW_WIRE_LISTING && code <= WW_WIRE_HOLD_LISTING) ||
		(code >= WW_WIRE_TOTAL_LISTING && code <= WW_WIRE_OBJECT_HOLD_LISTING);
}

/* Not a page after which there is another, most of the time. */
static size_t make_listing(uint16_t code, struct ww_wire_header *header, uint8_t *out)
{
	size_t bytes = make_sample(code, header, out);

	if (bytes >= WW_WIRE_HEADER_BYTES + sizeof(uint64_t) && !draw_one_in(8))
		memset(out + WW_WIRE_HEADER_BYTES, 0, sizeof(uint64_t));
	return bytes;
}

static uint16_t reply_to(uint16_t request)
{
	static const uint16_t replies[] = {0, WW_WIRE_WELCOME, WW_WIRE_CONFIRMED, WW_WIRE_DONE,
		WW_WIRE_DONE, WW_WIRE_GRANTED, WW_WIRE_GRANTED, WW_WIRE_EXPORTED, WW_WIRE_DONE,
		WW_WIRE_DONE, WW_WIRE_DESCRIBED, WW_WIRE_LISTING, WW_WIRE_HOLDER_LISTING,
		WW_WIRE_HOLD_LISTING, WW_WIRE_DONE, WW_WIRE_DONE, WW_WIRE_DONE, WW_WIRE_CONDITION,
		WW_WIRE_DONE, WW_WIRE_RECALLED, WW_WIRE_TOTAL_LISTING, WW_WIRE_LARGEST_LISTING,
		WW_WIRE_LARGEST_HOLDER_LISTING, WW_WIRE_OBJECT_HOLD_LISTING, WW_WIRE_LOST,
		WW_WIRE_PART_LISTING, WW_WIRE_DONE};

	FUZZ_MUST(request < sizeof(replies) / sizeof(replies[0]));
	return replies[request];
}

static void say(int link, uint16_t code, uint32_t serial)
{
	static uint8_t packet[WW_WIRE_PACKET_BYTES];
	struct ww_wire_header header = {.serial = serial};
	int fds[WW_WIRE_FDS] = {0};
	size_t bytes;

	if (code == WW_WIRE_WELCOME)
		bytes = make_welcome(&header, packet);
	else if (code == WW_WIRE_ERROR)
		bytes = make_error(&header, packet);
	else if (code == WW_WIRE_CONFIRMED)
		bytes = make_confirmed(&header, packet);
	else if (code == WW_WIRE_GRANTED)
		bytes = make_granted(&header, packet, fds);
	else if (is_listing(code))
		bytes = make_listing(code, &header, packet);
	else
		bytes = make_sample(code, &header, packet);
	if (bytes > WW_WIRE_HEADER_BYTES)
		change(packet + WW_WIRE_HEADER_BYTES, bytes - WW_WIRE_HEADER_BYTES);
	if (bytes > 0)
		(void)ww_packet_send(link, packet, bytes, fds, header.fd_count);
}

static void say_anything(int link)
{
	uint8_t packet[64];
	size_t bytes = 0;

	do {
		packet[bytes++] = draw();
	} while (bytes < sizeof(packet) && !draw_one_in(16));
	(void)ww_packet_send(link, packet, bytes, NULL, 0);
}

/* Return: whether the connection goes on. */
static bool answer(int link, const struct ww_wire_header *asked)
{
	uint16_t code = reply_to(asked->code);

	switch (draw_below(32)) {
	case 31:
		return false;
	case 30:
		say_anything(link);
		return true;
	case 29:
		say(link, code, draw());
		return true;
	case 28:
		say(link, WW_WIRE_EVENT, draw_one_in(2));
		break;
	case 27:
	case 26:
		say(link, WW_WIRE_ERROR, asked->serial);
		return true;
	case 25:
		say(link, (uint16_t)(WW_WIRE_WELCOME + draw_below(11)), asked->serial);
		return true;
	case 24:
		return true;
	default:
		break;
	}
	if (asked->serial != 0) /* a release has none, and no answer */
		say(link, code, asked->serial);
	return true;
}

/* --- a broker in place of a socket --- */

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length);
int __real_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
	const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
	const sigset_t *mask);

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length)
{
	int pair[2];

	(void)address;
	(void)length;
	for (size_t i = 0; i < LINKS && source.left > 0; i++) {
		if (links[i] >= 0)
			continue;
		FUZZ_MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
		FUZZ_MUST(dup3(pair[0], fd, O_CLOEXEC) == fd);
		close(pair[0]);
		links[i] = pair[1];
		return 0;
	}
	errno = ECONNREFUSED;
	return -1;
}

/* Answers all that was asked. Return: whether the connection goes on. */
static bool serve(int link)
{
	static uint8_t packet[WW_WIRE_PACKET_BYTES];
	struct ww_wire_header header;
	int fds[WW_PACKET_FDS];
	size_t fd_count = 0;
	size_t bytes;
	ww_status status;

	while ((status = ww_packet_receive(link, packet, sizeof(packet), &bytes, fds, &fd_count)) ==
		WW_OK) {
		FUZZ_MUST(ww_wire_read_header(packet, bytes, fd_count, &header) == WW_OK);
		while (fd_count > 0)
			ww_fd_close(fds[--fd_count]);
		if (source.left == 0 || !answer(link, &header))
			return false;
	}
	if (is_watched && draw_one_in(2))
		say(link, WW_WIRE_EVENT, 0);
	return status == WW_NOT_READY;
}

/* The error record is the library's. */
static void serve_all(bool are_over)
{
	struct ww_error record;

	ww_error_save(&record);
	for (size_t i = 0; i < LINKS; i++) {
		if (links[i] >= 0 && (are_over || !serve(links[i])))
			links[i] = ww_fd_close(links[i]);
	}
	ww_error_restore(&record);
}

int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
	const sigset_t *mask)
{
	static const struct timespec zero;
	bool would_wait = !timeout || timeout->tv_sec > 0 || timeout->tv_nsec > 0;
	int ready;

	serve_all(false);
	ready = __real_ppoll(fds, count, &zero, mask);
	if (ready != 0 || !would_wait)
		return ready;
	serve_all(true);
	return __real_ppoll(fds, count, timeout, mask);
}

/* --- the library's side --- */

static void set_up(void)
{
	struct ww_token_info info = {.struct_size = sizeof(info),
		.kind = WW_OBJECT_MEMORY,
		.access = WW_ACCESS_WRITE,
		.bytes = 4096,
		.total_bytes = 4096,
		.broker_id = {0xb1}};
	uint8_t secret[WW_SECRET_BYTES] = {1};
	uint8_t page[PAGE_BYTES] = {0};
	ww_memory *memory;

	memset(links, 0xff, sizeof(links));
	FUZZ_MUST(ww_device_open("host", &world.device) == WW_OK);
	FUZZ_MUST(ww_memory_create(world.device,
			  WW_PARAMS(struct ww_memory_params, .kind = WW_MEMORY_HOST, .bytes = 4096),
			  &memory) == WW_OK);
	FUZZ_MUST(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &world.memory_fd,
			  &world.description) == WW_OK);
	ww_memory_unref(memory); /* or every get would be of this one, which would stay held */
	memcpy(info.object_id, world.description.bytes + 32, sizeof(info.object_id));
	FUZZ_MUST(ww_token_make(&info, secret, &world.token) == WW_OK);
	ww_signal_page_init((struct ww_layout_signal_page *)(void *)page, PAGE_BYTES,
		world.description.bytes + 32, 1, 2, "fuzz");
	world.page_fd = raw_memory_writable(PAGE_BYTES);
	FUZZ_MUST(pwrite(world.page_fd, page, sizeof(page), 0) == sizeof(page));
}

static ww_status get_memory(ww_broker *broker)
{
	const struct ww_get_params params = {.struct_size = sizeof(params),
		.access = 1 + draw_below(2)};
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	OWN(memory) ww_memory *memory = NULL;
	ww_status status = draw_one_in(2)
		? ww_memory_get(world.device, broker, "a", &params, 0, NULL, &memory, &info)
		: ww_memory_import(world.device, broker, &world.token,
			  WW_PARAMS(struct ww_import_params, .access = params.access), NULL,
			  &memory, &info);

	FUZZ_MUST((status == WW_OK) == (memory != NULL));
	return status;
}

static ww_status put_memory(ww_broker *broker)
{
	struct ww_token token;
	OWN(memory) ww_memory *memory;
	ww_status status;

	FUZZ_MUST(ww_memory_create(world.device,
			  WW_PARAMS(struct ww_memory_params, .kind = WW_MEMORY_HOST, .bytes = 4096),
			  &memory) == WW_OK);
	status = draw_one_in(2) ? ww_memory_export(memory, broker, NULL, NULL, &token)
				: ww_memory_put(memory, broker, "a", NULL, 0, NULL);
	if (status == WW_OK && draw_one_in(2))
		status = ww_memory_publish(memory, broker, WW_STATE_SEALED, NULL);
	return status;
}

static ww_status get_timeline(ww_broker *broker)
{
	OWN(timeline) ww_timeline *timeline = NULL;
	ww_status status = ww_timeline_get(broker, "a", 0, NULL, &timeline);

	FUZZ_MUST((status == WW_OK) == (timeline != NULL));
	if (timeline)
		FUZZ_MUST(ww_timeline_query(timeline, 1) != WW_TIMED_OUT);
	return status;
}

static ww_status take_totals(ww_broker *broker)
{
	struct ww_user_total user = {.struct_size = sizeof(user)};
	struct ww_device_total device = {.struct_size = sizeof(device)};
	struct ww_request_total request = {.struct_size = sizeof(request)};
	ww_totals *totals = NULL;
	ww_status status = ww_totals_create(broker, &totals);

	FUZZ_MUST((status == WW_OK) == (totals != NULL));
	for (size_t i = 0; totals && i < ENTRIES; i++) {
		(void)ww_totals_user(totals, i, &user);
		(void)ww_totals_device(totals, i, &device);
		if (ww_totals_request(totals, i, &request) == WW_OK)
			FUZZ_MUST(memchr(request.request, 0, sizeof(request.request)));
	}
	ww_totals_free(totals);
	return status;
}

static ww_status take_largest(ww_broker *broker)
{
	const struct ww_largest_params *params = WW_PARAMS(struct ww_largest_params,
		.count = 1 + draw_below(100),
		.contents = draw_below(2) ? WW_SNAPSHOT_OBJECTS : WW_SNAPSHOT_HOLDERS);
	struct ww_object_info object = {.struct_size = sizeof(object)};
	ww_snapshot *snapshot = NULL;
	ww_status status = ww_snapshot_largest(broker, params, &snapshot);

	FUZZ_MUST((status == WW_OK) == (snapshot != NULL));
	if (snapshot)
		(void)ww_snapshot_object(snapshot, 0, &object);
	ww_snapshot_free(snapshot);
	status = ww_snapshot_of_object(broker, &object, &snapshot);
	FUZZ_MUST((status == WW_OK) == (snapshot != NULL));
	ww_snapshot_free(snapshot);
	return status;
}

static ww_status take_snapshot(ww_broker *broker)
{
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	struct ww_holder_info holder = WW_INIT(struct ww_holder_info);
	struct ww_hold_info hold = WW_INIT(struct ww_hold_info);
	OWN(snapshot) ww_snapshot *snapshot = NULL;
	ww_status status = ww_snapshot_create(broker, "", draw_below(16), &snapshot);

	FUZZ_MUST((status == WW_OK) == (snapshot != NULL));
	for (size_t i = 0; snapshot && i < ENTRIES; i++) {
		if (ww_snapshot_object(snapshot, i, &object) == WW_OK)
			FUZZ_MUST(memchr(object.name, '\0', sizeof(object.name)));
		if (ww_snapshot_holder(snapshot, i, &holder) == WW_OK)
			FUZZ_MUST(memchr(holder.program, '\0', sizeof(holder.program)));
		(void)ww_snapshot_hold(snapshot, i, &hold);
	}
	return status;
}

static ww_status watch(ww_broker *broker)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	OWN(watch) ww_watch *made = NULL;
	ww_status status = ww_watch_create(broker, "", draw_below(2), &made);

	FUZZ_MUST((status == WW_OK) == (made != NULL));
	is_watched = true;
	for (int i = 0; made && status >= 0 && i < ENTRIES; i++)
		status = ww_watch_next(made, 0, NULL, &event);
	is_watched = false;
	return status;
}

static ww_status look(ww_broker *broker)
{
	struct ww_broker_info broker_info = WW_INIT(struct ww_broker_info);
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	switch (draw_below(3)) {
	case 0:
		return ww_broker_info_get(broker, &broker_info);
	case 1:
		return ww_broker_stat(broker, "a", &info);
	default:
		return ww_broker_remove(broker, "a");
	}
}

static void call(ww_broker *broker)
{
	static ww_status (*const calls[])(ww_broker * broker) = {get_memory, get_memory, put_memory,
		get_timeline, take_snapshot, take_totals, take_largest, watch, look};
	uint32_t which = draw_below(sizeof(calls) / sizeof(calls[0]));
	ww_status status;

	kind = calls[which] == get_timeline ? WW_WIRE_KIND_TIMELINE : WW_WIRE_KIND_MEMORY;
	status = calls[which](broker);
	if (status < 0)
		FUZZ_MUST(ww_error_last()->status == status && ww_error_last()->message[0]);
}

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	uint64_t state = number;

	if (number >= 64)
		return 0;
	for (size_t i = 0; i < FUZZ_INPUT_BYTES; i++) {
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		/* More of the first choices, which are the right answers. */
		out[i] = (uint8_t)(number % 2 ? state >> 56 : (state >> 56) & (state >> 48) & 0x17);
	}
	return FUZZ_INPUT_BYTES;
}

static int lowest_free(void)
{
	int fd = fcntl(world.memory_fd, F_DUPFD_CLOEXEC, 0);

	close(fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	ww_broker *broker;
	int lowest;

	if (!world.device)
		set_up();
	if (bytes > FUZZ_INPUT_BYTES)
		return 0;
	source.at = input;
	source.left = bytes;
	lowest = lowest_free();
	if (ww_broker_open(WW_PARAMS(struct ww_broker_params, .flags = WW_BROKER_NO_START,
				   .timeout_ns = TIMEOUT_NS, .address = "/nowhere/warpway"),
		    &broker) == WW_OK) {
		for (int i = 0; i < CALLS && source.left > 0; i++)
			call(broker);
		ww_broker_unref(broker);
	}
	serve_all(true);
	FUZZ_MUST(lowest_free() == lowest);
	return 0;
}
