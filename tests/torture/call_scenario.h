/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_scenario.h - a service and a client of it, in one process, where anything can fail once
 *
 * A step that failed must have changed nothing. It is done again at once and must then succeed, so
 * every run comes to its end, and every call to its result.
 */
#ifndef WW_TESTS_TORTURE_CALL_SCENARIO_H
#define WW_TESTS_TORTURE_CALL_SCENARIO_H

#include <warpway/warpway.h>

/*
 * Makes a service, becomes a client of it by name and by token, and makes a call of each function,
 * which nobody serves.
 * Return: WW_OK, or how the first step that failed did, with its record as the last error.
 */
ww_status call_scenario_make(const char **out_step);

/*
 * The server's side: a client has come and has made calls, which are run. What the server cannot do
 * for a call is told its client. begin and end: around it, with nothing armed
 */
void call_scenario_begin_serving(void);
ww_status call_scenario_serve(const char **out_step);
void call_scenario_end_serving(void);

#endif
