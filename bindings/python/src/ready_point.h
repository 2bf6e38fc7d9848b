/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ready_point.h - the point at which the bytes of an Array, or those that a Token names, are ready
 *
 * For each stream that a point was recorded on, there is a timeline. Each record makes the stream
 * raise it by one after the work before. The timeline and its value travel with the array when it
 * is pickled. A point that is reached need not travel.
 *
 * If a Python function that the stream calls raises an exception, it fails the timeline, before the
 * stream raises it: no point that is not reached by then ever is, nor is one that is recorded
 * later. The stream gets a new timeline when it is given another function after such a point, or
 * is recovered. So functions without a point between them count as one piece of work.
 */
#ifndef CORE_READY_POINT_H
#define CORE_READY_POINT_H

#include "core.h"

struct ready_point {
	PyObject *timeline; /* an instance of CORE_TIMELINE; NULL: the bytes are ready */
	uint64_t value;     /* of the timeline */
};

/*
 * Records the work of a stream so far.
 * @key:        of @stream, as stream_key() says
 * @out_point:  on success its timeline is a reference, else NULL
 * Return: a status of the library; STATUS_RAISED.
 */
ww_status ready_point_record(struct core *core, PyObject *key, ww_stream *stream,
	struct ready_point *out_point);

/* Waits by @stream, or on the CPU if that is NULL. Return: as wait_run(). */
ww_status ready_point_wait(struct core *core, const struct ready_point *point, ww_stream *stream,
	uint64_t timeout_ns, PyObject *cancel);

/* Return: WW_OK: it is reached; WW_NOT_READY; an error; STATUS_RAISED. */
ww_status ready_point_query(const struct ready_point *point);

/* A token of the timeline, which is not NULL. Return: as wait_run(). */
ww_status ready_point_export(struct core *core, const struct ready_point *point,
	struct ww_token *out_token);

#endif
