/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.c - Service.serve(): a thread that runs functions for clients; and fileno()
 *
 * The thread serves for WAIT_NS at a time, so that it learns that the Service was closed.
 *
 * An exception that is no Exception, such as that of Ctrl-C, may leave a function. Its call fails,
 * and serve() raises it when the function has returned.
 */
#include <time.h>
#include <unistd.h>

#include "service.h"

#define WAIT_NS UINT64_C(40000000)

/* No status of the library: this process has closed the Service. */
#define SERVICE_CLOSED (INT32_MIN + 1)

static _Thread_local struct serving *current;

struct serving *serving_now(void)
{
	return current;
}

static bool is_closed(const struct service_state *state)
{
	return __atomic_load_n(&state->is_closed, __ATOMIC_ACQUIRE);
}

bool serving_is_over(void)
{
	return current && is_closed(current->state);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static ww_status serve_slice(struct serving *serving, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct serving *outer = current;
	ww_status status;

	current = serving;
	serving->cancel = cancel;
	status = ww_service_serve(serving->state->service, timeout_ns, cancel);
	current = outer;
	if (serving->type)
		return STATUS_RAISED;
	return is_closed(serving->state) ? SERVICE_CLOSED : status;
}

static ww_status run_serve(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	uint64_t begin_ns = now_ns(), spent_ns = 0;
	ww_status status;

	do {
		uint64_t left_ns = timeout_ns == WW_FOREVER ? WW_FOREVER : timeout_ns - spent_ns;

		status = serve_slice(call, left_ns < WAIT_NS ? left_ns : WAIT_NS, cancel);
		spent_ns = now_ns() - begin_ns;
	} while (status == WW_TIMED_OUT && spent_ns < timeout_ns);
	return status;
}

static PyObject *serve(PyObject *self, struct service_state *state, uint64_t timeout_ns,
	PyObject *cancel)
{
	struct serving serving = {.state = state};
	struct core *core = core_of(self);
	ww_status status = ww_service_start(state->service);

	if (status == WW_OK)
		status = wait_run(core, run_serve, &serving, timeout_ns, cancel);
	if (serving.type) {
		PyErr_Restore(serving.type, serving.error, serving.traceback);
		return NULL;
	}
	if (status == WW_END || status == SERVICE_CLOSED)
		Py_RETURN_TRUE;
	if (status == WW_TIMED_OUT)
		Py_RETURN_FALSE;
	return error_raise(core, status);
}

PyObject *service_serve(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"timeout", "cancel", NULL};
	uint64_t timeout_ns = WW_FOREVER;
	struct service_state *state;
	PyObject *cancel = NULL, *result;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&$O:serve", names, convert_timeout,
		    &timeout_ns, &cancel) ||
		!(state = handle_borrow(self, &service_class)))
		return NULL;
	result = serve(self, state, timeout_ns, cancel);
	handle_return(&service_class, state);
	return result;
}

/* --- event loops --- */

/* The state's own, opened by the first call. */
static ww_status open_fileno(struct service_state *state)
{
	ww_status status;
	int fd = -1;

	if (state->ready_fd >= 0)
		return WW_OK;
	Py_BEGIN_ALLOW_THREADS
	status = ww_service_eventfd(state->service, &fd);
	Py_END_ALLOW_THREADS
	if (status == WW_OK && state->ready_fd < 0)
		state->ready_fd = fd;
	else if (status == WW_OK)
		close(fd); /* another thread was faster */
	return status;
}

PyObject *service_fileno(PyObject *self, PyObject *unused)
{
	struct service_state *state = handle_borrow(self, &service_class);
	ww_status status;
	int fd;

	(void)unused;
	if (!state)
		return NULL;
	status = open_fileno(state);
	if (status != WW_OK)
		error_raise(core_of(self), status);
	fd = state->ready_fd;
	handle_return(&service_class, state);
	return status == WW_OK ? PyLong_FromLong(fd) : NULL;
}
