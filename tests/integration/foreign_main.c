/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_main.c - runs the cases
 */
#include "integration/foreign.h"

int main(int argc, char **argv)
{
	return needs_main(&(const struct check_suite){.name = "integration-foreign"}, argc, argv);
}
