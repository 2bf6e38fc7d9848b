/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c - threads of the library itself, see thread.h
 */
#include "base/thread.h"

#include <signal.h>

int ww_thread_start(pthread_t *out_thread, const char *name, void *(*run)(void *context),
	void *context)
{
	sigset_t all;
	sigset_t before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(out_thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error == 0 && name)
		(void)pthread_setname_np(*out_thread, name);
	return error;
}
