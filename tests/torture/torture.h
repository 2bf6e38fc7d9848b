/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture.h - the 1st, 2nd, 3rd ... call fails, until there is none left to fail
 *
 * For each the scenario is run once. The failure must come out as a status that fits it, with a
 * sentence in the record, and nothing may be left: allocations, descriptors, mappings and what the
 * driver holds are counted before and after. Some failures may be overcome: those are listed.
 */
#ifndef WW_TESTS_TORTURE_TORTURE_H
#define WW_TESTS_TORTURE_TORTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warpway/warpway.h>

enum called {
	ALWAYS,
	ON_HOST, /* only there */
	RARELY   /* at first use, or on the way out of another failure */
};

/* What a call's failure must come out as. */
struct expectation {
	const char *function;
	int error;
	ww_status status;
	bool may_be_overcome; /* by another way, or since nobody needs it */
	enum called called;
};

/*
 * Of the driver, out of memory is WW_ERR_DEVICE_MEMORY and all else WW_ERR_DEVICE; of other
 * functions, the status is that of the expectation. These are the exceptions, beside those that all
 * have: the driver says WW_CUDA_ERROR_UNKNOWN of a descriptor that is no memory of a GPU.
 */
struct exception {
	const char *name;
	int code;
	const char *step; /* it begins so; NULL: every one */
	ww_status status;
};

/*
 * struct torture - what is tortured
 * @expectations:  every pair of a function and an error that a run may meet
 * @run:           the scenario; sets which step of it failed, or NULL
 * @begin, @end:   around each run, with nothing armed; may be NULL
 * @open, @close:  around all runs of a case; may be NULL
 * @loses_codes: failures are told by messages, which have the status and the sentence only
 * @forgives:      every failure may be overcome: what is done last cannot fail, and is done later
 *                 then
 */
struct torture {
	const struct expectation *expectations;
	size_t expectation_count;
	const struct exception *exceptions;
	size_t exception_count;
	ww_status (*run)(const char **out_step);
	void (*begin)(void);
	void (*end)(void);
	void (*open)(void);
	void (*close)(void);
	bool loses_codes;
	bool forgives;
};

/* Its value: the first expectations of a table, and the fields that are set. */
#define TORTURE_SOME(table, count, ...)                                        \
	{                                                                      \
		.expectations = table, .expectation_count = count, __VA_ARGS__ \
	}
#define TORTURE(table, ...) TORTURE_SOME(table, CHECK_COUNT(table), __VA_ARGS__)

/* A failure of `function`, with an error, must have this status; see the table. */
void torture_must_fit(const struct torture *torture, const char *function, int error,
	const char *step, ww_status status);

/* Each call of these kinds (calls.h) fails once, with the error that befits it. A whole case. */
void torture_calls(const struct torture *torture, int kinds);

/* Every call of a function, with every error of it that is listed. A whole case. */
void torture_every_error(const struct torture *torture);

/* The 1st, 2nd, ... call of one function of the driver fails; returns how many there are. */
uint64_t torture_driver_function(const struct torture *torture, const char *name, int code);

/*
 * The same for all functions of the driver that can fail. A whole case, which is skipped without
 * the fake driver.
 */
void torture_driver(const struct torture *torture, int code);

/* Defines these cases for `struct torture torture_NAME`: all, or those that need no driver. */
#define TORTURE_CASES(name)                                                   \
	TORTURE_SYSTEM_CASES(name)                                            \
	CASE_CALL(name##_driver_out_of_memory, 0,                             \
		torture_driver(&torture_##name, WW_CUDA_ERROR_OUT_OF_MEMORY)) \
	CASE_CALL(name##_driver_fails_for_no_reason, 0,                       \
		torture_driver(&torture_##name, WW_CUDA_ERROR_UNKNOWN))
#define TORTURE_SYSTEM_CASES(name)                                                               \
	CASE_CALL(name##_allocations_fail, 0, torture_calls(&torture_##name, CALLS_ALLOCATIONS)) \
	CASE_CALL(name##_system_calls_fail, 0, torture_every_error(&torture_##name))

/* Runs it until everything is where it stays from the first use on. */
void torture_warm_up(const struct torture *torture);

#endif
