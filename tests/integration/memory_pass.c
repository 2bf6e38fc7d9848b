/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_pass.c - memory handed from process to process, verified whole on both sides
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "integration/memory.h"

#define TEXT_BYTES 32

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 10);
}

void start_taker(struct child *child, int type, uint32_t route, uint32_t access, uint32_t seed)
{
	char texts[3][TEXT_BYTES];
	const char *const arguments[] = {texts[0], texts[1], texts[2], NULL};

	snprintf(texts[0], TEXT_BYTES, "%u", route);
	snprintf(texts[1], TEXT_BYTES, "%u", access);
	snprintf(texts[2], TEXT_BYTES, "%u", seed);
	child_start(child, "role_take",
		&(struct child_options){.type = type, .arguments = arguments});
}

void start_maker(struct child *child, int type, uint32_t kind, uint64_t bytes, uint32_t seed)
{
	char texts[3][TEXT_BYTES];
	const char *const arguments[] = {texts[0], texts[1], texts[2], NULL};

	snprintf(texts[0], TEXT_BYTES, "%u", kind);
	snprintf(texts[1], TEXT_BYTES, "%llu", (unsigned long long)bytes);
	snprintf(texts[2], TEXT_BYTES, "%u", seed);
	child_start(child, "role_make",
		&(struct child_options){.type = type, .arguments = arguments});
}

ww_memory *take_from(struct child *child, ww_device *device, uint32_t access)
{
	ww_memory *memory;

	MUST_OK(ww_memory_receive(device, child->socket,
		WW_PARAMS(struct ww_import_params, .access = access),
		(uint64_t)child_limit_ms() * 1000000, NULL, &memory));
	return memory;
}

void take_serve(int count, char **arguments)
{
	OWN(device) ww_device *device = subject_open();
	uint32_t access = (uint32_t)number(arguments[1]);
	uint32_t seed = (uint32_t)number(arguments[2]);
	struct ww_memory_info info;
	OWN(memory) ww_memory *memory;

	MUST(count >= 3);
	MUST_OK(ww_memory_receive(device, CHILD_SOCKET,
		WW_PARAMS(struct ww_import_params, .access = access), WW_FOREVER, NULL, &memory));
	info = memory_info(memory);
	MUST_EQUAL(number(arguments[0]), info.route);
	MUST_EQUAL(access, info.access);
	MUST(info.device == device);
	pattern_verify(memory, seed);
	if (access == WW_ACCESS_WRITE) {
		pattern_write(memory, seed + 1);
	} else {
		ww_stream *stream = stream_make(device);

		MUST_REFUSE(WW_ERR_ACCESS, "read", ww_stream_fill(stream, info.pointer, 0, 1, 1));
		ww_stream_unref(stream);
	}
	role_tell("done");
	role_hear("end");
}

ROLE(role_take)
{
	take_serve(count, arguments);
}

void make_serve(int count, char **arguments)
{
	OWN(device) ww_device *device = subject_open();
	OWN(memory) ww_memory *memory;
	char word[CHILD_WORD_BYTES];

	MUST(count == 3);
	memory = memory_make(device, (uint32_t)number(arguments[0]), number(arguments[1]));
	pattern_write(memory, (uint32_t)number(arguments[2]));
	MUST_OK(ww_memory_send(memory, WW_ACCESS_WRITE, CHILD_SOCKET, WW_FOREVER, NULL));
	role_tell("sent");
	while (role_hear_any(word) && strcmp(word, "end")) {
		MUST(!strcmp(word, "verify"));
		pattern_verify(memory, (uint32_t)number(arguments[2]) + 1);
		role_tell("verified");
	}
}

ROLE(role_make)
{
	make_serve(count, arguments);
}

/* The route of memory that a device made itself. */
static uint32_t own_route(uint32_t kind)
{
	if (!subject_is_cuda())
		return WW_ROUTE_HOST;
	return kind == WW_MEMORY_HOST ? WW_ROUTE_HOST_REGISTERED : WW_ROUTE_LOCAL;
}

static void to_child(uint32_t kind, uint64_t bytes, uint32_t access)
{
	OWN(device) ww_device *device = subject_open();

	for (size_t i = 0; i < CHECK_COUNT(packet_types); i++) {
		ww_memory *memory = memory_make(device, kind, bytes);
		struct child child;

		pattern_write(memory, 10);
		start_taker(&child, packet_types[i], own_route(kind), access, 10);
		MUST_OK(ww_memory_send(memory, access, child.socket, WW_FOREVER, NULL));
		child_hear(&child, "done");
		pattern_verify(memory, access == WW_ACCESS_WRITE ? 11 : 10);
		child_tell(&child, "end");
		child_finish(&child);
		pattern_verify(memory, access == WW_ACCESS_WRITE ? 11 : 10);
		ww_memory_unref(memory);
	}
}

CASE_CALL(pass_to_child, WW_CAP_EXPORT, to_child(WW_MEMORY_VMM, 3 * MIB, WW_ACCESS_WRITE))
CASE_CALL(pass_to_child_host_kind, WW_CAP_HOST_MEMORY,
	to_child(WW_MEMORY_HOST, 12288, WW_ACCESS_WRITE))
CASE_CALL(pass_read_only, WW_CAP_EXPORT, to_child(WW_MEMORY_VMM, 2 * MIB, WW_ACCESS_READ))
CASE_CALL(pass_read_only_host_kind, WW_CAP_HOST_READ_ONLY,
	to_child(WW_MEMORY_HOST, 4096, WW_ACCESS_READ))
CASE_CALL(pass_large, WW_CAP_EXPORT, to_child(WW_MEMORY_VMM, 64 * MIB, WW_ACCESS_WRITE))

static void to_parent(uint32_t kind, uint64_t bytes)
{
	OWN(device) ww_device *device = subject_open();

	for (size_t i = 0; i < CHECK_COUNT(packet_types); i++) {
		struct child child;
		ww_memory *memory;

		start_maker(&child, packet_types[i], kind, bytes, 20);
		memory = take_from(&child, device, WW_ACCESS_WRITE);
		child_hear(&child, "sent");
		pattern_verify(memory, 20);
		pattern_write(memory, 21);
		child_tell(&child, "verify");
		child_hear(&child, "verified");
		child_tell(&child, "end");
		child_finish(&child);
		pattern_verify(memory, 21);
		ww_memory_unref(memory);
	}
}

CASE_CALL(pass_to_parent, WW_CAP_EXPORT, to_parent(WW_MEMORY_VMM, 3 * MIB))
CASE_CALL(pass_to_parent_host_kind, WW_CAP_HOST_MEMORY, to_parent(WW_MEMORY_HOST, 12288))

/* Receives for writing and hands on for reading. */
ROLE(role_pass_on)
{
	OWN(device) ww_device *device = subject_open();
	OWN(memory) ww_memory *memory;

	MUST_OK(ww_memory_receive(device, CHILD_SOCKET,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), WW_FOREVER, NULL,
		&memory));
	MUST_OK(ww_memory_send(memory, WW_ACCESS_READ, CHILD_SOCKET, WW_FOREVER, NULL));
}

DEVICE_CASE(pass_on_by_child, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	OWN(memory) ww_memory *reader;
	struct child child;

	child_start(&child, "role_pass_on", NULL);
	MUST_OK(ww_memory_send(memory, WW_ACCESS_WRITE, child.socket, WW_FOREVER, NULL));
	reader = take_from(&child, device, WW_ACCESS_READ);
	child_finish(&child);
	MUST(reader != memory);
	pattern_write(memory, 30);
	pattern_verify(reader, 30);
}

/* What comes back from another process is the object it was. */
DEVICE_CASE(pass_home_again, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	OWN(memory) ww_memory *reader = memory_reimport(memory, device, WW_ACCESS_READ);
	OWN(memory) ww_memory *back;
	struct child child;

	child_start(&child, "role_pass_on", NULL);
	MUST_OK(ww_memory_send(memory, WW_ACCESS_WRITE, child.socket, WW_FOREVER, NULL));
	back = take_from(&child, device, WW_ACCESS_READ);
	child_finish(&child);
	memory_must_be_same(reader, back);
}

/* The description travels by any means; here it lies in a file beside the descriptor. */
DEVICE_CASE(pass_description_by_file, WW_CAP_EXPORT)
{
	struct ww_memory_description description;
	struct ww_memory_description read_back;
	OWN(memory) ww_memory *memory;
	FILE *file = tmpfile();
	int fd;
	ENDED_BY(child_finish) struct child child;

	MUST(file);
	start_maker(&child, SOCK_SEQPACKET, WW_MEMORY_VMM, 2 * MIB, 40);
	packet_receive(child.socket, &description, sizeof(description), &fd);
	MUST_EQUAL(1, fwrite(&description, sizeof(description), 1, file));
	rewind(file);
	MUST_EQUAL(1, fread(&read_back, sizeof(read_back), 1, file));
	fclose(file);
	MUST_OK(ww_memory_import_fd(device, fd, &read_back,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &memory));
	close(fd);
	pattern_verify(memory, 40);
	child_tell(&child, "end");
}

static void write_hex(char *out, const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sprintf(out + 2 * i, "%02x", bytes[i]);
}

ROLE(role_describe)
{
	OWN(device) ww_device *device = subject_open();
	struct ww_memory_info info;
	OWN(memory) ww_memory *memory;
	char uuid[2 * WW_DEVICE_UUID_BYTES + 1];
	char home[2 * WW_DEVICE_UUID_BYTES + 1];
	char id[2 * WW_OBJECT_ID_BYTES + 1];

	MUST_OK(ww_memory_receive(device, CHILD_SOCKET, NULL, WW_FOREVER, NULL, &memory));
	info = memory_info(memory);
	write_hex(uuid, device_info(device).uuid, WW_DEVICE_UUID_BYTES);
	write_hex(home, info.home_uuid, WW_DEVICE_UUID_BYTES);
	write_hex(id, info.object_id, WW_OBJECT_ID_BYTES);
	role_tell("%s %s %s %llu", uuid, home, id, (unsigned long long)info.bytes);
}

DEVICE_CASE(pass_names_are_the_same, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 5 * MIB);
	struct ww_memory_info info = memory_info(memory);
	char uuid[2 * WW_DEVICE_UUID_BYTES + 1];
	char id[2 * WW_OBJECT_ID_BYTES + 1];
	char expected[CHILD_WORD_BYTES];
	ENDED_BY(child_finish) struct child child;

	child_start(&child, "role_describe", NULL);
	MUST_OK(ww_memory_send(memory, WW_ACCESS_READ, child.socket, WW_FOREVER, NULL));
	write_hex(uuid, device_info(device).uuid, WW_DEVICE_UUID_BYTES);
	write_hex(id, info.object_id, WW_OBJECT_ID_BYTES);
	snprintf(expected, sizeof(expected), "%s %s %s %llu", uuid, uuid, id,
		(unsigned long long)info.bytes);
	child_hear(&child, expected);
}

/*
 * Hands memory of the subject to a helper that uses another device, in an environment with one
 * setting or two.
 */
static void to_other_device(uint32_t kind, const char *device_setting, const char *visible_setting,
	uint32_t route)
{
	const char *const environment[] = {device_setting, visible_setting, NULL};
	char route_text[TEXT_BYTES];
	const char *const arguments[] = {route_text, "2", "60", NULL};
	OWN(device) ww_device *device = subject_open();
	OWN(memory) ww_memory *memory = memory_make(device, kind, 4 * MIB);
	ENDED_BY(child_finish) struct child child;

	snprintf(route_text, sizeof(route_text), "%u", route);
	pattern_write(memory, 60);
	child_start(&child, "role_take",
		&(struct child_options){.environment = environment, .arguments = arguments});
	MUST_OK(ww_memory_send(memory, WW_ACCESS_WRITE, child.socket, WW_FOREVER, NULL));
	child_hear(&child, "done");
	pattern_verify(memory, 61);
	child_tell(&child, "end");
}

CASE(pass_to_other_gpu, WW_CAP_EXPORT | NEEDS_PEER)
{
	ww_device *other = subject_open_other();
	char setting[64];

	snprintf(setting, sizeof(setting), "WW_TEST_DEVICE=%s", device_info(other).selector);
	ww_device_unref(other);
	to_other_device(WW_MEMORY_VMM, setting, NULL, WW_ROUTE_PEER);
}

/* The helper sees one GPU only, and it is not the one that holds the bytes. */
CASE(pass_to_gpu_that_sees_not_ours, WW_CAP_EXPORT | NEEDS_PEER)
{
	ww_device *other = subject_open_other();
	char setting[SUBJECT_SETTING_BYTES];

	subject_see_only(other, setting);
	ww_device_unref(other);
	to_other_device(WW_MEMORY_VMM, "WW_TEST_DEVICE=cuda:0", setting, WW_ROUTE_PEER_HIDDEN);
}

/* Host memory of this device, used by a process that has no other device than host. */
CASE_CALL(pass_host_memory_between_backends, WW_CAP_HOST_MEMORY,
	to_other_device(WW_MEMORY_HOST, "WW_TEST_DEVICE=host", NULL, WW_ROUTE_HOST))
