/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_main.c - runs the cases
 */
#include "integration/memory.h"

CHECK_MAIN(needs_main_live, .name = "integration")
