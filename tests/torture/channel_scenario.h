/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_scenario.h - a program that uses a channel in every way once, and can fail anywhere
 *
 * It has both sides: it makes the channel, becomes a consumer of it by name and by token, and
 * passes frames. A step that failed must have changed nothing. It is done again at once and must
 * then succeed, so every run comes to its end, and every frame arrives.
 */
#ifndef WW_TESTS_TORTURE_CHANNEL_SCENARIO_H
#define WW_TESTS_TORTURE_CHANNEL_SCENARIO_H

#include <warpway/warpway.h>

/* Return: WW_OK, or how the first step that failed did, with its record as the last error. */
ww_status channel_scenario_own(const char **out_step);

/*
 * The consumer's side alone. scenario_token: of a channel "c" of this process that has a frame, for
 * two uses
 */
extern struct ww_token scenario_token;
ww_status channel_scenario_join(const char **out_step);

/*
 * The producer gets to know a consumer when it acquires. scenario_channel: a channel of this
 * process with one slot, which has a frame, and a consumer that the producer has not seen yet
 */
extern ww_channel *scenario_channel;
ww_status channel_scenario_meet(const char **out_step);

#endif
