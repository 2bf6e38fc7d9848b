/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_lack.c - what the GPUs are told to lack, by FAKECUDA_LACKS=WORD,WORD...
 *
 * A GPU that lacks something says so by its attribute, which is 0, and refuses the calls
 * (NOT_SUPPORTED).
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS_MAX  5
#define ATTRIBUTES_MAX 2
#define NO_FUNCTION    FAKE_FUNCTION_COUNT

struct lack {
	const char *word;
	enum fake_function functions[FUNCTIONS_MAX]; /* NO_FUNCTION behind the last */
	ww_CUdevice_attribute attributes[ATTRIBUTES_MAX];
};

/* In the order of enum fake_lack. */
static const struct lack lacks[] = {
	{"vmm", {FAKE_cuMemCreate, FAKE_cuMemAddressReserve, NO_FUNCTION},
		{WW_CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED}},
	{"legacy", {FAKE_cuIpcGetMemHandle, FAKE_cuIpcOpenMemHandle, NO_FUNCTION}, {0}},
	{"pools", {FAKE_cuMemPoolCreate, FAKE_cuMemPoolImportFromShareableHandle, NO_FUNCTION},
		{WW_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
			WW_CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES}},
	{"events", {FAKE_cuIpcGetEventHandle, FAKE_cuIpcOpenEventHandle, NO_FUNCTION},
		{WW_CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED}},
	{"values",
		{FAKE_cuStreamWriteValue64, FAKE_cuStreamWaitValue64, FAKE_cuStreamBatchMemOp,
			FAKE_cuGraphAddBatchMemOpNode, NO_FUNCTION},
		{WW_CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS}},
	{"host", {FAKE_cuMemHostRegister, NO_FUNCTION},
		{WW_CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED,
			WW_CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED}},
	/* cuMemHostRegister() asks by itself. */
	{"host-read-only", {NO_FUNCTION},
		{WW_CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED}},
	/* cuMemSetAccess() asks by itself, and grants too much. */
	{"read-only", {NO_FUNCTION}, {0}},
};

_Static_assert(sizeof(lacks) / sizeof(lacks[0]) == FAKE_LACK_COUNT, "one row each");

uint32_t fake_lack_read(const char *list)
{
	uint32_t bits = 0;

	while (list && *list) {
		size_t bytes = strcspn(list, ",");
		unsigned int i = 0;

		while (i < FAKE_LACK_COUNT &&
			(strlen(lacks[i].word) != bytes ||
				strncmp(list, lacks[i].word, bytes) != 0))
			i++;
		if (i == FAKE_LACK_COUNT) {
			fprintf(stderr, "fakecuda: FAKECUDA_LACKS=%s: no GPU can lack that\n",
				list);
			abort();
		}
		bits |= UINT32_C(1) << i;
		list += bytes + (list[bytes] == ',');
	}
	return bits;
}

bool fake_lacks(enum fake_lack what)
{
	return fake_config()->lacks & (UINT32_C(1) << what);
}

bool fake_lacks_function(enum fake_function function)
{
	for (unsigned int i = 0; fake_config()->lacks && i < FAKE_LACK_COUNT; i++) {
		if (!fake_lacks((enum fake_lack)i))
			continue;
		for (const enum fake_function *at = lacks[i].functions; *at != NO_FUNCTION; at++) {
			if (*at == function)
				return true;
		}
	}
	return false;
}

bool fake_lacks_attribute(ww_CUdevice_attribute attribute)
{
	for (unsigned int i = 0; fake_config()->lacks && i < FAKE_LACK_COUNT; i++) {
		for (int j = 0; fake_lacks((enum fake_lack)i) && j < ATTRIBUTES_MAX; j++) {
			if (lacks[i].attributes[j] == attribute)
				return true;
		}
	}
	return false;
}
