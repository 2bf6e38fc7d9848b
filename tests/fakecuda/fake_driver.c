/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_driver.c - initialisation, version, and looking functions up by name
 *
 * A name that is unknown, or known only in a later version, is no error: the function comes back
 * NULL and a status says why. Names carry no version suffix here. cuCtxCreate from version 11.4 on
 * means cuCtxCreate_v3, which the fake does not have, so it is not found then.
 */
#include "fake.h"

#include <string.h>

#define DRIVER_VERSION  13000
#define VERSION_OLDEST  12000 /* what the fake implements is the interface of 12.0 */
#define VERSION_CTX_NEW 11040

static const struct {
	const char *name;
	void *function;
} table[] = {
#define ENTRY(name, symbol, parameters) {#name, (void *)symbol},
	WW_CUDA_FUNCTIONS(ENTRY)
#undef ENTRY
};

FAKE_API cuInit(unsigned int flags)
{
	FAKE_ENTER(cuInit);
	if (flags)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (fake_is_initialised())
		return WW_CUDA_SUCCESS;
	ww_CUresult error = fake_device_open_all();
	if (error)
		return error;
	if (!fake_arena_open())
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	fake_set_initialised();
	return WW_CUDA_SUCCESS;
}

FAKE_API cuDriverGetVersion(int *out_version)
{
	FAKE_ENTER(cuDriverGetVersion);
	if (!out_version)
		return WW_CUDA_ERROR_INVALID_VALUE;
	*out_version = DRIVER_VERSION;
	return WW_CUDA_SUCCESS;
}

/* Whether a driver of CUDA 12.0 does not have it. */
static bool is_later(const char *name)
{
	static const char *const names[] = {
#define NAME(function, symbol, parameters) #function,
		WW_CUDA_FUNCTIONS_LATER(NAME)
#undef NAME
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void *find(const char *name, int version, ww_CUdriverProcAddressQueryResult *out_status)
{
	*out_status = WW_CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	bool create = !strcmp(name, "cuCtxCreate");
	if (create && version >= VERSION_CTX_NEW)
		return NULL;
	if (fake_config()->no_foreign && !strcmp(name, "cuMemPoolImportPointer"))
		return NULL;
	if (fake_config()->no_graph && !strcmp(name, "cuGraphAddBatchMemOpNode"))
		return NULL;
	if (fake_config()->no_later && is_later(name))
		return NULL;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(name, table[i].name) != 0)
			continue;
		if (version < VERSION_OLDEST && !create) {
			*out_status = WW_CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
			return NULL;
		}
		*out_status = WW_CU_GET_PROC_ADDRESS_SUCCESS;
		return table[i].function;
	}
	return NULL;
}

FAKE_API cuGetProcAddress_v2(const char *symbol, void **out_kernel, int version, uint64_t flags,
	ww_CUdriverProcAddressQueryResult *out_status)
{
	FAKE_ENTER(cuGetProcAddress);
	if (!symbol || !out_kernel || flags > WW_CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		return WW_CUDA_ERROR_INVALID_VALUE;
	ww_CUdriverProcAddressQueryResult status;
	*out_kernel = find(symbol, version, &status);
	if (out_status)
		*out_status = status;
	return WW_CUDA_SUCCESS;
}
