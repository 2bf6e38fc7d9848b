/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own.c - what of own.h needs a header that many tests do without
 */
#include "support/own.h"

#include <unistd.h>

void own_fd(int *fd)
{
	close(*fd);
}
