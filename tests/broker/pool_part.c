/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_part.c - parts of a pool that have names: of which objects
 */
#include "broker/suite.h"

#include "support/page.h"

static void refuse_part(struct raw *raw, const struct ww_wire_put *object)
{
	struct ww_wire_put put = *object;

	put.life = WW_WIRE_LIFE_OWNER;
	put.part = 5;
	strcpy(put.name, "part");
	memset(put.fd_access, 0, sizeof(put.fd_access));
	MUST_REFUSE(WW_ERR_STATE, "cannot have names", raw_put(raw, &put, NULL, 0));
}

/* What may live without its creator has no parts with names, which would then be nobody's. */
CASE(pool_part_needs_a_page, 0)
{
	struct raw *maker = peer();
	struct ww_wire_put put = raw_object("");
	struct page page;

	put.kind = WW_WIRE_KIND_POOL;
	put.state = WW_WIRE_STATE_SHARED;
	MUST_OK(raw_put(maker, &put, NULL, 0));
	refuse_part(maker, &put);
	page_make(&page);
	put = page_object("");
	put.state = WW_WIRE_STATE_SHARED;
	put.fd_access[0] = 3;
	MUST_OK(page_put(maker, &put, &page));
	refuse_part(maker, &put);
	page_close(&page);
}

/* It has its own mode, and parts have one of theirs. */
CASE(pool_part_needs_an_unnamed_pool, 0)
{
	struct raw *maker = peer();
	struct ww_wire_put put = page_object("pool");
	struct page page;

	page_make(&page);
	put.kind = WW_WIRE_KIND_POOL;
	put.state = WW_WIRE_STATE_SHARED;
	put.fd_access[0] = 3;
	put.mode = 0666;
	MUST_OK(page_put(maker, &put, &page));
	put.mode = 0600;
	refuse_part(maker, &put);
	page_close(&page);
}
