/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - the functions of libcuda.so.1 that we call, and what their answers mean
 *
 * RTLD_LOCAL: no other code in the process finds CUDA because of us. The library is never closed
 * again, even if it fails to start: the driver does not survive that.
 */
#include "device/cuda/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loader.h"
#include "base/process.h"

#define LIBRARY "libcuda.so.1"

static pthread_mutex_t lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_cuda_driver driver; /* written under lock until is_ready, constant from then on */
static bool is_ready;                /* under lock */
/* What dlerror() said when the file was missing; under lock. */
static char absence[200] WW_PER_PROCESS;

struct entry {
	const char *name;
	void **function;
};

static const struct entry entries[] = {
#define ENTRY(name) {#name, (void **)&driver.name},
	WW_CUDA_REQUIRED(ENTRY)};

static const struct entry foreign_entries[] = {WW_CUDA_FOREIGN(ENTRY)};

static const struct entry graph_entries[] = {WW_CUDA_GRAPH(ENTRY)};

static const struct entry later_entries[] = {WW_CUDA_LATER(ENTRY)
#undef ENTRY
};

ww_status ww_cuda_status(ww_CUresult result)
{
	switch (result) {
	case WW_CUDA_SUCCESS:
		return WW_OK;
	case WW_CUDA_ERROR_OUT_OF_MEMORY:
		return WW_ERR_DEVICE_MEMORY;
	case WW_CUDA_ERROR_NOT_SUPPORTED:
	case WW_CUDA_ERROR_NOT_PERMITTED:
	case WW_CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
	case WW_CUDA_ERROR_TOO_MANY_PEERS:
		return WW_ERR_UNSUPPORTED;
	case WW_CUDA_ERROR_NO_DEVICE:
	case WW_CUDA_ERROR_INVALID_DEVICE:
	case WW_CUDA_ERROR_DEVICE_UNAVAILABLE:
	case WW_CUDA_ERROR_DEVICE_NOT_LICENSED:
	case WW_CUDA_ERROR_STUB_LIBRARY:
	case WW_CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
	case WW_CUDA_ERROR_SYSTEM_NOT_READY:
	case WW_CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
		return WW_ERR_NO_DEVICE;
	default:
		return WW_ERR_DEVICE;
	}
}

WW_PRINTF(5, 0)
static ww_status fail(ww_status status, const struct ww_cuda_driver *table, ww_CUresult result,
	const char *remedy, const char *format, va_list arguments)
{
	const char *name = NULL;
	const char *text = NULL;
	char answer[120];

	if (table->cuGetErrorName(result, &name) != WW_CUDA_SUCCESS || !name)
		name = "unknown CUresult";
	if (table->cuGetErrorString(result, &text) != WW_CUDA_SUCCESS || !text)
		text = "no text";
	snprintf(answer, sizeof(answer), "%s (%s)", text, name);
	return ww_fail_native(status, WW_DOMAIN_CUDA, result, answer, remedy, format, arguments);
}

ww_status ww_cuda_fail(const struct ww_cuda_driver *table, ww_CUresult result, const char *remedy,
	const char *format, ...)
{
	ww_status status = ww_cuda_status(result);
	va_list arguments;

	va_start(arguments, format);
	fail(status, table, result, remedy, format, arguments);
	va_end(arguments);
	return status;
}

ww_status ww_cuda_fail_as(ww_status status, const struct ww_cuda_driver *table, ww_CUresult result,
	const char *remedy, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fail(status, table, result, remedy, format, arguments);
	va_end(arguments);
	return status;
}

static ww_status find_functions(ww_PFN_cuGetProcAddress get_proc_address)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		ww_CUdriverProcAddressQueryResult found;
		ww_CUresult result = get_proc_address(entries[i].name, entries[i].function,
			WW_CUDA_ABI_VERSION, 0, &found);

		if (result != WW_CUDA_SUCCESS || !*entries[i].function)
			return ww_fail(WW_ERR_NO_DEVICE,
				"cannot use " LIBRARY
				": it has no %s; install an NVIDIA driver of version "
				"525 (CUDA 12.0) or newer",
				entries[i].name);
	}
	return WW_OK;
}

/* A name that the driver does not know is no failure of the call. */
static ww_status find_group(ww_PFN_cuGetProcAddress get_proc_address, const struct entry *group,
	size_t count, bool *out_has_all)
{
	*out_has_all = true;
	for (size_t i = 0; i < count; i++) {
		ww_CUdriverProcAddressQueryResult found;
		ww_CUresult result = get_proc_address(group[i].name, group[i].function,
			WW_CUDA_ABI_VERSION, 0, &found);

		if (result != WW_CUDA_SUCCESS)
			return ww_fail(WW_ERR_NO_DEVICE,
				"cannot use " LIBRARY ": asked for %s it fails", group[i].name);
		*out_has_all = *out_has_all && *group[i].function;
	}
	return WW_OK;
}

static ww_status initialise(void)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	ww_CUresult result;

	ww_process_set_uses_gpu(true);
	result = driver.cuInit(0);
	if (result == WW_CUDA_SUCCESS)
		return WW_OK;
	ww_process_set_uses_gpu(false);
	if (result == WW_CUDA_ERROR_NOT_INITIALIZED)
		return ww_cuda_fail_as(WW_ERR_FORKED, &driver, result,
			"start this process with exec() (Python: multiprocessing.set_start_method(\"spawn\")), "
			"or use \"host\"",
			"CUDA refuses a child made by fork() from a process that used it");
	if (result == WW_CUDA_ERROR_NO_DEVICE && visible)
		return ww_cuda_fail_as(WW_ERR_NO_DEVICE, &driver, result,
			"let it name a GPU, or unset it",
			"CUDA_VISIBLE_DEVICES is \"%.80s\", which shows no GPU", visible);
	return ww_cuda_fail_as(WW_ERR_NO_DEVICE, &driver, result, "nvidia-smi should list a GPU",
		"the NVIDIA driver does not start");
}

/* Of the file itself, not of one that it needs. Both texts are in the language of the locale. */
static bool is_absent(const char *text)
{
	char buffer[100];

	return strncmp(text, LIBRARY ":", sizeof(LIBRARY)) == 0 &&
		strstr(text, strerror_r(ENOENT, buffer, sizeof(buffer)));
}

static ww_status fail_to_open(const char *reason)
{
	return ww_fail(WW_ERR_NO_DEVICE,
		"no NVIDIA driver: %s; install one of version 525 or newer, or use \"host\"",
		reason);
}

static ww_status load(void)
{
	void *library;
	ww_PFN_cuGetProcAddress get_proc_address;
	ww_status status;
	const char *text;

	/* A missing file is not looked for again; after other failures the next call tries anew. */
	if (absence[0])
		return fail_to_open(absence);
	library = ww_loader_open(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		text = dlerror();
		if (!text)
			return fail_to_open("out of memory"); /* for the text, too */
		if (is_absent(text))
			snprintf(absence, sizeof(absence), "%s", text);
		return fail_to_open(text);
	}
	*(void **)&get_proc_address = ww_loader_symbol(library, "cuGetProcAddress_v2");
	if (get_proc_address)
		status = find_functions(get_proc_address);
	else
		status = ww_fail(WW_ERR_NO_DEVICE,
			"cannot use " LIBRARY ": it is older than CUDA "
			"12.0; install an NVIDIA driver of version 525 or newer");
	if (status == WW_OK)
		status = find_group(get_proc_address, foreign_entries,
			sizeof(foreign_entries) / sizeof(foreign_entries[0]), &driver.has_foreign);
	if (status == WW_OK)
		status = find_group(get_proc_address, graph_entries,
			sizeof(graph_entries) / sizeof(graph_entries[0]), &driver.has_graph);
	if (status == WW_OK) {
		/* These functions may be missing. */
		for (size_t i = 0; i < sizeof(later_entries) / sizeof(later_entries[0]); i++) {
			ww_CUdriverProcAddressQueryResult found;

			if (get_proc_address(later_entries[i].name, later_entries[i].function,
				    WW_CUDA_ABI_LATER, 0, &found) != WW_CUDA_SUCCESS)
				*later_entries[i].function = NULL;
		}
		status = initialise();
	}
	return status;
}

ww_status ww_cuda_driver_get(const struct ww_cuda_driver **out_driver)
{
	ww_status status = WW_OK;

	*out_driver = NULL;
	pthread_mutex_lock(&lock);
	if (!is_ready) {
		status = load();
		is_ready = status == WW_OK;
	}
	pthread_mutex_unlock(&lock);
	if (status == WW_OK)
		*out_driver = &driver;
	return status;
}
