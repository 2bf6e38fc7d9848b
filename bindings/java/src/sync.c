/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.c - timelines, events and barriers
 */
#include "native.h"

NATIVE(jint, timelineCreate)(THREAD, jlong flags, jlong value, jlongArray out)
{
	ww_timeline *timeline = NULL;
	ww_status status = ww_timeline_create(WW_PARAMS(struct ww_timeline_params,
						      .flags = (uint64_t)flags,
						      .value = (uint64_t)value),
		&timeline);

	return object_store(env, status, timeline, out);
}

NATIVE(jint, timelinePrepare)(THREAD, jlong timeline, jlong device)
{
	return ww_timeline_prepare(object_of(timeline), object_of(device));
}

NATIVE(jint, timelineSignal)(THREAD, jlong timeline, jlong value)
{
	return ww_timeline_signal(object_of(timeline), (uint64_t)value);
}

NATIVE(jint, timelineStreamSignal)(THREAD, jlong timeline, jlong stream, jlong value)
{
	return ww_timeline_stream_signal(object_of(timeline), object_of(stream), (uint64_t)value);
}

NATIVE(jint, timelineFail)(THREAD, jlong timeline, jbyteArray why)
{
	char text[TEXT_BYTES];

	return ww_timeline_fail(object_of(timeline), text_load(env, why, text));
}

NATIVE(jint, timelineWait)(THREAD, jlong timeline, jlong value, jlong timeout_ns, jlong cancel)
{
	return ww_timeline_wait(object_of(timeline), (uint64_t)value, (uint64_t)timeout_ns,
		object_of(cancel));
}

NATIVE(jint, timelineStreamWait)
(THREAD, jlong timeline, jlong stream, jlong value, jlong flags, jlong timeout_ns, jlong cancel)
{
	return ww_timeline_stream_wait(object_of(timeline), object_of(stream), (uint64_t)value,
		(uint64_t)flags, (uint64_t)timeout_ns, object_of(cancel));
}

NATIVE(jint, timelineQuery)(THREAD, jlong timeline, jlong value)
{
	return ww_timeline_query(object_of(timeline), (uint64_t)value);
}

INFO(timelineInfo, ww_timeline_info, ww_timeline_info_get)

NATIVE(jint, timelineExport)
(THREAD, jlong timeline, jlong broker, jbyteArray params, jbyteArray out)
{
	struct ww_token_params token_params;
	struct ww_token token;

	if (!struct_load(env, params, &token_params, sizeof(token_params)))
		return WW_ERR_VERSION;
	ww_status status = ww_timeline_export(object_of(timeline), object_of(broker), &token_params,
		NULL, &token);
	return struct_store(env, status, &token, sizeof(token), out);
}

NATIVE(jint, timelineImport)(THREAD, jlong broker, jbyteArray token_bytes, jlongArray out)
{
	struct ww_token token;
	ww_timeline *timeline = NULL;

	if (!struct_load(env, token_bytes, &token, sizeof(token)))
		return WW_ERR_VERSION;
	ww_status status = ww_timeline_import(object_of(broker), &token, NULL, &timeline);
	return object_store(env, status, timeline, out);
}

NATIVE(jint, timelinePut)(THREAD, jlong timeline, jlong broker, jbyteArray name, jbyteArray params)
{
	char text[TEXT_BYTES];
	struct ww_name_params name_params;

	if (!struct_load(env, params, &name_params, sizeof(name_params)))
		return WW_ERR_VERSION;
	return ww_timeline_put(object_of(timeline), object_of(broker), text_load(env, name, text),
		&name_params, NULL);
}

NATIVE(jint, timelineGet)
(THREAD, jlong broker, jbyteArray name, jlong timeout_ns, jlong cancel, jlongArray out)
{
	char text[TEXT_BYTES];
	ww_timeline *timeline = NULL;
	ww_status status = ww_timeline_get(object_of(broker), text_load(env, name, text),
		(uint64_t)timeout_ns, object_of(cancel), &timeline);

	return object_store(env, status, timeline, out);
}

/* --- events --- */

NATIVE(jint, eventCreate)(THREAD, jlong device, jlong flags, jlongArray out)
{
	ww_event *event = NULL;
	ww_status status = ww_event_create(object_of(device),
		WW_PARAMS(struct ww_event_params, .flags = (uint64_t)flags), &event);

	return object_store(env, status, event, out);
}

NATIVE(jint, eventRecord)(THREAD, jlong event, jlong stream)
{
	return ww_event_record(object_of(event), object_of(stream));
}

NATIVE(jint, eventStreamWait)(THREAD, jlong event, jlong stream)
{
	return ww_event_stream_wait(object_of(event), object_of(stream));
}

NATIVE(jint, eventSynchronize)(THREAD, jlong event, jlong timeout_ns, jlong cancel)
{
	return ww_event_synchronize(object_of(event), (uint64_t)timeout_ns, object_of(cancel));
}

NATIVE(jint, eventQuery)(THREAD, jlong event)
{
	return ww_event_query(object_of(event));
}

NATIVE(jint, eventHandleGet)(THREAD, jlong event, jbyteArray out)
{
	struct ww_event_handle handle;
	ww_status status = ww_event_handle_get(object_of(event), &handle);

	return struct_store(env, status, &handle, sizeof(handle), out);
}

NATIVE(jint, eventHandleOpen)(THREAD, jlong device, jbyteArray bytes, jlongArray out)
{
	struct ww_event_handle handle;
	ww_event *event = NULL;

	if (!struct_load(env, bytes, &handle, sizeof(handle)))
		return WW_ERR_VERSION;
	ww_status status = ww_event_handle_open(object_of(device), &handle, &event);
	return object_store(env, status, event, out);
}

NATIVE(jint, eventExport)(THREAD, jlong event, jlong broker, jbyteArray params, jbyteArray out)
{
	struct ww_token_params token_params;
	struct ww_token token;

	if (!struct_load(env, params, &token_params, sizeof(token_params)))
		return WW_ERR_VERSION;
	ww_status status = ww_event_export(object_of(event), object_of(broker), &token_params, NULL,
		&token);
	return struct_store(env, status, &token, sizeof(token), out);
}

NATIVE(jint, eventImport)
(THREAD, jlong device, jlong broker, jbyteArray token_bytes, jlongArray out)
{
	struct ww_token token;
	ww_event *event = NULL;

	if (!struct_load(env, token_bytes, &token, sizeof(token)))
		return WW_ERR_VERSION;
	ww_status status = ww_event_import(object_of(device), object_of(broker), &token, NULL,
		&event);
	return object_store(env, status, event, out);
}

/* --- barriers --- */

NATIVE(jint, barrierCreate)
(THREAD, jlong broker, jbyteArray name, jbyteArray params, jbyteArray out)
{
	char text[TEXT_BYTES];
	struct ww_barrier_params barrier_params;
	struct ww_token token;

	if (!struct_load(env, params, &barrier_params, sizeof(barrier_params)))
		return WW_ERR_VERSION;
	ww_status status = ww_barrier_create(object_of(broker), text_load(env, name, text),
		&barrier_params, NULL, &token);
	return struct_store(env, status, &token, sizeof(token), out);
}

NATIVE(jint, barrierGet)
(THREAD, jlong broker, jbyteArray name, jint rank, jlong timeout_ns, jlong cancel, jlongArray out)
{
	char text[TEXT_BYTES];
	ww_barrier *barrier = NULL;
	ww_status status = ww_barrier_get(object_of(broker), text_load(env, name, text),
		(uint32_t)rank, (uint64_t)timeout_ns, object_of(cancel), &barrier);

	return object_store(env, status, barrier, out);
}

NATIVE(jint, barrierImport)
(THREAD, jlong broker, jbyteArray token_bytes, jint rank, jlong timeout_ns, jlong cancel,
	jlongArray out)
{
	struct ww_token token;
	ww_barrier *barrier = NULL;

	if (!struct_load(env, token_bytes, &token, sizeof(token)))
		return WW_ERR_VERSION;
	ww_status status = ww_barrier_import(object_of(broker), &token, (uint32_t)rank,
		(uint64_t)timeout_ns, object_of(cancel), &barrier);
	return object_store(env, status, barrier, out);
}

NATIVE(jint, barrierWait)(THREAD, jlong barrier, jlong timeout_ns, jlong cancel)
{
	return ww_barrier_wait(object_of(barrier), (uint64_t)timeout_ns, object_of(cancel));
}

INFO(barrierInfo, ww_barrier_info, ww_barrier_info_get)
