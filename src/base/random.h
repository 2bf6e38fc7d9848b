/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.h - random bytes for names and secrets that no other process has or can guess
 */
#ifndef WW_BASE_RANDOM_H
#define WW_BASE_RANDOM_H

#include <stddef.h>

#include <warpway/base.h>

/* Fills @out with bytes of the kernel's generator. @bytes is at most 256. */
ww_status ww_random_bytes(void *out, size_t bytes);

#endif
