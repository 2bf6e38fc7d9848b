/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deferred_release_test.c - what is released, when, and in which order
 */
#include "device/deferred_release.h"

#include "base/unit_test.h"

#include <pthread.h>

struct object {
	struct ww_deferred deferred;
	bool is_done;
	int asked;
	int released;           /* 1: first; 0: not yet */
	struct object *follows; /* deferred by the release of this one */
};

static int release_count;
static bool are_busy;
static _Atomic int streams_asked;

static const struct ww_deferred_class idle_class;

static bool object_is_done(struct ww_deferred *deferred)
{
	struct object *object = ww_container(deferred, struct object, deferred);

	object->asked++;
	if (object->is_done)
		ww_fail(WW_ERR_SYSTEM, "said while it was asked");
	return object->is_done;
}

static void object_release(struct ww_deferred *deferred)
{
	struct object *object = ww_container(deferred, struct object, deferred);

	object->released = ++release_count;
	if (object->follows)
		ww_deferred_add(&object->follows->deferred, &idle_class);
}

static const struct ww_deferred_class own_class = {
	.is_done = object_is_done,
	.release = object_release,
};

static const struct ww_deferred_class idle_class = {
	.release = object_release,
	.may_block = true,
};

static const struct ww_deferred_class blocking_class = {
	.is_done = object_is_done,
	.release = object_release,
	.may_block = true,
};

static bool are_streams_busy(void)
{
	streams_asked++;
	return are_busy;
}

static int begin(void **state)
{
	(void)state;
	release_count = 0;
	are_busy = false;
	streams_asked = 0;
	ww_deferred_ask_streams(are_streams_busy);
	return 0;
}

UNIT_TEST_WITH(done_ones_go_in_order, begin, NULL)
{
	struct object objects[3] = {{.is_done = true}, {.is_done = false}, {.is_done = true}};

	for (int i = 0; i < 3; i++)
		ww_deferred_add(&objects[i].deferred, &own_class);
	ww_deferred_reclaim();
	assert_int_equal(objects[0].released, 1);
	assert_int_equal(objects[1].released, 0);
	assert_int_equal(objects[2].released, 2);
	/* Once more, since a release may have changed the answer. */
	assert_int_equal(objects[1].asked, 2);
	ww_deferred_reclaim_no_wait();
	assert_int_equal(objects[1].asked, 3);
	objects[1].is_done = true;
	ww_deferred_reclaim_no_wait();
	assert_int_equal(objects[1].released, 3);
	ww_deferred_reclaim();
	assert_int_equal(release_count, 3);
}

UNIT_TEST_WITH(those_that_may_block_need_idle_streams, begin, NULL)
{
	struct object objects[2] = {{.released = 0}};

	are_busy = true;
	ww_deferred_add(&objects[0].deferred, &idle_class);
	ww_deferred_add(&objects[1].deferred, &idle_class);
	ww_deferred_reclaim();
	assert_int_equal(release_count, 0);
	assert_int_equal(streams_asked, 1);
	are_busy = false;
	ww_deferred_reclaim_no_wait();
	assert_int_equal(release_count, 0);
	assert_int_equal(streams_asked, 1);
	ww_deferred_reclaim();
	assert_int_equal(objects[0].released, 1);
	assert_int_equal(objects[1].released, 2);
}

/* A pool whose last stream is done: it may have memory that the driver unregisters. */
UNIT_TEST_WITH(a_done_one_that_may_block_is_not_even_asked, begin, NULL)
{
	struct object object = {.is_done = true};

	ww_deferred_add(&object.deferred, &blocking_class);
	ww_deferred_reclaim_no_wait();
	assert_int_equal(object.asked, 0);
	assert_int_equal(object.released, 0);
	ww_deferred_reclaim();
	assert_int_equal(object.released, 1);
}

static void *reclaim_in_thread(void *context)
{
	ww_deferred_reclaim();
	return context;
}

/* Another thread reclaims while this object is asked, and so does not see it. */
static bool reclaim_elsewhere(struct ww_deferred *deferred)
{
	struct object *object = ww_container(deferred, struct object, deferred);
	bool is_done = object->is_done;
	pthread_t thread;

	if (object->asked++ == 0) {
		object->is_done = true;
		assert_int_equal(pthread_create(&thread, NULL, reclaim_in_thread, NULL), 0);
		pthread_join(thread, NULL);
	}
	return is_done;
}

static const struct ww_deferred_class crossed_class = {
	.is_done = reclaim_elsewhere,
	.release = object_release,
};

UNIT_TEST_WITH(what_another_thread_missed_is_asked_again, begin, NULL)
{
	struct object object = {.is_done = false};

	ww_deferred_add(&object.deferred, &crossed_class);
	ww_deferred_reclaim();
	assert_int_equal(object.asked, 2);
	assert_int_equal(object.released, 1);
}

UNIT_TEST_WITH(without_backends_it_is_idle, begin, NULL)
{
	struct object object = {.released = 0};

	ww_deferred_ask_streams(NULL);
	assert_false(ww_deferred_streams_busy());
	ww_deferred_add(&object.deferred, &idle_class);
	ww_deferred_reclaim();
	assert_int_equal(object.released, 1);
	ww_deferred_ask_streams(are_streams_busy);
	are_busy = true;
	assert_true(ww_deferred_streams_busy());
}

/* As a timeline's page has mappings. */
UNIT_TEST_WITH(what_a_release_defers_goes_too, begin, NULL)
{
	struct object mapping = {.released = 0};
	struct object timeline = {.is_done = true, .follows = &mapping};

	ww_deferred_add(&timeline.deferred, &own_class);
	ww_deferred_reclaim();
	assert_int_equal(timeline.released, 1);
	assert_int_equal(mapping.released, 2);
}

UNIT_TEST_WITH(error_record_is_left_alone, begin, NULL)
{
	struct object object = {.is_done = true};

	assert_fails(ww_fail(WW_ERR_INVALID, "before"), WW_ERR_INVALID);
	ww_deferred_add(&object.deferred, &own_class);
	ww_deferred_reclaim();
	assert_int_equal(object.released, 1);
	assert_string_equal(ww_error_last()->message, "before");
}

#define THREADS 4
#define EACH    300

static _Atomic int thread_releases;

static void count_release(struct ww_deferred *deferred)
{
	struct object *object = ww_container(deferred, struct object, deferred);

	object->released++;
	thread_releases++;
}

static const struct ww_deferred_class counted_class = {
	.is_done = object_is_done,
	.release = count_release,
};

static void *add_and_reclaim(void *context)
{
	struct object *objects = context;

	for (int i = 0; i < EACH; i++) {
		objects[i].is_done = i % 3 != 0 || i > EACH / 2;
		ww_deferred_add(&objects[i].deferred, &counted_class);
		if (i % 16 == 0)
			ww_deferred_reclaim();
	}
	return NULL;
}

UNIT_TEST_WITH(threads_release_each_object_once, begin, NULL)
{
	static struct object objects[THREADS][EACH];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_and_reclaim, objects[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++) {
		for (int j = 0; j < EACH; j++)
			objects[i][j].is_done = true;
	}
	ww_deferred_reclaim();
	assert_int_equal(thread_releases, THREADS * EACH);
	for (int i = 0; i < THREADS; i++) {
		for (int j = 0; j < EACH; j++)
			assert_int_equal(objects[i][j].released, 1);
	}
}

UNIT_MAIN("deferred_release")
