/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_loss.c - what the members of an object learn when its name is removed or given to another
 * object: by their pages, and by asking
 */
#include "broker/suite.h"

#include <stdio.h>
#include <unistd.h>

#include "support/page.h"

static const uint8_t any_id[16];

static ww_status ask(struct raw *raw, const uint8_t id[16], struct ww_wire_lost *out_lost)
{
	struct ww_wire_loss message;

	memcpy(message.id, id, sizeof(message.id));
	return raw_call(raw, loss, &message, lost, out_lost);
}

static void must_be_lost_by_us(struct raw *raw, const uint8_t id[16], uint8_t what)
{
	struct ww_wire_lost lost;

	MUST_OK(ask(raw, id, &lost));
	MUST_EQUAL(what, lost.what);
	MUST_EQUAL(getpid(), lost.pid);
	MUST_EQUAL(geteuid(), lost.uid);
	MUST(!strcmp(raw_greeting(raw).program, lost.program));
}

/* A channel with this page, which @other holds. */
static struct ww_wire_put put_channel(struct raw *raw, struct raw *other, const struct page *page)
{
	struct ww_wire_put put = page_object("c");
	struct ww_wire_granted granted;

	put.kind = WW_WIRE_KIND_CHANNEL;
	MUST_OK(page_put(raw, &put, page));
	MUST_OK(raw_get(other, "c", WW_WIRE_ACCESS_READ, &granted));
	return put;
}

static struct ww_wire_put replace(struct raw *raw, const char *name)
{
	struct ww_wire_put put = raw_object(name);

	put.kind = WW_WIRE_KIND_BARRIER;
	put.flags = WW_WIRE_PUT_FLAG_REPLACE;
	MUST_OK(raw_put(raw, &put, NULL, 0));
	return put;
}

CASE(name_loss_by_replacement, 0)
{
	struct raw *maker = peer();
	struct raw *other = peer();
	struct ww_wire_put put;
	struct ww_wire_lost lost;
	struct page page;

	page_make(&page);
	put = put_channel(maker, other, &page);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "known", ask(other, put.id, &lost));
	replace(peer(), "c");
	MUST_EQUAL(WW_WIRE_WHAT_REPLACED, page.page->name_lost);
	MUST_EQUAL(0, page.page->lost);
	must_be_lost_by_us(other, put.id, WW_WIRE_WHAT_REPLACED);
	must_be_lost_by_us(peer(), put.id, WW_WIRE_WHAT_REPLACED);
	/* As long as a process holds it. */
	MUST_OK(raw_release(other, put.id));
	MUST_OK(raw_release(maker, put.id));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "known", ask(other, put.id, &lost));
	page_close(&page);
}

CASE(name_loss_by_removal, 0)
{
	struct raw *maker = peer();
	struct ww_wire_put put;
	struct page page;

	page_make(&page);
	put = put_channel(maker, maker, &page);
	MUST_OK(raw_remove(peer(), "c", any_id));
	MUST_EQUAL(WW_WIRE_WHAT_REMOVED, page.page->name_lost);
	must_be_lost_by_us(maker, put.id, WW_WIRE_WHAT_REMOVED);
	MUST_OK(raw_release(maker, put.id));
	page_close(&page);
}

/* When the new object is ready, not before. */
CASE(name_loss_when_published, 0)
{
	struct raw *maker = peer();
	struct ww_wire_put next = raw_object("c");
	struct ww_wire_put put;
	struct page page;

	page_make(&page);
	put = put_channel(maker, maker, &page);
	next.flags = WW_WIRE_PUT_FLAG_REPLACE;
	next.state = WW_WIRE_STATE_WRITING;
	MUST_OK(raw_put(maker, &next, NULL, 0));
	MUST_EQUAL(0, page.page->name_lost);
	MUST_OK(raw_seal(maker, next.id, WW_WIRE_STATE_SEALED));
	MUST_EQUAL(WW_WIRE_WHAT_REPLACED, page.page->name_lost);
	MUST_OK(raw_release(maker, put.id));
	page_close(&page);
}

/* The broker is killed afterwards: the next one knows it, too. */
CASE(name_loss_outlives_the_broker, ONCE)
{
	struct raw *maker;
	struct ww_wire_put put;
	struct page page;

	suite_start(NULL, 0);
	maker = peer();
	page_make(&page);
	put = put_channel(maker, maker, &page);
	replace(maker, "c");
	suite_kill_broker(maker);
	suite_come_back(maker, true);
	must_be_lost_by_us(maker, put.id, WW_WIRE_WHAT_REPLACED);
	raw_close(maker);
	page_close(&page);
}

/* --- a barrier, which has no page --- */

#define MEMBERS 2

/* A member holds the barrier, and has put a page inside of it. */
static struct raw *join(const uint8_t id[16], int rank, const struct page *page)
{
	struct raw *raw = peer();
	struct ww_wire_put put = page_object("");
	struct ww_wire_granted granted;
	size_t at = 1;

	MUST_OK(raw_get(raw, "b", WW_WIRE_ACCESS_READ, &granted));
	put.name[0] = '@';
	for (size_t i = 0; i < WW_WIRE_ID_BYTES; i++)
		at += (size_t)snprintf(put.name + at, sizeof(put.name) - at, "%02x", id[i]);
	snprintf(put.name + at, sizeof(put.name) - at, "/%d", rank);
	put.flags = WW_WIRE_PUT_FLAG_STAYS;
	MUST_OK(page_put(raw, &put, page));
	return raw;
}

/* One member is hostile: its page is full of rubbish. Another one has a page elsewhere, too. */
CASE(name_loss_of_a_barrier, 0)
{
	struct raw *raw = peer();
	struct ww_wire_put barrier = replace(raw, "b");
	struct ww_wire_put other = page_object("other");
	struct raw *members[MEMBERS];
	struct page pages[MEMBERS + 1];

	for (int i = 0; i < MEMBERS; i++) {
		page_make(&pages[i]);
		members[i] = join(barrier.id, i, &pages[i]);
	}
	page_make(&pages[MEMBERS]);
	MUST_OK(page_put(members[0], &other, &pages[MEMBERS]));
	memset(pages[1].page, 0xff, pages[1].bytes);
	replace(raw, "b");
	MUST_EQUAL(WW_WIRE_WHAT_REPLACED, pages[0].page->name_lost);
	MUST_EQUAL(WW_WIRE_WHAT_REPLACED, pages[1].page->name_lost);
	MUST_EQUAL(0, pages[MEMBERS].page->name_lost);
	MUST_EQUAL(0, pages[0].page->lost);
	must_be_lost_by_us(members[0], barrier.id, WW_WIRE_WHAT_REPLACED);
	for (int i = 0; i <= MEMBERS; i++)
		page_close(&pages[i]);
}
