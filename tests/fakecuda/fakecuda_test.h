/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakecuda_test.h - what the fake driver's own tests share
 *
 * The fake is opened as every user of a driver opens one: dlopen("libcuda.so.1"). Each test starts
 * with the primary context of device 0 current and must leave nothing behind: what the process
 * holds is counted before and after it.
 */
#ifndef FAKECUDA_TEST_H
#define FAKECUDA_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/cuda/cuda_abi.h"
#include "fakecuda.h"

#define MIB         ((size_t)1 << 20)
#define GRANULARITY (2 * MIB)

#define OK(call)           assert_int_equal(call, WW_CUDA_SUCCESS)
#define FAILS(call, error) assert_int_equal(call, WW_CUDA_ERROR_##error)

struct cu_functions {
#define CU_MEMBER(name, symbol, parameters) ww_PFN_##name name;
	WW_CUDA_FUNCTIONS(CU_MEMBER)
#undef CU_MEMBER
	fakecuda_fail_fn *fail_nth;
	fakecuda_at_fn *call_at;
	fakecuda_fail_off_fn *fail_off;
	fakecuda_call_count_fn *call_count;
	fakecuda_live_fn *live;
};

extern struct cu_functions cu;

void cu_open(void);

/* One VMM allocation, mapped and accessible from device 0. */
struct mapped {
	ww_CUmemGenericAllocationHandle handle;
	ww_CUdeviceptr address;
	size_t bytes;
};

ww_CUmemAllocationProp vmm_prop(int device, int handle_types);
void set_access(ww_CUdeviceptr address, size_t bytes, int device, int flags);
struct mapped map_new(size_t bytes, int handle_types);
struct mapped map_handle(ww_CUmemGenericAllocationHandle handle, size_t bytes);
void unmap(struct mapped *mapped);

uint32_t read_word(ww_CUdeviceptr address);
void write_word(ww_CUdeviceptr address, uint32_t value);

/* A page that stream and CPU both see, used as a gate: closed until a value is stored. */
struct gate {
	uint64_t *value;
	ww_CUdeviceptr address;
};

struct gate gate_new(void);
void gate_close_on(const struct gate *gate, ww_CUstream stream);
void gate_open(const struct gate *gate);
void gate_delete(const struct gate *gate);

ww_CUstream stream_new(unsigned int flags);
ww_CUcontext breakable_context(void); /* current, and to be destroyed */

/*
 * Gives whatever could run the chance to, before the test says that it did not: every operation
 * that ends wakes all the other streams.
 */
void let_others_run(void);

int test_begin(void **state);
int test_end(void **state);

/* Adds a test to those that main() runs. */
void test_enter(const struct CMUnitTest *test);

/*
 * Defines a test, which enters itself before main(), so that it is listed nowhere else. The tests
 * run in the order of the files in meson.build, and of the tests in each file.
 */
#define TEST(test_name) TEST_WITH(test_name, test_begin, test_end)

#define TEST_WITH(test_name, begin, end)                                                   \
	static void test_name(void **state);                                               \
	__attribute__((constructor)) static void test_name##_enter(void)                   \
	{                                                                                  \
		test_enter(&(struct CMUnitTest){#test_name, test_name, begin, end, NULL}); \
	}                                                                                  \
	static void test_name(__attribute__((unused)) void **state)

/* The other side of the tests with several processes; see fakecuda_test_process.c. */
int helper_main(int argc, char **argv);

#endif
