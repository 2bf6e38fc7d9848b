/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.c - calls that may block: without the GIL, and ended by signals
 *
 * Python's own signal handler only sets a flag, which the interpreter reads when it runs again. So
 * while the main thread waits in the library, a handler of this file stands in front of the
 * handlers that the process has. It ends the wait (ww_cancel_set() stores one word), and calls the
 * handler that was there. Then PyErr_CheckSignals() runs Python's handlers: KeyboardInterrupt and
 * every other exception of a handler leaves the wait; otherwise the wait goes on.
 *
 * Only signals that had a handler are taken. Other threads wait without this, since Python runs
 * handlers in the main thread only.
 */
#include "core.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGUSR2};

#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

/* The wait of the main thread. */
struct signal_watch {
	ww_cancel *cancel;
	struct sigaction former[SIGNALS];
	bool taken[SIGNALS];
};

static struct signal_watch *watch; /* of the main thread; NULL: it does not wait */
static ww_cancel *main_cancel;     /* used by the main thread only */

static void signal_arrived(int number, siginfo_t *info, void *context)
{
	const struct signal_watch *now = __atomic_load_n(&watch, __ATOMIC_ACQUIRE);

	for (size_t i = 0; now && i < SIGNALS; i++) {
		const struct sigaction *former = &now->former[i];

		if (signals[i] != number)
			continue;
		ww_cancel_set(now->cancel);
		if (former->sa_flags & SA_SIGINFO)
			former->sa_sigaction(number, info, context);
		else if (former->sa_handler != SIG_DFL && former->sa_handler != SIG_IGN)
			former->sa_handler(number);
	}
}

static void watch_begin(struct signal_watch *ours)
{
	struct sigaction action = {.sa_sigaction = signal_arrived, .sa_flags = SA_SIGINFO};

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < SIGNALS; i++) {
		struct sigaction *former = &ours->former[i];

		ours->taken[i] = sigaction(signals[i], NULL, former) == 0 &&
			former->sa_handler != SIG_DFL && former->sa_handler != SIG_IGN;
	}
	__atomic_store_n(&watch, ours, __ATOMIC_RELEASE);
	for (size_t i = 0; i < SIGNALS; i++) {
		action.sa_flags = SA_SIGINFO | (ours->former[i].sa_flags & SA_ONSTACK);
		if (ours->taken[i])
			sigaction(signals[i], &action, NULL);
	}
}

/* A handler that Python ran meanwhile may have set another one, which stays. */
static void watch_end(const struct signal_watch *ours)
{
	struct sigaction now;

	for (size_t i = 0; i < SIGNALS; i++) {
		if (ours->taken[i] && sigaction(signals[i], NULL, &now) == 0 &&
			now.sa_flags & SA_SIGINFO && now.sa_sigaction == signal_arrived)
			sigaction(signals[i], &ours->former[i], NULL);
	}
	__atomic_store_n(&watch, NULL, __ATOMIC_RELEASE);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static ww_status run(wait_fn fn, void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	ww_status status;

	Py_BEGIN_ALLOW_THREADS
	status = fn(call, timeout_ns, cancel);
	Py_END_ALLOW_THREADS
	return status;
}

/*
 * In the main thread: once, until it ends or a signal arrives. A signal that came before the
 * handlers stood has only set Python's flag, so this is looked at before the wait begins.
 */
static ww_status run_watched(wait_fn fn, void *call, uint64_t timeout_ns)
{
	static struct signal_watch
		only; /* a handler in another thread may still read it afterwards */
	ww_status status = STATUS_RAISED;

	ww_cancel_clear(main_cancel);
	only.cancel = main_cancel;
	watch_begin(&only);
	if (PyErr_CheckSignals() == 0)
		status = run(fn, call, timeout_ns, main_cancel);
	watch_end(&only);
	return status;
}

static bool can_watch(void)
{
	if (getpid() != gettid() || watch)
		return false;
	return main_cancel || ww_cancel_create(&main_cancel) == WW_OK;
}

ww_status wait_run(struct core *core, wait_fn fn, void *call, uint64_t timeout_ns, PyObject *cancel)
{
	uint64_t begin = now_ns();
	uint64_t left = timeout_ns;
	ww_status status;

	if (cancel && cancel != Py_None) {
		ww_cancel *flag = convert_handle(core, CORE_CANCEL, &cancel_class, cancel);

		if (!flag)
			return STATUS_RAISED;
		status = run(fn, call, timeout_ns, flag);
		ww_cancel_unref(flag);
		return status;
	}
	if (!can_watch())
		return run(fn, call, timeout_ns, NULL);
	while ((status = run_watched(fn, call, left)) == WW_CANCELLED) {
		uint64_t spent = now_ns() - begin;

		if (PyErr_CheckSignals() < 0)
			return STATUS_RAISED;
		if (timeout_ns != WW_FOREVER)
			left = spent < timeout_ns ? timeout_ns - spent : timeout_ns > 0;
	}
	return status;
}
