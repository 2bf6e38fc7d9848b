/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callback.c - calls of Python functions from threads of the library or a driver
 *
 * When Python ends, a thread that wants the GIL does not return any more: it ends, or stops for
 * ever. If a stream runs a Python function then, the stream never continues, and a thread that
 * waits for the stream waits for ever. So the functions that run are counted.
 */
#include "core.h"

static int running; /* atomic */

bool callback_begin(struct callback *callback)
{
	/* First: who sees 0 after the end of Python has begun knows that none runs any more. */
	__atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
	if (!Py_IsInitialized()) {
		__atomic_sub_fetch(&running, 1, __ATOMIC_SEQ_CST);
		return false;
	}
	callback->state = PyGILState_Ensure();
	PyErr_Fetch(&callback->type, &callback->value, &callback->traceback);
	return true;
}

void callback_end(struct callback *callback)
{
	PyErr_Restore(callback->type, callback->value, callback->traceback);
	PyGILState_Release(callback->state);
	__atomic_sub_fetch(&running, 1, __ATOMIC_SEQ_CST);
}

bool callback_is_stuck(void)
{
	return !Py_IsInitialized() && __atomic_load_n(&running, __ATOMIC_SEQ_CST) > 0;
}
