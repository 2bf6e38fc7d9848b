/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_hash.c - hashes of ids, names and numbers, see key_hash.h
 */
#include "daemon/registry/key_hash.h"

#include <string.h>

#include "base/error.h"
#include "base/random.h"

static uint64_t hash_seed;

ww_status key_hash_open(void)
{
	return hash_seed == 0 ? ww_random_bytes(&hash_seed, sizeof(hash_seed)) : WW_OK;
}

static uint64_t hash_mix(uint64_t value)
{
	value ^= value >> 32;
	value *= UINT64_C(0xd6e8feb86659fd93);
	value ^= value >> 32;
	value *= UINT64_C(0xd6e8feb86659fd93);
	return value ^ value >> 32;
}

uint64_t key_hash_id(const uint8_t id[16])
{
	uint64_t halves[2];

	memcpy(halves, id, sizeof(halves));
	return hash_mix(hash_mix(halves[0] ^ hash_seed) + halves[1]);
}

uint64_t key_hash_name(const char *name)
{
	uint64_t hash = hash_seed;

	for (size_t left = strlen(name); left > 0;) {
		uint64_t word = 0;
		size_t bytes = left < sizeof(word) ? left : sizeof(word);

		memcpy(&word, name, bytes);
		hash = hash_mix(hash + word) + bytes;
		name += bytes;
		left -= bytes;
	}
	return hash_mix(hash);
}

uint64_t key_hash_number(uint64_t number)
{
	return hash_mix(number);
}

uint64_t key_hash_pair(uint32_t first, uint32_t second)
{
	return hash_mix(((uint64_t)first << 32 | second) ^ hash_seed);
}

bool key_is_secret(const uint8_t a[16], const uint8_t b[16])
{
	uint8_t differences = 0;

	for (size_t i = 0; i < 16; i++)
		differences |= a[i] ^ b[i];
	return differences == 0;
}
