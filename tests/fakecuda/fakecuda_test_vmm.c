/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakecuda_test_vmm.c - the rules of the fake driver for virtual memory management
 */
#include "fakecuda_test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

TEST(test_vmm_create_refuses)
{
	ww_CUmemAllocationProp prop = vmm_prop(0, 0);
	ww_CUmemGenericAllocationHandle handle;
	size_t bytes;

	OK(cu.cuMemGetAllocationGranularity(&bytes, &prop, 0));
	assert_int_equal(bytes, GRANULARITY);
	OK(cu.cuMemGetAllocationGranularity(&bytes, &prop, 1));
	assert_int_equal(bytes, GRANULARITY);
	FAILS(cu.cuMemGetAllocationGranularity(&bytes, &prop, 2), INVALID_VALUE);

	FAILS(cu.cuMemCreate(&handle, 0, &prop, 0), INVALID_VALUE);
	FAILS(cu.cuMemCreate(&handle, 1, &prop, 0), INVALID_VALUE);
	FAILS(cu.cuMemCreate(&handle, GRANULARITY, NULL, 0), INVALID_VALUE);
	FAILS(cu.cuMemCreate(&handle, GRANULARITY, &prop, 1), INVALID_VALUE);
	FAILS(cu.cuMemCreate(&handle, (size_t)8 << 30, &prop, 0), OUT_OF_MEMORY);
	prop.location.id = 2;
	FAILS(cu.cuMemCreate(&handle, GRANULARITY, &prop, 0), INVALID_DEVICE);
	prop = vmm_prop(0, WW_CU_MEM_HANDLE_TYPE_FABRIC);
	FAILS(cu.cuMemCreate(&handle, GRANULARITY, &prop, 0), NOT_PERMITTED);
	prop = vmm_prop(0, WW_CU_MEM_HANDLE_TYPE_WIN32);
	FAILS(cu.cuMemCreate(&handle, GRANULARITY, &prop, 0), INVALID_VALUE);
	prop = vmm_prop(0, 0);
	prop.type = WW_CU_MEM_ALLOCATION_TYPE_INVALID;
	FAILS(cu.cuMemCreate(&handle, GRANULARITY, &prop, 0), INVALID_VALUE);
	FAILS(cu.cuMemRelease(0), INVALID_VALUE);
}

TEST(test_vmm_reserve)
{
	ww_CUdeviceptr first;
	ww_CUdeviceptr second;

	FAILS(cu.cuMemAddressReserve(&first, 0, 0, 0, 0), INVALID_VALUE);
	FAILS(cu.cuMemAddressReserve(&first, 65536, 0, 0, 0), INVALID_VALUE);
	FAILS(cu.cuMemAddressReserve(&first, GRANULARITY, 3, 0, 0), INVALID_VALUE);
	FAILS(cu.cuMemAddressReserve(&first, GRANULARITY, 0, 4097, 0), INVALID_VALUE);
	FAILS(cu.cuMemAddressReserve(&first, GRANULARITY, 0, 0, 1), INVALID_VALUE);

	OK(cu.cuMemAddressReserve(&first, GRANULARITY, (size_t)1 << 30, 0, 0));
	assert_int_equal(first % ((size_t)1 << 30), 0);
	OK(cu.cuMemAddressReserve(&second, GRANULARITY, 0, first + 4 * GRANULARITY, 0));
	assert_int_equal(second, first + 4 * GRANULARITY);
	FAILS(cu.cuMemAddressFree(first, 2 * GRANULARITY), INVALID_VALUE);
	FAILS(cu.cuMemAddressFree(first + GRANULARITY, GRANULARITY), INVALID_VALUE);
	OK(cu.cuMemAddressFree(first, GRANULARITY));
	FAILS(cu.cuMemAddressFree(first, GRANULARITY), INVALID_VALUE);
	OK(cu.cuMemAddressFree(second, GRANULARITY));
}

TEST(test_vmm_maps_whole_allocations_only)
{
	ww_CUmemAllocationProp prop = vmm_prop(0, 0);
	ww_CUmemGenericAllocationHandle handle;
	ww_CUdeviceptr at;
	const size_t bytes = 2 * GRANULARITY;

	OK(cu.cuMemAddressReserve(&at, 2 * bytes, 0, 0, 0));
	OK(cu.cuMemCreate(&handle, bytes, &prop, 0));
	FAILS(cu.cuMemMap(at, GRANULARITY, 0, handle, 0), NOT_SUPPORTED);
	FAILS(cu.cuMemMap(at, GRANULARITY, GRANULARITY, handle, 0), NOT_SUPPORTED);
	FAILS(cu.cuMemMap(at, 2 * bytes, 0, handle, 0), NOT_SUPPORTED);
	FAILS(cu.cuMemMap(at, 0, 0, handle, 0), INVALID_VALUE);
	FAILS(cu.cuMemMap(at, bytes, 0, handle, 1), INVALID_VALUE);
	FAILS(cu.cuMemMap(at + 4096, bytes, 0, handle, 0), INVALID_VALUE);
	FAILS(cu.cuMemMap(at + 3 * GRANULARITY, bytes, 0, handle, 0), INVALID_VALUE);
	FAILS(cu.cuMemMap(0x1000000, bytes, 0, handle, 0), INVALID_VALUE);
	FAILS(cu.cuMemMap(at, bytes, 0, 12345, 0), INVALID_VALUE);

	OK(cu.cuMemMap(at, bytes, 0, handle, 0));
	FAILS(cu.cuMemMap(at, bytes, 0, handle, 0), INVALID_VALUE);
	FAILS(cu.cuMemMap(at + GRANULARITY, bytes, 0, handle, 0), INVALID_VALUE);
	OK(cu.cuMemMap(at + bytes, bytes, 0, handle, 0));
	FAILS(cu.cuMemAddressFree(at, 2 * bytes), INVALID_VALUE);
	FAILS(cu.cuMemUnmap(at, GRANULARITY), INVALID_VALUE);
	FAILS(cu.cuMemUnmap(at + GRANULARITY, bytes), INVALID_VALUE);
	OK(cu.cuMemUnmap(at, 2 * bytes));
	FAILS(cu.cuMemUnmap(at, 2 * bytes), INVALID_VALUE);
	OK(cu.cuMemAddressFree(at, 2 * bytes));
	OK(cu.cuMemRelease(handle));
}

TEST(test_vmm_access)
{
	const ww_CUmemLocation here = {WW_CU_MEM_LOCATION_TYPE_DEVICE, 0};
	const ww_CUmemLocation nowhere = {WW_CU_MEM_LOCATION_TYPE_DEVICE, 9};
	ww_CUmemAccessDesc access = {{WW_CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0};
	unsigned long long flags;
	char text[16] = "hello";

	struct mapped mapped = map_new(GRANULARITY, 0);
	ww_CUdeviceptr at = mapped.address;
	write_word(at, 42);
	assert_int_equal(read_word(at), 42);

	/* Read only: copies out work, copies in and fills are refused, the data stay. */
	set_access(at, GRANULARITY, 0, WW_CU_MEM_ACCESS_FLAGS_PROT_READ);
	OK(cu.cuMemGetAccess(&flags, &here, at));
	assert_int_equal(flags, WW_CU_MEM_ACCESS_FLAGS_PROT_READ);
	FAILS(cu.cuMemcpyHtoD(at, text, sizeof(text)), INVALID_VALUE);
	FAILS(cu.cuMemcpyHtoDAsync(at, text, sizeof(text), NULL), INVALID_VALUE);
	FAILS(cu.cuMemcpyDtoD(at, at + 64, 16), INVALID_VALUE);
	FAILS(cu.cuMemsetD8(at, 1, 1), INVALID_VALUE);
	FAILS(cu.cuMemsetD32Async(at, 1, 1, NULL), INVALID_VALUE);
	assert_int_equal(read_word(at), 42);

	set_access(at, GRANULARITY, 0, WW_CU_MEM_ACCESS_FLAGS_PROT_NONE);
	FAILS(cu.cuMemcpyDtoH(text, at, 1), INVALID_VALUE);
	FAILS(cu.cuStreamWaitValue64(NULL, at, 0, 0), INVALID_VALUE);
	FAILS(cu.cuMemGetAccess(&flags, &nowhere, at), INVALID_DEVICE);
	FAILS(cu.cuMemGetAccess(&flags, &here, at + GRANULARITY), INVALID_VALUE);

	access.flags = 2;
	FAILS(cu.cuMemSetAccess(at, GRANULARITY, &access, 1), INVALID_VALUE);
	access.flags = 3;
	FAILS(cu.cuMemSetAccess(at, GRANULARITY, &access, 0), INVALID_VALUE);
	FAILS(cu.cuMemSetAccess(at, 2 * GRANULARITY, &access, 1), INVALID_VALUE);
	FAILS(cu.cuMemSetAccess(at + 4096, GRANULARITY, &access, 1), INVALID_VALUE);
	access.location.id = 9;
	FAILS(cu.cuMemSetAccess(at, GRANULARITY, &access, 1), INVALID_VALUE);
	access.location.type = WW_CU_MEM_LOCATION_TYPE_HOST;
	FAILS(cu.cuMemSetAccess(at, GRANULARITY, &access, 1), NOT_SUPPORTED);
	unmap(&mapped);
	FAILS(cu.cuMemcpyDtoH(text, at, 1), INVALID_VALUE);
}

TEST(test_vmm_access_is_per_device)
{
	ww_CUcontext other;

	struct mapped mapped = map_new(GRANULARITY, 0);
	OK(cu.cuDevicePrimaryCtxRetain(&other, 1));
	OK(cu.cuCtxPushCurrent(other));
	FAILS(cu.cuMemsetD8(mapped.address, 1, 1), INVALID_VALUE);
	set_access(mapped.address, GRANULARITY, 1, WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	OK(cu.cuMemsetD8(mapped.address, 1, 1));
	OK(cu.cuCtxPopCurrent(NULL));
	OK(cu.cuDevicePrimaryCtxRelease(1));
	unmap(&mapped);
}

TEST(test_vmm_copy_over_several_mappings)
{
	ww_CUmemAllocationProp prop = vmm_prop(0, 0);
	ww_CUmemGenericAllocationHandle handles[2];
	ww_CUdeviceptr at;
	ww_CUdeviceptr base;
	size_t bytes;
	uint32_t words[2] = {1, 2};

	OK(cu.cuMemAddressReserve(&at, 3 * GRANULARITY, 0, 0, 0));
	for (unsigned int i = 0; i < 2; i++) {
		OK(cu.cuMemCreate(&handles[i], GRANULARITY, &prop, 0));
		OK(cu.cuMemMap(at + i * GRANULARITY, GRANULARITY, 0, handles[i], 0));
	}
	set_access(at, GRANULARITY, 0, WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	FAILS(cu.cuMemcpyHtoD(at + GRANULARITY - 4, words, 8), INVALID_VALUE);
	set_access(at, 2 * GRANULARITY, 0, WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	OK(cu.cuMemcpyHtoD(at + GRANULARITY - 4, words, 8));
	assert_int_equal(read_word(at + GRANULARITY), 2);
	FAILS(cu.cuMemcpyHtoD(at + 2 * GRANULARITY - 4, words, 8), INVALID_VALUE);

	/* One question names the mapping, another one the reservation around it. */
	OK(cu.cuMemGetAddressRange(&base, &bytes, at + GRANULARITY + 1));
	assert_int_equal(base, at + GRANULARITY);
	assert_int_equal(bytes, GRANULARITY);
	OK(cu.cuPointerGetAttribute(&bytes, WW_CU_POINTER_ATTRIBUTE_RANGE_SIZE,
		at + GRANULARITY + 1));
	assert_int_equal(bytes, 3 * GRANULARITY);
	OK(cu.cuMemUnmap(at, 2 * GRANULARITY));
	OK(cu.cuMemAddressFree(at, 3 * GRANULARITY));
	for (unsigned int i = 0; i < 2; i++)
		OK(cu.cuMemRelease(handles[i]));
}

TEST(test_vmm_handles_are_counted)
{
	ww_CUmemGenericAllocationHandle retained;

	struct mapped mapped = map_new(GRANULARITY, 0);
	write_word(mapped.address, 7);
	OK(cu.cuMemRelease(mapped.handle));
	FAILS(cu.cuMemRelease(mapped.handle), INVALID_VALUE);
	assert_int_equal(read_word(mapped.address), 7);

	OK(cu.cuMemRetainAllocationHandle(&retained, (void *)(uintptr_t)(mapped.address + 100)));
	assert_int_equal(retained, mapped.handle);
	FAILS(cu.cuMemRetainAllocationHandle(&retained, &retained), INVALID_VALUE);
	unmap(&mapped);
	FAILS(cu.cuMemMap(mapped.address, GRANULARITY, 0, mapped.handle, 0), INVALID_VALUE);
}

TEST(test_vmm_descriptors)
{
	ww_CUmemGenericAllocationHandle imported;
	ww_CUmemAllocationProp prop;
	int fds[2];

	struct mapped mapped = map_new(GRANULARITY, WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	write_word(mapped.address, 11);
	OK(cu.cuMemExportToShareableHandle(&fds[0], mapped.handle, 1, 0));
	OK(cu.cuMemExportToShareableHandle(&fds[1], mapped.handle, 1, 0));
	assert_int_not_equal(fds[0], fds[1]);
	assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	FAILS(cu.cuMemExportToShareableHandle(&fds[1], mapped.handle, 0, 0), INVALID_VALUE);
	FAILS(cu.cuMemExportToShareableHandle(&fds[1], mapped.handle, 1, 1), INVALID_VALUE);

	OK(cu.cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)fds[0], 1));
	assert_int_not_equal(imported, mapped.handle);
	OK(cu.cuMemGetAllocationPropertiesFromHandle(&prop, imported));
	assert_int_equal(prop.location.id, 0);
	assert_int_equal(prop.requestedHandleTypes, WW_CU_MEM_HANDLE_TYPE_NONE);
	int again;
	FAILS(cu.cuMemExportToShareableHandle(&again, imported, 1, 0), INVALID_VALUE);
	struct mapped alias = map_handle(imported, GRANULARITY);
	assert_int_equal(read_word(alias.address), 11);
	write_word(alias.address, 12);
	assert_int_equal(read_word(mapped.address), 12);
	unmap(&alias);
	unmap(&mapped);
	close(fds[0]);
	close(fds[1]);
}

TEST(test_vmm_refuses_other_descriptors)
{
	ww_CUmemGenericAllocationHandle handle;
	int fd;

	int memfd = memfd_create("other", MFD_CLOEXEC);
	assert_int_equal(ftruncate(memfd, (off_t)GRANULARITY), 0);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	FAILS(cu.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)memfd, 1), UNKNOWN);
	FAILS(cu.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)null, 1), UNKNOWN);
	FAILS(cu.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)-1, 1), UNKNOWN);
	FAILS(cu.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)memfd, 0),
		INVALID_VALUE);
	FAILS(cu.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)memfd, 2),
		NOT_SUPPORTED);
	close(memfd);
	close(null);

	struct mapped private = map_new(GRANULARITY, WW_CU_MEM_HANDLE_TYPE_NONE);
	FAILS(cu.cuMemExportToShareableHandle(&fd, private.handle, 1, 0), INVALID_VALUE);
	unmap(&private);
}

TEST(test_memory_is_accounted_and_zero)
{
	ww_CUmemAllocationProp prop = vmm_prop(0, 0);
	ww_CUmemGenericAllocationHandle handle;
	size_t before;
	size_t now;
	size_t total;

	OK(cu.cuMemGetInfo(&before, &total));
	assert_int_equal(before, total);
	struct mapped mapped = map_new(GRANULARITY, 0);
	assert_int_equal(read_word(mapped.address + GRANULARITY - 4), 0);
	OK(cu.cuMemGetInfo(&now, &total));
	assert_int_equal(now, before - GRANULARITY);
	FAILS(cu.cuMemCreate(&handle, total, &prop, 0), OUT_OF_MEMORY);
	OK(cu.cuMemCreate(&handle, now, &prop, 0));
	OK(cu.cuMemRelease(handle));

	/* Released but still mapped: still there. */
	OK(cu.cuMemRelease(mapped.handle));
	OK(cu.cuMemGetInfo(&now, &total));
	assert_int_equal(now, before - GRANULARITY);
	OK(cu.cuMemUnmap(mapped.address, GRANULARITY));
	OK(cu.cuMemAddressFree(mapped.address, GRANULARITY));
	OK(cu.cuMemGetInfo(&now, &total));
	assert_int_equal(now, before);
}
