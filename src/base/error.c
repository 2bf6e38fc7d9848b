/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.c - the thread's error record, and the one table from errno to statuses
 *
 * The record is thread-local storage of fixed size: recording a failure allocates nothing, so that
 * running out of memory can be reported too.
 */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static _Thread_local struct ww_error record;

const struct ww_error *ww_error_last(void)
{
	return &record;
}

void ww_error_save(struct ww_error *out_record)
{
	*out_record = record;
}

void ww_error_restore(const struct ww_error *saved)
{
	record = *saved;
}

/* Appends to the record's message as much as fits. */
static void append(const char *text)
{
	size_t used = strlen(record.message);

	snprintf(record.message + used, sizeof(record.message) - used, "%s", text);
}

ww_status ww_fail_native(ww_status status, int32_t domain, int64_t native, const char *answer,
	const char *remedy, const char *format, va_list arguments)
{
	/* Composed aside, since an argument may point into the record itself. */
	char message[WW_ERROR_MESSAGE_BYTES];

	vsnprintf(message, sizeof(message), format, arguments);
	record.status = status;
	record.domain = domain;
	record.native = native;
	memcpy(record.message, message, sizeof(message));
	if (answer) {
		append(": ");
		append(answer);
	}
	if (remedy) {
		append("; ");
		append(remedy);
	}
	return status;
}

ww_status(ww_fail)(ww_status status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	ww_fail_native(status, WW_DOMAIN_WARPWAY, 0, NULL, NULL, format, arguments);
	va_end(arguments);
	return status;
}

/* What to do about EMFILE. */
static const char *file_limit(char *out_text, size_t bytes)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_NOFILE, &limit);
	snprintf(out_text, bytes,
		"this process may have %llu descriptors; raise the limit (ulimit -n)",
		(unsigned long long)limit.rlim_cur);
	return out_text;
}

WW_PRINTF(4, 0)
static ww_status fail_errno(ww_status status, int error, const char *remedy, const char *format,
	va_list arguments)
{
	const char *text = strerrordesc_np(error);
	const char *name = strerrorname_np(error);
	char answer[96];
	char limit[96];

	if (error == EMFILE && !remedy)
		remedy = file_limit(limit, sizeof(limit));

	snprintf(answer, sizeof(answer), "%s (%s)", text ? text : "unknown error",
		name ? name : "no name");
	return ww_fail_native(status, WW_DOMAIN_ERRNO, error, answer, remedy, format, arguments);
}

ww_status ww_fail_errno(int error, const char *remedy, const char *format, ...)
{
	ww_status status = ww_status_from_errno(error);
	va_list arguments;

	va_start(arguments, format);
	fail_errno(status, error, remedy, format, arguments);
	va_end(arguments);
	return status;
}

ww_status ww_fail_errno_as(ww_status status, int error, const char *remedy, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fail_errno(status, error, remedy, format, arguments);
	va_end(arguments);
	return status;
}

ww_status ww_status_from_errno(int error)
{
	switch (error) {
	case ENOMEM:
	case ENOSPC:
	case ENOBUFS:
		return WW_ERR_NO_MEMORY;
	case EMFILE:
	case ENFILE:
	case EAGAIN: /* of pthread_create(): no more threads; sockets handle theirs before */
	case ETOOMANYREFS:
		return WW_ERR_LIMIT;
	case EACCES:
	case EPERM:
		return WW_ERR_ACCESS;
	case EBADF:
	case ENOTSOCK:
	case ENOTCONN:
		return WW_ERR_DESCRIPTOR;
	case EPIPE:
	case ECONNRESET:
	case ECONNREFUSED:
		return WW_ERR_PEER_LOST;
	case EOVERFLOW:
	case EFBIG:
		return WW_ERR_OVERFLOW;
	case ENOSYS:
	case EOPNOTSUPP:
		return WW_ERR_UNSUPPORTED;
	default:
		return WW_ERR_SYSTEM;
	}
}

struct status_text {
	ww_status status;
	const char *name;
	const char *text;
};

#define STATUS(status, text)          \
	{                             \
		status, #status, text \
	}

static const struct status_text statuses[] = {
	STATUS(WW_OK, "success"),
	STATUS(WW_NOT_READY, "not finished yet"),
	STATUS(WW_TIMED_OUT, "the time limit passed"),
	STATUS(WW_END, "there is no more"),
	STATUS(WW_CANCELLED, "cancelled by the caller"),
	STATUS(WW_ERR_INVALID, "an argument is not accepted"),
	STATUS(WW_ERR_OVERFLOW, "a size or an offset is too large"),
	STATUS(WW_ERR_NO_MEMORY, "out of memory"),
	STATUS(WW_ERR_DEVICE_MEMORY, "the device is out of memory"),
	STATUS(WW_ERR_LIMIT, "out of descriptors, mappings or threads"),
	STATUS(WW_ERR_UNSUPPORTED, "not possible with this device, driver or memory"),
	STATUS(WW_ERR_NO_DEVICE, "no such device, or it cannot be used"),
	STATUS(WW_ERR_DEVICE, "the device or its driver failed"),
	STATUS(WW_ERR_ACCESS, "more access than was granted"),
	STATUS(WW_ERR_DESCRIPTOR, "not the file descriptor that is needed"),
	STATUS(WW_ERR_MISMATCH, "a type, shape or other description does not fit"),
	STATUS(WW_ERR_PROTOCOL, "not a Warpway message"),
	STATUS(WW_ERR_TRUNCATED, "a message ended too early"),
	STATUS(WW_ERR_VERSION, "a version this library does not know"),
	STATUS(WW_ERR_PEER_LOST, "the other process closed its end or died"),
	STATUS(WW_ERR_FORKED, "not possible in a forked child"),
	STATUS(WW_ERR_SYSTEM, "refused by the operating system"),
	STATUS(WW_ERR_NOT_FOUND, "no such object"),
	STATUS(WW_ERR_EXISTS, "the name is taken"),
	STATUS(WW_ERR_QUOTA, "the quota is used up"),
	STATUS(WW_ERR_STATE, "not in the state for this"),
	STATUS(WW_ERR_NO_BROKER, "no broker answers"),
	STATUS(WW_ERR_GIVEN_UP, "given up"),
	STATUS(WW_ERR_EVICTED, "a consumer of a channel was evicted"),
	STATUS(WW_ERR_UNAVAILABLE, "the service takes no calls"),
	STATUS(WW_ERR_DEPENDENCY_FAILED, "a call that this one depends on has failed"),
};

static const struct status_text *find_text(ww_status status)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		if (statuses[i].status == status)
			return &statuses[i];
	}
	return NULL;
}

const char *ww_status_name(ww_status status)
{
	const struct status_text *found = find_text(status);

	return found ? found->name : "WW_UNKNOWN";
}

const char *ww_status_text(ww_status status)
{
	const struct status_text *found = find_text(status);

	return found ? found->text : "unknown status";
}

const char *ww_version(void)
{
	return WW_VERSION;
}
