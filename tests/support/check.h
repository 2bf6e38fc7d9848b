/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - cases, what they claim, and the runner that reports them
 *
 * A test program is its cases, each defined by CASE() in any of its files, and its roles, each
 * defined by ROLE(). Without arguments the program runs every case in order and reports in the Test
 * Anything Protocol. `--only NAME` runs one case, `--part 1/3` the first of three parts of them,
 * and `--list` lists them. `--device-only` before these leaves out the cases that call no device,
 * for a run beside that of another device. `--role NAME ARGUMENT...` makes the process one of the
 * helpers that cases start (see child.h).
 *
 * A claim that does not hold ends its case, wherever it stands: the runner goes on with the next
 * one. In a helper, in a forked child or in another thread there is no next case, so it ends the
 * process with status 1. Functions called by a case may claim too.
 *
 * We do not use cmocka's runner here: the release in Debian 12 reports a skipped case as "not ok",
 * and its assertions work in the main thread of one process only.
 *
 * Every case runs under an alarm, so a hang is a failure with a name. Where everything takes
 * longer, as under a sanitizer, WW_TEST_SLOWNESS (default 1) multiplies this and every other limit
 * on time. A case that is skipped says why. A case that is expected to fail runs in a process of
 * its own, since it may well crash.
 */
#ifndef WW_TESTS_SUPPORT_CHECK_H
#define WW_TESTS_SUPPORT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warpway/base.h>

#define CHECK_COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct check_case {
	const char *name;
	void (*run)(void);
	uint64_t needs; /* bits of the suite's own, for its skip() */
	const char *file;
	int line;
	struct check_case *next; /* by file and line */
};

/* Enters a case into the list of those that the program runs. */
void check_register(struct check_case *item);

/* The first case; NULL: there is none. */
const struct check_case *check_first(void);

/*
 * Defines a case. It registers itself before main(), so it is listed nowhere else:
 *
 *   CASE(memory_is_zero_at_first, WW_CAP_EXPORT)
 *   {
 *           MUST(...);
 *   }
 */
#define CASE(case_name, case_needs)                                                           \
	static void case_name(void);                                                          \
	__attribute__((constructor)) static void case_name##_register(void)                   \
	{                                                                                     \
		static struct check_case self = {#case_name, case_name, case_needs, __FILE__, \
			__LINE__, NULL};                                                      \
                                                                                              \
		check_register(&self);                                                        \
	}                                                                                     \
	static void case_name(void)

/* Defines a case that is one call, such as CASE_CALL(pool_is_zero, 0, be_zero(WW_MEMORY_VMM)). */
#define CASE_CALL(case_name, case_needs, call) \
	CASE(case_name, case_needs)            \
	{                                      \
		call;                          \
	}

/*
 * Defines a case as CASE() does, which one call precedes and another one follows. A claim that does
 * not hold ends the case without the second call.
 */
#define CASE_BETWEEN(case_name, case_needs, begin_call, end_call) \
	static void case_name##_between(void);                    \
	CASE(case_name, case_needs)                               \
	{                                                         \
		begin_call;                                       \
		case_name##_between();                            \
		end_call;                                         \
	}                                                         \
	static void case_name##_between(void)

struct check_role {
	const char *name;
	void (*run)(int count, char **arguments);
	struct check_role *next; /* in no order */
};

/* Adds a role to those of the program. It ends the program if another role has the same name. */
void check_register_role(struct check_role *role);

/*
 * Defines a role, and registers it as CASE() registers a case. `--role NAME` and child_start() use
 * its name. The body sees `count` and `arguments`, those that follow the name:
 *
 *   ROLE(reader)
 *   {
 *           MUST(count == 1);
 *           role_tell("opened %s", arguments[0]);
 *   }
 */
#define ROLE(role_name)                                                                    \
	static void role_name##_role(int count, char **arguments);                         \
	__attribute__((constructor)) static void role_name##_register(void)                \
	{                                                                                  \
		static struct check_role this_role = {#role_name, role_name##_role, NULL}; \
                                                                                           \
		check_register_role(&this_role);                                           \
	}                                                                                  \
	static void role_name##_role(__attribute__((unused)) int count,                    \
		__attribute__((unused)) char **arguments)

/*
 * struct check_suite - what a program tests
 * @skip:     why a case cannot run here, or NULL; may be NULL itself
 * @doomed:   why a case is known to fail here, or NULL; may be NULL itself
 * @warm_up:  called once before the first case; may be NULL
 * @before:   called before every case, as a part of it; may be NULL
 * @after:    called after every case that has not failed, as a part of it; may be NULL
 * @leaks:    compare descriptors and mappings before and after every case
 * @no_device: the bit in `needs` of cases that call no device; 0: none
 * @needs:    what every case needs
 */
struct check_suite {
	const char *name;
	const char *(*skip)(const struct check_case *item);
	const char *(*doomed)(const struct check_case *item);
	void (*warm_up)(void);
	void (*before)(void);
	void (*after)(void);
	bool leaks;
	uint64_t no_device;
	uint64_t needs;
};

/* Runs the program; what it returns is for main() to return. */
int check_main(const struct check_suite *suite, int argc, char **argv);

/* Defines main(): run is check_main, or one of those of needs.h; the fields of the suite follow. */
#define CHECK_MAIN(run, ...)                                                      \
	int main(int argc, char **argv)                                           \
	{                                                                         \
		return run(&(const struct check_suite){__VA_ARGS__}, argc, argv); \
	}

/* WW_TEST_SLOWNESS, a number from 1 to 1000: what to multiply a limit on time with. */
unsigned int check_slowness(void);

/* Has this called after each case that failed or was skipped, to end what the case has left. */
void check_after_failure(void (*clean)(void));

/* Gives the case that runs the whole of its time again: for a case that repeats many others. */
void check_renew_alarm(void);

/*
 * Whether this build has a sanitizer. GCC's ones keep locks over the fork() of a process that has
 * several threads: the child of one that allocates then may wait for ever (address), or cannot
 * start threads (thread).
 */
#if defined(__SANITIZE_ADDRESS__)
#define CHECK_SANITIZES_ADDRESS true
#else
#define CHECK_SANITIZES_ADDRESS false
#endif
#if defined(__SANITIZE_THREAD__)
#define CHECK_SANITIZES_THREAD true
#else
#define CHECK_SANITIZES_THREAD false
#endif

/* Ends the case as skipped, for a reason only found out on the way. */
_Noreturn void check_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the case as failed; the macros below call it. */
_Noreturn void check_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Names the row of a table that is tried; a claim that fails says it. NULL: none, as at first. */
void check_row(const char *name);

/* A line for the reader of the report. */
void check_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

void check_equal(const char *file, int line, const char *text, int64_t expected, int64_t got);
void check_same_bytes(const char *file, int line, const char *text, const void *expected,
	const void *got, size_t bytes);
void check_status(const char *file, int line, const char *text, ww_status expected, ww_status got);
void check_refused(const char *file, int line, const char *text, ww_status expected,
	const char *word, ww_status got);

#define FAIL(...) check_fail(__FILE__, __LINE__, __VA_ARGS__)

/* The condition holds. */
#define MUST(condition)                                 \
	do {                                            \
		if (!(condition))                       \
			FAIL("not so: %s", #condition); \
	} while (0)

/* The system call did not return -1. */
#define MUST_CALL(call)                        \
	do {                                   \
		if ((call) == -1)              \
			FAIL("%s: %m", #call); \
	} while (0)

/* Two numbers are equal. */
#define MUST_EQUAL(expected, got) \
	check_equal(__FILE__, __LINE__, #got, (int64_t)(expected), (int64_t)(got))

/* Two spans hold the same bytes. */
#define MUST_MATCH(expected, got, bytes) \
	check_same_bytes(__FILE__, __LINE__, #got, expected, got, bytes)

/* The call returned this status; prints the error record if not. */
#define MUST_STATUS(expected, call) check_status(__FILE__, __LINE__, #call, expected, call)
#define MUST_OK(call)               MUST_STATUS(WW_OK, call)

/* The call failed with this status, and the record agrees and says so with this word in it. */
#define MUST_REFUSE(expected, word, call) \
	check_refused(__FILE__, __LINE__, #call, expected, word, call)

#endif
