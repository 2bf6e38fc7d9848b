/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_test.c - order, removal, emptiness
 */
#include "base/unit_test.h"

#include "base/list.h"

struct item {
	int value;
	struct ww_list link;
};

UNIT_TEST(first_in_first_out)
{
	struct item items[3] = {{.value = 1}, {.value = 2}, {.value = 3}};
	struct ww_list list = WW_LIST_INIT(list);

	assert_null(ww_list_take_first(&list));
	for (int i = 0; i < 3; i++)
		ww_list_append(&list, &items[i].link);
	for (int i = 0; i < 3; i++) {
		struct item *item = ww_container(ww_list_take_first(&list), struct item, link);

		assert_int_equal(item->value, i + 1);
		assert_true(ww_list_is_empty(&item->link));
	}
	assert_true(ww_list_is_empty(&list));
}

UNIT_TEST(removal_from_the_middle)
{
	struct item items[3] = {{.value = 1}, {.value = 2}, {.value = 4}};
	struct ww_list list;
	int sum = 0;

	ww_list_init(&list);
	for (int i = 0; i < 3; i++)
		ww_list_append(&list, &items[i].link);
	ww_list_remove(&items[1].link);
	ww_list_remove(&items[1].link); /* in no list: harmless */
	ww_list_for_each (link, &list)
		sum += ww_container(link, struct item, link)->value;
	assert_int_equal(sum, 5);
}

UNIT_MAIN("list")
