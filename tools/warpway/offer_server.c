/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offer_server.c - the server of `warpway offer`: loads modules, and launches kernels for clients
 *
 * All modules are loaded, and all kernels found, before the service exists: a driver loads nothing
 * while a stream waits. Without any, the service has the library's own functions only. A call
 * launches its kernel on the call's stream and returns; the call is complete when the kernel is. A
 * C function gets the service's device as its context. When a call finds that the GPU's context is
 * lost, the process ends, and offer.c starts another one.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "common/cleanup.h"
#include "common/number.h"
#include "warpway/kernel_file.h"
#include "warpway/name_option.h"
#include "warpway/offer.h"
#include "warpway/open_broker.h"

#define KEEP_NS UINT64_C(100000000)

static struct offer {
	struct request request;
	const char *device_name;
	const char *signatures; /* path of the file */
	uint64_t after_streams;
	struct ww_service_params params;
} offer = {
	.device_name = "host",
	.params = {.struct_size = sizeof(struct ww_service_params), .keep_ns = KEEP_NS},
};

static const char help[] =
	"Usage: warpway offer [OPTION...] NAME [MODULE...]\n\n"
	"Makes the service NAME and offers kernels of modules as its functions: of .ptx, .cubin and\n"
	".fatbin files on a GPU, of .so files on the CPU. C functions of .so files can be offered on\n"
	"either; their type is ww_service_fn of warpway/service.h, their context the ww_device, and such\n"
	"a file is linked with -lwarpway. FILE has a line for each:\n\n"
	"  saxpy: f32 a, f32[n] x read, f32[n] y readwrite, i32 n; grid n / 256; block 256\n"
	"  mean: f32[n] x read -> f64 mean; function; idempotent\n\n"
	"The server is a process of its own. If a kernel ends it, it is started again, up to 5 times in\n"
	"a minute. SIGTERM and Ctrl-C let the calls end that have come, and then end the command.\n\n"
	"  --signature FILE  what is offered, signatures, and how many threads run a kernel\n"
	"  --data            offer also warpway.copy, .fill, .read and .write\n"
	"  --alloc           offer also warpway.alloc and .free: clients have memory made\n"
	"  --alloc-max SIZE  of that memory, for all clients of one user (default 1GiB)\n"
	"  --keep SECONDS    how long an array stays mapped after a call, or `forever` (default 0.1)\n"
	"  --after-streams N on a GPU: up to 4 streams wait for values that calls of your own clients\n"
	"                    start after; without it the values are polled\n"
	"  --device NAME     where they run: host (default), cuda:N or cuda:UUID\n"
	"  --mode MODE       permissions in octal (default 0600): read: see functions; write: call\n"
	"  --group GROUP     one of your groups (default: your own)\n"
	"  --replace         a service of that name gives way\n" BROKER_HELP
	"\n  warpway offer --device cuda:0 --signature blas.txt lab/blas blas.ptx\n\n" BROKER_EXIT_HELP;

static int take_size(void *place, const char *argument)
{
	if (number_parse_size(argument, strlen(argument), place))
		return 0;
	return refuse("--alloc-max %s: a size is needed such as 512MiB", argument);
}

static const struct option_row options[] = {
	OPTION("signature", TEXT, struct offer, signatures),
	OPTION("data", BITS, struct offer, params.builtin, .value = WW_SERVICE_BUILTIN_DATA),
	OPTION("alloc", BITS, struct offer, params.builtin, .value = WW_SERVICE_BUILTIN_ALLOC),
	OPTION("alloc-max", TAKEN, struct offer, params.alloc_bytes_max, .take = take_size),
	OPTION("keep", PATIENCE, struct offer, params.keep_ns),
	OPTION("after-streams", NUMBER, struct offer, after_streams, .value = 1,
		.maximum = WW_SERVICE_AFTER_STREAMS_MAX),
	OPTION("device", TEXT, struct offer, device_name),
	OPTION("mode", TAKEN, struct offer, params.mode, .take = name_take_mode),
	OPTION("group", TAKEN, struct offer, params.gid, .take = name_take_group),
	OPTION("replace", BITS, struct offer, params.flags, .value = WW_PUT_REPLACE),
	OPTION_BROKER,
	OPTION_END,
};

struct offered {
	struct kernel_line line;
	ww_kernel *kernel; /* or */
	ww_service_fn function;
};

/* What this process serves. */
static struct server {
	ww_device *device;
	ww_service *service;
	ww_cancel *lost; /* set when the context is */
	struct offered *offered;
	uint32_t count;
} server;

/* --- a call --- */

/* What a kernel gets for a value: its bytes, or an address; NULL for an array that was left out. */
static struct ww_kernel_argument argument_of(struct ww_value *value)
{
	if (value->kind == WW_ARGUMENT_SCALAR)
		return (struct ww_kernel_argument){&value->scalar, value->dtype.bits / 8};
	return (struct ww_kernel_argument){&value->pointer, sizeof(value->pointer)};
}

static ww_status launch(const struct offered *offered, ww_call *call, struct ww_value *values)
{
	const struct kernel_line *line = &offered->line;
	struct ww_launch_params params = {
		.struct_size = sizeof(params),
		.shared_bytes = line->shared_bytes,
	};
	struct ww_kernel_argument arguments[WW_CALL_ARGS_MAX];
	ww_stream *stream;
	ww_status status = ww_call_stream(call, &stream);

	for (uint32_t i = 0; i < line->parameter_count; i++)
		arguments[i] = argument_of(&values[i]);
	for (uint32_t i = 0; i < KERNEL_AXES; i++) {
		params.block[i] = line->block[i];
		params.grid[i] = kernel_extent_value(&line->grid[i], values);
	}
	if (status != WW_OK)
		return status;
	return ww_kernel_launch(offered->kernel, stream, &params, arguments, line->parameter_count);
}

/* No elements, no blocks: nothing is to be done. */
static bool is_empty(const struct kernel_line *line, const struct ww_value *values)
{
	for (uint32_t i = 0; i < line->parameter_count; i++) {
		for (uint32_t d = 0;
			values[i].kind == WW_ARGUMENT_ARRAY && d < values[i].array->ndim; d++) {
			if (values[i].array->shape[d] == 0)
				return true;
		}
	}
	return false;
}

static ww_status run_kernel(void *context, ww_call *call)
{
	const struct offered *offered = context;
	struct ww_value values[WW_CALL_ARGS_MAX];
	ww_status status = WW_OK;

	for (uint32_t i = 0; i < offered->line.parameter_count && status == WW_OK; i++)
		status = ww_call_argument(call, i, &values[i]);
	if (status == WW_OK && !is_empty(&offered->line, values))
		status = launch(offered, call, values);
	if (status == WW_ERR_DEVICE)
		ww_cancel_set(server.lost);
	return status;
}

static ww_status run_function(void *context, ww_call *call)
{
	const struct offered *offered = context;
	ww_status status = offered->function(server.device, call);

	if (status == WW_ERR_DEVICE)
		ww_cancel_set(server.lost);
	return status;
}

/* --- kernels --- */

static int fail_line(uint32_t number, const char *why)
{
	return refuse("%s, line %u: %s", offer.signatures, number, why);
}

static int add_line(char *text, uint32_t number)
{
	struct offered *more;
	struct kernel_line line;
	char reason[KERNEL_REASON_BYTES];

	if (!kernel_line_read(text, &line, reason))
		return fail_line(number, reason);
	if (!line.name[0])
		return 0;
	more = realloc(server.offered, (server.count + 1) * sizeof(*more));
	if (!more)
		return fail_line(number, "out of memory");
	server.offered = more;
	server.offered[server.count++] = (struct offered){.line = line};
	return 0;
}

static int read_signatures(void)
{
	FILE *file = offer.signatures ? fopen(offer.signatures, "re") : NULL;
	char text[KERNEL_LINE_BYTES];
	uint32_t number = 0;
	int code = 0;

	if (!offer.signatures)
		return refuse("--signature FILE is needed, which says what kernels there are, or "
			      "--data or --alloc without a MODULE");
	if (!file)
		return refuse("--signature %s: %s", offer.signatures, strerror(errno));
	while (code == 0 && fgets(text, sizeof(text), file)) {
		number++;
		code = strlen(text) == sizeof(text) - 1 ? fail_line(number, "it is too long")
							: add_line(text, number);
	}
	fclose(file);
	if (code == 0 && server.count == 0)
		return refuse("--signature %s: no kernel and no function is in it",
			offer.signatures);
	return code;
}

/* What a kernel gets for a parameter: its bytes, or an address. */
static uint64_t argument_bytes_of(const struct ww_parameter_info *parameter)
{
	return parameter->kind == WW_ARGUMENT_SCALAR ? parameter->dtype.bits / 8 : sizeof(void *);
}

static int check_sizes(const struct offered *offered)
{
	for (uint32_t i = 0; i < offered->line.parameter_count; i++) {
		struct ww_parameter_info parameter = WW_INIT(struct ww_parameter_info);
		uint64_t bytes;

		if (ww_signature_parameter_get(offered->line.signature, i, &parameter) != WW_OK ||
			ww_kernel_argument_bytes(offered->kernel, i, &bytes) != WW_OK)
			return refuse("kernel '%s': %s", offered->line.name,
				ww_error_last()->message);
		if (bytes != argument_bytes_of(&parameter))
			return refuse("kernel '%s' takes %" PRIu64
				      " bytes as argument %u, and '%s' of its signature, %s, has "
				      "%" PRIu64,
				offered->line.name, bytes, i + 1, parameter.name, parameter.type,
				argument_bytes_of(&parameter));
	}
	return 0;
}

static int check_kernel(const struct offered *offered)
{
	struct ww_kernel_info info = WW_INIT(struct ww_kernel_info);

	if (ww_kernel_info_get(offered->kernel, &info) != WW_OK)
		return refuse("kernel '%s': %s", offered->line.name, ww_error_last()->message);
	if (info.argument_count == WW_KERNEL_ARGUMENTS_UNKNOWN)
		return 0;
	if (info.argument_count != offered->line.parameter_count)
		return refuse("kernel '%s' takes %u arguments, and its signature has %u",
			offered->line.name, info.argument_count, offered->line.parameter_count);
	return check_sizes(offered);
}

/* Looks for the kernels that were not found yet. */
static int find_kernels(ww_module *module)
{
	for (uint32_t i = 0; i < server.count; i++) {
		struct offered *offered = &server.offered[i];
		ww_status status = WW_ERR_NOT_FOUND;

		if (!offered->line.is_function && !offered->kernel)
			status = ww_module_kernel(module, offered->line.name, &offered->kernel);
		if (status == WW_OK && check_kernel(offered))
			return EXIT_CANNOT;
		if (status != WW_OK && status != WW_ERR_NOT_FOUND)
			return refuse("kernel '%s': %s", offered->line.name,
				ww_error_last()->message);
	}
	return 0;
}

/* Looks for the functions that were not found yet. */
static void find_functions(void *library)
{
	for (uint32_t i = 0; i < server.count; i++) {
		struct offered *offered = &server.offered[i];

		if (offered->line.is_function && !offered->function)
			*(void **)&offered->function = dlsym(library, offered->line.name);
	}
}

static bool is_offered(bool is_function)
{
	for (uint32_t i = 0; i < server.count; i++) {
		if (server.offered[i].line.is_function == is_function)
			return true;
	}
	return false;
}

/* A shared object for this CPU, not one of kernels, which is ELF too. */
static bool is_shared_object(const char *path)
{
	FILE *file = fopen(path, "re");
	Elf64_Ehdr header = {.e_type = ET_NONE};
	bool is_read = file && fread(&header, sizeof(header), 1, file) == 1;

	if (file)
		fclose(file);
	return is_read && !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_type == ET_DYN &&
		header.e_machine != EM_CUDA;
}

/* It stays loaded as long as the process lives. */
static int load_library(const char *path)
{
	char whole[PATH_MAX];
	void *library;

	if (!realpath(path, whole)) /* a name without a slash is looked for elsewhere */
		return refuse("module '%s': %s", path, strerror(errno));
	library = dlopen(whole, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return refuse("module '%s': %s", path, dlerror());
	find_functions(library);
	return 0;
}

/* On a GPU, a shared object has no kernels. */
static bool has_kernels(const char *path)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);

	return !is_shared_object(path) || ww_device_info_get(server.device, &info) != WW_OK ||
		info.backend == WW_BACKEND_HOST;
}

static int load_module(const char *path)
{
	ww_module *module;
	int code;

	if (is_offered(true) && is_shared_object(path)) {
		code = load_library(path);
		if (code || !is_offered(false) || !has_kernels(path))
			return code;
	}
	if (ww_module_load(server.device, path, NULL, &module) != WW_OK)
		return refuse("module '%s': %s", path, ww_error_last()->message);
	code = find_kernels(module);
	ww_module_unref(module);
	return code;
}

static int load_all(char *const paths[])
{
	int code = 0;

	if (ww_device_open(offer.device_name, &server.device) != WW_OK)
		return refuse("device '%s': %s", offer.device_name, ww_error_last()->message);
	for (; *paths && code == 0; paths++)
		code = load_module(*paths);
	for (uint32_t i = 0; i < server.count && code == 0; i++) {
		const struct offered *offered = &server.offered[i];

		if (!offered->kernel && !offered->function)
			code = refuse("no module has a %s '%s'",
				offered->line.is_function ? "C function" : "kernel",
				offered->line.name);
	}
	return code;
}

/* --- the service --- */

static void drain(int number)
{
	(void)number;
	(void)ww_service_drain(server.service);
}

/*
 * A signal to the process group comes here, and then the parent passes it on, by a signal of its
 * own: so that does not count as the second one, which ends the process at once.
 */
static void handle_signals(void (*handler)(int))
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = handler,
		.sa_flags = (int)SA_RESETHAND | SA_RESTART};

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
	action.sa_handler = handler == SIG_DFL ? SIG_IGN : handler;
	action.sa_flags = SA_RESTART;
	sigaction(OFFER_DRAIN_SIGNAL, &action, NULL);
}

static ww_status offer_all(void)
{
	struct ww_function_params params = WW_INIT(struct ww_function_params);
	ww_status status = WW_OK;

	for (uint32_t i = 0; i < server.count && status == WW_OK; i++) {
		struct offered *offered = &server.offered[i];

		params.flags = (offered->function ? 0 : WW_FUNCTION_ENQUEUES) |
			(offered->line.is_idempotent ? WW_FUNCTION_IDEMPOTENT : 0);
		status = ww_service_offer(server.service, offered->line.name,
			offered->line.signature, offered->function ? run_function : run_kernel,
			offered, &params);
	}
	return status;
}

static int open_service(const struct request *request)
{
	const char *name = request->words[0];
	ww_status status;

	if (getenv(OFFER_AGAIN))
		offer.params.flags |= WW_PUT_REPLACE;
	offer.params.after_streams = (uint32_t)offer.after_streams;
	status = ww_cancel_create(&server.lost);
	if (status == WW_OK)
		status = ww_service_create(server.device, request->broker, name, &offer.params,
			NULL, &server.service);
	if (status == WW_OK)
		status = offer_all();
	if (status != WW_OK)
		return broker_fail(status, "cannot offer %s", name);
	handle_signals(drain);
	status = ww_service_start(server.service);
	return status == WW_OK ? 0 : broker_fail(status, "cannot start %s", name);
}

static int serve(const struct request *request)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);
	ww_status status;

	(void)ww_service_info_get(server.service, &info);
	say("%s is ready, %u function%s, process %d", request->words[0], info.functions,
		info.functions == 1 ? "" : "s", getpid());
	(void)!write(LINK_FD, "", 1);
	status = ww_service_serve(server.service, WW_FOREVER, server.lost);
	if (status == WW_END)
		return EXIT_DONE;
	if (status == WW_CANCELLED || status == WW_ERR_DEVICE)
		return OFFER_EXIT_LOST;
	return broker_fail(status, "cannot serve %s", request->words[0]);
}

static void let_go(void)
{
	handle_signals(SIG_DFL); /* the handler uses the service */
	ww_service_unref(server.service);
	for (uint32_t i = 0; i < server.count; i++)
		ww_kernel_unref(server.offered[i].kernel);
	free(server.offered);
	ww_cancel_unref(server.lost);
	ww_device_unref(server.device);
}

/* Kernels may be left out if the library's functions are asked for. */
static int read_kernels(const struct request *request)
{
	if (!offer.signatures && offer.params.builtin && !request->words[1])
		return 0;
	if (offer.signatures && !request->words[1])
		return refuse("--signature %s: a MODULE is needed that has the kernels",
			offer.signatures);
	return read_signatures();
}

static int run(struct request *request)
{
	int code;

	child_begin();
	code = read_kernels(request);
	if (code == 0)
		code = load_all(request->words + 1);
	if (code == 0)
		code = broker_reach(request->address, 0, &request->broker);
	if (code == 0)
		code = open_service(request);
	if (code == 0)
		code = serve(request);
	let_go();
	return code;
}

const struct verb verb_offer_server = {.name = "offer-server",
	.speaker = "offer",
	.options = options,
	.help = help,
	.context = &offer,
	.words = "NAME [MODULE...]",
	.least_words = 1,
	.most_words = 64,
	.broker = VERB_BROKER_NONE,
	.run = run};
