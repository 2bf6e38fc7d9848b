/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - threads of the library itself
 *
 * They block all signals: signals are the program's business, and its own threads get them.
 */
#ifndef WW_BASE_THREAD_H
#define WW_BASE_THREAD_H

#include <pthread.h>

/* @name: of at most 15 characters; NULL: that of the program. Return: 0; an errno. */
int ww_thread_start(pthread_t *out_thread, const char *name, void *(*run)(void *context),
	void *context);

#endif
