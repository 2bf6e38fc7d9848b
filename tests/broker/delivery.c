/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery.c - deliveries: how long they last, how often they open their object, who ends them
 */
#include "broker/suite.h"

#include <inttypes.h>

static struct ww_wire_hold delivery_of(struct raw *raw, uint64_t number)
{
	struct ww_wire_holds holds = {0};
	struct ww_wire_hold_listing listing;
	struct ww_wire_hold hold;

	MUST_OK(raw_call(raw, holds, &holds, hold_listing, &listing));
	while (ww_wire_hold_next(&listing.holds, &hold)) {
		if (hold.delivery == number)
			return hold;
	}
	FAIL("there is no delivery %" PRIu64, number);
}

static uint64_t left_of(struct raw *raw, uint64_t number)
{
	return delivery_of(raw, number).left_ns;
}

static uint32_t uses_of(struct raw *raw, uint64_t number)
{
	return delivery_of(raw, number).uses;
}

/* It lasts as long as its exporter, then for its time. */
CASE(delivery_time, 0)
{
	struct raw_delivery delivery = {.uses = 1, .after_ns = 60000 * MS};
	struct raw_delivery brief = {.uses = 1, .after_ns = 20 * MS};
	struct raw *maker = peer();
	struct raw *eyes = peer();
	struct ww_wire_put put = put_named(maker, "delivered");
	struct ww_wire_put other = put_named(maker, "briefly");

	MUST_OK(raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &delivery));
	MUST_OK(raw_deliver(maker, other.id, WW_WIRE_ACCESS_READ, &brief));
	MUST_OK(raw_release(maker, put.id));
	MUST_OK(raw_release(maker, other.id));
	MUST_EQUAL(UINT64_MAX, left_of(eyes, delivery.number));
	MUST_EQUAL(UINT64_MAX, left_of(eyes, brief.number));
	raw_close(maker);
	wait_for(eyes, &(struct want){1, 1, 1, 0, 0}); /* the time of the other one is over */
	MUST(left_of(eyes, delivery.number) <= 60000 * MS);
	MUST_OK(raw_import(eyes, put.id, delivery.secret, WW_WIRE_ACCESS_READ,
		&(struct ww_wire_granted){0}));
	wait_for(eyes, &(struct want){1, 1, 1, 0, 0});
	MUST_OK(raw_release(eyes, put.id));
	wait_for(eyes, &(struct want){0, 1, 0, 0, 0});
}

/* Every import counts, whoever makes it, and none but those opens the object. */
CASE(delivery_uses, 0)
{
	struct raw_delivery delivery = {.uses = 2, .after_ns = 60000 * MS};
	struct raw_delivery again;
	struct raw *maker = peer();
	struct raw *other = peer();
	struct ww_wire_put put = put_named(maker, "delivered");
	struct ww_wire_granted granted;
	uint8_t secret[16];

	MUST_OK(raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &delivery));
	again = delivery;
	MUST_OK(raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &again));
	MUST_EQUAL(delivery.number, again.number); /* the request was sent again */
	MUST_REFUSE(WW_ERR_ACCESS, "for reading only",
		raw_import(other, put.id, delivery.secret, WW_WIRE_ACCESS_WRITE, &granted));
	MUST_OK(raw_import(other, put.id, delivery.secret, WW_WIRE_ACCESS_READ, &granted));
	memcpy(secret, granted.secret, sizeof(secret));
	wait_for(maker, &(struct want){1, 2, 3, 0, 0});
	MUST_OK(raw_import(other, put.id, delivery.secret, WW_WIRE_ACCESS_READ, &granted));
	wait_for(maker, &(struct want){1, 2, 2, 0, 0});
	MUST_REFUSE(WW_ERR_ACCESS, "as often",
		raw_import(other, put.id, delivery.secret, WW_WIRE_ACCESS_READ, &granted));
	/* The object's own secret, which the answer told, is as good as ever. */
	MUST_OK(raw_import(other, put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_REFUSE(WW_ERR_INVALID, "number of uses",
		raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ,
			&(struct raw_delivery){.uses = 0, .after_ns = 1}));
	MUST_REFUSE(WW_ERR_INVALID, "escrow_max_s",
		raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ,
			&(struct raw_delivery){.uses = 1, .after_ns = 61000 * MS}));
	/* An import by the object's secret uses no delivery. */
	again = (struct raw_delivery){.uses = 1, .after_ns = 60000 * MS};
	MUST_OK(raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &again));
	MUST_OK(raw_import(peer(), put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_import(peer(), put.id, again.secret, WW_WIRE_ACCESS_READ, &granted));
	/* Another process cannot take a secret that is in use. */
	again = (struct raw_delivery){.uses = 1, .after_ns = 60000 * MS};
	MUST_OK(raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &again));
	MUST_REFUSE(WW_ERR_INVALID, "another delivery's",
		raw_deliver(other, put.id, WW_WIRE_ACCESS_READ, &again));
	MUST_OK(raw_end(maker, "delivered"));
}

/* Asks as raw_import() does, as a client that lost its connection before the answer came. */
static ww_status import_again(struct raw *raw, const uint8_t id[16], const uint8_t secret[16])
{
	struct ww_wire_import message = {.access = WW_WIRE_ACCESS_READ};
	struct ww_wire_header header = *raw_next(raw, 0);
	struct ww_wire_granted granted;

	header.flags = WW_WIRE_HEADER_FLAG_AGAIN;
	memcpy(message.id, id, sizeof(message.id));
	memcpy(message.secret, secret, sizeof(message.secret));
	MUST_OK(raw_answered(raw,
		raw_posted(raw,
			ww_wire_encode_import(&message, raw_version(raw), &header, raw->out,
				sizeof(raw->out)))));
	return raw_take(raw, granted, &granted);
}

/* An import that is asked for again counts once, unless it was not counted yet. */
CASE(delivery_counts_once, 0)
{
	struct raw_delivery delivery = {.uses = 3, .after_ns = 60000 * MS};
	struct raw *maker = peer();
	struct raw *first = peer();
	struct raw *second = peer();
	struct ww_wire_put put = put_named(maker, "delivered");
	struct ww_wire_granted granted;

	MUST_OK(raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &delivery));
	MUST_OK(raw_import(first, put.id, delivery.secret, WW_WIRE_ACCESS_READ, &granted));
	for (int i = 0; i < 3; i++)
		MUST_OK(import_again(first, put.id, delivery.secret));
	MUST_EQUAL(2, uses_of(maker, delivery.number));
	MUST_OK(import_again(second, put.id, delivery.secret));
	MUST_EQUAL(1, uses_of(maker, delivery.number));
	/* It holds the object already, so nothing says that this was counted. */
	MUST_OK(import_again(maker, put.id, delivery.secret));
	MUST_OK(import_again(maker, put.id, delivery.secret));
	MUST_REFUSE(WW_ERR_ACCESS, "as often",
		raw_import(second, put.id, delivery.secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_end(maker, "delivered"));
}

CASE(delivery_limit, 0)
{
	struct raw_delivery first = {.uses = 1, .after_ns = 60000 * MS, .count = 2};
	struct raw_delivery second = first;
	struct raw_delivery third = first;
	struct raw *maker = peer();
	struct raw *other = peer();
	uint8_t secret[16];
	struct ww_wire_put put = raw_object("heavy");

	put.state = WW_WIRE_STATE_SHARED;
	put.bytes = 1000;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	MUST_OK(raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &first));
	MUST_OK(raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &second));
	MUST_REFUSE(WW_ERR_LIMIT, "for 1000 bytes, since 0 s; revoke",
		raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &third));
	third.count = 0;
	third.bytes = 2999;
	MUST_REFUSE(WW_ERR_LIMIT, "2000 bytes, of this process are in flight",
		raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &third));
	third.bytes = 3000;
	MUST_OK(raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &third));
	/* The sums are those of one process. */
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_READ, 0, 0, secret));
	MUST_OK(raw_import(other, put.id, secret, WW_WIRE_ACCESS_READ,
		&(struct ww_wire_granted){0}));
	MUST_OK(raw_deliver(other, put.id, WW_WIRE_ACCESS_READ,
		&(struct raw_delivery){.uses = 1, .after_ns = MS, .count = 1, .bytes = 1000}));
	MUST_OK(raw_end(maker, "heavy"));
}

CASE(delivery_recall, 0)
{
	struct raw_delivery sent[3] = {{.uses = 1, .after_ns = 60000 * MS},
		{.uses = 1, .after_ns = 60000 * MS}, {.uses = 3, .after_ns = 60000 * MS}};
	struct raw *maker = peer();
	struct raw *other = peer();
	struct ww_wire_put put = put_named(maker, "recalled");
	struct ww_wire_recall which = {.older_ns = 0};
	struct ww_wire_recalled done;
	struct ww_wire_granted granted;

	for (size_t i = 0; i < 3; i++)
		MUST_OK(raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ, &sent[i]));
	MUST_OK(raw_recall(other, &which, &done)); /* it has none */
	MUST_EQUAL(0, done.count);
	which.number = sent[0].number;
	MUST_OK(raw_recall(other, &which, &done)); /* nor is another's for it */
	MUST_EQUAL(0, done.count);
	MUST_OK(raw_recall(maker, &which, &done));
	MUST_EQUAL(1, done.count);
	which.number = 0;
	memcpy(which.secret, sent[1].secret, sizeof(which.secret));
	MUST_OK(raw_recall(other, &which, &done));
	MUST_EQUAL(0, done.count);
	MUST_OK(raw_recall(maker, &which, &done));
	MUST_EQUAL(1, done.count);
	MUST_REFUSE(WW_ERR_ACCESS, "revoked",
		raw_import(other, put.id, sent[1].secret, WW_WIRE_ACCESS_READ, &granted));
	which = (struct ww_wire_recall){.older_ns = 3600000 * MS};
	MUST_OK(raw_recall(maker, &which, &done));
	MUST_EQUAL(0, done.count);
	MUST_OK(raw_import(other, put.id, sent[2].secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_release(maker, put.id));
	MUST_OK(raw_release(other, put.id));
	wait_for(other, &(struct want){1, 2, 1, 0, 0});
	which.older_ns = 0;
	MUST_OK(raw_recall(maker, &which, &done));
	MUST_EQUAL(2, done.count); /* one of three imports was made */
	MUST_EQUAL(0, done.more);
	wait_for(other, &(struct want){0, 2, 0, 0, 0});
}

/* More than one turn of the broker ends at once. */
CASE(delivery_recall_many, 0)
{
	struct raw *maker = peer();
	struct ww_wire_put put = put_named(maker, "recalled");
	const struct ww_wire_recall all = {.older_ns = 0};
	struct ww_wire_recalled done = {.more = 1};
	uint32_t count = 0;

	for (int i = 0; i < 1500; i++)
		MUST_OK(raw_deliver(maker, put.id, WW_WIRE_ACCESS_READ,
			&(struct raw_delivery){.uses = 1, .after_ns = 1000 * MS}));
	for (int turn = 0; done.more; turn++) {
		MUST(turn < 2);
		MUST_OK(raw_recall(maker, &all, &done));
		count += done.count;
	}
	MUST_EQUAL(1500, count);
	wait_for(maker, &(struct want){1, 1, 1, 0, 0});
}
