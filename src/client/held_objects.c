/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_objects.c - what this process holds of one broker: asked, counted once more, and released
 *
 * Only the last release of an object sends a packet, which has no answer.
 */
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "client/request_exchange.h"

#define RELEASE_WAIT_NS UINT64_C(100000000) /* the time to wait for room for a release */

/* Whether the object has a live hold. @count: is added to that. @out_is_revoked: set if so */
static bool count_live_hold(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES],
	uint32_t count, bool *out_is_revoked)
{
	struct ww_hold *hold;
	bool is_live;

	pthread_mutex_lock(&broker->lock);
	hold = ww_holds_find(&broker->holds, id);
	is_live = ww_hold_is_live(hold);
	if (is_live) {
		hold->count += count;
		*out_is_revoked = hold->is_revoked;
	}
	pthread_mutex_unlock(&broker->lock);
	return is_live;
}

bool ww_broker_client_is_held(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES])
{
	bool is_revoked;

	return count_live_hold(broker, id, 0, &is_revoked);
}

bool ww_broker_client_is_others(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES])
{
	const struct ww_hold *hold;
	bool is_others;

	pthread_mutex_lock(&broker->lock);
	hold = ww_holds_find(&broker->holds, id);
	is_others = ww_hold_is_live(hold) && !hold->is_own;
	pthread_mutex_unlock(&broker->lock);
	return is_others;
}

bool ww_broker_client_hold_again(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES])
{
	bool is_revoked;

	return count_live_hold(broker, id, 1, &is_revoked);
}

bool ww_broker_client_has_valid_tokens(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES])
{
	bool is_revoked;

	return count_live_hold(broker, id, 0, &is_revoked) && !is_revoked;
}

void ww_broker_client_note_revoked(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES])
{
	struct ww_hold *hold;

	pthread_mutex_lock(&broker->lock);
	hold = ww_holds_find(&broker->holds, id);
	if (hold)
		hold->is_revoked = true;
	pthread_mutex_unlock(&broker->lock);
}

/*
 * If a release found no room, waits for room once, for a short time: a broker that is stopped must
 * not stop its clients.
 */
static void wait_to_release(struct ww_broker *broker)
{
	WW_AUTO_CONNECTION struct ww_connection *connection = NULL;

	if (!broker->connection || broker->is_ending || broker->is_stalled ||
		!ww_holds_first_due(&broker->holds))
		return;
	broker->is_stalled = true;
	connection = ww_connection_ref(broker->connection);
	pthread_mutex_unlock(&broker->lock);
	(void)ww_connection_wait(connection, POLLOUT, ww_clock_deadline_ns(RELEASE_WAIT_NS));
	pthread_mutex_lock(&broker->lock);
	ww_broker_client_send_due(broker);
}

void ww_broker_client_release(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES])
{
	struct ww_error record;
	struct ww_hold *hold;

	ww_error_save(&record);
	pthread_mutex_lock(&broker->lock);
	hold = ww_holds_find(&broker->holds, id);
	ww_assert(hold);
	ww_holds_drop(&broker->holds, hold);
	ww_broker_client_send_due(broker);
	wait_to_release(broker);
	pthread_mutex_unlock(&broker->lock);
	ww_broker_client_drop_kept(false);
	ww_error_restore(&record);
}

void ww_broker_client_remove_at_release(struct ww_broker *broker,
	const uint8_t id[WW_WIRE_ID_BYTES], const char *name)
{
	struct ww_hold *hold;

	pthread_mutex_lock(&broker->lock);
	hold = ww_holds_find(&broker->holds, id);
	if (ww_hold_is_live(hold) && !hold->removed_name)
		hold->removed_name = strdup(name);
	pthread_mutex_unlock(&broker->lock);
}
