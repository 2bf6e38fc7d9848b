/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_module.c - modules of PTX, and launches of their kernels
 *
 * Nothing here can run code, so a module is text of PTX with one kernel that has no parameters and
 * does nothing: ".entry NAME() { ret; }". Any other PTX is CUDA_ERROR_INVALID_PTX. A launch is an
 * operation of its stream, in its order, without an effect.
 *
 * As in the driver, loading a module waits until all work of the process is done: it blocks while a
 * stream waits for a value.
 */
#include "fake.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 64

struct fake_module {
	struct fake_module *next;
	struct fake_context *context;
	char name[NAME_BYTES]; /* of its kernel, whose handle is the module's */
};

static struct fake_module *modules;

static struct fake_module *module_find(const void *handle)
{
	struct fake_module *module = modules;

	while (module && module != handle)
		module = module->next;
	return module;
}

static void module_delete(struct fake_module *module)
{
	struct fake_module **at = &modules;

	while (*at != module)
		at = &(*at)->next;
	*at = module->next;
	free(module);
}

void fake_module_unload_of(const struct fake_context *context)
{
	struct fake_module *next;

	for (struct fake_module *module = modules; module; module = next) {
		next = module->next;
		if (module->context == context)
			module_delete(module);
	}
}

uint64_t fake_module_count(void)
{
	uint64_t count = 0;

	for (const struct fake_module *module = modules; module; module = module->next)
		count++;
	return count;
}

/* Moves @at behind white space and @word. Return: whether the word is there. */
static bool skip(const char **at, const char *word)
{
	while (isspace((unsigned char)**at))
		(*at)++;
	if (strncmp(*at, word, strlen(word)) != 0)
		return false;
	*at += strlen(word);
	return true;
}

static ww_CUresult ptx_read(const char *text, char out_name[NAME_BYTES])
{
	static const char *const body[] = {"(", ")", "{", "ret", ";", "}"};
	const char *at = text;
	size_t length;

	if (!skip(&at, ".version"))
		return WW_CUDA_ERROR_INVALID_IMAGE;
	at = strstr(at, ".entry");
	if (!at || !skip(&at, ".entry") || !isspace((unsigned char)*at) || !skip(&at, ""))
		return WW_CUDA_ERROR_INVALID_PTX;
	length = strcspn(at, " \t\n(");
	if (length == 0 || length >= NAME_BYTES)
		return WW_CUDA_ERROR_INVALID_PTX;
	memcpy(out_name, at, length);
	out_name[length] = '\0';
	at += length;
	for (size_t i = 0; i < sizeof(body) / sizeof(body[0]); i++) {
		if (!skip(&at, body[i]))
			return WW_CUDA_ERROR_INVALID_PTX;
	}
	skip(&at, "");
	return *at ? WW_CUDA_ERROR_INVALID_PTX : WW_CUDA_SUCCESS;
}

FAKE_API cuModuleLoadData(ww_CUmodule *out_module, const void *image)
{
	FAKE_ENTER(cuModuleLoadData);
	struct fake_context *context;
	ww_CUresult error = fake_context_current(&context);
	if (error)
		return error;
	if (!out_module || !image)
		return WW_CUDA_ERROR_INVALID_VALUE;
	struct fake_module *module = calloc(1, sizeof(*module));
	if (!module)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	error = ptx_read(image, module->name);
	if (error) {
		free(module);
		return error;
	}
	fake_stream_finish_all();
	module->context = context;
	module->next = modules;
	modules = module;
	*out_module = (ww_CUmodule)module;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuModuleUnload(ww_CUmodule handle)
{
	FAKE_ENTER(cuModuleUnload);
	struct fake_module *module = module_find(handle);
	if (!module)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	fake_stream_finish_context(module->context);
	module_delete(module);
	return WW_CUDA_SUCCESS;
}

FAKE_API cuModuleGetFunction(ww_CUfunction *out_function, ww_CUmodule handle, const char *name)
{
	FAKE_ENTER(cuModuleGetFunction);
	struct fake_module *module = module_find(handle);
	if (!module)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	if (!out_function || !name)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (strcmp(name, module->name) != 0)
		return WW_CUDA_ERROR_NOT_FOUND;
	*out_function = (ww_CUfunction)module;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuLaunchKernel(ww_CUfunction function, unsigned int grid_x, unsigned int grid_y,
	unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
	unsigned int shared_bytes, ww_CUstream handle, void **parameters, void **extra)
{
	FAKE_ENTER(cuLaunchKernel);
	struct fake_stream *stream;
	struct fake_module *module = module_find(function);
	if (!module)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	ww_CUresult error = fake_stream_find(handle, &stream);
	if (error)
		return error;
	if (stream->context != module->context)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z || parameters ||
		extra)
		return WW_CUDA_ERROR_INVALID_VALUE;
	(void)shared_bytes;
	return fake_stream_push(stream, fake_op_new());
}
