/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapping_test.c - the table of mappings, on the host device
 */
#include "base/unit_test.h"

#include <unistd.h>

#include "base/fd.h"
#include "device/mapping.h"

#define BYTES (UINT64_C(2) << 20)
#define COUNT 50

static ww_device *device;

static int open_host(void **state)
{
	(void)state;
	return ww_device_open("host", &device);
}

static int close_host(void **state)
{
	(void)state;
	device = ww_device_unref(device);
	return ww_mapping_count() == 0 ? 0 : -1;
}

static struct ww_mapping *make(void)
{
	struct ww_mapping *mapping;

	assert_ok(ww_mapping_create(device, WW_MEMORY_VMM, BYTES, &mapping));
	return mapping;
}

UNIT_TEST(spans_are_found)
{
	struct ww_mapping *mappings[COUNT];
	struct ww_mapping *found;

	for (int i = 0; i < COUNT; i++)
		mappings[i] = make();
	assert_int_equal(ww_mapping_count(), COUNT);
	for (int i = 0; i < COUNT; i++) {
		char *start = mappings[i]->pointer;

		assert_ok(ww_mapping_find(start, BYTES, WW_ACCESS_WRITE, &found));
		assert_ptr_equal(found, mappings[i]);
		ww_mapping_unref(found);
		assert_ok(ww_mapping_find(start + BYTES - 1, 1, WW_ACCESS_READ, &found));
		assert_ptr_equal(found, mappings[i]);
		ww_mapping_unref(found);
		assert_fails(ww_mapping_find(start, BYTES + 1, WW_ACCESS_READ, &found),
			WW_ERR_INVALID);
		assert_null(found);
	}
	for (int i = 0; i < COUNT; i += 3)
		mappings[i] = ww_mapping_unref(mappings[i]);
	for (int i = 0; i < COUNT; i++) {
		if (!mappings[i])
			continue;
		assert_ok(ww_mapping_find(mappings[i]->pointer, 1, WW_ACCESS_READ, &found));
		assert_ptr_equal(found, mappings[i]);
		ww_mapping_unref(found);
		ww_mapping_unref(mappings[i]);
	}
	assert_int_equal(ww_mapping_count(), 0);
}

UNIT_TEST(foreign_and_impossible_spans)
{
	struct ww_mapping *mapping = make();
	struct ww_mapping *found;
	int local = 0;

	assert_ok(ww_mapping_find(&local, sizeof(local), WW_ACCESS_WRITE, &found));
	assert_null(found);
	assert_fails(ww_mapping_find(&local, UINT64_MAX, WW_ACCESS_READ, &found), WW_ERR_OVERFLOW);
	assert_fails(ww_mapping_find((char *)mapping->pointer - 1, 2, WW_ACCESS_READ, &found),
		WW_ERR_INVALID);
	/* A span around a whole mapping leaves it too. */
	assert_fails(ww_mapping_find((char *)mapping->pointer - 1, BYTES + 2, WW_ACCESS_READ,
			     &found),
		WW_ERR_INVALID);
	ww_mapping_unref(mapping);
}

UNIT_TEST(read_only)
{
	struct ww_mapping *mapping = make();
	struct ww_memory_source source = {
		.fd = -1,
		.pool_fd = -1,
		.backing = WW_BACKING_MEMFD,
		.kind = WW_MEMORY_VMM,
		.bytes = BYTES,
		.home_uuid = device->uuid,
	};
	struct ww_mapping *reader;
	struct ww_mapping *found;

	assert_ok(ww_mapping_export(mapping, WW_ACCESS_READ, &source.fd));
	assert_fails(ww_mapping_import(device, &source, WW_ACCESS_WRITE, &reader), WW_ERR_ACCESS);
	assert_ok(ww_mapping_import(device, &source, WW_ACCESS_READ, &reader));
	assert_true(ww_mapping_is_named_by(mapping, source.fd));
	assert_fails(ww_mapping_find(reader->pointer, 1, WW_ACCESS_WRITE, &found), WW_ERR_ACCESS);
	assert_ok(ww_mapping_find(reader->pointer, 1, WW_ACCESS_READ, &found));
	ww_mapping_unref(found);
	ww_fd_close(source.fd);
	ww_mapping_unref(mapping);
	assert_int_equal(*(volatile char *)reader->pointer, 0);
	ww_mapping_unref(reader);
}

UNIT_TEST(two_memories_are_two)
{
	struct ww_mapping *one = make();
	struct ww_mapping *two = make();
	int fd;

	assert_ok(ww_mapping_export(one, WW_ACCESS_WRITE, &fd));
	assert_true(ww_mapping_is_named_by(one, fd));
	assert_false(ww_mapping_is_named_by(two, fd));
	assert_false(ww_mapping_is_named_by(one, -1));
	ww_fd_close(fd);
	ww_mapping_unref(one);
	ww_mapping_unref(two);
}

UNIT_MAIN_WITH("mapping", open_host, close_host)
