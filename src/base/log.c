/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - the library's debug log, see log.h
 *
 * The receiver is copied under a lock and called without it, so that it may take its time and may
 * replace itself.
 */
#include "base/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/environment.h"
#include "base/process.h"

static pthread_mutex_t lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static ww_log_fn receiver;     /* under lock */
static void *receiver_context; /* under lock */
static _Atomic bool is_on;     /* whether there is a receiver; a hint that saves the lock */

static void to_stderr(void *context, const char *line)
{
	(void)context;
	fprintf(stderr, "warpway: %s\n", line);
}

static void set(ww_log_fn fn, void *context)
{
	pthread_mutex_lock(&lock);
	receiver = fn;
	receiver_context = context;
	atomic_store_explicit(&is_on, fn != NULL, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
}

static void read_environment(void)
{
	if (ww_environment_is_on(WW_VARIABLE_DEBUG))
		set(to_stderr, NULL);
}

void ww_log_set(ww_log_fn fn, void *context)
{
	pthread_once(&once, read_environment);
	set(fn, context);
}

void ww_log_debug(const char *format, ...)
{
	char line[WW_LOG_LINE_BYTES];
	va_list arguments;
	ww_log_fn fn;
	void *context;

	pthread_once(&once, read_environment);
	if (!atomic_load_explicit(&is_on, memory_order_relaxed))
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	pthread_mutex_lock(&lock);
	fn = receiver;
	context = receiver_context;
	pthread_mutex_unlock(&lock);
	if (fn)
		fn(context, line);
}
