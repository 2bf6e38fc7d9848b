/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container.h - helpers in containers: processes that share nothing with the case but the folder of
 * the broker's socket
 *
 * A container is a helper in PID, IPC, network and mount namespaces of its own; the broker's folder
 * is at /broker there, wherever it is outside.
 */
#ifndef WW_TESTS_SUPPORT_CONTAINER_H
#define WW_TESTS_SUPPORT_CONTAINER_H

#include <stdbool.h>

#include "support/child.h"

/* Skips the case where there can be no container. @user: not NULL: with a user namespace too */
void container_require(const char *user);

/* Starts a helper whose role begins with container_enter(). */
void container_start(const char *role, struct child *helper, const char *user);

/*
 * Goes into a container; WARPWAY_BROKER leads to the broker there. The first word says whether that
 * went well. @count, @arguments: as the role got them
 * Return: false: it did not; the role is to end.
 */
bool container_enter(int count, char **arguments);

#endif
