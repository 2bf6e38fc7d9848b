/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - how a failure is recorded and travels
 *
 * The first function that sees a failure fills the thread's record with one of these calls and
 * returns the status; all callers forward that status with ww_try() and add nothing. WW_CANCELLED
 * goes the same way.
 *
 * A message says what was tried, what the system answered and, where there is something to do, what
 * to do. It begins in lower case and has no full stop.
 */
#ifndef WW_BASE_ERROR_H
#define WW_BASE_ERROR_H

#include <stdarg.h>
#include <stdlib.h>

#include <warpway/base.h>

#define WW_PRINTF(string, first) __attribute__((format(printf, string, first)))

/* For what fills records: the compiler keeps the code that calls it apart from the rest. */
#define WW_COLD __attribute__((cold))

/*
 * Whether a call ends with this status, whatever it has still to do: an error, or its caller's
 * ww_cancel.
 */
#define ww_is_end_of_call(status) ((status) < 0 || (status) == WW_CANCELLED)

/*
 * Forwards an error, and WW_CANCELLED, which no function inside the library handles; another
 * outcome or success goes on.
 */
#define ww_try(call)                         \
	do {                                 \
		ww_status try_ = (call);     \
		if (ww_is_end_of_call(try_)) \
			return try_;         \
	} while (0)

/* The first statement of a public call: what it hands out is nothing until it succeeds. */
#define ww_clear(out, nothing)              \
	do {                                \
		if (out)                    \
			*(out) = (nothing); \
	} while (0)

/* Our own invariant: always checked, since going on would harm the caller's data. */
#define ww_assert(condition)      \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

/*
 * A rule of the public API that only a wrong program breaks. Aborts where the build says so (while
 * developing), else fails with WW_ERR_INVALID.
 */
#ifdef WW_MISUSE_ABORTS
#define ww_require(condition, ...) ww_assert(condition)
#else
#define ww_require(condition, ...)                                   \
	do {                                                         \
		if (!(condition))                                    \
			return ww_fail(WW_ERR_INVALID, __VA_ARGS__); \
	} while (0)
#endif

/* Records a failure the library found itself. Returns @status. */
ww_status ww_fail(ww_status status, const char *format, ...) WW_PRINTF(2, 3) WW_COLD;

/* So that a compiler, or an analyzer, knows which status it was without knowing the function. */
#define ww_fail(status, ...)                         \
	({                                           \
		ww_status failed_ = (status);        \
		(void)ww_fail(failed_, __VA_ARGS__); \
		failed_;                             \
	})

/*
 * Records what the kernel answered: "<message>: <text of the error> (ENAME)", then "; <remedy>"
 * unless it is NULL; of EMFILE it is then the limit and how to raise it.
 * Returns the status that @error stands for, see ww_status_from_errno().
 */
ww_status ww_fail_errno(int error, const char *remedy, const char *format, ...)
	WW_PRINTF(3, 4) WW_COLD;

/* The same, where the caller knows better than the table what @error means here. */
ww_status ww_fail_errno_as(ww_status status, int error, const char *remedy, const char *format, ...)
	WW_PRINTF(4, 5) WW_COLD;

/* Records a failure of another domain; "<message>: <answer>" and "; <remedy>" unless it is NULL. */
ww_status ww_fail_native(ww_status status, int32_t domain, int64_t native, const char *answer,
	const char *remedy, const char *format, va_list arguments) WW_PRINTF(6, 0) WW_COLD;

/* The one table from errno to our statuses. */
ww_status ww_status_from_errno(int error);

/*
 * For a caller that tries something, handles its failure and succeeds: the record stays as it was.
 */
void ww_error_save(struct ww_error *out_record);
void ww_error_restore(const struct ww_error *record);

#endif
