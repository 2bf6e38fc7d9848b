/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_memory.h - an object's memory, by its name or by a token
 *
 * Which device: the CPU is tried first, for it reaches what it holds without a driver. Memory that
 * it cannot reach lives on a GPU, and the broker, or the token, says on which.
 */
#ifndef TOOLS_WARPWAY_OBJECT_MEMORY_H
#define TOOLS_WARPWAY_OBJECT_MEMORY_H

#include <warpway/warpway.h>

/* Of one object; the rest is zero. */
struct reach {
	const char *device_name;      /* NULL: where the bytes are */
	const char *name;             /* of the object; with a token: what to call it */
	const struct ww_token *token; /* NULL: by name */
	struct ww_get_params params;
	uint64_t timeout_ns; /* for the name; with a token not used */
};

/**
 * reach_memory() - hold the memory of an object, and map it
 * @broker:      borrowed; NULL, with a token: the broker that the token is from
 * @out_memory:  the caller's
 * @out_object:  the caller's, with size set
 * Return: 0; the exit code after saying what went wrong.
 */
int reach_memory(const struct reach *reach, ww_broker *broker, ww_memory **out_memory,
	struct ww_object_info *out_object);

#endif
