/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - shared objects as modules of the host device
 *
 * A kernel is a function that the object itself defines; one that it only has from a library which
 * it links is not found. A launch is a call in the order of its stream. It has a copy of its
 * arguments and a reference of its kernel, so the object stays loaded until it has run.
 *
 * An image in memory is loaded from a memfd by its name in /proc. The loader knows objects by their
 * names, so the descriptor stays open as long as the object is loaded: its number, and so the name,
 * is not used again meanwhile.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/loader.h"
#include "device/host/host.h"
#include "device/module.h"
#include "device/module_image.h"

/* Those that every GPU has. */
#define THREADS_MAX      1024
#define SHARED_BYTES_MAX (48 << 10)

#define ARGUMENT_ALIGNMENT 16

struct host_module {
	struct ww_module base;
	void *library;
	int fd; /* of the memfd; -1: loaded from a file */
};

struct host_kernel {
	struct ww_kernel base;
	ww_host_kernel entry;
};

/* Behind it in the same piece of memory: the pointers to the arguments, then their values. */
struct host_launch {
	struct ww_host_launch launch;
	struct host_kernel *kernel; /* a reference */
	void **arguments;
};

static struct host_module *module_from_base(struct ww_module *module)
{
	return ww_container(module, struct host_module, base);
}

static struct host_kernel *kernel_from_base(struct ww_kernel *kernel)
{
	return ww_container(kernel, struct host_kernel, base);
}

static struct host_module *module_free(struct host_module *module)
{
	if (module->library)
		ww_loader_close(module->library);
	ww_fd_close(module->fd);
	ww_module_fini(&module->base);
	free(module);
	return NULL;
}

WW_DEFINE_CLEANUP(struct host_module, module_free)
#define AUTO_MODULE WW_CLEANUP(module_free_p)

static ww_status open_library(struct host_module *module, const struct ww_module_image *image,
	const char *path)
{
	const char *reason;

	module->library = ww_loader_open(path, RTLD_NOW | RTLD_LOCAL);
	if (module->library)
		return WW_OK;
	reason = dlerror();
	return ww_fail(WW_ERR_INVALID, "cannot load %s: %s", image->name,
		reason ? reason : "the loader does not say why");
}

/* By its whole path: a name without a slash would be looked for elsewhere. */
static ww_status load_file(struct host_module *module, const struct ww_module_image *image)
{
	char path[PATH_MAX];

	if (!realpath(image->path, path))
		return ww_fail_errno(errno, NULL, "cannot find the module %s", image->name);
	return open_library(module, image, path);
}

static ww_status load_memory(struct host_module *module, const struct ww_module_image *image)
{
	char path[40];
	uint64_t done = 0;

	module->fd = memfd_create("warpway-module", MFD_CLOEXEC);
	if (module->fd < 0)
		return ww_fail_errno(errno, NULL, "cannot make a memfd for %s", image->name);
	ww_try(ww_fd_adopt(&module->fd));
	while (done < image->count) {
		ssize_t written = write(module->fd, image->bytes + done, image->count - done);

		if (written < 0 && errno != EINTR)
			return ww_fail_errno(errno, NULL, "cannot copy %s", image->name);
		done += written > 0 ? (uint64_t)written : 0;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", module->fd);
	return open_library(module, image, path);
}

ww_status ww_host_module_load(struct ww_device *device, const struct ww_module_image *image,
	struct ww_module **out_module)
{
	AUTO_MODULE struct host_module *module = NULL;

	if (image->kind != WW_IMAGE_SHARED_OBJECT)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"cannot load %s on host: it is %s, which is for GPUs; host loads shared objects "
			"(cc -shared -fPIC)",
			image->name, ww_image_kind_name(image->kind));
	module = calloc(1, sizeof(*module));
	if (!module)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot load %s: out of memory", image->name);
	module->fd = -1;
	ww_module_init(&module->base, device);
	ww_try(image->path ? load_file(module, image) : load_memory(module, image));
	*out_module = &ww_steal(module)->base;
	return WW_OK;
}

void ww_host_module_unload(struct ww_module *base)
{
	module_free(module_from_base(base));
}

/* Return: a symbol that the module itself defines, of this type; NULL. */
static void *find_symbol(const struct host_module *module, const char *name, unsigned int type)
{
	void *address = ww_loader_symbol(module->library, name);
	struct link_map *defines = NULL;
	struct link_map *own = NULL;
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (!address || dlinfo(module->library, RTLD_DI_LINKMAP, (void *)&own) != 0 ||
		!dladdr1(address, &info, (void **)&defines, RTLD_DL_LINKMAP) || defines != own ||
		!dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return NULL;
	return ELF64_ST_TYPE(symbol->st_info) == type ? address : NULL;
}

/* NAME_argument_bytes, where the module has it. */
static ww_status find_arguments(struct host_kernel *kernel, const struct host_module *module,
	const char *name)
{
	char symbol[256];
	const uint32_t *bytes;
	uint32_t count = 0;

	if (snprintf(symbol, sizeof(symbol), "%s_argument_bytes", name) >= (int)sizeof(symbol))
		return WW_OK;
	bytes = find_symbol(module, symbol, STT_OBJECT);
	if (!bytes)
		return WW_OK;
	while (count < WW_KERNEL_ARGUMENTS_MAX && bytes[count]) {
		kernel->base.argument_bytes[count] = bytes[count];
		count++;
	}
	if (count == WW_KERNEL_ARGUMENTS_MAX && bytes[count])
		return ww_fail(WW_ERR_UNSUPPORTED,
			"%.64s has more than %d arguments, or no 0 at its end", symbol,
			WW_KERNEL_ARGUMENTS_MAX);
	kernel->base.info.argument_count = count;
	return WW_OK;
}

static struct host_kernel *kernel_free(struct host_kernel *kernel)
{
	ww_kernel_fini(&kernel->base);
	free(kernel);
	return NULL;
}

WW_DEFINE_CLEANUP(struct host_kernel, kernel_free)
#define AUTO_KERNEL WW_CLEANUP(kernel_free_p)

ww_status ww_host_kernel_open(struct ww_module *base, const char *name,
	struct ww_kernel **out_kernel)
{
	AUTO_KERNEL struct host_kernel *kernel = calloc(1, sizeof(*kernel));
	const struct host_module *module = module_from_base(base);

	if (!kernel)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot find \"%.64s\": out of memory", name);
	ww_kernel_init(&kernel->base, base, name);
	kernel->base.info.threads_max = THREADS_MAX;
	kernel->base.info.shared_bytes_max = SHARED_BYTES_MAX;
	*(void **)&kernel->entry = find_symbol(module, name, STT_FUNC);
	if (!kernel->entry)
		return ww_fail(WW_ERR_NOT_FOUND,
			"the module has no function \"%.64s\"; nm -D lists those that it has (in C++ declare it "
			"extern \"C\")",
			name);
	ww_try(find_arguments(kernel, module, name));
	*out_kernel = &ww_steal(kernel)->base;
	return WW_OK;
}

void ww_host_kernel_close(struct ww_kernel *base)
{
	kernel_free(kernel_from_base(base));
}

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + ARGUMENT_ALIGNMENT - 1) / ARGUMENT_ALIGNMENT * ARGUMENT_ALIGNMENT;
}

static uint64_t bytes_of(const struct ww_launch *launch)
{
	uint64_t bytes = aligned(sizeof(struct host_launch)) +
		aligned(launch->argument_count * sizeof(void *));

	for (uint32_t i = 0; i < launch->argument_count; i++)
		bytes += aligned(launch->arguments[i].bytes);
	return bytes;
}

static struct host_launch *launch_free(struct host_launch *launch)
{
	ww_kernel_unref(&launch->kernel->base);
	free(launch);
	return NULL;
}

/* On the stream's thread. */
static void run(void *context)
{
	struct host_launch *launch = context;

	launch->kernel->entry(&launch->launch, launch->arguments);
	launch_free(launch);
}

ww_status ww_host_kernel_launch(struct ww_kernel *kernel, struct ww_stream *stream,
	const struct ww_launch *launch)
{
	struct host_launch *copy = malloc(bytes_of(launch));
	ww_status status;
	char *at;

	if (!copy)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot launch \"%s\": out of memory",
			kernel->name);
	copy->launch = (struct ww_host_launch){
		.struct_size = sizeof(copy->launch),
		.argument_count = launch->argument_count,
		.shared_bytes = launch->shared_bytes,
	};
	memcpy(copy->launch.grid, launch->grid, sizeof(launch->grid));
	memcpy(copy->launch.block, launch->block, sizeof(launch->block));
	copy->kernel = kernel_from_base(ww_kernel_ref(kernel));
	/* malloc() aligns to 16 bytes, as the values are. */
	at = (char *)copy + aligned(sizeof(*copy));
	copy->arguments = (void **)(void *)at;
	at += aligned(launch->argument_count * sizeof(void *));
	for (uint32_t i = 0; i < launch->argument_count; i++) {
		const struct ww_kernel_argument *argument = &launch->arguments[i];

		copy->arguments[i] = at;
		memcpy(at, argument->value, argument->bytes);
		at += aligned(argument->bytes);
	}
	status = ww_host_stream_call(stream, run, copy);
	if (status < 0)
		launch_free(copy);
	return status;
}
