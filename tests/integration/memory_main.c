/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_main.c - runs the cases
 */
#include "integration/memory.h"

int main(int argc, char **argv)
{
	return needs_main_live(&(const struct check_suite){.name = "integration"}, argc, argv);
}
