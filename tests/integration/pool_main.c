/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_main.c - runs the cases
 */
#include "integration/pool.h"

int main(int argc, char **argv)
{
	return needs_main_live(&(const struct check_suite){.name = "integration-pool"}, argc, argv);
}
