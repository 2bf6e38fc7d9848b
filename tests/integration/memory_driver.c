/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_driver.c - the library without a driver, with a broken one and with GPUs that do not take
 * everybody; and that it prints nothing
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "integration/memory.h"
#include "support/driver.h"

/* Whatever else is missing: host works, and nothing is the default but host. */
static void must_have_host_only(const char *word)
{
	OWN(device) ww_device *device;
	OWN(device) ww_device *best;
	uint32_t count;

	MUST_REFUSE(WW_ERR_NO_DEVICE, word, ww_device_open("cuda:0", &device));
	MUST(!device);
	MUST_REFUSE(WW_ERR_NO_DEVICE, word,
		ww_device_open("cuda:GPU-00000000-0000-0000-0000-000000000000", &device));
	MUST(!device);
	MUST_REFUSE(WW_ERR_NO_DEVICE, word, ww_device_count(WW_BACKEND_CUDA, &count));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_device_open("cuda:x", &device));
	MUST_OK(ww_device_count(WW_BACKEND_HOST, &count));
	MUST_EQUAL(1, count);
	MUST_OK(ww_device_open("host", &device));
	MUST_OK(ww_device_open(NULL, &best));
	MUST(device == best);
	ww_memory_unref(memory_make(device, WW_MEMORY_VMM, 1));
}

ROLE(role_without_driver)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	role_tell(library ? "installed" : "missing");
	if (!library)
		must_have_host_only("libcuda.so.1");
}

CASE(driver_missing, 0)
{
	const char *const environment[] = {"LD_LIBRARY_PATH", "WW_TEST_DEVICE=host", NULL};
	char word[CHILD_WORD_BYTES];
	struct child child;

	child_start(&child, "role_without_driver",
		&(struct child_options){.environment = environment});
	child_hear_any(&child, word);
	child_finish(&child);
	if (!strcmp(word, "installed"))
		check_skip("a CUDA driver is installed here");
}

ROLE(role_with_broken_driver)
{
	must_have_host_only("libcuda.so.1");
}

/* A file of that name that is no library: said, not died of. */
CASE(driver_broken, 0)
{
	char folder[] = "/tmp/warpway-test-XXXXXX";
	char path[64];
	char setting[64];
	const char *const environment[] = {setting, "WW_TEST_DEVICE=host", NULL};
	struct child child;
	int fd;

	MUST(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/libcuda.so.1", folder);
	snprintf(setting, sizeof(setting), "LD_LIBRARY_PATH=%s", folder);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
	MUST_CALL(fd);
	MUST_EQUAL(5, write(fd, "text\n", 5));
	close(fd);
	child_start(&child, "role_with_broken_driver",
		&(struct child_options){.environment = environment});
	child_finish(&child);
	unlink(path);
	rmdir(folder);
}

/*
 * The best device is host; that no GPU was taken is no failure. By name a GPU can be opened all the
 * same, but making a context has the status that is expected.
 */
ROLE(role_open_best)
{
	struct ww_error before;
	OWN(device) ww_device *device;
	OWN(stream) ww_stream *stream;

	MUST_EQUAL(1, count);
	MUST_REFUSE(WW_ERR_INVALID, "", ww_device_open("nothing", &device));
	before = *ww_error_last();
	MUST_OK(ww_device_open(NULL, &device));
	MUST_EQUAL(WW_BACKEND_HOST, device_info(device).backend);
	MUST_MATCH(&before, ww_error_last(), sizeof(before));
	ww_device_unref(device);
	device = subject_open();
	MUST_STATUS(atoi(arguments[0]), ww_stream_create(device, &stream));
	if (stream)
		MUST(!(device_info(device).capabilities & WW_CAP_MANY_PROCESSES));
}

static void open_best_in_mode(const char *setting, ww_status status_of_context)
{
	const char *const environment[] = {setting, NULL};
	char status[16];
	const char *const arguments[] = {status, NULL};
	ENDED_BY(child_finish) struct child child;

	if (!fake_get() || !subject_is_cuda())
		check_skip("only the fake driver has the mode it is told");
	snprintf(status, sizeof(status), "%d", status_of_context);
	child_start(&child, "role_open_best",
		&(struct child_options){.environment = environment, .arguments = arguments});
}

/* No process can use such a GPU. */
CASE_CALL(driver_in_prohibited_mode, WW_CAP_EXPORT,
	open_best_in_mode("FAKECUDA_COMPUTE_MODE=2", WW_ERR_NO_DEVICE))

/* One process can, so there is nobody to share with. */
CASE_CALL(driver_in_exclusive_mode, WW_CAP_EXPORT,
	open_best_in_mode("FAKECUDA_COMPUTE_MODE=3", WW_OK))

ROLE(role_find_mps)
{
	OWN(device) ww_device *device = subject_open();

	MUST_EQUAL(1, count);
	MUST_EQUAL((uint32_t)atoi(arguments[0]), device_info(device).mps);
}

static void find_mps(const char *setting, const char *expected)
{
	const char *const environment[] = {setting, NULL};
	const char *const arguments[] = {expected, NULL};
	ENDED_BY(child_finish) struct child child;

	child_start(&child, "role_find_mps",
		&(struct child_options){.environment = environment, .arguments = arguments});
}

/* The driver says whether MPS is on; one that is older than the attribute cannot. */
CASE(driver_knows_mps, 0)
{
	if (!fake_get() || !subject_is_cuda())
		check_skip("only the fake driver has MPS as it is told");
	find_mps("FAKECUDA_MPS=0", "1");
	find_mps("FAKECUDA_MPS=1", "2");
	find_mps("FAKECUDA_MPS=2", "0");
}

/* Does this and that, failures among it, and says how much came out on standard error. */
ROLE(role_print)
{
	ww_device *device = NULL;
	OWN(fd) int printed = memfd_create("standard error", MFD_CLOEXEC);
	OWN(fd) int before = dup(STDERR_FILENO);

	MUST_CALL(dup2(printed, STDERR_FILENO));
	device = subject_open();
	ww_memory_unref(memory_make(device, WW_MEMORY_VMM, 1));
	MUST(ww_device_open("nothing", &(ww_device *){NULL}) == WW_ERR_INVALID);
	ww_device_unref(device);
	MUST_CALL(dup2(before, STDERR_FILENO));
	role_tell("%s", lseek(printed, 0, SEEK_END) ? "printed" : "quiet");
}

CASE(prints_nothing_unless_asked, 0)
{
	static const char *const settings[][2] = {{"WARPWAY_DEBUG", NULL},
		{"WARPWAY_DEBUG=1", NULL}};
	struct child child;

	for (int asked = 0; asked < 2; asked++) {
		child_start(&child, "role_print",
			&(struct child_options){.environment = settings[asked]});
		child_hear(&child, asked ? "printed" : "quiet");
		child_finish(&child);
	}
}
