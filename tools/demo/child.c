/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.c - what is the same for every child of the demo
 *
 * A child is started as `warpway demo-child ROLE DEVICE ELEMENTS [INDEX PROCESSES]`. It opens the
 * device for itself, as any other program would, and does what its role says. One that plays a
 * program without the library opens nothing.
 */
#include "demo/demo.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "warpway/verbs.h"

#define TOKEN_VARIABLE "WARPWAY_DEMO_TOKEN"

struct role {
	const char *name;
	int (*run)(const struct demo_child *child);
	bool is_plain; /* without the library */
};

static const struct role roles[] = {
	{"receiver", demo_receiver, false},
	{"ring", demo_ring_process, false},
	{"maker", demo_maker, false},
	{"heir", demo_heir, false},
	{"guest", demo_guest, false},
	{"intruder", demo_intruder, false},
	{"putter", demo_putter, false},
	{"getter", demo_getter, false},
	{"taker", demo_taker, false},
	{"viewer", demo_viewer, false},
	{"attacker", demo_attacker, true},
	{"player", demo_player, false},
	{"fast-consumer", demo_fast_consumer, false},
	{"slow-consumer", demo_slow_consumer, false},
	{"lost-consumer", demo_lost_consumer, false},
	{"signaller", demo_signaller, false},
};

#define ROLE_COUNT (sizeof(roles) / sizeof(roles[0]))

static const char *const route_names[] = {
	[WW_ROUTE_LOCAL] = "local",
	[WW_ROUTE_PEER] = "peer",
	[WW_ROUTE_PEER_HIDDEN] = "peer-hidden",
	[WW_ROUTE_HOST] = "host",
	[WW_ROUTE_HOST_REGISTERED] = "host-registered",
};

#define ROUTE_COUNT (sizeof(route_names) / sizeof(route_names[0]))

const char *demo_route_name(uint32_t route)
{
	return route < ROUTE_COUNT ? route_names[route] : NULL;
}

uint32_t demo_route(ww_memory *memory)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);

	return ww_memory_info_get(memory, &info) == WW_OK ? info.route : 0;
}

int demo_memory_create(ww_device *device, struct span *span)
{
	const struct ww_memory_params params = {
		.struct_size = sizeof(params),
		.kind = WW_MEMORY_VMM,
		.bytes = span->elements * sizeof(float),
	};

	if (ww_memory_create(device, &params, &span->memory) != WW_OK)
		return complain_record("cannot make memory");
	return 0;
}

int demo_memory_make(ww_device *device, struct pattern pattern, struct span *span)
{
	return demo_memory_create(device, span) ? -1 : span_write(span, pattern);
}

int demo_see_answer(struct span *span, struct pattern pattern)
{
	if (span_verify(span, pattern))
		return -1;
	say("sees first %.9g, last %.9g: every -i as expected", (double)span->first,
		(double)span->last);
	return 0;
}

int demo_spawn(const struct demo *demo, const char *role, struct child *out_child)
{
	char name[CHILD_NAME_BYTES];
	char elements[NUMBER_BYTES];
	const struct child_plan plan = {
		.name = name,
		.arguments = {"demo-child", role, demo->info.selector, elements},
		.timeout_ns = demo->timeout_ns,
	};

	snprintf(name, sizeof(name), "the %s", role);
	snprintf(elements, sizeof(elements), "%llu", (unsigned long long)demo->elements);
	return child_spawn(out_child, &plan);
}

int demo_lend(const struct demo *demo, const char *role, ww_memory *memory, uint32_t access,
	struct demo_step *step)
{
	OWN(child) struct child child = CHILD_NONE;
	struct link_message done;

	if (demo_spawn(demo, role, &child) || child_send_memory(&child, memory, access) ||
		child_receive(&child, LINK_DONE, &done, NULL))
		return -1;
	return demo_end(&child, &done, step);
}

int demo_spawn_and_kill(const struct demo *demo, const char *role, enum link_kind kind,
	struct link_message *out_message, int *out_fd)
{
	OWN(child) struct child child = CHILD_NONE;
	int pid;

	if (demo_spawn(demo, role, &child))
		return -1;
	pid = (int)child.pid;
	return child_receive(&child, kind, out_message, out_fd) || child_kill(&child) ? -1 : pid;
}

int demo_spawn_with_memory(const struct demo *demo, const char *role, ww_memory *memory,
	uint32_t access, const struct ww_array *array, struct child *out_child)
{
	const struct ww_export_params params = {
		.struct_size = sizeof(params),
		.access = access,
		.array = array,
	};
	char text[WW_TOKEN_TEXT_BYTES];
	struct ww_token token;
	int result;

	if (ww_memory_export(memory, NULL, &params, NULL, &token) != WW_OK ||
		ww_token_to_text(&token, text) != WW_OK)
		return complain_record("cannot export memory to the %s", role);
	if (setenv(TOKEN_VARIABLE, text, 1))
		return complain("out of memory");
	result = demo_spawn(demo, role, out_child);
	unsetenv(TOKEN_VARIABLE);
	return result;
}

int demo_token(struct ww_token *out_token)
{
	const char *text = getenv(TOKEN_VARIABLE);

	if (!text)
		return complain("no token was given");
	if (ww_token_from_text(text, out_token) != WW_OK)
		return complain_record("cannot read a token");
	return 0;
}

int demo_end(struct child *child, const struct link_message *done, struct demo_step *step)
{
	uint64_t route = done->numbers[0];

	if (route >= ROUTE_COUNT || !route_names[route])
		return complain("%s names a route that does not exist: %llu", child->name,
			(unsigned long long)route);
	step->routes |= UINT32_C(1) << route;
	return child_finish(child, 0);
}

int demo_child_done(ww_memory *memory)
{
	const struct link_message done = {.kind = LINK_DONE, .numbers = {demo_route(memory)}};

	return parent_send(&done, -1);
}

int demo_child_await_kill(const struct link_message *message, int fd)
{
	enum link_result result = link_send(LINK_FD, message, fd, WW_FOREVER);
	struct link_message go;

	/* Nothing will come: the parent kills this process where it waits. */
	if (result == LINK_OK)
		result = link_receive(LINK_FD, LINK_GO, &go, NULL, WW_FOREVER);
	return complain("was to be killed, but %s", link_result_text(result));
}

static int run_role(const struct role *role, const char *selector, struct demo_child *child)
{
	OWN(device) ww_device *device = NULL;
	OWN(stream) ww_stream *stream = NULL;

	child->selector = selector;
	number_size_text(child->elements * sizeof(float), child->size_text);
	if (role->is_plain)
		return role->run(child);
	if (ww_device_open(selector, &device) != WW_OK)
		return complain_record("cannot open device %s", selector);
	if (ww_stream_create(device, &stream) != WW_OK)
		return complain_record("cannot make a stream");
	child->device = device;
	child->stream = stream;
	return role->run(child);
}

/* Reads what the parent wrote on the command line; people have no business here. */
static bool parse(int argc, char *argv[], struct demo_child *child)
{
	if (argc != 4 && argc != 6)
		return false;
	if (!number_parse(argv[3], 1, INT64_MAX / sizeof(float), &child->elements))
		return false;
	child->index = 0;
	child->processes = 1;
	return argc == 4 ||
		(number_parse(argv[5], 1, CHILD_GROUP_MAX, &child->processes) &&
			number_parse(argv[4], 0, child->processes - 1, &child->index));
}

/*
 * For tests that kill a child: one in the role WARPWAY_DEMO_HOLD stops itself before it does
 * anything.
 */
static void hold(const char *role)
{
	const char *held = getenv("WARPWAY_DEMO_HOLD");

	if (held && !strcmp(held, role))
		raise(SIGSTOP);
}

int verb_demo_child(int argc, char *argv[])
{
	struct demo_child child = {.elements = 0};

	report_set("demo", "child");
	child_begin();
	if (!parse(argc, argv, &child))
		return refuse("this verb is for processes that `warpway demo` starts itself");
	hold(argv[1]);
	for (size_t i = 0; i < ROLE_COUNT; i++) {
		if (!strcmp(argv[1], roles[i].name))
			return run_role(&roles[i], argv[2], &child) ? EXIT_FAILED : EXIT_DONE;
	}
	return refuse("unknown role '%s'", argv[1]);
}
