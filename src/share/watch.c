/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - watches, which report changes in a broker
 *
 * A watch has a separate connection, which holds nothing. So if a program does not read its events,
 * it delays no other call. One thread at a time uses it: no lock. When the connection ends, another
 * one is made, which watches from then on; changes in between are not known, so the watch reports
 * an overflow after the new connection watches: a program that then lists the objects again misses
 * nothing.
 *
 * A caller without time to wait must get there too, so the next connection is made in steps, and
 * between two calls it is kept as far as it is:
 *
 *   none ──connect──> greeted ──welcome──> asked to watch ──done──> the connection
 *     ^                  │                     │
 *     └──────ended───────┴─────────────────────┘
 */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "share/choose_broker.h"
#include "share/object_info.h"
#include "client/spawn.h"
#include "wire/name.h"

#define EVENT_V1_BYTES offsetof(struct ww_watch_event, former_id)
#define WATCH_SERIAL   2 /* hello's was 1 */
#define PACKET_BYTES   2048
#define ATTEMPTS       16

struct ww_watch {
	struct ww_broker *broker; /* a reference */
	struct ww_connection
		*connection;        /* owned; kept when it has ended, until there is another */
	bool is_ended;              /* the connection has */
	struct ww_connection *next; /* owned; the connection that is being made */
	bool is_welcome;            /* the next one is, and was asked to watch */
	uint64_t patience_ns;       /* until when the next one is tried to be made; 0: not yet */
	char prefix[WW_NAME_BYTES];
	uint8_t packet[PACKET_BYTES];
};

/* Return: as ww_connection_send(). */
static ww_status ask_to_watch(struct ww_watch *watch, uint64_t flags, uint64_t deadline_ns)
{
	const struct ww_wire_header header = {.serial = WATCH_SERIAL};
	struct ww_wire_watch message = {.flags = (uint32_t)flags};
	size_t bytes;

	memcpy(message.prefix, watch->prefix, sizeof(message.prefix));
	bytes = ww_wire_encode_watch(&message, watch->next->welcome.version, &header, watch->packet,
		PACKET_BYTES);
	ww_assert(bytes > 0);
	return ww_connection_send(watch->next, watch->packet, bytes, deadline_ns);
}

/* Return: WW_OK; WW_ERR_PEER_LOST; WW_TIMED_OUT; WW_CANCELLED; an error. */
static ww_status hear_that_it_watches(struct ww_watch *watch, uint64_t deadline_ns)
{
	struct ww_arrival arrival;
	ww_status status = ww_connection_receive(watch->next, watch->packet, PACKET_BYTES,
		deadline_ns, &arrival);

	if (status != WW_OK)
		return status;
	ww_arrival_drop(&arrival);
	if (arrival.header.code == WW_WIRE_ERROR)
		return ww_connection_fail(watch->packet, arrival.bytes,
			watch->next->welcome.version);
	if (arrival.header.code != WW_WIRE_DONE || arrival.header.serial != WATCH_SERIAL)
		return ww_fail(WW_ERR_PROTOCOL,
			"the process that listens at %s is not a broker: it cannot be watched",
			watch->broker->address.path);
	return WW_OK;
}

/*
 * Starting a broker takes time, so a caller that has none does not. Return: as
 * hear_that_it_watches().
 */
static ww_status connect_next(struct ww_watch *watch, uint64_t deadline_ns)
{
	const struct ww_address *address = &watch->broker->address;
	const struct ww_caller caller = ww_broker_client_caller(watch->broker, true);
	bool is_absent;
	ww_status status = ww_connection_connect(address, &caller, deadline_ns, &watch->next,
		&is_absent);

	if (status == WW_OK)
		status = ww_connection_receive_welcome(watch->next, address, deadline_ns);
	else if (is_absent && ww_broker_client_may_start(watch->broker) &&
		ww_clock_now_ns() < deadline_ns)
		status = ww_start(address, &caller, deadline_ns, &watch->next);
	return status;
}

/* As far as it goes now. Return: as hear_that_it_watches(). */
static ww_status advance(struct ww_watch *watch, uint64_t flags, uint64_t deadline_ns)
{
	ww_status status = WW_OK;

	if (!watch->next)
		status = connect_next(watch, deadline_ns);
	else if (!watch->is_welcome)
		status = ww_connection_receive_welcome(watch->next, &watch->broker->address,
			deadline_ns);
	if (status == WW_OK && !watch->is_welcome) {
		status = ask_to_watch(watch, flags, deadline_ns);
		watch->is_welcome = status == WW_OK;
	}
	if (status == WW_OK)
		status = hear_that_it_watches(watch, deadline_ns);
	return status;
}

static void drop_next(struct ww_watch *watch)
{
	watch->next = ww_connection_unref(watch->next);
	watch->is_welcome = false;
}

static void use_next(struct ww_watch *watch)
{
	ww_connection_unref(watch->connection);
	watch->connection = ww_steal(watch->next);
	watch->is_welcome = false;
	watch->is_ended = false;
	watch->patience_ns = 0;
}

/*
 * Return: WW_OK; WW_TIMED_OUT (the caller's time is up, the broker's is not); WW_CANCELLED; an
 * error.
 */
static ww_status make_next(struct ww_watch *watch, uint64_t flags, uint64_t deadline_ns)
{
	ww_status status = WW_ERR_PEER_LOST;
	bool may_come_again;

	if (watch->patience_ns == 0)
		watch->patience_ns = ww_clock_deadline_ns(
			ww_broker_client_timeout_ns(watch->broker));
	may_come_again = deadline_ns < watch->patience_ns;
	if (!may_come_again)
		deadline_ns = watch->patience_ns;
	for (int i = 0; i < ATTEMPTS && status == WW_ERR_PEER_LOST; i++) {
		status = advance(watch, flags, deadline_ns);
		if (status < 0)
			drop_next(watch);
	}
	if (status == WW_OK || status == WW_CANCELLED || (status == WW_TIMED_OUT && may_come_again))
		return status;
	drop_next(watch);
	watch->patience_ns = 0;
	if (status == WW_ERR_PEER_LOST || status == WW_TIMED_OUT)
		return ww_fail(WW_ERR_NO_BROKER,
			"the broker at %s does not answer one who would watch",
			watch->broker->address.path);
	return status;
}

/* Return: as make_next(). */
static ww_status connect_watch(struct ww_watch *watch, uint64_t flags, uint64_t deadline_ns)
{
	struct ww_error record;
	ww_status status;

	ww_error_save(&record);
	status = make_next(watch, flags, deadline_ns);
	if (status == WW_OK)
		use_next(watch);
	if (status >= 0)
		ww_error_restore(&record); /* what failed on the way was made good, or may yet be */
	return status;
}

static ww_status watch_new(struct ww_broker *broker, const char *prefix,
	struct ww_watch **out_watch)
{
	struct ww_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot watch a broker: out of memory");
	watch->broker = ww_broker_ref(broker);
	memcpy(watch->prefix, prefix, strlen(prefix));
	*out_watch = watch;
	return WW_OK;
}

WW_DEFINE_CLEANUP(struct ww_watch, ww_watch_free)

ww_status ww_watch_create(ww_broker *broker, const char *prefix, uint64_t flags,
	ww_watch **out_watch)
{
	WW_AUTO_BROKER struct ww_broker *opened = NULL;
	WW_CLEANUP(ww_watch_free_p) struct ww_watch *watch = NULL;
	const char *begins = prefix ? prefix : "";

	ww_clear(out_watch, NULL);
	ww_try(ww_process_enter());
	ww_require(out_watch, "ww_watch_create: out_watch is NULL");
	if (flags & ~WW_WATCH_EXISTING)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a watch", flags);
	ww_try(ww_name_check_prefix(begins));
	ww_try(ww_choose_broker(&broker, &opened, 0));
	ww_try(watch_new(broker, begins, &watch));
	ww_try(connect_watch(watch, flags & WW_WATCH_EXISTING ? WW_WIRE_WATCH_FLAG_EXISTING : 0,
		WW_NEVER));
	*out_watch = ww_steal(watch);
	return WW_OK;
}

ww_watch *ww_watch_free(ww_watch *watch)
{
	if (!watch || ww_ref_is_inherited(&watch->broker->ref))
		return NULL;
	ww_connection_unref(watch->next);
	ww_connection_unref(watch->connection);
	ww_broker_unref(watch->broker);
	free(watch);
	return NULL;
}

/* While another connection is made, that is what there is to wait for. */
int ww_watch_fd(ww_watch *watch)
{
	if (!watch || ww_ref_is_inherited(&watch->broker->ref))
		return -1;
	return watch->next ? watch->next->socket : watch->connection->socket;
}

static ww_status write_event(const struct ww_wire_event *message, struct ww_watch_event *event)
{
	const size_t before = offsetof(struct ww_watch_event, object);
	struct ww_watch_event ours = {
		.what = message->what,
		.former_generation = message->former_generation,
	};

	memcpy(ours.former_id, message->former_id, sizeof(ours.former_id));
	if (message->what != WW_WATCH_OVERFLOW)
		ww_object_info_of_entry(&message->entry, &ours.object);
	/* A caller of an older version has less room. */
	ours.object.struct_size = sizeof(ours.object);
	if (event->struct_size - before < ours.object.struct_size)
		ours.object.struct_size = (uint32_t)(event->struct_size - before);
	return ww_params_write(event, &ours, sizeof(ours), EVENT_V1_BYTES, "ww_watch_event");
}

/* Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_PEER_LOST; another error. */
static ww_status take_event(struct ww_watch *watch, uint64_t deadline_ns,
	struct ww_watch_event *event)
{
	struct ww_wire_event message;
	struct ww_arrival arrival;
	ww_status status = ww_connection_receive(watch->connection, watch->packet, PACKET_BYTES,
		deadline_ns, &arrival);

	if (status != WW_OK)
		return status;
	ww_arrival_drop(&arrival);
	if (ww_wire_decode_event(watch->packet, arrival.bytes, watch->connection->welcome.version,
		    &message) < 0)
		return ww_fail(WW_ERR_PROTOCOL, "an event of the broker at %s cannot be read",
			watch->broker->address.path);
	return write_event(&message, event);
}

static ww_status resume(struct ww_watch *watch, uint64_t deadline_ns, struct ww_watch_event *event)
{
	static const struct ww_wire_event missed = {.what = WW_WATCH_OVERFLOW};
	ww_status status = connect_watch(watch, 0, deadline_ns);

	return status == WW_OK ? write_event(&missed, event) : status;
}

ww_status ww_watch_next(ww_watch *watch, uint64_t timeout_ns, ww_cancel *cancel,
	struct ww_watch_event *event)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	uint64_t deadline_ns = ww_clock_deadline_ns(timeout_ns);
	struct ww_error record;
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(watch && event, "ww_watch_next: watch or event is NULL");
	ww_try(ww_ref_check(&watch->broker->ref, "a watch"));
	ww_try(ww_params_check(event, EVENT_V1_BYTES, "ww_watch_event"));
	if (watch->is_ended)
		return resume(watch, deadline_ns, event);
	ww_error_save(&record);
	status = take_event(watch, deadline_ns, event);
	if (status >= 0)
		return status;
	/*
	 * Its descriptor stays, readable, so an event loop comes back if there is no other one yet.
	 */
	ww_connection_shut(watch->connection);
	watch->is_ended = true;
	if (status != WW_ERR_PEER_LOST)
		return status;
	ww_error_restore(&record);
	return resume(watch, deadline_ns, event);
}
