/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_image.c - see module_image.h
 *
 * PTX is text whose first directive is ".version". A cubin and a shared object are ELF files of
 * different machines. A fatbin begins with a header of 16 bytes that says how long it is.
 */
#include "device/module_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

#define FATBIN_MAGIC UINT32_C(0xba55ed50)

#ifndef EM_CUDA
#define EM_CUDA 190
#endif

struct fatbin_header {
	uint32_t magic;
	uint16_t version;
	uint16_t header_bytes;
	uint64_t bytes; /* behind the header */
};

const char *ww_image_kind_name(enum ww_image_kind kind)
{
	static const char *const names[] = {
		[WW_IMAGE_PTX] = "PTX",
		[WW_IMAGE_CUBIN] = "a cubin",
		[WW_IMAGE_FATBIN] = "a fatbin",
		[WW_IMAGE_SHARED_OBJECT] = "a shared object",
	};

	return names[kind];
}

static ww_status fail_short(const struct ww_module_image *image, uint64_t needed)
{
	return ww_fail(WW_ERR_INVALID,
		"%s is %s that is cut short: it has %" PRIu64 " bytes of %" PRIu64
		"; copy or compile it anew",
		image->name, ww_image_kind_name(image->kind), image->count, needed);
}

/* Return: the end of a span, or UINT64_MAX where there is no such number. */
static uint64_t end_of(uint64_t offset, uint64_t bytes)
{
	uint64_t end;

	return __builtin_add_overflow(offset, bytes, &end) ? UINT64_MAX : end;
}

static uint64_t largest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t end_of_section(const char *at)
{
	Elf64_Shdr section;

	memcpy(&section, at, sizeof(section));
	return section.sh_type == SHT_NOBITS ? 0 : end_of(section.sh_offset, section.sh_size);
}

static uint64_t end_of_segment(const char *at)
{
	Elf64_Phdr segment;

	memcpy(&segment, at, sizeof(segment));
	return end_of(segment.p_offset, segment.p_filesz);
}

/* Return: how long an ELF file must be by its headers; a table that is cut short ends it. */
static uint64_t elf_bytes(const struct ww_module_image *image, const Elf64_Ehdr *header)
{
	uint64_t sections_end = end_of(header->e_shoff,
		(uint64_t)header->e_shnum * sizeof(Elf64_Shdr));
	uint64_t segments_end = end_of(header->e_phoff,
		(uint64_t)header->e_phnum * sizeof(Elf64_Phdr));
	uint64_t bytes = largest(sections_end, segments_end);

	if (bytes > image->count)
		return bytes;
	for (uint64_t i = 0; i < header->e_shnum; i++)
		bytes = largest(bytes,
			end_of_section(image->bytes + header->e_shoff + i * sizeof(Elf64_Shdr)));
	for (uint64_t i = 0; i < header->e_phnum; i++)
		bytes = largest(bytes,
			end_of_segment(image->bytes + header->e_phoff + i * sizeof(Elf64_Phdr)));
	return bytes;
}

static ww_status fail_unknown(const struct ww_module_image *image)
{
	return ww_fail(WW_ERR_INVALID,
		"%s is no module: it is neither PTX, a cubin or a fatbin (nvcc -ptx, -cubin, -fatbin) nor "
		"a shared object of 64 bits",
		image->name);
}

/* Return: what stands behind white space and comments. */
static const char *skip_comments(const char *at)
{
	for (;;) {
		const char *end;

		at += strspn(at, " \t\r\n");
		if (strncmp(at, "//", 2) == 0)
			end = at + strcspn(at, "\n");
		else if (strncmp(at, "/*", 2) == 0)
			end = strstr(at, "*/");
		else
			return at;
		if (!end)
			return "";
		at = *end == '*' ? end + 2 : end;
	}
}

static bool begins_with(const struct ww_module_image *image, const void *magic, size_t bytes)
{
	return image->count >= bytes && memcmp(image->bytes, magic, bytes) == 0;
}

static ww_status recognise(struct ww_module_image *image)
{
	const uint32_t fatbin = FATBIN_MAGIC;

	if (begins_with(image, ELFMAG, SELFMAG)) {
		Elf64_Ehdr header = {.e_type = ET_NONE};
		uint64_t bytes;

		memcpy(&header, image->bytes,
			image->count < sizeof(header) ? image->count : sizeof(header));
		image->kind = header.e_machine == EM_CUDA ? WW_IMAGE_CUBIN : WW_IMAGE_SHARED_OBJECT;
		if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
			(image->kind == WW_IMAGE_SHARED_OBJECT && header.e_type != ET_DYN))
			return fail_unknown(image);
		if ((header.e_shnum && header.e_shentsize != sizeof(Elf64_Shdr)) ||
			(header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr)))
			return fail_unknown(image);
		bytes = largest(elf_bytes(image, &header), sizeof(header));
		return bytes > image->count ? fail_short(image, bytes) : WW_OK;
	}
	if (begins_with(image, &fatbin, sizeof(fatbin))) {
		struct fatbin_header header = {0};
		uint64_t bytes;

		memcpy(&header, image->bytes,
			image->count < sizeof(header) ? image->count : sizeof(header));
		image->kind = WW_IMAGE_FATBIN;
		bytes = largest(end_of(header.header_bytes, header.bytes), sizeof(header));
		return bytes > image->count ? fail_short(image, bytes) : WW_OK;
	}
	image->kind = WW_IMAGE_PTX;
	if (strncmp(skip_comments(image->bytes), ".version", 8) != 0)
		return fail_unknown(image);
	return WW_OK;
}

static ww_status recognise_or_free(struct ww_module_image *image)
{
	ww_status status = recognise(image);

	if (status < 0)
		ww_module_image_fini(image);
	return status;
}

/* Takes room for @count bytes and the zero behind them. */
static ww_status allocate(struct ww_module_image *image, uint64_t count)
{
	image->bytes = count < SIZE_MAX ? malloc(count + 1) : NULL;
	if (!image->bytes)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot load %s: out of memory (%" PRIu64 " bytes)", image->name, count);
	image->count = count;
	image->bytes[count] = '\0';
	return WW_OK;
}

static ww_status read_file(struct ww_module_image *image, const char *path)
{
	/* Not blocking: the name may be that of a FIFO. */
	WW_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat file;
	uint64_t done = 0;

	if (fd < 0 || fstat(fd, &file) < 0) {
		ww_status status = errno == ENOENT || errno == ENOTDIR ? WW_ERR_NOT_FOUND
			: errno == EACCES                              ? WW_ERR_ACCESS
					  : ww_status_from_errno(errno);

		return ww_fail_errno_as(status, errno, NULL, "cannot open the module %s",
			image->name);
	}
	if (!S_ISREG(file.st_mode))
		return ww_fail(WW_ERR_INVALID, "%s is no module: it is no regular file",
			image->name);
	ww_try(allocate(image, (uint64_t)file.st_size));
	while (done < image->count) {
		ssize_t got = read(fd, image->bytes + done, image->count - done);

		if (got < 0 && errno != EINTR)
			return ww_fail_errno(errno, NULL, "cannot read %s", image->name);
		if (got == 0)
			break;
		done += got > 0 ? (uint64_t)got : 0;
	}
	image->count = done;
	image->bytes[done] = '\0';
	return WW_OK;
}

ww_status ww_module_image_read(struct ww_module_image *image, const char *path)
{
	ww_status status;
	size_t room;
	size_t length;

	*image = (struct ww_module_image){.path = path};
	/* The end of a long path says more than its beginning. */
	room = sizeof(image->name) - sizeof("\"...\"");
	length = strlen(path);
	if (length <= room)
		snprintf(image->name, sizeof(image->name), "\"%s\"", path);
	else
		snprintf(image->name, sizeof(image->name), "\"...%s\"", path + length - room);
	status = read_file(image, path);
	if (status < 0) {
		ww_module_image_fini(image);
		return status;
	}
	return recognise_or_free(image);
}

ww_status ww_module_image_copy(struct ww_module_image *image, const void *bytes, uint64_t count)
{
	*image = (struct ww_module_image){.path = NULL};
	snprintf(image->name, sizeof(image->name), "the image of a module");
	ww_try(allocate(image, count));
	memcpy(image->bytes, bytes, count);
	return recognise_or_free(image);
}

void ww_module_image_fini(struct ww_module_image *image)
{
	free(image->bytes);
	image->bytes = NULL;
}
