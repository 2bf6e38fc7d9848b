/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_removed.h - be there for an object that goes when its maker does
 */
#ifndef TOOLS_WARPWAY_WAIT_REMOVED_H
#define TOOLS_WARPWAY_WAIT_REMOVED_H

#include <warpway/warpway.h>

/**
 * stay_with() - wait until an object has left its broker
 * @name:  of an object that this process has put
 *
 * Ends earlier only by a signal. A broker that is restarted meanwhile is told again what is held.
 *
 * Return: the exit code: EXIT_DONE when somebody removed it, else EXIT_FAILED or EXIT_CANNOT after
 *         saying what went wrong.
 */
int stay_with(ww_broker *broker, const char *name);

#endif
