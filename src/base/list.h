/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h - a ring of links inside the objects themselves
 *
 * An empty list, and a link in no list, points at itself. Nothing is allocated, nothing can fail.
 * The owner of the objects brings its own lock.
 */
#ifndef WW_BASE_LIST_H
#define WW_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct ww_list {
	struct ww_list *next;
	struct ww_list *previous;
};

#define WW_LIST_INIT(name)       \
	{                        \
		&(name), &(name) \
	}

/* The object that contains @link as its member @member. */
#define ww_container(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

#define ww_list_for_each(link, list) \
	for (struct ww_list *link = (list)->next; link != (list); link = link->next)

static inline void ww_list_init(struct ww_list *list)
{
	list->next = list;
	list->previous = list;
}

static inline bool ww_list_is_empty(const struct ww_list *list)
{
	return list->next == list;
}

static inline void ww_list_append(struct ww_list *list, struct ww_list *link)
{
	link->previous = list->previous;
	link->next = list;
	list->previous->next = link;
	list->previous = link;
}

static inline void ww_list_remove(struct ww_list *link)
{
	link->previous->next = link->next;
	link->next->previous = link->previous;
	ww_list_init(link);
}

/* Return: the first link, taken out; NULL when there is none. */
static inline struct ww_list *ww_list_take_first(struct ww_list *list)
{
	struct ww_list *link = list->next;

	if (link == list)
		return NULL;
	ww_list_remove(link);
	return link;
}

#endif
