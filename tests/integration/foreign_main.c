/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_main.c - runs the cases
 */
#include "integration/foreign.h"

CHECK_MAIN(needs_main, .name = "integration-foreign", .leaks = true)
