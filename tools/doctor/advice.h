/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice.h - the table of the checks: what each finds out, what the user loses, and the remedy
 */
#ifndef TOOLS_DOCTOR_ADVICE_H
#define TOOLS_DOCTOR_ADVICE_H

#include <stddef.h>

#include "doctor/result.h"

/* What programs connect to first, see warpwayd(8). */
#define MACHINE_SOCKET "/run/warpway/broker.sock"

/* One check. What it says of lost and remedy holds where no cause says otherwise. */
struct check {
	const char *id;
	const char *group;
	const char *finds;
	const char *lost;
	const char *remedy; /* a command where there is one; "{gpu}" is the device's UUID */
};

/* The checks in the order in which they are shown; NULL behind the last. */
extern const struct check checks[];

const struct check *check_find(const char *id);

/*
 * What the user loses by a result, and what to do. NULL: nothing.
 * @out_remedy: likewise
 */
const char *advice_lost(const struct result *result);
const char *advice_remedy(const struct result *result);

#endif
