/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - finds the driver that the library finds
 *
 * dlopen() gives every asker the same copy, so what is seen and set here is what the library sees.
 */
#include "support/driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include "support/check.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct driver driver;
static struct fake fake;
static bool have_driver;
static bool have_fake;

static void find(void *library, const char *symbol, void *out_function)
{
	*(void **)out_function = dlsym(library, symbol);
	if (!*(void **)out_function)
		have_driver = false;
}

static void find_all(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return;
	have_driver = true;
#define FIND(name, symbol) find(library, #symbol, &driver.name);
	DRIVER_FUNCTIONS(FIND)
#undef FIND
	have_driver = have_driver && driver.cuInit(0) == WW_CUDA_SUCCESS;
	*(void **)&fake.fail = dlsym(library, "fakecuda_fail");
	*(void **)&fake.fail_off = dlsym(library, "fakecuda_fail_off");
	*(void **)&fake.call_count = dlsym(library, "fakecuda_call_count");
	*(void **)&fake.live = dlsym(library, "fakecuda_live");
	have_fake = fake.fail && fake.fail_off && fake.call_count && fake.live;
}

const struct driver *driver_get(void)
{
	pthread_once(&once, find_all);
	return have_driver ? &driver : NULL;
}

const struct fake *fake_get(void)
{
	pthread_once(&once, find_all);
	return have_fake ? &fake : NULL;
}
