/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_main.c - runs the cases
 */
#include "integration/service.h"

CHECK_MAIN(needs_main_live, .name = "integration-service")
