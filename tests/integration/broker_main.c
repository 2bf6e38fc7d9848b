/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_main.c - runs the cases
 */
#include "integration/broker.h"

CHECK_MAIN(needs_main_live, .name = "integration-broker")
