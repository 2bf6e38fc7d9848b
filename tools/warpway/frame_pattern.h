/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_pattern.h - bytes of a frame that say which frame they are of
 *
 * `channel pub` writes them and `channel sub --check` looks at every byte: each word of 8 bytes
 * differs from the same word of every other frame, so a frame that is wrong, or torn, is found.
 */
#ifndef TOOLS_WARPWAY_FRAME_PATTERN_H
#define TOOLS_WARPWAY_FRAME_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

void frame_pattern_fill(void *bytes, uint64_t count, uint64_t frame);

/* Return: whether all are right; else @out_offset is the first byte that is not. */
bool frame_pattern_check(const void *bytes, uint64_t count, uint64_t frame, uint64_t *out_offset);

/* What the byte at that offset must be. */
uint8_t frame_pattern_at(uint64_t frame, uint64_t offset);

#endif
