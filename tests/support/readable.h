/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readable.h - descriptors that are readable when there is something to do
 */
#ifndef WW_TESTS_SUPPORT_READABLE_H
#define WW_TESTS_SUPPORT_READABLE_H

#include <stdbool.h>

/* Whether it is now; or is within the limit of waits (child_limit_ms()). */
bool is_readable(int fd);
bool becomes_readable(int fd);

#endif
