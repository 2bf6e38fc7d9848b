/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_main.c - runs the cases
 */
#include "integration/channel.h"

int main(int argc, char **argv)
{
	return needs_main_live(&(const struct check_suite){.name = "integration-channel"}, argc,
		argv);
}
