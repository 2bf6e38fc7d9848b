/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/module.h - kernels from a file, launched on a stream
 *
 * A module is compiled code for a device. A kernel is one function of it that can be launched.
 * Devices with WW_CAP_MODULE load modules:
 *   - cuda: PTX, a cubin or a fatbin, as nvcc writes them with -ptx, -cubin and -fatbin. The
 *     library finds out the format from the content of the file, not from its name. The driver
 *     compiles PTX when it is loaded.
 *   - host: a shared object (.so). A kernel is a function of type ww_host_kernel; what it must do
 *     is described there.
 *
 * A process must load its modules, and find their kernels, BEFORE its streams wait for other
 * processes. While a stream of the process waits for a value, the CUDA driver cannot load or unload
 * a module, and the call blocks until the wait ends. A launch loads nothing, even if
 * CUDA_MODULE_LOADING is LAZY, because ww_module_kernel() has loaded the kernel.
 *
 * A kernel keeps its module, and a module keeps its device open, so the order of the unrefs does
 * not matter. A module belongs to this process: it is not shared.
 *
 * Threads: every function may be called from any thread.
 * CUDA:    a module lives in a context, as a stream does (device.h), and its kernels are launched
 *          on streams of this context only. A context that the caller created must outlive it.
 * Fork:    a child cannot use its parent's modules: see device.h.
 */
#ifndef WARPWAY_MODULE_H
#define WARPWAY_MODULE_H

#include <warpway/base.h>
#include <warpway/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_module ww_module;
typedef struct ww_kernel ww_kernel;

/* The most that a launch can pass: number of arguments, and bytes of all arguments */
#define WW_KERNEL_ARGUMENTS_MAX      256
#define WW_KERNEL_ARGUMENT_BYTES_MAX 32764

/* ww_kernel_info.argument_count: the number of arguments is not known */
#define WW_KERNEL_ARGUMENTS_UNKNOWN UINT32_MAX

/**
 * struct ww_module_params - how to load a module
 * @struct_size:  sizeof(struct ww_module_params)
 * @reserved:     0
 * @flags:        0
 */
struct ww_module_params {
	uint32_t struct_size;
	uint32_t reserved;
	uint64_t flags;
};

/**
 * ww_module_load() - load a module from a file
 * @device:      borrowed; the module keeps it open
 * @path:        of a regular file. It may change or be removed afterwards
 * @params:      borrowed; NULL: no flags
 * @out_module:  the caller's; NULL on failure
 *
 * May block: for the file, for the driver's compiler, and while streams of this process wait (see
 * the top of module.h). Loading a shared object runs its constructors: load only files that you
 * would execute. If a shared object is loaded twice, it is loaded only once, with one set of
 * variables.
 *
 * Return: WW_OK; WW_ERR_NOT_FOUND, WW_ERR_ACCESS, WW_ERR_SYSTEM (the file cannot be read);
 *         WW_ERR_INVALID (the file is not a module, is incomplete, or does not compile: the record
 *         has the compiler's first line); WW_ERR_UNSUPPORTED (a module for another kind of device
 *         or GPU, or for a newer driver; @device lacks WW_CAP_MODULE); WW_ERR_NO_MEMORY;
 *         WW_ERR_DEVICE...; WW_ERR_FORKED.
 */
WW_API ww_status ww_module_load(ww_device *device, const char *path,
	const struct ww_module_params *params, ww_module **out_module);

/**
 * ww_module_load_image() - load a module from memory
 * @device:      borrowed; the module keeps it open
 * @image:       borrowed; the content of a module file. PTX needs no zero at its end
 * @bytes:       of the image
 * @params:      borrowed; NULL: no flags
 * @out_module:  the caller's; NULL on failure
 *
 * On the host device the module has a descriptor as long as it lives.
 *
 * Return: as ww_module_load(); WW_ERR_LIMIT (out of descriptors).
 */
WW_API ww_status ww_module_load_image(ww_device *device, const void *image, uint64_t bytes,
	const struct ww_module_params *params, ww_module **out_module);

/**
 * ww_module_ref() - take one more reference of a module
 * Return: @module.
 */
WW_API ww_module *ww_module_ref(ww_module *module);

/**
 * ww_module_unref() - release a reference of a module
 * @module:  may be NULL
 *
 * The code stays loaded until its kernels are released, too. Launches that were enqueued still run.
 * On host they keep their kernel. On cuda the last unref waits until all work of the context is
 * done, because the driver does this when it unloads a module.
 *
 * Return: NULL.
 */
WW_API ww_module *ww_module_unref(ww_module *module);

/**
 * ww_module_kernel() - find a kernel by its name, and load it
 * @module:      borrowed; the kernel keeps it
 * @name:        the name in the file: for C++ the mangled name, unless the kernel is declared
 *               extern "C"
 * @out_kernel:  the caller's; NULL on failure
 *
 * May block, as ww_module_load() does.
 *
 * Return: WW_OK; WW_ERR_NOT_FOUND; WW_ERR_NO_MEMORY; WW_ERR_DEVICE...; WW_ERR_FORKED.
 */
WW_API ww_status ww_module_kernel(ww_module *module, const char *name, ww_kernel **out_kernel);

/**
 * ww_kernel_ref() - take one more reference of a kernel
 * Return: @kernel.
 */
WW_API ww_kernel *ww_kernel_ref(ww_kernel *kernel);

/**
 * ww_kernel_unref() - release a reference of a kernel
 * @kernel:  may be NULL
 *
 * If this releases the last reference to the module, the call does the same as ww_module_unref().
 *
 * Return: NULL.
 */
WW_API ww_kernel *ww_kernel_unref(ww_kernel *kernel);

/**
 * struct ww_kernel_info - arguments and limits of a launch of a kernel
 * @struct_size:       set by the caller to sizeof(struct ww_kernel_info)
 * @argument_count:    how many arguments it takes; WW_KERNEL_ARGUMENTS_UNKNOWN: a driver older than
 *                     CUDA 12.4, or a shared object that does not declare it (ww_host_kernel)
 * @threads_max:       the most threads of a block, 1,024 or less
 * @registers:         of each thread; 0 on host
 * @local_bytes:       of each thread, in device memory; 0 on host
 * @shared_bytes:      shared memory of each block that the kernel declares itself; 0 on host
 * @shared_bytes_max:  the most shared memory of a block that a launch can request in addition
 * @reserved:          0
 */
struct ww_kernel_info {
	uint32_t struct_size;
	uint32_t argument_count;
	uint32_t threads_max;
	uint32_t registers;
	uint32_t local_bytes;
	uint32_t shared_bytes;
	uint32_t shared_bytes_max;
	uint32_t reserved;
};

/**
 * ww_kernel_info_get() - describe a kernel
 * @kernel:  borrowed
 * @info:    the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_ERR_INVALID (struct_size is not set); WW_ERR_FORKED.
 */
WW_API ww_status ww_kernel_info_get(ww_kernel *kernel, struct ww_kernel_info *info);

/**
 * ww_kernel_argument_bytes() - the size of one argument of a kernel
 * @kernel:     borrowed
 * @index:      0, 1, 2, ...
 * @out_bytes:  filled on success; 8 for an address
 *
 * Return: WW_OK; WW_END (it takes no such argument, or argument_count is
 *         WW_KERNEL_ARGUMENTS_UNKNOWN); WW_ERR_FORKED.
 */
WW_API ww_status ww_kernel_argument_bytes(ww_kernel *kernel, uint32_t index, uint64_t *out_bytes);

/**
 * struct ww_launch_params - how many threads run a kernel
 * @struct_size:   sizeof(struct ww_launch_params)
 * @shared_bytes:  shared memory of each block, beyond what the kernel declares itself
 * @grid:          blocks in x, y and z: 1 to 2,147,483,647, 1 to 65,535, 1 to 65,535
 * @block:         threads of a block in x, y and z: 1 to 1,024, 1 to 1,024, 1 to 64, and together
 *                 not more than threads_max of the kernel
 * @flags:         0
 */
struct ww_launch_params {
	uint32_t struct_size;
	uint32_t shared_bytes;
	uint32_t grid[3];
	uint32_t block[3];
	uint64_t flags;
};

/**
 * struct ww_kernel_argument - one argument of a kernel
 * @value:  pointer to its value; the launch copies the value, so it may change afterwards. If the
 *          argument is an address, @value points to the address
 * @bytes:  of the value: its sizeof, as the kernel declares it
 */
struct ww_kernel_argument {
	const void *value;
	uint64_t bytes;
};

/**
 * ww_kernel_launch() - enqueue a kernel
 * @kernel:          borrowed
 * @stream:          borrowed; of the kernel's device, and on cuda of its context
 * @params:          borrowed
 * @arguments:       borrowed; copied before the call returns. May be NULL if there are none
 * @argument_count:  0 to WW_KERNEL_ARGUMENTS_MAX
 *
 * The kernel runs after the work before it and before the work after it. Memory to which its
 * arguments point must stay valid until then, because the library does not know which of them are
 * addresses.
 *
 * The count and the sizes of the arguments are checked if they are known (see
 * ww_kernel_info.argument_count). Otherwise wrong arguments are undefined behaviour.
 *
 * If the kernel faults on a GPU, the context is lost: this call and every later call in this
 * context returns WW_ERR_DEVICE. Only a new process gets a usable context.
 *
 * Return: WW_OK (enqueued); WW_ERR_INVALID (a stream of another device or context; a grid, block or
 *         shared memory that is too large; arguments that the kernel does not take);
 *         WW_ERR_OVERFLOW (more bytes of arguments than WW_KERNEL_ARGUMENT_BYTES_MAX);
 *         WW_ERR_NO_MEMORY; WW_ERR_DEVICE; WW_ERR_PEER_LOST (@stream is lost, see device.h);
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_kernel_launch(ww_kernel *kernel, ww_stream *stream,
	const struct ww_launch_params *params, const struct ww_kernel_argument *arguments,
	uint32_t argument_count);

/**
 * struct ww_host_launch - the launch, as a kernel of the host device gets it
 * @struct_size:     sizeof(struct ww_host_launch), as the library was compiled
 * @argument_count:  of the launch
 * @grid:            as in the launch
 * @block:           as in the launch
 * @shared_bytes:    as in the launch; the kernel itself allocates the memory that it needs
 * @reserved:        0
 */
struct ww_host_launch {
	uint32_t struct_size;
	uint32_t argument_count;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t shared_bytes;
	uint32_t reserved;
};

/**
 * ww_host_kernel - a kernel of the host device: a function that a shared object exports
 * @launch:     valid during the call
 * @arguments:  one pointer for each argument, to a copy of its value, aligned to 16 bytes. An
 *              argument that is an address is read as `*(float **)arguments[i]`
 *
 * The library calls it ONCE for each launch, on the stream's thread. The function does the work of
 * all blocks and threads: it loops over them, or computes the same result in another way. It must
 * not throw, and must not wait for its own stream.
 *
 * A shared object can declare how many arguments a kernel NAME takes, so that a wrong launch is
 * refused. For this, it exports an array of uint32_t called NAME_argument_bytes with the size of
 * each argument in bytes, and 0 after the last. In C++ the array needs extern "C", like the kernel.
 *
 *   const uint32_t scale_argument_bytes[] = {8, 4, 4, 0};
 *
 *   void scale(const struct ww_host_launch *launch, void *const *arguments)
 *   {
 *           float *x = *(float **)arguments[0];
 *           float factor = *(float *)arguments[1];
 *           uint32_t count = *(uint32_t *)arguments[2];
 *
 *           for (uint32_t i = 0; i < count; i++)
 *                   x[i] *= factor;
 *   }
 *
 * In Fortran the kernel is a subroutine with bind(c, name="scale") whose second dummy argument is
 * `type(c_ptr), intent(in) :: arguments(*)`, and c_f_pointer() makes a pointer of each.
 */
typedef void (*ww_host_kernel)(const struct ww_host_launch *launch, void *const *arguments);

#ifdef __cplusplus
}
#endif

#endif
