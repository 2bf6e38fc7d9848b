/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_main.c - runs the cases
 */
#include "integration/channel.h"

CHECK_MAIN(needs_main_live, .name = "integration-channel")
