/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.c - brokers: names and tokens of memories, holds, lists, watches, deliveries
 */
#include "native.h"

#include <string.h>

NATIVE(jint, brokerOpen)
(THREAD, jbyteArray address, jboolean no_start, jlong timeout_ns, jlongArray out)
{
	char text[TEXT_BYTES];
	ww_broker *broker = NULL;
	ww_status status = ww_broker_open(WW_PARAMS(struct ww_broker_params,
						  .flags = no_start ? WW_BROKER_NO_START : 0,
						  .timeout_ns = (uint64_t)timeout_ns,
						  .address = text_load(env, address, text)),
		&broker);

	return object_store(env, status, broker, out);
}

NATIVE(jbyteArray, brokerAddress)(THREAD, jlong broker)
{
	const char *address = ww_broker_address(object_of(broker));

	return address ? bytes_create(env, address, strlen(address)) : NULL;
}

INFO(brokerInfo, ww_broker_info, ww_broker_info_get)

NATIVE(jint, brokerRemove)(THREAD, jlong broker, jbyteArray name)
{
	char text[TEXT_BYTES];

	return ww_broker_remove(object_of(broker), text_load(env, name, text));
}

NATIVE(jint, brokerEnd)(THREAD, jlong broker, jbyteArray name, jbyteArray object_id)
{
	uint8_t id[WW_OBJECT_ID_BYTES];
	char text[TEXT_BYTES];

	if (object_id)
		(*env)->GetByteArrayRegion(env, object_id, 0, sizeof(id), (jbyte *)id);
	return ww_broker_end(object_of(broker), name ? text_load(env, name, text) : NULL,
		object_id ? id : NULL);
}

NATIVE(jint, brokerStat)(THREAD, jlong broker, jbyteArray name, jbyteArray out)
{
	char text[TEXT_BYTES];
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_status status = ww_broker_stat(object_of(broker), text_load(env, name, text), &info);

	return struct_store(env, status, &info, sizeof(info), out);
}

NATIVE(jint, snapshotCreate)
(THREAD, jlong broker, jbyteArray prefix, jlong contents, jlongArray out)
{
	char text[TEXT_BYTES];
	ww_snapshot *snapshot = NULL;
	ww_status status = ww_snapshot_create(object_of(broker), text_load(env, prefix, text),
		(uint64_t)contents, &snapshot);

	return object_store(env, status, snapshot, out);
}

NATIVE(void, snapshotFree)(THREAD, jlong snapshot)
{
	ww_snapshot_free(object_of(snapshot));
}

INDEXED_INFO(snapshotObject, ww_object_info, ww_snapshot_object)
INDEXED_INFO(snapshotHolder, ww_holder_info, ww_snapshot_holder)
INDEXED_INFO(snapshotHold, ww_hold_info, ww_snapshot_hold)

NATIVE(jint, watchCreate)
(THREAD, jlong broker, jbyteArray prefix, jboolean existing, jlongArray out)
{
	char text[TEXT_BYTES];
	ww_watch *watch = NULL;
	ww_status status = ww_watch_create(object_of(broker), text_load(env, prefix, text),
		existing ? WW_WATCH_EXISTING : 0, &watch);

	return object_store(env, status, watch, out);
}

NATIVE(jint, watchNext)(THREAD, jlong watch, jlong timeout_ns, jlong cancel, jbyteArray out)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	ww_status status = ww_watch_next(object_of(watch), (uint64_t)timeout_ns, object_of(cancel),
		&event);

	return struct_store(env, status, &event, sizeof(event), out);
}

NATIVE(jint, memoryPut)
(THREAD, jlong memory, jlong broker, jbyteArray name, jbyteArray params, jbyteArray array_bytes,
	jlong timeout_ns, jlong cancel)
{
	char text[TEXT_BYTES];
	struct ww_put_params put;
	struct ww_array array;
	bool ok;

	if (!struct_load(env, params, &put, sizeof(put)))
		return WW_ERR_VERSION;
	put.array = params_load(env, array_bytes, &array, sizeof(array), &ok);
	if (!ok)
		return WW_ERR_VERSION;
	return ww_memory_put(object_of(memory), object_of(broker), text_load(env, name, text), &put,
		(uint64_t)timeout_ns, object_of(cancel));
}

NATIVE(jint, memoryPublish)(THREAD, jlong memory, jlong broker, jint state)
{
	return ww_memory_publish(object_of(memory), object_of(broker), (uint32_t)state, NULL);
}

NATIVE(jint, memoryGet)
(THREAD, jlong device, jlong broker, jbyteArray name, jbyteArray params, jlong timeout_ns,
	jlong cancel, jlongArray out, jbyteArray out_info)
{
	char text[TEXT_BYTES];
	struct ww_get_params get;
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_memory *memory = NULL;

	if (!struct_load(env, params, &get, sizeof(get)))
		return WW_ERR_VERSION;
	ww_status status = ww_memory_get(object_of(device), object_of(broker),
		text_load(env, name, text), &get, (uint64_t)timeout_ns, object_of(cancel), &memory,
		&info);
	struct_store(env, status, &info, sizeof(info), out_info);
	return object_store(env, status, memory, out);
}

NATIVE(jint, memoryExport)
(THREAD, jlong memory, jlong broker, jbyteArray params, jbyteArray array_bytes, jbyteArray out)
{
	struct ww_export_params export;
	struct ww_array array;
	struct ww_token token;
	bool ok;

	if (!struct_load(env, params, &export, sizeof(export)))
		return WW_ERR_VERSION;
	export.array = params_load(env, array_bytes, &array, sizeof(array), &ok);
	if (!ok)
		return WW_ERR_VERSION;
	ww_status status = ww_memory_export(object_of(memory), object_of(broker), &export, NULL,
		&token);
	return struct_store(env, status, &token, sizeof(token), out);
}

NATIVE(jint, memoryRevoke)(THREAD, jlong memory, jlong broker)
{
	return ww_memory_revoke(object_of(memory), object_of(broker), NULL);
}

NATIVE(jint, memoryImport)
(THREAD, jlong device, jlong broker, jbyteArray token_bytes, jbyteArray params, jlongArray out,
	jbyteArray out_info)
{
	struct ww_token token;
	struct ww_import_params import;
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_memory *memory = NULL;

	if (!struct_load(env, token_bytes, &token, sizeof(token)) ||
		!struct_load(env, params, &import, sizeof(import)))
		return WW_ERR_VERSION;
	ww_status status = ww_memory_import(object_of(device), object_of(broker), &token, &import,
		NULL, &memory, &info);
	struct_store(env, status, &info, sizeof(info), out_info);
	return object_store(env, status, memory, out);
}

NATIVE(jint, holdImport)
(THREAD, jlong broker, jbyteArray token_bytes, jlongArray out, jbyteArray out_info)
{
	struct ww_token token;
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_object *object = NULL;

	if (!struct_load(env, token_bytes, &token, sizeof(token)))
		return WW_ERR_VERSION;
	ww_status status = ww_object_import(object_of(broker), &token, NULL, &object, &info);
	struct_store(env, status, &info, sizeof(info), out_info);
	return object_store(env, status, object, out);
}

NATIVE(jint, holdGet)
(THREAD, jlong broker, jbyteArray name, jbyteArray params, jlong timeout_ns, jlong cancel,
	jlongArray out, jbyteArray out_info)
{
	char text[TEXT_BYTES];
	struct ww_get_params get;
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_object *object = NULL;

	if (!struct_load(env, params, &get, sizeof(get)))
		return WW_ERR_VERSION;
	ww_status status = ww_object_get(object_of(broker), text_load(env, name, text), &get,
		(uint64_t)timeout_ns, object_of(cancel), &object, &info);
	struct_store(env, status, &info, sizeof(info), out_info);
	return object_store(env, status, object, out);
}

NATIVE(jint, holdMap)(THREAD, jlong object, jlong device, jbyteArray params, jlongArray out)
{
	struct ww_import_params import;
	ww_memory *memory = NULL;

	if (!struct_load(env, params, &import, sizeof(import)))
		return WW_ERR_VERSION;
	ww_status status = ww_object_map(object_of(object), object_of(device), &import, NULL,
		&memory);
	return object_store(env, status, memory, out);
}

NATIVE(jint, holdExport)(THREAD, jlong object, jbyteArray params, jbyteArray out)
{
	struct ww_token_params token_params;
	struct ww_token token;

	if (!struct_load(env, params, &token_params, sizeof(token_params)))
		return WW_ERR_VERSION;
	ww_status status = ww_object_export(object_of(object), &token_params, NULL, &token);
	return struct_store(env, status, &token, sizeof(token), out);
}

/* --- tokens --- */

NATIVE(jint, tokenInfo)(THREAD, jbyteArray bytes, jbyteArray out)
{
	struct ww_token token;
	struct ww_token_info info = WW_INIT(struct ww_token_info);

	if (!struct_load(env, bytes, &token, sizeof(token)))
		return WW_ERR_VERSION;
	return struct_store(env, ww_token_info_get(&token, &info), &info, sizeof(info), out);
}

NATIVE(jint, tokenToText)(THREAD, jbyteArray bytes, jbyteArray out)
{
	char text[WW_TOKEN_TEXT_BYTES] = {0};
	struct ww_token token;

	if (!struct_load(env, bytes, &token, sizeof(token)))
		return WW_ERR_VERSION;
	return struct_store(env, ww_token_to_text(&token, text), text, sizeof(text), out);
}

NATIVE(jint, tokenFromText)(THREAD, jbyteArray text_bytes, jbyteArray out)
{
	char text[TEXT_BYTES];
	struct ww_token token;
	ww_status status = ww_token_from_text(text_load(env, text_bytes, text), &token);

	return struct_store(env, status, &token, sizeof(token), out);
}

/* --- deliveries --- */

NATIVE(jint, inFlightCreate)(THREAD, jlong broker, jlongArray out)
{
	ww_in_flight *list = NULL;
	ww_status status = ww_in_flight_create(object_of(broker), NULL, &list);

	return object_store(env, status, list, out);
}

NATIVE(void, inFlightFree)(THREAD, jlong list)
{
	ww_in_flight_free(object_of(list));
}

INDEXED_INFO(inFlightGet, ww_in_flight_info, ww_in_flight_get)

/* @out: imports that nobody has made, and bytes. */
NATIVE(jint, inFlightRevoke)
(THREAD, jlong broker, jbyteArray token_bytes, jlong older_ns, jlongArray out)
{
	struct ww_token token;
	uint64_t values[2] = {0};
	bool ok;
	struct ww_in_flight_which which = WW_INIT(struct ww_in_flight_which);

	which.token = params_load(env, token_bytes, &token, sizeof(token), &ok);
	which.older_ns = (uint64_t)older_ns;
	if (!ok)
		return WW_ERR_VERSION;
	ww_status status = ww_in_flight_revoke(object_of(broker), &which, NULL, &values[0],
		&values[1]);
	if (status == WW_OK)
		(*env)->SetLongArrayRegion(env, out, 0, 2, (const jlong *)values);
	return status;
}

NATIVE(jint, inFlightLimit)(THREAD, jint count, jlong bytes)
{
	return ww_in_flight_limit((uint32_t)count, (uint64_t)bytes);
}
