/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.cpp - kernels from a file and from memory
 */
#include "test.hpp"

using namespace warpway;

static std::string kernels_path()
{
	const char *path = std::getenv("WW_TEST_KERNELS");

	if (!path)
		throw test::skipped("WW_TEST_KERNELS does not name the kernels of the tests");
	return path;
}

/* A kernel that stores 7 where its argument points; the fake driver has it in C. */
static std::string ptx()
{
	return ".version 6.0\n.target sm_50\n.address_size 64\n"
	       "// fakecuda: " +
		kernels_path() +
		"\n"
		".visible .entry store_seven(.param .u64 out)\n"
		"{\n"
		"	.reg .u32 %r;\n"
		"	.reg .u64 %d;\n"
		"	ld.param.u64 %d, [out];\n"
		"	mov.u32 %r, 7;\n"
		"	st.u32 [%d], %r;\n"
		"	ret;\n"
		"}\n";
}

static kernel_module load(const device &on)
{
	if (on.info().backend() == backend::host)
		return kernel_module::load(on, kernels_path());
	return kernel_module::load_image(on, ptx().data(), ptx().size());
}

TEST("a kernel is loaded, described and launched")
{
	const device on = test::device_with(capability::module, "modules");
	const stream by = stream::create(on);
	const memory there = memory::create(on, 1);
	const kernel seven = load(on).find("store_seven");
	std::uint32_t number = 0;

	CLAIM(seven.info().threads_max() <= 1024 && seven.info().shared_bytes() == 0);
	CLAIM(seven.info().shared_bytes_max() > 0 && seven.info().local_bytes() == 0);
	CLAIM(seven.info().argument_count() == 1 ||
		seven.info().argument_count() == WW_KERNEL_ARGUMENTS_UNKNOWN);
	CLAIM(seven.argument_bytes(0) == 8 || !seven.argument_bytes(0));
	CLAIM(seven.argument_bytes(0).has_value() == (seven.info().argument_count() == 1));
	CLAIM(!seven.argument_bytes(1));
	CLAIM((seven.info().registers() > 0) == (on.info().backend() == backend::cuda));
	seven.launch(by, {{2, 2, 2}, {32, 2, 1}, 64}, there.pointer());
	by.synchronize();
	there.read(0, &number, sizeof(number));
	CLAIM(number == 7);
	CLAIM(seven.try_launch(by, {{1, 1, 1}, {2048, 1, 1}}, there.pointer()).status() ==
		status::invalid);
}

TEST("what is no module or kernel is refused")
{
	const device on = test::device_with(capability::module, "modules");
	const kernel_module loaded = load(on);

	REFUSED(status::not_found, kernel_module::load(on, "/no/such/file"));
	REFUSED(status::invalid, kernel_module::load_image(on, "text", 4));
	CLAIM(loaded.try_find("no_such_kernel").status() == status::not_found);
	CLAIM(loaded.try_find(std::string(5000, 'x')).status() == status::not_found);
}
