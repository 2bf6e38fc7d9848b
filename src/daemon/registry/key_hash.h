/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_hash.h - hashes of ids, names and numbers, for the maps of the broker; secrets compared
 *
 * Ids and names are chosen by clients. The hashes depend on a random number of this process, so no
 * client can choose which keys fall together.
 */
#ifndef WW_DAEMON_REGISTRY_KEY_HASH_H
#define WW_DAEMON_REGISTRY_KEY_HASH_H

#include <stdbool.h>
#include <stdint.h>

#include <warpway/base.h>

/* Draws the random number, once in a process. Return: WW_OK; WW_ERR_SYSTEM. */
ww_status key_hash_open(void);

uint64_t key_hash_id(const uint8_t id[16]);
uint64_t key_hash_name(const char *name);
uint64_t key_hash_number(uint64_t number);
uint64_t key_hash_pair(uint32_t first, uint32_t second);

/* Whether two secrets are the same. Takes as long whatever the bytes are. */
bool key_is_secret(const uint8_t a[16], const uint8_t b[16]);

#endif
