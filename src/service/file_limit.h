/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_limit.h - how many descriptors a server may have (RLIMIT_NOFILE), which limits its clients
 *
 * Of a client that comes the server gets a few descriptors, and keeps two: its signal page and its
 * pidfd. If the server cannot have them, it does not ask the broker for the client, and its page
 * says so. Who opens the service then fails, and so do the calls of clients that it has not met.
 */
#ifndef WW_SERVICE_FILE_LIMIT_H
#define WW_SERVICE_FILE_LIMIT_H

#include <stdbool.h>

#include "service/service.h"

/* Tries whether one more client could be had, and says that in the page. By the leader. */
bool ww_service_file_limit_look(struct ww_service *service);

/* Looks again, if there was no room when it last looked. By the leader. */
void ww_service_file_limit_look_again(struct ww_service *service);

#endif
