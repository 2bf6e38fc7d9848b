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
 * The library takes one flag for a call. In the main thread that is main_cancel, which Cancel.set()
 * sets, too, while the call is given this Cancel. So signals end such a wait as well.
 *
 * To look at the signals costs more than most calls of the library. So wait_brief() tries the call
 * without waiting first, and our handlers stay between waits.
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

/* Never cleared: a handler that runs late, in another thread, still finds the one it stands for. */
struct signal_watch {
	struct sigaction former[SIGNALS];
	bool taken[SIGNALS];
};

static struct signal_watch watch;
static bool is_watching; /* the main thread waits, or runs a handler of Python just before it */
static ww_cancel *main_cancel; /* ends the wait of the main thread */
static ww_cancel *main_flag;   /* the Cancel of its call, while it is in the library; or NULL */

static void signal_arrived(int number, siginfo_t *info, void *context)
{
	ww_cancel_set(main_cancel);
	for (size_t i = 0; i < SIGNALS; i++) {
		const struct sigaction *former = &watch.former[i];

		if (signals[i] != number)
			continue;
		if (former->sa_flags & SA_SIGINFO)
			former->sa_sigaction(number, info, context);
		else if (former->sa_handler != SIG_DFL && former->sa_handler != SIG_IGN)
			former->sa_handler(number);
	}
}

static bool is_ours(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == signal_arrived;
}

/* Takes the signals that have another handler. Return: whether there was one. */
static bool watch_take(void)
{
	struct sigaction action = {.sa_sigaction = signal_arrived};
	bool has_taken = false;

	for (size_t i = 0; i < SIGNALS; i++) {
		struct sigaction now;

		if (sigaction(signals[i], NULL, &now) < 0 || is_ours(&now) ||
			now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN)
			continue;
		watch.former[i] = now;
		watch.taken[i] = has_taken = true;
		action.sa_flags = SA_SIGINFO | (now.sa_flags & SA_ONSTACK);
		action.sa_mask = now.sa_mask;
		sigaction(signals[i], &action, NULL);
	}
	return has_taken;
}

/*
 * Gives back a handler that has system calls restarted (signal.siginterrupt()), which ours has not.
 * A handler that Python ran meanwhile may have set another one, which stays.
 */
static void watch_end(void)
{
	struct sigaction now;

	for (size_t i = 0; i < SIGNALS; i++) {
		if (watch.taken[i] && watch.former[i].sa_flags & SA_RESTART &&
			sigaction(signals[i], NULL, &now) == 0 && is_ours(&now))
			sigaction(signals[i], &watch.former[i], NULL);
		watch.taken[i] = false;
	}
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
 * A signal that came before our handlers stood has only set Python's flag, so this is looked at
 * once more when one was taken. A handler that Python runs here may set other ones, and may wait
 * itself.
 * Return: false with an exception
 */
static bool watch_begin(void)
{
	do {
		if (PyErr_CheckSignals() < 0)
			return false;
	} while (watch_take());
	return true;
}

/*
 * In the main thread: once, until it ends or a signal arrives, or @flag is set. It may be inside
 * another wait: of a thread that serves, and whose function waits.
 */
static ww_status run_watched(wait_fn fn, void *call, uint64_t timeout_ns, ww_cancel *flag)
{
	ww_cancel *outer_flag = main_flag;
	ww_status status = STATUS_RAISED;
	bool is_inner = is_watching;

	is_watching = true;
	ww_cancel_clear(main_cancel);
	if (watch_begin()) {
		main_flag = flag;
		if (ww_cancel_is_set(flag))
			ww_cancel_set(main_cancel);
		status = run(fn, call, timeout_ns, main_cancel);
		main_flag = outer_flag;
	}
	if (ww_cancel_is_set(outer_flag))
		ww_cancel_set(main_cancel);
	is_watching = is_inner;
	if (!is_inner)
		watch_end();
	return status;
}

static ww_status run_in_main(wait_fn fn, void *call, uint64_t timeout_ns, ww_cancel *flag)
{
	uint64_t begin = now_ns();
	uint64_t left = timeout_ns;
	ww_status status;

	while ((status = run_watched(fn, call, left, flag)) == WW_CANCELLED) {
		uint64_t spent = now_ns() - begin;

		if (PyErr_CheckSignals() < 0)
			return STATUS_RAISED;
		if (ww_cancel_is_set(flag))
			return WW_CANCELLED;
		if (timeout_ns != WW_FOREVER)
			left = spent < timeout_ns ? timeout_ns - spent : timeout_ns > 0;
	}
	return status;
}

bool wait_is_watched(void)
{
	return getpid() == gettid() && (main_cancel || ww_cancel_create(&main_cancel) == WW_OK);
}

void wait_cancel(ww_cancel *flag)
{
	ww_cancel_set(flag);
	if (flag == main_flag)
		ww_cancel_set(main_cancel);
}

ww_status wait_run(struct core *core, wait_fn fn, void *call, uint64_t timeout_ns, PyObject *cancel)
{
	ww_cancel *flag = NULL;
	ww_status status;

	if (cancel && cancel != Py_None) {
		flag = convert_handle(core, CORE_CANCEL, &cancel_class, cancel);
		if (!flag)
			return STATUS_RAISED;
	}
	status = wait_is_watched() ? run_in_main(fn, call, timeout_ns, flag)
				   : run(fn, call, timeout_ns, flag);
	ww_cancel_unref(flag);
	return status;
}

ww_status wait_brief(struct core *core, wait_fn fn, void *call, PyObject *cancel)
{
	ww_status status = run(fn, call, 0, ww_cancel_nowait());

	return status == WW_CANCELLED ? wait_run(core, fn, call, 0, cancel) : status;
}

uint64_t wait_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t wait_left_ns(uint64_t begin_ns, uint64_t timeout_ns)
{
	uint64_t spent_ns;

	if (timeout_ns == WW_FOREVER || timeout_ns == 0)
		return timeout_ns;
	spent_ns = wait_now_ns() - begin_ns;
	return spent_ns < timeout_ns ? timeout_ns - spent_ns : 1;
}

bool thread_start(pthread_t *out_thread, void *(*function)(void *), void *context)
{
	sigset_t all;
	sigset_t before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(out_thread, NULL, function, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error == 0;
}
