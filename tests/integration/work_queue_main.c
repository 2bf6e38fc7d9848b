/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_main.c - runs the cases
 */
#include "integration/work_queue.h"

int main(int argc, char **argv)
{
	return needs_main_live(&(const struct check_suite){.name = "integration-work-queue"}, argc,
		argv);
}
