/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_main.c - runs the cases
 */
#include "integration/pool.h"

CHECK_MAIN(needs_main_live, .name = "integration-pool")
