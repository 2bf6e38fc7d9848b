/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - modules and kernels of a GPU
 *
 * A module is loaded into one context, which is current during every call on it. The driver may
 * load the code of a kernel only when it is needed first; finding a kernel makes it do so, since
 * a load waits for all streams of the process, and a launch must not.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda.h"
#include "device/module.h"
#include "device/module_image.h"

#define LOG_BYTES 1024

struct cuda_module {
	struct ww_module base;
	ww_CUmodule native;
	ww_CUcontext context;
};

struct cuda_kernel {
	struct ww_kernel base;
	ww_CUfunction native;
};

static struct cuda_module *module_from_base(struct ww_module *module)
{
	return ww_container(module, struct cuda_module, base);
}

static struct cuda_kernel *kernel_from_base(struct ww_kernel *kernel)
{
	return ww_container(kernel, struct cuda_kernel, base);
}

static struct cuda_device *device_of(const struct cuda_module *module)
{
	return ww_cuda_device(module->base.device);
}

static ww_status enter(const struct cuda_module *module, struct ww_cuda_scope *out_scope)
{
	return ww_cuda_enter_context(device_of(module), module->context, out_scope);
}

/*
 * The module is released even if this fails: with its context, or with what a kernel did. Kernels
 * that run have to end first.
 */
static void unload_native(const struct cuda_module *module)
{
	const struct ww_cuda_driver *driver = device_of(module)->driver;
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	struct ww_error record;

	ww_error_save(&record);
	if (enter(module, &scope) == WW_OK) {
		ww_cuda_await_context(driver);
		driver->cuModuleUnload(module->native);
	}
	ww_error_restore(&record);
}

static struct cuda_module *module_free(struct cuda_module *module)
{
	if (module->native)
		unload_native(module);
	ww_module_fini(&module->base);
	free(module);
	return NULL;
}

WW_DEFINE_CLEANUP(struct cuda_module, module_free)
#define AUTO_MODULE WW_CLEANUP(module_free_p)

static ww_status status_of_load(ww_CUresult result)
{
	switch (result) {
	case WW_CUDA_ERROR_INVALID_VALUE:
	case WW_CUDA_ERROR_INVALID_IMAGE:
	case WW_CUDA_ERROR_INVALID_PTX:
	case WW_CUDA_ERROR_INVALID_SOURCE:
		return WW_ERR_INVALID;
	case WW_CUDA_ERROR_NO_BINARY_FOR_GPU:
	case WW_CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
	case WW_CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
	case WW_CUDA_ERROR_JIT_COMPILATION_DISABLED:
		return WW_ERR_UNSUPPORTED;
	default:
		return ww_cuda_status(result);
	}
}

static const char *remedy_of_load(ww_CUresult result)
{
	switch (result) {
	case WW_CUDA_ERROR_NO_BINARY_FOR_GPU:
		return "compile it for this GPU (nvcc -arch=native) or to PTX";
	case WW_CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
		return "install a newer driver, or compile it with an older toolkit or to a cubin";
	case WW_CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
	case WW_CUDA_ERROR_JIT_COMPILATION_DISABLED:
		return "compile it to a cubin (nvcc -cubin -arch=native)";
	default:
		return NULL;
	}
}

static ww_status load(struct cuda_module *module, const struct ww_module_image *image)
{
	struct cuda_device *device = device_of(module);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	char log[LOG_BYTES] = "";
	ww_CUjit_option options[] = {WW_CU_JIT_ERROR_LOG_BUFFER,
		WW_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)(uintptr_t)(sizeof(log) - 1)};
	ww_CUresult result;

	ww_try(ww_cuda_enter_to_stay(device, &scope, &module->context));
	result = device->driver->cuModuleLoadDataEx(&module->native, image->bytes, 2, options,
		values);
	if (result == WW_CUDA_SUCCESS)
		return WW_OK;
	module->native = NULL;
	/* The compiler's first line says what is wrong and where. */
	log[strcspn(log, "\r\n")] = '\0';
	return ww_cuda_fail_as(status_of_load(result), device_of(module)->driver, result,
		remedy_of_load(result), "cannot load %s on %s%s%.100s%s", image->name,
		module->base.device->selector, log[0] ? " (" : "", log, log[0] ? ")" : "");
}

ww_status ww_cuda_module_load(struct ww_device *device, const struct ww_module_image *image,
	struct ww_module **out_module)
{
	AUTO_MODULE struct cuda_module *module = NULL;

	if (image->kind == WW_IMAGE_SHARED_OBJECT)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"cannot load %s on %s: it is a shared object, which is for the host device; a GPU "
			"loads PTX, cubins and fatbins (nvcc -ptx, -cubin, -fatbin)",
			image->name, device->selector);
	module = calloc(1, sizeof(*module));
	if (!module)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot load %s: out of memory", image->name);
	ww_module_init(&module->base, device);
	ww_try(load(module, image));
	*out_module = &ww_steal(module)->base;
	return WW_OK;
}

void ww_cuda_module_unload(struct ww_module *base)
{
	module_free(module_from_base(base));
}

static ww_status fail_kernel(const struct cuda_kernel *kernel, ww_CUresult result,
	const char *action)
{
	struct ww_device *device = kernel->base.module->device;

	return ww_cuda_fail(ww_cuda_device(device)->driver, result, NULL,
		"cannot %s the kernel \"%s\" on %s", action, kernel->base.name, device->selector);
}

static ww_status find(struct cuda_kernel *kernel, const struct cuda_module *module,
	const char *name)
{
	const struct ww_cuda_driver *driver = device_of(module)->driver;
	ww_CUresult result = driver->cuModuleGetFunction(&kernel->native, module->native, name);

	if (result == WW_CUDA_ERROR_NOT_FOUND)
		return ww_cuda_fail_as(WW_ERR_NOT_FOUND, driver, result,
			"cuobjdump -elf or the PTX shows the names (in C++ declare it extern \"C\")",
			"the module has no kernel \"%.64s\"", name);
	/* Without it the driver is older than CUDA 12.4, and has loaded the kernel by now. */
	if (result == WW_CUDA_SUCCESS && driver->cuFuncLoad)
		result = driver->cuFuncLoad(kernel->native);
	return result == WW_CUDA_SUCCESS ? WW_OK : fail_kernel(kernel, result, "load");
}

static ww_status find_attributes(struct cuda_kernel *kernel, const struct ww_cuda_driver *driver)
{
	struct ww_kernel_info *info = &kernel->base.info;
	const struct {
		ww_CUfunction_attribute attribute;
		uint32_t *out_value;
	} wanted[] = {
		{WW_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &info->threads_max},
		{WW_CU_FUNC_ATTRIBUTE_NUM_REGS, &info->registers},
		{WW_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &info->local_bytes},
		{WW_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &info->shared_bytes},
		{WW_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &info->shared_bytes_max},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		int value = 0;
		ww_CUresult result = driver->cuFuncGetAttribute(&value, wanted[i].attribute,
			kernel->native);

		if (result != WW_CUDA_SUCCESS)
			return fail_kernel(kernel, result, "describe");
		*wanted[i].out_value = (uint32_t)value;
	}
	return WW_OK;
}

/* The index behind the last argument is an invalid value. */
static ww_status find_arguments(struct cuda_kernel *kernel, const struct ww_cuda_driver *driver)
{
	for (uint32_t i = 0; driver->cuFuncGetParamInfo; i++) {
		size_t offset;
		size_t bytes;
		ww_CUresult result = driver->cuFuncGetParamInfo(kernel->native, i, &offset, &bytes);

		if (result == WW_CUDA_ERROR_INVALID_VALUE) {
			kernel->base.info.argument_count = i;
			return WW_OK;
		}
		if (result != WW_CUDA_SUCCESS)
			return fail_kernel(kernel, result, "find the arguments of");
		if (i == WW_KERNEL_ARGUMENTS_MAX)
			return ww_fail(WW_ERR_UNSUPPORTED,
				"the kernel \"%s\" has more than %d arguments; pass the address of a "
				"struct",
				kernel->base.name, WW_KERNEL_ARGUMENTS_MAX);
		kernel->base.argument_bytes[i] = (uint32_t)bytes;
	}
	return WW_OK;
}

static struct cuda_kernel *kernel_free(struct cuda_kernel *kernel)
{
	ww_kernel_fini(&kernel->base);
	free(kernel);
	return NULL;
}

WW_DEFINE_CLEANUP(struct cuda_kernel, kernel_free)
#define AUTO_KERNEL WW_CLEANUP(kernel_free_p)

ww_status ww_cuda_kernel_open(struct ww_module *base, const char *name,
	struct ww_kernel **out_kernel)
{
	AUTO_KERNEL struct cuda_kernel *kernel = calloc(1, sizeof(*kernel));
	const struct cuda_module *module = module_from_base(base);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	struct cuda_device *device;
	struct ww_kernel_info *info;
	int most = 0;
	ww_CUresult result;

	if (!kernel)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot find \"%.64s\": out of memory", name);
	ww_kernel_init(&kernel->base, base, name);
	ww_try(enter(module, &scope));
	ww_try(find(kernel, module, name));
	ww_try(find_attributes(kernel, device_of(module)->driver));
	/*
	 * A launch gets more than 48 KiB of shared memory only if the kernel was told so. That
	 * costs nothing, so a launch may ask for all that the GPU has.
	 */
	device = device_of(module);
	info = &kernel->base.info;
	result = device->driver->cuDeviceGetAttribute(&most,
		WW_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device->ordinal);
	if (result != WW_CUDA_SUCCESS)
		return fail_kernel(kernel, result, "find the shared memory for");
	most -= (int)info->shared_bytes;
	if (most > (int)info->shared_bytes_max) {
		result = device->driver->cuFuncSetAttribute(kernel->native,
			WW_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most);
		if (result != WW_CUDA_SUCCESS)
			return fail_kernel(kernel, result, "allow shared memory for");
		info->shared_bytes_max = (uint32_t)most;
	}
	ww_try(find_arguments(kernel, device_of(module)->driver));
	*out_kernel = &ww_steal(kernel)->base;
	return WW_OK;
}

void ww_cuda_kernel_close(struct ww_kernel *base)
{
	kernel_free(kernel_from_base(base));
}

static ww_status fail_launch(const struct cuda_kernel *kernel, const struct ww_launch *launch,
	ww_CUresult result)
{
	bool is_callers = result == WW_CUDA_ERROR_INVALID_VALUE ||
		result == WW_CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	struct ww_device *device = kernel->base.module->device;

	return ww_cuda_fail_as(is_callers ? WW_ERR_INVALID : ww_cuda_status(result),
		ww_cuda_device(device)->driver, result,
		is_callers ? "use smaller blocks, or less shared memory" : NULL,
		"cannot launch \"%s\" with %" PRIu32 " x %" PRIu32 " x %" PRIu32
		" blocks of %" PRIu32 " x %" PRIu32 " x %" PRIu32 " threads on %s",
		kernel->base.name, launch->grid[0], launch->grid[1], launch->grid[2],
		launch->block[0], launch->block[1], launch->block[2], device->selector);
}

ww_status ww_cuda_kernel_launch(struct ww_kernel *base, struct ww_stream *stream,
	const struct ww_launch *launch)
{
	struct cuda_kernel *kernel = kernel_from_base(base);
	const struct cuda_module *module = module_from_base(base->module);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	void *values[WW_KERNEL_ARGUMENTS_MAX];
	ww_CUresult result;
	ww_CUcontext current = NULL;

	/* The driver only reads them. */
	for (uint32_t i = 0; i < launch->argument_count; i++)
		values[i] = (void *)(uintptr_t)launch->arguments[i].value;
	ww_try(ww_cuda_stream_enter(stream, &scope));
	/* The stream's context is current. */
	result = device_of(module)->driver->cuCtxGetCurrent(&current);
	if (result != WW_CUDA_SUCCESS)
		return fail_kernel(kernel, result, "launch");
	if (current != module->context)
		return ww_fail(WW_ERR_INVALID,
			"cannot launch \"%s\": its module was loaded in another CUDA context than the "
			"stream's; load it while the stream's context is current",
			kernel->base.name);
	result = device_of(module)->driver->cuLaunchKernel(kernel->native, launch->grid[0],
		launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
		launch->block[2], launch->shared_bytes, ww_cuda_stream_native(stream),
		launch->argument_count ? values : NULL, NULL);
	return result == WW_CUDA_SUCCESS ? WW_OK : fail_launch(kernel, launch, result);
}
