/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.c - see kernels.h
 */
#include "support/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/subject.h"

/*
 * By hand, in the oldest version that the GPUs since 2017 need. An index is a thread's number in a
 * grid of one dimension.
 */
/* clang-format off: assembler */
static const char ptx[] = ".version 6.0\n"
			  ".target sm_50\n"
			  ".address_size 64\n"
			  "// fakecuda: %s\n"
			  ".visible .entry fill_numbers(\n"
			  "	.param .u64 x, .param .u32 first, .param .u32 count)\n"
			  "{\n"
			  "	.reg .pred %%p;\n"
			  "	.reg .u32 %%r<7>;\n"
			  "	.reg .u64 %%d<3>;\n"
			  "	ld.param.u64 %%d0, [x];\n"
			  "	ld.param.u32 %%r0, [first];\n"
			  "	ld.param.u32 %%r1, [count];\n"
			  "	mov.u32 %%r2, %%ctaid.x;\n"
			  "	mov.u32 %%r3, %%ntid.x;\n"
			  "	mov.u32 %%r4, %%tid.x;\n"
			  "	mad.lo.u32 %%r5, %%r2, %%r3, %%r4;\n"
			  "	setp.ge.u32 %%p, %%r5, %%r1;\n"
			  "	@%%p bra END;\n"
			  "	add.u32 %%r6, %%r0, %%r5;\n"
			  "	mul.wide.u32 %%d1, %%r5, 4;\n"
			  "	add.u64 %%d2, %%d0, %%d1;\n"
			  "	st.u32 [%%d2], %%r6;\n"
			  "END:\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry saxpy(\n"
			  "	.param .f32 a, .param .u64 x, .param .u64 y, .param .u64 count)\n"
			  "{\n"
			  "	.reg .pred %%p;\n"
			  "	.reg .u32 %%r<4>;\n"
			  "	.reg .u64 %%d<8>;\n"
			  "	.reg .f32 %%f<4>;\n"
			  "	ld.param.f32 %%f0, [a];\n"
			  "	ld.param.u64 %%d0, [x];\n"
			  "	ld.param.u64 %%d1, [y];\n"
			  "	ld.param.u64 %%d2, [count];\n"
			  "	mov.u32 %%r0, %%ctaid.x;\n"
			  "	mov.u32 %%r1, %%ntid.x;\n"
			  "	mov.u32 %%r2, %%tid.x;\n"
			  "	cvt.u64.u32 %%d7, %%r2;\n"
			  "	mad.wide.u32 %%d3, %%r0, %%r1, %%d7;\n"
			  "	setp.ge.u64 %%p, %%d3, %%d2;\n"
			  "	@%%p bra END;\n"
			  "	shl.b64 %%d4, %%d3, 2;\n"
			  "	add.u64 %%d5, %%d0, %%d4;\n"
			  "	add.u64 %%d6, %%d1, %%d4;\n"
			  "	ld.f32 %%f1, [%%d5];\n"
			  "	ld.f32 %%f2, [%%d6];\n"
			  "	fma.rn.f32 %%f3, %%f0, %%f1, %%f2;\n"
			  "	st.f32 [%%d6], %%f3;\n"
			  "END:\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry store_shape(.param .u64 out)\n"
			  "{\n"
			  "	.reg .u32 %%r<6>;\n"
			  "	.reg .u64 %%d;\n"
			  "	ld.param.u64 %%d, [out];\n"
			  "	mov.u32 %%r0, %%nctaid.x;\n"
			  "	mov.u32 %%r1, %%nctaid.y;\n"
			  "	mov.u32 %%r2, %%nctaid.z;\n"
			  "	mov.u32 %%r3, %%ntid.x;\n"
			  "	mov.u32 %%r4, %%ntid.y;\n"
			  "	mov.u32 %%r5, %%ntid.z;\n"
			  "	st.u32 [%%d], %%r0;\n"
			  "	st.u32 [%%d+4], %%r1;\n"
			  "	st.u32 [%%d+8], %%r2;\n"
			  "	st.u32 [%%d+12], %%r3;\n"
			  "	st.u32 [%%d+16], %%r4;\n"
			  "	st.u32 [%%d+20], %%r5;\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry nothing()\n"
			  "{\n"
			  "	ret;\n"
			  "}\n";
/* clang-format on */

const char *kernels_path(void)
{
	const char *path = getenv("WW_TEST_KERNELS");

	if (!path)
		check_skip("WW_TEST_KERNELS does not name the kernels of the tests");
	return path;
}

const char *kernels_ptx(void)
{
	static char text[sizeof(ptx) + 4096];

	const char *path = getenv("WW_TEST_KERNELS");

	snprintf(text, sizeof(text), ptx, path ? path : "/dev/null");
	return text;
}

ww_status kernels_try_load(ww_device *device, ww_module **out_module)
{
	const char *text;

	if (!subject_is_cuda())
		return ww_module_load(device, kernels_path(), NULL, out_module);
	text = kernels_ptx();
	return ww_module_load_image(device, text, strlen(text), NULL, out_module);
}

ww_module *kernels_load(ww_device *device)
{
	ww_module *module;

	MUST_OK(kernels_try_load(device, &module));
	return module;
}

ww_kernel *kernel_find(ww_module *module, const char *name)
{
	ww_kernel *kernel;

	MUST_OK(ww_module_kernel(module, name, &kernel));
	return kernel;
}

struct ww_kernel_info kernel_info(ww_kernel *kernel)
{
	struct ww_kernel_info info = WW_INIT(struct ww_kernel_info);

	MUST_OK(ww_kernel_info_get(kernel, &info));
	return info;
}

ww_status launch(ww_kernel *kernel, ww_stream *stream, uint32_t blocks, uint32_t threads,
	const struct ww_kernel_argument *arguments, uint32_t count)
{
	return ww_kernel_launch(kernel, stream,
		WW_PARAMS(struct ww_launch_params, .grid = {blocks, 1, 1},
			.block = {threads, 1, 1}),
		arguments, count);
}
