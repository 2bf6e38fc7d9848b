/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - the library's debug log
 *
 * The library says nothing above debug: failures are returned, not printed. Off, a line costs one
 * load. WARPWAY_DEBUG=1 in the environment sends the log to stderr.
 */
#ifndef WW_BASE_LOG_H
#define WW_BASE_LOG_H

#include <stdarg.h>

#include "base/error.h"

#define WW_LOG_LINE_BYTES 512

void ww_log_debug(const char *format, ...) WW_PRINTF(1, 2);

#endif
