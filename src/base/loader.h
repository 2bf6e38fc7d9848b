/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader.h - dlopen(), dlsym() and dlclose(), during which no thread of the process can fork()
 *
 * A child made by fork() while another thread is inside of the dynamic linker finds its lists half
 * changed, and its own first dlopen() or dlsym() can crash. So these calls hold a mutex that a
 * handler of pthread_atfork() takes before a fork(). Code that runs inside of such a call, as a
 * constructor of the library that is loaded, can call these functions and fork() itself.
 *
 * libwarpway_mpi has a copy of its own: dlsym(RTLD_NEXT) begins behind the library that calls it.
 */
#ifndef WW_BASE_LOADER_H
#define WW_BASE_LOADER_H

/* As dlopen(). What dlerror() says then is this thread's. */
void *ww_loader_open(const char *path, int flags);

/* As dlsym(). */
void *ww_loader_symbol(void *library, const char *name);

/* As dlclose(). */
void ww_loader_close(void *library);

#endif
