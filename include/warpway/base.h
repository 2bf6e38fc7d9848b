/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/base.h - statuses, the error record, structs that grow, version and log
 *
 * Every call that can fail returns a ww_status. Zero is success. A negative status is an error:
 * forward it unchanged. A positive status is an outcome that the caller asked about: handle it
 * where it occurs. The thread's error record says why a call failed. It is filled once, where the
 * failure is first seen, and says what was tried, what the system answered and what to do.
 *
 * All calls have their arguments in the same order:
 *   1. the object, or the device or stream that an object is made for;
 *   2. other objects that take part: the stream, the device, the broker;
 *   3. the token, name, handle or descriptor that names the object; other inputs, such as a value,
 *      an offset or a rank;
 *   4. the params, or the flags of a call without params;
 *   5. timeout_ns and cancel, of a call that may wait;
 *   6. the outputs. The caller sets the struct_size of one that grows: an info, an event, a frame.
 * The access is the first field of the params; if they have none, or there are none, it follows the
 * object.
 *
 * Threads: every function here may be called from any thread.
 */
#ifndef WARPWAY_BASE_H
#define WARPWAY_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WW_API __attribute__((visibility("default")))
#else
#define WW_API
#endif

#define WW_VERSION_MAJOR 0
#define WW_VERSION_MINOR 2
#define WW_VERSION_PATCH 0
#define WW_VERSION       "0.2.0"

typedef int32_t ww_status;

/* No limit on time, for every timeout_ns. */
#define WW_FOREVER UINT64_MAX

#define WW_PROGRAM_BYTES 32 /* of a program's name or version, with its ending zero */

/*
 * Structs that grow: every params and info struct begins with `uint32_t struct_size`, its sizeof as
 * the program was compiled. Fields are only ever appended, and 0 in a field means "as before it
 * existed". These macros set it:
 *
 *   ww_memory_create(device, WW_PARAMS(struct ww_memory_params, .bytes = 1 << 20), &memory);
 *
 *   struct ww_memory_info info = WW_INIT(struct ww_memory_info);
 *   ww_memory_info_get(memory, &info);
 *
 * WW_PARAMS() is the address of a struct that lasts until the end of the block around it. These
 * macros are for C; the C++ header has its own builders.
 */
#define WW_PARAMS(type, ...) (&(type){.struct_size = sizeof(type), __VA_ARGS__})
#define WW_INIT(type)        ((type){.struct_size = sizeof(type)})

enum {
	WW_OK = 0,

	/* outcomes: not failures */
	WW_NOT_READY = 1, /* the work has not finished yet */
	/* the time limit passed first; nothing was taken or changed, unless the call says so */
	WW_TIMED_OUT = 2,
	WW_END = 3, /* nothing more follows */
	/* the caller's ww_cancel was set first (cancel.h); else as WW_TIMED_OUT */
	WW_CANCELLED = 4,

	/* errors */
	WW_ERR_INVALID = -1,       /* the call does not accept an argument */
	WW_ERR_OVERFLOW = -2,      /* a size or an offset is too large for the computation */
	WW_ERR_NO_MEMORY = -3,     /* the process or the machine is out of memory */
	WW_ERR_DEVICE_MEMORY = -4, /* the device is out of memory */
	WW_ERR_LIMIT = -5,         /* out of descriptors, mappings or threads */
	WW_ERR_UNSUPPORTED = -6,   /* this device, driver or kind of memory does not support it */
	WW_ERR_NO_DEVICE = -7,     /* the device does not exist, or it cannot be used */
	WW_ERR_DEVICE = -8,        /* the device or its driver failed */
	WW_ERR_ACCESS = -9,        /* the call asks for more access than was granted */
	WW_ERR_DESCRIPTOR = -10,   /* a file descriptor is not of the right kind */
	WW_ERR_MISMATCH = -11,     /* a type, shape or other description does not match */
	WW_ERR_PROTOCOL = -12,     /* bytes from a peer that are not a Warpway message */
	WW_ERR_TRUNCATED = -13,    /* a message from a peer ended too early */
	WW_ERR_VERSION = -14,      /* the peer uses a version that this library does not support */
	WW_ERR_PEER_LOST = -15,    /* the other process closed its end or died */
	WW_ERR_FORKED = -16,       /* a child made by fork() uses its parent's object or a GPU */
	WW_ERR_SYSTEM = -17,       /* the operating system refused a system call */
	WW_ERR_NOT_FOUND = -18,    /* there is no object of this name or token, or it has ended */
	WW_ERR_EXISTS = -19,       /* the name is taken */
	WW_ERR_QUOTA = -20,        /* the user's share of the broker is used up */
	WW_ERR_STATE = -21,        /* the object is not in the state that the call needs */
	WW_ERR_NO_BROKER = -22,    /* no broker listens at the address, or it does not answer */
	WW_ERR_GIVEN_UP = -23,     /* the sender has withdrawn the request */
	WW_ERR_EVICTED = -24,      /* a channel's producer has ended a consumer's subscription */
	WW_ERR_UNAVAILABLE = -25,  /* the service takes no calls, or no more calls */
	WW_ERR_DEPENDENCY_FAILED = -26 /* a call that this one depends on has failed */
};

/* Where the native code of an error record comes from. */
enum {
	WW_DOMAIN_WARPWAY = 0, /* found by the library itself; native is 0 */
	WW_DOMAIN_ERRNO = 1,   /* native is an errno value */
	WW_DOMAIN_CUDA = 2     /* native is a CUresult */
};

#define WW_ERROR_MESSAGE_BYTES 240

/**
 * struct ww_error - why a call of this thread last failed
 * @status:   the error that the call returned; WW_OK if no call of this thread has failed yet
 * @domain:   WW_DOMAIN_...
 * @native:   the code of that domain
 * @message:  one line of UTF-8, ended by a zero byte, cut at 239 bytes
 */
struct ww_error {
	ww_status status;
	int32_t domain;
	int64_t native;
	char message[WW_ERROR_MESSAGE_BYTES];
};

/**
 * ww_error_last() - the error record of the calling thread
 *
 * Only a failing call changes it, so read it right after the failure. After a positive status, such
 * as WW_TIMED_OUT, it is still that of an earlier failure, unless the description of the call says
 * that the record is filled in, such as "WW_TIMED_OUT (the record names the consumer)". If a call
 * waits for an object's name, and the name does not come in time, the record (WW_TIMED_OUT) always
 * names the object and the limit. ww_status_text() tells what such a status means.
 *
 * Return: never NULL; owned by the thread, valid until it ends, overwritten by its next failure.
 */
WW_API const struct ww_error *ww_error_last(void);

/**
 * ww_status_name() - the name of a status, such as "WW_ERR_ACCESS"
 *
 * Return: a constant string; "WW_UNKNOWN" for a number that is not a status.
 */
WW_API const char *ww_status_name(ww_status status);

/**
 * ww_status_text() - what a status means, in a few words
 *
 * Return: a constant string without a full stop.
 */
WW_API const char *ww_status_text(ww_status status);

/**
 * ww_version() - the version of the library in use, "MAJOR.MINOR.PATCH"
 *
 * Compare it with WW_VERSION, the version of the headers with which a program was compiled.
 */
WW_API const char *ww_version(void);

/**
 * ww_log_fn - receives one line of the library's log
 * @context:  as given to ww_log_set()
 * @line:     without a newline; valid during the call only
 *
 * Called on the thread that logs, with no lock of the library held. It must not call the library.
 */
typedef void (*ww_log_fn)(void *context, const char *line);

/**
 * ww_log_set() - set the function that receives the library's debug log
 * @fn:       NULL: no log, which is the default
 * @context:  the argument of @fn; must stay valid until another ww_log_set() has returned and every
 *            call into the library that was running at that time has ended
 *
 * The library prints nothing by itself, with one exception: if a process is started with
 * WARPWAY_DEBUG=1 in its environment, the log goes to standard error.
 */
WW_API void ww_log_set(ww_log_fn fn, void *context);

#ifdef __cplusplus
}
#endif

#endif
