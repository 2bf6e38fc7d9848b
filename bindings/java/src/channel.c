/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - channels: producers, consumers, observers, their frames and events
 *
 * A frame is a struct ww_frame in a byte[] that only the package sees: no program can forge its
 * pointers. One thread at a time uses a channel: the Java side has a lock for each.
 */
#include "native.h"

#include <string.h>

NATIVE(jint, channelCreate)
(THREAD, jlong device, jlong broker, jbyteArray name, jbyteArray params, jbyteArray array_bytes,
	jlongArray out)
{
	char text[TEXT_BYTES];
	struct ww_channel_params channel_params;
	struct ww_array array;
	ww_channel *channel = NULL;
	bool ok;

	if (!struct_load(env, params, &channel_params, sizeof(channel_params)))
		return WW_ERR_VERSION;
	channel_params.array = params_load(env, array_bytes, &array, sizeof(array), &ok);
	if (!ok)
		return WW_ERR_VERSION;
	ww_status status = ww_channel_create(object_of(device), object_of(broker),
		text_load(env, name, text), &channel_params, NULL, &channel);
	return object_store(env, status, channel, out);
}

/* What a consumer expects. @type and @array keep what the params point to. */
static bool consumer_load(JNIEnv *env, jbyteArray params, jbyteArray type_bytes,
	jbyteArray array_bytes, struct ww_consumer_params *out_params, char type[TEXT_BYTES],
	struct ww_array *array)
{
	bool ok;

	if (!struct_load(env, params, out_params, sizeof(*out_params)))
		return false;
	out_params->metadata_type = text_load(env, type_bytes, type);
	out_params->array = params_load(env, array_bytes, array, sizeof(*array), &ok);
	return ok;
}

NATIVE(jint, channelGet)
(THREAD, jlong device, jlong broker, jbyteArray name, jbyteArray params, jbyteArray type_bytes,
	jbyteArray array_bytes, jlong timeout_ns, jlong cancel, jlongArray out)
{
	char text[TEXT_BYTES], type[TEXT_BYTES];
	struct ww_consumer_params consumer;
	struct ww_array array;
	ww_channel *channel = NULL;

	if (!consumer_load(env, params, type_bytes, array_bytes, &consumer, type, &array))
		return WW_ERR_VERSION;
	ww_status status = ww_channel_get(object_of(device), object_of(broker),
		text_load(env, name, text), &consumer, (uint64_t)timeout_ns, object_of(cancel),
		&channel);
	return object_store(env, status, channel, out);
}

NATIVE(jint, channelImport)
(THREAD, jlong device, jlong broker, jbyteArray token_bytes, jbyteArray params,
	jbyteArray type_bytes, jbyteArray array_bytes, jlongArray out)
{
	char type[TEXT_BYTES];
	struct ww_consumer_params consumer;
	struct ww_array array;
	struct ww_token token;
	ww_channel *channel = NULL;

	if (!consumer_load(env, params, type_bytes, array_bytes, &consumer, type, &array) ||
		!struct_load(env, token_bytes, &token, sizeof(token)))
		return WW_ERR_VERSION;
	ww_status status = ww_channel_import(object_of(device), object_of(broker), &token,
		&consumer, NULL, &channel);
	return object_store(env, status, channel, out);
}

NATIVE(jint, channelExport)(THREAD, jlong channel, jbyteArray params, jbyteArray out)
{
	struct ww_token_params token_params;
	struct ww_token token;

	if (!struct_load(env, params, &token_params, sizeof(token_params)))
		return WW_ERR_VERSION;
	ww_status status = ww_channel_export(object_of(channel), &token_params, NULL, &token);
	return struct_store(env, status, &token, sizeof(token), out);
}

NATIVE(jint, channelAcquire)
(THREAD, jlong channel, jlong stream, jlong timeout_ns, jlong cancel, jbyteArray out)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_status status = ww_channel_acquire(object_of(channel), object_of(stream),
		(uint64_t)timeout_ns, object_of(cancel), &frame);

	return struct_store(env, status, &frame, sizeof(frame), out);
}

bool frame_load(JNIEnv *env, jbyteArray frame_bytes, jlong bytes, jlongArray shape,
	jbyteArray metadata, struct ww_frame *out_frame)
{
	jsize ndim = shape ? (*env)->GetArrayLength(env, shape) : 0;
	jsize length = metadata ? (*env)->GetArrayLength(env, metadata) : 0;

	if (!struct_load(env, frame_bytes, out_frame, sizeof(*out_frame)) || ndim > WW_FRAME_DIMS ||
		length > (jsize)out_frame->metadata_bytes)
		return false;
	out_frame->bytes = (uint64_t)bytes;
	out_frame->ndim = (uint32_t)ndim;
	if (ndim > 0)
		(*env)->GetLongArrayRegion(env, shape, 0, ndim, (jlong *)out_frame->shape);
	out_frame->metadata_bytes = (uint32_t)length;
	if (length > 0)
		(*env)->GetByteArrayRegion(env, metadata, 0, length, out_frame->metadata);
	return true;
}

NATIVE(jint, channelPublish)
(THREAD, jlong channel, jbyteArray frame_bytes, jlong stream, jlong bytes, jlongArray shape,
	jbyteArray metadata)
{
	struct ww_frame frame;

	if (!frame_load(env, frame_bytes, bytes, shape, metadata, &frame))
		return WW_ERR_VERSION;
	ww_status status = ww_channel_publish(object_of(channel), &frame, object_of(stream));
	return struct_store(env, status, &frame, sizeof(frame), frame_bytes);
}

NATIVE(jint, channelDiscard)(THREAD, jlong channel, jbyteArray frame_bytes, jlong stream)
{
	struct ww_frame frame;

	if (!struct_load(env, frame_bytes, &frame, sizeof(frame)))
		return WW_ERR_VERSION;
	return ww_channel_discard(object_of(channel), &frame, object_of(stream));
}

NATIVE(jint, channelReceive)
(THREAD, jlong channel, jlong stream, jlong timeout_ns, jlong cancel, jbyteArray out)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_status status = ww_channel_receive(object_of(channel), object_of(stream),
		(uint64_t)timeout_ns, object_of(cancel), &frame);

	return struct_store(env, status, &frame, sizeof(frame), out);
}

NATIVE(jint, channelRelease)(THREAD, jlong channel, jbyteArray frame_bytes, jlong stream)
{
	struct ww_frame frame;

	if (!struct_load(env, frame_bytes, &frame, sizeof(frame)))
		return WW_ERR_VERSION;
	return ww_channel_release(object_of(channel), &frame, object_of(stream));
}

/* The metadata of a frame that is held, at an address. */
NATIVE(jbyteArray, frameMetadata)(THREAD, jlong address, jint bytes)
{
	return bytes_create(env, object_of(address), (size_t)bytes);
}

/*
 * The memory that a held frame lies in, and where: @out has the memory, a reference that the caller
 * owns, and the frame's offset in it.
 */
NATIVE(jint, frameMemory)(THREAD, jlong pointer, jlongArray out)
{
	ww_memory *memory = NULL;
	uint64_t offset = 0;
	ww_status status = ww_memory_find(object_of(pointer), &memory, &offset);
	jlong place = (jlong)offset;

	if (status == WW_OK)
		(*env)->SetLongArrayRegion(env, out, 1, 1, &place);
	return object_store(env, status, memory, out);
}

/* @out: the index. Java has locked all of the channels. */
NATIVE(jint, channelWaitAny)
(THREAD, jlongArray channels, jlong timeout_ns, jlong cancel, jlongArray out)
{
	jlong addresses[WW_CHANNEL_WAIT_MAX];
	ww_channel *objects[WW_CHANNEL_WAIT_MAX];
	uint32_t index = 0;
	jsize count = (*env)->GetArrayLength(env, channels);

	if (count < 1 || count > WW_CHANNEL_WAIT_MAX)
		return WW_ERR_INVALID;
	(*env)->GetLongArrayRegion(env, channels, 0, count, addresses);
	for (jsize i = 0; i < count; i++)
		objects[i] = object_of(addresses[i]);
	ww_status status = ww_channel_wait_any(objects, (uint32_t)count, (uint64_t)timeout_ns,
		object_of(cancel), &index);
	jlong value = index;
	if (status == WW_OK)
		(*env)->SetLongArrayRegion(env, out, 0, 1, &value);
	return status;
}

INFO(channelInfo, ww_channel_info, ww_channel_info_get)
INDEXED_INFO(channelConsumer, ww_channel_consumer_info, ww_channel_consumer_info_get)

NATIVE(jint, channelWaitConsumers)
(THREAD, jlong channel, jint count, jlong timeout_ns, jlong cancel)
{
	return ww_channel_wait_consumers(object_of(channel), (uint32_t)count, (uint64_t)timeout_ns,
		object_of(cancel));
}

NATIVE(jint, channelEvict)(THREAD, jlong channel, jint consumer)
{
	return ww_channel_evict(object_of(channel), (uint32_t)consumer);
}

NATIVE(jint, channelNextEvent)
(THREAD, jlong channel, jlong timeout_ns, jlong cancel, jbyteArray out)
{
	struct ww_channel_event event = WW_INIT(struct ww_channel_event);
	ww_status status = ww_channel_next_event(object_of(channel), (uint64_t)timeout_ns,
		object_of(cancel), &event);

	return struct_store(env, status, &event, sizeof(event), out);
}
