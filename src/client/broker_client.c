/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_client.c - which brokers are open, and the calls that send nothing, see broker_client.h
 *
 * To open a broker that is open already gives the same object. The list of open brokers holds no
 * references. Its lock is not held during stat(2), which may hang on some file systems.
 */
#include "client/broker_client.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/condition.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/process.h"
#include "base/random.h"
#include "client/request_exchange.h"

#define NS_PER_S           UINT64_C(1000000000)
#define DEFAULT_TIMEOUT_NS (5 * NS_PER_S)
#define KEPT_NS            NS_PER_S

static pthread_mutex_t open_lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t kept_lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
/* A reference, or NULL, under kept_lock; and until when, 0 for NULL, which is written under it. */
static struct ww_broker *kept WW_PER_PROCESS;
static _Atomic uint64_t kept_until_ns WW_PER_PROCESS;
/* Under open_lock, as is how many brokers were ever in it. */
static struct ww_list open_brokers WW_PER_PROCESS = WW_LIST_INIT(open_brokers);
static uint64_t opened_count WW_PER_PROCESS;

/* Return: NULL if there is no memory; the record is filled. */
static struct ww_broker *broker_new(const struct ww_address *address,
	const uint8_t process_id[WW_WIRE_ID_BYTES], bool is_foreign)
{
	struct ww_broker *broker = calloc(1, sizeof(*broker));

	if (!broker || ww_holds_init(&broker->holds) < 0) {
		free(broker);
		ww_fail(WW_ERR_NO_MEMORY, "cannot open a broker: out of memory");
		return NULL;
	}
	memcpy(broker->process_id, process_id, sizeof(broker->process_id));
	broker->is_foreign = is_foreign;
	ww_ref_init(&broker->ref);
	broker->address = *address;
	broker->timeout_ns = DEFAULT_TIMEOUT_NS;
	ww_list_init(&broker->open);
	ww_list_init(&broker->requests);
	pthread_mutex_init(&broker->lock, NULL);
	ww_condition_init(&broker->turn_ended);
	return broker;
}

/*
 * Under open_lock. A broker at the machine's path that the caller named is another one: it needs no
 * proof of its owner (address.h).
 * Return: with a reference; NULL: there is none.
 */
static struct ww_broker *find_open(const struct ww_address *address)
{
	ww_list_for_each (link, &open_brokers) {
		struct ww_broker *broker = ww_container(link, struct ww_broker, open);

		if (strcmp(broker->address.path, address->path) == 0 &&
			broker->address.is_machine == address->is_machine &&
			ww_ref_try_get(&broker->ref))
			return broker;
	}
	return NULL;
}

/*
 * Walks the list. A broker that is referenced stays in the list, so its successor can be found.
 * @before:  a reference, which is released; NULL: begin with the first broker
 * Return: the open broker after it, with a reference; NULL: there are no more.
 */
static struct ww_broker *next_open(struct ww_broker *before)
{
	struct ww_broker *found = NULL;
	struct ww_list *link;

	pthread_mutex_lock(&open_lock);
	link = before ? before->open.next : open_brokers.next;
	for (; link != &open_brokers && !found; link = link->next) {
		struct ww_broker *broker = ww_container(link, struct ww_broker, open);

		if (ww_ref_try_get(&broker->ref))
			found = broker;
	}
	pthread_mutex_unlock(&open_lock);
	ww_broker_unref(before);
	return found;
}

/* Whether the address of an open broker, unless only tokens named it, leads to this file. */
static bool is_at(struct ww_broker *broker, const struct stat *file)
{
	struct stat entry;
	bool is_foreign;

	pthread_mutex_lock(&broker->lock);
	is_foreign = broker->is_foreign;
	pthread_mutex_unlock(&broker->lock);
	return !is_foreign && stat(broker->address.path, &entry) == 0 &&
		entry.st_dev == file->st_dev && entry.st_ino == file->st_ino;
}

/* Return: with a reference; NULL: there is none. */
static struct ww_broker *find_same_file(const struct ww_address *address)
{
	struct ww_broker *broker = NULL;
	struct stat file;

	if (stat(address->path, &file) < 0)
		return NULL;
	do
		broker = next_open(broker);
	while (broker && !is_at(broker, &file));
	return broker;
}

/*
 * Finds the broker of this address, or makes it if the list is as it was: a broker that came into
 * the list meanwhile may listen at the same file.
 * @seen:        opened_count before the list was searched
 * @out_broker:  with a reference; NULL: search the list again
 * Return: WW_OK; WW_ERR_NO_MEMORY; WW_ERR_SYSTEM.
 */
static ww_status find_or_make(const struct ww_address *address, bool is_foreign, uint64_t seen,
	struct ww_broker **out_broker)
{
	uint8_t process_id[WW_WIRE_ID_BYTES];
	ww_status status = WW_OK;

	ww_try(ww_random_bytes(process_id, sizeof(process_id)));
	pthread_mutex_lock(&open_lock);
	*out_broker = find_open(address);
	if (!*out_broker && opened_count == seen) {
		*out_broker = broker_new(address, process_id, is_foreign);
		if (*out_broker) {
			ww_list_append(&open_brokers, &(*out_broker)->open);
			opened_count++;
		} else {
			status = WW_ERR_NO_MEMORY;
		}
	}
	pthread_mutex_unlock(&open_lock);
	return status;
}

ww_status ww_broker_client_open(const struct ww_address *address,
	const struct ww_broker_params *params, bool is_foreign, struct ww_broker **out_broker)
{
	struct ww_broker *broker = NULL;

	while (!broker) {
		uint64_t seen;

		/* One attempt. As find_or_make(). */
		pthread_mutex_lock(&open_lock);
		broker = find_open(address);
		seen = opened_count;
		pthread_mutex_unlock(&open_lock);
		if (!broker)
			broker = find_same_file(address);
		if (!broker)
			ww_try(find_or_make(address, is_foreign, seen, &broker));
	}
	/*
	 * The timeout of the latest caller that sets one applies. Once one caller has allowed to
	 * start a broker, it stays allowed.
	 */
	pthread_mutex_lock(&broker->lock);
	if (params->timeout_ns)
		broker->timeout_ns = params->timeout_ns;
	if (!(params->flags & WW_BROKER_NO_START))
		broker->may_start = true;
	if (!is_foreign)
		broker->is_foreign = false;
	pthread_mutex_unlock(&broker->lock);
	*out_broker = broker;
	return WW_OK;
}

void ww_broker_client_keep(struct ww_broker *broker)
{
	struct ww_broker *former;

	pthread_mutex_lock(&kept_lock);
	former = kept;
	kept = broker;
	kept_until_ns = ww_clock_deadline_ns(KEPT_NS);
	pthread_mutex_unlock(&kept_lock);
	ww_broker_unref(former);
}

void ww_broker_client_drop_kept(bool at_once)
{
	uint64_t until_ns = kept_until_ns;
	struct ww_broker *former = NULL;

	if (until_ns == 0 || (!at_once && ww_clock_now_ns() < until_ns))
		return;
	pthread_mutex_lock(&kept_lock);
	/* Another thread may have used it meanwhile. */
	if (at_once || ww_clock_now_ns() >= kept_until_ns) {
		former = ww_steal(kept);
		kept_until_ns = 0;
	}
	pthread_mutex_unlock(&kept_lock);
	ww_broker_unref(former);
}

void ww_broker_client_note_delivery(struct ww_broker *broker)
{
	pthread_mutex_lock(&broker->lock);
	broker->deliveries++;
	if (!broker->has_deliveries)
		ww_ref_get(&broker->ref);
	broker->has_deliveries = true;
	pthread_mutex_unlock(&broker->lock);
}

void ww_broker_client_keep_export(struct ww_broker *broker, const struct ww_wire_export *export)
{
	pthread_mutex_lock(&broker->lock);
	broker->unanswered = *export;
	pthread_mutex_unlock(&broker->lock);
}

bool ww_broker_client_take_export(struct ww_broker *broker, struct ww_wire_export *export)
{
	struct ww_wire_export *former = &broker->unanswered;
	bool is_equal;

	pthread_mutex_lock(&broker->lock);
	is_equal = former->access == export->access && former->uses == export->uses &&
		former->escrow_ns == export->escrow_ns &&
		memcmp(former->id, export->id, sizeof(former->id)) == 0;
	if (is_equal) {
		memcpy(export->secret, former->secret, sizeof(export->secret));
		former->access = 0;
	}
	pthread_mutex_unlock(&broker->lock);
	return is_equal;
}

uint64_t ww_broker_client_deliveries(struct ww_broker *broker)
{
	uint64_t deliveries;

	pthread_mutex_lock(&broker->lock);
	deliveries = broker->deliveries;
	pthread_mutex_unlock(&broker->lock);
	return deliveries;
}

void ww_broker_client_no_deliveries(struct ww_broker *broker, uint64_t seen)
{
	bool was_kept = false;

	pthread_mutex_lock(&broker->lock);
	if (broker->deliveries == seen) {
		was_kept = broker->has_deliveries;
		broker->has_deliveries = false;
	}
	pthread_mutex_unlock(&broker->lock);
	if (was_kept)
		ww_broker_unref(broker);
}

struct ww_broker *ww_broker_client_next_exporter(struct ww_broker *before)
{
	struct ww_broker *broker = before;
	bool is_exporter = false;

	while (!is_exporter && (broker = next_open(broker))) {
		pthread_mutex_lock(&broker->lock);
		is_exporter = broker->has_deliveries;
		pthread_mutex_unlock(&broker->lock);
	}
	return broker;
}

ww_broker *ww_broker_ref(ww_broker *broker)
{
	if (broker)
		ww_ref_get(&broker->ref);
	return broker;
}

ww_broker *ww_broker_unref(ww_broker *broker)
{
	if (!broker || !ww_ref_put(&broker->ref))
		return NULL;
	pthread_mutex_lock(&open_lock);
	ww_list_remove(&broker->open);
	pthread_mutex_unlock(&open_lock);
	ww_assert(ww_list_is_empty(&broker->requests));
	ww_connection_unref(broker->connection);
	ww_recovery_free(broker->recovery);
	ww_holds_fini(&broker->holds);
	pthread_cond_destroy(&broker->turn_ended);
	pthread_mutex_destroy(&broker->lock);
	free(broker);
	return NULL;
}

ww_status ww_broker_client_begin_turn(struct ww_broker *broker, uint64_t deadline_ns)
{
	ww_status status = WW_OK;

	pthread_mutex_lock(&broker->lock);
	while (broker->has_turn && status == WW_OK) {
		ww_condition_wait(&broker->turn_ended, &broker->lock, deadline_ns);
		status = ww_cancel_check(deadline_ns);
	}
	if (!broker->has_turn) {
		broker->has_turn = true;
		status = WW_OK;
	}
	pthread_mutex_unlock(&broker->lock);
	return status;
}

void ww_broker_client_end_turn(struct ww_broker *broker)
{
	pthread_mutex_lock(&broker->lock);
	broker->has_turn = false;
	pthread_cond_signal(&broker->turn_ended);
	pthread_mutex_unlock(&broker->lock);
}

void ww_broker_client_peer(struct ww_broker *broker, uint8_t out_id[WW_WIRE_ID_BYTES],
	uint32_t *out_uid)
{
	pthread_mutex_lock(&broker->lock);
	memcpy(out_id, broker->broker_id, WW_WIRE_ID_BYTES);
	ww_clear(out_uid, broker->connection ? broker->connection->uid : UINT32_MAX);
	pthread_mutex_unlock(&broker->lock);
}

uint32_t ww_broker_client_version(struct ww_broker *broker)
{
	uint32_t version;

	pthread_mutex_lock(&broker->lock);
	version = broker->connection ? broker->connection->welcome.version : 0;
	pthread_mutex_unlock(&broker->lock);
	return version;
}

uint64_t ww_broker_client_timeout_ns(struct ww_broker *broker)
{
	uint64_t timeout_ns;

	pthread_mutex_lock(&broker->lock);
	timeout_ns = broker->timeout_ns;
	pthread_mutex_unlock(&broker->lock);
	return timeout_ns;
}

bool ww_broker_client_may_start(struct ww_broker *broker)
{
	bool may_start;

	pthread_mutex_lock(&broker->lock);
	may_start = broker->may_start;
	pthread_mutex_unlock(&broker->lock);
	return may_start && broker->address.is_own && !ww_environment_is_on(WW_VARIABLE_NO_START);
}
