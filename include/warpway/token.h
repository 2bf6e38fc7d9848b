/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/token.h - plain bytes that name a memory, or a span of one, to any process
 *
 * A token can be sent by any means: a pipe, a file, an environment variable, an MPI message. It
 * names an object of a broker, and contains a secret. A process that has the token gets the access
 * that the token was made for, whatever the object's mode is. Keep a token secret, like a password.
 *
 * A token is valid as long as its object is in its broker, unless it is revoked (broker.h,
 * ww_memory_revoke()). Until it is imported, a hold in escrow can keep the object there (broker.h,
 * ww_memory_export()).
 *
 * A token has a fixed size, a version and a checksum. Its text form has the same content in
 * characters that are safe in a command line, an environment variable or JSON: "ww1_" and base64url
 * (RFC 4648, section 5) without padding, and without trailing zero bytes.
 *
 * The calls of this header only read the bytes. If they accept a token, the token may still open
 * nothing, because only the broker can check that.
 *
 * Threads: every function may be called from any thread.
 */
#ifndef WARPWAY_TOKEN_H
#define WARPWAY_TOKEN_H

#include <warpway/array.h>
#include <warpway/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_broker ww_broker; /* see broker.h */

#define WW_TOKEN_BYTES 512
#define WW_TOKEN_TEXT_BYTES \
	696 /* 4 for "ww1_", 683 for 512 bytes, the ending zero, rounded up to 8 */
/* For every escrow_ns: how long a broker keeps an object for a token, without another holder. */
#define WW_ESCROW_DEFAULT UINT64_C(0)      /* 60 seconds */
#define WW_ESCROW_NONE    (UINT64_MAX - 1) /* no escrow: another holder must keep the object */

#define WW_ADDRESS_BYTES 112 /* of a broker's address with its ending zero */

/**
 * struct ww_token - the bytes
 */
struct ww_token {
	uint8_t bytes[WW_TOKEN_BYTES];
};

/*
 * A flag for every export: the token is a delivery. It keeps its object as long as this process
 * lives, and then for escrow_ns, until it was imported `uses` times. Each import counts, also in a
 * process that holds the object already. After the last import the token opens nothing any more.
 * `uses` must not be 0, and escrow_ns must not be WW_ESCROW_NONE. The calls of in_flight.h list,
 * revoke and limit deliveries that are in flight. A broker with version 5 of the protocol or less
 * ignores the flag.
 */
#define WW_EXPORT_DELIVERY UINT32_C(0x1)

/**
 * struct ww_token_params - how long a token keeps its object
 * @struct_size:  sizeof(struct ww_token_params)
 * @uses:         number of imports after which the escrow ends early; 0: only its time ends it. The
 *                token still opens the object while the object exists, unless the token is a
 *                delivery
 * @escrow_ns:    how long the broker keeps the object for the token; WW_ESCROW_DEFAULT (0);
 *                WW_ESCROW_NONE. For a delivery, the time begins when this process ends
 * @flags:        WW_EXPORT_... bits
 * @reserved:     0
 */
struct ww_token_params {
	uint32_t struct_size;
	uint32_t uses;
	uint64_t escrow_ns;
	uint32_t flags;
	uint32_t reserved;
};

/* What an object is. */
enum {
	WW_OBJECT_MEMORY = 1,
	WW_OBJECT_TIMELINE = 2,
	WW_OBJECT_EVENT = 3,
	WW_OBJECT_BARRIER = 4,
	WW_OBJECT_CHANNEL = 5,
	WW_OBJECT_SERVICE = 6,
	WW_OBJECT_POOL = 7,
	WW_OBJECT_WORK_QUEUE = 8
};

/* ww_token_info.flags */
/* a slice of a pool: @object_id is the pool's, offset and total_bytes count in its chunk */
#define WW_TOKEN_SLICE UINT32_C(0x1)
/* memory that was wrapped: it lives as long as its owner keeps it */
#define WW_TOKEN_FOREIGN UINT32_C(0x2)
#define WW_TOKEN_COUNTED UINT32_C(0x4) /* its escrow counts imports (ww_export_params.uses) */
/* a slice of a pool, by a process that had imported it: pool.h says how long it is valid */
#define WW_TOKEN_PASSED UINT32_C(0x8)

/**
 * struct ww_token_info - the content of a token, without its secret
 * @struct_size:  set by the caller to sizeof(struct ww_token_info)
 * @kind:         WW_OBJECT_...
 * @access:       WW_ACCESS_... of device.h: the most access that the token grants
 * @broker_uid:   the user whose broker made it
 * @offset:       bytes from the start of the memory to the span
 * @bytes:        of the span
 * @total_bytes:  of the memory
 * @generation:   of the object in its broker
 * @has_array:    1: @array is set; its offset counts from the start of the span
 * @flags:        WW_TOKEN_... bits
 * @object_id:    the same in every process
 * @home_uuid:    device that holds the bytes
 * @broker_id:    of the broker that made it
 * @address:      where that broker listened when the token was made; its path may differ in a
 *                container
 * @array:        how an array lies in the span
 * @slice:        with WW_TOKEN_SLICE: a number of the slice, which no other slice of the pool has
 *                ever had; else 0. Deliveries of a slice and other tokens of it have two numbers
 */
struct ww_token_info {
	uint32_t struct_size;
	uint32_t kind;
	uint32_t access;
	uint32_t broker_uid;
	uint64_t offset;
	uint64_t bytes;
	uint64_t total_bytes;
	uint64_t generation;
	uint32_t has_array;
	uint32_t flags;
	uint8_t object_id[WW_OBJECT_ID_BYTES];
	uint8_t home_uuid[WW_DEVICE_UUID_BYTES];
	uint8_t broker_id[16];
	char address[WW_ADDRESS_BYTES];
	struct ww_array array;
	uint64_t slice;
};

/**
 * ww_token_info_get() - read a token
 * @token:  borrowed; may come from anywhere
 * @info:   the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_ERR_PROTOCOL (not a token, damaged, or a field is invalid); WW_ERR_VERSION;
 *         WW_ERR_INVALID (struct_size is not set).
 */
WW_API ww_status ww_token_info_get(const struct ww_token *token, struct ww_token_info *info);

/**
 * ww_token_to_text() - the text form of a token
 * @token:     borrowed; must be whole
 * @out_text:  the caller's, of WW_TOKEN_TEXT_BYTES; ended by a zero byte
 *
 * Return: WW_OK; as ww_token_info_get() if the bytes are not a token.
 */
WW_API ww_status ww_token_to_text(const struct ww_token *token, char *out_text);

/**
 * ww_token_from_text() - a token from its text form
 * @text:       borrowed; white space around it is skipped
 * @out_token:  filled on success, with a token that is whole
 *
 * Return: WW_OK; WW_ERR_PROTOCOL (not the text of a token, or damaged); WW_ERR_VERSION.
 */
WW_API ww_status ww_token_from_text(const char *text, struct ww_token *out_token);

#ifdef __cplusplus
}
#endif

#endif
