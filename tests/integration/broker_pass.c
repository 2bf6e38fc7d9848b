/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_pass.c - memory found by its name or by a token, and what the finder may do with it
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "integration/broker.h"

#define NOBODY 65534

static struct child maker;
static struct child taker;

/* An agent with a memory of this kind, put under this name. */
static void start_maker(struct child *agent, const char *kind, const char *name, uint32_t seed,
	const char *options)
{
	agent_begin(agent, "agent", "make %s %d %u", kind, 2 << 20, seed);
	agent_must(agent, WW_OK, "put %s %s", name, options);
}

static void must_be_read_only(ww_memory *memory)
{
	OWN(stream) ww_stream *stream = stream_make(scene.device);
	uint8_t byte = 1;

	MUST_EQUAL(WW_ACCESS_READ, memory_info(memory).access);
	MUST_REFUSE(WW_ERR_ACCESS, "read",
		ww_stream_copy(stream, ww_memory_pointer(memory), &byte, 1));
	MUST_REFUSE(WW_ERR_ACCESS, "read",
		ww_stream_fill(stream, ww_memory_pointer(memory), 0, 1, 16));
}

SCENE_CASE(pass_for_reading, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory;

	start_maker(&maker, "vmm", "model/layer0/w", 1, "life=owner");
	memory = scene_get("model/layer0/w", WW_ACCESS_READ);
	MUST(memory_info(memory).bytes >= 2 << 20);
	pattern_verify(memory, 1);
}

SCENE_CASE(pass_for_writing, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory;

	start_maker(&maker, "vmm", "board", 1, "life=owner state=shared");
	memory = scene_get("board", WW_ACCESS_WRITE);
	pattern_verify(memory, 1);
	pattern_write(memory, 2);
	agent_does(&maker, "verify 2", "write 3");
	pattern_verify(memory, 3);
}

SCENE_CASE(pass_host_kind, WW_CAP_HOST_READ_ONLY)
{
	OWN(memory) ww_memory *memory;

	start_maker(&maker, "host", "board", 1, "life=owner state=shared");
	memory = scene_get("board", WW_ACCESS_READ);
	pattern_verify(memory, 1);
	ww_memory_unref(memory);
	memory = scene_get("board", WW_ACCESS_WRITE);
	pattern_write(memory, 2);
	agent_must(&maker, WW_OK, "verify 2");
}

SCENE_CASE(pass_from_agent_to_agent, WW_CAP_EXPORT)
{
	struct child agents[3];

	start_maker(&agents[0], "vmm", "baton", 1, "life=held state=shared");
	for (int i = 1; i < 3; i++) {
		agent_begin(&agents[i], "agent", "get baton write");
		agent_must(&agents[i], WW_OK, "verify %d", i);
		agent_must(&agents[i], WW_OK, "write %d", i + 1);
	}
	for (int i = 0; i < 3; i++)
		agent_must(&agents[i], WW_OK, "verify 3");
}

SCENE_CASE(pass_read_only_is_read_only, WW_CAP_EXPORT)
{
	ww_memory *memory;

	start_maker(&maker, "vmm", "weights", 1, "life=owner");
	memory = scene_get("weights", WW_ACCESS_READ);
	must_be_read_only(memory);
	ww_memory_unref(memory);
	MUST_REFUSE(WW_ERR_ACCESS, "sealed",
		ww_memory_get(scene.device, scene.broker, "weights",
			WW_PARAMS(struct ww_get_params, .access = WW_ACCESS_WRITE), 0, NULL,
			&memory, NULL));
	MUST(!memory);
}

/*
 * Not only this library refuses: the kernel does, whatever a holder tries with what it was given.
 */
static void must_not_be_mapped_for_writing(ww_memory *memory)
{
	struct ww_memory_description description;
	struct stat file;
	void *pointer;
	OWN(fd) int fd;

	MUST_REFUSE(WW_ERR_ACCESS, "",
		ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_READ, &fd, &description));
	MUST_EQUAL(O_RDONLY, fcntl(fd, F_GETFL) & O_ACCMODE);
	MUST_CALL(fstat(fd, &file));
	MUST(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	MUST_EQUAL(EACCES, errno);
	MUST(write(fd, "x", 1) == -1 && errno == EBADF);
	MUST(ftruncate(fd, file.st_size + 4096) == -1);
	MUST(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == -1);
	pointer = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	MUST(pointer != MAP_FAILED);
	MUST(mprotect(pointer, 4096, PROT_READ | PROT_WRITE) == -1 && errno == EACCES);
	munmap(pointer, 4096);
}

SCENE_CASE(pass_read_only_is_read_only_host_kind, WW_CAP_HOST_READ_ONLY)
{
	static const char *const states[] = {"sealed", "shared"};

	for (size_t i = 0; i < CHECK_COUNT(states); i++) {
		ww_memory *memory;
		void *pointer;

		agent_begin(&maker, "agent", "make host 8192 1");
		agent_must(&maker, WW_OK, "put weights life=owner state=%s", states[i]);
		memory = scene_get("weights", WW_ACCESS_READ);
		must_be_read_only(memory);
		must_not_be_mapped_for_writing(memory);
		pointer = ww_memory_host_pointer(memory);
		MUST(mprotect(pointer, 4096, PROT_READ | PROT_WRITE) == -1 && errno == EACCES);
		ww_memory_unref(memory);
		agent_end(&maker);
	}
}

/* --- tokens --- */

static void must_take(const struct ww_token *token, uint32_t access, uint32_t seed)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	OWN(memory) ww_memory *memory;

	MUST_OK(ww_memory_import(scene.device, scene.broker, token,
		WW_PARAMS(struct ww_import_params, .access = access), NULL, &memory, &info));
	MUST_EQUAL(WW_OBJECT_MEMORY, info.kind);
	MUST_EQUAL(access, info.access);
	pattern_verify(memory, seed);
}

SCENE_CASE(pass_token_by_socket, WW_CAP_EXPORT)
{
	struct ww_token token;

	agent_begin(&maker, "agent", "make vmm %d 1", 2 << 20);
	token = agent_export(&maker, "write uses=2");
	must_take(&token, WW_ACCESS_READ, 1);
	agent_start(&taker, NULL);
	agent_send_token(&taker, &token);
	agent_does(&taker, "import write", "write 2");
	agent_must(&maker, WW_OK, "verify 2");
	agent_end(&taker);
	must_take(&token, WW_ACCESS_WRITE, 2); /* its maker has it still */
	agent_end(&maker);
	scene_has_objects(0);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "",
		ww_memory_import(scene.device, scene.broker, &token, NULL, NULL, &(ww_memory *){0},
			&(struct ww_object_info){.struct_size = sizeof(struct ww_object_info)}));
}

/* A process that writes is named, and nothing has changed. Its token is for reading afterwards. */
SCENE_CASE(pass_sealed_without_writers, WW_CAP_EXPORT)
{
	const struct ww_put_params *sealed = WW_PARAMS(struct ww_put_params,
		.state = WW_STATE_SEALED | WW_STATE_READ_ONLY);
	OWN(memory) ww_memory *memory = scene_make(2 << 20, 1);
	struct ww_token token;
	char writer[48];

	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE,
			.escrow_ns = WW_ESCROW_NONE),
		NULL, &token));
	agent_start(&taker, NULL);
	agent_send_token(&taker, &token);
	agent_must(&taker, WW_OK, "import write");
	snprintf(writer, sizeof(writer), "process %d (", (int)taker.pid);
	MUST_REFUSE(WW_ERR_STATE, writer,
		ww_memory_put(memory, scene.broker, "x", sealed, 0, NULL));
	pattern_write(memory, 2);
	agent_does(&taker, "verify 2", "drop");
	scene_has_holds(1);
	MUST_OK(ww_memory_put(memory, scene.broker, "x", sealed, 0, NULL));
	MUST_EQUAL(WW_ACCESS_READ, memory_info(memory).access);
	agent_send_token(&taker, &token);
	agent_must(&taker, WW_ERR_ACCESS, "import write");
	agent_send_token(&taker, &token);
	agent_does(&taker, "import", "verify 2");
}

SCENE_CASE(pass_token_by_file, WW_CAP_EXPORT)
{
	char path[] = "/tmp/warpway-token-XXXXXX";
	int fd = mkstemp(path);

	MUST_CALL(fd);
	close(fd);
	agent_begin(&maker, "agent", "make vmm %d 5", 2 << 20);
	agent_must(&maker, WW_OK, "export file=%s uses=1", path);
	child_kill(&maker);
	agent_begin(&taker, "agent", "import file=%s", path);
	agent_must(&taker, WW_OK, "verify 5");
	agent_end(&taker);
	unlink(path);
}

/* Takes the token of a variable, from the broker that the token names. */
ROLE(role_import_variable)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	OWN(device) ww_device *device = subject_open();
	struct ww_token token;
	OWN(memory) ww_memory *memory;

	MUST_OK(ww_token_from_text(getenv("WEIGHTS"), &token));
	MUST_OK(ww_memory_import(device, NULL, &token, NULL, NULL, &memory, &info));
	pattern_verify(memory, 7);
}

SCENE_CASE(pass_token_by_environment, WW_CAP_EXPORT)
{
	char variable[sizeof("WEIGHTS=") + WW_TOKEN_TEXT_BYTES] = "WEIGHTS=";
	const char *const environment[] = {variable, "WARPWAY_BROKER", NULL};
	struct ww_token token;
	ww_memory *memory = scene_make(2 << 20, 7);
	ENDED_BY(child_finish) struct child importer;

	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .uses = 1), NULL, &token));
	MUST_OK(ww_token_to_text(&token, variable + strlen(variable)));
	ww_memory_unref(memory);
	child_start(&importer, "role_import_variable",
		&(struct child_options){.environment = environment});
}

SCENE_CASE(pass_token_grants_no_more, WW_CAP_EXPORT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token;
	OWN(memory) ww_memory *memory;
	ww_memory *writer;

	start_maker(&maker, "vmm", "board", 1, "life=owner state=shared");
	memory = scene_get("board", WW_ACCESS_READ);
	MUST_REFUSE(WW_ERR_ACCESS, "",
		ww_memory_export(memory, scene.broker,
			WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE, .uses = 1),
			NULL, &token));
	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .escrow_ns = WW_ESCROW_NONE), NULL, &token));
	MUST_REFUSE(WW_ERR_ACCESS, "read",
		ww_memory_import(scene.device, scene.broker, &token,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL,
			&writer, &info));
	MUST(!writer);
	must_take(&token, WW_ACCESS_READ, 1);
}

/* A process that has the token is let in, whichever it is. */
SCENE_CASE(pass_token_opens_what_mode_closes, WW_CAP_EXPORT | NEEDS_ROOT)
{
	struct ww_token token;
	OWN(memory) ww_memory *memory = scene_make(2 << 20, 3);

	scene_put(memory, "secret", 0600, WW_LIFE_HELD, WW_STATE_SEALED);
	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .uses = 1), NULL, &token));
	agent_begin(&taker, "agent", "user %d %d", NOBODY, NOBODY);
	agent_must(&taker, WW_ERR_ACCESS, "get secret");
	agent_send_token(&taker, &token);
	agent_does(&taker, "import", "verify 3");
	agent_send_token(&taker, &token);
	agent_must(&taker, WW_OK, "drop");
	agent_must(&taker, WW_ERR_ACCESS, "import write");
}

/*
 * The maker's other token for it gives the same memory, unless it is to have a mapping of its own.
 */
static void pass_span_again(ww_memory *memory)
{
	struct ww_token token;
	OWN(memory) ww_memory *again;

	token = agent_export(&maker, "offset=12345 bytes=4096 escrow_ms=none");
	MUST_OK(ww_memory_import(scene.device, scene.broker, &token, NULL, NULL, &again, NULL));
	memory_must_be_same(memory, again);
	ww_memory_unref(again);
	MUST_OK(ww_memory_import(scene.device, scene.broker, &token,
		WW_PARAMS(struct ww_import_params, .flags = WW_IMPORT_OWN_MAPPING), NULL, &again,
		NULL));
	MUST(ww_memory_pointer(again) != ww_memory_pointer(memory));
	pattern_verify(again, 4 + 12345);
}

SCENE_CASE(pass_span, WW_CAP_EXPORT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token;
	OWN(memory) ww_memory *memory;

	agent_begin(&maker, "agent", "make vmm %d 4", 2 << 20);
	agent_must(&maker, WW_ERR_MISMATCH, "export offset=2097152 bytes=1");
	token = agent_export(&maker, "offset=12345 bytes=4096 uses=1");
	MUST_OK(ww_memory_import(scene.device, scene.broker, &token, NULL, NULL, &memory, &info));
	MUST_EQUAL(12345, info.offset);
	MUST_EQUAL(4096, info.span_bytes);
	MUST_EQUAL(0, info.has_array);
	MUST_EQUAL(2 << 20, info.bytes);
	MUST_EQUAL(4096, memory_info(memory).bytes);
	MUST_EQUAL(12345, memory_info(memory).offset);
	MUST_EQUAL(2 << 20, memory_info(memory).total_bytes);
	pattern_verify(memory, 4 + 12345);
	pass_span_again(memory);
}

static void must_be_floats(const struct ww_array *array, int64_t rows, int64_t columns)
{
	MUST_EQUAL(WW_DTYPE_FLOAT, array->dtype.code);
	MUST_EQUAL(32, array->dtype.bits);
	MUST_EQUAL(1, array->dtype.lanes);
	MUST_EQUAL(2, array->ndim);
	MUST_EQUAL(rows, array->shape[0]);
	MUST_EQUAL(columns, array->shape[1]);
	MUST_EQUAL(4 * columns, array->strides[0]);
	MUST_EQUAL(4, array->strides[1]);
	MUST_EQUAL(1, ww_array_is_contiguous(array));
}

SCENE_CASE(pass_array, WW_CAP_EXPORT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token;
	OWN(memory) ww_memory *memory;

	start_maker(&maker, "vmm", "matrix", 4, "life=owner shape=300x50");
	MUST_OK(ww_memory_get(scene.device, scene.broker, "matrix", NULL, 0, NULL, &memory, &info));
	MUST_EQUAL(1, info.has_array);
	must_be_floats(&info.array, 300, 50);
	ww_memory_unref(memory);
	MUST_OK(ww_broker_stat(scene.broker, "matrix", &info));
	MUST_EQUAL(1, info.has_array);
	must_be_floats(&info.array, 300, 50);
	agent_must(&maker, WW_ERR_MISMATCH, "export offset=1024 bytes=100 shape=10x5");
	token = agent_export(&maker, "offset=1024 bytes=200 shape=10x5 uses=1");
	MUST_OK(ww_memory_import(scene.device, scene.broker, &token, NULL, NULL, &memory, &info));
	MUST_EQUAL(1024, info.offset);
	MUST_EQUAL(200, memory_info(memory).bytes);
	pattern_verify(memory, 4 + 1024);
	MUST_EQUAL(1, info.has_array);
	must_be_floats(&info.array, 10, 5);
}

#define MANY 200

SCENE_CASE(pass_many_objects, WW_CAP_HOST_MEMORY)
{
	char name[32];

	for (uint32_t i = 0; i < MANY; i++) {
		ww_memory *memory = memory_make(scene.device, WW_MEMORY_HOST, 4096);

		snprintf(name, sizeof(name), "many/%u", i);
		pattern_write(memory, i);
		scene_put(memory, name, 0600, WW_LIFE_KEPT, WW_STATE_SEALED);
		ww_memory_unref(memory);
	}
	scene_has_objects(MANY);
	agent_start(&taker, NULL);
	for (uint32_t i = 0; i < MANY; i++) {
		agent_must(&taker, WW_OK, "get many/%u", i);
		agent_must(&taker, WW_OK, "verify %u", i);
		agent_must(&taker, WW_OK, "drop");
		agent_must(&taker, WW_OK, "remove many/%u", i);
	}
}
