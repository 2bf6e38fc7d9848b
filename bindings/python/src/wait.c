/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.c - calls that may block: without the GIL, and ended by signals
 *
 * Python's own signal handler only sets a flag, whichever thread the kernel gives the signal to.
 * The handlers that are functions of Python run in the main thread, when it looks at this flag:
 * PyErr_CheckSignals(). So a wait of the main thread looks at least every 50 ms. No handler may run
 * while the main thread is inside of the library or uses an object of it, since the handler may use
 * this object, too. So there are three ways:
 *
 *   - wait_timed(): a call that WW_TIMED_OUT leaves without an effect is made again and again, each
 *     time for a slice.
 *   - wait_run(): another call cannot be made twice: a request would reach its broker twice, and a
 *     barrier would break. Another thread, the helper, makes it. The main thread waits for the
 *     helper and looks. If a handler raises an exception, the helper's ww_cancel ends the call.
 *
 *   - wait_watched(): the main thread makes a call itself that may be made again when its ww_cancel
 *     has ended it. The helper sets this ww_cancel if the call lasts for long, and then makes the
 *     call as by wait_run(). Most calls are short, and cost no switch of threads.
 *
 * A handler may raise an exception when the helper has just done the call. Then the call succeeds,
 * so that its result is not lost, and the exception is raised at the next place where Python runs
 * handlers of signals, or by the next wait.
 *
 * The helper ends when it has had nothing to do for IDLE_NS.
 *
 * Other threads make each call themselves, since Python runs handlers in the main thread only.
 *
 * What is static here belongs to the main thread, which has the GIL.
 */
#include "core.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS UINT64_C(40000000)
#define LOOK_NS  UINT64_C(48000000) /* while the helper works, which wakes up itself, too */
#define FIRST_NS UINT64_C(5000000)  /* for a signal that came when the wait was about to begin */
#define TICK_NS  UINT64_C(10000000) /* how often a helper without a job looks, see wait_watched() */
#define IDLE_NS  UINT64_C(300000000)

static ww_status run(wait_fn fn, void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	ww_status status;

	Py_BEGIN_ALLOW_THREADS
	status = fn(call, timeout_ns, cancel);
	Py_END_ALLOW_THREADS
	return status;
}

/* --- signals --- */

static PyObject *deferred; /* an exception of a handler, to be raised soon; or NULL */

/* For Py_AddPendingCall(). */
static int raise_deferred(void *unused)
{
	PyObject *error = deferred;

	(void)unused;
	deferred = NULL;
	if (!error)
		return 0;
	PyErr_SetObject((PyObject *)Py_TYPE(error), error);
	Py_DECREF(error);
	return -1;
}

/* Return: whether no handler has raised an exception. */
static bool check_signals(void)
{
	return raise_deferred(NULL) == 0 && PyErr_CheckSignals() == 0;
}

/* Takes the exception that is set. Return: false: it is still set. */
static bool defer_exception(void)
{
	PyObject *type, *error, *traceback;

	if (Py_AddPendingCall(raise_deferred, NULL) < 0)
		return false;
	PyErr_Fetch(&type, &error, &traceback);
	PyErr_NormalizeException(&type, &error, &traceback);
	if (traceback)
		PyException_SetTraceback(error, traceback);
	Py_XDECREF(deferred);
	deferred = error;
	Py_XDECREF(type);
	Py_XDECREF(traceback);
	return true;
}

/* --- the helper --- */

/* One call. */
struct job {
	wait_fn fn;
	void *call;
	uint64_t timeout_ns;
	ww_cancel *flag; /* of the caller's Cancel; or NULL */
	ww_cancel *stop; /* ends the call */
	ww_status status;
	struct ww_error record; /* of the main thread: that of the helper is the same meanwhile */
	void *context;          /* the same for CUDA's current context; or NULL */
	struct log_line *_Atomic lines; /* logged by the helper: the main thread may have locks */
	struct job *outer;              /* a handler of a signal runs in the wait for this one */
};

/*
 * IDLE ──the main thread──> ORDERED ──the helper──> IDLE   for each job
 *   └──the main thread──> SURPLUS                          there is another one that is idle
 */
enum {
	HELPER_IDLE,
	HELPER_ORDERED,
	HELPER_SURPLUS
};

struct helper {
	_Atomic uint32_t state; /* a futex, on which both threads wait */
	struct job *job;        /* the one that is ordered */
	/* The main thread counts up when it begins a watched call and when it ends: odd in it. */
	_Atomic uint32_t watched;
	int pid;
	ww_cancel *stop; /* ends a job */
	ww_cancel *late; /* ends a watched call, or the next one: the helper may set it too late */
};

static struct helper *_Atomic idle; /* one without a job; or NULL. Who takes it out has it. */
static struct job *jobs;            /* the innermost one first */

/* Waits while the state is @state: a futex costs a third of what a pipe costs. */
static void helper_await(struct helper *helper, uint32_t state, uint64_t timeout_ns)
{
	const struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ns / 1000000000),
		.tv_nsec = (long)(timeout_ns % 1000000000),
	};

	(void)syscall(SYS_futex, &helper->state, FUTEX_WAIT_PRIVATE, state, &timeout, NULL, 0);
}

static void helper_change(struct helper *helper, uint32_t state)
{
	atomic_store(&helper->state, state);
	(void)syscall(SYS_futex, &helper->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The record is a variable of the thread, and the thread may change it. */
static void set_record(const struct ww_error *record)
{
	*(struct ww_error *)ww_error_last() = *record;
}

/* The driver's cuCtxGetCurrent(), cuCtxSetCurrent(); or NULL: no device of CUDA was opened. */
static int (*context_get)(void **out_context);
static int (*context_set)(void *context);

void wait_device_opened(void)
{
	void *driver = context_set ? NULL : dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (!driver)
		return;
	*(void **)&context_get = dlsym(driver, "cuCtxGetCurrent");
	*(void **)&context_set = dlsym(driver, "cuCtxSetCurrent");
}

static void job_do(struct job *job)
{
	set_record(&job->record);
	log_later = &job->lines;
	if (job->context)
		context_set(job->context);
	job->status = job->fn(job->call, job->timeout_ns, job->stop);
	if (job->context)
		context_set(NULL);
	log_later = NULL;
	job->record = *ww_error_last();
}

static void helper_free(struct helper *helper)
{
	ww_cancel_unref(helper->stop);
	ww_cancel_unref(helper->late);
	free(helper);
}

static bool swap_idle(struct helper *former, struct helper *helper)
{
	return atomic_compare_exchange_strong(&idle, &former, helper);
}

/* Ends a call of the main thread that has lasted for a tick. Return: what to compare next. */
static uint32_t helper_watch(struct helper *helper, uint32_t former)
{
	uint32_t watched = atomic_load(&helper->watched);

	if (watched == former && watched % 2)
		ww_cancel_set(helper->late);
	return watched;
}

static void *help(void *argument)
{
	struct helper *helper = argument;
	uint64_t begin_ns = wait_now_ns();
	uint32_t watched = 0, seen;

	for (;;) {
		uint32_t state = atomic_load(&helper->state);

		if (state == HELPER_ORDERED) {
			job_do(helper->job);
			helper_change(helper, HELPER_IDLE);
			begin_ns = wait_now_ns();
		} else if (state == HELPER_SURPLUS ||
			(wait_now_ns() - begin_ns >= IDLE_NS && swap_idle(helper, NULL))) {
			break;
		} else {
			helper_await(helper, HELPER_IDLE, TICK_NS);
			seen = helper_watch(helper, watched);
			if (seen != watched)
				begin_ns = wait_now_ns();
			watched = seen;
		}
	}
	helper_free(helper);
	return NULL;
}

static struct helper *helper_new(void)
{
	struct helper *helper = calloc(1, sizeof(*helper));
	pthread_t thread;

	if (!helper)
		return NULL;
	helper->pid = getpid();
	if (ww_cancel_create(&helper->stop) == WW_OK && ww_cancel_create(&helper->late) == WW_OK &&
		thread_start(&thread, help, helper)) {
		pthread_detach(thread);
		return helper;
	}
	helper_free(helper);
	return NULL;
}

/* Return: NULL: there can be none. */
static struct helper *helper_take(void)
{
	struct helper *helper = atomic_exchange(&idle, NULL);

	if (helper && helper->pid == getpid())
		return helper;
	if (helper) /* of the parent of this child made by fork(), which has no such thread */
		helper_free(helper);
	return helper_new();
}

/* One is enough: another one ends, without being told, since it may end before it was told. */
static void helper_put(struct helper *helper)
{
	if (helper->pid != getpid())
		helper_free(helper);
	else if (!swap_idle(NULL, helper))
		atomic_store(&helper->state, HELPER_SURPLUS);
}

/* Waits for a slice of time. Return: whether the job has ended. */
static bool await_end(struct helper *helper, uint64_t slice_ns)
{
	Py_BEGIN_ALLOW_THREADS
	helper_await(helper, HELPER_ORDERED, slice_ns);
	Py_END_ALLOW_THREADS
	return atomic_load(&helper->state) == HELPER_IDLE;
}

/* From now on @stop ends the call, also if the caller's Cancel is set already. */
static void job_ends_by(struct job *job, ww_cancel *stop)
{
	ww_cancel_clear(stop);
	if (ww_cancel_is_set(job->flag))
		ww_cancel_set(stop);
	job->stop = stop;
}

/* Return: as wait_run(). */
static ww_status job_run(struct job *job, struct helper *helper)
{
	uint64_t slice_ns = FIRST_NS;
	bool has_raised = false;

	job_ends_by(job, helper->stop);
	helper->job = job;
	helper_change(helper, HELPER_ORDERED);
	for (; !await_end(helper, slice_ns); slice_ns = LOOK_NS) {
		if (!has_raised && !check_signals()) {
			has_raised = true;
			ww_cancel_set(job->stop);
		}
		log_kept(&job->lines);
		if (helper->pid != getpid()) /* a handler has called fork() */
			return has_raised ? STATUS_RAISED
					  : run(job->fn, job->call, job->timeout_ns, job->flag);
	}
	log_kept(&job->lines);
	set_record(&job->record);
	if (has_raised && (job->status != WW_OK || !defer_exception()))
		return STATUS_RAISED;
	return job->status;
}

/* Return: as wait_run(). */
static ww_status job_watch(struct job *job, struct helper *helper)
{
	ww_status status;

	job_ends_by(job, helper->late);
	atomic_fetch_add(&helper->watched, 1);
	status = run(job->fn, job->call, job->timeout_ns, job->stop);
	atomic_fetch_add(&helper->watched, 1);
	if (status != WW_CANCELLED || ww_cancel_is_set(job->flag))
		return status;
	return check_signals() ? job_run(job, helper) : STATUS_RAISED;
}

/*
 * In the main thread. If there can be no helper, no signal ends the call.
 * @how: job_run(); job_watch(): the helper only watches the call, unless that lasts for a tick
 * Return: as wait_run().
 */
static ww_status run_by_helper(wait_fn fn, void *call, uint64_t timeout_ns, ww_cancel *flag,
	ww_status (*how)(struct job *job, struct helper *helper))
{
	struct job job = {fn, call, timeout_ns, .flag = flag, .outer = jobs};
	struct helper *helper = helper_take();
	ww_status status;

	if (!helper)
		return run(fn, call, timeout_ns, flag);
	job.record = *ww_error_last();
	if (context_get)
		context_get(&job.context);
	jobs = &job;
	status = how(&job, helper);
	jobs = job.outer;
	helper_put(helper);
	return status;
}

void wait_cancel(ww_cancel *flag)
{
	ww_cancel_set(flag);
	for (const struct job *job = jobs; job; job = job->outer) {
		if (job->flag == flag)
			ww_cancel_set(job->stop);
	}
}

/* --- waits --- */

static _Thread_local bool may_leave; /* see wait_may_leave() */

static bool is_main(void)
{
	return getpid() == gettid();
}

/* Return: false with an exception: it is no Cancel. */
static bool take_flag(struct core *core, PyObject *cancel, ww_cancel **out_flag)
{
	*out_flag = NULL;
	if (cancel && cancel != Py_None)
		*out_flag = convert_handle(core, CORE_CANCEL, &cancel_class, cancel);
	return *out_flag || !cancel || cancel == Py_None;
}

ww_status wait_direct(wait_fn fn, void *call)
{
	return run(fn, call, 0, NULL);
}

static ww_status run_asking(struct core *core, wait_fn fn, void *call, uint64_t timeout_ns,
	PyObject *cancel, ww_status (*how)(struct job *job, struct helper *helper))
{
	ww_status status = STATUS_RAISED;
	ww_cancel *flag;

	if (!take_flag(core, cancel, &flag))
		return STATUS_RAISED;
	if (!is_main())
		status = run(fn, call, timeout_ns, flag);
	else if (check_signals())
		status = run_by_helper(fn, call, timeout_ns, flag, how);
	ww_cancel_unref(flag);
	return status;
}

ww_status wait_run(struct core *core, wait_fn fn, void *call, uint64_t timeout_ns, PyObject *cancel)
{
	return run_asking(core, fn, call, timeout_ns, cancel, job_run);
}

ww_status wait_watched(struct core *core, wait_fn fn, void *call, PyObject *cancel)
{
	return run_asking(core, fn, call, 0, cancel, job_watch);
}

ww_status wait_brief(struct core *core, wait_fn fn, void *call, PyObject *cancel)
{
	ww_status status = run(fn, call, 0, ww_cancel_nowait());

	return status == WW_CANCELLED ? wait_run(core, fn, call, 0, cancel) : status;
}

bool wait_may_leave(void)
{
	return may_leave;
}

void wait_stay(void)
{
	may_leave = false;
}

/* @leaves: @fn may return WAIT_LEFT. Return: as wait_run(). */
static ww_status run_in_slices(wait_fn fn, void *call, uint64_t timeout_ns, ww_cancel *flag,
	bool leaves)
{
	uint64_t begin_ns = wait_now_ns(), left_ns = timeout_ns, slice_ns = FIRST_NS;
	bool looks = is_main();
	ww_status status;

	for (;;) {
		if (looks && !check_signals())
			return STATUS_RAISED;
		may_leave = leaves && left_ns > slice_ns;
		status = run(fn, call, left_ns < slice_ns ? left_ns : slice_ns, flag);
		may_leave = false;
		if (status != WAIT_LEFT && (status != WW_TIMED_OUT || left_ns <= slice_ns))
			return status;
		left_ns = wait_left_ns(begin_ns, timeout_ns);
		if (status == WAIT_LEFT)
			return run_by_helper(fn, call, left_ns, flag, job_run);
		slice_ns = SLICE_NS;
	}
}

ww_status wait_timed(struct core *core, wait_fn fn, void *call, uint64_t timeout_ns,
	PyObject *cancel)
{
	ww_cancel *flag;
	ww_status status;

	if (!take_flag(core, cancel, &flag))
		return STATUS_RAISED;
	status = is_main() ? run_in_slices(fn, call, timeout_ns, flag, true)
			   : run(fn, call, timeout_ns, flag);
	ww_cancel_unref(flag);
	return status;
}

ww_status wait_in_slices(struct core *core, wait_fn fn, void *call, uint64_t timeout_ns,
	PyObject *cancel)
{
	ww_cancel *flag;
	ww_status status;

	if (!take_flag(core, cancel, &flag))
		return STATUS_RAISED;
	status = run_in_slices(fn, call, timeout_ns, flag, false);
	ww_cancel_unref(flag);
	return status;
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
