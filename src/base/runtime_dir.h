/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_dir.h - where a user's own broker listens
 *
 * $XDG_RUNTIME_DIR/warpway/broker.sock; without that variable /run/user/UID/warpway/broker.sock, if
 * the machine has such folders, else /tmp/warpway-UID/broker.sock. The library and the daemon ask
 * here, so they mean the same.
 */
#ifndef WW_BASE_RUNTIME_DIR_H
#define WW_BASE_RUNTIME_DIR_H

#include <warpway/base.h>

/* What a socket's path has room for, its ending zero included. */
#define WW_RUNTIME_ADDRESS_BYTES 108

/* Return: WW_OK; WW_ERR_INVALID (XDG_RUNTIME_DIR is too long). */
ww_status ww_runtime_address(char out_path[WW_RUNTIME_ADDRESS_BYTES]);

#endif
