/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_refuse.c - what is no module, no kernel, or cannot be launched; and what the driver says
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "support/child.h"
#include "support/driver.h"
#include "support/kernels.h"

static void refuse_image(ww_device *device, ww_status expected, const char *word, const void *image,
	uint64_t bytes)
{
	ww_module *module = (ww_module *)&module;

	MUST_REFUSE(expected, word, ww_module_load_image(device, image, bytes, NULL, &module));
	MUST(!module);
}

DEVICE_CASE(module_refuses_what_is_none, WW_CAP_MODULE)
{
	static const char fatbin[16] = "\x50\xed\x55\xba\x01\x00\x10\x00\xff";

	refuse_image(device, WW_ERR_INVALID, "no module", "", 0);
	refuse_image(device, WW_ERR_INVALID, "no module", "#!/bin/sh\n", 10);
	refuse_image(device, WW_ERR_INVALID, "no module", "// .version\n/* .version", 23);
	refuse_image(device, WW_ERR_INVALID, "no module", "\177ELF", 4);
	refuse_image(device, WW_ERR_INVALID, "cut short", fatbin, sizeof(fatbin));
	refuse_image(device, WW_ERR_INVALID, "cut short", fatbin, 5);
}

DEVICE_CASE(module_refuses_files, WW_CAP_MODULE)
{
	char folder[] = "/tmp/warpway-module-XXXXXX";
	char path[64];
	ww_module *module;

	MUST(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fifo", folder);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "fifo", ww_module_load(device, path, NULL, &module));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "No such file", ww_module_load(device, "", NULL, &module));
	MUST_CALL(mkfifo(path, 0600));
	MUST_REFUSE(WW_ERR_INVALID, "regular", ww_module_load(device, path, NULL, &module));
	MUST_REFUSE(WW_ERR_INVALID, "regular", ww_module_load(device, folder, NULL, &module));
	MUST_REFUSE(WW_ERR_INVALID, "no module",
		ww_module_load(device, "/proc/self/comm", NULL, &module));
	MUST(!module);
	unlink(path);
	rmdir(folder);
}

/* What is right for the other kind of device. */
DEVICE_CASE(module_refuses_other_devices, WW_CAP_MODULE)
{
	const char *text = kernels_ptx();
	ww_module *module;

	if (subject_is_cuda())
		MUST_REFUSE(WW_ERR_UNSUPPORTED, "shared object",
			ww_module_load(device, kernels_path(), NULL, &module));
	else
		refuse_image(device, WW_ERR_UNSUPPORTED, "PTX", text, strlen(text));
}

/* The driver would read behind the end. */
DEVICE_CASE(module_refuses_what_is_cut_short, WW_CAP_MODULE)
{
	FILE *file = fopen(kernels_path(), "re");
	static char image[1 << 20];
	uint64_t bytes;

	MUST(file);
	bytes = fread(image, 1, sizeof(image), file);
	fclose(file);
	MUST(bytes > 4096 && bytes < sizeof(image));
	for (uint64_t cut = 64; cut < bytes; cut += 509)
		refuse_image(device, WW_ERR_INVALID, "cut short", image, cut);
	refuse_image(device, WW_ERR_INVALID, "cut short", image, bytes - 1);
}

DEVICE_CASE(module_refuses_flags, WW_CAP_MODULE)
{
	struct ww_module_params unset = {.struct_size = 0};
	ww_module *module;

	MUST_REFUSE(WW_ERR_INVALID, "flags",
		ww_module_load(device, "/", WW_PARAMS(struct ww_module_params, .flags = 1),
			&module));
	MUST_REFUSE(WW_ERR_INVALID, "size", ww_module_load(device, "/", &unset, &module));
}

DEVICE_CASE(module_refuses_unknown_functions, WW_CAP_MODULE)
{
	/* The last two are no functions of the object itself. */
	static const char *const names[] = {"no_such_kernel", "", "SAXPY", "no_kernel", "printf"};
	OWN(module) ww_module *module = kernels_load(device);
	ww_kernel *kernel;

	for (size_t i = 0; i < CHECK_COUNT(names); i++) {
		MUST_REFUSE(WW_ERR_NOT_FOUND, names[i],
			ww_module_kernel(module, names[i], &kernel));
		MUST(!kernel);
	}
}

struct launcher {
	ww_device *device;
	ww_stream *stream;
	ww_module *module;
	ww_kernel *kernel; /* saxpy */
	void *pointer;
	float a;
	uint64_t count;
};

static struct launcher launcher_make(void)
{
	struct launcher made = {.device = subject_open()};

	made.stream = stream_make(made.device);
	made.module = kernels_load(made.device);
	made.kernel = kernel_find(made.module, "saxpy");
	return made;
}

static void launcher_end(struct launcher *launcher)
{
	MUST_OK(ww_stream_synchronize(launcher->stream, WW_FOREVER, NULL));
	ww_kernel_unref(launcher->kernel);
	ww_module_unref(launcher->module);
	ww_stream_unref(launcher->stream);
	ww_device_unref(launcher->device);
}

/* With a count of 0, saxpy touches no memory. */
static ww_status launch_params(struct launcher *launcher, struct ww_launch_params params)
{
	const struct ww_kernel_argument arguments[] = {ARGUMENT(launcher->a),
		ARGUMENT(launcher->pointer), ARGUMENT(launcher->pointer),
		ARGUMENT(launcher->count)};

	params.struct_size = sizeof(params);
	return ww_kernel_launch(launcher->kernel, launcher->stream, &params, arguments, 4);
}

CASE(module_refuses_large_launches, WW_CAP_MODULE)
{
	static const struct ww_launch_params wrong[] = {
		{.grid = {0, 1, 1}, .block = {1, 1, 1}},
		{.grid = {1, 1, 0}, .block = {1, 1, 1}},
		{.grid = {UINT32_C(1) << 31, 1, 1}, .block = {1, 1, 1}},
		{.grid = {1, 65536, 1}, .block = {1, 1, 1}},
		{.grid = {1, 1, 65536}, .block = {1, 1, 1}},
		{.grid = {1, 1, 1}, .block = {1, 0, 1}},
		{.grid = {1, 1, 1}, .block = {1025, 1, 1}},
		{.grid = {1, 1, 1}, .block = {1, 1, 65}},
		{.grid = {1, 1, 1}, .block = {64, 32, 1}},
		{.grid = {1, 1, 1}, .block = {1, 1, 1}, .shared_bytes = UINT32_MAX},
		{.grid = {1, 1, 1}, .block = {1, 1, 1}, .flags = 1},
	};
	ENDED_BY(launcher_end) struct launcher launcher = launcher_make();

	for (size_t i = 0; i < CHECK_COUNT(wrong); i++)
		MUST_REFUSE(WW_ERR_INVALID, "", launch_params(&launcher, wrong[i]));
	MUST_OK(launch_params(&launcher,
		(struct ww_launch_params){.grid = {1, 1, 1},
			.block = {1, 1, 1},
			.shared_bytes = kernel_info(launcher.kernel).shared_bytes_max}));
}

static void refuse_arguments(const struct launcher *launcher, ww_status status, const char *word,
	const struct ww_kernel_argument *arguments, uint32_t count)
{
	MUST_REFUSE(status, word,
		launch(launcher->kernel, launcher->stream, 1, 1, arguments, count));
}

CASE(module_refuses_wrong_arguments, WW_CAP_MODULE)
{
	ENDED_BY(launcher_end) struct launcher launcher = launcher_make();
	struct ww_kernel_argument arguments[WW_KERNEL_ARGUMENTS_MAX + 1] = {ARGUMENT(launcher.a),
		ARGUMENT(launcher.pointer), ARGUMENT(launcher.pointer), ARGUMENT(launcher.count)};

	if (kernel_info(launcher.kernel).argument_count == WW_KERNEL_ARGUMENTS_UNKNOWN)
		check_skip("the driver does not tell a kernel's arguments");
	for (uint32_t i = 4; i < CHECK_COUNT(arguments); i++)
		arguments[i] = (struct ww_kernel_argument)ARGUMENT(launcher.a);
	refuse_arguments(&launcher, WW_ERR_INVALID, "it takes 4", arguments, 3);
	refuse_arguments(&launcher, WW_ERR_INVALID, "it takes 4", arguments, 5);
	refuse_arguments(&launcher, WW_ERR_INVALID, "256", arguments, WW_KERNEL_ARGUMENTS_MAX + 1);
	arguments[3].bytes = 4;
	refuse_arguments(&launcher, WW_ERR_INVALID, "argument 3", arguments, 4);
	arguments[3].bytes = WW_KERNEL_ARGUMENT_BYTES_MAX + 1;
	refuse_arguments(&launcher, WW_ERR_OVERFLOW, "address", arguments, 4);
	arguments[3].bytes = 0;
	refuse_arguments(&launcher, WW_ERR_INVALID, "no value", arguments, 4);
	arguments[3] = (struct ww_kernel_argument){.value = NULL, .bytes = 8};
	refuse_arguments(&launcher, WW_ERR_INVALID, "no value", arguments, 4);
}

CASE(module_refuses_streams_of_others, WW_CAP_MODULE | NEEDS_CUDA)
{
	ENDED_BY(launcher_end) struct launcher launcher = launcher_make();
	ww_stream *own = launcher.stream;
	ww_device *host;

	MUST_OK(ww_device_open("host", &host));
	launcher.stream = stream_make(host);
	MUST_REFUSE(WW_ERR_INVALID, "host",
		launch_params(&launcher,
			(struct ww_launch_params){.grid = {1, 1, 1}, .block = {1, 1, 1}}));
	ww_stream_unref(launcher.stream);
	ww_device_unref(host);
	launcher.stream = own;
}

/* A stream of the same GPU, in a context that the program made. */
CASE(module_refuses_other_contexts, WW_CAP_MODULE | NEEDS_CUDA)
{
	const struct driver *driver = driver_get();
	ENDED_BY(launcher_end) struct launcher launcher = launcher_make();
	ww_stream *own = launcher.stream;
	ww_CUcontext context;
	ww_CUdevice ordinal;

	MUST_EQUAL(0, driver->cuDeviceGet(&ordinal, (int)device_info(launcher.device).index));
	MUST_EQUAL(0, driver->cuCtxCreate(&context, WW_CU_CTX_SCHED_AUTO, ordinal));
	MUST_EQUAL(0, driver->cuCtxSetCurrent(context));
	launcher.stream = stream_make(launcher.device);
	MUST_EQUAL(0, driver->cuCtxSetCurrent(NULL));
	MUST_REFUSE(WW_ERR_INVALID, "context",
		launch_params(&launcher,
			(struct ww_launch_params){.grid = {1, 1, 1}, .block = {1, 1, 1}}));
	ww_stream_unref(launcher.stream);
	MUST_EQUAL(0, driver->cuCtxDestroy(context));
	MUST_EQUAL(0, driver->cuCtxSetCurrent(NULL));
	launcher.stream = own;
}

/* The compiler's words are in the record. */
DEVICE_CASE(module_refuses_ptx_that_does_not_compile, WW_CAP_MODULE | NEEDS_CUDA)
{
	static const char text[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
				   ".visible .entry broken()\n{\n\tno.such.instruction;\n}\n";

	refuse_image(device, WW_ERR_INVALID, "ptx", text, sizeof(text) - 1);
}

/* What the driver answers to a module that this GPU, or this driver, cannot run. */
CASE(module_load_says_what_to_do, WW_CAP_MODULE | NEEDS_CUDA)
{
	static const struct {
		int answer;
		ww_status status;
		const char *word;
	} answers[] = {
		{WW_CUDA_ERROR_NO_BINARY_FOR_GPU, WW_ERR_UNSUPPORTED, "-arch"},
		{WW_CUDA_ERROR_UNSUPPORTED_PTX_VERSION, WW_ERR_UNSUPPORTED, "newer driver"},
		{WW_CUDA_ERROR_JIT_COMPILER_NOT_FOUND, WW_ERR_UNSUPPORTED, "cubin"},
		{WW_CUDA_ERROR_INVALID_IMAGE, WW_ERR_INVALID, "INVALID_IMAGE"},
		{WW_CUDA_ERROR_OUT_OF_MEMORY, WW_ERR_DEVICE_MEMORY, "memory"},
		{WW_CUDA_ERROR_ILLEGAL_ADDRESS, WW_ERR_DEVICE, "ILLEGAL_ADDRESS"},
	};
	const struct fake *fake = fake_get();
	ww_device *device = subject_open();
	ww_module *module;

	if (!fake)
		check_skip("only the fake driver answers what it is told to");
	for (size_t i = 0; i < CHECK_COUNT(answers); i++) {
		fake->fail("cuModuleLoadDataEx", 1, answers[i].answer);
		MUST_REFUSE(answers[i].status, answers[i].word, kernels_try_load(device, &module));
		MUST(!module);
	}
	fake->fail_off();
	ww_device_unref(device);
}

CASE(module_launch_says_what_failed, WW_CAP_MODULE | NEEDS_CUDA)
{
	const struct ww_launch_params one = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
	const struct fake *fake = fake_get();
	struct launcher launcher = launcher_make();

	if (fake) {
		fake->fail("cuLaunchKernel", 1, WW_CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
		MUST_REFUSE(WW_ERR_INVALID, "smaller blocks", launch_params(&launcher, one));
		fake->fail("cuLaunchKernel", 1, WW_CUDA_ERROR_LAUNCH_FAILED);
		MUST_REFUSE(WW_ERR_DEVICE, "LAUNCH_FAILED", launch_params(&launcher, one));
		fake->fail_off();
	}
	MUST_OK(launch_params(&launcher, one));
	launcher_end(&launcher);
	if (!fake)
		check_skip("only the fake driver answers what it is told to");
}

/*
 * A kernel that stores to memory which is gone: the context is lost, and every call says so. In a
 * process of its own, since nothing can be done in this one afterwards.
 */
ROLE(faulty_launcher)
{
	struct launcher launcher = launcher_make();
	ww_memory *memory = memory_make(launcher.device, WW_MEMORY_VMM, 2 * MIB);
	const struct ww_launch_params one = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
	ww_module *module;

	launcher.pointer = ww_memory_pointer(memory);
	launcher.count = 1;
	ww_memory_unref(memory);
	MUST_OK(launch_params(&launcher, one));
	MUST_REFUSE(WW_ERR_DEVICE, "", ww_stream_synchronize(launcher.stream, WW_FOREVER, NULL));
	MUST_REFUSE(WW_ERR_DEVICE, "saxpy", launch_params(&launcher, one));
	MUST_REFUSE(WW_ERR_DEVICE, "", kernels_try_load(launcher.device, &module));
	ww_kernel_unref(launcher.kernel);
	ww_module_unref(launcher.module);
	ww_stream_unref(launcher.stream);
	ww_device_unref(launcher.device);
}

CASE(module_fault_loses_the_context, WW_CAP_MODULE | NEEDS_CUDA)
{
	ww_device *device = subject_open();
	bool is_shared = device_info(device).mps == WW_MPS_ON;
	ENDED_BY(child_finish) struct child child;

	ww_device_unref(device);
	if (is_shared)
		check_skip("under MPS the fault of one client ends the contexts of all");
	child_start(&child, "faulty_launcher", NULL);
}

/* A driver of CUDA 12.0 does not tell a kernel's arguments, and launches all the same. */
ROLE(old_launcher)
{
	ENDED_BY(launcher_end) struct launcher launcher = launcher_make();

	MUST_EQUAL(WW_KERNEL_ARGUMENTS_UNKNOWN, kernel_info(launcher.kernel).argument_count);
	MUST_OK(launch_params(&launcher,
		(struct ww_launch_params){.grid = {1, 1, 1}, .block = {1, 1, 1}}));
}

CASE(module_works_with_old_drivers, WW_CAP_MODULE | NEEDS_CUDA)
{
	const char *const settings[] = {"FAKECUDA_NO_LATER=1", NULL};
	ENDED_BY(child_finish) struct child child;

	if (!fake_get())
		check_skip("only the fake driver can be an old one");
	child_start(&child, "old_launcher", &(struct child_options){.environment = settings});
}

/* A child made by fork() has threads of its own, but nothing of its parent's modules. */
CASE(module_is_not_inherited, WW_CAP_MODULE | NEEDS_HOST_BACKEND)
{
	ENDED_BY(launcher_end) struct launcher launcher = launcher_make();
	ww_kernel *kernel;
	int status;
	pid_t pid = fork();

	MUST_CALL(pid);
	if (pid == 0) {
		bool refused = ww_module_kernel(launcher.module, "saxpy", &kernel) ==
				WW_ERR_FORKED &&
			launch(launcher.kernel, launcher.stream, 1, 1, NULL, 0) == WW_ERR_FORKED;

		ww_kernel_unref(launcher.kernel);
		ww_module_unref(launcher.module);
		_exit(refused ? 0 : 1);
	}
	MUST_EQUAL(pid, waitpid(pid, &status, 0));
	MUST_EQUAL(0, status);
}
