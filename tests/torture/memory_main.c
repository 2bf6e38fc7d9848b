/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_main.c - everything that needs no broker is tortured
 *
 * What a process does only once, such as loading the driver, is tortured in fresh processes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fail_call.h"
#include "support/check.h"
#include "support/child.h"
#include "support/driver.h"
#include "support/subject.h"
#include "torture/memory_scenario.h"
#include "torture/torture.h"

static const struct expectation expectations[] = {
	{"malloc", ENOMEM, WW_ERR_NO_MEMORY, false, RARELY},
	{"calloc", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"realloc", ENOMEM, WW_ERR_NO_MEMORY, false, RARELY},
	{"aligned_alloc", ENOMEM, WW_ERR_NO_MEMORY, false, RARELY},
	{"memfd_create", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"memfd_create", ENFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"memfd_create", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	/* A kernel that does not know a flag: there is another attempt without it. */
	{"memfd_create", EINVAL, WW_ERR_SYSTEM, true, ALWAYS},
	{"ftruncate", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"ftruncate", EFBIG, WW_ERR_OVERFLOW, false, ALWAYS},
	{"ftruncate", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"fallocate", ENOSPC, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"fallocate", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"fallocate", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"fallocate", EOPNOTSUPP, WW_ERR_UNSUPPORTED, false, ALWAYS},
	{"fallocate", EINTR, WW_OK, true, ALWAYS},
	{"fchmod", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"fcntl(F_DUPFD_CLOEXEC)", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"fcntl(F_DUPFD_CLOEXEC)", EBADF, WW_ERR_DESCRIPTOR, false, ALWAYS},
	{"fcntl(F_ADD_SEALS)", EINVAL, WW_ERR_SYSTEM, false, ALWAYS},
	/* What has no seals is no memory. */
	{"fcntl(F_GET_SEALS)", EINVAL, WW_ERR_DESCRIPTOR, false, ALWAYS},
	{"fcntl(F_GET_SEALS)", EBADF, WW_ERR_DESCRIPTOR, false, ALWAYS},
	{"fcntl(F_GETFL)", EINVAL, WW_OK, true, ALWAYS},
	{"fcntl", EINVAL, WW_OK, true, ALWAYS},
	{"fstatfs", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	/* Also asked whether two descriptors are the same: unknown means no. */
	{"fstat", EIO, WW_ERR_SYSTEM, true, ALWAYS},
	{"mmap", ENOMEM, WW_ERR_LIMIT, false, ALWAYS},
	{"mmap", EACCES, WW_ERR_ACCESS, false, ALWAYS},
	{"mmap", ENODEV, WW_ERR_SYSTEM, false, ALWAYS},
	{"open", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"open", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"open", EACCES, WW_ERR_UNSUPPORTED, false, ALWAYS},
	{"open", ENOENT, WW_ERR_UNSUPPORTED, false, ALWAYS},
	{"read", EIO, WW_ERR_SYSTEM, false, ON_HOST},
	{"read", EINTR, WW_OK, true, ON_HOST},
	{"getrandom", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"getrandom", ENOSYS, WW_ERR_UNSUPPORTED, false, ALWAYS},
	{"getrandom", EINTR, WW_OK, true, ALWAYS},
	{"getsockopt", ENOTSOCK, WW_ERR_DESCRIPTOR, false, ALWAYS},
	{"getsockopt", EBADF, WW_ERR_DESCRIPTOR, false, ALWAYS},
	/* Asked whether an empty message is the last one: unknown means yes. */
	{"poll", ENOMEM, WW_OK, true, ALWAYS},
	{"eventfd", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"eventfd", ENFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"eventfd", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"ppoll", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"ppoll", EINVAL, WW_ERR_SYSTEM, false, ALWAYS},
	{"ppoll", EINTR, WW_OK, true, ALWAYS},
	{"sendmsg", EPIPE, WW_ERR_PEER_LOST, false, ALWAYS},
	{"sendmsg", ECONNRESET, WW_ERR_PEER_LOST, false, ALWAYS},
	{"sendmsg", ENOTCONN, WW_ERR_DESCRIPTOR, false, ALWAYS},
	{"sendmsg", ENOBUFS, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"sendmsg", ETOOMANYREFS, WW_ERR_LIMIT, false, ALWAYS},
	{"sendmsg", EAGAIN, WW_OK, true, ALWAYS},
	{"sendmsg", EINTR, WW_OK, true, ALWAYS},
	{"recvmsg", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"recvmsg", EINVAL, WW_ERR_DESCRIPTOR, false, ALWAYS},
	{"recvmsg", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"recvmsg", EAGAIN, WW_OK, true, ALWAYS},
	{"recvmsg", EINTR, WW_OK, true, ALWAYS},
	{"pthread_create", EAGAIN, WW_ERR_LIMIT, false, ON_HOST},
	{"pthread_create", ENOMEM, WW_ERR_NO_MEMORY, false, ON_HOST},
	{"dlopen", ENOMEM, WW_ERR_NO_DEVICE, false, RARELY},
	/* Also asked for a kernel's arguments: then they are unknown. */
	{"dlsym", ENOMEM, WW_ERR_NO_DEVICE, true, RARELY},
	/* Two ways of asking how much memory is free: the other one is left. */
	{"sysinfo", EFAULT, WW_ERR_SYSTEM, false, RARELY},
	{"fopen", EMFILE, WW_OK, true, RARELY},
};

static const struct exception exceptions[] = {
	/*
	 * Memory just made has the size asked for; what comes from elsewhere not that of its
	 * description.
	 */
	{"cuMemMap", WW_CUDA_ERROR_INVALID_VALUE, "ww_memory_create", WW_ERR_DEVICE},
	{"cuMemMap", WW_CUDA_ERROR_NOT_SUPPORTED, "ww_memory_create", WW_ERR_UNSUPPORTED},
	{"cuMemMap", WW_CUDA_ERROR_INVALID_VALUE, "ww_memory_copy_in", WW_ERR_DEVICE},
	{"cuMemMap", WW_CUDA_ERROR_NOT_SUPPORTED, "ww_memory_copy_in", WW_ERR_UNSUPPORTED},
	{"cuMemMap", WW_CUDA_ERROR_INVALID_VALUE, NULL, WW_ERR_MISMATCH},
	{"cuMemMap", WW_CUDA_ERROR_NOT_SUPPORTED, NULL, WW_ERR_MISMATCH},
	/* Of a module's file, on host. */
	{"open", EACCES, "kernels_try_load", WW_ERR_ACCESS},
	{"open", ENOENT, "kernels_try_load", WW_ERR_NOT_FOUND},
	{"dlopen", ENOMEM, "kernels_try_load", WW_ERR_INVALID},
	{"dlsym", ENOMEM, "ww_module_kernel", WW_ERR_NOT_FOUND},
};

static const struct torture torture = TORTURE(expectations, .exceptions = exceptions,
	.exception_count = CHECK_COUNT(exceptions), .run = scenario_run);

CASE_CALL(allocations_fail, 0, torture_calls(&torture, CALLS_ALLOCATIONS))
CASE_CALL(system_calls_fail, 0, torture_calls(&torture, CALLS_SYSTEM))
CASE_CALL(system_calls_fail_with_every_error, 0, torture_every_error(&torture))

/* Makes memory while calls are interrupted. */
static void make_large_memory(void)
{
	ww_device *device = subject_open();
	ww_memory *memory;

	if (!(device_info(device).capabilities & WW_CAP_HOST_MEMORY)) {
		ww_device_unref(device);
		check_skip("the device cannot use host memory");
	}
	memory = memory_make(device, WW_MEMORY_HOST, 64 * MIB);
	MUST(calls_off(NULL));
	MUST_EQUAL(64 * MIB, memory_info(memory).bytes);
	memory_must_be(memory, 0);
	ww_memory_unref(memory);
	ww_device_unref(device);
}

/* Signals that come now and then: the allocation goes on. */
CASE(allocation_interrupted_at_times, 0)
{
	for (uint64_t times = 1; times <= 9; times += 4) {
		calls_fail_named("fallocate", EINTR, 1, times);
		make_large_memory();
	}
}

/* Signals that come faster than a large step takes: the steps become smaller. */
CASE(allocation_interrupted_for_ever, 0)
{
	calls_interrupt_above(2 * MIB);
	make_large_memory();
}

CASE_CALL(driver_out_of_memory, 0, torture_driver(&torture, WW_CUDA_ERROR_OUT_OF_MEMORY))
CASE_CALL(driver_fails_for_no_reason, 0, torture_driver(&torture, WW_CUDA_ERROR_UNKNOWN))

/* The driver maps nothing but the whole of an allocation. */
CASE(driver_maps_no_other_size, 0)
{
	if (!fake_get() || !subject_is_cuda())
		check_skip("only the fake driver fails when it is told to");
	torture_warm_up(&torture);
	MUST(torture_driver_function(&torture, "cuMemMap", WW_CUDA_ERROR_INVALID_VALUE) > 1);
	MUST(torture_driver_function(&torture, "cuMemMap", WW_CUDA_ERROR_NOT_SUPPORTED) > 1);
}

/* A fresh process in which the Nth call fails; afterwards everything must work. */
ROLE(first_use)
{
	uint64_t nth = strtoull(arguments[0], NULL, 10);
	const char *function;
	const char *step;
	ww_status status;
	int error;

	MUST(count == 2);
	scenario_uses_peer = atoi(arguments[1]);
	calls_fail(CALLS_ALLOCATIONS | CALLS_SYSTEM, nth);
	status = scenario_run(&step);
	function = calls_off(&error);
	if (function)
		torture_must_fit(&torture, function, error, step, status);
	else
		MUST_OK(status);
	MUST_OK(scenario_run(&step));
	role_tell(function ? "failed" : "all");
}

CASE(first_use_fails, 0)
{
	char word[CHILD_WORD_BYTES] = "";
	int nth;

	/* What comes later than the first memory is no first use any more. */
	for (nth = 1; nth <= 40 && strcmp(word, "all"); nth++) {
		char text[16];
		const char *const arguments[] = {text, scenario_uses_peer ? "1" : "0", NULL};
		struct child child;

		snprintf(text, sizeof(text), "%d", nth);
		child_start(&child, "first_use", &(struct child_options){.arguments = arguments});
		child_hear_any(&child, word);
		child_finish(&child);
	}
	MUST(nth > 10);
}

/* The same for the driver: its start fails. The fake one is told so by its environment. */
ROLE(driver_start)
{
	ww_device *device;

	MUST(count == 1);
	MUST_REFUSE(atoi(arguments[0]), "", ww_device_open(subject_name(), &device));
	MUST(!device);
	MUST_OK(ww_device_open("host", &device));
	ww_device_unref(device);
	MUST_OK(ww_device_open(subject_name(), &device)); /* the failure was for once */
	ww_device_unref(device);
}

CASE(driver_start_fails, 0)
{
	static const struct {
		const char *setting;
		ww_status status;
	} failures[] = {
		{"FAKECUDA_FAIL=cuInit:1:100", WW_ERR_NO_DEVICE}, /* CUDA_ERROR_NO_DEVICE */
		{"FAKECUDA_FAIL=cuInit:1:999", WW_ERR_NO_DEVICE},
		{"FAKECUDA_FAIL=cuInit:1:34", WW_ERR_NO_DEVICE}, /* CUDA_ERROR_STUB_LIBRARY */
		{"FAKECUDA_FAIL=cuGetProcAddress:1:500", WW_ERR_NO_DEVICE},
		{"FAKECUDA_FAIL=cuGetProcAddress:7:500", WW_ERR_NO_DEVICE},
		{"FAKECUDA_FAIL=cuDeviceGetUuid:1:999", WW_ERR_DEVICE},
		{"FAKECUDA_FAIL=cuDeviceGetUuid:1:2", WW_ERR_DEVICE_MEMORY},
	};

	if (!fake_get() || !subject_is_cuda())
		check_skip("only the fake driver fails when it is told to");
	for (size_t i = 0; i < CHECK_COUNT(failures); i++) {
		const char *const environment[] = {failures[i].setting, NULL};
		char status[16];
		const char *const arguments[] = {status, NULL};
		struct child child;

		snprintf(status, sizeof(status), "%d", failures[i].status);
		child_start(&child, "driver_start",
			&(struct child_options){.environment = environment,
				.arguments = arguments});
		child_finish(&child);
	}
}

static void look_at_subject(void)
{
	OWN(device) ww_device *device = subject_open();
	OWN(device) ww_device *other = subject_is_cuda() ? subject_open_other() : NULL;

	scenario_uses_peer = other && devices_are_peers(device, other);
	if (device_info(device).capabilities & WW_CAP_FOREIGN)
		scenario_allocate();
}

CHECK_MAIN(check_main, .name = "torture", .warm_up = look_at_subject)
