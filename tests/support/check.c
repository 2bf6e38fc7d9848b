/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c - runs cases and reports them
 *
 * The main thread of the first process runs the cases; a claim that fails there jumps back into
 * run_case(). That jump abandons what the case held, which is why a failed case is followed by a
 * look at nothing but the helpers it left running: they are killed and reaped.
 */
#include "support/check.h"

#include <errno.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/leak_count.h"
#include "support/child.h"

#define CASE_SECONDS 300
#define SLOWNESS_MAX 1000

enum {
	CASE_PASSED,
	CASE_FAILED,
	CASE_SKIPPED
};

static struct {
	pid_t pid;        /* the process that runs the cases; 0 in a helper */
	pthread_t thread; /* its thread that does */
	const char *row;  /* of the table that the case goes through; NULL: none */
	jmp_buf out;      /* valid while a case runs */
	char reason[400]; /* why it was skipped */
	const char *name; /* of the case that runs */
} runner;

static struct check_case *cases; /* by file and line */
static size_t case_count;
static struct check_role *roles;
static void (*clean_after_failure)(void);

void check_register(struct check_case *item)
{
	struct check_case **at = &cases;

	while (*at &&
		(strcmp((*at)->file, item->file) < 0 ||
			(!strcmp((*at)->file, item->file) && (*at)->line < item->line)))
		at = &(*at)->next;
	item->next = *at;
	*at = item;
	case_count++;
}

static const struct check_role *role_find(const char *name)
{
	const struct check_role *role = roles;

	while (role && strcmp(role->name, name))
		role = role->next;
	return role;
}

void check_register_role(struct check_role *role)
{
	if (role_find(role->name)) {
		fprintf(stderr, "two roles are called %s\n", role->name);
		_exit(2);
	}
	role->next = roles;
	roles = role;
}

const struct check_case *check_first(void)
{
	return cases;
}

static bool in_runner(void)
{
	return runner.pid == getpid() && pthread_equal(runner.thread, pthread_self());
}

unsigned int check_slowness(void)
{
	const char *value = getenv("WW_TEST_SLOWNESS");
	unsigned long slowness;
	char *end;

	if (!value)
		return 1;
	slowness = strtoul(value, &end, 10);
	if (end == value || *end || slowness < 1 || slowness > SLOWNESS_MAX) {
		fprintf(stderr, "WW_TEST_SLOWNESS=%s is no number from 1 to %d\n", value,
			SLOWNESS_MAX);
		_exit(2);
	}
	return (unsigned int)slowness;
}

void check_note(const char *format, ...)
{
	va_list arguments;

	printf("# ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout); /* the helpers write there too: a line at once */
}

_Noreturn void check_fail(const char *file, int line, const char *format, ...)
{
	char text[1024];
	int error = errno;
	va_list arguments;

	va_start(arguments, format);
	errno = error;
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	check_note("%s:%d: %s%s%s", file, line, text, runner.row ? ", of " : "",
		runner.row ? runner.row : "");
	if (in_runner())
		longjmp(runner.out, CASE_FAILED);
	if (runner.pid == getpid())
		printf("Bail out! a claim failed in another thread of %s\n", runner.name);
	fflush(stdout);
	_exit(1);
}

void check_row(const char *name)
{
	runner.row = name;
}

_Noreturn void check_skip(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(runner.reason, sizeof(runner.reason), format, arguments);
	va_end(arguments);
	if (!in_runner())
		FAIL("only the case itself can be skipped: %s", runner.reason);
	longjmp(runner.out, CASE_SKIPPED);
}

void check_equal(const char *file, int line, const char *text, int64_t expected, int64_t got)
{
	if (expected != got)
		check_fail(file, line, "%s is %lld (%#llx), not %lld (%#llx)", text, (long long)got,
			(unsigned long long)got, (long long)expected, (unsigned long long)expected);
}

void check_same_bytes(const char *file, int line, const char *text, const void *expected,
	const void *got, size_t bytes)
{
	const uint8_t *a = expected;
	const uint8_t *b = got;

	for (size_t i = 0; i < bytes; i++)
		if (a[i] != b[i])
			check_fail(file, line, "%s: byte %zu of %zu is %#x, not %#x", text, i,
				bytes, b[i], a[i]);
}

void check_status(const char *file, int line, const char *text, ww_status expected, ww_status got)
{
	const struct ww_error *error = ww_error_last();

	if (expected != got)
		check_fail(file, line,
			"%s returned %s, not %s (the record: %s, domain %d, native "
			"%lld, \"%s\")",
			text, ww_status_name(got), ww_status_name(expected),
			ww_status_name(error->status), error->domain, (long long)error->native,
			error->message);
}

void check_refused(const char *file, int line, const char *text, ww_status expected,
	const char *word, ww_status got)
{
	const struct ww_error *error = ww_error_last();

	check_status(file, line, text, expected, got);
	if (error->status != expected)
		check_fail(file, line, "%s returned %s, but the record says %s", text,
			ww_status_name(got), ww_status_name(error->status));
	if (strlen(error->message) < 10 || strchr(error->message, '\n'))
		check_fail(file, line, "%s: no sentence: \"%s\"", text, error->message);
	if (!strcasestr(error->message, word))
		check_fail(file, line, "%s: \"%s\" does not name \"%s\"", text, error->message,
			word);
}

static void hung(int number)
{
	static const char said[] = "\nBail out! time limit: the case hangs: ";

	(void)number;
	if (write(STDOUT_FILENO, said, sizeof(said) - 1) < 0 || !runner.name ||
		write(STDOUT_FILENO, runner.name, strlen(runner.name)) < 0 ||
		write(STDOUT_FILENO, "\n", 1) < 0)
		_exit(1);
	_exit(1);
}

void check_after_failure(void (*clean)(void))
{
	clean_after_failure = clean;
}

void check_renew_alarm(void)
{
	alarm(CASE_SECONDS * check_slowness());
}

static int run_case(const struct check_suite *suite, const struct check_case *item)
{
	struct census before;
	int result;

	runner.name = item->name;
	runner.row = NULL;
	check_renew_alarm();
	result = setjmp(runner.out);
	if (result == CASE_PASSED) {
		census_take(&before);
		if (suite->before)
			suite->before();
		item->run();
		if (suite->after)
			suite->after();
		child_reap_all();
		if (suite->leaks)
			census_must_match(&before);
	}
	check_renew_alarm();
	child_reap_all();
	if (result != CASE_PASSED && clean_after_failure && !setjmp(runner.out))
		clean_after_failure();
	alarm(0);
	return result;
}

/* Whether the case fails when it runs in a process of its own. */
static bool fails_alone(const struct check_case *item)
{
	char *const arguments[] = {(char *)"check", (char *)"--only", (char *)item->name, NULL};
	int status;

	if (child_run_self(arguments, &status) < 0)
		return false;
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* Returns whether the report of this case is a good one. */
static bool report_case(const struct check_suite *suite, const struct check_case *item,
	size_t number, size_t *skipped)
{
	const char *why = suite->skip ? suite->skip(item) : NULL;
	bool failed;
	int result;

	if (why) {
		printf("ok %zu - %s # SKIP %s\n", number, item->name, why);
		*skipped += 1;
		return true;
	}
	why = suite->doomed ? suite->doomed(item) : NULL;
	if (why) {
		failed = fails_alone(item);
		printf("%s %zu - %s # TODO %s\n", failed ? "not ok" : "ok", number, item->name,
			why);
		return failed;
	}
	result = run_case(suite, item);
	if (result == CASE_SKIPPED) {
		printf("ok %zu - %s # SKIP %s\n", number, item->name, runner.reason);
		*skipped += 1;
	} else {
		printf("%s %zu - %s\n", result == CASE_PASSED ? "ok" : "not ok", number,
			item->name);
	}
	return result != CASE_FAILED;
}

/* Runs the cases of part @part (0, 1, ...) of @parts: one in so many. */
static int run_part(const struct check_suite *suite, size_t part, size_t parts)
{
	size_t count = (case_count + parts - 1 - part) / parts;
	size_t bad = 0;
	size_t skipped = 0;
	size_t number = 0;
	size_t index = 0;

	printf("1..%zu\n", count);
	fflush(stdout); /* a child made by fork() may write what it finds in the buffer, too */
	for (const struct check_case *item = cases; item; item = item->next) {
		if (index++ % parts != part)
			continue;
		if (!report_case(suite, item, ++number, &skipped))
			bad++;
		fflush(stdout);
	}
	check_note("%s: %zu cases, %zu failed, %zu skipped", suite->name, count, bad, skipped);
	return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Takes the cases off the list that call no device. */
static void leave_out(uint64_t no_device)
{
	struct check_case **at = &cases;

	while (*at) {
		if ((*at)->needs & no_device) {
			*at = (*at)->next;
			case_count--;
		} else {
			at = &(*at)->next;
		}
	}
}

/* @which: "1/3" for the first of three */
static int run_named_part(const struct check_suite *suite, const char *which)
{
	size_t part;
	size_t parts;
	int end = 0;

	if (sscanf(which, "%zu/%zu%n", &part, &parts, &end) == 2 && which[end] == '\0' &&
		part > 0 && part <= parts)
		return run_part(suite, part - 1, parts);
	fprintf(stderr, "there is no part %s; the first of three is 1/3\n", which);
	return 2;
}

static int run_only(const struct check_suite *suite, const char *name)
{
	int result;

	for (const struct check_case *item = cases; item; item = item->next) {
		if (strcmp(item->name, name))
			continue;
		puts("1..1");
		result = run_case(suite, item);
		if (result == CASE_SKIPPED)
			printf("ok 1 - %s # SKIP %s\n", name, runner.reason);
		else
			printf("%s 1 - %s\n", result == CASE_PASSED ? "ok" : "not ok", name);
		return result == CASE_FAILED ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	fprintf(stderr, "no case is called %s\n", name);
	return 2;
}

static int run_role(int count, char **arguments)
{
	const struct check_role *role = role_find(arguments[0]);

	if (!role) {
		fprintf(stderr, "no role is called %s\n", arguments[0]);
		return 2;
	}
	runner.name = role->name;
	child_become();
	check_renew_alarm();
	role->run(count - 1, arguments + 1);
	return EXIT_SUCCESS;
}

static bool warm_up(const struct check_suite *suite)
{
	runner.pid = getpid();
	runner.thread = pthread_self();
	if (setjmp(runner.out))
		return false;
	if (suite->warm_up)
		suite->warm_up();
	return true;
}

int check_main(const struct check_suite *suite, int argc, char **argv)
{
	signal(SIGALRM, hung);
	signal(SIGPIPE, SIG_DFL); /* a library that raises it must not go unnoticed */
	if (argc > 2 && !strcmp(argv[1], "--role"))
		return run_role(argc - 2, argv + 2);
	/* What the program that started this one has open is no helper's. */
	(void)close_range(STDERR_FILENO + 1, UINT32_MAX, CLOSE_RANGE_CLOEXEC);
	if (argc > 1 && !strcmp(argv[1], "--device-only")) {
		leave_out(suite->no_device);
		argc--;
		argv++;
	}
	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (const struct check_case *item = cases; item; item = item->next)
			puts(item->name);
		return EXIT_SUCCESS;
	}
	if (!warm_up(suite))
		return EXIT_FAILURE;
	if (argc == 3 && !strcmp(argv[1], "--only"))
		return run_only(suite, argv[2]);
	if (argc == 3 && !strcmp(argv[1], "--part"))
		return run_named_part(suite, argv[2]);
	if (argc == 1)
		return run_part(suite, 0, 1);
	fprintf(stderr, "usage: [--device-only] [--list | --only CASE | --part NUMBER/PARTS]\n");
	return 2;
}
