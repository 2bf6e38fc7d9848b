/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_counts_test.c - objects that are kept while deliveries are in flight, as their files say
 */
#include "daemon/registry/delivery_counts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/registry/last_will_fixture.h"
#include "wire/name.h"

#define OUTER       100u
#define NEEDED      200u /* inner objects without files */
#define OTHER       300u
#define INNER       400u /* and with */
#define ITEMS       300u
#define INNER_BYTES ((uint64_t)16) /* of an item */
#define LONG        60000u         /* ms */

/* The file of the outer object, and those of two inner ones. */
struct files {
	int outer;
	int inner[2];
};

static struct files files;

struct inner_header {
	uint8_t magic[8];
	uint32_t version;
	uint32_t header_bytes;
	uint32_t item_bytes;
	uint32_t item_count;
	uint8_t rest[40];
};

static int make_file(const void *header, size_t header_bytes, size_t bytes)
{
	int fd = memfd_create("counts", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_int_equal(pwrite(fd, header, header_bytes, 0), header_bytes);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	return fd;
}

static int make_outer_file(void)
{
	const struct ww_layout_delivery_counts header = {
		.version = 1,
		.header_bytes = sizeof(header),
		.item_bytes = sizeof(struct ww_layout_delivery_count),
		.item_count = ITEMS,
		.used = ITEMS,
		.keep_ms = LONG,
	};

	return make_file(&header, sizeof(header),
		sizeof(header) + ITEMS * sizeof(struct ww_layout_delivery_count));
}

static int make_inner_file(void)
{
	const struct inner_header header = {
		.version = 1,
		.header_bytes = sizeof(header),
		.item_bytes = INNER_BYTES,
		.item_count = ITEMS,
	};

	return make_file(&header, sizeof(header), sizeof(header) + ITEMS * INNER_BYTES);
}

static uint64_t count(uint64_t generation, uint64_t imports)
{
	return generation << 20 | imports;
}

static void expect(uint32_t index, uint64_t expected, uint32_t needs, uint32_t keep_ms)
{
	const struct ww_layout_delivery_count item = {
		.needs = needs,
		.keep_ms = keep_ms,
		.expected = expected,
	};

	assert_int_equal(pwrite(files.outer, &item, sizeof(item),
				 (off_t)(sizeof(struct ww_layout_delivery_counts) +
					 index * sizeof(item))),
		sizeof(item));
}

static void take(int inner, uint32_t index, uint64_t taken)
{
	assert_int_equal(pwrite(files.inner[inner], &taken, sizeof(taken),
				 (off_t)(sizeof(struct inner_header) + index * INNER_BYTES + 8)),
		sizeof(taken));
}

static int counts_start(void **state)
{
	files.outer = make_outer_file();
	for (int i = 0; i < 2; i++)
		files.inner[i] = make_inner_file();
	return page_start(state);
}

static int counts_stop(void **state)
{
	close(files.outer);
	for (int i = 0; i < 2; i++)
		close(files.inner[i]);
	return page_stop(state);
}

#define COUNTS_TEST(name) FIXTURE_TEST(name, counts_start, counts_stop, must_become_empty)

static struct ww_wire_put describe_outer(void)
{
	struct ww_wire_put message = describe(OUTER, "", WW_WIRE_LIFE_HELD);

	message.kind = WW_WIRE_KIND_POOL;
	memcpy(message.fd_access, (uint8_t[8]){3, LAST_WILL_ACCESS, DELIVERY_COUNTS}, 8);
	return message;
}

static struct object *put_outer(struct fixture *fixture, struct holder *creator)
{
	const struct ww_wire_put message = describe_outer();
	const int fds[3] = {ours.reader, ours.writer, files.outer};
	struct object *object;

	assert_ok(delivery_counts_check(&message, fds, 3));
	assert_ok(object_put(&fixture->registry, creator, &message, fds, 3, 0, 0, &object));
	drain(fixture);
	return object;
}

static struct ww_wire_put describe_inside(uint32_t number)
{
	const struct ww_wire_put outer = describe_outer();
	struct ww_wire_put message = describe(number, "", WW_WIRE_LIFE_HELD);

	ww_name_begin_inside(outer.id, message.name);
	snprintf(message.name + WW_NAME_INSIDE_CHARS, 16, "%u", number);
	return message;
}

static struct object *put_inner(struct fixture *fixture, struct holder *creator, uint32_t number,
	int file)
{
	struct ww_wire_put message = describe_inside(number);
	const int fds[3] = {ours.reader, ours.writer, file};
	struct object *object;

	message.state = WW_WIRE_STATE_SEALED;
	memcpy(message.fd_access, (uint8_t[8]){1, LAST_WILL_ACCESS, 1 | DELIVERY_COUNTS}, 8);
	assert_ok(delivery_counts_check(&message, fds, 3));
	assert_ok(object_put(&fixture->registry, creator, &message, fds, 3, 0, 0, &object));
	drain(fixture);
	return object;
}

static struct object *put_chunk(struct fixture *fixture, struct holder *creator, uint32_t number)
{
	const struct ww_wire_put message = describe_inside(number);
	struct object *object;

	assert_ok(try_put(fixture, creator, &message, 1, &object));
	return object;
}

static uint64_t in_flight(struct fixture *fixture)
{
	struct unreceived unreceived;

	fixture->registry.counted_bytes = 0;
	delivery_counts_sum(&fixture->registry, find(fixture, OUTER), &unreceived);
	return unreceived.count;
}

/* Until the object has ended; the runner ends the test if that never comes. */
static void run_until_gone(struct fixture *fixture, uint32_t number)
{
	while (find(fixture, number)) {
		uv_run(&fixture->loop, UV_RUN_ONCE);
		drain(fixture);
	}
}

/* The outer object and its two chunks; one is needed by a delivery. */
static struct holder *begin_of(struct fixture *fixture, int pidfd, uint32_t keep_ms)
{
	struct holder *creator = add_process(fixture, 1, pidfd);

	put_outer(fixture, creator);
	put_chunk(fixture, creator, NEEDED);
	put_chunk(fixture, creator, OTHER);
	expect(ITEMS - 1, count(3, 2), NEEDED, keep_ms);
	return creator;
}

/* The kernel will not say that the process has ended. */
static struct holder *begin(struct fixture *fixture, uint32_t keep_ms)
{
	return begin_of(fixture, -1, keep_ms);
}

COUNTS_TEST(nothing_in_flight)
{
	struct holder *creator = begin(fixture, LONG);

	expect(ITEMS - 1, count(3, 0), NEEDED, LONG);
	holder_end(registry, creator);
	assert_null(find(fixture, OUTER));
	assert_null(find(fixture, NEEDED));
}

COUNTS_TEST(kept_for_its_time)
{
	struct holder *creator = begin(fixture, 1);

	holder_end(registry, creator);
	assert_non_null(find(fixture, OUTER));
	assert_non_null(find(fixture, NEEDED));
	assert_null(find(fixture, OTHER));
	must_be_lost();
	assert_int_equal(object_escrows(find(fixture, OUTER)), 1);
	run_until_gone(fixture, OUTER);
	assert_null(find(fixture, NEEDED));
}

/* Its creator lives on, and has released the outer object before the others. */
COUNTS_TEST(kept_when_released)
{
	struct holder *creator = begin(fixture, LONG);

	hold_drop(registry, hold_find(registry, creator, find(fixture, OUTER)));
	hold_drop(registry, hold_find(registry, creator, find(fixture, NEEDED)));
	hold_drop(registry, hold_find(registry, creator, find(fixture, OTHER)));
	must_live();
	assert_non_null(find(fixture, OUTER));
	assert_non_null(find(fixture, NEEDED));
	assert_null(find(fixture, OTHER));
	holder_end(registry, creator);
	assert_non_null(find(fixture, NEEDED));
	object_end(registry, find(fixture, OUTER), WW_WIRE_WHAT_EXPIRED);
	assert_null(find(fixture, NEEDED));
	must_be_empty(fixture);
}

/* Names of its parts are not kept; nor if a former broker was killed before it took them. */
COUNTS_TEST(kept_without_names)
{
	struct holder *creator = begin(fixture, LONG);
	struct ww_wire_put part = describe(OUTER, "part", WW_WIRE_LIFE_OWNER);

	part.part = 7;
	assert_ok(object_add_name(registry, find(fixture, OUTER), 7, &part, 7));
	assert_ptr_equal(find_name(registry, "part"), find(fixture, OUTER));
	holder_end(registry, creator);
	assert_non_null(find(fixture, OUTER));
	assert_null(find_name(registry, "part"));
	assert_int_equal(registry->name_table.used, 0);
	object_record(registry, find(fixture, OUTER))->life = WW_WIRE_LIFE_HELD;
	assert_ok(object_add_name(registry, find(fixture, OUTER), 7, &part, 7));
	object_record(registry, find(fixture, OUTER))->life = WW_WIRE_LIFE_KEPT;
	restart(fixture);
	assert_non_null(find(fixture, OUTER));
	assert_null(find_name(registry, "part"));
	object_end(registry, find(fixture, OUTER), WW_WIRE_WHAT_EXPIRED);
}

/* Who holds a chunk when the time is over keeps it. */
COUNTS_TEST(held_for_longer)
{
	struct holder *other = add_holder(fixture, 2, 8);
	struct holder *creator = begin(fixture, 1);

	holder_end(registry, creator);
	assert_ok(hold_take(registry, other, find(fixture, NEEDED), 1));
	run_until_gone(fixture, OUTER);
	assert_non_null(find(fixture, NEEDED));
	holder_end(registry, other);
}

/* Imports of another generation are others; those of one that has ended count on. */
COUNTS_TEST(imports_count)
{
	struct holder *first = add_process(fixture, 2, -1);
	struct holder *second = add_process(fixture, 3, -1);
	struct holder *creator = begin(fixture, LONG);

	put_inner(fixture, first, INNER, files.inner[0]);
	put_inner(fixture, second, INNER + 1, files.inner[1]);
	take(0, ITEMS - 1, count(2, 5));
	take(1, ITEMS - 2, count(3, 5));
	assert_int_equal(in_flight(fixture), 2);
	take(0, ITEMS - 1, count(3, 1));
	assert_int_equal(in_flight(fixture), 1);
	object_end(registry, find(fixture, INNER), WW_WIRE_WHAT_GONE);
	assert_int_equal(in_flight(fixture), 1);
	holder_end(registry, creator);
	assert_non_null(find(fixture, OUTER));
	take(1, ITEMS - 1, count(3, 1));
	object_end(registry, find(fixture, INNER + 1), WW_WIRE_WHAT_GONE);
	run_until_gone(fixture, OUTER);
	holder_end(registry, first);
	holder_end(registry, second);
}

/* Two objects show one file. */
COUNTS_TEST(a_file_counts_once)
{
	struct holder *first = add_process(fixture, 2, -1);
	struct holder *creator = begin(fixture, LONG);

	put_inner(fixture, first, INNER, files.inner[0]);
	put_inner(fixture, first, INNER + 1, files.inner[0]);
	take(0, ITEMS - 1, count(3, 1));
	assert_int_equal(in_flight(fixture), 1);
	object_end(registry, find(fixture, INNER), WW_WIRE_WHAT_GONE);
	assert_int_equal(in_flight(fixture), 1);
	object_end(registry, find(fixture, INNER + 1), WW_WIRE_WHAT_GONE);
	assert_int_equal(in_flight(fixture), 1);
	holder_end(registry, first);
	holder_end(registry, creator);
	object_end(registry, find(fixture, OUTER), WW_WIRE_WHAT_EXPIRED);
}

/* A new broker keeps what the former one kept, for no longer. */
static void keep_over_restart(struct fixture *fixture, struct holder *creator)
{
	struct holder *inner = add_process(fixture, 2, -1);
	uint64_t expires_ns;

	put_inner(fixture, inner, INNER, files.inner[0]);
	take(0, ITEMS - 1, count(3, 1));
	holder_end(&fixture->registry, creator);
	expires_ns = object_record(&fixture->registry, find(fixture, OUTER))->expires_ns;
	restart(fixture);
	assert_non_null(find(fixture, OUTER));
	assert_non_null(find(fixture, NEEDED));
	assert_int_equal(object_record(&fixture->registry, find(fixture, OUTER))->expires_ns,
		expires_ns);
	assert_int_equal(in_flight(fixture), 1);
	take(0, ITEMS - 1, count(3, 2));
	holder_end(&fixture->registry, find_holder(fixture, 2));
	run_until_gone(fixture, OUTER);
	must_become_empty(fixture);
}

COUNTS_TEST(kept_over_a_restart)
{
	struct process process;
	struct holder *creator;

	start_process(&process);
	creator = begin_of(fixture, process.pidfd, LONG);
	kill_process(&process);
	keep_over_restart(fixture, creator);
}

/* The process may still run: its last will is there yet. */
COUNTS_TEST(kept_over_a_restart_in_exit_wait)
{
	keep_over_restart(fixture, begin(fixture, LONG));
}

static void write_at(int fd, uint64_t offset, const void *bytes, size_t size)
{
	assert_int_equal(pwrite(fd, bytes, size, (off_t)offset), size);
}

/* Whatever a creator writes: its object is kept, for no longer than an escrow may be. */
COUNTS_TEST(hostile_counts)
{
	static const struct {
		uint32_t at;
		uint32_t value;
	} words[] = {
		{offsetof(struct ww_layout_delivery_counts, used), UINT32_MAX},
		{offsetof(struct ww_layout_delivery_counts, item_count), UINT32_MAX},
		{offsetof(struct ww_layout_delivery_counts, item_bytes), 0},
		{offsetof(struct ww_layout_delivery_counts, item_bytes), UINT32_MAX},
		{offsetof(struct ww_layout_delivery_counts, header_bytes), UINT32_MAX},
		{offsetof(struct ww_layout_delivery_counts, keep_ms), UINT32_MAX},
		{sizeof(struct ww_layout_delivery_counts) +
				offsetof(struct ww_layout_delivery_count, expected),
			UINT32_MAX},
		{sizeof(struct ww_layout_delivery_counts) +
				offsetof(struct ww_layout_delivery_count, gone),
			UINT32_MAX},
	};
	uint64_t most_ns = config_escrow_max_ns(fixture->config);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct holder *creator = begin(fixture, UINT32_MAX);
		struct object *outer;

		write_at(files.outer, words[i].at, &words[i].value, sizeof(words[i].value));
		holder_end(registry, creator);
		outer = find(fixture, OUTER);
		if (outer) {
			assert_true(object_record(registry, outer)->expires_ns <=
				ww_clock_now_ns() + most_ns);
			object_end(registry, outer, WW_WIRE_WHAT_EXPIRED);
		}
		must_become_empty(fixture);
		renew_page();
		close(files.outer);
		files.outer = make_outer_file();
		drain(fixture);
	}
}

/* And whatever those who import write: what they did not import themselves is not counted away. */
COUNTS_TEST(hostile_imports)
{
	static const uint64_t forged[] = {UINT64_MAX, 0, UINT64_C(0xfffff), UINT64_MAX << 20};
	struct holder *inner = add_process(fixture, 2, -1);
	struct holder *creator = begin(fixture, LONG);
	uint32_t bytes[] = {0, UINT32_MAX, 4096, 16};

	put_inner(fixture, inner, INNER, files.inner[0]);
	for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
		take(0, ITEMS - 1, forged[i]);
		assert_int_equal(in_flight(fixture), 2);
	}
	take(0, ITEMS - 1, count(3, 0xfffff));
	assert_int_equal(in_flight(fixture), 0);
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		write_at(files.inner[0], offsetof(struct inner_header, item_bytes), &bytes[i],
			sizeof(bytes[i]));
		assert_int_equal(in_flight(fixture), bytes[i] == 16 ? 0 : 2);
	}
	holder_end(registry, inner);
	holder_end(registry, creator);
}

/* More than is read in one turn: what is not known is in flight. */
COUNTS_TEST(too_much_for_one_turn)
{
	struct unreceived unreceived;
	struct holder *creator = begin(fixture, 7);

	registry->counted_bytes = UINT64_C(1) << 30;
	delivery_counts_sum(registry, find(fixture, OUTER), &unreceived);
	assert_int_equal(unreceived.count, 1);
	assert_true(unreceived.needs_all);
	assert_int_equal(unreceived.keep_ns, LONG * UINT64_C(1000000));
	registry->counted_bytes = 0;
	delivery_counts_sum(registry, find(fixture, OUTER), &unreceived);
	assert_int_equal(unreceived.count, 2);
	assert_false(unreceived.needs_all);
	assert_int_equal(unreceived.keep_ns, 7000000);
	expect(ITEMS - 1, 0, 0, 0);
	holder_end(registry, creator);
}

COUNTS_TEST(puts_that_are_refused)
{
	struct ww_wire_put message = describe_outer();
	int fds[4] = {ours.reader, ours.writer, files.outer, files.outer};

	message.life = WW_WIRE_LIFE_KEPT;
	assert_int_equal(delivery_counts_check(&message, fds, 3), WW_ERR_INVALID);
	message = describe_outer();
	message.fd_access[1] = 3;
	assert_int_equal(delivery_counts_check(&message, fds, 3), WW_ERR_INVALID);
	message = describe_outer();
	message.fd_access[3] = 1 | DELIVERY_COUNTS;
	assert_int_equal(delivery_counts_check(&message, fds, 4), WW_ERR_INVALID);
	message = describe_outer();
	fds[2] = files.inner[0]; /* its items are smaller */
	assert_int_equal(delivery_counts_check(&message, fds, 3), WW_ERR_DESCRIPTOR);
	fds[2] = ours.writer;
	assert_int_equal(delivery_counts_check(&message, fds, 3), WW_ERR_DESCRIPTOR);
	fds[2] = files.outer;
	assert_ok(delivery_counts_check(&message, fds, 3));
}

UNIT_MAIN("delivery_counts")
