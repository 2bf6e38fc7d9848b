/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - whether this process may use the library at all
 *
 * fork() copies neither GPU contexts nor threads, and leaves locks as they were at that instant. So
 * a child whose parent had used the library gets WW_ERR_FORKED from every call, before any lock is
 * touched, and unref does nothing there: the parent's objects are the parent's.
 */
#ifndef WW_BASE_PROCESS_H
#define WW_BASE_PROCESS_H

#include <stdbool.h>

#include <warpway/base.h>

/*
 * The first thing in every public call that can fail. From the first one on, this process counts as
 * one that uses the library.
 *
 * Return: WW_OK; WW_ERR_FORKED; WW_ERR_NO_MEMORY (the fork handler could not be set up).
 */
ww_status ww_process_enter(void);

/* For public calls without a status: whether this is a child in which nothing may be touched. */
bool ww_process_is_forked(void);

#endif
