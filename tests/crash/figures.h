/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figures.h - what the suites share: when and how often to kill, times, and players
 *
 * Random moments are drawn from a seed that is printed; WW_TEST_SEED repeats them, as far as a
 * schedule can be repeated.
 */
#ifndef WW_TESTS_CRASH_FIGURES_H
#define WW_TESTS_CRASH_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/child.h"

uint64_t now_ns(void);

/* How often to kill: WW_TEST_KILLS, or 100. */
uint32_t kills_wanted(void);

/*
 * Numbers, each a duration; notes their median, 99th part and largest, in milliseconds. They are
 * sorted then.
 */
void note_times(const char *what, uint64_t *times_ns, size_t count);

/*
 * The broker of the scene keeps nothing of those that were killed: it has little more memory than
 * it had @before.
 */
void broker_must_not_grow(uint64_t before);

/* What this variable of the environment says, more than 0; @usual if it says nothing. */
uint64_t number_wanted(const char *name, uint64_t usual);

/* The first random number, which is noted: WW_TEST_SEED, or one that differs from run to run. */
uint64_t seed_choose(void);

/* The next random number, of these below. */
uint64_t draw_from(uint64_t *state, uint64_t below);

/* A file of this scene, beside the broker's socket. */
void scene_path(char *out, size_t room, const char *name, uint32_t number);

/* Bytes that all processes of this scene share; @create: by this process, which makes them. */
void *scene_share(bool create, size_t bytes);

/* A process that finds something wrong ends: this one must not have. */
void player_must_live(const struct child *player, const char *what, uint32_t index);

/* Kills it. It must not have ended before. */
void player_must_be_killed(struct child *player, const char *what, uint32_t index);

#endif
