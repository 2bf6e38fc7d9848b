/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_test.c - which opens are one object: by the same address, by the same socket file, and never
 * by what a broker says of itself
 */
#include "client/fake_broker.h"

#include <fcntl.h>

#include "client/broker_client.h"

UNIT_TEST(opened_twice)
{
	struct ww_broker *broker;
	struct ww_broker *again;
	struct stand_in self;

	stand_in_start(&self, stand_in_serve_nothing);
	broker = stand_in_open(&self, 0);
	again = stand_in_open(&self, 0);
	assert_ptr_equal(broker, again);
	assert_string_equal(ww_broker_address(broker), self.path);
	ww_broker_unref(again);
	ww_broker_unref(broker);
	stand_in_finish(&self);
	assert_null(ww_broker_unref(NULL));
}

/* What they say of themselves is the same, which is no reason to take one for the other. */
UNIT_TEST(told_by_both)
{
	struct ww_broker *brokers[2];
	struct stand_in selves[2];

	for (int i = 0; i < 2; i++) {
		stand_in_start(&selves[i], stand_in_serve_nothing);
		brokers[i] = stand_in_open(&selves[i], 0);
	}
	assert_ptr_not_equal(brokers[0], brokers[1]);
	assert_memory_not_equal(selves[0].process_id, selves[1].process_id, WW_WIRE_ID_BYTES);
	for (int i = 0; i < 2; i++) {
		ww_broker_unref(brokers[i]);
		stand_in_finish(&selves[i]);
	}
}

static void serve_two(struct stand_in *self)
{
	int first = stand_in_accept(self);
	int second = stand_in_accept(self);

	stand_in_finish_peer(second);
	stand_in_finish_peer(first);
}

/*
 * An address that only a token named may lead elsewhere the next time: it stands for itself alone.
 */
UNIT_TEST(named_by_a_token)
{
	const struct ww_broker_params params = WW_INIT(struct ww_broker_params);
	struct ww_broker *foreign;
	struct ww_broker *broker;
	struct ww_broker *again;
	struct ww_address address = {.is_own = false};
	struct stand_in self;
	struct stand_in alias;

	stand_in_start(&self, serve_two);
	alias = stand_in_alias(&self);
	strcpy(address.path, alias.path);
	assert_ok(ww_broker_client_open(&address, &params, true, &foreign));
	assert_ok(ww_broker_client_ensure(foreign, false));
	broker = stand_in_open(&self, 0);
	assert_ptr_not_equal(foreign, broker);
	ww_broker_unref(foreign);
	/*
	 * The other way round it is harmless: this process named the broker, and no other broker is
	 * asked.
	 */
	assert_ok(ww_broker_client_open(&address, &params, true, &again));
	assert_ptr_equal(again, broker);
	ww_broker_unref(again);
	ww_broker_unref(broker);
	unlink(alias.path);
	stand_in_finish(&self);
}

static void end_at_once(struct stand_in *self)
{
	close(stand_in_accept(self));
	sem_post(&self->reached);
	stand_in_finish_peer(stand_in_accept(self));
}

/* Opening says whether there is a broker now, not whether there was one. */
CLIENT_TEST(opened_after_its_end, end_at_once)
{
	struct ww_broker *again;

	stand_in_await(self);
	again = stand_in_open(self, 0);
	assert_ptr_equal(broker, again);
	ww_broker_unref(again);
}

/* --- at the same time --- */

#define OPENS   1000 /* of two names at once */
#define ENDS    150  /* of all others at once */
#define OTHERS  40
#define THREADS 2

/*
 * Files at which no process listens, for brokers that are opened and not asked anything. One of the
 * last two is a link to the other.
 */
struct place {
	char folder[64];
	char paths[OTHERS + THREADS][96];
	struct ww_broker *opened[OTHERS + THREADS];
	pthread_barrier_t meeting;
};

static void place_make(struct place *place)
{
	strcpy(place->folder, "/tmp/warpway-open-XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	for (int i = 0; i < OTHERS + THREADS; i++) {
		snprintf(place->paths[i], sizeof(place->paths[i]), "%s/%d", place->folder, i);
		if (i < OTHERS + 1)
			close(open(place->paths[i], O_CREAT | O_CLOEXEC, 0600));
		else
			assert_int_equal(link(place->paths[OTHERS], place->paths[i]), 0);
	}
	pthread_barrier_init(&place->meeting, NULL, THREADS);
}

static void place_remove(struct place *place)
{
	pthread_barrier_destroy(&place->meeting);
	for (int i = 0; i < OTHERS + THREADS; i++)
		unlink(place->paths[i]);
	rmdir(place->folder);
}

static void place_open(struct place *place, int i)
{
	const struct ww_broker_params params = WW_INIT(struct ww_broker_params);
	struct ww_address address = {.is_own = false};

	strcpy(address.path, place->paths[i]);
	ww_assert(ww_broker_client_open(&address, &params, false, &place->opened[i]) == WW_OK);
}

static void *open_link(void *context)
{
	struct place *place = context;

	for (int round = 0; round < OPENS; round++) {
		pthread_barrier_wait(&place->meeting);
		place_open(place, OTHERS + 1);
		pthread_barrier_wait(&place->meeting);
		ww_broker_unref(place->opened[OTHERS + 1]);
	}
	return NULL;
}

/* Two names of a file are one broker, also when neither was open before. */
UNIT_TEST(links_at_once)
{
	struct place place;
	pthread_t thread;
	int apart = 0;

	place_make(&place);
	assert_int_equal(pthread_create(&thread, NULL, open_link, &place), 0);
	for (int round = 0; round < OPENS; round++) {
		pthread_barrier_wait(&place.meeting);
		place_open(&place, OTHERS);
		pthread_barrier_wait(&place.meeting);
		apart += place.opened[OTHERS] != place.opened[OTHERS + 1];
		ww_broker_unref(place.opened[OTHERS]);
	}
	pthread_join(thread, NULL);
	place_remove(&place);
	assert_int_equal(apart, 0);
}

static void *close_others(void *context)
{
	struct place *place = context;

	for (int round = 0; round < ENDS; round++) {
		pthread_barrier_wait(&place->meeting);
		for (int i = 0; i < OTHERS; i++)
			ww_broker_unref(place->opened[i]);
		pthread_barrier_wait(&place->meeting);
	}
	return NULL;
}

/* A search for the broker of a file leaves out none while other brokers end. */
UNIT_TEST(link_while_others_end)
{
	struct place place;
	pthread_t thread;
	int apart = 0;

	place_make(&place);
	assert_int_equal(pthread_create(&thread, NULL, close_others, &place), 0);
	for (int round = 0; round < ENDS; round++) {
		for (int i = 0; i < OTHERS + 1; i++)
			place_open(&place, i);
		pthread_barrier_wait(&place.meeting);
		place_open(&place, OTHERS + 1);
		pthread_barrier_wait(&place.meeting);
		apart += place.opened[OTHERS] != place.opened[OTHERS + 1];
		for (int i = OTHERS; i < OTHERS + 2; i++)
			ww_broker_unref(place.opened[i]);
	}
	pthread_join(thread, NULL);
	place_remove(&place);
	assert_int_equal(apart, 0);
}

UNIT_MAIN("open")
