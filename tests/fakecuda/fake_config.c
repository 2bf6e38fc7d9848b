/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_config.c - the environment, read once, here and nowhere else
 *
 *   FAKECUDA_DEVICES how many GPUs there are (default 2, at most 16; 0: none) FAKECUDA_BYTES memory
 *   of each in bytes, with K, M or G after it if you like (default 4G);
 * pages cost real memory only once they are touched FAKECUDA_NO_FD=1 GPUs that cannot export memory
 *   as a descriptor FAKECUDA_NO_PEER   GPUs that cannot reach each other's memory: 1 (none reaches
 *   another one), or pairs of their numbers, as 0-1,2-3 (in both directions)
 *   FAKECUDA_NO_SYNC=1 GPUs without 64-bit values on streams, and without events between processes
 *   FAKECUDA_NO_FOREIGN=1   a driver without cuMemPoolImportPointer()
 *   FAKECUDA_NO_LATER=1     a driver of CUDA 12.0, without cuCtxRecordEvent(), cuFuncLoad()
 *                           and cuFuncGetParamInfo()
 *   FAKECUDA_NO_GRAPH=1     a driver without cuGraphAddBatchMemOpNode()
 *   FAKECUDA_LACKS=WORD,... what the GPUs lack, see fake_lack.c
 *   FAKECUDA_MIG=1          GPUs that say that they are parts of one
 *   FAKECUDA_COMPUTE_MODE   of every GPU: 0 (default), 2 (prohibited: no contexts) or 3 (exclusive
 * process) FAKECUDA_MPS of every GPU: 0 (default), 1 (contexts are said to be shared) or 2 (a
 *   driver that
 * does not know the attribute) FAKECUDA_FAIL NAME:N:CODE, the Nth call of driver function NAME
 *   returns CODE (a number), or never ("hang"), or ends the process ("crash"),
 * and does nothing; NAME may be * for any that is no cleanup CUDA_DEVICE_MAX_CONNECTIONS hardware
 *   queues that the streams of a context share (1 to 32, default 8)
 *   FAKECUDA_KERNELS        a shared object with the kernels of modules that name none
 *   CUDA_VISIBLE_DEVICES   as the driver has it: indices or UUIDs, up to the first that is neither
 *
 * A value that makes no sense ends the process: a test must not run in other conditions than it
 * asked for.
 */
#include "fake.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fake_config config;

static void refuse(const char *name, const char *value)
{
	fprintf(stderr, "fakecuda: %s=%s makes no sense\n", name, value);
	abort();
}

static uint64_t number_read(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);
	if (!value)
		return otherwise;

	char *end;
	errno = 0;
	uint64_t number = strtoull(value, &end, 10);
	if (errno || end == value || *value == '-')
		refuse(name, value);
	const char *units = "KMG";
	const char *unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		unsigned int shift = 10 * (unsigned int)(unit - units + 1);
		if (number > UINT64_MAX >> shift)
			refuse(name, value);
		number <<= shift;
		end++;
	}
	if (*end)
		refuse(name, value);
	return number;
}

static int compute_mode_read(void)
{
	uint64_t mode = number_read("FAKECUDA_COMPUTE_MODE", WW_CU_COMPUTEMODE_DEFAULT);

	if (mode != WW_CU_COMPUTEMODE_DEFAULT && mode != WW_CU_COMPUTEMODE_PROHIBITED &&
		mode != WW_CU_COMPUTEMODE_EXCLUSIVE_PROCESS)
		refuse("FAKECUDA_COMPUTE_MODE", getenv("FAKECUDA_COMPUTE_MODE"));
	return (int)mode;
}

static enum fake_mps mps_read(void)
{
	uint64_t mps = number_read("FAKECUDA_MPS", FAKE_MPS_OFF);

	if (mps > FAKE_MPS_UNKNOWN)
		refuse("FAKECUDA_MPS", getenv("FAKECUDA_MPS"));
	return (enum fake_mps)mps;
}

static unsigned int queues_read(void)
{
	uint64_t queues = number_read("CUDA_DEVICE_MAX_CONNECTIONS", 8);

	if (queues < 1 || queues > FAKE_QUEUES_MAX)
		refuse("CUDA_DEVICE_MAX_CONNECTIONS", getenv("CUDA_DEVICE_MAX_CONNECTIONS"));
	return (unsigned int)queues;
}

static const char *pair_read(const char *list, unsigned int out_pair[2])
{
	const char *at = list;

	for (int i = 0; i < 2; i++) {
		char *end;
		unsigned long number = strtoul(at, &end, 10);
		if (*at < '0' || *at > '9' || number >= config.devices || (i == 0 && *end != '-'))
			return NULL;
		out_pair[i] = (unsigned int)number;
		at = i == 0 ? end + 1 : end;
	}
	return out_pair[0] != out_pair[1] && (!*at || *at == ',') ? at : NULL;
}

/* All, or the pairs that a list names; config.devices is known by then. */
static void no_peer_read(void)
{
	const char *list = getenv("FAKECUDA_NO_PEER");
	if (!list || !strchr(list, '-')) {
		if (number_read("FAKECUDA_NO_PEER", 0))
			memset(config.no_peer, 0xff, sizeof(config.no_peer));
		return;
	}

	const char *at = list;
	unsigned int pair[2];
	do {
		at = pair_read(at, pair);
		if (!at)
			refuse("FAKECUDA_NO_PEER", list);
		config.no_peer[pair[0]] |= (uint32_t)1 << pair[1];
		config.no_peer[pair[1]] |= (uint32_t)1 << pair[0];
	} while (*at++);
}

static void config_read(void)
{
	uint64_t devices = number_read("FAKECUDA_DEVICES", 2);
	if (devices > FAKECUDA_DEVICES_MAX)
		refuse("FAKECUDA_DEVICES", getenv("FAKECUDA_DEVICES"));
	config.devices = (unsigned int)devices;
	config.bytes = number_read("FAKECUDA_BYTES", (uint64_t)4 << 30);
	if (config.bytes > (uint64_t)1 << 40)
		refuse("FAKECUDA_BYTES", getenv("FAKECUDA_BYTES"));
	config.no_fd = number_read("FAKECUDA_NO_FD", 0) != 0;
	no_peer_read();
	config.no_sync = number_read("FAKECUDA_NO_SYNC", 0) != 0;
	config.no_foreign = number_read("FAKECUDA_NO_FOREIGN", 0) != 0;
	config.no_later = number_read("FAKECUDA_NO_LATER", 0) != 0;
	config.no_graph = number_read("FAKECUDA_NO_GRAPH", 0) != 0;
	config.compute_mode = compute_mode_read();
	config.mps = mps_read();
	config.queues = queues_read();
	config.visible = getenv("CUDA_VISIBLE_DEVICES");
	config.fail = getenv("FAKECUDA_FAIL");
	config.kernels = getenv("FAKECUDA_KERNELS");
	config.lacks = fake_lack_read(getenv("FAKECUDA_LACKS"));
	config.mig = number_read("FAKECUDA_MIG", 0) != 0;
}

const struct fake_config *fake_config(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, config_read);
	return &config;
}
