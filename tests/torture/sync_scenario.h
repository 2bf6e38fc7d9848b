/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_scenario.h - a program that signals and waits in every way once, with a partner, and can
 * fail anywhere
 *
 * A step that failed must have changed nothing: it has given out nothing, and its timeline is where
 * it was. It is done again at once and must then succeed, so every run comes to its end.
 */
#ifndef WW_TESTS_TORTURE_SYNC_SCENARIO_H
#define WW_TESTS_TORTURE_SYNC_SCENARIO_H

#include <warpway/warpway.h>

/* Of the partner: a timeline that has reached this value, and the token of an event. */
#define SCENARIO_PARTNER "partner/timeline"
#define PARTNER_VALUE    5

/*
 * It joins the first; when the scenario failed to, the partner is replaced by one that joins the
 * second.
 */
#define SCENARIO_BARRIER        "torture/barrier"
#define SCENARIO_SECOND_BARRIER "torture/second"

extern struct ww_token scenario_event; /* the partner's */
extern void (*scenario_replace_partner)(void);

/* Return: WW_OK, or how the first step that failed did, with its record as the last error. */
ww_status sync_scenario_run(const char **out_step);

/* Lets go of a timeline that a stream has yet to signal; that cannot fail. Needs no broker. */
ww_status sync_scenario_close(const char **out_step);

#endif
