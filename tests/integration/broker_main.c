/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_main.c - runs the cases
 */
#include "integration/broker.h"

int main(int argc, char **argv)
{
	return needs_main_live(&(const struct check_suite){.name = "integration-broker"}, argc,
		argv);
}
