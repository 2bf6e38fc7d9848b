/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_pickle.c - what pickles carry
 *
 * A pickle of an object names one function, unpickle(), and bytes:
 *
 *   1 byte   version of this layout
 *   1 byte   flags: READY, SENT
 *   2 bytes  length of the token
 *   n bytes  the token, without the zeros at its end
 *   with READY: 8 bytes a value, 2 bytes and n bytes the token of a timeline
 *   with SENT: 8 bytes a random number, 4 bytes how often a process may receive it
 *
 * SENT is for slices of pools, see received.h.
 *
 * Numbers are little-endian. What is received is taken as from an untrusted process: the library
 * checks every token.
 */
#include "token.h"

#include <endian.h>

#include "array.h"
#include "channel.h"
#include "client.h"
#include "memory.h"
#include "ready_point.h"
#include "received.h"
#include "work_queue.h"

#define PICKLE_VERSION 1
#define PICKLE_READY   1 /* flags */
#define PICKLE_SENT    2

struct payload {
	uint8_t bytes[4 + WW_TOKEN_BYTES + 10 + WW_TOKEN_BYTES + 12];
	size_t count;
};

static void payload_number(struct payload *payload, uint64_t value, size_t bytes)
{
	const uint64_t little = htole64(value);

	memcpy(payload->bytes + payload->count, &little, bytes);
	payload->count += bytes;
}

static bool is_zero(const uint8_t bytes[sizeof(uint64_t)])
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word == 0;
}

static void payload_token(struct payload *payload, const struct ww_token *token)
{
	size_t bytes = WW_TOKEN_BYTES;

	/* About half of a token is zeros, so they are looked at by 8. */
	while (bytes > 0 && is_zero(token->bytes + bytes - sizeof(uint64_t)))
		bytes -= sizeof(uint64_t);
	while (bytes > 0 && token->bytes[bytes - 1] == 0)
		bytes--;
	payload_number(payload, bytes, 2);
	memcpy(payload->bytes + payload->count, token->bytes, bytes);
	payload->count += bytes;
}

/* (function, (bytes,)) */
static PyObject *pickle_of(PyObject *function, const struct payload *payload)
{
	PyObject *bytes = PyBytes_FromStringAndSize((const char *)payload->bytes,
		(Py_ssize_t)payload->count);
	PyObject *arguments = bytes ? PyTuple_Pack(1, bytes) : NULL;
	PyObject *made = arguments ? PyTuple_Pack(2, function, arguments) : NULL;

	Py_XDECREF(bytes);
	Py_XDECREF(arguments);
	return made;
}

/* Return: borrowed; NULL with an exception. */
static PyObject *unpickle_function(struct core *core)
{
	PyObject *module = core->unpickle ? NULL : PyImport_ImportModule("warpway");
	PyObject *found = module ? PyObject_GetAttrString(module, "_unpickle") : NULL;

	Py_XDECREF(module);
	if (core->unpickle)
		Py_XDECREF(found); /* another thread was faster */
	else
		core->unpickle = found;
	return core->unpickle;
}

static PyObject *pickle_sent(struct core *core, const struct ww_token *token,
	const struct ww_token *timeline, uint64_t value, const struct sent *sent)
{
	PyObject *function = unpickle_function(core);
	struct payload payload;

	payload.count = 0; /* alone: the bytes are many */
	if (!function)
		return NULL;
	payload_number(&payload, PICKLE_VERSION, 1);
	payload_number(&payload, (timeline ? PICKLE_READY : 0) | (sent->number ? PICKLE_SENT : 0),
		1);
	payload_token(&payload, token);
	if (timeline) {
		payload_number(&payload, value, 8);
		payload_token(&payload, timeline);
	}
	if (sent->number) {
		payload_number(&payload, sent->number, 8);
		payload_number(&payload, sent->uses, 4);
	}
	return pickle_of(function, &payload);
}

/* Another thread may set the point of the array anew while the timeline is exported. */
PyObject *token_pickle_ready(struct core *core, const struct ww_token *token,
	const struct ready_point *point, const struct sent *sent)
{
	const struct ready_point taken = {Py_XNewRef(point->timeline), point->value};
	ww_status status = ready_point_query(&taken);
	bool is_pending = status != WW_OK && status != STATUS_RAISED;
	struct ww_token timeline;
	PyObject *made;

	if (is_pending)
		status = ready_point_export(core, &taken, &timeline);
	made = status == WW_OK
		? pickle_sent(core, token, is_pending ? &timeline : NULL, taken.value, sent)
		: error_raise(core, status);
	Py_XDECREF(taken.timeline);
	return made;
}

PyObject *token_pickle(struct core *core, const struct ww_token *token)
{
	const struct sent none = {.number = 0};

	return pickle_sent(core, token, NULL, 0, &none);
}

/* --- what arrives --- */

struct cursor {
	const uint8_t *bytes;
	size_t left;
	bool is_short;
};

static uint64_t read_number(struct cursor *cursor, size_t bytes)
{
	uint64_t value = 0;

	if (cursor->left < bytes) {
		cursor->is_short = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)cursor->bytes[i] << 8 * i;
	cursor->bytes += bytes;
	cursor->left -= bytes;
	return value;
}

static void read_token(struct cursor *cursor, struct ww_token *token)
{
	size_t bytes = (size_t)read_number(cursor, 2);

	memset(token, 0, sizeof(*token));
	if (bytes > sizeof(token->bytes) || bytes > cursor->left) {
		cursor->is_short = true;
		return;
	}
	memcpy(token->bytes, cursor->bytes, bytes);
	cursor->bytes += bytes;
	cursor->left -= bytes;
}

struct received {
	struct ww_token token;
	bool has_ready;
	struct ww_token timeline;
	uint64_t value;
	struct sent sent;
};

static bool read_payload(struct core *core, PyObject *bytes, struct received *received)
{
	struct cursor cursor = {.is_short = false};
	uint64_t version, flags;
	Py_ssize_t count;
	char *data;

	if (PyBytes_AsStringAndSize(bytes, &data, &count) < 0)
		return false;
	cursor.bytes = (const uint8_t *)data;
	cursor.left = (size_t)count;
	version = read_number(&cursor, 1);
	flags = read_number(&cursor, 1);
	read_token(&cursor, &received->token);
	received->has_ready = flags & PICKLE_READY;
	if (received->has_ready) {
		received->value = read_number(&cursor, 8);
		read_token(&cursor, &received->timeline);
	}
	received->sent = (struct sent){.number = 0};
	if (flags & PICKLE_SENT) {
		received->sent.number = read_number(&cursor, 8);
		received->sent.uses = (uint32_t)read_number(&cursor, 4);
	}
	if (version == PICKLE_VERSION && !(flags & ~(uint64_t)(PICKLE_READY | PICKLE_SENT)) &&
		!cursor.is_short && cursor.left == 0)
		return true;
	error_raise_text(core, WW_ERR_PROTOCOL,
		"this pickle is not one of an object of Warpway, or of another version");
	return false;
}

struct hold_call {
	const struct ww_token *token;
	ww_object *object;
};

static ww_status run_hold(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct hold_call *args = call;

	(void)timeout_ns;
	return ww_object_import(NULL, args->token, cancel, &args->object, NULL);
}

/*
 * The broker refuses the secret of a counted token that was received as often as it may be, or
 * revoked. It is the kernel that refuses a connection.
 */
static PyObject *fail_received(struct core *core, ww_status status,
	const struct ww_token_info *info)
{
	bool is_refused = status == WW_ERR_ACCESS && info->flags & WW_TOKEN_COUNTED &&
		ww_error_last()->domain != WW_DOMAIN_ERRNO;

	if (status != WW_ERR_NOT_FOUND && !is_refused)
		return error_raise(core, status);
	return error_raise_text(core, WW_ERR_NOT_FOUND,
		"a pickle is one delivery, and this one was received before, was revoked, or its sender is "
		"gone" RECEIVE_AGAIN);
}

/*
 * The timeline of a ready point. It ends with the process that made it: then nobody can say whether
 * the bytes are ready.
 */
static PyObject *open_ready(struct core *core, const struct ww_token *token)
{
	ww_timeline *timeline;
	ww_status status = token_timeline(core, token, &timeline);

	if (status == WW_ERR_NOT_FOUND)
		return error_raise_text(core, WW_ERR_PEER_LOST,
			"the process that was to write this array has ended, or closed its timeline, before "
			"the array arrived: whether its bytes are ready is not known");
	return status == WW_OK ? timeline_object(core, timeline) : error_raise(core, status);
}

/* Return: a Memory; NULL with an exception. */
static PyObject *hold_memory(struct core *core, const struct ww_token *token,
	const struct ww_token_info *info)
{
	struct hold_call call = {.token = token};
	/* Of an object of a broker, the broker is always asked. */
	ww_status status = info->flags & WW_TOKEN_SLICE ? wait_brief(core, run_hold, &call, NULL)
							: wait_run(core, run_hold, &call, 0, NULL);

	return status == WW_OK ? memory_object_held(core, call.object, token, info)
			       : fail_received(core, status, info);
}

PyObject *token_hold(struct core *core, const struct ww_token *token,
	const struct ww_token_info *info)
{
	struct hold_call call = {.token = token};
	ww_memory *mapped = token_map_at_once(core, token, info);
	ww_status status = mapped ? WW_OK : wait_brief(core, run_hold, &call, NULL);

	if (status != WW_OK)
		return error_raise(core, status);
	return mapped ? memory_object_imported(core, mapped)
		      : memory_object_held(core, call.object, token, info);
}

static PyObject *receive_memory(struct core *core, const struct received *received,
	const struct ww_token_info *info)
{
	ww_memory *mapped;
	PyObject *memory, *array;

	if (!received_check(core, &received->sent))
		return NULL;
	mapped = token_map_at_once(core, &received->token, info);
	memory = mapped ? memory_object_imported(core, mapped)
			: hold_memory(core, &received->token, info);
	if (mapped || memory)
		received_note(&received->sent);
	if (!memory || !info->has_array)
		return memory;
	array = array_object(core, memory, &info->array);
	Py_DECREF(memory);
	if (array && received->has_ready &&
		!array_set_ready(array, open_ready(core, &received->timeline), received->value))
		Py_CLEAR(array);
	return array;
}

static PyObject *receive_pool(struct core *core, const struct ww_token *token,
	const struct ww_token_info *info)
{
	ww_device *device = token_used_device(core, info);
	ww_pool *pool;
	ww_status status = pool_import(token, device, &pool);

	handle_return(&device_class, device);
	return status == WW_OK ? pool_object(pool, info) : fail_received(core, status, info);
}

PyObject *token_unpickle(PyObject *module, PyObject *payload)
{
	struct core *core = core_of_module(module);
	struct received received;
	struct ww_token_info info;

	if (!core || !read_payload(core, payload, &received) ||
		!token_info(core, &received.token, &info))
		return NULL;
	switch (info.flags & WW_TOKEN_SLICE ? WW_OBJECT_MEMORY : info.kind) {
	case WW_OBJECT_MEMORY:
		return receive_memory(core, &received, &info);
	case WW_OBJECT_TIMELINE:
		return token_open_timeline(core, &received.token);
	case WW_OBJECT_BARRIER:
		return barrier_object(core, &received.token);
	case WW_OBJECT_POOL:
		return receive_pool(core, &received.token, &info);
	case WW_OBJECT_CHANNEL:
		return channel_open_token(core, &received.token, Py_None);
	case WW_OBJECT_WORK_QUEUE:
		return work_queue_open_token(core, &received.token, Py_None);
	case WW_OBJECT_SERVICE:
		return client_open_token(core, &received.token);
	default:
		return token_fail_kind(core);
	}
}
