/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c - work queues: their members and frames
 *
 * As in channel.c, a frame is a struct in a byte[] that only the package sees, and the Java side
 * has a lock for each queue.
 */
#include "native.h"

NATIVE(jint, queueCreate)
(THREAD, jlong device, jlong broker, jbyteArray name, jbyteArray params, jbyteArray array_bytes,
	jlongArray out)
{
	char text[TEXT_BYTES];
	struct ww_work_queue_params queue_params;
	struct ww_array array;
	ww_work_queue *queue = NULL;
	bool ok;

	if (!struct_load(env, params, &queue_params, sizeof(queue_params)))
		return WW_ERR_VERSION;
	queue_params.array = params_load(env, array_bytes, &array, sizeof(array), &ok);
	if (!ok)
		return WW_ERR_VERSION;
	ww_status status = ww_work_queue_create(object_of(device), object_of(broker),
		text_load(env, name, text), &queue_params, NULL, &queue);
	return object_store(env, status, queue, out);
}

NATIVE(jint, queueGet)
(THREAD, jlong device, jlong broker, jbyteArray name, jint role, jint end_after, jlong timeout_ns,
	jlong cancel, jlongArray out)
{
	char text[TEXT_BYTES];
	ww_work_queue *queue = NULL;
	ww_status status = ww_work_queue_get(object_of(device), object_of(broker),
		text_load(env, name, text),
		WW_PARAMS(struct ww_work_member_params, .role = (uint32_t)role,
			.end_after_producers = (uint32_t)end_after),
		(uint64_t)timeout_ns, object_of(cancel), &queue);

	return object_store(env, status, queue, out);
}

NATIVE(jint, queueImport)
(THREAD, jlong device, jlong broker, jbyteArray token_bytes, jint role, jint end_after,
	jlongArray out)
{
	struct ww_token token;
	ww_work_queue *queue = NULL;

	if (!struct_load(env, token_bytes, &token, sizeof(token)))
		return WW_ERR_VERSION;
	ww_status status = ww_work_queue_import(object_of(device), object_of(broker), &token,
		WW_PARAMS(struct ww_work_member_params, .role = (uint32_t)role,
			.end_after_producers = (uint32_t)end_after),
		NULL, &queue);
	return object_store(env, status, queue, out);
}

NATIVE(jint, queueExport)(THREAD, jlong queue, jint access, jbyteArray params, jbyteArray out)
{
	struct ww_token_params token_params;
	struct ww_token token;

	if (!struct_load(env, params, &token_params, sizeof(token_params)))
		return WW_ERR_VERSION;
	ww_status status = ww_work_queue_export(object_of(queue), (uint32_t)access, &token_params,
		NULL, &token);
	return struct_store(env, status, &token, sizeof(token), out);
}

NATIVE(jint, queueClose)(THREAD, jlong queue)
{
	return ww_work_queue_close(object_of(queue));
}

NATIVE(jint, queueAcquire)
(THREAD, jlong queue, jlong stream, jlong timeout_ns, jlong cancel, jbyteArray out)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_status status = ww_work_queue_acquire(object_of(queue), object_of(stream),
		(uint64_t)timeout_ns, object_of(cancel), &frame);

	return struct_store(env, status, &frame, sizeof(frame), out);
}

NATIVE(jint, queuePublish)
(THREAD, jlong queue, jbyteArray frame_bytes, jlong stream, jlong bytes, jlongArray shape,
	jbyteArray metadata)
{
	struct ww_frame frame;

	if (!frame_load(env, frame_bytes, bytes, shape, metadata, &frame))
		return WW_ERR_VERSION;
	ww_status status = ww_work_queue_publish(object_of(queue), &frame, object_of(stream));
	return struct_store(env, status, &frame, sizeof(frame), frame_bytes);
}

NATIVE(jint, queueDiscard)(THREAD, jlong queue, jbyteArray frame_bytes, jlong stream)
{
	struct ww_frame frame;

	if (!struct_load(env, frame_bytes, &frame, sizeof(frame)))
		return WW_ERR_VERSION;
	return ww_work_queue_discard(object_of(queue), &frame, object_of(stream));
}

NATIVE(jint, queueReceive)
(THREAD, jlong queue, jlong stream, jlong timeout_ns, jlong cancel, jbyteArray out)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_status status = ww_work_queue_receive(object_of(queue), object_of(stream),
		(uint64_t)timeout_ns, object_of(cancel), &frame);

	return struct_store(env, status, &frame, sizeof(frame), out);
}

NATIVE(jint, queueAcknowledge)(THREAD, jlong queue, jbyteArray frame_bytes, jlong stream)
{
	struct ww_frame frame;

	if (!struct_load(env, frame_bytes, &frame, sizeof(frame)))
		return WW_ERR_VERSION;
	return ww_work_queue_acknowledge(object_of(queue), &frame, object_of(stream));
}

NATIVE(jint, queueReject)(THREAD, jlong queue, jbyteArray frame_bytes)
{
	struct ww_frame frame;

	if (!struct_load(env, frame_bytes, &frame, sizeof(frame)))
		return WW_ERR_VERSION;
	return ww_work_queue_reject(object_of(queue), &frame);
}

INFO(queueInfo, ww_work_queue_info, ww_work_queue_info_get)
