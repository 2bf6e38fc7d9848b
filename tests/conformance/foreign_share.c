/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_share.c - memory that was allocated by other means: how it comes home by token, name and
 * descriptor, what pages of untrusted processes are refused, handles, and what needs no broker
 */
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "conformance/foreign.h"
#include "device/handle_page.h"
#include "device/memfd.h"
#include "memory/description.h"
#include "support/driver.h"
#include "support/forge.h"
#include "support/broker_case.h"
#include "wire/protocol.h"

#define EXPORT(...) WW_PARAMS(struct ww_export_params, __VA_ARGS__)
#define PUT(...)    WW_PARAMS(struct ww_put_params, __VA_ARGS__)

#define MS_100 UINT64_C(100000000)
#define MINUTE UINT64_C(60000000000)

/* --- and home again --- */

static void must_come_home(ww_memory *memory, uint64_t total)
{
	struct ww_token_info named = WW_INIT(struct ww_token_info);
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token;
	ww_memory *span;

	MUST_OK(ww_memory_export(memory, scene.broker,
		EXPORT(.access = WW_ACCESS_WRITE, .offset = 5, .bytes = 50), NULL, &token));
	MUST_OK(ww_token_info_get(&token, &named));
	MUST_EQUAL(WW_TOKEN_FOREIGN, named.flags);
	MUST_EQUAL(FOREIGN_OFFSET + 5, named.offset);
	MUST_EQUAL(total, named.total_bytes);
	for (int i = 0; i < 2; i++) {
		MUST_OK(ww_memory_import(memory_info(memory).device, scene.broker, &token,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &span,
			&info));
		MUST_EQUAL(FOREIGN_OFFSET + 5, info.offset);
		MUST_EQUAL(50, info.span_bytes);
		MUST_EQUAL(total, info.bytes);
		MUST_EQUAL(50, memory_info(span).bytes);
		MUST_EQUAL(FOREIGN_OFFSET + 5, memory_info(span).offset);
		MUST_EQUAL(total, memory_info(span).total_bytes);
		MUST((char *)ww_memory_pointer(memory) + 5 == ww_memory_pointer(span));
		foreign_must_be_same_object(memory, span);
		ww_memory_unref(span);
	}
}

CASE(foreign_token_comes_home, WW_CAP_FOREIGN)
{
	for (size_t i = 0; i < CHECK_COUNT(foreign_shareable); i++) {
		struct allocation allocation;
		ww_device *device = foreign_begin(&allocation, foreign_shareable[i]);
		ww_memory *memory = foreign_wrap(device, &allocation, FOREIGN_OFFSET, FOREIGN_SPAN);

		scene_begin();
		must_come_home(memory, allocation.bytes);
		scene_has_objects(1);
		ww_memory_unref(memory);
		scene_has_objects(0); /* it goes with who had it */
		scene_end();
		foreign_end(device, &allocation);
	}
}

CASE(foreign_name_comes_home, WW_CAP_FOREIGN)
{
	for (size_t i = 0; i < CHECK_COUNT(foreign_shareable); i++) {
		struct ww_object_info info = WW_INIT(struct ww_object_info);
		struct allocation allocation;
		ww_device *device = foreign_begin(&allocation, foreign_shareable[i]);
		ww_memory *memory = foreign_wrap(device, &allocation, FOREIGN_OFFSET, FOREIGN_SPAN);
		ww_memory *span;

		scene_begin();
		MUST_REFUSE(WW_ERR_INVALID, "WW_LIFE_OWNER",
			ww_memory_put(memory, scene.broker, "x", PUT(.life = WW_LIFE_KEPT), 0,
				NULL));
		MUST_OK(ww_memory_put(memory, scene.broker, "x", PUT(.state = WW_STATE_SHARED), 0,
			NULL));
		MUST_OK(ww_memory_get(device, scene.broker, "x", NULL, 0, NULL, &span, &info));
		MUST_EQUAL(FOREIGN_OFFSET, info.offset);
		MUST_EQUAL(FOREIGN_SPAN, info.span_bytes);
		MUST_EQUAL(foreign_kinds[i], info.memory_kind);
		MUST_EQUAL(FOREIGN_SPAN, memory_info(span).bytes);
		MUST_EQUAL(FOREIGN_OFFSET, memory_info(span).offset);
		foreign_must_be_same_object(memory, span);
		ww_memory_unref(span);
		MUST_OK(ww_broker_remove(scene.broker, "x"));
		ww_memory_unref(memory);
		scene_end();
		foreign_end(device, &allocation);
	}
}

/* Its maker has it for writing; who was to read it does not pass on more than that. */
CASE(foreign_read_at_home_is_for_reading, WW_CAP_FOREIGN)
{
	struct ww_memory_description description;
	struct allocation allocation;
	ww_device *device = foreign_begin(&allocation, ALLOCATION_LEGACY);
	ww_memory *memory = foreign_wrap(device, &allocation, FOREIGN_OFFSET, FOREIGN_SPAN);
	ww_memory *again[3];
	struct ww_token token;
	int fd;

	scene_begin();
	MUST_OK(ww_memory_put(memory, scene.broker, "x", PUT(.state = WW_STATE_SHARED), 0, NULL));
	MUST_OK(ww_memory_export(memory, scene.broker, NULL, NULL, &token));
	MUST_OK(ww_memory_import(device, scene.broker, &token, NULL, NULL, &again[0], NULL));
	MUST_OK(ww_memory_get(device, scene.broker, "x", NULL, 0, NULL, &again[1], NULL));
	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
	MUST_OK(ww_memory_import_fd(device, fd, &description, NULL, &again[2]));
	for (size_t i = 0; i < CHECK_COUNT(again); i++) {
		MUST_EQUAL(WW_ACCESS_READ, memory_info(again[i]).access);
		foreign_must_be_same_object(memory, again[i]);
		MUST_EQUAL(FOREIGN_SPAN, memory_info(again[i]).bytes);
		MUST(again[i] == again[0]);
		MUST_REFUSE(WW_ERR_ACCESS, "read-only",
			ww_memory_export(again[i], scene.broker, EXPORT(.access = WW_ACCESS_WRITE),
				NULL, &token));
		MUST_OK(ww_memory_export(again[i], scene.broker, NULL, NULL, &token));
		ww_memory_unref(again[i]);
	}
	MUST_OK(ww_broker_remove(scene.broker, "x"));
	close(fd);
	ww_memory_unref(memory);
	scene_end();
	foreign_end(device, &allocation);
}

SCENE_CASE(foreign_name_after_token, WW_CAP_EXPORT)
{
	struct ww_token token;
	OWN(memory) ww_memory *all;
	OWN(memory) ww_memory *memory = memory_make(scene.device, WW_MEMORY_VMM, FOREIGN_BYTES);

	MUST_OK(ww_memory_wrap(scene.device, ww_memory_pointer(memory), 0, NULL, &all));
	MUST_OK(ww_memory_export(all, scene.broker, EXPORT(.escrow_ns = WW_ESCROW_NONE), NULL,
		&token));
	MUST_OK(ww_memory_put(all, scene.broker, "x", PUT(.state = WW_STATE_SHARED), 0, NULL));
	ww_memory_unref(memory);
	MUST_OK(ww_memory_get(scene.device, scene.broker, "x", NULL, 0, NULL, &memory, NULL));
}

static void must_name(const char *name, uint64_t offset)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	OWN(memory) ww_memory *part;

	MUST_OK(ww_memory_get(scene.device, scene.broker, name, NULL, 0, NULL, &part, &info));
	MUST_EQUAL(offset, info.offset);
	MUST_EQUAL(FOREIGN_SPAN, info.span_bytes);
	MUST_EQUAL(offset, memory_info(part).offset);
}

/* Each part of a memory has its own name. */
SCENE_CASE(foreign_parts_have_names, WW_CAP_EXPORT)
{
	ww_memory *parts[2];
	OWN(memory) ww_memory *memory = memory_make(scene.device, WW_MEMORY_VMM, FOREIGN_BYTES);

	for (int i = 0; i < 2; i++)
		MUST_OK(ww_memory_wrap(scene.device, (char *)ww_memory_pointer(memory) + i,
			FOREIGN_SPAN, NULL, &parts[i]));
	MUST_OK(ww_memory_put(parts[0], scene.broker, NULL, NULL, 0, NULL));
	MUST_OK(ww_memory_put(parts[1], scene.broker, "x", NULL, 0, NULL));
	MUST_REFUSE(WW_ERR_EXISTS, "a second put changes nothing",
		ww_memory_put(parts[0], scene.broker, "x", NULL, 0, NULL));
	MUST_OK(ww_memory_put(parts[0], scene.broker, "x", PUT(.flags = WW_PUT_REPLACE), 0, NULL));
	must_name("x", 0);
	MUST_OK(ww_memory_put(parts[1], scene.broker, "x", PUT(.flags = WW_PUT_REPLACE), 0, NULL));
	MUST_OK(ww_memory_put(parts[0], scene.broker, "y", PUT(.life = WW_LIFE_KEPT), 0, NULL));
	must_name("x", 1);
	must_name("y", 0);
	MUST_OK(ww_broker_remove(scene.broker, "y"));
	must_name("x", 1);
	for (int i = 0; i < 2; i++)
		ww_memory_unref(parts[i]);
}

struct piece {
	const char *name;
	ww_memory *memory;
	int releases;
};

/* The bytes are the maker's again, so no process may find them by the name. */
static void must_be_unnamed(void *context)
{
	struct piece *piece = context;
	ww_memory *memory;

	MUST_REFUSE(WW_ERR_NOT_FOUND, piece->name,
		ww_memory_get(scene.device, scene.broker, piece->name, NULL, 0, NULL, &memory,
			NULL));
	piece->releases++;
}

static void wrap_piece(const struct allocation *allocation, struct piece *piece, uint64_t offset)
{
	MUST_OK(ww_memory_wrap(scene.device, allocation_at(allocation, offset), FOREIGN_SPAN,
		WW_PARAMS(struct ww_wrap_params, .release = must_be_unnamed, .context = piece),
		&piece->memory));
}

static void put_piece(const struct allocation *allocation, struct piece *piece, uint64_t offset)
{
	wrap_piece(allocation, piece, offset);
	MUST_OK(ww_memory_put(piece->memory, scene.broker, piece->name,
		PUT(.state = WW_STATE_SHARED), 0, NULL));
}

static ww_device *pieces_begin(struct allocation *allocation, enum allocation_kind kind,
	struct piece *pieces, size_t count)
{
	ww_device *device = foreign_begin(allocation, kind);

	scene_begin();
	for (size_t k = 0; k < count; k++)
		put_piece(allocation, &pieces[k], k * FOREIGN_SPAN);
	return device;
}

/* Each that is left is released, and is its maker's at once. */
static void pieces_end(ww_device *device, struct allocation *allocation, struct piece *pieces,
	size_t count)
{
	for (size_t k = 0; k < count; k++) {
		ww_memory_unref(pieces[k].memory);
		MUST_EQUAL(1, pieces[k].releases);
	}
	scene_end();
	foreign_end(device, allocation);
}

CASE(foreign_names_end_with_their_parts, WW_CAP_FOREIGN)
{
	for (size_t i = 0; i < CHECK_COUNT(foreign_shareable); i++) {
		struct piece pieces[] = {{.name = "a"}, {.name = "b"}, {.name = "c"},
			{.name = "d"}};
		struct allocation allocation;
		ww_device *device = pieces_begin(&allocation, foreign_shareable[i], pieces,
			CHECK_COUNT(pieces));

		MUST_OK(ww_memory_put(pieces[1].memory, scene.broker, "b, too",
			PUT(.state = WW_STATE_SHARED), 0, NULL));
		scene_has_objects(1);
		pieces[1].memory = ww_memory_unref(pieces[1].memory);
		MUST_EQUAL(1, pieces[1].releases);
		MUST_REFUSE(WW_ERR_NOT_FOUND, "b, too", ww_broker_remove(scene.broker, "b, too"));
		/* The name is free, also for a part that has another one. */
		MUST_OK(ww_memory_put(pieces[2].memory, scene.broker, "b",
			PUT(.state = WW_STATE_SHARED), 0, NULL));
		must_name("b", 2 * FOREIGN_SPAN);
		must_name("a", 0);
		pieces_end(device, &allocation, pieces, CHECK_COUNT(pieces));
	}
}

/* A name that was taken from one part and given to another one is that one's. */
CASE(foreign_name_passes_to_another_part, WW_CAP_FOREIGN)
{
	struct piece pieces[] = {{.name = "a"}, {.name = "b"}};
	struct allocation allocation;
	ww_device *device = pieces_begin(&allocation, ALLOCATION_LEGACY, pieces,
		CHECK_COUNT(pieces));

	MUST_OK(ww_memory_put(pieces[1].memory, scene.broker, "a",
		PUT(.state = WW_STATE_SHARED, .flags = WW_PUT_REPLACE), 0, NULL));
	pieces[0].name = "none";
	pieces[0].memory = ww_memory_unref(pieces[0].memory);
	must_name("a", FOREIGN_SPAN);
	pieces_end(device, &allocation, pieces, CHECK_COUNT(pieces));
}

/* The broker of the scene is open already; the latest timeout counts. */
static void wait_for_broker(uint64_t timeout_ns)
{
	ww_broker *broker;

	MUST_OK(ww_broker_open(WW_PARAMS(struct ww_broker_params, .timeout_ns = timeout_ns),
		&broker));
	ww_broker_unref(broker);
}

/* While the broker does not answer, the bytes are not given back: a name may lead to them. */
CASE(foreign_part_stays_lent_without_an_answer, WW_CAP_FOREIGN)
{
	struct piece pieces[] = {{.name = "a"}, {.name = "b"}};
	struct allocation allocation;
	ww_device *device = pieces_begin(&allocation, ALLOCATION_LEGACY, pieces,
		CHECK_COUNT(pieces));

	wait_for_broker(MS_100);
	MUST_CALL(kill(-scene.daemon.group, SIGSTOP));
	pieces[0].memory = ww_memory_unref(pieces[0].memory);
	MUST_CALL(kill(-scene.daemon.group, SIGCONT));
	wait_for_broker(MINUTE);
	MUST_EQUAL(0, pieces[0].releases);
	pieces[1].memory = ww_memory_unref(pieces[1].memory);
	pieces_end(device, &allocation, pieces, CHECK_COUNT(pieces));
}

/* The same with the name of an import: its bytes are those of a part. */
CASE(foreign_part_stays_lent_by_the_name_of_an_import, WW_CAP_FOREIGN)
{
	struct piece pieces[] = {{.name = "a"}, {.name = "b"}};
	struct allocation allocation;
	ww_device *device = pieces_begin(&allocation, ALLOCATION_LEGACY, pieces,
		CHECK_COUNT(pieces));
	struct ww_token token;
	ww_memory *span;

	MUST_OK(ww_memory_export(pieces[0].memory, scene.broker,
		EXPORT(.access = WW_ACCESS_WRITE, .bytes = 50), NULL, &token));
	MUST_OK(ww_memory_import(device, scene.broker, &token,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &span, NULL));
	MUST_OK(ww_memory_put(span, scene.broker, "span", PUT(.state = WW_STATE_SHARED), 0, NULL));
	wait_for_broker(MS_100);
	MUST_CALL(kill(-scene.daemon.group, SIGSTOP));
	ww_memory_unref(span);
	MUST_CALL(kill(-scene.daemon.group, SIGCONT));
	wait_for_broker(MINUTE);
	pieces[0].memory = ww_memory_unref(pieces[0].memory);
	MUST_EQUAL(0, pieces[0].releases);
	pieces[1].memory = ww_memory_unref(pieces[1].memory);
	pieces_end(device, &allocation, pieces, CHECK_COUNT(pieces));
}

/* A put without an answer is executed later, perhaps. */
CASE(foreign_name_without_an_answer_ends_with_its_part, WW_CAP_FOREIGN)
{
	struct piece pieces[] = {{.name = "a"}, {.name = "b"}};
	struct allocation allocation;
	ww_device *device = foreign_begin(&allocation, ALLOCATION_LEGACY);

	scene_begin();
	put_piece(&allocation, &pieces[1], FOREIGN_SPAN);
	wrap_piece(&allocation, &pieces[0], 0);
	wait_for_broker(MS_100);
	MUST_CALL(kill(-scene.daemon.group, SIGSTOP));
	MUST_STATUS(WW_ERR_NO_BROKER,
		ww_memory_put(pieces[0].memory, scene.broker, "a", PUT(.state = WW_STATE_SHARED), 0,
			NULL));
	MUST_CALL(kill(-scene.daemon.group, SIGCONT));
	wait_for_broker(MINUTE);
	pieces_end(device, &allocation, pieces, CHECK_COUNT(pieces));
}

/* Between two brokers there is no connection. */
CASE(foreign_name_without_a_connection_ends_with_its_part, WW_CAP_FOREIGN)
{
	struct piece pieces[] = {{.name = "a"}, {.name = "b"}};
	struct allocation allocation;
	ww_device *device = pieces_begin(&allocation, ALLOCATION_LEGACY, pieces,
		CHECK_COUNT(pieces));
	OWN(cancel) ww_cancel *cancel;
	pid_t broker;
	ww_memory *none;

	MUST_OK(ww_cancel_create(&cancel));
	broker = (pid_t)scene_info().pid;
	MUST_CALL(kill(broker, SIGKILL));
	broker_hear_ready(&scene.daemon);
	/* Finds the connection broken, and makes none, unless it has the time to. */
	ww_cancel_set(cancel);
	if (ww_memory_get(device, scene.broker, "b", NULL, 0, cancel, &none, NULL) == WW_OK)
		ww_memory_unref(none);
	pieces_end(device, &allocation, pieces, CHECK_COUNT(pieces));
}

/* By descriptor the part itself comes home. */
static void pass_part(ww_device *device, ww_memory *part)
{
	struct ww_memory_description description;
	OWN(memory) ww_memory *again;
	int sockets[2];
	int fd;

	MUST_OK(ww_memory_export_fd(part, WW_ACCESS_WRITE, &fd, &description));
	MUST_OK(ww_memory_import_fd(device, fd, &description,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &again));
	close(fd);
	MUST(again == part);
	ww_memory_unref(again);
	MUST_CALL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	MUST_OK(ww_memory_send(part, WW_ACCESS_WRITE, sockets[0], 0, NULL));
	MUST_OK(ww_memory_receive(device, sockets[1],
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), 0, NULL, &again));
	close(sockets[0]);
	close(sockets[1]);
	MUST(again == part);
}

CASE(foreign_descriptor_is_of_the_part, WW_CAP_FOREIGN)
{
	static const enum allocation_kind kind[] = {ALLOCATION_LEGACY, ALLOCATION_VMM};

	for (size_t i = 0; i < CHECK_COUNT(kind); i++) {
		struct allocation allocation;
		ww_device *device = foreign_begin(&allocation, kind[i]);
		ww_memory *memory = foreign_wrap(device, &allocation, FOREIGN_OFFSET, FOREIGN_SPAN);

		if (kind[i] == ALLOCATION_LEGACY || !subject_is_cuda() ||
			kernel_compares_descriptors())
			pass_part(device, memory);
		ww_memory_unref(memory);
		foreign_end(device, &allocation);
	}
}

DEVICE_CASE(foreign_descriptor_is_of_the_own_part, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, FOREIGN_BYTES);
	OWN(memory) ww_memory *part;

	if (subject_is_cuda() && !kernel_compares_descriptors())
		check_skip("this kernel does not tell whether two descriptors are one");
	MUST_OK(ww_memory_wrap(device, (char *)ww_memory_pointer(memory) + FOREIGN_OFFSET,
		FOREIGN_SPAN, NULL, &part));
	pass_part(device, part);
}

CASE(foreign_pool_needs_two_descriptors, WW_CAP_FOREIGN)
{
	struct ww_memory_description description;
	struct allocation allocation;
	ww_device *device = foreign_begin(&allocation, ALLOCATION_POOL);
	ww_memory *memory = foreign_wrap(device, &allocation, 0, 0);
	int fd;

	MUST_REFUSE(WW_ERR_UNSUPPORTED, "token",
		ww_memory_export_fd(memory, WW_ACCESS_READ, &fd, &description));
	MUST_EQUAL(-1, fd);
	ww_memory_unref(memory);
	foreign_end(device, &allocation);
}

/* The page is for reading only, so that nobody but its owner says that it is withdrawn. */
CASE(foreign_page_is_for_reading, WW_CAP_FOREIGN)
{
	struct ww_memory_description description;
	struct allocation allocation;
	ww_device *device = foreign_begin(&allocation, ALLOCATION_LEGACY);
	ww_memory *memory = foreign_wrap(device, &allocation, 0, 0);
	const struct ww_layout_foreign_memory *page;
	int fd;

	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
	MUST(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	MUST(page != MAP_FAILED);
	MUST_EQUAL(0, page->withdrawn);
	MUST_EQUAL(getpid(), page->pid);
	MUST_EQUAL(allocation.bytes, page->bytes);
	ww_memory_unref(memory);
	MUST_EQUAL(1, page->withdrawn);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "release",
		ww_memory_import_fd(device, fd, &description, NULL, &memory));
	munmap((void *)(uintptr_t)page, 4096);
	close(fd);
	foreign_end(device, &allocation);
}

/* --- pages of untrusted processes --- */

/* A page as its owner would make it, but for @change. */
static int forge_page(const struct number_change *change)
{
	struct ww_layout_foreign_memory page = {
		.magic = "WWFOREI",
		.version = 1,
		.backing = 3,
		.pid = 1,
		.bytes = FOREIGN_BYTES,
		.base = 4096,
		.process_id = {9},
	};
	int fd;

	page.magic[7] = 'G';
	if (change)
		number_change(&page, change);
	MUST_OK(ww_memfd_create(WW_HANDLE_PAGE_BYTES, &fd));
	MUST_EQUAL(sizeof(page), pwrite(fd, &page, sizeof(page), 0));
	return fd;
}

static struct ww_memory_description describe(void)
{
	struct ww_description fields = {
		.backing = WW_BACKING_CUDA_LEGACY,
		.kind = WW_MEMORY_LEGACY,
		.access = WW_ACCESS_WRITE,
		.bytes = FOREIGN_BYTES,
		.generation = 1,
		.object_id = {1, 2, 3},
	};
	struct ww_memory_description bytes;

	ww_description_encode(&fields, &bytes);
	return bytes;
}

static void refuse_page(const struct number_change *change, ww_status status, const char *word)
{
	struct ww_memory_description description = describe();
	OWN(device) ww_device *device = subject_open();
	ww_memory *memory = (ww_memory *)&status;
	OWN(fd) int fd = forge_page(change);

	MUST_REFUSE(status, word, ww_memory_import_fd(device, fd, &description, NULL, &memory));
	MUST(!memory);
}

#define PAGE ww_layout_foreign_memory

CASE(foreign_page_refused, WW_CAP_FOREIGN)
{
	static const struct {
		const char *name;
		struct number_change change;
		ww_status status;
		const char *word;
	} rows[] = {
		{"another magic", BECOMES(PAGE, magic[0], 'X'), WW_ERR_PROTOCOL, "not the page"},
		{"a newer one", BECOMES(PAGE, version, 2), WW_ERR_VERSION, "version 2"},
		{"another backing", BECOMES(PAGE, backing, 1), WW_ERR_PROTOCOL, "backing"},
		{"a pool", BECOMES(PAGE, backing, 4), WW_ERR_MISMATCH, "kinds"},
		{"more bytes", ADDED(PAGE, bytes, FOREIGN_BYTES), WW_ERR_MISMATCH, "bytes"},
		{"no bytes", BECOMES(PAGE, bytes, 0), WW_ERR_PROTOCOL, "impossible"},
		{"withdrawn", BECOMES(PAGE, withdrawn, 1), WW_ERR_NOT_FOUND, "release"},
		{"locked", BECOMES(PAGE, is_locked, 1), WW_ERR_PEER_LOST, "ended"},
	};

	for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
		check_row(rows[i].name);
		refuse_page(&rows[i].change, rows[i].status, rows[i].word);
	}
}

/* As in two containers that both have a process of this number. */
CASE(foreign_equal_pid_is_said, WW_CAP_FOREIGN)
{
	struct ww_memory_description description = describe();
	struct ww_layout_foreign_memory page;
	struct allocation allocation;
	ww_device *device = foreign_begin(&allocation, ALLOCATION_LEGACY);
	ww_CUipcMemHandle handle;
	ww_memory *memory;
	int fd = forge_page(NULL);

	MUST_EQUAL(0, driver_get()->cuIpcGetMemHandle(&handle, allocation.address));
	MUST_EQUAL(sizeof(page), pread(fd, &page, sizeof(page), 0));
	page.pid = (uint32_t)getpid();
	memcpy(page.handle, &handle, sizeof(handle));
	MUST_EQUAL(sizeof(page), pwrite(fd, &page, sizeof(page), 0));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "same pid",
		ww_memory_import_fd(device, fd, &description, NULL, &memory));
	MUST_REFUSE(WW_ERR_STATE, "same pid",
		ww_memory_handle_open(device, (const struct ww_memory_handle *)&handle, NULL,
			&memory));
	close(fd);
	foreign_end(device, &allocation);
}

/* --- bare handles --- */

CASE(foreign_handle_is_the_drivers, WW_CAP_FOREIGN)
{
	struct allocation allocation;
	OWN(device) ww_device *device = foreign_begin(&allocation, ALLOCATION_LEGACY);
	ww_memory *memory = foreign_wrap(device, &allocation, FOREIGN_OFFSET, FOREIGN_SPAN);
	struct ww_memory_handle handle;
	ww_CUipcMemHandle native;
	uint64_t offset;

	MUST_OK(ww_memory_handle_get(memory, &handle, &offset));
	MUST_EQUAL(FOREIGN_OFFSET, offset);
	MUST_EQUAL(0, driver_get()->cuIpcGetMemHandle(&native, allocation.address));
	MUST_MATCH(&native, &handle, sizeof(handle));
	allocation_free(&allocation);
	MUST_REFUSE(WW_ERR_STATE, "freed", ww_memory_handle_get(memory, &handle, &offset));
	ww_memory_unref(memory);
	allocation_leave();
}

CASE(foreign_handle_of_other_kinds_refused, WW_CAP_FOREIGN | WW_CAP_EXPORT)
{
	struct allocation allocation;
	ww_device *device = foreign_begin(&allocation, ALLOCATION_VMM);
	ww_memory *memory = foreign_wrap(device, &allocation, 0, 0);
	struct ww_memory_handle handle;
	uint64_t offset;

	MUST_REFUSE(WW_ERR_UNSUPPORTED, "cuMemAlloc",
		ww_memory_handle_get(memory, &handle, &offset));
	ww_memory_unref(memory);
	foreign_end(device, &allocation);
}

DEVICE_CASE(foreign_handle_of_own_memory_refused, 0)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, FOREIGN_BYTES);
	struct ww_memory_handle handle;
	uint64_t offset;

	MUST_REFUSE(WW_ERR_UNSUPPORTED, "cuMemAlloc",
		ww_memory_handle_get(memory, &handle, &offset));
}

DEVICE_CASE(foreign_open_handle_refuses, 0)
{
	const struct ww_memory_handle handle = {{1, 2, 3}};
	ww_memory *memory = (ww_memory *)&device;
	ww_status status;

	MUST_REFUSE(WW_ERR_INVALID, "access",
		ww_memory_handle_open(device, &handle,
			WW_PARAMS(struct ww_import_params, .access = 7), &memory));
	status = ww_memory_handle_open(device, &handle, NULL, &memory);
	if (device_info(device).capabilities & WW_CAP_FOREIGN)
		MUST(status == WW_ERR_INVALID || status == WW_ERR_PEER_LOST);
	else
		MUST_EQUAL(WW_ERR_UNSUPPORTED, status);
	MUST(!memory);
}

/* --- what is known --- */

static void stop(int signal)
{
	MUST_CALL(kill(-scene.daemon.group, signal));
}

/* The broker is stopped meanwhile: whoever asked it would wait. */
SCENE_CASE(foreign_known_token_asks_nobody, WW_CAP_EXPORT)
{
	struct ww_object_info first = WW_INIT(struct ww_object_info);
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token;
	OWN(memory) ww_memory *span;
	ww_memory *again;
	OWN(memory) ww_memory *memory = memory_make(scene.device, WW_MEMORY_VMM, FOREIGN_BYTES);

	MUST_OK(ww_memory_export(memory, scene.broker,
		EXPORT(.access = WW_ACCESS_WRITE, .offset = 64, .bytes = 64,
			.escrow_ns = WW_ESCROW_NONE),
		NULL, &token));
	stop(SIGSTOP);
	MUST_OK(ww_memory_import(scene.device, scene.broker, &token,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &span, NULL));
	MUST(ww_memory_pointer(span) == (char *)ww_memory_pointer(memory) + 64);
	stop(SIGCONT);
	MUST_OK(ww_memory_import(scene.device, scene.broker, &token,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &again,
		&first));
	ww_memory_unref(again);
	stop(SIGSTOP);
	for (int i = 0; i < 3; i++) {
		MUST_OK(ww_memory_import(scene.device, i ? scene.broker : NULL, &token,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &again,
			&info));
		MUST(again == span);
		MUST_MATCH(&first, &info, sizeof(info));
		ww_memory_unref(again);
	}
	stop(SIGCONT);
}

/* With another secret, or to be counted, it is the broker that decides. */
SCENE_CASE(foreign_unknown_token_is_asked_for, WW_CAP_EXPORT)
{
	struct ww_token tokens[2];
	struct ww_token_info info = WW_INIT(struct ww_token_info);
	OWN(memory) ww_memory *again;
	OWN(memory) ww_memory *memory = memory_make(scene.device, WW_MEMORY_VMM, FOREIGN_BYTES);

	MUST_OK(ww_memory_export(memory, scene.broker,
		EXPORT(.access = WW_ACCESS_READ, .escrow_ns = WW_ESCROW_NONE), NULL, &tokens[0]));
	MUST_OK(ww_memory_export(memory, scene.broker,
		EXPORT(.access = WW_ACCESS_WRITE, .escrow_ns = WW_ESCROW_NONE), NULL, &tokens[1]));
	/* The secret of the first with the access of the second. */
	memcpy(tokens[1].bytes + offsetof(struct ww_wire_token, secret),
		tokens[0].bytes + offsetof(struct ww_wire_token, secret), WW_WIRE_ID_BYTES);
	token_seal(&tokens[1]);
	MUST_REFUSE(WW_ERR_ACCESS, "reading",
		ww_memory_import(scene.device, scene.broker, &tokens[1],
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &again,
			NULL));
	MUST_OK(ww_memory_export(memory, scene.broker,
		EXPORT(.access = WW_ACCESS_WRITE, .uses = 1, .escrow_ns = WW_ESCROW_NONE), NULL,
		&tokens[1]));
	MUST_OK(ww_token_info_get(&tokens[1], &info));
	MUST_EQUAL(WW_TOKEN_COUNTED, info.flags);
	MUST_OK(ww_memory_import(scene.device, scene.broker, &tokens[1],
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &again, NULL));
}
