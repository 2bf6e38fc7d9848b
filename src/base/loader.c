/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader.c - see loader.h
 *
 * The handlers are registered by the first call, so they are the last ones of this library: those
 * before a fork() run in the reverse order, and the mutex is taken before all other locks that they
 * take. The code that a dlopen() runs may need these.
 */
#include "base/loader.h"

#include <dlfcn.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t is_watched = PTHREAD_ONCE_INIT;
static __thread unsigned int depth; /* calls that this thread is inside of */

static void before_fork(void)
{
	if (depth == 0)
		pthread_mutex_lock(&mutex);
}

/* In the child, too: the thread that forked is the one that has locked it. */
static void after_fork(void)
{
	if (depth == 0)
		pthread_mutex_unlock(&mutex);
}

/* If there is no memory for the handlers, a fork() is what it is without them. */
static void watch_fork(void)
{
	(void)pthread_atfork(before_fork, after_fork, after_fork);
}

static void enter(void)
{
	pthread_once(&is_watched, watch_fork);
	if (depth == 0)
		pthread_mutex_lock(&mutex);
	depth++;
}

static void leave(void)
{
	depth--;
	if (depth == 0)
		pthread_mutex_unlock(&mutex);
}

void *ww_loader_open(const char *path, int flags)
{
	void *library;

	enter();
	library = dlopen(path, flags);
	leave();
	return library;
}

void *ww_loader_symbol(void *library, const char *name)
{
	void *address;

	enter();
	address = dlsym(library, name);
	leave();
	return address;
}

void ww_loader_close(void *library)
{
	enter();
	dlclose(library);
	leave();
}
