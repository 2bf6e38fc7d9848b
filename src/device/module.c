/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - modules and launches, whatever their device: arguments are checked here
 *
 * The limits of a grid and a block are those of all GPUs that CUDA 12 knows. They hold on the host
 * device too, so that a launch which works there is possible on a GPU.
 */
#include "device/module.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "device/module_image.h"
#include "device/stream.h"

#define PARAMS_V1_BYTES sizeof(struct ww_module_params)
#define INFO_V1_BYTES   sizeof(struct ww_kernel_info)
#define LAUNCH_V1_BYTES sizeof(struct ww_launch_params)

void ww_module_init(struct ww_module *module, struct ww_device *device)
{
	ww_ref_init(&module->ref);
	module->device = ww_device_ref(device);
}

void ww_module_fini(struct ww_module *module)
{
	module->device = ww_device_unref(module->device);
}

void ww_kernel_init(struct ww_kernel *kernel, struct ww_module *module, const char *name)
{
	ww_ref_init(&kernel->ref);
	kernel->module = ww_module_ref(module);
	snprintf(kernel->name, sizeof(kernel->name), "%s", name);
	kernel->info.argument_count = WW_KERNEL_ARGUMENTS_UNKNOWN;
}

void ww_kernel_fini(struct ww_kernel *kernel)
{
	kernel->module = ww_module_unref(kernel->module);
}

static ww_status check_load(const struct ww_device *device, const struct ww_module_params *params)
{
	struct ww_module_params ours = {0};

	if (params)
		ww_try(ww_params_read(&ours, sizeof(ours), params, PARAMS_V1_BYTES,
			"ww_module_params"));
	if (ours.flags || ours.reserved)
		return ww_fail(WW_ERR_INVALID, "ww_module_params: flags and reserved must be 0");
	if (!(device->capabilities & WW_CAP_MODULE))
		return ww_fail(WW_ERR_UNSUPPORTED,
			"%s loads no modules; look for WW_CAP_MODULE in the capabilities",
			device->selector);
	return WW_OK;
}

ww_status ww_module_load(ww_device *device, const char *path, const struct ww_module_params *params,
	ww_module **out_module)
{
	WW_AUTO_MODULE_IMAGE struct ww_module_image image = {0};

	ww_clear(out_module, NULL);
	ww_try(ww_process_enter());
	ww_require(device && path && out_module,
		"ww_module_load: device, path or out_module is NULL");
	ww_try(check_load(device, params));
	ww_try(ww_module_image_read(&image, path));
	return device->backend->module_load(device, &image, out_module);
}

ww_status ww_module_load_image(ww_device *device, const void *image_bytes, uint64_t bytes,
	const struct ww_module_params *params, ww_module **out_module)
{
	WW_AUTO_MODULE_IMAGE struct ww_module_image image = {0};

	ww_clear(out_module, NULL);
	ww_try(ww_process_enter());
	ww_require(device && image_bytes && out_module,
		"ww_module_load_image: device, image or out_module is NULL");
	ww_try(check_load(device, params));
	ww_try(ww_module_image_copy(&image, image_bytes, bytes));
	return device->backend->module_load(device, &image, out_module);
}

ww_module *ww_module_ref(ww_module *module)
{
	if (module)
		ww_ref_get(&module->ref);
	return module;
}

ww_module *ww_module_unref(ww_module *module)
{
	if (module && ww_ref_put(&module->ref))
		module->device->backend->module_unload(module);
	return NULL;
}

ww_status ww_module_kernel(ww_module *module, const char *name, ww_kernel **out_kernel)
{
	ww_clear(out_kernel, NULL);
	ww_try(ww_process_enter());
	ww_require(module && name && out_kernel,
		"ww_module_kernel: module, name or out_kernel is NULL");
	ww_try(ww_ref_check(&module->ref, "a module"));
	if (!name[0]) /* which drivers take for an invalid argument */
		return ww_fail(WW_ERR_NOT_FOUND,
			"no kernel has an empty name: give one that the module has");
	return module->device->backend->kernel_open(module, name, out_kernel);
}

ww_kernel *ww_kernel_ref(ww_kernel *kernel)
{
	if (kernel)
		ww_ref_get(&kernel->ref);
	return kernel;
}

ww_kernel *ww_kernel_unref(ww_kernel *kernel)
{
	if (kernel && ww_ref_put(&kernel->ref))
		kernel->module->device->backend->kernel_close(kernel);
	return NULL;
}

ww_status ww_kernel_info_get(ww_kernel *kernel, struct ww_kernel_info *info)
{
	ww_try(ww_process_enter());
	ww_require(kernel && info, "ww_kernel_info_get: kernel or info is NULL");
	ww_try(ww_ref_check(&kernel->ref, "a kernel"));
	return ww_params_write(info, &kernel->info, sizeof(kernel->info), INFO_V1_BYTES,
		"ww_kernel_info");
}

ww_status ww_kernel_argument_bytes(ww_kernel *kernel, uint32_t index, uint64_t *out_bytes)
{
	ww_try(ww_process_enter());
	ww_require(kernel && out_bytes, "ww_kernel_argument_bytes: kernel or out_bytes is NULL");
	ww_try(ww_ref_check(&kernel->ref, "a kernel"));
	if (kernel->info.argument_count == WW_KERNEL_ARGUMENTS_UNKNOWN ||
		index >= kernel->info.argument_count)
		return WW_END;
	*out_bytes = kernel->argument_bytes[index];
	return WW_OK;
}

static ww_status check_extents(const struct ww_kernel *kernel, const char *what,
	const uint32_t extents[3], const uint32_t limits[3])
{
	for (int i = 0; i < 3; i++) {
		if (extents[i] == 0 || extents[i] > limits[i])
			return ww_fail(WW_ERR_INVALID,
				"cannot launch \"%s\": %s is %" PRIu32 " x %" PRIu32 " x %" PRIu32
				"; each is at least 1, and they are at most %" PRIu32 ", %" PRIu32
				", %" PRIu32,
				kernel->name, what, extents[0], extents[1], extents[2], limits[0],
				limits[1], limits[2]);
	}
	return WW_OK;
}

static ww_status check_size(const struct ww_kernel *kernel, const struct ww_launch_params *params)
{
	static const uint32_t grid_limits[3] = {INT32_MAX, 65535, 65535};
	static const uint32_t block_limits[3] = {1024, 1024, 64};
	uint64_t threads = (uint64_t)params->block[0] * params->block[1] * params->block[2];

	ww_try(check_extents(kernel, "the grid", params->grid, grid_limits));
	ww_try(check_extents(kernel, "the block", params->block, block_limits));
	if (threads > kernel->info.threads_max)
		return ww_fail(WW_ERR_INVALID,
			"cannot launch \"%s\": its block has %" PRIu64
			" threads, and the kernel can have %" PRIu32
			"; use smaller blocks and more of them",
			kernel->name, threads, kernel->info.threads_max);
	if (params->shared_bytes > kernel->info.shared_bytes_max)
		return ww_fail(WW_ERR_INVALID,
			"cannot launch \"%s\": a block asks for %" PRIu32
			" bytes of shared memory, and can have %" PRIu32,
			kernel->name, params->shared_bytes, kernel->info.shared_bytes_max);
	return WW_OK;
}

static ww_status check_arguments(const struct ww_kernel *kernel,
	const struct ww_kernel_argument *arguments, uint32_t count)
{
	uint32_t known = kernel->info.argument_count;

	if (known == WW_KERNEL_ARGUMENTS_UNKNOWN)
		return WW_OK;
	if (count != known)
		return ww_fail(WW_ERR_INVALID,
			"cannot launch \"%s\" with %" PRIu32 " arguments: it takes %" PRIu32,
			kernel->name, count, known);
	for (uint32_t i = 0; i < count; i++) {
		if (arguments[i].bytes != kernel->argument_bytes[i])
			return ww_fail(WW_ERR_INVALID,
				"cannot launch \"%s\": argument %" PRIu32 " has %" PRIu64
				" bytes, and the kernel takes %" PRIu32,
				kernel->name, i, arguments[i].bytes, kernel->argument_bytes[i]);
	}
	return WW_OK;
}

static ww_status check_launch(const struct ww_kernel *kernel, const struct ww_stream *stream,
	const struct ww_launch_params *params, const struct ww_kernel_argument *arguments,
	uint32_t count)
{
	const struct ww_device *device = kernel->module->device;
	uint64_t bytes = 0;

	if (params->flags)
		return ww_fail(WW_ERR_INVALID, "ww_launch_params: flags must be 0");
	if (stream->device != device)
		return ww_fail(WW_ERR_INVALID,
			"cannot launch \"%s\" of %s on a stream of %s; load the module on that device too",
			kernel->name, device->selector, stream->device->selector);
	if (count > WW_KERNEL_ARGUMENTS_MAX)
		return ww_fail(WW_ERR_INVALID,
			"cannot launch \"%s\" with %" PRIu32 " arguments: at most %d are possible",
			kernel->name, count, WW_KERNEL_ARGUMENTS_MAX);
	ww_try(check_size(kernel, params));
	/* These rules hold for all kernels. */
	for (uint32_t i = 0; i < count; i++) {
		if (!arguments[i].value || arguments[i].bytes == 0)
			return ww_fail(WW_ERR_INVALID,
				"cannot launch \"%s\": argument %" PRIu32 " has no value",
				kernel->name, i);
		if (arguments[i].bytes > WW_KERNEL_ARGUMENT_BYTES_MAX - bytes)
			return ww_fail(WW_ERR_OVERFLOW,
				"cannot launch \"%s\": its arguments have more than %d bytes; pass the "
				"address of large ones",
				kernel->name, WW_KERNEL_ARGUMENT_BYTES_MAX);
		bytes += arguments[i].bytes;
	}
	return check_arguments(kernel, arguments, count);
}

ww_status ww_kernel_launch(ww_kernel *kernel, ww_stream *stream,
	const struct ww_launch_params *params, const struct ww_kernel_argument *arguments,
	uint32_t argument_count)
{
	struct ww_launch_params ours = {0};
	struct ww_launch launch;

	ww_try(ww_process_enter());
	ww_require(kernel && stream && params,
		"ww_kernel_launch: kernel, stream or params is NULL");
	ww_require(arguments || argument_count == 0, "ww_kernel_launch: arguments is NULL");
	ww_try(ww_ref_check(&kernel->ref, "a kernel"));
	ww_try(ww_stream_check(stream));
	ww_try(ww_params_read(&ours, sizeof(ours), params, LAUNCH_V1_BYTES, "ww_launch_params"));
	ww_try(check_launch(kernel, stream, &ours, arguments, argument_count));
	launch = (struct ww_launch){
		.grid = {ours.grid[0], ours.grid[1], ours.grid[2]},
		.block = {ours.block[0], ours.block[1], ours.block[2]},
		.shared_bytes = ours.shared_bytes,
		.argument_count = argument_count,
		.arguments = arguments,
	};
	return stream->device->backend->kernel_launch(kernel, stream, &launch);
}
