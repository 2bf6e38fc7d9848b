/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_module.c - modules of PTX
 *
 * Nothing here can run PTX. So a module that is to do something says in a comment of its own where
 * functions in C stand that do the same (of type ww_host_kernel, by the names of the kernels):
 *
 *   // fakecuda: /path/to/kernels.so
 *
 * Where it does not, the environment's FAKECUDA_KERNELS names that file.
 *
 * A real driver skips that line and runs the PTX, so one text serves both. Of the PTX, only the
 * heads of the kernels are read: names, and sizes of the parameters. A kernel whose body is
 * "{ ret; }" needs no function. PTX with a kernel that has none is CUDA_ERROR_INVALID_PTX, and so
 * is PTX whose heads cannot be read; the log of cuModuleLoadDataEx says why.
 *
 * As in the driver, loading a module waits until all work of the process is done: it blocks while a
 * stream waits for a value. Kernels are launched by fake_launch.c.
 */
#include "fake.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
#define WORD_BYTES 256

struct fake_module {
	struct fake_module *next;
	struct fake_context *context;
	struct fake_kernel *kernels;
	void *library; /* of their functions; NULL: none */
};

/* A text that is read from its beginning to its end. */
struct reader {
	const char *at;
	char *log; /* of @log_bytes; the first complaint; NULL: nobody reads it */
	size_t log_bytes;
};

static struct fake_module *modules;

static struct fake_module *module_find(const void *handle)
{
	struct fake_module *module = modules;

	while (module && module != handle)
		module = module->next;
	return module;
}

struct fake_kernel *fake_kernel_find(const void *handle)
{
	for (struct fake_module *module = modules; module; module = module->next)
		for (struct fake_kernel *kernel = module->kernels; kernel; kernel = kernel->next)
			if (kernel == handle)
				return kernel;
	return NULL;
}

static void module_free(struct fake_module *module)
{
	struct fake_kernel *next;

	for (struct fake_kernel *kernel = module->kernels; kernel; kernel = next) {
		next = kernel->next;
		free(kernel);
	}
	if (module->library)
		dlclose(module->library);
	free(module);
}

static void module_delete(struct fake_module *module)
{
	struct fake_module **at = &modules;

	while (*at != module)
		at = &(*at)->next;
	*at = module->next;
	module_free(module);
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

__attribute__((format(printf, 2, 3))) static ww_CUresult refuse(struct reader *reader,
	const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (reader->log && !reader->log[0]) {
		int length = snprintf(reader->log, reader->log_bytes,
			"ptxas application ptx input: fakecuda: ");
		if (length > 0 && (size_t)length < reader->log_bytes)
			vsnprintf(reader->log + length, reader->log_bytes - (size_t)length, format,
				arguments);
	}
	va_end(arguments);
	return WW_CUDA_ERROR_INVALID_PTX;
}

static void skip_space(struct reader *reader)
{
	for (;;) {
		while (isspace((unsigned char)*reader->at))
			reader->at++;
		if (strncmp(reader->at, "//", 2) != 0)
			return;
		reader->at += strcspn(reader->at, "\n");
	}
}

/* Takes the next word: letters that belong together, or one other character. Empty at the end. */
static void read_word(struct reader *reader, char out[WORD_BYTES])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_$%.";
	size_t length;

	skip_space(reader);
	length = strspn(reader->at, letters);
	if (length == 0 && *reader->at)
		length = 1;
	if (length >= WORD_BYTES)
		length = WORD_BYTES - 1;
	memcpy(out, reader->at, length);
	out[length] = '\0';
	reader->at += length;
}

/* The bytes of ".u64", ".f32", ".b8"; 0: it is no such type. */
static unsigned int bytes_of_type(const char *word)
{
	char kind;
	unsigned int bits;
	int end = 0;

	if (sscanf(word, ".%c%u%n", &kind, &bits, &end) != 2 || word[end] || !strchr("busf", kind))
		return 0;
	return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? bits / 8 : 0;
}

/*
 * Reads ".param .u64 .ptr .global .align 4 name" and ".param .align 8 .b8 name[24]", up to the
 * comma or the bracket behind it.
 */
static ww_CUresult read_parameter(struct reader *reader, struct fake_kernel *kernel, char last[])
{
	unsigned int bytes = 0;
	unsigned int count;
	char word[WORD_BYTES];

	for (;;) {
		read_word(reader, word);
		if (!word[0] || !strcmp(word, ",") || !strcmp(word, ")"))
			break;
		if (bytes_of_type(word))
			bytes = bytes_of_type(word);
		if (strcmp(word, "[") == 0 && sscanf(reader->at, "%u", &count) == 1)
			bytes *= count;
	}
	if (!bytes || kernel->parameter_count == FAKE_PARAMETERS_MAX)
		return refuse(reader, "cannot read the parameters of %s", kernel->name);
	kernel->parameter_bytes[kernel->parameter_count++] = bytes;
	strcpy(last, word);
	return WW_CUDA_SUCCESS;
}

static ww_CUresult read_parameters(struct reader *reader, struct fake_kernel *kernel)
{
	char word[WORD_BYTES];
	ww_CUresult error = WW_CUDA_SUCCESS;

	read_word(reader, word);
	if (strcmp(word, "{") == 0) {
		reader->at--;
		return WW_CUDA_SUCCESS;
	}
	if (strcmp(word, "(") != 0)
		return refuse(reader, "no ( behind the name of %s", kernel->name);
	skip_space(reader);
	if (*reader->at == ')') {
		reader->at++;
		return WW_CUDA_SUCCESS;
	}
	do {
		error = read_parameter(reader, kernel, word);
	} while (!error && strcmp(word, ",") == 0);
	if (!error && strcmp(word, ")") != 0)
		error = refuse(reader, "no ) behind the parameters of %s", kernel->name);
	return error;
}

/* Skips directives and the body. Sets whether the body does nothing. */
static ww_CUresult read_body(struct reader *reader, const struct fake_kernel *kernel,
	bool *out_empty)
{
	static const char *const nothing[] = {"ret", ";", "}"};
	char word[WORD_BYTES];
	unsigned int depth = 1;
	size_t words = 0;

	*out_empty = true;
	do
		read_word(reader, word);
	while (word[0] && strcmp(word, "{") != 0);
	while (depth > 0) {
		read_word(reader, word);
		if (!word[0])
			return refuse(reader, "the body of %s does not end", kernel->name);
		if (words >= sizeof(nothing) / sizeof(nothing[0]) ||
			strcmp(word, nothing[words]) != 0)
			*out_empty = false;
		words++;
		depth += !strcmp(word, "{");
		depth -= !strcmp(word, "}");
	}
	return WW_CUDA_SUCCESS;
}

static ww_CUresult read_kernel(struct reader *reader, struct fake_module *module)
{
	struct fake_kernel *kernel = calloc(1, sizeof(*kernel));
	bool empty = false;

	if (!kernel)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	kernel->context = module->context;
	kernel->next = module->kernels;
	module->kernels = kernel;
	read_word(reader, kernel->name);
	ww_CUresult error = read_parameters(reader, kernel);
	if (!error)
		error = read_body(reader, kernel, &empty);
	if (error)
		return error;
	if (module->library)
		*(void **)&kernel->function = dlsym(module->library, kernel->name);
	if (!empty && !kernel->function)
		return refuse(reader, "there is no function in C for the kernel %s", kernel->name);
	return WW_CUDA_SUCCESS;
}

/* Opens the library that a comment names, or FAKECUDA_KERNELS, if one does. */
static ww_CUresult open_library(struct reader *reader, struct fake_module *module)
{
	static const char mark[] = "// fakecuda: ";
	const char *kernels = fake_config()->kernels;
	const char *at = strstr(reader->at, mark);
	char path[PATH_BYTES];

	if (!at && !kernels)
		return WW_CUDA_SUCCESS;
	at = at ? at + strlen(mark) : kernels;
	size_t length = strcspn(at, "\r\n");
	if (length >= sizeof(path))
		return refuse(reader, "the path behind \"%s\" is too long", mark);
	memcpy(path, at, length);
	path[length] = '\0';
	module->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return module->library ? WW_CUDA_SUCCESS : refuse(reader, "%s", dlerror());
}

static ww_CUresult module_read(struct reader *reader, struct fake_module *module)
{
	char word[WORD_BYTES];
	ww_CUresult error = open_library(reader, module);

	read_word(reader, word);
	if (strcmp(word, ".version") != 0)
		return WW_CUDA_ERROR_INVALID_IMAGE;
	while (!error && word[0]) {
		read_word(reader, word);
		if (strcmp(word, ".entry") == 0)
			error = read_kernel(reader, module);
	}
	if (!error && !module->kernels)
		error = refuse(reader, "there is no kernel");
	return error;
}

static ww_CUresult module_load(ww_CUmodule *out_module, struct reader *reader)
{
	struct fake_context *context;
	ww_CUresult error = fake_context_current(&context);
	if (error)
		return error;
	if (!out_module || !reader->at)
		return WW_CUDA_ERROR_INVALID_VALUE;
	struct fake_module *module = calloc(1, sizeof(*module));
	if (!module)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	module->context = context;
	error = module_read(reader, module);
	if (error) {
		module_free(module);
		return error;
	}
	fake_stream_finish_all();
	module->next = modules;
	modules = module;
	*out_module = (ww_CUmodule)module;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuModuleLoadData(ww_CUmodule *out_module, const void *image)
{
	FAKE_ENTER(cuModuleLoadData);
	struct reader reader = {.at = image};
	return module_load(out_module, &reader);
}

/* Of the options, only those of the error log are known. */
FAKE_API cuModuleLoadDataEx(ww_CUmodule *out_module, const void *image, unsigned int count,
	ww_CUjit_option *options, void **values)
{
	FAKE_ENTER(cuModuleLoadDataEx);
	struct reader reader = {.at = image};
	for (unsigned int i = 0; i < count; i++) {
		if (options[i] == WW_CU_JIT_ERROR_LOG_BUFFER)
			reader.log = values[i];
		else if (options[i] == WW_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
			reader.log_bytes = (size_t)(uintptr_t)values[i];
		else
			return WW_CUDA_ERROR_INVALID_VALUE;
	}
	if (reader.log && reader.log_bytes)
		reader.log[0] = '\0';
	return module_load(out_module, &reader);
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

FAKE_API cuModuleGetFunction(ww_CUfunction *out_kernel, ww_CUmodule handle, const char *name)
{
	FAKE_ENTER(cuModuleGetFunction);
	struct fake_module *module = module_find(handle);
	if (!module)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	if (!out_kernel || !name)
		return WW_CUDA_ERROR_INVALID_VALUE;
	for (struct fake_kernel *kernel = module->kernels; kernel; kernel = kernel->next) {
		if (strcmp(name, kernel->name) != 0)
			continue;
		*out_kernel = (ww_CUfunction)kernel;
		return WW_CUDA_SUCCESS;
	}
	return WW_CUDA_ERROR_NOT_FOUND;
}
