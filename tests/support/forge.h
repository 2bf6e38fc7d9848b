/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forge.h - descriptions that were tampered with, and sealed with a right checksum again
 */
#ifndef WW_TESTS_SUPPORT_FORGE_H
#define WW_TESTS_SUPPORT_FORGE_H

#include <warpway/memory.h>

/* Writes the checksum that belongs to the rest. */
void description_seal(struct ww_memory_description *description);

#endif
