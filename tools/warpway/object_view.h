/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_view.h - objects of a broker as tables and JSON show them
 *
 * Here users and devices get their names. Names of users are asked once each, for a listing may be
 * long. A GPU is named by its UUID: looking it up would load the driver, and nothing that only
 * looks around does that.
 */
#ifndef TOOLS_WARPWAY_OBJECT_VIEW_H
#define TOOLS_WARPWAY_OBJECT_VIEW_H

#include <warpway/warpway.h>

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "warpway/format.h"
#include "common/number.h"

#define VIEW_NAME_BYTES 40
#define VIEW_NAMES      64

struct view_name {
	uint32_t id;
	bool is_group;
	char text[VIEW_NAME_BYTES];
};

struct view {
	bool numeric; /* users and groups by number */
	bool human;   /* sizes such as "2.0 MiB" */
	uint8_t host_uuid[WW_DEVICE_UUID_BYTES];
	size_t name_count;
	struct view_name names[VIEW_NAMES];
};

/* Finds the host's name; what options have set stays. */
void view_init(struct view *view);

/* Valid until the next of these two. */
const char *view_user(struct view *view, uint32_t uid);
const char *view_group(struct view *view, uint32_t gid);

/* The exact number of bytes, or the size to look at. */
void view_bytes(const struct view *view, uint64_t bytes, char out_text[NUMBER_BYTES]);

/* "host", "GPU-..." in full, or "-" for what is on no device. @memory_kind: WW_MEMORY_...; 0 */
void view_device(const struct view *view, const uint8_t uuid[WW_DEVICE_UUID_BYTES],
	uint32_t memory_kind, char out_text[FORMAT_UUID_BYTES]);

/* What tables say of an object. */
struct view_text {
	char name[256]; /* "(id 1a2b...)" for an object that has none */
	char id[FORMAT_ID_BYTES];
	char bytes[NUMBER_BYTES]; /* as view_bytes() */
	char size[NUMBER_BYTES];  /* to look at */
	char device
		[FORMAT_UUID_BYTES]; /* "host", "GPU-..." in full, or "-" for what is on no device */
	char mode[FORMAT_MODE_BYTES];
	char age[FORMAT_DURATION_BYTES];
	char array[2 + FORMAT_ARRAY_BYTES]; /* begins with two spaces; empty: it has none */
};

void view_text(const struct view *view, const struct ww_object_info *object,
	struct view_text *out_text);

/**
 * view_json_object() - an object as JSON
 *
 * The keys are a promise to programs, see warpway(1).
 *
 * Return: a new reference; NULL without memory.
 */
json_t *view_json_object(struct view *view, const struct ww_object_info *object);

/* Nanoseconds; null for WW_FOREVER. */
json_t *view_json_ns(uint64_t ns);

#endif
