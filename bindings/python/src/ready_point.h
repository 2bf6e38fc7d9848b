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

/*
 * The timeline that a function is to fail which the stream is about to be given, a new reference;
 * NULL with an exception.
 * @key:  of the stream, as stream_key() says
 */
PyObject *ready_point_for_call(struct core *core, PyObject *key);

/*
 * A function failed which was given @timeline. The stream may have got another one meanwhile, whose
 * points come after the function, too.
 */
void ready_point_fail(PyObject *key, PyObject *timeline, const char *why);

/*
 * Releases it in the thread of a stream, which must not call the driver, as the end of a timeline
 * may: the last reference stays until a stream is used next.
 */
void ready_point_end_call(PyObject *timeline);

/* What the stream has, a new reference; NULL: nothing. Without an exception. */
PyObject *ready_point_cell(struct core *core, PyObject *key);

/*
 * The stream gets a new timeline for its next point. Also without one; without an exception.
 * @cell:  nothing is done unless this is what the stream has; NULL: whatever it has
 */
void ready_point_forget(struct core *core, PyObject *key, PyObject *cell);

/* The same if its timeline is lost: functions that are still to run may fail one that lives. */
void ready_point_recover(struct core *core, PyObject *key);

/* Waits by @stream, or on the CPU if that is NULL. Return: as wait_run(). */
ww_status ready_point_wait(struct core *core, const struct ready_point *point, ww_stream *stream,
	uint64_t timeout_ns, PyObject *cancel);

/* Return: WW_OK: it is reached; WW_NOT_READY; an error; STATUS_RAISED. */
ww_status ready_point_query(const struct ready_point *point);

/* A token of the timeline, which is not NULL. Return: as wait_run(). */
ww_status ready_point_export(struct core *core, const struct ready_point *point,
	struct ww_token *out_token);

#endif
