/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.h - the members of a shared object: the processes that use a pool, that consume a channel,
 * that produce or consume in a work queue, or that call a service
 *
 * Each member has put an object of its own inside the shared one ("@ID/..."), with the descriptor of
 * its signal page and those that its kind of member shows. The broker says who put it; all the rest
 * comes from an untrusted process. Whoever looks finds one of these, whatever the kind:
 *
 *   WW_OK             a member
 *   WW_ERR_NOT_FOUND  none: it has ended, or its object was removed
 *   WW_ERR_PROTOCOL   forged: the object is no member's, or shows what no member can
 *   WW_ERR_VERSION    refused: a page of it has a newer version, which this process cannot read
 *   any other error   it cannot be known now, as the record says: to be asked again later
 *
 * Limits, keys and evictions stay with the kind.
 */
#ifndef WW_GROUP_GROUP_H
#define WW_GROUP_GROUP_H

#include <warpway/broker.h>

#include "base/list.h"
#include "base/map.h"
#include "group/peer_process.h"
#include "sync/signal_page_map.h"

/* Before a broker that did not answer is asked again. */
#define WW_GROUP_PAUSE_NS UINT64_C(1000000000)

/* Whether it is known that there is none: none, forged or refused. */
static inline bool ww_group_is_no_member(ww_status status)
{
	return status == WW_ERR_NOT_FOUND || status == WW_ERR_PROTOCOL || status == WW_ERR_VERSION;
}

/* A member as another process sees it: the first part of what its kind keeps of it. */
struct ww_group_member {
	struct ww_list link;     /* in ww_group.members, or in a list of its kind */
	struct ww_map_node node; /* in ww_group.known */
	uint64_t listing;        /* the last one that had its object */
	bool is_held;            /* by a process beside this one, or its own, in that listing */
	uint8_t id[WW_WIRE_ID_BYTES]; /* of its object, as the broker says; so are the next three */
	uint32_t uid;
	uint32_t gid;
	uint32_t pid;                       /* 0: the broker cannot see it */
	struct ww_signal_map *page;         /* a reference */
	struct ww_layout_signal_cell *cell; /* the first one of the page */
	struct ww_peer_process *process;    /* a reference; NULL: not known */
	struct ww_attachments attachments;  /* the hold of its object */
};

/* What the members of one kind put. */
struct ww_group_kind {
	uint16_t kind;     /* WW_OBJECT_... */
	uint8_t access;    /* WW_WIRE_ACCESS_..., that it is asked for with */
	uint32_t fd_count; /* that come at least */
	bool has_pidfd;    /* one of its process may come behind these */

	/*
	 * Reads the description that came, and maps what the member shows: its page by
	 * ww_group_member_map(). What is mapped so far is the caller's also on failure.
	 */
	ww_status (*open)(void *context, struct ww_group_member *member,
		const struct ww_get_reply *grant);
};

/* When to look for newcomers: a counter that others raise says it. All zero at first. */
struct ww_group_newcomers {
	uint32_t seen;         /* of the counter */
	uint64_t ask_again_ns; /* after a broker that did not answer; else 0 */
};

/* The members that the broker lists inside one object. All of them are in both. */
struct ww_group {
	struct ww_list members; /* struct ww_group_member */
	struct ww_map known;    /* the same, by id */
	uint64_t listings;
	struct ww_group_newcomers newcomers;
};

/*
 * Gets the object of a name.
 * @context:  for kind->open()
 * @member:   all zero; filled as far as one is found, to be ended by ww_group_member_fini()
 * Return: as the file says.
 */
ww_status ww_group_get(const struct ww_group_kind *kind, struct ww_broker *broker, const char *name,
	void *context, struct ww_group_member *member);

/* Whether an object that the broker has listed can be a member, before anything is done for it. */
static inline bool ww_group_can_be(const struct ww_group_kind *kind,
	const struct ww_object_info *info)
{
	return info->kind == kind->kind && info->fd_count >= kind->fd_count;
}

/* The same, of an object that the broker has listed. What cannot be a member is not asked for. */
ww_status ww_group_get_listed(const struct ww_group_kind *kind, struct ww_broker *broker,
	const struct ww_object_info *info, void *context, struct ww_group_member *member);

/*
 * Of an open(): maps the page, which is the first descriptor.
 * Return: as ww_signal_map_import().
 */
ww_status ww_group_member_map(struct ww_group_member *member, const struct ww_get_reply *grant,
	uint64_t page_bytes, const uint8_t page_id[WW_WIRE_ID_BYTES]);
void ww_group_member_fini(struct ww_group_member *member); /* also if little of it is there */

/* Its process lives, but has lost its connection: nobody can tell it anything. */
static inline bool ww_group_member_is_lost(const struct ww_group_member *member)
{
	return __atomic_load_n(&member->page->header->lost, __ATOMIC_ACQUIRE);
}

/* The broker, or the kernel by way of it, has reported the end of its process. */
static inline bool ww_group_member_has_ended(const struct ww_group_member *member)
{
	return __atomic_load_n(&member->page->header->ended, __ATOMIC_ACQUIRE) ||
		ww_peer_process_has_ended(member->process);
}

/* --- those of one object --- */

void ww_group_init(struct ww_group *group);

/* Return: NULL: it is not known. */
struct ww_group_member *ww_group_find(const struct ww_group *group,
	const uint8_t id[WW_WIRE_ID_BYTES]);
ww_status ww_group_add(struct ww_group *group, struct ww_group_member *member);
void ww_group_remove(struct ww_group *group, struct ww_group_member *member);

/* Notes which known members a snapshot has: their listing is the group's then. */
void ww_group_note_listed(struct ww_group *group, ww_snapshot *snapshot);

/* Notes one object that is not known yet. Return: as the file says. */
typedef ww_status (*ww_group_meet_fn)(void *context, const struct ww_object_info *info);

/*
 * Within ww_group_meet(): calls @meet for each object of a snapshot that is not known. What is
 * forged or refused is taken out of the broker if another user has put it, because each look would
 * find it again, and it would keep names from others; of many, some.
 * @owner:  the broker, borrowed; NULL: another process has put the outer object
 * Return: WW_OK; the first failure to know.
 */
ww_status ww_group_look(struct ww_group *group, ww_snapshot *snapshot, struct ww_broker *owner,
	ww_group_meet_fn meet, void *context);

/* How many objects were put inside the object of a page so far. */
static inline uint32_t ww_group_count(const struct ww_signal_map *page)
{
	return __atomic_load_n(&page->header->members, __ATOMIC_SEQ_CST);
}

/* Whether the counter says that there are newcomers, and the broker may be asked now. */
bool ww_group_may_meet(const struct ww_group_newcomers *newcomers, uint32_t count);

/*
 * Calls @look if there are newcomers. Without any it is one comparison.
 * @count:  the counter, as it was read before
 * Return: WW_OK; WW_NOT_READY (the broker did not answer, and is asked again after a second); any
 *         other failure of @look. Only that is recorded.
 */
ww_status ww_group_meet(struct ww_group_newcomers *newcomers, uint32_t count,
	ww_status (*look)(void *context), void *context);

/* --- taking out of the broker --- */

/*
 * Takes an object out, if the broker answers within a second.
 * @id:  that it has; NULL: whatever has the name
 * Return: whether it had that name, and this id.
 */
bool ww_group_take_out(struct ww_broker *broker, const char *name, const uint8_t *id);

/* Takes out what another user has put inside an object of this process. Return: whether it has. */
bool ww_group_expel(struct ww_broker *broker, const struct ww_object_info *info);

#endif
