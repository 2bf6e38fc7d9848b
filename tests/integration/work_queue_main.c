/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_main.c - runs the cases
 */
#include "integration/work_queue.h"

CHECK_MAIN(needs_main_live, .name = "integration-work-queue")
