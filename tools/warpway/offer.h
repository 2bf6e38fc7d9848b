/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offer.h - what the two processes of `warpway offer` have in common
 */
#ifndef TOOLS_WARPWAY_OFFER_H
#define TOOLS_WARPWAY_OFFER_H

#include <signal.h>

#include "warpway/verbs.h"

/* Exit code of a server that is of no more use, as its GPU's context is lost: start another one. */
#define OFFER_EXIT_LOST 3

/* By which the parent tells the server to let its calls end. Nobody else sends it. */
#define OFFER_DRAIN_SIGNAL SIGUSR1

/* In its environment: this server takes the place of one that ended. */
#define OFFER_AGAIN "WARPWAY_OFFER_AGAIN"

#endif
