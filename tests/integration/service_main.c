/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_main.c - runs the cases
 */
#include "integration/service.h"

int main(int argc, char **argv)
{
	return needs_main_live(&(const struct check_suite){.name = "integration-service"}, argc,
		argv);
}
