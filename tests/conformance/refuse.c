/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refuse.c - bad descriptors and descriptions, each with its own status and sentence
 *
 * Descriptions are forged by changing the fields of a true one and sealing it with a right checksum
 * again: the checksum finds accidents, so everything behind it must hold without it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "conformance/victim.h"
#include "memory/description.h"
#include "support/forge.h"

#define VERSION_AT  8
#define RESERVED_AT 19

static void must_refuse_import(struct victim *victim, int fd,
	const struct ww_memory_description *description, ww_status status, const char *word)
{
	ww_memory *memory = victim->memory;

	MUST_REFUSE(status, word,
		ww_memory_import_fd(victim->device, fd, description,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &memory));
	MUST(!memory);
	memory = victim->memory;
	MUST_REFUSE(status, word,
		ww_memory_import_fd(victim->device, fd, description, NULL, &memory));
	MUST(!memory);
}

VICTIM_CASE(refuse_descriptor_not_open, WW_CAP_EXPORT)
{
	int closed;

	closed = dup(victim->fd);
	close(closed);
	must_refuse_import(victim, closed, &victim->description, WW_ERR_DESCRIPTOR, "descriptor");
	must_refuse_import(victim, -1, &victim->description, WW_ERR_DESCRIPTOR, "descriptor");
	must_refuse_import(victim, INT32_MAX, &victim->description, WW_ERR_DESCRIPTOR,
		"descriptor");
}

static int make_memfd(uint64_t bytes, int seals)
{
	int fd = memfd_create("a test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	MUST_CALL(fd);
	MUST_CALL(ftruncate(fd, (off_t)bytes));
	MUST_CALL(fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

static int make_file(uint64_t bytes)
{
	char path[] = "/tmp/warpway-test-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	MUST_CALL(fd);
	unlink(path);
	MUST_CALL(ftruncate(fd, (off_t)bytes));
	return fd;
}

static void refuse_other_things(uint32_t kind)
{
	int pipes[2];
	int sockets[2];
	ENDED_BY(victim_end) struct victim victim;

	victim_make(&victim, kind);
	MUST_CALL(pipe2(pipes, O_CLOEXEC));
	packet_pair(SOCK_STREAM, sockets);
	int others[] = {
		pipes[0], pipes[1], sockets[0], open("/dev/null", O_RDWR | O_CLOEXEC),
		open("/dev/zero", O_RDWR | O_CLOEXEC), open("/", O_RDONLY | O_CLOEXEC),
		open("/", O_PATH | O_CLOEXEC), make_file(2 * MIB),
		make_memfd(2 * MIB, 0), /* without any seal */
	};

	for (size_t i = 0; i < CHECK_COUNT(others); i++) {
		MUST_CALL(others[i]);
		must_refuse_import(&victim, others[i], &victim.description, WW_ERR_DESCRIPTOR,
			"descriptor");
		MUST(fcntl(others[i], F_GETFD) != -1); /* borrowed only */
		close(others[i]);
	}
	close(sockets[1]);
}

CASE_CALL(refuse_descriptor_of_other_things, WW_CAP_EXPORT, refuse_other_things(WW_MEMORY_VMM))
CASE_CALL(refuse_descriptor_of_other_things_host_kind, WW_CAP_HOST_MEMORY,
	refuse_other_things(WW_MEMORY_HOST))

/* Whoever may shrink the file can kill everybody who maps it. */
CASE(refuse_memfd_sealed_wrongly, WW_CAP_HOST_MEMORY)
{
	static const int wrong[] = {0, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_GROW | F_SEAL_SEAL,
		F_SEAL_SEAL};
	ww_memory *memory;
	ENDED_BY(victim_end) struct victim victim;
	OWN(fd) int fd;

	victim_make(&victim, WW_MEMORY_HOST);
	for (size_t i = 0; i < CHECK_COUNT(wrong); i++) {
		fd = make_memfd(2 * MIB, wrong[i]);
		must_refuse_import(&victim, fd, &victim.description, WW_ERR_DESCRIPTOR, "seal");
		close(fd);
	}
	/* Sealed against writing too: then it cannot be mapped for writing. */
	fd = make_memfd(2 * MIB, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	MUST_REFUSE(WW_ERR_ACCESS, "",
		ww_memory_import_fd(victim.device, fd, &victim.description,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &memory));
	MUST(!memory);
}

/* The description with a number changed, and a right checksum. */
static struct ww_memory_description forge(const struct ww_memory_description *from,
	const struct number_change *change)
{
	struct ww_memory_description forged;
	struct ww_description fields;

	MUST_OK(ww_description_decode(from, &fields));
	number_change(&fields, change);
	ww_description_encode(&fields, &forged);
	return forged;
}

/* A driver may find that it has no addresses for so much before it finds that it is not true. */
static void must_refuse_huge(struct victim *victim)
{
	struct ww_memory_description forged = forge(&victim->description,
		&(struct number_change)BECOMES(ww_description, bytes, UINT64_C(1) << 46));
	ww_memory *memory = victim->memory;
	ww_status status = ww_memory_import_fd(victim->device, victim->fd, &forged,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &memory);

	MUST(!memory);
	if (subject_is_cuda() && status == WW_ERR_DEVICE_MEMORY)
		return;
	MUST_REFUSE(WW_ERR_MISMATCH, "bytes", status);
}

static void refuse_size(uint32_t kind)
{
	const struct number_change changes[] = {
		ADDED(ww_description, bytes, 2 * MIB),
		TAKEN(ww_description, bytes, kind == WW_MEMORY_HOST ? 4096 : 2 * MIB),
		TAKEN(ww_description, bytes, 1),
	};
	struct victim victim;

	victim_make(&victim, kind);
	close(victim.fd);
	ww_memory_unref(victim.memory);
	victim.memory = memory_make(victim.device, kind, 8 * MIB);
	MUST_OK(ww_memory_export_fd(victim.memory, WW_ACCESS_WRITE, &victim.fd,
		&victim.description));
	for (int is_mapped = 1; is_mapped >= 0; is_mapped--) {
		check_row(is_mapped ? "a mapped memory" : "a memory that is not mapped");
		if (!is_mapped)
			victim.memory = ww_memory_unref(victim.memory);
		for (size_t i = 0; i < CHECK_COUNT(changes); i++) {
			struct ww_memory_description forged = forge(&victim.description,
				&changes[i]);

			must_refuse_import(&victim, victim.fd, &forged, WW_ERR_MISMATCH, "bytes");
		}
	}
	must_refuse_huge(&victim);
	victim_end(&victim);
}

CASE_CALL(refuse_size_described_wrongly, WW_CAP_EXPORT, refuse_size(WW_MEMORY_VMM))
CASE_CALL(refuse_size_described_wrongly_host_kind, WW_CAP_HOST_MEMORY, refuse_size(WW_MEMORY_HOST))

/* A GPU's descriptor described as a memfd, and the other way round. */
CASE(refuse_descriptor_of_other_kind, WW_CAP_EXPORT | WW_CAP_HOST_MEMORY | NEEDS_CUDA)
{
	ENDED_BY(victim_end) struct victim vmm;
	ENDED_BY(victim_end) struct victim host;

	victim_make(&vmm, WW_MEMORY_VMM);
	victim_make(&host, WW_MEMORY_HOST);
	must_refuse_import(&vmm, vmm.fd, &host.description, WW_ERR_DESCRIPTOR, "descriptor");
	must_refuse_import(&vmm, host.fd, &vmm.description, WW_ERR_DESCRIPTOR, "descriptor");
}

VICTIM_CASE(refuse_every_flipped_bit, WW_CAP_EXPORT)
{
	for (size_t bit = 0; bit < 8 * sizeof(victim->description); bit++) {
		struct ww_memory_description damaged = victim->description;

		damaged.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
		must_refuse_import(victim, victim->fd, &damaged, WW_ERR_PROTOCOL, "descri");
	}
}

VICTIM_CASE(refuse_foreign_description, WW_CAP_EXPORT)
{
	struct ww_memory_description foreign;

	memset(&foreign, 0, sizeof(foreign));
	must_refuse_import(victim, victim->fd, &foreign, WW_ERR_PROTOCOL, "descri");
	memset(&foreign, 0xff, sizeof(foreign));
	must_refuse_import(victim, victim->fd, &foreign, WW_ERR_PROTOCOL, "descri");
	pattern_make(foreign.bytes, sizeof(foreign), 1);
	must_refuse_import(victim, victim->fd, &foreign, WW_ERR_PROTOCOL, "descri");
	description_seal(&foreign);
	must_refuse_import(victim, victim->fd, &foreign, WW_ERR_PROTOCOL, "descri");
}

VICTIM_CASE(refuse_newer_version, WW_CAP_EXPORT)
{
	struct ww_memory_description newer;

	newer = victim->description;
	newer.bytes[VERSION_AT] = WW_DESCRIPTION_VERSION + 1;
	description_seal(&newer);
	must_refuse_import(victim, victim->fd, &newer, WW_ERR_VERSION, "version");
	newer.bytes[VERSION_AT + 1] = 0xff;
	description_seal(&newer);
	must_refuse_import(victim, victim->fd, &newer, WW_ERR_VERSION, "version");
	newer = victim->description;
	newer.bytes[VERSION_AT] = 0;
	description_seal(&newer);
	must_refuse_import(victim, victim->fd, &newer, WW_ERR_VERSION, "version");
}

VICTIM_CASE(refuse_more_access_than_described, WW_CAP_EXPORT)
{
	struct ww_memory_description description;
	OWN(memory) ww_memory *memory;
	OWN(fd) int fd;

	MUST_OK(ww_memory_export_fd(victim->memory, WW_ACCESS_READ, &fd, &description));
	MUST_REFUSE(WW_ERR_ACCESS, "read",
		ww_memory_import_fd(victim->device, fd, &description,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &memory));
	MUST(!memory);
	MUST_OK(ww_memory_import_fd(victim->device, fd, &description, NULL, &memory));
}

CASE(refuse_forged_fields, WW_CAP_EXPORT)
{
	static const struct {
		const char *name;
		struct number_change change;
	} changes[] = {
		{"no backing", BECOMES(ww_description, backing, 9)},
		{"no kind", BECOMES(ww_description, kind, 0)},
		{"another kind", BECOMES(ww_description, kind, 77)},
		{"no access", BECOMES(ww_description, access, 0)},
		{"more access", BECOMES(ww_description, access, 3)},
		{"no bytes", BECOMES(ww_description, bytes, 0)},
		{"all bytes", BECOMES(ww_description, bytes, UINT64_MAX)},
		{"negative bytes", BECOMES(ww_description, bytes, UINT64_C(1) << 63)},
	};
	struct ww_memory_description forged;
	struct victim victim;

	victim_make(&victim, WW_MEMORY_VMM);
	for (size_t i = 0; i < CHECK_COUNT(changes); i++) {
		check_row(changes[i].name);
		forged = forge(&victim.description, &changes[i].change);
		must_refuse_import(&victim, victim.fd, &forged, WW_ERR_PROTOCOL, "descri");
	}
	check_row("reserved bytes");
	/* Bytes that nobody has given a meaning yet. */
	for (size_t at = RESERVED_AT; at < sizeof(forged); at += sizeof(forged) - RESERVED_AT - 1) {
		forged = victim.description;
		forged.bytes[at] = 1;
		description_seal(&forged);
		must_refuse_import(&victim, victim.fd, &forged, WW_ERR_PROTOCOL, "descri");
	}
	victim_end(&victim);
}

/*
 * Where the bytes are is asked of the driver; an untrusted process who says otherwise is refused.
 */
VICTIM_CASE(refuse_forged_home, WW_CAP_EXPORT | NEEDS_CUDA)
{
	struct ww_memory_description forged;

	forged = forge(&victim->description,
		&(struct number_change)ADDED(ww_description, home_uuid[0], 1));
	victim->memory = ww_memory_unref(victim->memory);
	must_refuse_import(victim, victim->fd, &forged, WW_ERR_MISMATCH, "GPU");
}

/* The description says write, but the kernel knows better. */
CASE(refuse_forged_access, WW_CAP_HOST_MEMORY)
{
	struct ww_memory_description description;
	ww_memory *memory;
	ENDED_BY(victim_end) struct victim victim;
	OWN(fd) int fd;

	victim_make(&victim, WW_MEMORY_HOST);
	MUST_OK(ww_memory_export_fd(victim.memory, WW_ACCESS_READ, &fd, &description));
	description = forge(&description,
		&(struct number_change)BECOMES(ww_description, access, WW_ACCESS_WRITE));
	victim.memory = ww_memory_unref(victim.memory);
	MUST_REFUSE(WW_ERR_ACCESS, "read",
		ww_memory_import_fd(victim.device, fd, &description,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &memory));
	MUST(!memory);
}

/* A untrusted process's memory under the name of ours must not be taken for ours. */
CASE(refuse_to_confuse_objects, WW_CAP_EXPORT)
{
	ww_memory *memory = NULL;
	ww_status status;
	ENDED_BY(victim_end) struct victim ours;
	ENDED_BY(victim_end) struct victim theirs;

	victim_make(&ours, WW_MEMORY_VMM);
	victim_make(&theirs, WW_MEMORY_VMM);
	pattern_write(ours.memory, 1);
	pattern_write(theirs.memory, 2);
	status = ww_memory_import_fd(ours.device, theirs.fd, &ours.description,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &memory);
	if (status == WW_OK) {
		MUST(memory != ours.memory);
		pattern_verify(memory, 2);
		ww_memory_unref(memory);
	} else {
		MUST(status < 0 && !memory);
	}
	pattern_verify(ours.memory, 1);
	pattern_verify(theirs.memory, 2);
}
