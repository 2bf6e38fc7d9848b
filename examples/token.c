/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.c - a piece of memory, handed to another process in its environment
 *
 * A token is plain bytes, here as text: it names the second half of a memory and opens it for
 * writing. It could as well travel in a pipe, a file or a message; nothing else connects the two
 * processes. Whoever has it may do what it grants, so it is passed on as a key would be.
 *
 *   token [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <warpway/warpway.h>

#define VARIABLE "EXAMPLE_TOKEN"
#define HALF     (UINT64_C(1) << 20)

extern char **environ;

/* A call that fails (status < 0) leaves a sentence that says why. */
static void check(ww_status status)
{
	if (status != WW_OK) {
		fprintf(stderr, "%s: %s\n", ww_status_name(status),
			status < 0 ? ww_error_last()->message : ww_status_text(status));
		exit(1);
	}
}

static int child(const char *device_name, const char *text)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token;
	ww_device *device;
	ww_memory *memory;
	int number = 4711;

	check(ww_device_open(device_name, &device));
	check(ww_token_from_text(text, &token));
	check(ww_memory_import(device, NULL, &token,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &memory,
		&info));
	printf("child:  the token names %llu bytes from byte %llu on; I write %d there\n",
		(unsigned long long)info.span_bytes, (unsigned long long)info.offset, number);
	check(ww_memory_write(memory, 0, &number, sizeof(number), WW_FOREVER, NULL));
	ww_memory_unref(memory);
	ww_device_unref(device);
	return 0;
}

int main(int argc, char **argv)
{
	struct ww_memory_params params = {.struct_size = sizeof(params), .bytes = 2 * HALF};
	struct ww_export_params half = {
		.struct_size = sizeof(half),
		.access = WW_ACCESS_WRITE,
		.offset = HALF,
		.uses = 1, /* the token no longer keeps the memory once it was imported */
	};
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	char text[WW_TOKEN_TEXT_BYTES];
	struct ww_token token;
	ww_device *device;
	ww_memory *memory;
	char role[] = "--child";
	int number = 0;
	int status;
	pid_t pid;

	if (argc == 3 && !strcmp(argv[1], role) && getenv(VARIABLE))
		return child(argv[2], getenv(VARIABLE));
	check(ww_device_open(argc > 1 ? argv[1] : NULL, &device));
	check(ww_device_info_get(device, &info));
	check(ww_memory_create(device, &params, &memory));
	check(ww_memory_export(memory, NULL, &half, NULL, &token));
	check(ww_token_to_text(&token, text));
	printf("parent: a token of %zu letters, %.16s...\n", strlen(text), text);
	fflush(stdout);
	if (setenv(VARIABLE, text, 1) ||
		posix_spawn(&pid, "/proc/self/exe", NULL, NULL,
			(char *[]){argv[0], role, info.selector, NULL}, environ) ||
		waitpid(pid, &status, 0) != pid)
		return 1;

	check(ww_memory_read(memory, HALF, &number, sizeof(number), WW_FOREVER, NULL));
	printf("parent: I find %d there\n", number);
	ww_memory_unref(memory);
	ww_device_unref(device);
	return number == 4711 && status == 0 ? 0 : 1;
}
