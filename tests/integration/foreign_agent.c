/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_agent.c - what agents do with memory that the driver gave them, see foreign.h
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "integration/foreign.h"

static struct allocation allocation;

/* By `swap`. */
static struct allocation other_allocation;
static ww_memory *other_memory;

static enum allocation_kind kind_of(const char *word)
{
	if (!strcmp(word, "pool"))
		return ALLOCATION_POOL;
	return strcmp(word, "vmm") ? ALLOCATION_LEGACY : ALLOCATION_VMM;
}

COMMAND(foreign, alloc)
{
	MUST(allocation_make(&allocation, kind_of(agent_word(1)), agent_number(2)));
	allocation_write(&allocation, (uint32_t)agent_number(3));
	return WW_OK;
}

COMMAND_DO(foreign, free, allocation_free(&allocation))

COMMAND(foreign, swap)
{
	const struct allocation former = allocation;
	ww_memory *memory = *agent_memory();

	allocation = other_allocation;
	*agent_memory() = other_memory;
	other_allocation = former;
	other_memory = memory;
	return WW_OK;
}

COMMAND_DO(foreign, fill, allocation_write(&allocation, (uint32_t)agent_number(1)))

COMMAND_DO(foreign, check, allocation_verify(&allocation, (uint32_t)agent_number(1)))

COMMAND(foreign, wrap)
{
	MUST(!*agent_memory());
	return ww_memory_wrap(agent_device(), allocation_at(&allocation, agent_number(1)),
		agent_number(2), NULL, agent_memory());
}

COMMAND(foreign, handle)
{
	struct foreign_handle handle;
	ww_status status = ww_memory_handle_get(*agent_memory(), &handle.ipc, &handle.offset);

	if (status == WW_OK)
		MUST_EQUAL(sizeof(handle), write(CHILD_SOCKET, &handle, sizeof(handle)));
	return status;
}

COMMAND(foreign, open_handle)
{
	struct foreign_handle handle;

	MUST_EQUAL(sizeof(handle), read(CHILD_SOCKET, &handle, sizeof(handle)));
	MUST(!*agent_memory());
	return ww_memory_handle_open(agent_device(), &handle.ipc,
		WW_PARAMS(struct ww_import_params, .access = agent_access()), agent_memory());
}

COMMAND_CALL(foreign, send,
	ww_memory_send(*agent_memory(), WW_ACCESS_WRITE, CHILD_SOCKET, WW_FOREVER, NULL))

COMMAND(foreign, receive)
{
	MUST(!*agent_memory());
	return ww_memory_receive(agent_device(), CHILD_SOCKET,
		WW_PARAMS(struct ww_import_params, .access = agent_access()), WW_FOREVER, NULL,
		agent_memory());
}

COMMAND(foreign, part)
{
	uint64_t offset = agent_number(1);

	foreign_verify_part(*agent_memory(), 0, FOREIGN_BYTES, offset, agent_number(2),
		(uint32_t)agent_number(3));
	return WW_OK;
}

COMMAND_DO(foreign, route, MUST_EQUAL(agent_number(1), memory_info(*agent_memory()).route))

static void let_go(void)
{
	for (int i = 0; i < 2; i++) {
		*agent_memory() = ww_memory_unref(*agent_memory());
		if (allocation.address)
			allocation_free(&allocation);
		obey_swap();
	}
	allocation_leave();
}

AGENTS(foreign, let_go)

/* In a container; its first word says whether there is one. */
ROLE(foreign_container)
{
	if (container_enter(count, arguments))
		agent_serve("foreign", let_go);
}

void foreign_start(struct child *agent)
{
	child_start(agent, "foreign", &(struct child_options){.type = SOCK_SEQPACKET});
}

void foreign_owner(struct child *owner, const char *kind, uint64_t offset, uint64_t bytes)
{
	foreign_start(owner);
	agent_must(owner, WW_OK, "alloc %s %d 1", kind, FOREIGN_BYTES);
	agent_must(owner, WW_OK, "wrap %llu %llu", (unsigned long long)offset,
		(unsigned long long)bytes);
}

struct ww_token foreign_token(struct child *owner, const char *options)
{
	struct ww_token token;

	token = agent_export(owner, "%s", options);
	return token;
}

void foreign_give(struct child *agent, const struct ww_token *token)
{
	MUST_EQUAL(sizeof(*token), write(agent->socket, token, sizeof(*token)));
	agent_must(agent, WW_OK, "import write");
}

void foreign_verify_part(ww_memory *memory, uint64_t at, uint64_t whole, uint64_t offset,
	uint64_t bytes, uint32_t seed)
{
	OWN(heap) uint8_t *expected = malloc(whole);
	OWN(heap) uint8_t *got = malloc(bytes);

	MUST(expected && got);
	pattern_make(expected, whole, seed);
	memory_get(memory, at, got, bytes);
	MUST_MATCH(expected + offset, got, bytes);
}
